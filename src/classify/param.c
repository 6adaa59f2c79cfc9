/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters: their values, and every operator of ${…} on them. */
#include "classify/value.h"

static const char *environment(struct ctx *cx, struct rein_str name)
{
	const char *const *e = cx->act ? cx->act->environ_ : NULL;

	for (; e && *e; e++)
		if (strlen(*e) > name.n && !memcmp(*e, name.p, name.n) && (*e)[name.n] == '=')
			return *e + name.n + 1;
	return NULL;
}

static bool well_known(struct ctx *cx, struct rein_str name, struct pval *ret)
{
	static const struct rein_str numbers[] = {
		WORD("RANDOM"), WORD("UID"), WORD("EUID"), WORD("PPID"), WORD("SECONDS"), WORD("LINENO"), WORD("BASHPID"),
		WORD("SRANDOM"), WORD("EPOCHSECONDS"), WORD("COLUMNS"), WORD("LINES"), WORD("SHLVL"), WORD("OPTIND"),
		WORD("?"), WORD("#"), WORD("$"), WORD("!"),
	};

	if (name.n && name.p[0] >= 'a' && name.p[0] <= 'z')
		return false; /* none of them */
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
	else if (str_among(name, numbers, ARRAY_SIZE(numbers))) {
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

struct pval val_param_value(struct ctx *cx, struct rein_str name)
{
	struct pval r = {.s = STR("\001"), .taint = TAINT_ENV, .unknown = true};
	struct var *v;
	const char *e;

	if (name.n && name.p[0] >= '0' && name.p[0] <= '9')
		return positional(cx, name);
	if (str_in(name, "- $ ? #")) { /* always there */
		r.set = true;
		r.unknown = false;
		return r;
	}
	v = var_find(cx, name);
	if (v && v->is_set) {
		struct value *val = val_pick_round(cx, v->name, v->vals, v->n_vals);

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
	extern void val_expand_parts(struct builder *, const struct part *, bool);

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

		if (pat_match(pat, str_to(s, n)))
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

		if (pat_match(pat, str_from(s, from)))
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

static struct rein_str substr(struct rein_str s, struct rein_str spec)
{
	const char *colon = memchr(spec.p, ':', spec.n);
	long off, len = (long)s.n;

	if (!val_number(colon ? str_to(spec, (size_t)(colon - spec.p)) : spec, &off))
		return STR("\001");
	if (colon && !val_number(str_from(spec, (size_t)(colon - spec.p) + 1), &len))
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
		if (perhaps ? !val_is_set_round(cx, m->name) : absent) {
			*empty = true;
			return NULL;
		}
		return m->arg;
	default:
		return NULL;
	}
}

bool val_is_all(const struct param *m)
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

/* "${@:0}" begins with $0. */
static struct fields behind_zero(struct ctx *cx, struct fields items)
{
	struct pval zero = positional(cx, STR("0"));
	struct fields all = {0};

	fields_push(cx, &all, (struct field){.s = zero.s, .taint = zero.taint});
	for (size_t i = 0; i < items.n; i++)
		fields_push(cx, &all, items.v[i]);
	return all;
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
			struct value *it = val_pick_round(b->cx, v->name, v->vals, v->n_vals);

			fields_push(b->cx, &items, (struct field){.s = it->s, .taint = it->taint});
		}
	}
	if (!known)
		fields_push(b->cx, &items,
			    (struct field){.s = STR("\001"), .taint = TAINT_INPUT, .multi = true});
	if (m->op == OP_DEFAULT && !items.n && m->arg) {
		val_expand_parts(b, m->arg->first, quoted);
		return;
	}
	if (m->op == OP_SUBSTR && known && m->arg) {
		/* ${@:2}: offsets count items; drop what comes before */
		struct field spec = expand_one(b->cx, m->arg);
		const char *colon = memchr(spec.s.p, ':', spec.s.n);
		long off = 0, len = 1 << 20;

		if (val_number(colon ? str_to(spec.s, (size_t)(colon - spec.s.p)) : spec.s, &off) &&
		    off >= 0) {
			size_t from = (size_t)off;

			if (colon)
				val_number(str_from(spec.s, (size_t)(colon - spec.s.p) + 1), &len);
			if ((str_is(m->name, "@") || str_is(m->name, "*")) && from)
				from--;
			else if (str_is(m->name, "@") || str_is(m->name, "*"))
				items = behind_zero(b->cx, items);
			if (from > items.n)
				from = items.n;
			items.v += from;
			items.n -= from;
			if (len >= 0 && (size_t)len < items.n)
				items.n = (size_t)len;
		} else {
			if (!items.n) /* "${@: -1}" is $0 then, and nothing of an array */
				fields_push(b->cx, &items, (struct field){.multi = true});
			items.v[0].s = STR("\001");
			items.n = 1;
		}
	}
	for (size_t i = 0; i < items.n && cx_work(b->cx, 20 + items.v[i].s.n); i++) {
		struct pval v = {.s = items.v[i].s, .taint = items.v[i].taint, .set = true};

		if (m->op != OP_SUBSTR && m->op != OP_DEFAULT && m->op != OP_NONE)
			apply_op(b->cx, &v, m);
		if (i && quoted && star) {
			struct rein_str sep = val_ifs(b->cx);

			if (sep.n)
				sbuf_char(&b->text, sep.p[0]);
		} else if (i) {
			val_finish(b);
		}
		val_put_value(b, v.s, v.taint, quoted);
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
		return val_param_value(cx, m->name);
	if (!val_number(idx.s, &k))
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

void val_put_param(struct builder *b, const struct param *m, bool quoted)
{
	struct ctx *cx = b->cx;
	const struct word *instead;
	struct pval v;
	bool empty;

	if (!cx_work(cx, 80))
		return;
	if (val_is_all(m) && !m->indirect) {
		put_list(b, m, quoted);
		return;
	}
	v = m->index ? element(cx, m) : val_param_value(cx, m->name);
	if (m->op == OP_LENGTH && (str_is(m->name, "@") || str_is(m->name, "*") ||
				   (m->index && m->index->first &&
				    m->index->first->kind == PART_LIT &&
				    str_is(m->index->first->text, "@"))))
		v.s = STR("\001");
	if (m->indirect && m->op != OP_NAMES) {
		struct param to = *m;

		if (has_hole(v.s) || !v.s.n) {
			val_put_value(b, STR("\001"), v.taint, quoted);
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
		v = val_param_value(cx, to.name);
	}
	instead = substitute(cx, m, &v, &empty);
	if (instead) {
		if (m->op == OP_ASSIGN) {
			struct field f = expand_one(cx, instead);
			struct lasting *l = arena_new(cx->a, struct lasting);
			const struct var *var = var_find(cx, m->name);

			*l = (struct lasting){.name = m->name, .s = f.s, .taint = f.taint, .next = cx->lasting};
			if (var) {
				l->vals = var->vals;
				l->n_vals = var->n_vals;
				l->is_set = var->is_set;
			}
			cx->lasting = l;
			var_set(cx, m->name, f.s, f.taint, false);
			val_put_value(b, f.s, f.taint, quoted);
			return;
		}
		{
			bool was = b->operand;

			b->operand = true;
			val_expand_parts(b, instead->first, quoted);
			b->operand = was;
		}
		return;
	}
	if (empty) {
		if (quoted)
			val_put_quoted(b, STR(""), 0);
		return;
	}
	if (m->op != OP_NONE && !cx_work(cx, v.s.n * 4))
		return;
	apply_op(cx, &v, m);
	if (cx_work(cx, v.s.n * (quoted ? 1 : 8)))
		val_put_value(b, v.s, v.taint, quoted);
}
