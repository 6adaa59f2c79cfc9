/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing buffer with a hard maximum and a sticky failure: assemble, then check b->failed once.
 * The bytes are always NUL-terminated one past b->n.
 *
 *	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
 */
#ifndef REIN_BASE_BUF_H
#define REIN_BASE_BUF_H

#include "base/err.h"
#include "base/str.h"

struct rein_buf {
	char *p;
	size_t n, cap;
	size_t max;
	bool failed; /* out of memory or over max; later appends do nothing */
};

#define REIN_BUF(limit) {.max = (limit)}
#define auto_buf __attribute__((cleanup(rein_buf_done)))

void rein_buf_done(struct rein_buf *b);
void rein_buf_clear(struct rein_buf *b); /* empty, not failed, memory kept */
void rein_buf_add(struct rein_buf *b, const void *p, size_t n);
void rein_buf_str(struct rein_buf *b, struct rein_str s);
void rein_buf_cstr(struct rein_buf *b, const char *s);
void rein_buf_char(struct rein_buf *b, char c);
void rein_buf_u64(struct rein_buf *b, uint64_t v);
void rein_buf_printf(struct rein_buf *b, const char *fmt, ...) REIN_PRINTF(2, 3);
/* Untrusted text for a terminal: printable UTF-8 as is, the rest as \n, \x1b …; no quotes added. */
void rein_buf_escaped(struct rein_buf *b, struct rein_str s);
/* Binary, little endian. */
void rein_buf_le32(struct rein_buf *b, uint32_t v);
void rein_buf_le64(struct rein_buf *b, uint64_t v);
char *rein_buf_take(struct rein_buf *b); /* the caller owns it; NULL if failed */

/* Length of the valid UTF-8 sequence at p (n bytes left), 0 if there is none. */
size_t rein_utf8_len(const char *p, size_t n);

#endif
