/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML events to a tree with lines and columns. Only what a policy needs: one document, no anchors,
 * aliases or tags (an alias can make a small file enormous), no duplicate keys, bounded in depth and
 * number.
 */
#include <stdarg.h>
#include <yaml.h>

#include "policy/internal.h"

int bad(const struct source *src, const struct node *at, const char *fmt, ...)
{
	auto_buf struct rein_buf b = REIN_BUF(2048);
	char text[REIN_ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rein_buf_escaped(&b, rein_str(text));
	return rein_err_set(src->err, REIN_E_INVALID, "%s:%u:%u: %s", src->file, at ? at->line : 1,
			    at ? at->column : 1, b.p ? b.p : "");
}

struct reader {
	struct source *src;
	yaml_parser_t parser;
	struct node *stack[POLICY_DEPTH];
	unsigned depth, count;
	struct node *root;
};

static int duplicate(struct reader *r, const struct node *map, const struct node *key)
{
	for (const struct node *k = map->kids; k && k != key; k = k->next->next)
		if (k->text && key->text && rein_streq(k->text, key->text))
			return bad(r->src, key, "'%s' was given before, in line %u", key->text, k->line);
	return 0;
}

/* A map takes keys and values in turn; a key is a scalar and is not repeated. */
static int attach(struct reader *r, struct node *n)
{
	struct node *to = r->depth ? r->stack[r->depth - 1] : NULL;
	bool key = to && to->kind == NODE_MAP;

	if (!to) {
		r->root = n;
		return 0;
	}
	key = key && to->n % 2 == 0;
	if (key && to->n / 2 == POLICY_KEYS)
		return bad(r->src, n, "more than %d keys", POLICY_KEYS);
	if (key && n->kind != NODE_SCALAR)
		return bad(r->src, n, "a key must be a word");
	if (to->last)
		to->last->next = n;
	else
		to->kids = n;
	to->last = n;
	to->n++;
	return key ? duplicate(r, to, n) : 0;
}

static int add(struct reader *r, enum node_kind kind, const yaml_event_t *e, const yaml_char_t *anchor,
	       const yaml_char_t *tag)
{
	struct node *n = pool_alloc(r->src->pool, sizeof(*n));
	int rc;

	if (!n)
		return rein_err_nomem(r->src->err);
	n->kind = kind;
	n->line = (unsigned)e->start_mark.line + 1;
	n->column = (unsigned)e->start_mark.column + 1;
	if (++r->count > POLICY_NODES)
		return bad(r->src, n, "more than %d values in one file", POLICY_NODES);
	if (anchor)
		return bad(r->src, n, "anchors and aliases are not used in a policy; write the value out");
	if (tag)
		return bad(r->src, n, "tags (!) are not used in a policy; put a comparison such as \"!= 0\" in quotes");
	if (kind == NODE_SCALAR) {
		const char *s = (const char *)e->data.scalar.value;

		if (memchr(s, '\0', e->data.scalar.length))
			return bad(r->src, n, "a NUL byte in a text");
		n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		n->text = pool_dup(r->src->pool, s, e->data.scalar.length);
		if (!n->text)
			return rein_err_nomem(r->src->err);
		return attach(r, n);
	}
	rc = attach(r, n);
	if (rc < 0)
		return rc;
	if (r->depth == POLICY_DEPTH)
		return bad(r->src, n, "nested too deeply");
	r->stack[r->depth++] = n;
	return 0;
}

static int on_event(struct reader *r, const yaml_event_t *e, bool *done)
{
	struct node here = {.line = (unsigned)e->start_mark.line + 1,
			    .column = (unsigned)e->start_mark.column + 1};

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return add(r, NODE_SCALAR, e, e->data.scalar.anchor, e->data.scalar.tag);
	case YAML_SEQUENCE_START_EVENT:
		return add(r, NODE_LIST, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return add(r, NODE_MAP, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	case YAML_ALIAS_EVENT:
		return bad(r->src, &here, "anchors and aliases are not used in a policy; write the value out");
	case YAML_DOCUMENT_START_EVENT:
		return r->root ? bad(r->src, &here, "one document a file; a second one starts here") : 0;
	case YAML_STREAM_END_EVENT:
		*done = true;
		return 0;
	default:
		return 0;
	}
}

static int read_all(struct reader *r)
{
	bool done = false;

	while (!done) {
		yaml_event_t e;
		int rc;

		if (!yaml_parser_parse(&r->parser, &e)) {
			struct node at = {.line = (unsigned)r->parser.problem_mark.line + 1,
					  .column = (unsigned)r->parser.problem_mark.column + 1};

			if (r->parser.error == YAML_MEMORY_ERROR)
				return rein_err_nomem(r->src->err);
			return bad(r->src, &at, "not YAML: %s%s%s",
				   r->parser.problem ? r->parser.problem : "unreadable",
				   r->parser.context ? ", " : "",
				   r->parser.context ? r->parser.context : "");
		}
		rc = on_event(r, &e, &done);
		yaml_event_delete(&e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int yaml_read(struct source *src, struct rein_str text, struct node **ret)
{
	struct reader r = {.src = src};
	int rc;

	if (text.p == rein_policy_builtin) { /* 0.4 ms of every start */
		*ret = policy_builtin_tree;
		return 0;
	}
	if (text.n > POLICY_BYTES)
		return bad(src, NULL, "larger than %u MiB", POLICY_BYTES >> 20);
	if (!yaml_parser_initialize(&r.parser))
		return rein_err_nomem(src->err);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
	rc = read_all(&r);
	yaml_parser_delete(&r.parser);
	if (rc == 0)
		*ret = r.root;
	return rc;
}
