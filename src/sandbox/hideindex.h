/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of a tree and the names in them that look like secrets, remembered between runs.
 * A run asks the kernel for each known directory's times once and reads again only those that
 * changed, so its cost is per directory and not per file.
 *
 * [H1] An index that is damaged, of another tree or made by other rules is made anew, never used.
 * [H2] A directory is taken as known only if its inode, mtime and ctime are what they were when it
 *      was read, and it was read later than the clock's grain after its ctime; one that could not
 *      be read, only if it still cannot.
 * [H3] Times are taken before names, so that a change in between is seen the next time.
 * [H4] The file is replaced by rename: others see the old one or the new one, whole.
 *
 * Not entered: .git directories (a branch may be called x.key), directories of installed packages
 * (node_modules, site-packages: public, and deleted as a whole by their tools), other mounts,
 * Rein's state. Directories that cannot be read are skipped.
 *
 * Beside the secrets: does the tree hold files with several names? A link made to a file changes the
 * directory of the new name only, which is why the index tells it of trees and not of files. Of
 * directories of installed packages a sample is looked at (installers link all files or none).
 */
#ifndef REIN_SANDBOX_HIDEINDEX_H
#define REIN_SANDBOX_HIDEINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	REIN_HIDEDIR_MOUNT = 1 << 0,  /* another mount: not entered */
	REIN_HIDEDIR_CLOSED = 1 << 1, /* could not be read */
	REIN_HIDEDIR_BLIND = 1 << 2,  /* not even its times could be seen */
	REIN_HIDEDIR_RACY = 1 << 3,   /* changed too recently to be sure: [H2] */
	REIN_HIDEDIR_GIT = 1 << 4,    /* holds HEAD, objects and refs, as a bare repository does */
	REIN_HIDEDIR_VENV = 1 << 5,   /* a Python environment, often called .env */
	REIN_HIDEDIR_PRUNED = 1 << 6, /* not entered, by rule */
	REIN_HIDEDIR_LINKS = 1 << 7,  /* holds files with several names, or may */
};

enum {
	REIN_HIDEMATCH_DIR = 1 << 0,   /* the match is a directory */
	REIN_HIDEMATCH_INNER = 1 << 1, /* hidden because of the directory it is in (secrets/) */
};

struct rein_hidedir {
	uint64_t ino;
	int64_t mtime_s, ctime_s;
	uint32_t mtime_ns, ctime_ns;
	uint32_t path;	 /* offset into strings; relative to the tree, "" for the tree itself */
	uint32_t parent; /* index; the tree itself is its own parent */
	uint32_t first_child, nchild; /* children stand together, as they were read */
	uint32_t first_match, nmatch;
	uint32_t uid, gid;
	uint32_t mode;
	uint32_t flags;
};

struct rein_hidematch {
	uint32_t name; /* offset into strings: the last component */
	uint32_t flags;
};

struct rein_hideindex {
	const struct rein_hidedir *dirs;
	const struct rein_hidematch *matches;
	const char *strings;
	uint32_t ndirs, nmatches, nstrings;
	uint32_t nread; /* directories read this time */
	bool written;
	bool links; /* some directory has REIN_HIDEDIR_LINKS, or could not be read */
	void *map; /* either mapped from the file … */
	size_t map_size;
	void *owned[3]; /* … or made: dirs, matches, strings */
};

#define REIN_HIDEINDEX_STRINGS ((size_t)1 << 31) /* all names together */

struct rein_hideindex_opts {
	const char *file;	     /* where it is kept; NULL keeps nothing */
	const char *real;	     /* the tree, resolved */
	int root_fd;		     /* the same, opened O_PATH or for reading */
	uint64_t skip_dev, skip_ino; /* a directory not to enter (Rein's state); 0: none */
	char *const *names;	     /* globs of one component: more names that look like secrets */
	const char *const *prune;    /* relative paths not to enter, NULL-terminated; or NULL */
	unsigned threads;	     /* for checking; 0: choose */
};

int rein_hideindex_get(const struct rein_hideindex_opts *opts, struct rein_hideindex *ret,
		       struct rein_err *err);
void rein_hideindex_done(struct rein_hideindex *x);
/* The last component of a directory's path. */
const char *rein_hideindex_name(const struct rein_hideindex *x, uint32_t dir);

/*
 * The bytes of an index file as an index, without copying; false if anything is wrong with them.
 * rules must be what it was made with. Pure.
 */
bool rein_hideindex_parse(const void *data, size_t n, uint64_t rules, const char *real,
			  struct rein_hideindex *ret);
/* Fill in the checksum of a file's bytes (for tests that damage everything else). */
void rein_hideindex_seal(void *data, size_t n);
uint64_t rein_hideindex_rules(const struct rein_hideindex_opts *opts);

/* Does this name look like a secret? Pure. */
bool rein_hide_name_matches(const char *name, size_t n);
/* Is a directory of this name not entered? */
bool rein_hide_name_no_entry(const char *name, size_t n);
/* Changes with the tables behind the two, so that an index made by others is not used. */
uint64_t rein_hide_names_hash(void);

#endif
