/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delta debugging: take away as many operations as possible while the same assertion still fails.
 * Works on a set of lists (the tree's, the sequence's); asks the caller whether a cut still fails.
 * At the end odd and long names become short ones if it still fails with these.
 */
#ifndef REIN_DIFFER_SHRINK_H
#define REIN_DIFFER_SHRINK_H

#include "../lab/ops.h"

typedef bool (*shrink_fails)(void *ctx, const struct ops *lists);

/*
 * Replaces the lists by smaller ones: arrays newly made; strings shared with the old, or new and
 * never freed (a failing tester is about to end).
 */
void shrink(struct ops *lists, size_t nlists, shrink_fails fails, void *ctx, double seconds);

#endif
