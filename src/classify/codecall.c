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
	/* exec @ARGV, exec { $file } @ARGV (not eval {…}, which only catches errors); exec *ARGV */
	if (code_lang_is(c, LANG_PERL) &&
	    (code_punct(c, k + 1, '@') ||
	     (code_punct(c, k + 1, '{') && str_in(c->t[k].s, "exec system"))))
		return true;
	if (code_lang_is(c, LANG_RUBY) && code_punct(c, k + 1, '*') && code_acts(c, c->t[k].s))
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

/* Path("x").unlink(), p.write_text(…): the path is what it is called on. */
static bool called_on_path(struct code *c, size_t k)
{
	static const char modules[] = "os fs shutil io fs.promises fsPromises node:fs File Dir "
				      "FileUtils Deno Bun IO posix";
	struct rein_str name = c->t[k].s, last;
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;

	if (!dot || str_in(str_to(name, (size_t)(dot - name.p)), modules))
		return false;
	last = str_from(name, (size_t)(dot - name.p) + 1);
	if (code_lang_is(c, LANG_PYTHON))
		return str_in(last, "unlink rmdir touch mkdir write_text write_bytes read_text "
				    "read_bytes symlink_to "
				    "hardlink_to rmtree") ||
		       (str_in(last, "open rename replace chmod") &&
			code_is_path(c, k)); /* not a text's, a table's */
	return code_lang_is(c, LANG_RUBY) &&
	       (str_in(last, "unlink rmdir rmtree mkpath") ||
		(str_in(last, "write binwrite delete rename") && code_is_path(c, k)));
}

/* Which argument is the path, where it is not the first. */
static size_t path_place(const struct code *c, struct rein_str name)
{
	static const struct {
		unsigned langs;
		uint8_t place;
		const char *names;
	} rows[] = {
		{LANG_PYTHON, 1, "torch.save"},
		{LANG_RUBY | LANG_PERL, 1,
		 "chmod File.chmod FileUtils.chmod FileUtils.chmod_R sysopen"},
		{LANG_RUBY | LANG_PERL, 2,
		 "chown File.chown FileUtils.chown FileUtils.chown_R utime"},
		{LANG_R, 1,
		 "writeLines write.csv write.csv2 write.table write_csv readr.write_csv fwrite "
		 "data.table.fwrite saveRDS "
		 "dput dump"},
		{LANG_R, 99, "cat save"}, /* by its keyword only */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (code_lang_is(c, rows[i].langs) && str_in(name, rows[i].names))
			return rows[i].place;
	return 0;
}

static struct field path_arg(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s;
	struct field f = {.s = STR("\001"), .at = c->at};

	if (str_in(name, "Path pathlib.Path pathlib.PurePath"))
		f.s = code_value(c, k);
	else if (called_on_path(c, k))
		f.s = code_receiver(c, k);
	else if (!code_argument(c, k, path_place(c, name), "file path filename name src target",
				&f.s))
		f.s = STR("\001");
	if (f.s.n && f.s.p[0] == '~' && (f.s.n == 1 || f.s.p[1] == '/')) {
		struct sbuf t = {.a = c->cx->a};

		sbuf_str(&t, c->cx->home);
		sbuf_str(&t, str_from(f.s, 1));
		f.s = sbuf_view(&t);
	}
	return f;
}

static void open_effect(struct code *c, struct field *f, bool write, bool append)
{
	if (write)
		effect_write(c->cx, f, append);
	else if (!has_hole(f->s) || f->s.n > 1)
		effect_read(c->cx, f);
}

/* open(F, "> path"), open(my $fh, ">", path), open(F, "command |") */
static void perl_open(struct code *c, size_t k)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct rein_str how = STR(""), path;
	struct field f = {.at = c->at};
	size_t mode = 0;

	if (!code_argument(c, k, 1, NULL, &how))
		return;
	while (mode < how.n && strchr("<>+|- ", how.p[mode]))
		mode++;
	f.s = str_from(how, mode);
	if ((!f.s.n || f.s.p[0] == ':') && code_argument(c, k, 2, NULL, &path))
		f.s = path;
	if (str_starts(how, "|") || str_starts(how, "-|") || str_ends(how, "|")) {
		code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
		run_text(c->cx, f.s, c->at, &io);
		return;
	}
	/* a hole in front may hold the mode */
	open_effect(c, &f,
		    (how.n && how.p[0] == HOLE) || memchr(how.p, '>', mode) ||
			    memchr(how.p, '+', mode),
		    str_starts(how, ">>"));
}

/* open(path, mode) */
static void open_call(struct code *c, size_t k)
{
	bool method = called_on_path(c, k);
	struct rein_str mode = STR("r");
	struct field f;

	if (code_lang_is(c, LANG_PERL)) {
		perl_open(c, k);
		return;
	}
	f = path_arg(c, k);
	/* open(*words): which of them is the mode nobody sees */
	for (size_t j = k + 2;
	     code_lang_is(c, LANG_PYTHON) && j < c->n && j < k + 40 && !code_punct(c, j, ')'); j++)
		if (code_punct(c, j, '*') &&
		    (code_punct(c, j - 1, '(') || code_punct(c, j - 1, ','))) {
			effect_write(c->cx, &f, false);
			return;
		}
	if (code_lang_is(c, LANG_RUBY) && str_starts(f.s, "|"))
		code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
	if (!code_argument(c, k, method ? 0 : 1, "mode", &mode))
		mode = STR("r");
	if (str_is(c->t[k].s, "os.open")) { /* flags, not letters */
		bool reads = false;

		for (size_t j = k; j < c->n && j < k + 16; j++) {
			reads |= c->t[j].kind == TOK_NAME && str_is(c->t[j].s, "os.O_RDONLY");
			if (code_punct(c, j, ')'))
				break;
		}
		mode = reads ? STR("r") : STR("w");
	}
	open_effect(c, &f,
		    has_hole(mode) || memchr(mode.p, 'w', mode.n) || memchr(mode.p, 'a', mode.n) ||
			    memchr(mode.p, 'x', mode.n) || memchr(mode.p, '+', mode.n) ||
			    memchr(mode.p, 'c', mode.n),
		    mode.n && mode.p[0] == 'a');
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
	struct rein_str last = code_last(c->t[k].s);
	struct field f = {.at = c->at};

	if (str_in(last, "rename replace move copy copy2 copyfile copytree renameSync copyFileSync "
			 "cpSync symlink "
			 "symlinkSync mv cp cp_r link ln ln_s ln_sf install copy_stream "
			 "move_uploaded_file") &&
	    code_argument(c, k, called_on_path(c, k) ? 0 : 1, "dst dest", &f.s))
		effect_write(c->cx, &f, false);
}

/* Methods of things whose path stands before them, or that only write when they are given one. */
static void one_method(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s;
	struct field f = {.at = c->at};

	if (code_lang_is(c, LANG_RUBY) && str_in(code_last(name), "write binwrite delete") &&
	    called_on_path(c, k)) {
		f.s = code_receiver(c, k);
		if (str_is(code_last(name), "delete"))
			effect_delete(c->cx, &f, false);
		else
			effect_write(c->cx, &f, false);
	}
	if (str_in(code_last(name), "rename replace chmod open") && called_on_path(c, k)) {
		f.s = code_receiver(c, k);
		if (str_is(code_last(name), "chmod")) {
			effect_attr(c->cx, &f, false, false);
		} else if (str_is(code_last(name), "open")) {
			open_call(c, k);
		} else {
			effect_write(c->cx, &f, false);
			second_path(c, k);
		}
	}
	if (code_lang_is(c, LANG_PYTHON) &&
	    str_in(code_last(name), "to_csv to_parquet to_json to_excel to_pickle to_feather "
				    "to_hdf to_html to_markdown to_xml "
				    "to_stata to_orc to_latex to_file savefig tofile") &&
	    code_argument(c, k, 0, "path path_or_buf fname buf", &f.s))
		effect_write(c->cx, &f, false);
	if (code_lang_is(c, LANG_PYTHON) && str_is(code_last(name), "to_sql"))
		fact(c->cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, c->at, NULL,
		     "writes a table");
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
	if (str_in(name, "timeit.timeit timeit.repeat") && code_literal(c, k, &arg, &after) &&
	    c->cx->depth < 8)
		code_scan(c->cx, "python", arg, c->at);
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
	/* import socket: what is called in it counts */
	if (s == SINK_NET && code_lang_is(c, LANG_PYTHON) && str_is(name, "socket") &&
	    !code_is_call(c, k))
		return;
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
	if (s == SINK_OPEN && code_lang_is(c, LANG_PYTHON) && !code_is_call(c, k) &&
	    !code_punct(c, k + 1, '=')) /* map(open, …) */
		code_say(c, REIN_LEVEL_RISKY, name, "hides a call behind another name");
	if (!code_is_call(c, k) &&
	    !(code_lang_is(c, LANG_RUBY) && called_on_path(c, k))) { /* Pathname("x").rmtree */
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
	case SINK_OUT:
		f = path_arg(c, k);
		if (f.s.n > 1 || !has_hole(f.s)) /* without one it prints */
			effect_write(c->cx, &f, false);
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
