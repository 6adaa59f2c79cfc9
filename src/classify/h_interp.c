/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpreters: what is run comes from an option, a module, a file or standard input; of awk and sed it is
 * the first operand.
 */
#include "classify/h_shell.h"

/* Modules that run a file, or pack and unpack. */
static bool module_words(struct ctx *cx, struct call *c, const struct got *module)
{
	bool pack = str_in(module->val.s, "zipfile tarfile"), writes = false;

	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		writes |= str_in(s, "-e --extract -c --create");
		if (!s.n || s.p[0] == '-')
			continue;
		if (pack && writes)
			effect_write(cx, &c->ops.v[i], true);
		else if (pack)
			effect_read(cx, &c->ops.v[i]);
		else if (str_ends(s, ".py"))
			effect_script(cx, &c->ops.v[i], "python");
	}
	return pack || !str_is(module->val.s, "runpy");
}

/* Modules of Python whose words are not all files to read. True: looked at. */
static bool module_acts(struct ctx *cx, struct call *c, const struct got *module)
{
	struct rein_str m = module->val.s;
	bool test = str_in(m, "unittest doctest"), seen = false;

	if (!test && !str_in(m, "timeit venv compileall py_compile json.tool zipapp"))
		return false;
	for (size_t i = 0; i < c->ops.n; i++) {
		const struct field *f = &c->ops.v[i];
		struct data d = {.text = f->s, .known = !has_hole(f->s), .taint = f->taint};
		struct spot s;

		if (!f->s.n || f->s.p[0] == '-')
			continue;
		if (str_is(m, "timeit"))
			effect_code(cx, &d, "python", f->at);
		else if (str_is(m, "venv"))
			effect_make(cx, f);
		else if (str_in(m, "compileall py_compile"))
			effect_modify(cx, f);
		else if (!test && seen && !str_in(c->ops.v[i - 1].s, "--indent --main --python"))
			effect_write(cx, f, false); /* json.tool in out */
		else if (test && memchr(f->s.p, '/', f->s.n) &&
			 (s = path_spot(cx, f->s), is_far(&s) || s.place == PLACE_TMP))
			effect_script(cx, f, "python");
		else
			effect_read(cx, f);
		seen = true;
	}
	return true;
}

/* perl -MFoo, ruby -rfoo, lua -l foo: as if the code began with it. php -d: settings that load code. */
static void loaded_modules(struct ctx *cx, struct call *c, const char *lang)
{
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		struct sbuf code = {.a = cx->a};
		const char *eq = g->val.s.n ? memchr(g->val.s.p, '=', g->val.s.n) : NULL;
		struct rein_str name = eq ? str_to(g->val.s, (size_t)(eq - g->val.s.p)) : g->val.s;

		if (!name.n)
			continue;
		if (!strcmp(lang, "perl") && (!strcmp(g->opt->name, "-M") || !strcmp(g->opt->name, "-m"))) {
			if (name.p[0] == '-')
				name = str_from(name, 1);
			sbuf_str(&code, STR("use "));
			sbuf_str(&code, name);
		} else if (!strcmp(lang, "ruby") && !strcmp(g->opt->name, "-r")) {
			sbuf_str(&code, STR("require '"));
			sbuf_str(&code, name);
			sbuf_char(&code, '\'');
		} else if (!strcmp(lang, "lua") && !strcmp(g->opt->name, "-l")) {
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, g->at, name,
			      "code that uses a module whose effects are not known");
		} else if (!strcmp(lang, "php") && !strcmp(g->opt->name, "-d") &&
			   str_in(name, "auto_prepend_file auto_append_file extension zend_extension "
					"extension_dir sendmail_path")) {
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, g->at, g->val.s,
			      "a setting that loads code");
		}
		if (code.n)
			code_scan(cx, lang, sbuf_view(&code), g->at);
	}
}

/* python -m MODULE … */
static struct data run_module(struct ctx *cx, struct call *c, const struct got *module)
{
	struct fields v = {0};

	if (str_in(module->val.s, "build gzip unittest doctest"))
		fact(cx, REIN_FACT_WRITE, REIN_LEVEL_SAFE, REIN_REACH_CONTAINED, module->at, NULL,
		     "works in the workspace");
	if (str_in(module->val.s, "code asyncio") && c->io->piped) { /* they take what is typed */
		effect_code(cx, &c->io->in, "python", module->at);
		return h_finish(cx, c);
	}
	/* runpy's own word names another module */
	if (str_in(module->val.s, "cProfile profile trace pdb runpy zipfile tarfile") &&
	    module_words(cx, c, module))
		return h_finish(cx, c);
	if (module_acts(cx, c, module))
		return h_finish(cx, c);
	if (str_in(module->val.s,
		   "pstats pickletools inspect gzip uuid locale encodings this "
		   "calendar site sysconfig platform tokenize ast dis build tabnanny symtable "
		   "webbrowser")) {
		for (size_t i = 0; i < c->ops.n; i++)
			effect_read(cx, &c->ops.v[i]);
		return h_finish(cx, c);
	}
	if (str_in(module->val.s, "http.server SimpleHTTPServer")) {
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY,
		     cx->act->offline ? REIN_REACH_CONTAINED : REIN_REACH_IRREVERSIBLE, module->at, NULL,
		     "offers files of this machine on the network");
		for (size_t i = 1; i < c->argc; i++)
			rummage_sent(cx, &c->argv[i]);
		return h_finish(cx, c);
	}
	if (know_find(cx, module->val.s)) {
		size_t rest = module->word + 1;

		if (rest < c->argc && c->argv[rest].s.p == module->val.s.p)
			rest++; /* -m pip, not -mpip */
		fields_push(cx, &v, module->val);
		for (; rest < c->argc; rest++)
			fields_push(cx, &v, c->argv[rest]);
		return exec_argv(cx, v.v, v.n, c->io);
	}
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, module->at,
	     show(cx, module->val.s), "runs a module whose effects are not known");
	return h_finish(cx, c);
}

/* python manage.py …, php artisan …: known programs in their own right. Empty: a script like any other. */
static struct rein_str script_program(struct ctx *cx, struct rein_str script)
{
	struct rein_str base = str_base(script);

	if (vfile_find(cx, script))
		return STR("");
	if (str_in(base, "manage.py artisan rails wp drush setup.py") ||
	    (path_is_tool(cx, path_resolve(cx, script)) && know_find(cx, base)))
		return base;
	return str_ends(script, "bin/console") ? STR("symfony") : STR("");
}

/* ipython -c '!rm x', '%run x': lines that are no Python */
static void ipython_lines(struct ctx *cx, const struct field *f)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct rein_str s = f->s;

	while (s.n) {
		const char *nl = memchr(s.p, '\n', s.n);
		struct rein_str line = nl ? str_to(s, (size_t)(nl - s.p)) : s;
		size_t next = line.n + 1;

		while (line.n && (line.p[0] == ' ' || line.p[0] == '\t'))
			line = str_from(line, 1);
		if (line.n && line.p[0] == '!')
			run_text(cx, str_from(line, 1), f->at, &io);
		else if (line.n && line.p[0] == '%')
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, f->at, line,
			      "a command of the interpreter's own");
		s = str_from(s, next);
	}
}

/* The words behind inline code, which it knows by their places only: it may write what it does not
 * read. */
static void code_words(struct ctx *cx, struct call *c, bool acts)
{
	bool writes = c->acts & ACT_INPLACE; /* perl -i -pe changes the files it is given */

	for (size_t i = 0; acts && i < c->n_got; i++)
		writes |= c->got[i].opt->role == ROLE_CODE && str_has_ci(c->got[i].val.s, "argv");
	for (size_t i = 0; i < c->ops.n; i++) {
		if (writes)
			effect_modify(cx, &c->ops.v[i]);
		else
			effect_read(cx, &c->ops.v[i]);
	}
}

struct data h_interp(struct ctx *cx, struct call *c)
{
	const struct got *module = call_opt(c, "-m");
	const char *lang = c->top->lang ? c->top->lang : "unknown";
	struct apart before = apart_begin(cx);
	struct rein_str program;
	bool code = false, acts;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		enum know_role r = c->got[i].opt->role;

		if (r == ROLE_CODE)
			code = true;
		if (r == ROLE_CODE && str_is(str_base(c->argv[0].s), "ipython"))
			ipython_lines(cx, &c->got[i].val);
		if (r != ROLE_NONE && r != ROLE_DATA)
			role_effect(cx, c, r, &c->got[i].val);
	}
	loaded_modules(cx, c, lang);
	acts = !apart_end(cx, &before);
	for (size_t i = 1; call_has(c, "-S") && !strcmp(lang, "php") && i < c->argc; i++)
		rummage_sent(cx, &c->argv[i]); /* php -S 0.0.0.0:80 -t / */
	if (code) {
		code_words(cx, c, acts);
		return h_finish(cx, c);
	}
	if (module && !strcmp(lang, "python"))
		return run_module(cx, c, module);
	if (c->acts & ACT_RDONLY) {
		for (size_t i = 0; i < c->ops.n; i++)
			effect_read(cx, &c->ops.v[i]);
		return h_finish(cx, c);
	}
	program = c->ops.n ? script_program(cx, c->ops.v[0].s) : STR("");
	if (program.n) {
		c->ops.v[0].s = program;
		return exec_argv(cx, c->ops.v, c->ops.n, c->io);
	}
	if (c->ops.n && !str_is(c->ops.v[0].s, "-")) {
		effect_script(cx, &c->ops.v[0], lang);
		for (size_t i = 1; i < c->ops.n; i++)
			if (path_spot(cx, c->ops.v[i].s).secret)
				effect_read(cx, &c->ops.v[i]);
		return h_finish(cx, c);
	}
	if (c->io->piped)
		effect_code(cx, &c->io->in, lang, c->argv[0].at);
	return h_finish(cx, c);
}

struct data h_awk(struct ctx *cx, struct call *c)
{
	size_t first = c->acts & ACT_SHIFT ? 0 : 1;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	if (call_opt(c, "-i") && str_has(call_opt(c, "-i")->val.s, "inplace"))
		c->acts |= ACT_INPLACE;
	if (first && c->ops.n) {
		struct data d = {.text = c->ops.v[0].s,
				 .known = true,
				 .taint = c->ops.v[0].taint};

		if (has_hole(d.text) && (d.text.n == 1 || d.taint & (TAINT_NET | TAINT_DECODED)))
			d.known = false;
		if (d.known)
			awk_scan(cx, d.text, c->ops.v[0].at);
		else
			effect_code(cx, &d, "awk", c->ops.v[0].at);
	}
	for (size_t i = first; i < c->ops.n; i++)
		if (!memchr(c->ops.v[i].s.p, '=', c->ops.v[i].s.n))
			role_effect(cx, c, ROLE_READ, &c->ops.v[i]);
	return h_finish(cx, c);
}

struct data h_sed(struct ctx *cx, struct call *c)
{
	size_t first = c->acts & ACT_SHIFT ? 0 : 1;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_CODE)
			sed_scan(cx, g->val.s, g->val.at);
		else if (g->opt->role != ROLE_NONE)
			role_effect(cx, c, g->opt->role, &g->val);
	}
	if (first && c->ops.n)
		sed_scan(cx, c->ops.v[0].s, c->ops.v[0].at);
	for (size_t i = first; i < c->ops.n; i++)
		role_effect(cx, c, ROLE_READ, &c->ops.v[i]);
	return h_finish(cx, c);
}
