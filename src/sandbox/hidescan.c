/* SPDX-License-Identifier: Apache-2.0 */
/* One directory, read for the index: [H2] and [H3] of sandbox/hideindex.h. */
#include "sandbox/hidescan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/glob.h"

#define PATH_ROOM (PATH_MAX - NAME_MAX - 2) /* longer: hidden as a whole */

static bool named(struct rein_str want, const char *s, size_t n)
{
	return want.n == n && memcmp(want.p, s, n) == 0;
}

#define WANT                                                                                       \
	(STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO | STATX_MTIME | STATX_CTIME | \
	 STATX_MNT_ID)

int rein_hidescan_look(int fd, const char *path, struct statx *sx)
{
	int flags = AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;

	return statx(fd, path, *path ? flags : flags | AT_EMPTY_PATH, WANT, sx);
}

/*
 * [H2] Timestamps come from the tick (10 ms at worst), or are whole seconds on some filesystems:
 * a later change within the same grain would not show.
 */
static bool racy(const struct statx *sx, uint64_t now_ns)
{
	bool coarse = sx->stx_ctime.tv_nsec == 0 && sx->stx_mtime.tv_nsec == 0;
	int64_t grain = coarse ? 2 * (int64_t)REIN_NS_PER_S : 20 * 1000 * 1000;
	int64_t age_s = (int64_t)(now_ns / REIN_NS_PER_S) - sx->stx_ctime.tv_sec;

	if (age_s > 4 || age_s < -1)
		return age_s < 0; /* a time in the future proves nothing */
	return age_s * (int64_t)REIN_NS_PER_S + (int64_t)(now_ns % REIN_NS_PER_S) -
		       (int64_t)sx->stx_ctime.tv_nsec <=
	       grain;
}

void rein_hidescan_done(struct rein_hidescan *l)
{
	rein_buf_done(&l->text);
	rein_free(l->v);
}

static void listing_clear(struct rein_hidescan *l)
{
	rein_buf_clear(&l->text);
	l->n = l->ndirs = 0;
	l->flags = l->git = 0;
}

static int put(struct rein_hidescan *l, const char *name, size_t n, uint32_t flags)
{
	if (rein_grow(l->v, l->n, l->cap) < 0)
		return -1;
	l->v[l->n].name = (uint32_t)l->text.n;
	l->v[l->n].flags = flags;
	l->n++;
	l->ndirs += flags == REIN_HIDESCAN_DIR;
	rein_buf_add(&l->text, name, n + 1);
	return l->text.failed ? -1 : 0;
}

static void special_names(struct rein_hidescan *l, const char *name, size_t n)
{
	static const struct rein_str git[] = {{"HEAD", 4}, {"objects", 7}, {"refs", 4}};

	for (size_t i = 0; i < ARRAY_SIZE(git); i++)
		if (named(git[i], name, n))
			l->git |= 1u << i;
	if (n == 10 && memcmp(name, "pyvenv.cfg", 10) == 0)
		l->flags |= REIN_HIDEDIR_VENV;
}

static bool is_dir(int fd, const struct dirent64 *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Through a link of this name one is in a directory called secrets, whatever that is called itself. */
static bool leads_to_secrets(int fd, const struct dirent64 *e, size_t n)
{
	struct stat st;

	if (!named(STR("secrets"), e->d_name, n))
		return false;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_LNK;
	return fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/*
 * Does a directory that is not entered hold files with several names? The first files on one way
 * down: what installs packages by linking them does it with all of them.
 */
static bool sample_links(int fd, const char *name, unsigned depth, unsigned *budget)
{
	char block[4096] __attribute__((aligned(8)));
	auto_close int dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	while (dir >= 0 && *budget && (n = getdents64(dir, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < n && *budget;) {
			const struct dirent64 *e = (const void *)(block + at);
			struct stat st;

			at += e->d_reclen;
			if (e->d_name[0] == '.' && (!e->d_name[1] || (e->d_name[1] == '.' && !e->d_name[2])))
				continue;
			--*budget;
			if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			if (S_ISDIR(st.st_mode) ? depth && sample_links(dir, e->d_name, depth - 1, budget)
						: S_ISREG(st.st_mode) && st.st_nlink > 1)
				return true;
		}
	return false;
}

/* What cannot be looked at may have any number of names. */
static bool has_links(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES;
	return st.st_nlink > 1 && !S_ISDIR(st.st_mode);
}

static void look_for_links(struct rein_hidescan *l, int fd, const char *name, bool directory)
{
	unsigned budget = 60;

	if (l->flags & REIN_HIDEDIR_LINKS)
		return;
	if (directory ? sample_links(fd, name, 6, &budget) : has_links(fd, name))
		l->flags |= REIN_HIDEDIR_LINKS;
}

static bool is_named(char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (rein_glob_name(*names, name))
			return true;
	return false;
}

static int entry(const struct rein_hideindex_opts *o, struct rein_hidescan *l, int fd,
		 const struct dirent64 *e, bool inner, size_t path_len)
{
	const char *name = e->d_name;
	size_t n = strlen(name);
	bool directory, match;

	if (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')))
		return 0;
	if (n == 4 || n == 7 || n == 10)
		special_names(l, name, n);
	directory = is_dir(fd, e);
	match = rein_hide_name_matches(name, n) || is_named(o->names, name) || leads_to_secrets(fd, e, n);
	/* (git makes a new file for everything it changes) */
	if (!directory || (rein_hide_name_no_entry(name, n) && !named(STR(".git"), name, n)))
		look_for_links(l, fd, name, directory);
	if (directory && path_len + n > PATH_ROOM)
		match = true; /* too deep to look into: hidden with all that is in it */
	else if (directory && !rein_hide_name_no_entry(name, n) && put(l, name, n, REIN_HIDESCAN_DIR) < 0)
		return -1;
	if (!match && !inner)
		return 0;
	return put(l, name, n,
		   (directory ? REIN_HIDEMATCH_DIR : 0) | (match ? 0 : REIN_HIDEMATCH_INNER));
}

/* It is we who cannot read now; the box might, a moment later. */
static bool ran_out(void)
{
	return errno == ENOMEM || errno == EMFILE || errno == ENFILE;
}

static int read_names(const struct rein_hideindex_opts *o, struct rein_hidescan *l, int fd, bool inner,
		      size_t path_len)
{
	char block[32768] __attribute__((aligned(8)));
	ssize_t n;

	while ((n = getdents64(fd, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(block + at);

			if (entry(o, l, fd, e, inner, path_len) < 0)
				return -1;
			at += e->d_reclen;
		}
	if (n < 0 && ran_out())
		return -1;
	if (n < 0)
		l->flags |= REIN_HIDEDIR_CLOSED;
	if (l->git == 7)
		l->flags |= REIN_HIDEDIR_GIT;
	return 0;
}

static bool pruned(const struct rein_hideindex_opts *o, const struct statx *sx, const char *path)
{
	if (o->skip_ino && sx->stx_ino == o->skip_ino &&
	    makedev(sx->stx_dev_major, sx->stx_dev_minor) == o->skip_dev)
		return true;
	for (size_t i = 0; o->prune && o->prune[i]; i++)
		if (rein_streq(o->prune[i], path))
			return true;
	return false;
}

/* [H3] Times first, then names. */
int rein_hidescan_read(const struct rein_hideindex_opts *o, int root_fd, uint64_t mount, const char *path,
		       struct rein_hidescan *l)
{
	uint64_t now = rein_clock_ns(CLOCK_REALTIME_COARSE);
	auto_close int fd = -1;
	const char *name = rein_basename(path);

	listing_clear(l);
	l->sx = (struct statx){0};
	if (rein_hidescan_look(root_fd, path, &l->sx) < 0) {
		l->flags = REIN_HIDEDIR_BLIND | REIN_HIDEDIR_CLOSED;
		l->sx = (struct statx){0};
		return 0;
	}
	if (l->sx.stx_mnt_id != mount)
		l->flags = REIN_HIDEDIR_MOUNT;
	else if (pruned(o, &l->sx, path))
		l->flags = REIN_HIDEDIR_PRUNED;
	else if ((fd = openat(root_fd, *path ? path : ".",
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		l->flags = REIN_HIDEDIR_CLOSED;
	if (racy(&l->sx, now))
		l->flags |= REIN_HIDEDIR_RACY;
	if (fd < 0)
		return (l->flags & REIN_HIDEDIR_CLOSED) && ran_out() ? -1 : 0;
	return read_names(o, l, fd, *path && rein_streq(name, "secrets"), strlen(path));
}

void rein_hidescan_times(const struct rein_hidescan *l, struct rein_hidedir *d)
{
	d->ino = l->sx.stx_ino;
	d->mtime_s = l->sx.stx_mtime.tv_sec;
	d->mtime_ns = l->sx.stx_mtime.tv_nsec;
	d->ctime_s = l->sx.stx_ctime.tv_sec;
	d->ctime_ns = l->sx.stx_ctime.tv_nsec;
	d->uid = l->sx.stx_uid;
	d->gid = l->sx.stx_gid;
	d->mode = l->sx.stx_mode;
	d->flags = l->flags;
}
