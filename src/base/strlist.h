/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing list of owned strings, always terminated by NULL once something was added. A failed
 * append leaves the list as it was.
 */
#ifndef REIN_BASE_STRLIST_H
#define REIN_BASE_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"

struct rein_strlist {
	char **v;
	size_t n, cap;
};

static inline void rein_strlist_done(struct rein_strlist *l)
{
	for (size_t i = 0; i < l->n; i++)
		rein_free(l->v[i]);
	rein_free(l->v);
	*l = (struct rein_strlist){0};
}

#define auto_strlist auto_(rein_strlist_done)

/* Takes s over, also on failure (it is freed then); NULL s is a failure. */
static inline int rein_strlist_take(struct rein_strlist *l, char *s)
{
	if (!s || rein_grow(l->v, l->n + 1, l->cap) < 0) {
		rein_free(s);
		return -1;
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
	return 0;
}

static inline int rein_strlist_add(struct rein_strlist *l, const char *s)
{
	return rein_strlist_take(l, rein_strdup(s));
}

static inline bool rein_strlist_has(const struct rein_strlist *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (rein_streq(l->v[i], s))
			return true;
	return false;
}

#endif
