/* SPDX-License-Identifier: Apache-2.0 */
/* See move.h. */
#include "sandbox/move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/sys.h"

#define MAX_DEPTH   256	      /* two descriptors a level */
#define MAX_NAMES   (64u << 20) /* bytes of names in one directory */
#define MAX_XATTR   (128u << 10)
#define NAME_LEN    32

/* A file with several links that has been seen, and where its copy is. */
struct linked {
	dev_t dev;
	ino_t ino;
	char *path; /* from the top of the new tree */
};

struct move {
	const struct rein_move_opts *how; /* NULL: putting back */
	int top; /* the new tree */
	struct linked *links;
	size_t nlinks, links_cap;
	char path[4096]; /* where we are below top */
};

/* All names of a directory, one after the other, so that changing it does not confuse reading it. */
struct names {
	char *p;
	size_t n, cap;
};

static void names_done(struct names *l)
{
	rein_free(l->p);
}

#define auto_names __attribute__((cleanup(names_done)))

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int names_read(int dir, struct names *ret)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!d) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (errno = 0, (e = readdir(d))) {
		size_t len = strlen(e->d_name) + 1;

		if (is_dots(e->d_name))
			continue;
		if (ret->n + len > ret->cap) {
			size_t cap = (ret->cap + len) * 2;
			char *p = cap > MAX_NAMES ? NULL : rein_realloc(ret->p, cap, 1);

			if (!p) {
				closedir(d);
				return -ENOMEM;
			}
			ret->p = p;
			ret->cap = cap;
		}
		memcpy(ret->p + ret->n, e->d_name, len);
		ret->n += len;
	}
	rc = -errno;
	closedir(d);
	return rc;
}

/*
 * Open a directory of the tree: itself, not what is mounted on it or what it points to [M2]. *ret_st
 * is what it was before: rename(2) does not ask for rights over what is inside the directory it moves,
 * so if its owner lacks some they are added; narrow() takes them back. By descriptor: somebody in the box may put
 * a link in its place at any moment, which would lead from our root and not from the box's.
 */
static int open_dir(int parent, const char *name, struct stat *ret_st)
{
	auto_close int at = sys_openat2(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW,
					RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	char self[64];
	struct stat st;

	if (at < 0 || fstat(at, &st) < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	if ((st.st_mode & 0700) != 0700)
		chmod(self, (st.st_mode & 07777) | 0700);
	if (ret_st)
		*ret_st = st;
	return openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void narrow(int dir, const struct stat *st)
{
	if (dir >= 0 && (st->st_mode & 0700) != 0700)
		fchmod(dir, st->st_mode & 07777);
}

static bool stopped(const struct move *m)
{
	return m->how && m->how->stop &&
	       atomic_load_explicit(m->how->stop, memory_order_relaxed);
}

/* A directory made in one with a default ACL inherits it; one that is renamed there does not. */
static void drop_inherited(int from, int to)
{
	static const char *const acls[] = {"system.posix_acl_access", "system.posix_acl_default"};

	for (size_t i = 0; i < ARRAY_SIZE(acls); i++)
		if (fgetxattr(from, acls[i], NULL, 0) < 0)
			fremovexattr(to, acls[i]);
}

static int copy_xattrs(const struct rein_move_opts *how, int from, int to)
{
	auto_free char *names = rein_alloc(MAX_XATTR);
	auto_free char *value = rein_alloc(MAX_XATTR);
	ssize_t n;

	if (!names || !value)
		return -ENOMEM;
	n = flistxattr(from, names, MAX_XATTR);
	if (n < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (char *name = names; name < names + n; name += strlen(name) + 1) {
		ssize_t len = fgetxattr(from, name, value, MAX_XATTR);

		if (len < 0 && errno == ENODATA)
			continue;
		/* Labels are given by the security module; the rest must come along. */
		if (len < 0 || (fsetxattr(to, name, value, (size_t)len, 0) < 0 &&
				strncmp(name, "security.", 9) != 0 &&
				!(errno == EINVAL && how && how->copy_acl &&
				  how->copy_acl(how->arg, from, to, name) == 0)))
			return -errno;
	}
	return 0;
}

static int copy_metadata(const struct rein_move_opts *how, int from, int to, const struct stat *st)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	struct stat now;
	int rc;

	if (fstat(to, &now) < 0)
		return -errno;
	if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchown(to, st->st_uid, st->st_gid) < 0)
		return -errno;
	drop_inherited(from, to);
	rc = copy_xattrs(how, from, to);
	if (rc < 0)
		return rc;
	if (fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0)
		return -errno;
	return 0;
}

/* A name of a file whose other name is already in the new tree becomes a link to that. */
static const char *seen(const struct move *m, const struct stat *st)
{
	for (size_t i = m->nlinks; i-- > 0;)
		if (m->links[i].ino == st->st_ino && m->links[i].dev == st->st_dev)
			return m->links[i].path;
	return NULL;
}

static int remember(struct move *m, const struct stat *st, const char *name)
{
	char *path = rein_asprintf("%s%s", m->path, name);

	if (!path || rein_grow(m->links, m->nlinks, m->links_cap) < 0) {
		rein_free(path);
		return -ENOMEM;
	}
	m->links[m->nlinks++] = (struct linked){st->st_dev, st->st_ino, path};
	return 0;
}

static int link_file(struct move *m, int from, int to, const char *name, const struct stat *st)
{
	const char *first;
	int rc;

	if (m->how && m->how->hold)
		m->how->hold(m->how->arg, from, name);
	first = st->st_nlink > 1 ? seen(m, st) : NULL;
	if (first)
		return linkat(m->top, first, to, name, 0) < 0 ? -errno : 0;
	rc = st->st_nlink > 1 ? remember(m, st, name) : 0;
	if (rc < 0)
		return rc;
	return linkat(from, name, to, name, 0) < 0 && errno != EEXIST ? -errno : 0;
}

static int link_tree(struct move *m, int from, int to, unsigned depth);

/* Make or find directory name in to, and fill it from src. */
static int fill_dir(struct move *m, int src, int to, const char *name, const struct stat *st,
		    unsigned depth)
{
	auto_close int dst = -1;
	size_t was = strlen(m->path), len = strlen(name);
	int rc;

	if (was + len + 2 > sizeof(m->path))
		return -EXDEV;
	if (mkdirat(to, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	dst = open_dir(to, name, NULL);
	if (dst < 0)
		return -errno;
	memcpy(m->path + was, name, len);
	m->path[was + len] = '/';
	m->path[was + len + 1] = 0;
	rc = link_tree(m, src, dst, depth + 1);
	m->path[was] = 0;
	return rc < 0 ? rc : copy_metadata(m->how, src, dst, st);
}

static int link_dir(struct move *m, int from, int to, const char *name, unsigned depth)
{
	struct stat st;
	auto_close int src = open_dir(from, name, &st);
	int rc = src < 0 ? -errno : fill_dir(m, src, to, name, &st, depth);

	narrow(src, &st);
	return rc;
}

/* Everything in from, linked into to. What is there already is left (when putting things back). */
static int link_tree(struct move *m, int from, int to, unsigned depth)
{
	auto_names struct names l = {0};
	int rc = names_read(from, &l);

	if (depth > MAX_DEPTH)
		return -EXDEV;
	for (char *name = l.p; rc == 0 && name && name < l.p + l.n; name += strlen(name) + 1) {
		struct stat st;

		if (stopped(m))
			return -EINTR;
		if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				continue; /* removed meanwhile */
			return -errno;
		}
		rc = S_ISDIR(st.st_mode) ? link_dir(m, from, to, name, depth)
					 : link_file(m, from, to, name, &st);
	}
	return rc;
}

static int remove_tree(int dir, unsigned depth);

static int remove_entry(int dir, const char *name, unsigned depth)
{
	int rc = 0;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -errno;
	if (depth < MAX_DEPTH) {
		auto_close int sub = open_dir(dir, name, NULL);

		rc = sub < 0 ? -errno : remove_tree(sub, depth + 1);
	}
	if (rc == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

/*
 * Empty a directory, in depth. Without the heap, because it also cleans up after running out of
 * memory: a handful of names at a time, from the start again until there are none. What cannot be
 * removed does not keep the rest, in whatever order the filesystem names them.
 */
static int remove_tree(int dir, unsigned depth)
{
	char buf[2048] __attribute__((aligned(8)));
	bool any = true;
	int failed = 0;

	while (any) {
		long n;

		any = false;
		failed = 0;
		if (lseek(dir, 0, SEEK_SET) < 0)
			return -errno;
		while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
			for (long at = 0; at < n;) {
				struct dirent64 *e = (struct dirent64 *)(buf + at);
				int rc;

				at += e->d_reclen;
				if (is_dots(e->d_name))
					continue;
				rc = remove_entry(dir, e->d_name, depth);
				any |= rc == 0;
				failed = failed ? failed : rc;
			}
		if (n < 0)
			return -errno;
	}
	return failed;
}

static int remove_named(int parent, const char *name)
{
	auto_close int dir = open_dir(parent, name, NULL);
	int rc = dir < 0 ? -errno : remove_tree(dir, 0);

	if (rc < 0)
		return rc;
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static void move_done(struct move *m)
{
	for (size_t i = 0; i < m->nlinks; i++)
		rein_free(m->links[i].path);
	rein_free(m->links);
}

static int random_name(char *to)
{
	uint64_t v;

	if (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
		return -EIO;
	snprintf(to, NAME_LEN, REIN_MOVE_PREFIX "%016llx", (unsigned long long)v);
	return 0;
}

/* Rebuild directory name of from as a new directory tmp (chosen here) in to. Cleans up on failure. */
static int rebuild(int from, const char *name, int to, char *tmp, const struct rein_move_opts *how)
{
	__attribute__((cleanup(move_done))) struct move m = {.how = how, .top = -1};
	struct stat st;
	auto_close int src = open_dir(from, name, &st);
	auto_close int dst = -1;
	int rc;

	if (src < 0)
		return -errno;
	rc = random_name(tmp);
	if (rc < 0 || mkdirat(to, tmp, 0700) < 0)
		return rc < 0 ? rc : -errno;
	m.top = dst = open_dir(to, tmp, NULL);
	rc = dst < 0 ? -errno : link_tree(&m, src, dst, 0);
	if (rc == 0)
		rc = copy_metadata(how, src, dst, &st);
	narrow(src, &st);
	if (rc < 0)
		remove_named(to, tmp); /* [M1] */
	return rc;
}

/* Some of the source could not be removed: bring back what was, and take the new tree away. */
static int put_back(int from, const char *name, int to, const char *target)
{
	__attribute__((cleanup(move_done))) struct move m = {.top = -1};
	struct stat st;
	auto_close int dst = open_dir(to, target, &st);
	auto_close int src = open_dir(from, name, NULL);
	int rc;

	if (dst < 0 || src < 0)
		return -EIO;
	m.top = src;
	rc = link_tree(&m, dst, src, 0);
	if (rc == 0)
		rc = copy_metadata(NULL, dst, src, &st);
	if (rc == 0)
		rc = remove_named(to, target);
	return rc < 0 ? -EIO : 0;
}

/* What the kernel would refuse anyway, before any work is done. */
static int check_target(int to, const char *target, unsigned flags)
{
	auto_names struct names l = {0};
	auto_close int dir = -1;
	struct stat st;
	int rc;

	/* An odd directory that cannot be looked into is left to the last rename to judge. */
	if (fstatat(to, target, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flags & RENAME_NOREPLACE)
		return -EEXIST;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	dir = sys_openat2(to, target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
			  RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	if (dir < 0)
		return errno == EXDEV ? -EBUSY : 0;
	rc = names_read(dir, &l);
	return rc < 0 ? rc : l.n ? -ENOTEMPTY : 0;
}

static int move_over(int from, const char *name, int to, const char *target,
		     const struct rein_move_opts *how)
{
	char tmp[NAME_LEN];
	int rc = check_target(to, target, how->flags);

	if (rc == 0)
		rc = rebuild(from, name, to, tmp, how);
	if (rc < 0)
		return rc;
	if (renameat2(to, tmp, to, target, how->flags & RENAME_NOREPLACE) < 0) {
		rc = -errno;
		remove_named(to, tmp);
		return rc;
	}
	rc = remove_named(from, name);
	if (rc < 0 && put_back(from, name, to, target) < 0)
		return -EIO;
	return rc;
}

/* Bring a new version of one side to where the other is, under a name of its own. */
static int carry(int from, const char *name, int to, char *tmp, bool *rebuilt,
		 const struct rein_move_opts *how)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*rebuilt = S_ISDIR(st.st_mode);
	if (*rebuilt)
		return rebuild(from, name, to, tmp, how);
	if (how->hold)
		how->hold(how->arg, from, name);
	if (random_name(tmp) < 0)
		return -EIO;
	return linkat(from, name, to, tmp, 0) < 0 ? -errno : 0;
}

static int discard(int dir, const char *name, bool is_dir)
{
	return is_dir ? remove_named(dir, name) : unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

/* Of name in dir not everything could be taken away: copy, in other, has all of it, and goes. */
static int restore(int dir, const char *name, bool is_dir, int other, const char *copy)
{
	if (is_dir)
		return put_back(dir, name, other, copy);
	return unlinkat(other, copy, 0) < 0 ? -EIO : 0; /* a file goes as a whole, or stays */
}

/* One end of an exchange: what is there, and the other's copy of it. */
struct side {
	int dir;
	const char *name;
	char copy[NAME_LEN]; /* of this, where the other is */
	bool is_dir;
};

/* b's copy takes the place of a. As before if it fails; -EIO: a is only where its copy is. */
static int take_place(const struct side *a, const struct side *b)
{
	int rc = discard(a->dir, a->name, a->is_dir);

	if (rc < 0) {
		if (restore(a->dir, a->name, a->is_dir, b->dir, a->copy) < 0)
			rc = -EIO;
	} else if (renameat2(a->dir, b->copy, a->dir, a->name, RENAME_NOREPLACE) < 0) {
		rc = -errno;
		if (renameat2(b->dir, a->copy, a->dir, a->name, RENAME_NOREPLACE) < 0)
			rc = -EIO;
	} else {
		return 0;
	}
	discard(a->dir, b->copy, b->is_dir);
	return rc;
}

/* a's copy takes the place of b, which is where a was. If it fails both go back; -EIO: one of them did not. */
static int take_other_place(const struct side *a, const struct side *b)
{
	int rc = discard(b->dir, b->name, b->is_dir), back;

	if (rc == 0 && renameat2(b->dir, a->copy, b->dir, b->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (rc < 0) {
		back = restore(b->dir, b->name, b->is_dir, a->dir, a->name);
	} else {
		rc = -errno;
		back = renameat2(a->dir, a->name, b->dir, b->name, RENAME_NOREPLACE);
	}
	if (back < 0 || renameat2(b->dir, a->copy, a->dir, a->name, RENAME_NOREPLACE) < 0)
		return -EIO;
	return rc;
}

/*
 * Both sides exist under new names before either old one is touched. What cannot be finished is taken
 * back; only where somebody else took a name meanwhile a copy stays, being all there is of that side.
 */
static int exchange(int from, const char *name, int to, const char *target, const struct rein_move_opts *how)
{
	struct side a = {.dir = from, .name = name}, b = {.dir = to, .name = target};
	int rc = carry(from, name, to, a.copy, &a.is_dir, how);

	if (rc < 0)
		return rc;
	rc = carry(to, target, from, b.copy, &b.is_dir, how);
	if (rc < 0) {
		discard(to, a.copy, a.is_dir);
		return rc;
	}
	rc = take_place(&a, &b);
	return rc < 0 ? rc : take_other_place(&a, &b);
}

/* Failures that say "not this way" rather than "not at all": the program has its own way then. */
static int honest(int rc)
{
	static const int other_way[] = {EOVERFLOW, EPERM, EACCES, EMLINK, EOPNOTSUPP, ELOOP, ENOMEM, EMFILE};

	for (size_t i = 0; i < ARRAY_SIZE(other_way); i++)
		if (rc == -other_way[i])
			return -EXDEV;
	return rc;
}

int rein_move_dir(int from, const char *name, int to, const char *target,
		  const struct rein_move_opts *how)
{
	if (how->flags & RENAME_EXCHANGE)
		return honest(exchange(from, name, to, target, how));
	return honest(move_over(from, name, to, target, how));
}
