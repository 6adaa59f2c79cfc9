/* SPDX-License-Identifier: Apache-2.0 */
/* The shell itself and its builtins. */
#include "classify/h_shell.h"
#include "classify/value.h"

#define LOCAL REIN_REACH_CONTAINED

struct data h_empty(void)
{
	return data_known(STR(""));
}

void h_say(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level, struct range at,
		struct rein_str what, const char *why)
{
	fact(cx, kind, level, LOCAL, at, show(cx, what), why);
}

struct data h_cd(struct ctx *cx, struct call *c)
{
	struct field to = c->ops.n ? c->ops.v[0] : (struct field){.s = val_param_value(cx, STR("HOME")).s};

	undo_push_cwd(cx);
	if (str_is(to.s, "-") || !to.s.n || to.s.p[0] == '+') {
		cx->cwd_unknown = !str_is(to.s, "");
		return h_empty();
	}
	to.s = path_resolve(cx, to.s);
	if (!is_literal(to.s)) {
		struct spot s = path_spot(cx, to.s);

		/* "$x" may be anywhere; "src/$x" is still inside */
		cx->cwd_unknown = s.place != PLACE_WORKSPACE;
		if (cx->cwd_unknown)
			return h_empty();
	}
	if (cx->cwd_unknown && to.s.n && to.s.p[0] == HOLE)
		return h_empty();
	cx->cwd = to.s;
	cx->cwd_unknown = false;
	return h_empty();
}

static void judge_code(struct ctx *cx, const struct field *f)
{
	struct data d = {.text = f->s, .known = is_literal(f->s), .taint = f->taint};

	if (d.known && f->taint & TAINT_DECODED)
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, NULL,
		     "runs code that was encoded");
	if (has_hole(f->s)) {
		/* a hole among the arguments was judged where it stands; one that is the code was not */
		if (f->taint & (TAINT_NET | TAINT_DECODED) || f->s.n == 1)
			effect_code(cx, &d, "shell", f->at);
	}
}

struct data h_run_code(struct ctx *cx, const struct field *f, struct io *io)
{
	struct data out = run_text(cx, f->s, f->at, io);

	judge_code(cx, f);
	return out;
}

static struct data run_code_here(struct ctx *cx, const struct field *f, struct io *io)
{
	struct data out = run_here(cx, f->s, f->at, io);

	judge_code(cx, f);
	return out;
}

struct field h_join_fields(struct ctx *cx, const struct field *v, size_t n)
{
	struct sbuf t = {.a = cx->a};
	struct field f = {0};

	for (size_t i = 0; i < n; i++) {
		if (i)
			sbuf_char(&t, ' ');
		for (size_t k = 0; k < v[i].s.n; k++)
			sbuf_char(&t, v[i].s.p[k] == GLOB_STAR ? '*'
				      : v[i].s.p[k] == GLOB_ONE ? '?'
								: v[i].s.p[k]);
		f.taint |= v[i].taint;
	}
	f.s = sbuf_view(&t);
	f.at = n ? (struct range){v[0].at.start, v[n - 1].at.end} : (struct range){0};
	if (f.at.end < f.at.start)
		f.at = v[0].at;
	return f;
}

struct data h_eval(struct ctx *cx, struct call *c)
{
	struct field f;

	if (c->argc < 2)
		return h_empty();
	f = h_join_fields(cx, c->argv + 1, c->argc - 1);
	return run_code_here(cx, &f, c->io);
}

struct data h_source(struct ctx *cx, struct call *c)
{
	if (!c->ops.n) { /* fish: … | source */
		if (c->io->piped)
			effect_code(cx, &c->io->in, "source", c->argv[0].at);
		return h_empty();
	}
	if (str_in(c->ops.v[0].s, "/dev/stdin /dev/fd/0 /proc/self/fd/0")) {
		effect_code(cx, &c->io->in, "source", c->ops.v[0].at);
		return data_unknown(0);
	}
	/* activating an environment of the project is routine */
	if (str_ends(c->ops.v[0].s, "/bin/activate") && !vfile_find(cx, c->ops.v[0].s))
		return h_empty();
	effect_script(cx, &c->ops.v[0], "source");
	return data_unknown(0);
}

struct data h_exec(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	return c->rest < c->argc ? exec_rest(cx, c, c->rest) : h_empty();
}

static void declare_one(struct ctx *cx, const struct field *f, bool exported, bool nameref, bool set)
{
	const char *eq = memchr(f->s.p, '=', f->s.n);
	struct rein_str name = eq ? str_to(f->s, (size_t)(eq - f->s.p)) : f->s;
	bool append = name.n && name.p[name.n - 1] == '+';
	struct field val = *f;

	if (append)
		name.n--;
	if (!eq) {
		struct var *v = var_find(cx, name);

		if (exported && v && v->vals) {
			val.s = v->vals->s;
			effect_env(cx, name, &val, f->at);
		}
		return;
	}
	val.s = str_from(f->s, (size_t)(eq - f->s.p) + 1);
	if (!set)
		var_set(cx, name, val.s, f->taint, append);
	if (nameref) {
		struct var *v = var_make(cx, name);

		v->nameref = true;
	}
	effect_env(cx, name, &val, f->at);
}

/* x, x=1, x+=1, x[0]=1 */
static size_t name_length(struct rein_str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != '=' && s.p[n] != '+' && s.p[n] != '[')
		n++;
	return n;
}

static bool is_plain_assignment(struct rein_str s)
{
	size_t n = name_length(s);

	return n < s.n && (s.p[n] == '=' || s.p[n] == '+');
}

struct data h_export(struct ctx *cx, struct call *c)
{
	bool nameref = call_has(c, "-n") && !str_is(c->argv[0].s, "export");
	bool exported = str_is(c->argv[0].s, "export") || call_has(c, "-x");

	for (size_t i = 0; i < c->ops.n; i++) {
		const char *eq = memchr(c->ops.v[i].s.p, '=', c->ops.v[i].s.n);

		/* declare -i x='a[$(cmd)]', declare -n x='a[$(cmd)]', declare 'a[$(cmd)]'=x */
		if (call_has(c, "-i") || nameref || !eq)
			run_index(cx, c->ops.v[i].s, c->ops.v[i].at);
		else
			run_index(cx, str_to(c->ops.v[i].s, (size_t)(eq - c->ops.v[i].s.p)),
				  c->ops.v[i].at);
	}
	for (size_t i = 0; i < c->ops.n; i++) {
		bool set = cx->declared && is_plain_assignment(c->ops.v[i].s);

		if (!set && str_in(c->argv[0].s, "local declare typeset") && !call_has(c, "-g"))
			var_local(cx, str_to(c->ops.v[i].s, name_length(c->ops.v[i].s)));
		declare_one(cx, &c->ops.v[i], exported, nameref, set);
	}
	return data_unknown(c->ops.n ? 0 : TAINT_SECRET);
}

struct data h_unset(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		run_index(cx, c->ops.v[i].s, c->ops.v[i].at);
		var_unset(cx, c->ops.v[i].s);
		/* a function, if no variable has the name */
		for (struct func *f = cx->funcs; f; f = f->next)
			f->doubtful |= rein_str_eq(f->name, c->ops.v[i].s);
		if (str_in(c->ops.v[i].s, "HISTFILE HISTSIZE HISTFILESIZE"))
			h_say(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, c->ops.v[i].at,
			    c->ops.v[i].s, "stops the shell from keeping its history");
	}
	return h_empty();
}

static struct data input_of(struct ctx *cx, struct call *c)
{
	const struct got *u = call_opt(c, "-u");
	unsigned fd = 0;

	if (!u)
		return c->io->in;
	for (size_t i = 0; i < u->val.s.n; i++) {
		if (u->val.s.p[i] < '0' || u->val.s.p[i] > '9')
			return data_unknown(TAINT_INPUT | u->val.taint);
		fd = fd * 10 + (unsigned)(u->val.s.p[i] - '0');
	}
	if (fd < CX_FDS && cx->fd_open[fd])
		return cx->fds[fd];
	return data_unknown(TAINT_INPUT);
}

struct data h_read(struct ctx *cx, struct call *c)
{
	struct data in = input_of(cx, c);
	struct rein_str line = in.text;
	const struct got *array = call_opt(c, "-a");
	size_t i = 0;

	for (size_t k = 0; k < c->ops.n; k++)
		run_index(cx, c->ops.v[k].s, c->ops.v[k].at);
	if (in.known) {
		const char *nl = line.n ? memchr(line.p, '\n', line.n) : NULL;

		if (nl)
			line.n = (size_t)(nl - line.p);
	} else {
		line = STR("\001");
	}
	if (array) {
		struct fields items = {0};

		fields_push(cx, &items, (struct field){.s = line, .taint = in.taint});
		var_array(cx, array->val.s, &items);
		return h_empty();
	}
	if (!c->ops.n)
		var_set(cx, STR("REPLY"), line, in.taint, false);
	for (; i < c->ops.n; i++) {
		struct rein_str part = line;
		size_t n = 0;

		if (in.known && i + 1 < c->ops.n) {
			while (line.n && (line.p[0] == ' ' || line.p[0] == '\t'))
				line = str_from(line, 1);
			while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
				n++;
			part = str_to(line, n);
			line = str_from(line, n + 1);
		}
		var_set(cx, c->ops.v[i].s, part, in.taint, false);
	}
	return h_empty();
}

struct data h_mapfile(struct ctx *cx, struct call *c)
{
	struct data in = input_of(cx, c);
	struct fields items = {0};
	struct rein_str name = c->ops.n ? c->ops.v[0].s : STR("MAPFILE"), rest = in.text;

	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role == ROLE_SHELL)
			role_effect(cx, c, ROLE_SHELL, &c->got[i].val);
	if (!in.known)
		fields_push(cx, &items, (struct field){.s = STR("\001"), .taint = in.taint});
	while (in.known && rest.n && items.n < 512) {
		const char *nl = memchr(rest.p, '\n', rest.n);
		size_t n = nl ? (size_t)(nl - rest.p) : rest.n;

		fields_push(cx, &items, (struct field){.s = str_to(rest, n), .taint = in.taint});
		rest = str_from(rest, n + 1);
	}
	var_array(cx, name, &items);
	return h_empty();
}

struct data h_trap(struct ctx *cx, struct call *c)
{
	struct field *code = c->ops.n ? &c->ops.v[0] : NULL;

	if (!code || c->ops.n < 2 || str_in(code->s, "-") || !code->s.n)
		return h_empty();
	cx->cond++;
	run_code_here(cx, code, c->io);
	cx->cond--;
	return h_empty();
}

struct data h_alias(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;
		const char *eq = memchr(s.p, '=', s.n);
		struct alias *al;

		if (!eq)
			continue;
		al = arena_new(cx->a, struct alias);
		al->name = str_to(s, (size_t)(eq - s.p));
		al->text = str_from(s, al->name.n + 1);
		al->next = cx->aliases;
		cx->aliases = al;
		if (know_find(cx, al->name) && !str_in(al->name, "l la ll lt")) /* everybody's own */
			h_say(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_RISKY, c->ops.v[i].at, al->name,
			    "gives a known command another meaning");
	}
	return h_empty();
}

struct data h_set(struct ctx *cx, struct call *c)
{
	bool refused = false; /* an option that is none: then nothing is set */
	size_t i = 1;

	for (; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		for (size_t k = 1; k < s.n && (s.p[0] == '-' || s.p[0] == '+') && !str_is(s, "--"); k++)
			refused |= !strchr("abefhkmnptuvxBCEHPTo", s.p[k]);
		if (str_is(c->argv[i].s, "+o") && i + 1 < c->argc &&
		    str_is(c->argv[i + 1].s, "history"))
			h_say(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, c->argv[i].at,
			    STR("history"), "stops the shell from keeping its history");
		if (str_is(c->argv[i].s, "--") || (c->argv[i].s.n && c->argv[i].s.p[0] != '-' &&
						   c->argv[i].s.p[0] != '+' &&
						   !str_is(c->argv[i - 1].s, "-o") &&
						   !str_is(c->argv[i - 1].s, "+o")))
			break;
	}
	if (i < c->argc) {
		struct frame *f = arena_new(cx->a, struct frame);
		size_t from = str_is(c->argv[i].s, "--") ? i + 1 : i;

		/* set on one way only: which they are is not known */
		if (!cx->cond && !refused) {
			f->v = c->argv + from;
			f->n = c->argc - from;
			f->known = true;
			frame_cut(f);
		}
		cx->frame = f;
	}
	return c->argc == 1 ? data_unknown(TAINT_SECRET) : h_empty();
}

struct data h_shift(struct ctx *cx, struct call *c)
{
	struct frame *f = arena_new(cx->a, struct frame);
	size_t by = c->argc > 1 && c->argv[1].s.n == 1 ? (size_t)(c->argv[1].s.p[0] - '0') : 1;

	if (!cx->frame)
		return h_empty();
	f->zero = cx->frame->zero;
	/* by how much is not known, or on one way only */
	if (!cx->cond && by < 10 && (c->argc == 1 || c->argv[1].s.n == 1)) {
		by = by < cx->frame->n ? by : cx->frame->n;
		f->v = cx->frame->v + by;
		f->n = cx->frame->n - by;
		f->known = cx->frame->known;
	}
	cx->frame = f;
	return h_empty();
}

struct data h_shopt(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++)
		if (call_has(c, "-s")) {
			cx->lastpipe |= str_is(c->ops.v[i].s, "lastpipe");
			cx->extglob |= str_is(c->ops.v[i].s, "extglob");
		}
	return h_empty();
}

struct data h_hash(struct ctx *cx, struct call *c)
{
	const struct got *p = call_opt(c, "-p");

	if (p && c->ops.n) {
		struct alias *al = arena_new(cx->a, struct alias);

		al->name = c->ops.v[0].s;
		al->text = p->val.s;
		al->next = cx->aliases;
		cx->aliases = al;
		h_say(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_DANGEROUS, p->at, al->name,
		    "makes a command name run another program");
	}
	return h_empty();
}

struct data h_test(struct ctx *cx, struct call *c)
{
	for (size_t i = 1; i + 1 < c->argc; i++)
		if (str_is(c->argv[i].s, "-v"))
			run_index(cx, c->argv[i + 1].s, c->argv[i + 1].at);
	return h_empty();
}

struct data h_pwd(struct ctx *cx, struct call *c)
{
	struct data d;

	(void)c;
	if (cx->cwd_unknown)
		return data_unknown(0);
	d = data_known(cx->cwd);
	return d;
}

struct data h_shell(struct ctx *cx, struct call *c)
{
	bool code = false, from_stdin = false, noexec = false, interactive = false, inner;
	size_t i = 1;

	for (; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_is(s, "--") || str_is(s, "-")) {
			i++;
			break;
		}
		if (str_in(s, "--help --version"))
			return data_unknown(0);
		if (str_in(s, "--rcfile --init-file")) {
			if (i + 1 < c->argc)
				effect_script(cx, &c->argv[i + 1], "shell");
			i++;
			continue;
		}
		if (str_starts(s, "--command=")) {
			struct field f = c->argv[i];

			f.s = str_from(s, 10);
			return h_run_code(cx, &f, c->io);
		}
		if (str_is(s, "--command")) {
			code = true;
			continue;
		}
		if (str_starts(s, "--"))
			continue;
		if (s.n < 2 || (s.p[0] != '-' && s.p[0] != '+'))
			break;
		if (memchr(s.p, HOLE, s.n))
			from_stdin = true; /* might be -c or -s: the rest is code then */
		code |= s.p[0] == '-' && memchr(s.p, 'c', s.n);
		from_stdin |= s.p[0] == '-' && memchr(s.p, 's', s.n);
		noexec |= s.p[0] == '-' && memchr(s.p, 'n', s.n);
		interactive |= s.p[0] == '-' && memchr(s.p, 'i', s.n);
		if ((s.p[s.n - 1] == 'o' || s.p[s.n - 1] == 'O') && i + 1 < c->argc) {
			i++;
			cx->extglob |= str_is(c->argv[i].s, "extglob");
		}
	}
	if (code && i < c->argc) {
		struct frame frame = {.v = c->argv + i + 1, .known = true}, *old = cx->frame;
		struct data d;

		frame.n = c->argc > i + 1 ? c->argc - i - 1 : 0;
		if (frame.n) { /* the first one is $0 */
			frame.zero = frame.v[0];
			frame.v++;
			frame.n--;
		}
		frame_cut(&frame);
		if (frame.zero.multi || (has_hole(frame.zero.s) &&
					 !frame.zero.quoted)) { /* more words may hide in it */
			frame.n = 0;
			frame.known = false;
		}
		cx->frame = &frame;
		d = h_run_code(cx, &c->argv[i], c->io);
		cx->frame = old;
		return d;
	}
	if (code) {
		h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, c->argv[0].at, STR("-c"),
		    "a shell whose code is missing here");
		return data_unknown(0);
	}
	if (i < c->argc && !from_stdin) {
		if (noexec) {
			effect_read(cx, &c->argv[i]);
			return data_unknown(0);
		}
		if (c->argv[i].multi && has_hole(c->argv[i].s) && c->argv[i].s.n == 1) {
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, c->argv[i].at,
			    c->argv[i].s, "runs code that cannot be seen");
			return data_unknown(0);
		}
		if (str_in(c->argv[i].s, "/dev/stdin /dev/fd/0 /proc/self/fd/0"))
			effect_code(cx, &c->io->in, "shell", c->argv[i].at);
		else
			effect_script(cx, &c->argv[i], "shell");
		return data_unknown(0);
	}
	if (c->io->piped) {
		if (interactive)
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, c->argv[0].at, c->argv[0].s,
			    "an interactive shell that something else talks to");
		if (!noexec)
			effect_code(cx, &c->io->in, "shell", c->argv[0].at);
		return data_unknown(c->io->in.taint);
	}
	/* "nice sh", awk 'BEGIN{system("sh")}': nobody needs another program for that who may have
	 * a shell */
	inner = cx->depth > 1 && !cx->remote;
	h_say(cx, REIN_FACT_EXEC, cx->privileged || inner ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY,
	      c->argv[0].at, c->argv[0].s,
	      inner	    ? "a shell that another program starts"
	      : interactive ? "starts an interactive shell"
			    : "starts a shell");
	return data_unknown(TAINT_INPUT);
}

/* The process -1 is every process one may signal; as the first word it is a signal. */
struct data h_kill(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 2; i < c->argc; i++)
		if (str_is(c->argv[i].s, "-1"))
			fact(cx, REIN_FACT_SERVICE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, c->argv[i].at, "-1",
			     "stops every process it can");
	for (size_t i = 0; i < c->ops.n; i++)
		if (str_is(c->ops.v[i].s, "1"))
			fact(cx, REIN_FACT_SERVICE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, "1",
			     "stops the first process, and with it the machine or the container");
	return data_unknown(0);
}
