/* SPDX-License-Identifier: Apache-2.0 */
/* Trees: remove and copy whole ones, faithfully, never following a link or leaving a mount. */
#ifndef REIN_SYS_TREE_H
#define REIN_SYS_TREE_H

#include "base/err.h"
#include "base/fp.h"

/* Remove dirfd/name with all below it. Absent is success. Directories we own are made writable. */
int rein_tree_remove(int dirfd, const char *name, struct rein_err *err);
/*
 * Copy what is at src/name to dst/to (which must not exist): data with holes, links between files
 * inside the copy, attributes, fifos and sockets. Overlay's attributes stay behind.
 */
int rein_tree_copy(int src, const char *name, int dst, const char *to, struct rein_err *err);
/*
 * One of several copies into the same dst: links between files of all of them are kept. Zeroed at first.
 */
struct rein_copies {
	struct rein_copied *v;
	size_t n, cap;
};
int rein_tree_copy_one(int src, const char *name, int dst, const char *to, struct rein_copies *others,
		       struct rein_err *err);
void rein_copies_done(struct rein_copies *c);
/* mkdir -p below dirfd (relative, no ".."), mode 0700 for new ones. */
int rein_mkdirs(int dirfd, const char *path, struct rein_err *err);

/*
 * Visit every entry below dirfd/name, parents before children. path is relative to name's
 * directory and starts with name. Return non-zero from the visitor to stop.
 */
struct rein_visit {
	int dirfd;	  /* directory holding the entry */
	const char *name; /* entry in dirfd */
	const char *path;
	struct rein_fp fp;
};
typedef int (*rein_visit_fn)(const struct rein_visit *v, void *arg, struct rein_err *err);
int rein_tree_walk(int dirfd, const char *name, rein_visit_fn fn, void *arg, struct rein_err *err);

/* Names in a directory, sorted; "." and ".." left out. */
struct rein_names {
	char **v;
	size_t n, cap;
};
void rein_names_done(struct rein_names *names);
/*
 * Open a directory, not through a link. A walk holds one a level open: where the process's limit
 * of open files is reached, it is raised as far as it may be.
 */
int rein_open_sub(int dirfd, const char *name);
int rein_names_read(int dirfd, const char *name, struct rein_names *ret, struct rein_err *err);

#endif
