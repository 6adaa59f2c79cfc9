/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appending. Files of the log, all in <state>/audit:
 *
 *	00000001.log …	segments: lines, only ever appended to
 *	head		the last published head and the place behind it; flock on it = sync lock
 *	state		where the log ends, a cache; flock on it = append lock
 *	key		signing key
 *
 * An append takes the append lock, writes its lines behind the last and lets go. A durable one
 * then takes the sync lock; whoever gets it first writes one signed head for everything written
 * so far, calls fdatasync once and publishes the head; those who waited find themselves covered.
 *
 * [L1] An event is acknowledged only when a published head covers it, and a head is published only
 *      after fdatasync of everything it covers.
 * [L2] The head file never runs ahead of the log on disk, whatever the page cache wrote when: it is
 *      written after the fdatasync. Hence a log shorter than its head was cut.
 * [L3] Lines are complete or at the very end: what a killed writer left unfinished is replaced by
 *      the next one, which says so in a repair event.
 * [L4] Segment k+1 appears only when segment k is durable and complete.
 * [L5] The state file is believed only within the same boot and only if the log is at least that
 *      long; otherwise the last segment is read again from its start.
 * [L6] After a failed or interrupted sync everything past the published head is written again
 *      before the next sync: after EIO the kernel forgets that those pages were dirty.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/internal.h"
#include "record/redact.h"
#include "sys/futex.h"

#define STATE_MAGIC 0x31647473u
#define SLOT_SIZE   2048
#define NO_HEAD	    UINT64_MAX
#define LOCK_NS	    (30 * REIN_NS_PER_S)
#define SYNC_NS	    (300 * REIN_NS_PER_S) /* a disk may be slow, but not for ever */
#define BELL_NS	    20000000 /* a leader that died is noticed after this */
#define LINES_MAX   (256u << 20) /* of one batch */

struct slot {
	uint32_t magic, flags;
	uint8_t boot[16];
	uint64_t gen, segment, offset, last_head, n;
	uint8_t pub[32];
	struct rein_hash peak[REIN_MERKLE_PEAKS];
	uint8_t check[16];
};
_Static_assert(sizeof(struct slot) <= SLOT_SIZE, "a slot fits its place");

static void slot_check(const struct slot *s, uint8_t out[16])
{
	uint8_t h[32];

	rein_sha256(s, offsetof(struct slot, check), h);
	memcpy(out, h, 16);
}

/*
 * flock has no deadline, and a holder can be stopped (^Z, a debugger): waiting for ever would hang
 * every action of the user. So ask again and again, with growing pauses; what the lock protects
 * takes microseconds.
 */
static int lock(int fd, struct rein_err *err)
{
	uint64_t began = 0, pause_ns = 20000;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		struct timespec ts = {.tv_nsec = (long)pause_ns};

		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return rein_err_errno(err, "lock the record");
		if (!began)
			began = rein_mono_ns();
		if (rein_mono_ns() - began > LOCK_NS)
			return rein_err_set(err, REIN_E_BUSY,
					    "another process has been writing to the record for %llu s: "
					    "is one stopped? See: fuser -v audit/state in the state "
					    "directory", LOCK_NS / REIN_NS_PER_S);
		nanosleep(&ts, NULL);
		pause_ns = pause_ns < 1000000 ? pause_ns * 2 : pause_ns;
	}
	return 0;
}

static int write_at(int fd, const void *p, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			if (done == 0)
				errno = EIO;
			return -1;
		}
		p = (const char *)p + done;
		n -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

/* --- the state file ------------------------------------------------------------------------ */

static bool slot_ok(const struct slot *s, const uint8_t boot[16])
{
	uint8_t check[16];

	slot_check(s, check);
	return s->magic == STATE_MAGIC && memcmp(check, s->check, 16) == 0 &&
	       memcmp(s->boot, boot, 16) == 0 && s->n >> REIN_MERKLE_PEAKS == 0;
}

/* True when a slot of this boot was found. */
static bool state_read(struct rein_record *r)
{
	char both[2 * SLOT_SIZE];
	ssize_t got = pread(r->state_fd, both, sizeof(both), 0);
	bool found = false;

	r->st.gen = 0;
	for (int i = 0; i < 2; i++) {
		struct slot s;

		if (got < (ssize_t)(i * SLOT_SIZE + (int)sizeof(s)))
			break;
		memcpy(&s, both + i * SLOT_SIZE, sizeof(s));
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

static int state_write(struct rein_record *r, struct rein_err *err)
{
	char place[SLOT_SIZE] = {0};
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
	if (write_at(r->state_fd, place, sizeof(place), (s.gen & 1) * SLOT_SIZE) < 0)
		return rein_err_errno(err, "write the record's state");
	return 0;
}

/* --- the head file ------------------------------------------------------------------------- */

int rein_published_read(int fd, struct rein_published *ret, struct rein_err *err)
{
	unsigned long long segment, offset;
	ssize_t got = pread(fd, ret->text, sizeof(ret->text), 0);
	char back[80], *nl;
	size_t i;

	ret->present = false;
	if (got < 0)
		return rein_err_errno(err, "read the record's head");
	if (got == 0)
		return 0;
	nl = memchr(ret->text, '\n', (size_t)got);
	if (got != REIN_RECORD_HEAD_SIZE || !nl || ret->text[got - 1] != '\n')
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	ret->line = (struct rein_str){ret->text, (size_t)(nl - ret->text)};
	if (rein_head_parse(ret->line, &ret->head, err) < 0 ||
	    (ret->head.type != REIN_HEAD_HEAD && ret->head.type != REIN_HEAD_ROTATE))
		return rein_err_set(err, REIN_E_INVALID, "the record's head file holds no head");
	ret->text[got - 1] = '\0';
	if (sscanf(nl + 1, "{\"segment\":%llu,\"offset\":%llu}", &segment, &offset) != 2)
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	snprintf(back, sizeof(back), "{\"segment\":%llu,\"offset\":%llu}", segment, offset);
	if (strncmp(nl + 1, back, strlen(back)) != 0)
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	for (i = (size_t)(nl + 1 - ret->text) + strlen(back); ret->text[i] == ' '; i++)
		;
	if (i != REIN_RECORD_HEAD_SIZE - 1)
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	ret->segment = segment;
	ret->offset = offset;
	ret->present = true;
	return 0;
}

static int publish(struct rein_record *r, struct rein_str line, uint64_t segment, uint64_t offset,
		   struct rein_err *err)
{
	char text[REIN_RECORD_HEAD_SIZE + 1];
	int n = snprintf(text, sizeof(text), "%.*s\n{\"segment\":%llu,\"offset\":%llu}", (int)line.n,
			 line.p, (unsigned long long)segment, (unsigned long long)offset);

	if (n < 0 || n >= REIN_RECORD_HEAD_SIZE)
		return rein_err_set(err, REIN_E_LIMIT, "head of %d bytes", n);
	memset(text + n, ' ', sizeof(text) - (size_t)n);
	text[REIN_RECORD_HEAD_SIZE - 1] = '\n';
	if (write_at(r->head_fd, text, REIN_RECORD_HEAD_SIZE, 0) < 0)
		return rein_err_errno(err, "publish the record's head");
	return 0;
}

/* --- segments ------------------------------------------------------------------------------ */

static int segment_open(struct rein_record *r, uint64_t segment, struct rein_err *err)
{
	char name[REIN_SEGMENT_NAME];
	int fd;

	if (r->seg_fd >= 0 && r->seg_open == segment)
		return 0;
	rein_segment_name(segment, name);
	fd = openat(r->dirfd, name, (r->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return rein_err_errno(err, "open the record's segment '%s'", name);
	if (r->seg_fd >= 0)
		close(r->seg_fd);
	r->seg_fd = fd;
	r->seg_open = segment;
	return 0;
}

/* --- lines in hand ------------------------------------------------------------------------- */

static struct rein_buf *lines_clear(struct rein_lines *l)
{
	l->text.max = LINES_MAX;
	rein_buf_clear(&l->text);
	l->n = 0;
	return &l->text;
}

/* The line begins at `from` in the text; gives it its newline and its leaf. */
static int line_end(struct rein_lines *l, size_t from, struct rein_err *err)
{
	size_t n = l->text.n - from;

	rein_buf_char(&l->text, '\n');
	if (l->text.failed)
		return rein_err_set(err, REIN_E_LIMIT, "too many events at once");
	if (rein_grow(l->leaf, l->n, l->cap) < 0)
		return rein_err_nomem(err);
	rein_merkle_leaf(l->text.p + from, n, &l->leaf[l->n++]);
	return 0;
}

int rein_log_write(struct rein_record *r, const struct rein_lines *l, struct rein_err *err)
{
	struct rein_log_state before = r->st;

	if (write_at(r->seg_fd, l->text.p, l->text.n, r->st.offset) < 0) {
		rein_err_errno(err, "write the record");
		goto undo;
	}
	r->st.offset += l->text.n;
	for (size_t i = 0; i < l->n; i++)
		rein_merkle_push(&r->st.tree, &l->leaf[i]);
	if (state_write(r, err) == 0)
		return 0;
undo:
	/* If even this fails the next writer finds the tail and repairs it [L3]. */
	if (ftruncate(r->seg_fd, (off_t)before.offset) < 0)
		rein_err_prefix(err, "and cutting it back failed");
	r->st = before;
	return -err->code;
}

static int load_key(struct rein_record *r, struct rein_err *err)
{
	if (r->key.loaded && memcmp(rein_key_pub(&r->key), r->st.pub, 32) == 0)
		return 0;
	if (rein_key_load(r->dirfd, "key", &r->key, err) < 0)
		return -err->code;
	if (memcmp(rein_key_pub(&r->key), r->st.pub, 32) == 0)
		return 0;
	/* A rotation was cut short between its line and its file: finish it. */
	if (rein_key_load(r->dirfd, "key.next", &r->key, err) < 0 ||
	    memcmp(rein_key_pub(&r->key), r->st.pub, 32) != 0)
		return rein_err_set(err, REIN_E_STATE,
				    "the signing key is not the one the record was signed with");
	if (renameat(r->dirfd, "key.next", r->dirfd, "key") < 0)
		return rein_err_errno(err, "finish the rotation of the key");
	return 0;
}

/* Writes a head or rotate line behind what is there; the line's text is left in r->own. */
static int head_write(struct rein_record *r, enum rein_head_type type, const uint8_t *pub,
		      struct rein_err *err)
{
	struct rein_head h = {.type = type, .time_ns = rein_now_ns(), .n = r->st.tree.n};
	uint64_t last = r->st.last_head;
	uint8_t old[32];

	if (load_key(r, err) < 0)
		return -err->code;
	rein_merkle_root(&r->st.tree, &h.root);
	memcpy(old, r->st.pub, 32);
	if (pub)
		memcpy(h.pub, pub, 32);
	rein_head_format(&h, &r->key, lines_clear(&r->own));
	if (line_end(&r->own, 0, err) < 0)
		return -err->code;
	r->st.last_head = h.n;
	if (pub)
		memcpy(r->st.pub, pub, 32);
	if (rein_log_write(r, &r->own, err) == 0)
		return 0;
	r->st.last_head = last;
	memcpy(r->st.pub, old, 32);
	return -err->code;
}

/* --- segments: starting one ---------------------------------------------------------------- */

static int segment_make(struct rein_record *r, uint64_t segment, struct rein_err *err)
{
	struct rein_head h = {.type = REIN_HEAD_START,
			      .time_ns = rein_now_ns(),
			      .n = r->st.tree.n,
			      .segment = segment,
			      .peaks = r->st.tree};
	char name[REIN_SEGMENT_NAME];
	auto_close int fd = -1;

	if (segment > 99999999)
		return rein_err_set(err, REIN_E_LIMIT, "the record has no more segment numbers");
	if (load_key(r, err) < 0)
		return -err->code;
	rein_merkle_root(&r->st.tree, &h.root);
	memcpy(h.pub, r->st.pub, 32);
	rein_head_format(&h, &r->key, lines_clear(&r->own));
	if (line_end(&r->own, 0, err) < 0)
		return -err->code;
	fd = openat(r->dirfd, "segment.tmp", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return rein_err_errno(err, "start a segment of the record");
	rein_segment_name(segment, name);
	if (write_at(fd, r->own.text.p, r->own.text.n, 0) < 0 || fdatasync(fd) < 0 ||
	    renameat(r->dirfd, "segment.tmp", r->dirfd, name) < 0 || fsync(r->dirfd) < 0)
		return rein_err_errno(err, "start segment '%s' of the record", name);
	if (r->seg_fd >= 0)
		close(r->seg_fd);
	r->seg_fd = take_fd(&fd);
	r->seg_open = segment;
	r->st.segment = segment;
	r->st.offset = r->own.text.n;
	rein_merkle_push(&r->st.tree, &r->own.leaf[0]);
	return state_write(r, err);
}

/* [L6] What a sync may have lost is written again from the page cache. */
static int rewrite(struct rein_record *r, const struct rein_published *pub, struct rein_err *err)
{
	uint64_t at = pub->present && pub->segment == r->st.segment ? pub->offset : 0;
	char chunk[65536];

	while (at < r->st.offset) {
		uint64_t left = r->st.offset - at;
		size_t want = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
		ssize_t got = pread(r->seg_fd, chunk, want, (off_t)at);

		if (got <= 0 || write_at(r->seg_fd, chunk, (size_t)got, at) < 0)
			return rein_err_errno(err, "write the record again after a failed sync");
		at += (uint64_t)got;
	}
	return 0;
}

int rein_log_rotate(struct rein_record *r, struct rein_err *err)
{
	struct rein_published pub;

	if (head_write(r, REIN_HEAD_HEAD, NULL, err) < 0 ||
	    rein_published_read(r->head_fd, &pub, err) < 0 || rewrite(r, &pub, err) < 0)
		return -err->code;
	if (fdatasync(r->seg_fd) < 0)
		return rein_err_errno(err, "sync the record");
	return segment_make(r, r->st.segment + 1, err); /* [L4] */
}

int rein_log_close(struct rein_record *r, struct rein_err *err)
{
	r->st.closed = true;
	return state_write(r, err);
}

/* --- reading the end of the log ------------------------------------------------------------ */

struct tail {
	uint64_t strict_from; /* lines from this index on are looked at closely */
	const struct rein_published *pub;
	uint64_t end;  /* behind the last good line */
	uint64_t good; /* lines accepted */
};

/* 1 good, 0 not a line of ours, negative: the published head does not fit. */
static int tail_line(struct rein_record *r, struct tail *t, struct rein_str line,
		     struct rein_err *err)
{
	struct rein_err local = {0};
	struct rein_event_read ev;
	struct rein_hash h;
	struct rein_head head;

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
		r->st.last_head = head.n;
		if (head.type == REIN_HEAD_ROTATE)
			memcpy(r->st.pub, head.pub, 32);
	} else if (r->st.tree.n >= t->strict_from) {
		if (rein_event_parse(line, &ev, &local) < 0)
			return 0;
		rein_event_read_done(&ev);
	}
	rein_merkle_leaf(line.p, line.n, &h);
	rein_merkle_push(&r->st.tree, &h);
	t->good++;
	return 1;
}

/* From t->end on, take good lines into the tree until the file or the good lines end. */
static int tail_read(struct rein_record *r, struct tail *t, struct rein_err *err)
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

/* [L3] Put a repair event where the torn bytes are, then cut what sticks out behind it. */
static int tail_repair(struct rein_record *r, uint64_t size, uint64_t adopted, struct rein_err *err)
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
	char id[REIN_EVENT_ID_LEN + 1];
	uint32_t rnd = 0;

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
	if (rein_event_format(&ev, lines_clear(&r->own), err) < 0 ||
	    line_end(&r->own, 0, err) < 0 || rein_log_write(r, &r->own, err) < 0)
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

/* Lines behind the state: from a writer that was killed before it could say so. */
static int adopt(struct rein_record *r, const struct rein_published *pub, struct rein_err *err)
{
	struct tail t = {.end = r->st.offset, .strict_from = r->st.tree.n, .pub = pub};
	uint64_t size = 0;

	if (tail_read(r, &t, err) < 0 || segment_size(r, &size, err) < 0)
		return -err->code;
	r->st.offset = t.end;
	/* Also when only whole lines were found: nobody signed for them, so say where they came from. */
	return (size > t.end || t.good) && !r->read_only ? tail_repair(r, size, t.good, err) : 0;
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

/* The first head, published before the first event can be: from then on the head file must exist. */
static int first_head(struct rein_record *r, struct rein_err *err)
{
	if (head_write(r, REIN_HEAD_HEAD, NULL, err) < 0)
		return -err->code;
	if (fdatasync(r->seg_fd) < 0)
		return rein_err_errno(err, "sync the record");
	if (publish(r, (struct rein_str){r->own.text.p, r->own.text.n - 1}, r->st.segment,
		    r->st.offset, err) < 0)
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
	r->st.last_head = NO_HEAD;
	return segment_make(r, 1, err) < 0 ? -err->code : first_head(r, err);
}

/* A log that was being made when its maker died: a start line, perhaps a head, no event. */
static bool half_made(const struct rein_record *r, size_t nseg)
{
	return nseg == 1 && r->st.segment == 1 &&
	       (r->st.tree.n == 1 || (r->st.tree.n == 2 && r->st.last_head == 1));
}

/* [L5] The state is not to be believed: read the last segment. */
static int recover(struct rein_record *r, const struct rein_published *pub, struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	size_t nseg;
	struct tail t = {.pub = pub};

	if (rein_segments(r->dirfd, &seg, &nseg, err) < 0)
		return -err->code;
	memset(&r->st, 0, sizeof(r->st));
	r->st.last_head = NO_HEAD;
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
	if (segment_open(r, r->st.segment, err) < 0 ||
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
		return rein_err_set(err, REIN_E_STATE,
				    "the record ends at line %llu but its signed head says %llu: it "
				    "was cut. See: rein audit verify. To go on, saying so in the "
				    "record: rein audit accept-loss --reason TEXT",
				    (unsigned long long)r->st.tree.n,
				    (unsigned long long)pub->head.n + 1);
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
	uint64_t size = 0;
	bool known;

	if (lock(r->state_fd, err) < 0)
		return -err->code;
	known = state_read(r) && r->st.segment;
	if (known && r->st.closed) {
		rein_err_set(err, REIN_E_STATE, "the record was set aside; open it again");
		goto fail;
	}
	/* A writer that was killed while starting a segment may not have come to saying so. */
	if (known && !segment_exists(r, r->st.segment + 1)) {
		if (segment_open(r, r->st.segment, err) < 0 || segment_size(r, &size, err) < 0)
			goto fail;
		if (size == r->st.offset)
			return 0;
		known = size > r->st.offset;
	} else {
		known = false;
	}
	if (!known) {
		uint64_t gen = r->st.gen;

		if (rein_published_read(r->head_fd, &pub, err) < 0 || recover(r, &pub, err) < 0)
			goto fail;
		r->st.gen = r->st.gen > gen ? r->st.gen : gen;
	}
	if (adopt(r, pub.present ? &pub : NULL, err) < 0)
		goto fail;
	if (known || r->read_only || state_write(r, err) == 0)
		return 0;
fail:
	rein_log_end(r);
	return -err->code;
}

void rein_log_end(struct rein_record *r)
{
	flock(r->state_fd, LOCK_UN);
}

/* --- making it durable --------------------------------------------------------------------- */

/* Sync lock held. One head for all that is written; its text is in r->own afterwards. */
static int seal(struct rein_record *r, const struct rein_published *pub, uint64_t *ret_segment,
		uint64_t *ret_offset, struct rein_err *err)
{
	uint64_t durable = pub->present ? pub->head.n : NO_HEAD;
	int rc = 0;

	if (rein_log_begin(r, err) < 0)
		return -err->code;
	if (r->st.last_head != durable) /* the one before us was interrupted [L6] */
		rc = rewrite(r, pub, err);
	if (rc == 0)
		rc = head_write(r, REIN_HEAD_HEAD, NULL, err);
	*ret_segment = r->st.segment;
	*ret_offset = r->st.offset;
	rein_log_end(r);
	return rc;
}

/*
 * Those who wait for somebody else's sync sleep on a word in the state file that the leader changes
 * when it is done. The word is only a bell: whether one is covered is read from the head file, and a
 * leader that dies without ringing is noticed by the timeout and by the lock it lost.
 */
static uint32_t *bell(struct rein_record *r)
{
	struct stat st;
	void *p = MAP_FAILED;

	if (r->bell || r->no_bell)
		return r->bell;
	if (fstat(r->state_fd, &st) == 0 &&
	    (st.st_size >= 4 * SLOT_SIZE || ftruncate(r->state_fd, 4 * SLOT_SIZE) == 0))
		p = mmap(NULL, 2 * SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, r->state_fd,
			 2 * SLOT_SIZE);
	if (p == MAP_FAILED)
		r->no_bell = true; /* then the lock alone must do */
	else
		r->bell = p;
	return r->bell;
}

static void bell_ring(struct rein_record *r)
{
	uint32_t *b = bell(r);

	if (!b)
		return;
	__atomic_fetch_add(b, 1, __ATOMIC_SEQ_CST);
	rein_futex_wake_all(b);
}

/* 1: the sync lock is ours; 0: somebody's head covers line n - 1. */
static int sync_lock(struct rein_record *r, uint64_t n, struct rein_published *pub,
		     struct rein_err *err)
{
	uint64_t began = rein_mono_ns();

	for (;;) {
		uint32_t *b = bell(r), heard = b ? __atomic_load_n(b, __ATOMIC_SEQ_CST) : 0;
		int got = flock(r->head_fd, b ? LOCK_EX | LOCK_NB : LOCK_EX);

		if (got < 0 && errno != EWOULDBLOCK && errno != EINTR)
			return rein_err_errno(err, "lock the record");
		if (rein_published_read(r->head_fd, pub, err) < 0) {
			/* Without the lock it may be seen half written. */
			if (got == 0)
				return -err->code;
			continue;
		}
		if (pub->present && pub->head.n >= n) {
			if (got == 0)
				flock(r->head_fd, LOCK_UN);
			return 0;
		}
		if (got == 0)
			return 1;
		if (rein_mono_ns() - began > SYNC_NS)
			return rein_err_set(err, REIN_E_BUSY,
					    "the record could not be made durable for %llu s",
					    SYNC_NS / REIN_NS_PER_S);
		if (b)
			rein_futex_wait(b, heard, BELL_NS);
	}
}

int rein_log_sync(struct rein_record *r, uint64_t n, struct rein_err *err)
{
	struct rein_published pub;
	uint64_t segment = 0, offset = 0;
	struct rein_str line;
	int rc = sync_lock(r, n, &pub, err);

	if (rc <= 0)
		return rc;
	rc = seal(r, &pub, &segment, &offset, err);
	if (rc == 0 && fdatasync(r->seg_fd) < 0)
		rc = rein_err_errno(err, "sync the record");
	line = (struct rein_str){r->own.text.p, r->own.text.n ? r->own.text.n - 1 : 0};
	if (rc == 0)
		rc = publish(r, line, segment, offset, err); /* [L1] [L2] */
	if (rc == 0)
		rein_record_anchor(r, line);
	flock(r->head_fd, LOCK_UN);
	bell_ring(r);
	return rc;
}

/* --- the public calls ---------------------------------------------------------------------- */

int rein_record_sync(struct rein_record *r, struct rein_err *err)
{
	struct rein_published pub;
	uint64_t n;

	if (rein_log_begin(r, err) < 0)
		return -err->code;
	/* Nothing but the last head behind the last head: nothing to do. */
	n = r->st.last_head != NO_HEAD && r->st.tree.n == r->st.last_head + 1 ? r->st.last_head
									       : r->st.tree.n;
	rein_log_end(r);
	if (rein_published_read(r->head_fd, &pub, err) < 0)
		return -err->code;
	if (pub.present && pub.head.n == n)
		return 0;
	return rein_log_sync(r, n, err);
}

static int fill(struct rein_record *r, struct rein_event *ev, struct rein_err *err)
{
	uint32_t rnd;

	if (!ev->time_ns) {
		ev->time_ns = rein_now_ns();
		ev->uid = getuid();
		ev->pid = (uint64_t)getpid();
	}
	if (!ev->mono_ns)
		ev->mono_ns = rein_mono_ns();
	if (!ev->host.n)
		ev->host = rein_str(r->host);
	if (!ev->user.n && r->user[0])
		ev->user = rein_str(r->user);
	if (ev->id.n)
		return 0;
	if (r->npool == 0) {
		if (getrandom(r->pool, sizeof(r->pool), 0) != sizeof(r->pool))
			return rein_err_errno(err, "read random bytes");
		r->npool = ARRAY_SIZE(r->pool);
	}
	rnd = r->pool[--r->npool];
	rein_event_id(ev->time_ns, rnd, r->last_id);
	ev->id = rein_str(r->last_id);
	return 0;
}

/* Redact, format, hash. An event that is too long even so is squeezed: long texts are cut harder. */
static int prepare_at(struct rein_record *r, const struct rein_event *src, unsigned squeeze,
		      struct rein_err *err)
{
	struct rein_event ev = *src;
	auto_(rein_redacted_done) struct rein_redacted red = {.squeeze = squeeze};
	size_t from = r->events.text.n;

	if (fill(r, &ev, err) < 0 || rein_redact_event(r->redact, &ev, &red, err) < 0)
		return -err->code;
	if (rein_event_format(&ev, &r->events.text, err) < 0) {
		if (!r->events.text.failed)
			r->events.text.n = from;
		return -err->code;
	}
	if (ev.id.p != r->last_id)
		snprintf(r->last_id, sizeof(r->last_id), "%.*s", (int)ev.id.n, ev.id.p);
	return line_end(&r->events, from, err);
}

static int prepare(struct rein_record *r, const struct rein_event *src, struct rein_err *err)
{
	int rc = prepare_at(r, src, 1, err);

	return rc == -REIN_E_LIMIT && !r->events.text.failed ? prepare_at(r, src, 32, err) : rc;
}

int rein_record_append_batch(struct rein_record *r, const struct rein_event *ev, size_t n,
			     bool durable, struct rein_err *err)
{
	uint64_t upto;
	int rc = 0;

	if (r->read_only)
		return rein_err_set(err, REIN_E_USAGE, "the record was opened for reading");
	if (n == 0)
		return durable ? rein_record_sync(r, err) : 0;
	lines_clear(&r->events);
	for (size_t i = 0; i < n; i++)
		if (prepare(r, &ev[i], err) < 0)
			return -err->code;
	if (rein_log_begin(r, err) < 0)
		return -err->code;
	if (r->st.offset >= r->config.segment_bytes)
		rc = rein_log_rotate(r, err);
	if (rc == 0)
		rc = rein_log_write(r, &r->events, err);
	upto = r->st.tree.n;
	rein_log_end(r);
	return rc == 0 && durable ? rein_log_sync(r, upto, err) : rc;
}

int rein_record_append(struct rein_record *r, const struct rein_event *ev, bool durable,
		       struct rein_err *err)
{
	return rein_record_append_batch(r, ev, 1, durable, err);
}

const char *rein_record_last_id(const struct rein_record *r)
{
	return r->last_id;
}

int rein_record_rotate_key(struct rein_record *r, struct rein_err *err)
{
	struct rein_key next = {0};
	int rc;

	if (rein_log_begin(r, err) < 0)
		return -err->code;
	rc = load_key(r, err);
	if (rc == 0 && unlinkat(r->dirfd, "key.next", 0) < 0 && errno != ENOENT)
		rc = rein_err_errno(err, "remove an unused key");
	if (rc == 0)
		rc = rein_key_make(r->dirfd, "key.next", &next, err);
	if (rc == 0)
		rc = head_write(r, REIN_HEAD_ROTATE, rein_key_pub(&next), err);
	/* The old key may go only when the line that names the new one is safe. */
	if (rc == 0 && fdatasync(r->seg_fd) < 0)
		rc = rein_err_errno(err, "sync the record");
	if (rc == 0 && (renameat(r->dirfd, "key.next", r->dirfd, "key") < 0 || fsync(r->dirfd) < 0))
		rc = rein_err_errno(err, "put the new key in place");
	r->key.loaded = false;
	explicit_bzero(&next, sizeof(next));
	rein_log_end(r);
	return rc < 0 ? rc : rein_record_sync(r, err);
}
