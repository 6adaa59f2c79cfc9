/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of what a box sees, in named steps: where we are, what the options say, which trees are
 * copied on write, what is mounted inside them, what is hidden, what is scratch.
 */
#include "sandbox/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "sandbox/gitdir.h"
#include "sandbox/mounts.h"
#include "sandbox/scratch.h"
#include "sandbox/viewrules.h"

enum kind {
	RW,
	RO,
	HIDE,
	SCRATCH,
};

static const char *const option_of[] = {
	[RW] = "--rw", [RO] = "--ro", [HIDE] = "--hide", [SCRATCH] = "--scratch"};

/* One option of the user. A hidden symbolic link is two: itself and what it points at. */
struct item {
	char *path;
	enum kind kind;
	bool is_dir;
};

struct plan {
	const struct rein_view_opts *opts;
	struct rein_view *v;
	struct rein_err *err;
	char home[PATH_MAX]; /* resolved, or "" */
	struct rein_mounts mounts;
	struct item *items;
	size_t nitems, items_cap;
	struct rein_strlist hidden; /* all of them, defaults and options */
};

/* Places of every box's own: nothing outside is seen there. */
static const char *const private_dirs[] = {"/proc", "/sys",	"/dev",	   "/tmp",
					   "/run",  "/var/tmp", "/var/run"};

static bool is_private(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(private_dirs); i++)
		if (rein_path_within(path, private_dirs[i]))
			return true;
	return false;
}

int rein_view_note_(struct rein_view *v, bool always, const char *fmt, ...)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	char text[3 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rein_buf_escaped(&b, rein_str(text));
	if (b.failed || rein_grow(v->notes, v->nnotes, v->notes_cap) < 0)
		return -1;
	v->notes[v->nnotes++] =
		(struct rein_view_note){.always = always, .text = rein_buf_take(&b)};
	return 0;
}

int rein_view_add_path_(struct rein_view *v, const char *path, const char *source,
			enum rein_access access, bool is_dir)
{
	struct rein_path_rule r = {.access = access, .is_dir = is_dir};

	if (rein_grow(v->paths, v->npaths, v->paths_cap) < 0)
		return -1;
	r.path = rein_strdup(path);
	r.source = source ? rein_strdup(source) : NULL;
	if (!r.path || (source && !r.source)) {
		rein_free(r.path);
		rein_free(r.source);
		return -1;
	}
	v->paths[v->npaths++] = r;
	return 0;
}

struct rein_cow *rein_view_cow_of_(const struct rein_view *v, const char *path)
{
	struct rein_cow *best = NULL;

	for (size_t i = 0; i < v->ncow; i++)
		if (rein_path_within(path, v->cow[i].path) &&
		    (!best || strlen(v->cow[i].path) > strlen(best->path)))
			best = &v->cow[i];
	/* a tree around /tmp does not show what is in it */
	return best && is_private(path) && !is_private(best->path) ? NULL : best;
}

static void cow_done(struct rein_cow *c)
{
	rein_free(c->path);
	rein_strlist_done(&c->hide);
	rein_strlist_done(&c->show);
}

void rein_view_done(struct rein_view *v)
{
	rein_free(v->workspace);
	rein_free(v->cwd);
	for (size_t i = 0; i < v->ncow; i++)
		cow_done(&v->cow[i]);
	for (size_t i = 0; i < v->npaths; i++) {
		rein_free(v->paths[i].path);
		rein_free(v->paths[i].source);
	}
	for (size_t i = 0; i < v->nnotes; i++)
		rein_free(v->notes[i].text);
	rein_free(v->cow);
	rein_free(v->paths);
	rein_free(v->notes);
	rein_strlist_done(&v->env);
	*v = (struct rein_view){0};
}

static void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->nitems; i++)
		rein_free(p->items[i].path);
	rein_free(p->items);
	rein_strlist_done(&p->hidden);
	rein_mounts_done(&p->mounts);
}

static int nomem(struct plan *p)
{
	return rein_err_nomem(p->err);
}

/* ---- where we are ---- */

/*
 * The user's spelling of the current directory stays if it leads to the same place inside, where
 * symbolic links are the same except in the directories that are the box's own.
 */
static int resolve_cwd(struct plan *p, char *real)
{
	const char *given = p->opts->cwd;
	char here[PATH_MAX];
	struct stat a, b;
	bool same;

	if (!given) {
		if (!getcwd(here, sizeof(here)))
			return rein_err_errno(p->err, "current directory");
		given = here;
	}
	if (!realpath(given, real))
		return rein_err_errno(p->err, "current directory '%s'", given);
	if (stat(real, &a) < 0)
		return rein_err_errno(p->err, "current directory '%s'", real);
	if (!S_ISDIR(a.st_mode))
		return rein_err_set(p->err, REIN_E_USAGE, "'%s' is not a directory", given);
	same = given[0] == '/' && !is_private(given) && stat(given, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	p->v->cwd = rein_strdup(same ? given : real);
	return p->v->cwd ? 0 : nomem(p);
}

static bool too_wide(struct plan *p, const char *dir)
{
	return rein_streq(dir, "/") || (p->home[0] && rein_path_within(p->home, dir));
}

static int find_workspace(struct plan *p, const char *cwd, struct rein_gitdir *git)
{
	const struct rein_view_opts *o = p->opts;
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (o->workspace) {
		if ((size_t)snprintf(
			    path, sizeof(path), "%s%s%s", o->workspace[0] == '/' ? "" : cwd,
			    o->workspace[0] == '/' ? "" : "/", o->workspace) >= sizeof(path) ||
		    !realpath(path, real))
			return rein_err_errno(p->err, "--workspace '%s'", o->workspace);
		if (stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
			return rein_err_set(p->err, REIN_E_USAGE,
					    "--workspace '%s' is not a directory", o->workspace);
		/* Its repository matters even if it is not where we stand; its root does not. */
		if (rein_gitdir_find(real, git, p->err) < 0)
			return -p->err->code;
		if (git->root && !rein_streq(git->root, real))
			rein_gitdir_done(git);
		p->v->workspace = rein_strdup(real);
		return p->v->workspace ? 0 : nomem(p);
	}
	if (rein_gitdir_find(cwd, git, p->err) < 0)
		return -p->err->code;
	p->v->workspace = rein_strdup(git->root ? git->root : cwd);
	if (!p->v->workspace)
		return nomem(p);
	if (!o->whole_system && too_wide(p, p->v->workspace))
		return rein_err_set(
			p->err, REIN_E_USAGE,
			"the workspace would be '%s'%s, which is too wide to guess: change "
			"to a project directory, or say --workspace DIR (--workspace '%s' "
			"if you mean it)",
			p->v->workspace,
			git->root && !rein_streq(git->root, cwd)
				? " (the git repository around the current directory)"
				: "",
			p->v->workspace);
	return 0;
}

/* ---- what the options say ---- */

static int add_item(struct plan *p, const char *path, enum kind kind, bool is_dir)
{
	if (rein_grow(p->items, p->nitems, p->items_cap) < 0)
		return nomem(p);
	p->items[p->nitems] =
		(struct item){.path = rein_strdup(path), .kind = kind, .is_dir = is_dir};
	if (!p->items[p->nitems].path)
		return nomem(p);
	p->nitems++;
	return 0;
}

/* The directory resolved, the last component as it is. */
static bool resolve_parent(const char *path, char *ret)
{
	char dir[PATH_MAX];
	const char *name;
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n >= sizeof(dir))
		return false;
	memcpy(dir, path, n);
	dir[n] = '\0';
	name = rein_basename(dir);
	if (!*name || rein_streq(name, ".") || rein_streq(name, ".."))
		return realpath(dir, ret) != NULL;
	name = path + (name - dir);
	dir[name - path] = '\0';
	if (!realpath(dir, ret))
		return false;
	n -= (size_t)(name - path);
	return (size_t)snprintf(ret + strlen(ret), PATH_MAX - strlen(ret), "%s%.*s",
				rein_streq(ret, "/") ? "" : "/", (int)n,
				name) < PATH_MAX - strlen(ret);
}

static int add_option(struct plan *p, const char *cwd, const char *given, enum kind kind)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;
	bool absolute = given[0] == '/';

	if ((size_t)snprintf(path, sizeof(path), "%s%s%s", absolute ? "" : cwd, absolute ? "" : "/",
			     given) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return rein_err_errno(p->err, "%s '%s'", option_of[kind], given);
	}
	if (!given[0] || !realpath(path, real) || stat(real, &st) < 0) {
		if (!given[0])
			errno = ENOENT;
		return rein_err_errno(p->err, "%s '%s'", option_of[kind], given);
	}
	if ((kind == RW || kind == SCRATCH) && !S_ISDIR(st.st_mode))
		return rein_err_set(p->err, REIN_E_USAGE,
				    "%s '%s' is not a directory: name the directory that holds it",
				    option_of[kind], given);
	if ((kind == HIDE || kind == SCRATCH) && rein_streq(real, "/"))
		return rein_err_set(p->err, REIN_E_USAGE, "%s '%s': not the root directory",
				    option_of[kind], given);
	if (kind == HIDE) { /* may be a link: both ends are hidden with the defaults, later */
		if (!resolve_parent(path, real) || rein_strlist_add(&p->hidden, real) < 0)
			return nomem(p);
		return 0;
	}
	return add_item(p, real, kind, S_ISDIR(st.st_mode));
}

static int add_options(struct plan *p, const char *cwd)
{
	char *const *lists[] = {
		[RW] = p->opts->rw,
		[RO] = p->opts->ro,
		[HIDE] = p->opts->hide,
		[SCRATCH] = p->opts->scratch,
	};

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; lists[k] && lists[k][i]; i++)
			if (add_option(p, cwd, lists[k][i], (enum kind)k) < 0)
				return -p->err->code;
	return 0;
}

/* The most specific option that covers path, or NULL. */
static const struct item *item_of(const struct plan *p, const char *path)
{
	const struct item *best = NULL;

	for (size_t i = 0; i < p->nitems; i++)
		if (rein_path_within(path, p->items[i].path) &&
		    (!best || strlen(p->items[i].path) > strlen(best->path)))
			best = &p->items[i];
	return best;
}

/* [V1], [V2] among the options other than --hide */
static int check_items(struct plan *p)
{
	for (size_t i = 0; i < p->nitems; i++) {
		const struct item *a = &p->items[i];

		for (size_t j = 0; j < p->nitems; j++) {
			const struct item *b = &p->items[j];

			if (i == j || !rein_path_within(a->path, b->path))
				continue;
			if (rein_streq(a->path, b->path) && a->kind != b->kind)
				return rein_err_set(p->err, REIN_E_USAGE,
						    "'%s' is given to both %s and %s: keep one",
						    a->path, option_of[b->kind],
						    option_of[a->kind]);
			if (b->kind == SCRATCH && a->kind != SCRATCH)
				return rein_err_set(p->err, REIN_E_USAGE,
						    "%s '%s' lies inside --scratch '%s', where "
						    "nothing outside is seen: drop one of the two",
						    option_of[a->kind], a->path, b->path);
		}
		if (a->kind == SCRATCH && rein_path_within(p->v->workspace, a->path))
			return rein_err_set(p->err, REIN_E_USAGE,
					    "--scratch '%s' would cover the workspace '%s': name a "
					    "directory inside it, or another --workspace",
					    a->path, p->v->workspace);
	}
	return 0;
}

/* ---- which trees are copied on write ---- */

static bool is_cow(const struct rein_view *v, const char *path)
{
	for (size_t i = 0; i < v->ncow; i++)
		if (rein_streq(v->cow[i].path, path))
			return true;
	return false;
}

static int add_cow(struct plan *p, const char *path, bool whole)
{
	struct rein_view *v = p->v;

	if (is_cow(v, path))
		return 0;
	if (rein_grow(v->cow, v->ncow, v->cow_cap) < 0)
		return nomem(p);
	v->cow[v->ncow] = (struct rein_cow){.path = rein_strdup(path), .whole = whole};
	if (!v->cow[v->ncow].path)
		return nomem(p);
	v->ncow++;
	return 0;
}

static int add_git(struct plan *p, const struct rein_gitdir *g)
{
	if (g->gitdir && g->unproven) {
		if (rein_view_note_(
			    p->v, true,
			    "git directory %s is read-only here: it does not name %s as its "
			    "work tree; add --rw '%s' to write to it",
			    g->gitdir, p->v->workspace, g->gitdir) < 0)
			return nomem(p);
		return 0;
	}
	if (g->commondir && add_cow(p, g->commondir, false) < 0)
		return -p->err->code;
	if (g->gitdir && !(g->commondir && rein_path_within(g->gitdir, g->commondir)))
		return add_cow(p, g->gitdir, false);
	return 0;
}

static int add_roots(struct plan *p, const struct rein_gitdir *git)
{
	if (add_cow(p, p->v->workspace, false) < 0 || add_git(p, git) < 0)
		return -p->err->code;
	for (size_t i = 0; i < p->nitems; i++) {
		if (p->items[i].kind != RW)
			continue;
		if (rein_streq(p->items[i].path, "/"))
			return rein_err_set(p->err, REIN_E_USAGE,
					    "--rw / is spelled --whole-system");
		if (add_cow(p, p->items[i].path, false) < 0)
			return -p->err->code;
	}
	return 0;
}

/* Is m what one finds at its point, or does another mount cover it? */
static bool mount_visible(const struct plan *p, size_t index)
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
static const struct rein_mount *mount_of(const struct plan *p, const char *path)
{
	const struct rein_mount *best = NULL;

	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (rein_path_within(path, m->point) &&
		    (!best || strlen(m->point) >= strlen(best->point)) && mount_visible(p, i))
			best = m;
	}
	return best;
}

/* "/a" + "/b/c" behind "/b" = "/a/c"; the root of everything adds no slash of its own. */
static void rebase(const char *path, const char *from, const char *to, char *ret, size_t size)
{
	const char *rest = path + (rein_streq(from, "/") ? 0 : strlen(from));

	snprintf(ret, size, "%s%s", rein_streq(to, "/") && *rest ? "" : to,
		 rein_streq(rest, "/") ? "" : rest);
}

/* Does the mount show again what one of our trees holds, or a part of it? */
static bool is_alias(const struct plan *p, const struct rein_mount *m)
{
	char inside[2 * PATH_MAX];

	for (size_t i = 0; i < p->v->ncow; i++) {
		const struct rein_mount *o = mount_of(p, p->v->cow[i].path);

		if (!o || o == m || o->major != m->major || o->minor != m->minor)
			continue;
		rebase(p->v->cow[i].path, o->point, o->root, inside, sizeof(inside));
		if (rein_path_within(m->root, inside) || rein_path_within(inside, m->root))
			return true;
	}
	return false;
}

/* Two copies of one tree would go different ways: one of them stays as it is. */
static int keep_alias(struct plan *p, const struct rein_mount *m)
{
	if (rein_view_note_(p->v, false, "%s is read-only here: it shows what is elsewhere too",
			    m->point) < 0 ||
	    rein_view_add_path_(p->v, m->point, m->point, REIN_PATH_RO, point_is_dir(m->point)) < 0)
		return nomem(p);
	return 0;
}

static bool mount_inside(const struct plan *p, const char *dir)
{
	for (size_t i = 0; i < p->mounts.n; i++)
		if (!rein_streq(p->mounts.v[i].point, dir) &&
		    rein_path_within(p->mounts.v[i].point, dir) && mount_visible(p, i))
			return true;
	return false;
}

/* Is there a rule for a directory around path already? Clones are recursive. */
static bool kept_with_parent(const struct rein_view *v, const char *path)
{
	struct rein_cow *c = rein_view_cow_of_(v, path);

	for (size_t i = 0; i < v->npaths; i++)
		if (rein_path_within(path, v->paths[i].path) &&
		    (!c || strlen(v->paths[i].path) > strlen(c->path)))
			return true;
	return false;
}

/* As root: every mount that can becomes a tree of its own, the others stay as they are. */
static int whole_as_root(struct plan *p)
{
	if (add_cow(p, "/", true) < 0)
		return -p->err->code;
	p->v->whole_root = true;
	if (is_private(p->home) && add_cow(p, p->home, true) < 0)
		return -p->err->code;
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (rein_streq(m->point, "/") || is_private(m->point) || unfit(m) ||
		    is_cow(p->v, m->point) || !mount_visible(p, i))
			continue;
		if (is_alias(p, m)) {
			if (keep_alias(p, m) < 0)
				return -p->err->code;
			continue;
		}
		if (add_cow(p, m->point, true) < 0)
			return -p->err->code;
	}
	return 0;
}

/*
 * Without privilege "/" cannot be an overlay, because something is always mounted inside it
 * (EINVAL); but there the user can write in few places only: the home directory and own mounts.
 */
static int whole_as_user(struct plan *p)
{
	if (p->home[0] && access(p->home, W_OK) == 0) {
		if (!mount_inside(p, p->home)) {
			if (add_cow(p, p->home, true) < 0)
				return -p->err->code;
		} else if (rein_view_note_(p->v, true,
					   "%s is read-only here: something is mounted inside it, "
					   "which needs root",
					   p->home) < 0) {
			return nomem(p);
		}
	}
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (rein_streq(m->point, "/") || is_private(m->point) || m->ro ||
		    rein_mounts_kind(m->fstype) == REIN_FS_PSEUDO || !mount_visible(p, i) ||
		    access(m->point, W_OK) < 0 || is_cow(p->v, m->point) || is_alias(p, m))
			continue;
		if (unfit(m) || mount_inside(p, m->point)) {
			const char *why = unfit(m);

			if (rein_view_note_(p->v, true, "%s is read-only here: %s", m->point,
					    why ? why
						: "something is mounted inside it, which needs "
						  "root") < 0)
				return nomem(p);
		} else if (add_cow(p, m->point, true) < 0) {
			return -p->err->code;
		}
	}
	return 0;
}

/* An overlay shows no mounts of its lower tree: as root each gets its answer, else we refuse. */
static int nested_mount(struct plan *p, const struct rein_mount *m, const struct rein_cow *c)
{
	const char *why = unfit(m);

	if (p->opts->rootless)
		return rein_err_set(
			p->err, REIN_E_UNSUPPORTED,
			"'%s' is mounted inside '%s', and without root the kernel makes no "
			"copy-on-write view of a tree with mounts in it: unmount it, choose "
			"a --workspace beside it, or run as root",
			m->point, c->path);
	if (!why && is_alias(p, m))
		why = "it shows what is elsewhere too";
	if (!why)
		return add_cow(p, m->point, c->whole);
	if (kept_with_parent(p->v, m->point))
		return 0;
	if (rein_view_add_path_(p->v, m->point, m->point, REIN_PATH_RO, point_is_dir(m->point)) <
		    0 ||
	    rein_view_note_(p->v, rein_mounts_kind(m->fstype) != REIN_FS_PSEUDO && !m->ro,
			    "mount %s inside %s is read-only here: %s", m->point, c->path, why) < 0)
		return nomem(p);
	return 0;
}

static int add_mounts(struct plan *p)
{
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];
		const struct rein_cow *c = rein_view_cow_of_(p->v, m->point);

		if (!c || rein_streq(c->path, m->point) || !mount_visible(p, i))
			continue;
		if (nested_mount(p, m, c) < 0)
			return -p->err->code;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct rein_cow *)a)->path, ((const struct rein_cow *)b)->path);
}

static int by_rule_path(const void *a, const void *b)
{
	return strcmp(((const struct rein_path_rule *)a)->path,
		      ((const struct rein_path_rule *)b)->path);
}

/* Does anything between outer and inner make inner a place of its own? */
static bool stands_apart(const struct plan *p, const char *outer, const char *inner)
{
	if (is_private(inner) && !is_private(outer))
		return true; /* below /tmp, which is the box's own */
	for (size_t i = 0; i < p->mounts.n; i++) {
		const char *point = p->mounts.v[i].point;

		if (!rein_streq(point, outer) && rein_path_within(point, outer) &&
		    rein_path_within(inner, point) && mount_visible(p, i))
			return true;
	}
	for (size_t i = 0; i < p->nitems; i++)
		if (p->items[i].kind == RO && rein_path_within(p->items[i].path, outer) &&
		    rein_path_within(inner, p->items[i].path))
			return true;
	return false;
}

/* Sort, and drop every tree that a wider one holds anyway. */
static void settle_roots(struct plan *p)
{
	struct rein_view *v = p->v;
	size_t kept = 0;

	qsort(v->cow, v->ncow, sizeof(*v->cow), by_path);
	for (size_t i = 0; i < v->ncow; i++) {
		bool covered = false;

		for (size_t j = 0; j < kept && !covered; j++)
			covered = rein_path_within(v->cow[i].path, v->cow[j].path) &&
				  !stands_apart(p, v->cow[j].path, v->cow[i].path);
		if (covered)
			cow_done(&v->cow[i]);
		else
			v->cow[kept++] = v->cow[i];
	}
	v->ncow = kept;
}

/* ---- what is hidden ---- */

static int make_state(struct plan *p)
{
	auto_free char *dir = rein_strdup(p->opts->state_dir);
	char real[PATH_MAX];

	if (!dir)
		return nomem(p);
	for (char *s = dir + 1;; s++) {
		char c = *s;

		if (c != '/' && c != '\0')
			continue;
		*s = '\0';
		if (mkdir(dir, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return rein_err_errno(p->err, "state directory '%s'", p->opts->state_dir);
		*s = c;
		if (c == '\0')
			break;
	}
	if (!realpath(dir, real) || access(real, W_OK) < 0)
		return rein_err_errno(p->err,
				      "state directory '%s' (set REIN_STATE to a directory you can "
				      "write to)",
				      p->opts->state_dir);
	if (rein_path_within(p->v->workspace, real))
		return rein_err_set(p->err, REIN_E_USAGE,
				    "the workspace '%s' lies inside Rein's own state '%s': choose "
				    "another with --workspace",
				    p->v->workspace, real);
	return rein_strlist_add(&p->hidden, real) < 0 ? nomem(p) : 0;
}

static bool is_hidden(const struct rein_view *v, const char *path)
{
	const struct rein_cow *c = rein_view_cow_of_(v, path);

	for (size_t i = 0; i < v->npaths; i++)
		if (v->paths[i].access != REIN_PATH_RO && rein_path_within(path, v->paths[i].path))
			return true;
	for (size_t i = 0; c && i < c->hide.n; i++)
		if (rein_path_within(path, c->hide.v[i]))
			return true;
	return false;
}

/* System trees and mounts that lie in a hidden directory go with it. */
static void drop_inside(struct rein_view *v, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->ncow; i++) {
		if (v->cow[i].whole && rein_path_within(v->cow[i].path, path))
			cow_done(&v->cow[i]);
		else
			v->cow[kept++] = v->cow[i];
	}
	v->ncow = kept;
	kept = 0;
	for (size_t i = 0; i < v->npaths; i++) {
		if (rein_path_within(v->paths[i].path, path)) {
			rein_free(v->paths[i].path);
			rein_free(v->paths[i].source);
		} else {
			v->paths[kept++] = v->paths[i];
		}
	}
	v->npaths = kept;
}

/* [V2] for a hidden path: nothing that was asked for may lie in it. */
static int check_hidden(struct plan *p, const char *path)
{
	const char *inside = NULL, *what = NULL;

	for (size_t i = 0; i < p->v->ncow; i++)
		if (!p->v->cow[i].whole && rein_path_within(p->v->cow[i].path, path))
			inside = p->v->cow[i].path, what = "which must be written to, ";
	for (size_t i = 0; i < p->nitems; i++)
		if (rein_path_within(p->items[i].path, path))
			inside = p->items[i].path, what = "";
	if (rein_path_within(p->v->workspace, path))
		inside = p->v->workspace, what = "the workspace, ";
	if (!inside)
		return 0;
	return rein_err_set(
		p->err, REIN_E_USAGE,
		"'%s', %slies inside '%s', which is hidden: show all of that with --ro '%s', "
		"or leave '%s' out",
		inside, what, path, path, inside);
}

/* One resolved path, with no regard to links. */
static int hide_path(struct plan *p, const char *path)
{
	struct rein_view *v = p->v;
	const struct item *item = item_of(p, path);
	struct rein_cow *c;
	struct stat st;

	if (item && rein_streq(item->path, path))
		return 0; /* the user named this very path: shown */
	if (is_hidden(v, path))
		return 0;
	if (check_hidden(p, path) < 0)
		return -p->err->code;
	if (lstat(path, &st) < 0)
		return 0;
	drop_inside(v, path);
	c = rein_view_cow_of_(v, path);
	if (c && !kept_with_parent(v, path))
		return rein_strlist_add(&c->hide, path) < 0 ? nomem(p) : 0;
	if (S_ISLNK(st.st_mode))
		return 0; /* nothing can be mounted on a link; its target is hidden */
	if (rein_view_add_path_(v, path, NULL, REIN_PATH_HIDE, S_ISDIR(st.st_mode)) < 0)
		return nomem(p);
	return 0;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int hide_all(struct plan *p)
{
	qsort(p->hidden.v, p->hidden.n, sizeof(char *), by_string);
	for (size_t i = 0; i < p->hidden.n; i++) {
		const char *path = p->hidden.v[i];
		const struct item *item = item_of(p, path);
		char real[PATH_MAX];

		if (item && rein_streq(item->path, path))
			continue;
		if (hide_path(p, path) < 0)
			return -p->err->code;
		if (!realpath(path, real) || rein_streq(real, path))
			continue;
		if (hide_path(p, real) < 0)
			return rein_err_prefix(p->err, "'%s' is a link", path);
	}
	return 0;
}

/* Other mounts of the same filesystem show a hidden path, or a tree with hidden files, again. */
static int hide_aliases(struct plan *p, const char *base, bool tree)
{
	const struct rein_mount *own = mount_of(p, base);
	char inside[2 * PATH_MAX], alias[2 * PATH_MAX];

	if (!own)
		return 0;
	rebase(base, own->point, own->root, inside, sizeof(inside));
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (m == own || m->major != own->major || m->minor != own->minor || !mount_visible(p, i))
			continue;
		if (rein_path_within(inside, m->root))
			rebase(inside, m->root, m->point, alias, sizeof(alias));
		else if (tree && rein_path_within(m->root, inside))
			snprintf(alias, sizeof(alias), "%s", m->point);
		else
			continue;
		if (rein_path_within(alias, base) || rein_path_within(base, alias) ||
		    (tree && rein_path_within(alias, p->v->workspace)) ||
		    faccessat(AT_FDCWD, alias, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (rein_strlist_add(&p->hidden, alias) < 0)
			return nomem(p);
	}
	return 0;
}

static int hide_all_aliases(struct plan *p)
{
	size_t n = p->hidden.n;

	for (size_t i = 0; i < n; i++)
		if (hide_aliases(p, p->hidden.v[i], false) < 0)
			return -p->err->code;
	if (hide_aliases(p, p->v->workspace, true) < 0)
		return -p->err->code;
	for (size_t i = 0; i < p->v->ncow; i++)
		if (!p->v->cow[i].whole && hide_aliases(p, p->v->cow[i].path, true) < 0)
			return -p->err->code;
	return 0;
}

/* ---- the rest of the options ---- */

static int apply_items(struct plan *p)
{
	for (size_t i = 0; i < p->nitems; i++) {
		const struct item *it = &p->items[i];
		struct rein_cow *c = rein_view_cow_of_(p->v, it->path);

		if (it->kind == SCRATCH && rein_scratch_add(p->opts, p->v, it->path, p->err) < 0)
			return -p->err->code;
		if (it->kind != SCRATCH && c && rein_strlist_add(&c->show, it->path) < 0)
			return nomem(p);
		if (it->kind == RO &&
		    rein_view_add_path_(p->v, it->path, NULL, REIN_PATH_RO, it->is_dir) < 0)
			return nomem(p);
	}
	return 0;
}

/* A home or current directory under /tmp would be lost in the box's own /tmp: shown read-only. */
static int keep_visible(struct plan *p, const char *dir)
{
	const struct rein_view *v = p->v;

	if (!dir[0] || !is_private(dir) || rein_view_cow_of_(v, dir))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(private_dirs); i++)
		if (rein_streq(dir, private_dirs[i]))
			return 0;
	for (size_t i = 0; i < v->npaths; i++)
		if (rein_path_within(dir, v->paths[i].path))
			return 0;
	return rein_view_add_path_(p->v, dir, NULL, REIN_PATH_RO, true) < 0 ? nomem(p) : 0;
}

static void drop_duplicate_items(struct plan *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nitems; i++) {
		bool seen = false;

		for (size_t j = 0; j < kept; j++)
			seen |= rein_streq(p->items[i].path, p->items[j].path) &&
				p->items[i].kind == p->items[j].kind;
		if (seen)
			rein_free(p->items[i].path);
		else
			p->items[kept++] = p->items[i];
	}
	p->nitems = kept;
}

static int plan_steps(struct plan *p, struct rein_gitdir *git)
{
	char cwd[PATH_MAX];
	int rc;

	if (p->opts->home && p->opts->home[0] == '/' && !realpath(p->opts->home, p->home))
		p->home[0] = '\0';
	if (resolve_cwd(p, cwd) < 0 || find_workspace(p, cwd, git) < 0 || add_options(p, cwd) < 0)
		return -p->err->code;
	drop_duplicate_items(p);
	if (check_items(p) < 0 || rein_mounts_read(p->opts->mountinfo, &p->mounts, p->err) < 0 ||
	    add_roots(p, git) < 0)
		return -p->err->code;
	rc = !p->opts->whole_system ? 0 : p->opts->rootless ? whole_as_user(p) : whole_as_root(p);
	if (rc < 0 || add_mounts(p) < 0)
		return -p->err->code;
	settle_roots(p);
	if (make_state(p) < 0 || rein_viewrules_hidden(p->opts, &p->hidden, p->err) < 0 ||
	    hide_all_aliases(p) < 0 || hide_all(p) < 0 || apply_items(p) < 0 || keep_visible(p, p->home) < 0 ||
	    keep_visible(p, cwd) < 0 || rein_scratch_defaults(p->opts, p->v, p->err) < 0)
		return -p->err->code;
	qsort(p->v->paths, p->v->npaths, sizeof(*p->v->paths), by_rule_path);
	return 0;
}

int rein_view_plan(const struct rein_view_opts *opts, struct rein_view *ret, struct rein_err *err)
{
	auto_(rein_view_done) struct rein_view v = {0};
	auto_(rein_gitdir_done) struct rein_gitdir git = {0};
	auto_(plan_done) struct plan p = {.opts = opts, .v = &v, .err = err};

	if (!opts->state_dir || opts->state_dir[0] != '/')
		return rein_err_set(err, REIN_E_USAGE,
				    "the state directory must be an absolute path");
	if (plan_steps(&p, &git) < 0)
		return -err->code;
	*ret = v;
	v = (struct rein_view){0};
	return 0;
}
