/* SPDX-License-Identifier: Apache-2.0 */
/* Compound commands: if, loops, case, [[ ]], (( )), groups, functions. */
#include "classify/parse.h"

struct cond;
static void cond_or(struct cond *c);

static const char *const kw_text[] = {
	[KW_IF] = "if",		[KW_THEN] = "then",   [KW_ELIF] = "elif",
	[KW_ELSE] = "else",	[KW_FI] = "fi",	      [KW_WHILE] = "while",
	[KW_UNTIL] = "until",	[KW_FOR] = "for",     [KW_SELECT] = "select",
	[KW_CASE] = "case",	[KW_ESAC] = "esac",   [KW_DO] = "do",
	[KW_DONE] = "done",	[KW_IN] = "in",	      [KW_FUNCTION] = "function",
	[KW_TIME] = "time",	[KW_COPROC] = "coproc", [KW_OPEN] = "{",
	[KW_CLOSE] = "}",	[KW_COND] = "[[",     [KW_NOT] = "!",
};
static const char kw_first[] = "itefwuscd{}[!"; /* what one of them begins with */

static enum kw keyword_here(struct parser *p, size_t *end)
{
	char text[12];
	size_t n = 0, j = p->i;

	while (n < sizeof(text) - 1 && !is_meta(peek_from(p, &j)))
		text[n++] = p->s[j++];
	if (!n || !is_meta(peek_from(p, &j)))
		return KW_NONE;
	text[n] = '\0';
	*end = j;
	for (size_t k = KW_IF; k <= KW_NOT; k++)
		if (text[0] == kw_text[k][0] && !strcmp(text, kw_text[k]))
			return (enum kw)k;
	return KW_NONE;
}

/* The pipeline, the compound and the simple command ask in turn about the same place: it is looked at once. */
enum kw sh_keyword(struct parser *p, size_t *end)
{
	int c = peek(p);

	if (c < 0 || !memchr(kw_first, c, sizeof(kw_first) - 1))
		return KW_NONE;
	if (p->kw_at != p->i + 1) {
		p->kw = keyword_here(p, &p->kw_end);
		p->kw_at = p->i + 1;
	}
	*end = p->kw_end;
	return p->kw;
}

static bool eat_kw(struct parser *p, enum kw want)
{
	size_t end;

	sh_skip_blanks(p);
	if (sh_keyword(p, &end) != want)
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
struct node *sh_body(struct parser *p)
{
	struct node *n = sh_parse_list(p, false);

	if (!n)
		fail(p, "expected a command");
	return n;
}

static struct node *parse_if(struct parser *p, size_t start)
{
	struct node *n = sh_new_node(p, NODE_IF, start);
	size_t end;

	if (!enter(p))
		return n;
	n->a = sh_body(p);
	expect_kw(p, KW_THEN);
	n->b = sh_body(p);
	sh_skip_blanks(p);
	if (sh_keyword(p, &end) == KW_ELIF) {
		p->i = end;
		n->c = parse_if(p, end);
		p->depth--;
		return n;
	}
	if (eat_kw(p, KW_ELSE))
		n->c = sh_body(p);
	expect_kw(p, KW_FI);
	p->depth--;
	return n;
}

static struct node *do_done(struct parser *p)
{
	struct node *n;

	sh_skip_newlines(p);
	if (eat_kw(p, KW_OPEN)) {
		n = sh_body(p);
		expect_kw(p, KW_CLOSE);
		return n;
	}
	expect_kw(p, KW_DO);
	n = sh_body(p);
	expect_kw(p, KW_DONE);
	return n;
}

static struct node *parse_loop(struct parser *p, size_t start, bool until)
{
	struct node *n = sh_new_node(p, NODE_LOOP, start);

	n->until = until;
	n->a = sh_body(p);
	expect_kw(p, KW_DO);
	n->b = sh_body(p);
	expect_kw(p, KW_DONE);
	return n;
}

static struct node *parse_for(struct parser *p, size_t start, bool select)
{
	struct node *n = sh_new_node(p, select ? NODE_SELECT : NODE_FOR, start);
	struct word **end = &n->words, *name;

	sh_skip_blanks(p);
	if (!select && peek(p) == '(' && peek2(p) == '(') {
		next(p);
		next(p);
		n->kind = NODE_CFOR;
		n->words = word_of(p, sh_parse_parts(p, M_ARITH), start);
		if (!eat(p, ')') || !eat(p, ')'))
			fail(p, "unclosed ((");
		sh_skip_blanks(p);
		eat(p, ';');
		n->b = do_done(p);
		return n;
	}
	name = sh_parse_word(p, M_WORD);
	n->name = sh_literal_name(name);
	/* any word will do for bash, until it runs */
	if (!n->name.n && name && name->first)
		p->odd = true;
	else if (!n->name.n)
		fail(p, "for without a name");
	sh_skip_newlines(p);
	if (eat_kw(p, KW_IN)) {
		n->has_in = true;
		for (;;) {
			sh_skip_blanks(p);
			if (is_meta(peek(p)) &&
			    !((peek(p) == '<' || peek(p) == '>') && peek2(p) == '('))
				break;
			*end = sh_parse_word(p, M_WORD);
			end = &(*end)->next;
		}
		if (peek(p) != ';' && peek(p) != '\n')
			fail(p, "unexpected token after in");
	}
	sh_skip_blanks(p);
	if (peek(p) == ';' && peek2(p) != ';')
		p->i++;
	n->b = do_done(p);
	return n;
}

static bool case_ends(struct parser *p)
{
	size_t end;

	sh_skip_newlines(p);
	return p->error || peek(p) < 0 || sh_keyword(p, &end) == KW_ESAC;
}

static struct case_arm *parse_arm(struct parser *p)
{
	struct case_arm *arm = arena_new(p->a, struct case_arm);
	struct word **end = &arm->patterns;

	eat(p, '(');
	for (;;) {
		sh_skip_blanks(p);
		if (is_meta(peek(p))) {
			fail(p, "expected a pattern");
			return arm;
		}
		*end = sh_parse_word(p, M_WORD);
		end = &(*end)->next;
		sh_skip_blanks(p);
		if (!eat(p, '|'))
			break;
	}
	if (!eat(p, ')'))
		fail(p, "expected ) after pattern");
	arm->body = sh_parse_list(p, false);
	sh_skip_blanks(p);
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
	struct node *n = sh_new_node(p, NODE_CASE, start);
	struct case_arm **end = &n->arms;

	sh_skip_blanks(p);
	if (is_meta(peek(p)))
		fail(p, "case without a word");
	n->words = sh_parse_word(p, M_WORD);
	sh_skip_newlines(p);
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

static bool cond_over(struct parser *p)
{
	int c = peek(p);

	return p->error || c < 0 || c == ')' || (c == ']' && peek2(p) == ']') ||
	       (c == '&' && peek2(p) == '&') || (c == '|' && peek2(p) == '|');
}

static struct word *cond_word(struct cond *c, enum mode mode)
{
	struct word *w;

	sh_skip_newlines(c->p);
	w = sh_parse_word(c->p, mode);
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
	struct rein_str t = sh_literal_name(w);
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

	sh_skip_newlines(p);
	if (eat(p, '(')) {
		if (!enter(p))
			return;
		cond_or(c);
		p->depth--;
		sh_skip_newlines(p);
		if (!eat(p, ')'))
			fail(p, "unclosed ( in [[ ]]");
		return;
	}
	w = cond_word(c, M_WORD);
	t = sh_literal_name(w);
	if (t.n == 1 && t.p[0] == '!' && w->first->kind == PART_LIT) {
		if (enter(p))
			cond_primary(c);
		p->depth--;
		return;
	}
	sh_skip_blanks(p);
	if (peek(p) == '\n')
		sh_skip_newlines(p);
	if (cond_over(p))
		return;
	if (peek(p) == '<' || peek(p) == '>') {
		p->i++;
		cond_word(c, M_WORD);
		return;
	}
	op = cond_word(c, M_WORD);
	if (cond_binary(op)) {
		bool regex = sh_literal_name(op).n == 2 && sh_literal_name(op).p[1] == '~';
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
		sh_skip_newlines(c->p);
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
		sh_skip_newlines(c->p);
		if (c->p->error || peek(c->p) != '|' || peek2(c->p) != '|')
			return;
		next(c->p);
		next(c->p);
	}
}

static struct node *parse_cond(struct parser *p, size_t start)
{
	struct node *n = sh_new_node(p, NODE_COND, start);
	struct cond c = {.p = p, .end = &n->words};

	cond_or(&c);
	sh_skip_newlines(p);
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

	if (peek2(p) == '(' && sh_is_arith(p, p->i + 2, &close)) {
		next(p);
		next(p);
		n = sh_new_node(p, NODE_ARITH, start);
		n->words = word_of(p, sh_parse_parts(p, M_ARITH), start);
		if (!eat(p, ')') || !eat(p, ')'))
			fail(p, "unclosed ((");
		return n;
	}
	next(p);
	n = sh_new_node(p, NODE_SUBSHELL, start);
	n->a = sh_parse_list(p, true);
	if (!n->a)
		fail(p, "expected a command in ( )");
	if (!eat(p, ')'))
		fail(p, "unclosed (");
	return n;
}

struct node *sh_parse_function(struct parser *p, size_t start)
{
	struct rein_str name;

	sh_skip_blanks(p);
	name = sh_literal_name(sh_parse_word(p, M_WORD));
	sh_skip_blanks(p);
	if (peek(p) == '(' && peek2(p) == ')') {
		next(p);
		next(p);
	}
	return sh_function_body(p, name, start);
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
		n = sh_new_node(p, NODE_GROUP, start);
		n->a = sh_body(p);
		expect_kw(p, KW_CLOSE);
		return n;
	case KW_COND:
		return parse_cond(p, start);
	default:
		return NULL;
	}
}

/* A compound command with its redirections, or NULL when none starts here. */
struct node *sh_compound(struct parser *p)
{
	struct redir **end;
	struct node *n = NULL;
	size_t start, kw_end = 0;
	enum kw kw;

	sh_skip_blanks(p);
	peek(p);
	start = p->i;
	if (!enter(p))
		return NULL;
	if (peek(p) == '(') {
		n = paren(p, start);
	} else {
		kw = sh_keyword(p, &kw_end);
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
		sh_skip_blanks(p);
	while (!p->error && sh_parse_redir(p, &end));
	n->at = range(p, start);
	return n;
}
