/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that start a program for each of many things: xargs, parallel, find, fd. */
#include "classify/h_shell.h"

static struct field replaced(struct ctx *cx, const struct field *f, struct rein_str what,
			     const struct field *with)
{
	struct sbuf t = {.a = cx->a};
	struct field r = *f;
	bool any = false;

	for (size_t i = 0; i < f->s.n;) {
		if (what.n && i + what.n <= f->s.n && !memcmp(f->s.p + i, what.p, what.n)) {
			sbuf_str(&t, with->s);
			i += what.n;
			any = true;
		} else {
			sbuf_char(&t, f->s.p[i++]);
		}
	}
	if (!any)
		return *f;
	r.s = sbuf_view(&t);
	r.taint |= with->taint;
	return r;
}

#define ITEMS_MAX  512
#define ITEMS_EACH 48

/* Words of known input, at blanks and lines (or at lines only). */
static void input_items(struct ctx *cx, const struct data *in, bool lines, struct range at,
			struct fields *out)
{
	struct rein_str s = in->text;
	size_t i = 0;

	if (!in->known) {
		fields_push(cx, out,
			    (struct field){.s = STR("\001"),
					   .taint = in->taint | TAINT_INPUT,
					   .multi = true,
					   .at = at});
		return;
	}
	while (i < s.n) {
		size_t n = 0;

		while (i < s.n && (s.p[i] == '\n' || (!lines && (s.p[i] == ' ' || s.p[i] == '\t'))))
			i++;
		while (i + n < s.n && s.p[i + n] != '\n' &&
		       (lines || (s.p[i + n] != ' ' && s.p[i + n] != '\t')))
			n++;
		if (n && out->n == ITEMS_MAX) {
			cx_incomplete(cx, at, "more input than is followed");
			return;
		}
		if (n)
			fields_push(cx, out,
				    (struct field){.s = {s.p + i, n}, .taint = in->taint, .at = at});
		i += n;
	}
}

/* One command for each: those that are too many to be looked at one by one are not known. */
static size_t items_each(struct ctx *cx, const struct fields *items, struct range at)
{
	if (items->n <= ITEMS_EACH)
		return items->n;
	cx_incomplete(cx, at, "more commands than are looked at");
	return ITEMS_EACH;
}

struct data h_xargs(struct ctx *cx, struct call *c)
{
	const struct got *repl = call_opt(c, "-I"), *file = call_opt(c, "-a");
	struct field hole = {.s = STR("{}")};
	struct io inner = {.in = data_unknown(0)};
	struct data in = c->io->in, d = data_unknown(in.taint);
	struct fields items = {0}, v = {0};

	call_base(cx, c);
	if (!repl)
		repl = call_opt(c, "-J");
	if (!repl)
		repl = call_opt(c, "-i");
	if (file) {
		effect_read(cx, &file->val);
		in = file_data(cx, &file->val);
	}
	if (repl && repl->val.s.n)
		hole.s = repl->val.s;
	input_items(cx, &in, repl != NULL, c->argv[0].at, &items);
	if (c->rest >= c->argc)
		return in;
	if (!repl) {
		for (size_t i = c->rest; i < c->argc; i++)
			fields_push(cx, &v, c->argv[i]);
		for (size_t i = 0; i < items.n; i++)
			fields_push(cx, &v, items.v[i]);
		/* code in the input may be handed on whole */
		if (in.known && items.n > 1 && know_find(cx, c->argv[c->rest].s) &&
		    know_find(cx, c->argv[c->rest].s)->handler == HANDLE_shell) {
			struct fields whole = {0};

			for (size_t i = c->rest; i < c->argc; i++)
				fields_push(cx, &whole, c->argv[i]);
			input_items(cx, &in, true, c->argv[0].at, &whole);
			exec_argv(cx, whole.v, whole.n, &inner);
		}
		return exec_argv(cx, v.v, v.n, &inner);
	}
	for (size_t k = 0, each = items_each(cx, &items, c->argv[0].at); k < each; k++) {
		v = (struct fields){0};
		for (size_t i = c->rest; i < c->argc; i++)
			fields_push(cx, &v, replaced(cx, &c->argv[i], hole.s, &items.v[k]));
		d = exec_argv(cx, v.v, v.n, &inner);
	}
	return data_unknown(d.taint | in.taint);
}

static void parallel_one(struct ctx *cx, struct call *c, size_t from, size_t to,
			 const struct field *item)
{
	struct io inner = {.in = data_unknown(0)};
	struct fields v = {0};
	struct field line;
	bool used = false;

	for (size_t i = from; i < to; i++) {
		struct field f = replaced(cx, &c->argv[i], STR("{}"), item);

		used |= !rein_str_eq(f.s, c->argv[i].s);
		fields_push(cx, &v, f);
	}
	if (!used)
		fields_push(cx, &v, *item);
	/* its words go through a shell once more: read them both ways */
	if (v.n > 1)
		exec_argv(cx, v.v, v.n, &inner);
	line = h_join_fields(cx, v.v, v.n);
	line.at = item->at.end ? item->at : c->argv[0].at;
	h_run_code(cx, &line, &inner);
}

struct data h_parallel(struct ctx *cx, struct call *c)
{
	size_t end = c->rest;
	struct fields items = {0};

	call_effects(cx, c);
	while (end < c->argc && !str_starts(c->argv[end].s, ":::"))
		end++;
	for (size_t i = end + 1; i < c->argc; i++)
		if (!str_starts(c->argv[i].s, ":::"))
			fields_push(cx, &items, c->argv[i]);
	if (end >= c->argc) {
		const struct got *file = call_opt(c, "-a");
		struct data in = file ? file_data(cx, &file->val) : c->io->in;

		input_items(cx, &in, true, c->argv[0].at, &items);
	}
	if (call_has(c, "-S"))
		cx->remote++;
	for (size_t k = 0, each = items_each(cx, &items, c->argv[0].at); k < each; k++)
		parallel_one(cx, c, c->rest, end, &items.v[k]);
	if (call_has(c, "-S"))
		cx->remote--;
	return data_unknown(c->io->in.taint);
}

static bool find_ends(const struct field *f)
{
	return str_is(f->s, ";") || str_is(f->s, "+") || str_is(f->s, "\\+") || str_is(f->s, "\\;");
}

/* What find comes upon below start; made: nothing but what a build makes, and what that is called.
 */
static struct field found_below(struct ctx *cx, const struct field *start, struct rein_str made)
{
	struct sbuf path = {.a = cx->a};
	struct field item = *start;

	sbuf_str(&path, start->s);
	sbuf_char(&path, '/');
	sbuf_char(&path, HOLE);
	if (made.n) {
		sbuf_char(&path, '/');
		for (size_t i = 0; i < made.n; i++)
			sbuf_char(&path, made.p[i] == '*' ? GLOB_STAR : made.p[i]);
	}
	item.s = sbuf_view(&path);
	return item;
}

/*
 * find . -name '*.pyc' -delete: does everything that gets as far as token i have a name that only
 * builds give? The last such name, or nothing. Read as find does: -a binds more than -o, and what
 * is negated says nothing.
 */
static struct rein_str only_made(const struct call *c, size_t first, size_t i)
{
	static const char names[] = "*.pyc *.pyo *.py[co] *.o *.obj *.class __pycache__ "
				    "node_modules .pytest_cache .mypy_cache "
				    ".ruff_cache .DS_Store *.gcda *.gcno";
	struct rein_str made = STR(""), way = STR("");
	bool inside = false, all = true,
	     not = false; /* of brackets; each way through them has one */

	for (size_t k = first; k < i; k++) {
		struct rein_str s = c->argv[k].s;

		if (str_in(s, "! -not")) {
			not = true;
			continue;
		}
		if (str_in(s, "( \\(")) {
			if (inside || not )
				return STR("");
			inside = all = true;
			way = STR("");
		} else if (str_in(s, ") \\)")) {
			all &= way.n > 0;
			if (all)
				made = way;
			inside = false;
		} else if (str_in(s, "-o -or ,")) {
			if (inside)
				all &= way.n > 0;
			else
				made = STR(""); /* what comes before it need not hold */
			way = STR("");
		} else if (str_in(s, "-name -iname") && k + 1 < i) {
			k++;
			if (!not &&str_in(c->argv[k].s, names)) {
				if (inside)
					way = c->argv[k].s;
				else
					made = c->argv[k].s;
			}
		}
		not = false;
	}
	return inside ? STR("") : made;
}

static size_t find_exec(struct ctx *cx, struct call *c, size_t i, const struct field *start,
			struct rein_str made, uint16_t keys)
{
	struct fields v = {0};
	struct io inner = {.in = data_unknown(0)};
	struct field item = found_below(cx, start, made);

	item.taint = TAINT_NAMES | keys;
	for (; i < c->argc && !find_ends(&c->argv[i]); i++)
		fields_push(cx, &v, replaced(cx, &c->argv[i], STR("{}"), &item));
	if (v.n)
		exec_argv(cx, v.v, v.n, &inner);
	return i;
}

static bool argv_says(const struct call *c, const char *word)
{
	for (size_t i = 1; i < c->argc; i++)
		if (str_is(c->argv[i].s, word))
			return true;
	return false;
}

struct data h_find(struct ctx *cx, struct call *c)
{
	struct fields starts = {0};
	uint16_t keys = 0;
	size_t i = 1, first;

	while (i < c->argc && (str_in(c->argv[i].s, "-H -L -P -E -X -x -s -d -f") ||
			       str_starts(c->argv[i].s, "-O") || str_is(c->argv[i].s, "-D"))) {
		if (str_is(c->argv[i].s, "-D"))
			i++;
		i++;
	}
	for (; i < c->argc && c->argv[i].s.n && !strchr("-(!,", c->argv[i].s.p[0]); i++) {
		unsigned privileged = cx->privileged;

		cx->privileged = 0; /* names are shown, nothing is opened */
		effect_read(cx, &c->argv[i]);
		cx->privileged = privileged;
		fields_push(cx, &starts, c->argv[i]);
	}
	if (!starts.n)
		fields_push(cx, &starts, field_of(cx, ".", c->argv[0].at));
	first = i;
	for (; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_is(s, "-delete")) {
			struct rein_str made = only_made(c, first, i);

			for (size_t k = 0; k < starts.n; k++) {
				struct field f =
					made.n ? found_below(cx, &starts.v[k], made) : starts.v[k];

				f.at = c->argv[i].at;
				effect_delete(cx, &f, true);
			}
		} else if (str_in(s, "-exec -execdir -ok -okdir")) {
			struct rein_str made = only_made(c, first, i);
			size_t next = i;

			for (size_t k = 0; k < starts.n && cx_step(cx); k++)
				next = find_exec(cx, c, i + 1, &starts.v[k], made, keys);
			i = next;
		} else if (str_in(s, "-fprint -fprint0 -fls -fprintf") && i + 1 < c->argc) {
			effect_write(cx, &c->argv[++i], false);
		} else if (str_in(s, "-files0-from -newer -anewer -cnewer -samefile") &&
			   i + 1 < c->argc) {
			effect_read(cx, &c->argv[++i]);
		} else if (str_in(s, "-name -iname -path -ipath -wholename -lname") && i + 1 < c->argc) {
			bool left_out = str_in(c->argv[i - 1].s, "! -not") ||
					(i + 2 < c->argc && str_is(c->argv[i + 2].s, "-prune"));

			if (rummage_names(cx, &c->argv[++i], starts.v, starts.n) && !left_out)
				keys = TAINT_KEYS;
		} else if (s.n && s.p[0] == HOLE && !c->argv[i].quoted) {
			/* an unknown word may be -delete */
			if (!(c->argv[i].taint & (TAINT_ENV | TAINT_INPUT | TAINT_NUMBER)))
				h_say(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, c->argv[i].at, s,
				    "an expression that is only known when it runs");
		}
	}
	return data_unknown(keys | (argv_says(c, "-printf") ? 0 : names_taint(cx, starts.v, starts.n)));
}

/*
 * fd -x CMD, -HIx CMD, -xCMD, --exec=CMD: is this the option, and how much of the word is it? 0:
 * no, and nothing of it can be; the whole word: the command follows.
 */
static size_t fd_exec(struct rein_str s)
{
	static const char *const longs[] = {"--exec-batch", "--exec"};

	for (size_t i = 0; i < ARRAY_SIZE(longs); i++) {
		size_t n = strlen(longs[i]);

		if (str_starts(s, longs[i]) && (s.n == n || s.p[n] == '='))
			return s.n == n ? n : n + 1;
	}
	if (s.n < 2 || s.p[0] != '-' || s.p[1] == '-')
		return 0;
	for (size_t k = 1; k < s.n; k++) {
		if (s.p[k] == 'x' || s.p[k] == 'X')
			return k + 1 < s.n && s.p[k + 1] == '=' ? k + 2 : k + 1;
		if (strchr("etEdcSojC", s.p[k])) /* the rest is its value */
			return 0;
	}
	return 0;
}

struct data h_fd(struct ctx *cx, struct call *c)
{
	struct io inner = {.in = data_unknown(0)};
	struct field item = {.s = STR("./\001"), .taint = TAINT_NAMES, .at = c->argv[0].at};

	for (size_t i = 1; i < c->argc; i++) {
		struct fields v = {0};
		size_t at = fd_exec(c->argv[i].s);
		bool used = false;

		if (!at)
			continue;
		if (at < c->argv[i].s.n) {
			struct field first = c->argv[i];

			first.s = str_from(first.s, at);
			fields_push(cx, &v, first);
		}
		for (i++; i < c->argc && !str_is(c->argv[i].s, ";"); i++) {
			struct field f = replaced(cx, &c->argv[i], STR("{}"), &item);

			used |= !rein_str_eq(f.s, c->argv[i].s);
			fields_push(cx, &v, f);
		}
		if (!used)
			fields_push(cx, &v, item);
		if (v.n > 1)
			exec_argv(cx, v.v, v.n, &inner);
		return data_unknown(0);
	}
	return data_unknown(names_taint(cx, c->ops.n > 1 ? c->ops.v + 1 : NULL,
					c->ops.n > 1 ? c->ops.n - 1 : 0));
}
