/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run really did to files: the private upper directory read against the real tree. Reads
 * only; run it after the last process of the box is dead.
 */
#ifndef REIN_EFFECTS_SCAN_H
#define REIN_EFFECTS_SCAN_H

#include "base/strlist.h"
#include "model/change.h"
#include "model/root.h"

/*
 * Append the changes of one root. begin_ns is when the transaction began, in the clock of the
 * root's filesystem: whatever has a later ctime changed outside and clashes. renames: what the box
 * reported of hard-linked files (rein_box_result.link_renames).
 */
int rein_scan(const struct rein_root *root, uint32_t index, int64_t begin_ns,
	      const struct rein_strlist *renames, struct rein_changes *out, struct rein_err *err);
/* After all roots: order, renames, hard links. */
int rein_scan_finish(const struct rein_root *roots, const int64_t *begin_ns,
		     const struct rein_strlist *renames, struct rein_changes *out,
		     struct rein_err *err);

/*
 * Can a file in upper be the overlay's copy of that real one, by its access time? Copies keep it.
 * Where somebody outside has read the real file since, any time from before the run will do.
 */
static inline bool rein_scan_may_be_copy(const struct rein_fp *up, const struct rein_fp *real,
					 int64_t begin_ns)
{
	return up->atime_ns == real->atime_ns ||
	       (real->atime_ns >= begin_ns && up->atime_ns < begin_ns);
}

#endif
