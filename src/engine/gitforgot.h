/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git was told is gone because the command could not see it: `git commit -a` and `git add -A` in a box take a
 * tracked file that is hidden there for a deleted one. The file itself stays; the next person who checks the commit
 * out misses it.
 */
#ifndef REIN_ENGINE_GITFORGOT_H
#define REIN_ENGINE_GITFORGOT_H

#include "model/decision.h"
#include "txn/content.h"

/* Sets REIN_CHANGE_FORGOT in facts, which are parallel to the changes: of an index that lacks what a mask hid. */
int rein_gitforgot_mark(const struct rein_content *content, const struct rein_changes *c,
			struct rein_change_fact *facts, struct rein_err *err);

#endif
