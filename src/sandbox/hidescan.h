/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one directory for the index: its times, the directories in it, the names that match. */
#ifndef REIN_SANDBOX_HIDESCAN_H
#define REIN_SANDBOX_HIDESCAN_H

#include <sys/stat.h>

#include "base/buf.h"
#include "sandbox/hideindex.h"

/* What one reading of a directory gave. Names lie in text, one after the other, terminated. */
struct rein_hidescan {
	struct statx sx;
	uint32_t flags;
	struct rein_buf text;
	struct rein_hidematch *v; /* as they came; flags UINT32_MAX: a directory to enter */
	size_t n, cap;
	const char **dirs; /* sorted names of the directories to enter */
	size_t ndirs, dirs_cap;
	struct rein_hidematch *matches; /* name: offset into text */
	size_t nmatches, matches_cap;
	unsigned git; /* which of HEAD, objects, refs were seen */
};

/* statx of what the index keeps; path "" is fd itself. */
int rein_hidescan_look(int fd, const char *path, struct statx *ret);
/*
 * Read path below o->root_fd; mount is the tree's mount id. What cannot be read is in the flags; -1
 * only when out of memory or descriptors. May be used again and again.
 */
int rein_hidescan_read(const struct rein_hideindex_opts *o, uint64_t mount, const char *path,
		       struct rein_hidescan *l);
void rein_hidescan_done(struct rein_hidescan *l);

#endif
