/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which trees are copied on write: the workspace, its repository, what --rw names; sorted, and none
 * of them inside another unless something stands between the two.
 */
#include "sandbox/viewplan.h"

void rein_viewroots_done_(struct rein_cow *c)
{
	rein_free(c->path);
	rein_strlist_done(&c->hide);
	rein_strlist_done(&c->show);
}

bool rein_viewroots_has_(const struct rein_view *v, const char *path)
{
	for (size_t i = 0; i < v->ncow; i++)
		if (rein_streq(v->cow[i].path, path))
			return true;
	return false;
}

int rein_viewroots_cow_(struct rein_viewplan *p, const char *path, bool whole)
{
	struct rein_view *v = p->v;

	if (rein_viewroots_has_(v, path))
		return 0;
	if (rein_grow(v->cow, v->ncow, v->cow_cap) < 0)
		return rein_err_nomem(p->err);
	v->cow[v->ncow] = (struct rein_cow){.path = rein_strdup(path), .whole = whole};
	if (!v->cow[v->ncow].path)
		return rein_err_nomem(p->err);
	v->ncow++;
	return 0;
}

static int add_git(struct rein_viewplan *p, const struct rein_gitdir *g)
{
	if (g->gitdir && g->unproven) {
		if (rein_view_note_(
			    p->v, true,
			    "git directory %s is read-only here: it does not name %s as its "
			    "work tree; add --rw '%s' to write to it",
			    g->gitdir, p->v->workspace, g->gitdir) < 0)
			return rein_err_nomem(p->err);
		return 0;
	}
	if (g->commondir && rein_viewroots_cow_(p, g->commondir, false) < 0)
		return -p->err->code;
	if (g->gitdir && !(g->commondir && rein_path_within(g->gitdir, g->commondir)))
		return rein_viewroots_cow_(p, g->gitdir, false);
	return 0;
}

int rein_viewroots_add_(struct rein_viewplan *p, const struct rein_gitdir *git)
{
	if (rein_viewroots_cow_(p, p->v->workspace, false) < 0 || add_git(p, git) < 0)
		return -p->err->code;
	for (size_t i = 0; i < p->nitems; i++) {
		if (p->items[i].kind != REIN_VIEW_RW || !p->items[i].is_dir)
			continue;
		if (rein_streq(p->items[i].path, "/"))
			return rein_err_set(p->err, REIN_E_USAGE,
					    "--rw / is spelled --whole-system");
		if (rein_viewroots_cow_(p, p->items[i].path, false) < 0)
			return -p->err->code;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct rein_cow *)a)->path, ((const struct rein_cow *)b)->path);
}

/* Does anything between outer and inner make inner a place of its own? */
static bool stands_apart(const struct rein_viewplan *p, const char *outer, const char *inner)
{
	if (rein_viewplan_is_private_(inner) && !rein_viewplan_is_private_(outer))
		return true; /* below /tmp, which is the box's own */
	for (size_t i = 0; i < p->mounts.n; i++) {
		const char *point = p->mounts.v[i].point;

		if (!rein_streq(point, outer) && rein_path_within(point, outer) &&
		    rein_path_within(inner, point) && rein_viewmounts_visible_(p, i))
			return true;
	}
	for (size_t i = 0; i < p->nitems; i++)
		if (p->items[i].kind == REIN_VIEW_RO && rein_path_within(p->items[i].path, outer) &&
		    rein_path_within(inner, p->items[i].path))
			return true;
	return false;
}

/* Sort, and drop every tree that a wider one holds anyway. */
void rein_viewroots_settle_(struct rein_viewplan *p)
{
	struct rein_view *v = p->v;
	size_t kept = 0;

	qsort(v->cow, v->ncow, sizeof(*v->cow), by_path);
	for (size_t i = 0; i < v->ncow; i++) {
		bool covered = false;

		for (size_t j = 0; j < kept && !covered; j++)
			covered = rein_path_within(v->cow[i].path, v->cow[j].path) && !v->cow[i].apart &&
				  !stands_apart(p, v->cow[j].path, v->cow[i].path);
		if (covered)
			rein_viewroots_done_(&v->cow[i]);
		else
			v->cow[kept++] = v->cow[i];
	}
	v->ncow = kept;
}
