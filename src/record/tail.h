/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the record from outside the module: all lines, and new ones as they come. */
#ifndef REIN_RECORD_TAIL_H
#define REIN_RECORD_TAIL_H

#include <stdio.h>

#include <rein/record.h>

#include "base/str.h"
#include "record/prune.h"

struct rein_line {
	uint64_t index, segment, offset;
	struct rein_str text; /* without newline */
};

typedef int rein_line_fn(void *arg, const struct rein_line *line, struct rein_err *err);

/* Every line that is kept, oldest first. */
int rein_record_lines(const char *state_dir, rein_line_fn *fn, void *arg, struct rein_err *err);
/* Lines from a number on, for ever; flush (may be NULL) is flushed after each round. Ends on error
 * or when flush can no longer be written. */
int rein_record_follow(const char *state_dir, uint64_t from, rein_line_fn *fn, void *arg,
		       FILE *flush, struct rein_err *err);
int rein_record_list_holds(const char *state_dir, struct rein_hold **ret, size_t *n,
			   struct rein_err *err);
void rein_record_retention(const struct rein_record *r, uint64_t *keep_ns, uint64_t *keep_bytes);
/* Number and bytes of the segments on disk. */
int rein_record_size(const char *state_dir, uint64_t *segments, uint64_t *bytes,
		     struct rein_err *err);
void rein_record_hex(const uint8_t *p, size_t n, char *out);	/* 2n + 1 bytes */
bool rein_record_unhex(const char *s, size_t n, uint8_t *out); /* n bytes */

#endif
