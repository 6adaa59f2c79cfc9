/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a box that change a file with several names: which they are, for the filter; and
 * which file one of them means, for the supervisor.
 */
#ifndef REIN_SANDBOX_WATCH_H
#define REIN_SANDBOX_WATCH_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum rein_watch_how {
	REIN_WATCH_FOLLOW = 0, /* a path; a symbolic link at its end is followed */
	REIN_WATCH_NOFOLLOW,
	REIN_WATCH_FD,	     /* a descriptor only */
	REIN_WATCH_AT,	     /* a path, and AT_SYMLINK_NOFOLLOW or AT_EMPTY_PATH; or no path */
	REIN_WATCH_LINK,     /* not followed unless AT_SYMLINK_FOLLOW says so */
	REIN_WATCH_OPEN,     /* O_* flags; matters only when opened for writing */
	REIN_WATCH_OPEN_HOW, /* the same in a struct */
	REIN_WATCH_NAME,     /* makes or removes it; only of interest where files are watched */
};

struct rein_watch_call {
	uint32_t nr;
	int8_t dir, path, flags; /* argument indices; -1: none */
	uint8_t how;
};

struct rein_watch_table {
	uint32_t arch;
	const struct rein_watch_call *v;
	size_t n; /* all, */
	size_t nfiles; /* of which those that change a file come first */
};

extern const struct rein_watch_table rein_watch_native;
#ifdef __x86_64__
extern const struct rein_watch_table rein_watch_i386;
#endif

/* O_PATH of what a path of the caller's leads to, inside box_root and nowhere else; -1 and errno. */
int rein_watch_open(pid_t pid, int box_root, int dirfd, const char *path, bool nofollow);
/* The row of a call, or NULL. */
const struct rein_watch_call *rein_watch_find(const struct seccomp_data *d);
/*
 * The file it is about to change, O_PATH, looked up as the caller would inside box_root; -1 if there
 * is none or it cannot be told. What opening does to the file is decided by the flags alone.
 */
int rein_watch_target(const struct rein_watch_call *c, const struct seccomp_notif *n, int box_root);

#endif
