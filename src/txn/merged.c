/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merged text takes the place of the run's in the private layer for as long as the attempt to commit it lasts. The run's
 * own version lies in STATE/txn/ID/own meanwhile, under the number of its change, and returns if the commit fails: what
 * is held is what the run did.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/attr.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/internal.h"

static int open_upper(const struct rein_tx *t, const struct rein_change *x, struct rein_err *err)
{
	int fd = open(t->roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? rein_err_errno(err, "open '%s'", t->roots[x->root].upper) : fd;
}

/* Whole and on disk before it has its name: what returns from there is never half of it. */
static int keep_own(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err)
{
	if (rein_tree_remove(t->dirfd, "own.half", err) < 0)
		return -err->code;
	if (mkdirat(t->dirfd, "own.half", 0700) < 0)
		return rein_err_errno(err, "create 'own.half'");
	for (size_t i = 0; i < c->n; i++) {
		auto_close int upper = -1;
		char name[64];

		if (!c->v[i].merged)
			continue;
		upper = open_upper(t, &c->v[i], err);
		snprintf(name, sizeof(name), "own.half/%zu", i);
		if (upper < 0 || rein_tree_copy(upper, c->v[i].path, t->dirfd, name, err) < 0)
			return -err->code;
	}
	if (syncfs(t->dirfd) < 0 || renameat(t->dirfd, "own.half", t->dirfd, "own") < 0 || fsync(t->dirfd) < 0)
		return rein_err_errno(err, "keep what the run wrote");
	return 0;
}

/* Over the text that is there, in which another name may share. Room first: a full disk costs nothing. */
static int write_over(int fd, const char *text, size_t n)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -1;
	rc = (off_t)n > st.st_size ? posix_fallocate(fd, 0, (off_t)n) : 0;
	if (rc && rc != EOPNOTSUPP) {
		if (ftruncate(fd, st.st_size) == 0)
			errno = rc;
		return -1;
	}
	for (size_t at = 0; at < n;) {
		ssize_t done = pwrite(fd, text + at, n - at, (off_t)at);

		if (done < 0 && errno != EINTR)
			return -1;
		at += done > 0 ? (size_t)done : 0;
	}
	return ftruncate(fd, (off_t)n);
}

/* What the run left of the attributes is the workspace's. */
static int put_one(const struct rein_tx *t, const struct rein_change *x, struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs attrs = {0};
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open_upper(t, x, err);
	auto_close int fd = upper < 0 ? -1 : openat(upper, x->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned bits = (x->what & REIN_WHAT_MODE ? 0 : REIN_ATTR_MODE) |
			(x->what & REIN_WHAT_OWNER ? 0 : REIN_ATTR_OWNER) |
			(x->what & REIN_WHAT_XATTR ? 0 : REIN_ATTR_XATTR);

	if (upper < 0)
		return -err->code;
	if (fd < 0 || write_over(fd, x->merged, x->merged_n) < 0 || futimens(fd, NULL) < 0)
		return rein_err_errno(err, "write the merge of '%s'", x->path);
	if (rein_attrs_read(real, x->path, &attrs, err) < 0 ||
	    rein_attrs_apply(upper, x->path, &attrs, bits, err) < 0)
		return -err->code;
	return 0;
}

static int look_at(const struct rein_tx *t, struct rein_change *x, struct rein_err *err)
{
	auto_close int upper = open_upper(t, x, err);

	return upper < 0 ? -err->code : rein_fp_at(upper, x->path, &x->after, err);
}

int rein_merged_put(const struct rein_tx *t, struct rein_changes *c, struct rein_err *err)
{
	bool any = false;

	for (size_t i = 0; i < c->n; i++)
		any |= c->v[i].merged != NULL;
	if (any && keep_own(t, c, err) < 0)
		return -err->code;
	for (size_t i = 0; any && i < c->n; i++)
		if (c->v[i].merged && put_one(t, &c->v[i], err) < 0)
			return -err->code;
	/* when all are written: of a file with several names each of them wrote */
	for (size_t i = 0; any && i < c->n; i++)
		if (c->v[i].merged && look_at(t, &c->v[i], err) < 0)
			return -err->code;
	return 0;
}

static int take_one_back(const struct rein_tx *t, const struct rein_change *x, const char *own, struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs attrs = {0};
	auto_close int upper = open_upper(t, x, err);
	auto_close int from = openat(t->dirfd, own, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	auto_close int to = upper < 0 ? -1 : openat(upper, x->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (upper < 0)
		return -err->code;
	if (from < 0 || to < 0)
		return rein_err_errno(err, "put '%s' back", x->path);
	if (rein_file_copy_data(from, to, err) < 0 || rein_attrs_read(t->dirfd, own, &attrs, err) < 0 ||
	    rein_attrs_apply(upper, x->path, &attrs, REIN_ATTR_ALL & ~REIN_ATTR_ATIME, err) < 0)
		return rein_err_prefix(err, "put '%s' back", x->path);
	return fsync(to) < 0 ? rein_err_errno(err, "put '%s' back", x->path) : 0;
}

int rein_merged_take_back(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};

	if (faccessat(t->dirfd, "own", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : rein_err_errno(err, "look for 'own'");
	if (rein_names_read(t->dirfd, "own", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		size_t at = strtoull(names.v[i], NULL, 10);
		char own[64];

		if (at >= c->n)
			return rein_err_set(err, REIN_E_INVALID, "transaction %s: '%s' is no change of it", t->id,
					    names.v[i]);
		snprintf(own, sizeof(own), "own/%zu", at);
		if (take_one_back(t, &c->v[at], own, err) < 0)
			return -err->code;
	}
	return rein_tree_remove(t->dirfd, "own", err);
}

void rein_merged_forget(const struct rein_tx *t)
{
	struct rein_err ignored = {0};

	rein_tree_remove(t->dirfd, "own.half", &ignored);
	rein_tree_remove(t->dirfd, "own", &ignored);
}
