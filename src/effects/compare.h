/* SPDX-License-Identifier: Apache-2.0 */
/* One file in upper against one in the real tree, which need not have the same name. */
#ifndef REIN_EFFECTS_COMPARE_H
#define REIN_EFFECTS_COMPARE_H

#include "base/err.h"
#include "base/fp.h"

struct rein_pair {
	int upper, real; /* directories */
	const char *upper_name, *real_name;
};

/* 1 same content, 0 not, negative error. Both of one type, no directories. */
int rein_pair_same(const struct rein_pair *p, const struct rein_fp *up, const struct rein_fp *real,
		   struct rein_err *err);
/* Which attributes differ, as bits of enum rein_change_what. */
int rein_pair_attrs(const struct rein_pair *p, uint8_t *ret, struct rein_err *err);

#endif
