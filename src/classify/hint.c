/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and variables that nobody listed. Their names are made of the same words everywhere: what
 * is called --report-file is written, what is called --diff-program is run, --show-secrets shows
 * secrets. A name can only make things worse here; one that says nothing changes nothing.
 */
#include "classify/internal.h"

#define HINT_WORDS 8

/* What a word says, depending on where in a name it stands. */
enum {
	W_OUT = 1 << 0,	    /* last: what is written */
	W_PLACE = 1 << 1,   /* last: a file, with one of the next before it */
	W_WRITTEN = 1 << 2,
	W_RUN = 1 << 3,	    /* last: a program */
	W_WITH = 1 << 4,    /* before "with": likewise */
	W_LOAD = 1 << 5,    /* code, if the value is a library */
	W_SHOW = 1 << 6,    /* first, with the next last: shows it */
	W_SECRET = 1 << 7,
	W_REMOVE = 1 << 8,
	W_CHANGE = 1 << 9,  /* alone */
	W_SEND = 1 << 10,   /* alone */
	W_NOT = 1 << 11,    /* first: the rest does not happen */
};

/* by first letter: every word of every option that is not listed is looked up */
static const struct {
	struct rein_str word;
	unsigned says;
} telling[26][20] = {
	['a' - 'a'] = {{WORD("add"), W_CHANGE}, {WORD("agent"), W_LOAD}, {WORD("allow"), W_NOT},
		{WORD("apply"), W_CHANGE}, {WORD("as"), W_PLACE}, {WORD("askpass"), W_RUN}},
	['b' - 'a'] = {{WORD("backup"), W_WRITTEN}, {WORD("bin"), W_PLACE}},
	['c' - 'a'] = {{WORD("ccbin"), W_RUN}, {WORD("chooser"), W_RUN}, {WORD("cmd"), W_RUN}, {WORD("command"), W_RUN},
		{WORD("compiler"), W_RUN}, {WORD("create"), W_CHANGE},
		{WORD("credential"), W_SECRET}, {WORD("credentials"), W_SECRET}},
	['d' - 'a'] = {{WORD("daemon"), W_CHANGE}, {WORD("daemonize"), W_CHANGE},
		{WORD("decryption"), W_SECRET}, {WORD("delete"), W_REMOVE},
		{WORD("dest"), W_OUT | W_WRITTEN}, {WORD("destination"), W_OUT | W_WRITTEN},
		{WORD("destroy"), W_REMOVE}, {WORD("dir"), W_PLACE},
		{WORD("directory"), W_PLACE}, {WORD("disable"), W_CHANGE | W_NOT},
		{WORD("display"), W_SHOW}, {WORD("download"), W_WRITTEN},
		{WORD("dump"), W_WRITTEN | W_SHOW}, {WORD("dumpfile"), W_OUT}},
	['e' - 'a'] = {{WORD("edit"), W_WITH | W_CHANGE}, {WORD("editor"), W_RUN},
		{WORD("enable"), W_CHANGE}, {WORD("engine"), W_LOAD}, {WORD("erase"), W_REMOVE},
		{WORD("exclude"), W_NOT}, {WORD("exec"), W_RUN}, {WORD("executable"), W_RUN},
		{WORD("execute"), W_RUN}, {WORD("export"), W_WRITTEN | W_SHOW},
		{WORD("exportfile"), W_OUT}, {WORD("expose"), W_SHOW},
		{WORD("extension"), W_LOAD}, {WORD("extract"), W_WITH}},
	['f' - 'a'] = {{WORD("file"), W_PLACE}, {WORD("fix"), W_CHANGE},
		{WORD("flash"), W_REMOVE}, {WORD("folder"), W_PLACE}},
	['h' - 'a'] = {{WORD("history"), W_WRITTEN}, {WORD("hook"), W_RUN}},
	['i' - 'a'] = {{WORD("ignore"), W_NOT}, {WORD("import"), W_CHANGE},
		{WORD("include"), W_SHOW}, {WORD("inplace"), W_CHANGE},
		{WORD("install"), W_CHANGE}, {WORD("interpreter"), W_RUN}},
	['k' - 'a'] = {{WORD("keylogfile"), W_OUT}, {WORD("kill"), W_REMOVE}},
	['l' - 'a'] = {{WORD("launcher"), W_RUN}, {WORD("library"), W_LOAD},
		{WORD("linker"), W_RUN}, {WORD("listen"), W_CHANGE}, {WORD("load"), W_LOAD},
		{WORD("log"), W_WRITTEN}, {WORD("logfile"), W_OUT},
		{WORD("logging"), W_WRITTEN}},
	['m' - 'a'] = {{WORD("modify"), W_CHANGE}, {WORD("module"), W_LOAD}},
	['n' - 'a'] = {{WORD("no"), W_NOT}},
	['o' - 'a'] = {{WORD("open"), W_WITH}, {WORD("out"), W_OUT | W_WRITTEN},
		{WORD("outdir"), W_OUT}, {WORD("outfile"), W_OUT}, {WORD("outpath"), W_OUT},
		{WORD("output"), W_OUT | W_WRITTEN}, {WORD("outputdir"), W_OUT},
		{WORD("outputfile"), W_OUT}, {WORD("overwrite"), W_CHANGE}},
	['p' - 'a'] = {{WORD("pager"), W_RUN}, {WORD("password"), W_SECRET},
		{WORD("passwords"), W_SECRET}, {WORD("path"), W_PLACE},
		{WORD("plaintext"), W_SECRET}, {WORD("plugin"), W_LOAD},
		{WORD("preload"), W_LOAD}, {WORD("prepipe"), W_RUN}, {WORD("prepipex"), W_RUN},
		{WORD("preprocessor"), W_RUN}, {WORD("print"), W_SHOW}, {WORD("prog"), W_RUN},
		{WORD("program"), W_RUN}, {WORD("provider"), W_LOAD},
		{WORD("publish"), W_CHANGE | W_SEND}, {WORD("purge"), W_REMOVE},
		{WORD("push"), W_CHANGE | W_SEND}, {WORD("put"), W_CHANGE}},
	['r' - 'a'] = {{WORD("record"), W_WRITTEN}, {WORD("register"), W_CHANGE},
		{WORD("remove"), W_REMOVE}, {WORD("rename"), W_CHANGE},
		{WORD("report"), W_WRITTEN}, {WORD("reportfile"), W_OUT},
		{WORD("reset"), W_REMOVE}, {WORD("restore"), W_CHANGE},
		{WORD("result"), W_WRITTEN}, {WORD("results"), W_WRITTEN},
		{WORD("reveal"), W_SHOW}, {WORD("rsh"), W_RUN}, {WORD("run"), W_WITH},
		{WORD("runcmd"), W_RUN}},
	['s' - 'a'] = {{WORD("save"), W_WRITTEN | W_CHANGE}, {WORD("savefile"), W_OUT},
		{WORD("screenshot"), W_OUT}, {WORD("secret"), W_SECRET},
		{WORD("secrets"), W_SECRET}, {WORD("send"), W_CHANGE},
		{WORD("sensitive"), W_SECRET}, {WORD("serve"), W_CHANGE},
		{WORD("server"), W_CHANGE}, {WORD("show"), W_SHOW}, {WORD("shred"), W_REMOVE},
		{WORD("skip"), W_NOT}, {WORD("submit"), W_SEND}},
	['t' - 'a'] = {{WORD("terminate"), W_REMOVE}, {WORD("to"), W_PLACE},
		{WORD("token"), W_SECRET}, {WORD("tokens"), W_SECRET},
		{WORD("trace"), W_WRITTEN}, {WORD("truncate"), W_REMOVE}},
	['u' - 'a'] = {{WORD("under"), W_RUN}, {WORD("uninstall"), W_REMOVE},
		{WORD("unset"), W_CHANGE}, {WORD("update"), W_CHANGE},
		{WORD("upgrade"), W_CHANGE}, {WORD("upload"), W_CHANGE | W_SEND}},
	['v' - 'a'] = {{WORD("values"), W_SECRET}, {WORD("view"), W_WITH}},
	['w' - 'a'] = {{WORD("webserver"), W_CHANGE}, {WORD("wipe"), W_REMOVE},
		{WORD("without"), W_NOT}, {WORD("wrapper"), W_RUN},
		{WORD("write"), W_WRITTEN | W_CHANGE}},
};

struct name {
	struct rein_str whole; /* without dashes, in lower case */
	struct rein_str word[HINT_WORDS];
	unsigned says[HINT_WORDS];
	size_t n;
};

static unsigned word_says(struct rein_str w)
{
	size_t letter = w.n && w.p[0] >= 'a' && w.p[0] <= 'z' ? (size_t)(w.p[0] - 'a') : 0;

	for (size_t i = 0; i < ARRAY_SIZE(telling[0]) && telling[letter][i].word.n; i++)
		if (telling[letter][i].word.n == w.n && !memcmp(telling[letter][i].word.p, w.p, w.n))
			return telling[letter][i].says;
	return 0;
}

/* --reportFile, --report_file and REPORT_FILE are "report" "file". */
static void split_name(struct ctx *cx, struct rein_str s, struct name *to)
{
	struct sbuf low = {.a = cx->a};
	size_t starts[HINT_WORDS + 1];
	bool fresh = true;

	*to = (struct name){0};
	while (s.n && (s.p[0] == '-' || s.p[0] == '_'))
		s = str_from(s, 1);
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool upper = c >= 'A' && c <= 'Z';

		if (c == '-' || c == '_' || c == '.' || c == ':') {
			fresh = true;
			sbuf_char(&low, '-');
			continue;
		}
		fresh |= upper && i && s.p[i - 1] >= 'a' && s.p[i - 1] <= 'z';
		if (fresh) {
			if (to->n == HINT_WORDS)
				break;
			starts[to->n++] = low.n;
		}
		fresh = false;
		sbuf_char(&low, upper ? (char)(c + 32) : c);
	}
	to->whole = sbuf_view(&low);
	for (size_t i = 0; i < to->n; i++) {
		struct rein_str w = str_from(to->whole, starts[i]);

		if (i + 1 < to->n)
			w.n = starts[i + 1] - starts[i];
		while (w.n && w.p[w.n - 1] == '-')
			w.n--;
		to->word[i] = w;
		to->says[i] = word_says(w);
	}
}

static bool any_says(const struct name *n, unsigned what)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->says[i] & what)
			return true;
	return false;
}

static bool any_word(const struct name *n, const char *list)
{
	for (size_t i = 0; i < n->n; i++)
		if (str_in(n->word[i], list))
			return true;
	return false;
}

static struct rein_str last_word(const struct name *n)
{
	return n->n ? n->word[n->n - 1] : STR("");
}

static bool last_says(const struct name *n, unsigned what)
{
	return n->n && n->says[n->n - 1] & what;
}

/* a file or directory that is written */
static bool names_output(const struct name *n)
{
	if (last_says(n, W_OUT) || (last_says(n, W_PLACE) && any_says(n, W_WRITTEN)))
		return true;
	return n->n > 1 && str_is(last_word(n), "pdf") && any_word(n, "print save export");
}

/* a program that is started */
static bool names_program(const struct name *n)
{
	if (last_says(n, W_RUN))
		return true;
	return n->n > 1 &&
	       ((str_is(last_word(n), "prefix") && any_word(n, "cmd command exec")) ||
		(str_is(last_word(n), "with") && any_says(n, W_WITH)));
}

static bool names_code(const struct name *n, struct rein_str value)
{
	return any_says(n, W_LOAD) &&
	       (str_ends(value, ".so") || str_ends(value, ".dylib") || str_ends(value, ".dll"));
}

static bool shows_secrets(const struct name *n)
{
	if (n->n == 1)
		return str_in(n->word[0], "reveal unmask");
	return (n->says[0] & W_SHOW && last_says(n, W_SECRET)) || str_is(n->whole, "security-info");
}

static bool removes(const struct name *n)
{
	struct rein_str last = last_word(n);

	if (n->n == 1)
		return n->says[0] & W_REMOVE;
	if (last_says(n, W_REMOVE) && str_in(last, "reset erase flash"))
		return true;
	return n->says[0] & W_REMOVE &&
	       (str_in(n->word[0], "kill erase wipe destroy flash uninstall shred") ||
		(n->n == 2 && str_is(last, "all") && str_in(n->word[0], "delete remove purge")));
}

/* --install-types; but --install-dir only says where */
static bool installs(const struct name *n)
{
	return n->n > 1 && str_is(n->word[0], "install") && !last_says(n, W_PLACE) &&
	       !str_in(last_word(n), "prefix root location name scope suffix mode");
}

/* --insecure-skip-tls-verify, --no-verify-ssl, --tls-skip-verify, --no-check-certificate */
static bool trusts_anybody(const struct name *n)
{
	bool about = any_word(n, "tls ssl certificate certificates cert certs verify verification hostname");

	if (any_word(n, "insecure"))
		return n->n == 1 || about;
	return n->n > 1 && about && any_word(n, "no skip disable ignore without") &&
	       any_word(n, "verify verification check validation certificate certificates errors") &&
	       any_word(n, "tls ssl certificate certificates cert certs hostname");
}

/* of a program that is only known to read */
static bool changes(const struct name *n)
{
	if (n->n > 1)
		return (n->n == 2 && str_is(n->word[0], "set")) ||
		       (str_is(n->word[0], "in") && str_is(n->word[1], "place"));
	if (str_starts(n->word[0], "set") || str_starts(n->word[0], "reset"))
		return !str_in(n->word[0], "settings setup sets");
	return n->says[0] & W_CHANGE;
}

/* --output json */
static bool is_format(struct rein_str s)
{
	return str_in(s, "json jsonl ndjson yaml yml toml table text txt wide name tsv csv xml "
			 "html markdown md plain "
			 "short long full compact pretty default none auto always never sarif "
			 "junit tap dot github "
			 "gitlab all errors streamed summary value list id true false on off yes "
			 "no - /dev/stdout");
}

static void run_value(struct ctx *cx, const struct field *f)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (has_hole(f->s) && f->s.p[0] == HOLE)
		return;
	run_text(cx, f->s, f->at, &io);
}

static bool names_shell(struct rein_str s)
{
	return str_in(str_base(s), "bash zsh fish sh dash ksh tcsh csh pwsh powershell nu elvish");
}

static void option(struct ctx *cx, struct call *c, size_t i, bool reads)
{
	const struct field *f = &c->argv[i];
	const char *eq = memchr(f->s.p, '=', f->s.n);
	struct rein_str s = eq ? str_to(f->s, (size_t)(eq - f->s.p)) : f->s;
	struct field value = *f;
	struct name n;
	bool has = true;

	if (eq)
		value.s = str_from(f->s, s.n + 1);
	else if (i + 1 < c->argc && c->argv[i + 1].s.n && c->argv[i + 1].s.p[0] != '-')
		value = c->argv[i + 1];
	else
		has = false;
	has = has && value.s.n;
	/* -o names what is written nearly everywhere; a place outside is a path for certain */
	if (s.n == 2 && s.p[1] == 'o' && has && !eq && strchr("/~", value.s.p[0])) {
		effect_write(cx, &value, false);
		return;
	}
	if (s.n < 4)
		return;
	split_name(cx, s, &n);
	if (n.n && trusts_anybody(&n) && !(eq && str_in(value.s, "false no 0")))
		fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, f->at, show(cx, f->s),
		     "an option that trusts whoever answers");
	if (!n.n || n.says[0] & W_NOT)
		return;
	if (installs(&n))
		fact(cx, REIN_FACT_PACKAGE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at, show(cx, f->s),
		     "an option whose name says that it installs something");
	if (has && n.n > 1 && str_in(n.word[0], "on after before post pre") && carry_line(cx, value.s))
		run_value(cx, &value); /* --on-success 'make deploy' */
	if (shows_secrets(&n))
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, f->at,
		     show(cx, f->s), "an option that shows secrets");
	if (has && names_code(&n, value.s))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s), "an option that loads code");
	if (has && names_output(&n) && !is_format(value.s))
		effect_write(cx, &value, false);
	else if (has && names_program(&n) && !is_format(value.s) && !names_shell(value.s))
		run_value(cx, &value);
	else if (has && names_program(&n) && names_shell(value.s))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s), "an option that starts a shell");
	else if (removes(&n))
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s),
		     "an option whose name says that it removes or stops something");
	else if (n.n == 1 && n.says[0] & W_SEND &&
		 !(eq && str_in(value.s, "never false")))
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "an option whose name says that it publishes something");
	else if (reads && changes(&n))
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at,
		     show(cx, f->s), "an option whose name says that it changes something");
}

bool hint_shows(struct ctx *cx, const struct call *c)
{
	static const char words[] =
		"json xml csv yaml verbose quiet no color colour wide long human numeric format "
		"output line exact raw "
		"headers header sort all with show list print field fields name names filter since "
		"until page limit max "
		"min user users group zone table permanent system installed global local version "
		"upgradable full brief "
		"pretty pager root dir directory admindir dbpath file path columns width group-by "
		"depth recursive get "
		"query info status describe details detail noheadings noheader reverse total "
		"summary config profile region last references "
		"referrers requisites requires provides changelog scripts conflicts obsoletes "
		"triggers docfiles configfiles "
		"whatprovides whatrequires deriver outputs tree size hash roots binding";

	if (c->odd_letter || c->n_unknown == ARRAY_SIZE(c->unknown_at))
		return false;
	for (size_t i = 0; i < c->n_unknown; i++) {
		struct rein_str s = c->argv[c->unknown_at[i]].s;
		const char *eq = memchr(s.p, '=', s.n);
		struct name n;

		if (s.n < 3 || (s.p[1] != '-' && c->cmd->style != STYLE_SINGLE))
			continue; /* letters */
		split_name(cx, eq ? str_to(s, (size_t)(eq - s.p)) : s, &n);
		if (!n.n || !str_in(n.word[0], words))
			return false;
	}
	return true;
}

void hint_options(struct ctx *cx, struct call *c, bool reads)
{
	for (size_t i = 0; i < c->n_unknown; i++)
		option(cx, c, c->unknown_at[i], reads);
	if (c->n_unknown == ARRAY_SIZE(c->unknown_at))
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->argv[0].at,
		     NULL, "more options that are not known than are looked at");
}

/* Words for compilers and the like, and options that arrive in a variable: JAVA_OPTS, CFLAGS. */
static bool loads_code(struct rein_str value)
{
	static const char *const words[] = {"-javaagent",
					    "-agentlib",
					    "-agentpath",
					    "-fplugin",
					    "-wrapper",
					    "-specs=",
					    "linker=",
					    "exec=",
					    "-exec ",
					    "--pager",
					    "--pre=",
					    "checkpoint-action",
					    "-XX:OnError",
					    "OnOutOfMemoryError",
					    "+!",
					    "-fpass-plugin",
					    "-extld=",
					    "-iplugindir",
					    "-processorpath",
					    "-Xplugin:",
					    "-fuse-ld=.",
					    "-fuse-ld=/",
					    "codegen-backend=",
					    "-dNOSAFER"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_has(value, words[i]))
			return true;
	return false;
}

/* Nothing that builds has business there. */
static bool off_limits(struct ctx *cx, struct rein_str path)
{
	struct spot s = path_spot(cx, path);

	if (str_starts(path, "/etc/ssl") || str_starts(path, "/etc/alternatives") ||
	    str_starts(path, "/etc/mime"))
		return false;
	return s.persist || s.agent || s.place == PLACE_DEVICE || str_starts(s.path, "/etc") ||
	       str_starts(s.path, "/boot") || str_starts(s.path, "/root/.");
}

/* Settings and parts of a program that can run code: --config, --setupFiles, --load-plugins, --rcfile */
static bool names_settings(struct ctx *cx, struct rein_str opt, struct rein_str value)
{
	static const char *const code[] = {".js", ".cjs", ".mjs", ".ts", ".rb", ".py", ".php", ".lua", ".so", ".xml",
					   ".gradle", ".kts", ".toml"};
	struct name n;

	if (opt.n == 2 && opt.p[1] == 'c')
		return true;
	for (size_t i = 0; opt.n == 2 && strchr("rfpasbI", opt.p[1]) && i < ARRAY_SIZE(code); i++)
		if (str_ends(value, code[i]))
			return true;
	if (opt.n < 4)
		return false;
	split_name(cx, opt, &n);
	return any_word(&n, "config configfile conf rcfile plugin plugins require bootstrap setup preset presets parser "
			    "formatter rulesdir loader sysroot checks autoload init native environment rootdir resolver "
			    "toolchain processor extension extensions filter engine manifest settings") ||
	       (n.n == 2 && str_is(n.word[0], "root") && str_is(n.word[1], "dir"));
}

/* What a project brings along is its own; what lies about elsewhere, or comes from the network, is anybody's. */
static bool from_elsewhere(struct ctx *cx, struct rein_str path)
{
	const char *eq = path.p && path.n ? memrchr(path.p, '=', path.n) : NULL; /* protoc-gen-x=/tmp/x */
	enum place place;

	if (str_starts(path, "http://") || str_starts(path, "https://"))
		return true;
	if (eq)
		path = str_from(path, (size_t)(eq - path.p) + 1);
	if (!path.n || (path.p[0] != '/' && path.p[0] != '~' && !str_starts(path, "..")))
		return false;
	place = path_spot(cx, path).place;
	return place == PLACE_TMP || place == PLACE_TMP_ROOT || place == PLACE_OTHER;
}

static void settings_elsewhere(struct ctx *cx, struct call *c)
{
	bool runs = cmd_notes(c->top, "runs");

	for (size_t i = 1; i < c->argc; i++) {
		const struct field *f = &c->argv[i];
		const char *eq = f->s.n > 1 && f->s.p[0] == '-' ? memchr(f->s.p, '=', f->s.n) : NULL;
		struct rein_str value = eq ? str_from(f->s, (size_t)(eq - f->s.p) + 1)
				      : i + 1 < c->argc ? c->argv[i + 1].s : STR("");

		if (f->s.n < 2 || f->s.p[0] != '-' || !value.n || !strchr("/~.hp", value.p[0]) || !from_elsewhere(cx, value))
			continue;
		if (names_settings(cx, eq ? str_to(f->s, (size_t)(eq - f->s.p)) : f->s, value))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at, show(cx, value),
			     "takes settings or parts, which can run code, from outside the workspace");
	}
	for (size_t i = 0; runs && i < c->ops.n; i++)
		if (from_elsewhere(cx, c->ops.v[i].s))
			effect_script(cx, &c->ops.v[i], "other");
}

/* eslint --fix, gofmt -w, clang-format -i, and those that always rewrite what they are given */
static bool rewrites(const struct call *c)
{
	bool rewrite =
		str_in(str_base(c->argv[0].s),
		       "black isort rustfmt yapf autoflake pyupgrade docformatter swiftformat "
		       "stylua nixfmt alejandra");

	for (size_t i = 1; i < c->argc; i++) {
		if (str_in(c->argv[i].s, "--check --diff --dry-run -l --list-different"))
			return false;
		rewrite |= str_in(
			c->argv[i].s,
			"--fix --write --in-place --inplace -w -i --autocorrect -A --apply format");
	}
	return rewrite;
}

void hint_words(struct ctx *cx, struct call *c)
{
	settings_elsewhere(cx, c);
	for (size_t i = 0; i < c->ops.n && rewrites(c); i++) {
		struct spot s = path_spot(cx, c->ops.v[i].s);

		if (is_far(&s))
			effect_modify(cx, &c->ops.v[i]);
	}
	for (size_t i = 1; i < c->argc; i++) {
		const struct field *f = &c->argv[i];

		if (!f->s.n || !is_literal(f->s))
			continue;
		if (f->s.p[0] == '-' && (loads_code(f->s) || str_in(f->s, "-load -exec -toolexec --exec")))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "makes a program run or load other code");
		else if (i > 1 && str_in(c->argv[i - 1].s, "-C --codegen -J -ldflags") &&
			 loads_code(f->s))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "makes a program run or load other code");
		else if (c->top->handler != HANDLE_cmake &&
			 (str_starts(f->s, "-B/") || str_starts(f->s, "-B.") ||
			  (i > 1 && str_is(c->argv[i - 1].s, "-B") && strchr("/.~", f->s.p[0]))))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "makes a compiler run the programs of a directory");
		if (str_has(f->s, "%pipe%"))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at, show(cx, f->s),
			     "a name that starts a program");
		if (str_is(f->s, "0.0.0.0") || str_ends(f->s, "=0.0.0.0") ||
		    str_has(f->s, "0.0.0.0:") || str_is(f->s, "--tunnel"))
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, f->at,
			     show(cx, f->s), "serves to the network");
		for (size_t k = 0; k < f->s.n; k++) { /* /etc/x, --file=/etc/x, -Wl,-o,/etc/x */
			struct rein_str path = str_from(f->s, k);
			const char *comma;

			if (f->s.p[0] != '-' && strchr(" \n\t", f->s.p[k]))
				break; /* a sentence, no path: git commit -m 'write to=/etc/x' */
			if ((f->s.p[k] != '/' && f->s.p[k] != '~') ||
			    (k && !strchr("=,:", f->s.p[k - 1])) ||
			    (k && f->s.p[k - 1] == ':' && k + 1 < f->s.n &&
			     f->s.p[k + 1] == '/')) /* an address */
				continue;
			comma = memchr(path.p, ',', path.n);
			if (comma)
				path.n = (size_t)(comma - path.p);
			if (!cx_work(cx, 500 + path.n)) /* a word can hold as many as it has bytes */
				return;
			if (path.n > 1 && off_limits(cx, path)) {
				fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
				     f->at, show(cx, f->s),
				     "a place of the system is given to a program that writes "
				     "files");
				break;
			}
		}
	}
}

/* RAKEOPT='-f /tmp/x': the same in a variable */
static void options_elsewhere(struct ctx *cx, struct rein_str name, struct rein_str value, struct range at)
{
	bool takes = false;

	while (value.n) {
		const char *blank = memchr(value.p, ' ', value.n);
		struct rein_str word = blank ? str_to(value, (size_t)(blank - value.p)) : value;

		if (takes && from_elsewhere(cx, word))
			fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, at, show(cx, name),
			     "options that make another program take settings from outside the workspace");
		takes = str_in(word, "-f -s -c -r --config --settings --rcfile --init-file --require");
		value = str_from(value, word.n + 1);
	}
}

void hint_variable(struct ctx *cx, struct rein_str name, const struct field *value, struct range at)
{
	struct name n;
	struct field f = *value;

	if (!value->s.n || name.n < 2)
		return;
	if (str_has(value->s, "unixexec:")) /* DBUS_SESSION_BUS_ADDRESS */
		fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, at,
		     show(cx, name), "an address that makes programs run another one");
	split_name(cx, name, &n);
	if (!n.n)
		return;
	f.at = at;
	if ((str_ends(n.whole, "flags") || str_ends(n.whole, "opts") || str_ends(n.whole, "opt") ||
	     str_ends(n.whole, "options") || str_ends(n.whole, "args")) &&
	    (loads_code(value->s) || str_has(value->s, "-eval ") || str_has(value->s, "--init-hook") ||
	     str_has(value->s, "--require"))) {
		fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, at,
		     show(cx, name), "options that make another program run or load something");
		return;
	}
	if (str_ends(n.whole, "opts") || str_ends(n.whole, "opt") || str_ends(n.whole, "args"))
		options_elsewhere(cx, name, value->s, at);
	if ((names_program(&n) || str_in(last_word(&n), "runner hooks helper") ||
	     (n.n == 1 &&
	      str_in(n.word[0],
		     "cc cxx ld ar nm ranlib strip objcopy cpp fc shell m4 cargo rustdoc"))) &&
	    !(names_shell(value->s) && str_is(last_word(&n), "shell")) && !is_format(value->s)) {
		if (names_shell(value->s))
			fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     at, show(cx, name), "makes another program start a shell");
		run_value(cx, &f);
	} else if (strchr("/~", value->s.p[0]) &&
		   (names_output(&n) || any_word(&n, "trace trace2 sslkeylogfile") ||
		    (str_is(n.word[0], "ld") && str_is(last_word(&n), "output")) ||
		    str_in(n.whole, "gcov-prefix gmon-out-prefix llvm-profile-file "
				    "sunpro-dependencies sccache-error-log")))
		effect_write(cx, &f, false);
}
