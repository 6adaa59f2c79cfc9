/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box did that it must not do, decided while it runs.
 *
 *	note -> counted for the agent, on the record
 *	     -> one high, or more than three medium since a person last looked:
 *		the box is paused, safe mode begins for the agent (its boxes change nothing and have no
 *		network), an incident is on the record; a person looks, resumes or kills the box, and lifts it
 *
 * The count is kept in STATE/violations, a file an agent, one line each: it outlives boxes and crashes.
 */
#ifndef REIN_ENGINE_VIOLATIONS_H
#define REIN_ENGINE_VIOLATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

enum rein_violation_type {
	REIN_VIOLATION_NONE = 0,
	REIN_VIOLATION_PERMISSION, /* a program the policy denies */
	REIN_VIOLATION_FILE,	   /* a canary was read */
	REIN_VIOLATION_NETWORK,	   /* a connection was refused */
	REIN_VIOLATION_RESOURCE,   /* a limit was hit */
	REIN_VIOLATION__MAX,
};

#define REIN_MEDIUM_MAX	    3  /* more than so many medium ones are as bad as a high one */
#define REIN_VIOLATIONS_MAX 32 /* of one run, told in its result; all are counted */

struct rein_violations {
	size_t n; /* may be more than are kept */
	bool safe_mode; /* it began here */
	struct {
		enum rein_violation_type type;
		char text[160];
	} v[REIN_VIOLATIONS_MAX];
};

const char *rein_violation_name(enum rein_violation_type type);
bool rein_violation_is_high(enum rein_violation_type type);

struct rein_watcher;
/* Thread-safe. What cannot be written down is no reason to let it go: the box is paused then, too. */
void rein_engine_violation(struct rein_watcher *w, enum rein_violation_type type, const char *text);

struct rein_orders;
/* A person begins it or ends it. agent NULL: everybody. 1: something changed. */
int rein_safe_mode_begin(const struct rein_orders *o, const char *agent, const char *why, struct rein_err *err);
int rein_safe_mode_lift(const struct rein_orders *o, const char *agent, struct rein_err *err);

#endif
