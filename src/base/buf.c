/* SPDX-License-Identifier: Apache-2.0 */
/* Growing buffers: bounded, with one sticky failure. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

void rein_buf_done(struct rein_buf *b)
{
	rein_free(b->p);
	b->p = NULL;
	b->n = b->cap = 0;
}

void rein_buf_clear(struct rein_buf *b)
{
	b->n = 0;
	b->failed = false;
	if (b->p)
		b->p[0] = '\0';
}

static bool room(struct rein_buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed || more > b->max || b->n > b->max - more) {
		b->failed = true;
		return false;
	}
	if (b->n + more < b->cap)
		return true;
	while (cap <= b->n + more)
		cap *= 2;
	p = rein_realloc(b->p, cap, 1);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->p = p;
	b->cap = cap;
	return true;
}

void rein_buf_add(struct rein_buf *b, const void *p, size_t n)
{
	if (!room(b, n))
		return;
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void rein_buf_str(struct rein_buf *b, struct rein_str s)
{
	rein_buf_add(b, s.p, s.n);
}

void rein_buf_cstr(struct rein_buf *b, const char *s)
{
	rein_buf_add(b, s, strlen(s));
}

void rein_buf_char(struct rein_buf *b, char c)
{
	rein_buf_add(b, &c, 1);
}

void rein_buf_u64(struct rein_buf *b, uint64_t v)
{
	char tmp[20];
	size_t i = sizeof(tmp);

	do {
		tmp[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	rein_buf_add(b, tmp + i, sizeof(tmp) - i);
}

void rein_buf_printf(struct rein_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && room(b, (size_t)n)) {
		vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	} else {
		b->failed = true;
	}
	va_end(again);
}

size_t rein_utf8_len(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len;
	unsigned min;
	uint32_t cp;

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2, cp = p[0] & 0x1fu, min = 0x80;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		len = 3, cp = p[0] & 0x0fu, min = 0x800;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4, cp = p[0] & 0x07u, min = 0x10000;
	else
		return 0;
	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3fu);
	}
	if (cp < min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	return len;
}

/* C1 controls, bidi overrides and zero-width characters can make a terminal lie. */
static bool deceives(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t cp = 0;

	if (len == 2)
		cp = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	else if (len == 3)
		cp = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	return (cp >= 0x80 && cp < 0xa0) || (cp >= 0x200b && cp <= 0x200f) ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

void rein_buf_escaped(struct rein_buf *b, struct rein_str s)
{
	for (size_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t len = rein_utf8_len(s.p + i, s.n - i);

		if (c == '\n')
			rein_buf_cstr(b, "\\n");
		else if (c == '\t')
			rein_buf_cstr(b, "\\t");
		else if (c == '\\')
			rein_buf_cstr(b, "\\\\");
		else if (len == 1 ? c >= 0x20 && c != 0x7f : len > 1 && !deceives(s.p + i, len))
			rein_buf_add(b, s.p + i, len);
		else
			for (size_t k = 0; k < (len ? len : 1); k++)
				rein_buf_printf(b, "\\x%02x", (unsigned char)s.p[i + k]);
		i += len ? len : 1;
	}
}

void rein_buf_le32(struct rein_buf *b, uint32_t v)
{
	unsigned char t[4];

	for (int i = 0; i < 4; i++)
		t[i] = (unsigned char)(v >> (8 * i));
	rein_buf_add(b, t, sizeof(t));
}

void rein_buf_le64(struct rein_buf *b, uint64_t v)
{
	rein_buf_le32(b, (uint32_t)v);
	rein_buf_le32(b, (uint32_t)(v >> 32));
}

char *rein_buf_take(struct rein_buf *b)
{
	char *p;

	if (b->failed)
		return NULL;
	if (!b->p)
		return rein_strdup("");
	p = b->p;
	b->p = NULL;
	b->n = b->cap = 0;
	return p;
}
