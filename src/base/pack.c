/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian records: the writer is buf, the careful reader is here. */
#include "base/pack.h"

#include "base/alloc.h"

static const unsigned char *take(struct rein_unpack *u, size_t n)
{
	const unsigned char *p = u->p;

	if (u->failed || n > u->n) {
		u->failed = true;
		return NULL;
	}
	u->p += n;
	u->n -= n;
	return p;
}

uint32_t rein_unpack_le32(struct rein_unpack *u)
{
	const unsigned char *p = take(u, 4);

	if (!p)
		return 0;
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t rein_unpack_le64(struct rein_unpack *u)
{
	uint64_t lo = rein_unpack_le32(u);

	return lo | (uint64_t)rein_unpack_le32(u) << 32;
}

struct rein_str rein_unpack_str(struct rein_unpack *u)
{
	size_t n = rein_unpack_le32(u);
	const unsigned char *p = take(u, n);

	return (struct rein_str){(const char *)p, p ? n : 0};
}

char *rein_unpack_cstr(struct rein_unpack *u)
{
	struct rein_str s = rein_unpack_str(u);
	char *copy;

	if (u->failed || (s.n && memchr(s.p, 0, s.n))) {
		u->failed = true;
		return NULL;
	}
	copy = rein_strndup(s.n ? s.p : "", s.n);
	if (!copy)
		u->failed = true;
	return copy;
}

void rein_pack_str(struct rein_buf *b, struct rein_str s)
{
	rein_buf_le32(b, (uint32_t)s.n);
	rein_buf_add(b, s.p, s.n);
}

uint64_t rein_checksum(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = 0x9e3779b97f4a7c15ull ^ n;

	for (; n >= 8; p += 8, n -= 8) {
		uint64_t k;

		memcpy(&k, p, 8);
		h = (h ^ k) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (; n; p++, n--)
		h = (h ^ *p) * 0x100000001b3ull;
	h ^= h >> 29;
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 32;
}
