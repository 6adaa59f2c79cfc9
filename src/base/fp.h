/* SPDX-License-Identifier: Apache-2.0 */
/* Identity and state of an inode, as stat told. mode == 0: nothing is there. */
#ifndef REIN_BASE_FP_H
#define REIN_BASE_FP_H

#include <stdbool.h>
#include <stdint.h>

struct rein_fp {
	uint64_t dev, ino, size, rdev;
	int64_t mtime_ns, ctime_ns, atime_ns;
	int64_t born_ns; /* 0 where the filesystem does not tell; not kept on disk */
	uint32_t mode, uid, gid, nlink;
	bool fixed; /* immutable or append-only; not kept on disk either */
};

static inline bool rein_fp_same_inode(const struct rein_fp *a, const struct rein_fp *b)
{
	return a->mode && b->mode && a->dev == b->dev && a->ino == b->ino;
}

#endif
