/* SPDX-License-Identifier: Apache-2.0 */
/* Builtins of the shell, shells themselves, and programs whose argument is another command. */
#include "classify/internal.h"
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED

static struct data empty(void)
{
	return data_known(STR(""));
}

static void say(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level, struct range at,
		struct rein_str what, const char *why)
{
	fact(cx, kind, level, LOCAL, at, show(cx, what), why);
}

/* ------------------------------------------------------------ output */

static void escapes(struct sbuf *out, struct rein_str s)
{
	bool stop = false;

	for (size_t i = 0; i < s.n && !stop;) {
		if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'c')
			return;
		if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == '0' && i + 2 < s.n) {
			/* echo -e and %b: \0nnn */
			unsigned v = 0;
			size_t k = i + 2;

			for (; k < s.n && k < i + 5 && s.p[k] >= '0' && s.p[k] <= '7'; k++)
				v = v * 8 + (unsigned)(s.p[k] - '0');
			if (v >= 5)
				sbuf_char(out, (char)v);
			i = k;
		} else if (s.p[i] == '\\') {
			i += shell_ansi_escape(s.p + i, s.n - i, out, &stop);
		} else {
			sbuf_char(out, s.p[i++]);
		}
	}
}

static struct data data_of(struct sbuf *b, uint16_t taint)
{
	struct data d = {.text = sbuf_view(b), .taint = taint};

	d.known = is_literal(d.text);
	return d;
}

struct data h_echo(struct ctx *cx, struct call *c)
{
	struct sbuf out = {.a = cx->a};
	bool newline = true, interpret = false;
	uint16_t taint = 0;
	size_t i = 1;

	for (; i < c->argc && c->argv[i].s.n > 1 && c->argv[i].s.p[0] == '-'; i++) {
		struct rein_str f = str_from(c->argv[i].s, 1);
		bool all = true;

		for (size_t k = 0; k < f.n; k++)
			all &= f.p[k] == 'n' || f.p[k] == 'e' || f.p[k] == 'E';
		if (!all)
			break;
		newline &= !memchr(f.p, 'n', f.n);
		interpret |= memchr(f.p, 'e', f.n) != NULL;
	}
	for (size_t first = i; i < c->argc; i++) {
		if (i > first)
			sbuf_char(&out, ' ');
		if (interpret)
			escapes(&out, c->argv[i].s);
		else
			sbuf_str(&out, c->argv[i].s);
		taint |= c->argv[i].taint;
	}
	if (newline)
		sbuf_char(&out, '\n');
	return data_of(&out, taint);
}

struct data h_printf(struct ctx *cx, struct call *c)
{
	struct sbuf out = {.a = cx->a};
	size_t i = 1, next;
	struct rein_str var = {0}, fmt;
	uint16_t taint = 0;
	bool used;
	struct data d;

	if (i + 1 < c->argc && str_is(c->argv[i].s, "-v")) {
		var = c->argv[i + 1].s;
		i += 2;
	}
	if (i < c->argc && str_is(c->argv[i].s, "--"))
		i++;
	if (i >= c->argc)
		return empty();
	fmt = c->argv[i++].s;
	taint = c->argv[i - 1].taint;
	next = i;
	do {
		bool stop = false;

		used = false;
		for (size_t k = 0; k < fmt.n && !stop;) {
			if (fmt.p[k] == '\\') {
				k += shell_ansi_escape(fmt.p + k, fmt.n - k, &out, &stop);
			} else if (fmt.p[k] != '%') {
				sbuf_char(&out, fmt.p[k++]);
			} else if (k + 1 < fmt.n && fmt.p[k + 1] == '%') {
				sbuf_char(&out, '%');
				k += 2;
			} else {
				struct rein_str arg = STR("");

				k++;
				while (k < fmt.n && strchr("-+ #0123456789.*'", fmt.p[k]))
					k++;
				if (next < c->argc) {
					taint |= c->argv[next].taint;
					arg = c->argv[next++].s;
					used = true;
				}
				if (k < fmt.n && fmt.p[k] == 'b')
					escapes(&out, arg);
				else if (k < fmt.n && strchr("xXocefgi(", fmt.p[k]) && arg.n)
					sbuf_char(&out, HOLE);
				else
					sbuf_str(&out, arg);
				k++;
			}
		}
	} while (used && next < c->argc && out.n < 65536);
	d = data_of(&out, taint);
	if (var.n) {
		var_set(cx, var, d.text, taint, false);
		return empty();
	}
	return d;
}

struct data h_cat(struct ctx *cx, struct call *c)
{
	struct data d = {.known = true, .text = STR("")};

	call_base(cx, c);
	if (!c->ops.n) {
		d = c->io->in;
		return c->n_got && d.known ? data_unknown(d.taint) : d;
	}
	for (size_t i = 0; i < c->ops.n; i++) {
		struct field *f = &c->ops.v[i];

		if (str_is(f->s, "-") || str_is(f->s, "/dev/stdin")) {
			d = data_join(cx, d, c->io->in);
			continue;
		}
		effect_read(cx, f);
		d = data_join(cx, d, file_data(cx, f));
	}
	if (c->n_got && d.known)
		d.known = false;
	return d;
}

/* ------------------------------------------------------------ state of the shell */

struct data h_cd(struct ctx *cx, struct call *c)
{
	struct field to = c->ops.n ? c->ops.v[0] : (struct field){.s = cx->home};

	undo_push_cwd(cx);
	if (str_is(to.s, "-") || !to.s.n || to.s.p[0] == '+') {
		cx->cwd_unknown = !str_is(to.s, "");
		return empty();
	}
	to.s = path_resolve(cx, to.s);
	if (!is_literal(to.s)) {
		struct spot s = path_spot(cx, to.s);

		/* "$x" may be anywhere; "src/$x" is still inside */
		cx->cwd_unknown = s.place != PLACE_WORKSPACE;
		if (cx->cwd_unknown)
			return empty();
	}
	if (cx->cwd_unknown && to.s.n && to.s.p[0] == HOLE)
		return empty();
	cx->cwd = to.s;
	cx->cwd_unknown = false;
	return empty();
}

static struct data run_code(struct ctx *cx, const struct field *f, struct io *io)
{
	struct data d = {.text = f->s, .known = is_literal(f->s), .taint = f->taint};
	struct data out = run_text(cx, f->s, f->at, io);

	if (d.known && f->taint & TAINT_DECODED)
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, NULL,
		     "runs code that was encoded");
	if (has_hole(f->s)) {
		/* a hole among the arguments was judged where it stands; one that is the code was not */
		if (f->taint & (TAINT_NET | TAINT_DECODED) || f->s.n == 1)
			effect_code(cx, &d, "shell", f->at);
	}
	return out;
}

static struct field join_fields(struct ctx *cx, const struct field *v, size_t n)
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
		return empty();
	f = join_fields(cx, c->argv + 1, c->argc - 1);
	return run_code(cx, &f, c->io);
}

struct data h_source(struct ctx *cx, struct call *c)
{
	if (!c->ops.n)
		return empty();
	if (str_in(c->ops.v[0].s, "/dev/stdin /dev/fd/0 /proc/self/fd/0")) {
		effect_code(cx, &c->io->in, "shell", c->ops.v[0].at);
		return data_unknown(0);
	}
	/* activating an environment of the project is routine */
	if (str_ends(c->ops.v[0].s, "/bin/activate") && !vfile_find(cx, c->ops.v[0].s))
		return empty();
	effect_script(cx, &c->ops.v[0], "shell");
	return data_unknown(0);
}

struct data h_exec(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	return c->rest < c->argc ? exec_rest(cx, c, c->rest) : empty();
}

static void declare_one(struct ctx *cx, const struct field *f, bool exported, bool nameref)
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
	var_set(cx, name, val.s, f->taint, append);
	if (nameref) {
		struct var *v = var_make(cx, name);

		v->nameref = true;
	}
	effect_env(cx, name, &val, f->at);
}

struct data h_export(struct ctx *cx, struct call *c)
{
	bool nameref = call_has(c, "-n") && !str_is(c->argv[0].s, "export");
	bool exported = str_is(c->argv[0].s, "export") || call_has(c, "-x");

	for (size_t i = 0; i < c->ops.n; i++)
		declare_one(cx, &c->ops.v[i], exported, nameref);
	return data_unknown(c->ops.n ? 0 : TAINT_SECRET);
}

struct data h_unset(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		var_unset(cx, c->ops.v[i].s);
		if (str_in(c->ops.v[i].s, "HISTFILE HISTSIZE HISTFILESIZE"))
			say(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, c->ops.v[i].at,
			    c->ops.v[i].s, "stops the shell from keeping its history");
	}
	return empty();
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
		return empty();
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
	return empty();
}

struct data h_mapfile(struct ctx *cx, struct call *c)
{
	struct data in = input_of(cx, c);
	struct fields items = {0};
	struct rein_str name = c->ops.n ? c->ops.v[0].s : STR("MAPFILE"), rest = in.text;

	if (!in.known)
		fields_push(cx, &items, (struct field){.s = STR("\001"), .taint = in.taint});
	while (in.known && rest.n && items.n < 512) {
		const char *nl = memchr(rest.p, '\n', rest.n);
		size_t n = nl ? (size_t)(nl - rest.p) : rest.n;

		fields_push(cx, &items, (struct field){.s = str_to(rest, n), .taint = in.taint});
		rest = str_from(rest, n + 1);
	}
	var_array(cx, name, &items);
	return empty();
}

struct data h_trap(struct ctx *cx, struct call *c)
{
	struct field *code = c->ops.n ? &c->ops.v[0] : NULL;

	if (!code || c->ops.n < 2 || str_in(code->s, "-") || !code->s.n)
		return empty();
	cx->cond++;
	run_code(cx, code, c->io);
	cx->cond--;
	return empty();
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
		if (know_find(cx, al->name))
			say(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_RISKY, c->ops.v[i].at, al->name,
			    "gives a known command another meaning");
	}
	return empty();
}

struct data h_set(struct ctx *cx, struct call *c)
{
	size_t i = 1;

	for (; i < c->argc; i++) {
		if (str_is(c->argv[i].s, "+o") && i + 1 < c->argc &&
		    str_is(c->argv[i + 1].s, "history"))
			say(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, c->argv[i].at,
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

		f->v = c->argv + from;
		f->n = c->argc - from;
		f->known = true;
		cx->frame = f;
	}
	return c->argc == 1 ? data_unknown(TAINT_SECRET) : empty();
}

struct data h_shopt(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++)
		if (call_has(c, "-s")) {
			cx->lastpipe |= str_is(c->ops.v[i].s, "lastpipe");
			cx->extglob |= str_is(c->ops.v[i].s, "extglob");
		}
	return empty();
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
		say(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_DANGEROUS, p->at, al->name,
		    "makes a command name run another program");
	}
	return empty();
}

struct data h_test(struct ctx *cx, struct call *c)
{
	(void)cx;
	(void)c;
	return empty();
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

/* ------------------------------------------------------------ shells */

struct data h_shell(struct ctx *cx, struct call *c)
{
	bool code = false, from_stdin = false, noexec = false, interactive = false;
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
			return run_code(cx, &f, c->io);
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
		for (size_t k = 0; k < frame.n; k++)
			frame.known &= !frame.v[k].multi;
		cx->frame = &frame;
		d = run_code(cx, &c->argv[i], c->io);
		cx->frame = old;
		return d;
	}
	if (code) {
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, c->argv[0].at, STR("-c"),
		    "a shell whose code is missing here");
		return data_unknown(0);
	}
	if (i < c->argc && !from_stdin) {
		if (noexec) {
			effect_read(cx, &c->argv[i]);
			return data_unknown(0);
		}
		if (c->argv[i].multi && has_hole(c->argv[i].s) && c->argv[i].s.n == 1) {
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, c->argv[i].at,
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
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, c->argv[0].at, c->argv[0].s,
			    "an interactive shell that something else talks to");
		if (!noexec)
			effect_code(cx, &c->io->in, "shell", c->argv[0].at);
		return data_unknown(c->io->in.taint);
	}
	say(cx, REIN_FACT_EXEC, cx->privileged ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY,
	    c->argv[0].at, c->argv[0].s,
	    interactive ? "starts an interactive shell" : "starts a shell");
	return data_unknown(TAINT_INPUT);
}

/* ------------------------------------------------------------ wrappers */

static bool is_assignment(struct rein_str s)
{
	const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;

	if (!eq || eq == s.p)
		return false;
	for (const char *p = s.p; p < eq; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
		      (*p >= '0' && *p <= '9')))
			return false;
	return !(s.p[0] >= '0' && s.p[0] <= '9');
}

/* NAME=value … command */
static struct data assigned_command(struct ctx *cx, struct field *v, size_t n, struct io *io,
				    bool *ran)
{
	struct undo *mark = undo_mark(cx);
	struct data d = data_unknown(0);
	size_t i = 0;

	for (; i < n && is_assignment(v[i].s); i++) {
		const char *eq = memchr(v[i].s.p, '=', v[i].s.n);
		struct rein_str name = str_to(v[i].s, (size_t)(eq - v[i].s.p));
		struct field val = v[i];

		val.s = str_from(v[i].s, name.n + 1);
		effect_env(cx, name, &val, v[i].at);
		var_set(cx, name, val.s, val.taint, false);
	}
	*ran = i < n;
	if (i < n)
		d = exec_argv(cx, v + i, n - i, io);
	undo_to(cx, mark);
	return d;
}

/* env -S 'words with "quotes"' */
static void split_words(struct ctx *cx, const struct field *f, struct fields *out)
{
	struct script sc;
	struct range at = f->at;

	shell_parse(cx->a, f->s, 0, &at, cx->extglob, &sc);
	if (sc.error || !sc.root || !sc.root->kids || sc.root->kids->kind != NODE_SIMPLE) {
		fields_push(cx, out, *f);
		return;
	}
	for (struct assign *as = sc.root->kids->assigns; as; as = as->next) {
		struct sbuf t = {.a = cx->a};
		struct field val = expand_one(cx, as->value), whole = *f;

		sbuf_str(&t, as->name);
		sbuf_char(&t, '=');
		sbuf_str(&t, val.s);
		whole.s = sbuf_view(&t);
		fields_push(cx, out, whole);
	}
	for (struct word *w = sc.root->kids->words; w; w = w->next)
		expand_word(cx, w, out);
}

struct data h_env(struct ctx *cx, struct call *c)
{
	struct fields v = {0};
	struct data d;
	bool ran;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_CWD && g->val.s.n) {
			undo_push_cwd(cx);
			cx->cwd = path_resolve(cx, g->val.s);
		}
		if (!strcmp(g->opt->name, "-S") || !strcmp(g->opt->name, "--split-string"))
			split_words(cx, &g->val, &v);
	}
	for (size_t i = c->rest; i < c->argc; i++)
		fields_push(cx, &v, c->argv[i]);
	/* "env -- A=b cmd": the double dash was eaten already */
	d = assigned_command(cx, v.v, v.n, c->io, &ran);
	if (!ran)
		d = data_unknown(TAINT_SECRET);
	return d;
}

struct data h_sudo(struct ctx *cx, struct call *c)
{
	bool shell = call_has(c, "-s") || call_has(c, "-i");
	struct data d;
	bool ran;

	if (call_has(c, "-e") || str_is(c->argv[0].s, "sudoedit")) {
		for (size_t i = c->rest; i < c->argc; i++)
			effect_write(cx, &c->argv[i], true);
		return empty();
	}
	fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_RISKY, LOCAL, c->argv[0].at, NULL,
	     "runs as another user");
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role == ROLE_CWD) {
			undo_push_cwd(cx);
			cx->cwd = path_resolve(cx, c->got[i].val.s);
		}
	cx->privileged++;
	d = assigned_command(cx, c->argv + c->rest, c->argc - c->rest, c->io, &ran);
	cx->privileged--;
	if (!ran && shell)
		fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, LOCAL, c->argv[0].at, NULL,
		     "opens a shell as another user");
	return d;
}

struct data h_su(struct ctx *cx, struct call *c)
{
	const struct got *code = call_opt(c, "-c");
	struct data d = data_unknown(0);

	fact(cx, REIN_FACT_PRIVILEGE, code ? REIN_LEVEL_RISKY : REIN_LEVEL_DANGEROUS, LOCAL,
	     c->argv[0].at, NULL,
	     code ? "runs as another user" : "opens a shell as another user");
	cx->privileged++;
	if (code)
		d = run_code(cx, &code->val, c->io);
	else if (c->dashdash != (size_t)-1 && c->ops.n > c->dashdash)
		d = exec_argv(cx, c->ops.v + c->dashdash, c->ops.n - c->dashdash, c->io);
	else if (str_is(c->argv[0].s, "runuser") && call_has(c, "-u") && c->ops.n)
		d = exec_argv(cx, c->ops.v, c->ops.n, c->io);
	cx->privileged--;
	return d;
}

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
	while (i < s.n && out->n < 64) {
		size_t n = 0;

		while (i < s.n && (s.p[i] == '\n' || (!lines && (s.p[i] == ' ' || s.p[i] == '\t'))))
			i++;
		while (i + n < s.n && s.p[i + n] != '\n' &&
		       (lines || (s.p[i + n] != ' ' && s.p[i + n] != '\t')))
			n++;
		if (n)
			fields_push(cx, out,
				    (struct field){.s = {s.p + i, n}, .taint = in->taint, .at = at});
		i += n;
	}
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
	for (size_t k = 0; k < items.n && k < 8; k++) {
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
	line = join_fields(cx, v.v, v.n);
	line.at = item->at.end ? item->at : c->argv[0].at;
	run_code(cx, &line, &inner);
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
	for (size_t k = 0; k < items.n && k < 8; k++)
		parallel_one(cx, c, c->rest, end, &items.v[k]);
	if (call_has(c, "-S"))
		cx->remote--;
	return data_unknown(c->io->in.taint);
}

/* ------------------------------------------------------------ find */

static bool find_ends(const struct field *f)
{
	return str_is(f->s, ";") || str_is(f->s, "+") || str_is(f->s, "\\+") || str_is(f->s, "\\;");
}

static size_t find_exec(struct ctx *cx, struct call *c, size_t i, const struct field *start)
{
	struct fields v = {0};
	struct io inner = {.in = data_unknown(0)};
	struct sbuf path = {.a = cx->a};
	struct field item = *start;

	sbuf_str(&path, start->s);
	sbuf_char(&path, '/');
	sbuf_char(&path, HOLE);
	item.s = sbuf_view(&path);
	item.taint = TAINT_NAMES;
	for (; i < c->argc && !find_ends(&c->argv[i]); i++)
		fields_push(cx, &v, replaced(cx, &c->argv[i], STR("{}"), &item));
	if (v.n)
		exec_argv(cx, v.v, v.n, &inner);
	return i;
}

struct data h_find(struct ctx *cx, struct call *c)
{
	struct fields starts = {0};
	size_t i = 1;

	while (i < c->argc && (str_in(c->argv[i].s, "-H -L -P -E -X -x -s -d -f") ||
			       str_starts(c->argv[i].s, "-O") || str_is(c->argv[i].s, "-D"))) {
		if (str_is(c->argv[i].s, "-D"))
			i++;
		i++;
	}
	for (; i < c->argc && c->argv[i].s.n && !strchr("-(!,", c->argv[i].s.p[0]); i++) {
		effect_read(cx, &c->argv[i]);
		fields_push(cx, &starts, c->argv[i]);
	}
	if (!starts.n)
		fields_push(cx, &starts, field_of(cx, ".", c->argv[0].at));
	for (; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_is(s, "-delete")) {
			for (size_t k = 0; k < starts.n; k++) {
				struct field f = starts.v[k];

				f.at = c->argv[i].at;
				effect_delete(cx, &f, true);
			}
		} else if (str_in(s, "-exec -execdir -ok -okdir")) {
			size_t next = i;

			for (size_t k = 0; k < starts.n && k < 4; k++)
				next = find_exec(cx, c, i + 1, &starts.v[k]);
			i = next;
		} else if (str_in(s, "-fprint -fprint0 -fls -fprintf") && i + 1 < c->argc) {
			effect_write(cx, &c->argv[++i], false);
		} else if (str_in(s, "-files0-from -newer -anewer -cnewer -samefile") &&
			   i + 1 < c->argc) {
			effect_read(cx, &c->argv[++i]);
		} else if (s.n && s.p[0] == HOLE && !c->argv[i].quoted) {
			/* an unknown word may be -delete */
			if (!(c->argv[i].taint & (TAINT_ENV | TAINT_INPUT | TAINT_NUMBER)))
				say(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, c->argv[i].at, s,
				    "an expression that is only known when it runs");
		}
	}
	return data_unknown(TAINT_NAMES);
}

struct data h_fd(struct ctx *cx, struct call *c)
{
	struct io inner = {.in = data_unknown(0)};
	struct field item = {.s = STR("./\001"), .taint = TAINT_NAMES, .at = c->argv[0].at};

	for (size_t i = 1; i < c->argc; i++) {
		struct fields v = {0};
		bool used = false;

		if (!str_in(c->argv[i].s, "-x -X --exec --exec-batch"))
			continue;
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
	return data_unknown(TAINT_NAMES);
}

/* ------------------------------------------------------------ remote and other carriers */

static void ssh_option(struct ctx *cx, struct call *c, const struct got *g)
{
	static const char *const run[] = {"proxycommand", "localcommand", "knownhostscommand",
					  "match"};
	struct rein_str v = g->val.s;

	for (size_t i = 0; i < ARRAY_SIZE(run); i++) {
		size_t n = strlen(run[i]);

		if (v.n > n && !strncasecmp(v.p, run[i], n) && (v.p[n] == '=' || v.p[n] == ' ')) {
			struct field f = g->val;

			f.s = str_from(v, n + 1);
			role_effect(cx, c, ROLE_PROG, &f);
		}
	}
}

struct data h_ssh(struct ctx *cx, struct call *c)
{
	struct field host = c->ops.n ? c->ops.v[0] : c->argv[0];
	struct data d = data_unknown(TAINT_NET);

	for (size_t i = 0; i < c->n_got; i++) {
		if (!strcmp(c->got[i].opt->name, "-o"))
			ssh_option(cx, c, &c->got[i]);
	}
	call_base(cx, c);
	fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, host.at,
	     show(cx, host.s), "works on another machine");
	if (c->io->piped && c->io->in.taint & TAINT_SECRET)
		effect_send(cx, &c->io->in, host.at);
	cx->remote++;
	if (c->ops.n > 1) {
		struct field code = join_fields(cx, c->ops.v + 1, c->ops.n - 1);

		d = run_code(cx, &code, c->io);
		d.known = false;
		d.taint |= TAINT_NET;
	} else if (c->io->piped && !call_has(c, "-N")) {
		effect_code(cx, &c->io->in, "shell", host.at);
	}
	cx->remote--;
	return d;
}

struct data h_multicall(struct ctx *cx, struct call *c)
{
	size_t i = 1;

	while (i < c->argc && c->argv[i].s.n > 1 && c->argv[i].s.p[0] == '-') {
		if (str_in(c->argv[i].s, "--list --help --list-full --list-modules --verify"))
			return data_unknown(0);
		if (str_in(c->argv[i].s, "--library-path --argv0 --preload --audit"))
			i++;
		i++;
	}
	if (i >= c->argc)
		return data_unknown(0);
	return exec_argv(cx, c->argv + i, c->argc - i, c->io);
}

struct data h_watch(struct ctx *cx, struct call *c)
{
	struct field code;

	call_base(cx, c);
	if (c->rest >= c->argc)
		return data_unknown(0);
	if (call_has(c, "-x"))
		return exec_rest(cx, c, c->rest);
	/* its words are joined and go through a shell: read them both ways */
	if (c->argc - c->rest > 1)
		exec_rest(cx, c, c->rest);
	code = join_fields(cx, c->argv + c->rest, c->argc - c->rest);
	return run_code(cx, &code, c->io);
}

struct data h_flock(struct ctx *cx, struct call *c)
{
	if (c->ops.n)
		effect_make(cx, &c->ops.v[0]);
	for (size_t i = 1; i + 1 < c->argc; i++)
		if (str_in(c->argv[i].s, "-c --command"))
			return run_code(cx, &c->argv[i + 1], c->io);
	return c->rest < c->argc ? exec_rest(cx, c, c->rest) : data_unknown(0);
}

struct data h_script(struct ctx *cx, struct call *c)
{
	const struct got *code = call_opt(c, "-c");
	struct data d = data_unknown(0);

	const struct field *text = code ? &code->val : NULL;

	call_base(cx, c);
	/* options may follow the file */
	for (size_t i = c->rest; !text && i + 1 < c->argc && c->argv[i].s.n && c->argv[i].s.p[0] == '-';
	     i++)
		if (str_in(c->argv[i].s, "-c --command -qc -fc -qec")) {
			text = &c->argv[i + 1];
			c->rest = c->argc;
		}
	if (text)
		d = run_code(cx, text, c->io);
	if (c->ops.n) {
		effect_write(cx, &c->ops.v[0], false);
		d.known = false;
		vfile_put(cx, c->ops.v[0].s, d, false);
	}
	if (c->rest < c->argc)
		d = exec_rest(cx, c, c->rest);
	else if (!text)
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, c->argv[0].at, STR("script"),
		    "starts a shell");
	return d;
}

/* npx, bunx, uvx, pipx run: a package's program, fetched when it is not here */
struct data h_npx(struct ctx *cx, struct call *c)
{
	struct rein_str name;
	struct field *copy;
	const char *at;
	size_t n;

	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role == ROLE_SHELL)
			role_effect(cx, c, ROLE_SHELL, &c->got[i].val);
	if (c->rest >= c->argc) {
		call_base(cx, c);
		return data_unknown(0);
	}
	n = c->argc - c->rest;
	copy = arena_alloc(cx->a, n * sizeof(*copy));
	memcpy(copy, c->argv + c->rest, n * sizeof(*copy));
	name = copy[0].s;
	at = name.n > 1 ? memchr(name.p + 1, '@', name.n - 1) : NULL;
	if (at)
		copy[0].s = str_to(name, (size_t)(at - name.p));
	if (at || c->acts & ACT_RISKY || !know_find(cx, copy[0].s) || call_has(c, "-p"))
		fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_RISKY, LOCAL, copy[0].at, show(cx, name),
		     "downloads a package and runs it");
	if (know_find(cx, copy[0].s))
		return exec_argv(cx, copy, n, c->io);
	return data_unknown(0);
}

struct data h_printenv(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++)
		if (env_is_secret(cx, c->ops.v[i].s))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, c->ops.v[i].at,
			    c->ops.v[i].s, "prints a credential");
	return data_unknown(TAINT_SECRET);
}

struct data h_crontab(struct ctx *cx, struct call *c)
{
	if (call_has(c, "-l"))
		return data_unknown(0);
	if (call_has(c, "-r")) {
		say(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, c->argv[0].at, STR("crontab"),
		    "removes all scheduled jobs");
		return empty();
	}
	if (c->ops.n || c->io->piped || call_has(c, "-e"))
		say(cx, REIN_FACT_PERSIST, REIN_LEVEL_DANGEROUS, c->argv[0].at, STR("crontab"),
		    "schedules jobs that run by themselves");
	else
		say(cx, REIN_FACT_PERSIST, REIN_LEVEL_RISKY, c->argv[0].at, STR("crontab"),
		    "replaces the scheduled jobs");
	return empty();
}
