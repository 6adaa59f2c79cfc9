/* SPDX-License-Identifier: Apache-2.0 */
/* From a call's arguments to the file it means. */
#include "sandbox/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/caller.h"
#include "sys/sys.h"

const struct rein_watch_call *rein_watch_find(const struct seccomp_data *d)
{
	const struct rein_watch_table *t = &rein_watch_native;

#ifdef __x86_64__
	if (d->arch == rein_watch_i386.arch)
		t = &rein_watch_i386;
#endif
	for (size_t i = 0; d->arch == t->arch && i < t->n; i++)
		if (t->v[i].nr == (uint32_t)d->nr)
			return &t->v[i];
	return NULL;
}

/* /proc/self/fd/3 and /dev/fd/3 say a descriptor: no path leads through them here. */
static int named_descriptor(const char *path)
{
	static const char *const dirs[] = {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t n = strlen(dirs[i]);
		char *end;
		long fd;

		if (strncmp(path, dirs[i], n) || path[n] < '0' || path[n] > '9')
			continue;
		fd = strtol(path + n, &end, 10);
		if (!*end && fd <= INT_MAX)
			return (int)fd;
	}
	return -1;
}

/* Inside the box's root and nowhere else: ".." ends there, links begin there. */
static int open_path(pid_t pid, int box_root, int dirfd, const char *path, int nofollow)
{
	char full[2 * PATH_MAX];
	int fd = -1;

	if (path[0] != '/') {
		auto_close int dir = rein_caller_open(pid, "cwd", dirfd == AT_FDCWD ? -1 : dirfd);

		/* the common case, in which the way cannot lead out of where it starts */
		fd = dir < 0 ? -1
			     : sys_openat2(dir, path, (uint64_t)(O_PATH | nofollow),
					   RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
		if (fd >= 0 || dir < 0 || (errno != EXDEV && errno != ELOOP))
			return fd;
		if (!rein_caller_base(pid, box_root, dirfd, full, PATH_MAX)) {
			errno = EXDEV; /* not: it is not there */
			return -1;
		}
		snprintf(full + strlen(full), sizeof(full) - strlen(full), "/%s", path);
		path = full;
	}
	fd = sys_openat2(box_root, path, (uint64_t)(O_PATH | nofollow),
			 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	/* who is outside has no "self" in the box */
	if (fd < 0 && (errno == ELOOP || errno == ENOENT) && named_descriptor(path) >= 0)
		fd = rein_caller_open(pid, "fd", named_descriptor(path));
	return fd;
}

int rein_watch_open(pid_t pid, int box_root, int dirfd, const char *path, bool nofollow)
{
	return open_path(pid, box_root, dirfd, path, nofollow ? O_NOFOLLOW : 0);
}

int rein_watch_target(const struct rein_watch_call *c, const struct seccomp_notif *n, int box_root)
{
	pid_t pid = (pid_t)n->pid;
	int dirfd = c->dir < 0 ? AT_FDCWD : (int)n->data.args[c->dir];
	uint64_t flags = c->flags < 0 ? 0 : n->data.args[c->flags];
	char path[PATH_MAX] = "";
	bool follow = c->how == REIN_WATCH_FOLLOW;

	if (c->path >= 0 && n->data.args[c->path] &&
	    !rein_caller_string(pid, n->data.args[c->path], path, sizeof(path)))
		return -1;
	if (!*path) /* what the descriptor is, if that is allowed here */
		return dirfd < 0 ? -1 : rein_caller_open(pid, "fd", dirfd);
	if (c->how == REIN_WATCH_OPEN_HOW && !rein_caller_bytes(pid, flags, &flags, sizeof(flags)))
		return -1;
	if ((c->how == REIN_WATCH_OPEN_HOW || c->how == REIN_WATCH_OPEN) &&
	    (!(flags & (O_WRONLY | O_RDWR | O_TRUNC)) ||
	     (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)))
		return -1;
	if (c->how == REIN_WATCH_OPEN || c->how == REIN_WATCH_OPEN_HOW)
		follow = !(flags & O_NOFOLLOW);
	else if (c->how == REIN_WATCH_AT)
		follow = !(flags & AT_SYMLINK_NOFOLLOW);
	else if (c->how == REIN_WATCH_LINK)
		follow = flags & AT_SYMLINK_FOLLOW;
	return open_path(pid, box_root, dirfd, path, follow ? 0 : O_NOFOLLOW);
}
