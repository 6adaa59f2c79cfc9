/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that start other programs: env, sudo, su, watch, flock, script, npx, ssh, busybox. */
#include "classify/h_shell.h"

#define LOCAL REIN_REACH_CONTAINED

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

/* sudo -n -u postgres: nothing but who, and whether to ask for a password */
static bool only_says_who(const struct call *c)
{
	if (!str_in(str_base(c->argv[0].s), "sudo doas"))
		return false;
	for (size_t i = 0; i < c->n_got; i++)
		if (!str_in(rein_str(c->got[i].opt->key),
			    "-n -S -H -k -A -u -g -p --non-interactive --stdin"))
			return false;
	return !c->has_unknown && c->rest < c->argc && !is_assignment(c->argv[c->rest].s);
}

struct data h_sudo(struct ctx *cx, struct call *c)
{
	bool shell = call_has(c, "-s") || call_has(c, "-i");
	struct apart before;
	struct data d;
	bool ran, reads;

	if (call_has(c, "-e") || str_is(c->argv[0].s, "sudoedit")) {
		fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_RISKY, LOCAL, c->argv[0].at, NULL, "edits as another user");
		for (size_t i = c->rest; i < c->argc; i++)
			effect_write(cx, &c->argv[i], true);
		return h_empty();
	}
	before = apart_begin(cx);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role == ROLE_CWD) {
			undo_push_cwd(cx);
			cx->cwd = path_resolve(cx, c->got[i].val.s);
		}
	cx->privileged++;
	d = assigned_command(cx, c->argv + c->rest, c->argc - c->rest, c->io, &ran);
	cx->privileged--;
	/* sudo systemctl status x shows what anybody may see, and nothing becomes of it */
	reads = apart_end(cx, &before) && ran && !(d.taint & TAINT_SECRET) && only_says_who(c);
	fact(cx, REIN_FACT_PRIVILEGE, reads ? REIN_LEVEL_SAFE : REIN_LEVEL_RISKY,
	     reads ? REIN_REACH_READONLY : LOCAL, c->argv[0].at, NULL, "runs as another user");
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
		d = h_run_code(cx, &code->val, c->io);
	else if (c->dashdash != (size_t)-1 && c->ops.n > c->dashdash)
		d = exec_argv(cx, c->ops.v + c->dashdash, c->ops.n - c->dashdash, c->io);
	else if (str_is(c->argv[0].s, "runuser") && call_has(c, "-u") && c->ops.n)
		d = exec_argv(cx, c->ops.v, c->ops.n, c->io);
	cx->privileged--;
	return d;
}

void ssh_setting(struct ctx *cx, struct call *c, const struct got *g)
{
	static const char *const run[] = {"proxycommand", "localcommand", "knownhostscommand",
					  "match"};
	struct rein_str v = g->val.s;
	const char *eq = v.n ? memchr(v.p, '=', v.n) : NULL;

	if (eq) /* StrictHostKeyChecking=no */
		protect_setting(cx, str_to(v, (size_t)(eq - v.p)), str_from(v, (size_t)(eq - v.p) + 1), g->at);
	for (size_t i = 0; i < ARRAY_SIZE(run); i++) {
		size_t n = strlen(run[i]);

		if (v.n > n && !strncasecmp(v.p, run[i], n) && (v.p[n] == '=' || v.p[n] == ' ')) {
			struct field f = g->val;

			f.s = str_from(v, n + 1);
			role_effect(cx, c, ROLE_PROG, &f);
		}
	}
}

/*
 * ssh host uptime: every word is known, so that nothing of this machine is in them, nothing is sent
 * after them, and no option lets the other side in.
 */
static bool ssh_only_asks(const struct call *c)
{
	static const char *const settings[] = {"connecttimeout=",
					       "batchmode=",
					       "serveralive",
					       "loglevel=",
					       "compression=",
					       "connectionattempts=",
					       "addressfamily=",
					       "identitiesonly=",
					       "identityfile=",
					       "port=",
					       "user=",
					       "proxyjump=",
					       "requesttty=",
					       "passwordauthentication=",
					       "preferredauthentications=",
					       "numberofpasswordprompts=",
					       "tcpkeepalive=",
					       "stricthostkeychecking=yes",
					       "stricthostkeychecking=accept-new"};

	if (!str_is(str_base(c->argv[0].s), "ssh") || c->io->piped || c->has_unknown)
		return false;
	for (size_t i = 1; i < c->argc; i++)
		if (!is_literal(c->argv[i].s) || c->argv[i].taint)
			return false;
	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str v = c->got[i].val.s;
		bool ok = !str_is(rein_str(c->got[i].opt->name), "-o");

		if (!str_in(rein_str(c->got[i].opt->name),
			    "-1 -2 -4 -6 -a -C -n -q -T -t -v -x -i -J -l -p -o"))
			return false;
		for (size_t k = 0; !ok && k < ARRAY_SIZE(settings); k++)
			ok = v.n > strlen(settings[k]) - 1 &&
			     !strncasecmp(v.p, settings[k], strlen(settings[k]));
		if (!ok)
			return false;
	}
	return true;
}

/* python3, without any code: it takes what is typed */
static bool is_interpreter(struct ctx *cx, const struct field *f)
{
	const struct know_cmd *k = know_find(cx, str_base(f->s));

	return k && (k->handler == HANDLE_shell || k->handler == HANDLE_interp);
}

struct data h_ssh(struct ctx *cx, struct call *c)
{
	size_t hosts = cmd_notes(c->top, "hosts") ? 0 : 1; /* else options name them */
	struct field host = hosts && c->ops.n ? c->ops.v[0] : c->argv[0];
	struct data d = data_unknown(TAINT_NET);
	struct apart before = apart_begin(cx);
	bool reads;

	for (size_t i = 0; i < c->n_got; i++) {
		if (!strcmp(c->got[i].opt->name, "-o"))
			ssh_setting(cx, c, &c->got[i]);
	}
	call_base(cx, c);
	if (c->io->piped && c->io->in.taint & TAINT_SECRET)
		effect_send(cx, &c->io->in, host.at);
	cx->remote++;
	if (c->ops.n > hosts) {
		struct field code = h_join_fields(cx, c->ops.v + hosts, c->ops.n - hosts);

		d = h_run_code(cx, &code, c->io);
		d.known = false;
		reads = !(d.taint & TAINT_SECRET) && ssh_only_asks(c) &&
			!(c->ops.n == hosts + 1 && is_interpreter(cx, &code));
		d.taint |= TAINT_NET;
	} else {
		if (c->io->piped && !call_has(c, "-N"))
			effect_code(cx, &c->io->in, "shell", host.at);
		/* ssh -T git@github.com: a greeting */
		reads = call_has(c, "-T") && str_starts(host.s, "git@") && ssh_only_asks(c);
	}
	cx->remote--;
	reads = apart_end(cx, &before) && reads;
	fact(cx, REIN_FACT_REMOTE, reads ? REIN_LEVEL_SAFE : REIN_LEVEL_RISKY,
	     reads ? REIN_REACH_READONLY : REIN_REACH_IRREVERSIBLE, host.at, show(cx, host.s),
	     reads ? "looks at another machine" : "works on another machine");
	return d;
}

struct data h_multicall(struct ctx *cx, struct call *c)
{
	size_t i = 1;

	while (i < c->argc && c->argv[i].s.n > 1 && c->argv[i].s.p[0] == '-') {
		if (str_in(c->argv[i].s, "--preload --audit --library-path"))
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, c->argv[i].at, c->argv[i].s,
			      "loads code into the program it starts");
		if (str_is(c->argv[i].s, "--install")) {
			h_say(cx, REIN_FACT_WRITE, REIN_LEVEL_DANGEROUS, c->argv[i].at,
			      c->argv[i].s, "puts its own programs in the place of the system's");
			return data_unknown(0);
		}
		if (str_in(c->argv[i].s, "--list --help --list-full --list-modules --verify"))
			return data_unknown(0);
		if (str_in(c->argv[i].s, "--library-path --argv0 --preload --audit --inhibit-rpath "
					 "--glibc-hwcaps-prepend --glibc-hwcaps-mask"))
			i++;
		i++;
	}
	if (i >= c->argc)
		return data_unknown(0);
	return exec_argv(cx, c->argv + i, c->argc - i, c->io);
}

/* bwrap --bind SRC DEST --setenv NAME VALUE … command: options take up to three words */
struct data h_bwrap(struct ctx *cx, struct call *c)
{
	static const char two[] = "--bind --bind-try --ro-bind --ro-bind-try --dev-bind "
				  "--dev-bind-try --symlink --setenv --file "
				  "--bind-data --ro-bind-data --chmod --bind-fd --ro-bind-fd";
	static const char none[] =
		"--help --version --new-session --die-with-parent --as-pid-1 --share-net "
		"--clearenv "
		"--disable-userns --assert-userns-disabled --unshare-all --unshare-user "
		"--unshare-user-try "
		"--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup "
		"--unshare-cgroup-try";
	size_t i = 1;

	while (i < c->argc && str_starts(c->argv[i].s, "-")) {
		if (str_is(c->argv[i].s, "--")) {
			i++;
			break;
		}
		i += str_is(c->argv[i].s, "--overlay") ? 4
		     : str_in(c->argv[i].s, two)       ? 3
		     : str_in(c->argv[i].s, none)      ? 1
						       : 2;
	}
	if (i >= c->argc)
		return data_unknown(0);
	return exec_argv(cx, c->argv + i, c->argc - i, c->io);
}

struct data h_watch(struct ctx *cx, struct call *c)
{
	struct field code;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role != ROLE_NONE && c->got[i].opt->role != ROLE_CWD)
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	if (c->rest >= c->argc)
		return data_unknown(0);
	if (call_has(c, "-x"))
		return exec_rest(cx, c, c->rest);
	/* its words are joined and go through a shell: read them both ways */
	if (c->argc - c->rest > 1)
		exec_rest(cx, c, c->rest);
	code = h_join_fields(cx, c->argv + c->rest, c->argc - c->rest);
	return h_run_code(cx, &code, c->io);
}

struct data h_flock(struct ctx *cx, struct call *c)
{
	if (c->ops.n)
		effect_make(cx, &c->ops.v[0]);
	for (size_t i = 1; i + 1 < c->argc; i++)
		if (str_in(c->argv[i].s, "-c --command"))
			return h_run_code(cx, &c->argv[i + 1], c->io);
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
		d = h_run_code(cx, text, c->io);
	if (c->ops.n) {
		effect_write(cx, &c->ops.v[0], false);
		d.known = false;
		vfile_put(cx, c->ops.v[0].s, d, false);
	}
	if (c->rest < c->argc)
		d = exec_rest(cx, c, c->rest);
	else if (!text)
		h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, c->argv[0].at, STR("script"),
		    "starts a shell");
	return d;
}

/* npx, bunx, uvx, pipx run: a package's program, fetched when it is not here */
struct data h_npx(struct ctx *cx, struct call *c)
{
	const struct know_cmd *known;
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
	if (str_has(name, "://"))
		fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_DANGEROUS, LOCAL, copy[0].at, show(cx, name),
		     "runs code from the network that nobody looked at");
	if (at || c->acts & ACT_RISKY || !know_find(cx, copy[0].s) || call_has(c, "-p"))
		fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_RISKY, LOCAL, copy[0].at, show(cx, name),
		     "downloads a package and runs it");
	known = know_find(cx, copy[0].s);
	if (known && copy[0].s.p[0] == '@') /* @scope/name is no path */
		return run_known(cx, known, copy, n, c->io);
	if (known)
		return exec_argv(cx, copy, n, c->io);
	return data_unknown(0);
}

struct data h_printenv(struct ctx *cx, struct call *c)
{
	size_t named = 0;

	for (size_t i = 0; i < c->ops.n; i++)
		if (env_is_secret(cx, c->ops.v[i].s))
			h_say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, c->ops.v[i].at,
			    c->ops.v[i].s, "prints a credential");
		else if (is_literal(c->ops.v[i].s))
			named++;
	return data_unknown(named && named == c->ops.n
				    ? TAINT_ENV
				    : TAINT_SECRET); /* printenv PATH; all of it */
}

struct data h_crontab(struct ctx *cx, struct call *c)
{
	if (call_has(c, "-l"))
		return data_unknown(0);
	if (call_has(c, "-r")) {
		h_say(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, c->argv[0].at, STR("crontab"),
		    "removes all scheduled jobs");
		return h_empty();
	}
	if (c->ops.n || c->io->piped || call_has(c, "-e"))
		h_say(cx, REIN_FACT_PERSIST, REIN_LEVEL_DANGEROUS, c->argv[0].at, STR("crontab"),
		    "schedules jobs that run by themselves");
	else
		h_say(cx, REIN_FACT_PERSIST, REIN_LEVEL_RISKY, c->argv[0].at, STR("crontab"),
		    "replaces the scheduled jobs");
	return h_empty();
}
