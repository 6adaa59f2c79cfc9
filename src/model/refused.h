/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files a box was refused: by which path, whether it wanted to write or to read, why it could not.
 * Collected by the sandbox, kept with the transaction, told to people. One row a path and access;
 * bounded.
 */
#ifndef REIN_MODEL_REFUSED_H
#define REIN_MODEL_REFUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define REIN_REFUSED_MAX 1000u

struct rein_refused_file {
	char *path;	/* absolute, as the box names it */
	bool write;	/* else it was to be read */
	bool hidden;	/* else it is in a place that cannot be written to */
	int32_t pid;	/* who first tried, as seen outside */
	uint64_t at_ns; /* since the box began */
	uint64_t count;
};

struct rein_refused {
	struct rein_refused_file *v;
	size_t n, cap;
	uint64_t total; /* attempts; those of paths that did not fit, too */
};

void rein_refused_done(struct rein_refused *r);
/* Takes path over. The same path and access again is counted. */
void rein_refused_add(struct rein_refused *r, const struct rein_refused_file *x);
void rein_refused_pack(const struct rein_refused *r, struct rein_buf *b);
int rein_refused_unpack(struct rein_str data, struct rein_refused *ret, struct rein_err *err);

#endif
