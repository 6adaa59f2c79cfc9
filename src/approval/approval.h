/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose yes counts. The only person Rein can tell from another is the user it runs as: by the name the
 * system has for him, and by the groups he is in. A review that wants one of these has it by his yes. One
 * that wants somebody else, or two people, cannot have it from him alone, however often he says so, and
 * what waits for it does not happen.
 */
#ifndef REIN_APPROVAL_APPROVAL_H
#define REIN_APPROVAL_APPROVAL_H

#include <stdbool.h>

#include "base/err.h"
#include "model/decision.h"
#include "model/review.h"

struct rein_person {
	char *name; /* of his user, or the number where it has none */
	struct rein_strlist groups;
};

/* Who runs this. */
int rein_person_self(struct rein_person *ret, struct rein_err *err);
void rein_person_done(struct rein_person *p);

/* What a decision to ask or to hold asks for, added; nothing where any one yes will do for ever. */
int rein_review_of(const struct rein_decision *d, uint64_t now_ns, struct rein_reviews *to, struct rein_err *err);

/*
 * Is this person's yes all that is still missing? 0, or what is missing besides: REIN_E_APPROVAL, and
 * REIN_E_DENIED for what was to be answered by now.
 */
int rein_reviews_check(const struct rein_reviews *r, const struct rein_person *p, uint64_t now_ns,
		       struct rein_err *err);
/* The same for whoever runs this, whose name is only looked up where it matters. */
int rein_reviews_check_self(const struct rein_reviews *r, struct rein_err *err);

#endif
