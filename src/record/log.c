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
 * [L5] The state file is believed only within the same boot, under the key's MAC and only if the log
 *      is at least that long; otherwise the last segment is read again from its start.
 * [L6] After a failed or interrupted sync everything past the published head is written again
 *      before the next sync: after EIO the kernel forgets that those pages were dirty.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/log.h"
#include "record/redact.h"

#define LOCK_NS	  (30 * REIN_NS_PER_S)
#define LINES_MAX (256u << 20) /* of one batch */

/*
 * flock has no deadline, and a holder can be stopped (^Z, a debugger): waiting for ever would hang
 * every action of the user. So ask again and again, with growing pauses; what the lock protects
 * takes microseconds.
 */
int rein_log_lock(int fd, struct rein_err *err)
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
			return rein_err_set(
				err, REIN_E_BUSY,
				"another process has been writing to the record for %llu s: "
				"is one stopped? See: fuser -v audit/state in the state "
				"directory",
				LOCK_NS / REIN_NS_PER_S);
		nanosleep(&ts, NULL);
		pause_ns = pause_ns < 1000000 ? pause_ns * 2 : pause_ns;
	}
	return 0;
}

int rein_log_write_at(int fd, const void *p, size_t n, uint64_t offset)
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

int rein_log_segment_open(struct rein_record *r, uint64_t segment, struct rein_err *err)
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

struct rein_buf *rein_lines_clear(struct rein_lines *l)
{
	l->text.max = LINES_MAX;
	rein_buf_clear(&l->text);
	l->n = 0;
	return &l->text;
}

/* The line begins at `from` in the text; gives it its newline and its leaf. */
int rein_lines_end(struct rein_lines *l, size_t from, struct rein_err *err)
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

	if (rein_log_write_at(r->seg_fd, l->text.p, l->text.n, r->st.offset) < 0) {
		rein_err_errno(err, "write the record");
		goto undo;
	}
	r->st.offset += l->text.n;
	for (size_t i = 0; i < l->n; i++)
		rein_merkle_push(&r->st.tree, &l->leaf[i]);
	if (rein_log_state_write(r, err) == 0)
		return 0;
undo:
	/* If even this fails the next writer finds the tail and repairs it [L3]. */
	if (ftruncate(r->seg_fd, (off_t)before.offset) < 0)
		rein_err_prefix(err, "and cutting it back failed");
	r->st = before;
	return -err->code;
}

int rein_log_key(struct rein_record *r, struct rein_err *err)
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
int rein_log_head(struct rein_record *r, enum rein_head_type type, const uint8_t *pub,
		  struct rein_err *err)
{
	struct rein_head h = {.type = type, .time_ns = rein_now_ns(), .n = r->st.tree.n};
	uint64_t last = r->st.last_head;
	uint8_t old[32];

	if (rein_log_key(r, err) < 0)
		return -err->code;
	rein_merkle_root(&r->st.tree, &h.root);
	memcpy(old, r->st.pub, 32);
	if (pub)
		memcpy(h.pub, pub, 32);
	rein_head_format(&h, &r->key, rein_lines_clear(&r->own));
	if (rein_lines_end(&r->own, 0, err) < 0)
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

int rein_log_segment_make(struct rein_record *r, uint64_t segment, struct rein_err *err)
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
	if (rein_log_key(r, err) < 0)
		return -err->code;
	rein_merkle_root(&r->st.tree, &h.root);
	memcpy(h.pub, r->st.pub, 32);
	rein_head_format(&h, &r->key, rein_lines_clear(&r->own));
	if (rein_lines_end(&r->own, 0, err) < 0)
		return -err->code;
	fd = openat(r->dirfd, "segment.tmp", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return rein_err_errno(err, "start a segment of the record");
	rein_segment_name(segment, name);
	if (rein_log_write_at(fd, r->own.text.p, r->own.text.n, 0) < 0 || fdatasync(fd) < 0 ||
	    renameat(r->dirfd, "segment.tmp", r->dirfd, name) < 0 || fsync(r->dirfd) < 0)
		return rein_err_errno(err, "start segment '%s' of the record", name);
	if (r->seg_fd >= 0)
		close(r->seg_fd);
	r->seg_fd = take_fd(&fd);
	r->seg_open = segment;
	r->st.segment = segment;
	r->st.offset = r->own.text.n;
	rein_merkle_push(&r->st.tree, &r->own.leaf[0]);
	return rein_log_state_write(r, err);
}

int rein_log_rotate(struct rein_record *r, struct rein_err *err)
{
	struct rein_published pub;

	if (rein_log_head(r, REIN_HEAD_HEAD, NULL, err) < 0 ||
	    rein_published_read(r->head_fd, &pub, err) < 0 || rein_log_rewrite(r, &pub, err) < 0)
		return -err->code;
	if (fdatasync(r->seg_fd) < 0)
		return rein_err_errno(err, "sync the record");
	return rein_log_segment_make(r, r->st.segment + 1, err); /* [L4] */
}

int rein_log_close(struct rein_record *r, struct rein_err *err)
{
	r->st.closed = true;
	return rein_log_state_write(r, err);
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

/* Redact, format, hash. An event that is too long even so is squeezed: long texts are cut harder.
 */
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
	return rein_lines_end(&r->events, from, err);
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
	rein_lines_clear(&r->events);
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
	rc = rein_log_key(r, err);
	if (rc == 0 && unlinkat(r->dirfd, "key.next", 0) < 0 && errno != ENOENT)
		rc = rein_err_errno(err, "remove an unused key");
	if (rc == 0)
		rc = rein_key_make(r->dirfd, "key.next", &next, err);
	if (rc == 0)
		rc = rein_log_head(r, REIN_HEAD_ROTATE, rein_key_pub(&next), err);
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
