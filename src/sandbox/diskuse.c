/* SPDX-License-Identifier: Apache-2.0 */
/* See diskuse.h. The box may be writing meanwhile: nothing here follows a link or minds a vanished name. */
#include "sandbox/diskuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "sys/tree.h"

/* Deeper than any tree of use; each level is a descriptor and a buffer here. What lies below is closed to us. */
#define DEPTH 256

#define ATTR_NAMES 65536 /* the longest list the kernel gives */
#define TMPFS_UNIT 1024 /* tmpfs counts attributes as inodes, of so many bytes each */

/* Attributes that no block of their file holds. names: room for a list. */
static void add_attrs(int dir, const char *name, char *names, struct rein_diskuse *u)
{
	char path[sizeof("/proc/self/fd/") + 12 + NAME_MAX + 1];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name);
	n = llistxattr(path, names, ATTR_NAMES);
	u->closed |= n < 0 && errno != ENOENT && errno != ENOTSUP; /* or more than it gives */
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t size = lgetxattr(path, names + at, NULL, 0);

		u->bytes += strlen(names + at) + (size > 0 ? (uint64_t)size : 0);
	}
}

static void add_dir(int fd, unsigned depth, char *names, struct rein_diskuse *u)
{
	auto_closedir DIR *d = fdopendir(fd);
	struct dirent *e;

	if (!d) {
		close(fd);
		u->closed = true;
		return;
	}
	while ((e = readdir(d))) {
		struct stat st;

		if (rein_streq(e->d_name, ".") || rein_streq(e->d_name, ".."))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			u->closed |= errno != ENOENT;
			continue;
		}
		/* all names of a file are somewhere here: each has its part of the file */
		if (st.st_ctime >= u->since)
			u->bytes += (uint64_t)st.st_blocks * 512 / (S_ISDIR(st.st_mode) || !st.st_nlink ? 1 : st.st_nlink) + REIN_DISKUSE_NAME;
		if (names)
			add_attrs(dirfd(d), e->d_name, names, u);
		if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > u->largest)
			u->largest = (uint64_t)st.st_size;
		if (S_ISDIR(st.st_mode)) {
			int sub = depth < DEPTH ? rein_open_sub(dirfd(d), e->d_name) : -1;

			if (sub >= 0)
				add_dir(sub, depth + 1, names, u);
			else
				u->closed |= depth >= DEPTH || errno != ENOENT;
		}
	}
}

static void add_tree(const char *path, struct rein_diskuse *u)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *names = NULL;
	struct statfs st;

	if (fd < 0)
		return;
	if (fstatfs(fd, &st) < 0 || st.f_type == BTRFS_SUPER_MAGIC || st.f_type == TMPFS_MAGIC) {
		names = rein_alloc(ATTR_NAMES + 1);
		u->closed |= !names;
	}
	add_dir(fd, 0, names, u);
}

/* Where the box's writes of any kind go: the private layers, and scratch, which may lie on other filesystems. */
static const char *place(const struct rein_box_spec *spec, size_t i)
{
	const struct rein_path_rule *p;

	if (i < spec->nroots)
		return spec->roots[i].upper;
	p = &spec->paths[i - spec->nroots];
	return p->access == REIN_PATH_SCRATCH ? p->source : NULL;
}

struct disk {
	dev_t dev;
	struct statfs st;
};

/* The filesystems of all of these, each once. */
static size_t disks(const struct rein_box_spec *spec, struct disk *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->nroots + spec->npaths && n < max; i++) {
		const char *path = place(spec, i);
		struct stat here;
		bool known = false;

		if (!path || stat(path, &here) < 0)
			continue;
		for (size_t k = 0; k < n && !known; k++)
			known = ret[k].dev == here.st_dev;
		if (known || statfs(path, &ret[n].st) < 0)
			continue;
		ret[n++].dev = here.st_dev;
	}
	return n;
}

void rein_diskuse_free(const struct rein_box_spec *spec, struct rein_diskuse *ret)
{
	struct disk v[64];
	size_t n = disks(spec, v, ARRAY_SIZE(v));

	for (size_t i = 0; i < n; i++) {
		ret->free += (uint64_t)v[i].st.f_bfree * (uint64_t)v[i].st.f_bsize;
		if (v[i].st.f_type == TMPFS_MAGIC)
			ret->free += (uint64_t)v[i].st.f_ffree * TMPFS_UNIT;
	}
}

static uint64_t room_left(const struct statfs *st)
{
	uint64_t size = (uint64_t)st->f_blocks * (uint64_t)st->f_bsize, left = (uint64_t)st->f_bavail * (uint64_t)st->f_bsize;
	uint64_t inodes = st->f_files ? size / (uint64_t)st->f_files * (uint64_t)st->f_ffree : left;

	return inodes < left ? inodes : left;
}

size_t rein_diskuse_rooms(const struct rein_box_spec *spec, struct rein_room ret[REIN_ROOMS])
{
	struct disk v[REIN_ROOMS];
	size_t n = disks(spec, v, ARRAY_SIZE(v));

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct rein_room){v[i].dev, (uint64_t)v[i].st.f_blocks * (uint64_t)v[i].st.f_bsize, room_left(&v[i].st)};
	return n;
}

void rein_diskuse_walk_room(const struct rein_box_spec *spec, dev_t dev, time_t since, struct rein_diskuse *ret)
{
	*ret = (struct rein_diskuse){0};
	for (size_t i = 0; i < spec->nroots + spec->npaths; i++) {
		const char *path = place(spec, i);
		struct stat st;

		if (!path || stat(path, &st) < 0 || st.st_dev != dev)
			continue;
		ret->since = i < spec->nroots ? 0 : since;
		add_tree(path, ret);
	}
}

void rein_diskuse_walk(const struct rein_box_spec *spec, struct rein_diskuse *ret)
{
	uint64_t largest;

	*ret = (struct rein_diskuse){0};
	for (size_t i = 0; i < spec->nroots; i++)
		if (spec->roots[i].upper)
			add_tree(spec->roots[i].upper, ret);
	largest = ret->largest;
	for (size_t i = 0; i < spec->npaths; i++)
		if (spec->paths[i].access == REIN_PATH_SCRATCH && spec->paths[i].source)
			add_tree(spec->paths[i].source, ret);
	ret->largest = largest; /* a cache's files may be older than the limit */
	rein_diskuse_free(spec, ret);
}
