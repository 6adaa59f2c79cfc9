/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes of every kind, as parts of a word. */
#include "classify/parse.h"

struct part *sh_add_part(struct parts *b, enum part_kind kind, size_t start)
{
	struct part *part = arena_new(b->p->a, struct part);

	item(b->p);
	part->kind = kind;
	part->at = range(b->p, start);
	*b->end = part;
	b->end = &part->next;
	return part;
}

void sh_flush(struct parts *b)
{
	if (b->lit.n) {
		struct part *part =
			sh_add_part(b, b->lit_quoted ? PART_QUOTED : PART_LIT, b->lit_at);

		part->text = sbuf_view(&b->lit);
	}
	b->lit = (struct sbuf){.a = b->p->a};
}

void sh_lit(struct parts *b, const char *s, size_t n, bool quoted)
{
	if (b->lit.n && b->lit_quoted != quoted)
		sh_flush(b);
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

void sh_lit1(struct parts *b, int c, bool quoted)
{
	char ch = (char)c;

	sh_lit(b, &ch, 1, quoted);
}

/* An empty pair of quotes still makes a word. */
static void empty_quoted(struct parts *b, size_t start)
{
	sh_flush(b);
	sh_add_part(b, PART_QUOTED, start)->text = (struct rein_str){"", 0};
}

void sh_single_quote(struct parts *b)
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
		sh_lit(b, p->s + p->i, n, true);
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

void sh_ansi_quote(struct parts *b)
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
		sh_lit(b, out.p, out.n, true);
	else
		empty_quoted(b, start);
}

void sh_double_quote(struct parts *b)
{
	struct parser *p = b->p;
	size_t start = p->i++;
	struct part *sub;

	sh_flush(b);
	if (!enter(p))
		return;
	sub = sh_parse_parts(p, M_DQ);
	p->depth--;
	if (!eat(p, '"')) {
		fail(p, "unclosed double quote");
		sub = sub ? sub : NULL;
	}
	sh_add_part(b, PART_DQ, start)->sub = sub;
}

void sh_back_quote(struct parts *b, bool in_dq)
{
	struct parser *p = b->p, sub;
	struct sbuf text = {.a = p->a};
	size_t start = p->i++;
	bool plain = true;
	struct range *at;
	struct part *part;

	sh_flush(b);
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
	part = sh_add_part(b, PART_CMD, start);
	if (!enter(p))
		return;
	at = arena_new(p->a, struct range);
	*at = part->at;
	sh_sub_init(&sub, p, sbuf_view(&text), (uint32_t)(p->base + start + 1),
		 plain && !p->fixed ? NULL : at);
	part->cmd = sh_parse_list(&sub, false);
	if (!sub.error && sub.i < sub.n)
		fail(&sub, "unexpected token in back quotes");
	p->depth--;
	/* what stands in back quotes is parsed when it runs: an error there is no syntax error here */
	if (sub.error)
		p->odd = true;
	p->scans = sub.scans;
}
