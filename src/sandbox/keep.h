/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping a box within its limits, and taking note of what it uses. Control groups keep what they can,
 * resource limits of the processes and looking at them the rest; `by` says who keeps what.
 *
 *	rein_keep_init -> (spawn: join keeper.group) -> rein_keep_start -> rein_keep_look, at
 *	keeper.next_ns -> rein_keep_end (the box is dead) -> rein_keep_done
 *
 * [K1] A limit that was hit is found at the latest at the end, before anybody decides what becomes of
 *      the transaction.
 * [K2] Nothing here waits for the box.
 */
#ifndef REIN_SANDBOX_KEEP_H
#define REIN_SANDBOX_KEEP_H

#include "base/err.h"
#include "model/box.h"
#include "model/limits.h"
#include "sandbox/cgroup.h"
#include "sandbox/diskuse.h"
#include "sandbox/plan.h"

struct rein_keeper {
	const struct rein_box_spec *spec;
	struct rein_cgroup group;
	enum rein_limit_by by[REIN_LIMIT__MAX];
	struct rein_usage usage;
	struct rein_limit_hit hit;
	int proc;  /* the box's /proc, or -1 */
	pid_t pid; /* its pid 1 */
	unsigned processors; /* for the spawner: at most so many; 0: all */
	uint64_t interval_ns, next_ns; /* when to look; 0: never */
	uint64_t census_ns;	       /* when to look at everything; before, processes are only counted */
	uint64_t last_ns, last_cpu_ns; /* for the processor's peak */
	uint64_t memory_sum;	       /* for the average */
	uint64_t cpu_ns;	       /* the most that was seen: what nobody waits for vanishes again */
	/* disk: what the last walk found and where the counters stood; see keep.c */
	uint64_t base_bytes, walked_bytes, walked_written, walked_cpu_ns, walked_free, base_free, walk_not_before_ns;
	bool closed; /* the walk did not see everything */
	struct { /* what is to stay free, see keep.c; n 0: not looked yet */
		struct {
			dev_t dev;
			uint64_t kept, base; /* so much; so much there was */
		} v[REIN_ROOMS];
		size_t n;
		uint64_t next_ns; /* when to look; 0: never */
		time_t begun;
	} room;
	uint64_t output_bytes; /* told by whoever carries it */
	bool ahead; /* who looks comes before all others */
};

/* Make the control group if one is needed. */
int rein_keep_init(struct rein_keeper *k, const struct rein_box_spec *spec, struct rein_err *err);
/* What the processes get along: resource limits, priority, processors. */
void rein_keep_plan(struct rein_keeper *k, struct rein_plan_setup *setup);
void rein_keep_start(struct rein_keeper *k, pid_t pid);
/* Look, if it is time to. True: a limit was hit just now; kill the box. */
bool rein_keep_look(struct rein_keeper *k, uint64_t now_ns);
/*
 * The box is dead. status: as wait(2) gave it for the command; alive: so many processes there were when it
 * ended, with the command; 0: nobody counted.
 */
void rein_keep_end(struct rein_keeper *k, int status, uint64_t alive);
void rein_keep_done(struct rein_keeper *k);

#endif
