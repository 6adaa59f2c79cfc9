/* SPDX-License-Identifier: Apache-2.0 */
/* Here-documents: the delimiter, the lines up to it, and the bodies as words. */
#include "classify/parse.h"

void sh_sub_init(struct parser *sub, const struct parser *p, struct rein_str text,
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
		.left = p->left,
	};
	sub->heredocs_end = &sub->heredocs;
}

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
	sh_sub_init(&sub, p, body, own ? 0 : (uint32_t)(p->base + (size_t)(body.p - p->s)),
		 own ? &w->at : p->fixed);
	if (p->fixed)
		sub.fixed = p->fixed;
	w->first = sh_parse_parts(&sub, M_HEREDOC);
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

void sh_skip_blanks(struct parser *p)
{
	while (is_blank(peek(p)))
		p->i++;
	if (peek(p) == '#') {
		const char *nl = memchr(p->s + p->i, '\n', p->n - p->i);

		p->i = nl ? (size_t)(nl - p->s) : p->n;
	}
}

void sh_skip_newlines(struct parser *p)
{
	for (sh_skip_blanks(p); peek(p) == '\n'; sh_skip_blanks(p))
		newline(p);
}

static bool closes_in_line(const struct parser *p, char c)
{
	const char *nl = memchr(p->s + p->i, '\n', p->n - p->i);

	return memchr(p->s + p->i, c, nl ? (size_t)(nl - (p->s + p->i)) : p->n - p->i) != NULL;
}

/* The delimiter of a here-document: quote removal only, no expansion. */
void sh_heredoc_delim(struct parser *p, struct redir *r)
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
