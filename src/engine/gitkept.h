/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which deleted files of git's nobody has lost: objects and packs that are in a pack the run made, references
 * that packed-refs has now, and git's notes on an operation that is over (a rebase, a bisection). Told by where
 * they lie and by what the new files say; what cannot be looked at counts as lost.
 */
#ifndef REIN_ENGINE_GITKEPT_H
#define REIN_ENGINE_GITKEPT_H

#include "model/decision.h"
#include "txn/content.h"

/* Sets REIN_CHANGE_KEPT in facts, which are parallel to the changes. */
int rein_gitkept_mark(const struct rein_content *content, const struct rein_changes *c,
		      struct rein_change_fact *facts, struct rein_err *err);

#endif
