/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the old and the new content of a change lie, in whatever state its transaction is: upper,
 * the real tree, or the undo store.
 */
#ifndef REIN_TXN_CONTENT_H
#define REIN_TXN_CONTENT_H

#include "txn/op.h"
#include "txn/txn.h"

struct rein_content {
	const struct rein_tx *t;
	struct rein_op_dirs dirs;
	struct rein_ops ops; /* empty before a commit */
	int *upper;
};

int rein_content_open(const struct rein_tx *t, struct rein_content *ret, struct rein_err *err);
void rein_content_done(struct rein_content *c);
/*
 * Find one side: *ret_fd is a directory the content lies below and *ret_path (owned by the caller)
 * its path there. *ret_path NULL: that side has none, or it is gone.
 */
int rein_content_find(const struct rein_content *c, const struct rein_change *x, bool after,
		      int *ret_fd, char **ret_path, struct rein_err *err);
/* One side of a change, at most max bytes of it. Absent or not a regular file: empty. */
int rein_content_read(const struct rein_content *c, const struct rein_change *x, bool after, size_t max,
		      struct rein_buf *b, struct rein_err *err);

#endif
