/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of what a box sees, in named steps: where we are, what the options say, which trees are
 * copied on write, what is mounted inside them, what is hidden, what is scratch.
 */
#include "sandbox/view.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "sandbox/scratch.h"
#include "sandbox/viewplan.h"
#include "sandbox/viewrules.h"

/* Places of every box's own: nothing outside is seen there. */
static const char *const private_dirs[] = {"/proc", "/sys",	"/dev",	   "/tmp",
					   "/run",  "/var/tmp", "/var/run"};

bool rein_viewplan_is_private_(const char *path)
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
	return best && rein_viewplan_is_private_(path) && !rein_viewplan_is_private_(best->path)
		       ? NULL
		       : best;
}

void rein_view_done(struct rein_view *v)
{
	rein_free(v->workspace);
	rein_free(v->cwd);
	for (size_t i = 0; i < v->ncow; i++)
		rein_viewroots_done_(&v->cow[i]);
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
	rein_mounts_done(&v->mounts);
	*v = (struct rein_view){0};
}

static void plan_done(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->nitems; i++)
		rein_viewitem_done_(&p->items[i]);
	rein_free(p->items);
	rein_strlist_done(&p->hidden);
	rein_mounts_done(&p->mounts);
}

/* ---- where we are ---- */

/*
 * The user's spelling of the current directory stays if it leads to the same place inside, where
 * symbolic links are the same except in the directories that are the box's own.
 */
static int resolve_cwd(struct rein_viewplan *p, char *real)
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
	same = given[0] == '/' && !rein_viewplan_is_private_(given) && stat(given, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	p->v->cwd = rein_strdup(same ? given : real);
	return p->v->cwd ? 0 : rein_err_nomem(p->err);
}

static bool too_wide(struct rein_viewplan *p, const char *dir)
{
	return rein_streq(dir, "/") || (p->home[0] && rein_path_within(p->home, dir));
}

static int find_workspace(struct rein_viewplan *p, const char *cwd, struct rein_gitdir *git)
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
		return p->v->workspace ? 0 : rein_err_nomem(p->err);
	}
	if (rein_gitdir_find(cwd, git, p->err) < 0)
		return -p->err->code;
	p->v->workspace = rein_strdup(git->root ? git->root : cwd);
	if (!p->v->workspace)
		return rein_err_nomem(p->err);
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

/* ---- the steps ---- */

/* A home or current directory under /tmp would be lost in the box's own /tmp: shown read-only. */
static int keep_visible(struct rein_viewplan *p, const char *dir)
{
	const struct rein_view *v = p->v;

	if (!dir[0] || !rein_viewplan_is_private_(dir) || rein_view_cow_of_(v, dir))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(private_dirs); i++)
		if (rein_streq(dir, private_dirs[i]))
			return 0;
	for (size_t i = 0; i < v->npaths; i++)
		if (rein_path_within(dir, v->paths[i].path))
			return 0;
	return rein_view_add_path_(p->v, dir, NULL, REIN_PATH_RO, true) < 0 ? rein_err_nomem(p->err)
									    : 0;
}

static int by_rule_path(const void *a, const void *b)
{
	return strcmp(((const struct rein_path_rule *)a)->path,
		      ((const struct rein_path_rule *)b)->path);
}

static int plan_steps(struct rein_viewplan *p, struct rein_gitdir *git)
{
	char cwd[PATH_MAX];

	if (p->opts->home && p->opts->home[0] == '/' && !realpath(p->opts->home, p->home))
		p->home[0] = '\0';
	if (resolve_cwd(p, cwd) < 0 || find_workspace(p, cwd, git) < 0 ||
	    rein_viewitems_add_(p, cwd) < 0)
		return -p->err->code;
	if (rein_viewitems_check_(p) < 0 ||
	    rein_mounts_read(p->opts->mountinfo, &p->mounts, p->err) < 0 ||
	    rein_viewroots_add_(p, git) < 0)
		return -p->err->code;
	if ((p->opts->whole_system && rein_viewmounts_whole_(p) < 0) ||
	    rein_viewmounts_nested_(p) < 0)
		return -p->err->code;
	rein_viewroots_settle_(p);
	if (rein_viewitems_trees_(p) < 0 || rein_viewhide_state_(p) < 0 || rein_viewrules_hidden(p->opts, &p->hidden, p->err) < 0 ||
	    rein_viewhide_aliases_(p) < 0 || rein_viewhide_all_(p) < 0 ||
	    rein_viewitems_apply_(p) < 0 || keep_visible(p, p->home) < 0 ||
	    keep_visible(p, cwd) < 0 || rein_scratch_defaults(p->opts, p->v, p->err) < 0)
		return -p->err->code;
	qsort(p->v->paths, p->v->npaths, sizeof(*p->v->paths), by_rule_path);
	return 0;
}

int rein_view_plan(const struct rein_view_opts *opts, struct rein_view *ret, struct rein_err *err)
{
	auto_(rein_view_done) struct rein_view v = {0};
	auto_(rein_gitdir_done) struct rein_gitdir git = {0};
	auto_(plan_done) struct rein_viewplan p = {.opts = opts, .v = &v, .err = err};

	if (!opts->state_dir || opts->state_dir[0] != '/')
		return rein_err_set(err, REIN_E_USAGE,
				    "the state directory must be an absolute path");
	if (plan_steps(&p, &git) < 0)
		return -err->code;
	*ret = v;
	ret->mounts = p.mounts;
	v = (struct rein_view){0};
	p.mounts = (struct rein_mounts){0};
	return 0;
}
