/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a box that nobody can find by name any more: those its processes have open, or mapped. One that is on its way
 * through a socket is nobody's at the moment, and a process can keep others from looking into it (prctl(2),
 * PR_SET_DUMPABLE): then it is only told that there may be more.
 */
#ifndef REIN_SANDBOX_NAMELESS_H
#define REIN_SANDBOX_NAMELESS_H

#include <stdbool.h>
#include <stdint.h>

struct rein_nameless {
	uint64_t bytes; /* on disk: neither the box's private file system nor memory files count */
	bool closed;	/* there may be some that cannot be seen */
};

/* proc: the box's, see census.h. */
void rein_nameless_count(int proc, struct rein_nameless *ret);

#endif
