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

struct rein_box;

/*
 * Start a box ahead of its specification: its namespaces come into being while the caller draws
 * up what is to be in it. box_program is the path of rein-box, net the one the specification will
 * have. Errors: this machine lacks something (REIN_E_UNSUPPORTED, with the remedy), or Rein failed.
 */
int rein_box_open(enum rein_net net, const char *box_program, struct rein_box **ret,
		  struct rein_err *err);

/* The same, long ahead: its streams are what ours are when it gets its specification. */
int rein_box_open_early(enum rein_net net, const char *box_program, struct rein_box **ret,
			struct rein_err *err);
/* Was it opened for such a network? */
bool rein_box_fits(const struct rein_box *box, enum rein_net net);
/* Is it there, waiting? One that could not be made is not. */
bool rein_box_lives(const struct rein_box *box);

/*
 * Run the command, once. On success *ret says how it ended. Errors: the command could not be
 * executed (REIN_E_NOCMD, REIN_E_EXEC), or as above. *ret is untouched then.
 */
int rein_box_run(struct rein_box *box, const struct rein_box_spec *spec,
		 struct rein_box_result *ret, struct rein_err *err);

/*
 * Nothing of the box is left when this returns, whatever became of it. Taking its namespaces and
 * mounts down takes as long as making them did, which is why running it does not wait for that.
 * NULL is fine.
 */
void rein_box_close(struct rein_box *box);

/* All three. */
int rein_box_launch(const struct rein_box_spec *spec, const char *box_program,
		    struct rein_box_result *ret, struct rein_err *err);

#endif
