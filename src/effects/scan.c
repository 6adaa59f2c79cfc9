/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The upper directory against the real tree.
 *
 * Upper holds, for every path that was touched: a whiteout (deleted), a plain entry (created or
 * changed) or a directory, which is merged with the real one unless it is marked opaque or the real
 * one is no directory. Names hidden by the mask were absent for the command: what it did there must
 * never reach the real thing behind the mask.
 */
#include "effects/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "effects/compare.h"
#include "sys/attr.h"
#include "sys/file.h"
#include "sys/tree.h"

/*
 * Of all paths of a tree together. A path is as long as its directories are deep, so that a few thousand directories in
 * each other, which cost the box nothing, have paths that nobody has the memory for; two million files have not.
 */
#define PATHS_MAX ((size_t)256 << 20)

struct scan {
	struct rein_changes *out;
	size_t paths;
	uint32_t root;
	int64_t begin_ns;
	const struct rein_linked_list *linked;
};

/* One directory as the three layers have it; -1 where a layer has none. */
struct layers {
	int upper, real, mask;
};

static bool is_whiteout(const struct rein_fp *fp)
{
	return S_ISCHR(fp->mode) && fp->rdev == 0;
}

static int open_layer(int dirfd, const char *name)
{
	if (dirfd < 0)
		return -1;
	return rein_open_sub(dirfd, name);
}

/*
 * A directory that should open. One of our own that its mode keeps from us is an error (the caller
 * may get the right to it and come again); one of somebody else's goes as it is, unread.
 */
static int must_open(int dirfd, const char *name, const struct rein_fp *fp, const char *path,
		     int *ret, struct rein_err *err)
{
	*ret = open_layer(dirfd, name);
	if (*ret >= 0 || (errno == EACCES && fp->uid != geteuid()))
		return 0;
	return rein_err_errno(err, "open directory '%s'", path);
}

static char *join(const char *dir, const char *name)
{
	return *dir ? rein_asprintf("%s/%s", dir, name) : rein_strdup(name);
}

static struct rein_change *add(struct scan *s, const char *path, int kind, bool top,
			       const struct rein_fp *before, const struct rein_fp *after,
			       struct rein_err *err)
{
	struct rein_change *x;

	s->paths += strlen(path) + 1;
	if (s->paths > PATHS_MAX) {
		rein_err_set(err, REIN_E_LIMIT,
			     "the paths of what changed take more than %zu MiB, too much to be looked at: nothing is kept",
			     PATHS_MAX >> 20);
		return NULL;
	}
	x = rein_changes_add(s->out, s->root, rein_strdup(path));
	if (!x) {
		rein_err_nomem(err);
		return NULL;
	}
	x->kind = (uint8_t)kind;
	x->top = top;
	if (before)
		x->before = *before;
	if (after)
		x->after = *after;
	return x;
}

static bool changed_since(const struct scan *s, const struct rein_fp *real)
{
	return real->ctime_ns > s->begin_ns;
}

/* List what lies inside a directory that appears or goes as a whole. Sets the worst clash found. */
static int list_inside(struct scan *s, const struct layers *l, const char *dir, int kind,
		       uint8_t *clash, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	int fd = kind == REIN_CHANGE_CREATED ? l->upper : l->real;

	if (rein_names_read(fd, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *path = join(dir, names.v[i]);
		struct rein_fp fp, mask = {0};
		struct layers sub = {-1, -1, -1};
		struct rein_change *x;
		int rc = 0;

		if (!path)
			return rein_err_nomem(err);
		if (rein_fp_at(fd, names.v[i], &fp, err) < 0 ||
		    (l->mask >= 0 && rein_fp_at(l->mask, names.v[i], &mask, err) < 0))
			return -err->code;
		if (is_whiteout(&fp))
			continue;
		if (kind == REIN_CHANGE_DELETED && is_whiteout(&mask)) {
			*clash = REIN_CLASH_HIDDEN;
			continue;
		}
		if (kind == REIN_CHANGE_DELETED && changed_since(s, &fp) &&
		    *clash != REIN_CLASH_HIDDEN)
			*clash = REIN_CLASH_CHANGED;
		x = add(s, path, kind, false, kind == REIN_CHANGE_DELETED ? &fp : NULL,
			kind == REIN_CHANGE_CREATED ? &fp : NULL, err);
		if (!x)
			return -err->code;
		if (!S_ISDIR(fp.mode))
			continue;
		if (must_open(fd, names.v[i], &fp, path,
			      kind == REIN_CHANGE_CREATED ? &sub.upper : &sub.real, err) < 0)
			return -err->code;
		sub.mask = open_layer(l->mask, names.v[i]);
		if (sub.upper >= 0 || sub.real >= 0)
			rc = list_inside(s, &sub, path, kind, clash, err);
		rein_closep_(&sub.upper);
		rein_closep_(&sub.real);
		rein_closep_(&sub.mask);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int list_dir(struct scan *s, const struct layers *l, const char *name, const char *path,
		    int kind, uint8_t *clash, struct rein_err *err)
{
	auto_close int upper = -1, real = -1, mask = open_layer(l->mask, name);
	bool made = kind == REIN_CHANGE_CREATED;
	struct rein_fp fp;
	struct layers sub;

	if (rein_fp_at(made ? l->upper : l->real, name, &fp, err) < 0 ||
	    must_open(made ? l->upper : l->real, name, &fp, path, made ? &upper : &real, err) < 0)
		return -err->code;
	sub = (struct layers){upper, real, mask};
	return upper < 0 && real < 0 ? 0 : list_inside(s, &sub, path, kind, clash, err);
}

static int created(struct scan *s, const struct layers *l, const char *name, const char *path,
		   const struct rein_fp *up, uint8_t clash, struct rein_err *err)
{
	size_t at = s->out->n;
	uint8_t inner = REIN_CLASH_NONE;

	if (!add(s, path, REIN_CHANGE_CREATED, true, NULL, up, err))
		return -err->code;
	s->out->v[at].clash = clash;
	if (S_ISDIR(up->mode))
		return list_dir(s, l, name, path, REIN_CHANGE_CREATED, &inner, err);
	return 0;
}

static int deleted(struct scan *s, const struct layers *l, const char *name, const char *path,
		   const struct rein_fp *real, struct rein_err *err)
{
	size_t at = s->out->n;
	uint8_t clash = changed_since(s, real) ? REIN_CLASH_CHANGED : REIN_CLASH_NONE;

	if (!add(s, path, REIN_CHANGE_DELETED, true, real, NULL, err))
		return -err->code;
	if (S_ISDIR(real->mode) &&
	    list_dir(s, l, name, path, REIN_CHANGE_DELETED, &clash, err) < 0)
		return -err->code;
	s->out->v[at].clash = clash;
	return 0;
}

static int same_content(const struct layers *l, const char *name, const struct rein_fp *up,
			const struct rein_fp *real, struct rein_err *err)
{
	return rein_pair_same(&(struct rein_pair){l->upper, l->real, name, name}, up, real, err);
}

static int attrs_what(int a, const char *na, int b, const char *nb, uint8_t *ret, struct rein_err *err)
{
	return rein_pair_attrs(&(struct rein_pair){a, b, na, nb}, ret, err);
}

static const struct rein_linked *linked(const struct scan *s, const struct rein_fp *up)
{
	return rein_linked_find(s->linked, s->root, up);
}

/*
 * A file where one with several names was, and nobody wrote down that it is a copy: something new
 * took the name. Unless it looks like a copy that escaped the watch: the overlay says so (as root), or
 * it noted nothing and the file has the original's access time, which a copy keeps and a new file
 * has not.
 */
static bool escaped(const struct scan *s, const struct layers *l, const char *name,
		    const struct rein_fp *up, const struct rein_fp *real)
{
	enum rein_origin origin;

	if (real->nlink < 2 || !S_ISREG(up->mode) || linked(s, up))
		return false;
	origin = rein_attrs_origin(l->upper, name, l->real, name);
	if (origin != REIN_ORIGIN_NONE)
		return origin == REIN_ORIGIN_THIS;
	/* somebody outside may have read the real one since */
	return up->atime_ns == real->atime_ns ||
	       (real->atime_ns >= s->begin_ns && up->atime_ns < s->begin_ns);
}

/* An opaque directory stands in for the real one: what differs inside, for people. */
static int compare_inside(struct scan *s, const struct layers *l, const char *dir, uint8_t *clash,
			  struct rein_err *err);

static int compare_entry(struct scan *s, const struct layers *l, const char *name, const char *path,
			 const struct rein_fp *up, const struct rein_fp *real, uint8_t *clash,
			 struct rein_err *err)
{
	uint8_t what = 0;
	int same;

	if (changed_since(s, real) && *clash == REIN_CLASH_NONE)
		*clash = REIN_CLASH_CHANGED;
	if (S_ISDIR(up->mode) && S_ISDIR(real->mode)) {
		auto_close int u = -1, r = -1, m = open_layer(l->mask, name);
		struct layers sub;

		if (attrs_what(l->upper, name, l->real, name, &what, err) < 0)
			return -err->code;
		if (what & ~REIN_WHAT_TIMES) {
			struct rein_change *x = add(s, path, REIN_CHANGE_META, false, real, up, err);

			if (!x)
				return -err->code;
			x->what = what;
		}
		if (must_open(l->upper, name, up, path, &u, err) < 0 ||
		    must_open(l->real, name, real, path, &r, err) < 0)
			return -err->code;
		sub = (struct layers){u, r, m};
		return u < 0 || r < 0 ? 0 : compare_inside(s, &sub, path, clash, err);
	}
	if ((up->mode & S_IFMT) != (real->mode & S_IFMT)) {
		struct rein_change *x = add(s, path, REIN_CHANGE_MODIFIED, false, real, up, err);

		if (!x)
			return -err->code;
		x->what = REIN_WHAT_TYPE;
		if (S_ISDIR(real->mode))
			return list_dir(s, l, name, path, REIN_CHANGE_DELETED, clash, err);
		if (S_ISDIR(up->mode))
			return list_dir(s, l, name, path, REIN_CHANGE_CREATED, clash, err);
		return 0;
	}
	same = same_content(l, name, up, real, err);
	if (same < 0 || attrs_what(l->upper, name, l->real, name, &what, err) < 0)
		return -err->code;
	/* (a name of a file with several must be told even if nothing else is to tell) */
	if (!same || what || linked(s, up)) {
		struct rein_change *x = add(s, path, same ? REIN_CHANGE_META : REIN_CHANGE_MODIFIED,
					    false, real, up, err);

		if (!x)
			return -err->code;
		x->what = (uint8_t)(what | (same ? 0 : REIN_WHAT_CONTENT));
	}
	return 0;
}

static int compare_inside(struct scan *s, const struct layers *l, const char *dir, uint8_t *clash,
			  struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names ups = {0}, reals = {0};
	size_t i = 0, k = 0;

	if (rein_names_read(l->upper, "", &ups, err) < 0 ||
	    rein_names_read(l->real, "", &reals, err) < 0)
		return -err->code;
	while (i < ups.n || k < reals.n) {
		int order = i >= ups.n ? 1 : k >= reals.n ? -1 : strcmp(ups.v[i], reals.v[k]);
		const char *name = order <= 0 ? ups.v[i] : reals.v[k];
		auto_free char *path = join(dir, name);
		struct rein_fp up = {0}, real = {0}, mask = {0};
		struct rein_change *x;

		i += order <= 0;
		k += order >= 0;
		if (!path)
			return rein_err_nomem(err);
		if ((order <= 0 && rein_fp_at(l->upper, name, &up, err) < 0) ||
		    (order >= 0 && rein_fp_at(l->real, name, &real, err) < 0) ||
		    (l->mask >= 0 && rein_fp_at(l->mask, name, &mask, err) < 0))
			return -err->code;
		if (is_whiteout(&up))
			up.mode = 0;
		if (is_whiteout(&mask) && real.mode)
			*clash = REIN_CLASH_HIDDEN;
		if (up.mode && real.mode) {
			if (compare_entry(s, l, name, path, &up, &real, clash, err) < 0)
				return -err->code;
			continue;
		}
		if (!up.mode && !real.mode)
			continue;
		if (real.mode && changed_since(s, &real) && *clash == REIN_CLASH_NONE)
			*clash = REIN_CLASH_CHANGED;
		x = add(s, path, up.mode ? REIN_CHANGE_CREATED : REIN_CHANGE_DELETED, false,
			real.mode ? &real : NULL, up.mode ? &up : NULL, err);
		if (!x)
			return -err->code;
		if (S_ISDIR(up.mode | real.mode) &&
		    list_dir(s, l, name, path, x->kind, clash, err) < 0)
			return -err->code;
	}
	return 0;
}

/* The name exists on both sides and is not a merged directory: replaced, changed, or untouched. */
static int replaced(struct scan *s, const struct layers *l, const char *name, const char *path,
		    const struct rein_fp *up, const struct rein_fp *real, struct rein_err *err)
{
	size_t at = s->out->n;
	uint8_t clash = changed_since(s, real) ? REIN_CLASH_CHANGED : REIN_CLASH_NONE;
	bool same_type = (up->mode & S_IFMT) == (real->mode & S_IFMT);
	const struct rein_linked *link = linked(s, up);
	bool itself = false; /* the real file, not another that took its name */
	uint8_t what = 0;
	int same = 0;
	struct rein_change *x;

	if (same_type && !S_ISDIR(up->mode)) {
		same = same_content(l, name, up, real, err);
		if (same < 0 || attrs_what(l->upper, name, l->real, name, &what, err) < 0)
			return -err->code;
		itself = link ? link->real_ino == real->ino : same && real->nlink < 2;
		if (escaped(s, l, name, up, real)) {
			if (same && !what)
				return 0;
			clash = REIN_CLASH_LINKS;
		}
		/* an untouched copy; one with several names may join a link made in the box */
		if (itself && same && !what && up->nlink < 2)
			return 0;
	}
	x = add(s, path, itself && same ? REIN_CHANGE_META : REIN_CHANGE_MODIFIED, true, real, up, err);
	if (!x)
		return -err->code;
	x->what = (uint8_t)(what | (!same_type ? REIN_WHAT_TYPE : itself && same ? 0 : REIN_WHAT_CONTENT));
	x->in_place = itself && (same || link);
	if (S_ISDIR(up->mode) && S_ISDIR(real->mode)) {
		auto_close int u = -1, r = -1, m = open_layer(l->mask, name);
		struct layers sub;

		if (attrs_what(l->upper, name, l->real, name, &what, err) < 0)
			return -err->code;
		x->opaque = !(what & ~REIN_WHAT_TIMES);
		x->what = (uint8_t)(REIN_WHAT_CONTENT | (what & ~REIN_WHAT_TIMES));
		if (must_open(l->upper, name, up, path, &u, err) < 0 ||
		    must_open(l->real, name, real, path, &r, err) < 0)
			return -err->code;
		sub = (struct layers){u, r, m};
		if (u >= 0 && r >= 0 && compare_inside(s, &sub, path, &clash, err) < 0)
			return -err->code;
	} else if (S_ISDIR(real->mode)) {
		if (list_dir(s, l, name, path, REIN_CHANGE_DELETED, &clash, err) < 0)
			return -err->code;
	} else if (S_ISDIR(up->mode)) {
		uint8_t inner = 0;

		if (list_dir(s, l, name, path, REIN_CHANGE_CREATED, &inner, err) < 0)
			return -err->code;
	}
	s->out->v[at].clash = clash;
	return 0;
}

/*
 * Metadata of a merged directory. What the command saw came from the mask where the mask has the
 * directory. A real directory's ctime also moves when names change in it, so only a difference
 * that matters (not its times) can clash.
 */
static int merged_meta(struct scan *s, const struct layers *l, const char *path,
		       const struct rein_fp *up, const struct rein_fp *real, struct rein_err *err)
{
	uint8_t what;
	struct rein_change *x;

	if (attrs_what(l->upper, "", l->real, "", &what, err) < 0)
		return -err->code;
	if (l->mask >= 0 && what & REIN_WHAT_XATTR) {
		uint8_t seen;

		if (attrs_what(l->upper, "", l->mask, "", &seen, err) < 0)
			return -err->code;
		what &= (uint8_t)(seen | ~REIN_WHAT_XATTR);
	}
	/* without privilege an owner cannot change; the overlay's own face may have another group */
	if (geteuid() != 0)
		what &= (uint8_t)~REIN_WHAT_OWNER;
	/* a tree's own directory that is somebody else's: made read-only for the command (txn.c), in an ACL, too */
	if (geteuid() != 0 && real->uid != geteuid() && real->mode & S_IWUSR && up->mode == (real->mode ^ S_IWUSR))
		what &= (uint8_t)~(REIN_WHAT_MODE | REIN_WHAT_XATTR);
	if (!what)
		return 0;
	x = add(s, path, REIN_CHANGE_META, true, real, up, err);
	if (!x)
		return -err->code;
	x->what = what;
	if (what & ~REIN_WHAT_TIMES && changed_since(s, real))
		x->clash = REIN_CLASH_CHANGED;
	return 0;
}

static int merged(struct scan *s, const struct layers *l, const char *dir, const struct rein_fp *up,
		  const struct rein_fp *real, struct rein_err *err);

/* Where the filesystem does not tell, it is not. */
static bool is_born_since(const struct scan *s, int dir, const char *name)
{
	struct statx sx;

	return statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &sx) == 0 && sx.stx_mask & STATX_BTIME &&
	       (int64_t)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec > s->begin_ns;
}

static int entry(struct scan *s, const struct layers *l, const char *name, const char *path,
		 struct rein_err *err)
{
	struct rein_fp up, real, mask = {0};
	bool hidden;

	if (rein_fp_at(l->upper, name, &up, err) < 0 || rein_fp_at(l->real, name, &real, err) < 0 ||
	    (l->mask >= 0 && rein_fp_at(l->mask, name, &mask, err) < 0))
		return -err->code;
	hidden = real.mode && is_whiteout(&mask);
	if (is_whiteout(&up)) {
		if (!real.mode || hidden || is_whiteout(&real))
			return 0; /* made and removed again in the box */
		return deleted(s, l, name, path, &real, err);
	}
	if (hidden)
		return created(s, l, name, path, &up, REIN_CLASH_HIDDEN, err);
	if (!real.mode)
		return created(s, l, name, path, &up, REIN_CLASH_NONE, err);
	if (S_ISDIR(up.mode) && S_ISDIR(real.mode) && !rein_attrs_opaque(l->upper, name)) {
		auto_close int u = -1, r = -1, m = open_layer(l->mask, name);
		struct layers sub;

		if (must_open(l->upper, name, &up, path, &u, err) < 0 ||
		    must_open(l->real, name, &real, path, &r, err) < 0)
			return -err->code;
		if (u < 0 || r < 0)
			return rein_err_set(err, REIN_E_IO, "directory '%s' cannot be read", path);
		sub = (struct layers){u, r, m};
		return merged(s, &sub, path, &up, &real, err);
	}
	/* root's overlays call every new directory opaque; it replaces nothing that came after it began */
	if (S_ISDIR(up.mode) && S_ISDIR(real.mode) && is_born_since(s, l->real, name))
		return created(s, l, name, path, &up, REIN_CLASH_EXISTS, err);
	return replaced(s, l, name, path, &up, &real, err);
}

static int merged(struct scan *s, const struct layers *l, const char *dir, const struct rein_fp *up,
		  const struct rein_fp *real, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};

	if (merged_meta(s, l, dir, up, real, err) < 0 || rein_names_read(l->upper, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *path = join(dir, names.v[i]);

		if (!path)
			return rein_err_nomem(err);
		if (entry(s, l, names.v[i], path, err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_scan(const struct rein_root *root, uint32_t index, int64_t begin_ns,
	      const struct rein_linked_list *linked, struct rein_changes *out, struct rein_err *err)
{
	auto_close int upper = open(root->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int real = open(root->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int mask = root->mask ? open(root->mask, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct scan s = {.out = out, .root = index, .begin_ns = begin_ns, .linked = linked};
	struct layers l = {upper, real, mask};
	struct rein_fp up_fp, real_fp;

	if (upper < 0)
		return rein_err_errno(err, "open '%s'", root->upper);
	if (real < 0)
		return rein_err_errno(err, "open '%s'", root->real);
	if (root->mask && mask < 0)
		return rein_err_errno(err, "open '%s'", root->mask);
	if (rein_fp_at(upper, "", &up_fp, err) < 0 || rein_fp_at(real, "", &real_fp, err) < 0)
		return -err->code;
	return merged(&s, &l, "", &up_fp, &real_fp, err);
}
