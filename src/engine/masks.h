/* SPDX-License-Identifier: Apache-2.0 */
/* The masks of a run's trees: what is not seen in each, and Rein's own store where it lies inside
 * one. */
#ifndef REIN_ENGINE_MASKS_H
#define REIN_ENGINE_MASKS_H

#include "engine/engine.h"

/*
 * What is hidden in each tree of the view: fills r->masks, links and foreign. What the policy protects of
 * the rest becomes read-only in the view.
 */
int rein_masks_find(const struct rein_engine *e, struct rein_run *r, struct rein_err *err);
/* They become those of the roots of the transaction, which is open now. */
int rein_masks_give(const struct rein_engine *e, struct rein_run *r, struct rein_err *err);
/* After the box is gone: they keep what it sees. */
void rein_masks_done(struct rein_run *r);

#endif
