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

/* The last ctime that our own moves made of this one; a single pass, for they are in order. */
static int64_t follow(const struct rein_buf *b, const struct rein_fp *fp)
{
	int64_t at = fp->ctime_ns;

	for (size_t i = 0; i + RECORD <= b->n; i += RECORD) {
		struct rein_unpack u = {(const unsigned char *)b->p + i, RECORD, false};

		if (rein_unpack_le64(&u) != fp->dev || rein_unpack_le64(&u) != fp->ino)
			continue;
		if ((int64_t)rein_unpack_le64(&u) == at)
			at = (int64_t)rein_unpack_le64(&u);
	}
	return at;
}

static void load(const struct rein_state *s, struct rein_buf *b)
{
	struct rein_err ignored = {0};

	/* without the notes there are only more conflicts, never fewer */
	if (rein_file_read(s->fd, "moved", b, &ignored) < 0)
		rein_buf_clear(b);
}

void rein_moved_open(const struct rein_state *s, struct rein_moved *m)
{
	*m = (struct rein_moved){.known = REIN_BUF(FILE_MAX), .fresh = REIN_BUF(FILE_MAX)};
	load(s, &m->known);
}

void rein_moved_note(struct rein_moved *m, const struct rein_fp *was, const struct rein_fp *is)
{
	int64_t from;

	if (!rein_fp_same_inode(was, is) || S_ISDIR(is->mode))
		return;
	/* others may know it by any ctime since: the note goes on from the last */
	from = follow(&m->known, was);
	if (from == is->ctime_ns)
		return;
	for (int i = 0; i < 2; i++) {
		struct rein_buf *b = i ? &m->fresh : &m->known;

		rein_buf_le64(b, was->dev);
		rein_buf_le64(b, was->ino);
		rein_buf_le64(b, (uint64_t)from);
		rein_buf_le64(b, (uint64_t)is->ctime_ns);
	}
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
	rein_buf_done(&m->known);
	rein_buf_done(&m->fresh);
}

bool rein_moved_same(const struct rein_state *s, const struct rein_fp *was, const struct rein_fp *is)
{
	auto_buf struct rein_buf b = REIN_BUF(FILE_MAX);
	struct rein_fp at = *was;

	if (rein_fp_equal(was, is))
		return true;
	at.ctime_ns = is->ctime_ns;
	if (!rein_fp_equal(&at, is)) /* more than the ctime differs */
		return false;
	load(s, &b);
	return follow(&b, was) == is->ctime_ns;
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
