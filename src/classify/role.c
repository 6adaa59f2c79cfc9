/* SPDX-License-Identifier: Apache-2.0 */
/* Roles to effects: what happens to the words of a call, once it is known what each of them is. */
#include "classify/internal.h"

static void remote_path(struct ctx *cx, struct call *c, const struct field *f, bool last)
{
	bool remote = names_host(f->s) && f->s.p[0] != '.';

	if (str_starts(f->s, "rsync://") || str_starts(f->s, "sftp://"))
		remote = true;
	if (last && remote) {
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "copies files to another machine");
	} else if (remote) {
		cx->seen |= TAINT_NET;
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s), "copies files from another machine");
	} else if (last) {
		effect_write(cx, f, false);
		vfile_put(cx, f->s, data_unknown(TAINT_NET | TAINT_FILE), false);
	} else {
		effect_read(cx, f);
		rummage_tree(cx, f);
		if (c->ops.n && memchr(c->ops.v[c->ops.n - 1].s.p, ':', c->ops.v[c->ops.n - 1].s.n))
			rummage_sent(cx, f);
	}
}

static void run_shell_word(struct ctx *cx, struct call *c, const struct field *f)
{
	struct data d = {.text = f->s, .known = !has_hole(f->s), .taint = f->taint};
	struct io io = {.in = c->io->in, .piped = c->io->piped};

	if (f->s.n > 1 && f->s.p[0] == '!' && f->s.p[1] != ' ') { /* gdb -ex '!sh', lftp -c '!sh' */
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at, show(cx, f->s),
		     "leaves the program for the shell");
		d.text = str_from(f->s, 1);
	}
	if (d.known) {
		run_text(cx, d.text, f->at, &io);
		return;
	}
	/* parts are known: what can be read of it still counts */
	run_text(cx, f->s, f->at, &io);
	effect_code(cx, &d, "shell", f->at);
}

/* PowerShell is not read as such: its cmdlets are programs, its ways to run text are words. */
static void powershell_words(struct ctx *cx, const struct field *f)
{
	static const struct {
		const char *word;
		enum rein_level level;
		const char *why;
	} rows[] = {
		{"invoke-expression", REIN_LEVEL_DANGEROUS, "runs text as code"},
		{"iex ", REIN_LEVEL_DANGEROUS, "runs text as code"},
		{"|iex", REIN_LEVEL_DANGEROUS, "runs text as code"},
		{"| iex", REIN_LEVEL_DANGEROUS, "runs text as code"},
		{"downloadstring", REIN_LEVEL_DANGEROUS, "downloads code"},
		{"frombase64string", REIN_LEVEL_DANGEROUS, "decodes what it runs"},
		{"remove-item", REIN_LEVEL_DESTRUCTIVE, "deletes files"},
		{"clear-content", REIN_LEVEL_DESTRUCTIVE, "empties files"},
		{"format-volume", REIN_LEVEL_DESTRUCTIVE, "formats a disk"},
		{"clear-disk", REIN_LEVEL_DESTRUCTIVE, "empties a disk"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_has_ci(f->s, rows[i].word) && !str_has_ci(f->s, "-whatif"))
			fact(cx, REIN_FACT_EXEC, rows[i].level, REIN_REACH_CONTAINED, f->at, rows[i].word,
			     rows[i].why);
}

void role_effect(struct ctx *cx, struct call *c, enum know_role role, const struct field *f)
{
	switch (role) {
	case ROLE_READ:
		if (c->acts & ACT_DELOP)
			effect_delete(cx, f, c->acts & ACT_REC);
		else if (c->acts & ACT_INPLACE)
			effect_modify(cx, f);
		else
			effect_read(cx, f);
		return;
	case ROLE_WRITE:
	case ROLE_OUTPREFIX:
		if (f->s.n > 1 && (f->s.p[0] == '|' || f->s.p[0] == '!')) { /* strace -o '|cmd' */
			struct field code = field_with(f, str_from(f->s, 1));

			run_shell_word(cx, c, &code);
		} else if (c->acts & ACT_OUTSTD) {
			effect_read(cx, f);
		} else {
			effect_write(cx, f, false);
		}
		return;
	case ROLE_APPEND:
		effect_write(cx, f, true);
		return;
	case ROLE_MAKE:
		effect_make(cx, f);
		return;
	case ROLE_MODIFY:
		if (c->acts & (ACT_OUTSTD | ACT_RDONLY))
			effect_read(cx, f);
		else
			effect_modify(cx, f);
		return;
	case ROLE_DELETE:
		if (c->acts & (ACT_OUTSTD | ACT_RDONLY))
			effect_read(cx, f);
		else
			effect_delete(cx, f, c->acts & ACT_REC);
		return;
	case ROLE_MOVE:
		effect_read(cx, f);
		effect_delete(cx, f, true);
		return;
	case ROLE_ATTR:
		effect_attr(cx, f, c->acts & ACT_REC, false);
		return;
	case ROLE_DEVICE:
		if (!(c->acts & ACT_RDONLY))
			effect_device(cx, f);
		return;
	case ROLE_SHELL:
		if (str_in(rein_str(c->top->name), "pwsh powershell powershell.exe"))
			powershell_words(cx, f);
		run_shell_word(cx, c, f);
		return;
	case ROLE_PROG:
		if (!f->s.n)
			return;
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s), "an option makes the program execute another one");
		run_shell_word(cx, c, f);
		return;
	case ROLE_SCRIPT:
		effect_script(cx, f, c->top->lang ? c->top->lang : NULL);
		return;
	case ROLE_CODE: {
		struct data d = {.text = f->s, .known = !has_hole(f->s), .taint = f->taint};

		effect_code(cx, &d, c->top->lang ? c->top->lang : "shell", f->at);
		return;
	}
	case ROLE_CONFIG:
		effect_read(cx, f);
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s), "reads a configuration that can execute things");
		return;
	case ROLE_ENV: {
		const char *eq = memchr(f->s.p, '=', f->s.n);
		struct rein_str name = eq ? str_to(f->s, (size_t)(eq - f->s.p)) : f->s;
		struct field val = field_with(f, eq ? str_from(f->s, name.n + 1) : STR(""));

		effect_env(cx, name, &val, f->at);
		return;
	}
	case ROLE_URL:
		cx->seen |= TAINT_NET;
		http_scan(cx, STR("GET"), f->s, STR(""), false, f->at);
		return;
	case ROLE_HOST:
		cx->seen |= TAINT_NET;
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_SAFE, REIN_REACH_READONLY, f->at,
		     show(cx, f->s), "connects");
		return;
	case ROLE_UPLOAD:
		effect_upload(cx, f);
		return;
	case ROLE_SQL:
		if (has_hole(f->s) && !(f->taint & TAINT_NUMBER))
			fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, f->at,
			     NULL, "runs SQL that is only partly known");
		sql_scan(cx, f->s, f->at, c->top->name, false, c->acts & ACT_RDONLY);
		return;
	case ROLE_CWD:
	case ROLE_BODY:
	case ROLE_METHOD:
	case ROLE_REMOTE:
	case ROLE_CMD:
	case ROLE_TARGET:
	case ROLE_DATA:
	case ROLE_NONE:
	case ROLE__MAX:
		return;
	}
}

/* The role of operand i of n, given the roles declared. */
enum know_role operand_role(const struct call *c, size_t i, size_t n)
{
	const struct know_cmd *cmd = c->cmd;
	size_t from = c->acts & ACT_SHIFT ? 1 : 0, roles = cmd->n_args, tail, k;

	if (!roles)
		return cmd->any ? ROLE_DATA : ROLE_NONE;
	if (cmd->star < 0)
		return i + from < roles ? (enum know_role)cmd->args[i + from] : ROLE_NONE;
	tail = roles - (size_t)cmd->star - 1;
	if (c->acts & ACT_TDIR)
		tail = 0;
	k = i + from;
	if (k < (size_t)cmd->star)
		return (enum know_role)cmd->args[k];
	if (i + tail >= n)
		return (enum know_role)cmd->args[roles - (n - i)];
	return (enum know_role)cmd->args[cmd->star];
}

static void operands(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		enum know_role role = operand_role(c, i, c->ops.n);

		if (i >= 1000 && !cx_step(cx))
			return;

		if (role == ROLE_REMOTE)
			remote_path(cx, c, &c->ops.v[i], i + 1 == c->ops.n && c->ops.n > 1);
		else if (role == ROLE_NONE && path_spot(cx, c->ops.v[i].s).secret)
			effect_read(cx, &c->ops.v[i]);
		else
			role_effect(cx, c, role, &c->ops.v[i]);
	}
}

void call_effects(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_CWD && g->val.s.n) {
			undo_push_cwd(cx);
			cx->cwd = path_resolve(cx, g->val.s);
			cx->cwd_unknown = !cx->cwd.n || cx->cwd.p[0] == HOLE;
		}
	}
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (!g->val.s.n)
			continue;
		/* an option of several programs takes a value in some only: a path there still counts */
		if (g->opt->role == ROLE_NONE && !strstr(g->opt->name, "exclude") &&
		    !strstr(g->opt->name, "ignore") &&
		    (path_spot(cx, g->val.s).secret ||
		     (cx->privileged && memchr(g->val.s.p, '/', g->val.s.n))))
			effect_read(cx, &g->val);
		else
			role_effect(cx, c, g->opt->role, &g->val);
	}
	operands(cx, c);
}
