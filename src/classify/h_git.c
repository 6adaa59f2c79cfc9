/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git: its sub-commands and options are data; what depends on the shape of operands (checkout, push)
 * and configuration that executes programs is here.
 */
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED

static void say(struct ctx *cx, enum rein_level level, struct range at, const char *why)
{
	fact(cx, REIN_FACT_HISTORY, level, LOCAL, at, NULL, why);
}

static bool key_is(struct rein_str key, const char *pat)
{
	size_t n = strlen(pat);
	const char *star = strchr(pat, '*');

	if (!star)
		return key.n == n && !strncasecmp(key.p, pat, n);
	return key.n >= n - 1 && !strncasecmp(key.p, pat, (size_t)(star - pat)) &&
	       !strncasecmp(key.p + key.n - strlen(star + 1), star + 1, strlen(star + 1));
}

static bool key_executes(struct rein_str key)
{
	static const char *const keys[] = {
		"core.pager",	  "core.editor",     "core.sshCommand", "core.fsmonitor",
		"core.hooksPath", "core.askPass",    "core.gitProxy",	"diff.external",
		"diff.*.command", "diff.*.textconv", "merge.*.driver",	"filter.*.clean",
		"filter.*.smudge", "filter.*.process", "credential.helper", "credential.*.helper",
		"gpg.program",	  "gpg.*.program",   "sequence.editor", "pager.*",
		"difftool.*.cmd", "mergetool.*.cmd", "uploadpack.packObjectsHook", "protocol.ext.allow",
		"remote.*.uploadpack", "remote.*.receivepack", "interactive.diffFilter", "include.path",
		"includeIf.*.path", "browser.*.cmd", "man.*.cmd", "core.alternateRefsCommand",
		"trailer.*.command", "sendemail.smtpServer", "url.*.insteadOf", "init.templateDir",
		"core.attributesFile", "ssh.variant", "http.proxy", "core.worktree", "http.*.proxy",
		"mergetool.*.path", "difftool.*.path", "guitool.*.cmd", "remote.*.vcs", "remote.*.proxy",
		"sendemail.*Cmd", "gc.recentObjectsHook", "submodule.*.update", "gpg.*.defaultKeyCommand",
		"hook.*.command", "trailer.*.cmd", "imap.tunnel", "instaweb.*", "browser.*.path", "man.*.path",
		"tar.*.command", "lfs.customtransfer.*", "lfs.extension.*",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (key_is(key, keys[i]))
			return true;
	return false;
}

/* True when the setting makes a following clean or gc worse. */
static void setting(struct ctx *cx, struct rein_str key, const struct field *val, struct range at,
		    bool *no_force, bool *prune_now)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (key_is(key, "alias.*")) {
		if (val->s.n && val->s.p[0] == '!') {
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, at, show(cx, key),
			     "a git alias that runs a shell command");
			run_text(cx, str_from(val->s, 1), at, &io);
		}
		return;
	}
	if (key_is(key, "clean.requireForce") && str_in(val->s, "false 0 no off"))
		*no_force = true;
	if (key_is(key, "gc.pruneExpire") || key_is(key, "gc.reflogExpire") ||
	    key_is(key, "gc.reflogExpireUnreachable"))
		*prune_now |= str_in(val->s, "now all 0");
	protect_setting(cx, key, val->s, at);
	if (!key_executes(key) || str_in(val->s, "cat less true false more delta 0 1") || !val->s.n ||
	    (key_is(key, "credential.*") && str_in(val->s, "store cache osxkeychain manager")))
		return;
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, at, show(cx, key),
	     "a git setting that makes git run a program");
}

static void globals(struct ctx *cx, struct call *c, bool *no_force, bool *prune_now)
{
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		struct rein_str v = g->val.s;
		const char *eq = v.p && v.n ? memchr(v.p, '=', v.n) : NULL;
		struct field val = g->val;

		if (!strcmp(g->opt->key, "-c") && g->opt->role == ROLE_DATA) {
			val.s = eq ? str_from(v, (size_t)(eq - v.p) + 1) : STR("true");
			setting(cx, eq ? str_to(v, (size_t)(eq - v.p)) : v, &val, g->at, no_force,
				prune_now);
		}
	}
}

/* file.txt, dir/, ./x, *.c and . name paths; main, v1.2 and feature/x name commits */
static bool looks_like_path(struct rein_str s)
{
	const char *dot;
	struct rein_str ext;

	if (!s.p || !s.n)
		return false;
	if (str_in(s, ". .. :/ ./ ../") || str_starts(s, "./") || str_starts(s, "../") ||
	    str_starts(s, ":(") || str_starts(s, ":/") || s.p[0] == '/' || s.p[s.n - 1] == '/' ||
	    (!is_literal(s) && !has_hole(s)))
		return true;
	dot = memrchr(s.p, '.', s.n);
	if (!dot || dot == s.p)
		return dot == s.p;
	ext = str_from(s, (size_t)(dot - s.p) + 1);
	if (!ext.n || ext.n > 5)
		return false;
	for (size_t i = 0; i < ext.n; i++)
		if (!((ext.p[i] >= 'a' && ext.p[i] <= 'z')))
			return false;
	return true;
}

static void checkout(struct ctx *cx, struct call *c)
{
	bool creates = call_has(c, "-b") || call_has(c, "-B") || call_has(c, "--orphan") ||
		       call_has(c, "-t") || call_has(c, "--track");
	size_t first = 0;
	static const char *const why = "overwrites changes that were not committed";

	if (c->ops.n > 1 && call_has(c, "--recurse-submodules") &&
	    str_in(c->ops.v[0].s, "checkout on-demand no"))
		first = 1;
	if (c->hole_opt)
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->argv[0].at, why);
	if (creates)
		return;
	if (c->dashdash != (size_t)-1 && c->ops.n > c->dashdash) {
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->ops.v[c->dashdash].at, why);
		return;
	}
	if (c->ops.n - first > 1) {
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->ops.v[first + 1].at, why);
		return;
	}
	if (c->ops.n > first && looks_like_path(c->ops.v[first].s))
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->ops.v[first].at, why);
	else if (c->ops.n > first && c->ops.v[first].multi && has_hole(c->ops.v[first].s))
		say(cx, REIN_LEVEL_RISKY, c->ops.v[first].at, "what it checks out is not known");
}

static void restore(struct ctx *cx, struct call *c)
{
	bool staged = call_has(c, "-S") || call_has(c, "--staged");
	bool worktree = call_has(c, "-W") || call_has(c, "--worktree");

	if (!staged || worktree)
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->sub_at,
		    "overwrites changes that were not committed");
}

static void push(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (s.n && !i && (str_has(s, "://") || (str_has(s, "@") && str_has(s, ":"))) &&
		    !str_starts(s, "file://"))
			fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     c->ops.v[i].at, show(cx, s),
			     "sends commits to an address that is not one of the remotes");
		if (!s.n || !i)
			continue;
		if (s.p[0] == '+')
			fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
			     c->ops.v[i].at, show(cx, s), "rewrites history on a remote");
		else if (s.p[0] == ':' && s.n > 1)
			fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
			     c->ops.v[i].at, show(cx, s), "deletes a branch on a remote");
	}
	if (c->hole_opt)
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
		     c->argv[0].at, NULL, "how it pushes is only known when it runs");
}

static void config(struct ctx *cx, struct call *c)
{
	static const char *const gone[] = {"--unset", "--unset-all", "--remove-section", "--rename-section", "-e"};
	const struct got *file = call_opt(c, "-f");
	bool no_force = false, prune = false, takes = false;
	size_t k = 0;

	if (c->acts & ACT_RDONLY)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		takes |= call_has(c, gone[i]);
	takes |= c->ops.n && str_in(c->ops.v[0].s, "unset edit remove-section rename-section");
	if (takes)
		fact(cx, REIN_FACT_WRITE,
		     call_has(c, "--global") || call_has(c, "--system") ? REIN_LEVEL_RISKY : REIN_LEVEL_SAFE, LOCAL,
		     c->argv[0].at, NULL, "changes git's settings");
	if (file && (takes || c->ops.n > 1) && !(c->ops.n && str_in(c->ops.v[0].s, "list get")))
		effect_write(cx, &file->val, true);
	/* newer forms: config set|get|unset|list name value */
	if (c->ops.n && str_in(c->ops.v[0].s, "list get edit"))
		return;
	if (c->ops.n && str_in(c->ops.v[0].s, "set unset"))
		k = 1;
	if (c->ops.n < k + 2)
		return;
	setting(cx, c->ops.v[k].s, &c->ops.v[k + 1], c->ops.v[k].at, &no_force, &prune);
	if (call_has(c, "--global") || call_has(c, "--system"))
		fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, LOCAL, c->ops.v[k].at,
		     show(cx, c->ops.v[k].s), "changes git's settings for every repository");
	else
		fact(cx, REIN_FACT_WRITE, REIN_LEVEL_SAFE, LOCAL, c->ops.v[k].at,
		     show(cx, c->ops.v[k].s), "changes a setting of this repository");
}

static void urls(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (str_starts(s, "http://") || str_starts(s, "git://"))
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, LOCAL, c->ops.v[i].at,
			     show(cx, s), "fetches code without encryption");
		else if (s.n > 1 && s.p[0] == '-')
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at,
			     show(cx, s), "an operand that git reads as an option");
	}
}

/* ls-remote ext::sh, archive --remote=ext::sh: wherever git takes an address */
static void transports(struct ctx *cx, const struct call *c)
{
	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_starts(s, "ext::") || str_starts(s, "fd::") || str_has(s, "=ext::") || str_has(s, "=fd::"))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->argv[i].at, show(cx, s),
			     "an address that makes git run a program");
	}
}

static void show_objects(struct ctx *cx, struct call *c, bool log)
{
	bool contents = !log;

	for (size_t i = 1; i < c->argc; i++)
		contents |= str_in(c->argv[i].s, "-p -u --patch");
	/* HEAD:.env, :path, stash@{0}:file */
	for (size_t i = 0; i < c->ops.n; i++) {
		const char *colon = memchr(c->ops.v[i].s.p, ':', c->ops.v[i].s.n);
		struct field f = c->ops.v[i];

		if (!colon) {
			if (contents && path_spot(cx, f.s).secret)
				effect_read(cx, &f);
			continue;
		}
		f.s = str_from(f.s, (size_t)(colon - f.s.p) + 1);
		if (path_spot(cx, f.s).secret)
			effect_read(cx, &f);
	}
}

static void foreach_shell(struct ctx *cx, struct call *c)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct sbuf t = {.a = cx->a};

	for (size_t i = 0; i < c->ops.n; i++) {
		if (i)
			sbuf_char(&t, ' ');
		sbuf_str(&t, c->ops.v[i].s);
	}
	run_text(cx, sbuf_view(&t), c->sub_at, &io);
}

static bool lists_names(const struct call *c, struct rein_str sub)
{
	if (call_has(c, "-C") || call_has(c, "--git-dir") || call_has(c, "--work-tree"))
		return false;
	if (str_is(sub, "ls-files"))
		return true;
	for (size_t i = 1; i < c->argc; i++)
		if ((str_is(sub, "diff") && str_is(c->argv[i].s, "--name-only")) ||
		    (str_is(sub, "grep") &&
		     str_in(c->argv[i].s, "-l --files-with-matches --name-only")))
			return true;
	return false;
}

struct data h_git(struct ctx *cx, struct call *c)
{
	bool no_force = false, prune_now = false;
	struct rein_str sub = rein_str(c->cmd->name);

	if (c->cmd == c->top && !c->unknown_sub && c->acts & ACT_SAFE)
		return data_unknown(0);
	globals(cx, c, &no_force, &prune_now);
	call_base(cx, c);
	call_effects(cx, c);
	transports(cx, c);
	/* rebase --abort, rm --cached: milder than the others of their kind, but no reading */
	if (c->acts & ACT_RDONLY && str_in(sub, "rebase rm filter-repo filter-branch"))
		fact(cx, REIN_FACT_WRITE, REIN_LEVEL_SAFE, REIN_REACH_CONTAINED, c->sub_at, NULL,
		     "works in the workspace");
	if (c->n_chain > 1)
		sub = rein_str(c->chain[1]->name);
	if (str_is(sub, "checkout"))
		checkout(cx, c);
	else if (str_is(sub, "restore"))
		restore(cx, c);
	else if (str_is(sub, "push"))
		push(cx, c);
	else if (str_is(sub, "config"))
		config(cx, c);
	else if (str_in(sub, "clone fetch pull ls-remote remote submodule"))
		urls(cx, c);
	else if (str_in(sub, "show cat-file diff log blame grep"))
		show_objects(cx, c, str_is(sub, "log"));
	if (str_is(sub, "push"))
		urls(cx, c);
	cx->fetched |= str_is(sub, "clone");
	if (str_is(sub, "clean") && no_force)
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->sub_at, "deletes files that git does not know");
	if (str_is(sub, "gc") && prune_now)
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->sub_at, "destroys what could still be recovered");
	if (str_is(rein_str(c->cmd->name), "foreach"))
		foreach_shell(cx, c);
	if (c->rest < c->argc)
		return exec_rest(cx, c, c->rest);
	if (c->hole_opt && str_in(sub, "reset clean branch gc stash rm"))
		say(cx, REIN_LEVEL_DESTRUCTIVE, c->argv[0].at,
		    "how it discards is only known when it runs");
	if (c->unknown_sub && c->cmd == c->top && c->ops.n && has_hole(c->ops.v[0].s))
		say(cx, REIN_LEVEL_DANGEROUS, c->ops.v[0].at,
		    "what git does is only known when it runs");
	/* an unknown operand can be an option that discards */
	if (str_in(sub, "reset clean checkout"))
		for (size_t i = 0; i < c->ops.n; i++)
			if (c->ops.v[i].multi && has_hole(c->ops.v[i].s) &&
			    c->ops.v[i].taint & TAINT_INPUT)
				say(cx, REIN_LEVEL_DESTRUCTIVE, c->ops.v[i].at,
				    "how it discards is only known when it runs");
	if (lists_names(c, sub))
		return data_unknown(names_taint(cx, NULL, 0));
	return data_unknown(cx->seen | (str_in(sub, "show cat-file archive") ? TAINT_FILE : 0));
}
