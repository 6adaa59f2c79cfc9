/* SPDX-License-Identifier: Apache-2.0 */
/* <rein/policy.h>: plain questions and answers around the engine's way of asking. */
#include <rein/policy.h>

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/auto.h"
#include "base/strlist.h"
#include "classify/grammar.h"
#include "engine/policyload.h"
#include "sql/sql.h"

int rein_policy_open(const char *directory, const char *const *files, struct rein_policy **ret, struct rein_err *err)
{
	auto_free char *project = directory ? rein_policy_project(directory) : NULL;
	auto_strlist struct rein_strlist list = {0};
	struct rein_policy_sources from = {.project = project, .files = &list};

	*ret = NULL;
	if (directory && !project)
		return rein_err_nomem(err);
	for (; files && *files; files++)
		if (rein_strlist_add(&list, *files) < 0)
			return rein_err_nomem(err);
	return rein_policy_load(&from, ret, err);
}

void rein_policy_close(struct rein_policy *p)
{
	rein_policy_free(p);
}

int rein_policy_ask(const struct rein_policy *p, struct rein_classifier *c, const struct rein_question *q,
		    struct rein_answer *ret, struct rein_err *err)
{
	struct rein_verdict_facts f = {.minute = REIN_TIME_NONE, .weekday = REIN_TIME_NONE};
	time_t now = time(NULL);
	struct rein_decision d;
	struct rein_action a;
	struct tm tm;

	*ret = (struct rein_answer){.reason = "it could not be judged"};
	if (!p || !c || !q || !q->text || rein_policy_action(q->kind, q->text, &a) < 0)
		return rein_err_set(err, REIN_E_INVALID, "no policy, no classifier, no text, or no such kind of action");
	f.agent = q->agent;
	f.role = q->role;
	f.environment = q->environment;
	a.cwd = q->cwd;
	a.workspace = q->workspace;
	a.home = q->home;
	a.dialect = q->dialect;
	if (localtime_r(&now, &tm)) {
		f.minute = tm.tm_hour * 60 + tm.tm_min;
		f.weekday = (tm.tm_wday + 6) % 7;
	}
	rein_classifier_set_sql(c, rein_sql_parse);
	f.verdict = rein_classify(c, &a, err);
	if (!f.verdict)
		return -err->code;
	rein_policy_decide(p, &a, &f, &d); /* what cannot be decided is denied, with the reason in it */
	ret->decision = (int)d.decide;
	ret->level = (int)d.level;
	ret->reach = (int)d.reach;
	ret->advisory = d.advisory;
	ret->instead = d.instead;
	snprintf(ret->rule, sizeof(ret->rule), "%s", d.rule ? d.rule : "");
	snprintf(ret->reason, sizeof(ret->reason), "%s", d.reason);
	return 0;
}

const char *rein_decision_name(int decision)
{
	return rein_decide_name(decision);
}

static_assert((int)REIN_DECISION_DENY == (int)REIN_DENY && (int)REIN_DECISION_ASK == (int)REIN_ASK &&
		      (int)REIN_DECISION_HOLD == (int)REIN_HOLD && (int)REIN_DECISION_ALLOW == (int)REIN_ALLOW,
	      "the public numbers are the inner ones");
