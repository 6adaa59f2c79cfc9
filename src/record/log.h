/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces an append is made of; log.c has the invariants. Nobody outside the record includes this.
 * All but the first two want the append lock (rein_log_begin).
 */
#ifndef REIN_RECORD_LOG_H
#define REIN_RECORD_LOG_H

#include "record/internal.h"

#define REIN_NO_HEAD  UINT64_MAX
#define REIN_LOG_SLOT 2048 /* two of state in the state file, then the bell */

int rein_log_lock(int fd, struct rein_err *err);
int rein_log_write_at(int fd, const void *p, size_t n, uint64_t offset);

bool rein_log_state_read(struct rein_record *r);
int rein_log_state_write(struct rein_record *r, struct rein_err *err);
int rein_published_write(struct rein_record *r, struct rein_str line, uint64_t segment,
			 uint64_t offset, struct rein_err *err);

struct rein_buf *rein_lines_clear(struct rein_lines *l);
/* The line begins at `from` in the text; gives it its newline and its leaf. */
int rein_lines_end(struct rein_lines *l, size_t from, struct rein_err *err);

int rein_log_segment_open(struct rein_record *r, uint64_t segment, struct rein_err *err);
int rein_log_segment_make(struct rein_record *r, uint64_t segment, struct rein_err *err);
int rein_log_key(struct rein_record *r, struct rein_err *err);
/* Writes a head or rotate line behind what is there; the line's text is left in r->own. */
int rein_log_head(struct rein_record *r, enum rein_head_type type, const uint8_t *pub,
		  struct rein_err *err);
/* [L6] What a sync may have lost is written again from the page cache. */
int rein_log_rewrite(struct rein_record *r, const struct rein_published *pub, struct rein_err *err);

#endif
