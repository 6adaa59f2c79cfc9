/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to nodes. */
#include "sql/tree.h"

#include <string.h>

#include "base/alloc.h"

#define CHUNK_NODES 512
#define MAX_NODES   400000

struct tree_chunk {
	struct tree_chunk *next;
	size_t n;
	struct tree_node v[CHUNK_NODES];
};

static struct tree_node *new_node(struct tree *t, size_t *left)
{
	struct tree_chunk *c = t->chunks;

	if (!*left)
		return NULL;
	--*left;
	if (!c || c->n == CHUNK_NODES) {
		c = rein_alloc(sizeof(*c));
		if (!c)
			return NULL;
		c->next = t->chunks;
		t->chunks = c;
	}
	return &c->v[c->n++];
}

void tree_done(struct tree *t)
{
	while (t->chunks) {
		struct tree_chunk *next = t->chunks->next;

		rein_free(t->chunks);
		t->chunks = next;
	}
	t->root = NULL;
}

/* At a quote: the text inside, *p past the closing one. */
static bool read_text(const char **p, struct rein_str *ret)
{
	const char *s = *p + 1;

	ret->p = s;
	for (; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	if (*s != '"')
		return false;
	ret->n = (size_t)(s - ret->p);
	*p = s + 1;
	return true;
}

static const char *space(const char *p)
{
	while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

static void append(struct tree_node *parent, struct tree_node *kid)
{
	kid->parent = parent;
	if (!parent)
		return;
	if (parent->last)
		parent->last->next = kid;
	else
		parent->kids = kid;
	parent->last = kid;
}

/* One value begins at *p; containers are entered, not read. */
static bool read_value(struct tree *t, const char **p, struct tree_node *n)
{
	(void)t;
	if (**p == '{' || **p == '[') {
		n->kind = **p == '{' ? TREE_OBJECT : TREE_LIST;
		++*p;
		return true;
	}
	if (**p == '"') {
		n->kind = TREE_TEXT;
		return read_text(p, &n->text);
	}
	n->text.p = *p;
	n->text.n = strspn(*p, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
	n->kind = n->text.n && (n->text.p[0] == '-' || (n->text.p[0] >= '0' && n->text.p[0] <= '9')) ? TREE_NUMBER
												   : TREE_WORD;
	*p += n->text.n;
	return n->text.n > 0;
}

bool tree_read(const char *p, struct tree *ret)
{
	struct tree_node *open = NULL; /* the container we are in */
	size_t left = MAX_NODES;

	for (;;) {
		struct tree_node *n;

		p = space(p);
		if (open && (*p == '}' || *p == ']')) {
			if ((*p == '}') != (open->kind == TREE_OBJECT))
				return false;
			p = space(p + 1);
			open = open->parent;
			if (!open)
				return *p == '\0';
			if (*p == ',')
				p++;
			continue;
		}
		n = new_node(ret, &left);
		if (!n)
			return false;
		if (open && open->kind == TREE_OBJECT) {
			if (*p != '"' || !read_text(&p, &n->key))
				return false;
			p = space(p);
			if (*p++ != ':')
				return false;
			p = space(p);
		}
		append(open, n);
		if (!open)
			ret->root = n;
		if (!read_value(ret, &p, n))
			return false;
		if (n->kind == TREE_OBJECT || n->kind == TREE_LIST) {
			open = n;
			continue;
		}
		if (!open)
			return *space(p) == '\0';
		p = space(p);
		if (*p == ',')
			p++;
		else if (*p != '}' && *p != ']')
			return false;
	}
}

struct tree_node *tree_get(const struct tree_node *object, const char *key)
{
	for (struct tree_node *k = object ? object->kids : NULL; k; k = k->next)
		if (rein_str_eq(k->key, rein_str(key)))
			return k;
	return NULL;
}

struct tree_node *tree_skip(const struct tree_node *top, const struct tree_node *at)
{
	while (at && at != top) {
		if (at->next)
			return at->next;
		at = at->parent;
	}
	return NULL;
}

struct tree_node *tree_next(const struct tree_node *top, const struct tree_node *at)
{
	return at->kids ? at->kids : tree_skip(top, at);
}

static const struct tree_node *next_told(const struct tree_node *top, const struct tree_node *at)
{
	at = tree_next(top, at);
	while (at && rein_str_eq(at->key, rein_str("location")))
		at = tree_skip(top, at);
	return at;
}

bool tree_same(const struct tree_node *a, const struct tree_node *b)
{
	const struct tree_node *x = a, *y = b;

	while (x && y) {
		if (x->kind != y->kind || !rein_str_eq(x->text, y->text) || (x != a && !rein_str_eq(x->key, y->key)))
			return false;
		x = next_told(a, x);
		y = next_told(b, y);
	}
	return !x && !y;
}
