/* SPDX-License-Identifier: Apache-2.0 */
/* The table that leads from a name in a knowledge file to code. */
#include "classify/handlers.h"

struct data h_none(struct ctx *cx, struct call *c)
{
	(void)cx;
	(void)c;
	return data_unknown(0);
}

const handler_fn handlers[HANDLE__MAX] = {
#define X(n) [HANDLE_##n] = HANDLE_##n == HANDLE_none ? NULL : h_##n,
	KNOW_HANDLERS(X)
#undef X
};
