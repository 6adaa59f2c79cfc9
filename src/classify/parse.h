/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the parser. There is no separate tokenizer that could disagree with it: line
 * continuations vanish in next() and peek(), which is where bash drops them too. Depth and look-ahead are
 * bounded, so time is linear in the text.
 */
#ifndef REIN_CLASSIFY_PARSE_H
#define REIN_CLASSIFY_PARSE_H

#include "classify/syntax.h"

#define MAX_DEPTH 96

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

/* How much may still be made: of everything, and of nodes alone. */
struct budget {
	unsigned items, nodes;
};

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
	size_t kw_at, kw_end; /* 1 + where sh_keyword() looked last, and what it found there */
	enum kw kw;
	struct budget *left;
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

struct parts {
	struct parser *p;
	struct part *first, **end;
	struct sbuf lit;
	size_t lit_at;
	bool lit_quoted;
};

static inline void fail(struct parser *p, const char *why)
{
	if (!p->error) {
		p->error = why;
		p->error_at = p->i;
	}
	p->i = p->n;
}

static inline int peek(struct parser *p)
{
	while (p->i + 1 < p->n && p->s[p->i] == '\\' && p->s[p->i + 1] == '\n')
		p->i += 2;
	return p->i < p->n ? (unsigned char)p->s[p->i] : -1;
}

static inline int peek_from(struct parser *p, size_t *j)
{
	while (*j + 1 < p->n && p->s[*j] == '\\' && p->s[*j + 1] == '\n')
		*j += 2;
	return *j < p->n ? (unsigned char)p->s[*j] : -1;
}

/* The byte after the next one. */
static inline int peek2(struct parser *p)
{
	size_t j;

	if (peek(p) < 0)
		return -1;
	j = p->i + 1;
	return peek_from(p, &j);
}

static inline int peek3(struct parser *p)
{
	size_t j;

	if (peek2(p) < 0)
		return -1;
	j = p->i + 1;
	peek_from(p, &j);
	j++;
	return peek_from(p, &j);
}

static inline int next(struct parser *p)
{
	int c = peek(p);

	if (c >= 0)
		p->i++;
	return c;
}

static inline bool eat(struct parser *p, int c)
{
	if (peek(p) != c)
		return false;
	p->i++;
	return true;
}

static inline struct range range(const struct parser *p, size_t start)
{
	if (p->fixed)
		return *p->fixed;
	return (struct range){(uint32_t)(p->base + start), (uint32_t)(p->base + p->i)};
}

/* Every node, word and part is paid for here: no text can make more than so many. */
static inline void item(struct parser *p)
{
	if (p->left->items)
		p->left->items--;
	else
		fail(p, "too long to analyse");
}

static inline bool enter(struct parser *p)
{
	if (++p->depth <= MAX_DEPTH)
		return true;
	fail(p, "nested too deeply");
	return false;
}

static inline bool is_name1(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_name(int c)
{
	return is_name1(c) || is_digit(c);
}

static inline bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

static inline bool is_meta(int c)
{
	return c < 0 || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
	       c == '<' || c == '>' || c == '(' || c == ')';
}

static inline struct word *word_of(struct parser *p, struct part *first, size_t start)
{
	struct word *w = arena_new(p->a, struct word);

	item(p);
	w->first = first;
	w->at = range(p, start);
	return w;
}

/* heredoc.c */
void sh_sub_init(struct parser *sub, const struct parser *p, struct rein_str text,
		     uint32_t base, const struct range *fixed);
void sh_skip_blanks(struct parser *p);
void sh_skip_newlines(struct parser *p);
void sh_heredoc_delim(struct parser *p, struct redir *r);

/* quote.c */
struct part *sh_add_part(struct parts *b, enum part_kind kind, size_t start);
void sh_flush(struct parts *b);
void sh_lit(struct parts *b, const char *s, size_t n, bool quoted);
void sh_lit1(struct parts *b, int c, bool quoted);
void sh_single_quote(struct parts *b);
void sh_ansi_quote(struct parts *b);
void sh_double_quote(struct parts *b);
void sh_back_quote(struct parts *b, bool in_dq);

/* word.c */
bool sh_is_arith(struct parser *p, size_t inside, size_t *ret_close);
struct rein_str sh_read_name(struct parser *p);
void sh_extglob(struct parts *b);
struct part *sh_parse_parts(struct parser *p, enum mode mode);
struct word *sh_parse_word(struct parser *p, enum mode mode);

/* simple.c */
bool sh_parse_redir(struct parser *p, struct redir ***end);
struct node *sh_new_node(struct parser *p, enum node_kind kind, size_t start);
struct node *sh_function_body(struct parser *p, struct rein_str name, size_t start);
struct rein_str sh_literal_name(const struct word *w);
struct node *sh_simple(struct parser *p);

/* compound.c */
enum kw sh_keyword(struct parser *p, size_t *end);
struct node *sh_body(struct parser *p);
struct node *sh_parse_function(struct parser *p, size_t start);
struct node *sh_compound(struct parser *p);

/* parse.c */
struct node *sh_parse_list(struct parser *p, bool in_paren);

#endif
