/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process that is started now would be born with: who we are and what we may, our limits, our
 * namespaces, root directory and control group, how we are scheduled, which signals are ignored. Two equal
 * texts mean: a process started then is what one started now would be. Mounts are not in it, see pool.c;
 * descriptors, directory and environment are given to a box with its plan.
 */
#ifndef REIN_SANDBOX_SITUATION_H
#define REIN_SANDBOX_SITUATION_H

#include <stdbool.h>

#include "base/buf.h"

/* False: it cannot be told. */
bool rein_situation(struct rein_buf *ret);

#endif
