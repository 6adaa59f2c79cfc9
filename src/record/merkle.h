/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of RFC 6962 section 2.1 over SHA-256: leaf = H(0x00 line), node = H(0x01 left right),
 * the empty tree = H(). Pure: no I/O.
 *
 * A rein_merkle keeps only the roots of the complete subtrees on the left edge ("peaks", largest
 * first, as many as n has one-bits), which is all that appending and rooting need.
 */
#ifndef REIN_RECORD_MERKLE_H
#define REIN_RECORD_MERKLE_H

#include <stdbool.h>

#include "record/sha256.h"

#define REIN_MERKLE_PEAKS 48 /* a log of 2^48 lines is not reached */

struct rein_hash {
	uint8_t b[REIN_SHA256_LEN];
};

struct rein_merkle {
	uint64_t n;
	struct rein_hash peak[REIN_MERKLE_PEAKS];
};

static inline unsigned rein_merkle_npeaks(uint64_t n)
{
	return (unsigned)__builtin_popcountll(n);
}

void rein_merkle_leaf(const void *line, size_t n, struct rein_hash *ret);
void rein_merkle_push(struct rein_merkle *m, const struct rein_hash *leaf);
void rein_merkle_root(const struct rein_merkle *m, struct rein_hash *ret);

/* All leaf hashes of [first, first + nleaves), with the peaks of what lies before. */
struct rein_leaves {
	struct rein_merkle before; /* before.n == first */
	const struct rein_hash *leaf;
	uint64_t nleaves;
};

struct rein_proof {
	unsigned n;
	struct rein_hash h[2 * REIN_MERKLE_PEAKS];
};

/* False when the proof would need leaves that are not there (pruned) or the numbers make no sense. */
bool rein_merkle_inclusion(const struct rein_leaves *l, uint64_t index, uint64_t size,
			   struct rein_proof *ret);
bool rein_merkle_consistency(const struct rein_leaves *l, uint64_t old_size, uint64_t size,
			     struct rein_proof *ret);
bool rein_merkle_check_inclusion(const struct rein_hash *leaf, uint64_t index, uint64_t size,
				 const struct rein_proof *p, const struct rein_hash *root);
bool rein_merkle_check_consistency(uint64_t old_size, const struct rein_hash *old_root,
				   uint64_t size, const struct rein_hash *root,
				   const struct rein_proof *p);

#endif
