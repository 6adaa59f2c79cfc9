/* SPDX-License-Identifier: Apache-2.0 */
/* See review.h. */
#include "model/review.h"

static void cut(struct rein_reviews *r, size_t n)
{
	while (r->n > n)
		rein_strlist_done(&r->v[--r->n].by);
}

void rein_reviews_done(struct rein_reviews *r)
{
	cut(r, 0);
	rein_free(r->v);
	*r = (struct rein_reviews){0};
}

struct rein_review *rein_reviews_add(struct rein_reviews *r)
{
	if (rein_grow(r->v, r->n, r->cap) < 0)
		return NULL;
	r->v[r->n] = (struct rein_review){0};
	return &r->v[r->n++];
}

int rein_reviews_join(struct rein_reviews *to, const struct rein_reviews *from)
{
	const size_t before = to->n;

	for (size_t i = 0; i < from->n; i++) {
		struct rein_review *x = rein_reviews_add(to);

		if (!x)
			goto fail;
		x->minimum = from->v[i].minimum;
		x->until_ns = from->v[i].until_ns;
		for (size_t k = 0; k < from->v[i].by.n; k++)
			if (rein_strlist_add(&x->by, from->v[i].by.v[k]) < 0)
				goto fail;
	}
	return 0;
fail:
	cut(to, before);
	return -1;
}
