/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group for one box, made only when a limit asks for it. Version 2 where this process may
 * make groups with controllers in them (root, or a delegated subtree), else version 1 as root, else
 * none: that is no failure, `why` tells the reason and others keep the limits.
 *
 * The group lies below the group we are in, so that limits around us hold for the box too, and is named
 * after us. The box joins by itself, by writing "0" to the `join` descriptors before it does anything
 * else: moving another process costs the kernel a hundred times as much.
 */
#ifndef REIN_SANDBOX_CGROUP_H
#define REIN_SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/limits.h"

enum rein_ctl {
	REIN_CTL_MEMORY,
	REIN_CTL_PIDS,
	REIN_CTL_CPU,
	REIN_CTL_CPUACCT, /* version 1 only */
	REIN_CTL_FREEZER, /* version 2 only, and always there */
	REIN_CTL__MAX,
};

struct rein_cgroup {
	int version;		   /* 0: none */
	int dir[REIN_CTL__MAX];	   /* -1: not to be had; version 2: all the same directory */
	char *path[REIN_CTL__MAX]; /* to be removed; NULL where another controller's is the same */
	int join[REIN_CTL__MAX];
	size_t njoin;
	char why[160]; /* why there is none, or less than there could be */
};

struct rein_cgroup_sample {
	uint64_t memory, memory_peak; /* bytes; 0: unknown */
	uint64_t oom_kills;
	uint64_t processes, refused; /* forks refused for pids.max */
	uint64_t cpu_ns;
};

/* Find out what there is; nothing is made. */
int rein_cgroup_version(char *why, size_t size);
/* Make one with these limits. Fails only if the kernel refuses a limit; version 0 is success. */
int rein_cgroup_make(const struct rein_limits *l, struct rein_cgroup *ret, struct rein_err *err);
void rein_cgroup_read(const struct rein_cgroup *g, struct rein_cgroup_sample *ret);
/* All of it stands still, or goes on, when this returns 0. */
int rein_cgroup_freeze(const char *path, bool freeze, struct rein_err *err);
/*
 * Its freezer's directory; NULL: it has none. Version 1's is left alone: what it holds cannot be killed
 * before somebody thaws it, and a box must not outlive whoever would.
 */
const char *rein_cgroup_freezer(const struct rein_cgroup *g);
/* The group of this name below ours, in every hierarchy: that of a runtime that was killed, whose processes are ending. */
void rein_cgroup_remove_below(const char *name);
/* The box is dead: take the group away, and those of reins that died. NULL-safe by `version`. */
void rein_cgroup_remove(struct rein_cgroup *g);

#endif
