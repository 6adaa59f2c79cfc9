/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one classification: taken from the front, given back all at once. When the bound is
 * reached or the heap is empty, control returns to the setjmp of the caller that armed it, so that
 * no code below it has to handle a failed allocation and no input can allocate without bound.
 */
#ifndef REIN_CLASSIFY_ARENA_H
#define REIN_CLASSIFY_ARENA_H

#include <setjmp.h>
#include <stddef.h>

#include "base/str.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *first, *cur;
	size_t used, max;
	jmp_buf *fail; /* longjmp(…, 1) over the bound, 2 out of memory */
};

void *arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for any type */
char *arena_bytes(struct arena *a, size_t n); /* not zeroed, not aligned */
char *arena_dup(struct arena *a, const char *p, size_t n); /* NUL-terminated */
void arena_reset(struct arena *a); /* empty; the memory is kept for the next one */
void arena_done(struct arena *a);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* A string that grows inside an arena. */
struct sbuf {
	struct arena *a;
	char *p;
	size_t n, cap;
};

void sbuf_add(struct sbuf *b, const char *p, size_t n);
static inline void sbuf_char(struct sbuf *b, char c)
{
	if (b->n + 2 > b->cap) {
		sbuf_add(b, &c, 1);
		return;
	}
	b->p[b->n++] = c;
	b->p[b->n] = '\0';
}
static inline void sbuf_str(struct sbuf *b, struct rein_str s)
{
	sbuf_add(b, s.p, s.n);
}
static inline struct rein_str sbuf_view(const struct sbuf *b)
{
	return (struct rein_str){b->p ? b->p : "", b->n};
}

#endif
