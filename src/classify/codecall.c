/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call in an inline program: what it deletes, executes, writes or connects to, as far as its arguments
 * are literal.
 */
#include "classify/code.h"

#define SHELLS "sh bash zsh dash ksh"

void code_say(struct code *c, enum rein_level level, struct rein_str what, const char *why)
{
	fact(c->cx, REIN_FACT_EXEC, level, REIN_REACH_CONTAINED, c->at, show(c->cx, what), why);
}

bool code_literal(const struct code *c, size_t k, struct rein_str *ret, size_t *after)
{
	struct sbuf both = {.a = c->cx->a};
	size_t j = k + 1;

	if (code_punct(c, j, '('))
		j++;
	/* open(my $fh, "<", "file") */
	*after = j;
	if (j >= c->n || c->t[j].kind != TOK_STR)
		return false;
	*ret = c->t[j].s;
	*after = j + 1;
	if (c->t[j].joined)
		return false;
	/* "a" + "b" and "a" "b" are literal too */
	while (*after < c->n) {
		size_t s = *after;

		if (code_punct(c, s, '+') || (code_punct(c, s, '.') && code_lang_is(c, LANG_PERL | LANG_PHP)))
			s++;
		if (s >= c->n || c->t[s].kind != TOK_STR)
			return s == *after;
		if (!both.n)
			sbuf_str(&both, *ret);
		sbuf_str(&both, c->t[s].s);
		*ret = sbuf_view(&both);
		*after = s + 1;
	}
	return true;
}

bool code_is_call(const struct code *c, size_t k)
{
	if (code_punct(c, k + 1, '('))
		return true;
	return code_lang_is(c, LANG_RUBY | LANG_PERL | LANG_PHP | LANG_LUA) && k + 1 < c->n &&
	       (c->t[k + 1].kind == TOK_STR || c->t[k + 1].kind == TOK_NAME ||
		(c->t[k + 1].kind == TOK_NUM && code_lang_is(c, LANG_PERL)) || code_punct(c, k + 1, '$') ||
		code_punct(c, k + 1, '<'));
}

/* sh -c …, or a script: anything after the shell that is no option of it */
static bool has_code(const struct fields *argv)
{
	for (size_t i = 1; i < argv->n; i++)
		if (str_is(argv->v[i].s, "-c") ||
		    (argv->v[i].s.n && argv->v[i].s.p[0] != '-' && !str_in(argv->v[i].s, SHELLS)))
			return true;
	return false;
}

static void shell_call(struct code *c, size_t k)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct rein_str arg;
	struct fields argv = {0};
	size_t j = k + 1, after;

	if (code_punct(c, j, '('))
		j++;
	if (code_punct(c, j, '[') || (j + 1 < c->n && c->t[j].kind == TOK_STR && code_punct(c, j + 1, ','))) {
		/* a list, or several strings: an argument vector, up to JavaScript's {stdio: …} */
		for (; j < c->n && !code_punct(c, j, ')') && !code_punct(c, j, '{') && argv.n < 64; j++) {
			if (c->t[j].kind == TOK_STR) {
				struct field f = {.s = c->t[j].joined ? STR("\001") : c->t[j].s,
						  .at = c->at};

				fields_push(c->cx, &argv, f);
			} else if (c->t[j].kind == TOK_NAME && !code_punct(c, j + 1, '=') && argv.n) {
				struct field f = {.s = STR("\001"), .at = c->at};

				fields_push(c->cx, &argv, f);
			}
		}
		if (argv.n && str_in(str_base(argv.v[0].s), SHELLS) && !has_code(&argv))
			code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "code that opens a shell");
		else
			code_say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
		if (argv.n == 1)
			run_text(c->cx, argv.v[0].s, c->at, &io);
		else if (argv.n)
			exec_argv(c->cx, argv.v, argv.n, &io);
		return;
	}
	if (code_literal(c, k, &arg, &after)) {
		bool bare = str_in(str_base(arg), SHELLS);

		code_say(c, bare ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY, c->t[k].s,
			 bare ? "code that opens a shell" : "code that runs another program");
		run_text(c->cx, arg, c->at, &io);
		return;
	}
	code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "code that runs a program that is not known");
}

/* fs.rmSync(x), FileUtils.rm_rf(x): the path is what is given, not what it is called on. */
static bool takes_path(struct rein_str name)
{
	return str_ends(name, "Sync") ||
	       str_in(name, ".rm_rf .rm_r .remove_dir .remove_entry .remove_entry_secure");
}

static struct field path_arg(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s;
	struct field f = {.s = STR("\001"), .at = c->at};
	bool method = name.n && name.p[0] == '.';
	size_t after;

	if (method && !str_starts(name, ".write_") && !str_ends(name, "link_to") &&
	    code_literal(c, k, &f.s, &after))
		return f;
	f.s = STR("\001");
	if (method && !(takes_path(name) && code_punct(c, k + 1, '(') && !code_punct(c, k + 2, ')'))) {
		/* Path("x").unlink(): the string before it */
		for (size_t j = k; j-- > 0 && k - j < 8;)
			if (c->t[j].kind == TOK_STR) {
				f.s = c->t[j].s;
				return f;
			}
	}
	if (code_literal(c, k, &f.s, &after))
		return f;
	if (k + 2 < c->n && c->t[k + 1].kind == TOK_PUNCT) {
		/* os.path.join("/a", x), glob("…"), expanduser("~"): the first string inside */
		for (size_t j = k + 2; j < c->n && j < k + 8 && !code_punct(c, j, ')'); j++)
			if (c->t[j].kind == TOK_STR &&
			    !(j > 1 && str_in(c->t[j - 2].s, "require import"))) {
				struct sbuf t = {.a = c->cx->a};

				sbuf_str(&t, c->t[j].s);
				if (!code_punct(c, j + 1, ')'))
					sbuf_char(&t, HOLE);
				f.s = sbuf_view(&t);
				break;
			}
	}
	if (f.s.n && f.s.p[0] == '~') {
		struct sbuf t = {.a = c->cx->a};

		sbuf_str(&t, c->cx->home);
		sbuf_str(&t, str_from(f.s, 1));
		f.s = sbuf_view(&t);
	}
	return f;
}

/* open(path, mode), open(my $fh, "<", path), open("> path") */
static void open_call(struct code *c, size_t k)
{
	struct field f = path_arg(c, k);
	bool write = false, append = false;
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	for (size_t j = k + 1; j < c->n && j < k + 14; j++) {
		if (code_punct(c, j, ')') || code_punct(c, j, ';'))
			break;
		if (c->t[j].kind != TOK_STR)
			continue;
		if (str_in(c->t[j].s, "w wb w+ wt x xb r+ >") || str_starts(c->t[j].s, ">"))
			write = true;
		if (str_in(c->t[j].s, "a ab a+ >>"))
			write = append = true;
		if (code_lang_is(c, LANG_PERL) &&
		    (str_in(c->t[j].s, "|- -|") || str_ends(c->t[j].s, "|") || str_starts(c->t[j].s, "|"))) {
			code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
			run_text(c->cx, c->t[j].s, c->at, &io);
		}
		if (code_lang_is(c, LANG_PERL) && !str_in(c->t[j].s, "< > >> +< <:utf8 >:utf8"))
			f.s = c->t[j].s;
		if (code_lang_is(c, LANG_RUBY) && str_starts(c->t[j].s, "|"))
			code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
	}
	if (f.s.n && f.s.p[0] == '<')
		f.s = str_from(f.s, 1);
	while (f.s.n && (f.s.p[0] == '>' || f.s.p[0] == ' ')) {
		write = true;
		f.s = str_from(f.s, 1);
	}
	if (write)
		effect_write(c->cx, &f, append);
	else if (!has_hole(f.s) || f.s.n > 1)
		effect_read(c->cx, &f);
}

/* deleteIndex, drop_database, clearObjects: a verb and a noun on some object */
static bool names_destruction(struct rein_str name)
{
	static const char *const verbs[] = {"delete", "drop",	  "clear", "destroy", "truncate",
					    "purge",  "wipe",	  "erase", "flush"};
	struct rein_str last = code_last(name);

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		size_t n = strlen(verbs[i]);

		if (last.n > n + 2 && !strncasecmp(last.p, verbs[i], n) &&
		    (last.p[n] == '_' || (last.p[n] >= 'A' && last.p[n] <= 'Z')))
			return true;
	}
	return false;
}

/* os.replace(a, b), shutil.copy(a, b): where it goes to */
static void second_path(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, arg;
	struct rein_str last = code_last(name);
	struct field f = {.at = c->at};
	size_t after;

	if (!str_in(last, "rename replace move copy copy2 copyfile copytree renameSync copyFileSync cpSync symlink "
			  "symlinkSync mv cp cp_r") ||
	    !code_literal(c, k, &arg, &after) || !code_punct(c, after, ',') || after + 1 >= c->n ||
	    c->t[after + 1].kind != TOK_STR)
		return;
	f.s = c->t[after + 1].joined ? STR("\001") : c->t[after + 1].s;
	effect_write(c->cx, &f, false);
}

/* Methods of things whose path stands before them, or that only write when they are given one. */
static void one_method(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, arg;
	struct field f = {.at = c->at};
	bool path = k > 3 && c->t[k - 2].kind == TOK_STR && str_in(c->t[k - 4].s, "Path pathlib.Path");
	size_t after;

	if (path && str_in(name, ".rename .replace .open .chmod")) {
		f.s = c->t[k - 2].s;
		if (str_is(name, ".chmod"))
			effect_attr(c->cx, &f, false, false);
		else if (!str_is(name, ".open") ||
			 (code_literal(c, k, &arg, &after) && str_in(arg, "w wb a ab w+ x r+")))
			effect_write(c->cx, &f, false);
	}
	if (code_lang_is(c, LANG_PYTHON) &&
	    (str_ends(name, ".to_csv") || str_ends(name, ".to_parquet") || str_ends(name, ".to_json") ||
	     str_ends(name, ".to_excel") || str_ends(name, ".to_pickle")) &&
	    code_literal(c, k, &f.s, &after))
		effect_write(c->cx, &f, false);
	if (code_lang_is(c, LANG_NODE) && str_ends(name, ".constructor"))
		code_say(c, REIN_LEVEL_DANGEROUS, name, "code that builds and runs other code");
}

/* A call that is on no list. */
static void other_call(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, arg;
	size_t after;

	/* array_map("unlink", …) */
	if (code_lang_is(c, LANG_PHP) && !str_in(name, "echo print") && code_literal(c, k, &arg, &after) &&
	    code_acts(c, arg))
		code_say(c, REIN_LEVEL_DANGEROUS, arg, "hides a call behind another name");
	one_method(c, k);
	if (code_may_act(c, name))
		code_say(c, REIN_LEVEL_RISKY, name, "a call that is not known to only read");
	if (names_destruction(name))
		fact(c->cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, c->at,
		     show(c->cx, name), "calls something that says it destroys");
}

/* os.environ["X"], getenv("X"): one variable, not all of them */
static bool one_variable(const struct code *c, size_t k)
{
	if (str_ends(c->t[k].s, "getenv"))
		return !(code_punct(c, k + 1, '(') && code_punct(c, k + 2, ')'));
	return code_punct(c, k + 1, '[') || code_punct(c, k + 1, '.') ||
	       (code_punct(c, k + 1, '{') && code_lang_is(c, LANG_PERL));
}

void code_call(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, arg;
	enum sink s = code_sink(c, name);
	struct field f;
	size_t after;

	if (s == SINK_NONE) {
		if (code_is_call(c, k))
			other_call(c, k);
		return;
	}
	if (s == SINK_SHELL && str_is(name, "exec") && code_lang_is(c, LANG_PYTHON))
		s = SINK_DYN;
	if (s == SINK_OPEN && code_lang_is(c, LANG_NODE))
		return;
	if (s == SINK_DECODE) {
		c->saw |= SAW_DECODE;
		return;
	}
	if (s == SINK_NET) {
		c->saw |= SAW_NET;
		fact(c->cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, c->at,
		     show(c->cx, name), "code that talks to the network");
		if (code_literal(c, k, &arg, &after) && str_has(arg, "://"))
			http_scan(c->cx, STR("GET"), arg, STR(""), false, c->at);
		return;
	}
	if (s == SINK_ENV) {
		if (one_variable(c, k))
			return;
		c->saw |= SAW_ENV;
		fact(c->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, c->at,
		     show(c->cx, name), "reads the whole environment");
		return;
	}
	if (!code_is_call(c, k) &&
	    (s == SINK_SHELL || s == SINK_DYN ||
	     ((s == SINK_DEL || s == SINK_RDEL) && code_lang_is(c, LANG_PYTHON | LANG_NODE)))) {
		/* f = os.system; a bare mention hides the call */
		if (memchr(name.p, '.', name.n) || code_lang_is(c, LANG_PYTHON | LANG_NODE))
			code_say(c, REIN_LEVEL_DANGEROUS, name, "hides a call behind another name");
		return;
	}
	if (!code_is_call(c, k)) {
		if (s == SINK_DEL && code_lang_is(c, LANG_PERL)) /* of $_ */
			code_say(c, REIN_LEVEL_DANGEROUS, name,
				 "deletes files that are only known when it runs");
		return;
	}
	switch (s) {
	case SINK_SHELL:
		c->saw |= SAW_PROGRAM;
		shell_call(c, k);
		return;
	case SINK_RDEL:
	case SINK_DEL:
		f = path_arg(c, k);
		effect_delete(c->cx, &f, s == SINK_RDEL);
		return;
	case SINK_OPEN:
		open_call(c, k);
		return;
	case SINK_READ:
		f = path_arg(c, k);
		if (f.s.n > 1 || !has_hole(f.s))
			effect_read(c->cx, &f);
		second_path(c, k);
		return;
	case SINK_WRITE:
		f = path_arg(c, k);
		effect_write(c->cx, &f, false);
		second_path(c, k);
		return;
	case SINK_MAKE:
		f = path_arg(c, k);
		effect_make(c->cx, &f);
		return;
	case SINK_ATTR:
		f = path_arg(c, k);
		effect_attr(c->cx, &f, false, false);
		return;
	case SINK_SQL:
		if (code_literal(c, k, &arg, &after))
			sql_scan(c->cx, arg, c->at, NULL, false, false);
		else if (str_has(name, ".execute") && !code_lang_is(c, LANG_NODE))
			fact(c->cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->at, NULL,
			     "runs SQL that cannot be seen");
		return;
	case SINK_DYN:
		c->saw |= SAW_CODE;
		code_say(c, REIN_LEVEL_DANGEROUS, name, "code that builds and runs other code");
		return;
	case SINK_RISKY:
		code_say(c, REIN_LEVEL_RISKY, name, "code that affects other processes");
		return;
	default:
		return;
	}
}
