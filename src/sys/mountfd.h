/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount API by file descriptor: make a mount detached, change its attributes, attach it.
 * Nothing here is visible to anybody until sys_mount_attach.
 */
#ifndef REIN_SYS_MOUNTFD_H
#define REIN_SYS_MOUNTFD_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>

/* Attributes of every mount in a box that holds somebody's files. */
#define SYS_MOUNT_TAME (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct sys_mount_option {
	const char *key;
	const char *value; /* NULL: a flag */
};

/*
 * A new, detached mount of a filesystem. Options are given one by one and end with a NULL key.
 * Returns the mount's fd or -1.
 */
int sys_mount_new(const char *type, const struct sys_mount_option *options, unsigned attributes);

/* A detached copy of what is mounted at dirfd/path; with AT_RECURSIVE in flags all below it too. */
static inline int sys_mount_clone(int dirfd, const char *path, unsigned flags)
{
	return open_tree(dirfd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
}

/* Set attributes on a mount, and with recursive on all mounts below it. */
static inline int sys_mount_restrict(int fd, const char *path, uint64_t attributes, bool recursive)
{
	struct mount_attr attr = {.attr_set = attributes};

	return mount_setattr(fd, path, AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0u), &attr,
			     sizeof(attr));
}

/* Take attributes off one mount. */
static inline int sys_mount_relax(int fd, uint64_t attributes)
{
	struct mount_attr attr = {.attr_clr = attributes};

	return mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr));
}

/* Attach a detached mount at dirfd/path; the last component is not followed if it is a symlink. */
static inline int sys_mount_attach(int fd, int dirfd, const char *path)
{
	return move_mount(fd, "", dirfd, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Attach exactly on what the descriptor dirfd stands for. */
static inline int sys_mount_attach_fd(int fd, int dirfd)
{
	return move_mount(fd, "", dirfd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

#endif
