/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a directory where rename(2) answers EXDEV: overlayfs does not rename a directory that exists
 * in a lower layer. The tree is rebuilt beside the target from hard links (which keep every byte and
 * every attribute, copy nothing that was copied before, and leave the source as it is), put in place
 * with one rename, and only then the source is removed.
 *
 * [M1] Until the rename, a failure leaves source and target as they were, and no trace of the attempt.
 * [M2] Nothing is followed: no symbolic link, no mount. All names are relative to held descriptors.
 */
#ifndef REIN_SANDBOX_MOVE_H
#define REIN_SANDBOX_MOVE_H

#include <stdatomic.h>
#include <stdbool.h>

/* Half-built trees are called this and a random number; nobody else's names begin so. */
#define REIN_MOVE_PREFIX ".rein-mv."

struct rein_move_opts {
	unsigned flags;		 /* of renameat2 */
	const atomic_bool *stop; /* becomes true: the move ends as if it had failed (-EINTR); or NULL */
	/* called for every file before it gets another name; or NULL */
	void (*hold)(void *arg, int dir, const char *name);
	/* copies a list of access rights that cannot be set; 0 or -1; or NULL */
	int (*copy_acl)(void *arg, int from, int to, const char *name);
	void *arg;
};

/*
 * Move directory name in directory from to target in directory to. Returns 0 or a negative errno;
 * -EXDEV if it cannot be done faithfully.
 */
int rein_move_dir(int from, const char *name, int to, const char *target,
		  const struct rein_move_opts *how);

#endif
