/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box that is dead leaves to its result: what it used, the limits it had, and whatever its keeper, its
 * supervisor and its gate have seen. How it ended is for whoever ran it to say.
 */
#ifndef REIN_SANDBOX_RESULT_H
#define REIN_SANDBOX_RESULT_H

#include <sys/resource.h>

#include "model/box.h"
#include "sandbox/keep.h"
#include "sandbox/net/start.h"
#include "sandbox/supervise.h"

/* As wait(2) counted it; whoever knows better says so before rein_result_take. */
void rein_result_usage(struct rein_box_result *r, const struct rusage *ru);
/* The lists of the supervisor and the gate go over to it. */
void rein_result_take(struct rein_box_result *r, const struct rein_keeper *k, struct rein_supervisor *s,
		      struct rein_gate *g);

#endif
