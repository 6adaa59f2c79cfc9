/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A little room for the day the disk is full. A command can fill it, and then what it did could neither be held nor
 * thrown away: both are written down first. So some blocks and some inodes are kept, in files of no content, and given
 * up when next to nothing else is left.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/tree.h"
#include "txn/internal.h"

#define FILES 32
#define EACH  (32u << 10)

static bool make_file(int dir, int i)
{
	auto_close int fd = -1;
	char name[16];

	snprintf(name, sizeof(name), "%d", i);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 && posix_fallocate(fd, 0, EACH) == 0; /* where the kernel cannot, it is written */
}

void rein_reserve_keep(const struct rein_state *s)
{
	auto_close int dir = -1;
	struct rein_err ignored = {0};
	int made = 0;

	/* who runs beside us may make it, too: the same files */
	if (faccessat(s->fd, "reserve", F_OK, AT_SYMLINK_NOFOLLOW) == 0 || mkdirat(s->fd, "reserve", 0700) < 0)
		return;
	dir = openat(s->fd, "reserve", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (dir >= 0 && made < FILES && make_file(dir, made))
		made++;
	if (made < FILES) /* no room for it: the next run tries again */
		rein_tree_remove(s->fd, "reserve", &ignored);
}

void rein_reserve_use(const struct rein_state *s)
{
	struct rein_err ignored = {0};
	struct statvfs v;

	if (fstatvfs(s->fd, &v) < 0)
		return;
	if ((uint64_t)v.f_bavail * v.f_frsize < (uint64_t)FILES * EACH || (v.f_files && v.f_favail < FILES))
		rein_tree_remove(s->fd, "reserve", &ignored);
}
