/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input through a pipe, for a runtime that must not get hold of the caller's own: gVisor
 * gives the files that are its streams to the user it runs as, /dev/null and terminals included.
 * What was read and not taken at the end is lost, as with any pipe. Output goes the same way:
 * outlet.h.
 */
#ifndef REIN_SANDBOX_INLET_H
#define REIN_SANDBOX_INLET_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"

struct rein_inlet {
	int given; /* the end for the runtime, clear of the standard numbers; -1: none */
	int to, stop;
	pthread_t thread;
	bool running;
};

#define REIN_INLET_INIT                                                                            \
	{                                                                                          \
		.given = -1, .to = -1, .stop = -1                                                  \
	}

int rein_inlet_open(struct rein_inlet *i, struct rein_err *err);
/* The runtime has its end: carry. */
int rein_inlet_start(struct rein_inlet *i, struct rein_err *err);
void rein_inlet_end(struct rein_inlet *i);

#endif
