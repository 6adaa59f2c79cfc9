/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a file carries besides its bytes: mode, owner, times, extended attributes (with ACLs and
 * capabilities among them). Overlay's own attributes are never part of it; what a program stored
 * under an escaped overlay name comes back under its own.
 */
#ifndef REIN_SYS_ATTR_H
#define REIN_SYS_ATTR_H

#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/pack.h"

struct rein_xattr {
	char *name;
	char *value;
	uint32_t size;
};

struct rein_attrs {
	uint32_t mode, uid, gid; /* mode with the type */
	int64_t atime_ns, mtime_ns;
	struct rein_xattr *x; /* sorted by name */
	size_t nx, cap;
};

enum rein_attr_bits { /* which of them */
	REIN_ATTR_MODE = 1,
	REIN_ATTR_OWNER = 2,
	REIN_ATTR_MTIME = 4,
	REIN_ATTR_XATTR = 8,
	REIN_ATTR_ATIME = 16,
	REIN_ATTR_ALL = 31,
};

void rein_attrs_done(struct rein_attrs *a);
/* Of dirfd/name, not following links; name "" is dirfd itself (which must not be O_PATH). */
int rein_attrs_read(int dirfd, const char *name, struct rein_attrs *ret, struct rein_err *err);
/* Which of them differ (atime never does). */
unsigned rein_attrs_differ(const struct rein_attrs *a, const struct rein_attrs *b);
/*
 * Give dirfd/name these, touching only what `bits` names. Idempotent. Extended attributes that are
 * not in `a` are removed, except those a label system owns. Without privilege an owner that cannot
 * be given is an error only if it really differs.
 */
int rein_attrs_apply(int dirfd, const char *name, const struct rein_attrs *a, unsigned bits,
		     struct rein_err *err);
void rein_attrs_pack(struct rein_buf *b, const struct rein_attrs *a);
int rein_attrs_unpack(struct rein_unpack *u, struct rein_attrs *ret);

/* Remove overlay's own attributes from dirfd/name and give escaped ones their names back. */
int rein_attrs_strip_overlay(int dirfd, const char *name, uint32_t mode, struct rein_err *err);
/* Is this directory opaque to the overlay? */
bool rein_attrs_opaque(int dirfd, const char *name);
/*
 * What the overlay noted about this regular file. Without privilege it notes only that it is a copy,
 * and only for files with one name; as root also of which file, for all.
 */
enum rein_origin {
	REIN_ORIGIN_NONE = 0, /* nothing: new, or a copy it does not tell */
	REIN_ORIGIN_OTHER,    /* a copy, but not of real/path, as far as is known */
	REIN_ORIGIN_THIS,
};
enum rein_origin rein_attrs_origin(int dirfd, const char *name, int real, const char *path);

#endif
