/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Killing boxes from outside, and making sure: every process of a box dies with its pid 1, and nobody
 * believes that without having looked. Needs neither the registry nor the disk: boxes nobody listed
 * are found in /proc.
 */
#ifndef REIN_SANDBOX_STOP_H
#define REIN_SANDBOX_STOP_H

#include "base/err.h"
#include "sandbox/live.h"

struct rein_stopped {
	size_t boxes, processes; /* that were there */
	size_t left;		 /* processes still there: must be 0 */
	uint64_t wall_ns;	 /* from the first kill to the last look */
};

/* What to stop. The boxes are looked up, held and counted before anybody touches them. */
struct rein_stop;
int rein_stop_prepare(struct rein_stop **ret, struct rein_err *err);
/* Boxes of this list; extra: also those of this state directory (NULL: none) which no list has. */
int rein_stop_add(struct rein_stop *s, const struct rein_live_list *l, const char *extra,
		  struct rein_err *err);
void rein_stop_count(struct rein_stop *s);
/* Kill what was added and wait for its end. May be called again after more was added. */
int rein_stop_kill(struct rein_stop *s, struct rein_err *err);
/* Look for what is left. */
void rein_stop_verify(struct rein_stop *s, struct rein_stopped *ret);
void rein_stop_free(struct rein_stop *s); /* NULL is fine */

#endif
