/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 6962 trees: appending by peaks, proofs by recursion over ranges, checks as in RFC 9162. */
#include "record/merkle.h"

#include <string.h>

static void node(const struct rein_hash *l, const struct rein_hash *r, struct rein_hash *ret)
{
	uint8_t b[65];

	b[0] = 1;
	memcpy(b + 1, l->b, 32);
	memcpy(b + 33, r->b, 32);
	rein_sha256(b, sizeof(b), ret->b);
}

void rein_merkle_leaf(const void *line, size_t n, struct rein_hash *ret)
{
	struct rein_sha256 s;

	rein_sha256_init(&s);
	rein_sha256_add(&s, "", 1);
	rein_sha256_add(&s, line, n);
	rein_sha256_end(&s, ret->b);
}

void rein_merkle_push(struct rein_merkle *m, const struct rein_hash *leaf)
{
	unsigned np = rein_merkle_npeaks(m->n);
	struct rein_hash h = *leaf;

	for (uint64_t bits = m->n; bits & 1; bits >>= 1)
		node(&m->peak[--np], &h, &h);
	m->peak[np] = h;
	m->n++;
}

void rein_merkle_root(const struct rein_merkle *m, struct rein_hash *ret)
{
	unsigned np = rein_merkle_npeaks(m->n);

	if (!np) {
		rein_sha256("", 0, ret->b);
		return;
	}
	*ret = m->peak[np - 1];
	for (unsigned i = np - 1; i-- > 0;)
		node(&m->peak[i], ret, ret);
}

/* Largest power of two smaller than n (n >= 2). */
static uint64_t split(uint64_t n)
{
	return 1ull << (63 - __builtin_clzll(n - 1));
}

/* Ranges wholly before the first leaf are known only where they are one of the peaks. */
static bool peak_of(const struct rein_merkle *m, uint64_t lo, uint64_t hi, struct rein_hash *ret)
{
	uint64_t at = 0;
	unsigned i = 0;

	for (int bit = 63; bit >= 0; bit--) {
		uint64_t size = 1ull << bit;

		if (!(m->n & size))
			continue;
		if (at == lo && at + size == hi) {
			*ret = m->peak[i];
			return true;
		}
		at += size;
		i++;
	}
	return false;
}

static bool range(const struct rein_leaves *l, uint64_t lo, uint64_t hi, struct rein_hash *ret)
{
	struct rein_hash a, b;

	if (hi <= l->before.n)
		if (peak_of(&l->before, lo, hi, ret))
			return true;
	if (hi - lo == 1) {
		if (lo < l->before.n || lo - l->before.n >= l->nleaves)
			return false;
		*ret = l->leaf[lo - l->before.n];
		return true;
	}
	if (hi <= l->before.n)
		return false;
	if (!range(l, lo, lo + split(hi - lo), &a) || !range(l, lo + split(hi - lo), hi, &b))
		return false;
	node(&a, &b, ret);
	return true;
}

bool rein_merkle_inclusion(const struct rein_leaves *l, uint64_t index, uint64_t size,
			   struct rein_proof *ret)
{
	struct rein_hash rev[REIN_MERKLE_PEAKS * 2];
	uint64_t lo = 0, hi = size;
	unsigned n = 0;

	if (index >= size || index < l->before.n || size > l->before.n + l->nleaves)
		return false;
	while (hi - lo > 1) { /* from the root down; the path is told from the leaf up */
		uint64_t mid = lo + split(hi - lo);
		bool left = index < mid;

		if (!(left ? range(l, mid, hi, &rev[n]) : range(l, lo, mid, &rev[n])))
			return false;
		n++;
		if (left)
			hi = mid;
		else
			lo = mid;
	}
	ret->n = n;
	for (unsigned i = 0; i < n; i++)
		ret->h[i] = rev[n - 1 - i];
	return true;
}

bool rein_merkle_consistency(const struct rein_leaves *l, uint64_t old_size, uint64_t size,
			     struct rein_proof *ret)
{
	struct rein_hash rev[REIN_MERKLE_PEAKS * 2];
	uint64_t lo = 0, hi = size, m = old_size;
	unsigned n = 0;
	bool whole = true; /* the old tree is a complete left part: its root need not be told */

	ret->n = 0;
	if (old_size == 0 || old_size > size || size > l->before.n + l->nleaves)
		return false;
	if (old_size == size)
		return true;
	while (m != hi) {
		uint64_t mid = lo + split(hi - lo);

		if (m <= mid) {
			if (!range(l, mid, hi, &rev[n++]))
				return false;
			hi = mid;
		} else {
			if (!range(l, lo, mid, &rev[n++]))
				return false;
			lo = mid;
			whole = false;
		}
	}
	if (!whole && !range(l, lo, hi, &rev[n++]))
		return false;
	ret->n = n;
	for (unsigned i = 0; i < n; i++)
		ret->h[i] = rev[n - 1 - i];
	return true;
}

bool rein_merkle_check_inclusion(const struct rein_hash *leaf, uint64_t index, uint64_t size,
				 const struct rein_proof *p, const struct rein_hash *root)
{
	struct rein_hash r = *leaf;
	uint64_t fn = index, sn = size - 1;

	if (index >= size)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		if (sn == 0)
			return false;
		if ((fn & 1) || fn == sn) {
			node(&p->h[i], &r, &r);
			while (!(fn & 1) && fn) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			node(&r, &p->h[i], &r);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(r.b, root->b, 32) == 0;
}

bool rein_merkle_check_consistency(uint64_t old_size, const struct rein_hash *old_root,
				   uint64_t size, const struct rein_hash *root,
				   const struct rein_proof *p)
{
	struct rein_hash fr, sr;
	uint64_t fn = old_size - 1, sn = size - 1;
	unsigned i = 0;

	if (old_size == 0 || old_size > size)
		return false;
	if (old_size == size)
		return p->n == 0 && memcmp(old_root->b, root->b, 32) == 0;
	while (fn & 1) {
		fn >>= 1;
		sn >>= 1;
	}
	if ((old_size & (old_size - 1)) == 0) {
		fr = *old_root;
	} else {
		if (p->n == 0)
			return false;
		fr = p->h[i++];
	}
	sr = fr;
	for (; i < p->n; i++) {
		if (sn == 0)
			return false;
		if ((fn & 1) || fn == sn) {
			node(&p->h[i], &fr, &fr);
			node(&p->h[i], &sr, &sr);
			while (!(fn & 1) && fn) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			node(&sr, &p->h[i], &sr);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(fr.b, old_root->b, 32) == 0 && memcmp(sr.b, root->b, 32) == 0;
}
