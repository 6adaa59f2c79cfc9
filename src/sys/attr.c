/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes through /proc/self/fd/N/name paths: the l*xattr calls have no *at form on the kernels
 * we support, and a path through an open directory cannot be redirected above that directory.
 */
#include "sys/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/aclaside.h"
#include "sys/priv.h"

#define XATTRS_MAX (1u << 20) /* names or one value; the kernel allows 64 KiB of each */

/*
 * As root the overlay keeps its notes in trusted.*, without privilege in user.*. Only that one is its
 * own: the other is a program's data, and must not be able to forge a note.
 */
static const char *overlay_prefix(void)
{
	static const char *prefix;

	if (!prefix)
		prefix = rein_is_root() ? "trusted.overlay." : "user.overlay.";
	return prefix;
}

struct fdpath {
	char p[PATH_MAX + 64];
};

static const char *fdpath(struct fdpath *b, int dirfd, const char *name)
{
	if (dirfd == AT_FDCWD)
		snprintf(b->p, sizeof(b->p), "%s", name);
	else if (*name)
		snprintf(b->p, sizeof(b->p), "/proc/self/fd/%d/%s", dirfd, name);
	else /* the trailing "/." makes the l* calls act on the directory, not on the magic link */
		snprintf(b->p, sizeof(b->p), "/proc/self/fd/%d/.", dirfd);
	return b->p;
}

void rein_attrs_done(struct rein_attrs *a)
{
	for (size_t i = 0; i < a->nx; i++) {
		rein_free(a->x[i].name);
		rein_free(a->x[i].value);
	}
	rein_free(a->x);
	*a = (struct rein_attrs){0};
}

/* Labels are given by the system's policy to wherever a file lies; they are not ours to move. */
static bool is_label(const char *name)
{
	return rein_streq(name, "security.selinux") || rein_streq(name, "security.ima") ||
	       rein_streq(name, "security.evm") || rein_starts(name, "security.SMACK64");
}

/* NULL: overlay's own. Otherwise the name the program used; *escaped tells whether it differs. */
static const char *program_name(const char *name, char *tmp, size_t size, bool *escaped)
{
	const char *prefix = overlay_prefix();
	size_t n = strlen(prefix);

	*escaped = false;
	if (strncmp(name, prefix, n))
		return name;
	if (strncmp(name + n, "overlay.", 8))
		return NULL;
	*escaped = true;
	snprintf(tmp, size, "%s%s", prefix, name + n + 8);
	return tmp;
}

static char *list_names(const char *path, ssize_t *ret_n)
{
	char *names = NULL;

	for (;;) {
		ssize_t n = llistxattr(path, NULL, 0);

		*ret_n = n;
		if (n <= 0)
			return NULL;
		names = rein_alloc((size_t)n);
		if (!names) {
			*ret_n = -1;
			errno = ENOMEM;
			return NULL;
		}
		*ret_n = llistxattr(path, names, (size_t)n);
		if (*ret_n >= 0)
			return names;
		rein_free(names);
		if (errno != ERANGE)
			return NULL;
	}
}

static ssize_t get_value(const char *path, const char *name, void *value, size_t size)
{
	return rein_aclaside_for(name) ? rein_aclaside_get(path, name, value, size)
				       : lgetxattr(path, name, value, size);
}

static int set_value(const char *path, const struct rein_xattr *x)
{
	return rein_aclaside_for(x->name) ? rein_aclaside_set(path, x->name, x->value, x->size)
					  : lsetxattr(path, x->name, x->value, x->size, 0);
}

static int remove_value(const char *path, const char *name)
{
	return rein_aclaside_for(name) ? rein_aclaside_remove(path, name) : lremovexattr(path, name);
}

static int read_value(const char *path, const char *name, struct rein_xattr *x)
{
	for (;;) {
		ssize_t n = get_value(path, name, NULL, 0);

		if (n < 0 || n > XATTRS_MAX)
			return -1;
		x->value = rein_alloc((size_t)n);
		if (!x->value) {
			errno = ENOMEM;
			return -1;
		}
		n = get_value(path, name, x->value, (size_t)n);
		if (n >= 0) {
			x->size = (uint32_t)n;
			return 0;
		}
		rein_free(take_ptr(x->value));
		if (errno != ERANGE)
			return -1;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rein_xattr *)a)->name, ((const struct rein_xattr *)b)->name);
}

static int read_xattrs(const char *path, bool own, struct rein_attrs *a, struct rein_err *err)
{
	ssize_t n;
	auto_free char *names = list_names(path, &n);

	if (n < 0)
		return errno == EOPNOTSUPP || errno == ENOSYS
			       ? 0
			       : rein_err_errno(err, "list attributes of '%s'", path);
	for (char *p = names; p && p < names + n; p += strlen(p) + 1) {
		struct rein_xattr x = {0};
		char tmp[XATTR_NAME_MAX + 1];
		bool escaped;
		const char *name = program_name(p, tmp, sizeof(tmp), &escaped);

		if (!name || is_label(name))
			continue;
		if (read_value(path, p, &x) < 0) {
			/*
			 * Gone, or not for us to see: then not for us to change. Our own that its mode
			 * keeps from us is an error: the caller may get the right to it and come again.
			 */
			if (errno == ENODATA || errno == EPERM || (errno == EACCES && !own))
				continue;
			return rein_err_errno(err, "read attribute %s of '%s'", p, path);
		}
		x.name = rein_strdup(name);
		if (!x.name || rein_grow(a->x, a->nx, a->cap) < 0) {
			rein_free(x.name);
			rein_free(x.value);
			return rein_err_nomem(err);
		}
		a->x[a->nx++] = x;
	}
	if (a->nx)
		qsort(a->x, a->nx, sizeof(a->x[0]), by_name);
	return 0;
}

int rein_attrs_read(int dirfd, const char *name, struct rein_attrs *ret, struct rein_err *err)
{
	struct rein_attrs a = {0};
	struct fdpath path;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) < 0)
		return rein_err_errno(err, "stat '%s'", name);
	a.mode = st.st_mode;
	a.uid = st.st_uid;
	a.gid = st.st_gid;
	a.atime_ns = st.st_atim.tv_sec * 1000000000ll + st.st_atim.tv_nsec;
	a.mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	if (read_xattrs(fdpath(&path, dirfd, name), st.st_uid == geteuid(), &a, err) < 0) {
		rein_attrs_done(&a);
		return -err->code;
	}
	*ret = a;
	return 0;
}

static bool same_xattrs(const struct rein_attrs *a, const struct rein_attrs *b)
{
	if (a->nx != b->nx)
		return false;
	for (size_t i = 0; i < a->nx; i++)
		if (strcmp(a->x[i].name, b->x[i].name) || a->x[i].size != b->x[i].size ||
		    memcmp(a->x[i].value, b->x[i].value, a->x[i].size))
			return false;
	return true;
}

unsigned rein_attrs_differ(const struct rein_attrs *a, const struct rein_attrs *b)
{
	return (a->mode != b->mode ? REIN_ATTR_MODE : 0) |
	       (a->uid != b->uid || a->gid != b->gid ? REIN_ATTR_OWNER : 0) |
	       (a->mtime_ns != b->mtime_ns ? REIN_ATTR_MTIME : 0) |
	       (same_xattrs(a, b) ? 0 : REIN_ATTR_XATTR);
}

static const struct rein_xattr *find(const struct rein_attrs *a, const char *name)
{
	struct rein_xattr key = {.name = (char *)name};

	return a->nx ? bsearch(&key, a->x, a->nx, sizeof(a->x[0]), by_name) : NULL;
}

static int apply_xattrs(const char *path, const struct rein_attrs *now, const struct rein_attrs *a,
			struct rein_err *err)
{
	for (size_t i = 0; i < now->nx; i++)
		if (!find(a, now->x[i].name) && remove_value(path, now->x[i].name) < 0 &&
		    errno != ENODATA)
			return rein_err_errno(err, "remove attribute %s", now->x[i].name);
	for (size_t i = 0; i < a->nx; i++) {
		const struct rein_xattr *x = &a->x[i];
		const struct rein_xattr *old = find(now, x->name);

		if (old && old->size == x->size && !memcmp(old->value, x->value, x->size))
			continue;
		if (set_value(path, x) < 0)
			return rein_err_errno(err, "set attribute %s", x->name);
	}
	return 0;
}

static struct timespec ts(int64_t v)
{
	int64_t sec = v / 1000000000;
	int64_t nsec = v % 1000000000;

	if (nsec < 0) {
		nsec += 1000000000;
		sec--;
	}
	return (struct timespec){.tv_sec = sec, .tv_nsec = nsec};
}

static int set_mode(const char *path, uint32_t mode)
{
	return S_ISLNK(mode) ? 0 : fchmodat(AT_FDCWD, path, mode & 07777, AT_SYMLINK_NOFOLLOW);
}

int rein_attrs_apply(int dirfd, const char *name, const struct rein_attrs *a, unsigned bits,
		     struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs now = {0}, left = {0};
	const struct rein_attrs *want = bits & REIN_ATTR_XATTR ? a : &now;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
	struct fdpath path;
	unsigned differ;
	uint32_t mode;

	if (rein_attrs_read(dirfd, name, &now, err) < 0)
		return -err->code;
	differ = rein_attrs_differ(&now, a) & bits;
	mode = bits & REIN_ATTR_MODE ? a->mode : now.mode;
	fdpath(&path, dirfd, name);
	if (differ & REIN_ATTR_OWNER &&
	    fchownat(dirfd, name, a->uid, a->gid, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) < 0)
		return rein_err_errno(err, "change the owner of '%s' to %u:%u", name, a->uid, a->gid);
	/* a new owner costs a file its capabilities */
	if (differ & REIN_ATTR_OWNER && now.nx) {
		if (rein_attrs_read(dirfd, name, &left, err) < 0)
			return -err->code;
		differ |= same_xattrs(&left, want) ? 0 : REIN_ATTR_XATTR;
	}
	if (differ & REIN_ATTR_XATTR) {
		/* user.* needs write permission even from the owner */
		if (!S_ISLNK(now.mode) && !(now.mode & S_IWUSR))
			set_mode(path.p, now.mode | S_IWUSR);
		if (apply_xattrs(path.p, left.mode ? &left : &now, want, err) < 0) {
			set_mode(path.p, now.mode);
			return rein_err_prefix(err, "'%s'", name);
		}
	}
	/* last: chown clears set-id bits, an ACL rewrites the group's */
	if ((differ & (REIN_ATTR_MODE | REIN_ATTR_XATTR | REIN_ATTR_OWNER)) &&
	    set_mode(path.p, mode) < 0)
		return rein_err_errno(err, "change the mode of '%s'", name);
	if (differ & REIN_ATTR_MTIME)
		times[1] = ts(a->mtime_ns);
	if (bits & REIN_ATTR_ATIME)
		times[0] = ts(a->atime_ns);
	if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
		return 0;
	if (utimensat(AT_FDCWD, path.p, times, AT_SYMLINK_NOFOLLOW) < 0)
		return rein_err_errno(err, "set the times of '%s'", name);
	return 0;
}

void rein_attrs_pack(struct rein_buf *b, const struct rein_attrs *a)
{
	rein_buf_le32(b, a->mode);
	rein_buf_le32(b, a->uid);
	rein_buf_le32(b, a->gid);
	rein_buf_le64(b, (uint64_t)a->atime_ns);
	rein_buf_le64(b, (uint64_t)a->mtime_ns);
	rein_buf_le32(b, (uint32_t)a->nx);
	for (size_t i = 0; i < a->nx; i++) {
		rein_pack_str(b, rein_str(a->x[i].name));
		rein_pack_str(b, (struct rein_str){a->x[i].value, a->x[i].size});
	}
}

int rein_attrs_unpack(struct rein_unpack *u, struct rein_attrs *ret)
{
	struct rein_attrs a = {0};
	uint32_t n;

	a.mode = rein_unpack_le32(u);
	a.uid = rein_unpack_le32(u);
	a.gid = rein_unpack_le32(u);
	a.atime_ns = (int64_t)rein_unpack_le64(u);
	a.mtime_ns = (int64_t)rein_unpack_le64(u);
	n = rein_unpack_le32(u);
	for (uint32_t i = 0; i < n && !u->failed; i++) {
		struct rein_xattr x = {.name = rein_unpack_cstr(u)};
		struct rein_str value = rein_unpack_str(u);

		x.value = u->failed ? NULL : rein_strndup(value.n ? value.p : "", value.n);
		x.size = (uint32_t)value.n;
		if (!x.value || rein_grow(a.x, a.nx, a.cap) < 0) {
			rein_free(x.name);
			rein_free(x.value);
			u->failed = true;
			break;
		}
		a.x[a.nx++] = x;
	}
	if (u->failed) {
		rein_attrs_done(&a);
		return -1;
	}
	*ret = a;
	return 0;
}

static int strip_one(const char *path, const char *stored, const char *name, bool escaped)
{
	struct rein_xattr x = {0};
	int rc = 0;

	if (escaped) {
		if (read_value(path, stored, &x) < 0)
			return -1;
		rc = lsetxattr(path, name, x.value, x.size, 0);
		rein_free(x.value);
	}
	return rc < 0 ? -1 : lremovexattr(path, stored);
}

int rein_attrs_strip_overlay(int dirfd, const char *name, uint32_t mode, struct rein_err *err)
{
	struct fdpath path;
	ssize_t n;
	auto_free char *names = list_names(fdpath(&path, dirfd, name), &n);
	bool lifted = false;
	int rc = 0;

	if (n < 0 && errno != EOPNOTSUPP)
		return rein_err_errno(err, "list attributes of '%s'", name);
	for (char *p = names; p && p < names + n && rc == 0; p += strlen(p) + 1) {
		char tmp[XATTR_NAME_MAX + 1];
		bool escaped;
		const char *own = program_name(p, tmp, sizeof(tmp), &escaped);

		if (own && !escaped)
			continue;
		rc = strip_one(path.p, p, own, escaped);
		if (rc < 0 && (errno == EACCES || errno == EPERM) && !lifted && !S_ISLNK(mode)) {
			/* removing user.* from a read-only file: lift the mode for a moment */
			lifted = set_mode(path.p, mode | S_IWUSR) == 0;
			rc = strip_one(path.p, p, own, escaped);
		}
	}
	if (rc < 0)
		rein_err_errno(err, "remove overlay attributes of '%s'", name);
	if (lifted && set_mode(path.p, mode) < 0 && rc == 0)
		rc = rein_err_errno(err, "restore the mode of '%s'", name);
	return rc < 0 ? -err->code : 0;
}

bool rein_attrs_opaque(int dirfd, const char *name)
{
	struct fdpath path;
	char key[64], v = 0;

	snprintf(key, sizeof(key), "%sopaque", overlay_prefix());
	return lgetxattr(fdpath(&path, dirfd, name), key, &v, 1) == 1 && v == 'y';
}

enum rein_origin rein_attrs_origin(int dirfd, const char *name, int real, const char *path)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h.handle_bytes = MAX_HANDLE_SZ};
	char key[64], origin[256];
	struct fdpath where;
	int mount_id;
	ssize_t n;

	snprintf(key, sizeof(key), "%sorigin", overlay_prefix());
	n = lgetxattr(fdpath(&where, dirfd, name), key, origin, sizeof(origin));
	if (n < 0)
		return REIN_ORIGIN_NONE;
	/* among other things it holds the file's handle */
	return n > 0 && name_to_handle_at(real, path, &u.h, &mount_id, 0) == 0 &&
			       memmem(origin, (size_t)n, u.h.f_handle, u.h.handle_bytes)
		       ? REIN_ORIGIN_THIS
		       : REIN_ORIGIN_OTHER;
}
