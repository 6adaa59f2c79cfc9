/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has to look at something before it may happen, how many of them, and until when. One thing may
 * wait for several reviews, of several rules; all of them must be satisfied.
 */
#ifndef REIN_MODEL_REVIEW_H
#define REIN_MODEL_REVIEW_H

#include <stdint.h>

#include "base/strlist.h"

struct rein_review {
	unsigned minimum; /* people who say yes; 0 counts as 1 */
	uint64_t until_ns; /* afterwards it is rejected; 0: it waits for ever */
	struct rein_strlist by; /* users or groups; none: anybody */
};

struct rein_reviews {
	struct rein_review *v;
	size_t n, cap;
};

void rein_reviews_done(struct rein_reviews *r);
/* One more, to be filled in; NULL: out of memory. */
struct rein_review *rein_reviews_add(struct rein_reviews *r);
/* Those of `from` as well; -1: out of memory, and *to is as it was. */
int rein_reviews_join(struct rein_reviews *to, const struct rein_reviews *from);

#endif
