/* SPDX-License-Identifier: Apache-2.0 */
/* One lexer for the inline code of python, node, perl, ruby, php and lua: names, strings, calls. */
#include "classify/code.h"

enum code_lang code_lang_of(const char *name)
{
	static const char *const names[] = {"python", "node", "perl", "ruby", "php", "lua", "r", "elixir", "java", "julia"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return (enum code_lang)(1u << i);
	return LANG_OTHER;
}

bool code_name1(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

bool code_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct tok *add_tok(struct code *c, enum tok_kind kind, struct rein_str s)
{
	if (c->n == c->max) {
		c->overflow = true;
		return &c->t[c->max - 1];
	}
	c->t[c->n] = (struct tok){.kind = kind, .s = s};
	return &c->t[c->n++];
}

/* a.b.c, a::b, a->b as one dotted name */
static size_t lex_name(struct code *c, size_t i)
{
	struct sbuf name = {.a = c->cx->a};

	for (;;) {
		while (i < c->s.n && (code_name1(c->s.p[i]) || code_digit(c->s.p[i])))
			sbuf_char(&name, c->s.p[i++]);
		if (i + 1 < c->s.n && c->s.p[i] == '.' && code_name1(c->s.p[i + 1])) {
			i++;
		} else if (i + 2 < c->s.n && ((c->s.p[i] == ':' && c->s.p[i + 1] == ':') ||
					      (c->s.p[i] == '-' && c->s.p[i + 1] == '>') ||
					      (c->s.p[i] == '?' && c->s.p[i + 1] == '.')) &&
			   code_name1(c->s.p[i + 2])) {
			i += 2;
		} else {
			break;
		}
		sbuf_char(&name, '.');
	}
	add_tok(c, TOK_NAME, sbuf_view(&name));
	return i;
}

static size_t lex_string(struct code *c, size_t i)
{
	struct sbuf text = {.a = c->cx->a};
	char q = c->s.p[i];
	bool triple = code_lang_is(c, LANG_PYTHON) && i + 2 < c->s.n && c->s.p[i + 1] == q &&
		      c->s.p[i + 2] == q;
	bool joined = false;
	struct tok *t;

	i += triple ? 3 : 1;
	while (i < c->s.n) {
		if (triple ? (i + 2 < c->s.n && c->s.p[i] == q && c->s.p[i + 1] == q &&
			      c->s.p[i + 2] == q)
			   : c->s.p[i] == q)
			break;
		if (c->s.p[i] == '\\' && i + 1 < c->s.n) {
			bool stop = false;

			i += shell_ansi_escape(c->s.p + i, c->s.n - i, &text, &stop);
			continue;
		}
		if ((c->s.p[i] == '$' && q != '\'' && code_lang_is(c, LANG_PERL | LANG_PHP)) ||
		    (c->s.p[i] == '#' && i + 1 < c->s.n && c->s.p[i + 1] == '{' && q != '\'' &&
		     code_lang_is(c, LANG_RUBY)) ||
		    (c->s.p[i] == '$' && i + 1 < c->s.n && c->s.p[i + 1] == '{' && q == '`'))
			joined = true;
		if (c->s.p[i] == HOLE)
			joined = true;
		sbuf_char(&text, c->s.p[i++]);
	}
	i += triple ? 3 : 1;
	t = add_tok(c, TOK_STR, sbuf_view(&text));
	t->joined = joined;
	t->backtick = q == '`';
	return i;
}

/* perl and ruby: q{…} qq(…) qw[…] qx/…/ %x(…) */
static bool lex_quotelike(struct code *c, size_t *i)
{
	static const char open[] = "([{<", close[] = ")]}>";
	size_t j = *i, n = 0;
	bool shell = false;
	const char *at, *end;
	struct tok *t;

	if (code_lang_is(c, LANG_PERL) && c->s.p[j] == 'q') {
		j++;
		if (j < c->s.n && (c->s.p[j] == 'q' || c->s.p[j] == 'w' || c->s.p[j] == 'x')) {
			shell = c->s.p[j] == 'x';
			j++;
		}
	} else if (code_lang_is(c, LANG_RUBY) && c->s.p[j] == '%' && j + 1 < c->s.n &&
		   strchr("xqQwW(", c->s.p[j + 1])) {
		shell = c->s.p[j + 1] == 'x';
		j += c->s.p[j + 1] == '(' ? 1 : 2;
	} else {
		return false;
	}
	if (j >= c->s.n || code_name1(c->s.p[j]) || code_digit(c->s.p[j]) || c->s.p[j] == ' ' ||
	    c->s.p[j] == '=' || c->s.p[j] == ',' || c->s.p[j] == ';')
		return false;
	at = strchr(open, c->s.p[j]);
	n = j + 1;
	end = memchr(c->s.p + n, at ? close[at - open] : c->s.p[j], c->s.n - n);
	if (!end)
		return false;
	t = add_tok(c, TOK_STR, (struct rein_str){c->s.p + n, (size_t)(end - (c->s.p + n))});
	t->backtick = shell;
	*i = (size_t)(end - c->s.p) + 1;
	return true;
}

static size_t skip_line(const struct code *c, size_t i)
{
	const char *nl = memchr(c->s.p + i, '\n', c->s.n - i);

	return nl ? (size_t)(nl - c->s.p) : c->s.n;
}

void code_lex(struct code *c)
{
	bool hash = code_lang_is(c, LANG_PYTHON | LANG_RUBY | LANG_PERL | LANG_PHP | LANG_R | LANG_ELIXIR | LANG_JULIA), slash = code_lang_is(c, LANG_NODE | LANG_PHP | LANG_JAVA);
	size_t i = 0;

	while (i < c->s.n && !c->overflow) {
		char ch = c->s.p[i], d = i + 1 < c->s.n ? c->s.p[i + 1] : 0;

		if (ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r') {
			i++;
		} else if (ch == '#' && hash && !(i && c->s.p[i - 1] == '$')) {
			i = skip_line(c, i);
		} else if (ch == '-' && d == '-' && code_lang_is(c, LANG_LUA)) {
			i = skip_line(c, i);
		} else if (ch == '/' && d == '/' && slash) {
			i = skip_line(c, i);
		} else if (ch == '/' && d == '*' && slash) {
			const char *end = memmem(c->s.p + i + 2, c->s.n - i - 2, "*/", 2);

			i = end ? (size_t)(end - c->s.p) + 2 : c->s.n;
		} else if (lex_quotelike(c, &i)) {
			continue;
		} else if (ch == '"' || ch == '\'' ||
			   (ch == '`' && code_lang_is(c, LANG_NODE | LANG_PERL | LANG_RUBY | LANG_PHP | LANG_JULIA))) {
			i = lex_string(c, i);
		} else if (code_name1(ch)) {
			/* prefixes of python strings */
			if (code_lang_is(c, LANG_PYTHON) && strchr("rbfuRBFU", ch) && (d == '"' || d == '\'')) {
				size_t before = c->n;

				i = lex_string(c, i + 1);
				if ((ch == 'f' || ch == 'F') && before < c->n &&
				    memchr(c->t[before].s.p, '{', c->t[before].s.n))
					c->t[before].joined = true;
				continue;
			}
			i = lex_name(c, i);
		} else if (code_digit(ch)) {
			size_t from = i;

			while (i < c->s.n && (code_name1(c->s.p[i]) || code_digit(c->s.p[i]) || c->s.p[i] == '.'))
				i++;
			add_tok(c, TOK_NUM, (struct rein_str){c->s.p + from, i - from});
		} else {
			struct tok *t;

			if (ch == '.' && code_name1(d)) { /* a method on an expression */
				size_t before = c->n;

				i = lex_name(c, i + 1);
				if (before < c->n) {
					struct sbuf dot = {.a = c->cx->a};

					sbuf_char(&dot, '.');
					sbuf_str(&dot, c->t[before].s);
					c->t[before].s = sbuf_view(&dot);
				}
				continue;
			}
			t = add_tok(c, TOK_PUNCT, (struct rein_str){c->s.p + i, 1});
			t->c = ch;
			i++;
		}
	}
}
