/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the index module share; nobody else includes this. */
#ifndef REIN_RECORD_INDEX_DB_H
#define REIN_RECORD_INDEX_DB_H

#include <sqlite3.h>

#include "record/index.h"
#include "record/internal.h"

enum {
	ADD_EVENT,
	ADD_TEXT,
	ADD_SHAPE,
	GET_SHAPE,
	ADD_FEATURE,
	ADD_POST,
	ADD_OP,
	SET_OP,
	ADD_WORD,
	GET_WORD,
	SET_META,
	GET_META,
	NSTMT
};

struct rein_index {
	sqlite3 *db;
	sqlite3_stmt *stmt[NSTMT];
	int dirfd, lock_fd, seg_fd;
	uint64_t seg_open;
	char *path;
	uint64_t next_line, segment, offset; /* where indexing goes on */
	uint64_t last_offset, last_len;
	struct rein_hash last_hash;
	unsigned in_batch;
	struct {
		char text[64];
		sqlite3_int64 id;
	} words[256]; /* small cache of interned words */
};

int rein_index_err(struct rein_index *x, struct rein_err *err, const char *what);
int rein_index_run(struct rein_index *x, const char *text, struct rein_err *err);
/* The prepared statement, reset; NULL when it could not be prepared. */
sqlite3_stmt *rein_index_get(struct rein_index *x, int which);
void rein_index_bind(sqlite3_stmt *s, int i, struct rein_str v);
bool rein_index_done(sqlite3_stmt *s); /* stepped to its end and reset */
/* 0 when the word is empty or unknown. */
sqlite3_int64 rein_index_word(struct rein_index *x, struct rein_str w, bool make);
bool rein_index_meta_set(struct rein_index *x, const char *key, const void *p, size_t n, uint64_t v);
/* A line of the log into out; false when it is not there (any more). */
bool rein_index_line(struct rein_index *x, uint64_t segment, uint64_t offset, uint64_t len,
		     char *out);

int rein_index_catch_up(struct rein_index *x, struct rein_err *err);
int rein_index_query(struct rein_index *x, const struct rein_filter *f, uint64_t limit,
		     uint64_t before, rein_index_fn *fn, void *arg, struct rein_err *err);
int rein_index_story(struct rein_index *x, const char *id, rein_index_fn *fn, void *arg,
		     struct rein_err *err);
int rein_index_similar(struct rein_index *x, struct rein_str command, struct rein_similar *ret,
		       unsigned max, struct rein_err *err);

#endif
