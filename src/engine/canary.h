/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canaries: files nobody has a reason to read, such as credentials that are none. The box gets a copy of
 * each, mounted at its place: nobody else opens that one, and opening it is seen (through an overlay it
 * would not be).
 */
#ifndef REIN_ENGINE_CANARY_H
#define REIN_ENGINE_CANARY_H

#include "base/strlist.h"
#include "model/box.h"

struct rein_canaries {
	struct rein_strlist paths; /* watched ones, in the order of their watches */
	int *watches;
	size_t cap;
	int fd; /* inotify, or -1 */
	char events[1024]; /* read and not yet told of, from `at` to `n` */
	size_t at, n;
	struct rein_strlist copies;
	struct rein_path_rule *rules; /* the view's, and these */
	size_t nrules;
};

/*
 * Of these, copy to `dir` and watch the files that are there. *c is all to be undone by
 * rein_canaries_done.
 */
int rein_canaries_open(struct rein_canaries *c, const struct rein_strlist *paths, const char *dir,
		       const struct rein_path_rule *rules, size_t nrules, struct rein_err *err);
/* The next one that was opened, or NULL. */
const char *rein_canaries_next(struct rein_canaries *c);
void rein_canaries_done(struct rein_canaries *c);

#endif
