/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor of an open box as a process of ours: started ahead of its plan, replaced where it came too early,
 * ended and waited for. Between executor.c and launch.c, which tells it what to do.
 */
#ifndef REIN_SANDBOX_EXECUTOR_H
#define REIN_SANDBOX_EXECUTOR_H

#include <sys/resource.h>

#include "model/box.h"
#include "sandbox/spawn.h"

struct rein_box {
	struct rein_spawn spawn;
	const char *program; /* the caller's, for as long as the box is open */
	bool reaped;
};

/* What must be known of the plan when it starts: those of its flags that are REIN_PLAN_ORDERED. */
uint32_t rein_executor_flags_(enum rein_net net);
/* Another takes its place, started with what came too late for this one. On failure it is as before. */
int rein_executor_replace_(struct rein_box *box, const struct rein_spawn_with *with, struct rein_err *err);
/* Every id of ours to itself: the box's namespace sees what we see, and has no right over it. */
int rein_executor_map_(const struct rein_box *box, struct rein_err *err);
/* Wait for its end, once; ru: what it used, may be NULL. */
void rein_executor_reap_(struct rein_box *box, struct rusage *ru);

#endif
