/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts and outcomes put before the policy. */
#include "engine/judge.h"

#include <stdlib.h>
#include <time.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "engine/facts.h"
#include "engine/knowload.h"
#include "sys/priv.h"

void rein_judgement_done(struct rein_judgement *j)
{
	rein_classifier_free(j->classifier);
	rein_reviews_done(&j->reviews);
	*j = (struct rein_judgement){0};
}

enum rein_decide rein_decision_enforced(const struct rein_decision *d)
{
	return d->advisory ? REIN_ALLOW : d->decide;
}

static struct rein_verdict_facts facts_of(const struct rein_who *who, const struct rein_verdict *v)
{
	struct rein_verdict_facts f = {.verdict = v,
				       .agent = who->agent,
				       .role = who->role,
				       .environment = who->environment,
				       .minute = REIN_TIME_NONE,
				       .weekday = REIN_TIME_NONE};
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm)) {
		f.minute = tm.tm_hour * 60 + tm.tm_min;
		f.weekday = (tm.tm_wday + 6) % 7;
	}
	return f;
}

int rein_judge_action(struct rein_judgement *j, const struct rein_policy *p, const struct rein_action *a,
		      const struct rein_who *who, struct rein_err *err)
{
	struct rein_verdict_facts f;

	j->before = (struct rein_decision){0};
	j->has_before = false;
	j->approved = false;
	j->missing[0] = '\0';
	if (!j->classifier && rein_knowledge_open(&j->classifier, err) < 0)
		return -err->code;
	j->verdict = rein_classify(j->classifier, a, err);
	if (!j->verdict)
		return rein_err_prefix(err, "it could not be classified");
	f = facts_of(who, j->verdict);
	/* a decision that could not be made denies and tells why: nothing more to do about it here */
	rein_policy_decide(p, a, &f, &j->before);
	j->has_before = true;
	return 0;
}

int rein_judge_effects(struct rein_judgement *j, const struct rein_policy *p, const struct rein_aftermath *a,
		       const struct rein_who *who, struct rein_err *err)
{
	const unsigned needs = rein_policy_needs(p) & ~(a->discard ? REIN_NEEDS_SECRETS | REIN_NEEDS_LINES : 0u);
	auto_(rein_facts_done) struct rein_facts facts = {0};
	struct rein_outcome o = {
		.changes = a->changes,
		.roots = a->tx->roots,
		.nroots = a->tx->nroots,
		.workspace = a->workspace,
		.home = a->home,
		.hosts = a->hosts,
		.status = a->status,
		.killed = a->killed,
		.who = facts_of(who, j->verdict),
	};

	j->after = (struct rein_decision){0};
	j->has_after = false;
	while (rein_facts_gather(needs, a->tx, a->changes, a->workspace, &facts, err) < 0) {
		if (!rein_master_own_files(err->sys))
			return rein_err_prefix(err, "the effects could not be judged");
		rein_facts_done(&facts);
		facts = (struct rein_facts){0};
	}
	o.facts = facts.v;
	o.tree_files = facts.tree_files;
	rein_policy_judge_effects(p, &o, &j->after);
	j->has_after = true;
	return 0;
}
