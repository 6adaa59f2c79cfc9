/* SPDX-License-Identifier: Apache-2.0 */
/* Whole trees, by directory descriptors. */
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/auto.h"
#include "sys/attr.h"
#include "sys/file.h"

void rein_names_done(struct rein_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		rein_free(names->v[i]);
	rein_free(names->v);
	*names = (struct rein_names){0};
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Far more levels than any tree of use has, and few enough for the stack of a walk. */
#define FILES_MAX 16384

/* The limit a shell starts with is made for select(2); a walk holds a directory open a level. */
static bool raise_limit(void)
{
	struct rlimit now;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return false;
	most = now.rlim_max < FILES_MAX ? now.rlim_max : FILES_MAX;
	if (now.rlim_cur >= most)
		return false;
	now.rlim_cur = most;
	return setrlimit(RLIMIT_NOFILE, &now) == 0;
}

int rein_open_sub(int dirfd, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);

	if (fd < 0 && errno == EMFILE) {
		if (raise_limit())
			return openat(dirfd, name, flags);
		errno = EMFILE;
	}
	return fd;
}

int rein_names_read(int dirfd, const char *name, struct rein_names *ret, struct rein_err *err)
{
	auto_close int fd = rein_open_sub(dirfd, *name ? name : ".");
	auto_closedir DIR *d = NULL;
	struct rein_names names = {0};
	struct dirent *e;

	if (fd < 0)
		return rein_err_errno(err, "open directory '%s'", name);
	d = fdopendir(fd);
	if (!d)
		return rein_err_errno(err, "read directory '%s'", name);
	take_fd(&fd);
	for (errno = 0; (e = readdir(d)); errno = 0) {
		char *copy;

		if (rein_streq(e->d_name, ".") || rein_streq(e->d_name, ".."))
			continue;
		copy = rein_strdup(e->d_name);
		if (!copy || rein_grow(names.v, names.n, names.cap) < 0) {
			rein_free(copy);
			rein_names_done(&names);
			return rein_err_nomem(err);
		}
		names.v[names.n++] = copy;
	}
	if (errno) {
		rein_err_errno(err, "read directory '%s'", name);
		rein_names_done(&names);
		return -err->code;
	}
	if (names.n)
		qsort(names.v, names.n, sizeof(names.v[0]), by_bytes);
	*ret = names;
	return 0;
}

static int remove_dir(int dirfd, const char *name, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int fd = -1;

	/* an empty one is the usual case, so it is tried first */
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EPERM && errno != EACCES)
		return rein_err_errno(err, "remove '%s'", name);
	fd = rein_open_sub(dirfd, name);
	if (fd < 0 && errno == EACCES && fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = rein_open_sub(dirfd, name);
	if (fd < 0) /* somebody else may be removing it, too */
		return errno == ENOENT ? 0 : rein_err_errno(err, "remove '%s'", name);
	if (rein_names_read(fd, "", &names, err) < 0) {
		if (err->sys != ENOENT)
			return -err->code;
		*err = (struct rein_err){0};
	}
	if (names.n)
		fchmod(fd, 0700); /* one that fails shows below */
	for (size_t i = 0; i < names.n; i++) {
		if (unlinkat(fd, names.v[i], 0) == 0 || errno == ENOENT)
			continue;
		if (errno != EISDIR)
			return rein_err_errno(err, "remove '%s'", names.v[i]);
		if (remove_dir(fd, names.v[i], err) < 0)
			return -err->code;
	}
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return rein_err_errno(err, "remove '%s'", name);
	return 0;
}

int rein_tree_remove(int dirfd, const char *name, struct rein_err *err)
{
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR)
		return unlinkat(dirfd, name, 0) == 0 || errno == ENOENT
			       ? 0
			       : rein_err_errno(err, "remove '%s'", name);
	return remove_dir(dirfd, name, err);
}

int rein_mkdirs(int dirfd, const char *path, struct rein_err *err)
{
	char tmp[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(tmp))
		return rein_err_set(err, REIN_E_LIMIT, "path is longer than %zu bytes", sizeof(tmp));
	/* most often all but the last is there */
	if (mkdirat(dirfd, path, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT)
		return rein_err_errno(err, "create directory '%s'", path);
	memcpy(tmp, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		char c = tmp[i];

		if (c != '/' && c != '\0')
			continue;
		tmp[i] = '\0';
		if (mkdirat(dirfd, tmp, 0700) < 0 && errno != EEXIST)
			return rein_err_errno(err, "create directory '%s'", tmp);
		tmp[i] = c;
	}
	return 0;
}

/* Files with several links that were copied already, so that the copy links them too. */
struct rein_copied {
	uint64_t dev, ino;
	char *path; /* in the copy, relative to dst */
};

struct copier {
	int dst; /* where the copy's top lies */
	struct rein_copies *seen;
};

static int copy_link(struct copier *c, const struct rein_fp *fp, const char *path, bool *done,
		     struct rein_err *err)
{
	struct rein_copied *s = NULL;
	char *mine;

	for (size_t i = 0; !s && i < c->seen->n; i++)
		if (c->seen->v[i].dev == fp->dev && c->seen->v[i].ino == fp->ino)
			s = &c->seen->v[i];
	if (s && linkat(c->dst, s->path, c->dst, path, 0) == 0) {
		*done = true;
		return 0;
	}
	if (s && errno != ENOENT) /* that one may have been removed again: then this is the first */
		return rein_err_errno(err, "link '%s'", path);
	mine = rein_strdup(path);
	if (!mine || (!s && rein_grow(c->seen->v, c->seen->n, c->seen->cap) < 0)) {
		rein_free(mine);
		return rein_err_nomem(err);
	}
	if (!s) {
		s = &c->seen->v[c->seen->n++];
		*s = (struct rein_copied){fp->dev, fp->ino, NULL};
	}
	rein_free(s->path);
	s->path = mine;
	return 0;
}

static int copy_regular(int src, const char *name, int dst, const char *to, struct rein_err *err)
{
	auto_close int in = openat(src, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	auto_close int out = openat(dst, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (in < 0 || out < 0)
		return rein_err_errno(err, "copy '%s'", name);
	return rein_file_copy_data(in, out, err);
}

static int copy_special(int src, const char *name, const struct rein_fp *fp, int dst, const char *to,
			struct rein_err *err)
{
	char target[PATH_MAX];
	ssize_t n;

	if (S_ISLNK(fp->mode)) {
		n = readlinkat(src, name, target, sizeof(target) - 1);
		if (n < 0)
			return rein_err_errno(err, "read link '%s'", name);
		target[n] = '\0';
		if (symlinkat(target, dst, to) < 0)
			return rein_err_errno(err, "create link '%s'", to);
		return 0;
	}
	if (mknodat(dst, to, (fp->mode & S_IFMT) | 0600, (dev_t)fp->rdev) < 0)
		return rein_err_errno(err, "create special file '%s'", to);
	return 0;
}

static int copy_entry(struct copier *c, int src, const char *name, const char *path,
		      struct rein_err *err);

static int copy_dir(struct copier *c, int src, const char *name, const char *path,
		    struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int in = rein_open_sub(src, name);

	if (in < 0)
		return rein_err_errno(err, "open directory '%s'", path);
	if (mkdirat(c->dst, path, 0700) < 0)
		return rein_err_errno(err, "create directory '%s'", path);
	if (rein_names_read(in, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *sub = rein_asprintf("%s/%s", path, names.v[i]);

		if (!sub)
			return rein_err_nomem(err);
		if (copy_entry(c, in, names.v[i], sub, err) < 0)
			return -err->code;
	}
	return 0;
}

static int copy_entry(struct copier *c, int src, const char *name, const char *path,
		      struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs attrs = {0};
	struct rein_fp fp;
	bool linked = false;
	int rc;

	if (rein_fp_at(src, name, &fp, err) < 0)
		return -err->code;
	if (!S_ISDIR(fp.mode) && fp.nlink > 1 && copy_link(c, &fp, path, &linked, err) < 0)
		return -err->code;
	if (linked)
		return 0;
	if (S_ISDIR(fp.mode))
		rc = copy_dir(c, src, name, path, err);
	else if (S_ISREG(fp.mode))
		rc = copy_regular(src, name, c->dst, path, err);
	else
		rc = copy_special(src, name, &fp, c->dst, path, err);
	if (rc < 0 || rein_attrs_read(src, name, &attrs, err) < 0)
		return -err->code;
	return rein_attrs_apply(c->dst, path, &attrs, REIN_ATTR_ALL, err);
}

int rein_tree_copy_one(int src, const char *name, int dst, const char *to, struct rein_copies *others,
		       struct rein_err *err)
{
	struct copier c = {.dst = dst, .seen = others};

	return copy_entry(&c, src, name, to, err);
}

void rein_copies_done(struct rein_copies *c)
{
	for (size_t i = 0; i < c->n; i++)
		rein_free(c->v[i].path);
	rein_free(c->v);
	*c = (struct rein_copies){0};
}

int rein_tree_copy(int src, const char *name, int dst, const char *to, struct rein_err *err)
{
	auto_(rein_copies_done) struct rein_copies alone = {0};

	return rein_tree_copy_one(src, name, dst, to, &alone, err);
}

static int walk(int dirfd, const char *name, const char *path, rein_visit_fn fn, void *arg,
		struct rein_err *err)
{
	struct rein_visit v = {.dirfd = dirfd, .name = name, .path = path};
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int fd = -1;
	int rc;

	if (rein_fp_at(dirfd, name, &v.fp, err) < 0)
		return -err->code;
	if (!v.fp.mode)
		return 0;
	rc = fn(&v, arg, err);
	if (rc || !S_ISDIR(v.fp.mode))
		return rc;
	fd = rein_open_sub(dirfd, name);
	if (fd < 0)
		return rein_err_errno(err, "open directory '%s'", path);
	if (rein_names_read(fd, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *sub = rein_asprintf("%s/%s", path, names.v[i]);

		if (!sub)
			return rein_err_nomem(err);
		rc = walk(fd, names.v[i], sub, fn, arg, err);
		if (rc)
			return rc;
	}
	return 0;
}

int rein_tree_walk(int dirfd, const char *name, rein_visit_fn fn, void *arg, struct rein_err *err)
{
	return walk(dirfd, name, name, fn, arg, err);
}
