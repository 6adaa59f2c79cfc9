/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words with a meaning that only some programs give them, which roles cannot say: a pager's +!command,
 * the pictures of convert that are none, the limits of another process. Which of them a program has is
 * the `note` of its entry in knowledge/; docs/knowledge.md lists them.
 */
#include "classify/internal.h"

/* parted -l, parted DISK [unit U] print: one command that shows, and nothing after it */
static bool prints_disk(const struct call *c)
{
	size_t i = c->ops.n == 4 && str_is(c->ops.v[1].s, "unit") ? 3 : 1;

	if (c->ops.n < 2)
		return call_has(c, "-l");
	return c->ops.n == i + 1 && str_in(c->ops.v[i].s, "print p");
}

static struct rein_str first_word(struct rein_str s)
{
	size_t n = 0;

	while (n < s.n && !strchr(" \t/;", s.p[n]))
		n++;
	return str_to(s, n);
}

static bool is_debugger_command(const struct got *g)
{
	return str_in(rein_str(g->opt->key), "-ex -iex -o");
}

/* gdb -batch -ex bt ./a.out core: commands that show a program or its core, and nothing is started
 */
static bool debugger_shows(const struct call *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str s = c->got[i].val.s;

		if (str_in(rein_str(c->got[i].opt->key), "-p -x --args"))
			return false;
		if (!is_debugger_command(&c->got[i]))
			continue;
		any = true;
		/* print f(x) calls it; set var = x, p x = 1 change it */
		if (!str_in(first_word(s), "info i bt backtrace where list l disassemble disas "
					   "ptype whatis show frame f up down "
					   "thread quit q help echo print p x image bt-all") ||
		    memchr(s.p, '(', s.n) || memchr(s.p, '=', s.n) || memchr(s.p, '|', s.n) ||
		    has_hole(s))
			return false;
	}
	return any && (call_has(c, "-batch") || call_has(c, "--batch"));
}

static void debugger_commands(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str s = c->got[i].val.s, word = first_word(s);
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		if (!is_debugger_command(&c->got[i]) || !s.n)
			continue;
		if (s.p[0] == '!' || str_is(word, "shell"))
			run_text(cx, str_from(s, s.p[0] == '!' ? 1 : word.n), c->got[i].at, &io);
		if (s.p[0] == '!' ||
		    str_in(word, "shell python py python-interactive source call compile make pipe "
				 "| script platform "
				 "guile expression expr") ||
		    str_has(s, "system(") || str_has(s, "exec"))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     c->got[i].at, show(cx, s), "a command of the debugger that runs code");
	}
}

/* sftp host <<< 'put x': what is sent stands in its input */
static void transfer_lines(struct ctx *cx, const struct call *c)
{
	struct rein_str s = c->io->in.text;

	while (c->io->piped && c->io->in.known && s.n && cx_step(cx)) {
		const char *nl = memchr(s.p, '\n', s.n);
		struct rein_str line = nl ? str_to(s, (size_t)(nl - s.p)) : s,
				verb = first_word(line);
		struct field f = {.at = c->argv[0].at};
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		s = str_from(s, line.n + 1);
		f.s = str_from(line, verb.n + 1);
		if (str_starts(line, "!"))
			run_text(cx, str_from(line, 1), f.at, &io);
		while (f.s.n && f.s.p[0] == '-') { /* put -r x */
			f.s = str_from(f.s, first_word(f.s).n + 1);
		}
		if (f.s.n && memchr(f.s.p, ' ', f.s.n))
			f.s = str_to(f.s,
				     (size_t)((const char *)memchr(f.s.p, ' ', f.s.n) - f.s.p));
		if (str_in(verb, "put mput send reput append mirror") && f.s.n)
			effect_upload(cx, &f);
		else if (str_in(verb, "rm rmdir delete mdelete del mdel"))
			fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
			     f.at, show(cx, line), "deletes on another machine");
	}
}

/* Reboot of org.x.Manager.Reboot */
static struct rein_str last_part(struct rein_str s)
{
	const char *dot = s.p && s.n ? memrchr(s.p, '.', s.n) : NULL;

	return dot ? str_from(s, (size_t)(dot - s.p) + 1) : s;
}

/* busctl call … Manager Reboot: the service does it, with its own rights */
static void bus_methods(struct ctx *cx, const struct call *c)
{
	static const char *const methods[] = {"StopUnit",
					      "KillUnit",
					      "MaskUnit",
					      "DisableUnit",
					      "EnableUnit",
					      "LinkUnit",
					      "StartTransientUnit",
					      "SetEnvironment",
					      "Reboot",
					      "PowerOff",
					      "Halt",
					      "Suspend",
					      "Hibernate",
					      "DeleteUser",
					      "CreateUser",
					      "SetPassword",
					      "InstallFiles",
					      "RemovePackages",
					      "SetTimezone",
					      "AddAndActivateConnection",
					      "Format"};

	for (size_t i = 1; i < c->argc; i++)
		for (size_t k = 0; k < ARRAY_SIZE(methods); k++)
			if (str_starts(last_part(c->argv[i].s), methods[k]))
				fact(cx, REIN_FACT_SERVICE, REIN_LEVEL_DANGEROUS,
				     REIN_REACH_CONTAINED, c->argv[i].at, show(cx, c->argv[i].s),
				     "makes a service of the system act with its own rights");
}

/* grpcurl … a.B/DeleteUser, evans cli call DeleteUser; websocat … sh-c:id */
static void rpc_words(struct ctx *cx, const struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		const struct field *f = &c->ops.v[i];
		struct rein_str name = last_part(str_base(f->s));

		if (verb_class(cx, name) == VERB_DELETE)
			fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
			     f->at, show(cx, f->s), "a call whose name says that it deletes");
		if (str_starts(f->s, "sh-c:") || str_starts(f->s, "exec:") ||
		    str_starts(f->s, "cmd:"))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     f->at, show(cx, f->s), "gives a program to the network");
		if (str_starts(f->s, "ws-l:") || str_starts(f->s, "ws-listen:") ||
		    str_starts(f->s, "tcp-l:") || str_starts(f->s, "tcp-listen:"))
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     f->at, show(cx, f->s), "waits for connections from the network");
	}
	if (c->acts & ACT_LISTEN)
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
		     c->argv[0].at, NULL, "waits for connections from the network");
	if (c->io->piped)
		effect_send(cx, &c->io->in, c->argv[0].at);
}

enum rein_level note_level(const struct call *c, enum rein_level level)
{
	const struct know_cmd *top = c->top;

	if (!top->note || c->cmd != top)
		return level;
	if (cmd_notes(top, "assign")) {
		level = 0;
		for (size_t i = 0; i < c->ops.n; i++)
			if (memchr(c->ops.v[i].s.p, '=', c->ops.v[i].s.n))
				level = top->level;
	}
	if (cmd_notes(top, "parted") && prints_disk(c))
		level = 0;
	if (cmd_notes(top, "debugger") && debugger_shows(c))
		level = 0;
	if (cmd_notes(top, "listing") && c->ops.n > 1 && str_in(c->ops.v[1].s, "list describe"))
		level = 0;
	/* the base level only holds with so many operands */
	if ((cmd_notes(top, "operand") && !c->ops.n) || (cmd_notes(top, "two") && c->ops.n < 2))
		level = 0;
	/* "bare:yarn": for the program of that name the bare command is an installation */
	if (!strncmp(top->note, "bare:", 5) && !c->ops.n && !strcmp(top->note + 5, top->name))
		level = REIN_LEVEL_RISKY;
	return level;
}

/* less +G, +120, +/text: where to begin */
static bool only_moves(struct rein_str s)
{
	size_t i = 0;

	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	s = str_from(s, i);
	return !s.n || s.p[0] == '/' || s.p[0] == '?' || str_in(s, "g G F p % >");
}

/* less +!command, +|^command */
static void pager_commands(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		const struct field *f = &c->ops.v[i];
		size_t skip = str_starts(f->s, "++") ? 2 : 1;
		const char *bang = f->s.n && f->s.p[0] == '+' ? memchr(f->s.p, '!', f->s.n) : NULL;
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		if (!f->s.n || f->s.p[0] != '+')
			continue;
		if (str_starts(str_from(f->s, skip), "|") && f->s.n > skip + 2)
			bang = f->s.p + skip + 1; /* after the mark */
		if (!bang) {
			if (!only_moves(str_from(f->s, skip)))
				fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
				     f->at, show(cx, f->s), "a command of the pager");
			continue;
		}
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at, show(cx, f->s),
		     "a command of the pager that runs a program");
		run_text(cx, str_from(f->s, (size_t)(bang - f->s.p) + 1), f->at, &io);
	}
}

/* dc -e '!command' */
static void bang_commands(struct ctx *cx, struct call *c)
{
	for (size_t i = 1; i < c->argc; i++)
		if (str_has(c->argv[i].s, "!"))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     c->argv[i].at, show(cx, c->argv[i].s),
			     "leaves the program for the shell");
}

/* mlr put 'tee > "x", $*', mlr filter 'system("x")', mlr tee FILE then … */
static void miller_verbs(struct ctx *cx, struct call *c)
{
	static const char *const outs[] = {"tee >",  "tee>",   "print >",  "printn >",
					   "emit >", "dump >", "print | ", "tee | "};

	for (size_t i = 0; i < c->ops.n; i++) {
		const struct field *f = &c->ops.v[i];

		if (str_has(f->s, "system(") || str_has(f->s, "exec("))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "code that runs programs");
		for (size_t k = 0; k < ARRAY_SIZE(outs); k++)
			if (str_has(f->s, outs[k]))
				fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
				     f->at, show(cx, f->s), "code that writes files");
		if (str_is(f->s, "tee") && i + 1 < c->ops.n)
			effect_write(cx, &c->ops.v[++i], false);
		else if (c->acts & ACT_INPLACE && i &&
			 str_has(f->s, ".")) /* files stand after the verbs */
			effect_modify(cx, f);
	}
}

/* getent shadow */
static void account_database(struct ctx *cx, struct call *c)
{
	if (c->ops.n && str_in(c->ops.v[0].s, "shadow gshadow"))
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
		     c->ops.v[0].at, show(cx, c->ops.v[0].s), "reads passwords of the system");
}

/* What is opened by its kind is run when that kind is a program. */
static void opened_files(struct ctx *cx, struct call *c)
{
	static const char *const runs[] = {".exe", ".bat", ".cmd",	".com",	    ".msi",
					   ".ps1", ".vbs", ".command",	".app",	    ".desktop",
					   ".sh",  ".jar", ".scpt",	".pkg",	    ".workflow",
					   ".hta", ".lnk", ".appimage", ".AppImage"};

	for (size_t i = 0; i < c->ops.n; i++) {
		const struct field *f = &c->ops.v[i];

		if (str_starts(f->s, "macro:") || str_starts(f->s, "vnd.sun.star.script:"))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "runs a macro");
		for (size_t k = 0; k < ARRAY_SIZE(runs) && !str_has(f->s, "://"); k++)
			if (str_ends(f->s, runs[k]))
				effect_script(cx, f, NULL);
	}
}

/* rclone lsf :sftp,ssh=cmd: settings that stand in a name */
static void inline_settings(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++)
		if (str_has(c->ops.v[i].s, ",ssh=") || str_has(c->ops.v[i].s, "_command="))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s),
			     "a setting that runs a program");
}

/* touch -r /bin/ls x: looks as if it had always been there */
static void borrowed_times(struct ctx *cx, struct call *c)
{
	const struct got *r = call_opt(c, "-r");
	struct spot s;

	if (!r)
		return;
	s = path_spot(cx, r->val.s);
	if (is_far(&s))
		fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, r->at,
		     show(cx, r->val.s), "gives a file the times of another, to hide when it came");
}

/* taskset -p MASK PID, prlimit --pid PID --nofile=10: no command, a process */
static void process_setting(struct ctx *cx, struct call *c)
{
	const struct field *to = c->rest < c->argc ? &c->argv[c->rest] : NULL;

	for (size_t i = 0; i < c->n_got && !to; i++)
		if (c->got[i].opt->arg == 2 && c->got[i].val.s.n) /* without a value it only asks */
			to = &c->argv[c->got[i].word];
	if (to)
		fact(cx, REIN_FACT_SERVICE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, to->at, show(cx, to->s),
		     "changes how a running process is scheduled or limited");
	c->rest = c->argc;
}

/* ffmpeg … rtmp://host/x: the result goes over the network */
static void streamed(struct ctx *cx, const struct call *c)
{
	const struct field *f = c->ops.n > 1 ? &c->ops.v[c->ops.n - 1] : NULL;

	if (f && str_has(f->s, "://") && !str_starts(f->s, "file:"))
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "sends what it makes over the network");
}

/* ephemeral:x is deleted after it was read, msl:x is a script: pictures that are none */
static void picture_words(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		struct field f = c->ops.v[i];
		const char *colon = f.s.n ? memchr(f.s.p, ':', f.s.n) : NULL;
		struct rein_str kind = colon ? str_to(f.s, (size_t)(colon - f.s.p)) : STR("");

		f.s = str_from(f.s, kind.n + 1);
		if (str_in(kind, "ephemeral EPHEMERAL"))
			effect_delete(cx, &f, false);
		else if (str_in(kind, "msl MSL"))
			effect_script(cx, &f, "other");
		else if (str_in(kind, "text label caption pango TEXT concat file subfile"))
			effect_read(cx, &f);
	}
}

/* date 010100002030 sets it, date +%s does not */
static void clock_set(struct ctx *cx, const struct call *c)
{
	const struct field *f = c->ops.v;

	if (c->ops.n && f->s.n && f->s.p[0] != '+' && !call_has(c, "-j"))
		fact(cx, REIN_FACT_SERVICE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at, show(cx, f->s),
		     "sets the clock");
}

void note_effects(struct ctx *cx, struct call *c, struct data *ret)
{
	if (cmd_notes(c->top, "search")) {
		rummage_search(cx, c);
		if (call_has(c, "-l") || call_has(c, "--files"))
			ret->taint = (uint16_t)names_taint(cx, c->ops.n > 1 ? c->ops.v + 1 : NULL,
							   c->ops.n > 1 ? c->ops.n - 1 : 0);
	}
	if (cmd_notes(c->top, "pid") && call_has(c, "-p"))
		process_setting(cx, c);
	if (cmd_notes(c->top, "pager"))
		pager_commands(cx, c);
	if (cmd_notes(c->top, "times"))
		borrowed_times(cx, c);
	if (cmd_notes(c->top, "processes"))
		rummage_processes(cx, c);
	if (cmd_notes(c->top, "bang"))
		bang_commands(cx, c);
	for (size_t i = 1; cmd_notes(c->top, "index") && i < c->argc; i++)
		run_index(cx, c->argv[i].s, c->argv[i].at);
	if (str_is(rein_str(c->top->name), "rclone"))
		inline_settings(cx, c);
	if (cmd_notes(c->top, "opens"))
		opened_files(cx, c);
	if (str_in(rein_str(c->top->name), "convert magick identify mogrify montage composite compare gm "
					   "ffmpeg ffprobe ffplay animate display conjure"))
		picture_words(cx, c);
	if (str_is(str_base(c->argv[0].s), "ffmpeg"))
		streamed(cx, c);
	if (cmd_notes(c->top, "debugger"))
		debugger_commands(cx, c);
	if (cmd_notes(c->top, "transfer"))
		transfer_lines(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (!strcmp(c->got[i].opt->name, "-o") &&
		    str_in(rein_str(c->top->name), "scp pscp sftp sshfs"))
			ssh_setting(cx, c, &c->got[i]);
	if (cmd_notes(c->top, "rpc") || str_is(rein_str(c->top->name), "grpcurl"))
		rpc_words(cx, c);
	if (cmd_notes(c->top, "bus"))
		bus_methods(cx, c);
	if (cmd_notes(c->top, "clock"))
		clock_set(cx, c);
	if (cmd_notes(c->top, "scanner"))
		rummage_scan(cx, c);
	if (cmd_notes(c->top, "mlr"))
		miller_verbs(cx, c);
	if (cmd_notes(c->top, "getent"))
		account_database(cx, c);
	if (cmd_notes(c->top, "filter"))
		rummage_filter(cx, c);
	if (cmd_notes(c->cmd, "values")) {
		rummage_values(cx, c->ops.v, c->ops.n);
		ret->taint |= cx->seen;
	}
	if (cmd_notes(c->top, "encode"))
		rummage_encode(cx, c);
	for (size_t i = 0; cmd_notes(c->top, "tree") && i < c->ops.n; i++)
		rummage_tree(cx, &c->ops.v[i]);
}
