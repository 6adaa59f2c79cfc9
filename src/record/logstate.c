/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file: where the log ends, kept so that an append need not read the log. Two slots,
 * written in turn, each with a checksum: a torn write leaves the other. It is a cache [L5].
 */
#include <errno.h>
#include <unistd.h>

#include "record/log.h"

#define STATE_MAGIC 0x31647473u

struct slot {
	uint32_t magic, flags;
	uint8_t boot[16];
	uint64_t gen, segment, offset, last_head, n;
	uint8_t pub[32];
	struct rein_hash peak[REIN_MERKLE_PEAKS];
	uint8_t check[16];
};
_Static_assert(sizeof(struct slot) <= REIN_LOG_SLOT, "a slot fits its place");

static void slot_check(const struct slot *s, uint8_t out[16])
{
	uint8_t h[32];

	rein_sha256(s, offsetof(struct slot, check), h);
	memcpy(out, h, 16);
}

static bool slot_ok(const struct slot *s, const uint8_t boot[16])
{
	uint8_t check[16];

	slot_check(s, check);
	return s->magic == STATE_MAGIC && memcmp(check, s->check, 16) == 0 &&
	       memcmp(s->boot, boot, 16) == 0 && s->n >> REIN_MERKLE_PEAKS == 0;
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
		if (!slot_ok(&s, r->boot) || s.gen < r->st.gen)
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
	slot_check(&s, s.check);
	memcpy(place, &s, sizeof(s));
	if (rein_log_write_at(r->state_fd, place, sizeof(place), (s.gen & 1) * REIN_LOG_SLOT) < 0)
		return rein_err_errno(err, "write the record's state");
	return 0;
}
