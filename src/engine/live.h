/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run among the live boxes: admitted or refused, listed while it lives, obedient to orders. See
 * sandbox/live.h and sandbox/orders.h for the files.
 */
#ifndef REIN_ENGINE_LIVE_H
#define REIN_ENGINE_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/canary.h"
#include "engine/engine.h"
#include "sandbox/live.h"
#include "sandbox/orders.h"

struct rein_watcher {
	struct rein_box_watch watch; /* for the specification */
	const struct rein_engine *engine;
	const struct rein_run_opts *opts;
	struct rein_run *run;
	struct rein_orders orders;
	int entry, place;
	bool over;  /* the box is dead */
	bool pause; /* an order that could not be written */
	pthread_t attending; /* the thread that carries orders out */
	atomic_bool paused;
	atomic_uint network_refusals; /* that were violations */
	struct rein_canaries canaries;
	struct rein_guest *guests; /* further commands in the box, see guests.h */
	size_t nguests, guests_cap;
	bool has_door;
};

/* REIN_E_STOPPED while the kill switch is on, for all or for this agent. */
int rein_engine_admits(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_err *err);
/* The same for what was admitted a while ago and would change something now: safe mode stops it, too. */
int rein_engine_may_change(const struct rein_engine *e, const struct rein_who *who, struct rein_err *err);
/* Take a place if their number is limited, watch for orders. w must stay where it is. */
int rein_watcher_open(struct rein_watcher *w, const struct rein_engine *e, const struct rein_run_opts *o,
		      struct rein_run *r, struct rein_err *err);
/* Whether somebody opened a canary, in boxes that were over before anybody looked as well. */
void rein_watcher_canaries(struct rein_watcher *w);
void rein_watcher_close(struct rein_watcher *w);

#endif
