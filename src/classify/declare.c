/* SPDX-License-Identifier: Apache-2.0 */
/*
 * declare, export, local, readonly, typeset: their words are assignments, in which nothing is split, and which a
 * function may keep to itself. Braces are expanded all the same; such a command is left to the builtin, word by word.
 */
#include "classify/internal.h"
#include "classify/parse.h"

bool declares(const struct fields *argv)
{
	return argv->n && str_in(argv->v[0].s, "export declare local readonly typeset");
}

/* Not -g, in whatever company: those are everybody's. */
static bool keeps_them(const struct fields *argv)
{
	if (!str_in(argv->v[0].s, "local declare typeset"))
		return false;
	for (size_t i = 1; i < argv->n && argv->v[i].s.n && argv->v[i].s.p[0] == '-'; i++)
		if (memchr(argv->v[i].s.p, 'g', argv->v[i].s.n))
			return false;
	return true;
}

static bool has_braces(const struct word *w)
{
	for (const struct part *p = w->first; p; p = p->next)
		if (p->kind == PART_LIT && memchr(p->text.p, '{', p->text.n))
			return true;
	return false;
}

static bool has_values(const struct word *w)
{
	for (const struct part *p = w->first; p; p = p->next)
		if (p->kind == PART_PARAM || p->kind == PART_CMD)
			return true;
	return false;
}

/* NAME=VALUE or NAME+=VALUE. */
struct declared {
	struct rein_str name;
	bool append;
	struct part first; /* of the value, if something of the word's first part is left for it */
	struct word value;
	struct fields all;
	struct declared *next;
};

/* Fills d, which must stay where it is: value points into it. False: the word is none. */
static bool split(const struct word *w, struct declared *d)
{
	struct rein_str s = w->first && w->first->kind == PART_LIT ? w->first->text : STR("");
	size_t n = 0;

	if (!s.n || !is_name1((unsigned char)s.p[0]) || has_braces(w))
		return false;
	while (n < s.n && is_name((unsigned char)s.p[n]))
		n++;
	d->name = str_to(s, n);
	d->append = n < s.n && s.p[n] == '+';
	n += d->append;
	if (n == s.n || s.p[n] != '=')
		return false;
	d->first = *w->first;
	d->first.text = str_from(s, n + 1);
	d->value = (struct word){.first = d->first.text.n ? &d->first : d->first.next, .at = w->at};
	return true;
}

void declare_expand(struct ctx *cx, const struct word *w, struct fields *to)
{
	for (; w && !cx->over; w = w->next) {
		struct declared d;
		struct sbuf t = {.a = cx->a};
		struct field f;

		if (!declares(to) || !split(w, &d)) {
			expand_word(cx, w, to);
			continue;
		}
		f = expand_one(cx, &d.value);
		sbuf_str(&t, d.name);
		sbuf_str(&t, d.append ? STR("+=") : STR("="));
		sbuf_str(&t, f.s);
		f.s = sbuf_view(&t);
		fields_push(cx, to, f);
	}
}

/* Values that are split and braces in one word: which names there are is not followed. */
static bool left_to_builtin(struct ctx *cx, const struct word *w)
{
	bool left = false;

	for (; w; w = w->next) {
		if (!has_braces(w))
			continue;
		left = true;
		if (has_values(w))
			cx_incomplete(cx, w->at, "braces and values in one declaration");
	}
	return left;
}

bool declare_run(struct ctx *cx, const struct node *n, const struct fields *argv)
{
	struct declared *first = NULL, **end = &first;
	bool own = keeps_them(argv) && !cx->round;

	for (const struct assign *a = own ? n->assigns : NULL; a; a = a->next)
		var_local(cx, a->name);
	if (left_to_builtin(cx, n->words))
		return false;
	/* all values are looked at before any is set */
	for (const struct word *w = cx->round ? NULL : n->words; w && !cx->over; w = w->next) {
		struct declared *d = arena_new(cx->a, struct declared);

		if (!split(w, d))
			continue;
		assign_values(cx, &d->value, &d->all);
		*end = d;
		end = &d->next;
	}
	for (; first; first = first->next) {
		if (own)
			var_local(cx, first->name);
		assign_all(cx, first->name, &first->all, first->append);
	}
	return true;
}
