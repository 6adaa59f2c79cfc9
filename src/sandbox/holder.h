/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network that leads to the gate, made before whoever is to use it: for a runtime whose kernel is its own, where
 * nobody of ours is inside to make it. The executor makes it and holds it (box/holder.c) until the end.
 *
 *	rein_holder_start -> setns(netns) in the one that becomes the runtime -> rein_holder_end
 */
#ifndef REIN_SANDBOX_HOLDER_H
#define REIN_SANDBOX_HOLDER_H

#include "sandbox/net/start.h"
#include "sandbox/spawn.h"

struct rein_holder {
	struct rein_spawn spawn;
	int netns; /* -1: there is none */
};

#define REIN_HOLDER_INIT {.spawn = {.pid = -1, .pidfd = -1, .control = -1, .plan = -1}, .netns = -1}

/* The plan has REIN_PLAN_HOLDER and REIN_PLAN_GATE. When this returns the gate has its sockets, and all walls stand. */
int rein_holder_start(const struct rein_plan *plan, const char *box_program, struct rein_gate *gate,
		      struct rein_holder *ret, struct rein_err *err);
/* Half a one is fine, and none. */
void rein_holder_end(struct rein_holder *h);

#endif
