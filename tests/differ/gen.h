/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random trees and random sequences of operations on them. The result depends on the seed and the
 * options alone. The generator keeps a rough picture of the tree, so that most operations mean
 * something; it need not be right, because an operation that fails must fail alike everywhere.
 */
#ifndef REIN_DIFFER_GEN_H
#define REIN_DIFFER_GEN_H

#include "../lab/ops.h"

struct gen_options {
	uint64_t seed;
	unsigned nops;
	bool root;	     /* the tree may have foreign owners and capabilities */
	bool chown;	     /* operations may change owners (the run has the capabilities) */
	bool readable;	     /* the tester has no privilege: nothing it cannot read */
	bool one_name_only;  /* never touch the second name of a hard-linked file */
	const char *without; /* operations to leave out, by name, separated by commas; or NULL */
	uint32_t uid, gid;   /* who the operations run as */
};

/* setup makes the tree; then n sequences of operations, each meant for the tree setup made. */
void gen_sequence(const struct gen_options *o, struct ops *setup, struct ops *run);
/*
 * Two sequences for one tree. Apart: each stays below a directory of its own; the names of the two
 * directories are "left" and "right".
 */
void gen_pair(const struct gen_options *o, bool apart, struct ops *setup, struct ops run[2]);

#endif
