/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading back what rein_buf_le32/le64 wrote: a cursor with a sticky failure. Strings are length
 * and bytes; nothing is trusted, a read past the end yields zeros and sets failed.
 */
#ifndef REIN_BASE_PACK_H
#define REIN_BASE_PACK_H

#include "base/buf.h"

struct rein_unpack {
	const unsigned char *p;
	size_t n;
	bool failed;
};

uint32_t rein_unpack_le32(struct rein_unpack *u);
uint64_t rein_unpack_le64(struct rein_unpack *u);
struct rein_str rein_unpack_str(struct rein_unpack *u); /* a view into the input */
char *rein_unpack_cstr(struct rein_unpack *u);		/* a copy; NULL if failed or if it holds a NUL */

void rein_pack_str(struct rein_buf *b, struct rein_str s);
/* 64-bit checksum against torn and mistaken files, not against an attacker. */
uint64_t rein_checksum(const void *p, size_t n);

#endif
