/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a transaction keeps a root's changes. A commit moves files, so the store must lie on the
 * root's own mount: the state directory if it does, else a private directory at the top of that
 * mount. Where the filesystem cannot carry an overlay's upper layer (a container's overlay, FUSE …)
 * upper lies elsewhere and a commit copies it to the store first.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/file.h"
#include "sys/sys.h"
#include "sys/tree.h"
#include "txn/internal.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Subvolumes of btrfs are devices of their own in one mount: nothing can be renamed between them either. */
struct mount {
	uint64_t id;
	uint32_t major, minor;
};

static int mount_of(const char *path, struct mount *ret)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0)
		return -1;
	*ret = (struct mount){st.stx_mnt_id, st.stx_dev_major, st.stx_dev_minor};
	return 0;
}

static bool same_mount(const struct mount *a, const struct mount *b)
{
	return a->id == b->id && a->major == b->major && a->minor == b->minor;
}

/* Filesystems an overlay's upper layer cannot be on. */
static bool unfit_for_upper(const char *path)
{
	static const long unfit[] = {
		OVERLAYFS_SUPER_MAGIC, NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC,
		MSDOS_SUPER_MAGIC,     0x2011bab0 /* exfat */, 0xff534d42 /* cifs */,
		0xfe534d42 /* smb2 */, 0x794c7630 /* overlay, written out */,
	};
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(unfit); i++)
		if ((long)fs.f_type == unfit[i])
			return true;
	return false;
}

/* The topmost directory above path that is still on its mount. */
static int mount_top(const char *path, const struct mount *mnt, char *ret)
{
	snprintf(ret, PATH_MAX, "%s", path);
	for (;;) {
		char up[PATH_MAX];
		char *slash = strrchr(ret, '/');
		struct mount m;

		if (!slash || rein_streq(ret, "/"))
			return 0;
		snprintf(up, sizeof(up), "%.*s", slash == ret ? 1 : (int)(slash - ret), ret);
		if (mount_of(up, &m) < 0)
			return -1;
		if (!same_mount(&m, mnt))
			return 0;
		snprintf(ret, PATH_MAX, "%s", up);
	}
}

/* A directory of ours, 0700, that nobody else can have planted. */
static bool own_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return false;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       ((st.st_mode & 077) == 0 || chmod(path, 0700) == 0);
}

/*
 * It may lie in a work tree: what git add takes there must not be the content that commits replaced. Where it cannot be
 * written git shows the directory, that is all.
 */
static void hide_from_git(const char *dir)
{
	auto_free char *path = rein_asprintf("%s/" REIN_PLACE_IGNORE, dir);
	auto_close int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && write(fd, "*\n", 2) != 2)
		unlink(path);
}

static void place_at(const char *base, char ret[PATH_MAX + 32])
{
	snprintf(ret, PATH_MAX + 32, "%s/.rein-%u", rein_streq(base, "/") ? "" : base, (unsigned)geteuid());
}

/* Who else may write to the directory could put one of his own in place of ours, unless it is sticky. */
static bool is_ours_to_keep(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (!(st.st_mode & 022) || st.st_mode & S_ISVTX);
}

/*
 * A place on the mount of real when the state directory is on another one: the mount's top, else beside the root's own
 * files. Rather where nobody can move it away; where that is nowhere, rein_open_store notices.
 */
static int foreign_place(const char *real, const struct mount *mnt, char **ret, struct rein_err *err)
{
	char top[PATH_MAX], dir[PATH_MAX + 32];

	if (mount_top(real, mnt, top) < 0)
		return rein_err_errno(err, "find the mount of '%s'", real);
	for (int i = 0; i < 4; i++) {
		const char *base = i % 2 ? real : top;

		if (i < 2 && !is_ours_to_keep(base))
			continue;
		place_at(base, dir);
		if (own_dir(dir)) {
			hide_from_git(dir);
			*ret = rein_strdup(dir);
			return *ret ? 0 : rein_err_nomem(err);
		}
		if (errno == EROFS)
			return rein_err_set(err, REIN_E_UNSUPPORTED,
					    "'%s' is on a read-only filesystem, where nothing can be committed: name a "
					    "workspace elsewhere (--workspace DIR), from which it can still be read",
					    real);
	}
	return rein_err_set(err, REIN_E_UNSUPPORTED,
			    "no place for changes on the filesystem of '%s': create '%s' owned by "
			    "uid %u with mode 700, or set REIN_STATE to a directory there",
			    real, dir, (unsigned)geteuid());
}

/*
 * At the top of a shared filesystem others may be able to rename: what they put there is no store of ours, and a link in
 * the way would lead to files that are.
 */
static int open_place(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, strstr(path, "/.rein-") ? RESOLVE_NO_SYMLINKS : 0);
}

int rein_open_store(const struct rein_root *r, struct rein_err *err)
{
	auto_close int fd = open_place(r->store);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return rein_err_errno(err, "what was changed in '%s' is not there (mount it again, if it was a mount): "
					   "open '%s'", r->real, r->store);
	if ((fd < 0 && errno != ELOOP) || (fd >= 0 && fstat(fd, &st) < 0))
		return rein_err_errno(err, "open '%s'", r->store);
	if (fd < 0 || st.st_uid != geteuid())
		return rein_err_set(err, REIN_E_STATE,
				    "'%s' is not the directory that was made for the changes: another user may write "
				    "where it lies, and put it there",
				    r->store);
	return take_fd(&fd);
}

int rein_open_store_parent(const struct rein_root *r, const char **ret_name)
{
	const char *slash = strrchr(r->store, '/');
	auto_free char *dir = slash ? rein_strndup(r->store, (size_t)(slash - r->store)) : NULL;

	if (!dir)
		return -1;
	*ret_name = slash + 1;
	return open_place(dir);
}

bool rein_place_none(const struct rein_state *s, const char *real)
{
	char top[PATH_MAX], dir[PATH_MAX + 32];
	struct mount mine, its;

	if (mount_of(s->dir, &mine) < 0 || mount_of(real, &its) < 0 || mount_top(real, &its, top) < 0)
		return false;
	if (same_mount(&mine, &its))
		return true;
	for (int i = 0; i < 2; i++) {
		place_at(i ? real : top, dir);
		if (access(dir, F_OK) == 0 || errno != ENOENT)
			return false;
	}
	return true;
}

/* Somewhere an overlay's upper layer can be, for roots whose own filesystem cannot carry one. */
static int elsewhere(const struct rein_state *s, char **ret, struct rein_err *err)
{
	const char *candidates[] = {getenv("REIN_UPPER"), s->dir, "/dev/shm", "/tmp", "/var/tmp",
				    getenv("XDG_RUNTIME_DIR")};
	char dir[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		if (!candidates[i] || *candidates[i] != '/' || unfit_for_upper(candidates[i]))
			continue;
		snprintf(dir, sizeof(dir), "%s/%srein-%u", candidates[i],
			 candidates[i] == s->dir ? "" : ".", (unsigned)geteuid());
		if (!own_dir(dir))
			continue;
		*ret = rein_strdup(dir);
		return *ret ? 0 : rein_err_nomem(err);
	}
	return rein_err_set(err, REIN_E_UNSUPPORTED,
			    "no filesystem here can hold the private layer (all are overlay, network "
			    "or FUSE): mount a tmpfs or a volume and name it in REIN_UPPER");
}

/* These exchange two names; of others it is found out before a command has worked for nothing. */
static bool known_to_exchange(const char *path)
{
	static const long known[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, F2FS_SUPER_MAGIC};
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if ((long)fs.f_type == known[i])
			return true;
	return false;
}

/* A commit of changed files is one exchange of names each: what cannot do that (NFS, most of FUSE) has no commits. */
static int try_exchange(const struct rein_root *root, struct rein_err *err)
{
	auto_close int store = open(root->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int sys;

	if (store < 0 || mkdirat(store, "a", 0700) < 0 || mkdirat(store, "b", 0700) < 0)
		return rein_err_errno(err, "try '%s'", root->store);
	sys = renameat2(store, "a", store, "b", RENAME_EXCHANGE) < 0 ? errno : 0;
	if (unlinkat(store, "a", AT_REMOVEDIR) < 0 || unlinkat(store, "b", AT_REMOVEDIR) < 0)
		return rein_err_errno(err, "try '%s'", root->store);
	errno = sys;
	if (sys == EINVAL || sys == ENOSYS || sys == EOPNOTSUPP)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "'%s' is on a filesystem that does not exchange names (RENAME_EXCHANGE), so that "
				    "no change could be committed there: work on a copy on a local disk", root->real);
	return sys ? rein_err_errno(err, "exchange names on the filesystem of '%s'", root->real) : 0;
}

int rein_place(const struct rein_state *s, const char *id, size_t index, struct rein_root *root,
	       struct rein_err *err)
{
	auto_free char *place = NULL, *upper_place = NULL;
	struct mount mine, its;

	if (mount_of(s->dir, &mine) < 0 || mount_of(root->real, &its) < 0)
		return rein_err_errno(err, "find the mount of '%s'", root->real);
	if (same_mount(&mine, &its)) {
		place = rein_asprintf("%s/txn", s->dir);
		if (!place)
			return rein_err_nomem(err);
	} else if (foreign_place(root->real, &its, &place, err) < 0) {
		return -err->code;
	}
	root->store = rein_asprintf("%s/%s/r%zu", place, id, index);
	root->staged = unfit_for_upper(root->real);
	if (root->staged) {
		if (elsewhere(s, &upper_place, err) < 0)
			return -err->code;
		root->upper = rein_asprintf("%s/%s.%zu/upper", upper_place, id, index);
		root->work = rein_asprintf("%s/%s.%zu/work", upper_place, id, index);
	} else if (root->store) {
		root->upper = rein_asprintf("%s/upper", root->store);
		root->work = rein_asprintf("%s/work", root->store);
	}
	if (!root->store || !root->upper || !root->work)
		return rein_err_nomem(err);
	if (rein_mkdirs(AT_FDCWD, root->store, err) < 0 || rein_mkdirs(AT_FDCWD, root->upper, err) < 0 ||
	    rein_mkdirs(AT_FDCWD, root->work, err) < 0)
		return -err->code;
	return known_to_exchange(root->store) ? 0 : try_exchange(root, err);
}

static int look_at_clock(const struct rein_root *root, bool *ret_seconds, struct rein_err *err)
{
	struct rein_fp fp;

	if (rein_fp_at(AT_FDCWD, root->store, &fp, err) < 0)
		return -err->code;
	*ret_seconds = fp.ctime_ns % (int64_t)REIN_NS_PER_S == 0;
	return 0;
}

int rein_place_try(const char *dir, const char *real, struct rein_place_facts *ret, struct rein_err *err)
{
	auto_free char *made = rein_asprintf("%s/.rein-try-XXXXXX", rein_streq(dir, "/") ? "" : dir);
	struct rein_root root = {.real = (char *)real};
	struct rein_state s = {.dir = made};
	struct rein_err ignored = {0};
	int rc;

	if (!made)
		return rein_err_nomem(err);
	if (!mkdtemp(made))
		return rein_err_errno(err, "create a directory in '%s'", dir);
	rc = rein_place(&s, "try", 0, &root, err);
	ret->staged = root.staged;
	if (rc == 0)
		rc = look_at_clock(&root, &ret->seconds, err);
	rein_remove_store(&root, &ignored);
	rein_tree_remove(AT_FDCWD, made, &ignored);
	rein_free(root.store);
	rein_free(root.upper);
	rein_free(root.work);
	return rc;
}
