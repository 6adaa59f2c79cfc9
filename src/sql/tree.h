/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's JSON as a tree, built and walked without recursion: it may nest as deep as a text is long. */
#ifndef REIN_SQL_TREE_H
#define REIN_SQL_TREE_H

#include "base/str.h"

enum tree_kind { TREE_OBJECT = 1, TREE_LIST, TREE_TEXT, TREE_NUMBER, TREE_WORD };

struct tree_node {
	enum tree_kind kind;
	struct rein_str key;  /* in an object */
	struct rein_str text; /* TEXT (escapes as they were), NUMBER, WORD (true, false, null) */
	struct tree_node *parent, *kids, *last, *next;
};

struct tree {
	struct tree_node *root;
	struct tree_chunk *chunks;
};

bool tree_read(const char *json, struct tree *ret); /* false: not JSON, or too much of it */
void tree_done(struct tree *t);
struct tree_node *tree_get(const struct tree_node *object, const char *key);
struct tree_node *tree_next(const struct tree_node *top, const struct tree_node *at); /* in order, below top */
struct tree_node *tree_skip(const struct tree_node *top, const struct tree_node *at); /* past what lies in it */
/* The same but for where it stands in the text. */
bool tree_same(const struct tree_node *a, const struct tree_node *b);

#endif
