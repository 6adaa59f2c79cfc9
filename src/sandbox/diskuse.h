/* SPDX-License-Identifier: Apache-2.0 */
/* How much a box's private layers hold. */
#ifndef REIN_SANDBOX_DISKUSE_H
#define REIN_SANDBOX_DISKUSE_H

#include "model/box.h"

/*
 * What a name costs at least, with the inode behind it. Filesystems differ in that and in what they tell: where inodes are
 * made with the filesystem they take no block, btrfs counts none at all. So it is the same everywhere.
 */
#define REIN_DISKUSE_NAME 512

struct rein_diskuse {
	uint64_t bytes;	  /* allocated, in the layers, the scratch directories; with attributes and names */
	uint64_t largest; /* size of the largest file, in the layers only */
	uint64_t free;	  /* left on the layers' file systems */
	bool closed;	  /* there is a directory that could not be looked into */
};

/* By walking all of it: 2 ms a thousand files. */
void rein_diskuse_walk(const struct rein_box_spec *spec, struct rein_diskuse *ret);
/* Only `free`, which costs nothing. */
void rein_diskuse_free(const struct rein_box_spec *spec, struct rein_diskuse *ret);

#endif
