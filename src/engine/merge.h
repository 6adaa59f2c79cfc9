/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts and their ways out: keep ours, take theirs, merge text three ways. */
#ifndef REIN_ENGINE_MERGE_H
#define REIN_ENGINE_MERGE_H

#include "engine/engine.h"

/*
 * Checks the real tree against the changes and settles what the patterns name: `ours` keeps the
 * workspace's version (the change is skipped, and decided: nothing holds it), `theirs` takes the
 * transaction's, merge joins text that changed on both sides and directories that both made; a git
 * index that was only refreshed is no conflict.
 * What stays in conflict keeps its clash: REIN_E_CONFLICT. What was hidden from the command can only be kept.
 */
int rein_resolve(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		 const struct rein_strlist *ours, const struct rein_strlist *theirs, bool merge,
		 struct rein_err *err);

#endif
