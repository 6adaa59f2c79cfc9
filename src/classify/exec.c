/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command with its words: which function, alias or program it names, what is known of it, and what becomes of one
 * that nobody knows.
 */
#include "classify/internal.h"

#define MAX_CALLS 24

void frame_cut(struct frame *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].multi || (has_hole(f->v[i].s) && !f->v[i].quoted)) {
			f->n = i;
			f->known = false;
		}
}

static struct data call_function(struct ctx *cx, struct func *fn, struct field *v, size_t n,
				 struct io *io)
{
	struct frame frame = {.v = v + 1, .n = n - 1, .known = true, .zero = v[0]};
	struct frame *old = cx->frame;
	struct local *locals = cx->locals, *before = cx->locals_before;
	struct data d;

	fn->called = true;
	frame_cut(&frame);
	if (fn->active || cx->depth > MAX_CALLS) {
		if (cx->bg || cx->pipes)
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     v[0].at, show(cx, fn->name),
			     "a function that starts itself over and over (fork bomb)");
		return data_unknown(0);
	}
	fn->active++;
	cx->depth++;
	cx->functions++;
	cx->locals_before = locals;
	cx->frame = &frame;
	d = run_node(cx, fn->body, io);
	cx->frame = old;
	var_locals_end(cx, locals);
	cx->locals_before = before;
	cx->functions--;
	cx->depth--;
	fn->active--;
	return d;
}

/* Of from and those before it. */
static struct func *func_find(const struct ctx *cx, struct func *from, struct rein_str name)
{
	for (struct func *f = from; f; f = f->next)
		if (f->shell == cx->shell && !f->gone && rein_str_eq(f->name, name))
			return f;
	return NULL;
}

static struct data run_alias(struct ctx *cx, const struct alias *al, struct field *v, size_t n,
			     struct io *io)
{
	struct script sc;
	struct range *at = arena_new(cx->a, struct range);
	struct node *last;

	*at = v[0].at;
	shell_parse(cx->a, al->text, 0, at, cx->extglob, &sc);
	last = sc.root ? sc.root->kids : NULL;
	while (last && last->next)
		last = last->next;
	/* the arguments belong to the last command of the alias */
	if (last && last->kind == NODE_SIMPLE && sc.root->kids == last && last->words) {
		struct fields all = {0};

		for (struct word *w = last->words; w; w = w->next)
			expand_word(cx, w, &all);
		for (size_t i = 1; i < n; i++)
			fields_push(cx, &all, v[i]);
		return exec_simple(cx, all.v, all.n, io);
	}
	return run_list(cx, sc.root, io);
}

static const char *const trusted_dirs[] = {
	"/bin/",	   "/sbin/",	       "/usr/bin/",	"/usr/sbin/",
	"/usr/local/bin/", "/usr/local/sbin/", "/opt/homebrew/bin/", "/snap/bin/",
	"/usr/games/",	   "/usr/libexec/",    "/usr/lib/",	"/lib/",
	"/lib64/",	   "/opt/local/bin/",  "/usr/pkg/bin/",
};

/* Tools a project brings along. */
bool path_is_tool(struct ctx *cx, struct rein_str p)
{
	enum place place;

	if (!str_has(p, "/node_modules/.bin/") && !str_has(p, "venv/bin/") &&
	    !str_has(p, "/vendor/bin/") && !str_has(p, "/bin/rails"))
		return false;
	place = path_spot(cx, p).place;
	return place == PLACE_WORKSPACE || place == PLACE_REGEN || place == PLACE_HOME ||
	       place == PLACE_UNKNOWN;
}

static bool trusted_path(struct ctx *cx, struct rein_str p)
{
	static const char *const own[] = {"/.local/bin/", "/.cargo/bin/", "/go/bin/", "/.bun/bin/",
					  "/.deno/bin/", "/.pyenv/shims/"};

	for (size_t i = 0; i < ARRAY_SIZE(trusted_dirs); i++)
		if (str_starts(p, trusted_dirs[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (p.n > cx->home.n && !memcmp(p.p, cx->home.p, cx->home.n) &&
		    str_starts(str_from(p, cx->home.n), own[i]))
			return true;
	return path_is_tool(cx, p);
}

/* A pattern in the place of the program: which program of note could it be? */
static struct rein_str glob_program(struct ctx *cx, struct rein_str pat)
{
	static const char *const notable[] = {"rm",   "dd",   "sh",    "bash", "mkfs", "shred",
					      "curl", "wget", "chmod", "sudo", "mv",   "cat",
					      "nc",   "python3"};
	struct rein_str base = str_base(pat);

	for (size_t i = 0; i < ARRAY_SIZE(notable); i++) {
		const char *t = notable[i];
		size_t k = 0;

		for (; k < base.n && *t; k++, t++) {
			if (base.p[k] == GLOB_STAR) {
				size_t rest = base.n - k - 1, left = strlen(t);

				if (rest > left)
					break;
				t += left - rest;
				k++;
				if (rest && memcmp(base.p + k, t, rest))
					break;
				return rein_str(notable[i]);
			}
			if (base.p[k] != GLOB_ONE && base.p[k] != *t)
				break;
		}
		if (k == base.n && !*t)
			return rein_str(notable[i]);
	}
	(void)cx;
	return STR("");
}

static bool opaque_path_arg(const struct field *f)
{
	return f->s.n && f->s.p[0] != '-';
}

/* A program nobody told us about. */
static struct data run_unknown(struct ctx *cx, struct field *v, size_t n, struct io *io)
{
	uint16_t taint = io->in.taint;
	size_t first = 1;

	fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, v[0].at,
	     show(cx, v[0].s), "runs a program that is not known");
	for (size_t i = 1; i < n; i++) {
		struct spot s;

		taint |= v[i].taint;
		if (!opaque_path_arg(&v[i]))
			continue;
		s = path_spot(cx, v[i].s);
		if (s.secret)
			effect_read(cx, &v[i]);
	}
	effect_name(cx, &v[0]);
	carry_shell(cx, v, n, true);
	verbs_effect(cx, show(cx, v[0].s), v + 1, n - 1, false, false);
	while (first < n && v[first].s.n && v[first].s.p[0] == '-')
		first++;
	/* a transparent wrapper? then what it wraps counts as well */
	if (first < n && is_literal(v[first].s) && know_find(cx, str_base(v[first].s)) &&
	    !verb_class(cx, v[first].s)) {
		cx->depth++;
		if (cx->depth < MAX_CALLS)
			exec_argv(cx, v + first, n - first, io);
		cx->depth--;
	}
	return data_unknown(taint);
}

static struct data exec_named(struct ctx *cx, struct field *v, size_t n, struct io *io)
{
	struct rein_str name = v[0].s;
	const struct know_cmd *k = know_find(cx, name);
	const char *old = cx->program;
	struct data d;

	cx->program = show(cx, name);
	d = k ? run_known(cx, k, v, n, io) : run_unknown(cx, v, n, io);
	cx->program = old;
	return d;
}

static struct data exec_path(struct ctx *cx, struct field *v, size_t n, struct io *io)
{
	struct rein_str p = path_resolve(cx, v[0].s), base = str_base(p);
	struct field self = v[0];

	v[0].s = base;
	if (trusted_path(cx, p))
		return exec_named(cx, v, n, io);
	/* what a project builds itself with, unless it was written just now */
	if (str_in(base, "gradlew mvnw manage.py artisan configure waf pants mill sbt lein "
			 "bazelisk x.py mach") &&
	    !vfile_find(cx, self.s))
		return exec_named(cx, v, n, io);
	effect_script(cx, &self, NULL);
	/* a file of one's own with a well-known name: judge both */
	if (know_find(cx, base)) {
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, self.at,
		     show(cx, self.s), "not the system's program of that name");
		return exec_named(cx, v, n, io);
	}
	for (size_t i = 1; i < n; i++)
		if (opaque_path_arg(&v[i]) && path_spot(cx, v[i].s).secret)
			effect_read(cx, &v[i]);
	verbs_effect(cx, show(cx, v[0].s), v + 1, n - 1, false, false);
	return data_unknown(io->in.taint);
}

/* Remember what would be started, for rules that name programs and their words. */
static void note_call(struct ctx *cx, const struct field *v, size_t n)
{
	struct rein_str *words;
	struct rein_call *to;

	if (cx->n_calls == REIN_VERDICT_CALLS) {
		cx->calls_lost = true;
		cx->call = 0;
		return;
	}
	if (!cx->calls)
		cx->calls = arena_alloc(cx->a, REIN_VERDICT_CALLS * sizeof(*cx->calls));
	words = arena_alloc(cx->a, n * sizeof(*words));
	to = &cx->calls[cx->n_calls++];
	*to = (struct rein_call){.words = words, .n = n, .start = v[0].at.start, .end = v[0].at.end};
	for (size_t i = 0; i < n; i++)
		words[i] = v[i].s;
	cx->call = (uint32_t)cx->n_calls;
}

/* by_shell: a function or an alias may have the name; whoever else starts a program starts a program. */
static struct data exec_words(struct ctx *cx, struct field *v, size_t n, struct io *io, bool by_shell)
{
	struct range at = cx->at;
	uint32_t call = cx->call;
	struct data d;
	struct func *fn;

	if (!n)
		return data_known(STR(""));
	if (!cx_step(cx) || cx->depth > 80) {
		cx->calls_lost = true;
		cx_incomplete(cx, v[0].at, "wrapped too deeply");
		return data_unknown(0);
	}
	cx->depth++;
	if (cx->trace)
		cx->trace(cx->trace_arg, v, n);
	if (v[0].at.end)
		cx->at = v[0].at;
	note_call(cx, v, n);
	if (v[0].taint & (TAINT_DECODED | TAINT_NET))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, v[0].at,
		     show(cx, v[0].s), "runs code that was encoded or downloaded");
	/* one that may not be there leaves the name to whatever has it else */
	for (fn = by_shell ? func_find(cx, cx->funcs, v[0].s) : NULL; fn; fn = func_find(cx, fn->next, v[0].s)) {
		d = call_function(cx, fn, v, n, io);
		if (!fn->doubtful)
			goto out;
	}
	for (struct alias *al = by_shell ? cx->aliases : NULL; al; al = al->next)
		if (rein_str_eq(al->name, v[0].s)) {
			struct alias *head = cx->aliases;

			cx->aliases = al->next; /* an alias does not expand itself */
			d = run_alias(cx, al, v, n, io);
			cx->aliases = head;
			/* a script expands none unless it is told to, sh does */
			if (!know_find(cx, v[0].s))
				goto out;
			break;
		}
	if (has_hole(v[0].s)) {
		enum rein_level level = REIN_LEVEL_DANGEROUS;

		if (v[0].s.n > 1 && v[0].s.p[0] == HOLE && v[0].s.p[1] == '/' && n > 0 &&
		    know_find(cx, str_base(v[0].s)) && !has_hole(str_base(v[0].s))) {
			/* "$DIR/git": some copy of a known program */
			struct field *copy = arena_alloc(cx->a, n * sizeof(*copy));

			memcpy(copy, v, n * sizeof(*v));
			copy[0].s = str_base(v[0].s);
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, v[0].at,
			     show(cx, v[0].s), "runs a program from a directory that is not known");
			d = exec_named(cx, copy, n, io);
			goto out;
		}
		fact(cx, REIN_FACT_EXEC, level, REIN_REACH_CONTAINED, v[0].at, show(cx, v[0].s),
		     v[0].taint & TAINT_NET ? "runs code from the network"
					    : "which program runs is only known when it runs");
		for (size_t i = 1; i < n; i++)
			if (opaque_path_arg(&v[i]) && path_spot(cx, v[i].s).secret)
				effect_read(cx, &v[i]);
		d = data_unknown(io->in.taint | v[0].taint);
		goto out;
	}
	if (!is_literal(v[0].s)) {
		struct rein_str name = glob_program(cx, v[0].s);

		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, v[0].at,
		     show(cx, v[0].s), "a pattern chooses which program runs");
		if (name.n) {
			struct field *copy = arena_alloc(cx->a, n * sizeof(*copy));

			memcpy(copy, v, n * sizeof(*v));
			copy[0].s = name;
			d = exec_named(cx, copy, n, io);
		} else {
			d = data_unknown(io->in.taint);
		}
		goto out;
	}
	if (carry_line(cx, v[0].s)) /* heroku run 'rm -rf x': a whole line where a program was expected */
		run_text(cx, v[0].s, v[0].at, io);
	if (memchr(v[0].s.p, '/', v[0].s.n)) {
		struct field *copy = arena_alloc(cx->a, n * sizeof(*copy));

		memcpy(copy, v, n * sizeof(*v));
		d = exec_path(cx, copy, n, io);
	} else {
		d = exec_named(cx, v, n, io);
	}
out:
	cx->at = at;
	cx->call = call;
	cx->depth--;
	return d;
}

struct data exec_simple(struct ctx *cx, struct field *v, size_t n, struct io *io)
{
	return exec_words(cx, v, n, io, true);
}

struct data exec_argv(struct ctx *cx, struct field *v, size_t n, struct io *io)
{
	return exec_words(cx, v, n, io, false);
}
