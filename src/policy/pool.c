/* SPDX-License-Identifier: Apache-2.0 */
/* Memory given back all at once. */
#include <stdalign.h>

#include "policy/internal.h"

struct chunk {
	struct chunk *before;
	size_t used, size;
	alignas(max_align_t) char bytes[];
};

void *pool_alloc(struct pool *p, size_t n)
{
	size_t size = 16384;
	struct chunk *c = p->last;
	char *at;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!c || c->size - c->used < n) {
		if (n > size)
			size = n;
		c = rein_alloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		c->size = size;
		c->before = p->last;
		p->last = c;
	}
	at = c->bytes + c->used;
	c->used += n;
	return at;
}

char *pool_dup(struct pool *p, const char *s, size_t n)
{
	char *to = pool_alloc(p, n + 1);

	if (to && n)
		memcpy(to, s, n);
	return to;
}

void pool_done(struct pool *p)
{
	while (p->last) {
		struct chunk *c = p->last;

		p->last = c->before;
		rein_free(c);
	}
}
