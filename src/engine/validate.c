/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that must succeed before a commit. */
#include "engine/validate.h"

#include "base/auto.h"

static void object(struct rein_run *r, const char *command, int status)
{
	struct rein_decision *d = &r->judged.after;

	*d = (struct rein_decision){
		.decide = r->settings.on_failure == REIN_FAILURE_DISCARD ? REIN_DENY : REIN_HOLD,
		.tier = REIN_TIER_MEDIUM,
		.level = d->level,
		.reach = d->reach,
		.advisory = d->advisory,
		.rule = "validate",
		.instead = "look at what it reports, mend it, and run again",
		.demand = {.minimum = 1},
	};
	snprintf(d->reason, sizeof(d->reason), "'%.200s', which must succeed before a commit, ended with status %d",
		 command, status);
	r->judged.has_after = true;
}

int rein_validate(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		  struct rein_err *err)
{
	const struct rein_policy_list *l = &r->settings.validate;
	struct rein_box_result first = r->result;
	int end = r->tx.end, status = r->tx.status, rc = 0;

	if (!l->n || !r->changes.n)
		return 0;
	/* its lists stay with it, but for those that go on from command to command */
	r->result.execs = (struct rein_execs){0};
	r->result.refused = (struct rein_refused){0};
	for (size_t i = 0; i < l->n && rc == 0; i++) {
		char *argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
				(char *)(uintptr_t)l->v[i], NULL};
		struct rein_run_opts once = *o;

		once.argv = argv;
		rc = rein_engine_launch_(e, &once, r, err);
		if (rc < 0)
			rein_err_prefix(err, "validate '%s'", l->v[i]);
		else if (r->result.end != REIN_BOX_EXITED || r->result.status) {
			object(r, l->v[i], r->result.status);
			rc = 1;
		}
	}
	/* the transaction is described by its command, not by its checks */
	rein_execs_done(&r->result.execs);
	rein_refused_done(&r->result.refused);
	first.linked = r->result.linked;
	first.net = r->result.net;
	r->result = first;
	r->tx.end = end;
	r->tx.status = status;
	if (rc < 0 || rein_engine_scan(r, err) < 0)
		return -err->code;
	return rc;
}
