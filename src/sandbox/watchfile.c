/* SPDX-License-Identifier: Apache-2.0 */
/* See watchfile.h. The caller waits meanwhile: most calls are waved on after their path was read.
 */
#include "sandbox/watchfile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/caller.h"
#include "sandbox/viewhash.h"
#include "sandbox/watch.h"

/* What a box always may write to, and writes to all the time. */
static const char *const own[] = {"/dev/", "/tmp/", "/var/tmp/", "/proc/"};

static unsigned bit_of(const char *name, size_t n)
{
	return (unsigned)(rein_hash64(name, n, 0) & 4095);
}

/* The last component of each hidden path: whoever asks for it, or for something in it, has to say
 * it. */
static void prepare(struct rein_watchfile *w)
{
	for (char *const *p = w->hidden; p && *p; p++) {
		const char *slash = strrchr(*p, '/'), *name = slash ? slash + 1 : *p;
		unsigned bit = bit_of(name, strlen(name));

		w->names[bit / 64] |= 1ull << bit % 64;
	}
	w->ready = true;
}

static bool may_be_hidden(const struct rein_watchfile *w, const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");
		unsigned bit = bit_of(p, n);

		if (n && w->names[bit / 64] & 1ull << bit % 64)
			return true;
		p += n + (p[n] == '/');
	}
	return false;
}

/* "." and ".." taken out, as text: a symbolic link on the way is not looked at. */
static void tidy(char *path)
{
	char *to = path;

	for (const char *p = path; *p;) {
		size_t n;

		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.') {
			while (to > path && *--to != '/')
				;
		} else if (n && !(n == 1 && p[0] == '.')) {
			*to++ = '/';
			memmove(to, p, n);
			to += n;
		}
		p += n;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* As one would write it from the box's root. */
static bool absolute(pid_t pid, int box_root, int dirfd, const char *path, char *to, size_t size)
{
	size_t n = 0;

	if (*path != '/') {
		if (!rein_caller_base(pid, box_root, dirfd, to, size))
			return false;
		n = strlen(to);
	}
	if ((size_t)snprintf(to + n, size - n, "%s%s", n ? "/" : "", path) >= size - n)
		return false;
	tidy(to);
	return true;
}

static void add(struct rein_watchfile *w, pid_t pid, const char *path, bool write, bool hidden)
{
	struct rein_refused_file x = {.path = rein_strdup(path),
				      .write = write,
				      .hidden = hidden,
				      .pid = pid,
				      .at_ns = rein_mono_ns() - w->begun_ns,
				      .count = 1};

	rein_refused_add(&w->seen, &x);
}

static bool is_hidden(const struct rein_watchfile *w, const char *path)
{
	for (char *const *p = w->hidden; p && *p; p++)
		if (rein_path_within(path, *p))
			return true;
	return false;
}

static bool is_rdonly(int fd)
{
	struct statvfs fs;

	return fd >= 0 && fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

/* Will the kernel refuse to write here? A name that is not there yet is as writable as its
 * directory. */
static bool is_shut(const struct rein_watch_call *c, const struct seccomp_notif *n, int box_root,
		    int dirfd, char *path)
{
	pid_t pid = (pid_t)n->pid;
	auto_close int target = -1, parent = -1;
	size_t len = strlen(path);
	struct stat st;
	char *slash;

	if (c->how != REIN_WATCH_NAME) {
		target = rein_watch_open(pid, box_root, dirfd, path, c->how == REIN_WATCH_NOFOLLOW);
		if (target >= 0) /* a device takes what is written to it wherever it is */
			return fstat(target, &st) == 0 &&
			       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && is_rdonly(target);
	}
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	slash = strrchr(path, '/');
	if (!slash) {
		parent = rein_caller_open(pid, dirfd == AT_FDCWD ? "cwd" : "fd",
					  dirfd == AT_FDCWD ? -1 : dirfd);
	} else {
		char kept = slash[1];

		slash[1] = '\0';
		parent = rein_watch_open(pid, box_root, dirfd, path, false);
		slash[1] = kept;
	}
	return is_rdonly(parent);
}

static bool writes(const struct rein_watch_call *c, const struct seccomp_notif *n)
{
	uint64_t flags = c->flags < 0 ? 0 : n->data.args[c->flags];

	if (c->how != REIN_WATCH_OPEN && c->how != REIN_WATCH_OPEN_HOW)
		return true;
	if (c->how == REIN_WATCH_OPEN_HOW &&
	    !rein_caller_bytes((pid_t)n->pid, flags, &flags, sizeof(flags)))
		return false;
	return flags & (O_WRONLY | O_RDWR | O_TRUNC | O_CREAT);
}

static bool is_own(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (rein_starts(path, own[i]))
			return !strstr(path, "/../");
	return false;
}

void rein_watchfile_note(struct rein_watchfile *w, const struct seccomp_notif *n, int box_root)
{
	const struct rein_watch_call *c = rein_watch_find(&n->data);
	char path[PATH_MAX], full[2 * PATH_MAX];
	bool write, hidden;
	int dirfd;

	if (!w->on || !c || c->path < 0 || !n->data.args[c->path])
		return;
	if (!w->ready)
		prepare(w);
	if (!rein_caller_string((pid_t)n->pid, n->data.args[c->path], path, sizeof(path)) ||
	    !*path || is_own(path))
		return;
	dirfd = c->dir < 0 ? AT_FDCWD : (int)n->data.args[c->dir];
	hidden = may_be_hidden(w, path);
	write = writes(c, n);
	if (!hidden && !write)
		return;
	if (hidden && absolute((pid_t)n->pid, box_root, dirfd, path, full, sizeof(full)) &&
	    is_hidden(w, full)) {
		/* in the workspace a hidden name is free: what is written there is the box's own */
		if (!write)
			add(w, (pid_t)n->pid, full, false, true);
		else if (is_shut(c, n, box_root, dirfd, path))
			add(w, (pid_t)n->pid, full, true, true);
		return;
	}
	if (write && is_shut(c, n, box_root, dirfd, path) &&
	    absolute((pid_t)n->pid, box_root, dirfd, path, full, sizeof(full)))
		add(w, (pid_t)n->pid, full, true, false);
}
