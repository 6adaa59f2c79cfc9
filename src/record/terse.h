/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords behind options that do not say so. */
#ifndef REIN_RECORD_TERSE_H
#define REIN_RECORD_TERSE_H

#include <stdint.h>

#include "base/str.h"

/* How far one text was read, once and in order; zeroed at its beginning. */
struct rein_terse {
	size_t at;
	uint32_t open;	/* programs of the command there */
	char quote[32]; /* a program's: the quote that was opened since its name, or 0 */
};

/* The next one that begins at or after from; ask again with the same state for the next after it. */
bool rein_terse_next(struct rein_terse *s, struct rein_str text, size_t from, size_t *ret_at, size_t *ret_len);

#endif
