/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is hidden: Rein's own state, the table of viewrules, what --hide names, and every other way
 * to the same files through another mount.
 */
#include "sandbox/viewplan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int rein_viewhide_state_(struct rein_viewplan *p)
{
	auto_free char *dir = rein_strdup(p->opts->state_dir);
	char real[PATH_MAX];

	if (!dir)
		return rein_err_nomem(p->err);
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
	return rein_strlist_add(&p->hidden, real) < 0 ? rein_err_nomem(p->err) : 0;
}

/* In an empty home one sees the trees, and what options name. */
static bool is_put_back(const struct rein_viewplan *p, const char *path, const char *home)
{
	const struct rein_viewitem *item = rein_viewitems_of_(p, path);

	return rein_view_cow_of_(p->v, path) || (item && rein_path_within(item->path, home));
}

static bool is_hidden(const struct rein_viewplan *p, const char *path)
{
	const struct rein_view *v = p->v;
	const struct rein_cow *c = rein_view_cow_of_(v, path);

	for (size_t i = 0; i < v->npaths; i++)
		if (v->paths[i].access != REIN_PATH_RO && rein_path_within(path, v->paths[i].path) &&
		    !(v->paths[i].access == REIN_PATH_EMPTY && is_put_back(p, path, v->paths[i].path)))
			return true;
	for (size_t i = 0; c && i < c->hide.n; i++)
		if (rein_path_within(path, c->hide.v[i]))
			return true;
	return false;
}

/* Trees nobody asked for and mounts that lie in a hidden directory go with it. */
static void drop_inside(struct rein_view *v, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->ncow; i++) {
		if ((v->cow[i].whole || v->cow[i].found) && rein_path_within(v->cow[i].path, path))
			rein_viewroots_done_(&v->cow[i]);
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
static int check_hidden(struct rein_viewplan *p, const char *path)
{
	const char *inside = NULL, *what = NULL;

	for (size_t i = 0; i < p->v->ncow; i++)
		if (!p->v->cow[i].whole && !p->v->cow[i].found && rein_path_within(p->v->cow[i].path, path))
			inside = p->v->cow[i].path, what = ", which must be written to,";
	for (size_t i = 0; i < p->nitems; i++)
		if (rein_path_within(p->items[i].path, path))
			inside = p->items[i].path, what = "";
	if (rein_path_within(p->v->workspace, path))
		inside = p->v->workspace, what = ", the workspace,";
	if (!inside)
		return 0;
	return rein_err_set(
		p->err, REIN_E_USAGE,
		"'%s'%s lies inside '%s', which is hidden: show all of that with --ro '%s', "
		"or leave '%s' out",
		inside, what, path, path, inside);
}

/*
 * A home that is hidden is an empty one of the box's own, so that programs have where to write, and the workspace and what
 * else was named is there as well [V5]. Inside a tree it is hidden as everything is.
 */
static bool is_empty_home(const struct rein_viewplan *p, const char *path)
{
	return rein_streq(path, p->home) && !p->opts->whole_system && !rein_view_cow_of_(p->v, path);
}

/* One resolved path, with no regard to links. */
static int hide_path(struct rein_viewplan *p, const char *path)
{
	struct rein_view *v = p->v;
	const struct rein_viewitem *item = rein_viewitems_of_(p, path);
	struct rein_cow *c;
	struct stat st;

	if (item && rein_streq(item->path, path))
		return 0; /* the user named this very path: shown */
	if (is_hidden(p, path))
		return 0;
	if (is_empty_home(p, path))
		return rein_view_add_path_(v, path, NULL, REIN_PATH_EMPTY, true) < 0 ? rein_err_nomem(p->err) : 0;
	if (check_hidden(p, path) < 0)
		return -p->err->code;
	if (lstat(path, &st) < 0)
		return 0;
	drop_inside(v, path);
	c = rein_view_cow_of_(v, path);
	if (c && !rein_viewmounts_kept_(v, path))
		return rein_strlist_add(&c->hide, path) < 0 ? rein_err_nomem(p->err) : 0;
	if (S_ISLNK(st.st_mode))
		return 0; /* nothing can be mounted on a link; its target is hidden */
	if (rein_view_add_path_(v, path, NULL, REIN_PATH_HIDE, S_ISDIR(st.st_mode)) < 0)
		return rein_err_nomem(p->err);
	return 0;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What starts in an empty home starts nowhere, unless that place is put back. */
static int check_cwd(struct rein_viewplan *p)
{
	char cwd[PATH_MAX];

	if (!realpath(p->v->cwd, cwd) || rein_streq(cwd, p->home))
		return 0;
	for (size_t i = 0; i < p->v->npaths; i++)
		if (p->v->paths[i].access == REIN_PATH_EMPTY && rein_path_within(cwd, p->v->paths[i].path) &&
		    !is_put_back(p, cwd, p->v->paths[i].path))
			return rein_err_set(p->err, REIN_E_USAGE,
					    "the current directory '%s' is hidden with the home directory: show it with --ro, "
					    "or start elsewhere",
					    cwd);
	return 0;
}

int rein_viewhide_all_(struct rein_viewplan *p)
{
	qsort(p->hidden.v, p->hidden.n, sizeof(char *), by_string);
	for (size_t i = 0; i < p->hidden.n; i++) {
		const char *path = p->hidden.v[i];
		const struct rein_viewitem *item = rein_viewitems_of_(p, path);
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
	return check_cwd(p);
}

/* Other mounts of the same filesystem show a hidden path, or a tree with hidden files, again. */
static int hide_aliases(struct rein_viewplan *p, const char *base, bool tree)
{
	const struct rein_mount *own = rein_viewmounts_of_(p, base);
	char inside[2 * PATH_MAX], alias[2 * PATH_MAX];

	if (!own)
		return 0;
	rein_viewmounts_rebase_(base, own->point, own->root, inside, sizeof(inside));
	for (size_t i = 0; i < p->mounts.n; i++) {
		const struct rein_mount *m = &p->mounts.v[i];

		if (m == own || m->major != own->major || m->minor != own->minor ||
		    !rein_viewmounts_visible_(p, i))
			continue;
		if (rein_path_within(inside, m->root))
			rein_viewmounts_rebase_(inside, m->root, m->point, alias, sizeof(alias));
		else if (tree && rein_path_within(m->root, inside))
			snprintf(alias, sizeof(alias), "%s", m->point);
		else
			continue;
		if (rein_path_within(alias, base) || rein_path_within(base, alias) ||
		    (tree && rein_path_within(alias, p->v->workspace)) ||
		    faccessat(AT_FDCWD, alias, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (rein_strlist_add(&p->hidden, alias) < 0)
			return rein_err_nomem(p->err);
	}
	return 0;
}

int rein_viewhide_aliases_(struct rein_viewplan *p)
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

/* Something mounted in a tree that is shown as it is, read-only: no mask covers it. */
static struct rein_path_rule *bare_mount(const struct rein_view *v, const char *point)
{
	for (size_t i = 0; i < v->npaths; i++)
		if (v->paths[i].access == REIN_PATH_RO && v->paths[i].source && (!point || rein_streq(v->paths[i].path, point)))
			return &v->paths[i];
	return NULL;
}

static bool is_shown(const struct rein_view *v, const char *path)
{
	const struct rein_cow *c = rein_view_cow_of_(v, path);

	return c && rein_strlist_has(&c->show, path);
}

int rein_view_hide_mounted_(struct rein_view *v, const char *path)
{
	static const struct rein_view_opts here = {0};
	const struct rein_viewplan p = {.opts = &here, .v = v, .mounts = v->mounts};
	const struct rein_mount *own = bare_mount(v, NULL) ? rein_viewmounts_of_(&p, path) : NULL;
	char inside[2 * PATH_MAX], alias[2 * PATH_MAX];

	if (!own)
		return 0;
	rein_viewmounts_rebase_(path, own->point, own->root, inside, sizeof(inside));
	for (size_t i = 0; i < v->mounts.n; i++) {
		const struct rein_mount *m = &v->mounts.v[i];
		struct rein_path_rule *rule = bare_mount(v, m->point);
		struct stat st;

		if (!rule || m->major != own->major || m->minor != own->minor)
			continue;
		if (rein_path_within(m->root, inside)) { /* all that is mounted there */
			if (!is_shown(v, m->point))
				rule->access = REIN_PATH_HIDE;
			continue;
		}
		if (!rein_path_within(inside, m->root))
			continue;
		rein_viewmounts_rebase_(inside, m->root, m->point, alias, sizeof(alias));
		/* nothing can be mounted on a link; its target is hidden */
		if (!is_shown(v, alias) && lstat(alias, &st) == 0 && !S_ISLNK(st.st_mode) &&
		    rein_view_add_path_(v, alias, NULL, REIN_PATH_HIDE, S_ISDIR(st.st_mode)) < 0)
			return -1;
	}
	return 0;
}
