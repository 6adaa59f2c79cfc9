/* SPDX-License-Identifier: Apache-2.0 */
/* See census.h. */
#include "sandbox/census.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"

#define TICK_NS 10000000ull /* USER_HZ is 100 on every architecture */

int rein_census_open(pid_t pid)
{
	auto_close int proc = -1;
	char path[64], self[2];

	snprintf(path, sizeof(path), "/proc/%d/root/proc", (int)pid);
	proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* One that knows us is ours, not yet the box's: everybody would be counted, and a limit reached. */
	if (proc >= 0 && readlinkat(proc, "self", self, sizeof(self)) >= 0)
		return -1;
	return take_fd(&proc);
}

static bool read_small(int proc, const char *pid, const char *file, char *to, size_t max)
{
	char path[300];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", pid, file);
	{
		auto_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);

		n = fd < 0 ? -1 : read(fd, to, max - 1);
	}
	if (n <= 0)
		return false;
	to[n] = '\0';
	return true;
}

/* stat's fields from the third on stand behind the name's closing parenthesis. v[n] is field n. */
static bool fields(const char *stat, char *state, uint64_t v[25])
{
	const char *p = strrchr(stat, ')');

	if (!p || p[1] != ' ')
		return false;
	*state = p[2];
	p += 3;
	for (size_t field = 4; field < 25; field++) {
		char *end;

		v[field] = (uint64_t)strtoll(p, &end, 10);
		p = end;
	}
	return true;
}

static void count(struct rein_census *c, const char *stat, bool ours)
{
	uint64_t v[25] = {0}, cpu;
	char state;

	if (!fields(stat, &state, v))
		return;
	cpu = v[14] + v[15] + v[16] + v[17]; /* utime stime cutime cstime */
	/* of pid 1, which is ours, only what it reaped */
	c->cpu_ns += (ours ? v[16] + v[17] : cpu) * TICK_NS;
	if (ours)
		return;
	c->processes++;
	c->stopped += state == 'T' || state == 't' || state == 'Z' || state == 'X';
	c->waiting += state == 'D';
	c->threads += v[20];
	c->rss += v[24] * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t field_of(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

static DIR *list(int proc)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

bool rein_census_take(int proc, struct rein_census *ret)
{
	auto_closedir DIR *d = list(proc);
	struct rein_census c = {0};
	bool any = false;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		bool ours = rein_streq(e->d_name, "1");
		char text[1024];

		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    !read_small(proc, e->d_name, "stat", text, sizeof(text)))
			continue;
		any = true;
		count(&c, text, ours);
		if (read_small(proc, e->d_name, "io", text, sizeof(text))) {
			c.read_bytes += field_of(text, "rchar: ");
			c.written_bytes += field_of(text, "wchar: ");
		}
	}
	*ret = c;
	return any;
}

/* A list of groups can be long, and what is looked for stands behind it. */
#define STATUS_MAX 16384

/* One that ended meanwhile stands still as well. False: it moves. */
static bool note_stance(int dir, const char *id, struct rein_stances *ret, uint64_t *ret_threads)
{
	char text[STATUS_MAX];
	const char *state;
	struct rein_stance s = {.tid = (pid_t)strtol(id, NULL, 10)};

	*ret_threads = 0;
	if (!read_small(dir, id, "status", text, sizeof(text)))
		return true;
	state = strstr(text, "\nState:\t"); /* no name has a line break here: the kernel writes another sign */
	if (!state)
		return true;
	state += strlen("\nState:\t");
	*ret_threads = field_of(text, "\nThreads:");
	s.stopped = strchr("Tt", *state);
	s.switches = field_of(text, "\nvoluntary_ctxt_switches:") + field_of(text, "\nnonvoluntary_ctxt_switches:");
	if (rein_grow(ret->v, ret->n, ret->cap) == 0)
		ret->v[ret->n++] = s;
	else
		ret->lost = true;
	return strchr("TtZXD", *state);
}

static bool threads_stand(int proc, const char *pid, struct rein_stances *ret)
{
	bool still = true;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/task", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	{
		auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
		struct dirent *e;
		uint64_t ignored;

		while (d && (e = readdir(d)))
			if (e->d_name[0] != '.' && !note_stance(dirfd(d), e->d_name, ret, &ignored))
				still = false;
	}
	return still;
}

static int by_tid(const void *va, const void *vb)
{
	const struct rein_stance *a = va, *b = vb;

	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

bool rein_census_is_still(int proc, struct rein_stances *ret)
{
	auto_closedir DIR *d = list(proc);
	bool still = true;
	struct dirent *e;

	*ret = (struct rein_stances){0};
	while (d && (e = readdir(d))) {
		size_t before = ret->n;
		uint64_t threads;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || rein_streq(e->d_name, "1"))
			continue;
		if (!note_stance(proc, e->d_name, ret, &threads))
			still = false;
		/* the first thread's state says nothing of the others' */
		if (threads > 1) {
			ret->n = before;
			if (!threads_stand(proc, e->d_name, ret))
				still = false;
		}
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_tid);
	return still;
}

bool rein_stances_moved(const struct rein_stances *was, struct rein_stances *is, unsigned grace)
{
	bool moved = false;
	size_t i = 0;

	if (was->lost || is->lost || !was->n)
		return false;
	for (size_t k = 0; k < is->n; k++) {
		struct rein_stance *s = &is->v[k];

		while (i < was->n && was->v[i].tid < s->tid)
			i++; /* ended */
		if (i == was->n || was->v[i].tid != s->tid) {
			moved = true;
			continue;
		}
		s->changes = was->v[i].changes;
		if (was->v[i].stopped && was->v[i].switches != s->switches)
			moved |= ++s->changes > grace;
	}
	return moved;
}

void rein_stances_done(struct rein_stances *s)
{
	rein_free(s->v);
	*s = (struct rein_stances){0};
}

uint64_t rein_census_threads(int proc)
{
	auto_closedir DIR *d = list(proc);
	uint64_t n = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[300];
		struct stat st;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || rein_streq(e->d_name, "1"))
			continue;
		snprintf(path, sizeof(path), "%s/task", e->d_name);
		/* a directory for each thread; one that ended meanwhile was there a moment ago */
		n += fstatat(proc, path, &st, 0) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	}
	return n;
}

bool rein_census_each(int proc, void (*fn)(void *arg, const struct rein_process *p), void *arg)
{
	auto_closedir DIR *d = list(proc);
	bool any = false;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char text[1024], words[4096] = "";
		struct rein_process p = {.command = words};
		uint64_t v[25] = {0};
		size_t n = 0;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || rein_streq(e->d_name, "1") ||
		    !read_small(proc, e->d_name, "stat", text, sizeof(text)) || !fields(text, &p.state, v))
			continue;
		any = true;
		if (read_small(proc, e->d_name, "cmdline", words, sizeof(words) - 1))
			for (n = sizeof(words) - 1; n && !words[n - 1]; n--)
				;
		for (size_t i = 0; i + 1 < n; i++)
			if (!words[i])
				words[i] = ' ';
		if (!n && strchr(text, '(')) /* a zombie or one without words: its name */
			snprintf(words, sizeof(words), "[%.*s]",
				 (int)(strrchr(text, ')') - strchr(text, '(') - 1), strchr(text, '(') + 1);
		p.pid = (pid_t)strtol(e->d_name, NULL, 10);
		p.parent = (pid_t)v[4];
		p.cpu_ns = (v[14] + v[15]) * TICK_NS;
		p.threads = v[20];
		p.rss = v[24] * (uint64_t)sysconf(_SC_PAGESIZE);
		fn(arg, &p);
	}
	return any;
}

uint64_t rein_census_pss(int proc)
{
	auto_closedir DIR *d = list(proc);
	uint64_t sum = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char text[2048];

		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !rein_streq(e->d_name, "1") &&
		    read_small(proc, e->d_name, "smaps_rollup", text, sizeof(text)))
			sum += field_of(text, "\nPss:") * 1024;
	}
	return sum;
}

uint64_t rein_census_tmpfs(pid_t pid)
{
	char path[64];
	struct statfs st;

	/* /dev/shm is a directory of the same file system as /tmp and is never anybody else's */
	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", (int)pid);
	if (statfs(path, &st) < 0)
		return 0;
	/* attributes take inodes' room, in the kernel's count one for each 1024 bytes */
	return (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize + (uint64_t)(st.f_files - st.f_ffree) * 1024;
}
