/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `rein classify`; argv[0] is the verb. Returns the exit status. */
#ifndef REIN_CLI_CLASSIFY_H
#define REIN_CLI_CLASSIFY_H

int rein_cli_classify(int argc, char **argv);

#endif
