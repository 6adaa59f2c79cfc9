/* SPDX-License-Identifier: Apache-2.0 */
/* Programs about files and text whose operands or output need more than roles. */
#include "classify/h_shell.h"
#include "classify/handlers.h"

static struct data finish(struct ctx *cx, struct call *c)
{
	return data_unknown(cx->seen | c->io->in.taint);
}

struct data h_rm(struct ctx *cx, struct call *c)
{
	if (c->hole_opt)
		fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_CONTAINED,
		     c->argv[0].at, NULL, "how it deletes is only known when it runs");
	call_base(cx, c);
	call_effects(cx, c);
	return finish(cx, c);
}

/* What a copy leaves behind, under both readings of the target (file or directory). */
static void copied(struct ctx *cx, const struct field *from, const struct field *to)
{
	struct data d = file_data(cx, from);
	struct sbuf below = {.a = cx->a};

	vfile_put(cx, to->s, d, false);
	sbuf_str(&below, to->s);
	sbuf_char(&below, '/');
	sbuf_str(&below, str_base(from->s));
	vfile_put(cx, sbuf_view(&below), d, false);
}

static struct field target_of(struct call *c, size_t *sources)
{
	const struct got *t = call_opt(c, "-t");

	if (!t)
		t = call_opt(c, "--target-directory");
	*sources = c->ops.n;
	if (t)
		return t->val;
	if (c->ops.n < 2)
		return (struct field){0};
	*sources = c->ops.n - 1;
	return c->ops.v[c->ops.n - 1];
}

static bool bad_mode(struct rein_str m);

struct data h_cp(struct ctx *cx, struct call *c)
{
	size_t n;
	struct field to = target_of(c, &n);
	const struct got *mode = call_opt(c, "-m"); /* install -m 4755 */

	call_base(cx, c);
	if (!mode)
		mode = call_opt(c, "--mode");
	if (mode && to.s.n && bad_mode(mode->val.s))
		effect_attr(cx, &to, false, true);
	for (size_t i = 0; i < n; i++) {
		effect_read(cx, &c->ops.v[i]);
		rummage_tree(cx, &c->ops.v[i]);
		if (to.s.n && str_in(c->ops.v[i].s, "/dev/null"))
			effect_delete(cx, &to, false);
		if (to.s.n)
			copied(cx, &c->ops.v[i], &to);
	}
	if (to.s.n)
		effect_write(cx, &to, false);
	return finish(cx, c);
}

struct data h_mv(struct ctx *cx, struct call *c)
{
	size_t n;
	struct field to = target_of(c, &n);
	struct spot dest = path_spot(cx, to.s);

	call_base(cx, c);
	for (size_t i = 0; i < n; i++) {
		struct spot s = path_spot(cx, c->ops.v[i].s);

		if (s.secret)
			effect_read(cx, &c->ops.v[i]);
		if (s.place == PLACE_WORKSPACE_ROOT && s.path.n && !is_literal(s.path) &&
		    dest.place <= PLACE_REGEN)
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s), "moves everything");
		else if (s.place != PLACE_WORKSPACE && s.place != PLACE_REGEN &&
			 s.place != PLACE_TMP && s.place != PLACE_UNKNOWN)
			effect_delete(cx, &c->ops.v[i], true);
		else if (s.place == PLACE_UNKNOWN && !names_own(cx, &c->ops.v[i]))
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s),
			     "moves a path that is not known");
		if (to.s.n && str_in(to.s, "/dev/null"))
			effect_delete(cx, &c->ops.v[i], true);
		if (to.s.n)
			copied(cx, &c->ops.v[i], &to);
	}
	if (to.s.n)
		effect_write(cx, &to, false);
	return finish(cx, c);
}

struct data h_ln(struct ctx *cx, struct call *c)
{
	size_t n;
	struct field to = target_of(c, &n);

	call_base(cx, c);
	for (size_t i = 0; i < n; i++) {
		struct spot s = path_spot(cx, c->ops.v[i].s);

		if (s.secret)
			effect_read(cx, &c->ops.v[i]);
		if (to.s.n && str_is(c->ops.v[i].s, "/dev/null"))
			effect_delete(cx, &to, false);
		if (to.s.n)
			copied(cx, &c->ops.v[i], &to);
	}
	if (to.s.n)
		effect_write(cx, &to, !call_has(c, "-f"));
	return finish(cx, c);
}

/* Does this mode give everybody write access, nobody any, or run as the owner? */
static bool bad_mode(struct rein_str m)
{
	if (!m.n)
		return false;
	if (m.p[0] >= '0' && m.p[0] <= '7') {
		struct rein_str t = m.n > 3 ? str_from(m, m.n - 3) : m;

		if (m.n > 3 && m.p[m.n - 4] != '0')
			return true;
		return str_in(t, "777 666 000 776 767 0 00") || (t.n == 3 && strchr("2367", t.p[2]));
	}
	return str_has(m, "+s") || str_has(m, "=s") || str_has(m, "xs") || str_has(m, "o+w") ||
	       str_has(m, "o=w") || str_has(m, "o=rw") || str_has(m, "o+rw") || str_has(m, "a+w") ||
	       str_has(m, "a+rw") || str_has(m, "a=rw") || str_starts(m, "+w") ||
	       str_has(m, "ugo+rw") || str_has(m, "ugo+w") || str_has(m, "go+w") ||
	       str_has(m, "a-") || str_has(m, "ugo-");
}

struct data h_chmod(struct ctx *cx, struct call *c)
{
	bool ref = call_has(c, "--reference"), chmod = str_is(rein_str(c->top->name), "chmod");
	bool bad = chmod && !ref && c->ops.n && bad_mode(c->ops.v[0].s);

	call_base(cx, c);
	for (size_t i = ref ? 0 : 1; i < c->ops.n; i++)
		effect_attr(cx, &c->ops.v[i], c->acts & ACT_REC, bad);
	/* "-w" and "-x" look like options */
	return finish(cx, c);
}

struct data h_tee(struct ctx *cx, struct call *c)
{
	bool append = call_has(c, "-a");

	call_base(cx, c);
	for (size_t i = 0; i < c->ops.n; i++) {
		effect_write(cx, &c->ops.v[i], append);
		rummage_store(cx, &c->io->in, &c->ops.v[i]);
		vfile_put(cx, c->ops.v[i].s, c->io->in, append);
	}
	return c->io->in;
}

struct data h_dd(struct ctx *cx, struct call *c)
{
	struct data d = data_unknown(c->io->in.taint);
	struct field *in = NULL;

	for (size_t i = 1; i < c->argc; i++) {
		struct field f = c->argv[i];

		if (str_starts(f.s, "if=")) {
			f.s = str_from(f.s, 3);
			effect_read(cx, &f);
			c->argv[i].s = f.s;
			in = &c->argv[i];
			d = file_data(cx, in);
			d.known = false;
		}
	}
	for (size_t i = 1; i < c->argc; i++) {
		struct field f = c->argv[i];

		if (!str_starts(f.s, "of="))
			continue;
		f.s = str_from(f.s, 3);
		effect_write(cx, &f, false);
		if (in && str_in(in->s, "/dev/zero /dev/urandom /dev/random /dev/null") &&
		    path_spot(cx, f.s).place > PLACE_TMP_ROOT && path_spot(cx, f.s).place != PLACE_NULL)
			effect_delete(cx, &f, false);
		vfile_put(cx, f.s, d, false);
	}
	return d;
}

/* ------------------------------------------------------------ text */

static int b64(int c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static bool decode_base64(struct ctx *cx, struct rein_str s, struct rein_str *ret)
{
	struct sbuf out = {.a = cx->a};
	unsigned acc = 0, bits = 0;

	for (size_t i = 0; i < s.n; i++) {
		int v = b64((unsigned char)s.p[i]);

		if (s.p[i] == '\n' || s.p[i] == '=' || s.p[i] == ' ')
			continue;
		if (v < 0)
			return false;
		acc = acc << 6 | (unsigned)v;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			sbuf_char(&out, (char)(acc >> bits));
			acc &= (1u << bits) - 1;
		}
	}
	*ret = sbuf_view(&out);
	return true;
}

static bool decode_hex(struct ctx *cx, struct rein_str s, struct rein_str *ret)
{
	struct sbuf out = {.a = cx->a};
	int half = -1;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		int v = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (c == '\n' || c == ' ')
			continue;
		if (v < 0)
			return false;
		if (half < 0) {
			half = v;
		} else {
			sbuf_char(&out, (char)(half << 4 | v));
			half = -1;
		}
	}
	*ret = sbuf_view(&out);
	return true;
}

/* base64 -d, xxd -r -p, base32 -d, uudecode …: what comes out was encoded */
struct data h_decode(struct ctx *cx, struct call *c)
{
	struct data in = c->io->in, d;
	bool hex = str_is(rein_str(c->top->name), "xxd");
	struct rein_str text;

	call_base(cx, c);
	call_effects(cx, c);
	if (c->ops.n && !str_is(c->ops.v[0].s, "-"))
		in = file_data(cx, &c->ops.v[0]);
	d = data_unknown(in.taint | cx->seen);
	if (!(c->acts & ACT_DECODE)) {
		rummage_encode(cx, c);
		return d;
	}
	d.taint |= TAINT_DECODED;
	if (in.known && (hex ? decode_hex(cx, in.text, &text) : decode_base64(cx, in.text, &text)) &&
	    is_literal(text)) {
		d.text = text;
		d.known = true;
	}
	return d;
}

struct data h_rev(struct ctx *cx, struct call *c)
{
	struct data in = c->io->in;
	struct sbuf out = {.a = cx->a};

	call_effects(cx, c);
	if (c->ops.n || !in.known)
		return data_unknown(in.taint | cx->seen | TAINT_DECODED);
	for (size_t i = in.text.n; i-- > 0;)
		if (in.text.p[i] != '\n')
			sbuf_char(&out, in.text.p[i]);
	sbuf_char(&out, '\n');
	return (struct data){.text = sbuf_view(&out),
			     .known = true,
			     .taint = in.taint | TAINT_DECODED};
}

static size_t tr_set(struct rein_str s, unsigned char *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n < max; i++) {
		if (i + 2 < s.n && s.p[i + 1] == '-' && s.p[i + 2] > s.p[i]) {
			for (int c = (unsigned char)s.p[i]; c <= (unsigned char)s.p[i + 2] && n < max;
			     c++)
				out[n++] = (unsigned char)c;
			i += 2;
		} else {
			out[n++] = (unsigned char)s.p[i];
		}
	}
	return n;
}

struct data h_tr(struct ctx *cx, struct call *c)
{
	struct data in = c->io->in;
	unsigned char from[256], to[256];
	size_t n, m;
	struct sbuf out = {.a = cx->a};

	if (!in.known || c->n_got || c->ops.n != 2 || !is_literal(c->ops.v[0].s) ||
	    !is_literal(c->ops.v[1].s) || str_has(c->ops.v[0].s, "[:") ||
	    str_has(c->ops.v[0].s, "\\"))
		return data_unknown(in.taint | (in.known ? TAINT_DECODED : 0));
	n = tr_set(c->ops.v[0].s, from, sizeof(from));
	m = tr_set(c->ops.v[1].s, to, sizeof(to));
	for (size_t i = 0; i < in.text.n; i++) {
		char ch = in.text.p[i];

		for (size_t k = 0; k < n && m; k++)
			if (from[k] == (unsigned char)in.text.p[i])
				ch = (char)to[k < m ? k : m - 1];
		sbuf_char(&out, ch);
	}
	return (struct data){.text = sbuf_view(&out),
			     .known = true,
			     .taint = in.taint | TAINT_DECODED};
}

struct data h_mktemp(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	if (c->ops.n && c->ops.v[0].s.n && c->ops.v[0].s.p[0] == '/')
		return data_known(c->ops.v[0].s);
	fact(cx, REIN_FACT_WRITE, REIN_LEVEL_SAFE, REIN_REACH_CONTAINED, c->argv[0].at, "/tmp",
	     "creates a temporary path");
	return data_known(STR("/tmp/tmp.XXXXXXXXXX"));
}

struct data h_basename(struct ctx *cx, struct call *c)
{
	struct rein_str s;

	(void)cx;
	if (c->ops.n != 1 || !is_literal(c->ops.v[0].s))
		return data_unknown(c->ops.n ? c->ops.v[0].taint : 0);
	s = c->ops.v[0].s;
	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	return data_known(str_base(s));
}

struct data h_dirname(struct ctx *cx, struct call *c)
{
	struct rein_str s, base;

	(void)cx;
	if (c->ops.n != 1 || !is_literal(c->ops.v[0].s))
		return data_unknown(c->ops.n ? c->ops.v[0].taint : 0);
	s = c->ops.v[0].s;
	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	base = str_base(s);
	if (base.n == s.n)
		return data_known(STR("."));
	s.n -= base.n + (s.n - base.n > 1);
	return data_known(s);
}

struct data h_seq(struct ctx *cx, struct call *c)
{
	(void)cx;
	(void)c;
	return data_unknown(TAINT_NUMBER);
}

/* ------------------------------------------------------------ interpreters */

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
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, g->at, name, "code that uses a module whose effects are not known");
		} else if (!strcmp(lang, "php") && !strcmp(g->opt->name, "-d") &&
			   str_in(name, "auto_prepend_file auto_append_file extension zend_extension extension_dir "
					"sendmail_path")) {
			h_say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, g->at, g->val.s, "a setting that loads code");
		}
		if (code.n)
			code_scan(cx, lang, sbuf_view(&code), g->at);
	}
}

struct data h_interp(struct ctx *cx, struct call *c)
{
	const struct got *module = call_opt(c, "-m");
	const char *lang = c->top->lang ? c->top->lang : "unknown";
	bool code = false;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		enum know_role r = c->got[i].opt->role;

		if (r == ROLE_CODE)
			code = true;
		if (r != ROLE_NONE && r != ROLE_DATA)
			role_effect(cx, c, r, &c->got[i].val);
	}
	loaded_modules(cx, c, lang);
	for (size_t i = 1; call_has(c, "-S") && !strcmp(lang, "php") && i < c->argc; i++)
		rummage_sent(cx, &c->argv[i]); /* php -S 0.0.0.0:80 -t / */
	if (code) {
		/* perl -i -pe changes the files it is given */
		for (size_t i = 0; i < c->ops.n; i++) {
			if (c->acts & ACT_INPLACE)
				effect_modify(cx, &c->ops.v[i]);
			else
				effect_read(cx, &c->ops.v[i]);
		}
		return finish(cx, c);
	}
	if (module && !strcmp(lang, "python")) {
		struct fields v = {0};

		/* runpy's own word names another module */
		if (str_in(module->val.s, "cProfile profile trace pdb runpy zipfile tarfile") &&
		    module_words(cx, c, module))
			return finish(cx, c);
		if (module_acts(cx, c, module))
			return finish(cx, c);
		if (str_in(module->val.s,
			   "pstats pickletools inspect gzip uuid locale encodings this "
			   "calendar site sysconfig platform tokenize ast dis build tabnanny symtable "
			   "webbrowser")) {
			for (size_t i = 0; i < c->ops.n; i++)
				effect_read(cx, &c->ops.v[i]);
			return finish(cx, c);
		}
		if (str_in(module->val.s, "http.server SimpleHTTPServer")) {
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE,
			     module->at, NULL, "offers files of this machine on the network");
			for (size_t i = 1; i < c->argc; i++)
				rummage_sent(cx, &c->argv[i]);
			return finish(cx, c);
		}
		if (know_find(cx, module->val.s)) {
			fields_push(cx, &v, module->val);
			for (size_t i = 0; i < c->argc; i++)
				if (c->argv[i].s.p == module->val.s.p) {
					for (size_t k = i + 1; k < c->argc; k++)
						fields_push(cx, &v, c->argv[k]);
					break;
				}
			return exec_argv(cx, v.v, v.n, c->io);
		}
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, module->at,
		     show(cx, module->val.s), "runs a module whose effects are not known");
		return finish(cx, c);
	}
	if (c->acts & ACT_RDONLY) {
		for (size_t i = 0; i < c->ops.n; i++)
			effect_read(cx, &c->ops.v[i]);
		return finish(cx, c);
	}
	/* python manage.py …, php artisan …: known programs in their own right */
	if (c->ops.n &&
	    str_in(str_base(c->ops.v[0].s), "manage.py artisan rails wp drush setup.py") &&
	    !vfile_find(cx, c->ops.v[0].s)) {
		c->ops.v[0].s = str_base(c->ops.v[0].s);
		return exec_argv(cx, c->ops.v, c->ops.n, c->io);
	}
	if (c->ops.n && path_is_tool(cx, path_resolve(cx, c->ops.v[0].s)) &&
	    know_find(cx, str_base(c->ops.v[0].s)) && !vfile_find(cx, c->ops.v[0].s)) {
		c->ops.v[0].s = str_base(c->ops.v[0].s);
		return exec_argv(cx, c->ops.v, c->ops.n, c->io);
	}
	if (c->ops.n && str_ends(c->ops.v[0].s, "bin/console") && !vfile_find(cx, c->ops.v[0].s)) {
		c->ops.v[0].s = STR("symfony");
		return exec_argv(cx, c->ops.v, c->ops.n, c->io);
	}
	if (c->ops.n && !str_is(c->ops.v[0].s, "-")) {
		effect_script(cx, &c->ops.v[0], lang);
		for (size_t i = 1; i < c->ops.n; i++)
			if (path_spot(cx, c->ops.v[i].s).secret)
				effect_read(cx, &c->ops.v[i]);
		return finish(cx, c);
	}
	if (c->io->piped) {
		effect_code(cx, &c->io->in, lang, c->argv[0].at);
		return finish(cx, c);
	}
	return finish(cx, c);
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
	return finish(cx, c);
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
	return finish(cx, c);
}

/* ------------------------------------------------------------ archives */

static void tar_mode(struct rein_str s, char *mode, bool *to_stdout)
{
	for (size_t i = 0; i < s.n; i++) {
		if (strchr("cxtruAd", s.p[i]) && !*mode)
			*mode = s.p[i];
		if (s.p[i] == 'O')
			*to_stdout = true;
	}
}

static bool tar_remote(struct rein_str f)
{
	const char *colon = f.n ? memchr(f.p, ':', f.n) : NULL;
	const char *slash = f.n ? memchr(f.p, '/', f.n) : NULL;

	return colon && (!slash || colon < slash);
}

static void tar_archive(struct ctx *cx, const struct field *f, bool writes)
{
	if (str_is(f->s, "-"))
		return;
	if (tar_remote(f->s))
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "an archive on another machine");
	else if (writes)
		effect_write(cx, f, false);
	else
		effect_read(cx, f);
}

struct data h_tar(struct ctx *cx, struct call *c)
{
	struct field archive = {0}, dir = {0};
	bool to_stdout = call_has(c, "-O") || call_has(c, "--to-stdout");
	struct fields ops = c->ops;
	char mode = 0;
	bool writes, had_f = false, absolute = call_has(c, "-P");

	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		const char *name = g->opt->name;

		if (name[1] != '-')
			tar_mode(rein_str(name + 1), &mode, &to_stdout);
		else if (str_in(rein_str(name), "--create --extract --get --list --append --update "
						"--concatenate --diff"))
			tar_mode(str_to(rein_str(name[2] == 'e' || name[2] == 'g' ? "x"
						 : name[2] == 'l'		    ? "t"
						 : name[2] == 'a'		    ? "r"
						 : name[2] == 'd'		    ? "d"
										    : name + 2),
					1),
				 &mode, &to_stdout);
		if (!strcmp(name, "-f") || !strcmp(name, "--file")) {
			archive = g->val;
			had_f = true;
		}
		if (g->opt->role == ROLE_CWD)
			dir = g->val;
		if (!strcmp(name, "--checkpoint-action") && str_starts(g->val.s, "exec=")) {
			struct field f = g->val;

			f.s = str_from(f.s, 5);
			role_effect(cx, c, ROLE_PROG, &f);
		}
		if (g->opt->role == ROLE_READ || g->opt->role == ROLE_PROG ||
		    g->opt->role == ROLE_SHELL)
			role_effect(cx, c, g->opt->role, &g->val);
	}
	/* tar cf a.tar dir: letters without a dash */
	if (!mode && ops.n && ops.v == c->ops.v && c->argc > 1 && c->argv[1].s.p &&
	    c->argv[1].s.n && c->argv[1].s.p[0] != '-') {
		struct rein_str letters = ops.v[0].s;
		size_t next = 1;

		tar_mode(letters, &mode, &to_stdout);
		for (size_t i = 0; i < letters.n; i++) {
			if (letters.p[i] == 'f' && next < ops.n) {
				archive = ops.v[next++];
				had_f = true;
			} else if (letters.p[i] == 'C' && next < ops.n) {
				dir = ops.v[next++];
			} else if ((letters.p[i] == 'I' || letters.p[i] == 'F') && next < ops.n) {
				role_effect(cx, c, ROLE_PROG, &ops.v[next++]);
			} else if (strchr("bXTKNVHgL", letters.p[i])) {
				next++;
			} else if (letters.p[i] == 'P') {
				absolute = true;
			}
		}
		if (next > ops.n)
			next = ops.n;
		ops.v += next;
		ops.n -= next;
	}
	call_base(cx, c);
	writes = mode == 'c' || mode == 'r' || mode == 'u' || mode == 'A';
	if (had_f)
		tar_archive(cx, &archive, writes);
	if (dir.s.n) {
		undo_push_cwd(cx);
		cx->cwd = path_resolve(cx, dir.s);
	}
	if (mode == 'x' && !to_stdout) {
		struct field here = dir.s.n ? dir : field_of(cx, ".", c->argv[0].at);
		bool far = dir.s.n && path_spot(cx, dir.s).place > PLACE_TMP_ROOT;

		effect_write(cx, &here, false);
		if (absolute)
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     c->argv[0].at, NULL, "unpacks to absolute paths");
		if ((c->io->piped && !had_f ? c->io->in.taint : file_data(cx, &archive).taint) & TAINT_NET)
			cx->fetched = true;
		if (c->io->piped && (c->io->in.taint & TAINT_NET) && far)
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     c->argv[0].at, NULL, "unpacks a download outside the workspace");
	}
	for (size_t i = 0; writes && i < ops.n; i++) {
		effect_read(cx, &ops.v[i]);
		rummage_tree(cx, &ops.v[i]);
		if (call_has(c, "--remove-files"))
			effect_delete(cx, &ops.v[i], true);
	}
	if (had_f && writes && !str_is(archive.s, "-"))
		vfile_put(cx, archive.s, data_unknown(cx->seen), false);
	if (!mode && !c->n_got && !c->ops.n)
		return data_unknown(0);
	return finish(cx, c);
}
