/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 and HMAC-SHA-256. Own code because the record hashes on every start of `rein`, where a
 * library would cost more than the hashing: uses the processor's SHA instructions when it has them.
 */
#ifndef REIN_RECORD_SHA256_H
#define REIN_RECORD_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define REIN_SHA256_LEN 32

struct rein_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

void rein_sha256_init(struct rein_sha256 *s);
void rein_sha256_add(struct rein_sha256 *s, const void *p, size_t n);
void rein_sha256_end(struct rein_sha256 *s, uint8_t out[REIN_SHA256_LEN]);
void rein_sha256(const void *p, size_t n, uint8_t out[REIN_SHA256_LEN]);
void rein_hmac_sha256(const void *key, size_t nkey, const void *p, size_t n,
		      uint8_t out[REIN_SHA256_LEN]);
/* Test hook: use the portable code even where the processor could do better. */
void rein_sha256_portable(int on);

#endif
