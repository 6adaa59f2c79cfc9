/* SPDX-License-Identifier: Apache-2.0 */
/* Can this kernel lead a network to a gate? */
#ifndef REIN_SANDBOX_NET_TRY_H
#define REIN_SANDBOX_NET_TRY_H

#include <stdbool.h>

/* In a fresh network namespace of the caller's: 0, or the errno of the first refusal. */
int rein_net_try(bool *held);

#endif
