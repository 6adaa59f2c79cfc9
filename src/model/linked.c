/* SPDX-License-Identifier: Apache-2.0 */
/* The list of copied files with several names: ownership, order, search. */
#include "model/linked.h"

#include <stdlib.h>

#include "base/alloc.h"

void rein_linked_done(struct rein_linked_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		rein_free(l->v[i].path);
	rein_free(l->v);
	*l = (struct rein_linked_list){0};
}

int rein_linked_add(struct rein_linked_list *l, const struct rein_linked *x, char *path)
{
	if (!path || rein_grow(l->v, l->n, l->cap) < 0) {
		rein_free(path);
		return -1;
	}
	l->v[l->n] = *x;
	l->v[l->n++].path = path;
	return 0;
}

static int by_copy(const void *a, const void *b)
{
	const struct rein_linked *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->born_ns < y->born_ns ? -1 : x->born_ns > y->born_ns;
}

int rein_linked_merge(struct rein_linked_list *to, struct rein_linked_list *from)
{
	int rc = 0;

	for (size_t i = 0; i < from->n; i++) {
		rc |= rein_linked_add(to, &from->v[i], from->v[i].path);
		from->v[i].path = NULL;
	}
	rein_linked_done(from);
	if (to->n)
		qsort(to->v, to->n, sizeof(to->v[0]), by_copy);
	return rc;
}

const struct rein_linked *rein_linked_find(const struct rein_linked_list *l, uint32_t root,
					   const struct rein_fp *upper)
{
	struct rein_linked key = {.root = root, .ino = upper->ino, .born_ns = upper->born_ns};

	return l->n ? bsearch(&key, l->v, l->n, sizeof(l->v[0]), by_copy) : NULL;
}
