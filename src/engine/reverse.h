/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the way of an undo or a redo, and its ways out. */
#ifndef REIN_ENGINE_REVERSE_H
#define REIN_ENGINE_REVERSE_H

#include "engine/engine.h"

/*
 * Checks the real tree against what an undo (forward: a redo) expects there, and settles what the patterns
 * name: `ours` leaves a file as it is now, `theirs` puts the transaction's other version in its place all the
 * same; what it replaces is kept, and comes back with the way back. So does a git index that was only refreshed.
 * Files with several names and whole directories can be neither; but a name that a redo gives or takes can. What stays in
 * the way: REIN_E_CONFLICT.
 */
int rein_resolve_reverse(struct rein_engine *e, const struct rein_tx *t, struct rein_changes *c, bool forward,
			 const struct rein_strlist *ours, const struct rein_strlist *theirs, struct rein_err *err);

/* What would settle a conflict that is left, by bits; 0: neither option. */
enum rein_reverse_way {
	REIN_WAY_OURS = 1 << 0,	    /* its path */
	REIN_WAY_OURS_TOP = 1 << 1, /* the directory it comes with (rein_top_of) */
	REIN_WAY_THEIRS = 1 << 2,
};
unsigned rein_reverse_ways(const struct rein_tx *t, const struct rein_changes *c, size_t i, bool forward);

#endif
