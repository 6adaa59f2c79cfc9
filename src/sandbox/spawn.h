/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the executor inside its namespaces, without a fork's copying. */
#ifndef REIN_SANDBOX_SPAWN_H
#define REIN_SANDBOX_SPAWN_H

#include <sys/types.h>

#include "base/err.h"
#include "sandbox/plan.h"

struct rein_spawn {
	pid_t pid;
	int pidfd;
	int control; /* our end of the socket */
	int plan;    /* where the plan will be written, until it is */
	uint32_t flags; /* REIN_PLAN_ORDERED ones */
	bool early;	/* started for whatever will be: it gets our streams with its plan */
	struct rein_spawn_child *child; /* what it reads and writes until it is the executor */
};

/* What the executor starts with besides the plan. */
struct rein_spawn_with {
	const int *join; /* control groups' files: it writes itself into each */
	size_t njoin;
	unsigned processors; /* at most so many, and the lowest priority; 0: all */
	const int *streams;  /* its standard input, output and error, or -1 each: ours; may be NULL */
};

/*
 * Start the program; it makes its namespaces and waits for the plan. flags: those of the plan that
 * are REIN_PLAN_ORDERED; with: may be NULL. On success the caller owns the descriptors and the
 * process; program must stay.
 */
int rein_spawn_begin(uint32_t flags, const char *program, const struct rein_spawn_with *with,
		     struct rein_spawn *ret, struct rein_err *err);
/* The same descriptor, clear of the numbers the executor expects its own at; fd is closed, and may be -1 with errno. */
int rein_spawn_above(int fd, struct rein_err *err);
/* Memory for a plan, and the plan in it, so that nobody changes it any more. */
int rein_spawn_memory(struct rein_err *err);
int rein_spawn_seal(int fd, const struct rein_plan *plan, struct rein_err *err);
/*
 * Seal the plan and announce it, together with the overlay it says is given, or -1. A box that died
 * meanwhile is no error here: its pidfd says so.
 */
int rein_spawn_plan(struct rein_spawn *s, const struct rein_plan *plan, int layer, struct rein_err *err);
/* Of a process that is dead: the error if it never became the executor, else 0. */
int rein_spawn_failure(const struct rein_spawn *s, struct rein_err *err);
/* When the process is dead and reaped, or there never was one (descriptors -1, child NULL). */
void rein_spawn_done(struct rein_spawn *s);

#endif
