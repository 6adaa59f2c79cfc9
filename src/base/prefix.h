/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thing that is meant by the beginning of its name, of those that are offered one by one:
 *
 *	struct rein_prefix p = {.name = name};
 *	rein_prefix_offer(&p, i, v[i].id);		... of each
 *	if (p.n > 1)
 *		return rein_prefix_refuse(&p, REIN_E_USAGE, "boxes", err);
 *	if (p.n == 1)
 *		... v[p.at]
 *
 * The whole name means that one, whatever else begins with it; an empty one, a variable that was not set, means nothing.
 */
#ifndef REIN_BASE_PREFIX_H
#define REIN_BASE_PREFIX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rein_prefix {
	const char *name;
	size_t n;  /* how many it may mean */
	size_t at; /* the last of them */
	bool whole;
	char first[128]; /* their names, as many as fit into a sentence */
};

void rein_prefix_offer(struct rein_prefix *p, size_t at, const char *name);
/* It may mean several `things`: says which. */
int rein_prefix_refuse(const struct rein_prefix *p, int code, const char *things, struct rein_err *err);

#endif
