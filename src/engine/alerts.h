/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts: the policy's rules over the record's new events. Whoever appended events calls this last.
 *
 *	rein_engine_alerts(&engine, policy, stderr);
 */
#ifndef REIN_ENGINE_ALERTS_H
#define REIN_ENGINE_ALERTS_H

#include <stdio.h>

#include "engine/engine.h"
#include "policy/policy.h"
#include "record/deliver.h"

/*
 * Looks at what is new, says on `say` (may be NULL) what is to be said there, puts the rest into the
 * outbox, and leaves delivering it to a process of its own that outlives this one: the caller waits
 * for no network and no program. Costs about a millisecond. Never fails the caller: what goes wrong
 * is said, and taken up by the next call.
 *
 * The process that is left behind is a fork: do not call this with other threads running.
 */
/* p NULL: the policy in force here is loaded for it. */
void rein_engine_alerts(const struct rein_engine *e, const struct rein_policy *p, FILE *say);

/*
 * The same after a run, of which it is known what it appended: where none of it can concern a rule, and somebody has
 * looked within the last minute, nobody looks. Before that, while the command runs and there is nothing else to do: what
 * tells nobody anything is over with then.
 */
void rein_engine_alerts_meanwhile(const struct rein_engine *e, struct rein_run *r);
void rein_engine_alerts_after(const struct rein_engine *e, const struct rein_run *r, FILE *say);

/*
 * The same, now and here, for a person who asks: everything new whatever its size, then deliveries
 * for wait_ns (0: each once). Returns the number of alerts fired.
 */
int rein_engine_alerts_now(const char *state_dir, const struct rein_policy *p, uint64_t wait_ns,
			   FILE *say, struct rein_deliver_result *ret, struct rein_err *err);

#endif
