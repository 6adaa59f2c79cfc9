/* SPDX-License-Identifier: Apache-2.0 */
/* See subvol.h. */
#include "sys/subvol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"

/* The path of one, if it is below the directory at all. NULL path: leave it out. */
static int look_up(int fd, const char *dir, uint64_t treeid, uint64_t dirid, char **ret, struct rein_err *err)
{
	auto_free struct btrfs_ioctl_ino_lookup_user_args *a = rein_calloc(1, sizeof(*a));

	if (!a)
		return rein_err_nomem(err);
	a->treeid = treeid;
	a->dirid = dirid;
	*ret = NULL;
	if (ioctl(fd, BTRFS_IOC_INO_LOOKUP_USER, a) < 0)
		return 0;
	*ret = rein_asprintf("%s/%s%s", rein_streq(dir, "/") ? "" : dir, a->path, a->name);
	return *ret ? 0 : rein_err_nomem(err);
}

static int list(int fd, const char *dir, const struct btrfs_ioctl_get_subvol_rootref_args *refs, struct rein_strlist *ret,
		struct rein_strlist *ret_ro, struct rein_err *err)
{
	for (size_t i = 0; i < refs->num_items; i++) {
		auto_free char *path = NULL;
		struct rein_strlist *to = NULL;

		if (look_up(fd, dir, refs->rootref[i].treeid, refs->rootref[i].dirid, &path, err) < 0)
			return -err->code;
		if (!path)
			continue;
		if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
			to = ret;
		else if (errno == EROFS)
			to = ret_ro;
		if (to && rein_strlist_take(to, take_ptr(path)) < 0)
			return rein_err_nomem(err);
	}
	return 0;
}

int rein_subvolumes(const char *dir, struct rein_strlist *ret, struct rein_strlist *ret_ro, struct rein_err *err)
{
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free struct btrfs_ioctl_get_subvol_rootref_args *refs = NULL;
	struct statfs fs;
	int more = 1;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || (long)fs.f_type != BTRFS_SUPER_MAGIC)
		return 0;
	refs = rein_calloc(1, sizeof(*refs));
	if (!refs)
		return rein_err_nomem(err);
	while (more) {
		more = ioctl(fd, BTRFS_IOC_GET_SUBVOL_ROOTREF, refs) < 0 && errno == EOVERFLOW;
		if (list(fd, dir, refs, ret, ret_ro, err) < 0)
			return -err->code;
		if (more && !refs->num_items)
			break;
	}
	return 0;
}
