/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that remembers the order of everything. Mounted with FUSE it shows disk0, disk1 … (put a
 * loop device on each) and mark. Every write and every flush that reaches a disk, and every note
 * written to mark, is appended to one log in the order in which it arrived, so that the state of
 * all disks after a power cut at any moment can be made again later: what came before a disk's
 * last flush is there, what came after it may or may not be.
 *
 *	cutdisk MOUNTPOINT LOG IMAGE...
 *
 * Runs in the foreground, one request at a time (the order in the log is the order of the disk),
 * until it is unmounted. A log that cannot be written ends it: a hole would be a wrong verdict.
 */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_DISKS 4

enum kind {
	KIND_WRITE = 1,
	KIND_FLUSH = 2,
	KIND_MARK = 3,
};

/* One log entry, little endian as on the machine; `length` bytes of data follow. */
struct entry {
	uint32_t kind;
	uint32_t disk;
	uint64_t offset;
	uint64_t length;
};

static struct {
	int log_fd;
	unsigned disks;
	int image_fd[MAX_DISKS];
	off_t size[MAX_DISKS];
} self;

static void log_entry(enum kind kind, unsigned disk, off_t offset, const void *data, size_t length)
{
	struct entry entry = {kind, disk, (uint64_t)offset, length};
	struct iovec parts[] = {{&entry, sizeof(entry)}, {(void *)data, length}};
	ssize_t want = (ssize_t)(sizeof(entry) + length);

	if (writev(self.log_fd, parts, length ? 2 : 1) != want) {
		perror("cutdisk: the log is incomplete");
		_exit(1);
	}
}

/* Index of the disk a path names, or -1. */
static int disk_of(const char *path)
{
	if (strncmp(path, "/disk", 5) != 0 || path[5] < '0' || path[6])
		return -1;
	return (unsigned)(path[5] - '0') < self.disks ? path[5] - '0' : -1;
}

static int is_mark(const char *path)
{
	return strcmp(path, "/mark") == 0;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	int disk = disk_of(path);

	(void)fi;
	*st = (struct stat){.st_nlink = 1};
	if (strcmp(path, "/") == 0) {
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
	} else if (disk >= 0 || is_mark(path)) {
		st->st_mode = S_IFREG | 0600;
		st->st_size = disk >= 0 ? self.size[disk] : 0;
	} else {
		return -ENOENT;
	}
	return 0;
}

static int on_readdir(const char *path, void *out, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	char name[] = "disk0";

	(void)path;
	(void)offset;
	(void)fi;
	(void)flags;
	for (unsigned i = 0; i < self.disks; i++, name[4]++)
		fill(out, name, NULL, 0, 0);
	fill(out, "mark", NULL, 0, 0);
	return 0;
}

static int on_open(const char *path, struct fuse_file_info *fi)
{
	fi->direct_io = is_mark(path); /* a mark has no size to cache */
	return 0;
}

static int on_read(const char *path, char *data, size_t length, off_t offset,
		   struct fuse_file_info *fi)
{
	int disk = disk_of(path);
	ssize_t n;

	(void)fi;
	if (disk < 0)
		return 0;
	n = pread(self.image_fd[disk], data, length, offset);
	return n < 0 ? -errno : (int)n;
}

static int on_write(const char *path, const char *data, size_t length, off_t offset,
		    struct fuse_file_info *fi)
{
	int disk = disk_of(path);
	ssize_t n;

	(void)fi;
	if (is_mark(path)) {
		log_entry(KIND_MARK, 0, 0, data, length);
		return (int)length;
	}
	if (disk < 0)
		return -EBADF;
	n = pwrite(self.image_fd[disk], data, length, offset);
	if (n < 0)
		return -errno;
	log_entry(KIND_WRITE, (unsigned)disk, offset, data, (size_t)n);
	return (int)n;
}

static int on_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	int disk = disk_of(path);

	(void)data_only;
	(void)fi;
	if (disk >= 0)
		log_entry(KIND_FLUSH, (unsigned)disk, 0, NULL, 0);
	return 0;
}

/* Opening with O_TRUNC is harmless: a disk keeps its size. */
static int on_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	(void)path;
	(void)size;
	(void)fi;
	return 0;
}

static const struct fuse_operations operations = {
	.getattr = on_getattr,
	.readdir = on_readdir,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.fsync = on_fsync,
	.truncate = on_truncate,
};

static int add_disk(const char *image)
{
	struct stat st;
	int fd = open(image, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(image);
		return -1;
	}
	self.image_fd[self.disks] = fd;
	self.size[self.disks++] = st.st_size;
	return 0;
}

int main(int argc, char **argv)
{
	char *fuse_argv[] = {argv[0], (char *)"-f", (char *)"-s", argc > 1 ? argv[1] : NULL, NULL};

	if (argc < 4 || argc - 3 > MAX_DISKS) {
		fprintf(stderr, "usage: cutdisk MOUNTPOINT LOG IMAGE... (at most %d)\n", MAX_DISKS);
		return 2;
	}
	self.log_fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (self.log_fd < 0) {
		perror(argv[2]);
		return 1;
	}
	for (int i = 3; i < argc; i++)
		if (add_disk(argv[i]) < 0)
			return 1;
	return fuse_main(4, fuse_argv, &operations, NULL);
}
