/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other names of what is hidden. A hidden symbolic link hides its target, if that is in the tree; a
 * file with several hard links that is hidden, or lies in a hidden directory, is hidden under all of
 * its names in the tree. The second reads every directory again, so it is done only when there is
 * such a file. Symbolic links deeper in a hidden directory are not followed.
 */
#ifndef REIN_SANDBOX_HIDELINKS_H
#define REIN_SANDBOX_HIDELINKS_H

#include "base/strlist.h"
#include "sandbox/hideindex.h"

/* Adds to paths (relative to real). -1 when out of memory. */
int rein_hidelinks_add(const struct rein_hideindex *x, const char *real, int root_fd,
		       struct rein_strlist *paths);

#endif
