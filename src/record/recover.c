/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the log up where it ends: believing the state file where that is safe, else reading the
 * last segment; adopting what a killed writer left, repairing a torn tail [L3] [L5]; making a first
 * log.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/log.h"

struct tail {
	uint64_t strict_from; /* lines from this index on are looked at closely */
	const struct rein_published *pub;
	uint64_t end;  /* behind the last good line */
	uint64_t good; /* lines accepted */
	uint64_t unsigned_; /* of them, behind the last head that is signed */

	/*
	 * A prune event that no signed head covers yet, and what was before it. Nothing is removed before
	 * one does: alone it removed nothing, or is somebody's excuse for what he removed.
	 */
	bool doubt;
	struct rein_log_state before;
	uint64_t before_end, before_good, before_unsigned;
};

/* 1 good, 0 not a line of ours, negative: the published head does not fit. */
static int tail_line(struct rein_record *r, struct tail *t, struct rein_str line,
		     struct rein_err *err)
{
	struct rein_err local = {0};
	struct rein_event_read ev;
	struct rein_hash h;
	struct rein_head head;
	bool is_signed = false;

	if (t->pub && t->pub->present && r->st.tree.n == t->pub->head.n) {
		rein_merkle_root(&r->st.tree, &h);
		if (memcmp(h.b, t->pub->head.root.b, 32) != 0)
			return rein_err_set(err, REIN_E_STATE,
					    "the record was changed: line %llu and those before do "
					    "not match the signed head. See: rein audit verify",
					    (unsigned long long)r->st.tree.n);
	}
	if (line.n > REIN_EVENT_LINE_MAX || rein_head_parse(line, &head, &local) < 0)
		return 0;
	if (head.type != REIN_HEAD_NONE) {
		rein_merkle_root(&r->st.tree, &h);
		if (head.n != r->st.tree.n || memcmp(h.b, head.root.b, 32) != 0)
			return 0;
		if (head.type == REIN_HEAD_START)
			return 0;
		/* those before the published one are covered by it */
		is_signed = (t->doubt || r->st.tree.n >= t->strict_from) && rein_head_signed_by(line, &head, r->st.pub);
		t->doubt &= !is_signed;
		r->st.last_head = head.n;
		if (head.type == REIN_HEAD_ROTATE)
			memcpy(r->st.pub, head.pub, 32);
	} else if (r->st.tree.n >= t->strict_from) {
		if (rein_event_parse(line, &ev, &local) < 0)
			return 0;
		if (ev.ev.type == REIN_EV_PRUNE && !t->doubt) {
			t->doubt = true;
			t->before = r->st;
			t->before_end = t->end;
			t->before_good = t->good;
			t->before_unsigned = t->unsigned_;
		}
		rein_event_read_done(&ev);
	}
	rein_merkle_leaf(line.p, line.n, &h);
	rein_merkle_push(&r->st.tree, &h);
	t->good++;
	t->unsigned_ = is_signed || r->st.tree.n <= t->strict_from ? 0 : t->unsigned_ + 1;
	return 1;
}

/* From t->end on, take good lines into the tree until the file or the good lines end. */
static int take_lines(struct rein_record *r, struct tail *t, struct rein_err *err)
{
	const size_t cap = 4 * REIN_EVENT_LINE_MAX;
	auto_free char *chunk = rein_alloc(cap);

	if (!chunk)
		return rein_err_nomem(err);
	for (;;) {
		ssize_t got = pread(r->seg_fd, chunk, cap, (off_t)t->end);
		char *p = chunk, *nl;
		int rc = 1;

		if (got < 0)
			return rein_err_errno(err, "read the record");
		while (rc > 0 && (nl = memchr(p, '\n', (size_t)(chunk + got - p)))) {
			rc = tail_line(r, t, (struct rein_str){p, (size_t)(nl - p)}, err);
			if (rc > 0) {
				t->end += (uint64_t)(nl + 1 - p);
				p = nl + 1;
			}
		}
		if (rc < 0)
			return rc;
		if (rc == 0 || p == chunk) /* bad line, torn line or end of file */
			return 0;
	}
}

static int tail_read(struct rein_record *r, struct tail *t, struct rein_err *err)
{
	int rc = take_lines(r, t, err);

	if (rc == 0 && t->doubt) {
		r->st = t->before;
		t->end = t->before_end;
		t->good = t->before_good;
		t->unsigned_ = t->before_unsigned;
	}
	return rc;
}

/*
 * [L3] Put a repair event where the torn bytes are, then cut what sticks out behind it. adopted: lines that
 * were kept though nobody had signed for them.
 */
static int tail_repair(struct rein_record *r, uint64_t size, uint64_t adopted, bool anew, struct rein_err *err)
{
	char bytes[24], lines[24], hash[65] = "";
	uint8_t digest[32];
	struct rein_sha256 sha;
	char chunk[4096];
	struct rein_event ev = {.type = REIN_EV_REPAIR,
				.time_ns = rein_now_ns(),
				.mono_ns = rein_mono_ns(),
				.detail = STR("a writer was interrupted: complete lines were kept, "
					      "unfinished bytes removed; none were acknowledged")};
	static const struct rein_str kept = STR("taken up again without knowing where the last writer stopped: "
						"lines behind the last signed head were kept");
	char id[REIN_EVENT_ID_LEN + 1];
	uint32_t rnd = 0;

	if (anew && size == r->st.offset)
		ev.detail = kept;
	rein_sha256_init(&sha);
	for (uint64_t at = r->st.offset; at < size;) {
		ssize_t got = pread(r->seg_fd, chunk, sizeof(chunk), (off_t)at);

		if (got <= 0)
			return rein_err_errno(err, "read the record's torn tail");
		rein_sha256_add(&sha, chunk, (size_t)got);
		at += (uint64_t)got;
	}
	rein_sha256_end(&sha, digest);
	rein_hex(digest, 32, hash);
	if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd))
		return rein_err_errno(err, "read random bytes");
	rein_event_id(ev.time_ns, rnd, id);
	ev.id = rein_str(id);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)(size - r->st.offset));
	snprintf(lines, sizeof(lines), "%llu", (unsigned long long)adopted);
	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("bytes_removed"), rein_str(bytes)};
	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("sha256"), rein_str(hash)};
	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("lines_adopted"), rein_str(lines)};
	if (rein_event_format(&ev, rein_lines_clear(&r->own), err) < 0 ||
	    rein_lines_end(&r->own, 0, err) < 0 || rein_log_write(r, &r->own, err) < 0)
		return -err->code;
	if (ftruncate(r->seg_fd, (off_t)r->st.offset) < 0)
		return rein_err_errno(err, "cut the record's torn tail");
	return 0;
}

static int segment_size(struct rein_record *r, uint64_t *ret, struct rein_err *err)
{
	struct stat st;

	if (fstat(r->seg_fd, &st) < 0)
		return rein_err_errno(err, "look at the record's segment");
	*ret = (uint64_t)st.st_size;
	return 0;
}

/*
 * Lines behind the state: from a writer that was killed before it could say so. found: those that recover
 * read already, because there was no state to believe (after a restart of the machine).
 */
static int adopt(struct rein_record *r, const struct rein_published *pub, uint64_t found, struct rein_err *err)
{
	struct tail t = {.end = r->st.offset, .strict_from = r->st.tree.n, .pub = pub};
	uint64_t size = 0;

	if (tail_read(r, &t, err) < 0 || segment_size(r, &size, err) < 0)
		return -err->code;
	r->st.offset = t.end;
	/* Also when only whole lines were found: nobody signed for them, so say where they came
	 * from. */
	if (r->read_only || (size == t.end && !t.good && !found))
		return 0;
	return tail_repair(r, size, t.good + found, found > 0, err);
}

static int read_start(struct rein_record *r, uint64_t segment, uint64_t *ret_end,
		      struct rein_err *err)
{
	char line[8192];
	ssize_t got = pread(r->seg_fd, line, sizeof(line), 0);
	char *nl = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
	struct rein_head h;
	struct rein_hash root;
	struct rein_str s;

	if (got < 0)
		return rein_err_errno(err, "read the record");
	s = (struct rein_str){line, nl ? (size_t)(nl - line) : 0};
	if (!nl || rein_head_parse(s, &h, err) < 0 || h.type != REIN_HEAD_START ||
	    h.segment != segment || !rein_head_signed_by(s, &h, h.pub))
		return rein_err_set(err, REIN_E_STATE,
				    "segment %llu of the record has no valid first line. See: rein "
				    "audit verify",
				    (unsigned long long)segment);
	rein_merkle_root(&h.peaks, &root);
	if (memcmp(root.b, h.root.b, 32) != 0)
		return rein_err_set(err, REIN_E_STATE,
				    "segment %llu of the record does not fit its own first line",
				    (unsigned long long)segment);
	r->st.tree = h.peaks;
	memcpy(r->st.pub, h.pub, 32);
	rein_merkle_leaf(line, s.n, &root);
	rein_merkle_push(&r->st.tree, &root);
	*ret_end = s.n + 1;
	return 0;
}

/* The first head, published before the first event can be: from then on the head file must exist.
 */
static int first_head(struct rein_record *r, struct rein_err *err)
{
	if (rein_log_head(r, REIN_HEAD_HEAD, NULL, err) < 0)
		return -err->code;
	if (fdatasync(r->seg_fd) < 0)
		return rein_err_errno(err, "sync the record");
	if (rein_published_write(r, (struct rein_str){r->own.text.p, r->own.text.n - 1},
				 r->st.segment, r->st.offset, err) < 0)
		return -err->code;
	if (fsync(r->head_fd) < 0 || fsync(r->dirfd) < 0)
		return rein_err_errno(err, "sync the record's head");
	return 0;
}

/* First use: a key, a first segment, a first head. A crash at any point is taken up again. */
static int log_make(struct rein_record *r, struct rein_err *err)
{
	if (rein_key_load(r->dirfd, "key", &r->key, err) < 0) {
		if (err->code != REIN_E_NOTFOUND)
			return -err->code;
		if (rein_key_make(r->dirfd, "key", &r->key, err) < 0)
			return -err->code;
	}
	memcpy(r->st.pub, rein_key_pub(&r->key), 32);
	r->st.tree.n = 0;
	r->st.last_head = REIN_NO_HEAD;
	return rein_log_segment_make(r, 1, err) < 0 ? -err->code : first_head(r, err);
}

/* A log that was being made when its maker died: a start line, perhaps a head, no event. */
static bool half_made(const struct rein_record *r, size_t nseg)
{
	return nseg == 1 && r->st.segment == 1 &&
	       (r->st.tree.n == 1 || (r->st.tree.n == 2 && r->st.last_head == 1));
}

/* [L5] The state is not to be believed: read the last segment. *ret_adopted: lines behind the last signed head. */
static int recover(struct rein_record *r, const struct rein_published *pub, uint64_t *ret_adopted, struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	size_t nseg;
	struct tail t = {.pub = pub};

	if (rein_segments(r->dirfd, &seg, &nseg, err) < 0)
		return -err->code;
	memset(&r->st, 0, sizeof(r->st));
	r->st.last_head = REIN_NO_HEAD;
	if (nseg == 0) {
		if (pub->present)
			return rein_err_set(err, REIN_E_STATE,
					    "the record's segments are gone but its head says %llu "
					    "lines. To start anew, saying so in the record: rein "
					    "audit accept-loss --reason TEXT",
					    (unsigned long long)pub->head.n);
		if (r->read_only)
			return rein_err_set(err, REIN_E_NOTFOUND, "there is no record yet");
		return log_make(r, err);
	}
	r->st.segment = seg[nseg - 1];
	if (rein_log_segment_open(r, r->st.segment, err) < 0 ||
	    read_start(r, r->st.segment, &t.end, err) < 0)
		return -err->code;
	t.strict_from = pub->present ? pub->head.n : 0;
	if (tail_read(r, &t, err) < 0)
		return -err->code;
	r->st.offset = t.end;
	if (!pub->present && half_made(r, nseg) && !r->read_only)
		return first_head(r, err);
	if (!pub->present)
		return rein_err_set(err, REIN_E_STATE,
				    "the record's head file is gone. See: rein audit verify");
	if (pub->present && r->st.tree.n <= pub->head.n)
		return rein_err_set(
			err, REIN_E_STATE,
			"the record ends at line %llu but its signed head says %llu: it "
			"was cut. See: rein audit verify. To go on, saying so in the "
			"record: rein audit accept-loss --reason TEXT",
			(unsigned long long)r->st.tree.n, (unsigned long long)pub->head.n + 1);
	*ret_adopted = t.unsigned_;
	return 0;
}

static bool segment_exists(struct rein_record *r, uint64_t segment)
{
	char name[REIN_SEGMENT_NAME];

	rein_segment_name(segment, name);
	return faccessat(r->dirfd, name, F_OK, 0) == 0;
}

int rein_log_begin(struct rein_record *r, struct rein_err *err)
{
	struct rein_published pub = {0};
	uint64_t size = 0, adopted = 0;
	bool known;

	if (rein_log_lock(r->state_fd, err) < 0)
		return -err->code;
	known = rein_log_state_read(r) && r->st.segment;
	if (known && r->st.closed) {
		rein_err_set(err, REIN_E_STATE, "the record was set aside; open it again");
		goto fail;
	}
	/* A writer that was killed while starting a segment may not have come to saying so. */
	if (known && !segment_exists(r, r->st.segment + 1)) {
		if (rein_log_segment_open(r, r->st.segment, err) < 0 ||
		    segment_size(r, &size, err) < 0)
			goto fail;
		if (size == r->st.offset)
			return 0;
		known = size > r->st.offset;
	} else {
		known = false;
	}
	if (!known) {
		uint64_t gen = r->st.gen;

		if (rein_published_read(r->head_fd, &pub, err) < 0 || recover(r, &pub, &adopted, err) < 0)
			goto fail;
		r->st.gen = r->st.gen > gen ? r->st.gen : gen;
	}
	if (adopt(r, pub.present ? &pub : NULL, adopted, err) < 0)
		goto fail;
	if (known || r->read_only || rein_log_state_write(r, err) == 0)
		return 0;
fail:
	rein_log_end(r);
	return -err->code;
}

void rein_log_end(struct rein_record *r)
{
	flock(r->state_fd, LOCK_UN);
}
