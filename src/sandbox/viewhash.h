/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fast 64-bit hash for naming our own files and noticing damage. Not cryptographic: whatever is
 * found under a hashed name also carries the full name, and is compared with it.
 */
#ifndef REIN_SANDBOX_VIEWHASH_H
#define REIN_SANDBOX_VIEWHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t rein_hash_mix_(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xd1b54a32d192ed03ull);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t rein_hash64(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = rein_hash_mix_(seed, n), w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = rein_hash_mix_(h, w);
	}
	w = 0;
	if (n)
		memcpy(&w, p, n);
	return rein_hash_mix_(h ^ 0x8ebc6af09c88c6e3ull, w);
}

#endif
