/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that only read. Most of what an agent runs looks at the tree and changes nothing: for these
 * the verdict is turned into a wall. The trees are shown as they are, read-only, at the speed of the
 * bare command; there is no layer to make, to search and to remove. Whoever was judged wrongly is
 * refused by the kernel, where an overlay would have let him write.
 */
#ifndef REIN_ENGINE_READER_H
#define REIN_ENGINE_READER_H

#include "engine/engine.h"

/*
 * Of a run that was judged and whose masks are known. Nothing may be hidden in the trees, because only
 * an overlay hides by name, and nobody may have asked for more than a run that passes.
 */
bool rein_engine_only_reads(const struct rein_engine *e, const struct rein_run_opts *o, const struct rein_run *r);

/*
 * Who only reads, and has a layer all the same because something is hidden: git then leaves its index as it is. Otherwise
 * every git status would be a transaction, and the one an undo means.
 */
int rein_engine_read_lightly(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err);

#endif
