/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes: numbers only, to find those that come twice; then the names of these. */
#include "sandbox/linkmap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/strlist.h"
#include "sys/sys.h"

struct seen {
	uint64_t ino;
	uint32_t dir;
};

struct maker {
	int root;
	struct rein_strlist dirs;
	struct seen *v;
	size_t n, cap;
};

typedef int (*entry_fn)(struct maker *m, uint32_t dir, const struct dirent64 *e, void *arg);

static void maker_done(struct maker *m)
{
	rein_strlist_done(&m->dirs);
	rein_free(m->v);
}

static char *join(const char *dir, const char *name)
{
	return *dir ? rein_asprintf("%s/%s", dir, name) : rein_strdup(name);
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Every entry of a directory. What cannot be read has none. */
static int read_dir(struct maker *m, uint32_t dir, entry_fn fn, void *arg)
{
	char block[32768] __attribute__((aligned(8)));
	const char *path = m->dirs.v[dir];
	auto_close int fd = sys_openat2(m->root, *path ? path : ".",
					O_RDONLY | O_DIRECTORY | O_NOATIME,
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	ssize_t n;

	if (fd < 0) /* O_NOATIME is for owners */
		fd = sys_openat2(m->root, *path ? path : ".", O_RDONLY | O_DIRECTORY,
				 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	while (fd >= 0 && (n = getdents64(fd, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(block + at);

			at += e->d_reclen;
			if (!is_dots(e->d_name) && fn(m, dir, e, arg) < 0)
				return -1;
		}
	return 0;
}

static bool is_dir(struct maker *m, uint32_t dir, const struct dirent64 *e)
{
	auto_free char *path = NULL;
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	path = join(m->dirs.v[dir], e->d_name);
	return path && fstatat(m->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int count(struct maker *m, uint32_t dir, const struct dirent64 *e, void *arg)
{
	(void)arg;
	if (is_dir(m, dir, e))
		return rein_strlist_take(&m->dirs, join(m->dirs.v[dir], e->d_name));
	if (rein_grow(m->v, m->n, m->cap) < 0)
		return -1;
	m->v[m->n++] = (struct seen){e->d_ino, dir};
	return 0;
}

static int by_ino(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static int keep_name(struct maker *m, uint32_t dir, const struct dirent64 *e, void *arg)
{
	struct rein_linkmap *map = arg;
	struct seen key = {.ino = e->d_ino};
	char *path;

	if (!bsearch(&key, m->v, m->n, sizeof(key), by_ino) || is_dir(m, dir, e))
		return 0;
	path = join(m->dirs.v[dir], e->d_name);
	if (!path || rein_grow(map->v, map->n, map->cap) < 0) {
		rein_free(path);
		return -1;
	}
	map->v[map->n++] = (struct rein_linkname){e->d_ino, path};
	return 0;
}

static int by_dir(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->dir < y->dir ? -1 : x->dir > y->dir;
}

static int by_name(const void *a, const void *b)
{
	const struct rein_linkname *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Only numbers that came twice stay. */
static void drop_single(struct maker *m)
{
	size_t kept = 0;

	if (m->n)
		qsort(m->v, m->n, sizeof(m->v[0]), by_ino);
	for (size_t i = 0, k; i < m->n; i = k) {
		for (k = i + 1; k < m->n && m->v[k].ino == m->v[i].ino; k++)
			;
		if (k - i > 1)
			while (i < k)
				m->v[kept++] = m->v[i++];
	}
	m->n = kept;
}

int rein_linkmap_make(struct rein_linkmap *map, int root)
{
	auto_(maker_done) struct maker m = {.root = root};
	auto_free struct seen *where = NULL;

	if (rein_strlist_add(&m.dirs, "") < 0)
		return -1;
	for (uint32_t i = 0; i < m.dirs.n; i++)
		if (read_dir(&m, i, count, NULL) < 0)
			return -1;
	drop_single(&m);
	if (!m.n)
		return 0;
	where = rein_calloc(m.n, sizeof(*where));
	if (!where)
		return -1;
	memcpy(where, m.v, m.n * sizeof(*where));
	qsort(where, m.n, sizeof(*where), by_dir);
	for (size_t i = 0; i < m.n; i++)
		if ((i == 0 || where[i].dir != where[i - 1].dir) &&
		    read_dir(&m, where[i].dir, keep_name, map) < 0) {
			rein_linkmap_done(map);
			return -1;
		}
	if (map->n)
		qsort(map->v, map->n, sizeof(map->v[0]), by_name);
	return 0;
}

size_t rein_linkmap_find(const struct rein_linkmap *m, uint64_t ino, size_t *ret_n)
{
	size_t lo = 0, hi = m->n, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid].ino < ino)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < m->n && m->v[end].ino == ino; end++)
		;
	*ret_n = end - lo;
	return lo;
}

void rein_linkmap_done(struct rein_linkmap *m)
{
	for (size_t i = 0; i < m->n; i++)
		rein_free(m->v[i].path);
	rein_free(m->v);
	*m = (struct rein_linkmap){0};
}
