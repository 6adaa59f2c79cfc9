/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one directory for the index: its times, the directories in it, the names that match. */
#ifndef REIN_SANDBOX_HIDESCAN_H
#define REIN_SANDBOX_HIDESCAN_H

#include <sys/stat.h>

#include "base/buf.h"
#include "sandbox/hideindex.h"

#define REIN_HIDESCAN_DIR UINT32_MAX /* instead of a match's flags: a directory to enter */

/* What one reading of a directory gave. Names lie in text, one after the other, terminated. */
struct rein_hidescan {
	struct statx sx;
	uint32_t flags;
	struct rein_buf text;
	struct rein_hidematch *v; /* directories to enter and matches, as they came; name: offset into text */
	size_t n, cap;
	size_t ndirs; /* of them directories to enter */
	unsigned git; /* which of HEAD, objects, refs were seen */
};

/* statx of what the index keeps; path "" is fd itself. */
int rein_hidescan_look(int fd, const char *path, struct statx *ret);
/*
 * Read path below root_fd, which is the tree; mount is its mount id. What cannot be read is in the
 * flags; -1 only when out of memory or descriptors. May be used again and again.
 */
int rein_hidescan_read(const struct rein_hideindex_opts *o, int root_fd, uint64_t mount, const char *path,
		       struct rein_hidescan *l);
/* Inode, times, owner, mode and flags as they were read, into a record. */
void rein_hidescan_times(const struct rein_hidescan *l, struct rein_hidedir *d);
void rein_hidescan_done(struct rein_hidescan *l);

#endif
