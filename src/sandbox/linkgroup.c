/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See linkgroup.h. Runs with rights over every file of the tree: in the supervisor as root, else in a
 * process of its own (sandbox/linkkeeper.h).
 */
#include "sandbox/linkgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/linkmap.h"
#include "sandbox/move.h"
#include "sys/sys.h"

#define WANT   (STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)
#define INSIDE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

/* One of the box's overlays: its layers, and itself as the box has it. */
struct place {
	int real, upper, box;
	uint64_t mount;
	const char *path; /* where it is */
	struct rein_linkmap map;
	bool mapped;
};

struct rein_linkgroups {
	struct place *places;
	size_t n;
	bool indexed; /* as root */
	struct rein_linked_list found;
};

/* A name in a place: the directory in the box that holds it. */
struct spot {
	int dir;
	const char *name;
};

static bool look(int dirfd, const char *name, struct statx *ret)
{
	return statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH),
		     WANT, ret) == 0;
}

static bool is_whiteout(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 0 && st->stx_rdev_minor == 0;
}

static int64_t ns(struct statx_timestamp t)
{
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void rein_linkgroups_free(struct rein_linkgroups *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++) {
		rein_closep_(&g->places[i].real);
		rein_closep_(&g->places[i].upper);
		rein_closep_(&g->places[i].box);
		rein_linkmap_done(&g->places[i].map);
	}
	rein_free(g->places);
	rein_linked_done(&g->found);
	rein_free(g);
}

struct rein_linkgroups *rein_linkgroups_new(const struct rein_root *roots, size_t n, int box_root,
					    bool indexed)
{
	struct rein_linkgroups *g = rein_calloc(1, sizeof(*g));

	if (g)
		g->places = rein_calloc(n, sizeof(*g->places));
	if (!g || !g->places) {
		rein_free(g);
		return NULL;
	}
	g->indexed = indexed;
	for (; g->n < n; g->n++) {
		struct place *p = &g->places[g->n];
		struct statx st = {0};

		p->path = roots[g->n].real;
		p->real = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		p->upper = open(roots[g->n].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		p->box = sys_openat2(box_root, p->path, O_PATH | O_DIRECTORY,
				     RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		if (p->real >= 0 && p->upper >= 0 && p->box >= 0 && look(p->box, "", &st) &&
		    st.stx_mask & STATX_MNT_ID)
			p->mount = st.stx_mnt_id;
	}
	return g;
}

void rein_linkgroups_take(struct rein_linkgroups *g, struct rein_linked_list *ret)
{
	*ret = g->found;
	g->found = (struct rein_linked_list){0};
}

/* Where fd is in its place, without a slash in front. False: nowhere. */
static bool path_in(const struct place *p, int fd, char *to, size_t size)
{
	size_t top = rein_streq(p->path, "/") ? 0 : strlen(p->path);
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || (size_t)n <= top + 1)
		return false;
	path[n] = 0;
	if (strncmp(path, p->path, top) || path[top] != '/')
		return false;
	return (size_t)snprintf(to, size, "%s", path + top + 1) < size;
}

static void spot_done(struct spot *s)
{
	rein_closep_(&s->dir);
}

static bool spot_open(const struct place *p, const char *path, struct spot *ret)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";

	if (slash && (size_t)(slash - path) < sizeof(dir)) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = 0;
	}
	ret->name = slash ? slash + 1 : path;
	ret->dir = sys_openat2(p->box, dir, O_PATH | O_DIRECTORY, INSIDE);
	return ret->dir >= 0;
}

/* [G1] Does this name still show the real file, in the box and in the layers? */
static bool shows_real(const struct place *p, const struct spot *s, const char *path,
		       const struct statx *real)
{
	struct statx st;

	if (look(p->upper, path, &st) || (errno != ENOENT && errno != ENOTDIR))
		return false;
	return look(p->real, path, &st) && st.stx_ino == real->stx_ino &&
	       look(s->dir, s->name, &st) && st.stx_mnt_id == p->mount &&
	       (st.stx_mode & S_IFMT) == (real->stx_mode & S_IFMT);
}

static struct timespec ts(struct statx_timestamp t)
{
	return (struct timespec){.tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec};
}

/* Setting a file's times to what they are makes the overlay copy it, and changes nothing else. */
static bool copy_up(const struct spot *s)
{
	struct timespec times[2];
	struct statx st;

	if (!look(s->dir, s->name, &st))
		return false;
	times[0] = ts(st.stx_atime);
	times[1] = ts(st.stx_mtime);
	return utimensat(s->dir, s->name, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool random_name(char *to, size_t size)
{
	uint64_t v;

	if (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
		return false;
	snprintf(to, size, REIN_MOVE_PREFIX "%016llx", (unsigned long long)v);
	return true;
}

/* One more name for the copy, over the one at s; the directory's time shows nothing of it. */
static void join(const struct spot *from, const struct spot *s)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	char self[64], tmp[64];
	struct statx st;

	if (!look(s->dir, "", &st) || !random_name(tmp, sizeof(tmp)) ||
	    linkat(from->dir, from->name, s->dir, tmp, 0) < 0)
		return;
	/* two names of one file are left as they are by a rename that says it succeeded */
	renameat(s->dir, tmp, s->dir, s->name);
	unlinkat(s->dir, tmp, 0);
	times[1] = ts(st.stx_mtime);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", s->dir);
	utimensat(AT_FDCWD, self, times, 0);
}

/* The copy is there: remember whose it is. */
static bool note(struct rein_linkgroups *g, uint32_t root, const char *path, const struct statx *real,
		 struct statx *up)
{
	struct rein_linked x = {.root = root, .real_ino = real->stx_ino};

	if (!look(g->places[root].upper, path, up) || is_whiteout(up))
		return false;
	x.ino = up->stx_ino;
	x.born_ns = up->stx_mask & STATX_BTIME ? ns(up->stx_btime) : 0;
	return rein_linked_add(&g->found, &x, rein_strdup(path)) == 0;
}

/* With an index the overlay itself puts the copy under the other name. */
static bool joined_by_index(const struct rein_linkgroups *g, const struct place *p,
			    const struct spot *t, const char *path, const struct statx *copy)
{
	struct statx up;

	return g->indexed && copy_up(t) && look(p->upper, path, &up) && up.stx_ino == copy->stx_ino;
}

static void join_others(struct rein_linkgroups *g, uint32_t root, const struct spot *s,
			const char *path, const struct statx *real, const struct statx *copy)
{
	struct place *p = &g->places[root];
	size_t first, n = 0;

	if (!p->mapped)
		p->mapped = rein_linkmap_make(&p->map, p->real) == 0;
	first = rein_linkmap_find(&p->map, real->stx_ino, &n);
	for (size_t i = first; i < first + n; i++) {
		const char *other = p->map.v[i].path;
		auto_(spot_done) struct spot t = {.dir = -1};

		if (rein_streq(other, path) || !spot_open(p, other, &t) ||
		    !shows_real(p, &t, other, real))
			continue;
		if (!joined_by_index(g, p, &t, other, copy)) /* [G2] if it fails */
			join(s, &t);
	}
}

static void hold(struct rein_linkgroups *g, uint32_t root, const char *path)
{
	struct place *p = &g->places[root];
	auto_(spot_done) struct spot s = {.dir = -1};
	struct statx real, copy;

	if (!spot_open(p, path, &s) || !look(p->real, path, &real) || real.stx_nlink < 2 ||
	    S_ISDIR(real.stx_mode) || !shows_real(p, &s, path, &real))
		return;
	if (copy_up(&s) && note(g, root, path, &real, &copy)) /* else [G3] */
		join_others(g, root, &s, path, &real, &copy);
}

void rein_linkgroups_hold(struct rein_linkgroups *g, int fd)
{
	char path[PATH_MAX];
	struct statx st;

	/* (with an index the overlay counts what is left, not what there was) */
	if (!look(fd, "", &st) || (st.stx_nlink < 2 && !g->indexed) || S_ISDIR(st.stx_mode))
		return;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->places[i].mount && g->places[i].mount == st.stx_mnt_id) {
			if (path_in(&g->places[i], fd, path, sizeof(path)))
				hold(g, i, path);
			return;
		}
}

int rein_linkgroups_upper(struct rein_linkgroups *g, int fd)
{
	char path[PATH_MAX];
	struct statx st;

	for (uint32_t i = 0; look(fd, "", &st) && i < g->n; i++)
		if (g->places[i].mount && g->places[i].mount == st.stx_mnt_id)
			return path_in(&g->places[i], fd, path, sizeof(path))
				       ? sys_openat2(g->places[i].upper, path, O_PATH | O_NOFOLLOW, INSIDE)
				       : -1;
	return -1;
}
