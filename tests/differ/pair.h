/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two transactions on one workspace. Held one after the other and then committed in either order,
 * or run and committed at the same time. The tree must become what both sequences give one after
 * the other, or the later commit is refused as a conflict and changes nothing. When the two touch
 * different directories only, neither may be refused.
 */
#ifndef REIN_DIFFER_PAIR_H
#define REIN_DIFFER_PAIR_H

#include "case.h"

struct pair {
	struct sequence s; /* seed, caps, setup; its run is not used */
	struct ops run[2];
	bool apart;   /* the sequences touch different directories */
	bool at_once; /* both run at the same time with --commit */
	int first;    /* held: which is committed first */
};

void pair_run(struct differ *d, const struct pair *p, struct verdict *ret);

#endif
