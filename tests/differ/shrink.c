/* SPDX-License-Identifier: Apache-2.0 */
/* See shrink.h. */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>

struct search {
	struct ops *lists;
	size_t nlists;
	shrink_fails fails;
	void *ctx;
	double deadline;
};

/* Try without operations [from, to) of one list; keeps the cut when it still fails. */
static bool try_without(struct search *s, size_t list, size_t from, size_t to)
{
	struct ops old = s->lists[list];
	bool *keep = lab_alloc(old.n + 1);

	memset(keep, true, old.n);
	memset(keep + from, false, to - from);
	s->lists[list] = ops_select(&old, keep);
	free(keep);
	if (s->fails(s->ctx, s->lists)) {
		free(old.v);
		return true;
	}
	free(s->lists[list].v);
	s->lists[list] = old;
	return false;
}

/* One pass with chunks of a given size, from the end: later operations depend on earlier ones. */
static bool pass(struct search *s, size_t list, size_t chunk)
{
	size_t end = s->lists[list].n;
	bool any = false;

	while (end > 0 && lab_now() < s->deadline) {
		size_t from = end > chunk ? end - chunk : 0;

		any |= try_without(s, list, from, end);
		end = from;
	}
	return any;
}

void shrink(struct ops *lists, size_t nlists, shrink_fails fails, void *ctx, double seconds)
{
	struct search s = {lists, nlists, fails, ctx, lab_now() + seconds};
	bool any = true;

	for (size_t i = 0; i < nlists; i++) { /* own arrays, so that they can be replaced */
		struct ops copy = {lab_alloc((lists[i].n + 1) * sizeof(struct op)), lists[i].n};

		if (lists[i].n)
			memcpy(copy.v, lists[i].v, lists[i].n * sizeof(struct op));
		lists[i] = copy;
	}
	while (any && lab_now() < s.deadline) {
		any = false;
		for (size_t i = nlists; i-- > 0;) {
			size_t chunk = (lists[i].n + 1) / 2;

			for (; chunk > 0; chunk /= 2)
				any |= pass(&s, i, chunk);
		}
	}
}
