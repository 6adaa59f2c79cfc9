/* SPDX-License-Identifier: Apache-2.0 */
/* Running somebody's command with a text on its standard input, for a limited time. */
#ifndef REIN_RECORD_SPAWN_H
#define REIN_RECORD_SPAWN_H

#include "base/buf.h"

/* argv[0] is looked up in PATH. 0 only when it ended with status 0 in time; else what is said why. */
int rein_spawn_fed(char *const argv[], struct rein_str input, uint64_t timeout_ns,
		   struct rein_err *err);
/* The same for a line of shell. */
int rein_spawn_shell(const char *command, struct rein_str input, uint64_t timeout_ns,
		     struct rein_err *err);

#endif
