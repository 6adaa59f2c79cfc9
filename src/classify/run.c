/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a script the way bash would run it, without running anything: variables, functions,
 * directories and streams are followed, both sides of every condition are taken.
 */
#include "classify/internal.h"

#define MAX_CALLS  24
#define MAX_ROUNDS CX_VALUES

struct data data_known(struct rein_str s)
{
	return (struct data){.text = s, .known = true};
}

struct data data_unknown(unsigned taint)
{
	return (struct data){.text = {"", 0}, .taint = (uint16_t)taint};
}

struct data data_join(struct ctx *cx, struct data a, struct data b)
{
	struct data r = {.taint = a.taint | b.taint, .known = a.known && b.known};

	if (a.known && !a.text.n)
		return b;
	if (b.known && !b.text.n)
		return a;
	if (r.known) {
		struct sbuf t = {.a = cx->a};

		sbuf_str(&t, a.text);
		sbuf_str(&t, b.text);
		r.text = sbuf_view(&t);
	}
	return r;
}

/* ------------------------------------------------------------ redirections */

static bool all_digits(struct rein_str s)
{
	if (!s.n || s.n > 4)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static unsigned digits(struct rein_str s)
{
	unsigned v = 0;

	for (size_t i = 0; i < s.n; i++)
		v = v * 10 + (unsigned)(s.p[i] - '0');
	return v;
}

static int redir_fd(struct ctx *cx, const struct redir *r)
{
	bool in = r->op == REDIR_IN || r->op == REDIR_DUP_IN || r->op == REDIR_HEREDOC ||
		  r->op == REDIR_HERESTR || r->op == REDIR_RDWR;
	char num[16];

	if (r->fdvar.n) {
		unsigned fd = 10 + cx->next_fd++ % (CX_FDS - 10);

		snprintf(num, sizeof(num), "%u", fd);
		var_set(cx, r->fdvar,
			(struct rein_str){arena_dup(cx->a, num, strlen(num)), strlen(num)}, 0, false);
		return (int)fd;
	}
	return r->fd >= 0 ? r->fd : in ? 0 : 1;
}

static void redir_input(struct ctx *cx, int fd, struct data d, struct io *io)
{
	if (fd == 0) {
		io->in = d;
		io->piped = true;
	} else if (fd < CX_FDS) {
		cx->fds[fd] = d;
		cx->fd_open[fd] = true;
	}
}

static void redir_output(struct ctx *cx, const struct redir *r, int fd, struct field f,
			 struct fields *out)
{
	bool append = r->op == REDIR_APPEND || r->op == REDIR_BOTH_APPEND;

	effect_write(cx, &f, append);
	f.quoted = append; /* reused below: how to put the data */
	if (fd == 1 || r->op == REDIR_BOTH || r->op == REDIR_BOTH_APPEND || r->op == REDIR_DUP_OUT)
		fields_push(cx, out, f);
	else if (fd > 2 && fd < CX_FDS)
		cx->fd_path[fd] = f.s;
}

static void one_redir(struct ctx *cx, const struct redir *r, struct io *io, struct fields *out)
{
	struct field f = expand_one(cx, r->target);
	int fd = redir_fd(cx, r);
	struct data d;

	if (!f.at.end)
		f.at = r->at;
	switch (r->op) {
	case REDIR_HEREDOC:
	case REDIR_HERESTR:
		d = data_known(f.s);
		d.known = !has_hole(f.s);
		d.taint = f.taint;
		if (r->op == REDIR_HERESTR && d.known) {
			struct sbuf t = {.a = cx->a};

			sbuf_str(&t, f.s);
			sbuf_char(&t, '\n');
			d.text = sbuf_view(&t);
		} else if (!d.known) {
			d.text = f.s; /* with holes, for whoever can use it */
		}
		redir_input(cx, fd, d, io);
		return;
	case REDIR_IN:
	case REDIR_RDWR:
		if (r->op == REDIR_IN && !vfile_find(cx, f.s) && !str_starts(f.s, "/dev/"))
			io->doubtful = true;
		effect_read(cx, &f);
		redir_input(cx, fd, file_data(cx, &f), io);
		if (r->op == REDIR_RDWR) {
			effect_write(cx, &f, true);
			if (fd > 2 && fd < CX_FDS)
				cx->fd_path[fd] = f.s;
		}
		return;
	case REDIR_DUP_IN:
		if (all_digits(f.s) && digits(f.s) < CX_FDS) {
			unsigned from = digits(f.s);

			redir_input(cx, fd,
				    cx->fd_open[from] ? cx->fds[from] : data_unknown(TAINT_INPUT),
				    io);
		} else if (has_hole(f.s)) {
			redir_input(cx, fd, data_unknown(f.taint ? f.taint : TAINT_INPUT), io);
		}
		return;
	case REDIR_DUP_OUT:
		if (f.s.n && f.s.p[f.s.n - 1] == '-')
			f.s.n--;
		if (!f.s.n)
			return;
		if (all_digits(f.s)) {
			unsigned to = digits(f.s);

			if (fd == 1 && to < CX_FDS && cx->fd_path[to].n) {
				f.s = cx->fd_path[to];
				f.quoted = true;
				fields_push(cx, out, f);
			}
			return;
		}
		if (has_hole(f.s) && (f.taint & TAINT_NUMBER))
			return;
		redir_output(cx, r, fd, f, out);
		return;
	default:
		redir_output(cx, r, fd, f, out);
	}
}

void run_redirs(struct ctx *cx, struct redir *r, struct io *io, struct fields *out)
{
	for (; r; r = r->next)
		one_redir(cx, r, io, out);
}

/* Give the output to the files it was sent to; what is left goes on. */
static struct data deliver(struct ctx *cx, const struct fields *out, struct data d)
{
	if (!out->n)
		return d;
	for (size_t i = 0; i < out->n; i++)
		vfile_put(cx, out->v[i].s, d, out->v[i].quoted);
	return data_known(STR(""));
}

/* ------------------------------------------------------------ commands */

struct data run_text(struct ctx *cx, struct rein_str text, struct range at, struct io *io)
{
	struct range *fixed = arena_new(cx->a, struct range);
	struct script sc;
	struct data d;

	if (++cx->parse_depth > 16) {
		cx_incomplete(cx, at, "code inside code is nested too deeply");
		cx->parse_depth--;
		return data_unknown(0);
	}
	*fixed = at;
	shell_parse(cx->a, text, 0, fixed, cx->extglob, &sc);
	if (sc.error)
		cx_incomplete(cx, at, sc.error);
	if (sc.odd)
		cx_incomplete(cx, at, "uses syntax that is not read in full");
	d = run_list(cx, sc.root, io);
	cx->parse_depth--;
	return d;
}

static struct data call_function(struct ctx *cx, struct func *fn, struct field *v, size_t n,
				 struct io *io)
{
	struct frame frame = {.v = v + 1, .n = n - 1, .known = true, .zero = v[0]};
	struct frame *old = cx->frame;
	struct data d;

	fn->called = true;
	for (size_t i = 0; i < frame.n; i++)
		if (frame.v[i].multi)
			frame.known = false;
	if (fn->active || cx->depth > MAX_CALLS) {
		if (cx->bg || cx->pipes)
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     v[0].at, show(cx, fn->name),
			     "a function that starts itself over and over (fork bomb)");
		return data_unknown(0);
	}
	fn->active++;
	cx->depth++;
	cx->frame = &frame;
	d = run_node(cx, fn->body, io);
	cx->frame = old;
	cx->depth--;
	fn->active--;
	return d;
}

static struct func *func_find(struct ctx *cx, struct rein_str name)
{
	for (struct func *f = cx->funcs; f; f = f->next)
		if (rein_str_eq(f->name, name))
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
		return exec_argv(cx, all.v, all.n, io);
	}
	return run_list(cx, sc.root, io);
}

static const char *const trusted_dirs[] = {
	"/bin/",	   "/sbin/",	       "/usr/bin/",	"/usr/sbin/",
	"/usr/local/bin/", "/usr/local/sbin/", "/opt/homebrew/bin/", "/snap/bin/",
	"/usr/games/",	   "/usr/libexec/",    "/usr/lib/",	"/lib/",
	"/lib64/",	   "/opt/local/bin/",  "/usr/pkg/bin/",
};

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
	/* tools a project brings along */
	return str_has(p, "/node_modules/.bin/") || str_has(p, "venv/bin/") ||
	       str_has(p, "/vendor/bin/") || str_has(p, "/bin/rails");
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
	if (str_in(base, "gradlew mvnw manage.py artisan")) {
		return exec_named(cx, v, n, io);
	}
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

struct data exec_argv(struct ctx *cx, struct field *v, size_t n, struct io *io)
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
	fn = func_find(cx, v[0].s);
	if (fn) {
		d = call_function(cx, fn, v, n, io);
		goto out;
	}
	for (struct alias *al = cx->aliases; al; al = al->next)
		if (rein_str_eq(al->name, v[0].s)) {
			struct alias *head = cx->aliases;

			cx->aliases = al->next; /* an alias does not expand itself */
			d = run_alias(cx, al, v, n, io);
			cx->aliases = head;
			goto out;
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

static void prefix_assigns(struct ctx *cx, const struct assign *as)
{
	for (; as && !cx->over; as = as->next) {
		struct field f;

		run_assign(cx, as);
		if (as->is_array)
			continue;
		f = expand_one(cx, as->value);
		effect_env(cx, as->name, &f, as->at);
	}
}

/* FOO=x command: gone after it, except what ${y:=z} set on the way. */
static void end_temporary(struct ctx *cx, struct undo *mark, const struct lasting *before)
{
	struct lasting *l = cx->lasting;

	undo_to(cx, mark);
	for (; l && l != before; l = l->next)
		var_set(cx, l->name, l->s, l->taint, false);
}

static struct data simple_round(struct ctx *cx, struct node *n, struct io *io)
{
	struct fields argv = {0}, out = {0};
	struct io own = *io;
	struct undo *mark;
	struct lasting *lasting = cx->lasting;
	bool temporary = false;
	struct data d;

	own.doubtful = false;
	for (struct word *w = n->words; w && !cx->over; w = w->next)
		expand_word(cx, w, &argv);
	if (!argv.n) {
		prefix_assigns(cx, n->assigns);
		run_redirs(cx, n->redirs, &own, &out);
		/* $(<file): a redirection alone prints the file */
		d = n->redirs && !n->words && !n->assigns && own.piped ? own.in
								       : data_known(STR(""));
		return deliver(cx, &out, d);
	}
	mark = undo_mark(cx);
	if (n->assigns) {
		prefix_assigns(cx, n->assigns);
		temporary = !str_in(argv.v[0].s,
				    "export declare local readonly typeset eval exec");
	}
	run_redirs(cx, n->redirs, &own, &out);
	if (str_is(argv.v[0].s, "exec") && argv.n == 1) {
		/* exec 3<file: stays open for everything after it */
		if (own.piped && !io->piped)
			*io = own;
		return data_known(STR(""));
	}
	d = exec_argv(cx, argv.v, argv.n, &own);
	if (temporary)
		end_temporary(cx, mark, lasting);
	/* a file to read from that is not there: then nothing was run, and nothing printed */
	if (own.doubtful && d.known)
		d = data_unknown(d.taint);
	return deliver(cx, &out, d);
}

static struct data run_simple(struct ctx *cx, struct node *n, struct io *io)
{
	struct rounds old = rounds_begin(cx);
	struct range at = cx->at;
	struct data d = data_known(STR(""));

	cx->at = n->at;
	do {
		struct data one = simple_round(cx, n, io);

		if (cx->round)
			one = data_unknown(one.taint | d.taint);
		d = one;
	} while (rounds_next(cx));
	rounds_end(cx, old);
	cx->at = at;
	return d;
}

/* ------------------------------------------------------------ compound commands */

struct data run_list(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = data_known(STR(""));

	if (!n)
		return d;
	if (n->kind != NODE_SEQ)
		return run_node(cx, n, io);
	for (struct node *k = n->kids; k && !cx->over; k = k->next)
		d = data_join(cx, d, run_node(cx, k, io));
	return d;
}

struct data run_subshell(struct ctx *cx, struct node *n, struct io *io)
{
	struct undo *mark = undo_mark(cx);
	struct alias *aliases = cx->aliases;
	struct func *funcs = cx->funcs;
	struct data d;

	undo_push_cwd(cx);
	d = run_list(cx, n, io);
	undo_to(cx, mark);
	cx->aliases = aliases;
	/* functions defined inside stay known: their bodies must be judged too */
	(void)funcs;
	return d;
}

static struct data run_pipe(struct ctx *cx, struct node *n, struct io *io)
{
	struct io own = *io;
	struct data d = data_known(STR(""));

	cx->pipes++;
	for (struct node *k = n->kids; k && !cx->over; k = k->next) {
		struct undo *mark = undo_mark(cx);
		bool keep = !k->next && cx->lastpipe;

		undo_push_cwd(cx);
		d = run_node(cx, k, &own);
		if (!keep)
			undo_to(cx, mark);
		own.in = d;
		own.piped = true;
	}
	cx->pipes--;
	return d;
}

static bool contains_bg(const struct node *n, unsigned depth)
{
	if (!n || depth > 40)
		return false;
	if (n->kind == NODE_BG)
		return true;
	for (const struct node *k = n->kids; k; k = k->next)
		if (contains_bg(k, depth + 1))
			return true;
	return contains_bg(n->a, depth + 1) || contains_bg(n->b, depth + 1) ||
	       contains_bg(n->c, depth + 1);
}

static bool simple_is(const struct node *n, const char *names)
{
	if (!n || n->kind != NODE_SIMPLE || !n->words || !n->words->first ||
	    n->words->first->next)
		return false;
	return str_in(str_base(n->words->first->text), names);
}

/* while true, while :, while ((1)), while [ 1 ], until false */
static bool endless(const struct node *n)
{
	const struct node *c = n->a;

	if (c && c->kind == NODE_SEQ && c->kids && !c->kids->next)
		c = c->kids;
	if (!c)
		return false;
	if (n->until)
		return simple_is(c, "false");
	if (c->kind == NODE_ARITH)
		return c->words && c->words->first && !c->words->first->next &&
		       str_in(c->words->first->text, "1");
	if (simple_is(c, "[ test"))
		return c->words->next && (!c->words->next->next || !c->words->next->next->next);
	return simple_is(c, "true :");
}

static bool waits(const struct node *n, unsigned depth)
{
	if (!n || depth > 40)
		return false;
	if (simple_is(n, "wait sleep read"))
		return true;
	for (const struct node *k = n->kids; k; k = k->next)
		if (waits(k, depth + 1))
			return true;
	return waits(n->a, depth + 1) || waits(n->b, depth + 1) || waits(n->c, depth + 1);
}

static struct data run_loop(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d;

	if (endless(n) && contains_bg(n->b, 0) && !waits(n->b, 0))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, n->at, NULL,
		     "starts background processes without end (fork bomb)");
	d = run_list(cx, n->a, io);
	cx->cond++;
	d = data_join(cx, d, run_list(cx, n->b, io));
	cx->cond--;
	return data_unknown(d.taint | io->in.taint);
}

static struct data run_for(struct ctx *cx, struct node *n, struct io *io)
{
	struct fields items = {0};
	struct data d = data_known(STR(""));
	struct rounds old = rounds_begin(cx);
	size_t i = 0;

	do
		for (struct word *w = n->words; w; w = w->next)
			expand_word(cx, w, &items);
	while (rounds_next(cx));
	rounds_end(cx, old);
	if (!n->has_in) {
		for (size_t k = 0; cx->frame && k < cx->frame->n; k++)
			fields_push(cx, &items, cx->frame->v[k]);
		if (!cx->frame || !cx->frame->known)
			fields_push(cx, &items,
				    (struct field){.s = STR("\001"), .taint = TAINT_INPUT});
	}
	if (items.n > 64) {
		/* too many to look at one by one: any of them */
		struct field any = {.s = STR("\001"), .taint = TAINT_INPUT};
		bool literal = true;

		for (size_t k = 0; k < items.n; k++)
			literal &= is_literal(items.v[k].s);
		items.n = literal ? 64 : 0;
		fields_push(cx, &items, any);
	}
	cx->cond++;
	do {
		size_t stop = i + MAX_ROUNDS < items.n ? i + MAX_ROUNDS : items.n;
		struct var *v;

		var_unset(cx, n->name);
		v = var_make(cx, n->name);
		v->vals = NULL;
		v->n_vals = 0;
		for (; i < stop; i++) {
			struct value *val = arena_new(cx->a, struct value);

			val->s = items.v[i].s;
			val->taint = items.v[i].taint;
			val->next = v->vals;
			v->vals = val;
			v->n_vals++;
		}
		d = run_list(cx, n->b, io);
	} while (i < items.n && cx_step(cx));
	cx->cond--;
	return items.n <= 1 ? d : data_unknown(d.taint | io->in.taint);
}

static struct data run_case(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = data_known(STR("")), one;

	if (n->words)
		expand_one(cx, n->words);
	cx->cond++;
	for (struct case_arm *arm = n->arms; arm; arm = arm->next) {
		for (struct word *w = arm->patterns; w; w = w->next)
			expand_one(cx, w);
		one = run_list(cx, arm->body, io);
		d = data_unknown(d.taint | one.taint);
	}
	cx->cond--;
	return d;
}

static void define(struct ctx *cx, struct node *n)
{
	struct func *f = arena_new(cx->a, struct func);

	if (!n->name.n || !n->b)
		return;
	f->name = n->name;
	f->body = n->b;
	f->next = cx->funcs;
	cx->funcs = f;
	if (!strncmp(n->name.p, "command_not_found_handle", n->name.n) && n->name.n == 24)
		f->called = false;
}

static struct data run_coproc(struct ctx *cx, struct node *n, struct io *io)
{
	struct io own = {.in = data_unknown(TAINT_INPUT), .piped = true};
	struct fields fds = {0};
	unsigned fd = 10 + cx->next_fd++ % (CX_FDS - 10);
	char num[16];
	struct data d;

	(void)io;
	cx->bg++;
	d = run_subshell(cx, n->a, &own);
	cx->bg--;
	cx->fds[fd] = d;
	cx->fd_open[fd] = true;
	snprintf(num, sizeof(num), "%u", fd);
	fields_push(cx, &fds, field_of(cx, num, n->at));
	fields_push(cx, &fds, field_of(cx, num, n->at));
	var_array(cx, n->name, &fds);
	return data_known(STR(""));
}

static struct data run_if(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = run_list(cx, n->a, io), one;

	cx->cond++;
	one = run_list(cx, n->b, io);
	d = data_unknown(d.taint | one.taint);
	one = run_list(cx, n->c, io);
	cx->cond--;
	return data_unknown(d.taint | one.taint);
}

static struct data node_body(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = data_known(STR(""));

	switch (n->kind) {
	case NODE_SIMPLE:
		return run_simple(cx, n, io);
	case NODE_PIPE:
		return run_pipe(cx, n, io);
	case NODE_AND_OR:
		for (struct node *k = n->kids; k && !cx->over; k = k->next) {
			cx->cond += k != n->kids;
			d = data_join(cx, d, run_node(cx, k, io));
			cx->cond -= k != n->kids;
		}
		return d;
	case NODE_SEQ:
		return run_list(cx, n, io);
	case NODE_BG:
		cx->bg++;
		d = run_subshell(cx, n->a, io);
		cx->bg--;
		return d;
	case NODE_NOT:
	case NODE_TIME:
		return n->a ? run_node(cx, n->a, io) : d;
	case NODE_GROUP:
		return run_list(cx, n->a, io);
	case NODE_SUBSHELL:
		return run_subshell(cx, n->a, io);
	case NODE_IF:
		return run_if(cx, n, io);
	case NODE_LOOP:
		return run_loop(cx, n, io);
	case NODE_FOR:
	case NODE_SELECT:
		return run_for(cx, n, io);
	case NODE_CFOR:
		expand_one(cx, n->words);
		cx->cond++;
		d = run_list(cx, n->b, io);
		cx->cond--;
		return data_unknown(d.taint);
	case NODE_CASE:
		return run_case(cx, n, io);
	case NODE_FUNC:
		define(cx, n);
		return d;
	case NODE_COND:
		for (struct word *w = n->words; w; w = w->next)
			expand_one(cx, w);
		return d;
	case NODE_ARITH:
		expand_one(cx, n->words);
		return d;
	case NODE_COPROC:
		return run_coproc(cx, n, io);
	}
	return d;
}

struct data run_node(struct ctx *cx, struct node *n, struct io *io)
{
	struct fields out = {0};
	struct io own;
	struct data d;

	if (!n)
		return data_known(STR(""));
	if (!cx_step(cx) || cx->depth > 90) {
		cx_incomplete(cx, n->at, "too much to analyse");
		return data_unknown(0);
	}
	if (n->kind == NODE_SIMPLE || !n->redirs)
		return node_body(cx, n, io);
	own = *io;
	run_redirs(cx, n->redirs, &own, &out);
	d = node_body(cx, n, &own);
	return deliver(cx, &out, d);
}

/* Functions nobody called here may be called later: their bodies count as well. */
void run_uncalled(struct ctx *cx)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	for (struct func *f = cx->funcs; f; f = f->next) {
		struct frame frame = {0};

		if (f->called)
			continue;
		f->called = true;
		f->active++;
		cx->frame = &frame;
		cx->cond++;
		run_node(cx, f->body, &io);
		cx->cond--;
		cx->frame = NULL;
		f->active--;
	}
}
