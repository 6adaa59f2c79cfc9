/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one reader and the one writer of policy values. Strict: an unknown key or word is an error that
 * names the nearest known one, so that a slip cannot silently turn a rule off.
 */
#include "policy/internal.h"

const char *nearest(const char *word, const char *const *names)
{
	struct rein_near n = rein_near(word);

	for (; *names; names++)
		rein_near_try(&n, *names);
	return n.best;
}

static void join_names(struct rein_buf *b, const char *const *names)
{
	bool first = true;

	for (; *names; names++) {
		if (!**names)
			continue;
		rein_buf_printf(b, "%s%s", first ? "" : ", ", *names);
		first = false;
	}
}

static int not_one_of(const struct source *src, const struct node *at, const char *what, const char *word,
		      const char *const *names)
{
	auto_buf struct rein_buf b = REIN_BUF(2048);
	const char *meant = nearest(word, names);

	join_names(&b, names);
	if (meant)
		return bad(src, at, "'%s' is not a %s; did you mean '%s'?", word, what, meant);
	return bad(src, at, "'%s' is not a %s; use one of: %s", word, what, b.p ? b.p : "");
}

static int unknown_key(const struct source *src, const struct node *key, const struct field *fields)
{
	const char *names[64];
	size_t n = 0;

	for (const struct field *f = fields; f->name && n + 1 < ARRAY_SIZE(names); f++)
		names[n++] = f->name;
	names[n] = NULL;
	return not_one_of(src, key, "key here", key->text, names);
}

static int index_of(const char *const *names, const char *word)
{
	for (int i = 0; names[i]; i++)
		if (*names[i] && rein_streq(names[i], word))
			return i;
	return -1;
}

static int read_strs(const struct source *src, const struct field *f, const struct node *n, struct strs *to)
{
	size_t i = 0;

	if (n->kind == NODE_MAP)
		return bad(src, n, "'%s' takes a word or a list of words", f->name);
	to->n = n->kind == NODE_LIST ? n->n : 1;
	to->v = pool_alloc(src->pool, (to->n + 1) * sizeof(*to->v));
	if (!to->v)
		return rein_err_nomem(src->err);
	for (const struct node *k = n->kind == NODE_LIST ? n->kids : n; k; k = k->next) {
		if (k->kind != NODE_SCALAR)
			return bad(src, k, "'%s' takes a word or a list of words", f->name);
		if (!*k->text || strlen(k->text) > 1000)
			return bad(src, k, "'%s': a word must have between 1 and 1000 bytes", f->name);
		to->v[i++] = k->text;
		if (n->kind != NODE_LIST)
			break;
	}
	if (!to->n)
		return bad(src, n, "'%s' is an empty list; leave it out, or say what", f->name);
	return 0;
}

static bool take_op(const char **s, enum cmp_op *op)
{
	static const struct {
		const char *text;
		enum cmp_op op;
	} ops[] = {{"<=", CMP_LE}, {">=", CMP_GE}, {"!=", CMP_NE}, {"==", CMP_EQ},
		   {"<", CMP_LT},  {">", CMP_GT},  {"=", CMP_EQ}};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (rein_starts(*s, ops[i].text)) {
			*op = ops[i].op;
			*s += strlen(ops[i].text);
			*s += strspn(*s, " ");
			return true;
		}
	return false;
}

static bool number_of(const char *s, enum field_type type, uint64_t *ret)
{
	char digits[24];
	size_t n = strlen(s);

	if (type == F_CMP_SIZE || type == F_SIZE)
		return rein_parse_size(s, ret);
	if (type == F_CMP_PERCENT || type == F_PERCENT) {
		n -= n && s[n - 1] == '%';
		if (!n || n >= sizeof(digits))
			return false;
		memcpy(digits, s, n);
		digits[n] = '\0';
		return rein_parse_u64(digits, 100, ret);
	}
	return rein_parse_u64(s, UINT64_MAX / 2, ret);
}

static int read_cmp(const struct source *src, const struct field *f, const struct node *n, struct cmp *to)
{
	const char *s = n->text;

	to->op = CMP_EQ;
	take_op(&s, &to->op);
	if (number_of(s, f->type, &to->n))
		return 0;
	return bad(src, n, "'%s': '%s' is not a comparison such as \">= %s\"", f->name, n->text,
		   f->type == F_CMP_SIZE ? "10M" : f->type == F_CMP_PERCENT ? "20%" : "50");
}

static int add_bits(const struct source *src, const struct field *f, const struct node *n, uint32_t *to)
{
	const char *s = n->text;
	enum cmp_op op = CMP_EQ;
	bool compared = take_op(&s, &op);
	int at = index_of(f->names, s);

	if (at < 0)
		return not_one_of(src, n, f->name, s, f->names);
	if (!compared) {
		*to |= 1u << at;
		return 0;
	}
	for (int i = 0; f->names[i]; i++) {
		struct cmp c = {op, (uint64_t)at};

		if (*f->names[i] && match_cmp(&c, (uint64_t)i))
			*to |= 1u << i;
	}
	return *to ? 0 : bad(src, n, "'%s': nothing is '%s'", f->name, n->text);
}

static int read_bits(const struct source *src, const struct field *f, const struct node *n, uint32_t *to)
{
	if (n->kind == NODE_SCALAR)
		return add_bits(src, f, n, to);
	if (n->kind == NODE_LIST && n->kids) {
		for (const struct node *k = n->kids; k; k = k->next) {
			int rc = k->kind == NODE_SCALAR
					 ? add_bits(src, f, k, to)
					 : bad(src, k, "'%s' takes a word or a list of words", f->name);

			if (rc < 0)
				return rc;
		}
		return 0;
	}
	return bad(src, n, "'%s' takes a word or a list of words", f->name);
}

static bool clock_of(const char *s, size_t n, int *ret)
{
	int h, m;

	if (n != 5 || s[2] != ':' || s[0] < '0' || s[0] > '2' || s[1] < '0' || s[1] > '9' || s[3] < '0' ||
	    s[3] > '5' || s[4] < '0' || s[4] > '9')
		return false;
	h = (s[0] - '0') * 10 + s[1] - '0';
	m = (s[3] - '0') * 10 + s[4] - '0';
	*ret = h * 60 + m;
	return h < 24 || (h == 24 && m == 0);
}

static int read_span(const struct source *src, const struct field *f, const struct node *n, struct span *to)
{
	const char *s = n->text;

	if (strlen(s) == 11 && s[5] == '-' && clock_of(s, 5, &to->from) && clock_of(s + 6, 5, &to->to) &&
	    to->from != to->to) {
		to->set = true;
		return 0;
	}
	return bad(src, n, "'%s': '%s' is not a time of day such as 09:00-17:30", f->name, s);
}

static const char *const day_names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun", NULL};

static int read_days(const struct source *src, const struct field *f, const struct node *n, uint32_t *to)
{
	struct field days = *f;

	if (n->kind == NODE_SCALAR && strlen(n->text) == 7 && n->text[3] == '-') {
		char a[4] = {n->text[0], n->text[1], n->text[2], '\0'};
		int from = index_of(day_names, a), until = index_of(day_names, n->text + 4);

		if (from >= 0 && until >= 0) {
			for (int i = from;; i = (i + 1) % 7) {
				*to |= 1u << i;
				if (i == until)
					return 0;
			}
		}
	}
	days.names = day_names;
	return read_bits(src, &days, n, to);
}

static int read_tri(const struct source *src, const struct field *f, const struct node *n, enum tri *to)
{
	static const char *const words[] = {"false", "true", NULL};
	int at = n->quoted ? -1 : index_of(words, n->text);

	if (at < 0)
		return bad(src, n, "'%s' is true or false, not '%s'", f->name, n->text);
	*to = at ? TRI_YES : TRI_NO;
	return 0;
}

static int read_number(const struct source *src, const struct field *f, const struct node *n, uint64_t *to)
{
	bool ok = f->type == F_DURATION ? rein_parse_duration(n->text, to) : number_of(n->text, f->type, to);

	if (!ok)
		return bad(src, n, "'%s': '%s' is not a %s", f->name, n->text,
			   f->type == F_DURATION  ? "duration such as 30m"
			   : f->type == F_SIZE	  ? "size such as 512M"
			   : f->type == F_PERCENT ? "share such as 25%"
						  : "number");
	if (f->type == F_PERCENT)
		++*to;
	return 0;
}

struct any_vec {
	void *v;
	size_t n, cap;
};

static int add_element(struct source *src, const struct node *n, const struct table *t, const char *name,
		       struct any_vec *vec)
{
	char *at;

	if (vec->n >= POLICY_RULES)
		return bad(src, n, "more than %d entries", POLICY_RULES);
	if (rein_grow_(&vec->v, vec->n, &vec->cap, t->size) < 0)
		return rein_err_nomem(src->err);
	at = (char *)vec->v + vec->n * t->size;
	memset(at, 0, t->size);
	vec->n++;
	if (name)
		*(const char **)(void *)at = name;
	return field_read_map(src, n, t, at);
}

static int read_list(struct source *src, const struct field *f, const struct node *n, struct any_vec *vec)
{
	if (n->kind != NODE_LIST)
		return bad(src, n, "'%s' is a list: each entry starts with '- '", f->name);
	for (const struct node *k = n->kids; k; k = k->next) {
		int rc = add_element(src, k, f->sub, NULL, vec);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_named(struct source *src, const struct field *f, const struct node *n, struct any_vec *vec)
{
	if (n->kind != NODE_MAP)
		return bad(src, n, "'%s' holds names with settings below them", f->name);
	for (const struct node *k = n->kids; k; k = k->next->next) {
		int rc;

		if (!*k->text)
			return bad(src, k, "an empty name");
		rc = add_element(src, k->next, f->sub, k->text, vec);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_scalar(const struct source *src, const struct field *f, const struct node *n, void *to)
{
	int at;

	if (n->kind != NODE_SCALAR)
		return bad(src, n, "'%s' takes one value", f->name);
	switch (f->type) {
	case F_STR:
		if (!*n->text || strlen(n->text) > 4000)
			return bad(src, n, "'%s' must have between 1 and 4000 bytes", f->name);
		*(const char **)to = n->text;
		return 0;
	case F_TRI:
		return read_tri(src, f, n, to);
	case F_U64:
	case F_PERCENT:
	case F_DURATION:
	case F_SIZE:
		return read_number(src, f, n, to);
	case F_CMP:
	case F_CMP_SIZE:
	case F_CMP_PERCENT:
		return read_cmp(src, f, n, to);
	case F_SPAN:
		return read_span(src, f, n, to);
	case F_CHOICE:
		at = index_of(f->names, n->text);
		if (at < 0)
			return not_one_of(src, n, f->name, n->text, f->names);
		*(int *)to = at + 1;
		return 0;
	default:
		return bad(src, n, "'%s' cannot be read", f->name);
	}
}

static int read_field(struct source *src, const struct field *f, const struct node *n, void *base)
{
	void *to = (char *)base + f->offset;

	switch (f->type) {
	case F_STRS:
		return read_strs(src, f, n, to);
	case F_BITS:
		return read_bits(src, f, n, to);
	case F_DAYS:
		return read_days(src, f, n, to);
	case F_MAP:
		return field_read_map(src, n, f->sub, to);
	case F_LIST:
		return read_list(src, f, n, to);
	case F_NAMED:
		return read_named(src, f, n, to);
	default:
		return read_scalar(src, f, n, to);
	}
}

int field_read_map(struct source *src, const struct node *map, const struct table *t, void *to)
{
	if (map->kind != NODE_MAP)
		return bad(src, map, "expected 'key: value' lines here");
	for (const struct node *k = map->kids; k; k = k->next->next) {
		const struct field *f = t->fields;
		int rc;

		while (f->name && !rein_streq(f->name, k->text))
			f++;
		rc = f->name ? read_field(src, f, k->next, to) : unknown_key(src, k, t->fields);
		if (rc < 0)
			return rc;
	}
	return t->check ? t->check(src, map, to) : 0;
}

/* The writer: everything quoted that is text, so that it is read as the same text. */

static unsigned codepoint(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;

	if (len == 2)
		return ((u[0] & 0x1fu) << 6) | (u[1] & 0x3fu);
	if (len == 3)
		return ((u[0] & 0x0fu) << 12) | ((u[1] & 0x3fu) << 6) | (u[2] & 0x3fu);
	return 0x10000;
}

static void put_str(struct rein_buf *b, const char *s)
{
	rein_buf_char(b, '"');
	while (*s) {
		size_t len = rein_utf8_len(s, strnlen(s, 4));
		unsigned c = len > 1 ? codepoint(s, len) : (unsigned char)*s;

		if (len <= 1 && (c == '"' || c == '\\'))
			rein_buf_printf(b, "\\%c", (char)c);
		else if (len <= 1 && (c < 0x20 || c >= 0x7f))
			rein_buf_printf(b, "\\x%02x", c);
		else if (len > 1 && (c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
				     (c >= 0xd800 && c < 0xe000) || c == 0xfffe || c == 0xffff))
			rein_buf_printf(b, "\\u%04x", c);
		else
			rein_buf_add(b, s, len ? len : 1);
		s += len ? len : 1;
	}
	rein_buf_char(b, '"');
}

static void put_cmp(struct rein_buf *b, const struct cmp *c, const char *unit)
{
	static const char *const ops[] = {"", "<", "<=", "==", "!=", ">=", ">"};

	rein_buf_printf(b, "\"%s %llu%s\"", ops[c->op], (unsigned long long)c->n, unit);
}

static void put_bits(struct rein_buf *b, uint32_t bits, const char *const *names)
{
	bool first = true;

	rein_buf_char(b, '[');
	for (int i = 0; names[i]; i++)
		if (bits & (1u << i)) {
			rein_buf_printf(b, "%s%s", first ? "" : ", ", names[i]);
			first = false;
		}
	rein_buf_char(b, ']');
}

static void put_duration(struct rein_buf *b, uint64_t ns)
{
	if (ns % 1000000000u == 0)
		rein_buf_printf(b, "%llus", (unsigned long long)(ns / 1000000000u));
	else
		rein_buf_printf(b, "%llums", (unsigned long long)(ns / 1000000u));
}

static bool is_set(const struct field *f, const void *from)
{
	switch (f->type) {
	case F_STR:
		return *(const char *const *)from != NULL;
	case F_STRS:
		return ((const struct strs *)from)->n > 0;
	case F_TRI:
		return *(const enum tri *)from != TRI_UNSET;
	case F_U64:
	case F_PERCENT:
	case F_DURATION:
	case F_SIZE:
		return *(const uint64_t *)from != 0;
	case F_CMP:
	case F_CMP_SIZE:
	case F_CMP_PERCENT:
		return ((const struct cmp *)from)->op != CMP_NONE;
	case F_BITS:
	case F_DAYS:
		return *(const uint32_t *)from != 0;
	case F_CHOICE:
		return *(const int *)from != 0;
	case F_SPAN:
		return ((const struct span *)from)->set;
	case F_LIST:
	case F_NAMED:
		return ((const struct any_vec *)from)->n > 0;
	case F_MAP:
		for (const struct field *k = f->sub->fields; k->name; k++)
			if (is_set(k, (const char *)from + k->offset))
				return true;
		return false;
	}
	return false;
}

static void put_value(struct rein_buf *b, const struct field *f, const void *from)
{
	const struct strs *l = from;
	const struct span *t = from;

	switch (f->type) {
	case F_STR:
		put_str(b, *(const char *const *)from);
		return;
	case F_STRS:
		rein_buf_char(b, '[');
		for (size_t i = 0; i < l->n; i++) {
			rein_buf_cstr(b, i ? ", " : "");
			put_str(b, l->v[i]);
		}
		rein_buf_char(b, ']');
		return;
	case F_TRI:
		rein_buf_cstr(b, *(const enum tri *)from == TRI_YES ? "true" : "false");
		return;
	case F_DURATION:
		put_duration(b, *(const uint64_t *)from);
		return;
	case F_PERCENT:
		rein_buf_printf(b, "%llu%%", (unsigned long long)*(const uint64_t *)from - 1);
		return;
	case F_U64:
	case F_SIZE:
		rein_buf_u64(b, *(const uint64_t *)from);
		return;
	case F_CMP:
	case F_CMP_SIZE:
	case F_CMP_PERCENT:
		put_cmp(b, from, f->type == F_CMP_PERCENT ? "%" : "");
		return;
	case F_BITS:
		put_bits(b, *(const uint32_t *)from, f->names);
		return;
	case F_DAYS:
		put_bits(b, *(const uint32_t *)from, day_names);
		return;
	case F_CHOICE:
		rein_buf_cstr(b, f->names[*(const int *)from - 1]);
		return;
	case F_SPAN:
		rein_buf_printf(b, "\"%02d:%02d-%02d:%02d\"", t->from / 60, t->from % 60, t->to / 60,
				t->to % 60);
		return;
	default:
		return;
	}
}

static void put_indent(struct rein_buf *b, unsigned n)
{
	while (n--)
		rein_buf_cstr(b, "  ");
}

static void put_list(struct rein_buf *b, const struct field *f, const struct any_vec *vec, unsigned indent)
{
	for (size_t i = 0; i < vec->n; i++) {
		const char *at = (const char *)vec->v + i * f->sub->size;

		put_indent(b, indent);
		if (f->type == F_NAMED) {
			put_str(b, *(const char *const *)(const void *)at);
			rein_buf_cstr(b, ":\n");
		} else {
			rein_buf_cstr(b, "-\n");
		}
		if (is_set(&(struct field){.type = F_MAP, .sub = f->sub}, at)) {
			field_format_map(b, f->sub, at, indent + 1);
		} else {
			put_indent(b, indent + 1);
			rein_buf_cstr(b, "{}\n");
		}
	}
}

void field_format_map(struct rein_buf *b, const struct table *t, const void *base, unsigned indent)
{
	for (const struct field *f = t->fields; f->name; f++) {
		const void *from = (const char *)base + f->offset;

		if (!is_set(f, from))
			continue;
		put_indent(b, indent);
		rein_buf_printf(b, "%s:", f->name);
		if (f->type == F_MAP) {
			rein_buf_char(b, '\n');
			field_format_map(b, f->sub, from, indent + 1);
		} else if (f->type == F_LIST || f->type == F_NAMED) {
			rein_buf_char(b, '\n');
			put_list(b, f, from, indent + 1);
		} else {
			rein_buf_char(b, ' ');
			put_value(b, f, from);
			rein_buf_char(b, '\n');
		}
	}
}
