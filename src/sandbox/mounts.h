/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount table of this process, read once. Points are unescaped and may hold any byte but NUL.
 * A point may occur more than once (stacked mounts): the last one is on top.
 */
#ifndef REIN_SANDBOX_MOUNTS_H
#define REIN_SANDBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rein_mount {
	uint32_t id, parent;
	uint32_t major, minor;
	const char *root; /* what part of the filesystem is mounted */
	const char *point;
	const char *fstype;
	bool ro; /* the mount or its filesystem is read-only */
};

struct rein_mounts {
	struct rein_mount *v;
	size_t n;
	char *text; /* the strings above point into it */
};

int rein_mounts_parse(const char *text, size_t n, struct rein_mounts *ret, struct rein_err *err);
/* path NULL: /proc/self/mountinfo */
int rein_mounts_read(const char *path, struct rein_mounts *ret, struct rein_err *err);
void rein_mounts_done(struct rein_mounts *m);

enum rein_fskind {
	REIN_FS_PSEUDO = 0, /* the kernel's own: never copied, never written */
	REIN_FS_REMOTE,	    /* another machine's, or a program's (FUSE) */
	REIN_FS_POOR,	    /* local, but cannot carry owners or extended attributes */
	REIN_FS_LOCAL,	    /* fit to be copied on write */
};
enum rein_fskind rein_mounts_kind(const char *fstype);

#endif
