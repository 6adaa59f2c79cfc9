/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the arguments of a known program the way the program does: clusters, attached and separate
 * values, abbreviations, "--", sub-commands. Nothing here says what any of them does.
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

/* What makes a command harmless, or more so. */
#define ACTS_LOWER (ACT_SAFE | ACT_DRY | ACT_RDONLY | ACT_KEEP)

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
			    !(cmd->opts[i].acts & ACTS_LOWER) &&
			    (!best || opt_weight(&cmd->opts[i]) > opt_weight(best)))
				best = &cmd->opts[i];
	}
	return best;
}

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
	if (o->acts & ACT_SAFE && c->argc > c->n_chain + 1 &&
	    (!strcmp(o->name, "-v") || !strcmp(o->name, "-V")))
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
	struct field val = eq ? field_with(f, str_from(f->s, name.n + 1)) : (struct field){0};
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
			val = field_with(f, str_from(f->s, 2));
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
		if (verb_class(cx, c->ops.v[i].s) == VERB_EXEC || str_has(c->ops.v[i].s, "."))
			return false;
	return true;
}

static void short_cluster(struct ctx *cx, struct call *c, size_t *i)
{
	struct field *f = &c->argv[*i];
	const struct know_opt *whole = f->s.n > 2 ? opt_exact(c, f->s) : NULL;

	if (str_is(f->s, "-h") && *i + 1 == c->argc && asks_here(cx, c) && !opt_exact(c, f->s) &&
	    !may_be_value(c, *i)) {
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
				val = field_with(f, rest);
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

/*
 * kubectl --new get delete namespace x: if an option that nobody knows takes the word behind it, the next one is the
 * sub-command.
 */
static void other_sub(struct ctx *cx, const struct call *c, size_t i)
{
	size_t k = i + 1;
	const struct know_cmd *other;

	if (!may_be_value(c, i))
		return;
	while (k < c->argc && is_option(c, &c->argv[k]))
		k++;
	other = k < c->argc ? sub_find(c->cmd, c->argv[k].s) : NULL;
	if (other && other->level > REIN_LEVEL_SAFE && strcmp(other->name, "*"))
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, c->argv[i - 1].at,
		     show(cx, c->argv[k].s), "an option that is not known decides which word is the sub-command");
}

static void push_operand(struct ctx *cx, struct call *c, size_t i)
{
	if (!c->op_at)
		c->op_at = arena_alloc(cx->a, (c->argc + 1) * sizeof(*c->op_at));
	c->op_at[c->ops.n] = i;
	fields_push(cx, &c->ops, c->argv[i]);
}

void args_read(struct ctx *cx, struct call *c)
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
				other_sub(cx, c, i);
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

bool call_word(const struct call *c, const char *word)
{
	for (size_t i = 1; i < c->argc; i++)
		if (str_is(c->argv[i].s, word) ||
		    (str_starts(c->argv[i].s, word) && c->argv[i].s.p[strlen(word)] == '='))
			return true;
	return false;
}
