/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation in chunks that are kept between classifications. */
#include "classify/arena.h"

#include <stdint.h>

#include "base/alloc.h"

#define CHUNK ((size_t)64 << 10)
#define KEPT  ((size_t)16 << 20)

struct arena_chunk {
	struct arena_chunk *next;
	size_t n, cap;
	_Alignas(16) char p[];
};

static _Noreturn void give_up(struct arena *a, int why)
{
	longjmp(*a->fail, why);
}

static struct arena_chunk *room(struct arena *a, size_t n)
{
	struct arena_chunk *c = a->cur, *fresh;
	size_t cap = n > CHUNK ? n : CHUNK;

	if (a->used + n > a->max)
		give_up(a, 1);
	while (c && c->next) {
		c = c->next;
		c->n = 0;
		if (c->cap >= n)
			return a->cur = c;
	}
	fresh = rein_realloc(NULL, 1, sizeof(*fresh) + cap);
	if (!fresh)
		give_up(a, 2);
	fresh->next = NULL;
	fresh->n = 0;
	fresh->cap = cap;
	if (c)
		c->next = fresh;
	else
		a->first = fresh;
	return a->cur = fresh;
}

static char *take(struct arena *a, size_t n, size_t align)
{
	struct arena_chunk *c = a->cur;
	size_t at;

	if (n > SIZE_MAX / 4)
		give_up(a, 1);
	at = c ? (c->n + align - 1) & ~(align - 1) : 0;
	if (!c || at + n > c->cap) {
		c = room(a, n);
		at = 0;
	}
	c->n = at + n;
	a->used += n;
	return c->p + at;
}

void *arena_alloc(struct arena *a, size_t n)
{
	return memset(take(a, n, 16), 0, n);
}

char *arena_bytes(struct arena *a, size_t n)
{
	return take(a, n, 1);
}

char *arena_dup(struct arena *a, const char *p, size_t n)
{
	char *q = arena_bytes(a, n + 1);

	if (n)
		memcpy(q, p, n);
	q[n] = '\0';
	return q;
}

/* What one text in a thousand needs is not kept for the others. */
static void trim(struct arena *a)
{
	struct arena_chunk *c = a->first, *rest;
	size_t kept = 0;

	for (; c && kept + c->cap <= KEPT; c = c->next)
		kept += c->cap;
	rest = c ? c->next : NULL;
	if (c)
		c->next = NULL;
	while (rest) {
		c = rest->next;
		rein_free(rest);
		rest = c;
	}
}

void arena_reset(struct arena *a)
{
	trim(a);
	a->cur = a->first;
	if (a->cur)
		a->cur->n = 0;
	a->used = 0;
}

void arena_done(struct arena *a)
{
	for (struct arena_chunk *c = a->first, *next; c; c = next) {
		next = c->next;
		rein_free(c);
	}
	*a = (struct arena){0};
}

static void sbuf_room(struct sbuf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 32;
	char *p;

	if (b->n + n + 1 <= b->cap)
		return;
	while (cap < b->n + n + 1)
		cap *= 2;
	p = arena_bytes(b->a, cap);
	if (b->n)
		memcpy(p, b->p, b->n);
	b->p = p;
	b->cap = cap;
}

void sbuf_add(struct sbuf *b, const char *p, size_t n)
{
	sbuf_room(b, n);
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}
