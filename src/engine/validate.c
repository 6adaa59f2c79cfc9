/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that must succeed before a commit. */
#include "engine/validate.h"

#include <limits.h>
#include <stdlib.h>

#include "base/auto.h"

static struct rein_decision *object(struct rein_run *r, enum rein_decide decide, const char *instead)
{
	struct rein_decision *d = &r->judged.after;

	*d = (struct rein_decision){
		.decide = decide,
		.tier = REIN_TIER_MEDIUM,
		.level = d->level,
		.reach = d->reach,
		.advisory = d->advisory,
		.rule = "validate",
		.instead = instead,
		.demand = {.minimum = 1},
	};
	r->judged.has_after = true;
	return d;
}

static void object_to_failure(struct rein_run *r, const char *command, int status)
{
	struct rein_decision *d = object(r, r->settings.on_failure == REIN_FAILURE_DISCARD ? REIN_DENY : REIN_HOLD,
					 "look at what it reports, mend it, and run again");

	snprintf(d->reason, sizeof(d->reason), "'%.200s', which must succeed before a commit, ended with status %d",
		 command, status);
}

/* A check that cannot be made says nothing of the work: it is neither committed nor lost. */
static void object_to_silence(struct rein_run *r, const char *command, struct rein_err *err)
{
	struct rein_decision *d = object(r, REIN_HOLD, "look at what it did; then rein commit or rein discard");

	snprintf(d->reason, sizeof(d->reason), "'%.80s', which must succeed before a commit, cannot be run: %.180s",
		 command, err->msg);
	*err = (struct rein_err){0};
}

static bool is_foreign(const struct rein_run *r, const char *command)
{
	const struct rein_policy_list *l = &r->settings.foreign_validate;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == command)
			return true;
	return false;
}

/*
 * The file of a project nobody trusts is the word of whoever wrote the code: what it wants to be run is
 * judged as if he had run it, and there is nobody here to be asked. 1: not to be run.
 */
static int judge_foreign(const struct rein_run_opts *o, struct rein_run *r, char *const *argv, struct rein_err *err)
{
	auto_(rein_judgement_done) struct rein_judgement j = {0};
	char here[PATH_MAX];
	struct rein_action a = rein_engine_action_(o, r, argv, here);
	struct rein_decision *d;

	a.environ_ = (const char *const *)r->env.envp.v;
	if (rein_judge_action(&j, r->policy, &a, &o->who, err) < 0)
		return -err->code;
	if (rein_decision_enforced(&j.before) == REIN_ALLOW)
		return 0;
	d = object(r, REIN_HOLD, "look at the command; rein policy trust lets the project's file say what is run");
	snprintf(d->reason, sizeof(d->reason),
		 "the project wants '%.80s' to be run before a commit, which is not allowed: %.140s",
		 argv[2], j.before.reason);
	return 1;
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
		/* standard input and output are the command's, and whoever reads the one wants nothing else in it */
		auto_free char *text = rein_asprintf("exec </dev/null >&2; %s", l->v[i]);
		char *argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
				(char *)(uintptr_t)l->v[i], NULL};
		char *apart[] = {argv[0], argv[1], text, NULL};
		struct rein_run_opts once = *o;

		once.argv = apart;
		/* in the place its command had: whoever has taken that meanwhile must not cost what it did */
		once.max_boxes = 0;
		rc = !text ? rein_err_nomem(err) : is_foreign(r, l->v[i]) ? judge_foreign(o, r, argv, err) : 0;
		if (rc == 0)
			rc = rein_engine_launch_(e, &once, r, err);
		else if (rc > 0)
			break;
		first.painted = first.painted || r->result.painted; /* on the same terminal */
		if (rc < 0) {
			object_to_silence(r, l->v[i], err);
			rc = 1;
		} else if (r->result.end != REIN_BOX_EXITED || r->result.status) {
			object_to_failure(r, l->v[i], r->result.status);
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
	return rein_engine_scan(r, err) < 0 ? -err->code : rc;
}
