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
	if (s.place <= PLACE_TMP_ROOT) /* a workspace may lie in any of them */
		return false;
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

/* trufflehog filesystem ~: what is made to find credentials */
void rummage_scan(struct ctx *cx, const struct call *c)
{
	for (size_t i = 1; i < c->argc; i++)
		if (c->argv[i].s.n && strchr("/~", c->argv[i].s.p[0]) && holds_strangers(cx, &c->argv[i]))
			say(cx, REIN_REACH_READONLY, c->argv[i].at, c->argv[i].s,
			    "searches outside the workspace for credentials");
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
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, at, NULL, "prints a credential");
}

/* terraform output db_password: of what prints values by their names, one whose name says what it holds */
void rummage_values(struct ctx *cx, const struct field *v, size_t n)
{
	static const char *const words[] = {"kubeconfig", "conn", "dsn", "cert", "pwd", "_pw", "key", "saml", "otp"};

	for (size_t i = 0; i < n; i++) {
		struct rein_str s = v[i].s;
		bool bad = means_credentials(s) && !str_has_ci(s, "author");

		for (size_t k = 0; !bad && k < ARRAY_SIZE(words); k++)
			bad = str_has_ci(s, words[k]);
		if (!bad || str_ends(s, "_arn") || str_ends(s, "_id") || str_ends(s, "_name") || str_ends(s, "Arn"))
			continue;
		cx->seen |= TAINT_SECRET;
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, v[i].at,
		     show(cx, s), "prints a value whose name says that it is a secret");
	}
}

/* yq: load("file"), load_str("file") */
static void filter_loads(struct ctx *cx, struct rein_str s, struct range at)
{
	for (size_t i = 0; i + 6 < s.n; i++) {
		struct field f = {.at = at};
		const char *open, *end;

		if (memcmp(s.p + i, "load", 4))
			continue;
		open = memchr(s.p + i, '(', s.n - i);
		open = open ? memchr(open, '"', s.n - (size_t)(open - s.p)) : NULL;
		end = open ? memchr(open + 1, '"', s.n - (size_t)(open + 1 - s.p)) : NULL;
		if (!end)
			return;
		f.s = (struct rein_str){open + 1, (size_t)(end - open - 1)};
		if (f.s.n)
			effect_read(cx, &f);
		i = (size_t)(end - s.p);
	}
}

/* jq -n env, jq '$ENV.API_KEY' */
void rummage_filter(struct ctx *cx, const struct call *c)
{
	struct rein_str s = c->ops.n ? c->ops.v[0].s : STR("");

	for (size_t i = 1; i + 2 < c->argc; i++) /* they take two words */
		if (str_in(c->argv[i].s, "--slurpfile --rawfile --argfile"))
			effect_read(cx, &c->argv[i + 2]);
	for (size_t i = 0; i < c->ops.n; i++)
		filter_loads(cx, c->ops.v[i].s, c->ops.v[i].at);
	for (size_t i = 0; i + 3 <= s.n; i++) {
		bool var = i && s.p[i - 1] == '$' && !memcmp(s.p + i, "ENV", 3);
		struct rein_str name = str_from(s, i + 3);
		size_t n = 0;
		bool str = i > 2 && !memcmp(s.p + i - 3, "str", 3) && name.n && name.p[0] == '(';

		if (!var && !str &&
		    (memcmp(s.p + i, "env", 3) || (i && !strchr(" (|,[{:", s.p[i - 1]))))
			continue;
		if (name.n && name.p[0] != '.' && name.p[0] != '[' && name.p[0] != '(' &&
		    !strchr(" )|,]};", name.p[0]))
			continue;
		while (name.n && strchr(".[\"(", name.p[0]))
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

/* Programs to which a path is a name: they say where it is, who uses it, what owns it. */
static bool only_names(struct rein_str program)
{
	static const struct rein_str words[] = {
		WORD("ls"),	   WORD("dir"),	      WORD("vdir"),    WORD("exa"),	  WORD("eza"),
		WORD("lsd"),	   WORD("tree"),      WORD("gls"),     WORD("ll"),	  WORD("la"),
		WORD("l"),	   WORD("du"),	      WORD("gdu"),     WORD("dust"),	  WORD("dua"),
		WORD("ncdu"),	   WORD("diskus"),    WORD("df"),      WORD("duf"),	  WORD("lsof"),
		WORD("fuser"),	   WORD("findmnt"),   WORD("locate"),  WORD("mlocate"),	  WORD("plocate"),
		WORD("mountpoint"), WORD("pgrep"),    WORD("pidof"),   WORD("ps"),	  WORD("procs"),
		WORD("man"),	   WORD("info"),      WORD("apropos"), WORD("whatis"),	  WORD("tldr"),
		WORD("apt-file"),  WORD("dpkg-query"), WORD("dpkg"),   WORD("rpm"),	  WORD("rpmquery"),
		WORD("equery"),	   WORD("qlist"),     WORD("pkgutil"), WORD("debsums"),	  WORD("rpmverify"),
		WORD("ausearch"),  WORD("aureport"),  WORD("auditctl"), WORD("matchpathcon"), WORD("which"),
		WORD("whereis"),   WORD("type"),      WORD("cygpath"), WORD("wslpath"),	  WORD("dirname"),
		WORD("basename"),  WORD("inotifywait"), WORD("fswatch"), WORD("restorecon"), WORD("pacman"),
	};

	return str_among(program, words, ARRAY_SIZE(words));
}

/* The path in "--file=/x" and "-F/x", where no table says what the option is. */
static struct rein_str attached(struct rein_str s)
{
	const char *eq = s.n > 3 && s.p[1] == '-' ? memchr(s.p, '=', s.n) : NULL;

	if (eq)
		return str_from(s, (size_t)(eq - s.p) + 1);
	return s.n > 3 && s.p[1] != '-' && s.p[2] == '/' ? str_from(s, 2) : STR("");
}

static bool writes_there(struct rein_str opt)
{
	return str_is(opt, "-o") || str_starts(opt, "--out") || str_starts(opt, "--log-file") ||
	       str_starts(opt, "--logfile") || str_starts(opt, "--save") || str_starts(opt, "--report-file");
}

/* a path that is none of the workspace's */
static bool beyond(struct ctx *cx, const struct field *f, struct spot *ret)
{
	if (f->s.n < 2 || f->s.p[0] != '/')
		return false;
	*ret = path_spot(cx, f->s);
	return is_far(ret);
}

static void write_beyond(struct ctx *cx, const struct field *f)
{
	struct spot s;

	if (beyond(cx, f, &s) && (s.secret || s.persist || s.agent || s.place == PLACE_SYSTEM))
		effect_write(cx, f, false);
}

static void read_beyond(struct ctx *cx, const struct field *f)
{
	struct spot s;

	if (beyond(cx, f, &s) && s.secret)
		effect_read(cx, f);
}

/* --private-key ~/.ssh/id_rsa: what a key is for */
static bool uses_key(struct rein_str opt)
{
	return str_is(opt, "-i") || str_has(opt, "key") || str_has(opt, "cert") || str_has(opt, "identity") ||
	       str_has(opt, "config") || str_has(opt, "credential");
}

/* Most command lines have no word for which it is worth looking closer. */
static bool names_place(const struct call *c)
{
	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (s.n > 1 && (s.p[0] == '/' || (s.p[0] == '-' && memchr(s.p, '/', s.n))))
			return true;
	}
	return false;
}

/*
 * The list of programs that print a file never ends (ss -F, dvips -M, hping3 --file): somebody's credentials
 * among words that mean nothing else are read, and what follows an -o without a role is written.
 */
void rummage_words(struct ctx *cx, const struct call *c)
{
	size_t op = 0, got = 0; /* both stand in the order of argv */

	if (!names_place(c) || only_names(rein_str(c->top->name)))
		return;
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		struct rein_str name = rein_str(g->opt->name);

		if (g->opt->role == ROLE_NONE && writes_there(name))
			write_beyond(cx, &g->val);
		else if (g->opt->role == ROLE_DATA && !uses_key(name))
			read_beyond(cx, &g->val);
	}
	for (size_t i = 1; i < c->argc; i++) {
		struct field f = c->argv[i];

		while (op < c->ops.n && c->op_at[op] < i)
			op++;
		while (got < c->n_got && c->got[got].word < i)
			got++;
		if (got < c->n_got && c->got[got].word == i)
			continue;
		if (f.s.n && f.s.p[0] == '-')
			f.s = attached(f.s);
		else if (op == c->ops.n || c->op_at[op] != i ||
			 operand_role(c, op, c->ops.n) != ROLE_DATA)
			continue;
		read_beyond(cx, &f);
	}
}

/* rsync -a ~/ host: — the keys are in there as well */
void rummage_sent(struct ctx *cx, const struct field *f)
{
	struct spot s;

	if (!f->s.n || f->s.p[0] == '-')
		return;
	s = path_spot(cx, f->s);
	rummage_tree(cx, f);
	if (s.place == PLACE_HOME_ROOT || s.place == PLACE_SYSTEM_ROOT)
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, f->at, show(cx, f->s),
		     "sends a whole home or system directory, with the credentials in it");
}

/* find ~ -name id_rsa. True: the files it finds hold credentials. */
bool rummage_names(struct ctx *cx, const struct field *name, const struct field *starts, size_t n)
{
	struct sbuf any = {.a = cx->a};
	struct rein_str s = name->s;

	while (s.n && (s.p[0] == '*' || s.p[0] == GLOB_STAR))
		s = str_from(s, 1);
	if (s.n != name->s.n)
		sbuf_char(&any, 'x');
	sbuf_str(&any, s);
	if (s.n < 3 || !path_spot(cx, sbuf_view(&any)).secret)
		return false;
	for (size_t i = 0; i < n; i++)
		if (holds_strangers(cx, &starts[i]))
			say(cx, REIN_REACH_READONLY, name->at, name->s, "searches outside the workspace for credentials");
	return true;
}
