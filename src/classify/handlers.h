/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each program whose arguments need code; the table is in handlers.c. */
#ifndef REIN_CLASSIFY_HANDLERS_H
#define REIN_CLASSIFY_HANDLERS_H

#include "classify/internal.h"

#define X(n) struct data h_##n(struct ctx *cx, struct call *c);
KNOW_HANDLERS(X)
#undef X

/* A fact about this word. */
static inline void h_fact(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level, enum rein_reach reach,
			  struct range at, struct rein_str what, const char *why)
{
	fact(cx, kind, level, reach, at, show(cx, what), why);
}

/* What a program prints of what it read. */
static inline struct data h_finish(const struct ctx *cx, const struct call *c)
{
	return data_unknown(cx->seen | c->io->in.taint);
}

#endif
