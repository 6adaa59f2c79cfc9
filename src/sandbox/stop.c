/* SPDX-License-Identifier: Apache-2.0 */
/* See stop.h. */
#include "sandbox/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sys/sys.h"

#define PATIENCE_NS (10 * REIN_NS_PER_S)

struct target {
	int pidfd;
	ino_t space; /* its pid namespace; 0: unknown */
};

struct rein_stop {
	struct target *v;
	size_t n, cap;
	int proc;
	uint64_t begun_ns;
	size_t processes;
};

void rein_stop_free(struct rein_stop *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		rein_closep_(&s->v[i].pidfd);
	rein_free(s->v);
	rein_closep_(&s->proc);
	rein_free(s);
}

static ino_t pid_space(int proc, const char *pid)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/ns/pid", pid);
	return fstatat(proc, path, &st, 0) == 0 ? st.st_ino : 0;
}

static int add(struct rein_stop *t, int pidfd, ino_t space, struct rein_err *err)
{
	/* a runtime whose processes are ours to see has no namespace to count in; its end is waited for */
	if (space && space == pid_space(t->proc, "self"))
		space = 0;
	for (size_t i = 0; space && i < t->n; i++)
		if (t->v[i].space == space) {
			close(pidfd);
			return 0;
		}
	if (rein_grow(t->v, t->n, t->cap) < 0) {
		close(pidfd);
		return rein_err_nomem(err);
	}
	t->v[t->n++] = (struct target){pidfd, space};
	return 0;
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
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Has this process a file of the state open? Its supervisor always has. */
static bool holds_state(int proc, long pid, const char *state_dir)
{
	char path[64], link[PATH_MAX];
	size_t n = strlen(state_dir);
	struct dirent *e;
	int fd;

	snprintf(path, sizeof(path), "%ld/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	{
		auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);

		while (d && (e = readdir(d))) {
			ssize_t len = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

			link[len > 0 ? len : 0] = '\0';
			if (strncmp(link, state_dir, n) == 0 && (link[n] == '/' || link[n] == '\0'))
				return true;
		}
	}
	return false;
}

/* -1: it is gone. */
static long parent_of(int proc, const char *pid)
{
	char text[512], *p;
	long parent;

	p = read_small(proc, pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return p && sscanf(p, ") %*c %ld", &parent) == 1 ? parent : -1;
}

/* Its parent is the supervisor, or a runtime whose parent that is. */
static bool is_supervised(int proc, const char *pid, const char *state_dir)
{
	long parent = parent_of(proc, pid);
	char above[24];

	if (parent > 1 && holds_state(proc, parent, state_dir))
		return true;
	snprintf(above, sizeof(above), "%ld", parent);
	parent = parent > 1 ? parent_of(proc, above) : -1;
	return parent > 1 && holds_state(proc, parent, state_dir);
}

/* Executors in /proc whose supervisor works on this state. */
static int find_unlisted(int proc, const char *state_dir, struct rein_stop *t, struct rein_err *err)
{
	auto_closedir DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char text[512];
		int pidfd;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    !read_small(proc, e->d_name, "stat", text, sizeof(text)) ||
		    !strstr(text, " (rein-box) ") || !is_supervised(proc, e->d_name, state_dir))
			continue;
		pidfd = sys_pidfd_open((pid_t)strtol(e->d_name, NULL, 10), 0);
		if (pidfd >= 0 && add(t, pidfd, pid_space(proc, e->d_name), err) < 0)
			return -err->code;
	}
	return 0;
}

/* Dead, and nobody has asked yet how. */
static bool is_zombie(int proc, const char *pid)
{
	char text[512], *p;

	if (!read_small(proc, pid, "stat", text, sizeof(text)))
		return true;
	p = strrchr(text, ')');
	return p && (p[2] == 'Z' || p[2] == 'X');
}

/* How many processes are in these namespaces now. */
static size_t count(int proc, const struct rein_stop *t)
{
	auto_closedir DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		ino_t space;

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		space = pid_space(proc, e->d_name);
		for (size_t i = 0; space && i < t->n; i++)
			if (t->v[i].space == space) {
				n += !is_zombie(proc, e->d_name);
				break;
			}
	}
	return n;
}

/* A namespace's pid 1 ends when all others in it have ended. */
static int wait_for_all(const struct rein_stop *t, uint64_t end, struct rein_err *err)
{
	for (size_t i = 0; i < t->n; i++) {
		struct pollfd fd = {.fd = t->v[i].pidfd, .events = POLLIN};
		uint64_t now = rein_mono_ns();
		int rc = poll(&fd, 1, now < end ? (int)((end - now) / 1000000) + 1 : 0);

		if (rc < 0 && errno == EINTR) {
			i--;
			continue;
		}
		if (rc <= 0)
			return rein_err_set(err, REIN_E_FAILED, "a box does not die: its processes may be stuck "
								"in the kernel");
	}
	return 0;
}

/* A box needs a descriptor; there may be more boxes than a shell's limit allows. */
static void raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

int rein_stop_prepare(struct rein_stop **ret, struct rein_err *err)
{
	struct rein_stop *s = rein_calloc(1, sizeof(*s));

	if (!s)
		return rein_err_nomem(err);
	s->begun_ns = rein_mono_ns();
	s->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc < 0) {
		rein_free(s);
		return rein_err_errno(err, "open /proc");
	}
	raise_files();
	*ret = s;
	return 0;
}

int rein_stop_add(struct rein_stop *s, const struct rein_live_list *l, const char *extra,
		  struct rein_err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		int pidfd = rein_live_pidfd(&l->v[i]);
		char pid[24];

		snprintf(pid, sizeof(pid), "%d", (int)l->v[i].box);
		if (pidfd >= 0 && add(s, pidfd, pid_space(s->proc, pid), err) < 0)
			return -err->code;
	}
	return extra ? find_unlisted(s->proc, extra, s, err) : 0;
}

void rein_stop_count(struct rein_stop *s)
{
	s->processes = count(s->proc, s);
}

int rein_stop_kill(struct rein_stop *s, struct rein_err *err)
{
	for (size_t i = 0; i < s->n; i++)
		sys_pidfd_send_signal(s->v[i].pidfd, SIGKILL);
	return wait_for_all(s, s->begun_ns + PATIENCE_NS, err);
}

void rein_stop_verify(struct rein_stop *s, struct rein_stopped *ret)
{
	*ret = (struct rein_stopped){.processes = s->processes, .left = count(s->proc, s)};
	/* one without a namespace was on its way out already: waited for, not counted */
	for (size_t i = 0; i < s->n; i++)
		ret->boxes += s->v[i].space != 0;
	ret->wall_ns = rein_mono_ns() - s->begun_ns;
}
