/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run really did to files: the private upper directory read against the real tree. Reads
 * only; run it after the last process of the box is dead.
 */
#ifndef REIN_EFFECTS_SCAN_H
#define REIN_EFFECTS_SCAN_H

#include "model/change.h"
#include "model/linked.h"
#include "model/root.h"

/*
 * Append the changes of one root. begin_ns is when the transaction began, in the clock of the
 * root's filesystem: whatever has a later ctime changed outside and clashes. linked: what the box
 * reported of files with several names (rein_box_result.linked), sorted.
 */
int rein_scan(const struct rein_root *root, uint32_t index, int64_t begin_ns,
	      const struct rein_linked_list *linked, struct rein_changes *out, struct rein_err *err);
/* After all roots: order, renames, hard links. */
int rein_scan_finish(const struct rein_root *roots, const struct rein_linked_list *linked,
		     struct rein_changes *out, struct rein_err *err);

#endif
