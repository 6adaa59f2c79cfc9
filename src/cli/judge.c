/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict and decision for an action nobody runs. */
#include "cli/judge.h"

#include <stdlib.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "engine/knowload.h"
#include "engine/policyload.h"
#include "secret/secret.h"

static const char *const kinds[] = {NULL, "command", "file", "sql", "http", "custom"};

const char *rein_kind_name(int choice)
{
	return choice > 0 && choice < (int)ARRAY_SIZE(kinds) ? kinds[choice] : NULL;
}

int rein_minute(const char *at, int *ret, struct rein_err *err)
{
	int minute;

	if (strlen(at) != 5 || strspn(at, "0123456789") != 2 || at[2] != ':' || strspn(at + 3, "0123456789") != 2)
		return rein_err_set(err, REIN_E_USAGE, "--at: '%s' is not a time such as 23:30", at);
	minute = ((at[0] - '0') * 10 + at[1] - '0') * 60 + (at[3] - '0') * 10 + at[4] - '0';
	if (minute >= 24 * 60 || at[3] > '5')
		return rein_err_set(err, REIN_E_USAGE, "--at: there is no %s in a day", at);
	*ret = minute;
	return 0;
}

static int set_time(struct rein_verdict_facts *f, const char *at, struct rein_err *err)
{
	time_t now = (time_t)(rein_now_ns() / REIN_NS_PER_S);
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return rein_err_set(err, REIN_E_FAILED, "the time of day is not known");
	f->minute = tm.tm_hour * 60 + tm.tm_min;
	f->weekday = (tm.tm_wday + 6) % 7;
	return at ? rein_minute(at, &f->minute, err) : 0;
}

int rein_judge_begin(struct rein_judge *j, const struct rein_circumstances *c, struct rein_err *err)
{
	const char *home = getenv("HOME");
	char *cwd = realpath(".", NULL);

	j->cwd = cwd ? rein_strdup(cwd) : NULL;
	free(cwd);
	j->project = j->cwd ? rein_policy_project(j->cwd) : NULL;
	if (!j->project)
		return rein_err_set(err, REIN_E_IO, "the current directory is gone");
	if (home && *home == '/' && !(j->home = rein_strdup(home)))
		return rein_err_nomem(err);
	if (c->trust > 100)
		return rein_err_set(err, REIN_E_USAGE, "--trust: 0 to 100");
	j->facts = (struct rein_verdict_facts){.agent = c->agent, .role = c->role, .environment = c->environment,
					       .trust_known = c->trust > 0, .trust = (unsigned)c->trust};
	return set_time(&j->facts, c->at, err);
}

int rein_judge_load(struct rein_judge *j, const struct rein_circumstances *c, bool only_files,
		    struct rein_err *err)
{
	struct rein_policy_sources from = {.project = j->project, .files = &c->policy, .only_files = only_files};

	return rein_policy_load(&from, &j->policy, err);
}

/* A home or the root of the system is nobody's workspace: all that is precious lies in it. */
static bool is_workspace(const struct rein_judge *j)
{
	size_t n = strlen(j->project);

	return n > 1 && !(j->home && !strncmp(j->home, j->project, n) && (!j->home[n] || j->home[n] == '/'));
}

int rein_judge_classify(struct rein_judge *j, struct rein_action *a, const struct rein_verdict **ret,
			struct rein_err *err)
{
	if (!j->classifier && rein_knowledge_open(&j->classifier, err) < 0)
		return -err->code;
	if (!a->cwd && !a->workspace && is_workspace(j)) { /* else: as in a workspace somewhere */
		a->cwd = j->cwd;
		a->workspace = j->project;
	}
	if (!a->home)
		a->home = j->home;
	*ret = rein_classify(j->classifier, a, err);
	return *ret ? 0 : -err->code;
}

const char *rein_judge_secret(const struct rein_action *a)
{
	struct rein_secret_hit h;

	return a->content && rein_secret_next((struct rein_str){a->content, a->content_n}, 0, REIN_SECRET_LIKELY, &h)
		       ? h.kind
		       : NULL;
}

int rein_judge(struct rein_judge *j, struct rein_action *a, const struct rein_verdict **ret_verdict,
	       struct rein_decision *ret, struct rein_err *err)
{
	int rc = rein_judge_classify(j, a, ret_verdict, err);

	if (rc < 0)
		return rc;
	j->facts.verdict = *ret_verdict;
	j->facts.secret = rein_judge_secret(a);
	rein_policy_decide(j->policy, a, &j->facts, ret); /* could not be decided: it denies and says so */
	return 0;
}

void rein_judge_done(struct rein_judge *j)
{
	rein_policy_free(j->policy);
	rein_classifier_free(j->classifier);
	rein_free(j->cwd);
	rein_free(j->project);
	rein_free(j->home);
}

static void json_demand(struct rein_json *j, const struct rein_demand *d)
{
	rein_json_ku64(j, "minimum", d->minimum);
	rein_json_ku64(j, "expires_s", d->expires_ns / REIN_NS_PER_S);
	rein_json_key(j, "approvers");
	rein_json_open(j, '[');
	for (size_t i = 0; i < d->n_approvers; i++)
		rein_json_cstr(j, d->approvers[i]);
	rein_json_close(j, ']');
}

void rein_json_decision(struct rein_json *j, const struct rein_decision *d)
{
	rein_json_kstr(j, "decision", rein_decide_name(d->decide));
	rein_json_kstr(j, "tier", rein_tier_name(d->tier));
	rein_json_kstr(j, "rule", d->rule);
	rein_json_kstr(j, "layer", rein_layer_name(d->layer));
	if (d->file)
		rein_json_path(j, "file", d->file);
	rein_json_ku64(j, "line", d->line);
	rein_json_kstr(j, "reason", d->reason);
	rein_json_kstr(j, "instead", d->instead);
	rein_json_kbool(j, "advisory", d->advisory);
	rein_json_kbool(j, "unsure", d->unsure);
	rein_json_kbool(j, "notify", d->notify);
	json_demand(j, &d->demand);
	rein_json_key(j, "also");
	rein_json_open(j, '[');
	for (size_t i = 0; i < d->n_also; i++) {
		rein_json_open(j, '{');
		json_demand(j, &d->also[i]);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
	if (d->would) {
		rein_json_kstr(j, "would", rein_decide_name(d->would_decide));
		rein_json_kstr(j, "would_rule", d->would_rule);
	}
}
