/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output and error of a box whose output is limited: they go through us and are counted. Only
 * then; otherwise the command has the caller's own descriptors. Terminals are the relay's.
 *
 * [O1] Not a byte over the limit reaches the caller, and none below it is lost or reordered within a
 *      stream. Two descriptors that are the same file stay one stream.
 * [O2] Whoever reads slowly slows the command down, as without us; when the box is dead because we
 *      killed it, nobody is waited for.
 */
#ifndef REIN_SANDBOX_OUTLET_H
#define REIN_SANDBOX_OUTLET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct rein_outlet {
	int from[2];	  /* our ends; -1: not carried */
	int given[3];	  /* what the box gets as 1 and 2 (index is the number); -1: the caller's own */
	int stop;	  /* eventfd */
	uint64_t limit;
	_Atomic uint64_t carried;
	bool running;
	pthread_t thread;
};
#define REIN_OUTLET_INIT {.from = {-1, -1}, .given = {-1, -1, -1}, .stop = -1}

/* terminals: which of 0, 1, 2 are the relay's. limit 0: nothing is done. */
int rein_outlet_open(struct rein_outlet *o, uint64_t limit, unsigned terminals, struct rein_err *err);
/* The box has its ends: close ours of them, start carrying. */
int rein_outlet_start(struct rein_outlet *o, struct rein_err *err);
#define REIN_OUTLET_DRAIN (-1)
/*
 * The box is dead. What is left is brought out for so many milliseconds, or until it is. Returns when nobody uses the
 * descriptors any more.
 */
void rein_outlet_end(struct rein_outlet *o, int drain_ms);

#endif
