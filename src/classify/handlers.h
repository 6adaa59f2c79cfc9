/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each program whose arguments need code; the table is in handlers.c. */
#ifndef REIN_CLASSIFY_HANDLERS_H
#define REIN_CLASSIFY_HANDLERS_H

#include "classify/internal.h"

#define X(n) struct data h_##n(struct ctx *cx, struct call *c);
KNOW_HANDLERS(X)
#undef X

/* What a program prints of what it read. */
static inline struct data h_finish(const struct ctx *cx, const struct call *c)
{
	return data_unknown(cx->seen | c->io->in.taint);
}

#endif
