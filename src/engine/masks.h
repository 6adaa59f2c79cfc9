/* SPDX-License-Identifier: Apache-2.0 */
/* The masks of a run's trees: what is not seen in each, and Rein's own store where it lies inside
 * one. */
#ifndef REIN_ENGINE_MASKS_H
#define REIN_ENGINE_MASKS_H

#include "engine/engine.h"

/* Fills r->masks and the roots' mask, links and foreign of a transaction that is open. */
int rein_masks_make(const struct rein_engine *e, struct rein_run *r, struct rein_err *err);
/* After the box is gone: they keep what it sees. */
void rein_masks_done(struct rein_run *r);

#endif
