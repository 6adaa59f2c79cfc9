/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path an expression of an inline program names: strings that are joined, variables that are
 * set once, functions that put paths together. What cannot be told is a hole, so that the path is
 * judged by what is known of it and never by a text that only stands beside it.
 */
#include "classify/code.h"

#define MAX_DEPTH 8
#define LONGEST	  4096 /* path the kernel takes */

static const struct rein_str unknown = {"\001", 1};

static struct rein_str expression(struct code *c, size_t *i, size_t to, unsigned depth);

static bool opens(const struct code *c, size_t k)
{
	return code_punct(c, k, '(') || code_punct(c, k, '[') || code_punct(c, k, '{');
}

static bool closes(const struct code *c, size_t k)
{
	return code_punct(c, k, ')') || code_punct(c, k, ']') || code_punct(c, k, '}');
}

/* The end of an argument or a statement that begins at i. */
static size_t skip(const struct code *c, size_t i, size_t to, bool commas)
{
	unsigned depth = 0;

	for (; i < to; i++) {
		if (opens(c, i))
			depth++;
		else if (closes(c, i) && !depth--)
			break;
		else if (!depth && (code_punct(c, i, ';') || (commas && code_punct(c, i, ','))))
			break;
	}
	return i;
}

/* Behind the bracket that fits the one at i. */
static size_t behind(const struct code *c, size_t i, size_t to)
{
	size_t end = skip(c, i + 1, to, false);

	while (end < to && code_punct(c, end, ';'))
		end = skip(c, end + 1, to, false);
	return end < to ? end + 1 : to;
}

static const char *last_of(struct rein_str s, char ch)
{
	return s.p && s.n ? memrchr(s.p, ch, s.n) : NULL;
}

static struct rein_str concat(struct code *c, struct rein_str a, struct rein_str b)
{
	struct sbuf t = {.a = c->cx->a};

	if (a.n + b.n > LONGEST || !cx_work(c->cx, (a.n + b.n) / 8))
		return unknown;
	sbuf_str(&t, a);
	sbuf_str(&t, b);
	return sbuf_view(&t);
}

/* os.path.join: what is absolute begins anew */
static struct rein_str below(struct code *c, struct rein_str dir, struct rein_str name)
{
	if (!dir.n || (name.n && name.p[0] == '/'))
		return name;
	if (dir.p[dir.n - 1] != '/')
		dir = concat(c, dir, STR("/"));
	return concat(c, dir, name);
}

static struct rein_str above(struct rein_str path)
{
	const char *slash = last_of(path, '/');

	if (slash)
		return slash == path.p ? STR("/") : str_to(path, (size_t)(slash - path.p));
	return has_hole(path) ? unknown : STR(".");
}

static struct rein_str at_home(struct code *c, struct rein_str path)
{
	if (path.n && path.p[0] == '~' && (path.n == 1 || path.p[1] == '/'))
		return concat(c, c->cx->home, str_from(path, 1));
	return path;
}

static struct rein_str variable_of_environment(struct code *c, struct rein_str name)
{
	return str_is(name, "HOME") ? c->cx->home : unknown;
}

/* "*.o" as the shell would have it */
static struct rein_str globbed(struct code *c, struct rein_str s)
{
	struct sbuf t = {.a = c->cx->a};

	for (size_t i = 0; i < s.n; i++)
		sbuf_char(&t, s.p[i] == '*' || s.p[i] == '[' ? GLOB_STAR
			      : s.p[i] == '?'		     ? GLOB_ONE
							     : s.p[i]);
	return sbuf_view(&t);
}

/* "%s/x" % d, "{}/x".format(d) */
static struct rein_str formatted(struct code *c, struct rein_str s)
{
	struct sbuf t = {.a = c->cx->a};

	for (size_t i = 0; i < s.n; i++) {
		const char *end = s.p[i] == '{' ? memchr(s.p + i, '}', s.n - i) : NULL;

		if (end)
			i = (size_t)(end - s.p);
		else if (s.p[i] == '%' && i + 1 < s.n)
			i++;
		else {
			sbuf_char(&t, s.p[i]);
			continue;
		}
		sbuf_char(&t, HOLE);
	}
	return sbuf_view(&t);
}

/* ------------------------------------------------------------ variables */

/* def f(p):, lambda p:, function (p) {, |p|, p => */
static bool is_parameter(const struct code *c, struct rein_str name)
{
	for (size_t k = 0; k < c->n; k++) {
		bool block = code_punct(c, k, '|') && code_lang_is(c, LANG_RUBY);

		if (block ||
		    (c->t[k].kind == TOK_NAME && str_in(c->t[k].s, "def lambda function sub fn")))
			for (size_t j = k + 1;
			     j < c->n && j < k + 40 && !code_punct(c, j, block ? '|' : ':') &&
			     !code_punct(c, j, '{');
			     j++)
				if (c->t[j].kind == TOK_NAME && rein_str_eq(c->t[j].s, name))
					return true;
		if (code_punct(c, k, '=') && code_punct(c, k + 1, '>') &&
		    code_lang_is(c, LANG_NODE))
			for (size_t j = k; j-- > 0 && k - j < 20;) {
				if (c->t[j].kind == TOK_NAME && rein_str_eq(c->t[j].s, name))
					return true;
				if (code_punct(c, j, '(') || !code_punct(c, k - 1, ')'))
					break;
			}
	}
	return false;
}

enum binding {
	BOUND_NOT,
	BOUND_SIMPLY, /* name = … */
	BOUND_LOOP,   /* for name in … */
	BOUND_ELSE,
};

static enum binding binding(const struct code *c, size_t k)
{
	size_t before = k && code_punct(c, k - 1, '$') ? k - 1 : k;
	bool word = before && c->t[before - 1].kind == TOK_NAME;

	if (word && str_is(c->t[before - 1].s, "as"))
		return BOUND_ELSE;
	if (word && str_in(c->t[before - 1].s, "for foreach"))
		return k + 1 < c->n && c->t[k + 1].kind == TOK_NAME && str_is(c->t[k + 1].s, "in")
			       ? BOUND_LOOP
			       : BOUND_ELSE;
	/* a, b = …; in JavaScript a comma also stands between declarations */
	if (before && code_punct(c, before - 1, ',') && code_punct(c, k + 1, '=') &&
	    !code_lang_is(c, LANG_NODE))
		return BOUND_ELSE;
	if (code_punct(c, k + 1, ',') &&
	    !(before && (opens(c, before - 1) || code_punct(c, before - 1, ','))))
		return BOUND_ELSE;
	if (!code_punct(c, k + 1, '=')) /* += .= := */
		return code_punct(c, k + 2, '=') &&
				       strchr("+-.|:/&",
					      c->t[k + 1].kind == TOK_PUNCT ? c->t[k + 1].c : 'x')
			       ? BOUND_ELSE
			       : BOUND_NOT;
	if (code_punct(c, k + 2, '=') || code_punct(c, k + 2, '>') || code_punct(c, k + 2, '~'))
		return BOUND_NOT;
	/* f(name=…): an argument */
	return before && opens(c, before - 1) ? BOUND_NOT : BOUND_SIMPLY;
}

static enum binding bound_at(struct code *c, struct rein_str name, size_t *ret);

/* for f in glob.glob("*.py"), for f in ["a", "b"]: any of them */
static struct rein_str looped(struct code *c, size_t i, unsigned depth)
{
	size_t list, end;
	bool near;

	/* names = [...]; for f in names */
	if (i + 1 < c->n && c->t[i].kind == TOK_NAME &&
	    (code_punct(c, i + 1, ':') || code_punct(c, i + 1, ')')) &&
	    bound_at(c, c->t[i].s, &list) == BOUND_SIMPLY && code_punct(c, list, '['))
		i = list;
	near = code_punct(c, i, '[') || code_punct(c, i, '(');
	end = near ? behind(c, i, c->n) : i;

	for (size_t k = i + 1; near && k + 1 < end; k++)
		if (c->t[k].kind == TOK_STR
			    ? c->t[k].joined || !c->t[k].s.n || strchr("/~", c->t[k].s.p[0]) ||
				      str_has(c->t[k].s, "..")
			    : !code_punct(c, k, ','))
			near = false;
	if (near)
		return STR("./\001");
	return code_punct(c, i, '[') ? unknown : expression(c, &i, c->n, depth + 1);
}

/* The only place where it gets its value: the first token of that. */
static enum binding bound_at(struct code *c, struct rein_str name, size_t *ret)
{
	size_t at = 0, n = 0;
	enum binding how = BOUND_NOT;

	if (!cx_work(c->cx, 4 * c->n + 20))
		return BOUND_NOT;
	for (size_t k = 0; k < c->n; k++) {
		enum binding b = c->t[k].kind == TOK_NAME && rein_str_eq(c->t[k].s, name)
					 ? binding(c, k)
					 : BOUND_NOT;

		if (b == BOUND_NOT)
			continue;
		how = b;
		at = k + 2;
		n++;
	}
	if (n != 1 || is_parameter(c, name))
		return BOUND_NOT;
	*ret = at;
	return how;
}

static struct rein_str variable(struct code *c, struct rein_str name, unsigned depth)
{
	enum binding how;
	size_t at;

	if (depth > MAX_DEPTH)
		return unknown;
	how = bound_at(c, name, &at);
	if (how == BOUND_LOOP)
		return looped(c, at, depth);
	return how == BOUND_SIMPLY ? expression(c, &at, c->n, depth + 1) : unknown;
}

/* f"{d}/x", `${d}/x`, "#{d}/x", "$d/x": names are followed, more than that is not */
static struct rein_str interpolated(struct code *c, struct rein_str s, unsigned depth)
{
	struct sbuf t = {.a = c->cx->a};
	char mark = code_lang_is(c, LANG_PYTHON) ? '{' : code_lang_is(c, LANG_RUBY) ? '#' : '$';
	size_t i = 0;

	while (i < s.n) {
		size_t from = i + 1, n = 0;
		const char *end = NULL;
		bool brace;

		if (s.p[i] != mark) {
			sbuf_char(&t, s.p[i++]);
			continue;
		}
		brace = mark == '{' || (from < s.n && s.p[from] == '{');
		from += brace && mark != '{';
		while (from + n < s.n && (code_name1(s.p[from + n]) || code_digit(s.p[from + n])))
			n++;
		if (brace)
			end = memchr(s.p + from, '}', s.n - from);
		if (mark == '$' && str_starts(str_from(s, i), "$ENV{HOME}")) {
			sbuf_str(&t, c->cx->home);
			i += sizeof("$ENV{HOME}") - 1;
			continue;
		}
		if (n && (brace ? end == s.p + from + n
				: !(from + n < s.n && strchr("[{-", s.p[from + n]))))
			sbuf_str(&t, variable(c, (struct rein_str){s.p + from, n}, depth + 1));
		else
			sbuf_char(&t, HOLE);
		i = end ? (size_t)(end - s.p) + 1 : from + (n ? n : brace);
	}
	return sbuf_view(&t);
}

/* ------------------------------------------------------------ calls */

/* The words of a call: from and to are those of argument i, or of the one with such a keyword. */
static bool argument(const struct code *c, size_t open, size_t end, size_t i, const char *keyword,
		     size_t *from, size_t *to)
{
	size_t at = open, n = 0;

	while (at < end) {
		size_t stop = skip(c, at, end, true);
		bool key = at + 1 < stop && c->t[at].kind == TOK_NAME &&
			   ((code_punct(c, at + 1, '=') && !code_punct(c, at + 2, '=') &&
			     code_lang_is(c, LANG_PYTHON | LANG_R | LANG_JULIA)) ||
			    (code_punct(c, at + 1, ':') && code_lang_is(c, LANG_RUBY)));

		if (key ? keyword && str_in(c->t[at].s, keyword) : n++ == i) {
			*from = key ? at + 2 : at;
			*to = stop;
			return *from < *to;
		}
		if (!code_punct(c, stop, ','))
			return false;
		at = stop + 1;
	}
	return false;
}

static struct rein_str span(struct code *c, size_t from, size_t to, unsigned depth)
{
	struct rein_str v = expression(c, &from, to, depth + 1);

	return from < to ? unknown : v;
}

static struct rein_str joined_arguments(struct code *c, struct rein_str v, size_t open, size_t end,
					unsigned depth)
{
	size_t from, to;

	for (size_t i = 0; argument(c, open, end, i, NULL, &from, &to); i++)
		v = below(c, v, span(c, from, to, depth));
	return v;
}

static struct rein_str method(struct code *c, struct rein_str on, struct rein_str name, size_t open,
			      size_t end, unsigned depth)
{
	if (str_in(name, "joinpath join"))
		return joined_arguments(c, on, open, end, depth);
	if (str_in(name, "resolve absolute as_posix strip rstrip lstrip trim chomp to_s toString "
			 "expanduser"))
		return str_is(name, "expanduser") ? at_home(c, on) : on;
	if (str_in(name, "glob rglob iterdir children"))
		return below(c, on, unknown);
	if (str_in(name, "with_suffix sub_ext"))
		return concat(c, on, unknown);
	if (str_in(name, "with_name with_stem"))
		return below(c, above(on), unknown);
	if (str_in(name, "parent dirname"))
		return above(on);
	return str_is(name, "format") ? formatted(c, on) : unknown;
}

static struct rein_str called(struct code *c, struct rein_str name, size_t open, size_t end,
			      unsigned depth)
{
	const char *dot = last_of(name, '.');
	struct rein_str first = unknown, on;
	size_t from, to;

	if (argument(c, open, end, 0, NULL, &from, &to))
		first = span(c, from, to, depth);
	if (str_in(name, "os.path.join path.join path.resolve path.posix.join File.join Path "
			 "pathlib.Path PurePath "
			 "pathlib.PurePath pathlib.PosixPath Pathname Pathname.new URL"))
		return open < end ? joined_arguments(c, STR(""), open, end, depth) : STR(".");
	if (str_in(name, "os.path.expanduser File.expand_path"))
		return at_home(c, first);
	if (str_in(name, "str String os.fspath os.path.abspath os.path.realpath os.path.normpath "
			 "path.normalize realpath"))
		return first;
	if (str_in(name, "os.path.dirname path.dirname File.dirname dirname"))
		return above(first);
	if (str_in(name, "os.homedir Path.home pathlib.Path.home Dir.home"))
		return c->cx->home;
	if (str_in(name, "os.getcwd process.cwd Path.cwd pathlib.Path.cwd Dir.pwd getcwd"))
		return STR(".");
	if (str_in(name, "tempfile.gettempdir os.tmpdir Dir.tmpdir sys_get_temp_dir"))
		return STR("/tmp");
	if (str_in(name, "tempfile.mkdtemp Dir.mktmpdir") && open >= end)
		return STR("/tmp/tmp\001");
	if (str_in(name, "os.getenv os.environ.get Deno.env.get getenv ENV.fetch"))
		return variable_of_environment(c, first);
	if (str_in(name, "glob glob.glob glob.iglob Dir.glob Dir sorted list set"))
		return str_in(name, "sorted list set") ? first : globbed(c, first);
	if (!dot)
		return unknown;
	on = variable(c, str_to(name, (size_t)(dot - name.p)), depth + 1);
	return method(c, on, code_last(name), open, end, depth);
}

static struct rein_str named(struct code *c, struct rein_str name, unsigned depth)
{
	const char *dot = last_of(name, '.');

	if (str_is(name, "process.env.HOME"))
		return c->cx->home;
	if (str_in(name, "os.devnull"))
		return STR("/dev/null");
	if (str_in(name, "os.sep path.sep"))
		return STR("/");
	if (str_in(name, "os.curdir __dirname __DIR__"))
		return STR(".");
	if (str_in(name, "Dir.home"))
		return c->cx->home;
	if (dot && str_is(code_last(name), "parent"))
		return above(variable(c, str_to(name, (size_t)(dot - name.p)), depth + 1));
	return dot ? unknown : variable(c, name, depth);
}

/* ------------------------------------------------------------ expressions */

/* os.environ["HOME"], $ENV{HOME}: gives where it ends, or i */
static size_t environment(struct code *c, struct rein_str name, size_t i, struct rein_str *ret)
{
	if (!str_in(name, "os.environ process.env ENV _ENV _SERVER") || !opens(c, i) ||
	    !closes(c, i + 2))
		return i;
	*ret = variable_of_environment(c, c->t[i + 1].s);
	return i + 3;
}

static struct rein_str postfix(struct code *c, struct rein_str v, size_t *i, size_t to,
			       unsigned depth)
{
	while (*i < to) {
		const struct tok *t = &c->t[*i];
		bool dotted = t->kind == TOK_NAME && t->s.n && t->s.p[0] == '.';

		if (dotted && code_punct(c, *i + 1, '(')) {
			size_t end = behind(c, *i + 1, to);

			v = method(c, v, str_from(t->s, 1), *i + 2, end - 1, depth);
			*i = end;
		} else if (dotted) {
			v = str_is(t->s, ".parent") ? above(v) : unknown;
			++*i;
		} else if (code_punct(c, *i, '[') || code_punct(c, *i, '(')) {
			v = unknown;
			*i = behind(c, *i, to);
		} else {
			break;
		}
	}
	return v;
}

static struct rein_str name_term(struct code *c, size_t *i, size_t to, unsigned depth)
{
	struct rein_str name = c->t[(*i)++].s, v = unknown;
	size_t end = environment(c, name, *i, &v);

	if (end != *i) {
		*i = end;
		return v;
	}
	if (code_punct(c, *i, '(')) {
		end = behind(c, *i, to);
		/* require("path").join(…): the name behind it says already of which module it is */
		if (str_is(name, "require") && end < to && c->t[end].kind == TOK_NAME &&
		    depth < MAX_DEPTH) {
			*i = end;
			return name_term(c, i, to, depth + 1);
		}
		v = called(c, name, *i + 1, end - 1, depth);
		*i = end;
		return v;
	}
	/* glob "*.o" of perl, my $x */
	if (code_lang_is(c, LANG_PERL | LANG_RUBY) && *i < to && c->t[*i].kind == TOK_STR &&
	    str_in(name, "glob Dir.glob"))
		return globbed(c, expression(c, i, to, depth + 1));
	if (code_lang_is(c, LANG_PERL) && str_in(name, "my our local") && *i < to)
		return expression(c, i, to, depth + 1);
	return named(c, name, depth);
}

static struct rein_str term(struct code *c, size_t *i, size_t to, unsigned depth)
{
	const struct tok *t = &c->t[*i];
	struct rein_str v = unknown;

	if (t->kind == TOK_STR) {
		v = t->joined ? interpolated(c, t->s, depth) : t->s;
		++*i;
		while (code_lang_is(c, LANG_PYTHON) && *i < to && c->t[*i].kind == TOK_STR) {
			v = concat(c, v,
				   c->t[*i].joined ? interpolated(c, c->t[*i].s, depth)
						   : c->t[*i].s);
			++*i;
		}
	} else if (t->kind == TOK_NUM) {
		v = t->s;
		++*i;
	} else if (t->kind == TOK_NAME) {
		v = name_term(c, i, to, depth);
	} else if (t->c == '(') {
		size_t end = behind(c, *i, to);

		v = span(c, *i + 1, end - 1, depth);
		*i = end;
	} else if (t->c == '$' && *i + 1 < to && c->t[*i + 1].kind == TOK_NAME) {
		++*i;
		v = name_term(c, i, to, depth);
	} else {
		*i = skip(c, *i, to, true);
		return unknown;
	}
	return postfix(c, v, i, to, depth);
}

/* What stands between two strings and makes one of them. 0: nothing of the kind. */
static char operator(const struct code *c, size_t i, size_t *n)
{
	char ch = c->t[i].kind == TOK_PUNCT ? c->t[i].c : 0;

	*n = 1;
	if (ch == '+' && !code_punct(c, i + 1, '='))
		return '+';
	if (ch == '.' && code_lang_is(c, LANG_PERL | LANG_PHP))
		return '+';
	if (ch == '.' && code_lang_is(c, LANG_LUA) && code_punct(c, i + 1, '.')) {
		*n = 2;
		return '+';
	}
	if (ch == '/' && code_lang_is(c, LANG_PYTHON | LANG_RUBY))
		return '/';
	if (ch == '%' && code_lang_is(c, LANG_PYTHON | LANG_RUBY))
		return '%';
	return 0;
}

static struct rein_str expression(struct code *c, size_t *i, size_t to, unsigned depth)
{
	struct rein_str v;

	if (*i >= to || depth > MAX_DEPTH || !cx_work(c->cx, 40))
		return unknown;
	v = term(c, i, to, depth);
	while (*i < to) {
		const struct tok *t = &c->t[*i];
		size_t n;
		char op = operator(c, *i, &n);

		if (op && *i + n < to) {
			struct rein_str next;

			*i += n;
			next = term(c, i, to, depth);
			v = op == '%'	? formatted(c, v)
			    : op == '/' ? below(c, v, next)
					: concat(c, v, next);
			continue;
		}
		/* a or b, a if x else b, x ? a : b: either; perl's "or die" stands behind the whole
		 * call */
		if ((t->kind == TOK_NAME && str_in(t->s, "if or and else unless") &&
		     code_lang_is(c, LANG_PYTHON)) ||
		    (t->kind == TOK_PUNCT && strchr("?|&*-^<", t->c))) {
			*i = skip(c, *i, to, true);
			return unknown;
		}
		break;
	}
	return v;
}

/* ------------------------------------------------------------ what others ask for */

bool code_argument(struct code *c, size_t k, size_t i, const char *keyword, struct rein_str *ret)
{
	bool brackets = code_punct(c, k + 1, '(');
	size_t open = k + (brackets ? 2 : 1),
	       end = brackets ? behind(c, k + 1, c->n) - 1 : skip(c, k + 1, c->n, false);
	size_t from, to;

	if (end > c->n)
		end = c->n;
	/* "(" that is never closed: all of the rest */
	if (brackets && end + 1 == c->n && !code_punct(c, end, ')'))
		end = c->n;
	if (!argument(c, open, end, i, keyword, &from, &to))
		return false;
	/* without brackets nobody says where it ends: File.delete f if x */
	*ret = brackets ? span(c, from, to, 0) : expression(c, &from, to, 0);
	return true;
}

/* Where the expression before the method that is token k begins: Path(a).joinpath(b).unlink(). k:
 * nowhere. */
static size_t receiver(const struct code *c, size_t k)
{
	size_t i = k;

	while (i > 0) {
		unsigned depth = 0;

		if (closes(c, i - 1)) {
			do {
				i--;
				depth += closes(c, i) ? 1 : 0;
				depth -= opens(c, i) ? 1 : 0;
			} while (i && depth);
			if (i && c->t[i - 1].kind == TOK_NAME)
				i--;
		} else if (c->t[i - 1].kind == TOK_STR || c->t[i - 1].kind == TOK_NAME) {
			i--;
		} else {
			return k;
		}
		if (c->t[i].kind != TOK_NAME || c->t[i].s.p[0] != '.')
			return i;
	}
	return k;
}

static struct rein_str owner(const struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s;
	const char *dot = last_of(name, '.');

	return dot ? str_to(name, (size_t)(dot - name.p)) : STR("");
}

struct rein_str code_receiver(struct code *c, size_t k)
{
	struct rein_str on = owner(c, k);

	return on.n ? named(c, on, 0) : span(c, receiver(c, k), k, 0);
}

bool code_is_path(struct code *c, size_t k)
{
	struct rein_str on = owner(c, k);
	size_t at;

	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		enum binding how = BOUND_SIMPLY;

		if (!on.n)
			at = receiver(c, k);
		else
			how = bound_at(c, on, &at);
		if ((how != BOUND_SIMPLY && how != BOUND_LOOP) || at >= c->n)
			return false;
		while (code_punct(c, at, '('))
			at++;
		if (at >= c->n || c->t[at].kind != TOK_NAME || at == k)
			return false;
		on = c->t[at].s; /* d / "x": what d is */
		if (str_starts(on, "pathlib.") || str_starts(on, "Path.") ||
		    str_in(on, "Path Pathname Pathname.new"))
			return true;
	}
	return false;
}

struct rein_str code_value(struct code *c, size_t k)
{
	return expression(c, &k, c->n, 0);
}
