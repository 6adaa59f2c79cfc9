/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs on the record share. */
#ifndef REIN_CLI_AUDIT_H
#define REIN_CLI_AUDIT_H

/* $REIN_STATE, $XDG_STATE_HOME/rein or ~/.local/state/rein; the caller frees. */
char *rein_cli_state_dir(void);

#endif
