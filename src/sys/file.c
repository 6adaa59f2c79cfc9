/* SPDX-License-Identifier: Apache-2.0 */
/* Files as wholes. Every path is resolved against a directory that is already open. */
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/auto.h"

static int64_t ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

int rein_fp_at(int dirfd, const char *name, struct rein_fp *ret, struct rein_err *err)
{
	/* a network or FUSE filesystem would tell what it remembers, and hide what another machine did to the file */
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC | (*name ? 0 : AT_EMPTY_PATH);
	struct statx st;

	if (statx(dirfd, name, flags, STATX_BASIC_STATS | STATX_BTIME, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR) {
			*ret = (struct rein_fp){0};
			return 0;
		}
		return rein_err_errno(err, "stat '%s'", name);
	}
	*ret = (struct rein_fp){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.size = st.stx_size,
		.rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
		.mtime_ns = ns(&st.stx_mtime),
		.ctime_ns = ns(&st.stx_ctime),
		.atime_ns = ns(&st.stx_atime),
		.born_ns = st.stx_mask & STATX_BTIME ? ns(&st.stx_btime) : 0,
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.nlink = st.stx_nlink,
		.fixed = st.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND),
	};
	return 0;
}

int rein_file_read(int dirfd, const char *name, struct rein_buf *b, struct rein_err *err)
{
	auto_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char chunk[16384];
	ssize_t n;

	if (fd < 0)
		return rein_err_errno(err, "open '%s'", name);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return rein_err_errno(err, "read '%s'", name);
		}
		rein_buf_add(b, chunk, (size_t)n);
		if (b->failed)
			return rein_err_set(err, REIN_E_LIMIT, "'%s' is larger than %zu bytes", name,
					    b->max);
	}
	return 0;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

/* Where a file is written before it gets its name. */
static void name_beside(const char *name, char tmp[NAME_MAX + 1])
{
	snprintf(tmp, NAME_MAX + 1, "%.200s.%d.new", name, (int)getpid());
}

static int write_beside(int dirfd, const char *tmp, struct rein_str data, bool sync,
			struct rein_err *err)
{
	auto_close int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
				   0600);

	if (fd < 0)
		return rein_err_errno(err, "create '%s'", tmp);
	if (write_all(fd, data.p, data.n) < 0 || (sync && fsync(fd) < 0)) {
		rein_err_errno(err, "write '%s'", tmp);
		unlinkat(dirfd, tmp, 0);
		return -err->code;
	}
	return 0;
}

int rein_file_replace(int dirfd, const char *name, struct rein_str data, enum rein_sync sync,
		      struct rein_err *err)
{
	char tmp[NAME_MAX + 1];

	name_beside(name, tmp);
	if (write_beside(dirfd, tmp, data, sync, err) < 0)
		return -err->code;
	if (renameat(dirfd, tmp, dirfd, name) < 0 ||
	    (sync == REIN_SYNC_DURABLE && fsync(dirfd) < 0)) {
		rein_err_errno(err, "write '%s'", name);
		unlinkat(dirfd, tmp, 0);
		return -err->code;
	}
	return 0;
}

int rein_file_stage(int dirfd, const char *name, struct rein_str data, struct rein_err *err)
{
	char tmp[NAME_MAX + 1];

	name_beside(name, tmp);
	return write_beside(dirfd, tmp, data, false, err);
}

int rein_file_publish(int dirfd, const char *name, struct rein_err *err)
{
	char tmp[NAME_MAX + 1];

	name_beside(name, tmp);
	if (renameat(dirfd, tmp, dirfd, name) < 0)
		return rein_err_errno(err, "write '%s'", name);
	return 0;
}

/* The data ranges of src from *pos: [*pos, *end). False when there are none left. */
static int next_data(int src, off_t size, off_t *pos, off_t *end)
{
	off_t from = lseek(src, *pos, SEEK_DATA);

	if (from < 0) {
		if (errno == ENXIO)
			return 0;
		if (errno != EINVAL)
			return -1;
		*end = size; /* no SEEK_DATA here: all is data */
		return *pos < size;
	}
	*end = lseek(src, from, SEEK_HOLE);
	if (*end < 0)
		return -1;
	*pos = from;
	return 1;
}

static int copy_range(int src, int dst, off_t pos, off_t end)
{
	char chunk[65536];

	while (pos < end) {
		size_t want = (size_t)(end - pos);
		ssize_t n;
		off_t in = pos, out = pos;

		n = copy_file_range(src, &in, dst, &out, want, 0);
		if (n > 0) {
			pos += n;
			continue;
		}
		if (n < 0 && errno != EXDEV && errno != EINVAL && errno != ENOSYS &&
		    errno != EOPNOTSUPP)
			return -1;
		n = pread(src, chunk, want < sizeof(chunk) ? want : sizeof(chunk), pos);
		if (n < 0)
			return -1;
		if (n == 0)
			return 0; /* the source shrank: its new size was applied already */
		for (ssize_t done = 0; done < n;) {
			ssize_t w = pwrite(dst, chunk + done, (size_t)(n - done), pos + done);

			if (w < 0)
				return -1;
			done += w;
		}
		pos += n;
	}
	return 0;
}

int rein_file_copy_data(int src, int dst, struct rein_err *err)
{
	struct stat s, d;
	off_t pos = 0, end, hole = 0;
	int more;

	if (fstat(src, &s) < 0 || fstat(dst, &d) < 0)
		return rein_err_errno(err, "stat");
	if (d.st_size == 0 && ioctl(dst, FICLONE, src) == 0)
		return 0;
	/* where blocks may be missing, take them now: nothing has changed yet */
	if (d.st_size && s.st_blocks * 512 >= s.st_size && s.st_size &&
	    fallocate(dst, FALLOC_FL_KEEP_SIZE, 0, s.st_size) < 0 && (errno == ENOSPC || errno == EDQUOT))
		return rein_err_errno(err, "make room");
	if (d.st_size < s.st_size && ftruncate(dst, s.st_size) < 0)
		return rein_err_errno(err, "extend");
	while ((more = next_data(src, s.st_size, &pos, &end)) > 0) {
		if (pos > hole && d.st_size > hole &&
		    fallocate(dst, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, hole, pos - hole) < 0)
			return rein_err_errno(err, "punch hole");
		if (copy_range(src, dst, pos, end) < 0)
			return rein_err_errno(err, "copy");
		pos = hole = end;
	}
	if (more < 0)
		return rein_err_errno(err, "find data");
	if (d.st_size > hole && s.st_size > hole &&
	    fallocate(dst, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, hole, s.st_size - hole) < 0)
		return rein_err_errno(err, "punch hole");
	if (ftruncate(dst, s.st_size) < 0)
		return rein_err_errno(err, "truncate");
	return 0;
}

int rein_open_quiet(int dirfd, const char *name)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	int fd = openat(dirfd, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(dirfd, name, flags) : fd;
}

/* As much as there is; what would lie behind the end is zero. */
static ssize_t read_zeroed(int fd, char *buf, size_t n, off_t pos)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, buf + done, n - done, pos + (off_t)done);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	memset(buf + done, 0, n - done);
	return (ssize_t)done;
}

int rein_file_between(int fd, int a, int b, struct rein_err *err)
{
	char x[16384], y[16384], z[16384];
	struct stat s, t, u;
	off_t pos = 0;

	if (fstat(fd, &s) < 0 || fstat(a, &t) < 0 || fstat(b, &u) < 0)
		return rein_err_errno(err, "stat");
	if (s.st_size != t.st_size && s.st_size != u.st_size)
		return 0;
	for (;;) {
		ssize_t n = read_zeroed(fd, x, sizeof(x), pos);

		if (n < 0 || read_zeroed(a, y, sizeof(y), pos) < 0 || read_zeroed(b, z, sizeof(z), pos) < 0)
			return rein_err_errno(err, "read");
		for (ssize_t i = 0; i < n; i++)
			if (x[i] != y[i] && x[i] != z[i])
				return 0;
		if (n == 0)
			return 1;
		pos += n;
	}
}

int rein_file_same_data(int a, int b, struct rein_err *err)
{
	char x[32768], y[32768];
	off_t pos = 0;

	for (;;) {
		ssize_t n = pread(a, x, sizeof(x), pos);
		ssize_t m;

		if (n < 0)
			return rein_err_errno(err, "read");
		m = pread(b, y, n ? (size_t)n : 1, pos);
		if (m < 0)
			return rein_err_errno(err, "read");
		if (m != n || memcmp(x, y, (size_t)n))
			return 0;
		if (n == 0)
			return 1;
		pos += n;
	}
}

static int open2(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Open n bytes of path below root, as a directory; one that may be entered but not listed is enough. */
static int open_piece(int root, const char *path, size_t n)
{
	char piece[PATH_MAX];
	int fd;

	snprintf(piece, sizeof(piece), "%.*s", (int)n, n ? path : ".");
	if (!n)
		piece[0] = '.', piece[1] = '\0';
	fd = open2(root, piece, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	return fd < 0 && errno == EACCES ? open2(root, piece, O_PATH | O_DIRECTORY | O_NOFOLLOW) : fd;
}

/* A path may be longer than the kernel takes at once: then piece by piece. */
static int open_bytes(int root, const char *path, size_t n, int *ret_fd, struct rein_err *err)
{
	auto_close int at = -1;

	for (;;) {
		size_t take = n;
		int fd;

		if (n > PATH_MAX / 2) {
			take = PATH_MAX / 2;
			while (take && path[take] != '/')
				take--;
			if (!take)
				return rein_err_set(err, REIN_E_LIMIT, "a name in '%.60s...' is too long", path);
		}
		fd = open_piece(at < 0 ? root : at, path, take);
		if (fd < 0)
			return rein_err_errno(err, "open directory '%.*s'", (int)(n < 200 ? n : 200),
					      n ? path : ".");
		rein_closep_(&at);
		at = fd;
		if (take == n)
			break;
		path += take + 1;
		n -= take + 1;
	}
	*ret_fd = take_fd(&at);
	return 0;
}

int rein_open_dir_at(int root, const char *path, int *ret_fd, struct rein_err *err)
{
	return open_bytes(root, path, strlen(path), ret_fd, err);
}

int rein_open_parent(int root, const char *path, const char **ret_name, int *ret_fd,
		     struct rein_err *err)
{
	const char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : path;
	return open_bytes(root, path, slash ? (size_t)(slash - path) : 0, ret_fd, err);
}
