/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run did to files: one change a path, as found in the private upper directory and compared
 * with the real tree. The list is made by effects, carried out by txn, shown by the command line.
 *
 * A change is `top` when it stands for itself: a created or deleted directory is one top change,
 * what lies inside it is listed for people and for later checks but moves with its directory.
 */
#ifndef REIN_MODEL_CHANGE_H
#define REIN_MODEL_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fp.h"

enum rein_change_kind {
	REIN_CHANGE_CREATED = 1,
	REIN_CHANGE_MODIFIED, /* content, target or type is another */
	REIN_CHANGE_DELETED,
	REIN_CHANGE_META, /* only mode, owner, times or attributes */
};

enum rein_change_what { /* bits of rein_change.what, for MODIFIED and META */
	REIN_WHAT_CONTENT = 1,
	REIN_WHAT_MODE = 2,
	REIN_WHAT_OWNER = 4,
	REIN_WHAT_TIMES = 8,
	REIN_WHAT_XATTR = 16,
	REIN_WHAT_TYPE = 32,
};

enum rein_through { /* a changed file with several names, none of which is where it was */
	REIN_THROUGH_NOTHING = 0,
	REIN_THROUGH_ATTRS,
	REIN_THROUGH_CONTENT, /* and attributes */
};

enum rein_clash { /* why a change cannot be committed */
	REIN_CLASH_NONE = 0,
	REIN_CLASH_CHANGED,	/* the real path changed since the transaction began */
	REIN_CLASH_EXISTS,	/* created here, and meanwhile outside too */
	REIN_CLASH_GONE,	/* the real path, or its directory, is gone */
	REIN_CLASH_HIDDEN,	/* would overwrite or delete what was hidden from the box */
	REIN_CLASH_LINKS,	/* two names of one hard-linked file went different ways */
	REIN_CLASH_LATER,	/* undo: later work is in the way */
	REIN_CLASH_UNTIED,	/* link_to is gone, or another file by now */
};

struct rein_change {
	char *path; /* relative to the root's real directory; "" is the directory itself */
	char *from; /* created by renaming this deleted path, or NULL */
	struct rein_fp before; /* the real path when the box ended */
	struct rein_fp after;  /* in upper; after a commit: the real path */
	uint32_t root;
	uint8_t kind;
	uint8_t what;
	uint8_t clash;
	bool top;
	bool renamed_away; /* a DELETED that is the source of another change's rename */
	bool opaque;	   /* a directory that replaces the real one as a whole, and is like it but for what is inside */
	bool skipped;	   /* left out of the commit (--only, --except, --ours) */
	bool decided;	   /* left out for good: it is held for no other time (--ours); not on disk */
	bool parted;	   /* was one file in the run with what is left out, or is left out so; not on disk */
	bool in_place;	   /* the real file itself, still under this name, was changed */
	uint8_t through;   /* with link_to: what of the new state the real file must get */
	uint64_t link_ino; /* with link_to: the file's number */
	char *link_to;	   /* this name shares its file with that real path, or NULL */
	char *merged;	   /* what this attempt commits instead of the run's text, or NULL; not on disk */
	size_t merged_n;
};

struct rein_changes {
	struct rein_change *v;
	size_t n, cap;
};

struct rein_summary {
	uint64_t created, modified, deleted, renamed, meta, clashes;
	uint64_t bytes_new, bytes_old; /* sizes of what came and of what went */
};

void rein_changes_done(struct rein_changes *c);
/* Appends a zeroed change; takes ownership of path (freed on failure too). NULL: out of memory. */
struct rein_change *rein_changes_add(struct rein_changes *c, uint32_t root, char *path);
void rein_changes_sort(struct rein_changes *c); /* by root, then path */
/* Of a sorted list, where the first change of this path is; its length: nowhere. */
size_t rein_changes_find(const struct rein_changes *c, uint32_t root, const char *path);
void rein_changes_sum(const struct rein_changes *c, struct rein_summary *ret);

/* Binary form with a checksum; parse trusts nothing. */
void rein_changes_format(const struct rein_changes *c, struct rein_buf *b);
int rein_changes_parse(struct rein_str in, struct rein_changes *ret, struct rein_err *err);

const char *rein_clash_text(int clash);
const char *rein_change_kind_name(int kind);

/* Same inode in the same state. Directories: their names may differ, so neither size nor times. */
bool rein_fp_equal(const struct rein_fp *a, const struct rein_fp *b);

#endif
