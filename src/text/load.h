/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diffs and merges of text, from a module loaded when first needed.
 *
 *	struct rein_text *text = NULL;
 *
 *	if (rein_text_load(NULL, &text, &err) < 0) ...
 *	rein_text_diff(text, &before, &after, 3, emit, ctx, &stat, &err);
 *	rein_text_free(text);
 *
 * Binary or huge content is never handed on: stat says so and nothing is emitted.
 */
#ifndef REIN_TEXT_LOAD_H
#define REIN_TEXT_LOAD_H

#include "base/buf.h"
#include "text/module.h"

struct rein_text;

#define REIN_TEXT_SIZE_MAX ((size_t)64 << 20) /* a side larger than this is "huge" */

struct rein_text_stat {
	uint64_t added, removed; /* lines */
	bool binary;		 /* one side is not text: nothing was compared */
	bool huge;		 /* one side is over the limit: nothing was compared */
};

/*
 * path NULL: rein-text.so beside this program, then in ../lib/rein (also with the machine's own
 * library directory between), then where it was installed.
 */
int rein_text_load(const char *path, struct rein_text **ret, struct rein_err *err);
void rein_text_free(struct rein_text *t); /* NULL is fine */

/* Like git: a NUL among the first 8000 bytes. */
bool rein_text_is_binary(struct rein_str s);

/* emit NULL: only count. */
int rein_text_diff(const struct rein_text *t, const struct rein_text_side *before,
		   const struct rein_text_side *after, unsigned context, rein_text_emit emit,
		   void *ctx, struct rein_text_stat *ret, struct rein_err *err);
/* The same into a buffer. */
int rein_text_diff_buf(const struct rein_text *t, const struct rein_text_side *before,
		       const struct rein_text_side *after, unsigned context, struct rein_buf *out,
		       struct rein_text_stat *ret, struct rein_err *err);

/*
 * Merge what two sides made of base. *ret_conflict: out holds conflict markers. Binary or huge
 * content is REIN_E_UNSUPPORTED. out is appended to, and unchanged on failure.
 */
int rein_text_merge(const struct rein_text *t, const struct rein_text_merge_in *in,
		    struct rein_buf *out, bool *ret_conflict, struct rein_err *err);

/*
 * Which of these regular files (paths relative to dir) could be had back from the repository around
 * dir: it has them with the content they have now. No repository: none.
 */
int rein_text_tracked(const struct rein_text *t, const char *dir, const char *const *paths, size_t n,
		      bool *ret, struct rein_err *err);

#endif
