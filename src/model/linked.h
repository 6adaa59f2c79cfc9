/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with several names that a box copied into its private layer, and which real file each copy
 * is. The overlay forgets it; the supervisor, which keeps the names together, writes it down.
 */
#ifndef REIN_MODEL_LINKED_H
#define REIN_MODEL_LINKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/fp.h"

struct rein_linked {
	uint32_t root;
	uint64_t ino;	 /* the copy's, in the root's upper directory, */
	int64_t born_ns; /* and when it was made: a number may be given out again */
	uint64_t real_ino;
	char *path; /* a name the real file had when the box began, relative to the root */
};

struct rein_linked_list {
	struct rein_linked *v;
	size_t n, cap;
};

void rein_linked_done(struct rein_linked_list *l);
/* Takes path over, also on failure (-1: out of memory, or no path). */
int rein_linked_add(struct rein_linked_list *l, const struct rein_linked *x, char *path);
/* Everything of from, which is empty then; sorted, so that it can be searched. */
int rein_linked_merge(struct rein_linked_list *to, struct rein_linked_list *from);
/* What real file is this one in upper a copy of? NULL: of none that has several names. */
const struct rein_linked *rein_linked_find(const struct rein_linked_list *l, uint32_t root,
					   const struct rein_fp *upper);

#endif
