/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators of ${…} make of a value: length, prefix and suffix, replacement, part of it, case, @.
 * Where the value or the pattern has a hole, so has the result.
 */
#include "classify/value.h"

/* A pattern operand: quoted parts stay literal, unquoted globs come alive. */
static struct field pattern_of(struct ctx *cx, const struct word *w)
{
	struct fields out = {0};
	struct builder b = {.cx = cx, .out = &out, .text = {.a = cx->a}, .split = true};
	struct sbuf joined = {.a = cx->a};

	if (w) {
		struct var *v = var_find(cx, STR("IFS"));
		struct var saved = {0};

		if (v)
			saved = *v;
		val_expand_parts(&b, w->first, false);
		if (v)
			*v = saved;
	}
	b.open = true;
	val_finish(&b);
	if (out.n == 1)
		return out.v[0];
	/* blanks in the pattern were split: join them again */
	for (size_t i = 0; i < out.n; i++) {
		if (i)
			sbuf_char(&joined, ' ');
		sbuf_str(&joined, out.v[i].s);
	}
	return (struct field){.s = sbuf_view(&joined)};
}

/* Does a pattern without '*' match what begins at i? */
static bool fixed_at(struct rein_str pat, struct rein_str s, size_t i)
{
	if (i > s.n || pat.n > s.n - i)
		return false;
	for (size_t k = 0; k < pat.n; k++)
		if (pat.p[k] != GLOB_ONE && pat.p[k] != s.p[i + k])
			return false;
	return true;
}

/* A pattern with at most one '*' as what stands before and after it. */
struct halves {
	struct rein_str a, b;
	bool star;
};

static bool halves_of(struct rein_str pat, struct halves *ret)
{
	const char *star = pat.n ? memchr(pat.p, GLOB_STAR, pat.n) : NULL;

	*ret = (struct halves){.a = pat, .b = STR(""), .star = star != NULL};
	if (!star)
		return true;
	ret->a.n = (size_t)(star - pat.p);
	ret->b = str_from(pat, ret->a.n + 1);
	return !memchr(ret->b.p, GLOB_STAR, ret->b.n);
}

static struct rein_str trim_prefix(struct rein_str s, struct rein_str pat, bool longest)
{
	struct halves h;

	if (halves_of(pat, &h)) {
		size_t least = h.a.n + h.b.n;

		if (!fixed_at(h.a, s, 0) || least > s.n)
			return s;
		for (size_t k = 0; k <= (h.star ? s.n - least : 0); k++) {
			size_t end = longest && h.star ? s.n - k : least + k;

			if (fixed_at(h.b, s, end - h.b.n))
				return str_from(s, end);
		}
		return s;
	}
	for (size_t k = 0; k <= s.n; k++) {
		size_t n = longest ? s.n - k : k;

		if (glob_fits(pat, str_to(s, n)))
			return str_from(s, n);
	}
	return s;
}

static struct rein_str trim_suffix(struct rein_str s, struct rein_str pat, bool longest)
{
	struct halves h;

	if (halves_of(pat, &h)) {
		size_t least = h.a.n + h.b.n, most;

		if (least > s.n || !fixed_at(h.b, s, s.n - h.b.n))
			return s;
		most = s.n - least;
		for (size_t k = h.star ? 0 : most; k <= most; k++) {
			size_t from = longest || !h.star ? k : most - k;

			if (fixed_at(h.a, s, from))
				return str_to(s, from);
		}
		return s;
	}
	for (size_t k = 0; k <= s.n; k++) {
		size_t from = longest ? k : s.n - k;

		if (glob_fits(pat, str_from(s, from)))
			return str_to(s, from);
	}
	return s;
}

static struct rein_str replace(struct ctx *cx, struct rein_str s, struct rein_str pat,
			       struct rein_str with, char how, bool all)
{
	struct sbuf out = {.a = cx->a};
	bool done = false, fixed = !memchr(pat.p, GLOB_STAR, pat.n);
	size_t i = 0;

	if (!pat.n && how != '#' && how != '%')
		return s;
	while (i <= s.n) {
		size_t n = 0;
		bool hit = false;

		if (!done && fixed) {
			n = pat.n;
			hit = (how != '#' || i == 0) && (how != '%' || i + n == s.n) && fixed_at(pat, s, i);
		} else if (!done && (how != '#' || i == 0)) {
			for (n = s.n - i + 1; n-- > 0;)
				if ((how != '%' || i + n == s.n) &&
				    glob_fits(pat, (struct rein_str){s.p + i, n})) {
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

bool val_number(struct rein_str s, long *ret)
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

bool val_index(struct rein_str s, long *ret)
{
	size_t i = 0;

	while (i < s.n && strchr(" \t+-", s.p[i]))
		i++;
	return !(i + 1 < s.n && s.p[i] == '0' && s.p[i + 1] >= '0' && s.p[i + 1] <= '9') && val_number(s, ret);
}

static struct rein_str substr(struct rein_str s, struct rein_str spec)
{
	const char *colon = memchr(spec.p, ':', spec.n);
	long off, len = (long)s.n;

	if (!val_index(colon ? str_to(spec, (size_t)(colon - spec.p)) : spec, &off))
		return STR("\001");
	if (colon && !val_index(str_from(spec, (size_t)(colon - spec.p) + 1), &len))
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
		val_change_case(cx, &v->s, how == 'U');
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
		val_change_case(cx, &v->s, upper);
		return;
	}
	p = arena_dup(cx->a, v->s.p, v->s.n);
	if (v->s.n && upper && p[0] >= 'a' && p[0] <= 'z')
		p[0] -= 32;
	if (v->s.n && !upper && p[0] >= 'A' && p[0] <= 'Z')
		p[0] += 32;
	v->s.p = p;
}

/* A pattern with several '*', or one to be replaced, is tried at every place and for every length. */
static bool match_work(struct ctx *cx, struct rein_str s, struct rein_str pat, bool places)
{
	size_t stars = 0;

	for (size_t i = 0; i < pat.n; i++)
		stars += pat.p[i] == GLOB_STAR;
	if (stars <= (places ? 0 : 1))
		return cx_work(cx, s.n * (1 + pat.n / 4));
	return cx_work(cx, s.n * s.n * (places ? 1 + s.n : 2) * (1 + pat.n / 4));
}

void val_apply_op(struct ctx *cx, struct pval *v, const struct param *m)
{
	struct field arg, with = {.s = STR("")};

	switch (m->op) {
	case OP_LENGTH:
		v->s = has_hole(v->s) || has_high(v->s) ? STR("\001") : rein_str(cx_printf(cx, "%zu", v->s.n));
		v->taint = TAINT_NUMBER;
		v->set = true;
		return;
	case OP_PREFIX:
	case OP_SUFFIX:
		arg = pattern_of(cx, m->arg);
		if (has_hole(v->s) || has_hole(arg.s) || v->s.n > 4096 || !match_work(cx, v->s, arg.s, false))
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
		if (has_hole(v->s) || has_hole(arg.s) || v->s.n > 1024 || !match_work(cx, v->s, arg.s, true))
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
