/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to fields, as bash expands them: braces, tilde, parameters, command and arithmetic substitution,
 * splitting at IFS, globs. What cannot be known becomes a hole in an otherwise known word.
 */
#include "classify/value.h"

#define MAX_BRACES   256
#define MAX_FIELDS   20000

void fields_push(struct ctx *cx, struct fields *out, struct field f)
{
	if (out->n >= MAX_FIELDS) {
		cx_incomplete(cx, f.at, "expands to too many words");
		return;
	}
	if (out->n == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 8;
		struct field *v = arena_alloc(cx->a, cap * sizeof(*v));

		if (out->n)
			memcpy(v, out->v, out->n * sizeof(*v));
		out->v = v;
		out->cap = cap;
	}
	out->v[out->n++] = f;
}

struct field field_of(struct ctx *cx, const char *s, struct range at)
{
	return (struct field){.s = {arena_dup(cx->a, s, strlen(s)), strlen(s)}, .at = at};
}

void val_finish(struct builder *b)
{
	struct field f = {
		.s = sbuf_view(&b->text),
		.at = b->at,
		.taint = b->taint,
		.multi = b->multi,
		.quoted = b->quoted,
	};

	if (b->open || b->text.n)
		fields_push(b->cx, b->out, f);
	b->text = (struct sbuf){.a = b->cx->a};
	b->taint = 0;
	b->open = b->quoted = b->multi = false;
}

struct rein_str val_ifs(struct ctx *cx)
{
	struct var *v = var_find(cx, STR("IFS"));

	if (!v || !v->is_set)
		return STR(" \t\n");
	return v->vals ? v->vals->s : STR("");
}

static void put_glob(struct builder *b, struct rein_str s, size_t *i)
{
	char c = s.p[*i];

	if (c == '*') {
		sbuf_char(&b->text, GLOB_STAR);
	} else if (c == '?') {
		sbuf_char(&b->text, GLOB_ONE);
	} else {
		/* a class longer than this is no class: keeps many brackets linear */
		size_t left = *i + 2 < s.n ? s.n - *i - 2 : 0;
		const char *close = left ? memchr(s.p + *i + 2, ']', left < 256 ? left : 256) : NULL;

		if (!close || memchr(s.p + *i, '/', (size_t)(close - (s.p + *i)))) {
			sbuf_char(&b->text, c);
			return;
		}
		/* a class of one byte is that byte: /[e]tc */
		if (close == s.p + *i + 2)
			sbuf_char(&b->text, s.p[*i + 1]);
		else
			sbuf_char(&b->text, GLOB_ONE);
		*i = (size_t)(close - s.p);
	}
}

static void put_unquoted(struct builder *b, struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (b->split && (c == '*' || c == '?' || c == '['))
			put_glob(b, s, &i);
		else
			sbuf_char(&b->text, c);
	}
}

/* The unquoted result of an expansion: split at IFS, then globbed. */
static void put_split(struct builder *b, struct rein_str s, uint16_t taint)
{
	struct rein_str sep;
	bool pending = false; /* a separator was seen after some text */
	bool special[256];

	if (!b->split || (s.n == 1 && s.p[0] == HOLE)) {
		b->multi |= b->split;
		sbuf_str(&b->text, s);
		b->taint |= taint;
		return;
	}
	memset(special, 0, sizeof(special));
	special['*'] = special['?'] = special['['] = special[HOLE] = true;
	sep = val_ifs(b->cx);
	for (size_t i = 0; i < sep.n; i++)
		special[(unsigned char)sep.p[i]] = true;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		size_t plain = i;

		while (plain < s.n && !special[(unsigned char)s.p[plain]])
			plain++;
		if (plain > i) {
			sbuf_add(&b->text, s.p + i, plain - i);
			b->taint |= taint;
			i = plain - 1;
			continue;
		}

		if (sep.n && memchr(sep.p, c, sep.n)) {
			bool white = c == ' ' || c == '\t' || c == '\n';

			if (!white && !b->text.n && !b->open && pending)
				b->open = true;
			if (b->text.n || b->open || (!white && !pending)) {
				if (!white)
					b->open = true;
				val_finish(b);
			}
			pending = true;
			continue;
		}
		if (c == HOLE)
			b->multi = true;
		b->taint |= taint;
		if (c == '*' || c == '?' || c == '[')
			put_glob(b, s, &i);
		else
			sbuf_char(&b->text, c);
	}
	b->taint |= taint;
}

void val_put_quoted(struct builder *b, struct rein_str s, uint16_t taint)
{
	sbuf_str(&b->text, s);
	b->taint |= taint;
	b->open = b->quoted = true;
}

void val_put_value(struct builder *b, struct rein_str s, uint16_t taint, bool quoted)
{
	if (quoted)
		val_put_quoted(b, s, taint);
	else
		put_split(b, s, taint);
}

struct field field_from_data(struct ctx *cx, const struct data *d, struct range at)
{
	struct rein_str s = d->known ? d->text : STR("\001");

	(void)cx;
	while (d->known && s.n && s.p[s.n - 1] == '\n')
		s.n--;
	return (struct field){.s = s, .taint = d->taint, .at = at};
}

static void put_command(struct builder *b, const struct part *p, bool quoted)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct data d;
	struct field f;

	if (!p->cmd) {
		if (quoted)
			val_put_quoted(b, STR(""), 0);
		return;
	}
	/* $(<file) is the file */
	d = run_subshell(b->cx, p->cmd, &io);
	f = field_from_data(b->cx, &d, p->at);
	val_put_value(b, f.s, f.taint, quoted);
}

static void put_process(struct builder *b, const struct part *p)
{
	struct ctx *cx = b->cx;
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct data d;
	char name[32];

	io.piped = p->dir == '>';
	d = p->cmd ? run_subshell(cx, p->cmd, &io) : data_known(STR(""));
	snprintf(name, sizeof(name), "/dev/fd/sub%u", cx->next_fd++);
	if (p->dir != '>')
		vfile_put(cx, (struct rein_str){arena_dup(cx->a, name, strlen(name)), strlen(name)}, d,
			  false);
	val_put_quoted(b, (struct rein_str){arena_dup(cx->a, name, strlen(name)), strlen(name)}, 0);
}

static void put_extglob(struct builder *b, const struct part *p)
{
	struct rein_str body = p->text;

	/* @(one) and +(one) hold at least that text */
	if (body.n > 3 && (body.p[0] == '@' || body.p[0] == '+') &&
	    !memchr(body.p, '|', body.n) && !memchr(body.p, '*', body.n)) {
		put_unquoted(b, (struct rein_str){body.p + 2, body.n - 3});
		return;
	}
	sbuf_char(&b->text, GLOB_STAR);
}

void val_expand_parts(struct builder *b, const struct part *p, bool quoted)
{
	for (; p && !b->cx->over; p = p->next) {
		if (b->at.end < p->at.end)
			b->at.end = p->at.end;
		switch (p->kind) {
		case PART_LIT:
			if (quoted)
				val_put_quoted(b, p->text, 0);
			else if (b->operand)
				put_split(b, p->text, 0);
			else
				put_unquoted(b, p->text);
			break;
		case PART_QUOTED:
			val_put_quoted(b, p->text, 0);
			break;
		case PART_DQ:
			b->quoted = true;
			/* "$@" with nothing in it makes no word; any other quotes do */
			if (!(p->sub && !p->sub->next && p->sub->kind == PART_PARAM &&
			      val_is_all(p->sub->param)))
				b->open = true;
			val_expand_parts(b, p->sub, true);
			break;
		case PART_PARAM:
			val_put_param(b, p->param, quoted);
			break;
		case PART_CMD:
			put_command(b, p, quoted);
			break;
		case PART_ARITH:
			val_put_arith(b, p, quoted);
			break;
		case PART_PROC:
			put_process(b, p);
			break;
		case PART_EXTGLOB:
			put_extglob(b, p);
			break;
		}
	}
}

static void tilde(struct builder *b, const struct part **p)
{
	struct rein_str t = (*p)->text;
	size_t n = 1;
	struct part *rest;

	while (n < t.n && t.p[n] != '/' && t.p[n] != ':')
		n++;
	/* no such user can exist: the tilde stays */
	for (size_t i = 1; i < n; i++)
		if (!((t.p[i] >= 'a' && t.p[i] <= 'z') || (t.p[i] >= 'A' && t.p[i] <= 'Z') ||
		      (t.p[i] >= '0' && t.p[i] <= '9') || strchr("_-.+", t.p[i])))
			return;
	if (n == t.n && (*p)->next && n > 1 && (*p)->next->kind != PART_LIT)
		return; /* ~$user: not expanded by bash */
	if (n == t.n && (*p)->next && n == 1 && (*p)->next->kind != PART_LIT)
		return;
	if (n == 1) {
		struct pval v = val_param_value(b->cx, STR("HOME"));

		val_put_quoted(b, v.s, v.taint);
	} else if (str_is(str_to(t, n), "~+")) {
		val_put_quoted(b, b->cx->cwd_unknown ? STR("\001") : b->cx->cwd, 0);
	} else if (str_is(str_to(t, n), "~-")) {
		val_put_quoted(b, STR("\001"), 0);
	} else {
		val_put_quoted(b, str_is(str_to(t, n), "~root") ? STR("/root") : STR("/home/"), 0);
		if (!str_is(str_to(t, n), "~root"))
			val_put_quoted(b, (struct rein_str){t.p + 1, n - 1}, 0);
	}
	b->quoted = false;
	rest = val_part_copy(b->cx, *p, str_from(t, n));
	rest->next = (*p)->next;
	*p = rest;
}

void val_expand_plain(struct ctx *cx, const struct word *w, struct fields *out)
{
	struct builder b = {
		.cx = cx, .out = out, .text = {.a = cx->a}, .at = w->at, .split = true};
	const struct part *p = w->first;

	if (p && p->kind == PART_LIT && p->text.n && p->text.p[0] == '~')
		tilde(&b, &p);
	val_expand_parts(&b, p, false);
	val_finish(&b);
}

static bool has_brace(const struct word *w)
{
	for (const struct part *p = w->first; p; p = p->next)
		if (p->kind == PART_LIT && p->text.n > 0 && memchr(p->text.p, '{', p->text.n))
			return true;
	return false;
}

void expand_word(struct ctx *cx, const struct word *w, struct fields *out)
{
	unsigned budget = MAX_BRACES;

	if (!w || !cx_step(cx))
		return;
	if (has_brace(w))
		val_expand_braces(cx, w->first, w->at, out, &budget);
	else
		val_expand_plain(cx, w, out);
}

struct field expand_one(struct ctx *cx, const struct word *w)
{
	struct fields out = {0};
	struct builder b = {.cx = cx, .out = &out, .text = {.a = cx->a}};
	const struct part *p;

	if (!w || !cx_step(cx))
		return (struct field){.s = STR(""), .at = w ? w->at : (struct range){0}};
	b.at = w->at;
	b.open = true;
	p = w->first;
	if (p && p->kind == PART_LIT && p->text.n && p->text.p[0] == '~')
		tilde(&b, &p);
	val_expand_parts(&b, p, false);
	b.open = true;
	val_finish(&b);
	if (out.n == 1) {
		out.v[0].at = w->at;
		return out.v[0];
	}
	/* "$@" in a place for one word: joined with blanks */
	{
		struct sbuf t = {.a = cx->a};
		uint16_t taint = 0;

		for (size_t i = 0; i < out.n; i++) {
			if (i)
				sbuf_char(&t, ' ');
			sbuf_str(&t, out.v[i].s);
			taint |= out.v[i].taint;
		}
		return (struct field){.s = sbuf_view(&t), .taint = taint, .at = w->at};
	}
}
