/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping the names of a hard-linked file together in a box. Overlayfs copies such a file under the
 * one name it is changed through and leaves the others behind: from then on they are two files. Here
 * the copy is made beforehand and put under every name that still shows the real file, so that the
 * box goes on with one file; and it is written down which real file the copy is.
 *
 * [G1] Names are joined before the change is let through, and never to another file: each is looked
 *      at again, in the box and in the layers, right before.
 * [G2] A name that cannot be joined stays the real file. If it is changed later it becomes a second
 *      copy, which the list tells, so that the commit can refuse what went two ways.
 * [G3] No boundary: what gets past this is a copy nobody knows of, and a commit that is refused.
 */
#ifndef REIN_SANDBOX_LINKGROUP_H
#define REIN_SANDBOX_LINKGROUP_H

#include <stdbool.h>

#include "model/linked.h"
#include "model/root.h"

struct rein_linkgroups;

/*
 * box_root: the box's root directory, kept by the caller. indexed: the overlays may have an index, and
 * join names themselves when told to copy them. NULL: out of memory.
 */
struct rein_linkgroups *rein_linkgroups_new(const struct rein_root *roots, size_t n, int box_root,
					    bool indexed);
void rein_linkgroups_free(struct rein_linkgroups *g); /* NULL is fine */

/*
 * The file that fd (O_PATH, reached through the box's root) stands for is about to be changed,
 * linked or renamed. Cheap for one that has no other name.
 */
void rein_linkgroups_hold(struct rein_linkgroups *g, int fd);
/* The same thing in the private layer, O_PATH; -1 if it is not there. */
int rein_linkgroups_upper(struct rein_linkgroups *g, int fd);
/* What was found so far; the caller owns it. */
void rein_linkgroups_take(struct rein_linkgroups *g, struct rein_linked_list *ret);

#endif
