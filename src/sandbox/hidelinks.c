/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic and hard links to what is hidden. */
#include "sandbox/hidelinks.h"

#include <fcntl.h>
#include <limits.h>
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

static bool has(const struct inodes *s, ino_t ino)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].ino == ino)
			return true;
	return false;
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

static int search_dir(const struct inodes *s, int root_fd, const char *dir, struct rein_strlist *l)
{
	int fd = openat(root_fd, *dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		if (e->d_type != DT_DIR && e->d_type != DT_LNK && has(s, e->d_ino) &&
		    same(s, fd, e->d_name) && add_path(l, dir, e->d_name) < 0)
			return -1;
	return 0;
}

int rein_hidelinks_add(const struct rein_hideindex *x, const char *real, int root_fd,
		       struct rein_strlist *paths)
{
	auto_(inodes_done) struct inodes s = {0};
	size_t n = paths->n;

	for (size_t i = 0; i < n; i++) {
		struct stat st;

		if (fstatat(root_fd, paths->v[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(st.st_mode) && add_target(real, paths->v[i], paths) < 0)
			return -1;
		if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
			continue;
		if (rein_grow(s.v, s.n, s.cap) < 0)
			return -1;
		s.v[s.n++] = (struct inode){.ino = st.st_ino, .dev = st.st_dev};
	}
	for (uint32_t i = 0; s.n && i < x->ndirs; i++)
		if (search_dir(&s, root_fd, x->strings + x->dirs[i].path, paths) < 0)
			return -1;
	return 0;
}
