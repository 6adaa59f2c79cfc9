/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subvolumes of btrfs: directories in one mount between which nothing can be renamed, as if each were a filesystem of
 * its own.
 */
#ifndef REIN_SYS_SUBVOL_H
#define REIN_SYS_SUBVOL_H

#include "base/err.h"
#include "base/strlist.h"

/*
 * Those below dir that lie in no other one, as absolute paths: the ones that can be written to, and the ones that nobody
 * can (snapshots, mostly). None on other filesystems; one that may not be looked up is left out.
 */
int rein_subvolumes(const char *dir, struct rein_strlist *ret, struct rein_strlist *ret_ro, struct rein_err *err);

#endif
