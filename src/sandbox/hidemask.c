/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mask lies in BASE/masks/TREE/KEY/tree, beside a lock file. KEY is the hash of the hidden set,
 * and the set itself is stored with it and compared, so that a collision cannot show a secret. It
 * is built under another name and renamed; whoever loses the race uses the winner's.
 */
#include "sandbox/hidemask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/buf.h"
#include "sandbox/viewhash.h"
#include "sys/tree.h"

#define XATTR_LIST_MAX_ 65536
#define TRIES		100
#define SETS_KEPT_S	(30 * 24 * 3600)

/* ---- metadata of one directory, [M3] ---- */

static bool overlay_attr(const char *name)
{
	return rein_starts(name, "user.overlay.") || rein_starts(name, "trusted.overlay.");
}

/* Best effort: what cannot be set without privilege (another owner's) the box sees as ours. */
static void copy_attrs(const char *from, const char *to)
{
	auto_free char *names = rein_alloc(XATTR_LIST_MAX_);
	auto_free char *value = rein_alloc(XATTR_LIST_MAX_);
	ssize_t n;

	if (!names || !value)
		return;
	n = llistxattr(to, names, XATTR_LIST_MAX_);
	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		if (!overlay_attr(p))
			lremovexattr(to, p);
	n = llistxattr(from, names, XATTR_LIST_MAX_);
	for (char *p = names; n > 0 && p < names + n; p += strlen(p) + 1) {
		ssize_t size = overlay_attr(p) ? -1 : lgetxattr(from, p, value, XATTR_LIST_MAX_);

		if (size >= 0)
			lsetxattr(to, p, value, (size_t)size, 0);
	}
}

/*
 * The mask directory's atime is our note of the real one's ctime when it was last copied: equal
 * means nothing about it changed. Nothing reads through lower layers updates it.
 */
static bool up_to_date(const struct stat *mask, const struct stat *real)
{
	return mask->st_atim.tv_sec == real->st_ctim.tv_sec &&
	       mask->st_atim.tv_nsec == real->st_ctim.tv_nsec &&
	       mask->st_mtim.tv_sec == real->st_mtim.tv_sec &&
	       mask->st_mtim.tv_nsec == real->st_mtim.tv_nsec &&
	       (mask->st_mode & 07777) == (real->st_mode & 07777);
}

static int refresh_dir(const char *real, const char *mask, struct rein_err *err)
{
	struct stat r, m;
	struct timespec times[2];

	if (lstat(mask, &m) < 0)
		return rein_err_errno(err, "mask directory '%s'", mask);
	if (lstat(real, &r) < 0 || !S_ISDIR(r.st_mode))
		return 0; /* gone meanwhile */
	if (up_to_date(&m, &r))
		return 0;
	if (m.st_uid != r.st_uid || m.st_gid != r.st_gid)
		if (lchown(mask, r.st_uid, r.st_gid) < 0 && lchown(mask, (uid_t)-1, r.st_gid) < 0 &&
		    errno != EPERM && errno != EINVAL)
			return rein_err_errno(err, "mask directory '%s'", mask);
	if (!(m.st_mode & 0200)) /* attributes of the user kind need write permission */
		chmod(mask, m.st_mode | 0700);
	copy_attrs(real, mask);
	if (chmod(mask, r.st_mode & 07777) < 0)
		return rein_err_errno(err, "mask directory '%s'", mask);
	times[0] = r.st_ctim;
	times[1] = r.st_mtim;
	if (utimensat(AT_FDCWD, mask, times, AT_SYMLINK_NOFOLLOW) < 0)
		return rein_err_errno(err, "mask directory '%s'", mask);
	return 0;
}

/* ---- the directories a hidden set needs: "" and every directory above a hidden path ---- */

static int parents(const struct rein_strlist *paths, struct rein_strlist *ret)
{
	if (rein_strlist_add(ret, "") < 0)
		return -1;
	for (size_t i = 0; i < paths->n; i++) {
		const char *p = paths->v[i];
		const char *before = i ? paths->v[i - 1] : "";

		for (const char *s = strchr(p, '/'); s; s = strchr(s + 1, '/')) {
			size_t n = (size_t)(s - p) + 1;

			if (strncmp(before, p, n) == 0)
				continue; /* sorted: the one before brought it */
			if (rein_strlist_take(ret, rein_strndup(p, n - 1)) < 0)
				return -1;
		}
	}
	return 0;
}

static bool join(char *buf, const char *dir, const char *rel)
{
	return (size_t)snprintf(buf, PATH_MAX, "%s%s%s", rein_streq(dir, "/") && *rel ? "" : dir,
				*rel ? "/" : "", rel) < PATH_MAX;
}

static int refresh(const char *real, const char *tree, const struct rein_strlist *dirs,
		   struct rein_err *err)
{
	char from[PATH_MAX], to[PATH_MAX];

	/* Deepest first: a parent without write permission comes after what is in it. */
	for (size_t i = dirs->n; i-- > 0;) {
		if (!join(from, real, dirs->v[i]) || !join(to, tree, dirs->v[i]))
			continue;
		if (refresh_dir(from, to, err) < 0)
			return -err->code;
	}
	return 0;
}

static int build_tree(const char *tree, const struct rein_strlist *dirs,
		      const struct rein_strlist *paths, struct rein_err *err)
{
	char to[PATH_MAX];

	for (size_t i = 0; i < dirs->n; i++)
		if (!join(to, tree, dirs->v[i]) || mkdir(to, 0700) < 0)
			return rein_err_errno(err, "mask directory for '%s'", dirs->v[i]);
	for (size_t i = 0; i < paths->n; i++)
		if (!join(to, tree, paths->v[i]) || mknod(to, S_IFCHR, makedev(0, 0)) < 0)
			return rein_err_errno(err, "whiteout for '%s'", paths->v[i]);
	return 0;
}

/* ---- places and locks ---- */

/* A directory of ours alone: made 0700, or already so. */
static bool own_dir(const char *path)
{
	struct stat st;

	if ((mkdir(path, 0700) < 0 && errno != EEXIST) || lstat(path, &st) < 0)
		return false;
	errno = EPERM;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 0077) == 0;
}

/*
 * Lower layers must not lie in each other (ELOOP at mount time). A mask below the real tree is
 * possible only on another filesystem.
 */
static bool lies_apart(const char *dir, const char *real, dev_t real_dev)
{
	char path[PATH_MAX];
	struct stat st;

	if (!realpath(dir, path) || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	return !rein_path_within(path, real) || st.st_dev != real_dev;
}

static bool try_place(const char *parent, const char *name, const char *real, dev_t dev, char *ret)
{
	char masks[PATH_MAX];

	if (!parent || parent[0] != '/' || !lies_apart(parent, real, dev) ||
	    (size_t)snprintf(ret, PATH_MAX, "%s%s%s", parent, *name ? "/" : "", name) >= PATH_MAX ||
	    !join(masks, ret, "masks"))
		return false;
	for (int tries = 0; (*name && !own_dir(ret)) || !own_dir(masks); tries++)
		if (errno != ENOENT || tries >= TRIES) /* it may just have been removed as empty */
			return false;
	snprintf(ret, PATH_MAX, "%s", masks);
	return true;
}

static int choose_place(const struct rein_hide_opts *o, const char *real, int root_fd, char *ret,
			struct rein_err *err)
{
	char run[64], shm[64];
	struct stat st;

	if (fstat(root_fd, &st) < 0)
		return rein_err_errno(err, "look at '%s'", real);
	snprintf(run, sizeof(run), "/run/user/%u", (unsigned)o->uid);
	snprintf(shm, sizeof(shm), "rein-%u", (unsigned)o->uid);
	if (o->mask_base) {
		if (try_place(o->mask_base, "", real, st.st_dev, ret))
			return 0;
	} else if (try_place(o->state_dir, "", real, st.st_dev, ret) ||
		   try_place(run, "rein", real, st.st_dev, ret) ||
		   try_place("/dev/shm", shm, real, st.st_dev, ret) ||
		   (o->uid == 0 && try_place("/run", "rein", real, st.st_dev, ret))) {
		return 0;
	}
	return rein_err_set(
		err, REIN_E_UNSUPPORTED,
		"no place for the mask that hides secrets in '%s': it must be a directory of "
		"yours (mode 0700) outside of it or on another filesystem; set REIN_STATE to "
		"one",
		real);
}

/* Remove a mask directory of ours. One that stays is swept later. */
static void remove_mask(const char *dir)
{
	struct rein_err ignored = {0};

	rein_tree_remove(AT_FDCWD, dir, &ignored);
}

/* Open and lock KEY/lock; -1 if it is not there (any more). */
static int lock_mask(const char *dir, int how)
{
	char path[PATH_MAX];
	auto_close int fd = -1;
	struct stat a, b;

	if (!join(path, dir, "lock"))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || flock(fd, how) < 0)
		return -1;
	/* [M2] It may have been removed between open and flock: then this lock says nothing. */
	if (fstat(fd, &a) < 0 || stat(path, &b) < 0 || a.st_ino != b.st_ino || a.st_dev != b.st_dev)
		return -1;
	return take_fd(&fd);
}

/* What a build or a removal left when it was killed; an hour is far longer than either takes. */
static bool is_debris(const char *dir, const char *name)
{
	struct stat st;

	return (rein_starts(name, ".new-") || rein_starts(name, ".gone-")) &&
	       lstat(dir, &st) == 0 && st.st_ctim.tv_sec + 3600 < time(NULL);
}

/* Masks of this tree that no box uses go when a new one is made. */
static void sweep(const char *place, const char *keep)
{
	auto_closedir DIR *d = opendir(place);
	struct dirent *e;
	char dir[PATH_MAX], gone[PATH_MAX];

	while (d && (e = readdir(d))) {
		auto_close int lock = -1;

		if (!join(dir, place, e->d_name))
			continue;
		if (is_debris(dir, e->d_name))
			remove_mask(dir);
		if (e->d_name[0] == '.' || rein_streq(e->d_name, keep))
			continue;
		lock = lock_mask(dir, LOCK_EX | LOCK_NB);
		if (lock < 0)
			continue;
		if ((size_t)snprintf(gone, sizeof(gone), "%s/.gone-%d-%s", place, (int)getpid(),
				     e->d_name) < sizeof(gone) &&
		    rename(dir, gone) == 0)
			remove_mask(gone);
	}
}

/* ---- the hidden set, kept ---- */

/* One mask: what it hides, and where it is. */
struct mask {
	const char *state_dir;
	const char *real;
	const struct rein_strlist *paths;
	struct rein_strlist dirs; /* the directories it needs */
	struct rein_buf text;	  /* the tree and the hidden set, as bytes, each terminated */
	char place[PATH_MAX];	  /* BASE/masks/TREE */
	char tree_name[20], key[20];
	char dir[PATH_MAX]; /* place/key */
};

static void mask_done(struct mask *m)
{
	rein_strlist_done(&m->dirs);
	rein_buf_done(&m->text);
}

static void hex(char ret[20], uint64_t v)
{
	snprintf(ret, 20, "%016llx", (unsigned long long)v);
}

/* TREE and KEY from what is hidden. */
static int describe(struct mask *m, struct rein_err *err)
{
	rein_buf_add(&m->text, m->real, strlen(m->real) + 1);
	for (size_t i = 0; i < m->paths->n; i++)
		rein_buf_add(&m->text, m->paths->v[i], strlen(m->paths->v[i]) + 1);
	if (m->text.failed || parents(m->paths, &m->dirs) < 0)
		return rein_err_nomem(err);
	hex(m->tree_name, rein_hash64(m->real, strlen(m->real), 3));
	hex(m->key, rein_hash64(m->text.p, m->text.n, 4));
	return 0;
}

/* Is the description stored with a mask exactly ours? */
static bool described(int lock, const struct rein_buf *want)
{
	char chunk[4096];
	size_t at = 0;
	ssize_t n;

	while ((n = pread(lock, chunk, sizeof(chunk), (off_t)at)) > 0) {
		if ((size_t)n > want->n - at || memcmp(chunk, want->p + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
	}
	return n == 0 && at == want->n;
}

static int write_text(const char *path, const struct rein_buf *text, struct rein_err *err)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text->p, text->n) != (ssize_t)text->n)
		return rein_err_errno(err, "write '%s'", path);
	return 0;
}

/*
 * [M4] A run that was killed is read later, and needs its mask to know what the command could not
 * see; by then it may be swept, or lost with the memory it was in. So each hidden set is kept in
 * STATE/hidden/TREE-KEY, from which the mask can be made again.
 */
static int keep_set(const struct mask *m, struct rein_err *err)
{
	char dir[PATH_MAX], path[PATH_MAX], temp[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/hidden/%s-%s", m->state_dir, m->tree_name,
			     m->key) < sizeof(path) &&
	    stat(path, &st) == 0 && (size_t)st.st_size == m->text.n &&
	    st.st_mtim.tv_sec + SETS_KEPT_S / 2 > time(NULL))
		return 0; /* it is there and will be for long enough */
	if (!join(dir, m->state_dir, "hidden") || !own_dir(dir) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s-%s", dir, m->tree_name, m->key) >=
		    sizeof(path) ||
	    (size_t)snprintf(temp, sizeof(temp), "%s/.%s-%d", dir, m->key, (int)getpid()) >=
		    sizeof(temp))
		return rein_err_errno(err, "directory of hidden sets '%s'", dir);
	unlink(temp);
	if (write_text(temp, &m->text, err) < 0)
		return -err->code;
	if (rename(temp, path) < 0) {
		unlink(temp);
		return rein_err_errno(err, "write '%s'", path);
	}
	return 0;
}

/* Sets that no run can still need: nothing is left unread for so long. */
static void sweep_sets(const char *state_dir)
{
	char path[PATH_MAX];
	auto_closedir DIR *d = join(path, state_dir, "hidden") ? opendir(path) : NULL;
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_mtim.tv_sec + SETS_KEPT_S < time(NULL))
			unlinkat(dirfd(d), e->d_name, 0);
}

/* ---- the whole ---- */

/*
 * Locked before it has its name, so that no sweep can take it away again. *ret_lock stays -1 if
 * somebody else was first.
 */
static int build(const struct mask *m, int *ret_lock, struct rein_err *err)
{
	char temp[PATH_MAX], tree[PATH_MAX], file[PATH_MAX];
	auto_close int lock = -1;
	int rc;

	if ((size_t)snprintf(temp, sizeof(temp), "%s/.new-XXXXXX", m->place) >= sizeof(temp) ||
	    !mkdtemp(temp) || !join(tree, temp, "tree") || !join(file, temp, "lock"))
		return rein_err_errno(err, "make a mask in '%s'", m->place);
	rc = build_tree(tree, &m->dirs, m->paths, err);
	if (rc == 0)
		rc = refresh(m->real, tree, &m->dirs, err);
	if (rc == 0)
		rc = write_text(file, &m->text, err);
	if (rc == 0 && (lock = lock_mask(temp, LOCK_SH)) < 0)
		rc = rein_err_errno(err, "lock the mask '%s'", temp);
	if (rc == 0 && rename(temp, m->dir) == 0) {
		*ret_lock = take_fd(&lock);
		return 0;
	}
	if (rc == 0 && errno != EEXIST && errno != ENOTEMPTY)
		rc = rein_err_errno(err, "mask '%s'", m->dir);
	remove_mask(temp);
	return rc;
}

/*
 * A mask by our name that does not say what it hides: nothing was synced when it was made, and a power cut leaves the file
 * empty. It goes, unless somebody looks at it, too ([M2]); then that one does it.
 */
static void remove_unsound(const struct mask *m, int lock)
{
	char gone[PATH_MAX];

	if (flock(lock, LOCK_EX | LOCK_NB) == 0 &&
	    (size_t)snprintf(gone, sizeof(gone), "%s/.gone-%d-%s", m->place, (int)getpid(), m->key) < sizeof(gone) &&
	    rename(m->dir, gone) == 0)
		remove_mask(gone);
}

/* Have the mask at m->dir, locked. */
static int obtain(const struct mask *m, int *ret_lock, struct rein_err *err)
{
	char tree[PATH_MAX];
	auto_close int lock = -1;

	if (!join(tree, m->dir, "tree"))
		return rein_err_set(err, REIN_E_LIMIT, "path too long: '%s'", m->dir);
	/* A mask that is there may go before it is locked, one that is not may come: then again. */
	for (int tries = 0; lock < 0 && tries < TRIES; tries++) {
		lock = lock_mask(m->dir, LOCK_SH);
		if (lock >= 0 && described(lock, &m->text))
			break;
		if (lock >= 0) {
			remove_unsound(m, lock);
			rein_closep_(&lock);
			continue;
		}
		if (!own_dir(m->place)) /* ENOENT: what it was in went with somebody's last mask */
			return rein_err_errno(err, "mask directory '%s'", m->place);
		if (build(m, &lock, err) < 0)
			return -err->code;
		if (lock >= 0) {
			sweep(m->place, m->key);
			sweep_sets(m->state_dir);
		}
	}
	if (lock < 0)
		return rein_err_set(err, REIN_E_BUSY, "the mask '%s' comes and goes: try again",
				    m->dir);
	if (keep_set(m, err) < 0 || refresh(m->real, tree, &m->dirs, err) < 0)
		return -err->code;
	*ret_lock = take_fd(&lock);
	return 0;
}

int rein_hidemask_get(const struct rein_hide_opts *opts, const char *real, int root_fd,
		      const struct rein_strlist *paths, char **ret_mask, int *ret_lock,
		      struct rein_err *err)
{
	auto_(mask_done) struct mask m = {.state_dir = opts->state_dir,
					  .real = real,
					  .paths = paths,
					  .text = REIN_BUF((size_t)1 << 31)};
	char base[PATH_MAX];
	auto_close int lock = -1;
	auto_free char *tree = NULL;

	if (describe(&m, err) < 0)
		return -err->code;
	for (int tries = 0;; tries++) {
		if (choose_place(opts, real, root_fd, base, err) < 0)
			return -err->code;
		if (!join(m.place, base, m.tree_name) || !join(m.dir, m.place, m.key))
			return rein_err_set(err, REIN_E_LIMIT, "path too long: '%s'", base);
		if (obtain(&m, &lock, err) == 0)
			break;
		/* somebody released the last mask in memory, and its directories with it */
		if (err->sys != ENOENT || tries >= TRIES)
			return -err->code;
	}
	tree = rein_asprintf("%s/tree", m.dir);
	if (!tree)
		return rein_err_nomem(err);
	*ret_mask = take_ptr(tree);
	*ret_lock = take_fd(&lock);
	return 0;
}

void rein_hidemask_release(const char *mask, int lock)
{
	char path[PATH_MAX], gone[PATH_MAX];
	size_t n = strlen(mask);

	if (n < 5 || n >= sizeof(path) || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return;		   /* another box uses it */
	memcpy(path, mask, n - 5); /* "/tree" */
	path[n - 5] = '\0';
	if ((size_t)snprintf(gone, sizeof(gone), "%.*s/.gone-%d-%s",
			     (int)(rein_basename(path) - path - 1), path, (int)getpid(),
			     rein_basename(path)) >= sizeof(gone) ||
	    rename(path, gone) < 0)
		return;
	remove_mask(gone);
	for (int i = 0; i < 3; i++) { /* TREE, masks, BASE, if they are empty now */
		*strrchr(path, '/') = '\0';
		if (rmdir(path) < 0)
			break;
	}
}

/* ---- making one again, [M4] ---- */

/* BASE/masks/TREE/KEY/tree taken apart into place, tree_name, key and dir. */
static bool take_apart(const char *mask, struct mask *m)
{
	size_t n = strlen(mask);
	const char *key, *tree;

	/* "/masks/" 16 "/" 16 "/tree" */
	if (n < 46 || n >= PATH_MAX || !rein_streq(mask + n - 5, "/tree"))
		return false;
	key = mask + n - 5 - 16;
	tree = key - 17;
	if (key[-1] != '/' || strncmp(tree - 7, "/masks/", 7) != 0)
		return false;
	snprintf(m->key, sizeof(m->key), "%.16s", key);
	snprintf(m->tree_name, sizeof(m->tree_name), "%.16s", tree);
	snprintf(m->place, sizeof(m->place), "%.*s", (int)(key - 1 - mask), mask);
	snprintf(m->dir, sizeof(m->dir), "%.*s", (int)(n - 5), mask);
	return true;
}

static int read_set(const struct mask *m, struct rein_buf *b, struct rein_err *err)
{
	char path[PATH_MAX], chunk[4096];
	auto_close int fd = -1;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/hidden/%s-%s", m->state_dir, m->tree_name,
			     m->key) >= sizeof(path))
		return rein_err_set(err, REIN_E_LIMIT, "path too long: '%s'", m->state_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return rein_err_errno(err, "what was hidden, '%s'", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(b, chunk, (size_t)n);
	if (n < 0)
		return rein_err_errno(err, "read '%s'", path);
	if (b->failed)
		return rein_err_nomem(err);
	if (b->n == 0 || b->p[b->n - 1] != '\0')
		return rein_err_set(err, REIN_E_STATE, "'%s' is damaged", path);
	return 0;
}

/* The directories above the mask: BASE, masks. */
static void make_base(const char *place)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", place);
	*strrchr(path, '/') = '\0'; /* …/masks */
	*strrchr(path, '/') = '\0'; /* BASE */
	mkdir(path, 0700);
	path[strlen(path)] = '/';
	mkdir(path, 0700);
}

int rein_hide_revive(const char *state_dir, const char *mask, int *ret_lock, struct rein_err *err)
{
	auto_(mask_done) struct mask want = {.state_dir = state_dir};
	auto_(mask_done) struct mask m = {.state_dir = state_dir,
					  .text = REIN_BUF((size_t)1 << 31)};
	auto_buf struct rein_buf text = REIN_BUF((size_t)1 << 31);
	auto_strlist struct rein_strlist paths = {0};

	if (!take_apart(mask, &want))
		return rein_err_set(err, REIN_E_INVALID, "'%s' is no mask", mask);
	*ret_lock = lock_mask(want.dir, LOCK_SH);
	if (*ret_lock >= 0)
		return 0;
	if (read_set(&want, &text, err) < 0)
		return -err->code;
	m.real = text.p;
	for (const char *p = text.p + strlen(text.p) + 1; p < text.p + text.n; p += strlen(p) + 1)
		if (rein_strlist_add(&paths, p) < 0)
			return rein_err_nomem(err);
	m.paths = &paths;
	if (describe(&m, err) < 0)
		return -err->code;
	if (!rein_streq(m.key, want.key) || !rein_streq(m.tree_name, want.tree_name))
		return rein_err_set(err, REIN_E_STATE, "what '%s' hid is damaged", mask);
	memcpy(m.place, want.place, sizeof(m.place));
	memcpy(m.dir, want.dir, sizeof(m.dir));
	for (int tries = 0; tries < TRIES; tries++) {
		make_base(m.place);
		if (obtain(&m, ret_lock, err) == 0 || err->sys != ENOENT)
			break;
	}
	return *ret_lock < 0 ? -err->code : 0;
}
