/* SPDX-License-Identifier: Apache-2.0 */
/* See tree.h. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK	  4096
#define MAX_LINES 12

/*
 * A sum over the blocks that are not all zero, each mixed with its position: the same for a hole
 * and for written zeros, and it never reads holes.
 */
static uint64_t hash_block(const unsigned char *p, size_t n, uint64_t index)
{
	uint64_t h = lab_mix(index), word, any = 0;

	for (size_t i = 0; i < n; i += 8) {
		size_t m = n - i < 8 ? n - i : 8;

		word = 0;
		memcpy(&word, p + i, m);
		any |= word;
		h = (h ^ word) * 0xff51afd7ed558ccd;
		h ^= h >> 32;
	}
	return any ? lab_mix(h) : 0;
}

static void read_data(int fd, struct tree_entry *e)
{
	static unsigned char buf[64 * BLOCK];
	off_t at = 0, end;

	while (at < e->st.st_size) {
		at = lseek(fd, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			return;
		end = at < 0 ? at : lseek(fd, at, SEEK_HOLE);
		if (end < 0)
			lab_die_errno("find data in '%s'", e->path);
		e->data_bytes += (uint64_t)(end - at);
		at -= at % BLOCK;
		while (at < end) {
			/* whole blocks of this stretch only: the next one counts its own */
			size_t want = (size_t)((end - at + BLOCK - 1) / BLOCK * BLOCK);
			ssize_t n = pread(fd, buf, want < sizeof(buf) ? want : sizeof(buf), at);

			if (n <= 0)
				lab_die_errno("read '%s'", e->path);
			for (ssize_t i = 0; i < n; i += BLOCK)
				e->hash +=
					hash_block(buf + i, (size_t)(n - i < BLOCK ? n - i : BLOCK),
						   (uint64_t)(at + i) / BLOCK);
			at += n;
		}
		at = end;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_overlay_attr(const char *name)
{
	return !strncmp(name, "trusted.overlay.", 16) || !strncmp(name, "user.overlay.", 13);
}

static void read_attrs(const char *full, struct tree_entry *e)
{
	char names[8192], value[65536], **v = NULL;
	ssize_t n = llistxattr(full, names, sizeof(names)), m;
	struct lab_text t = {0};
	size_t nv = 0;

	if (n < 0 && errno != ENOTSUP)
		lab_die_errno("list attributes of '%s'", full);
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1)
		lab_push(v, nv, names + i);
	if (nv)
		qsort(v, nv, sizeof(*v), by_text);
	lab_text_add(&t, "", 0);
	for (size_t i = 0; i < nv; i++) {
		e->foreign_attrs |= is_overlay_attr(v[i]);
		m = lgetxattr(full, v[i], value, sizeof(value));
		if (m < 0)
			lab_die_errno("read attribute '%s' of '%s'", v[i], full);
		lab_text_printf(&t, "%s=", v[i]);
		lab_text_word(&t, value, (size_t)m);
		lab_text_add(&t, ";", 1);
	}
	free(v);
	e->attrs = t.p;
}

static void read_entry(struct tree *t, int dirfd, const char *name, const char *path)
{
	struct tree_entry e = {.path = lab_strdup(path)};
	char target[PATH_MAX], proc[PATH_MAX];
	ssize_t n;
	int fd;

	if (fstatat(dirfd, name, &e.st, AT_SYMLINK_NOFOLLOW) < 0)
		lab_die_errno("stat '%s'", path);
	if (S_ISLNK(e.st.st_mode)) {
		n = readlinkat(dirfd, name, target, sizeof(target) - 1);
		if (n < 0)
			lab_die_errno("readlink '%s'", path);
		target[n] = '\0';
		e.target = lab_strdup(target);
	}
	if (S_ISREG(e.st.st_mode)) {
		/* for all but the owner and root O_NOATIME is refused */
		fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
		if (fd < 0 && errno == EPERM)
			fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			lab_die_errno("open '%s'", path);
		read_data(fd, &e);
		close(fd);
	}
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d/%s", dirfd, name);
	read_attrs(proc, &e);
	lab_push(t->v, t->n, e);
}

static void walk(struct tree *t, int dirfd, const char *path)
{
	struct dirent *d;
	DIR *dir = fdopendir(dirfd);

	if (!dir)
		lab_die_errno("read directory '%s'", path);
	while ((d = readdir(dir))) {
		char *sub;
		int fd;

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		sub = strcmp(path, ".") ? lab_format("%s/%s", path, d->d_name)
					: lab_strdup(d->d_name);
		read_entry(t, dirfd, d->d_name, sub);
		if (S_ISDIR(t->v[t->n - 1].st.st_mode)) {
			fd = openat(dirfd, d->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd < 0)
				lab_die_errno("open directory '%s'", sub);
			walk(t, fd, sub);
		}
		free(sub);
	}
	closedir(dir);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct tree_entry *)a)->path, ((const struct tree_entry *)b)->path);
}

static void find_groups(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct tree_entry *e = &t->v[i];

		e->first = i;
		if (S_ISDIR(e->st.st_mode) || e->st.st_nlink < 2)
			continue;
		for (size_t j = 0; j < i && e->first == i; j++)
			if (t->v[j].st.st_ino == e->st.st_ino)
				e->first = j;
	}
}

void tree_take(struct tree *t, const char *path, struct timespec start)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*t = (struct tree){.start = start};
	if (fd < 0)
		lab_die_errno("open '%s'", path);
	read_entry(t, fd, ".", ".");
	walk(t, fd, ".");
	qsort(t->v, t->n, sizeof(*t->v), by_path);
	find_groups(t);
	clock_gettime(CLOCK_REALTIME, &t->taken);
}

void tree_done(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].path);
		free(t->v[i].target);
		free(t->v[i].attrs);
	}
	free(t->v);
	*t = (struct tree){0};
}

const struct tree_entry *tree_find(const struct tree *t, const char *path)
{
	struct tree_entry key = {.path = (char *)path};

	return t->n ? bsearch(&key, t->v, t->n, sizeof(*t->v), by_path) : NULL;
}

static int time_cmp(struct timespec a, struct timespec b)
{
	if (a.tv_sec != b.tv_sec)
		return a.tv_sec < b.tv_sec ? -1 : 1;
	return a.tv_nsec == b.tv_nsec ? 0 : a.tv_nsec < b.tv_nsec ? -1 : 1;
}

static bool from_clock(const struct tree *t, const struct tree_entry *e)
{
	return t->start.tv_sec && time_cmp(e->st.st_mtim, t->start) >= 0 &&
	       time_cmp(e->st.st_mtim, t->taken) <= 0;
}

/* One comparison: collects what differs between two entries of one path. */
struct diff {
	const struct tree *wt, *gt;
	const struct tree_entry *w, *g;
	struct tree_rules rules;
	struct lab_text line;
};

static void diff_number(struct diff *d, const char *what, uint64_t w, uint64_t g, const char *fmt)
{
	if (w == g)
		return;
	lab_text_printf(&d->line, " %s ", what);
	lab_text_printf(&d->line, *fmt == 'o' ? "0%lo, not 0%lo;" : "%lu, not %lu;", g, w);
}

static void diff_text(struct diff *d, const char *what, const char *w, const char *g)
{
	if (w && g && !strcmp(w, g))
		return;
	if (!w && !g)
		return;
	lab_text_printf(&d->line, " %s ", what);
	lab_text_word(&d->line, g ? g : "", g ? strlen(g) : 0);
	lab_text_printf(&d->line, ", not ");
	lab_text_word(&d->line, w ? w : "", w ? strlen(w) : 0);
	lab_text_add(&d->line, ";", 1);
}

static void diff_times(struct diff *d)
{
	struct timespec w = d->w->st.st_mtim, g = d->g->st.st_mtim;

	if (time_cmp(w, g) == 0)
		return;
	if (d->rules.loose_directory_times && S_ISDIR(d->g->st.st_mode))
		return;
	if (d->rules.clock_times && from_clock(d->wt, d->w) && from_clock(d->gt, d->g))
		return;
	lab_text_printf(&d->line, " mtime %ld.%09ld%s, not %ld.%09ld%s;", g.tv_sec, g.tv_nsec,
			from_clock(d->gt, d->g) ? " (now)" : "", w.tv_sec, w.tv_nsec,
			from_clock(d->wt, d->w) ? " (now)" : "");
}

static void diff_entry(struct diff *d)
{
	const struct tree_entry *w = d->w, *g = d->g;

	diff_number(d, "type and mode", w->st.st_mode, g->st.st_mode, "o");
	diff_number(d, "uid", w->st.st_uid, g->st.st_uid, "d");
	diff_number(d, "gid", w->st.st_gid, g->st.st_gid, "d");
	if (d->rules.extra_links && !S_ISDIR(g->st.st_mode) && g->st.st_nlink > w->st.st_nlink)
		++*d->rules.extra_links;
	else
		diff_number(d, "links", w->st.st_nlink, g->st.st_nlink, "d");
	diff_number(d, "device", w->st.st_rdev, g->st.st_rdev, "d");
	if (!S_ISDIR(w->st.st_mode))
		diff_number(d, "size", (uint64_t)w->st.st_size, (uint64_t)g->st.st_size, "d");
	if (w->hash != g->hash)
		lab_text_printf(&d->line, " content differs;");
	if (g->data_bytes > w->data_bytes + TREE_SPARSE_SLACK)
		diff_number(d, "bytes of data", w->data_bytes, g->data_bytes, "d");
	diff_text(d, "target", w->target, g->target);
	diff_text(d, "attributes", w->attrs, g->attrs);
	if (g->foreign_attrs)
		lab_text_printf(&d->line, " overlay attributes '%s';", g->attrs);
	diff_text(d, "same file as", d->wt->v[w->first].path, d->gt->v[g->first].path);
	if (d->rules.inodes)
		diff_number(d, "inode", w->st.st_ino, g->st.st_ino, "d");
	diff_times(d);
}

static void add_line(struct lab_text *why, unsigned *lines, const char *path, const char *text)
{
	if (++*lines > MAX_LINES)
		return;
	lab_text_printf(why, "  ");
	lab_text_word(why, path, strlen(path));
	lab_text_printf(why, ":%s\n", text);
}

bool tree_equal(const struct tree *want, const struct tree *got, struct tree_rules rules,
		struct lab_text *why)
{
	size_t i = 0, j = 0;
	unsigned lines = 0;

	while (i < want->n || j < got->n) {
		int c = i == want->n  ? 1
			: j == got->n ? -1
				      : strcmp(want->v[i].path, got->v[j].path);

		if (c < 0) {
			add_line(why, &lines, want->v[i++].path, " is missing");
		} else if (c > 0) {
			add_line(why, &lines, got->v[j++].path, " should not be there");
		} else {
			struct diff d = {want, got, &want->v[i++], &got->v[j++], rules, {0}};

			diff_entry(&d);
			if (d.line.n)
				add_line(why, &lines, d.w->path, d.line.p);
			lab_text_done(&d.line);
		}
	}
	if (lines > MAX_LINES)
		lab_text_printf(why, "  … and %u more\n", lines - MAX_LINES);
	return lines == 0;
}
