/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as it is: every name with type, content, mode, owner, links, times and attributes, taken
 * without changing anything, file access times included. Two pictures are compared exactly; what is
 * allowed to differ is said in struct tree_rules and nowhere else.
 *
 * Sparseness: the bytes SEEK_DATA reports may exceed the other side's by TREE_SPARSE_SLACK (block
 * rounding, and copies that fill holes below one copy step); a hole may be where data was zero.
 * Access and change times are not compared. Attributes of overlayfs itself are never allowed.
 */
#ifndef REIN_LAB_TREE_H
#define REIN_LAB_TREE_H

#include "lab.h"

#include <sys/stat.h>

#define TREE_SPARSE_SLACK (1 << 20)

struct tree_entry {
	char *path; /* relative; "." is the top */
	struct stat st;
	uint64_t hash;	     /* of the content, holes read as zero */
	uint64_t data_bytes; /* as SEEK_DATA finds them */
	char *target;	     /* of a symbolic link, else NULL */
	char *attrs;	     /* "name=bytes;" as words, sorted by name */
	bool foreign_attrs;  /* overlayfs's own attributes are there */
	size_t first;	     /* index of the first entry with the same inode */
};

struct tree {
	struct tree_entry *v; /* sorted by path, bytewise */
	size_t n;
	struct timespec start; /* when the run began whose result this is; zero: no run */
	struct timespec taken;
};

struct tree_rules {
	/*
	 * Times that a run left to the clock: equal when on both sides they lie between the
	 * tree's start and its taking. Without this, times are equal or not.
	 */
	bool clock_times;
	/*
	 * A deleted name of a file with several names lives on in the undo store, and counts: such
	 * a file may show more links than expected. How often that was is added here. NULL: no.
	 */
	unsigned *extra_links;
	bool loose_directory_times; /* two ran at once: a directory's time is either's */
	bool inodes;		    /* the inode numbers must be the same, too */
};

void tree_take(struct tree *t, const char *path, struct timespec start);
void tree_done(struct tree *t);
/* Append what differs, at most a dozen lines, to why. True when nothing does. */
bool tree_equal(const struct tree *want, const struct tree *got, struct tree_rules rules,
		struct lab_text *why);
const struct tree_entry *tree_find(const struct tree *t, const char *path);

#endif
