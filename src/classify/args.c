/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the arguments of a known program the way the program does: clusters, attached and
 * separate values, abbreviations, "--", sub-commands; and what the program does by itself, whatever
 * its words are.
 */
#include "classify/internal.h"

/* "docker -v" prints the version; the v of "docker rm -v" is another one. */
static bool only_before(const struct know_opt *o)
{
	return (o->acts & ACT_SAFE) && strlen(o->name) == 2 && o->name[1] != 'h';
}

static const struct know_opt *opt_exact(const struct call *c, struct rein_str name)
{
	for (size_t k = c->n_chain; k-- > 0;) {
		const struct know_cmd *cmd = c->chain[k];
		bool outer = k + 1 < c->n_chain;

		for (size_t i = 0; i < cmd->n_opts; i++)
			if (str_is(name, cmd->opts[i].name) && !(outer && only_before(&cmd->opts[i])))
				return &cmd->opts[i];
	}
	return NULL;
}

static unsigned opt_weight(const struct know_opt *o)
{
	unsigned w = 0;

	if (o->acts & (ACT_DESTROY | ACT_DANGER))
		w += 8;
	if (o->acts & (ACT_RISKY | ACT_FORCE | ACT_REC | ACT_INPLACE | ACT_DELOP | ACT_MUTATE))
		w += 4;
	if (o->role == ROLE_SHELL || o->role == ROLE_PROG || o->role == ROLE_WRITE ||
	    o->role == ROLE_CODE || o->role == ROLE_UPLOAD || o->role == ROLE_SQL)
		w += 4;
	return w;
}

/* getopt_long accepts any unambiguous beginning; of several we take the worst. */
static const struct know_opt *opt_prefix(const struct call *c, struct rein_str name)
{
	const struct know_opt *best = NULL;

	if (name.n < 3 || !str_starts(name, "--"))
		return NULL;
	for (size_t k = c->n_chain; k-- > 0;) {
		const struct know_cmd *cmd = c->chain[k];

		for (size_t i = 0; i < cmd->n_opts; i++)
			/* an abbreviation may make things worse, never better */
			if (!strncmp(cmd->opts[i].name, name.p, name.n) &&
			    !(cmd->opts[i].acts & (ACT_SAFE | ACT_DRY | ACT_RDONLY | ACT_KEEP)) &&
			    (!best || opt_weight(&cmd->opts[i]) > opt_weight(best)))
				best = &cmd->opts[i];
	}
	return best;
}

/* What makes a command harmless, or more so. */
#define ACTS_LOWER (ACT_SAFE | ACT_DRY | ACT_RDONLY | ACT_KEEP)

/* --no-dry-run, --no-n take back what came before them. */
static bool takes_back(struct ctx *cx, struct call *c, struct rein_str name)
{
	struct sbuf other = {.a = cx->a};
	const struct know_opt *o;

	if (!str_starts(name, "--no-") || name.n < 6)
		return false;
	sbuf_str(&other, name.n == 6 ? STR("-") : STR("--"));
	sbuf_str(&other, str_from(name, 5));
	o = opt_exact(c, sbuf_view(&other));
	if (!o || !(o->acts & ACTS_LOWER))
		return false;
	c->acts &= ~(o->acts & ACTS_LOWER);
	return true;
}

/* --dry-run=none, --help=false; and what is only known when it runs is no promise either */
static bool denied(struct rein_str val)
{
	return val.n && (has_hole(val) ||
			 str_in(val, "none None no NO false False FALSE off OFF never 0 f"));
}

static void got(struct ctx *cx, struct call *c, const struct know_opt *o, struct field val,
		struct range at)
{
	if (c->n_got == c->cap_got) {
		size_t cap = c->cap_got ? c->cap_got * 2 : 8;
		struct got *v = arena_alloc(cx->a, cap * sizeof(*v));

		if (c->n_got)
			memcpy(v, c->got, c->n_got * sizeof(*v));
		c->got = v;
		c->cap_got = cap;
	}
	c->got[c->n_got++] = (struct got){o, val, at, c->word};
	/* where a value must follow it says what is asked about, not whether: tcpdump -r FILE */
	c->acts |= o->arg != 1 && denied(val.s) ? o->acts & ~ACTS_LOWER : o->acts;
	/* "ruby -v x.rb", "sqlcmd -V 16 -Q …": what prints the version when alone is another letter among words */
	if (o->acts & ACT_SAFE && c->argc > c->n_chain + 1 && (!strcmp(o->name, "-v") || !strcmp(o->name, "-V")))
		c->acts &= ~(uint32_t)ACT_SAFE;
}

static void unknown_opt(struct call *c, const struct field *f)
{
	if (!c->has_unknown)
		c->unknown = *f;
	c->has_unknown = true;
	if (c->n_unknown && c->unknown_at[c->n_unknown - 1] == (size_t)(f - c->argv))
		return; /* another letter of the same cluster */
	if (c->n_unknown < ARRAY_SIZE(c->unknown_at))
		c->unknown_at[c->n_unknown++] = (size_t)(f - c->argv);
}

static struct field sub_field(const struct field *f, struct rein_str s)
{
	struct field v = *f;

	v.s = s;
	return v;
}

/* Take the next word as the value of o; false when there is none. */
static struct field next_value(struct call *c, size_t *i)
{
	if (*i + 1 < c->argc)
		return c->argv[++*i];
	return (struct field){.s = STR("")};
}

/* An option right before it is not known, and may take a value. */
static bool may_be_value(const struct call *c, size_t i)
{
	size_t before = c->n_unknown ? c->unknown_at[c->n_unknown - 1] : 0;

	return before && before + 1 == i && !memchr(c->argv[before].s.p, '=', c->argv[before].s.n);
}

static void long_option(struct ctx *cx, struct call *c, size_t *i, bool single)
{
	struct field *f = &c->argv[*i];
	const char *eq = memchr(f->s.p, '=', f->s.n);
	struct rein_str name = eq ? str_to(f->s, (size_t)(eq - f->s.p)) : f->s;
	struct field val = eq ? sub_field(f, str_from(f->s, name.n + 1)) : (struct field){0};
	const struct know_opt *o = opt_exact(c, name);
	struct range at = f->at;

	if (has_hole(name)) {
		c->hole_opt = true;
		return;
	}
	if (!o && takes_back(cx, c, name))
		return;
	if (!o && single && name.n > 2 && name.p[1] == '-')
		o = opt_exact(c, str_from(name, 1));
	if (!o && single && name.n > 1 && name.p[1] != '-') {
		struct sbuf two = {.a = cx->a};

		sbuf_char(&two, '-');
		sbuf_str(&two, name);
		o = opt_exact(c, sbuf_view(&two));
	}
	/* --helper is no question */
	if (!o && (str_is(name, "--help") || str_starts(name, "--help-")) && !denied(val.s) &&
	    !may_be_value(c, *i))
		c->acts |= ACT_SAFE;
	else if (str_is(name, "--version") && (!o || o->acts & ACT_SAFE)) {
		/* after a sub-command it may take a value of its own */
		if (*i + 1 < c->argc && (c->ops.n || c->n_chain > 1)) {
			unknown_opt(c, f);
			return;
		}
		if (may_be_value(c, *i))
			return;
		c->acts |= ACT_SAFE;
	}
	if (!o)
		o = opt_prefix(c, name);
	if (!o && single && f->s.n > 2) {
		/* -Ipath, -O2 */
		o = opt_exact(c, str_to(f->s, 2));
		if (o && o->arg)
			val = sub_field(f, str_from(f->s, 2));
		else
			o = NULL;
	}
	if (!o) {
		if (!(c->acts & ACT_SAFE))
			unknown_opt(c, f);
		return;
	}
	if (o->arg == 1 && !eq && !val.s.n) {
		val = next_value(c, i);
		at.end = val.at.end > at.end ? val.at.end : at.end;
	}
	got(cx, c, o, val, at);
}

/*
 * vault kv destroy -h, kubectl delete -h: at the very end it names no host, and of what has
 * sub-commands it is a question; but not behind the name of a program, whose it would be.
 */
static bool asks_here(struct ctx *cx, const struct call *c)
{
	if (c->top->handler != HANDLE_verbs)
		return c->n_chain > 1 && !c->ops.n;
	for (size_t i = 0; i < c->ops.n; i++)
		if (verb_class(cx, c->ops.v[i].s) == VERB_EXEC || (c->ops.v[i].s.n && memchr(c->ops.v[i].s.p, '.', c->ops.v[i].s.n)))
			return false;
	return true;
}

static void short_cluster(struct ctx *cx, struct call *c, size_t *i)
{
	struct field *f = &c->argv[*i];
	const struct know_opt *whole = f->s.n > 2 ? opt_exact(c, f->s) : NULL;

	if (str_is(f->s, "-h") && *i + 1 == c->argc && asks_here(cx, c) && !opt_exact(c, f->s) && !may_be_value(c, *i)) {
		c->acts |= ACT_SAFE;
		return;
	}

	if (whole) { /* -TT, -qa: a word of its own */
		got(cx, c, whole, whole->arg == 1 ? next_value(c, i) : (struct field){0}, f->at);
		return;
	}
	for (size_t k = 1; k < f->s.n; k++) {
		char name[3] = {f->s.p[0], f->s.p[k], '\0'};
		const struct know_opt *o = opt_exact(c, rein_str(name));
		struct field val = {0};

		if (!cx_work(cx, 100))
			return;
		if (f->s.p[k] == HOLE) {
			c->hole_opt |= f->taint != TAINT_NUMBER;
			continue;
		}
		if (!o) {
			if (f->s.p[k] >= '0' && f->s.p[k] <= '9')
				continue;
			unknown_opt(c, f);
			c->odd_letter |= !strchr("vnxqjahwtgou", f->s.p[k]);
			continue;
		}
		if (o->arg) {
			struct rein_str rest = str_from(f->s, k + 1);

			/* some programs take -o=x as well; awk -F= means the byte */
			if (rest.n > 1 && rest.p[0] == '=' && o->role != ROLE_CODE &&
			    o->role != ROLE_DATA)
				rest = str_from(rest, 1);
			if (rest.n)
				val = sub_field(f, rest);
			else if (o->arg == 1)
				val = next_value(c, i);
			got(cx, c, o, val, f->at);
			return;
		}
		got(cx, c, o, val, f->at);
	}
}

static const struct know_cmd *sub_find(const struct know_cmd *cmd, struct rein_str name)
{
	const struct know_cmd *hit = NULL;

	for (size_t i = 0; i < cmd->n_subs; i++)
		if (str_is(name, cmd->subs[i].name))
			return &cmd->subs[i];
	for (size_t i = 0; cmd->partial && name.n && i < cmd->n_subs; i++)
		if (!strncmp(cmd->subs[i].name, name.p, name.n)) {
			if (hit && hit->level >= cmd->subs[i].level)
				continue;
			hit = &cmd->subs[i];
		}
	for (size_t i = 0; !hit && i < cmd->n_subs; i++)
		if (!strcmp(cmd->subs[i].name, "*"))
			hit = &cmd->subs[i];
	return hit;
}

bool has_cmd_role(const struct know_cmd *cmd)
{
	for (size_t i = 0; i < cmd->n_args; i++)
		if (cmd->args[i] == ROLE_CMD)
			return true;
	return false;
}

static bool is_option(const struct call *c, const struct field *f)
{
	char name[3];

	if (f->s.n < 2 || c->cmd->style == STYLE_NONE)
		return false;
	if (f->s.p[0] == '-')
		return true;
	if (f->s.p[0] != '+')
		return false;
	memcpy(name, f->s.p, 2);
	name[2] = '\0';
	return opt_exact(c, rein_str(name)) || opt_exact(c, f->s);
}

static void push_operand(struct ctx *cx, struct call *c, size_t i)
{
	if (!c->op_at)
		c->op_at = arena_alloc(cx->a, (c->argc + 1) * sizeof(*c->op_at));
	c->op_at[c->ops.n] = i;
	fields_push(cx, &c->ops, c->argv[i]);
}

static void parse_call(struct ctx *cx, struct call *c)
{
	bool ended = false;

	c->rest = c->argc;
	c->dashdash = (size_t)-1;
	for (size_t i = 1; i < c->argc; i++) {
		struct field *f = &c->argv[i];
		const struct know_cmd *sub;
		size_t skip = c->acts & ACT_SHIFT ? 1 : 0, at;

		if (!ended && str_is(f->s, "--") && c->cmd->style != STYLE_NONE) {
			ended = true;
			c->dashdash = c->ops.n;
			continue;
		}
		if (!ended && is_option(c, f)) {
			c->word = i;
			if (c->cmd->style == STYLE_SINGLE)
				long_option(cx, c, &i, true);
			else if (f->s.p[1] == '-')
				long_option(cx, c, &i, false);
			else
				short_cluster(cx, c, &i);
			ended = c->acts & ACT_GLOBALEND; /* python -m mod: the rest is the module's */
			continue;
		}
		if (c->cmd->n_subs && !c->ops.n && !ended) {
			sub = sub_find(c->cmd, f->s);
			if (sub && c->n_chain < ARRAY_SIZE(c->chain)) {
				c->cmd = sub;
				c->chain[c->n_chain++] = sub;
				c->sub_at = f->at;
				continue;
			}
			c->unknown_sub = true;
		}
		at = c->ops.n + skip;
		if ((at < c->cmd->n_args && c->cmd->args[at] == ROLE_CMD) ||
		    (c->cmd->proxy && c->unknown_sub)) {
			c->rest = i;
			return;
		}
		push_operand(cx, c, i);
		/* ssh host -p 22 command: its options may stand on both sides of the host */
		if (c->cmd->handler == HANDLE_ssh && !c->cmd->note && c->ops.n == 1)
			continue;
		if (c->cmd->style == STYLE_POSIX || has_cmd_role(c->cmd))
			ended = true;
	}
}

const struct got *call_opt(const struct call *c, const char *name)
{
	for (size_t i = c->n_got; i-- > 0;)
		if (!strcmp(c->got[i].opt->key, name) || !strcmp(c->got[i].opt->name, name))
			return &c->got[i];
	return NULL;
}

bool call_has(const struct call *c, const char *name)
{
	return call_opt(c, name) != NULL;
}

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

		if (str_has(f->s, "http://") && !str_has(f->s, "://localhost") && !str_has(f->s, "://127."))
			fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "installs code that comes without encryption");
		else if (url_is_odd(f->s))
			fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "installs code from a host that has no name, or one that looks like another");
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

/* parted -l, parted DISK [unit U] print: one command that shows, and nothing after it */
static bool prints_disk(const struct call *c)
{
	size_t i = c->ops.n == 4 && str_is(c->ops.v[1].s, "unit") ? 3 : 1;

	if (c->ops.n < 2)
		return call_has(c, "-l");
	return c->ops.n == i + 1 && str_in(c->ops.v[i].s, "print p");
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
	if (str_is(rein_str(cmd->name), "s_client") && c->io->piped && c->io->in.known && c->io->in.text.n < 3)
		level = 0;
	if (c->top->note && c->cmd == c->top) {
		struct rein_str note = rein_str(c->top->note);

		/* "operand", "two": the base level only holds with so many operands */
		if (str_is(note, "assign")) {
			level = 0;
			for (size_t i = 0; i < c->ops.n; i++)
				if (memchr(c->ops.v[i].s.p, '=', c->ops.v[i].s.n))
					level = cmd->level;
		}
		if (str_is(note, "parted") && prints_disk(c))
			level = 0;
		if (str_is(note, "listing") && c->ops.n > 1 && str_in(c->ops.v[1].s, "list describe"))
			level = 0;
		if ((str_is(note, "operand") && !c->ops.n) || (str_is(note, "two") && c->ops.n < 2))
			level = 0;
		/* "bare:yarn": for the program of that name the bare command is an installation */
		if (str_starts(note, "bare:") && !c->ops.n &&
		    str_is(str_from(note, 5), c->top->name))
			level = REIN_LEVEL_RISKY;
	}
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
	for (size_t i = 0; i < c->n_got; i++) {
		enum rein_level l = act_level(c->got[i].opt->acts);

		enum rein_reach r = reach_of(c, l);

		/* what can be reversed with care cannot when it destroys */
		if (l == REIN_LEVEL_DESTRUCTIVE && r == REIN_REACH_COMPENSABLE)
			r = REIN_REACH_IRREVERSIBLE;
		if (l)
			fact(cx, kind_of(c), l, r, c->got[i].at, NULL,
			     c->got[i].opt->why ? c->got[i].opt->why
						: cx_printf(cx, "%s %s is not harmless",
							    c->top->name, c->got[i].opt->name));
	}
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

static bool has_note(const struct call *c, const char *note)
{
	return c->top->note && str_is(rein_str(c->top->note), note);
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

/* A sub-command nobody told us about can still say what it does: dotnet ef database drop,
 * doctrine:schema:drop. */
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

static struct data default_run(struct ctx *cx, struct call *c)
{
	struct data d;

	call_base(cx, c);
	call_effects(cx, c);
	if (!has_note(c, "search") && !has_note(c, "filter"))
		rummage_words(cx, c);
	if (c->unknown_sub && c->cmd->level < REIN_LEVEL_DANGEROUS)
		telling_words(cx, c);
	if (c->unknown_sub && c->ops.n &&
	    (str_ends(c->ops.v[0].s, ".dll") || str_ends(c->ops.v[0].s, ".exe")))
		effect_script(cx, &c->ops.v[0], NULL); /* dotnet app.dll */
	d = data_unknown(cx->seen | c->io->in.taint);
	if (c->acts & ACT_DECODE || has_note(c, "decode"))
		d.taint |= TAINT_DECODED;
	if (has_note(c, "search")) {
		rummage_search(cx, c);
		if (call_has(c, "-l") || call_has(c, "--files"))
			d.taint = (uint16_t)names_taint(cx, c->ops.n > 1 ? c->ops.v + 1 : NULL,
							c->ops.n > 1 ? c->ops.n - 1 : 0);
	}
	if (has_note(c, "pid") && call_has(c, "-p"))
		process_setting(cx, c);
	if (has_note(c, "pager"))
		pager_commands(cx, c);
	if (has_note(c, "times"))
		borrowed_times(cx, c);
	if (has_note(c, "processes"))
		rummage_processes(cx, c);
	if (has_note(c, "bang"))
		bang_commands(cx, c);
	for (size_t i = 1; has_note(c, "index") && i < c->argc; i++)
		run_index(cx, c->argv[i].s, c->argv[i].at);
	if (str_is(rein_str(c->top->name), "rclone"))
		inline_settings(cx, c);
	if (has_note(c, "opens"))
		opened_files(cx, c);
	if (str_in(rein_str(c->top->name), "convert magick identify mogrify montage composite compare gm ffmpeg ffprobe "
					   "ffplay animate display conjure"))
		picture_words(cx, c);
	if (has_note(c, "clock") && c->ops.n && c->ops.v[0].s.n && c->ops.v[0].s.p[0] != '+' && !call_has(c, "-j"))
		fact(cx, REIN_FACT_SERVICE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, c->ops.v[0].at,
		     show(cx, c->ops.v[0].s), "sets the clock");
	if (has_note(c, "scanner"))
		rummage_scan(cx, c);
	if (has_note(c, "mlr"))
		miller_verbs(cx, c);
	if (has_note(c, "getent"))
		account_database(cx, c);
	if (has_note(c, "filter"))
		rummage_filter(cx, c);
	if (c->cmd->note && !strcmp(c->cmd->note, "values")) {
		rummage_values(cx, c->ops.v, c->ops.n);
		d.taint |= cx->seen;
	}
	if (has_note(c, "encode"))
		rummage_encode(cx, c);
	for (size_t i = 0; has_note(c, "tree") && i < c->ops.n; i++)
		rummage_tree(cx, &c->ops.v[i]);
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

/* tclsh --version has no such option and runs what it is given: of the rarer ones nobody knows all
 * of them. */
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
		      str_in(name, "configure ninja meson cargo go gradle gradlew mvn mvnw rake bundle tox nox pytest "
				   "bazel bazelisk swift dotnet mix sbt just task poetry");

	if (cx->fetched && builds && c->argc > (handler == HANDLE_npmrun ? 1 : 0))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, c->argv[0].at, NULL,
		     "builds or runs a tree that was downloaded just now");
}

struct data run_known(struct ctx *cx, const struct know_cmd *cmd, struct field *v, size_t n,
		      struct io *io)
{
	struct call c = {.top = cmd, .cmd = cmd, .argv = v, .argc = n, .io = io};
	uint16_t seen = cx->seen;
	struct data d;
	uint8_t h = 0;
	struct rein_str cwd = cx->cwd;
	bool cwd_unknown = cx->cwd_unknown;

	if (n == 2 && cmd->style != STYLE_NONE && !reads_program(cmd, io) &&
	    str_in(v[1].s, "--version -version -V --help -help"))
		return data_unknown(0);
	c.chain[c.n_chain++] = cmd;
	parse_call(cx, &c);
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
	cx->seen = 0;
	if (c.acts & ACT_DRY)
		cx->dry++;
	d = handlers[h] ? handlers[h](cx, &c) : default_run(cx, &c);
	if (c.cmd->level && c.cmd->kind) {
		if (kind_of(&c) == REIN_FACT_SECRET && !d.known)
			d.taint |= TAINT_SECRET; /* state pull | curl … */
		if (c.cmd->note && !strcmp(c.cmd->note, "copy") && !(c.acts & ACT_RDONLY))
			d.taint |= TAINT_STORE;
	}
	fetched_build(cx, &c, h);
	carry_call(cx, &c, h);
	if (c.acts & ACT_DRY)
		cx->dry--;
	if (d.taint & (TAINT_NAMES | TAINT_KEYS) && !keeps_names(cmd))
		d.taint &= (uint16_t)~(TAINT_NAMES | TAINT_KEYS);
	cx->seen = seen;
	for (size_t i = 0; i < c.n_got; i++)
		if (c.got[i].opt->role == ROLE_CWD) {
			cx->cwd = cwd;
			cx->cwd_unknown = cwd_unknown;
		}
	return d;
}
