/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy's `validate:` commands: each must succeed inside the box, on what the run left, before
 * anything is committed. They run in the same transaction, so that they see its changes; what they
 * write themselves is part of it.
 */
#ifndef REIN_ENGINE_VALIDATE_H
#define REIN_ENGINE_VALIDATE_H

#include "engine/engine.h"

/*
 * 0: all passed, or there is nothing to do. 1: one did not, or is an untrusted project's and not allowed
 * by the rules; r->judged.after holds the transaction and says which. The list of changes is read anew when
 * something ran.
 */
int rein_validate(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		  struct rein_err *err);

#endif
