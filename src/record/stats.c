/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies, histograms, and one small map from action to what became of it. */
#include "record/stats.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

const double rein_stats_bounds[REIN_STATS_BUCKETS - 1] = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5,
							  1,	 5,	30,   120,  600};

enum {
	A_REQUESTED = 1,
	A_RAN = 2,
	A_GRAVE = 4,
	A_APPROVED = 8,
	A_REFUSED = 16,
	A_HELD = 32,
	A_FAILED = 64,
	A_UNDONE = 128,
	A_OVERRIDDEN = 256,
	A_COMMITTED = 512,
};

struct action {
	uint64_t hash; /* of the id; 0 = empty */
	uint64_t day;
	unsigned short flags, agent; /* agent: index + 1 */
};

struct rein_stats_map {
	struct action *v;
	size_t n, cap;
};

static uint64_t hash_of(struct rein_str s)
{
	uint64_t h = 1469598103934665603ull;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211ull;
	h ^= h >> 29;
	return h ? h : 1;
}

static struct action *place(struct action *v, size_t cap, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (v[i].hash && v[i].hash != hash)
		i = (i + 1) & (cap - 1);
	return &v[i];
}

static struct action *action_of(struct rein_stats *s, struct rein_str id)
{
	struct rein_stats_map *m = s->map;
	struct action *a;

	if (!m) {
		m = s->map = rein_alloc(sizeof(*m));
		if (!m)
			return NULL;
	}
	if (m->n * 2 >= m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 1024;
		struct action *v = rein_calloc(cap, sizeof(*v));

		if (!v)
			return NULL;
		for (size_t i = 0; i < m->cap; i++)
			if (m->v[i].hash)
				*place(v, cap, m->v[i].hash) = m->v[i];
		rein_free(m->v);
		m->v = v;
		m->cap = cap;
	}
	a = place(m->v, m->cap, hash_of(id));
	if (!a->hash) {
		a->hash = hash_of(id);
		m->n++;
	}
	return a;
}

static void tally(struct rein_tally *t, struct rein_str name)
{
	size_t n = name.n < sizeof(t->v[0].name) ? name.n : sizeof(t->v[0].name) - 1;

	if (!name.n)
		return;
	while (n && n < name.n && ((unsigned char)name.p[n] & 0xc0) == 0x80)
		n--;
	for (unsigned i = 0; i < t->n; i++)
		if (strlen(t->v[i].name) == n && memcmp(t->v[i].name, name.p, n) == 0) {
			t->v[i].n++;
			return;
		}
	if (t->n == REIN_STATS_NAMES) {
		t->other++;
		return;
	}
	memcpy(t->v[t->n].name, name.p, n);
	t->v[t->n++].n = 1;
}

uint64_t rein_tally_get(const struct rein_tally *t, const char *name)
{
	for (unsigned i = 0; i < t->n; i++)
		if (rein_streq(t->v[i].name, name))
			return t->v[i].n;
	return 0;
}

static void observe(struct rein_histogram *h, uint64_t ns)
{
	double s = (double)ns / 1e9;
	unsigned i = 0;

	while (i < REIN_STATS_BUCKETS - 1 && s > rein_stats_bounds[i])
		i++;
	h->bucket[i]++;
	h->n++;
	h->sum_s += s;
}

static bool is(struct rein_str s, const char *word)
{
	return rein_str_eq(s, rein_str(word));
}

static unsigned flags_of(const struct rein_event *ev)
{
	unsigned f = 0;

	f |= ev->type == REIN_EV_REQUEST ? A_REQUESTED : 0;
	f |= ev->type == REIN_EV_RUN_START || ev->type == REIN_EV_RUN_END ? A_RAN : 0;
	f |= is(ev->level, "dangerous") || is(ev->level, "destructive") ? A_GRAVE : 0;
	f |= ev->type == REIN_EV_APPROVAL && is(ev->decision, "approve") ? A_APPROVED : 0;
	f |= ev->type == REIN_EV_APPROVAL && is(ev->decision, "deny") ? A_REFUSED : 0;
	f |= ev->type != REIN_EV_APPROVAL && is(ev->decision, "deny") ? A_REFUSED : 0;
	f |= is(ev->result, "refused") ? A_REFUSED : 0;
	f |= is(ev->result, "held") || is(ev->decision, "hold") ? A_HELD : 0;
	f |= ev->type == REIN_EV_RUN_END && ev->result.n && !is(ev->result, "ok") &&
			     !is(ev->result, "held")
		     ? A_FAILED
		     : 0;
	f |= ev->type == REIN_EV_UNDO ? A_UNDONE : 0;
	f |= ev->type == REIN_EV_OVERRIDE ? A_OVERRIDDEN : 0;
	f |= ev->type == REIN_EV_COMMIT ? A_COMMITTED : 0;
	return f;
}

static void add_numbers(struct rein_stats *s, const struct rein_event *ev)
{
	/* Effects are told once by their own event and repeated by the commit: count the commit. */
	if (ev->type == REIN_EV_COMMIT) {
		s->created += ev->effects.created;
		s->modified += ev->effects.modified;
		s->deleted += ev->effects.deleted;
		s->renamed += ev->effects.renamed;
		s->bytes += ev->effects.bytes;
	}
	if (ev->type == REIN_EV_RUN_END) {
		s->net_in += ev->used.net_in;
		s->net_out += ev->used.net_out;
		s->written += ev->used.written;
		observe(&s->run, ev->duration_ns ? ev->duration_ns : ev->used.wall_ns);
		tally(&s->result, ev->result);
	}
	if (ev->type == REIN_EV_DECISION) {
		auto_buf struct rein_buf both = REIN_BUF(1024);

		observe(&s->decide, ev->duration_ns);
		tally(&s->level, ev->level);
		tally(&s->decision, ev->decision);
		tally(&s->reach, ev->reach);
		rein_buf_str(&both, ev->level);
		rein_buf_char(&both, ' ');
		rein_buf_str(&both, ev->decision);
		tally(&s->level_decision, (struct rein_str){both.p ? both.p : "", both.n});
		if (is(ev->decision, "deny"))
			tally(&s->refused_rule, ev->rule.n ? ev->rule : STR("(no rule)"));
	}
	if (ev->type == REIN_EV_REQUEST) {
		tally(&s->agent, ev->agent.n ? ev->agent : STR("(none)"));
		tally(&s->user, ev->user);
		tally(&s->kind, ev->kind);
	}
	if (ev->type == REIN_EV_VIOLATION || ev->type == REIN_EV_LIMIT)
		tally(&s->violation, ev->rule.n ? ev->rule : STR("(no rule)"));
	if (ev->type == REIN_EV_APPROVAL)
		for (size_t i = 0; i < ev->napprover; i++)
			tally(&s->approver, ev->approver[i]);
}

static void copy(char *out, size_t cap, struct rein_str s)
{
	size_t n = s.n < cap ? s.n : cap - 1;

	while (n && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	if (n)
		memcpy(out, s.p, n);
	out[n] = '\0';
}

/* Index + 1; 0: there are too many. */
static unsigned short agent_of(struct rein_stats *s, struct rein_str name)
{
	char key[48];

	copy(key, sizeof(key), name.n ? name : STR("(none)"));
	for (unsigned i = 0; i < s->nagents; i++)
		if (rein_streq(s->by_agent[i].name, key))
			return (unsigned short)(i + 1);
	if (s->nagents == REIN_STATS_NAMES)
		return 0;
	memcpy(s->by_agent[s->nagents].name, key, strlen(key) + 1); /* and nothing that was behind it on the stack */
	return (unsigned short)++s->nagents;
}

static bool is_notable(const struct rein_event *ev)
{
	switch (ev->type) {
	case REIN_EV_VIOLATION:
	case REIN_EV_OVERRIDE:
	case REIN_EV_STOP:
	case REIN_EV_BREAKER:
	case REIN_EV_ROLLBACK:
	case REIN_EV_UNDO:
	case REIN_EV_ALERT:
	case REIN_EV_REPAIR:
		return true;
	case REIN_EV_DECISION:
	case REIN_EV_APPROVAL:
		return is(ev->decision, "deny");
	default:
		return false;
	}
}

static void note(struct rein_stats *s, const struct rein_event *ev)
{
	struct rein_stats_note *n = &s->note[s->nnotes++ % REIN_STATS_NOTES];
	struct rein_str text = ev->command.n	   ? ev->command
			       : ev->detail.n	   ? ev->detail
			       : ev->reason.n	   ? ev->reason
			       : ev->effects.npath ? ev->effects.path[0]
						   : ev->txn;

	*n = (struct rein_stats_note){.time_ns = ev->time_ns, .type = ev->type};
	copy(n->agent, sizeof(n->agent), ev->agent);
	copy(n->rule, sizeof(n->rule), ev->rule);
	copy(n->word, sizeof(n->word), ev->decision.n ? ev->decision : ev->result);
	copy(n->text, sizeof(n->text), text);
}

int rein_stats_add(struct rein_stats *s, const struct rein_event *ev, struct rein_err *err)
{
	struct rein_str id = ev->action.n ? ev->action : ev->txn;
	unsigned flags = flags_of(ev);
	struct action *a;

	s->events++;
	s->type[ev->type]++;
	s->first_ns = !s->first_ns || ev->time_ns < s->first_ns ? ev->time_ns : s->first_ns;
	s->last_ns = ev->time_ns > s->last_ns ? ev->time_ns : s->last_ns;
	add_numbers(s, ev);
	if (is_notable(ev))
		note(s, ev);
	if (!id.n && ev->type == REIN_EV_REQUEST)
		id = ev->id;
	if (!id.n || !flags)
		return 0;
	a = action_of(s, id);
	if (!a)
		return rein_err_nomem(err);
	a->flags |= (unsigned short)flags;
	if (ev->type == REIN_EV_REQUEST && !a->agent)
		a->agent = agent_of(s, ev->agent);
	if (!a->day)
		a->day = ev->time_ns / (86400 * REIN_NS_PER_S);
	return 0;
}

struct saved {
	char program[16];
	uint64_t size, actions;
};

static struct saved saved_head(size_t actions)
{
	struct saved h = {.size = sizeof(struct rein_stats), .actions = actions};

	snprintf(h.program, sizeof(h.program), "%s %zu", REIN_VERSION, sizeof(struct action));
	return h;
}

void rein_stats_save(const struct rein_stats *s, struct rein_buf *b)
{
	struct saved h = saved_head(s->map ? s->map->n : 0);
	size_t at;

	rein_buf_add(b, (const char *)&h, sizeof(h));
	at = b->n;
	rein_buf_add(b, (const char *)s, sizeof(*s));
	if (!b->failed) { /* days are made at the end; addresses mean nothing elsewhere */
		memset(b->p + at + offsetof(struct rein_stats, day), 0, sizeof(s->day));
		memset(b->p + at + offsetof(struct rein_stats, map), 0, sizeof(s->map));
	}
	for (size_t i = 0; s->map && i < s->map->cap; i++)
		if (s->map->v[i].hash)
			rein_buf_add(b, (const char *)&s->map->v[i], sizeof(s->map->v[i]));
}

bool rein_stats_load(struct rein_stats *s, struct rein_str saved)
{
	struct rein_stats_map *m = rein_alloc(sizeof(*m));
	struct saved h, want;
	struct action a;
	size_t cap = 1024;

	if (!m || saved.n < sizeof(h) + sizeof(*s))
		goto no;
	memcpy(&h, saved.p, sizeof(h));
	want = saved_head(h.actions);
	if (memcmp(&h, &want, sizeof(h)) != 0 || h.actions > SIZE_MAX / 64 ||
	    saved.n != sizeof(h) + sizeof(*s) + h.actions * sizeof(a))
		goto no;
	while (cap < h.actions * 2)
		cap *= 2;
	m->v = rein_calloc(cap, sizeof(*m->v));
	if (!m->v)
		goto no;
	m->cap = cap;
	m->n = h.actions;
	memcpy(s, saved.p + sizeof(h), sizeof(*s));
	s->map = m;
	for (size_t i = 0; i < h.actions; i++) {
		memcpy(&a, saved.p + sizeof(h) + sizeof(*s) + i * sizeof(a), sizeof(a));
		*place(m->v, cap, a.hash) = a;
	}
	return true;
no:
	rein_free(m);
	return false;
}

static struct rein_stats_day *day_of(struct rein_stats *s, uint64_t day)
{
	for (size_t i = s->ndays; i-- > 0;)
		if (s->day[i].day == day)
			return &s->day[i];
	if (rein_grow(s->day, s->ndays, s->day_cap) < 0)
		return NULL; /* a day less in the chart */
	s->day[s->ndays] = (struct rein_stats_day){.day = day};
	return &s->day[s->ndays++];
}

static void finish_action(struct rein_stats *s, const struct action *a)
{
	bool acted = a->flags & (A_REQUESTED | A_RAN);
	struct rein_stats_day *d = acted ? day_of(s, a->day) : NULL;

	s->actions += acted;
	s->runs += !!(a->flags & A_RAN);
	s->runs_recorded += (a->flags & A_RAN) && (a->flags & A_REQUESTED);
	s->refused += !!(a->flags & A_REFUSED);
	s->held += !!(a->flags & A_HELD);
	s->failed += !!(a->flags & A_FAILED);
	s->undone += !!(a->flags & A_UNDONE);
	s->overridden += !!(a->flags & A_OVERRIDDEN);
	if (a->flags & A_GRAVE) {
		s->grave++;
		s->grave_approved += !!(a->flags & A_APPROVED);
		s->grave_refused += (a->flags & A_REFUSED) && !(a->flags & A_APPROVED);
		/* ran in its box, and nothing of it was let out */
		s->grave_kept += (a->flags & A_RAN) && (a->flags & A_HELD) &&
				 !(a->flags & (A_APPROVED | A_REFUSED | A_COMMITTED));
		s->grave_unapproved += (a->flags & A_RAN) &&
				       !(a->flags & (A_APPROVED | A_REFUSED)) &&
				       (!(a->flags & A_HELD) || (a->flags & A_COMMITTED));
	}
	if (acted && a->agent) {
		struct rein_stats_agent *g = &s->by_agent[a->agent - 1];

		g->actions++;
		g->refused += !!(a->flags & A_REFUSED);
		g->held += !!(a->flags & A_HELD);
		g->failed += !!(a->flags & A_FAILED);
		g->undone += !!(a->flags & A_UNDONE);
		g->committed += !!(a->flags & A_COMMITTED);
	}
	if (d) {
		d->actions++;
		d->refused += !!(a->flags & A_REFUSED);
		d->held += (a->flags & A_HELD) && !(a->flags & A_REFUSED);
		d->failed += (a->flags & A_FAILED) && !(a->flags & (A_HELD | A_REFUSED));
	}
}

static int by_count(const void *a, const void *b)
{
	const struct rein_tally_entry *x = a, *y = b;

	return x->n > y->n ? -1 : x->n < y->n ? 1 : strcmp(x->name, y->name);
}

static int by_actions(const void *a, const void *b)
{
	const struct rein_stats_agent *x = a, *y = b;

	return x->actions > y->actions	 ? -1
	       : x->actions < y->actions ? 1
					 : strcmp(x->name, y->name);
}

static int by_day(const void *a, const void *b)
{
	const struct rein_stats_day *x = a, *y = b;

	return x->day < y->day ? -1 : x->day > y->day;
}

void rein_stats_finish(struct rein_stats *s)
{
	struct rein_tally *const all[] = {&s->level,	&s->decision,	    &s->result,	  &s->agent,
					  &s->approver, &s->refused_rule,   &s->reach,	  &s->kind,
					  &s->user,	&s->level_decision, &s->violation};

	for (size_t i = 0; s->map && i < s->map->cap; i++)
		if (s->map->v[i].hash)
			finish_action(s, &s->map->v[i]);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		qsort(all[i]->v, all[i]->n, sizeof(all[i]->v[0]), by_count);
	if (s->nagents)
		qsort(s->by_agent, s->nagents, sizeof(s->by_agent[0]), by_actions);
	if (s->ndays)
		qsort(s->day, s->ndays, sizeof(*s->day), by_day);
}

void rein_stats_done(struct rein_stats *s)
{
	if (s->map)
		rein_free(s->map->v);
	rein_free(s->map);
	rein_free(s->day);
	memset(s, 0, sizeof(*s));
}
