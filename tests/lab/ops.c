/* SPDX-License-Identifier: Apache-2.0 */
/* See ops.h. An operation never blocks: fifos are opened O_NONBLOCK, sizes are bounded by the list.
 */
#include "ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CHUNK 65536

static void fill(unsigned char *p, size_t n, uint64_t seed, uint64_t at)
{
	for (size_t i = 0; i < n; i++, at++)
		p[i] = (unsigned char)(lab_mix(seed + at / 8) >> (at % 8 * 8));
}

static int write_all(int fd, off_t off, uint64_t len, uint64_t seed, bool append)
{
	unsigned char buf[CHUNK];
	uint64_t done = 0;

	while (done < len) {
		size_t n = len - done < CHUNK ? (size_t)(len - done) : CHUNK;
		ssize_t rc;

		fill(buf, n, seed, done);
		rc = append ? write(fd, buf, n) : pwrite(fd, buf, n, off + (off_t)done);
		if (rc < 0)
			return -1;
		done += (uint64_t)rc;
	}
	return 0;
}

static int close_keep(int fd, int rc)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return rc;
}

static int write_open(const struct op *op, int flags, mode_t mode, off_t off, uint64_t len,
		      uint64_t seed)
{
	int fd = open(op->s[0], flags | O_WRONLY | O_NONBLOCK | O_CLOEXEC, mode);

	if (fd < 0)
		return -1;
	return close_keep(fd, write_all(fd, off, len, seed, flags & O_APPEND));
}

static int do_put(const struct op *op)
{
	return write_open(op, O_CREAT | O_TRUNC, (mode_t)op->n[0], 0, (uint64_t)op->n[1],
			  (uint64_t)op->n[2]);
}

static int do_creat(const struct op *op)
{
	return write_open(op, O_CREAT | O_EXCL, (mode_t)op->n[0], 0, 0, 0);
}

static int do_append(const struct op *op)
{
	return write_open(op, O_APPEND, 0, 0, (uint64_t)op->n[0], (uint64_t)op->n[1]);
}

static int do_pwrite(const struct op *op)
{
	return write_open(op, 0, 0, op->n[0], (uint64_t)op->n[1], (uint64_t)op->n[2]);
}

/* A file of the given size with one island of data. */
static int do_sparse(const struct op *op)
{
	int fd = open(op->s[0], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644), rc;

	if (fd < 0)
		return -1;
	rc = ftruncate(fd, op->n[0]);
	if (rc == 0)
		rc = write_all(fd, op->n[1], (uint64_t)op->n[2], (uint64_t)op->n[3], false);
	return close_keep(fd, rc);
}

static int do_mmap(const struct op *op)
{
	size_t off = (size_t)op->n[0], len = (size_t)op->n[1];
	struct stat st;
	unsigned char *p;
	int fd = open(op->s[0], O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return close_keep(fd, -1);
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size < off + len || len == 0) {
		errno = ERANGE;
		return close_keep(fd, -1);
	}
	p = mmap(NULL, off + len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return close_keep(fd, -1);
	fill(p + off, len, (uint64_t)op->n[2], 0);
	munmap(p, off + len);
	return close_keep(fd, 0);
}

static int do_trunc(const struct op *op)
{
	return truncate(op->s[0], op->n[0]);
}

static int do_punch(const struct op *op)
{
	int fd = open(op->s[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return close_keep(
		fd, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, op->n[0], op->n[1]));
}

static int do_unlink(const struct op *op)
{
	return unlink(op->s[0]);
}

static int do_mkdir(const struct op *op)
{
	return mkdir(op->s[0], (mode_t)op->n[0]);
}

static int do_rmdir(const struct op *op)
{
	return rmdir(op->s[0]);
}

static int not_dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/*
 * In byte order and going on after a failure, so that what stays when something cannot be removed
 * does not depend on the order a directory is read in. Returns the first errno.
 */
static int remove_tree(int dirfd, const char *name)
{
	struct dirent **list;
	int fd, n, first = 0, rc;

	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR)
		return errno;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		first = errno;
	} else {
		n = scandirat(fd, ".", &list, not_dots, by_bytes);
		if (n < 0)
			first = errno;
		for (int i = 0; i < n; i++) {
			rc = remove_tree(fd, list[i]->d_name);
			if (!first)
				first = rc;
			free(list[i]);
		}
		if (n >= 0)
			free(list);
		close(fd);
	}
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && !first)
		first = errno;
	return first;
}

static int do_rmrf(const struct op *op)
{
	errno = remove_tree(AT_FDCWD, op->s[0]);
	return errno ? -1 : 0;
}

static int do_rename(const struct op *op)
{
	return rename(op->s[0], op->s[1]);
}

static int do_noreplace(const struct op *op)
{
	return renameat2(AT_FDCWD, op->s[0], AT_FDCWD, op->s[1], RENAME_NOREPLACE);
}

static int do_exchange(const struct op *op)
{
	return renameat2(AT_FDCWD, op->s[0], AT_FDCWD, op->s[1], RENAME_EXCHANGE);
}

static int do_link(const struct op *op)
{
	return link(op->s[0], op->s[1]);
}

static int do_symlink(const struct op *op)
{
	return symlink(op->s[0], op->s[1]);
}

/* The way ln -sfn and package managers change a link: a new one, renamed over the old. */
static int do_resym(const struct op *op)
{
	static const char tmp[] = ".resym-tmp";

	if (symlink(op->s[0], tmp) < 0)
		return -1;
	if (rename(tmp, op->s[1]) < 0) {
		int saved = errno;

		unlink(tmp);
		errno = saved;
		return -1;
	}
	return 0;
}

static int do_chmod(const struct op *op)
{
	return chmod(op->s[0], (mode_t)op->n[0]);
}

static int do_chown(const struct op *op)
{
	return lchown(op->s[0], (uid_t)op->n[0], (gid_t)op->n[1]);
}

static int do_utime(const struct op *op)
{
	struct timespec t[2] = {{.tv_nsec = UTIME_OMIT},
				{.tv_sec = op->n[0], .tv_nsec = (long)op->n[1]}};

	return utimensat(AT_FDCWD, op->s[0], t, AT_SYMLINK_NOFOLLOW);
}

static int do_touch(const struct op *op)
{
	return utimensat(AT_FDCWD, op->s[0], NULL, AT_SYMLINK_NOFOLLOW);
}

/* The attribute's name is the first NUL-terminated part of the value: "user.a\0bytes". */
static int do_setx(const struct op *op)
{
	size_t name = strlen(op->s[1]) + 1;

	if (op->sn[1] < name) {
		errno = EINVAL;
		return -1;
	}
	return lsetxattr(op->s[0], op->s[1], op->s[1] + name, op->sn[1] - name, 0);
}

static int do_rmx(const struct op *op)
{
	return lremovexattr(op->s[0], op->s[1]);
}

static int do_mkfifo(const struct op *op)
{
	return mknod(op->s[0], S_IFIFO | (mode_t)op->n[0], 0);
}

static int do_mksock(const struct op *op)
{
	return mknod(op->s[0], S_IFSOCK | (mode_t)op->n[0], 0);
}

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path)) : lab_strdup(".");
}

static int do_tmplink(const struct op *op)
{
	char *dir = dir_of(op->s[0]), proc[64];
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, (mode_t)op->n[0]), rc;

	free(dir);
	if (fd < 0)
		return -1;
	rc = write_all(fd, 0, (uint64_t)op->n[1], (uint64_t)op->n[2], false);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (rc == 0)
		rc = linkat(AT_FDCWD, proc, AT_FDCWD, op->s[0], AT_SYMLINK_FOLLOW);
	return close_keep(fd, rc);
}

static int do_copy(const struct op *op)
{
	off_t from = op->n[0], to = op->n[1];
	uint64_t left = (uint64_t)op->n[2];
	int in = open(op->s[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC), out, rc = 0;

	if (in < 0)
		return -1;
	out = open(op->s[1], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (out < 0)
		return close_keep(in, -1);
	while (rc == 0 && left > 0) {
		ssize_t n = copy_file_range(in, &from, out, &to, left, 0);

		if (n <= 0) {
			rc = n < 0 ? -1 : 0;
			break;
		}
		left -= (uint64_t)n;
	}
	rc = close_keep(in, rc);
	return close_keep(out, rc);
}

/* A program that keeps a file open while it is renamed goes on writing to it. */
static int do_openren(const struct op *op)
{
	int fd = open(op->s[0], O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = rename(op->s[0], op->s[1]);
	if (rc == 0)
		rc = write_all(fd, 0, (uint64_t)op->n[0], (uint64_t)op->n[1], true);
	return close_keep(fd, rc);
}

/*
 * args: p path, t text or value, o octal number, d decimal number.
 * moves: r renames s[0] to s[1], x exchanges them.
 */
static const struct {
	const char *name;
	const char *args;
	char moves;
	int (*run)(const struct op *op);
} ops_table[] = {
	{"put", "podd", 0, do_put},	      {"creat", "po", 0, do_creat},
	{"append", "pdd", 0, do_append},    {"pwrite", "pddd", 0, do_pwrite},
	{"sparse", "pdddd", 0, do_sparse},    {"mmap", "pddd", 0, do_mmap},
	{"trunc", "pd", 0, do_trunc},	      {"punch", "pdd", 0, do_punch},
	{"unlink", "p", 0, do_unlink},	      {"mkdir", "po", 0, do_mkdir},
	{"rmdir", "p", 0, do_rmdir},	      {"rmrf", "p", 0, do_rmrf},
	{"rename", "pp", 'r', do_rename},     {"noreplace", "pp", 'r', do_noreplace},
	{"exchange", "pp", 'x', do_exchange}, {"link", "pp", 0, do_link},
	{"symlink", "tp", 0, do_symlink},     {"resym", "tp", 0, do_resym},
	{"chmod", "po", 0, do_chmod},	      {"chown", "pdd", 0, do_chown},
	{"utime", "pdd", 0, do_utime},      {"touch", "p", 0, do_touch},
	{"setx", "pt", 0, do_setx},	      {"rmx", "pt", 0, do_rmx},
	{"mkfifo", "po", 0, do_mkfifo},	      {"mksock", "po", 0, do_mksock},
	{"tmplink", "podd", 0, do_tmplink},   {"copy", "ppddd", 0, do_copy},
	{"openren", "ppdd", 0, do_openren},
};

static unsigned kind_of(const char *name, size_t n)
{
	for (unsigned i = 0; i < lab_array_size(ops_table); i++)
		if (strlen(ops_table[i].name) == n && !memcmp(ops_table[i].name, name, n))
			return i;
	lab_die("no operation is called '%.*s'", (int)n, name);
}

void ops_add(struct ops *o, const char *name, ...)
{
	struct op op = {.kind = kind_of(name, strlen(name))};
	unsigned ns = 0, nn = 0;
	va_list ap;

	va_start(ap, name);
	for (const char *a = ops_table[op.kind].args; *a; a++) {
		if (*a == 'p' || *a == 't') {
			op.s[ns] = lab_strdup(va_arg(ap, const char *));
			op.sn[ns] = strlen(op.s[ns]);
			ns++;
		} else {
			op.n[nn++] = va_arg(ap, int64_t);
		}
	}
	va_end(ap);
	lab_push(o->v, o->n, op);
}

void ops_add_value(struct ops *o, const char *name, const char *path, const char *attr,
		   const void *value, size_t n)
{
	struct op op = {.kind = kind_of(name, strlen(name)), .s[0] = lab_strdup(path)};
	size_t an = strlen(attr) + 1;

	op.sn[0] = strlen(path);
	op.s[1] = lab_alloc(an + n + 1);
	op.sn[1] = an + n;
	memcpy(op.s[1], attr, an);
	if (n)
		memcpy(op.s[1] + an, value, n);
	lab_push(o->v, o->n, op);
}

void ops_format_one(const struct op *op, struct lab_text *t)
{
	unsigned ns = 0, nn = 0;

	lab_text_printf(t, "%s", ops_table[op->kind].name);
	for (const char *a = ops_table[op->kind].args; *a; a++) {
		lab_text_add(t, " ", 1);
		if (*a == 'p' || *a == 't') {
			lab_text_word(t, op->s[ns], op->sn[ns]);
			ns++;
		} else {
			lab_text_printf(t, *a == 'o' ? "0%llo" : "%lld", (long long)op->n[nn++]);
		}
	}
	lab_text_add(t, "\n", 1);
}

const char *ops_name(const struct op *op)
{
	return ops_table[op->kind].name;
}

bool ops_is_path(const struct op *op, int i)
{
	const char *args = ops_table[op->kind].args;

	return args[i] == 'p' || (args[i] == 't' && i == 0);
}

void ops_format(const struct ops *o, struct lab_text *t)
{
	lab_text_add(t, "", 0);
	for (size_t i = 0; i < o->n; i++)
		ops_format_one(&o->v[i], t);
}

static int hex(char c)
{
	const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static char *unescape(const char *p, size_t n, size_t *ret_n)
{
	char *s = lab_alloc(n + 1);
	size_t m = 0;

	if (n == 1 && *p == '%') {
		*ret_n = 0;
		return s;
	}
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '%') {
			s[m++] = p[i];
			continue;
		}
		if (i + 2 >= n || hex(p[i + 1]) < 0 || hex(p[i + 2]) < 0)
			lab_die("bad escape in '%.*s'", (int)n, p);
		s[m++] = (char)(hex(p[i + 1]) << 4 | hex(p[i + 2]));
		i += 2;
	}
	*ret_n = m;
	return s;
}

static void parse_line(struct ops *o, const char *p, const char *end)
{
	size_t n = strcspn(p, " \n");
	struct op op = {.kind = kind_of(p, n)};
	unsigned ns = 0, nn = 0;

	for (const char *a = ops_table[op.kind].args; *a; a++) {
		p += n;
		if (p >= end || *p != ' ')
			lab_die("operation '%s' needs %zu words", ops_table[op.kind].name,
				strlen(ops_table[op.kind].args));
		p++;
		n = strcspn(p, " \n");
		if (*a == 'p' || *a == 't') {
			op.s[ns] = unescape(p, n, &op.sn[ns]);
			ns++;
		} else {
			op.n[nn++] = strtoll(p, NULL, *a == 'o' ? 8 : 10);
		}
	}
	lab_push(o->v, o->n, op);
}

void ops_parse(struct ops *o, const char *text, size_t n)
{
	const char *p = text, *end = text + n;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!nl)
			lab_die("the last line of the list is not complete");
		if (nl > p && *p != '#')
			parse_line(o, p, nl);
		p = nl + 1;
	}
}

struct ops ops_select(const struct ops *o, const bool *keep)
{
	struct ops r = {0};

	for (size_t i = 0; i < o->n; i++)
		if (keep[i])
			lab_push(r.v, r.n, o->v[i]);
	return r;
}

void ops_done(struct ops *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].s[0]);
		free(o->v[i].s[1]);
	}
	free(o->v);
	*o = (struct ops){0};
}

/* A directory that was moved takes those below it along. */
static void tell_moved(struct op_log *log, const char *path)
{
	struct dirent *d;
	struct stat st;
	DIR *dir;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	lab_push(log->moved, log->nmoved, st.st_ino);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		char *sub = lab_format("%s/%s", path, d->d_name);

		if (not_dots(d))
			tell_moved(log, sub);
		free(sub);
	}
	if (dir)
		closedir(dir);
}

void ops_run(const struct ops *o, uint16_t *errnos, struct op_log *log)
{
	umask(022);
	for (size_t i = 0; i < o->n; i++) {
		const struct op *op = &o->v[i];
		int rc = ops_table[op->kind].run(op);

		errnos[i] = rc == 0 ? 0 : (uint16_t)errno;
		if (rc == 0 && log && ops_table[op->kind].moves)
			tell_moved(log, op->s[1]);
		if (rc == 0 && log && ops_table[op->kind].moves == 'x')
			tell_moved(log, op->s[0]);
	}
}

static void stamp_at(int dirfd, const char *name, uint64_t hash, bool together)
{
	struct timespec t[2];
	struct dirent *d;
	struct stat st;
	bool opened = false;
	DIR *dir;
	int fd;

	for (const char *c = name; *c; c++)
		hash = lab_mix(hash ^ (unsigned char)*c);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		lab_die_errno("stat '%s'", name);
	if (S_ISDIR(st.st_mode)) {
		opened = geteuid() != 0 && (st.st_mode & 0500) != 0500 &&
			 fchmodat(dirfd, name, 0700, 0) == 0;
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			lab_die_errno("open '%s'", name);
		dir = fdopendir(fd);
		while (dir && (d = readdir(dir)))
			if (not_dots(d))
				stamp_at(fd, d->d_name, hash, together);
		if (dir)
			closedir(dir);
		if (opened && fchmodat(dirfd, name, st.st_mode & 07777, 0) < 0)
			lab_die_errno("chmod '%s'", name);
	}
	/* Hard-linked names share one inode: the time must not depend on which came last. */
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1)
		hash = lab_mix((uint64_t)st.st_size * 31 + st.st_nlink);
	/* files that came at the same moment share their access time; others do not */
	t[0] = together ? (struct timespec){.tv_nsec = UTIME_OMIT}
			: (struct timespec){.tv_sec = 1600000000 + (int64_t)(hash % 1000000),
					    .tv_nsec = (long)(lab_mix(hash) % 1000000000)};
	t[1] = (struct timespec){.tv_sec = 978307200 + (int64_t)(hash % 600000000),
				 .tv_nsec = (long)(hash >> 32) % 1000000000};
	if (utimensat(dirfd, name, t, AT_SYMLINK_NOFOLLOW) < 0)
		lab_die_errno("set the time of '%s'", name);
}

bool ops_stamps_together(uint64_t seed)
{
	return seed % 5 == 0;
}

void ops_stamp(uint64_t seed)
{
	stamp_at(AT_FDCWD, ".", seed, ops_stamps_together(seed));
}
