/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bash's grammar by recursive descent over the bytes themselves: lists and pipelines, and the entry. After an
 * error everything read so far is kept, because bash runs complete commands before it finds out about a later
 * one.
 */
#include "classify/parse.h"

#define MAX_ITEMS 10000 /* some 5,000 words: what 64 KiB may cost depends on it */
#define MAX_NODES 2000 /* twice the steps of an analysis, and a node is a step: more would never be looked at */

static struct node *parse_pipeline(struct parser *p);

static struct node *parse_coproc(struct parser *p, size_t start)
{
	struct node *n = sh_new_node(p, NODE_COPROC, start);
	size_t save;

	n->name = STR("COPROC");
	sh_skip_blanks(p);
	n->a = sh_compound(p);
	if (n->a)
		return n;
	save = p->i;
	if (is_name1(peek(p))) {
		struct rein_str name = sh_read_name(p);

		if (is_blank(peek(p))) {
			sh_skip_blanks(p);
			n->a = sh_compound(p);
			if (n->a) {
				n->name = name;
				return n;
			}
		}
		p->i = save;
	}
	n->a = sh_simple(p);
	if (!n->a)
		fail(p, "coproc without a command");
	return n;
}

static struct node *parse_command(struct parser *p)
{
	struct node *n = sh_compound(p);
	size_t start, end = 0;
	enum kw kw;

	if (n || p->error)
		return n;
	peek(p);
	start = p->i;
	kw = sh_keyword(p, &end);
	switch (kw) {
	case KW_NONE:
	case KW_IN:
	case KW_NOT:
	case KW_TIME:
		return sh_simple(p);
	case KW_FUNCTION:
		p->i = end;
		return sh_parse_function(p, start);
	case KW_COPROC:
		p->i = end;
		return parse_coproc(p, start);
	default:
		return NULL; /* a word that closes something: the caller's */
	}
}

/* ! and time before a pipeline. */
static struct node *prefixed(struct parser *p, enum kw kw, size_t start)
{
	struct node *n = sh_new_node(p, kw == KW_NOT ? NODE_NOT : NODE_TIME, start);

	sh_skip_blanks(p);
	if (kw == KW_TIME) {
		if (peek(p) == '-' && peek2(p) == 'p' && is_meta(peek3(p))) {
			next(p);
			next(p);
			sh_skip_blanks(p);
		}
		if (peek(p) == '-' && peek2(p) == '-' && is_meta(peek3(p))) {
			next(p);
			next(p);
			sh_skip_blanks(p);
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

	sh_skip_blanks(p);
	peek(p);
	start = p->i;
	kw = sh_keyword(p, &kw_end);
	if (kw == KW_NOT || kw == KW_TIME) {
		p->i = kw_end;
		return prefixed(p, kw, start);
	}
	first = parse_command(p);
	sh_skip_blanks(p);
	if (!first || peek(p) != '|' || peek2(p) == '|')
		return first;
	pipe = sh_new_node(p, NODE_PIPE, start);
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
		sh_skip_newlines(p);
		kw = sh_keyword(p, &kw_end);
		if (kw == KW_NOT) { /* it negates a whole pipeline, so it stands before one */
			fail(p, "! inside a pipeline");
			break;
		}
		if (kw == KW_TIME) {
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
		sh_skip_blanks(p);
	}
	pipe->at = range(p, start);
	return pipe;
}

static struct node *parse_and_or(struct parser *p)
{
	size_t start;
	struct node *n, *all = NULL, **end = NULL;

	sh_skip_blanks(p);
	start = p->i;
	n = parse_pipeline(p);
	while (n && !p->error) {
		int c;

		sh_skip_blanks(p);
		c = peek(p);
		if ((c != '&' && c != '|') || peek2(p) != c)
			break;
		next(p);
		next(p);
		sh_skip_newlines(p);
		if (!all) {
			all = sh_new_node(p, NODE_AND_OR, start);
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

/* One command of a list whose first began at start, with what ends it. *more: another may follow. */
static struct node *list_item(struct parser *p, size_t start, bool *more)
{
	struct node *n = parse_and_or(p);

	*more = n != NULL;
	if (!n)
		return NULL;
	sh_skip_blanks(p);
	if (peek(p) == '&' && peek2(p) != '&') {
		struct node *bg = sh_new_node(p, NODE_BG, start);

		next(p);
		bg->a = n;
		return bg;
	}
	if (peek(p) == ';' && peek2(p) != ';' && peek2(p) != '&')
		p->i++;
	else
		*more = peek(p) == '\n';
	return n;
}

struct node *sh_parse_list(struct parser *p, bool in_paren)
{
	struct node *seq = NULL, **end = NULL, *n;
	bool more = true;
	size_t start;

	(void)in_paren;
	sh_skip_newlines(p);
	start = p->i;
	while (more && !p->error && peek(p) >= 0) {
		n = list_item(p, start, &more);
		if (!n)
			break;
		if (!seq) {
			seq = sh_new_node(p, NODE_SEQ, start);
			end = &seq->kids;
		}
		*end = n;
		end = &n->next;
		if (more)
			sh_skip_newlines(p);
	}
	if (seq)
		seq->at = range(p, start);
	return seq;
}

static bool contains(struct rein_str s, const char *what)
{
	return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

static void parser_init(struct parser *p, struct arena *a, struct rein_str text, uint32_t base, const struct range *at,
			struct budget *left)
{
	*left = (struct budget){MAX_ITEMS, MAX_NODES};
	*p = (struct parser){.a = a, .s = text.p, .n = text.n, .base = base, .fixed = at, .left = left};
	p->heredocs_end = &p->heredocs;
	p->scans = text.n * 8 + 64;
}

/* After the last command: what it leaves open. */
static void parser_end(struct parser *p)
{
	if (!p->error && p->i < p->n)
		fail(p, "unexpected token");
	while (p->heredocs && !p->error) { /* announced on the last line: empty */
		p->heredocs->target = word_of(p, NULL, p->i);
		p->heredocs = p->heredocs->pending;
	}
}

static struct script script_of(const struct parser *p, struct node *root)
{
	return (struct script){.root = root,
			       .error = p->error,
			       .error_at = (uint32_t)(p->base + p->error_at),
			       .odd = p->odd || (p->n && memchr(p->s, '\0', p->n))};
}

void shell_parse(struct arena *a, struct rein_str text, uint32_t base, const struct range *at,
		 bool extglob_on, struct script *ret)
{
	struct budget left;
	struct node *root;
	struct parser p;

	parser_init(&p, a, text, base, at, &left);
	p.extglob = extglob_on || contains(text, "extglob");
	root = sh_parse_list(&p, false);
	parser_end(&p);
	*ret = script_of(&p, root);
}

void shell_parse_each(struct arena *a, struct rein_str text, const struct range *at, bool extglob_on,
		      bool (*each)(void *arg, struct node *n), void *arg, struct script *ret)
{
	struct node *first = NULL, **end = &first, *n;
	bool more = true, on = true;
	struct budget left;
	struct parser p;
	size_t start;

	parser_init(&p, a, text, 0, at, &left);
	p.extglob = extglob_on || contains(text, "extglob");
	sh_skip_newlines(&p);
	start = p.i;
	while (on && more && !p.error && peek(&p) >= 0) {
		n = list_item(&p, start, &more);
		if (!n)
			break;
		*end = n;
		end = &n->next;
		if (!more)
			break;
		sh_skip_newlines(&p);
		if (p.heredocs || p.error) /* their text is still to come */
			continue;
		for (n = first; n && on; n = n->next)
			on = each(arg, n);
		first = NULL;
		end = &first;
	}
	if (on)
		parser_end(&p);
	for (n = first; n && on; n = n->next)
		on = each(arg, n);
	*ret = script_of(&p, NULL);
}

struct word *shell_parse_dq(struct arena *a, struct rein_str text, const struct range *at)
{
	struct budget left;
	struct parser p;

	parser_init(&p, a, text, 0, at, &left);
	return word_of(&p, sh_parse_parts(&p, M_HEREDOC), 0);
}
