/* SPDX-License-Identifier: Apache-2.0 */
/* Does a rule fit an action: its circumstances, and then each of its effects or of the programs it would start. */
#include <strings.h>

#include "policy/judging.h"

bool is_path_kind(enum rein_fact_kind k)
{
	switch (k) {
	case REIN_FACT_READ:
	case REIN_FACT_WRITE:
	case REIN_FACT_DELETE:
	case REIN_FACT_EXEC:
	case REIN_FACT_PERSIST:
	case REIN_FACT_PROTECTION:
	case REIN_FACT_SECRET:
	case REIN_FACT_DEVICE:
		return true;
	default:
		return false;
	}
}

static bool is_host_kind(enum rein_fact_kind k)
{
	return k == REIN_FACT_CONNECT || k == REIN_FACT_SEND || k == REIN_FACT_REMOTE || k == REIN_FACT_SECRET ||
	       k == REIN_FACT_MONEY || k == REIN_FACT_EXEC;
}

static enum match match_fact_path(const struct judging *j, const struct rule *r, size_t i)
{
	const struct rein_fact *f = &j->v->facts[i];
	const char *path = j->paths[i];
	enum match m;

	if (!is_path_kind(f->kind) || !*path)
		return MATCH_NO;
	if (*path == REIN_WORD_ANY)
		return MATCH_MAYBE;
	m = match_path(&r->path, path, f->kind == REIN_FACT_DELETE, &j->at);
	if (m && r->except.n && match_path(&r->except, path, false, &j->at) == MATCH_YES)
		return MATCH_NO;
	return m;
}

static bool match_sql(const struct strs *words, const struct rein_fact *f)
{
	for (size_t i = 0; f->kind == REIN_FACT_SQL && f->target && i < words->n; i++)
		if (!strcasecmp(words->v[i], f->target))
			return true;
	return false;
}

static bool level_fits(const struct who *w, enum rein_level level, enum rein_reach reach)
{
	return (!w->level || (w->level & (1u << level))) && (!w->reach || (w->reach & (1u << reach)));
}

static enum match match_fact(const struct judging *j, const struct rule *r, size_t i)
{
	const struct rein_fact *f = &j->v->facts[i];
	enum match m = MATCH_YES;

	if (r->effect && !(r->effect & (1u << f->kind)))
		return MATCH_NO;
	if (!level_fits(&r->who, f->level, f->reach))
		return MATCH_NO;
	if (r->sql.n && !match_sql(&r->sql, f))
		return MATCH_NO;
	if (r->host.n) {
		if (!is_host_kind(f->kind) || !f->target)
			return MATCH_NO;
		if (strstr(f->target, "…"))
			m = MATCH_MAYBE;
		else if (!match_host(&r->host, f->target))
			return MATCH_NO;
	}
	if (r->path.n)
		m = least(m, match_fact_path(j, r, i));
	if (m && r->on_calls)
		m = f->call && f->call <= j->v->n_calls
			    ? least(m, match_call(r, &j->v->calls[f->call - 1]))
			    : MATCH_NO;
	return m;
}

static void hit_at(struct hit *h, enum match m, uint32_t start, uint32_t end, const struct rein_fact *f)
{
	if (m <= h->m)
		return;
	h->m = m;
	h->start = start;
	h->end = end;
	h->fact = f;
}

static void match_facts(const struct judging *j, const struct rule *r, struct hit *h)
{
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];
		enum match m = match_fact(j, r, i);

		if (m == MATCH_YES)
			mark(&h->parts, i);
		hit_at(h, m, f->start, f->end, f);
	}
}

/* Level and reach of a call are those of its own effects; without any it is safe. */
static enum match match_call_level(const struct judging *j, const struct rule *r, size_t call)
{
	bool any = false;

	if (!r->who.level && !r->who.reach)
		return MATCH_YES;
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];

		if (f->call != call + 1)
			continue;
		any = true;
		if (level_fits(&r->who, f->level, f->reach))
			return MATCH_YES;
	}
	return !any && level_fits(&r->who, REIN_LEVEL_SAFE, REIN_REACH_READONLY) ? MATCH_YES : MATCH_NO;
}

static void match_calls(const struct judging *j, const struct rule *r, struct hit *h)
{
	for (size_t i = 0; i < j->v->n_calls; i++) {
		const struct rein_call *c = &j->v->calls[i];
		enum match m = match_call(r, c);
		const struct rein_fact *worst = NULL;

		if (m)
			m = least(m, match_call_level(j, r, i));
		for (size_t k = 0; m && k < j->v->n_facts; k++) {
			const struct rein_fact *f = &j->v->facts[k];

			if (f->call != i + 1)
				continue;
			if (!worst || f->level > worst->level)
				worst = f;
			if (m == MATCH_YES && level_fits(&r->who, f->level, f->reach))
				mark(&h->parts, k);
		}
		hit_at(h, m, c->start, c->end, worst);
	}
}

static bool conditions_fit(const struct judging *j, const struct rule *r)
{
	if (r->kind && !(r->kind & (1u << j->a->kind)))
		return false;
	if (r->operation && (j->a->kind != REIN_ACTION_FILE || !(r->operation & (1u << j->a->op))))
		return false;
	if (r->method.n && (j->a->kind != REIN_ACTION_HTTP || !match_name(&r->method, j->a->method)))
		return false;
	if (r->name.n && (j->a->kind != REIN_ACTION_CUSTOM || !match_name(&r->name, j->a->name)))
		return false;
	if (r->complete && (r->complete == TRI_YES) == j->whole)
		return false;
	if (r->secret && (r->secret == TRI_YES) != (j->f->secret != NULL))
		return false;
	return match_who(&r->who, j->f, j->environment);
}

void match_rule(const struct judging *j, const struct rule *r, struct hit *h)
{
	if (r->program.n && !(r->program_bits & j->program_bits) && !j->program_unsure)
		return;
	if (!conditions_fit(j, r))
		return;
	if (r->on_facts) {
		match_facts(j, r, h);
		return;
	}
	if (r->on_calls) {
		match_calls(j, r, h);
		return;
	}
	if (!level_fits(&r->who, j->everything.level, j->everything.reach))
		return;
	h->parts = (struct parts){{~0ull, ~0ull}};
	hit_at(h, MATCH_YES, j->everything.start, j->everything.end, j->v->worst);
}
