/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names in a tree belong to one file: found by reading every directory once, by the numbers
 * the directories themselves hold, so no file is looked at.
 */
#ifndef REIN_SANDBOX_LINKMAP_H
#define REIN_SANDBOX_LINKMAP_H

#include <stddef.h>
#include <stdint.h>

struct rein_linkname {
	uint64_t ino;
	char *path; /* relative to the tree */
};

struct rein_linkmap {
	struct rein_linkname *v; /* by number; only of files with two names or more in the tree */
	size_t n, cap;
};

/* Not entered: other mounts, and directories that cannot be read. -1: out of memory. */
int rein_linkmap_make(struct rein_linkmap *m, int root);
/* The first name of a file, and how many stand there. */
size_t rein_linkmap_find(const struct rein_linkmap *m, uint64_t ino, size_t *ret_n);
void rein_linkmap_done(struct rein_linkmap *m);

#endif
