/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters: what they hold, one or a list, and what stands in for those that are not set. */
#include "classify/value.h"

static const char *environment(struct ctx *cx, struct rein_str name)
{
	const char *const *e = cx->act ? cx->act->environ_ : NULL;
	const char *found = NULL;

	for (; e && *e; e++) {
		if (strlen(*e) <= name.n || memcmp(*e, name.p, name.n) != 0 || (*e)[name.n] != '=')
			continue;
		if (found) /* there twice: programs differ in which one they take */
			return "\001";
		found = *e + name.n + 1;
	}
	return found;
}

bool val_exported(struct ctx *cx, struct rein_str name, struct rein_str *ret)
{
	const struct var *v = var_find(cx, name);
	const char *e = v && v->is_set ? NULL : environment(cx, name);

	if (e)
		*ret = rein_str(e);
	else if (v && v->is_set && v->n_vals)
		*ret = v->n_vals == 1 && !v->vals->absent ? v->vals->s : STR("\001");
	else
		return false;
	return true;
}

/* A credential may be used, and its name says what it is; its value has no place in a reason or a record. */
static struct pval from_environment(struct ctx *cx, struct rein_str name, const char *value)
{
	if (*value && env_is_secret(cx, name))
		return (struct pval){.s = STR("\001"), .taint = TAINT_ENV | TAINT_SECRET, .set = true};
	return (struct pval){.s = {value, strlen(value)}, .set = true};
}

/* Not given, but perhaps set by what nobody here looks into (a file that is sourced, make): one round for each. */
static bool is_absent_round(struct ctx *cx, struct rein_str name)
{
	return cx->act && cx->act->environ_ && !val_is_set_round(cx, name);
}

static struct pval or_absent(struct ctx *cx, struct rein_str name, struct pval v)
{
	return is_absent_round(cx, name) ? (struct pval){.s = STR("")} : v;
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

/*
 * One that a shell has a value for of its own. It takes a few as they are given, never those that say where it is or
 * how words are split; of the rest (RANDOM, UID) bash has its own, and dash what it is given.
 */
static struct pval shells_own(struct ctx *cx, struct rein_str name, const char *given, struct pval own)
{
	own.unknown = false;
	if (str_is(name, "PWD") || str_is(name, "IFS"))
		return own;
	if (given && str_in(name, "HOME SHELL TMPDIR"))
		return from_environment(cx, name, given);
	if (given)
		return (struct pval){.s = STR("\001"), .set = true};
	return str_is(name, "TMPDIR") ? or_absent(cx, name, own) : own;
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
	if (well_known(cx, name, &r))
		return shells_own(cx, name, e, r);
	if (e)
		return from_environment(cx, name, e);
	if (env_is_secret(cx, name))
		r.taint |= TAINT_SECRET;
	return or_absent(cx, name, r);
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

static bool is_positional(const struct param *m)
{
	return str_is(m->name, "@") || str_is(m->name, "*");
}

bool val_is_all(const struct param *m)
{
	if (m->op == OP_LENGTH)
		return false;
	if (is_positional(m))
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

/* What "$@" or "${x[@]}" stands for. False: not known, or not how many. */
static bool list_items(struct ctx *cx, const struct param *m, struct fields *items)
{
	struct var *v;

	if (is_positional(m)) {
		for (size_t i = 0; cx->frame && i < cx->frame->n; i++)
			fields_push(cx, items, cx->frame->v[i]);
		return cx->frame && cx->frame->known;
	}
	v = var_find(cx, m->name);
	if (!v || !v->is_set)
		return false;
	for (struct value *it = var_items(cx, v); it; it = it->next)
		if (!it->absent)
			fields_push(cx, items,
				    (struct field){.s = it->s, .taint = it->taint, .multi = it->several});
	if (!v->is_array && v->vals) {
		struct value *it = val_pick_round(cx, v->name, v->vals, v->n_vals);

		fields_push(cx, items, (struct field){.s = it->s, .taint = it->taint});
	}
	return true;
}

/* Do offsets count the items as they stand here? */
static bool is_countable(struct ctx *cx, const struct param *m)
{
	struct var *v = is_positional(m) ? NULL : var_find(cx, m->name);

	for (const struct value *it = var_items(cx, v); it; it = it->next)
		if (it->several || it->absent)
			return false;
	return true;
}

/* Some of them, nobody knows which. */
static struct fields some_items(struct ctx *cx, struct fields items, bool one)
{
	struct field f = {.s = STR("\001"), .multi = !one || !items.n};
	struct fields some = {0};

	for (size_t i = 0; i < items.n; i++)
		f.taint |= items.v[i].taint;
	fields_push(cx, &some, f);
	return some;
}

/* ${@:2:3}: offsets count items */
static struct fields list_slice(struct ctx *cx, const struct param *m, struct fields items)
{
	struct field spec = expand_one(cx, m->arg);
	const char *colon = memchr(spec.s.p, ':', spec.s.n);
	long off = 0, len = 1 << 20;
	size_t from;

	if (!is_countable(cx, m) ||
	    !val_index(colon ? str_to(spec.s, (size_t)(colon - spec.s.p)) : spec.s, &off) || off < 0 ||
	    (colon && !val_index(str_from(spec.s, (size_t)(colon - spec.s.p) + 1), &len)))
		return some_items(cx, items, off == -1); /* "${@: -1}": the last, or $0 where there is none */
	from = (size_t)off;
	if (is_positional(m) && from)
		from--;
	else if (is_positional(m))
		items = behind_zero(cx, items);
	if (from > items.n)
		from = items.n;
	items.v += from;
	items.n -= from;
	if (len >= 0 && (size_t)len < items.n)
		items.n = (size_t)len;
	return items;
}

static void put_list(struct builder *b, const struct param *m, bool quoted)
{
	bool star = str_is(m->name, "*") ||
		    (m->index && m->index->first && str_is(m->index->first->text, "*"));
	struct fields items = {0};
	bool known = list_items(b->cx, m, &items);

	if (!known && (is_positional(m) || !is_absent_round(b->cx, m->name)))
		fields_push(b->cx, &items,
			    (struct field){.s = STR("\001"), .taint = TAINT_INPUT, .multi = true});
	if (m->op == OP_DEFAULT && !items.n && m->arg) {
		val_expand_parts(b, m->arg->first, quoted);
		return;
	}
	if (m->op == OP_SUBSTR && m->arg)
		items = known ? list_slice(b->cx, m, items) : some_items(b->cx, items, false);
	for (size_t i = 0; i < items.n && cx_work(b->cx, 20 + items.v[i].s.n); i++) {
		struct pval v = {.s = items.v[i].s, .taint = items.v[i].taint, .set = true};

		if (m->op != OP_SUBSTR && m->op != OP_DEFAULT && m->op != OP_NONE)
			val_apply_op(b->cx, &v, m);
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
	struct value *items = var_items(cx, v), *it;
	long k;

	if (!v || !v->is_set)
		return or_absent(cx, m->name,
				 (struct pval){.s = STR("\001"), .taint = TAINT_ENV, .unknown = true});
	if (!v->is_array)
		return val_param_value(cx, m->name);
	if (!val_index(idx.s, &k))
		return (struct pval){.s = STR("\001"), .set = true};
	if (k < 0) {
		long n = 0;

		for (it = items; it; it = it->next)
			n++;
		k += n;
	}
	for (it = items; it; it = it->next)
		if (it->several)
			return (struct pval){.s = STR("\001"), .taint = it->taint, .set = true};
	for (it = items; it && k > 0; it = it->next)
		k--;
	return it && k == 0 ? (struct pval){.s = it->s, .taint = it->taint, .set = !it->absent}
			    : (struct pval){.s = STR("")};
}

/* ${x:=word} */
static struct field assign_default(struct ctx *cx, const struct param *m, const struct word *word)
{
	struct field f = expand_one(cx, word);
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
	return f;
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
	if (m->op == OP_ERROR && !v.set && !var_find(cx, m->name))
		v.s = STR("\001"); /* ${x:?}: where it is not set, nothing runs */
	if (m->op == OP_LENGTH && (is_positional(m) ||
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
			struct field f = assign_default(cx, m, instead);

			val_put_value(b, f.s, f.taint, quoted);
		} else {
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
	val_apply_op(cx, &v, m);
	if (cx_work(cx, v.s.n * (quoted ? 1 : 8)))
		val_put_value(b, v.s, v.taint, quoted);
}
