/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holding a box still by signals, where it has no freezer. A process that is stopped does not come back by itself, but
 * the kernel continues it if it has arranged for that before: by a timer whose signal is SIGCONT, say. So a paused box is
 * looked at again and again. One that stops itself in time for each look is found out by how often it had a processor.
 */
#ifndef REIN_SANDBOX_STILL_H
#define REIN_SANDBOX_STILL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/census.h"

struct rein_still {
	uint64_t since_ns, next_ns; /* held since then; when to look */
	unsigned moved;		    /* looks at which it moved again */
	bool stood, never;	    /* it stood once; it cannot be held */
	bool told;		    /* the executor says that all were signalled: REIN_BOX_MSG_HELD */
	pid_t guard;		    /* who looks while we are stopped; or 0 */
	struct rein_stances was;    /* at the last look */
};

enum rein_stillness {
	REIN_STILL_NEVER = 0, /* it cannot be held: it must end */
	REIN_STILL_AGAIN,     /* it moves: stop it once more */
	REIN_STILL_YES,
};

/* Zeroed before the first; rein_still_done after the last. */
void rein_still_begin(struct rein_still *s, uint64_t now);
enum rein_stillness rein_still_look(struct rein_still *s, pid_t box, uint64_t now);
void rein_still_done(struct rein_still *s);

/* The box that is held: its first process, and the executor's socket. */
struct rein_still_box {
	pid_t pid;
	int pidfd, control;
};

/* What whoever runs the box can do about it; arg is his. */
struct rein_still_ways {
	bool (*held)(void *arg, struct rein_still_box *ret); /* is it held by signals, and where is it? */
	void (*stop)(void *arg);			     /* once more */
	void (*end)(void *arg);				     /* it cannot be held */
	void (*rest)(void *arg, bool still);		     /* it is to stand still, or to go on if it may */
	bool (*hear)(void *arg);			     /* what the executor has said; false: no more is to be expected */
};

/* When it is time to look: does it stand still? If not it is stopped once more, or ended. */
void rein_still_keep(struct rein_still *s, const struct rein_still_ways *w, void *arg, uint64_t now);
/*
 * For a console (console.h): before we are stopped ourselves, and after. A process looks meanwhile in our place, and ends
 * a box that cannot be held; it ends with us. False: there is none, and nobody would.
 */
bool rein_still_hold(struct rein_still *s, const struct rein_still_ways *w, void *arg, bool still);

#endif
