/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file: where the log ends, kept so that an append need not read the log. Two slots,
 * written in turn, each under a MAC of the signing key: a torn write leaves the other, and nobody
 * else can have lines of his own taken for the writer's. It is a cache [L5].
 */
#include <errno.h>
#include <unistd.h>

#include "record/log.h"

#define STATE_MAGIC 0x32647473u

struct slot {
	uint32_t magic, flags;
	uint8_t boot[16];
	uint64_t gen, segment, offset, last_head, n;
	uint8_t pub[32];
	struct rein_hash peak[REIN_MERKLE_PEAKS];
	uint8_t check[16];
};
_Static_assert(sizeof(struct slot) <= REIN_LOG_SLOT, "a slot fits its place");

/* The key that signs the next head, at hand; a rotation that is under way has none to offer. */
static bool have_key(struct rein_record *r, const uint8_t pub[32])
{
	struct rein_err ignored = {0};

	if (r->key.loaded && memcmp(rein_key_pub(&r->key), pub, 32) == 0)
		return true;
	r->key.loaded = false;
	return rein_key_load(r->dirfd, "key", &r->key, &ignored) == 0 &&
	       memcmp(rein_key_pub(&r->key), pub, 32) == 0;
}

static void slot_check(const struct rein_record *r, const struct slot *s, uint8_t out[16])
{
	uint8_t h[32];

	rein_hmac_sha256(r->key.sk, sizeof(r->key.sk), s, offsetof(struct slot, check), h);
	memcpy(out, h, 16);
}

static bool slot_ok(struct rein_record *r, const struct slot *s)
{
	uint8_t check[16];

	if (s->magic != STATE_MAGIC || memcmp(s->boot, r->boot, 16) != 0 ||
	    s->n >> REIN_MERKLE_PEAKS != 0 || !have_key(r, s->pub))
		return false;
	slot_check(r, s, check);
	return memcmp(check, s->check, 16) == 0;
}

/* True when a slot of this boot was found. */
bool rein_log_state_read(struct rein_record *r)
{
	char both[2 * REIN_LOG_SLOT];
	ssize_t got = pread(r->state_fd, both, sizeof(both), 0);
	bool found = false;

	r->st.gen = 0;
	for (int i = 0; i < 2; i++) {
		struct slot s;

		if (got < (ssize_t)(i * REIN_LOG_SLOT + (int)sizeof(s)))
			break;
		memcpy(&s, both + i * REIN_LOG_SLOT, sizeof(s));
		if (!slot_ok(r, &s) || s.gen < r->st.gen)
			continue;
		r->st = (struct rein_log_state){.gen = s.gen,
						.segment = s.segment,
						.offset = s.offset,
						.last_head = s.last_head,
						.closed = s.flags & 1,
						.tree.n = s.n};
		memcpy(r->st.pub, s.pub, 32);
		memcpy(r->st.tree.peak, s.peak, sizeof(s.peak));
		found = true;
	}
	return found;
}

int rein_log_state_write(struct rein_record *r, struct rein_err *err)
{
	char place[REIN_LOG_SLOT] = {0};
	struct slot s = {.magic = STATE_MAGIC,
			 .flags = r->st.closed,
			 .gen = ++r->st.gen,
			 .segment = r->st.segment,
			 .offset = r->st.offset,
			 .last_head = r->st.last_head,
			 .n = r->st.tree.n};

	memcpy(s.boot, r->boot, 16);
	memcpy(s.pub, r->st.pub, 32);
	memcpy(s.peak, r->st.tree.peak, rein_merkle_npeaks(s.n) * sizeof(s.peak[0]));
	if (have_key(r, s.pub))
		slot_check(r, &s, s.check);
	else
		s.magic = 0; /* whoever comes next reads the log */
	memcpy(place, &s, sizeof(s));
	if (rein_log_write_at(r->state_fd, place, sizeof(place), (s.gen & 1) * REIN_LOG_SLOT) < 0)
		return rein_err_errno(err, "write the record's state");
	return 0;
}
