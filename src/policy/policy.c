/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers to one policy. Later layers add; a rule of the same id takes an earlier one back; a project
 * nobody trusts can only make things stricter [P3], and what it says beyond that is remarked.
 */
#include <assert.h>
#include <stdarg.h>

#include "model/limits.h"
#include "policy/internal.h"

/* Never fails: a remark that finds no memory is a remark less. */
void remark(struct rein_policy *p, const char *file, unsigned line, const char *fmt, ...)
{
	struct remark *r = pool_alloc(&p->pool, sizeof(*r));
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!r || p->remarks_n > 1000)
		return;
	r->text = pool_dup(&p->pool, text, strlen(text));
	if (!r->text)
		return;
	r->file = file;
	r->line = line;
	if (p->last_remark)
		p->last_remark->next = r;
	else
		p->remarks = r;
	p->last_remark = r;
	p->remarks_n++;
}

static int join_strs(struct rein_policy *p, struct strs *to, const struct strs *more)
{
	const char **v;

	if (!more->n)
		return 0;
	v = pool_alloc(&p->pool, (to->n + more->n + 1) * sizeof(*v));
	if (!v)
		return -1;
	if (to->n)
		memcpy(v, to->v, to->n * sizeof(*v));
	memcpy(v + to->n, more->v, more->n * sizeof(*v));
	to->v = v;
	to->n += more->n;
	return 0;
}

static uint64_t tighter(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

/* Who leaves more free is the stricter one; and what nobody said is never more than that. */
static uint64_t freer(uint64_t a, uint64_t b)
{
	return b > (a ? a : REIN_FREE_MOST) ? b : a;
}

static const size_t limit_offsets[] = {
	offsetof(struct rein_policy_limits, memory_bytes), offsetof(struct rein_policy_limits, disk_bytes),
	offsetof(struct rein_policy_limits, file_bytes),   offsetof(struct rein_policy_limits, egress_bytes),
	offsetof(struct rein_policy_limits, time_ns),	   offsetof(struct rein_policy_limits, idle_ns),
	offsetof(struct rein_policy_limits, cpu_percent),  offsetof(struct rein_policy_limits, processes),
	offsetof(struct rein_policy_limits, open_files),   offsetof(struct rein_policy_limits, output_bytes),
	offsetof(struct rein_policy_limits, cpu_time_ns),  offsetof(struct rein_policy_limits, free_bytes),
};
static_assert(ARRAY_SIZE(limit_offsets) == sizeof(struct rein_policy_limits) / sizeof(uint64_t),
	      "a limit was added");

/* replace: what is given wins; otherwise the stricter one does. */
static void join_limits(struct rein_policy_limits *to, const struct rein_policy_limits *more, bool replace)
{
	for (size_t i = 0; i < ARRAY_SIZE(limit_offsets); i++) {
		uint64_t *a = (uint64_t *)(void *)((char *)to + limit_offsets[i]);
		uint64_t b = *(const uint64_t *)(const void *)((const char *)more + limit_offsets[i]);

		if (replace)
			*a = b ? b : *a;
		else
			*a = limit_offsets[i] == offsetof(struct rein_policy_limits, free_bytes) ? freer(*a, b) : tighter(*a, b);
	}
}

/* As one file would have to say it: a project's word is in force only where it is the stricter one. */
void limits_shown(const struct rein_policy *p, struct rein_policy_limits *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(limit_offsets); i++) {
		uint64_t *own = (uint64_t *)(void *)((char *)to + limit_offsets[i]);
		const char *most = (const char *)&p->all.limits.most + limit_offsets[i];

		if (*(const uint64_t *)(const void *)most)
			*own = *(const uint64_t *)(const void *)((const char *)&p->settings.limits + limit_offsets[i]);
	}
}

static void join_defaults(struct rein_policy *p, const struct source *src, const struct document *d, bool free_hand)
{
	for (int level = REIN_LEVEL_SAFE; level < REIN_LEVEL__MAX; level++)
		for (int reach = REIN_REACH_READONLY; reach < REIN_REACH__MAX; reach++) {
			int *to = &p->all.defaults[level].by_reach[reach];
			int from = d->defaults[level].by_reach[reach];

			if (!from)
				continue;
			if (!free_hand && from > (*to ? *to : REIN_ASK + 1)) {
				remark(p, src->file, 1, "defaults: a project may only tighten; '%s' for %d/%d is "
							"ignored", rein_decide_name(from - 1), level, reach);
				continue;
			}
			*to = from;
		}
}

static int tier_now(const struct rein_policy *p, const char *name)
{
	const struct environment *e = find_environment(p, name);

	return e ? e->tier : ENV_APPROVE;
}

uint64_t announced_ns(const struct environment *e)
{
	return e->wait_ns ? e->wait_ns : 5000000000ull;
}

/* Who approves is the business of who said so first; how many and how long may only grow. */
static struct environment tightened(const struct rein_policy *p, const struct environment *e)
{
	const struct environment *old = find_environment(p, e->name);
	struct environment both = *e;

	if (!old)
		return both;
	if (old->approvers.n)
		both.approvers = old->approvers;
	if (old->minimum > both.minimum)
		both.minimum = old->minimum;
	if (old->tier == ENV_NOTIFY && announced_ns(old) > announced_ns(&both))
		both.wait_ns = old->wait_ns;
	return both;
}

/* Would a rule that restricts no longer speak there, or one that allows begin to? */
static bool frees(const struct common *c, const struct who *w, const char *from, const char *to)
{
	bool there = match_name(&w->environment, from), here = match_name(&w->environment, to);

	if (c->inert || c->replaced || c->off == TRI_YES)
		return false;
	return c->decide - 1 == REIN_ALLOW ? here && !there : there && !here;
}

/* May a project say that it is in the one environment and not in the other? */
static bool may_move(const struct rein_policy *p, const char *from, const char *to)
{
	static const struct environment nobody;
	const struct environment *a = find_environment(p, from), *b = find_environment(p, to);

	if (rein_streq(from, to))
		return true;
	a = a ? a : &nobody;
	b = b ? b : &nobody;
	if (tier_now(p, to) < tier_now(p, from) || b->minimum < a->minimum ||
	    (a->approvers.n && a->approvers.v != b->approvers.v) ||
	    (a->tier == ENV_NOTIFY && b->tier == ENV_NOTIFY && announced_ns(b) < announced_ns(a)))
		return false;
	for (size_t i = 0; i < p->all.rules.n; i++)
		if (frees(&p->all.rules.v[i].c, &p->all.rules.v[i].who, from, to))
			return false;
	for (size_t i = 0; i < p->all.effects.n; i++)
		if (frees(&p->all.effects.v[i].c, &p->all.effects.v[i].who, from, to))
			return false;
	return true;
}

static int join_environments(struct rein_policy *p, const struct source *src, const struct document *d,
			     bool free_hand)
{
	for (size_t i = 0; i < d->environments.n; i++) {
		const struct environment *e = &d->environments.v[i];
		struct environment one = free_hand ? *e : tightened(p, e);

		if (!free_hand && e->tier < tier_now(p, e->name)) {
			remark(p, src->file, e->line, "environment '%s': a project may only tighten; ignored", e->name);
			continue;
		}
		if (rein_grow(p->all.environments.v, p->all.environments.n, p->all.environments.cap) < 0)
			return -1;
		p->all.environments.v[p->all.environments.n++] = one;
	}
	if (d->environment) {
		if (free_hand || may_move(p, p->all.environment ? p->all.environment : "development", d->environment))
			p->all.environment = d->environment;
		else
			remark(p, src->file, 1, "environment: a project may only tighten; ignored");
	}
	return 0;
}

static int join_profiles(struct rein_policy *p, const struct source *src, const struct document *d, bool free_hand)
{
	for (size_t i = 0; i < d->limits.profiles.n; i++) {
		const struct profile *from = &d->limits.profiles.v[i];
		struct profile *to = NULL;

		for (size_t k = 0; k < p->all.limits.profiles.n; k++)
			if (rein_streq(p->all.limits.profiles.v[k].name, from->name))
				to = &p->all.limits.profiles.v[k];
		if (to) {
			join_limits(&to->limits, &from->limits, free_hand);
			continue;
		}
		if (rein_grow(p->all.limits.profiles.v, p->all.limits.profiles.n, p->all.limits.profiles.cap) < 0)
			return -1;
		p->all.limits.profiles.v[p->all.limits.profiles.n++] = *from;
	}
	if (d->limits.profile) {
		struct rein_policy_limits chosen;

		if (!rein_policy_profile(p, d->limits.profile, &chosen))
			return bad(src, NULL, "limits: there is no profile '%s'", d->limits.profile);
		if (free_hand) {
			p->all.limits.profile = d->limits.profile;
		} else {
			join_limits(&p->all.limits.most, &chosen, false);
			remark(p, src->file, 1, "limits.profile: of a project only what is smaller counts");
		}
	}
	join_limits(free_hand ? &p->all.limits.own : &p->all.limits.most, &d->limits.own, free_hand);
	return 0;
}

/* Hosts alone mean that at least these are meant. */
static int mode_of(const struct document *d, int now)
{
	const int restricted = REIN_POLICY_NET_RESTRICTED + 1;

	if (d->network.mode || !d->network.allow.n)
		return d->network.mode;
	return now > restricted ? now : restricted;
}

/* A project's volume counts where it is comparable with the one in force, and smaller. */
static const char *smaller(struct rein_policy *p, const struct source *src, const char *key, const char *old,
			   const char *new)
{
	struct rein_net_budget a, b;

	if (!old || !new || !rein_budget_parse(old, &a) || !rein_budget_parse(new, &b))
		return new ? new : old;
	if (a.window_ns == b.window_ns && b.bytes <= a.bytes)
		return new;
	remark(p, src->file, 1, "network.%s: of a project only what is smaller counts; '%s' is ignored", key, new);
	return old;
}

/* The mode, and how much; the hosts are lists like others. */
static void join_network(struct rein_policy *p, const struct source *src, const struct document *d, bool free_hand)
{
	struct document *to = &p->all;
	int now = to->network.mode ? to->network.mode : REIN_POLICY_NET_NONE + 1;

	if (free_hand && mode_of(d, now))
		to->network.mode = mode_of(d, now);
	else if (d->network.mode && d->network.mode < now)
		to->network.mode = d->network.mode;
	else if (d->network.mode > now)
		remark(p, src->file, 1, "network.mode: a project cannot open more of it; ignored");
	if (free_hand) {
		to->network.sent = d->network.sent ? d->network.sent : to->network.sent;
		to->network.all = d->network.all ? d->network.all : to->network.all;
		to->network.rate = d->network.rate ? d->network.rate : to->network.rate;
	} else {
		to->network.sent = smaller(p, src, "up", to->network.sent, d->network.sent);
		to->network.all = smaller(p, src, "max", to->network.all, d->network.all);
		to->network.rate = tighter(to->network.rate, d->network.rate);
	}
	if (src->layer == REIN_LAYER_COMMAND) {
		to->network.own_sent |= d->network.sent != NULL;
		to->network.own_all |= d->network.all != NULL;
		to->network.own_rate |= d->network.rate != 0;
	}
}

static int join_settings(struct rein_policy *p, const struct source *src, const struct document *d, bool free_hand)
{
	struct document *to = &p->all;

	if (free_hand || d->mode == MODE_ENFORCE)
		to->mode = d->mode ? d->mode : to->mode;
	else if (d->mode)
		remark(p, src->file, 1, "mode: a project cannot switch the policy to advisory; ignored");
	if (!free_hand && (d->workspace.writable.n || d->workspace.scratch.n))
		remark(p, src->file, 1, "workspace: a project cannot make more writable; ignored");
	if (!free_hand && d->workspace.shown.n)
		remark(p, src->file, 1, "workspace.shown: a project cannot show what is hidden; ignored");
	if (!free_hand && (d->network.allow.n || d->network.ports.n || d->network.credentials.n))
		remark(p, src->file, 1, "network: a project cannot open more of it; ignored");
	if (free_hand && (join_strs(p, &to->workspace.writable, &d->workspace.writable) < 0 ||
			  join_strs(p, &to->workspace.scratch, &d->workspace.scratch) < 0 ||
			  join_strs(p, &to->workspace.shown, &d->workspace.shown) < 0 ||
			  join_strs(p, &to->network.allow, &d->network.allow) < 0 ||
			  join_strs(p, &to->network.ports, &d->network.ports) < 0 ||
			  join_strs(p, &to->network.credentials, &d->network.credentials) < 0))
		return -1;
	if (join_strs(p, &to->workspace.readonly, &d->workspace.readonly) < 0 ||
	    join_strs(p, &to->workspace.hidden, &d->workspace.hidden) < 0 ||
	    join_strs(p, &to->workspace.canary, &d->workspace.canary) < 0 ||
	    join_strs(p, &to->network.deny, &d->network.deny) < 0 ||
	    join_strs(p, &to->validate, &d->validate) < 0 ||
	    (!free_hand && join_strs(p, &to->foreign_validate, &d->validate) < 0))
		return -1;
	join_network(p, src, d, free_hand);
	if (d->warm_ns) /* speed is all it changes: anybody's */
		to->warm_ns = d->warm_ns;
	if (d->on_failure) {
		if (free_hand || d->on_failure < to->on_failure)
			to->on_failure = d->on_failure;
		else if (d->on_failure > to->on_failure)
			remark(p, src->file, 1, "on_failure: a project may only tighten; ignored");
	}
	return 0;
}

/* A hash of ids, over all rules there are, so that thousands of rules stay cheap to join. */
struct ids {
	struct common **slot;
	size_t mask;
};

static struct common **id_slot(const struct ids *ids, const char *id)
{
	uint64_t h = 14695981039346656037ull;
	size_t i;

	for (const char *s = id; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	for (i = h & ids->mask; ids->slot[i] && !rein_streq(ids->slot[i]->id, id); i = (i + 1) & ids->mask)
		;
	return &ids->slot[i];
}

static int ids_new(struct ids *ids, size_t n)
{
	size_t size = 64;

	while (size < n * 2)
		size *= 2;
	ids->slot = rein_calloc(size, sizeof(*ids->slot));
	ids->mask = size - 1;
	return ids->slot ? 0 : -1;
}

static int admit(struct rein_policy *p, struct ids *ids, struct common *c, bool free_hand)
{
	struct common **slot = id_slot(ids, c->id);

	if (!free_hand && (c->decide - 1 == REIN_ALLOW || c->off == TRI_YES)) {
		c->inert = true;
		remark(p, c->file, c->line, "rule '%s': a project may only tighten; ignored until the file is trusted",
		       c->id);
		return 0;
	}
	while (*slot && !free_hand) { /* both count, under names of their own */
		size_t n = strlen(c->id) + sizeof("project/");
		char *name = pool_alloc(&p->pool, n);

		if (!name || n > 200)
			return -1;
		snprintf(name, n, "project/%s", c->id);
		remark(p, c->file, c->line, "rule '%s' is also in %s; a project cannot replace it, so both count", c->id,
		       (*slot)->file);
		c->id = name;
		slot = id_slot(ids, name);
	}
	if (*slot)
		(*slot)->replaced = true;
	*slot = c;
	return 0;
}

static int same_id(const struct source *src, const struct common *a, const struct common *b)
{
	struct node at = {.line = a->line, .column = 1};

	return bad(src, &at, "the id '%s' was given before, in line %u", a->id, b->line);
}

/* Appends the rules of one file; element pointers move, so ids are looked up afterwards. */
#define JOIN_RULES(p, src, d, list, free_hand)                                                     \
	({                                                                                         \
		struct ids ids_ = {0};                                                             \
		size_t before_ = (p)->all.list.n;                                                  \
		int rc_ = 0;                                                                       \
		for (size_t i_ = 0; i_ < (d)->list.n && rc_ == 0; i_++) {                          \
			if (rein_grow((p)->all.list.v, (p)->all.list.n, (p)->all.list.cap) < 0)    \
				rc_ = -1;                                                          \
			else                                                                       \
				(p)->all.list.v[(p)->all.list.n++] = (d)->list.v[i_];              \
		}                                                                                  \
		if (rc_ == 0 && ids_new(&ids_, (p)->all.list.n) < 0)                               \
			rc_ = -1;                                                                  \
		for (size_t i_ = 0; i_ < (p)->all.list.n && rc_ == 0; i_++) {                      \
			struct common *c_ = &(p)->all.list.v[i_].c;                                \
			struct common *old_ = *id_slot(&ids_, c_->id);                             \
			if (i_ >= before_ && old_ && old_ >= &(p)->all.list.v[before_].c)          \
				rc_ = same_id((src), c_, old_);                                    \
			else if (i_ >= before_)                                                    \
				rc_ = admit((p), &ids_, c_, (free_hand));                                \
			else if (!c_->replaced && !c_->inert)                                      \
				*id_slot(&ids_, c_->id) = c_;                                      \
		}                                                                                  \
		rein_free(ids_.slot);                                                              \
		rc_;                                                                               \
	})

static int join(struct rein_policy *p, const struct source *src, const struct document *d)
{
	bool free_hand = src->layer != REIN_LAYER_PROJECT; /* [P3] */
	int rc = join_settings(p, src, d, free_hand);

	join_defaults(p, src, d, free_hand);
	if (rc == 0)
		rc = join_environments(p, src, d, free_hand);
	if (rc == 0)
		rc = join_profiles(p, src, d, free_hand);
	if (rc == 0 && p->all.rules.n + p->all.effects.n + d->rules.n + d->effects.n > POLICY_RULES)
		rc = bad(src, NULL, "more than %d rules in all layers", POLICY_RULES);
	if (rc == 0)
		rc = JOIN_RULES(p, src, d, rules, free_hand);
	if (rc == 0)
		rc = JOIN_RULES(p, src, d, effects, free_hand);
	if (rc == 0)
		rc = alerts_join(p, src, d, free_hand);
	for (size_t i = 0; i < d->tests.n && rc == 0; i++) {
		if (rein_grow(p->all.tests.v, p->all.tests.n, p->all.tests.cap) < 0)
			rc = -1;
		else
			p->all.tests.v[p->all.tests.n++] = d->tests.v[i];
	}
	p->all.version = 1;
	return rc == -1 ? rein_err_nomem(src->err) : rc;
}

/* [P1] */
static int broken(struct rein_policy *p, const struct rein_err *err)
{
	if (!p->broken)
		snprintf(p->why, sizeof(p->why), "the policy cannot be read, so nothing is allowed: %.400s", err->msg);
	p->broken = true;
	return -err->code;
}

void rein_policy_break(struct rein_policy *p, const struct rein_err *err)
{
	broken(p, err);
}

int rein_policy_add(struct rein_policy *p, enum rein_layer layer, const char *file, struct rein_str yaml,
		    struct rein_err *err)
{
	struct document d = {0};
	struct source src = {.pool = &p->pool, .layer = layer, .err = err, .word = p->word, .policy = p};
	struct node *root = NULL;
	int rc;

	src.file = pool_dup(&p->pool, file, strlen(file));
	if (!src.file)
		rc = rein_err_nomem(err);
	else if (p->sealed)
		rc = rein_err_set(err, REIN_E_STATE, "%s: the policy is sealed", file);
	else
		rc = yaml_read(&src, yaml, &root);
	if (rc == 0)
		rc = schema_read(&src, root, &d);
	if (rc == 0)
		rc = join(p, &src, &d);
	document_done(&d);
	return rc < 0 ? broken(p, err) : 0;
}

static int order_common(const struct common *a, const struct common *b)
{
	if (a->decide != b->decide)
		return a->decide < b->decide ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->layer != b->layer)
		return a->layer > b->layer ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int order_rules(const void *a, const void *b)
{
	return order_common(&(*(const struct rule *const *)a)->c, &(*(const struct rule *const *)b)->c);
}

static int order_effects(const void *a, const void *b)
{
	return order_common(&(*(const struct effect_rule *const *)a)->c, &(*(const struct effect_rule *const *)b)->c);
}

static bool speaks(const struct common *c)
{
	return !c->inert && !c->replaced && c->off != TRI_YES;
}

static struct rein_policy_list list_of(const struct strs *s)
{
	return (struct rein_policy_list){s->v, s->n};
}

static void fill_settings(struct rein_policy *p)
{
	const struct document *d = &p->all;
	struct rein_policy_settings *s = &p->settings;

	s->advisory = d->mode == MODE_ADVISORY;
	s->environment = d->environment ? d->environment : "development";
	s->writable = list_of(&d->workspace.writable);
	s->readonly = list_of(&d->workspace.readonly);
	s->shown = list_of(&d->workspace.shown);
	s->hidden = list_of(&d->workspace.hidden);
	s->canary = list_of(&d->workspace.canary);
	s->scratch = list_of(&d->workspace.scratch);
	s->net = d->network.mode ? (enum rein_policy_net)(d->network.mode - 1) : REIN_POLICY_NET_NONE;
	/* checked when they were read */
	if (d->network.sent)
		rein_budget_parse(d->network.sent, &s->net_sent);
	if (d->network.all)
		rein_budget_parse(d->network.all, &s->net_all);
	s->net_rate = d->network.rate;
	s->net_own_sent = d->network.own_sent;
	s->net_own_all = d->network.own_all;
	s->net_own_rate = d->network.own_rate;
	s->hosts = list_of(&d->network.allow);
	s->blocked_hosts = list_of(&d->network.deny);
	s->ports = list_of(&d->network.ports);
	s->credentials = list_of(&d->network.credentials);
	s->profile = d->limits.profile;
	if (s->profile)
		rein_policy_profile(p, s->profile, &s->limits);
	join_limits(&s->limits, &d->limits.own, true);
	join_limits(&s->limits, &d->limits.most, false);
	s->on_failure = d->on_failure ? (enum rein_policy_failure)(d->on_failure - 1) : REIN_FAILURE_DISCARD;
	s->warm_ns = d->warm_ns;
	s->validate = list_of(&d->validate);
	s->foreign_validate = list_of(&d->foreign_validate);
}

int rein_policy_seal(struct rein_policy *p, struct rein_err *err)
{
	if (p->broken)
		return rein_err_set(err, REIN_E_INVALID, "%s", p->why);
	for (size_t i = 0; i < p->all.rules.n; i++) {
		if (!speaks(&p->all.rules.v[i].c))
			continue;
		if (rein_grow(p->live.v, p->live.n, p->live.cap) < 0) {
			rein_err_nomem(err);
			return broken(p, err);
		}
		p->live.v[p->live.n++] = &p->all.rules.v[i];
	}
	for (size_t i = 0; i < p->all.effects.n; i++) {
		if (!speaks(&p->all.effects.v[i].c))
			continue;
		if (rein_grow(p->live_effects.v, p->live_effects.n, p->live_effects.cap) < 0) {
			rein_err_nomem(err);
			return broken(p, err);
		}
		p->live_effects.v[p->live_effects.n++] = &p->all.effects.v[i];
	}
	if (p->live.n)
		qsort(p->live.v, p->live.n, sizeof(p->live.v[0]), order_rules);
	if (p->live_effects.n)
		qsort(p->live_effects.v, p->live_effects.n, sizeof(p->live_effects.v[0]), order_effects);
	if (alerts_seal(p, err) < 0)
		return broken(p, err);
	fill_settings(p);
	p->sealed = true;
	return 0;
}

int rein_policy_new_empty(struct rein_policy **ret, struct rein_err *err)
{
	struct rein_policy *p = rein_alloc(sizeof(*p));

	if (!p)
		return rein_err_nomem(err);
	*ret = p;
	return 0;
}

void rein_policy_set_words(struct rein_policy *p, rein_policy_word_fn *fn)
{
	p->word = fn;
}

int rein_policy_new(struct rein_policy **ret, struct rein_err *err)
{
	struct rein_policy *p = NULL;
	int rc = rein_policy_new_empty(&p, err);

	if (rc < 0)
		return rc;
	rc = rein_policy_add(p, REIN_LAYER_BUILTIN, "built-in",
			     (struct rein_str){rein_policy_builtin, rein_policy_builtin_n}, err);
	if (rc < 0) {
		rein_policy_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void rein_policy_free(struct rein_policy *p)
{
	if (!p)
		return;
	document_done(&p->all);
	rein_free(p->live.v);
	rein_free(p->live_effects.v);
	rein_free(p->alerts.v);
	rein_free(p->webhooks.v);
	pool_done(&p->pool);
	rein_free(p);
}

void rein_policy_settings(const struct rein_policy *p, struct rein_policy_settings *ret)
{
	*ret = p->settings;
}

bool rein_policy_profile(const struct rein_policy *p, const char *name, struct rein_policy_limits *ret)
{
	for (size_t i = 0; i < p->all.limits.profiles.n; i++)
		if (rein_streq(p->all.limits.profiles.v[i].name, name)) {
			*ret = p->all.limits.profiles.v[i].limits;
			return true;
		}
	return false;
}
