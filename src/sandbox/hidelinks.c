/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic and hard links to what is hidden. */
#include "sandbox/hidelinks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"

struct inodes {
	struct inode {
		ino_t ino;
		dev_t dev;
	} * v;
	size_t n, cap;
};

static void inodes_done(struct inodes *s)
{
	rein_free(s->v);
}

static int by_ino(const void *a, const void *b)
{
	const struct inode *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* Sorted: every entry of the tree is asked about. */
static bool has(const struct inodes *s, ino_t ino)
{
	const struct inode key = {.ino = ino};

	return bsearch(&key, s->v, s->n, sizeof(*s->v), by_ino) != NULL;
}

static int collect(struct inodes *s, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return 0;
	if (rein_grow(s->v, s->n, s->cap) < 0)
		return -1;
	s->v[s->n++] = (struct inode){.ino = st->st_ino, .dev = st->st_dev};
	return 0;
}

/* Is this entry, whose number is one of ours, really the same file? */
static bool same(const struct inodes *s, int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].ino == st.st_ino && s->v[i].dev == st.st_dev)
			return true;
	return false;
}

static int add_path(struct rein_strlist *l, const char *dir, const char *name)
{
	auto_free char *path = rein_asprintf("%s%s%s", dir, *dir ? "/" : "", name);

	if (!path)
		return -1;
	return rein_strlist_has(l, path) ? 0 : rein_strlist_take(l, take_ptr(path));
}

static int add_target(const char *real, const char *rel, struct rein_strlist *l)
{
	char path[PATH_MAX], target[PATH_MAX];
	size_t n = rein_streq(real, "/") ? 0 : strlen(real);

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", n ? real : "", rel) >= sizeof(path) ||
	    !realpath(path, target))
		return 0; /* leads nowhere */
	if (!rein_path_within(target, real) || !target[n] || !target[n + 1])
		return 0;
	return add_path(l, "", target + n + 1);
}

static DIR *open_dir(int root_fd, const char *dir)
{
	int fd = openat(root_fd, *dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static int search_dir(const struct inodes *s, int root_fd, const char *dir, struct rein_strlist *l)
{
	auto_closedir DIR *d = open_dir(root_fd, dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type != DT_DIR && e->d_type != DT_LNK && has(s, e->d_ino) &&
		    same(s, dirfd(d), e->d_name) && add_path(l, dir, e->d_name) < 0)
			return -1;
	return 0;
}

static int collect_dir(struct inodes *s, int root_fd, const char *dir)
{
	auto_closedir DIR *d = open_dir(root_fd, dir);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (e->d_type != DT_DIR && e->d_type != DT_LNK &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && collect(s, &st) < 0)
			return -1;
	return 0;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Files in hidden directories. Whether one has other names is asked of each: a new name elsewhere
 * leaves the directory of the old one as it was. Our own stores are not looked at: what they share
 * with the tree is the tree's.
 */
static int collect_inside(const struct rein_hideindex *x, int root_fd, const struct rein_strlist *paths,
			  struct inodes *s)
{
	auto_free char **sorted = rein_calloc(paths->n + 1, sizeof(*sorted));
	auto_free bool *inside = rein_calloc(x->ndirs, sizeof(*inside));

	if (!sorted || !inside)
		return -1;
	for (size_t i = 0; i < paths->n; i++)
		sorted[i] = paths->v[i];
	qsort(sorted, paths->n, sizeof(*sorted), by_string);
	for (uint32_t i = 1; i < x->ndirs; i++) { /* a parent comes before its children */
		const char *path = x->strings + x->dirs[i].path;

		inside[i] = inside[x->dirs[i].parent] ||
			    (!rein_starts(rein_basename(path), ".rein-") &&
			     bsearch(&path, sorted, paths->n, sizeof(*sorted), by_string));
		if (inside[i] && !(x->dirs[i].flags & (REIN_HIDEDIR_MOUNT | REIN_HIDEDIR_PRUNED)) &&
		    collect_dir(s, root_fd, path) < 0)
			return -1;
	}
	return 0;
}

int rein_hidelinks_add(const struct rein_hideindex *x, const char *real, int root_fd,
		       struct rein_strlist *paths)
{
	auto_(inodes_done) struct inodes s = {0};

	/* the targets of links are added behind, and are looked at in their turn */
	for (size_t i = 0; i < paths->n; i++) {
		struct stat st;

		if (fstatat(root_fd, paths->v[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(st.st_mode) && add_target(real, paths->v[i], paths) < 0)
			return -1;
		if (collect(&s, &st) < 0)
			return -1;
	}
	/* without a file of several names in the tree there is none in its hidden directories */
	if (x->links && paths->n && collect_inside(x, root_fd, paths, &s) < 0)
		return -1;
	if (s.n > 1)
		qsort(s.v, s.n, sizeof(*s.v), by_ino);
	for (uint32_t i = 0; s.n && i < x->ndirs; i++)
		if (search_dir(&s, root_fd, x->strings + x->dirs[i].path, paths) < 0)
			return -1;
	return 0;
}
