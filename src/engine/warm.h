/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that keep their overlay for the next one (sandbox/warm.h): when it is taken, when it fits,
 * when it is left. All of it is a matter of speed: whatever cannot be done leaves a run as it is
 * without.
 */
#ifndef REIN_ENGINE_WARM_H
#define REIN_ENGINE_WARM_H

#include "engine/engine.h"

/* Before the transaction is opened: take what is there, and have git write nothing where it only
 * looks. */
int rein_engine_warm_open(const struct rein_engine *e, const struct rein_run_opts *o,
			  struct rein_run *r, struct rein_err *err);
/* The transaction has its masks: is what was taken made of the same? Else watch the tree, for a new
 * one. */
int rein_engine_warm_fit(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err);
/* The run is over and its box has come down: leave what it has, if it changed nothing. True: the
 * transaction is gone. */
bool rein_engine_warm_close(const struct rein_engine *e, struct rein_run *r);

#endif
