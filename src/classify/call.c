/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a known program, from its words to its effects: what the program does by itself, whatever
 * its words are; then what its options and operands are by their roles, or what its handler says.
 */
#include "classify/internal.h"

struct data exec_rest(struct ctx *cx, struct call *c, size_t from)
{
	if (from >= c->argc)
		return data_unknown(0);
	return exec_argv(cx, c->argv + from, c->argc - from, c->io);
}

static enum rein_level act_level(uint32_t acts)
{
	if (acts & ACT_DESTROY)
		return REIN_LEVEL_DESTRUCTIVE;
	if (acts & ACT_DANGER)
		return REIN_LEVEL_DANGEROUS;
	if (acts & ACT_RISKY)
		return REIN_LEVEL_RISKY;
	return 0;
}

static const char *why_of(struct ctx *cx, const struct call *c)
{
	for (size_t k = c->n_chain; k-- > 0;)
		if (c->chain[k]->why)
			return c->chain[k]->why;
	return cx_printf(cx, "%s%s%s changes things beyond reading", c->top->name,
			 c->cmd != c->top ? " " : "", c->cmd != c->top ? c->cmd->name : "");
}

static enum rein_reach reach_of(const struct call *c, enum rein_level level)
{
	for (size_t k = c->n_chain; k-- > 0;)
		if (c->chain[k]->reach)
			return c->chain[k]->reach;
	return level > REIN_LEVEL_SAFE ? REIN_REACH_CONTAINED : REIN_REACH_READONLY;
}

static enum rein_fact_kind kind_of(const struct call *c)
{
	for (size_t k = c->n_chain; k-- > 0;)
		if (c->chain[k]->kind)
			return (enum rein_fact_kind)(c->chain[k]->kind - 1);
	return REIN_FACT_EXEC;
}

/* Stopping what watches the system is worse than stopping a server. */
static void guards_stopped(struct ctx *cx, struct call *c)
{
	static const char *const guards[] = {"audit", "syslog", "journald", "falcon", "crowdstrike",
					     "sentinel", "osquery", "wazuh", "ossec", "clamav", "clamd",
					     "firewalld", "ufw", "fail2ban", "apparmor", "selinux",
					     "sysmon", "mdatp", "defender", "rein"};

	for (size_t i = 0; i < c->ops.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(guards); k++)
			if (str_has(c->ops.v[i].s, guards[k]) && !str_is(c->ops.v[i].s, "restart"))
				fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS,
				     REIN_REACH_CONTAINED, c->ops.v[i].at, show(cx, c->ops.v[i].s),
				     "stops or changes what protects the system");
}

/* mokutil --list-enrolled: nothing but an option whose name says that it shows something */
static bool asks(const struct call *c)
{
	static const char *const words[] = {
		"--list", "--show",	"--print",	 "--get-",	 "--query", "--status",
		"--info", "--describe", "--dump-config", "--repository", "--cache"};

	if (c->ops.n || c->argc != 2 || c->cmd != c->top)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_starts(c->argv[1].s, words[i]) &&
		    !memchr(c->argv[1].s.p, '=', c->argv[1].s.n))
			return true;
	return false;
}

/*
 * "wp plugin list", "krew list": the sub-command is not in the table of a tool that has one, but it
 * is two or three words of which the last that is a verb can only mean one thing.
 */
static bool reads_words(struct ctx *cx, const struct call *c)
{
	static const struct rein_str words[] = {WORD("list"),	  WORD("ls"),	WORD("show"),
						WORD("status"),	  WORD("info"), WORD("version"),
						WORD("describe"), WORD("help")};
	bool found = false;

	if (c->cmd != c->top || !c->cmd->n_subs || c->ops.n > 3 || c->dashdash != (size_t)-1)
		return false;
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;
		int cls = verb_class(cx, s);

		if (!is_literal(s))
			return false;
		if (!found && str_among(s, words, ARRAY_SIZE(words)))
			found = true;
		else if (found ? cls && cls != VERB_NOUN && cls != VERB_READ : cls != VERB_NOUN)
			return false; /* before it only words that are known to name things */
	}
	return found;
}

/* Packages that come over a connection anybody on the way can change, or from where no packages come from. */
static void plain_sources(struct ctx *cx, struct call *c)
{
	for (size_t i = 1; i < c->argc; i++) {
		const struct field *f = &c->argv[i];

		if (url_is_plain(f->s))
			fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "installs code that comes without encryption");
		else if (url_is_odd(f->s))
			fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s),
			     "installs code from a host that has no name, or one that looks like another");
	}
}

/*
 * "passwd -S root" asks; "passwd -S -d root" and "nvme format -s 1" do not: what lowers the level
 * must be an option of the command that has it, and all that stands beside it must be known or only
 * say how to show the answer.
 */
static bool only_asks(struct ctx *cx, const struct call *c)
{
	bool own = c->cmd->level < REIN_LEVEL_DANGEROUS || c->cmd == c->top;

	for (size_t i = 0; i < c->n_got && !own; i++)
		for (size_t k = 0; k < c->cmd->n_opts; k++)
			own |= c->got[i].opt == &c->cmd->opts[k] &&
			       c->got[i].opt->acts & ACT_RDONLY;
	return own && hint_shows(cx, c);
}

/* npm config set registry URL, pip config set global.index-url URL */
static bool names_source(const struct call *c)
{
	for (size_t i = 1; i < c->argc; i++)
		if (str_has(c->argv[i].s, "registry") || str_has(c->argv[i].s, "index-url"))
			return true;
	return false;
}

/* What its options are by themselves. */
static void option_levels(struct ctx *cx, const struct call *c)
{
	for (size_t i = 0; i < c->n_got; i++) {
		const struct know_opt *o = c->got[i].opt;
		enum rein_level l = act_level(o->acts);
		enum rein_reach r = reach_of(c, l);

		if (!l)
			continue;
		/* what can be reversed with care cannot when it destroys */
		if (l == REIN_LEVEL_DESTRUCTIVE && r == REIN_REACH_COMPENSABLE)
			r = REIN_REACH_IRREVERSIBLE;
		fact(cx, kind_of(c), l, r, c->got[i].at, NULL,
		     o->why ? o->why : cx_printf(cx, "%s %s is not harmless", c->top->name, o->name));
	}
}

void call_base(struct ctx *cx, struct call *c)
{
	const struct know_cmd *cmd = c->cmd;
	enum rein_level level = cmd->level;
	struct range at = c->sub_at.end ? c->sub_at : c->argv[0].at;
	bool reads, sources = false;

	if (c->acts & ACT_MUTATE && cmd->mutate > level)
		level = cmd->mutate;
	if (c->acts & ACT_KEEP && level > REIN_LEVEL_RISKY)
		level = REIN_LEVEL_RISKY;
	reads = level <= REIN_LEVEL_RISKY && c->unknown_sub && reads_words(cx, c);
	if ((c->acts & ACT_RDONLY && only_asks(cx, c)) || reads ||
	    (level == REIN_LEVEL_RISKY && asks(c)))
		level = 0;
	/* a connection that is told nothing only shows who answers */
	if (str_is(rein_str(cmd->name), "s_client") && c->io->piped && c->io->in.known &&
	    c->io->in.text.n < 3)
		level = 0;
	level = note_level(c, level);
	if (level || (reach_of(c, 0) > REIN_REACH_READONLY && !(c->acts & ACT_RDONLY)))
		fact(cx, kind_of(c), level ? level : REIN_LEVEL_SAFE, reach_of(c, level), at, NULL,
		     level ? why_of(cx, c) : "works in the workspace");
	if (level && kind_of(c) == REIN_FACT_SERVICE)
		guards_stopped(cx, c);
	/* openocd -c "flash erase_sector 0 0 last": these programs have languages of their own */
	for (size_t i = 1; level && kind_of(c) == REIN_FACT_DEVICE && i < c->argc; i++)
		if (str_has(c->argv[i].s, "erase"))
			fact(cx, REIN_FACT_DEVICE, REIN_LEVEL_DESTRUCTIVE, reach_of(c, REIN_LEVEL_DESTRUCTIVE),
			     c->argv[i].at, show(cx, c->argv[i].s), "erases the memory of a device");
	if (str_in(rein_str(c->chain[c->n_chain > 1]->name),
		   "config c set configure defaults env gsettings dconf")) {
		protect_config(cx, c);
		sources = names_source(c);
	}
	if (level && (sources || kind_of(c) == REIN_FACT_PACKAGE))
		plain_sources(cx, c);
	option_levels(cx, c);
	if (c->has_unknown && !cmd->any)
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->unknown.at,
		     show(cx, c->unknown.s), "an option that is not known");
	if (cmd->any && !level && reach_of(c, 0) == REIN_REACH_CONTAINED)
		hint_words(cx, c);
	if (c->has_unknown && cmd->any)
		hint_options(cx, c,
			     !level && reach_of(c, 0) <= REIN_REACH_READONLY && !c->top->handler);
	if (c->hole_opt && !cmd->any)
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, at, NULL,
		     "an option is only known when it runs");
	if (c->unknown_sub && cmd->n_subs && !cmd->sub_any && !reads)
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY,
		     reach_of(c, REIN_LEVEL_RISKY), c->ops.n ? c->ops.v[0].at : at,
		     c->ops.n ? show(cx, c->ops.v[0].s) : NULL, "a sub-command that is not known");
}

/*
 * A sub-command nobody told us about can still say what it does: dotnet ef database drop, doctrine:schema:drop.
 */
static void telling_words(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n && i < 4; i++) {
		struct rein_str s = c->ops.v[i].s;
		bool compound = s.n && (memchr(s.p, '-', s.n) || memchr(s.p, '_', s.n));

		/* of a tool that also takes names, only whole words count: a test may be called
		 * delete-user */
		if (!s.n || (compound && (i || c->cmd->sub_any)) ||
		    verb_class(cx, s) != VERB_DELETE)
			continue;
		fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE,
		     reach_of(c, REIN_LEVEL_DESTRUCTIVE), c->ops.v[i].at, show(cx, s),
		     "a sub-command whose name says that it removes something");
		return;
	}
}

static struct data default_run(struct ctx *cx, struct call *c)
{
	struct data d;

	call_base(cx, c);
	call_effects(cx, c);
	if (!cmd_notes(c->top, "search") && !cmd_notes(c->top, "filter"))
		rummage_words(cx, c);
	if (c->unknown_sub && c->cmd->level < REIN_LEVEL_DANGEROUS)
		telling_words(cx, c);
	if (c->unknown_sub && c->ops.n &&
	    (str_ends(c->ops.v[0].s, ".dll") || str_ends(c->ops.v[0].s, ".exe")))
		effect_script(cx, &c->ops.v[0], NULL); /* dotnet app.dll */
	d = data_unknown(cx->seen | c->io->in.taint);
	if (c->acts & ACT_DECODE || cmd_notes(c->top, "decode"))
		d.taint |= TAINT_DECODED;
	note_effects(cx, c, &d);
	if (c->rest < c->argc)
		return exec_rest(cx, c, c->rest);
	return d;
}

/* Programs that list names, or hand them on as they are. */
static bool keeps_names(const struct know_cmd *cmd)
{
	return str_in(rein_str(cmd->name), "find gfind bfind fd fdfind git grep egrep fgrep rg ag "
					   "ack sort head tail uniq shuf tac cat tee");
}

/* tclsh --version has no such option and runs what it is given: of the rarer ones nobody knows them all. */
static bool reads_program(const struct know_cmd *cmd, const struct io *io)
{
	return io->piped && cmd->handler == HANDLE_interp && cmd->lang &&
	       !strcmp(cmd->lang, "other");
}

/* git clone … && cd … && make: whoever wrote that tree says what runs */
static void fetched_build(struct ctx *cx, const struct call *c, uint8_t handler)
{
	struct rein_str name = rein_str(c->top->name);
	bool builds = handler == HANDLE_make || handler == HANDLE_npmrun || handler == HANDLE_cmake ||
		      (kind_of(c) == REIN_FACT_PACKAGE && c->cmd->level) ||
		      str_in(name, "configure ninja meson cargo go gradle gradlew mvn mvnw rake bundle tox nox "
				   "pytest bazel bazelisk swift dotnet mix sbt just task poetry");

	if (cx->fetched && builds && c->argc > (handler == HANDLE_npmrun ? 1 : 0))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, c->argv[0].at, NULL,
		     "builds or runs a tree that was downloaded just now");
}

/*
 * eval "$(direnv hook bash)", source <(kubectl completion bash): what an installed program prints
 * for the shell to take is the program's own code, and no worse than running it.
 */
static bool prints_own_code(const struct call *c)
{
	static const struct {
		const char *programs, *words;
	} hooks[] = {
		{"direnv", "hook"},
		{"pyenv rbenv nodenv jenv goenv plenv phpenv starship zoxide atuin oh-my-posh",
		 "init virtualenv-init"},
		{"fnm opam", "env"},
		{"brew", "shellenv"},
		{"conda mamba micromamba", "shell shell.bash shell.zsh shell.fish shell.posix"},
		{"mise rtx", "activate"},
		{"thefuck", "--alias"},
		{"minikube", "docker-env podman-env"},
	};
	struct rein_str name = rein_str(c->top->name);

	for (size_t i = 1; i < c->argc; i++)
		if (!is_literal(c->argv[i].s))
			return false;
	if (str_in(name, "ssh-agent dircolors"))
		return !c->ops.n && c->rest >= c->argc;
	if (c->argc < 2 || c->argc > 8)
		return false;
	if (str_in(c->argv[1].s, "completion completions"))
		return c->cmd->level < REIN_LEVEL_DANGEROUS;
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (str_in(name, hooks[i].programs) && str_in(c->argv[1].s, hooks[i].words))
			return true;
	return false;
}

/*
 * Programs that can be told to do more while they run, by a terminal or by files they read by
 * themselves (a repository's configuration): with another user's rights even one that only shows
 * something is no reader.
 */
static void more_rights(struct ctx *cx, const struct know_cmd *cmd, struct range at)
{
	if (cmd->handler == HANDLE_shell || cmd->handler == HANDLE_interp ||
	    cmd->handler == HANDLE_vim || cmd->handler == HANDLE_git || cmd_notes(cmd, "pager") ||
	    str_is(rein_str(cmd->name), "man"))
		fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, at, NULL,
		     "can be told to do more as another user");
}

struct data run_known(struct ctx *cx, const struct know_cmd *cmd, struct field *v, size_t n,
		      struct io *io)
{
	struct call c = {.top = cmd, .cmd = cmd, .argv = v, .argc = n, .io = io};
	uint16_t seen = cx->seen;
	struct data d;
	uint8_t h = 0;
	struct rein_str cwd = cx->cwd;
	bool cwd_unknown = cx->cwd_unknown, own_store = cx->own_store;

	if (n == 2 && cmd->style != STYLE_NONE && !reads_program(cmd, io) &&
	    str_in(v[1].s, "--version -version -V --help -help"))
		return data_unknown(0);
	c.chain[c.n_chain++] = cmd;
	args_read(cx, &c);
	for (size_t k = c.n_chain; k-- > 0 && !h;)
		h = c.chain[k]->handler;
	if (c.acts & ACT_SAFE && !(h && cmd->style == STYLE_NONE) && !reads_program(cmd, io)) {
		/* ssh -F file -G host: to answer, it reads what can run programs */
		for (size_t i = 0; i < c.n_got; i++)
			if (c.got[i].opt->role == ROLE_CONFIG || c.got[i].opt->role == ROLE_PROG ||
			    c.got[i].opt->role == ROLE_SCRIPT)
				role_effect(cx, &c, c.got[i].opt->role, &c.got[i].val);
		return data_unknown(0);
	}
	if (cx->privileged)
		more_rights(cx, cmd, v[0].at);
	cx->seen = 0;
	cx->own_store = server_is_own(cx, &c);
	if (c.acts & ACT_DRY)
		cx->dry++;
	d = handlers[h] ? handlers[h](cx, &c) : default_run(cx, &c);
	if (c.cmd->level && c.cmd->kind) {
		if (kind_of(&c) == REIN_FACT_SECRET && !d.known)
			d.taint |= TAINT_SECRET; /* state pull | curl … */
		if (cmd_notes(c.cmd, "copy") && !(c.acts & ACT_RDONLY))
			d.taint |= TAINT_STORE;
	}
	if (!d.known && prints_own_code(&c))
		d = data_known(STR(""));
	fetched_build(cx, &c, h);
	carry_call(cx, &c, h);
	if (c.acts & ACT_DRY)
		cx->dry--;
	if (d.taint & (TAINT_NAMES | TAINT_KEYS) && !keeps_names(cmd))
		d.taint &= (uint16_t)~(TAINT_NAMES | TAINT_KEYS);
	cx->seen = seen;
	cx->own_store = own_store;
	for (size_t i = 0; i < c.n_got; i++)
		if (c.got[i].opt->role == ROLE_CWD) {
			cx->cwd = cwd;
			cx->cwd_unknown = cwd_unknown;
		}
	return d;
}
