/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the same agent was refused the same thing by the same rule. An agent that tries again and again
 * is told to stop: it costs its owner time and money and cannot succeed. Kept in STATE/refusals, a table of
 * fixed size that any number of processes share; what was not refused for an hour is forgotten, and when the
 * table is full the oldest gives way.
 *
 *	unsigned times = 0;
 *
 *	if (rein_refusals_note(state, agent, session, d.rule, digest, now, &times, &err) == 0 &&
 *	    (advice = rein_refusals_advice(times)))
 *		say(advice);
 *
 * It is advice only: when the table cannot be kept, nothing is any the less refused.
 */
#ifndef REIN_ENGINE_REFUSALS_H
#define REIN_ENGINE_REFUSALS_H

#include <stdint.h>

#include "base/err.h"

#define REIN_REFUSALS_STOP 3 /* from this time on */

/* Counts this one. agent, session: NULL when not known. digest: what was asked, by whatever name. */
int rein_refusals_note(const char *state_dir, const char *agent, const char *session, const char *rule,
		       const char *digest, uint64_t now_ns, unsigned *ret_times, struct rein_err *err);
/* One sentence for the agent, or NULL. */
const char *rein_refusals_advice(unsigned times);

#endif
