/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is like, apart from its particulars: program, subcommand, options, kinds of path,
 * hosts. Two commands with the same features did the same kind of thing. Pure.
 */
#ifndef REIN_RECORD_SHAPE_H
#define REIN_RECORD_SHAPE_H

#include "base/buf.h"

#define REIN_SHAPE_FEATURES 24

struct rein_shape {
	char feature[REIN_SHAPE_FEATURES][64]; /* sorted, no duplicates; first byte = kind */
	unsigned n;
};

void rein_shape_of(struct rein_str command, struct rein_shape *ret);
double rein_shape_weight(const char *feature);

#endif
