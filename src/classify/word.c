/* SPDX-License-Identifier: Apache-2.0 */
/* Words: parameters with their operators, substitutions, patterns; and what ends them. */
#include "classify/parse.h"

static void backslash(struct parts *b, enum mode mode);

/* Where does the parenthesis opened just before i close? (size_t)-1: it does not. */
static size_t match_paren(struct parser *p, size_t i)
{
	int depth = 1;

	for (; i < p->n; i++) {
		char c = p->s[i];

		if (!p->scans--) {
			p->scans = 0;
			fail(p, "too much nesting to look ahead");
			return (size_t)-1;
		}
		if (c == '\\')
			i++;
		else if (c == '\'' || c == '`') {
			const char *q = memchr(p->s + i + 1, c, p->n - i - 1);

			if (!q)
				return (size_t)-1;
			i = (size_t)(q - p->s);
		} else if (c == '"') {
			for (i++; i < p->n && p->s[i] != '"'; i++)
				if (p->s[i] == '\\')
					i++;
		} else if (c == '(') {
			depth++;
		} else if (c == ')' && --depth == 0) {
			return i;
		}
	}
	return (size_t)-1;
}

/* At "((": is it arithmetic (closed by "))" together) or a subshell in a subshell? */
bool sh_is_arith(struct parser *p, size_t inside, size_t *ret_close)
{
	size_t close = match_paren(p, inside);

	*ret_close = close;
	return close != (size_t)-1 && close + 1 < p->n && p->s[close + 1] == ')';
}

/*
 * What stands in "$((…" is looked at when it is expanded, not when it is read: an error in it stops
 * that command only. Go on behind it, and never call the whole understood.
 */
static void forgive(struct parser *p, bool had_error, size_t close)
{
	if (had_error || !p->error || close == (size_t)-1 || !p->left->items || !p->left->nodes)
		return; /* a budget that is used up is no error in it */
	p->error = NULL;
	p->odd = true;
	p->i = close;
}

static void command_subst(struct parts *b, size_t start)
{
	struct parser *p = b->p;
	struct part *part;
	struct node *cmd;

	if (!enter(p))
		return;
	cmd = sh_parse_list(p, true);
	p->depth--;
	if (!eat(p, ')'))
		fail(p, "unclosed $(");
	part = sh_add_part(b, PART_CMD, start);
	part->cmd = cmd;
}

static void arith_subst(struct parts *b, size_t start, enum mode mode)
{
	struct parser *p = b->p;
	struct part *sub;

	if (!enter(p))
		return;
	sub = sh_parse_parts(p, mode);
	p->depth--;
	if (mode == M_ARITH_OLD) {
		if (!eat(p, ']'))
			fail(p, "unclosed $[");
	} else if (!eat(p, ')') || !eat(p, ')')) {
		fail(p, "unclosed $((");
	}
	sh_add_part(b, PART_ARITH, start)->sub = sub;
}

struct rein_str sh_read_name(struct parser *p)
{
	struct sbuf name = {.a = p->a};
	size_t end;

	peek(p);
	for (end = p->i; end < p->n && is_name((unsigned char)p->s[end]); end++)
		;
	if (end == p->n || p->s[end] != '\\') { /* no line continuation in it */
		struct rein_str plain_name = {p->s + p->i, end - p->i};

		p->i = end;
		return plain_name;
	}
	while (is_name(peek(p)))
		sbuf_char(&name, (char)next(p));
	return sbuf_view(&name);
}

static bool str_eq1(struct rein_str s, char c)
{
	return s.n == 1 && s.p[0] == c;
}

static bool is_special(int c)
{
	return c > 0 && strchr("@*#?-$!", c);
}

static void param_operand(struct parser *p, struct param *m, bool in_dq)
{
	enum mode word = in_dq ? M_PARAM_DQ : M_PARAM, pat = in_dq ? M_PATTERN_DQ : M_PATTERN;
	size_t start;
	int c = peek(p);

	if (c > 0 && strchr("\"'`$\\", c)) { /* no operator: fails when it runs, but quotes still pair */
		p->odd = true;
		m->arg = word_of(p, sh_parse_parts(p, M_PARAM), p->i);
		return;
	}
	c = next(p);
	if (c == ':' && peek(p) > 0 && strchr("-=?+", peek(p))) {
		m->colon = true;
		c = next(p);
	}
	start = p->i;
	m->how = (char)c;
	switch (c) {
	case '-':
	case '=':
	case '?':
	case '+':
		m->op = c == '-' ? OP_DEFAULT : c == '=' ? OP_ASSIGN : c == '?' ? OP_ERROR : OP_ALT;
		m->arg = word_of(p, sh_parse_parts(p, word), start);
		return;
	case ':':
		m->op = OP_SUBSTR;
		m->arg = word_of(p, sh_parse_parts(p, word), start);
		return;
	case '#':
	case '%':
		m->op = c == '#' ? OP_PREFIX : OP_SUFFIX;
		m->twice = eat(p, c);
		m->arg = word_of(p, sh_parse_parts(p, M_PARAM), start);
		return;
	case '/':
		m->op = OP_REPLACE;
		if (peek(p) == '/' || peek(p) == '#' || peek(p) == '%')
			m->how = (char)next(p);
		m->twice = m->how == '/' && p->s[p->i - 1] == '/' && p->i - start == 1;
		m->arg = word_of(p, sh_parse_parts(p, pat), start);
		if (eat(p, '/'))
			m->arg2 = word_of(p, sh_parse_parts(p, M_PARAM), p->i);
		return;
	case '^':
	case ',':
	case '~':
		m->op = OP_CASE;
		m->twice = eat(p, c);
		m->arg = word_of(p, sh_parse_parts(p, M_PARAM), start);
		return;
	case '@':
		m->op = OP_TRANSFORM;
		m->how = (char)(peek(p) >= 0 && peek(p) != '}' ? next(p) : 0);
		if (peek(p) != '}')
			p->odd = true;
		return;
	default:
		p->odd = true; /* a bad substitution fails when it runs */
		m->arg = word_of(p, sh_parse_parts(p, word), start);
		if (c == '{' && str_eq1(m->name, '$')) { /* ${${x}}: the inner one is paired as well */
			if (!eat(p, '}'))
				fail(p, "unclosed ${");
			(void)sh_parse_parts(p, word);
		}
	}
}

static void param_brace(struct parts *b, size_t start, bool in_dq)
{
	struct parser *p = b->p;
	struct param *m = arena_new(p->a, struct param);
	int c = peek(p), d = peek2(p);
	size_t at;

	if (!enter(p))
		return;
	if (c == '#' && d != '}' && (is_name(d) || (is_special(d) && peek3(p) == '}'))) {
		p->i++;
		m->op = OP_LENGTH;
	} else if (c == '!' && d != '}' && (is_name(d) || (is_special(d) && d != '-'))) {
		p->i++;
		m->indirect = true;
	} else if (c == ' ' || c == '\n' || c == '\t' || c == '|') {
		p->odd = true; /* ${ command; } of newer shells */
	}
	c = peek(p);
	if (is_name1(c)) {
		m->name = sh_read_name(p);
	} else if (is_digit(c)) {
		struct sbuf num = {.a = p->a};

		while (is_digit(peek(p)))
			sbuf_char(&num, (char)next(p));
		m->name = sbuf_view(&num);
	} else if (is_special(c)) {
		m->name = (struct rein_str){arena_dup(p->a, p->s + p->i, 1), 1};
		p->i++;
	}
	if (peek(p) == '[' && m->name.n) {
		p->i++;
		at = p->i;
		m->index = word_of(p, sh_parse_parts(p, M_INDEX), at);
		if (!eat(p, ']'))
			p->odd = true;
	}
	if (m->indirect && (peek(p) == '*' || peek(p) == '@') && peek2(p) == '}') {
		m->op = OP_NAMES;
		p->i++;
	}
	if (peek(p) != '}' && m->op == OP_NONE)
		param_operand(p, m, in_dq);
	else if (peek(p) != '}')
		(void)sh_parse_parts(p, in_dq ? M_PARAM_DQ : M_PARAM), p->odd = true;
	p->depth--;
	if (!eat(p, '}'))
		fail(p, "unclosed ${");
	sh_add_part(b, PART_PARAM, start)->param = m;
}

/* At '$'. False: it stands for itself. */
static bool dollar(struct parts *b, bool in_dq)
{
	struct parser *p = b->p;
	size_t start = p->i, close = (size_t)-1;
	int c = peek2(p);
	struct param *m;

	if (c == '\'' && !in_dq) {
		p->i++;
		peek(p);
		sh_ansi_quote(b);
		return true;
	}
	if (c == '"' && !in_dq) {
		p->i++;
		peek(p);
		sh_double_quote(b);
		return true;
	}
	if (c != '{' && c != '(' && c != '[' && !is_name(c) && !is_special(c))
		return false;
	sh_flush(b);
	p->i++;
	peek(p);
	if (c == '{') {
		p->i++;
		param_brace(b, start, in_dq);
		return true;
	}
	if (c == '(' && peek2(p) == '(' && sh_is_arith(p, p->i + 2, &close)) {
		bool had_error = p->error != NULL;
		unsigned depth = p->depth;

		next(p);
		next(p);
		arith_subst(b, start, M_ARITH);
		p->depth = depth;
		forgive(p, had_error, close + 2);
		return true;
	}
	if (c == '(') {
		bool was_arith = peek2(p) == '(', had_error = p->error != NULL;
		size_t end = was_arith && close != (size_t)-1 ? match_paren(p, close + 1) : (size_t)-1;
		unsigned depth = p->depth;

		p->i++;
		command_subst(b, start);
		p->depth = depth;
		forgive(p, had_error, end == (size_t)-1 ? end : end + 1);
		return true;
	}
	if (c == '[') {
		p->i++;
		arith_subst(b, start, M_ARITH_OLD);
		return true;
	}
	m = arena_new(p->a, struct param);
	if (is_name1(c)) {
		m->name = sh_read_name(p);
	} else {
		m->name = (struct rein_str){arena_dup(p->a, p->s + p->i, 1), 1};
		p->i++;
	}
	sh_add_part(b, PART_PARAM, start)->param = m;
	return true;
}

static void process_subst(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i;
	char dir = (char)next(p);
	struct part *part;
	struct node *cmd;

	sh_flush(b);
	next(p); /* ( */
	if (!enter(p))
		return;
	cmd = sh_parse_list(p, true);
	p->depth--;
	if (!eat(p, ')'))
		fail(p, "unclosed process substitution");
	part = sh_add_part(b, PART_PROC, start);
	part->cmd = cmd;
	part->dir = dir;
}

void sh_extglob(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i, close;
	struct part *part;

	sh_flush(b);
	next(p);
	peek(p);
	close = match_paren(p, p->i + 1);
	if (close == (size_t)-1) {
		fail(p, "unclosed pattern list");
		return;
	}
	p->i = close + 1;
	part = sh_add_part(b, PART_EXTGLOB, start);
	part->text = (struct rein_str){p->s + start, p->i - start};
	if (memchr(part->text.p, '$', part->text.n) || memchr(part->text.p, '`', part->text.n))
		p->odd = true; /* expansions inside are not looked into */
}

static bool quotes_literal(enum mode m)
{
	return m == M_DQ || m == M_HEREDOC;
}

static bool sq_literal(enum mode m)
{
	return m == M_DQ || m == M_HEREDOC || m == M_PARAM_DQ;
}

/* A backslash inside double quotes and here-documents only escapes these. */
static bool dq_escapes(int c, enum mode m)
{
	return c == '$' || c == '`' || c == '\\' || (c == '"' && m != M_HEREDOC) ||
	       (c == '}' && m == M_PARAM_DQ);
}

static void backslash(struct parts *b, enum mode mode)
{
	struct parser *p = b->p;
	bool dq = mode == M_DQ || mode == M_HEREDOC || mode == M_PARAM_DQ;

	p->i++;
	if (p->i >= p->n) {
		sh_lit1(b, '\\', true);
		return;
	}
	if (dq && !dq_escapes((unsigned char)p->s[p->i], mode))
		sh_lit1(b, '\\', true);
	else
		sh_lit1(b, (unsigned char)p->s[p->i++], true);
}

/* Does c end the parts in this mode? depth counts brackets of the mode's own kind. */
static bool ends(struct parser *p, enum mode mode, int c, int *depth)
{
	switch (mode) {
	case M_WORD:
		return is_meta(c) && !((c == '<' || c == '>') && peek2(p) == '(');
	case M_REGEX:
		if (c == '(')
			++*depth;
		if (c == ')' && (*depth)-- == 0)
			return true;
		if (c == '|')
			return *depth == 0 && peek2(p) == '|';
		if (c == '&')
			return *depth == 0 && peek2(p) == '&';
		return c == '\n' || (*depth == 0 && (is_blank(c) || c == ';'));
	case M_DQ:
		return c == '"';
	case M_HEREDOC:
		return false;
	case M_PARAM:
	case M_PARAM_DQ:
		return c == '}';
	case M_PATTERN:
	case M_PATTERN_DQ:
		return c == '}' || c == '/';
	case M_ARITH:
		if (c == '(')
			++*depth;
		return c == ')' && (*depth)-- == 0;
	case M_ARITH_OLD:
	case M_INDEX:
		if (c == '[')
			++*depth;
		return c == ']' && (*depth)-- == 0;
	}
	return true;
}

/* Bytes that mean nothing but themselves: in every mode but quotes; in words; in words without extended patterns. */
enum { PLAIN = 1, PLAIN_WORD = 2, PLAIN_GLOB = 4 };
static const unsigned char plain[256] = {
	['a' ... 'z'] = PLAIN,	   ['A' ... 'Z'] = PLAIN,     ['0' ... '9'] = PLAIN,	  ['_'] = PLAIN,
	['-'] = PLAIN,		   ['.'] = PLAIN,	      [','] = PLAIN,		  [':'] = PLAIN,
	['/'] = PLAIN_WORD,	   ['='] = PLAIN_WORD,	      ['%'] = PLAIN_WORD,	  ['^'] = PLAIN_WORD,
	['~'] = PLAIN_WORD,	   ['#'] = PLAIN_WORD,	      ['{'] = PLAIN_WORD,	  ['}'] = PLAIN_WORD,
	['['] = PLAIN_WORD,	   [']'] = PLAIN_WORD,	      [128 ... 255] = PLAIN_WORD, ['*'] = PLAIN_GLOB,
	['?'] = PLAIN_GLOB,	   ['+'] = PLAIN_GLOB,	      ['@'] = PLAIN_GLOB,	  ['!'] = PLAIN_GLOB,
};

/* How many of them are here. */
static size_t plain_run(const struct parser *p, enum mode mode)
{
	unsigned any = mode != M_WORD ? PLAIN : p->extglob ? PLAIN | PLAIN_WORD : PLAIN | PLAIN_WORD | PLAIN_GLOB;
	size_t i = p->i;

	if (mode == M_DQ || mode == M_HEREDOC) {
		for (; i < p->n; i++) {
			unsigned char c = (unsigned char)p->s[i];

			if (c == '\\' || c == '"' || c == '`' || c == '$' || c < 5)
				break;
		}
		return i - p->i;
	}
	while (i < p->n && (plain[(unsigned char)p->s[i]] & any))
		i++;
	return i - p->i;
}

static bool starts_extglob(struct parser *p, enum mode mode, int c)
{
	return p->extglob && mode == M_WORD && c > 0 && strchr("?*+@!", c) && peek2(p) == '(';
}

struct part *sh_parse_parts(struct parser *p, enum mode mode)
{
	struct parts b = {.p = p, .lit = {.a = p->a}};
	int depth = 0, c;
	bool hush = false; /* "${x-'…'}": the quotes stay, but hide what would end it */

	b.end = &b.first;
	while ((c = peek(p)) >= 0 && (hush || !ends(p, mode, c, &depth))) {
		if (c == '\\') {
			backslash(&b, mode);
		} else if (mode == M_PARAM_DQ && (c == '\'' || (hush && c == '"'))) {
			hush ^= c == '\'';
			p->i++;
			sh_lit1(&b, c, true);
		} else if (c == '\'' && !sq_literal(mode)) {
			sh_single_quote(&b);
		} else if (c == '"' && !quotes_literal(mode)) {
			sh_double_quote(&b);
		} else if (c == '`') {
			sh_back_quote(&b, mode == M_DQ || mode == M_PARAM_DQ);
		} else if (c == '$' &&
			   dollar(&b, mode == M_DQ || mode == M_HEREDOC || mode == M_PARAM_DQ)) {
			continue;
		} else if (mode <= M_REGEX && (c == '<' || c == '>') && peek2(p) == '(') {
			process_subst(&b);
		} else if (starts_extglob(p, mode, c)) {
			sh_extglob(&b);
		} else {
			size_t run = plain_run(p, mode);
			bool quoted = mode == M_DQ || mode == M_HEREDOC || mode == M_PARAM_DQ;

			if (run > 1) {
				sh_lit(&b, p->s + p->i, run, quoted);
				p->i += run;
			} else {
				p->i++;
				sh_lit1(&b, c, quoted);
			}
		}
	}
	if (hush)
		fail(p, "unclosed quote");
	sh_flush(&b);
	return b.first;
}

struct word *sh_parse_word(struct parser *p, enum mode mode)
{
	size_t start = p->i;
	struct part *first;

	/* zsh's =(…) makes a file of a command's output; bash stops here with an error */
	if (mode == M_WORD && peek(p) == '=' && peek2(p) == '(') {
		struct parts b = {.p = p, .lit = {.a = p->a}};

		b.end = &b.first;
		p->odd = true;
		process_subst(&b);
		return word_of(p, b.first, start);
	}
	first = sh_parse_parts(p, mode);
	return word_of(p, first, start);
}
