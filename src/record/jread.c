/* SPDX-License-Identifier: Apache-2.0 */
/* A strict, bounded JSON reader without recursion: a stack of open containers and one loop. */
#include "record/jread.h"

struct reader {
	const char *p, *end, *from;
	struct rein_jnode *node;
	unsigned n, max;
	struct {
		unsigned node, last; /* container; its last child so far */
	} stack[REIN_JREAD_DEPTH];
	unsigned depth;
	struct rein_err *err;
};

static int bad(struct reader *r, const char *what)
{
	return rein_err_set(r->err, REIN_E_INVALID, "JSON: %s at byte %zu", what,
			    (size_t)(r->p - r->from));
}

static void space(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static int hex4(const char *p, const char *end, unsigned *ret)
{
	unsigned v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
			     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
						    : 16;

		if (d > 15)
			return -1;
		v = v << 4 | d;
	}
	*ret = v;
	return 0;
}

/* After "\u": 4 digits, or a surrogate pair. Moves p past it. */
static int unicode(const char **p, const char *end, uint32_t *ret)
{
	unsigned a, b;

	if (hex4(*p, end, &a) < 0 || (a >= 0xdc00 && a < 0xe000))
		return -1;
	*p += 4;
	if (a >= 0xd800 && a < 0xdc00) {
		if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u' ||
		    hex4(*p + 2, end, &b) < 0 || b < 0xdc00 || b > 0xdfff)
			return -1;
		*p += 6;
		a = 0x10000 + ((a - 0xd800) << 10) + (b - 0xdc00);
	}
	*ret = a;
	return 0;
}

static int string(struct reader *r, struct rein_str *ret, bool *escaped)
{
	const char *start = ++r->p;

	*escaped = false;
	while (r->p < r->end && *r->p != '"') {
		unsigned char c = (unsigned char)*r->p;
		size_t len;

		if (c >= 0x20 && c < 0x80 && c != '\\') {
			r->p++;
			continue;
		}
		if (c == '\\') {
			uint32_t cp;

			*escaped = true;
			if (r->end - r->p < 2)
				return bad(r, "unfinished escape");
			if (r->p[1] != 'u') {
				if (!memchr("\"\\/bfnrt", r->p[1], 8))
					return bad(r, "unknown escape");
				r->p += 2;
				continue;
			}
			r->p += 2;
			if (unicode(&r->p, r->end, &cp) < 0)
				return bad(r, "bad \\u escape");
			continue;
		}
		len = rein_utf8_len(r->p, (size_t)(r->end - r->p));
		if (c < 0x20 || !len)
			return bad(r, c < 0x20 ? "control character" : "invalid UTF-8");
		r->p += len;
	}
	if (r->p >= r->end)
		return bad(r, "unfinished string");
	*ret = (struct rein_str){start, (size_t)(r->p - start)};
	r->p++;
	return 0;
}

static bool digit(const struct reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static int number(struct reader *r, struct rein_jnode *n)
{
	const char *start = r->p;

	n->type = REIN_J_INT;
	if (*r->p == '-')
		r->p++;
	if (!digit(r))
		return bad(r, "not a value");
	if (*r->p++ != '0')
		while (digit(r))
			r->p++;
	else if (digit(r))
		return bad(r, "leading zero");
	if (r->p < r->end && *r->p == '.') {
		n->type = REIN_J_NUMBER;
		r->p++;
		if (!digit(r))
			return bad(r, "digit expected");
		while (digit(r))
			r->p++;
	}
	if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
		n->type = REIN_J_NUMBER;
		r->p++;
		if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
			r->p++;
		if (!digit(r))
			return bad(r, "digit expected");
		while (digit(r))
			r->p++;
	}
	n->raw = (struct rein_str){start, (size_t)(r->p - start)};
	return 0;
}

static int word(struct reader *r, struct rein_jnode *n)
{
	static const struct {
		const char *text;
		enum rein_jtype type;
	} words[] = {{"null", REIN_J_NULL}, {"false", REIN_J_FALSE}, {"true", REIN_J_TRUE}};

	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(words[i].text);

		if ((size_t)(r->end - r->p) >= len && memcmp(r->p, words[i].text, len) == 0) {
			r->p += len;
			n->type = words[i].type;
			return 0;
		}
	}
	return number(r, n);
}

static bool has_key(const struct reader *r, unsigned object, struct rein_str key)
{
	for (unsigned i = r->node[object].child; i; i = r->node[i].next)
		if (rein_str_eq(r->node[i].key, key))
			return true;
	return false;
}

/* One value; a container is pushed and its members follow in the main loop. */
static int value(struct reader *r, struct rein_str key)
{
	unsigned me = r->n;
	struct rein_jnode *n;

	if (r->n >= r->max)
		return rein_err_set(r->err, REIN_E_LIMIT, "JSON: more than %u values", r->max);
	if (r->p >= r->end)
		return bad(r, "value expected");
	n = &r->node[r->n++];
	*n = (struct rein_jnode){.key = key};
	if (r->depth) {
		unsigned *last = &r->stack[r->depth - 1].last;

		if (*last)
			r->node[*last].next = me;
		else
			r->node[r->stack[r->depth - 1].node].child = me;
		*last = me;
	}
	if (*r->p == '{' || *r->p == '[') {
		n->type = *r->p == '{' ? REIN_J_OBJECT : REIN_J_ARRAY;
		if (r->depth == REIN_JREAD_DEPTH)
			return rein_err_set(r->err, REIN_E_LIMIT, "JSON: deeper than %d levels",
					    REIN_JREAD_DEPTH);
		r->stack[r->depth].node = me;
		r->stack[r->depth++].last = 0;
		r->p++;
		return 0;
	}
	if (*r->p == '"') {
		n->type = REIN_J_STRING;
		return string(r, &n->raw, &n->escaped);
	}
	return word(r, n);
}

/* Inside a container: its end, or a comma where due, a key where due, and the next value. */
static int step(struct reader *r)
{
	unsigned top = r->stack[r->depth - 1].node;
	bool object = r->node[top].type == REIN_J_OBJECT;
	bool first = r->node[top].child == 0;
	struct rein_str key = {0};
	bool escaped;

	if (r->p < r->end && *r->p == (object ? '}' : ']')) {
		r->p++;
		r->depth--;
		return 0;
	}
	if (!first) {
		if (r->p >= r->end || *r->p != ',')
			return bad(r, "comma expected");
		r->p++;
		space(r);
	}
	if (object) {
		if (r->p >= r->end || *r->p != '"')
			return bad(r, "key expected");
		if (string(r, &key, &escaped) < 0)
			return -r->err->code;
		if (escaped || has_key(r, top, key))
			return bad(r, escaped ? "escape in a key" : "duplicate key");
		space(r);
		if (r->p >= r->end || *r->p != ':')
			return bad(r, "colon expected");
		r->p++;
		space(r);
	}
	return value(r, key);
}

int rein_jread(struct rein_str text, struct rein_jnode *node, unsigned max, struct rein_err *err)
{
	struct reader r = {.p = text.p,
			   .from = text.p,
			   .end = text.p + text.n,
			   .node = node,
			   .max = max,
			   .err = err};
	int rc;

	space(&r);
	rc = value(&r, (struct rein_str){0});
	while (rc == 0 && r.depth) {
		space(&r);
		rc = step(&r);
	}
	if (rc < 0)
		return rc;
	space(&r);
	return r.p == r.end ? 0 : bad(&r, "bytes after the value");
}

unsigned rein_jread_member(const struct rein_jnode *node, unsigned object, const char *key)
{
	struct rein_str k = rein_str(key);

	for (unsigned i = node[object].child; i; i = node[i].next)
		if (rein_str_eq(node[i].key, k))
			return i;
	return 0;
}

static void utf8(struct rein_buf *b, uint32_t cp)
{
	if (cp < 0x80) {
		rein_buf_char(b, (char)cp);
		return;
	}
	if (cp < 0x800) {
		rein_buf_char(b, (char)(0xc0 | cp >> 6));
	} else {
		if (cp < 0x10000) {
			rein_buf_char(b, (char)(0xe0 | cp >> 12));
		} else {
			rein_buf_char(b, (char)(0xf0 | cp >> 18));
			rein_buf_char(b, (char)(0x80 | (cp >> 12 & 0x3f)));
		}
		rein_buf_char(b, (char)(0x80 | (cp >> 6 & 0x3f)));
	}
	rein_buf_char(b, (char)(0x80 | (cp & 0x3f)));
}

bool rein_jread_text(const struct rein_jnode *n, struct rein_buf *arena, struct rein_str *ret)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = n->raw.p, *end = p + n->raw.n;
	size_t start = arena->n;

	if (n->type != REIN_J_STRING)
		return false;
	if (!n->escaped) {
		*ret = n->raw;
		return true;
	}
	while (p < end) {
		const char *at;
		uint32_t cp;

		if (*p != '\\') {
			rein_buf_char(arena, *p++);
			continue;
		}
		p++;
		if (*p == 'u') {
			p++;
			if (unicode(&p, end, &cp) < 0)
				return false;
			utf8(arena, cp);
			continue;
		}
		at = memchr(from, *p, 5);
		rein_buf_char(arena, at ? to[at - from] : *p);
		p++;
	}
	if (arena->failed)
		return false;
	*ret = (struct rein_str){arena->p + start, arena->n - start};
	return true;
}

bool rein_jread_u64(const struct rein_jnode *n, uint64_t *ret)
{
	uint64_t v = 0;

	if (n->type != REIN_J_INT || n->raw.p[0] == '-')
		return false;
	for (size_t i = 0; i < n->raw.n; i++) {
		unsigned d = (unsigned)(n->raw.p[i] - '0');

		if (v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*ret = v;
	return true;
}

bool rein_jread_i64(const struct rein_jnode *n, int64_t *ret)
{
	struct rein_jnode copy = *n;
	uint64_t v;
	bool neg = n->type == REIN_J_INT && n->raw.p[0] == '-';

	if (neg) {
		copy.raw.p++;
		copy.raw.n--;
	}
	if (!rein_jread_u64(&copy, &v) || v > (uint64_t)INT64_MAX)
		return false;
	*ret = neg ? -(int64_t)v : (int64_t)v;
	return true;
}
