/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts and the trees that are copied on write: what --whole-system makes of each mount, what
 * becomes of those inside a tree, and which of them show one thing twice.
 */
#include "sandbox/viewplan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "sandbox/hide.h"
#include "sandbox/hideindex.h"
#include "sys/subvol.h"

/* Is m what one finds at its point, or does another mount cover it? */
bool rein_viewmounts_visible_(const struct rein_viewplan *p, size_t index)
{
	const struct rein_mount *m = &p->mounts.v[index];
	struct statx sx;

	for (size_t i = index + 1; i < p->mounts.n; i++)
		if (rein_streq(p->mounts.v[i].point, m->point))
			return false;
	if (p->opts->mountinfo)
		return true;
	if (statx(AT_FDCWD, m->point, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_MNT_ID, &sx) < 0)
		return errno == EACCES; /* cannot see: assume it is there */
	return !(sx.stx_mask & STATX_MNT_ID) || sx.stx_mnt_id == m->id;
}

static bool point_is_dir(const char *point)
{
	struct stat st;

	return lstat(point, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Why a mount cannot be copied on write, or NULL. */
static const char *unfit(const struct rein_mount *m)
{
	enum rein_fskind kind = rein_mounts_kind(m->fstype);

	if (kind == REIN_FS_PSEUDO)
		return "it is the kernel's own";
	if (m->ro)
		return "it is mounted read-only";
	if (kind == REIN_FS_REMOTE)
		return "it is a network or FUSE filesystem";
	if (kind == REIN_FS_POOR)
		return "its filesystem cannot keep owners and attributes";
	if (!point_is_dir(m->point))
		return "it is a single file";
	return NULL;
}

/* The mount a path lies on. */
const struct rein_mount *rein_viewmounts_of_(const struct rein_viewplan *p, const char *path)
{
	const struct rein_mount *best = NULL;

	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (rein_path_within(path, m->point) &&
		    (!best || strlen(m->point) >= strlen(best->point)) &&
		    rein_viewmounts_visible_(p, i))
			best = m;
	}
	return best;
}

/* "/a" + "/b/c" behind "/b" = "/a/c"; the root of everything adds no slash of its own. */
void rein_viewmounts_rebase_(const char *path, const char *from, const char *to, char *ret,
			     size_t size)
{
	const char *rest = path + (rein_streq(from, "/") ? 0 : strlen(from));

	snprintf(ret, size, "%s%s", rein_streq(to, "/") && *rest ? "" : to,
		 rein_streq(rest, "/") ? "" : rest);
}

/* Does the mount show again what one of our trees holds, or a part of it? */
static bool is_alias(const struct rein_viewplan *p, const struct rein_mount *m)
{
	char inside[2 * PATH_MAX];

	for (size_t i = 0; i < p->v->ncow; i++) {
		const struct rein_mount *o = rein_viewmounts_of_(p, p->v->cow[i].path);

		if (!o || o == m || o->major != m->major || o->minor != m->minor)
			continue;
		rein_viewmounts_rebase_(p->v->cow[i].path, o->point, o->root, inside,
					sizeof(inside));
		if (rein_path_within(m->root, inside) || rein_path_within(inside, m->root))
			return true;
	}
	return false;
}

/* Does a tree lie on it that somebody asked for? */
static bool is_asked_for(const struct rein_viewplan *p, const struct rein_mount *m)
{
	for (size_t i = 0; i < p->v->ncow; i++)
		if (!p->v->cow[i].whole && !p->v->cow[i].found &&
		    rein_viewmounts_of_(p, p->v->cow[i].path) == m)
			return true;
	return false;
}

/*
 * Why changes of a mount cannot be kept, or NULL. One that nobody named is no reason to refuse everything:
 * it is shown read-only. One that holds the workspace, or a tree of --rw, must change: the transaction refuses.
 */
static const char *placeless(struct rein_viewplan *p, const struct rein_mount *m)
{
	p->no_place = (struct rein_err){0};
	if (!p->opts->has_place || is_asked_for(p, m) ||
	    p->opts->has_place(p->opts->has_place_arg, m->point, &p->no_place) == 0)
		return NULL;
	return p->no_place.msg;
}

/* Two copies of one tree would go different ways: one of them stays as it is. */
static int keep_alias(struct rein_viewplan *p, const struct rein_mount *m)
{
	if (rein_view_note_(p->v, false, "%s is read-only here: it shows what is elsewhere too",
			    m->point) < 0 ||
	    rein_view_add_path_(p->v, m->point, m->point, REIN_PATH_RO, point_is_dir(m->point)) < 0)
		return rein_err_nomem(p->err);
	return 0;
}

static bool mount_inside(const struct rein_viewplan *p, const char *dir)
{
	for (size_t i = 0; i < p->mounts.n; i++)
		if (!rein_streq(p->mounts.v[i].point, dir) &&
		    rein_path_within(p->mounts.v[i].point, dir) && rein_viewmounts_visible_(p, i))
			return true;
	return false;
}

/* Is there a rule for a directory around path already? Clones are recursive. */
bool rein_viewmounts_kept_(const struct rein_view *v, const char *path)
{
	struct rein_cow *c = rein_view_cow_of_(v, path);

	for (size_t i = 0; i < v->npaths; i++)
		if (rein_path_within(path, v->paths[i].path) &&
		    (!c || strlen(v->paths[i].path) > strlen(c->path)))
			return true;
	return false;
}

static bool is_named(const struct rein_viewplan *p, const char *path, size_t n)
{
	for (size_t i = 0; i < p->nitems; i++)
		if (strncmp(p->items[i].path, path, n) == 0 && !p->items[i].path[n])
			return true;
	return false;
}

/* One component of a path, which goes on behind it. */
static bool matches(const struct rein_viewplan *p, const char *name, size_t n)
{
	char one[NAME_MAX + 1];

	snprintf(one, sizeof(one), "%.*s", (int)n, name);
	for (char *const *g = p->opts->hide_names; g && *g; g++)
		if (rein_glob_name(*g, one))
			return true;
	return rein_hide_name_matches(name, n);
}

/*
 * The index does not look into mounts, and a pattern covers what is mounted under its names too:
 * the length of the path that is hidden, or 0. Nothing is, where an option names it.
 */
static size_t hidden_part(const struct rein_viewplan *p, const char *point, const char *top, bool whole)
{
	bool inner = false;

	if (whole && !rein_hide_searches(point, p->v->workspace))
		return 0;

	for (const char *s = point + (rein_streq(top, "/") ? 0 : strlen(top)); *s;) {
		const char *name = s + 1;
		size_t n = strcspn(name, "/"), part = (size_t)(name + n - point);
		bool secrets = n == 7 && memcmp(name, "secrets", 7) == 0;

		s = name + n;
		if (inner || matches(p, name, n) || (secrets && !*s))
			return is_named(p, point, part) || (inner && is_named(p, point, part - n - 1)) ? 0 : part;
		if (rein_hide_name_no_entry(name, n))
			return 0;
		inner = secrets;
	}
	return 0;
}

/* 1 if it is hidden now, 0 if no pattern does. */
static int hide_mount(struct rein_viewplan *p, const char *point, const char *top, bool whole)
{
	size_t n = hidden_part(p, point, top, whole);

	if (n && rein_strlist_take(&p->hidden, rein_strndup(point, n)) < 0)
		return rein_err_nomem(p->err);
	return n != 0;
}

/* As root: every mount that can becomes a tree of its own, the others stay as they are. */
static int whole_as_root(struct rein_viewplan *p)
{
	int hidden;

	if (rein_viewroots_cow_(p, "/", true) < 0)
		return -p->err->code;
	p->v->whole_root = true;
	if (rein_viewplan_is_private_(p->home) && rein_viewroots_cow_(p, p->home, true) < 0)
		return -p->err->code;
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (rein_streq(m->point, "/") || rein_viewplan_is_private_(m->point) || unfit(m) ||
		    rein_viewroots_has_(p->v, m->point) || !rein_viewmounts_visible_(p, i))
			continue;
		hidden = hide_mount(p, m->point, "/", true);
		if (hidden < 0)
			return hidden;
		if (hidden)
			continue;
		if (is_alias(p, m)) {
			if (keep_alias(p, m) < 0)
				return -p->err->code;
			continue;
		}
		/* without a place it is a mount inside "/" like those that do not fit */
		if (!placeless(p, m) && rein_viewroots_cow_(p, m->point, true) < 0)
			return -p->err->code;
	}
	return 0;
}

/*
 * Without privilege "/" cannot be an overlay, because something is always mounted inside it
 * (EINVAL); but there the user can write in few places only: the home directory and own mounts.
 */
static int whole_as_user(struct rein_viewplan *p)
{
	const char *why;
	int hidden;

	if (p->home[0] && access(p->home, W_OK) == 0) {
		if (!mount_inside(p, p->home)) {
			if (rein_viewroots_cow_(p, p->home, true) < 0)
				return -p->err->code;
		} else if (rein_view_note_(p->v, true,
					   "%s is read-only here: something is mounted inside it, "
					   "which needs root",
					   p->home) < 0) {
			return rein_err_nomem(p->err);
		}
	}
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (rein_streq(m->point, "/") || rein_viewplan_is_private_(m->point) || m->ro ||
		    rein_mounts_kind(m->fstype) == REIN_FS_PSEUDO ||
		    !rein_viewmounts_visible_(p, i) || access(m->point, W_OK) < 0 ||
		    rein_viewroots_has_(p->v, m->point) || is_alias(p, m))
			continue;
		hidden = hide_mount(p, m->point, "/", true);
		if (hidden < 0)
			return hidden;
		if (hidden)
			continue;
		why = unfit(m);
		if (!why && mount_inside(p, m->point))
			why = "something is mounted inside it, which needs root";
		if (!why)
			why = placeless(p, m);
		if (why) {
			if (rein_view_note_(p->v, true, "%s is read-only here: %s", m->point, why) < 0)
				return rein_err_nomem(p->err);
		} else if (rein_viewroots_cow_(p, m->point, true) < 0) {
			return -p->err->code;
		}
	}
	return 0;
}

int rein_viewmounts_whole_(struct rein_viewplan *p)
{
	return p->opts->rootless ? whole_as_user(p) : whole_as_root(p);
}

/* An overlay shows no mounts of its lower tree: as root each gets its answer, else we refuse. */
static int nested_mount(struct rein_viewplan *p, const struct rein_mount *m,
			const struct rein_cow *c)
{
	const char *why = unfit(m);
	int hidden;

	if (p->opts->rootless)
		return rein_err_set(
			p->err, REIN_E_UNSUPPORTED,
			"'%s' is mounted inside '%s', and without root the kernel makes no "
			"copy-on-write view of a tree with mounts in it: unmount it, choose "
			"a --workspace beside it, or run as root",
			m->point, c->path);
	hidden = hide_mount(p, m->point, c->path, c->whole);
	if (hidden)
		return hidden < 0 ? hidden : 0;
	if (!why && is_alias(p, m))
		why = "it shows what is elsewhere too";
	if (!why)
		why = placeless(p, m);
	if (!why) {
		if (rein_viewroots_cow_(p, m->point, c->whole) < 0)
			return -p->err->code;
		p->v->cow[p->v->ncow - 1].found = true;
		return 0;
	}
	if (rein_viewmounts_kept_(p->v, m->point))
		return 0;
	if (rein_view_add_path_(p->v, m->point, m->point, REIN_PATH_RO, point_is_dir(m->point)) <
		    0 ||
	    rein_view_note_(p->v, rein_mounts_kind(m->fstype) != REIN_FS_PSEUDO && !m->ro,
			    "mount %s inside %s is read-only here: %s", m->point, c->path, why) < 0)
		return rein_err_nomem(p->err);
	return 0;
}

/*
 * Nothing can be renamed into a subvolume of btrfs or out of it, in a box as outside: it is a tree of its own, also where
 * it was asked for and is no mount. One that is read-only has no place for changes: it stays where it is, in the tree it
 * lies in, which may hide something there.
 */
static int nested_subvolume(struct rein_viewplan *p, const char *path, const struct rein_cow *c, bool ro)
{
	const bool asked_for = rein_viewroots_has_(p->v, path);
	int hidden;

	for (size_t i = 0; i < p->mounts.n; i++)
		if (rein_path_within(path, p->mounts.v[i].point) && !rein_path_within(c->path, p->mounts.v[i].point))
			return 0; /* that had its answer */
	if (rein_viewmounts_kept_(p->v, path))
		return 0;
	if (asked_for && ro)
		return rein_err_set(p->err, REIN_E_UNSUPPORTED, "'%s' is a read-only subvolume, where nothing can be committed",
				    path);
	hidden = asked_for ? 0 : hide_mount(p, path, c->path, c->whole);
	if (hidden)
		return hidden < 0 ? hidden : 0;
	if (ro)
		return rein_view_add_path_(p->v, path, NULL, REIN_PATH_RO, true) < 0 ||
				       rein_view_note_(p->v, false, "%s inside %s is read-only here: it is a read-only subvolume",
						       path, c->path) < 0
			       ? rein_err_nomem(p->err)
			       : 0;
	if (rein_viewroots_cow_(p, path, c->whole) < 0)
		return -p->err->code;
	for (size_t i = 0; i < p->v->ncow; i++)
		if (rein_streq(p->v->cow[i].path, path))
			p->v->cow[i].apart = true;
	if (!asked_for)
		p->v->cow[p->v->ncow - 1].found = true;
	return 0;
}

static int nested_subvolumes(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->v->ncow; i++) { /* the list grows: there may be some in them */
		auto_strlist struct rein_strlist found = {0}, ro = {0};

		if (rein_subvolumes(p->v->cow[i].path, &found, &ro, p->err) < 0)
			return -p->err->code;
		for (size_t k = 0; k < found.n + ro.n; k++) {
			const struct rein_cow c = p->v->cow[i]; /* adding one may move it */

			if (nested_subvolume(p, k < found.n ? found.v[k] : ro.v[k - found.n], &c, k >= found.n) < 0)
				return -p->err->code;
		}
	}
	return 0;
}

int rein_viewmounts_nested_(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];
		const struct rein_cow *c = rein_view_cow_of_(p->v, m->point);

		if (!c || rein_streq(c->path, m->point) || !rein_viewmounts_visible_(p, i))
			continue;
		if (nested_mount(p, m, c) < 0)
			return -p->err->code;
	}
	return nested_subvolumes(p);
}
