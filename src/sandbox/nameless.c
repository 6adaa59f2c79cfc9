/* SPDX-License-Identifier: Apache-2.0 */
/* See nameless.h. */
#include "sandbox/nameless.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"

/* As often as it is open. */
struct file {
	ino_t ino;
	dev_t dev;
	uint64_t bytes;
};

struct files {
	struct file *v;
	size_t n, cap;
	uint64_t more; /* of those there was no memory for: each time anew, since too much is safer than too little */
};

struct search {
	int proc;
	dev_t private; /* the box's own file system, which is counted as a whole */
	struct files open, mapped;
	bool closed;
};

static void search_done(struct search *s)
{
	rein_free(s->open.v);
	rein_free(s->mapped.v);
}

static void add(struct files *to, struct file f)
{
	if (rein_grow(to->v, to->n, to->cap) < 0)
		to->more += f.bytes;
	else
		to->v[to->n++] = f;
}

static int by_number(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* The largest of the same first: that is the one that counts. */
static int by_file(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->ino != y->ino)
		return by_number(a, b);
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static FILE *open_text(int proc, const char *pid, const char *name, const char *of)
{
	char path[600];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s/%s%s", pid, name, of);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static void closep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static bool is_dead(int proc, const char *pid)
{
	auto_(closep) FILE *f = open_text(proc, pid, "stat", "");
	char text[512] = "", *p;

	if (!f || !fgets(text, sizeof(text), f))
		return true;
	p = strrchr(text, ')');
	return p && (p[2] == 'Z' || p[2] == 'X');
}

/* Does this socket hold descriptors that were sent and not taken yet? */
static bool holds_others(int proc, const char *pid, const char *fd)
{
	auto_(closep) FILE *f = open_text(proc, pid, "fdinfo/", fd);
	char line[256];
	unsigned n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "scm_fds: %u", &n) == 1)
			return n > 0;
	return false;
}

static bool is_memory(int dir, const char *fd)
{
	char to[16];
	ssize_t n = readlinkat(dir, fd, to, sizeof(to) - 1);

	to[n > 0 ? n : 0] = '\0';
	return rein_starts(to, "/memfd:");
}

static void look_at_open(struct search *s, const char *pid)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/fd", pid);
	fd = openat(s->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* pid 1 is ours, and may well be closed */
	if (fd < 0 && (errno == EACCES || errno == EPERM) && !rein_streq(pid, "1") && !is_dead(s->proc, pid))
		s->closed = true;
	{
		auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
		struct dirent *e;

		if (!d && fd >= 0)
			close(fd);
		while (d && (e = readdir(d))) {
			struct stat st;

			if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0) < 0)
				continue;
			if (S_ISSOCK(st.st_mode))
				s->closed |= holds_others(s->proc, pid, e->d_name);
			else if (S_ISREG(st.st_mode) && !st.st_nlink && st.st_dev != s->private &&
				 !is_memory(dirfd(d), e->d_name))
				add(&s->open, (struct file){st.st_ino, st.st_dev, (uint64_t)st.st_blocks * 512});
		}
	}
}

/* How much of it is on disk nobody can ask any more: up to where it is mapped. */
static void look_at_mapped(struct search *s, const char *pid)
{
	auto_(closep) FILE *f = open_text(s->proc, pid, "maps", "");
	auto_free char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while (f && (n = getline(&line, &size, f)) > 0) {
		static const char *const memory[] = {"/memfd:", "/SYSV", "/dev/zero"};
		uint64_t from, to, at, ino;
		unsigned major, minor;
		int path = 0;
		bool skip = false;

		if (!strstr(line, " (deleted)\n") ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &from, &to, &at, &major,
			   &minor, &ino, &path) != 6)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
			skip |= rein_starts(line + path, memory[i]);
		if (!skip && makedev(major, minor) != s->private)
			add(&s->mapped, (struct file){(ino_t)ino, 0, at + (to - from)});
	}
}

/* Each file once, whoever has it; what is mapped only where it is not open as well, which says it exactly. */
static uint64_t sum(struct search *s)
{
	struct files *o = &s->open, *m = &s->mapped;
	uint64_t bytes = o->more + m->more;

	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_file);
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_file);
	for (size_t i = 0; i < o->n; i++)
		if (!i || o->v[i - 1].ino != o->v[i].ino || o->v[i - 1].dev != o->v[i].dev)
			bytes += o->v[i].bytes;
	for (size_t i = 0; i < m->n; i++)
		if ((!i || m->v[i - 1].ino != m->v[i].ino) &&
		    !(o->n && bsearch(&m->v[i], o->v, o->n, sizeof(*o->v), by_number)))
			bytes += m->v[i].bytes;
	return bytes;
}

void rein_nameless_count(int proc, struct rein_nameless *ret)
{
	auto_(search_done) struct search s = {.proc = proc};
	int copy = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	struct stat st;

	if (!d && copy >= 0)
		close(copy);
	/* a directory of the same file system as /tmp, see census.h */
	if (fstatat(proc, "1/root/dev/shm", &st, 0) == 0)
		s.private = st.st_dev;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		look_at_open(&s, e->d_name);
		look_at_mapped(&s, e->d_name);
	}
	*ret = (struct rein_nameless){sum(&s), s.closed};
}
