/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bash's grammar by recursive descent over the bytes themselves: there is no separate tokenizer that
 * could disagree with it. Line continuations vanish in next()/peek(), which is where bash drops them
 * too. After an error everything read so far is kept, because bash runs complete commands before it
 * finds out about a later one. Depth and look-ahead are bounded, so time is linear in the text.
 */
#include "classify/syntax.h"

#define MAX_DEPTH 96
#define MAX_ITEMS 16000

struct parser {
	struct arena *a;
	const char *s;
	size_t n, i;
	uint32_t base;
	const struct range *fixed;
	unsigned depth;
	const char *error;
	size_t error_at;
	bool odd, extglob;
	size_t scans; /* look-ahead budget left */
	unsigned *items; /* nodes, words and parts left to make */
	struct redir *heredocs, **heredocs_end;
};

enum mode {
	M_WORD,
	M_REGEX,
	M_DQ,
	M_HEREDOC,
	M_PARAM,
	M_PARAM_DQ,
	M_PATTERN,
	M_PATTERN_DQ,
	M_ARITH,
	M_ARITH_OLD,
	M_INDEX,
};

static struct node *parse_list(struct parser *p, bool in_paren);
static struct word *parse_word(struct parser *p, enum mode mode);
static struct part *parse_parts(struct parser *p, enum mode mode);

static void fail(struct parser *p, const char *why)
{
	if (!p->error) {
		p->error = why;
		p->error_at = p->i;
	}
	p->i = p->n;
}

static int peek(struct parser *p)
{
	while (p->i + 1 < p->n && p->s[p->i] == '\\' && p->s[p->i + 1] == '\n')
		p->i += 2;
	return p->i < p->n ? (unsigned char)p->s[p->i] : -1;
}

static int peek_from(struct parser *p, size_t *j)
{
	while (*j + 1 < p->n && p->s[*j] == '\\' && p->s[*j + 1] == '\n')
		*j += 2;
	return *j < p->n ? (unsigned char)p->s[*j] : -1;
}

/* The byte after the next one. */
static int peek2(struct parser *p)
{
	size_t j;

	if (peek(p) < 0)
		return -1;
	j = p->i + 1;
	return peek_from(p, &j);
}

static int peek3(struct parser *p)
{
	size_t j;

	if (peek2(p) < 0)
		return -1;
	j = p->i + 1;
	peek_from(p, &j);
	j++;
	return peek_from(p, &j);
}

static int next(struct parser *p)
{
	int c = peek(p);

	if (c >= 0)
		p->i++;
	return c;
}

static bool eat(struct parser *p, int c)
{
	if (peek(p) != c)
		return false;
	p->i++;
	return true;
}

static struct range range(const struct parser *p, size_t start)
{
	if (p->fixed)
		return *p->fixed;
	return (struct range){(uint32_t)(p->base + start), (uint32_t)(p->base + p->i)};
}

/* Every node, word and part is paid for here: no text can make more than so many. */
static void item(struct parser *p)
{
	if (*p->items)
		--*p->items;
	else
		fail(p, "too long to analyse");
}

static bool enter(struct parser *p)
{
	if (++p->depth <= MAX_DEPTH)
		return true;
	fail(p, "nested too deeply");
	return false;
}

static bool is_name1(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(int c)
{
	return is_name1(c) || is_digit(c);
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

static bool is_meta(int c)
{
	return c < 0 || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
	       c == '<' || c == '>' || c == '(' || c == ')';
}

static void sub_init(struct parser *sub, const struct parser *p, struct rein_str text,
		     uint32_t base, const struct range *fixed)
{
	*sub = (struct parser){
		.a = p->a,
		.s = text.p,
		.n = text.n,
		.base = base,
		.fixed = fixed,
		.depth = p->depth,
		.extglob = p->extglob,
		.scans = p->scans,
		.items = p->items,
	};
	sub->heredocs_end = &sub->heredocs;
}

/* ------------------------------------------------------------ here-documents */

static bool line_is(struct rein_str line, struct rein_str delim)
{
	return rein_str_eq(line, delim);
}

static struct word *heredoc_word(struct parser *p, const struct redir *r, struct rein_str body,
				 size_t start)
{
	struct word *w = arena_new(p->a, struct word);
	struct parser sub;
	bool own = body.p < p->s || body.p >= p->s + p->n; /* stripped copy */

	w->at = range(p, start);
	if (r->raw) {
		w->first = arena_new(p->a, struct part);
		w->first->kind = PART_QUOTED;
		w->first->at = w->at;
		w->first->text = body;
		return w;
	}
	sub_init(&sub, p, body, own ? 0 : (uint32_t)(p->base + (size_t)(body.p - p->s)),
		 own ? &w->at : p->fixed);
	if (p->fixed)
		sub.fixed = p->fixed;
	w->first = parse_parts(&sub, M_HEREDOC);
	/* the body is expanded when it is used: an error in it is none of the syntax */
	p->odd |= sub.odd || sub.error;
	p->scans = sub.scans;
	return w;
}

static bool ends_escaped(struct rein_str line)
{
	size_t n = 0;

	while (n < line.n && line.p[line.n - 1 - n] == '\\')
		n++;
	return n & 1;
}

static void read_heredoc(struct parser *p, struct redir *r)
{
	struct sbuf stripped = {.a = p->a};
	size_t start = p->i, end = p->n;
	bool joined = false;

	while (p->i < p->n) {
		size_t at = p->i, from = at;
		const char *nl = memchr(p->s + at, '\n', p->n - at);
		size_t stop = nl ? (size_t)(nl - p->s) : p->n;
		struct rein_str line;

		while (r->strip && !joined && from < stop && p->s[from] == '\t')
			from++;
		line = (struct rein_str){p->s + from, stop - from};
		p->i = nl ? stop + 1 : p->n;
		if (!joined && line_is(line, r->delim)) {
			end = at;
			break;
		}
		if (r->strip)
			sbuf_add(&stripped, p->s + from, p->i - from);
		joined = !r->raw && ends_escaped(line);
	}
	r->target = heredoc_word(p, r,
				 r->strip ? sbuf_view(&stripped)
					  : (struct rein_str){p->s + start, end - start},
				 start);
}

static void newline(struct parser *p)
{
	p->i++;
	while (p->heredocs && !p->error) {
		struct redir *r = p->heredocs;

		p->heredocs = r->pending;
		if (!p->heredocs)
			p->heredocs_end = &p->heredocs;
		read_heredoc(p, r);
	}
}

/* ------------------------------------------------------------ white space */

static void skip_blanks(struct parser *p)
{
	while (is_blank(peek(p)))
		p->i++;
	if (peek(p) == '#') {
		const char *nl = memchr(p->s + p->i, '\n', p->n - p->i);

		p->i = nl ? (size_t)(nl - p->s) : p->n;
	}
}

static void skip_newlines(struct parser *p)
{
	for (skip_blanks(p); peek(p) == '\n'; skip_blanks(p))
		newline(p);
}

/* ------------------------------------------------------------ word parts */

struct parts {
	struct parser *p;
	struct part *first, **end;
	struct sbuf lit;
	size_t lit_at;
	bool lit_quoted;
};

static struct part *add_part(struct parts *b, enum part_kind kind, size_t start)
{
	struct part *part = arena_new(b->p->a, struct part);

	item(b->p);
	part->kind = kind;
	part->at = range(b->p, start);
	*b->end = part;
	b->end = &part->next;
	return part;
}

static void flush(struct parts *b)
{
	if (b->lit.n) {
		struct part *part =
			add_part(b, b->lit_quoted ? PART_QUOTED : PART_LIT, b->lit_at);

		part->text = sbuf_view(&b->lit);
	}
	b->lit = (struct sbuf){.a = b->p->a};
}

static void lit(struct parts *b, const char *s, size_t n, bool quoted)
{
	if (b->lit.n && b->lit_quoted != quoted)
		flush(b);
	if (!b->lit.n)
		b->lit_at = b->p->i;
	b->lit_quoted = quoted;
	if (n > 8 && !memchr(s, 1, n) && !memchr(s, 2, n) && !memchr(s, 3, n) && !memchr(s, 4, n) &&
	    !memchr(s, 0, n)) {
		sbuf_add(&b->lit, s, n);
		return;
	}
	for (size_t k = 0; k < n; k++) {
		/*
		 * Bytes below 5 carry meaning in values: in the original text they cannot stand
		 * for themselves, in computed text they are holes and globs.
		 */
		if (!s[k] || ((unsigned char)s[k] < 5 && !b->p->fixed)) {
			b->p->odd = true;
			continue;
		}
		sbuf_char(&b->lit, s[k]);
	}
}

static void lit1(struct parts *b, int c, bool quoted)
{
	char ch = (char)c;

	lit(b, &ch, 1, quoted);
}

/* An empty pair of quotes still makes a word. */
static void empty_quoted(struct parts *b, size_t start)
{
	flush(b);
	add_part(b, PART_QUOTED, start)->text = (struct rein_str){"", 0};
}

static void single_quote(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i++;
	const char *q = memchr(p->s + p->i, '\'', p->n - p->i);
	size_t n;

	if (!q) {
		fail(p, "unclosed single quote");
		return;
	}
	n = (size_t)(q - (p->s + p->i));
	if (n)
		lit(b, p->s + p->i, n, true);
	p->i += n + 1;
	if (!n)
		empty_quoted(b, start);
}

static int hex(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void put_utf8(struct sbuf *out, uint32_t u)
{
	if (u < 0x80) {
		sbuf_char(out, (char)u);
	} else if (u < 0x800) {
		sbuf_char(out, (char)(0xc0 | u >> 6));
		sbuf_char(out, (char)(0x80 | (u & 63)));
	} else if (u < 0x10000) {
		sbuf_char(out, (char)(0xe0 | u >> 12));
		sbuf_char(out, (char)(0x80 | ((u >> 6) & 63)));
		sbuf_char(out, (char)(0x80 | (u & 63)));
	} else {
		sbuf_char(out, (char)(0xf0 | (u >> 18 & 7)));
		sbuf_char(out, (char)(0x80 | ((u >> 12) & 63)));
		sbuf_char(out, (char)(0x80 | ((u >> 6) & 63)));
		sbuf_char(out, (char)(0x80 | (u & 63)));
	}
}

/* The escape at s ("\x" …): appends its bytes, returns how many were read. */
size_t shell_ansi_escape(const char *s, size_t n, struct sbuf *out, bool *stop)
{
	static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	const char *at;
	size_t i = 2, max;
	uint32_t v = 0;
	int c;

	if (n < 2) {
		sbuf_char(out, '\\');
		return 1;
	}
	c = s[1];
	at = c ? strchr(from, c) : NULL;
	if (at) {
		sbuf_char(out, to[at - from]);
		return 2;
	}
	if (c >= '0' && c <= '7') {
		for (i = 1; i < n && i < 4 && s[i] >= '0' && s[i] <= '7'; i++)
			v = v * 8 + (uint32_t)(s[i] - '0');
		v &= 255;
	} else if (c == 'x' || c == 'u' || c == 'U') {
		max = c == 'x' ? 2 : c == 'u' ? 4 : 8;
		for (; i < n && i < 2 + max && hex((unsigned char)s[i]) >= 0; i++)
			v = v * 16 + (uint32_t)hex((unsigned char)s[i]);
		if (i == 2) {
			sbuf_add(out, s, 2);
			return 2;
		}
		if (c != 'x' && v) {
			put_utf8(out, v);
			return i;
		}
	} else if (c == 'c' && n > 2) {
		v = (uint32_t)(s[2] & 31);
		i = 3;
	} else {
		sbuf_add(out, s, 2);
		return 2;
	}
	if (!v)
		*stop = true;
	else
		sbuf_char(out, (char)v);
	return i;
}

static void ansi_quote(struct parts *b)
{
	struct parser *p = b->p;
	struct sbuf out = {.a = p->a};
	size_t start = p->i;
	bool stop = false;

	for (p->i++; p->i < p->n && p->s[p->i] != '\'';) {
		if (p->s[p->i] == '\\' && !stop)
			p->i += shell_ansi_escape(p->s + p->i, p->n - p->i, &out, &stop);
		else if (p->s[p->i] == '\\')
			p->i += 2;
		else if (stop)
			p->i++;
		else
			sbuf_char(&out, p->s[p->i++]);
	}
	if (p->i >= p->n) {
		fail(p, "unclosed $' quote");
		return;
	}
	p->i++;
	if (out.n)
		lit(b, out.p, out.n, true);
	else
		empty_quoted(b, start);
}

static void double_quote(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i++;
	struct part *sub;

	flush(b);
	if (!enter(p))
		return;
	sub = parse_parts(p, M_DQ);
	p->depth--;
	if (!eat(p, '"')) {
		fail(p, "unclosed double quote");
		sub = sub ? sub : NULL;
	}
	add_part(b, PART_DQ, start)->sub = sub;
}

static void back_quote(struct parts *b, bool in_dq)
{
	struct parser *p = b->p, sub;
	struct sbuf text = {.a = p->a};
	size_t start = p->i++;
	bool plain = true;
	struct range *at;
	struct part *part;

	flush(b);
	while (p->i < p->n && p->s[p->i] != '`') {
		char c = p->s[p->i];

		if (c == '\\' && p->i + 1 < p->n) {
			char d = p->s[p->i + 1];

			plain = false;
			if (d == '`' || d == '\\' || d == '$' || (in_dq && d == '"'))
				p->i++;
			else
				sbuf_char(&text, p->s[p->i++]);
			c = p->s[p->i];
		}
		sbuf_char(&text, c);
		p->i++;
	}
	if (p->i >= p->n) {
		fail(p, "unclosed back quote");
		return;
	}
	p->i++;
	part = add_part(b, PART_CMD, start);
	if (!enter(p))
		return;
	at = arena_new(p->a, struct range);
	*at = part->at;
	sub_init(&sub, p, sbuf_view(&text), (uint32_t)(p->base + start + 1),
		 plain && !p->fixed ? NULL : at);
	part->cmd = parse_list(&sub, false);
	if (!sub.error && sub.i < sub.n)
		fail(&sub, "unexpected token in back quotes");
	p->depth--;
	/* what stands in back quotes is parsed when it runs: an error there is no syntax error here */
	if (sub.error)
		p->odd = true;
	p->scans = sub.scans;
}

static struct word *word_of(struct parser *p, struct part *first, size_t start)
{
	struct word *w = arena_new(p->a, struct word);

	item(p);
	w->first = first;
	w->at = range(p, start);
	return w;
}

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
static bool is_arith(struct parser *p, size_t inside, size_t *ret_close)
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
	if (had_error || !p->error || close == (size_t)-1)
		return;
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
	cmd = parse_list(p, true);
	p->depth--;
	if (!eat(p, ')'))
		fail(p, "unclosed $(");
	part = add_part(b, PART_CMD, start);
	part->cmd = cmd;
}

static void arith_subst(struct parts *b, size_t start, enum mode mode)
{
	struct parser *p = b->p;
	struct part *sub;

	if (!enter(p))
		return;
	sub = parse_parts(p, mode);
	p->depth--;
	if (mode == M_ARITH_OLD) {
		if (!eat(p, ']'))
			fail(p, "unclosed $[");
	} else if (!eat(p, ')') || !eat(p, ')')) {
		fail(p, "unclosed $((");
	}
	add_part(b, PART_ARITH, start)->sub = sub;
}

static struct rein_str read_name(struct parser *p)
{
	struct sbuf name = {.a = p->a};

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
		m->arg = word_of(p, parse_parts(p, M_PARAM), p->i);
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
		m->arg = word_of(p, parse_parts(p, word), start);
		return;
	case ':':
		m->op = OP_SUBSTR;
		m->arg = word_of(p, parse_parts(p, word), start);
		return;
	case '#':
	case '%':
		m->op = c == '#' ? OP_PREFIX : OP_SUFFIX;
		m->twice = eat(p, c);
		m->arg = word_of(p, parse_parts(p, M_PARAM), start);
		return;
	case '/':
		m->op = OP_REPLACE;
		if (peek(p) == '/' || peek(p) == '#' || peek(p) == '%')
			m->how = (char)next(p);
		m->twice = m->how == '/' && p->s[p->i - 1] == '/' && p->i - start == 1;
		m->arg = word_of(p, parse_parts(p, pat), start);
		if (eat(p, '/'))
			m->arg2 = word_of(p, parse_parts(p, M_PARAM), p->i);
		return;
	case '^':
	case ',':
	case '~':
		m->op = OP_CASE;
		m->twice = eat(p, c);
		m->arg = word_of(p, parse_parts(p, M_PARAM), start);
		return;
	case '@':
		m->op = OP_TRANSFORM;
		m->how = (char)(peek(p) >= 0 && peek(p) != '}' ? next(p) : 0);
		if (peek(p) != '}')
			p->odd = true;
		return;
	default:
		p->odd = true; /* a bad substitution fails when it runs */
		m->arg = word_of(p, parse_parts(p, word), start);
		if (c == '{' && str_eq1(m->name, '$')) { /* ${${x}}: the inner one is paired as well */
			if (!eat(p, '}'))
				fail(p, "unclosed ${");
			(void)parse_parts(p, word);
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
		m->name = read_name(p);
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
		m->index = word_of(p, parse_parts(p, M_INDEX), at);
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
		(void)parse_parts(p, in_dq ? M_PARAM_DQ : M_PARAM), p->odd = true;
	p->depth--;
	if (!eat(p, '}'))
		fail(p, "unclosed ${");
	add_part(b, PART_PARAM, start)->param = m;
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
		ansi_quote(b);
		return true;
	}
	if (c == '"' && !in_dq) {
		p->i++;
		peek(p);
		double_quote(b);
		return true;
	}
	if (c != '{' && c != '(' && c != '[' && !is_name(c) && !is_special(c))
		return false;
	flush(b);
	p->i++;
	peek(p);
	if (c == '{') {
		p->i++;
		param_brace(b, start, in_dq);
		return true;
	}
	if (c == '(' && peek2(p) == '(' && is_arith(p, p->i + 2, &close)) {
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
		m->name = read_name(p);
	} else {
		m->name = (struct rein_str){arena_dup(p->a, p->s + p->i, 1), 1};
		p->i++;
	}
	add_part(b, PART_PARAM, start)->param = m;
	return true;
}

static void process_subst(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i;
	char dir = (char)next(p);
	struct part *part;
	struct node *cmd;

	flush(b);
	next(p); /* ( */
	if (!enter(p))
		return;
	cmd = parse_list(p, true);
	p->depth--;
	if (!eat(p, ')'))
		fail(p, "unclosed process substitution");
	part = add_part(b, PART_PROC, start);
	part->cmd = cmd;
	part->dir = dir;
}

static void extglob(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i, close;
	struct part *part;

	flush(b);
	next(p);
	peek(p);
	close = match_paren(p, p->i + 1);
	if (close == (size_t)-1) {
		fail(p, "unclosed pattern list");
		return;
	}
	p->i = close + 1;
	part = add_part(b, PART_EXTGLOB, start);
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
		lit1(b, '\\', true);
		return;
	}
	if (dq && !dq_escapes((unsigned char)p->s[p->i], mode))
		lit1(b, '\\', true);
	else
		lit1(b, (unsigned char)p->s[p->i++], true);
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

/* How many bytes from here mean nothing but themselves. */
static size_t plain_run(const struct parser *p, enum mode mode)
{
	bool quoted = mode == M_DQ || mode == M_HEREDOC;
	size_t i = p->i;

	for (; i < p->n; i++) {
		unsigned char c = (unsigned char)p->s[i];

		if (quoted ? (c == '\\' || c == '"' || c == '`' || c == '$' || c < 5)
			   : !(is_name(c) || c == '-' || c == '.' || c == ',' || c == ':' ||
			       (c == '/' && mode == M_WORD)))
			break;
	}
	return i - p->i;
}

static bool starts_extglob(struct parser *p, enum mode mode, int c)
{
	if (mode != M_WORD || c < 0 || !strchr("?*+@!", c) || peek2(p) != '(')
		return false;
	return p->extglob;
}

static struct part *parse_parts(struct parser *p, enum mode mode)
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
			lit1(&b, c, true);
		} else if (c == '\'' && !sq_literal(mode)) {
			single_quote(&b);
		} else if (c == '"' && !quotes_literal(mode)) {
			double_quote(&b);
		} else if (c == '`') {
			back_quote(&b, mode == M_DQ || mode == M_PARAM_DQ);
		} else if (c == '$' &&
			   dollar(&b, mode == M_DQ || mode == M_HEREDOC || mode == M_PARAM_DQ)) {
			continue;
		} else if (mode <= M_REGEX && (c == '<' || c == '>') && peek2(p) == '(') {
			process_subst(&b);
		} else if (starts_extglob(p, mode, c)) {
			extglob(&b);
		} else {
			size_t run = plain_run(p, mode);
			bool quoted = mode == M_DQ || mode == M_HEREDOC || mode == M_PARAM_DQ;

			if (run > 1) {
				lit(&b, p->s + p->i, run, quoted);
				p->i += run;
			} else {
				p->i++;
				lit1(&b, c, quoted);
			}
		}
	}
	if (hush)
		fail(p, "unclosed quote");
	flush(&b);
	return b.first;
}

static struct word *parse_word(struct parser *p, enum mode mode)
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
	first = parse_parts(p, mode);
	return word_of(p, first, start);
}

/* ------------------------------------------------------------ redirections */

static const struct {
	char text[4];
	enum redir_op op;
} redir_ops[] = {
	{"&>>", REDIR_BOTH_APPEND}, {"<<<", REDIR_HERESTR}, {"<<-", REDIR_HEREDOC},
	{"&>", REDIR_BOTH},	    {">>", REDIR_APPEND},   {">|", REDIR_CLOBBER},
	{"<>", REDIR_RDWR},	    {"<&", REDIR_DUP_IN},   {">&", REDIR_DUP_OUT},
	{"<<", REDIR_HEREDOC},	    {"<", REDIR_IN},	    {">", REDIR_OUT},
};

/* The redirection operator at j, or -1. */
static int redir_at(struct parser *p, size_t j, size_t *end)
{
	for (size_t k = 0; k < sizeof(redir_ops) / sizeof(redir_ops[0]); k++) {
		size_t at = j;
		const char *t = redir_ops[k].text;

		for (; *t && peek_from(p, &at) == *t; t++)
			at++;
		if (*t)
			continue;
		*end = at;
		if (at == j + 1 && peek_from(p, &at) == '(')
			return -1; /* process substitution */
		return (int)k;
	}
	return -1;
}

/* Does a redirection start here? fd and {name} prefixes count. */
static bool redir_starts(struct parser *p, size_t *op_at, size_t *op_end, int *ret)
{
	size_t j = p->i;
	int c = peek(p), k;

	j = p->i;
	if (is_digit(c)) {
		while (is_digit(peek_from(p, &j)))
			j++;
		c = peek_from(p, &j);
		if (c != '<' && c != '>')
			return false;
	} else if (c == '{') {
		j++;
		if (!is_name1(peek_from(p, &j)))
			return false;
		while (is_name(peek_from(p, &j)))
			j++;
		if (peek_from(p, &j) != '}')
			return false;
		j++;
		c = peek_from(p, &j);
		if (c != '<' && c != '>')
			return false;
	} else if (c != '<' && c != '>' && c != '&') {
		return false;
	}
	peek_from(p, &j);
	k = redir_at(p, j, op_end);
	if (k < 0 || (redir_ops[k].text[0] == '&' && j != p->i))
		return false;
	*op_at = j;
	*ret = k;
	return true;
}

static bool closes_in_line(const struct parser *p, char c)
{
	const char *nl = memchr(p->s + p->i, '\n', p->n - p->i);

	return memchr(p->s + p->i, c, nl ? (size_t)(nl - (p->s + p->i)) : p->n - p->i) != NULL;
}

/* The delimiter of a here-document: quote removal only, no expansion. */
static void heredoc_delim(struct parser *p, struct redir *r)
{
	struct sbuf text = {.a = p->a};
	int c, q;

	while (!is_meta(c = peek(p))) {
		p->i++;
		if (c == '\\') {
			r->raw = true;
			if (p->i < p->n)
				sbuf_char(&text, p->s[p->i++]);
		} else if (c == '\'' || c == '"') {
			r->raw = true;
			q = c;
			while (p->i < p->n && p->s[p->i] != q)
				sbuf_char(&text, p->s[p->i++]);
			if (p->i >= p->n) {
				fail(p, "unclosed quote");
				return;
			}
			p->i++;
		} else if (c == '`') {
			const char *close = memchr(p->s + p->i, '`', p->n - p->i);

			if (!close) {
				fail(p, "unclosed back quote");
				return;
			}
			sbuf_add(&text, p->s + p->i - 1, (size_t)(close - (p->s + p->i)) + 2);
			p->i = (size_t)(close - p->s) + 1;
		} else if (c == '$' && (peek(p) == '{' || peek(p) == '(')) {
			p->odd = true; /* bash reads on to the closing bracket */
			if (!closes_in_line(p, peek(p) == '{' ? '}' : ')')) {
				fail(p, "unclosed bracket in a delimiter");
				return;
			}
			sbuf_char(&text, (char)c);
		} else if (c == '$' && (peek(p) == '\'' || peek(p) == '"')) {
			continue;
		} else {
			sbuf_char(&text, (char)c);
		}
	}
	if (!text.n && !r->raw)
		fail(p, "here-document without a delimiter");
	r->delim = sbuf_view(&text);
}

static bool parse_redir(struct parser *p, struct redir ***end)
{
	size_t start, op_at, op_end;
	struct redir *r;
	int k;

	peek(p);
	start = p->i;
	if (!redir_starts(p, &op_at, &op_end, &k))
		return false;
	r = arena_new(p->a, struct redir);
	r->op = redir_ops[k].op;
	r->fd = -1;
	if (is_digit(p->s[start])) {
		r->fd = 0;
		for (size_t j = start; j < op_at && is_digit(p->s[j]) && r->fd < 100000; j++)
			r->fd = r->fd * 10 + (p->s[j] - '0');
	} else if (p->s[start] == '{') {
		p->i++;
		r->fdvar = read_name(p);
	}
	r->strip = r->op == REDIR_HEREDOC && redir_ops[k].text[2] == '-';
	p->i = op_end;
	while (is_blank(peek(p)))
		p->i++;
	if (peek(p) == '#' ||
	    (is_meta(peek(p)) && !((peek(p) == '<' || peek(p) == '>') && peek2(p) == '('))) {
		fail(p, "redirection without a target");
		return true;
	}
	if (is_digit(peek(p)) && redir_starts(p, &op_at, &op_end, &k)) { /* "< 2>x": a number is no name there */
		fail(p, "redirection without a target");
		return true;
	}
	if (r->op == REDIR_HEREDOC) {
		heredoc_delim(p, r);
		*p->heredocs_end = r;
		p->heredocs_end = &r->pending;
	} else {
		r->target = parse_word(p, M_WORD);
	}
	r->at = range(p, start);
	**end = r;
	*end = &r->next;
	return true;
}

/* ------------------------------------------------------------ simple commands */

/* Is "name=", "name+=" or "name[…]=" here? Gives the offset of what follows the '='. */
static bool assign_starts(struct parser *p, bool *append, bool *indexed)
{
	size_t j = p->i, stop;
	int depth = 0, c;

	*append = *indexed = false;
	if (!is_name1(peek(p)))
		return false;
	j = p->i;
	while (is_name(peek_from(p, &j)))
		j++;
	c = peek_from(p, &j);
	if (c == '[') {
		*indexed = true;
		stop = j + 4096 < p->n ? j + 4096 : p->n;
		for (; j < stop; j++) {
			if (p->s[j] == '\n')
				return false;
			if (p->s[j] == '[')
				depth++;
			else if (p->s[j] == ']' && --depth == 0)
				break;
		}
		if (j >= stop)
			return false;
		j++;
		c = peek_from(p, &j);
	}
	if (c == '+') {
		*append = true;
		j++;
		c = peek_from(p, &j);
	}
	return c == '=';
}

static void array_items(struct parser *p, struct assign *as)
{
	struct assign **end = &as->items;

	for (;;) {
		struct assign *it;
		size_t start;

		skip_newlines(p);
		if (p->error || peek(p) < 0 || peek(p) == ')')
			break;
		start = p->i;
		it = arena_new(p->a, struct assign);
		if (peek(p) == '[') {
			size_t j = p->i + 1, stop = p->i + 4096 < p->n ? p->i + 4096 : p->n;

			while (j < stop && p->s[j] != ']' && p->s[j] != '\n')
				j++;
			if (j + 1 < stop && p->s[j] == ']' && p->s[j + 1] == '=') {
				p->i++;
				it->index = word_of(p, parse_parts(p, M_INDEX), start);
				eat(p, ']');
				eat(p, '=');
			}
		}
		if (is_meta(peek(p)) && !it->index &&
		    !((peek(p) == '<' || peek(p) == '>') && peek2(p) == '(')) {
			fail(p, "unexpected token in array");
			return;
		}
		it->value = parse_word(p, M_WORD);
		it->at = range(p, start);
		*end = it;
		end = &it->next;
	}
	if (!eat(p, ')'))
		fail(p, "unclosed array");
}

static bool parse_assign(struct parser *p, struct assign ***end, bool only_array)
{
	bool append, indexed;
	struct assign *as;
	size_t start;

	peek(p);
	start = p->i;
	if (!assign_starts(p, &append, &indexed))
		return false;
	if (only_array) {
		size_t j = p->i;

		while (peek_from(p, &j) >= 0 && p->s[j] != '=')
			j++;
		j++;
		if (peek_from(p, &j) != '(')
			return false;
	}
	as = arena_new(p->a, struct assign);
	as->append = append;
	as->name = read_name(p);
	if (indexed) {
		size_t at = ++p->i;

		as->index = word_of(p, parse_parts(p, M_INDEX), at);
		if (!eat(p, ']'))
			fail(p, "unclosed index");
	}
	if (append)
		next(p);
	next(p);
	if (peek(p) == '(' && !indexed) {
		p->i++;
		as->is_array = true;
		array_items(p, as);
	} else {
		as->value = parse_word(p, M_WORD);
	}
	as->at = range(p, start);
	**end = as;
	*end = &as->next;
	return true;
}

static struct node *new_node(struct parser *p, enum node_kind kind, size_t start)
{
	struct node *n = arena_new(p->a, struct node);

	item(p);
	n->kind = kind;
	n->at = range(p, start);
	return n;
}

static bool word_is(const struct word *w, const char *text)
{
	return w && w->first && !w->first->next && w->first->kind == PART_LIT &&
	       w->first->text.n == strlen(text) && !memcmp(w->first->text.p, text, strlen(text));
}

static bool declares(const struct word *w)
{
	static const char *const names[] = {"declare", "local",	  "export",  "typeset", "readonly",
					    "alias",   "builtin", "command", "eval"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (word_is(w, names[i]))
			return true;
	return false;
}

static struct node *compound(struct parser *p);
static struct node *parse_command(struct parser *p);

static struct node *function_body(struct parser *p, struct rein_str name, size_t start)
{
	struct node *f;

	skip_newlines(p);
	f = new_node(p, NODE_FUNC, start);
	f->name = name;
	f->b = compound(p);
	if (!f->b)
		fail(p, "function without a body");
	f->at = range(p, start);
	return f;
}

static struct rein_str literal_name(const struct word *w)
{
	if (w && w->first && !w->first->next &&
	    (w->first->kind == PART_LIT || w->first->kind == PART_QUOTED))
		return w->first->text;
	return (struct rein_str){"", 0};
}

static struct node *simple(struct parser *p)
{
	size_t start;
	struct node *n;
	struct assign **as_end;
	struct redir **re_end;
	struct word **w_end;
	bool any = false;

	peek(p);
	start = p->i;
	n = new_node(p, NODE_SIMPLE, start);
	as_end = &n->assigns;
	re_end = &n->redirs;
	w_end = &n->words;
	while (!p->error) {
		int c;

		skip_blanks(p);
		c = peek(p);
		if (parse_redir(p, &re_end)) {
			any = true;
			continue;
		}
		if (is_meta(c) && !((c == '<' || c == '>') && peek2(p) == '('))
			break;
		if ((!n->words && parse_assign(p, &as_end, false)) ||
		    (declares(n->words) && parse_assign(p, &as_end, true))) {
			any = true;
			continue;
		}
		*w_end = parse_word(p, M_WORD);
		any = true;
		if (n->words == *w_end && !n->assigns && !n->redirs) {
			size_t save;

			while (is_blank(peek(p)))
				p->i++;
			save = p->i;
			if (peek(p) == '(') {
				p->i++;
				while (is_blank(peek(p)))
					p->i++;
				if (eat(p, ')'))
					return function_body(p, literal_name(n->words), start);
				p->i = save;
			}
		}
		w_end = &(*w_end)->next;
	}
	n->at = range(p, start);
	if (!p->error && peek(p) == '(')
		fail(p, "unexpected '('");
	return any ? n : NULL;
}

/* ------------------------------------------------------------ compound commands */

enum kw {
	KW_NONE,
	KW_IF,
	KW_THEN,
	KW_ELIF,
	KW_ELSE,
	KW_FI,
	KW_WHILE,
	KW_UNTIL,
	KW_FOR,
	KW_SELECT,
	KW_CASE,
	KW_ESAC,
	KW_DO,
	KW_DONE,
	KW_IN,
	KW_FUNCTION,
	KW_TIME,
	KW_COPROC,
	KW_OPEN,
	KW_CLOSE,
	KW_COND,
	KW_NOT,
};

static const char *const kw_text[] = {
	[KW_IF] = "if",		[KW_THEN] = "then",   [KW_ELIF] = "elif",
	[KW_ELSE] = "else",	[KW_FI] = "fi",	      [KW_WHILE] = "while",
	[KW_UNTIL] = "until",	[KW_FOR] = "for",     [KW_SELECT] = "select",
	[KW_CASE] = "case",	[KW_ESAC] = "esac",   [KW_DO] = "do",
	[KW_DONE] = "done",	[KW_IN] = "in",	      [KW_FUNCTION] = "function",
	[KW_TIME] = "time",	[KW_COPROC] = "coproc", [KW_OPEN] = "{",
	[KW_CLOSE] = "}",	[KW_COND] = "[[",     [KW_NOT] = "!",
};

static enum kw keyword(struct parser *p, size_t *end)
{
	char text[12];
	size_t n = 0, j;

	peek(p);
	j = p->i;
	while (n < sizeof(text) - 1 && !is_meta(peek_from(p, &j)))
		text[n++] = p->s[j++];
	if (!n || !is_meta(peek_from(p, &j)))
		return KW_NONE;
	text[n] = '\0';
	*end = j;
	for (size_t k = KW_IF; k <= KW_NOT; k++)
		if (!strcmp(text, kw_text[k]))
			return (enum kw)k;
	return KW_NONE;
}

static bool eat_kw(struct parser *p, enum kw want)
{
	size_t end;

	skip_blanks(p);
	if (keyword(p, &end) != want)
		return false;
	p->i = end;
	return true;
}

static void expect_kw(struct parser *p, enum kw want)
{
	static const char *const what[] = {
		[KW_THEN] = "expected then", [KW_FI] = "expected fi",	[KW_DO] = "expected do",
		[KW_DONE] = "expected done", [KW_ESAC] = "expected esac", [KW_CLOSE] = "expected }",
		[KW_IN] = "expected in",
	};

	if (!eat_kw(p, want))
		fail(p, what[want]);
}

/* A list that may not be empty. */
static struct node *body(struct parser *p)
{
	struct node *n = parse_list(p, false);

	if (!n)
		fail(p, "expected a command");
	return n;
}

static struct node *parse_if(struct parser *p, size_t start)
{
	struct node *n = new_node(p, NODE_IF, start);
	size_t end;

	if (!enter(p))
		return n;
	n->a = body(p);
	expect_kw(p, KW_THEN);
	n->b = body(p);
	skip_blanks(p);
	if (keyword(p, &end) == KW_ELIF) {
		p->i = end;
		n->c = parse_if(p, end);
		p->depth--;
		return n;
	}
	if (eat_kw(p, KW_ELSE))
		n->c = body(p);
	expect_kw(p, KW_FI);
	p->depth--;
	return n;
}

static struct node *do_done(struct parser *p)
{
	struct node *n;

	skip_newlines(p);
	if (eat_kw(p, KW_OPEN)) {
		n = body(p);
		expect_kw(p, KW_CLOSE);
		return n;
	}
	expect_kw(p, KW_DO);
	n = body(p);
	expect_kw(p, KW_DONE);
	return n;
}

static struct node *parse_loop(struct parser *p, size_t start, bool until)
{
	struct node *n = new_node(p, NODE_LOOP, start);

	n->until = until;
	n->a = body(p);
	expect_kw(p, KW_DO);
	n->b = body(p);
	expect_kw(p, KW_DONE);
	return n;
}

static struct node *parse_for(struct parser *p, size_t start, bool select)
{
	struct node *n = new_node(p, select ? NODE_SELECT : NODE_FOR, start);
	struct word **end = &n->words;

	skip_blanks(p);
	if (!select && peek(p) == '(' && peek2(p) == '(') {
		next(p);
		next(p);
		n->kind = NODE_CFOR;
		n->words = word_of(p, parse_parts(p, M_ARITH), start);
		if (!eat(p, ')') || !eat(p, ')'))
			fail(p, "unclosed ((");
		skip_blanks(p);
		eat(p, ';');
		n->b = do_done(p);
		return n;
	}
	n->name = literal_name(parse_word(p, M_WORD));
	if (!n->name.n)
		fail(p, "for without a name");
	skip_newlines(p);
	if (eat_kw(p, KW_IN)) {
		n->has_in = true;
		for (;;) {
			skip_blanks(p);
			if (is_meta(peek(p)) &&
			    !((peek(p) == '<' || peek(p) == '>') && peek2(p) == '('))
				break;
			*end = parse_word(p, M_WORD);
			end = &(*end)->next;
		}
		if (peek(p) != ';' && peek(p) != '\n')
			fail(p, "unexpected token after in");
	}
	skip_blanks(p);
	if (peek(p) == ';' && peek2(p) != ';')
		p->i++;
	n->b = do_done(p);
	return n;
}

static bool case_ends(struct parser *p)
{
	size_t end;

	skip_newlines(p);
	return p->error || peek(p) < 0 || keyword(p, &end) == KW_ESAC;
}

static struct case_arm *parse_arm(struct parser *p)
{
	struct case_arm *arm = arena_new(p->a, struct case_arm);
	struct word **end = &arm->patterns;

	eat(p, '(');
	for (;;) {
		skip_blanks(p);
		if (is_meta(peek(p))) {
			fail(p, "expected a pattern");
			return arm;
		}
		*end = parse_word(p, M_WORD);
		end = &(*end)->next;
		skip_blanks(p);
		if (!eat(p, '|'))
			break;
	}
	if (!eat(p, ')'))
		fail(p, "expected ) after pattern");
	arm->body = parse_list(p, false);
	skip_blanks(p);
	if (peek(p) == ';' && (peek2(p) == ';' || peek2(p) == '&')) {
		p->i++;
		if (next(p) == ';')
			eat(p, '&');
	} else if (!case_ends(p)) {
		fail(p, "expected ;;");
	}
	return arm;
}

static struct node *parse_case(struct parser *p, size_t start)
{
	struct node *n = new_node(p, NODE_CASE, start);
	struct case_arm **end = &n->arms;

	skip_blanks(p);
	if (is_meta(peek(p)))
		fail(p, "case without a word");
	n->words = parse_word(p, M_WORD);
	skip_newlines(p);
	expect_kw(p, KW_IN);
	while (!case_ends(p)) {
		*end = parse_arm(p);
		end = &(*end)->next;
	}
	expect_kw(p, KW_ESAC);
	return n;
}

/* [[ … ]]: or := and (|| and)*; only the words matter afterwards. */
struct cond {
	struct parser *p;
	struct word **end;
};

static void cond_or(struct cond *c);

static bool cond_over(struct parser *p)
{
	int c = peek(p);

	return p->error || c < 0 || c == ')' || (c == ']' && peek2(p) == ']') ||
	       (c == '&' && peek2(p) == '&') || (c == '|' && peek2(p) == '|');
}

static struct word *cond_word(struct cond *c, enum mode mode)
{
	struct word *w;

	skip_newlines(c->p);
	w = parse_word(c->p, mode);
	if (!w->first) {
		fail(c->p, "expected a word in [[ ]]");
		return w;
	}
	*c->end = w;
	c->end = &w->next;
	return w;
}

static bool cond_binary(const struct word *w)
{
	struct rein_str t = literal_name(w);
	static const char *const ops[] = {"=",	 "==",	"!=",  "=~",  "-eq", "-ne", "-lt",
					  "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (t.n == strlen(ops[i]) && !memcmp(t.p, ops[i], t.n))
			return true;
	return false;
}

static void cond_primary(struct cond *c)
{
	struct parser *p = c->p;
	struct word *w, *op;
	struct rein_str t;

	skip_newlines(p);
	if (eat(p, '(')) {
		if (!enter(p))
			return;
		cond_or(c);
		p->depth--;
		skip_newlines(p);
		if (!eat(p, ')'))
			fail(p, "unclosed ( in [[ ]]");
		return;
	}
	w = cond_word(c, M_WORD);
	t = literal_name(w);
	if (t.n == 1 && t.p[0] == '!' && w->first->kind == PART_LIT) {
		if (enter(p))
			cond_primary(c);
		p->depth--;
		return;
	}
	skip_blanks(p);
	if (peek(p) == '\n')
		skip_newlines(p);
	if (cond_over(p))
		return;
	if (peek(p) == '<' || peek(p) == '>') {
		p->i++;
		cond_word(c, M_WORD);
		return;
	}
	op = cond_word(c, M_WORD);
	if (cond_binary(op)) {
		bool regex = literal_name(op).n == 2 && literal_name(op).p[1] == '~';
		bool was = p->extglob;

		p->extglob = true; /* patterns here are always extended */
		while (is_blank(peek(p)))
			p->i++;
		cond_word(c, regex ? M_REGEX : M_WORD);
		p->extglob = was;
	} else if (t.n != 2 || t.p[0] != '-') {
		fail(p, "conditional operator expected");
	}
}

static void cond_and(struct cond *c)
{
	for (;;) {
		cond_primary(c);
		skip_newlines(c->p);
		if (c->p->error || peek(c->p) != '&' || peek2(c->p) != '&')
			return;
		next(c->p);
		next(c->p);
	}
}

static void cond_or(struct cond *c)
{
	for (;;) {
		cond_and(c);
		skip_newlines(c->p);
		if (c->p->error || peek(c->p) != '|' || peek2(c->p) != '|')
			return;
		next(c->p);
		next(c->p);
	}
}

static struct node *parse_cond(struct parser *p, size_t start)
{
	struct node *n = new_node(p, NODE_COND, start);
	struct cond c = {.p = p, .end = &n->words};

	cond_or(&c);
	skip_newlines(p);
	if (!p->error && !(peek(p) == ']' && peek2(p) == ']'))
		fail(p, "expected ]]");
	next(p);
	next(p);
	return n;
}

static struct node *paren(struct parser *p, size_t start)
{
	struct node *n;
	size_t close;

	if (peek2(p) == '(' && is_arith(p, p->i + 2, &close)) {
		next(p);
		next(p);
		n = new_node(p, NODE_ARITH, start);
		n->words = word_of(p, parse_parts(p, M_ARITH), start);
		if (!eat(p, ')') || !eat(p, ')'))
			fail(p, "unclosed ((");
		return n;
	}
	next(p);
	n = new_node(p, NODE_SUBSHELL, start);
	n->a = parse_list(p, true);
	if (!n->a)
		fail(p, "expected a command in ( )");
	if (!eat(p, ')'))
		fail(p, "unclosed (");
	return n;
}

static struct node *parse_function(struct parser *p, size_t start)
{
	struct rein_str name;

	skip_blanks(p);
	name = literal_name(parse_word(p, M_WORD));
	skip_blanks(p);
	if (peek(p) == '(' && peek2(p) == ')') {
		next(p);
		next(p);
	}
	return function_body(p, name, start);
}

static struct node *compound_of(struct parser *p, enum kw kw, size_t start)
{
	struct node *n;

	switch (kw) {
	case KW_IF:
		return parse_if(p, start);
	case KW_WHILE:
	case KW_UNTIL:
		return parse_loop(p, start, kw == KW_UNTIL);
	case KW_FOR:
	case KW_SELECT:
		return parse_for(p, start, kw == KW_SELECT);
	case KW_CASE:
		return parse_case(p, start);
	case KW_OPEN:
		n = new_node(p, NODE_GROUP, start);
		n->a = body(p);
		expect_kw(p, KW_CLOSE);
		return n;
	case KW_COND:
		return parse_cond(p, start);
	default:
		return NULL;
	}
}

/* A compound command with its redirections, or NULL when none starts here. */
static struct node *compound(struct parser *p)
{
	struct redir **end;
	struct node *n = NULL;
	size_t start, kw_end = 0;
	enum kw kw;

	skip_blanks(p);
	peek(p);
	start = p->i;
	if (!enter(p))
		return NULL;
	if (peek(p) == '(') {
		n = paren(p, start);
	} else {
		kw = keyword(p, &kw_end);
		if (kw == KW_IF || kw == KW_WHILE || kw == KW_UNTIL || kw == KW_FOR ||
		    kw == KW_SELECT || kw == KW_CASE || kw == KW_OPEN || kw == KW_COND) {
			p->i = kw_end;
			n = compound_of(p, kw, start);
		}
	}
	p->depth--;
	if (!n)
		return NULL;
	end = &n->redirs;
	do
		skip_blanks(p);
	while (!p->error && parse_redir(p, &end));
	n->at = range(p, start);
	return n;
}

static struct node *parse_coproc(struct parser *p, size_t start)
{
	struct node *n = new_node(p, NODE_COPROC, start);
	size_t save;

	n->name = STR("COPROC");
	skip_blanks(p);
	n->a = compound(p);
	if (n->a)
		return n;
	save = p->i;
	if (is_name1(peek(p))) {
		struct rein_str name = read_name(p);

		if (is_blank(peek(p))) {
			skip_blanks(p);
			n->a = compound(p);
			if (n->a) {
				n->name = name;
				return n;
			}
		}
		p->i = save;
	}
	n->a = simple(p);
	if (!n->a)
		fail(p, "coproc without a command");
	return n;
}

static struct node *parse_command(struct parser *p)
{
	struct node *n = compound(p);
	size_t start, end = 0;
	enum kw kw;

	if (n || p->error)
		return n;
	peek(p);
	start = p->i;
	kw = keyword(p, &end);
	switch (kw) {
	case KW_NONE:
	case KW_IN:
	case KW_NOT:
	case KW_TIME:
		return simple(p);
	case KW_FUNCTION:
		p->i = end;
		return parse_function(p, start);
	case KW_COPROC:
		p->i = end;
		return parse_coproc(p, start);
	default:
		return NULL; /* a word that closes something: the caller's */
	}
}

static struct node *parse_pipeline(struct parser *p);

/* ! and time before a pipeline. */
static struct node *prefixed(struct parser *p, enum kw kw, size_t start)
{
	struct node *n = new_node(p, kw == KW_NOT ? NODE_NOT : NODE_TIME, start);

	skip_blanks(p);
	if (kw == KW_TIME) {
		if (peek(p) == '-' && peek2(p) == 'p' && is_meta(peek3(p))) {
			next(p);
			next(p);
			skip_blanks(p);
		}
		if (peek(p) == '-' && peek2(p) == '-' && is_meta(peek3(p))) {
			next(p);
			next(p);
			skip_blanks(p);
		}
		if (peek(p) < 0 || peek(p) == '\n' || peek(p) == ';' || peek(p) == '&' ||
		    peek(p) == ')')
			return n;
	}
	if (!enter(p))
		return n;
	n->a = parse_pipeline(p);
	p->depth--;
	if (!n->a && kw == KW_NOT && !p->error && peek(p) >= 0 && peek(p) != '\n' &&
	    peek(p) != ';')
		fail(p, "expected a command after !");
	n->at = range(p, start);
	return n;
}

static struct node *parse_pipeline(struct parser *p)
{
	struct node *pipe, *first, **end;
	size_t start, kw_end = 0;
	enum kw kw;

	skip_blanks(p);
	peek(p);
	start = p->i;
	kw = keyword(p, &kw_end);
	if (kw == KW_NOT || kw == KW_TIME) {
		p->i = kw_end;
		return prefixed(p, kw, start);
	}
	first = parse_command(p);
	skip_blanks(p);
	if (!first || peek(p) != '|' || peek2(p) == '|')
		return first;
	pipe = new_node(p, NODE_PIPE, start);
	pipe->kids = first;
	end = &first->next;
	while (!p->error && peek(p) == '|' && peek2(p) != '|') {
		struct node *last = pipe->kids;

		p->i++;
		if (eat(p, '&')) {
			while (last->next)
				last = last->next;
			last->err_too = true;
		}
		skip_newlines(p);
		kw = keyword(p, &kw_end);
		if (kw == KW_NOT || kw == KW_TIME) {
			size_t at = p->i;

			p->i = kw_end;
			*end = prefixed(p, kw, at);
			break;
		}
		*end = parse_command(p);
		if (!*end) {
			fail(p, "expected a command after |");
			break;
		}
		end = &(*end)->next;
		skip_blanks(p);
	}
	pipe->at = range(p, start);
	return pipe;
}

static struct node *parse_and_or(struct parser *p)
{
	size_t start;
	struct node *n, *all = NULL, **end = NULL;

	skip_blanks(p);
	start = p->i;
	n = parse_pipeline(p);
	while (n && !p->error) {
		int c;

		skip_blanks(p);
		c = peek(p);
		if ((c != '&' && c != '|') || peek2(p) != c)
			break;
		next(p);
		next(p);
		skip_newlines(p);
		if (!all) {
			all = new_node(p, NODE_AND_OR, start);
			all->kids = n;
			end = &n->next;
		}
		*end = parse_pipeline(p);
		if (!*end)
			fail(p, "expected a command after && or ||");
		else
			end = &(*end)->next;
		all->at = range(p, start);
	}
	return all ? all : n;
}

static struct node *parse_list(struct parser *p, bool in_paren)
{
	struct node *seq = NULL, **end = NULL, *n;
	size_t start;

	(void)in_paren;
	skip_newlines(p);
	start = p->i;
	while (!p->error && peek(p) >= 0) {
		n = parse_and_or(p);
		if (!n)
			break;
		skip_blanks(p);
		if (peek(p) == '&' && peek2(p) != '&') {
			struct node *bg = new_node(p, NODE_BG, start);

			next(p);
			bg->a = n;
			n = bg;
		} else if (peek(p) == ';' && peek2(p) != ';' && peek2(p) != '&') {
			p->i++;
		} else if (peek(p) != '\n') {
			if (!seq) {
				seq = new_node(p, NODE_SEQ, start);
				end = &seq->kids;
			}
			*end = n;
			end = &n->next;
			break;
		}
		if (!seq) {
			seq = new_node(p, NODE_SEQ, start);
			end = &seq->kids;
		}
		*end = n;
		end = &n->next;
		skip_newlines(p);
	}
	if (seq)
		seq->at = range(p, start);
	return seq;
}

/* ------------------------------------------------------------ entry points */

static bool contains(struct rein_str s, const char *what)
{
	return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

void shell_parse(struct arena *a, struct rein_str text, uint32_t base, const struct range *at,
		 bool extglob_on, struct script *ret)
{
	unsigned items = MAX_ITEMS;
	struct parser p = {
		.a = a, .s = text.p, .n = text.n, .base = base, .fixed = at, .items = &items};
	struct node *root;

	p.heredocs_end = &p.heredocs;
	p.scans = text.n * 8 + 64;
	p.extglob = extglob_on || contains(text, "extglob");
	root = parse_list(&p, false);
	if (!p.error && p.i < p.n)
		fail(&p, "unexpected token");
	while (p.heredocs && !p.error) { /* announced on the last line: empty */
		p.heredocs->target = word_of(&p, NULL, p.i);
		p.heredocs = p.heredocs->pending;
	}
	*ret = (struct script){.root = root,
			       .error = p.error,
			       .error_at = (uint32_t)(base + p.error_at),
			       .odd = p.odd || (text.n && memchr(text.p, '\0', text.n))};
}

struct word *shell_parse_dq(struct arena *a, struct rein_str text, const struct range *at)
{
	unsigned items = MAX_ITEMS;
	struct parser p = {.a = a, .s = text.p, .n = text.n, .fixed = at, .items = &items};

	p.heredocs_end = &p.heredocs;
	p.scans = text.n * 8 + 64;
	return word_of(&p, parse_parts(&p, M_HEREDOC), 0);
}
