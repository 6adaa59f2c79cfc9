/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filesystem operations as data: one a line, words separated by blanks, odd bytes as %XX. The same
 * list runs natively and in a box, and gives one errno an operation. A list is made, cut down and
 * replayed without knowing what the operations mean.
 *
 *	put d/f 0644 100 7		create or overwrite with 100 bytes made from seed 7
 *	rename d e
 *
 * ops_table in ops.c lists them all. Paths are relative to the current directory.
 */
#ifndef REIN_LAB_OPS_H
#define REIN_LAB_OPS_H

#include "lab.h"

struct op {
	unsigned kind; /* index into the table */
	char *s[2];    /* paths, names, values; NUL-terminated, values may hold NUL too */
	size_t sn[2];
	int64_t n[4];
};

struct ops {
	struct op *v;
	size_t n;
};

/* Inode numbers of directories that were renamed or exchanged, and of those inside them. */
struct op_log {
	uint64_t *moved;
	size_t nmoved;
};

/* Build an operation by name: arguments as the table says (strings const char *, numbers int64_t).
 */
void ops_add(struct ops *o, const char *name, ...);
void ops_add_value(struct ops *o, const char *name, const char *path, const char *attr,
		   const void *value, size_t n);
void ops_parse(struct ops *o, const char *text, size_t n); /* dies on a malformed line */
void ops_format(const struct ops *o, struct lab_text *t);
void ops_format_one(const struct op *op, struct lab_text *t);
const char *ops_name(const struct op *op);
bool ops_is_path(const struct op *op, int i); /* s[i] is a path or a link's target */
/* The operations whose bit is set; shares the strings, so free only the array. */
struct ops ops_select(const struct ops *o, const bool *keep);
void ops_done(struct ops *o);

/* Run them in the current directory; errnos[i] is 0 or the errno of operation i. log may be NULL.
 */
void ops_run(const struct ops *o, uint16_t *errnos, struct op_log *log);
/* Give every entry under the current directory, and it itself, an old time made from its path. */
void ops_stamp(uint64_t seed);
/* Every fifth seed leaves the access times as they came: many files share one, as after unpacking.
 */
bool ops_stamps_together(uint64_t seed);

#endif
