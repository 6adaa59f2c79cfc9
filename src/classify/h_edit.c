/* SPDX-License-Identifier: Apache-2.0 */
/* Editors and choosers: programs whose own commands can be other programs. */
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED

/* fzf --bind 'key:execute(cmd)+become(cmd)' */
static void fzf_bind(struct ctx *cx, const struct got *g)
{
	static const char *const run[] = {"execute", "become", "reload", "transform", "preview",
					  "execute-silent", "change-preview"};
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	for (size_t i = 0; i < ARRAY_SIZE(run); i++) {
		const char *at = g->val.s.n ? memmem(g->val.s.p, g->val.s.n, run[i], strlen(run[i]))
					    : NULL;
		struct rein_str rest;
		struct sbuf code = {.a = cx->a};
		size_t end;

		if (!at)
			continue;
		rest = str_from(g->val.s, (size_t)(at - g->val.s.p) + strlen(run[i]));
		if (!rest.n || !strchr("([{:", rest.p[0]))
			continue;
		rest = str_from(rest, 1);
		for (end = 0; end < rest.n && !strchr(")]", rest.p[end]); end++) {
			if (rest.p[end] == '{' && end + 1 < rest.n && rest.p[end + 1] == '}') {
				sbuf_char(&code, HOLE);
				end++;
			} else {
				sbuf_char(&code, rest.p[end]);
			}
		}
		run_text(cx, sbuf_view(&code), g->val.at, &io);
	}
}

struct data h_fzf(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		if (!strcmp(c->got[i].opt->name, "--bind"))
			fzf_bind(cx, &c->got[i]);
		else
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	}
	return data_unknown(c->io->in.taint);
}

/* ed and ex read their commands: those that begin with '!' are the shell's. */
static void editor_input(struct ctx *cx, const struct call *c)
{
	struct rein_str s = c->io->in.text;
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (!c->io->piped || !str_in(str_base(c->argv[0].s), "ed red ex"))
		return;
	if (!c->io->in.known)
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->argv[0].at, c->argv[0].s, "editor commands that cannot be seen");
	while (c->io->in.known && s.n && cx_step(cx)) {
		const char *nl = memchr(s.p, '\n', s.n);
		struct rein_str line = nl ? str_to(s, (size_t)(nl - s.p)) : s;

		s = str_from(s, line.n + 1);
		if (str_starts(line, "!") || str_starts(line, ":!"))
			run_text(cx, str_from(line, line.p[0] == '!' ? 1 : 2), c->argv[0].at, &io);
		else if (str_starts(line, "w ") || str_starts(line, "W ")) {
			struct field to = {.s = str_from(line, 2), .at = c->argv[0].at};

			effect_write(cx, &to, line.p[0] == 'W');
		} else if (str_has(line, "!"))
			h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->argv[0].at, line, "an editor command that runs programs");
	}
}

/* view, vim -R: it can still run things, but not write by accident */
static bool only_shows(const struct call *c)
{
	return str_in(str_base(c->argv[0].s), "view rview") || call_has(c, "-R");
}

struct data h_vim(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	editor_input(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str s = c->got[i].val.s, bang = str_starts(s, ":") ? str_from(s, 1) : s;

		if (c->got[i].opt->role == ROLE_CODE && str_starts(bang, "!")) {
			struct io io = {.in = data_unknown(TAINT_INPUT)};

			run_text(cx, str_from(bang, 1), c->got[i].at, &io);
		}
		if (!strcmp(c->got[i].opt->name, "-s") &&
		    str_in(str_base(c->argv[0].s), "ed red ex")) {
			if (!str_starts(c->got[i].val.s, "-")) /* theirs takes no value */
				effect_write(cx, &c->got[i].val, true);
			continue;
		}
		if (c->got[i].opt->role != ROLE_CODE) {
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
			continue;
		}
		bang = str_starts(bang, "w ") ? str_from(bang, 2) : STR("");
		if (str_starts(s, "saveas ") || str_starts(s, "write "))
			bang = str_from(s, str_starts(s, "write ") ? 6 : 7);
		if (bang.n) {
			struct field to = field_with(&c->got[i].val, bang);

			effect_write(cx, &to, false);
		}
		if (str_has(s, "delete(") || str_has(s, "writefile("))
			h_fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DANGEROUS, LOCAL, c->got[i].at, s,
			       "an editor command that deletes or overwrites a file");
		if (str_has(s, "!") || str_has(s, "system(") || str_has(s, "term") ||
		    str_has(s, "py") || str_has(s, "lua"))
			h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->got[i].at, s,
			       "an editor command that runs programs");
		else if (str_has(s, "delete-directory") || str_has(s, "delete-file") || str_has(s, "shell-command") ||
			 str_has(s, "call-process"))
			h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->got[i].at, s,
			       "an editor command that runs programs or deletes");
		else if (!str_in(s, "q qa q! :q wq :wq x :x qall wqa :qa set\\ nu"))
			h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->got[i].at, s,
			       "an editor command");
	}
	for (size_t i = 0; i < c->ops.n; i++) {
		if (c->ops.v[i].s.n > 1 && c->ops.v[i].s.p[0] == '+') {
			if (str_has(c->ops.v[i].s, "!"))
				h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at,
				       c->ops.v[i].s, "an editor command that runs programs");
			continue;
		}
		if (path_spot(cx, c->ops.v[i].s).secret || only_shows(c))
			effect_read(cx, &c->ops.v[i]);
		else
			effect_write(cx, &c->ops.v[i], true);
	}
	return data_unknown(0);
}
