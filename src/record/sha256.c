/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), portable and with x86 SHA instructions; the same answers either way. */
#include "record/sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

static const uint32_t K[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void blocks_portable(uint32_t st[8], const uint8_t *p, size_t n)
{
	for (; n; n--, p += 64) {
		uint32_t w[64], v[8];

		for (int i = 0; i < 16; i++)
			w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
			       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
		for (int i = 16; i < 64; i++) {
			uint32_t a = w[i - 15], b = w[i - 2];

			w[i] = w[i - 16] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[i - 7] +
			       (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
		}
		memcpy(v, st, sizeof(v));
		for (int i = 0; i < 64; i++) {
			uint32_t e = v[4], a = v[0];
			uint32_t t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
				      ((e & v[5]) ^ (~e & v[6])) + K[i] + w[i];
			uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
				      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

			memmove(v + 1, v, 7 * sizeof(v[0]));
			v[4] += t1;
			v[0] = t1 + t2;
		}
		for (int i = 0; i < 8; i++)
			st[i] += v[i];
	}
}

#if defined(__x86_64__)
/* Four rounds; a is the schedule word vector in use, b, c, d the following three. */
#define QUAD(i, a, b, c, d)                                                                        \
	do {                                                                                       \
		__m128i t = _mm_add_epi32(a, _mm_load_si128((const __m128i *)&K[4 * (i)]));        \
		s1 = _mm_sha256rnds2_epu32(s1, s0, t);                                             \
		s0 = _mm_sha256rnds2_epu32(s0, s1, _mm_shuffle_epi32(t, 0x0e));                    \
		if ((i) < 12)                                                                      \
			a = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b),         \
							       _mm_alignr_epi8(d, c, 4)),          \
						 d);                                               \
	} while (0)

__attribute__((target("sha,sse4.1"))) static void blocks_ni(uint32_t st[8], const uint8_t *p,
							    size_t n)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
	__m128i lo = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)st), 0xb1);
	__m128i hi = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(st + 4)), 0x1b);
	__m128i s0 = _mm_alignr_epi8(lo, hi, 8);	  /* a b e f */
	__m128i s1 = _mm_blend_epi16(hi, lo, 0xf0); /* c d g h */

	for (; n; n--, p += 64) {
		const __m128i *in = (const __m128i *)p;
		__m128i save0 = s0, save1 = s1;
		__m128i m0 = _mm_shuffle_epi8(_mm_loadu_si128(in), swap);
		__m128i m1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), swap);
		__m128i m2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), swap);
		__m128i m3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), swap);

		for (int i = 0; i < 16; i += 4) {
			QUAD(i, m0, m1, m2, m3);
			QUAD(i + 1, m1, m2, m3, m0);
			QUAD(i + 2, m2, m3, m0, m1);
			QUAD(i + 3, m3, m0, m1, m2);
		}
		s0 = _mm_add_epi32(s0, save0);
		s1 = _mm_add_epi32(s1, save1);
	}
	lo = _mm_shuffle_epi32(s0, 0x1b);
	hi = _mm_shuffle_epi32(s1, 0xb1);
	_mm_storeu_si128((__m128i *)st, _mm_blend_epi16(lo, hi, 0xf0));
	_mm_storeu_si128((__m128i *)(st + 4), _mm_alignr_epi8(hi, lo, 8));
}

/* The C library asked the processor at start; each question costs 20 us in a virtual machine. */
static int have_ni(void)
{
#if __has_include(<sys/platform/x86.h>)
	return CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1);
#else
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29) &&
	       __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 19);
#endif
}
#endif

static int portable; /* test hook */
static void (*blocks)(uint32_t st[8], const uint8_t *p, size_t n);

static void choose(void)
{
	blocks = blocks_portable;
#if defined(__x86_64__)
	if (!portable && have_ni())
		blocks = blocks_ni;
#endif
}

void rein_sha256_portable(int on)
{
	portable = on;
	choose();
}

void rein_sha256_init(struct rein_sha256 *s)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	if (!blocks)
		choose();
	memcpy(s->state, first, sizeof(first));
	s->bytes = 0;
}

void rein_sha256_add(struct rein_sha256 *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t have = s->bytes % 64;

	if (!n)
		return;
	s->bytes += n;
	if (have) {
		size_t take = n < 64 - have ? n : 64 - have;

		memcpy(s->block + have, p, take);
		p += take;
		n -= take;
		if (have + take < 64)
			return;
		blocks(s->state, s->block, 1);
	}
	if (n >= 64)
		blocks(s->state, p, n / 64);
	memcpy(s->block, p + (n & ~(size_t)63), n % 64);
}

void rein_sha256_end(struct rein_sha256 *s, uint8_t out[REIN_SHA256_LEN])
{
	uint64_t bits = s->bytes * 8;
	size_t have = s->bytes % 64;

	s->block[have++] = 0x80;
	if (have > 56) {
		memset(s->block + have, 0, 64 - have);
		blocks(s->state, s->block, 1);
		have = 0;
	}
	memset(s->block + have, 0, 56 - have);
	for (int i = 0; i < 8; i++)
		s->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
	blocks(s->state, s->block, 1);
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void rein_sha256(const void *p, size_t n, uint8_t out[REIN_SHA256_LEN])
{
	struct rein_sha256 s;

	rein_sha256_init(&s);
	rein_sha256_add(&s, p, n);
	rein_sha256_end(&s, out);
}

void rein_hmac_sha256(const void *key, size_t nkey, const void *p, size_t n,
		      uint8_t out[REIN_SHA256_LEN])
{
	uint8_t pad[64] = {0};
	struct rein_sha256 s;

	if (nkey > 64)
		rein_sha256(key, nkey, pad);
	else
		memcpy(pad, key, nkey);
	for (int i = 0; i < 64; i++)
		pad[i] ^= 0x36;
	rein_sha256_init(&s);
	rein_sha256_add(&s, pad, 64);
	rein_sha256_add(&s, p, n);
	rein_sha256_end(&s, out);
	for (int i = 0; i < 64; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	rein_sha256_init(&s);
	rein_sha256_add(&s, pad, 64);
	rein_sha256_add(&s, out, 32);
	rein_sha256_end(&s, out);
}
