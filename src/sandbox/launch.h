/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a command in a box. Blocking: returns when the command and everything it started are dead.
 *
 * Signals that reach the caller meanwhile (INT TERM HUP QUIT USR1 USR2 WINCH CONT TSTP) are passed on
 * to the command: to its process group when they come from a terminal, to it alone when somebody sent
 * them. A second SIGTERM or SIGHUP at least one second after the first kills the box
 * (REIN_BOX_CANCELLED).
 *
 * Standard input, output and error pass through untouched; those that are terminals are replaced by
 * a terminal of the box's own, relayed here.
 *
 * Idle means: for the whole of idle_timeout_ns no process of the box wrote a byte anywhere and
 * together they used less than one hundredth of that time on the processor.
 */
#ifndef REIN_SANDBOX_LAUNCH_H
#define REIN_SANDBOX_LAUNCH_H

#include "base/err.h"
#include "model/box.h"

/*
 * box_program is the path of rein-box. On success *ret says how the command ended. Errors: the
 * command could not be executed (REIN_E_NOCMD, REIN_E_EXEC), this machine lacks something
 * (REIN_E_UNSUPPORTED, with the remedy), or Rein failed. *ret is untouched then.
 */
int rein_box_launch(const struct rein_box_spec *spec, const char *box_program,
		    struct rein_box_result *ret, struct rein_err *err);

#endif
