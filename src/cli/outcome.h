/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of a run when it is over: how it ended, what became of its changes, and what would have helped it. All
 * of it goes to stderr, because stdout is the command's.
 */
#ifndef REIN_CLI_OUTCOME_H
#define REIN_CLI_OUTCOME_H

#include "cli/fate.h"
#include "cli/opts.h"
#include "engine/engine.h"

/* "exit 0", "timed out" …; a static buffer. */
const char *rein_outcome_end(const struct rein_run *r);
/* One object (docs/json.md). rest: the id of what is held of it, NULL or "": nothing is; err may be NULL. */
void rein_outcome_json(const struct rein_run *r, const struct rein_run_opts *o, const char *decision,
		       const char *rest, const struct rein_err *err);
/* The same for people. */
void rein_outcome_report(const struct rein_run *r, const struct rein_run_opts *o, enum rein_fate d,
			 const char *rest, bool verbose);
/* Of one that is held: what can be done about it. */
void rein_outcome_ways(const struct rein_run *r);
/* What there is to know beside it: of the view, of owners, of safe mode; more with --verbose. */
void rein_outcome_notes(const struct rein_run *r, const struct rein_common *common,
			const struct rein_run_opts *o);

#endif
