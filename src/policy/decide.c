/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An action and its verdict to a decision. Restricting rules speak for the whole action as soon as
 * one part of it matches; an allow rule only for the parts it matches [P4]; what no rule speaks for
 * is decided by level and reach.
 */
#include <limits.h>
#include <stdarg.h>

#include "policy/judging.h"

void set_reason(struct rein_decision *ret, const char *fmt, ...)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);
	char text[REIN_REASON_MAX];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rein_buf_escaped(&b, rein_str(text));
	n = b.n < sizeof(ret->reason) ? b.n : sizeof(ret->reason) - 1;
	while (n && n < b.n && ((unsigned char)b.p[n] & 0xc0) == 0x80)
		n--; /* not in the middle of a character */
	if (n)
		memcpy(ret->reason, b.p, n);
	ret->reason[n] = '\0';
}

void decision_deny(struct rein_decision *ret, const char *rule, const char *reason)
{
	*ret = (struct rein_decision){.rule = rule};
	set_reason(ret, "%s", reason);
}

/* Which agents a rule on its way into force is enforced for: always the same ones. */
static bool in_share(uint64_t share_plus_one, const char *agent)
{
	uint64_t h = 14695981039346656037ull;

	if (!share_plus_one)
		return true;
	for (const char *s = agent ? agent : ""; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	h ^= h >> 33;
	return h % 100 < share_plus_one - 1;
}

bool common_advisory(const struct rein_policy *p, const struct common *c, const char *agent)
{
	(void)p;
	return c->mode == MODE_ADVISORY || !in_share(c->share, agent);
}

const struct environment *find_environment(const struct rein_policy *p, const char *name)
{
	for (size_t i = p->all.environments.n; name && i-- > 0;)
		if (rein_streq(p->all.environments.v[i].name, name))
			return &p->all.environments.v[i];
	return NULL;
}

static bool demands(const struct rein_demand *d)
{
	return d->n_approvers || d->minimum > 1 || d->expires_ns;
}

static struct rein_demand demand_of(const struct common *c)
{
	return (struct rein_demand){.approvers = c->approvers.v,
				    .n_approvers = c->approvers.n,
				    .minimum = (unsigned)c->minimum,
				    .expires_ns = c->expires_ns};
}

void decision_add(struct rein_decision *ret, const struct rein_demand *d)
{
	if (ret->n_also < ARRAY_SIZE(ret->also))
		ret->also[ret->n_also++] = *d;
	else /* more than anybody can follow: nobody satisfies them all */
		ret->demand.minimum = UINT_MAX;
}

void decision_also(struct rein_decision *ret, const struct common *c)
{
	const struct rein_demand d = demand_of(c);

	if (demands(&d))
		decision_add(ret, &d);
}

static void consider(struct judging *j, const struct rule *r, const struct hit *h)
{
	enum rein_decide d = (enum rein_decide)(r->c.decide - 1);
	bool advisory = common_advisory(j->p, &r->c, j->f->agent);
	struct rein_considered say = {
		.rule = r->c.id, .file = r->c.file, .message = r->c.message, .layer = r->c.layer,
		.line = r->c.line, .decide = d, .unsure = h->m == MATCH_MAYBE, .advisory = advisory,
	};

	if (h->m == MATCH_MAYBE && d == REIN_ALLOW)
		return; /* [P5] */
	if (h->m == MATCH_MAYBE && d == REIN_DENY)
		d = REIN_ASK; /* [P5]: a person looks */
	if (j->fn)
		j->fn(j->arg, &say);
	if (advisory) {
		if (!j->trial || d < j->trial_decide) {
			j->trial = r;
			j->trial_decide = d;
		}
		return;
	}
	if (h->m == MATCH_YES && r->c.layer != REIN_LAYER_PROJECT) { /* [P3] */
		j->covered.bits[0] |= h->parts.bits[0];
		j->covered.bits[1] |= h->parts.bits[1];
	}
	/* who answers answers to all of them, not to the most specific one alone */
	if (d == REIN_ASK || d == REIN_HOLD) {
		const struct rein_demand wanted = demand_of(&r->c);

		if (demands(&wanted) && j->n_demands++ < ARRAY_SIZE(j->demands))
			j->demands[j->n_demands - 1] = &r->c;
	}
	if (!j->best || d < j->best_decide || (d == j->best_decide && j->best_unsure && h->m == MATCH_YES)) {
		j->best = r;
		j->best_decide = d;
		j->best_unsure = h->m == MATCH_MAYBE;
		j->best_start = h->start;
		j->best_end = h->end;
		j->best_fact = h->fact;
	}
}

/* Level and reach of what no rule spoke for; false: every part was spoken for. */
static bool rest(const struct judging *j, enum rein_level *level, enum rein_reach *reach,
		 const struct rein_fact **worst)
{
	bool any = !j->v->n_facts && !has(&j->covered, WHOLE);

	*level = REIN_LEVEL_SAFE;
	*reach = REIN_REACH_READONLY;
	*worst = NULL;
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];

		if (has(&j->covered, i))
			continue;
		any = true;
		if (f->level > *level)
			*level = f->level;
		if (f->reach > *reach)
			*reach = f->reach;
		if (!*worst || f->level > (*worst)->level)
			*worst = f;
	}
	if (j->whole && !has(&j->covered, WHOLE)) {
		any = true;
		if (j->everything.level > *level)
			*level = j->everything.level;
		if (j->everything.reach > *reach)
			*reach = j->everything.reach;
	}
	return any;
}

static enum rein_tier tier_of(const struct rein_decision *d)
{
	if (d->decide == REIN_DENY)
		return REIN_TIER_CRITICAL;
	if (d->level >= REIN_LEVEL_DANGEROUS)
		return REIN_TIER_HIGH;
	return d->decide == REIN_ALLOW ? REIN_TIER_LOW : REIN_TIER_MEDIUM;
}

static void finish(struct rein_decision *ret)
{
	ret->tier = tier_of(ret);
	if (ret->decide != REIN_ASK && ret->decide != REIN_HOLD)
		return;
	if (!ret->demand.minimum)
		ret->demand.minimum = 1;
	/* C2: told and waited 5 minutes, or asked 30. What is held waits: it is done, and nothing of it is in effect */
	if (!ret->demand.expires_ns && ret->decide == REIN_ASK)
		ret->demand.expires_ns = (ret->tier == REIN_TIER_MEDIUM ? 300ull : 1800ull) * 1000000000ull;
}

void decision_from(const struct rein_policy *p, const struct common *c, enum rein_decide decide,
		   const char *agent, struct rein_decision *ret)
{
	(void)p;
	(void)agent;
	ret->decide = decide;
	ret->rule = c->id;
	ret->layer = c->layer;
	ret->file = c->file;
	ret->line = c->line;
	ret->instead = c->instead;
	ret->demand = demand_of(c);
}

/* "deletes in the workspace (build)" */
static const char *what_it_does(const struct rein_fact *f, char out[REIN_REASON_MAX])
{
	bool named = f->target && *f->target;

	snprintf(out, REIN_REASON_MAX, "%s%s%s%s", f->reason, named ? " (" : "", named ? f->target : "", named ? ")" : "");
	return out;
}

/* Is it known what is deleted, and only not whether the rule's path lies in it? */
static bool holds_path(const struct judging *j, const struct rule *r, const struct rein_fact *f)
{
	return r->path.n && f->kind == REIN_FACT_DELETE && !path_unsure(j->paths[f - j->v->facts]);
}

/*
 * What it does, and which rule thinks of it. The rule's own words are about what it may not be: "work on an image
 * file" is no answer to rm -rf /, which takes the disks' devices with it.
 */
static void unsure_reason(const struct judging *j, const struct rule *r, const struct rein_fact *f,
			  struct rein_decision *ret)
{
	char does[REIN_REASON_MAX];

	ret->instead = NULL;
	if (!f)
		set_reason(ret, "perhaps under '%s', which is only certain when it runs%s%s", r->c.id,
			   r->c.message ? ": " : "", r->c.message ? r->c.message : "");
	else if (holds_path(j, r, f))
		set_reason(ret, "%s, and perhaps with it what '%s' is about", what_it_does(f, does), r->c.id);
	else
		set_reason(ret, "%s, perhaps under '%s', which is only certain when it runs", what_it_does(f, does),
			   r->c.id);
}

static void by_rule(const struct judging *j, struct rein_decision *ret)
{
	const struct rule *r = j->best;
	const struct rein_fact *f = j->best_fact;
	char does[REIN_REASON_MAX];

	decision_from(j->p, &r->c, j->best_decide, j->f->agent, ret);
	ret->unsure = j->best_unsure;
	ret->start = j->best_start;
	ret->end = j->best_end;
	if (j->best_unsure)
		unsure_reason(j, r, f, ret);
	else if (r->c.message)
		set_reason(ret, "%s", r->c.message);
	else if (f)
		set_reason(ret, "%s", what_it_does(f, does));
	else
		set_reason(ret, "the rule '%s' says so", r->c.id);
}

static const char *default_name(enum rein_level level, enum rein_reach reach)
{
	static const char *const names[REIN_LEVEL__MAX][REIN_REACH__MAX] = {
#define ROW(l)                                                                                     \
	{"", "defaults." l ".read-only", "defaults." l ".contained", "defaults." l ".compensable",         \
	 "defaults." l ".irreversible"}
		[REIN_LEVEL_SAFE] = ROW("safe"),
		[REIN_LEVEL_RISKY] = ROW("risky"),
		[REIN_LEVEL_DANGEROUS] = ROW("dangerous"),
		[REIN_LEVEL_DESTRUCTIVE] = ROW("destructive"),
	};

	return names[level][reach];
}

#define NOT_READ "could not be understood in full"

/* "No rule": by level and reach of what is left. What was not understood is asked. */
static void by_default(const struct judging *j, enum rein_level level, enum rein_reach reach,
		       const struct rein_fact *worst, struct rein_decision *ret)
{
	int d = j->p->all.defaults[level].by_reach[reach];
	bool unread = j->whole && !has(&j->covered, WHOLE);
	char does[REIN_REASON_MAX];

	ret->by_default = true;
	ret->layer = REIN_LAYER_BUILTIN;
	ret->decide = d ? (enum rein_decide)(d - 1) : REIN_ASK;
	ret->rule = default_name(level, reach);
	if (unread && ret->decide > REIN_ASK) {
		ret->decide = REIN_ASK;
		ret->rule = "defaults.incomplete";
		if (worst && strncmp(worst->reason, NOT_READ, strlen(NOT_READ)) == 0)
			set_reason(ret, "%s", worst->reason);
		else
			set_reason(ret, NOT_READ "%s%s", worst ? ": " : "", worst ? worst->reason : "");
	} else if (worst) {
		set_reason(ret, "%s", what_it_does(worst, does));
	} else {
		set_reason(ret, "nothing but reading");
	}
	if (worst) {
		ret->start = worst->start;
		ret->end = worst->end;
	}
}

/* C3: where it runs raises the bar; an environment nobody described is asked. */
static void by_environment(const struct judging *j, struct rein_decision *ret)
{
	const struct environment *e = find_environment(j->p, j->environment);
	int tier = e ? e->tier : ENV_APPROVE;
	const bool held = ret->decide == REIN_HOLD;

	if (tier == ENV_NOTIFY && ret->decide > REIN_ASK && j->v->reach > REIN_REACH_CONTAINED) {
		ret->notify = true;
		ret->notify_ns = announced_ns(e);
	}
	if (tier != ENV_APPROVE)
		return;
	if (ret->decide > REIN_ASK && j->v->reach > REIN_REACH_READONLY) {
		ret->decide = REIN_ASK;
		ret->by_default = false;
		ret->rule = e ? "environments.approve" : "environments.unknown";
		ret->layer = REIN_LAYER_BUILTIN;
		ret->file = NULL;
		ret->line = 0;
		/* nor is it asked as a rule would have it that let it run; one that holds has its say besides */
		if (held && demands(&ret->demand))
			decision_add(ret, &ret->demand);
		ret->demand = (struct rein_demand){0};
		set_reason(ret, e ? "everything that changes something in '%s' is approved first"
				  : "'%s' is not an environment the policy knows, so it is approved first",
			   j->environment);
	}
	if (e && ret->decide == REIN_ASK && (e->approvers.n || e->minimum > 1)) {
		const struct rein_demand d = {.approvers = e->approvers.v,
					      .n_approvers = e->approvers.n,
					      .minimum = (unsigned)e->minimum};

		if (!ret->demand.n_approvers && ret->demand.minimum <= 1) {
			ret->demand.approvers = d.approvers;
			ret->demand.n_approvers = d.n_approvers;
			ret->demand.minimum = d.minimum;
		} else {
			decision_add(ret, &d);
		}
	}
}

static void set_paths(struct judging *j)
{
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];

		j->paths[i][0] = '\0';
		/* an empty one names nothing, unlike one of which nothing is known */
		if (f->target && *f->target && is_path_kind(f->kind) &&
		    !path_absolute(f->target, f->cwd, &j->at, j->paths[i], sizeof(j->paths[i]))) {
			j->paths[i][0] = REIN_WORD_ANY;
			j->paths[i][1] = '\0';
		}
	}
}

static void set_whole(struct judging *j)
{
	enum rein_level level = REIN_LEVEL_SAFE;
	enum rein_reach reach = REIN_REACH_READONLY;

	for (size_t i = 0; i < j->v->n_facts; i++) {
		if (j->v->facts[i].level > level)
			level = j->v->facts[i].level;
		if (j->v->facts[i].reach > reach)
			reach = j->v->facts[i].reach;
	}
	j->everything = (struct rein_fact){.level = j->v->level, .reach = j->v->reach,
					   .end = j->v->text_bytes};
	j->whole = !j->v->complete || j->v->calls_lost || j->v->n_facts == REIN_VERDICT_FACTS ||
		   j->v->level > level || j->v->reach > reach;
}

static void set_programs(struct judging *j)
{
	for (size_t i = 0; i < j->v->n_calls; i++) {
		struct rein_str name = j->v->calls[i].words[0], base = base_of(name);

		j->program_bits |= name_bit(name) | name_bit(base);
		j->program_unsure |= name.n > WORD_LONG; /* its name was not looked for */
		for (size_t k = 0; k < name.n && !j->program_unsure; k++)
			j->program_unsure = name.p[k] >= REIN_WORD_ANY && name.p[k] <= REIN_WORD_ONE;
	}
}

/* Also of the strictest, where the rest was decided more strictly still. */
static void all_demands(const struct judging *j, struct rein_decision *ret)
{
	for (size_t i = 0; i < j->n_demands; i++)
		if (i >= ARRAY_SIZE(j->demands))
			decision_add(ret, &(struct rein_demand){.minimum = UINT_MAX});
		else if (ret->by_default || j->demands[i] != &j->best->c)
			decision_also(ret, j->demands[i]);
}

static void judge(struct judging *j, struct rein_decision *ret)
{
	const struct rein_policy *p = j->p;
	const struct rein_fact *worst;
	enum rein_level level;
	enum rein_reach reach;
	struct rein_decision left = {0};

	for (size_t i = 0; i < p->live.n; i++) {
		struct hit h = {0};

		/* sorted: deny first, each kind from the most specific on */
		if (j->best && !j->best_unsure && j->best_decide == REIN_DENY && !j->fn)
			break;
		match_rule(j, p->live.v[i], &h);
		if (h.m)
			consider(j, p->live.v[i], &h);
	}
	if (j->best)
		by_rule(j, ret);
	if (rest(j, &level, &reach, &worst)) {
		by_default(j, level, reach, worst, &left);
		if (!j->best || left.decide < ret->decide || (left.decide == ret->decide && j->best_unsure))
			*ret = left;
	}
	ret->level = j->v->level;
	ret->reach = j->v->reach;
	if (ret->decide == REIN_ASK || ret->decide == REIN_HOLD)
		all_demands(j, ret);
	by_environment(j, ret);
	if (j->trial && j->trial_decide < ret->decide) {
		ret->would = true;
		ret->would_decide = j->trial_decide;
		ret->would_rule = j->trial->c.id;
	}
	ret->advisory = p->settings.advisory;
	finish(ret);
}

static const char *or(const char *s, const char *other)
{
	return s && *s ? s : other;
}

int rein_policy_explain(const struct rein_policy *p, const struct rein_action *action,
			const struct rein_verdict_facts *facts, struct rein_decision *ret,
			rein_considered_fn *fn, void *arg)
{
	char paths[REIN_VERDICT_FACTS][1280];
	struct judging j = {.p = p, .a = action, .f = facts, .fn = fn, .arg = arg, .paths = paths};

	if (p->broken) { /* [P1] */
		decision_deny(ret, "policy.broken", p->why);
		return 0;
	}
	j.v = facts->verdict;
	if (!p->sealed || !j.v || action->kind <= REIN_ACTION_NONE || action->kind > REIN_ACTION_CUSTOM ||
	    j.v->level <= REIN_LEVEL_NONE || j.v->level >= REIN_LEVEL__MAX || j.v->reach <= REIN_REACH_NONE ||
	    j.v->reach >= REIN_REACH__MAX || j.v->n_facts > REIN_VERDICT_FACTS) {
		decision_deny(ret, "policy.unjudged", "nobody looked at what this action does");
		return -REIN_E_DENIED;
	}
	*ret = (struct rein_decision){0};
	j.environment = or(facts->environment, p->settings.environment);
	j.at.home = or(action->home, "/home/user");
	j.at.workspace = or(action->workspace, or(action->cwd, "/home/user/workspace"));
	set_paths(&j);
	set_whole(&j);
	set_programs(&j);
	judge(&j, ret);
	return 0;
}

int rein_policy_decide(const struct rein_policy *p, const struct rein_action *action,
		       const struct rein_verdict_facts *facts, struct rein_decision *ret)
{
	return rein_policy_explain(p, action, facts, ret, NULL, NULL);
}
