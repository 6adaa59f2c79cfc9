/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials that are looked for, encoded or put aside. What a program reads by name is judged where it reads;
 * this is about texts that may hold credentials among other things: the environment, whole directories.
 */
#include "classify/internal.h"

static void say(struct ctx *cx, enum rein_reach reach, struct range at, struct rein_str what, const char *why)
{
	fact(cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, reach, at, show(cx, what), why);
}

/* A pattern that somebody writes who wants to find credentials. */
static bool means_credentials(struct rein_str s)
{
	static const char *const words[] = {"passw", "secret", "token", "api_key", "apikey", "api-key", "api.key", "credential",
					    "private key", "private_key", "access_key", "accesskey", "akia", "bearer", "ghp_",
					    "_pat", "auth"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_has_ci(s, words[i]))
			return true;
	return false;
}

/* Everything below it, and not what belongs to the project or only to programs. */
static bool holds_strangers(struct ctx *cx, const struct field *f)
{
	static const char *const dirs[] = {"/etc", "/var/www", "/srv", "/opt", "/var/lib", "/proc", "/run", "/mnt", "/media"};
	struct spot s = path_spot(cx, f->s);

	if (s.place == PLACE_HOME || s.place == PLACE_HOME_ROOT || s.place == PLACE_SYSTEM_ROOT)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (str_starts(s.path, dirs[i]) && (s.path.n == strlen(dirs[i]) || s.path.p[strlen(dirs[i])] == '/'))
			return true;
	return false;
}

static const struct field *pattern_arg(const struct call *c)
{
	const struct got *e = call_opt(c, "-e");

	if (!e)
		e = call_opt(c, "--regexp");
	return e ? &e->val : c->ops.n ? &c->ops.v[0] : NULL;
}

void rummage_search(struct ctx *cx, const struct call *c)
{
	const struct field *pattern = pattern_arg(c);
	bool deep = call_has(c, "-r") || call_has(c, "-R") || !str_has(rein_str(c->top->name), "grep") ||
		    str_is(c->argv[0].s, "rgrep");
	size_t first = pattern && c->ops.n && pattern == &c->ops.v[0] ? 1 : 0;

	if (!pattern || !means_credentials(pattern->s))
		return;
	if (c->io->piped && c->io->in.taint & TAINT_SECRET && c->ops.n <= first)
		say(cx, REIN_REACH_READONLY, pattern->at, pattern->s, "picks credentials out of a text that may hold some");
	for (size_t i = first; deep && i < c->ops.n; i++)
		if (holds_strangers(cx, &c->ops.v[i]))
			say(cx, REIN_REACH_READONLY, c->ops.v[i].at, c->ops.v[i].s, "searches outside the workspace for credentials");
}

void rummage_encode(struct ctx *cx, const struct call *c)
{
	if (c->io->piped && c->io->in.taint & TAINT_SECRET && !c->ops.n)
		say(cx, REIN_REACH_READONLY, c->argv[0].at, c->argv[0].s,
		    "encodes a text that may hold credentials, so that they are not recognised");
}

/* Into a pipe is how a program gets its password. */
void rummage_print(struct ctx *cx, uint16_t taint, struct range at)
{
	if (taint & TAINT_SECRET && !cx->pipes)
		say(cx, REIN_REACH_READONLY, at, STR(""), "prints a credential");
}

/* jq -n env, jq '$ENV.API_KEY' */
void rummage_filter(struct ctx *cx, const struct call *c)
{
	struct rein_str s = c->ops.n ? c->ops.v[0].s : STR("");

	for (size_t i = 0; i + 3 <= s.n; i++) {
		bool var = i && s.p[i - 1] == '$' && !memcmp(s.p + i, "ENV", 3);
		struct rein_str name = str_from(s, i + 3);
		size_t n = 0;

		if (!var && (memcmp(s.p + i, "env", 3) || (i && !strchr(" (|,[{:", s.p[i - 1]))))
			continue;
		if (name.n && name.p[0] != '.' && name.p[0] != '[' && !strchr(" )|,]};", name.p[0]))
			continue;
		while (name.n && strchr(".[\"", name.p[0]))
			name = str_from(name, 1);
		while (n < name.n && (name.p[n] == '_' || (name.p[n] >= 'A' && name.p[n] <= 'Z') ||
				      (name.p[n] >= '0' && name.p[n] <= '9')))
			n++;
		if (!n)
			say(cx, REIN_REACH_READONLY, c->ops.v[0].at, s,
			    "reads the whole environment");
		else if (env_is_secret(cx, str_to(name, n)))
			fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			     c->ops.v[0].at, show(cx, str_to(name, n)), "prints a credential");
	}
}

/* ps eww, ps auxe */
void rummage_processes(struct ctx *cx, const struct call *c)
{
	if (c->argc > 1 && c->argv[1].s.n && c->argv[1].s.p[0] != '-' && memchr(c->argv[1].s.p, 'e', c->argv[1].s.n))
		say(cx, REIN_REACH_READONLY, c->argv[1].at, c->argv[1].s, "shows the environments of processes");
}

void rummage_store(struct ctx *cx, const struct data *d, const struct field *to)
{
	struct spot s;

	if (!(d->taint & TAINT_SECRET))
		return;
	s = path_spot(cx, to->s);
	if (s.place != PLACE_NULL && s.place != PLACE_DATA)
		say(cx, REIN_REACH_CONTAINED, to->at, to->s, "keeps a text that may hold credentials in a file");
}

/* A directory whose files are copied as a whole: programs keep their credentials somewhere below
 * these. */
void rummage_tree(struct ctx *cx, const struct field *f)
{
	static const struct rein_str dirs[] = {WORD("/.config"),
					       WORD("/.local"),
					       WORD("/.local/share"),
					       WORD("/Library"),
					       WORD("/Library/Application Support"),
					       WORD("/.var/app"),
					       WORD("/AppData")};
	struct spot s = path_spot(cx, f->s);

	if (s.place != PLACE_HOME || s.path.n <= cx->home.n)
		return;
	if (!str_among(str_from(s.path, cx->home.n), dirs, ARRAY_SIZE(dirs)))
		return;
	cx->seen |= TAINT_SECRET;
	fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, f->at, show(cx, f->s),
	     "copies a directory in which programs keep credentials");
}

/* find ~ -name id_rsa */
void rummage_names(struct ctx *cx, const struct field *name, const struct field *starts, size_t n)
{
	struct sbuf any = {.a = cx->a};
	struct rein_str s = name->s;

	while (s.n && (s.p[0] == '*' || s.p[0] == GLOB_STAR))
		s = str_from(s, 1);
	if (s.n != name->s.n)
		sbuf_char(&any, 'x');
	sbuf_str(&any, s);
	if (s.n < 3 || !path_spot(cx, sbuf_view(&any)).secret)
		return;
	for (size_t i = 0; i < n; i++)
		if (holds_strangers(cx, &starts[i]))
			say(cx, REIN_REACH_READONLY, name->at, name->s, "searches outside the workspace for credentials");
}
