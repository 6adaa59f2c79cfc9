/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A visit to a box that runs, from outside: one more command in it, or a look at its terminal. See
 * door.h for who is let in.
 *
 * Streams that are terminals are replaced by a terminal in the box, relayed here; the others are
 * carried through pipes. Signals (INT TERM HUP QUIT USR1 USR2) are passed on to the command.
 */
#ifndef REIN_SANDBOX_ATTACH_H
#define REIN_SANDBOX_ATTACH_H

#include "base/err.h"
#include "sandbox/live.h"

struct rein_attach_result {
	int status;    /* as a shell reports it */
	bool ended;    /* the box ended, and everything in it */
	bool detached; /* by the keys for it */
	uint64_t wall_ns, cpu_ns;
};

/* argv in the box; approved: by a person. REIN_E_DENIED, REIN_E_APPROVAL: it did not run, err tells
 * why. */
int rein_attach_run(int state_fd, const struct rein_live *l, char **argv, bool approved,
		    struct rein_attach_result *ret, struct rein_err *err);
/* Until the box ends or ^] was typed three times within a second. */
int rein_attach_look(int state_fd, const struct rein_live *l, bool no_input,
		     struct rein_attach_result *ret, struct rein_err *err);

#endif
