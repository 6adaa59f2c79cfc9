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
int rein_scan_finish(const struct rein_root *roots, size_t n, const struct rein_strlist *renames,
		     struct rein_changes *out, struct rein_err *err);

#endif
