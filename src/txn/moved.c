/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renaming an inode changes its ctime. When an undo puts a file back, fingerprints that older
 * transactions took of it would no longer match although nobody touched it; so every ctime we cause
 * is noted: (dev, ino, ctime before, ctime after), appended to STATE/moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/pack.h"
#include "sys/file.h"
#include "txn/internal.h"

#define RECORD 32u
#define FILE_MAX (64u << 20)

int rein_moved_note(const struct rein_state *s, const struct rein_fp *was, const struct rein_fp *is,
		    struct rein_err *err)
{
	auto_close int fd = -1;
	auto_buf struct rein_buf b = REIN_BUF(RECORD);

	if (!rein_fp_same_inode(was, is) || was->ctime_ns == is->ctime_ns || S_ISDIR(is->mode))
		return 0;
	fd = openat(s->fd, "moved", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rein_err_errno(err, "open 'moved'");
	rein_buf_le64(&b, was->dev);
	rein_buf_le64(&b, was->ino);
	rein_buf_le64(&b, (uint64_t)was->ctime_ns);
	rein_buf_le64(&b, (uint64_t)is->ctime_ns);
	if (b.failed)
		return rein_err_nomem(err);
	if (write(fd, b.p, b.n) != (ssize_t)b.n)
		return rein_err_errno(err, "write 'moved'");
	return 0;
}

bool rein_moved_same(const struct rein_state *s, const struct rein_fp *was, const struct rein_fp *is)
{
	auto_buf struct rein_buf b = REIN_BUF(FILE_MAX);
	struct rein_fp at = *was;
	struct rein_err ignored = {0};

	if (rein_fp_equal(was, is))
		return true;
	at.ctime_ns = is->ctime_ns;
	if (!rein_fp_equal(&at, is)) /* more than the ctime differs */
		return false;
	if (rein_file_read(s->fd, "moved", &b, &ignored) < 0)
		return false;
	at = *was;
	/* in the order they were caused, so that one pass follows a chain */
	for (size_t i = 0; i + RECORD <= b.n; i += RECORD) {
		struct rein_unpack u = {(const unsigned char *)b.p + i, RECORD, false};

		if (rein_unpack_le64(&u) != at.dev || rein_unpack_le64(&u) != at.ino)
			continue;
		if ((int64_t)rein_unpack_le64(&u) == at.ctime_ns)
			at.ctime_ns = (int64_t)rein_unpack_le64(&u);
	}
	return rein_fp_equal(&at, is);
}

int rein_moved_trim(const struct rein_state *s, struct rein_err *err)
{
	struct stat st;

	/* notes only spare false conflicts: the oldest may go when they become many */
	if (fstatat(s->fd, "moved", &st, 0) == 0 && st.st_size > (off_t)FILE_MAX / 2 &&
	    unlinkat(s->fd, "moved", 0) < 0)
		return rein_err_errno(err, "trim 'moved'");
	return 0;
}
