/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the log durable: whoever gets the sync lock writes one signed head for all that is
 * written, calls fdatasync once and publishes the head [L1] [L2]; the others wait and find
 * themselves covered.
 */
#include <errno.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/log.h"
#include "sys/futex.h"

#define SYNC_NS (300 * REIN_NS_PER_S) /* a disk may be slow, but not for ever */
#define BELL_NS 20000000	      /* a leader that died is noticed after this */

/* [L6] What a sync may have lost is written again from the page cache. */
int rein_log_rewrite(struct rein_record *r, const struct rein_published *pub, struct rein_err *err)
{
	uint64_t at = pub->present && pub->segment == r->st.segment ? pub->offset : 0;
	char chunk[65536];

	while (at < r->st.offset) {
		uint64_t left = r->st.offset - at;
		size_t want = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
		ssize_t got = pread(r->seg_fd, chunk, want, (off_t)at);

		if (got <= 0 || rein_log_write_at(r->seg_fd, chunk, (size_t)got, at) < 0)
			return rein_err_errno(err, "write the record again after a failed sync");
		at += (uint64_t)got;
	}
	return 0;
}

/* Sync lock held. One head for all that is written; its text is in r->own afterwards. */
static int seal(struct rein_record *r, const struct rein_published *pub, uint64_t *ret_segment,
		uint64_t *ret_offset, struct rein_err *err)
{
	uint64_t durable = pub->present ? pub->head.n : REIN_NO_HEAD;
	int rc = 0;

	if (rein_log_begin(r, err) < 0)
		return -err->code;
	if (r->st.last_head != durable) /* the one before us was interrupted [L6] */
		rc = rein_log_rewrite(r, pub, err);
	if (rc == 0)
		rc = rein_log_head(r, REIN_HEAD_HEAD, NULL, err);
	*ret_segment = r->st.segment;
	*ret_offset = r->st.offset;
	rein_log_end(r);
	return rc;
}

/*
 * Those who wait for somebody else's sync sleep on a word in the state file that the leader changes
 * when it is done. The word is only a bell: whether one is covered is read from the head file, and
 * a leader that dies without ringing is noticed by the timeout and by the lock it lost.
 */
static uint32_t *bell(struct rein_record *r)
{
	struct stat st;
	void *p = MAP_FAILED;

	if (r->bell || r->no_bell)
		return r->bell;
	if (fstat(r->state_fd, &st) == 0 &&
	    (st.st_size >= 4 * REIN_LOG_SLOT || ftruncate(r->state_fd, 4 * REIN_LOG_SLOT) == 0))
		p = mmap(NULL, 2 * REIN_LOG_SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, r->state_fd,
			 2 * REIN_LOG_SLOT);
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
		rc = rein_published_write(r, line, segment, offset, err); /* [L1] [L2] */
	if (rc == 0)
		rein_record_anchor(r, line);
	flock(r->head_fd, LOCK_UN);
	bell_ring(r);
	return rc;
}

int rein_record_sync(struct rein_record *r, struct rein_err *err)
{
	struct rein_published pub;
	uint64_t n;

	if (rein_log_begin(r, err) < 0)
		return -err->code;
	/* Nothing but the last head behind the last head: nothing to do. */
	n = r->st.last_head != REIN_NO_HEAD && r->st.tree.n == r->st.last_head + 1 ? r->st.last_head
										   : r->st.tree.n;
	rein_log_end(r);
	if (rein_published_read(r->head_fd, &pub, err) < 0)
		return -err->code;
	if (pub.present && pub.head.n == n)
		return 0;
	return rein_log_sync(r, n, err);
}
