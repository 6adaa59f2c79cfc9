/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to fields, as bash expands them: braces, tilde, parameters with every operator, command and
 * arithmetic substitution, splitting at IFS, globs. What cannot be known becomes a hole in an
 * otherwise known word. A variable assigned on some paths only holds all its possible values; the
 * caller asks for them one round after the other.
 */
#include "classify/internal.h"

#define MAX_ALTS     8
#define MAX_BRACES   256
#define MAX_FIELDS   20000
#define MAX_VALUE    ((size_t)1 << 18)
#define MAX_COMMAS   128

enum undo_kind { UNDO_VAR, UNDO_NEW_VAR, UNDO_CWD };

struct undo {
	enum undo_kind kind;
	struct var *var, old;
	struct rein_str cwd;
	bool cwd_unknown;
	struct undo *next;
};

/* ------------------------------------------------------------ variables */

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

	if (s.n > MAX_VALUE) {
		s = STR("\001");
		cx_incomplete(cx, cx->at, "a value is too long to follow");
	}
	val->s = s;
	val->taint = taint;
	return val;
}

static void change_case(struct ctx *cx, struct rein_str *s, bool upper)
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

void var_set(struct ctx *cx, struct rein_str name, struct rein_str s, uint16_t taint, bool append)
{
	struct var *v = var_make(cx, name);
	struct value *val;

	if (v->lower || v->upper)
		change_case(cx, &s, v->upper);
	if (append && v->is_set && v->vals) {
		struct sbuf b = {.a = cx->a};

		sbuf_str(&b, v->vals->s);
		sbuf_str(&b, s);
		s = sbuf_view(&b);
		taint |= v->vals->taint;
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
	v->items = NULL;
	v->is_array = v->nameref = false;
}

void var_array(struct ctx *cx, struct rein_str name, const struct fields *items)
{
	struct var *v = var_make(cx, name);
	struct value **end = &v->items;

	v->items = NULL;
	v->vals = NULL;
	v->n_vals = 0;
	for (size_t i = 0; i < items->n; i++) {
		*end = value_new(cx, items->v[i].s, items->v[i].taint);
		if (i == 0) {
			v->vals = value_new(cx, items->v[0].s, items->v[0].taint);
			v->n_vals = 1;
		}
		end = &(*end)->next;
	}
	v->is_array = v->is_set = true;
}

/* ------------------------------------------------------------ fields under construction */

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

struct builder {
	struct ctx *cx;
	struct fields *out;
	struct sbuf text;
	struct range at;
	uint16_t taint;
	bool open;   /* a field exists even if it is empty */
	bool quoted, multi;
	bool split;  /* words are split and globbed */
	bool operand; /* inside ${x-word}: literal text there is split as well */
};

static void finish(struct builder *b)
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

static struct rein_str ifs(struct ctx *cx)
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
	struct rein_str sep = ifs(b->cx);
	bool pending = false; /* a separator was seen after some text */

	if (!b->split) {
		sbuf_str(&b->text, s);
		b->taint |= taint;
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (sep.n && memchr(sep.p, c, sep.n)) {
			bool white = c == ' ' || c == '\t' || c == '\n';

			if (!white && !b->text.n && !b->open && pending)
				b->open = true;
			if (b->text.n || b->open || (!white && !pending)) {
				if (!white)
					b->open = true;
				finish(b);
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

static void put_quoted(struct builder *b, struct rein_str s, uint16_t taint)
{
	sbuf_str(&b->text, s);
	b->taint |= taint;
	b->open = b->quoted = true;
}

static void put_value(struct builder *b, struct rein_str s, uint16_t taint, bool quoted)
{
	if (quoted)
		put_quoted(b, s, taint);
	else
		put_split(b, s, taint);
}

/* ------------------------------------------------------------ parameters */

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

/* Which of n ways in this round. */
static unsigned choose(struct ctx *cx, struct rein_str name, bool presence, unsigned n)
{
	struct choice *c;

	for (unsigned i = cx->first_choice; i < cx->n_choices; i++) {
		c = &cx->choices[i];
		if (c->presence == presence && rein_str_eq(c->name, name))
			return cx->round / c->stride % c->n % n;
	}
	if (cx->n_choices == CX_CHOICES || cx->rounds * n > CX_ROUNDS) {
		if (n > cx->rounds) /* too many to combine: each at least once */
			cx->rounds = n;
		return cx->round % n;
	}
	c = &cx->choices[cx->n_choices++];
	*c = (struct choice){.name = name, .presence = presence, .n = n, .stride = cx->rounds};
	cx->rounds *= n;
	return cx->round / c->stride % n;
}

static struct value *pick_round(struct ctx *cx, struct rein_str name, struct value *vals, unsigned n)
{
	unsigned k;

	if (!vals || n < 2)
		return vals;
	for (k = choose(cx, name, false, n); k--;)
		vals = vals->next;
	return vals;
}

static const char *environment(struct ctx *cx, struct rein_str name)
{
	const char *const *e = cx->act ? cx->act->environ_ : NULL;

	for (; e && *e; e++)
		if (strlen(*e) > name.n && !memcmp(*e, name.p, name.n) && (*e)[name.n] == '=')
			return *e + name.n + 1;
	return NULL;
}

struct pval {
	struct rein_str s;
	uint16_t taint;
	bool set, unknown; /* unknown: nobody said whether it is set */
};

static bool well_known(struct ctx *cx, struct rein_str name, struct pval *ret)
{
	ret->set = true;
	if (str_is(name, "HOME"))
		ret->s = cx->home;
	else if (str_is(name, "PWD"))
		ret->s = cx->cwd_unknown ? STR("\001") : cx->cwd;
	else if (str_is(name, "OLDPWD"))
		ret->s = cx->cwd_unknown ? STR("\001") : cx->cwd;
	else if (str_is(name, "SHELL") || str_is(name, "BASH"))
		ret->s = STR("/bin/bash");
	else if (str_is(name, "TMPDIR"))
		ret->s = STR("/tmp");
	else if (str_is(name, "IFS"))
		ret->s = STR(" \t\n");
	else if (str_in(name, "RANDOM UID EUID PPID SECONDS LINENO BASHPID SRANDOM EPOCHSECONDS "
			      "COLUMNS LINES SHLVL OPTIND ? # $ !")) {
		ret->s = STR("\001");
		ret->taint = TAINT_NUMBER;
	} else {
		ret->set = false;
		return false;
	}
	return true;
}

static struct pval positional(struct ctx *cx, struct rein_str name)
{
	struct pval r = {.s = STR("\001"), .taint = TAINT_INPUT, .unknown = true};
	size_t k = 0;

	for (size_t i = 0; i < name.n; i++)
		k = k * 10 + (size_t)(name.p[i] - '0');
	if (!cx->frame)
		return r;
	if (k == 0) {
		if (cx->frame->zero.s.n)
			r = (struct pval){.s = cx->frame->zero.s, .set = true};
		return r;
	}
	if (k <= cx->frame->n)
		return (struct pval){.s = cx->frame->v[k - 1].s,
				     .taint = cx->frame->v[k - 1].taint,
				     .set = true};
	if (cx->frame->known)
		return (struct pval){.s = STR("")};
	return r;
}

static struct pval param_value(struct ctx *cx, struct rein_str name)
{
	struct pval r = {.s = STR("\001"), .taint = TAINT_ENV, .unknown = true};
	struct var *v;
	const char *e;

	if (name.n && name.p[0] >= '0' && name.p[0] <= '9')
		return positional(cx, name);
	v = var_find(cx, name);
	if (v && v->is_set) {
		struct value *val = pick_round(cx, v->name, v->vals, v->n_vals);

		return val ? (struct pval){.s = val->s, .taint = val->taint, .set = !val->absent}
			   : (struct pval){.s = STR(""), .set = v->is_array};
	}
	e = environment(cx, name);
	if (e)
		return (struct pval){.s = {e, strlen(e)}, .set = true};
	if (well_known(cx, name, &r)) {
		r.unknown = false;
		return r;
	}
	if (env_is_secret(cx, name))
		r.taint |= TAINT_SECRET;
	return r;
}

/* Does pattern (a field: globs as bytes) match s whole? Backtracks only to the last star. */
static bool pat_match(struct rein_str pat, struct rein_str s)
{
	size_t p = 0, i = 0, star = (size_t)-1, mark = 0;

	while (i < s.n) {
		if (p < pat.n && (pat.p[p] == GLOB_ONE || pat.p[p] == s.p[i])) {
			p++;
			i++;
		} else if (p < pat.n && pat.p[p] == GLOB_STAR) {
			star = p++;
			mark = i;
		} else if (star != (size_t)-1) {
			p = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (p < pat.n && pat.p[p] == GLOB_STAR)
		p++;
	return p == pat.n;
}

/* A pattern operand: quoted parts stay literal, unquoted globs come alive. */
static struct field pattern_of(struct ctx *cx, const struct word *w)
{
	struct fields out = {0};
	struct builder b = {.cx = cx, .out = &out, .text = {.a = cx->a}, .split = true};
	extern void expand_parts_(struct builder *, const struct part *, bool);

	if (w) {
		struct var *v = var_find(cx, STR("IFS"));
		struct var saved = {0};

		if (v)
			saved = *v;
		expand_parts_(&b, w->first, false);
		if (v)
			*v = saved;
	}
	b.open = true;
	finish(&b);
	if (out.n == 1)
		return out.v[0];
	/* blanks in the pattern were split: join them again */
	{
		struct sbuf t = {.a = cx->a};

		for (size_t i = 0; i < out.n; i++) {
			if (i)
				sbuf_char(&t, ' ');
			sbuf_str(&t, out.v[i].s);
		}
		return (struct field){.s = sbuf_view(&t)};
	}
}

static struct rein_str trim_prefix(struct rein_str s, struct rein_str pat, bool longest)
{
	for (size_t k = 0; k <= s.n; k++) {
		size_t n = longest ? s.n - k : k;

		if (pat_match(pat, str_to(s, n)))
			return str_from(s, n);
	}
	return s;
}

static struct rein_str trim_suffix(struct rein_str s, struct rein_str pat, bool longest)
{
	for (size_t k = 0; k <= s.n; k++) {
		size_t from = longest ? k : s.n - k;

		if (pat_match(pat, str_from(s, from)))
			return str_to(s, from);
	}
	return s;
}

static struct rein_str replace(struct ctx *cx, struct rein_str s, struct rein_str pat,
			       struct rein_str with, char how, bool all)
{
	struct sbuf out = {.a = cx->a};
	size_t i = 0;
	bool done = false;

	if (!pat.n && how != '#' && how != '%')
		return s;
	while (i <= s.n) {
		size_t n = 0;
		bool hit = false;

		if (!done && (how != '#' || i == 0)) {
			for (n = s.n - i + 1; n-- > 0;)
				if ((how != '%' || i + n == s.n) &&
				    pat_match(pat, (struct rein_str){s.p + i, n})) {
					hit = true;
					break;
				}
		}
		if (hit && (n || how == '#' || how == '%')) {
			sbuf_str(&out, with);
			i += n;
			done = !all;
			if (how == '#' || how == '%')
				done = true;
			if (n)
				continue;
		}
		if (i < s.n)
			sbuf_char(&out, s.p[i]);
		i++;
	}
	return sbuf_view(&out);
}

static bool number(struct rein_str s, long *ret)
{
	bool neg = false;
	size_t i = 0;
	long v = 0;

	while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
		i++;
	if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
		neg = s.p[i++] == '-';
	if (i >= s.n)
		return false;
	for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && v < 1000000000L; i++)
		v = v * 10 + (s.p[i] - '0');
	while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
		i++;
	*ret = neg ? -v : v;
	return i == s.n;
}

static struct rein_str substr(struct rein_str s, struct rein_str spec)
{
	const char *colon = memchr(spec.p, ':', spec.n);
	long off, len = (long)s.n;

	if (!number(colon ? str_to(spec, (size_t)(colon - spec.p)) : spec, &off))
		return STR("\001");
	if (colon && !number(str_from(spec, (size_t)(colon - spec.p) + 1), &len))
		return STR("\001");
	if (off < 0)
		off += (long)s.n;
	if (off < 0 || off > (long)s.n)
		return STR("");
	if (len < 0)
		len = (long)s.n - off + len;
	if (len < 0)
		return STR("");
	if (off + len > (long)s.n)
		len = (long)s.n - off;
	return (struct rein_str){s.p + off, (size_t)len};
}

/* "${x@P}": the value is expanded like a prompt, command substitutions included. */
static struct rein_str prompt(struct ctx *cx, struct rein_str s, uint16_t *taint)
{
	struct word *w = shell_parse_dq(cx->a, s, &cx->at);
	struct field f = expand_one(cx, w);

	*taint |= f.taint;
	return f.s;
}

static struct rein_str quoted_value(struct ctx *cx, struct rein_str s)
{
	struct sbuf out = {.a = cx->a};

	sbuf_char(&out, '\'');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\'')
			sbuf_add(&out, "'\\''", 4);
		else
			sbuf_char(&out, s.p[i]);
	}
	sbuf_char(&out, '\'');
	return sbuf_view(&out);
}

static void transform(struct ctx *cx, struct pval *v, char how)
{
	if (how == 'P') {
		v->s = prompt(cx, v->s, &v->taint);
	} else if (has_hole(v->s)) {
		return;
	} else if (how == 'U' || how == 'L') {
		change_case(cx, &v->s, how == 'U');
	} else if (how == 'u' && v->s.n) {
		char *p = arena_dup(cx->a, v->s.p, v->s.n);

		if (p[0] >= 'a' && p[0] <= 'z')
			p[0] -= 32;
		v->s.p = p;
	} else if (how == 'Q') {
		v->s = quoted_value(cx, v->s);
	} else if (how == 'E') {
		struct sbuf out = {.a = cx->a};
		bool stop = false;
	
		for (size_t i = 0; i < v->s.n && !stop;) {
			if (v->s.p[i] == '\\')
				i += shell_ansi_escape(v->s.p + i, v->s.n - i, &out, &stop);
			else
				sbuf_char(&out, v->s.p[i++]);
		}
		v->s = sbuf_view(&out);
	} else {
		v->s = STR("\001");
	}
}

/* Characters or bytes? That is up to the locale it runs in. */
static bool has_high(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return true;
	return false;
}

static void case_op(struct ctx *cx, struct pval *v, const struct param *m)
{
	bool upper = m->how == '^';
	char *p;

	if (has_hole(v->s) || has_high(v->s) || m->how == '~' || (m->arg && m->arg->first)) {
		v->s = STR("\001");
		return;
	}
	if (m->twice) {
		change_case(cx, &v->s, upper);
		return;
	}
	p = arena_dup(cx->a, v->s.p, v->s.n);
	if (v->s.n && upper && p[0] >= 'a' && p[0] <= 'z')
		p[0] -= 32;
	if (v->s.n && !upper && p[0] >= 'A' && p[0] <= 'Z')
		p[0] += 32;
	v->s.p = p;
}

static void apply_op(struct ctx *cx, struct pval *v, const struct param *m)
{
	struct field arg, with = {.s = STR("")};

	switch (m->op) {
	case OP_LENGTH: {
		char num[24];
		size_t n = v->s.n;

		if (has_hole(v->s) || has_high(v->s)) {
			v->s = STR("\001");
		} else {
			snprintf(num, sizeof(num), "%zu", n);
			v->s = (struct rein_str){arena_dup(cx->a, num, strlen(num)), strlen(num)};
		}
		v->taint = TAINT_NUMBER;
		v->set = true;
		return;
	}
	case OP_PREFIX:
	case OP_SUFFIX:
		arg = pattern_of(cx, m->arg);
		if (has_hole(v->s) || has_hole(arg.s) || v->s.n > 4096)
			v->s = STR("\001");
		else if (m->op == OP_PREFIX)
			v->s = trim_prefix(v->s, arg.s, m->twice);
		else
			v->s = trim_suffix(v->s, arg.s, m->twice);
		v->taint |= arg.taint;
		return;
	case OP_REPLACE:
		arg = pattern_of(cx, m->arg);
		if (m->arg2)
			with = expand_one(cx, m->arg2);
		if (has_hole(v->s) || has_hole(arg.s) || v->s.n > 1024)
			v->s = STR("\001");
		else
			v->s = replace(cx, v->s, arg.s, with.s, m->how, m->twice);
		v->taint |= arg.taint | with.taint;
		return;
	case OP_SUBSTR:
		arg = expand_one(cx, m->arg);
		v->s = has_hole(v->s) || has_hole(arg.s) || has_high(v->s) ? STR("\001")
									    : substr(v->s, arg.s);
		return;
	case OP_CASE:
		case_op(cx, v, m);
		return;
	case OP_TRANSFORM:
		transform(cx, v, m->how);
		return;
	case OP_NAMES:
		v->s = STR("\001");
		return;
	default:
		return;
	}
}

void expand_parts_(struct builder *b, const struct part *p, bool quoted);

static bool all_holes(struct rein_str s)
{
	size_t i = 0;

	while (i < s.n && s.p[i] == HOLE)
		i++;
	return s.n && i == s.n;
}

/* ${x:-word} and friends: what is expanded instead of the value, or NULL. */
static const struct word *substitute(struct ctx *cx, const struct param *m, const struct pval *v,
				     bool *empty)
{
	bool absent = v->unknown || !v->set || (m->colon && !v->s.n);
	/* set, but to what? it may be empty */
	bool perhaps = v->unknown || (m->colon && v->set && all_holes(v->s));

	*empty = false;
	switch (m->op) {
	case OP_DEFAULT:
	case OP_ASSIGN:
		return absent ? m->arg : NULL;
	case OP_ALT:
		/* an unknown variable may be set or not: one round for each */
		if (perhaps ? choose(cx, m->name, true, 2) == 1 : absent) {
			*empty = true;
			return NULL;
		}
		return m->arg;
	default:
		return NULL;
	}
}

static bool is_all(const struct param *m)
{
	if (m->op == OP_LENGTH)
		return false;
	if (str_is(m->name, "@") || str_is(m->name, "*"))
		return true;
	if (!m->index || !m->index->first || m->index->first->next ||
	    m->index->first->kind != PART_LIT)
		return false;
	return str_is(m->index->first->text, "@") || str_is(m->index->first->text, "*");
}

static void put_list(struct builder *b, const struct param *m, bool quoted)
{
	bool star = str_is(m->name, "*") ||
		    (m->index && m->index->first && str_is(m->index->first->text, "*"));
	struct fields items = {0};
	bool known = true;

	if (str_is(m->name, "@") || str_is(m->name, "*")) {
		known = b->cx->frame && b->cx->frame->known;
		for (size_t i = 0; b->cx->frame && i < b->cx->frame->n; i++)
			fields_push(b->cx, &items, b->cx->frame->v[i]);
	} else {
		struct var *v = var_find(b->cx, m->name);

		known = v && v->is_set;
		if (v && v->is_set && v->is_array) {
			for (struct value *it = v->items; it; it = it->next)
				fields_push(b->cx, &items,
					    (struct field){.s = it->s, .taint = it->taint});
		} else if (v && v->is_set && v->vals) {
			struct value *it = pick_round(b->cx, v->name, v->vals, v->n_vals);

			fields_push(b->cx, &items, (struct field){.s = it->s, .taint = it->taint});
		}
	}
	if (!known)
		fields_push(b->cx, &items,
			    (struct field){.s = STR("\001"), .taint = TAINT_INPUT, .multi = true});
	if (m->op == OP_DEFAULT && !items.n && m->arg) {
		expand_parts_(b, m->arg->first, quoted);
		return;
	}
	if (m->op == OP_SUBSTR && known && m->arg) {
		/* ${@:2}: offsets count items; drop what comes before */
		struct field spec = expand_one(b->cx, m->arg);
		const char *colon = memchr(spec.s.p, ':', spec.s.n);
		long off = 0, len = 1 << 20;

		if (number(colon ? str_to(spec.s, (size_t)(colon - spec.s.p)) : spec.s, &off) &&
		    off >= 0) {
			size_t from = (size_t)off;

			if (colon)
				number(str_from(spec.s, (size_t)(colon - spec.s.p) + 1), &len);
			if ((str_is(m->name, "@") || str_is(m->name, "*")) && from)
				from--;
			if (from > items.n)
				from = items.n;
			items.v += from;
			items.n -= from;
			if (len >= 0 && (size_t)len < items.n)
				items.n = (size_t)len;
		} else {
			items.v[0].s = STR("\001");
			items.n = items.n ? 1 : 0;
		}
	}
	for (size_t i = 0; i < items.n; i++) {
		struct pval v = {.s = items.v[i].s, .taint = items.v[i].taint, .set = true};

		if (m->op != OP_SUBSTR && m->op != OP_DEFAULT && m->op != OP_NONE)
			apply_op(b->cx, &v, m);
		if (i && quoted && star) {
			struct rein_str sep = ifs(b->cx);

			if (sep.n)
				sbuf_char(&b->text, sep.p[0]);
		} else if (i) {
			finish(b);
		}
		put_value(b, v.s, v.taint, quoted);
		if (items.v[i].multi)
			b->multi = true;
		if (quoted)
			b->open = true;
	}
}

static struct pval element(struct ctx *cx, const struct param *m)
{
	struct var *v = var_find(cx, m->name);
	struct field idx = expand_one(cx, m->index);
	struct value *it;
	long k;

	if (!v || !v->is_set)
		return (struct pval){.s = STR("\001"), .taint = TAINT_ENV, .unknown = true};
	if (!v->is_array)
		return param_value(cx, m->name);
	if (!number(idx.s, &k))
		return (struct pval){.s = STR("\001"), .set = true};
	if (k < 0) {
		long n = 0;

		for (it = v->items; it; it = it->next)
			n++;
		k += n;
	}
	for (it = v->items; it && k > 0; it = it->next)
		k--;
	return it && k == 0 ? (struct pval){.s = it->s, .taint = it->taint, .set = true}
			    : (struct pval){.s = STR("")};
}

static void put_param(struct builder *b, const struct param *m, bool quoted)
{
	struct ctx *cx = b->cx;
	const struct word *instead;
	struct pval v;
	bool empty;

	if (is_all(m) && !m->indirect) {
		put_list(b, m, quoted);
		return;
	}
	v = m->index ? element(cx, m) : param_value(cx, m->name);
	if (m->op == OP_LENGTH && (str_is(m->name, "@") || str_is(m->name, "*") ||
				   (m->index && m->index->first &&
				    m->index->first->kind == PART_LIT &&
				    str_is(m->index->first->text, "@"))))
		v.s = STR("\001");
	if (m->indirect && m->op != OP_NAMES) {
		struct param to = *m;

		if (has_hole(v.s) || !v.s.n) {
			put_value(b, STR("\001"), v.taint, quoted);
			return;
		}
		to.indirect = false;
		to.name = v.s;
		to.index = NULL;
		if (v.s.n > 3 && v.s.p[v.s.n - 1] == ']') {
			const char *br = memchr(v.s.p, '[', v.s.n);

			if (br)
				to.name = str_to(v.s, (size_t)(br - v.s.p));
		}
		v = param_value(cx, to.name);
	}
	instead = substitute(cx, m, &v, &empty);
	if (instead) {
		if (m->op == OP_ASSIGN) {
			struct field f = expand_one(cx, instead);
			struct lasting *l = arena_new(cx->a, struct lasting);

			*l = (struct lasting){m->name, f.s, f.taint, cx->lasting};
			cx->lasting = l;
			var_set(cx, m->name, f.s, f.taint, false);
			put_value(b, f.s, f.taint, quoted);
			return;
		}
		{
			bool was = b->operand;

			b->operand = true;
			expand_parts_(b, instead->first, quoted);
			b->operand = was;
		}
		return;
	}
	if (empty) {
		if (quoted)
			put_quoted(b, STR(""), 0);
		return;
	}
	apply_op(cx, &v, m);
	put_value(b, v.s, v.taint, quoted);
}

/* ------------------------------------------------------------ substitutions */

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
			put_quoted(b, STR(""), 0);
		return;
	}
	/* $(<file) is the file */
	d = run_subshell(b->cx, p->cmd, &io);
	f = field_from_data(b->cx, &d, p->at);
	put_value(b, f.s, f.taint, quoted);
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
	put_quoted(b, (struct rein_str){arena_dup(cx->a, name, strlen(name)), strlen(name)}, 0);
}

/* Arithmetic: + - * / % and parentheses over numbers and known variables. */
struct arith {
	struct ctx *cx;
	struct rein_str s;
	size_t i;
	bool unknown;
	unsigned depth;
};

static long arith_sum(struct arith *a);

static void arith_space(struct arith *a)
{
	while (a->i < a->s.n && strchr(" \t\n", a->s.p[a->i]))
		a->i++;
}

static long arith_atom(struct arith *a)
{
	long v = 0;
	char c;

	arith_space(a);
	if (a->i >= a->s.n || ++a->depth > 64) {
		a->unknown = true;
		return 0;
	}
	c = a->s.p[a->i];
	if (c == '-' || c == '+') {
		a->i++;
		v = arith_atom(a);
		v = c == '-' ? -v : v;
	} else if (c == '(') {
		a->i++;
		v = arith_sum(a);
		arith_space(a);
		if (a->i < a->s.n && a->s.p[a->i] == ')')
			a->i++;
		else
			a->unknown = true;
	} else if (c >= '1' && c <= '9') {
		for (; a->i < a->s.n && a->s.p[a->i] >= '0' && a->s.p[a->i] <= '9'; a->i++) {
			if (v > 100000000L)
				a->unknown = true;
			else
				v = v * 10 + (a->s.p[a->i] - '0');
		}
	} else if (c == '0' && (a->i + 1 >= a->s.n ||
				!strchr("0123456789xX", a->s.p[a->i + 1]))) {
		a->i++;
	} else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') {
		size_t from = a->i;
		struct pval pv;
		struct arith sub = {.cx = a->cx, .depth = a->depth};

		while (a->i < a->s.n && (a->s.p[a->i] == '_' ||
					 (a->s.p[a->i] >= '0' && a->s.p[a->i] <= '9') ||
					 (a->s.p[a->i] >= 'a' && a->s.p[a->i] <= 'z') ||
					 (a->s.p[a->i] >= 'A' && a->s.p[a->i] <= 'Z')))
			a->i++;
		pv = param_value(a->cx, (struct rein_str){a->s.p + from, a->i - from});
		if (pv.unknown || has_hole(pv.s)) {
			a->unknown = true;
		} else if (pv.s.n) {
			sub.s = pv.s;
			v = arith_sum(&sub);
			a->unknown |= sub.unknown || sub.i != sub.s.n;
		}
	} else {
		a->unknown = true;
	}
	a->depth--;
	return v;
}

static long arith_product(struct arith *a)
{
	long v = arith_atom(a), w;

	for (;;) {
		char c;

		arith_space(a);
		c = a->i < a->s.n ? a->s.p[a->i] : 0;
		if ((c != '*' && c != '/' && c != '%') || a->unknown ||
		    (a->i + 1 < a->s.n && strchr("*=", a->s.p[a->i + 1])))
			return v;
		a->i++;
		w = arith_atom(a);
		if (c == '*' ? (v > 1000000000L || w > 1000000000L || v < -1000000000L ||
				w < -1000000000L)
			     : w == 0) {
			a->unknown = true;
			return 0;
		}
		v = c == '*' ? v * w : c == '/' ? v / w : v % w;
	}
}

static long arith_sum(struct arith *a)
{
	long v = arith_product(a);

	for (;;) {
		char c;

		arith_space(a);
		c = a->i < a->s.n ? a->s.p[a->i] : 0;
		if ((c != '+' && c != '-') || a->unknown ||
		    (a->i + 1 < a->s.n && strchr("+-=", a->s.p[a->i + 1])))
			return v;
		a->i++;
		v = c == '+' ? v + arith_product(a) : v - arith_product(a);
	}
}

static void put_arith(struct builder *b, const struct part *p, bool quoted)
{
	struct word w = {.first = p->sub, .at = p->at};
	struct field f = expand_one(b->cx, &w);
	struct arith a = {.cx = b->cx, .s = f.s};
	char num[32];
	long v;

	v = arith_sum(&a);
	arith_space(&a);
	if (a.unknown || a.i != a.s.n || has_hole(f.s)) {
		put_value(b, STR("\001"), TAINT_NUMBER, true);
		if (!quoted)
			b->quoted = false;
		/* a[$(cmd)] inside arithmetic runs when the index is evaluated */
		return;
	}
	snprintf(num, sizeof(num), "%ld", v);
	put_value(b, (struct rein_str){arena_dup(b->cx->a, num, strlen(num)), strlen(num)}, 0,
		  quoted);
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

void expand_parts_(struct builder *b, const struct part *p, bool quoted)
{
	for (; p; p = p->next) {
		if (b->at.end < p->at.end)
			b->at.end = p->at.end;
		switch (p->kind) {
		case PART_LIT:
			if (quoted)
				put_quoted(b, p->text, 0);
			else if (b->operand)
				put_split(b, p->text, 0);
			else
				put_unquoted(b, p->text);
			break;
		case PART_QUOTED:
			put_quoted(b, p->text, 0);
			break;
		case PART_DQ:
			b->quoted = true;
			/* "$@" with nothing in it makes no word; any other quotes do */
			if (!(p->sub && !p->sub->next && p->sub->kind == PART_PARAM &&
			      is_all(p->sub->param)))
				b->open = true;
			expand_parts_(b, p->sub, true);
			break;
		case PART_PARAM:
			put_param(b, p->param, quoted);
			break;
		case PART_CMD:
			put_command(b, p, quoted);
			break;
		case PART_ARITH:
			put_arith(b, p, quoted);
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

/* ------------------------------------------------------------ braces and tilde */

static struct part *part_copy(struct ctx *cx, const struct part *p, struct rein_str text)
{
	struct part *q = arena_new(cx->a, struct part);

	*q = *p;
	q->next = NULL;
	if (p->kind == PART_LIT)
		q->text = text;
	return q;
}

struct place_in { /* a byte of an unquoted literal part */
	const struct part *part;
	size_t i;
};

struct plist {
	struct part *first, **end;
};

static void plist_add(struct plist *l, struct part *p)
{
	*l->end = p;
	l->end = &p->next;
}

/* Everything from a (included) to b (not included). */
static void copy_span(struct ctx *cx, struct plist *out, struct place_in a, struct place_in b)
{
	for (const struct part *p = a.part; p; p = p->next) {
		size_t from = p == a.part ? a.i : 0;
		bool last = p == b.part;

		if (p->kind == PART_LIT) {
			size_t to = last ? b.i : p->text.n;

			if (to > from)
				plist_add(out, part_copy(cx, p, (struct rein_str){p->text.p + from,
										 to - from}));
		} else if (!last) {
			plist_add(out, part_copy(cx, p, p->text));
		}
		if (last)
			return;
	}
}

struct brace {
	struct place_in open, close;
	struct place_in commas[MAX_COMMAS];
	size_t n_commas;
};

/* The first complete { , } at or after start, at its outermost level. */
static bool find_brace(const struct part *start, struct brace *br)
{
	size_t budget = (size_t)1 << 18; /* nested empty braces would cost their square */

	for (const struct part *p = start; p; p = p->next) {
		if (p->kind != PART_LIT)
			continue;
		for (size_t i = 0; i < p->text.n; i++) {
			int depth = 0;
			bool dots = false, closed = false;

			if (p->text.p[i] != '{' || (i + 1 < p->text.n && p->text.p[i + 1] == '}'))
				continue;
			br->open = (struct place_in){p, i};
			br->n_commas = 0;
			for (const struct part *q = p; q && !closed; q = q->next) {
				if (q->kind != PART_LIT)
					continue;
				for (size_t j = q == p ? i : 0; j < q->text.n && !closed; j++) {
					char c = q->text.p[j];

					if (!--budget)
						return false;
					if (c == '{') {
						depth++;
					} else if (c == ',' && depth == 1) {
						if (br->n_commas == MAX_COMMAS)
							return false;
						br->commas[br->n_commas++] = (struct place_in){q, j};
					} else if (c == '.' && depth == 1 && j + 1 < q->text.n &&
						   q->text.p[j + 1] == '.') {
						dots = true;
					} else if (c == '}' && depth > 1) {
						depth--;
					} else if (c == '}' && (br->n_commas || dots)) {
						br->close = (struct place_in){q, j};
						closed = true;
					} /* else a bracket like any other letter: {a},b} is a} and b */
				}
			}
			if (closed && (br->n_commas || br->close.part == p))
				return true;
		}
	}
	return false;
}

static struct place_in after(struct place_in at)
{
	return (struct place_in){at.part, at.i + 1};
}

static void expand_plain(struct ctx *cx, const struct word *w, struct fields *out);
static void expand_braces(struct ctx *cx, const struct part *parts, struct range at,
			  struct fields *out, unsigned *budget);

static void with_middle(struct ctx *cx, const struct part *parts, const struct brace *br,
			struct place_in from, struct place_in to, struct rein_str text,
			struct range at, struct fields *out, unsigned *budget)
{
	struct plist l = {0};
	struct place_in none = {NULL, 0};

	if (!*budget) {
		cx_incomplete(cx, at, "braces expand to too many words");
		return;
	}
	--*budget;
	l.end = &l.first;
	if (!(br->open.part == parts && br->open.i == 0))
		copy_span(cx, &l, (struct place_in){parts, 0}, br->open);
	if (from.part)
		copy_span(cx, &l, from, to);
	if (text.n) {
		struct part *p = arena_new(cx->a, struct part);

		p->kind = PART_LIT;
		p->at = at;
		p->text = text;
		plist_add(&l, p);
	}
	copy_span(cx, &l, after(br->close), none);
	expand_braces(cx, l.first, at, out, budget);
}

/* {1..5} {a..e} {1..9..2} */
static bool sequence(struct ctx *cx, const struct part *parts, const struct brace *br,
		     struct range at, struct fields *out, unsigned *budget)
{
	struct rein_str s = {br->open.part->text.p + br->open.i + 1,
			     br->close.i - br->open.i - 1};
	const char *dots = memmem(s.p, s.n, "..", 2);
	struct rein_str a, b, c = STR("1");
	long x, y, step;
	bool letters;

	if (!dots)
		return false;
	a = str_to(s, (size_t)(dots - s.p));
	b = str_from(s, a.n + 2);
	dots = memmem(b.p, b.n, "..", 2);
	if (dots) {
		c = str_from(b, (size_t)(dots - b.p) + 2);
		b = str_to(b, (size_t)(dots - b.p));
	}
	if (!number(c, &step))
		return false;
	step = step < 0 ? -step : step ? step : 1;
	letters = a.n == 1 && b.n == 1 && !(a.p[0] >= '0' && a.p[0] <= '9');
	if (letters) {
		x = (unsigned char)a.p[0];
		y = (unsigned char)b.p[0];
	} else if (!number(a, &x) || !number(b, &y)) {
		return false;
	}
	for (long v = x; x <= y ? v <= y : v >= y; v += x <= y ? step : -step) {
		char text[24];
		struct place_in none = {NULL, 0};
		int width = (a.n > 1 && a.p[0] == '0') || (b.n > 1 && b.p[0] == '0')
				    ? (int)(a.n > b.n ? a.n : b.n)
				    : 0;

		if (letters)
			snprintf(text, sizeof(text), "%c", (char)v);
		else
			snprintf(text, sizeof(text), "%0*ld", width, v);
		with_middle(cx, parts, br, none, none,
			    (struct rein_str){arena_dup(cx->a, text, strlen(text)), strlen(text)},
			    at, out, budget);
		if (!*budget)
			break;
	}
	return true;
}

static void expand_braces(struct ctx *cx, const struct part *parts, struct range at,
			  struct fields *out, unsigned *budget)
{
	struct word w = {.first = (struct part *)parts, .at = at};
	struct brace *br;
	struct place_in from;

	if (!parts || !cx_step(cx))
		return;
	br = arena_new(cx->a, struct brace);
	if (!find_brace(parts, br)) {
		expand_plain(cx, &w, out);
		return;
	}
	if (!br->n_commas) {
		if (!sequence(cx, parts, br, at, out, budget))
			expand_plain(cx, &w, out);
		return;
	}
	from = after(br->open);
	for (size_t i = 0; i <= br->n_commas; i++) {
		struct place_in to = i < br->n_commas ? br->commas[i] : br->close;

		with_middle(cx, parts, br, from, to, (struct rein_str){"", 0}, at, out, budget);
		from = after(to);
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
		struct pval v = param_value(b->cx, STR("HOME"));

		put_quoted(b, v.s, v.taint);
	} else if (str_is(str_to(t, n), "~+")) {
		put_quoted(b, b->cx->cwd_unknown ? STR("\001") : b->cx->cwd, 0);
	} else if (str_is(str_to(t, n), "~-")) {
		put_quoted(b, STR("\001"), 0);
	} else {
		put_quoted(b, str_is(str_to(t, n), "~root") ? STR("/root") : STR("/home/"), 0);
		if (!str_is(str_to(t, n), "~root"))
			put_quoted(b, (struct rein_str){t.p + 1, n - 1}, 0);
	}
	b->quoted = false;
	rest = part_copy(b->cx, *p, str_from(t, n));
	rest->next = (*p)->next;
	*p = rest;
}

static void expand_plain(struct ctx *cx, const struct word *w, struct fields *out)
{
	struct builder b = {
		.cx = cx, .out = out, .text = {.a = cx->a}, .at = w->at, .split = true};
	const struct part *p = w->first;

	if (p && p->kind == PART_LIT && p->text.n && p->text.p[0] == '~')
		tilde(&b, &p);
	expand_parts_(&b, p, false);
	finish(&b);
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
		expand_braces(cx, w->first, w->at, out, &budget);
	else
		expand_plain(cx, w, out);
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
	expand_parts_(&b, p, false);
	b.open = true;
	finish(&b);
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

void run_assign(struct ctx *cx, const struct assign *as)
{
	if (as->is_array) {
		struct fields items = {0};
		struct var *old = var_find(cx, as->name);

		if (as->append && old && old->is_set)
			for (struct value *it = old->items; it; it = it->next)
				fields_push(cx, &items,
					    (struct field){.s = it->s, .taint = it->taint});
		for (const struct assign *it = as->items; it; it = it->next) {
			if (it->index) {
				struct field f = expand_one(cx, it->value);

				expand_one(cx, it->index);
				fields_push(cx, &items, f);
			} else {
				expand_word(cx, it->value, &items);
			}
		}
		var_array(cx, as->name, &items);
		return;
	}
	if (as->index) {
		struct field idx = expand_one(cx, as->index), f = expand_one(cx, as->value);
		struct var *v = var_make(cx, as->name);
		struct fields items = {0};
		long k, n = 0;

		for (struct value *it = v->is_array ? v->items : NULL; it; it = it->next, n++)
			fields_push(cx, &items, (struct field){.s = it->s, .taint = it->taint});
		if (number(idx.s, &k) && k >= 0 && k < 4096) {
			while ((long)items.n <= k)
				fields_push(cx, &items, (struct field){.s = STR("")});
			items.v[k] = f;
		} else {
			fields_push(cx, &items, f);
		}
		var_array(cx, as->name, &items);
		return;
	}
	{
		struct rounds old = rounds_begin(cx);

		do {
			struct field f = expand_one(cx, as->value);

			if (cx->round)
				cx->cond++;
			var_set(cx, as->name, f.s, f.taint, as->append);
			if (cx->round)
				cx->cond--;
		} while (rounds_next(cx));
		rounds_end(cx, old);
	}
}
