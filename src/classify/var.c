/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables and what undoes their changes at the end of a subshell. A variable assigned on some paths only
 * holds all its possible values; the caller asks for them one round after the other.
 */
#include "classify/value.h"

#define MAX_ALTS     8
#define MAX_INDEX    4096 /* of an array */
#define MAX_VALUE    ((size_t)1 << 16)
#define MAX_VALUES   ((size_t)1 << 18) /* bytes of all values ever: doubling one again and again stays cheap */

enum undo_kind { UNDO_VAR, UNDO_NEW_VAR, UNDO_CWD };

struct undo {
	enum undo_kind kind;
	struct var *var, old;
	struct rein_str cwd;
	bool cwd_unknown;
	struct undo *next;
};

static unsigned bucket(struct rein_str name)
{
	unsigned h = 2166136261u;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619u;
	return h % VAR_BUCKETS;
}

struct undo *undo_mark(struct ctx *cx)
{
	return cx->undo;
}

void undo_to(struct ctx *cx, struct undo *mark)
{
	while (cx->undo && cx->undo != mark) {
		struct undo *u = cx->undo;

		switch (u->kind) {
		case UNDO_VAR:
			u->old.next = u->var->next;
			*u->var = u->old;
			break;
		case UNDO_NEW_VAR:
			u->var->is_set = false;
			u->var->vals = NULL;
			u->var->n_vals = 0;
			u->var->is_array = false;
			u->var->nameref = false;
			u->var->name = (struct rein_str){"", 0};
			break;
		case UNDO_CWD:
			cx->cwd = u->cwd;
			cx->cwd_unknown = u->cwd_unknown;
			break;
		}
		cx->undo = u->next;
	}
}

static struct undo *undo_push(struct ctx *cx, enum undo_kind kind)
{
	struct undo *u = arena_new(cx->a, struct undo);

	u->kind = kind;
	u->next = cx->undo;
	cx->undo = u;
	return u;
}

void undo_push_cwd(struct ctx *cx)
{
	struct undo *u = undo_push(cx, UNDO_CWD);

	u->cwd = cx->cwd;
	u->cwd_unknown = cx->cwd_unknown;
}

void var_touch(struct ctx *cx, struct var *v)
{
	struct undo *u = undo_push(cx, UNDO_VAR);

	u->var = v;
	u->old = *v;
}

static struct var *lookup(struct ctx *cx, struct rein_str name)
{
	for (struct var *v = cx->vars[bucket(name)]; v; v = v->next)
		if (rein_str_eq(v->name, name))
			return v;
	return NULL;
}

static struct value *first_value(const struct var *v)
{
	return v && v->is_set ? v->vals : NULL;
}

struct var *var_find(struct ctx *cx, struct rein_str name)
{
	struct var *v = lookup(cx, name);

	for (int i = 0; i < 8 && v && v->nameref && first_value(v); i++) {
		struct var *to = lookup(cx, v->vals->s);

		if (!to)
			break;
		v = to;
	}
	return v;
}

struct var *var_make(struct ctx *cx, struct rein_str name)
{
	struct var *v = var_find(cx, name);
	unsigned b;

	cx->sets++;
	if (v) {
		var_touch(cx, v);
		return v;
	}
	b = bucket(name);
	v = arena_new(cx->a, struct var);
	v->name = (struct rein_str){arena_dup(cx->a, name.p, name.n), name.n};
	v->next = cx->vars[b];
	cx->vars[b] = v;
	undo_push(cx, UNDO_NEW_VAR)->var = v;
	return v;
}

static struct value *value_new(struct ctx *cx, struct rein_str s, uint16_t taint)
{
	struct value *val = arena_new(cx->a, struct value);

	cx->value_bytes += s.n;
	if (s.n > MAX_VALUE || (cx->value_bytes > MAX_VALUES && s.n > 1024)) {
		s = STR("\001");
		cx_incomplete(cx, cx->at, "a value is too long to follow");
	}
	val->s = s;
	val->taint = taint;
	return val;
}

void val_change_case(struct ctx *cx, struct rein_str *s, bool upper)
{
	char *p = arena_dup(cx->a, s->p, s->n);

	for (size_t i = 0; i < s->n; i++) {
		if (upper && p[i] >= 'a' && p[i] <= 'z')
			p[i] -= 32;
		else if (!upper && p[i] >= 'A' && p[i] <= 'Z')
			p[i] += 32;
	}
	s->p = p;
}

static void add_alt(struct ctx *cx, struct var *v, struct value *val)
{
	for (struct value *o = v->vals; o; o = o->next)
		if (rein_str_eq(o->s, val->s) && o->absent == val->absent) {
			o->taint |= val->taint;
			return;
		}
	if (v->n_vals >= MAX_ALTS) {
		val->s = STR("\001");
		val->absent = false;
		v->vals = val;
		v->n_vals = 1;
		return;
	}
	val->next = v->vals;
	v->vals = val;
	v->n_vals++;
	(void)cx;
}

/* To whatever it may hold; on one way only, it may also stay as it was. */
static void append_each(struct ctx *cx, struct var *v, struct rein_str s, uint16_t taint)
{
	struct value *old = v->vals;

	v->vals = NULL;
	v->n_vals = 0;
	/* the list is copied: the undo log still points at the old one */
	for (; old; old = old->next) {
		struct sbuf b = {.a = cx->a};
		struct value *val;

		sbuf_str(&b, old->absent ? STR("") : old->s);
		sbuf_str(&b, s);
		add_alt(cx, v, value_new(cx, sbuf_view(&b), taint | old->taint));
		if (!cx->cond)
			continue;
		val = value_new(cx, old->s, old->taint);
		val->absent = old->absent;
		add_alt(cx, v, val);
	}
	v->is_array = false;
}

void var_set(struct ctx *cx, struct rein_str name, struct rein_str s, uint16_t taint, bool append)
{
	struct var *v = var_make(cx, name);
	struct value *val;

	if (v->lower || v->upper)
		val_change_case(cx, &s, v->upper);
	if (append && v->is_set && v->vals) {
		append_each(cx, v, s, taint);
		return;
	}
	val = value_new(cx, s, taint);
	if (cx->cond && v->is_set && !append) {
		/* copy the list: the undo log still points at the old one */
		struct value *old = v->vals;

		v->vals = NULL;
		v->n_vals = 0;
		for (; old; old = old->next) {
			struct value *copy = value_new(cx, old->s, old->taint);

			copy->absent = old->absent;
			add_alt(cx, v, copy);
		}
		add_alt(cx, v, val);
	} else {
		v->vals = val;
		v->n_vals = 1;
		/* set on one way only, and nobody set it before: it may also not be */
		if (cx->cond && !v->is_set && !append) {
			val = value_new(cx, STR(""), 0);
			val->absent = true;
			add_alt(cx, v, val);
		}
	}
	v->is_set = true;
	v->is_array = false;
}

void var_unset(struct ctx *cx, struct rein_str name)
{
	struct var *v = lookup(cx, name);

	if (!v) {
		v = var_make(cx, name);
	} else {
		var_touch(cx, v);
	}
	v->is_set = true; /* known to be empty, unlike a variable nobody mentioned */
	v->vals = NULL;
	v->n_vals = 0;
	v->lists = NULL;
	v->is_array = v->nameref = false;
}

/* A list of which nothing is known, not even how long it is. */
static struct value *anything(struct ctx *cx)
{
	struct value *val = value_new(cx, STR("\001"), 0);

	val->several = true;
	return val;
}

/* What stands in a list of items where the array has none: told from an empty one by its address. */
static const char no_item[] = "";

static struct value *item_new(struct ctx *cx, const struct field *f)
{
	struct value *val = value_new(cx, f->s, f->taint);

	val->absent = f->s.p == no_item;
	val->several = f->multi;
	return val;
}

static bool same_items(const struct value *a, const struct value *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (!rein_str_eq(a->s, b->s) || a->absent != b->absent || a->several != b->several || a->taint != b->taint)
			return false;
	return !a && !b;
}

/* One more way; the lists themselves are never changed, others may point at them. */
static void add_list(struct ctx *cx, struct var *v, struct value *first)
{
	struct items **end = &v->lists, *l;
	struct value **last = &v->vals, *head = first ? value_new(cx, first->s, first->taint) : value_new(cx, STR(""), 0);

	if (v->n_vals >= MAX_ALTS) { /* any of them, and more */
		first = anything(cx);
		head = value_new(cx, first->s, 0);
		v->lists = NULL;
		v->vals = NULL;
		v->n_vals = 0;
	}
	for (; *end; end = &(*end)->next, last = &(*last)->next)
		if (same_items((*end)->first, first))
			return;
	head->absent = !first || first->absent;
	l = arena_new(cx->a, struct items);
	l->first = first;
	*end = l;
	*last = head;
	v->n_vals++;
}

static struct value *list_of(struct ctx *cx, const struct fields *items)
{
	struct value *first = NULL, **end = &first;

	for (size_t i = 0; i < items->n; i++, end = &(*end)->next)
		*end = item_new(cx, &items->v[i]);
	return first;
}

/* The ways in which it may be filled before something is done to it that may not be done. */
static void add_before(struct ctx *cx, struct var *v, const struct var *was)
{
	if (was->is_set && was->is_array)
		for (const struct items *l = was->lists; l; l = l->next)
			add_list(cx, v, l->first);
	else if (was->is_set && was->vals)
		for (const struct value *o = was->vals; o; o = o->next)
			add_list(cx, v, o->absent ? NULL : value_new(cx, o->s, o->taint));
	else
		add_list(cx, v, NULL);
}

/* It is filled in one of these ways; on one way only, it may also stay as it was. */
static void set_lists(struct ctx *cx, struct rein_str name, const struct items *lists)
{
	struct var *v = var_make(cx, name);
	const struct var was = *v;

	v->lists = NULL;
	v->vals = NULL;
	v->n_vals = 0;
	if (cx->cond)
		add_before(cx, v, &was);
	for (; lists; lists = lists->next)
		add_list(cx, v, lists->first);
	v->is_array = v->is_set = true;
}

void var_array(struct ctx *cx, struct rein_str name, const struct fields *items)
{
	set_lists(cx, name, &(struct items){.first = list_of(cx, items)});
}

void var_or_before(struct ctx *cx, struct rein_str name, const struct var *was)
{
	struct var *v = var_make(cx, name);
	struct value *now = v->vals, *val;

	if (!v->is_set)
		return;
	if (v->is_array || (was && was->is_set && was->is_array)) {
		const struct var after = *v;

		v->lists = NULL;
		v->vals = NULL;
		v->n_vals = 0;
		add_before(cx, v, &after);
		add_before(cx, v, was ? was : &(struct var){0});
		v->is_array = true;
		return;
	}
	v->vals = NULL;
	v->n_vals = 0;
	/* the lists are copied: others may still point at them */
	for (; now; now = now->next) {
		val = value_new(cx, now->s, now->taint);
		val->absent = now->absent;
		add_alt(cx, v, val);
	}
	for (now = was && was->is_set ? was->vals : NULL; now; now = now->next) {
		val = value_new(cx, now->s, now->taint);
		val->absent = now->absent;
		add_alt(cx, v, val);
	}
	if (!was || !was->is_set) {
		val = value_new(cx, STR(""), 0);
		val->absent = true;
		add_alt(cx, v, val);
	}
}

void var_local(struct ctx *cx, struct rein_str name)
{
	struct var *v = lookup(cx, name);
	struct local *l;

	if (!cx->functions)
		return;
	for (l = cx->locals; l && l != cx->locals_before; l = l->next)
		if (rein_str_eq(l->name, name))
			return; /* it is its own already */
	l = arena_new(cx->a, struct local);
	l->name = (struct rein_str){arena_dup(cx->a, name.p, name.n), name.n};
	if (v)
		l->was = *v;
	l->doubtful = cx->cond;
	l->next = cx->locals;
	cx->locals = l;
}

void var_locals_end(struct ctx *cx, struct local *mark)
{
	for (; cx->locals && cx->locals != mark; cx->locals = cx->locals->next) {
		const struct local *l = cx->locals;
		struct var *v;

		/* else what was set may have been set for all */
		if (l->doubtful) {
			var_or_before(cx, l->name, &l->was);
			continue;
		}
		v = lookup(cx, l->name);
		if (!v)
			continue;
		var_touch(cx, v);
		v->vals = l->was.vals;
		v->n_vals = l->was.n_vals;
		v->lists = l->was.lists;
		v->is_array = l->was.is_array;
		v->is_set = l->was.is_set;
		v->nameref = l->was.nameref;
		v->lower = l->was.lower;
		v->upper = l->was.upper;
	}
}

struct rounds rounds_begin(struct ctx *cx)
{
	struct rounds old = {cx->round, cx->rounds, cx->first_choice};

	cx->round = 0;
	cx->rounds = 1;
	cx->first_choice = cx->n_choices;
	return old;
}

bool rounds_next(struct ctx *cx)
{
	return ++cx->round < cx->rounds && cx->round < CX_ROUNDS;
}

void rounds_end(struct ctx *cx, struct rounds old)
{
	cx->n_choices = cx->first_choice;
	cx->round = old.round;
	cx->rounds = old.rounds;
	cx->first_choice = old.first_choice;
}

void rounds_expand(struct ctx *cx, const struct word *w)
{
	struct rounds old = rounds_begin(cx);

	do
		expand_one(cx, w);
	while (rounds_next(cx));
	rounds_end(cx, old);
}

/* Which of n ways in this round. Not combined: there are rounds without it. */
static unsigned choose(struct ctx *cx, struct rein_str name, bool presence, unsigned n, bool *ret_combined)
{
	struct choice *c;

	*ret_combined = true;
	for (unsigned i = cx->first_choice; i < cx->n_choices; i++) {
		c = &cx->choices[i];
		if (c->presence == presence && rein_str_eq(c->name, name))
			return cx->round / c->stride % c->n % n;
	}
	if (cx->n_choices == CX_CHOICES || cx->rounds * n > CX_ROUNDS) {
		if (n > cx->rounds) /* too many to combine: each at least once */
			cx->rounds = n;
		*ret_combined = false;
		return cx->round % n;
	}
	c = &cx->choices[cx->n_choices++];
	*c = (struct choice){.name = name, .presence = presence, .n = n, .stride = cx->rounds};
	cx->rounds *= n;
	return cx->round / c->stride % n;
}

/* Set in the last one: what a command leaves behind (set -- $x) is what is known least about. */
bool val_is_set_round(struct ctx *cx, struct rein_str name)
{
	bool combined;

	return choose(cx, name, true, 2, &combined) != 0;
}

struct value *val_pick_round(struct ctx *cx, struct rein_str name, struct value *vals, unsigned n)
{
	bool combined;
	unsigned k;

	if (!vals || n < 2)
		return vals;
	k = choose(cx, name, false, n, &combined);
	if (!combined) { /* any of them */
		struct value *any = value_new(cx, STR("\001"), 0);

		for (; vals; vals = vals->next)
			any->taint |= vals->taint;
		return any;
	}
	while (k--)
		vals = vals->next;
	return vals;
}

struct value *var_items(struct ctx *cx, const struct var *v)
{
	const struct items *l = v && v->is_set && v->is_array ? v->lists : NULL;
	bool combined = true;
	unsigned k = l && v->n_vals > 1 ? choose(cx, v->name, false, v->n_vals, &combined) : 0;

	if (!combined)
		return anything(cx);
	for (; l && k; k--)
		l = l->next;
	return l ? l->first : NULL;
}

/* All that it may be, before anything is set: x=${x}y looks at the x of before in every round. */
void assign_values(struct ctx *cx, const struct word *value, struct fields *to)
{
	struct rounds old = rounds_begin(cx);

	do
		fields_push(cx, to, expand_one(cx, value));
	while (rounds_next(cx));
	rounds_end(cx, old);
}

void assign_all(struct ctx *cx, struct rein_str name, const struct fields *all, bool append)
{
	const struct var *v = append ? var_find(cx, name) : NULL;
	struct fields joined = {0};

	for (const struct value *o = v && v->is_set && !v->is_array ? v->vals : NULL; o; o = o->next)
		for (size_t i = 0; i < all->n; i++) {
			struct sbuf b = {.a = cx->a};
			struct field f = all->v[i];

			sbuf_str(&b, o->absent ? STR("") : o->s);
			sbuf_str(&b, f.s);
			f.s = sbuf_view(&b);
			f.taint |= o->taint;
			fields_push(cx, &joined, f);
		}
	if (joined.n) {
		all = &joined;
		append = false;
	}
	for (size_t i = 0; i < all->n; i++) {
		cx->cond += i > 0;
		var_set(cx, name, all->v[i].s, all->v[i].taint, append && i == 0);
		cx->cond -= i > 0;
	}
}

static void items_of(struct ctx *cx, const struct value *it, struct fields *to)
{
	for (; it; it = it->next)
		fields_push(cx, to, (struct field){.s = it->absent ? (struct rein_str){no_item, 0} : it->s, .taint = it->taint, .multi = it->several});
}

/* One item by its index. Returns the next one. */
static size_t item_put(struct ctx *cx, struct fields *items, struct field idx, struct field f)
{
	bool countable = true;
	long k;

	for (size_t i = 0; i < items->n; i++)
		countable &= !items->v[i].multi;
	if (countable && val_index(idx.s, &k) && k >= 0 && k < MAX_INDEX) {
		while ((long)items->n <= k)
			fields_push(cx, items, (struct field){.s = {no_item, 0}});
		items->v[k] = f;
		return (size_t)k + 1;
	}
	/* a key, or a number that is not known: it may have taken the place of any */
	fields_push(cx, items, f);
	for (size_t i = 0; items->n > 1 && i < items->n; i++) {
		items->v[i].s = STR("\001");
		items->v[i].taint |= f.taint;
	}
	return items->n;
}

/* a=(x y), a+=(x y), a=([2]=x) */
static void put_items(struct ctx *cx, const struct assign *as, struct fields *items)
{
	size_t next = items->n;

	for (const struct assign *it = as->items; it; it = it->next) {
		struct fields words = {0};

		if (it->index) {
			struct field f = expand_one(cx, it->value);

			next = item_put(cx, items, expand_one(cx, it->index), f);
			continue;
		}
		expand_word(cx, it->value, next == items->n ? items : &words);
		for (size_t i = 0; i < words.n; i++, next++)
			if (next < items->n)
				items->v[next] = words.v[i];
			else
				fields_push(cx, items, words.v[i]);
		if (!words.n)
			next = items->n;
	}
}

/* Of each way in which it may be filled, another one. */
static void assign_array(struct ctx *cx, const struct assign *as)
{
	const struct var *v = as->append || as->index ? var_find(cx, as->name) : NULL;
	struct var before = {0};
	struct items *lists = NULL, **end = &lists;

	add_before(cx, &before, v ? v : &before);
	for (const struct items *was = before.lists; was; was = was->next) {
		struct fields items = {0};

		items_of(cx, was->first, &items);
		if (as->is_array) {
			put_items(cx, as, &items);
		} else {
			struct field idx = expand_one(cx, as->index);

			item_put(cx, &items, idx, expand_one(cx, as->value));
		}
		*end = arena_new(cx->a, struct items);
		(*end)->first = list_of(cx, &items);
		end = &(*end)->next;
	}
	set_lists(cx, as->name, lists);
}

void run_assign(struct ctx *cx, const struct assign *as)
{
	if (as->is_array || as->index) {
		assign_array(cx, as);
		return;
	}
	{
		struct fields all = {0};

		assign_values(cx, as->value, &all);
		assign_all(cx, as->name, &all, as->append);
	}
}
