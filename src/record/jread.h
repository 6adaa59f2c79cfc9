/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON that others wrote: strict RFC 8259, bounded in size, depth and number of nodes,
 * no recursion, no surprises (duplicate keys, bad UTF-8, lone surrogates and trailing bytes
 * are errors). Nodes live in one array of the caller; strings are views of the text until
 * rein_jread_text unescapes them.
 */
#ifndef REIN_RECORD_JREAD_H
#define REIN_RECORD_JREAD_H

#include "base/buf.h"

enum rein_jtype {
	REIN_J_NONE = 0,
	REIN_J_NULL,
	REIN_J_FALSE,
	REIN_J_TRUE,
	REIN_J_INT,    /* integer without fraction and exponent */
	REIN_J_NUMBER, /* any other number */
	REIN_J_STRING,
	REIN_J_ARRAY,
	REIN_J_OBJECT,
};

struct rein_jnode {
	enum rein_jtype type;
	bool escaped;	     /* STRING: holds a backslash */
	struct rein_str key; /* raw, when the parent is an object; keys with escapes are refused */
	struct rein_str raw; /* STRING: between the quotes; numbers: the digits */
	unsigned next;	     /* index of the next sibling, 0 = none */
	unsigned child;	     /* first member or element, 0 = none */
};

#define REIN_JREAD_DEPTH 16

/* node[0] is the value. Returns 0, or -REIN_E_INVALID naming the byte, or -REIN_E_LIMIT. */
int rein_jread(struct rein_str text, struct rein_jnode *node, unsigned max, struct rein_err *err);
/* Member of an object node, or 0 when there is none. */
unsigned rein_jread_member(const struct rein_jnode *node, unsigned object, const char *key);
/* The string's bytes; appended to arena (which must not move: reserve it) when it has escapes. */
bool rein_jread_text(const struct rein_jnode *n, struct rein_buf *arena, struct rein_str *ret);
bool rein_jread_u64(const struct rein_jnode *n, uint64_t *ret);
bool rein_jread_i64(const struct rein_jnode *n, int64_t *ret);

#endif
