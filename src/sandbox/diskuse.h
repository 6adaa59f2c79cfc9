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
	time_t since;	  /* for the walk: what is older does not count */
};

/* A filesystem that a box writes to. */
struct rein_room {
	dev_t dev;
	uint64_t size, free; /* free: for everybody; where inodes get scarce first, in proportion to them */
};
#define REIN_ROOMS 8

/* By walking all of it: 2 ms a thousand files. */
void rein_diskuse_walk(const struct rein_box_spec *spec, struct rein_diskuse *ret);
/* The same of one filesystem; of scratch directories only what was changed since, as the box may not have made them. */
void rein_diskuse_walk_room(const struct rein_box_spec *spec, dev_t dev, time_t since, struct rein_diskuse *ret);
/* Which there are, each once, always in the same order; of more than REIN_ROOMS the first. */
size_t rein_diskuse_rooms(const struct rein_box_spec *spec, struct rein_room ret[REIN_ROOMS]);
/* Only `free`, which costs nothing. */
void rein_diskuse_free(const struct rein_box_spec *spec, struct rein_diskuse *ret);

#endif
