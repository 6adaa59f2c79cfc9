/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renaming an inode changes its ctime. When an undo puts a file back, fingerprints that other
 * transactions took of it would no longer match although nobody touched it; so every ctime we cause
 * is noted: (dev, ino, ctime before, ctime after), appended to STATE/moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/pack.h"
#include "sys/file.h"
#include "txn/internal.h"

#define RECORD 32u
#define FILE_MAX (64u << 20)

struct note {
	uint64_t dev, ino;
	int64_t from, to;
};

static struct note note_at(const struct rein_moved *m, uint32_t i)
{
	struct rein_unpack u = {(const unsigned char *)m->known.p + (size_t)i * RECORD, RECORD, false};
	struct note n;

	n.dev = rein_unpack_le64(&u);
	n.ino = rein_unpack_le64(&u);
	n.from = (int64_t)rein_unpack_le64(&u);
	n.to = (int64_t)rein_unpack_le64(&u);
	return n;
}

/* Inode numbers often follow each other: spread them (the golden ratio), and take the high bits. */
static size_t bucket_of(uint64_t dev, uint64_t ino)
{
	return (size_t)((dev ^ ino) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - REIN_MOVED_BITS));
}

/* The last note of the buffer joins the others of its bucket, in order. Without memory it is none. */
static void enter(struct rein_moved *m, uint64_t dev, uint64_t ino)
{
	struct rein_moved_bucket *b = &m->buckets[bucket_of(dev, ino)];
	const uint32_t last = b->last;

	if (rein_grow(m->next, m->n, m->cap) < 0)
		return;
	m->next[m->n++] = 0;
	b->last = (uint32_t)m->n;
	if (last)
		m->next[last - 1] = b->last;
	else
		b->first = b->last;
}

/* The last ctime that our own moves made of this one; a single pass, for they are in order. */
static int64_t follow(const struct rein_moved *m, const struct rein_fp *fp)
{
	int64_t at = fp->ctime_ns;

	for (uint32_t i = m->buckets ? m->buckets[bucket_of(fp->dev, fp->ino)].first : 0; i; i = m->next[i - 1]) {
		const struct note n = note_at(m, i - 1);

		if (n.dev == fp->dev && n.ino == fp->ino && n.from == at)
			at = n.to;
	}
	return at;
}

void rein_moved_open(const struct rein_state *s, struct rein_moved *m)
{
	struct rein_err ignored = {0};

	*m = (struct rein_moved){.known = REIN_BUF(FILE_MAX), .fresh = REIN_BUF(FILE_MAX)};
	m->buckets = rein_calloc((size_t)1 << REIN_MOVED_BITS, sizeof(*m->buckets));
	/* without the notes there are only more conflicts, never fewer */
	if (!m->buckets || rein_file_read(s->fd, "moved", &m->known, &ignored) < 0)
		rein_buf_clear(&m->known);
	m->known.n -= m->known.n % RECORD;
	for (uint32_t i = 0; i < m->known.n / RECORD; i++) {
		const struct note n = note_at(m, i);

		enter(m, n.dev, n.ino);
	}
}

void rein_moved_note(struct rein_moved *m, const struct rein_fp *was, const struct rein_fp *is)
{
	int64_t from;

	if (!m->buckets || !rein_fp_same_inode(was, is) || S_ISDIR(is->mode))
		return;
	/* others may know it by any ctime since: the note goes on from the last */
	from = follow(m, was);
	if (from == is->ctime_ns)
		return;
	for (int i = 0; i < 2; i++) {
		struct rein_buf *b = i ? &m->fresh : &m->known;

		rein_buf_le64(b, was->dev);
		rein_buf_le64(b, was->ino);
		rein_buf_le64(b, (uint64_t)from);
		rein_buf_le64(b, (uint64_t)is->ctime_ns);
	}
	if (!m->known.failed)
		enter(m, was->dev, was->ino);
}

void rein_moved_done(struct rein_moved *m)
{
	rein_buf_done(&m->known);
	rein_buf_done(&m->fresh);
	rein_free(m->buckets);
	rein_free(m->next);
	*m = (struct rein_moved){0};
}

void rein_moved_close(const struct rein_state *s, struct rein_moved *m)
{
	auto_close int fd = -1;
	struct stat st;

	if (m->fresh.n && !m->fresh.failed)
		fd = openat(s->fd, "moved", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* a note that is lost costs a conflict that is none; half a note would cost all that come after it */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size % RECORD && ftruncate(fd, st.st_size - st.st_size % RECORD) < 0)
		m->fresh.failed = true;
	if (fd >= 0 && !m->fresh.failed && write(fd, m->fresh.p, m->fresh.n) != (ssize_t)m->fresh.n)
		m->fresh.failed = true;
	rein_moved_done(m);
}

bool rein_moved_same(const struct rein_state *s, struct rein_moved *m, const struct rein_fp *was,
		     const struct rein_fp *is)
{
	struct rein_fp at = *was;

	if (rein_fp_equal(was, is))
		return true;
	at.ctime_ns = is->ctime_ns;
	if (!rein_fp_equal(&at, is)) /* more than the ctime differs */
		return false;
	if (!m->buckets)
		rein_moved_open(s, m);
	return follow(m, was) == is->ctime_ns;
}

int rein_moved_trim(const struct rein_state *s, struct rein_err *err)
{
	struct stat st;

	/* notes only spare false conflicts: they may go when they become many */
	if (fstatat(s->fd, "moved", &st, 0) == 0 && st.st_size > (off_t)FILE_MAX / 2 &&
	    unlinkat(s->fd, "moved", 0) < 0)
		return rein_err_errno(err, "trim 'moved'");
	return 0;
}
