/* SPDX-License-Identifier: Apache-2.0 */
/* Simple commands: assignments, words, redirections. */
#include "classify/parse.h"

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

bool sh_parse_redir(struct parser *p, struct redir ***end)
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
		r->fdvar = sh_read_name(p);
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
		sh_heredoc_delim(p, r);
		*p->heredocs_end = r;
		p->heredocs_end = &r->pending;
	} else {
		r->target = sh_parse_word(p, M_WORD);
	}
	r->at = range(p, start);
	**end = r;
	*end = &r->next;
	return true;
}

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

		sh_skip_newlines(p);
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
				it->index = word_of(p, sh_parse_parts(p, M_INDEX), start);
				eat(p, ']');
				eat(p, '=');
			}
		}
		if (is_meta(peek(p)) && !it->index &&
		    !((peek(p) == '<' || peek(p) == '>') && peek2(p) == '(')) {
			fail(p, "unexpected token in array");
			return;
		}
		it->value = sh_parse_word(p, M_WORD);
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
	as->name = sh_read_name(p);
	if (indexed) {
		size_t at = ++p->i;

		as->index = word_of(p, sh_parse_parts(p, M_INDEX), at);
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
		as->value = sh_parse_word(p, M_WORD);
	}
	as->at = range(p, start);
	**end = as;
	*end = &as->next;
	return true;
}

struct node *sh_new_node(struct parser *p, enum node_kind kind, size_t start)
{
	struct node *n = arena_new(p->a, struct node);

	item(p);
	if (p->left->nodes)
		p->left->nodes--;
	else
		fail(p, "too long to analyse");
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

struct node *sh_function_body(struct parser *p, struct rein_str name, size_t start)
{
	struct node *f;

	sh_skip_newlines(p);
	f = sh_new_node(p, NODE_FUNC, start);
	f->name = name;
	f->b = sh_compound(p);
	if (!f->b)
		fail(p, "function without a body");
	f->at = range(p, start);
	return f;
}

struct rein_str sh_literal_name(const struct word *w)
{
	if (w && w->first && !w->first->next &&
	    (w->first->kind == PART_LIT || w->first->kind == PART_QUOTED))
		return w->first->text;
	return (struct rein_str){"", 0};
}

struct node *sh_simple(struct parser *p)
{
	size_t start;
	struct node *n;
	struct assign **as_end;
	struct redir **re_end;
	struct word **w_end;
	bool any = false, declaring = false;

	peek(p);
	start = p->i;
	n = sh_new_node(p, NODE_SIMPLE, start);
	as_end = &n->assigns;
	re_end = &n->redirs;
	w_end = &n->words;
	while (!p->error) {
		int c;

		sh_skip_blanks(p);
		c = peek(p);
		if (sh_parse_redir(p, &re_end)) {
			any = true;
			continue;
		}
		if (is_meta(c) && !((c == '<' || c == '>') && peek2(p) == '('))
			break;
		if ((!n->words && parse_assign(p, &as_end, false)) ||
		    (declaring && parse_assign(p, &as_end, true))) {
			any = true;
			continue;
		}
		*w_end = sh_parse_word(p, M_WORD);
		any = true;
		if (n->words == *w_end)
			declaring = declares(n->words);
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
					return sh_function_body(p, sh_literal_name(n->words), start);
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
