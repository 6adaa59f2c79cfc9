/* SPDX-License-Identifier: Apache-2.0 */
/* See masks.h. */
#include "engine/masks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sys/attr.h"
#include "sys/priv.h"
#include "sys/tree.h"

static int rescue_each(int real, int upper, const struct rein_hide_list *h, struct rein_err *err)
{
	for (size_t i = 0; i < h->nforeign; i++) {
		const struct rein_foreign_dir *f = &h->foreign[i];
		auto_(rein_attrs_done) struct rein_attrs a = {0};

		if (f->uid != geteuid() || !*f->path)
			continue; /* only the group can be given without privilege */
		if (rein_mkdirs(upper, f->path, err) < 0 ||
		    rein_attrs_read(real, f->path, &a, err) < 0)
			return -err->code;
		if (fchownat(upper, f->path, (uid_t)-1, f->gid, 0) < 0) {
			unlinkat(upper, f->path, AT_REMOVEDIR);
			continue;
		}
		if (rein_attrs_apply(upper, f->path, &a, REIN_ATTR_ALL & ~REIN_ATTR_OWNER, err) < 0)
			return -err->code;
	}
	return 0;
}

/*
 * Directories of a foreign owner or group cannot be copied up without privilege; made in upper
 * beforehand, with the real one's face, the command can work in them. The tree's own directory may
 * be one that the command cannot write to: for that moment we can.
 */
static int rescue_foreign(const struct rein_root *r, const struct rein_hide_list *h,
			  struct rein_err *err)
{
	auto_close int real = -1, upper = -1;
	struct stat st;

	if (!h->nforeign)
		return 0;
	real = open(r->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	upper = open(r->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (real < 0 || upper < 0 || fstat(upper, &st) < 0)
		return rein_err_errno(err, "open '%s'", r->real);
	if (!(st.st_mode & S_IWUSR) && fchmod(upper, (st.st_mode & 07777) | S_IWUSR) < 0)
		return rein_err_errno(err, "write to '%s'", r->upper);
	if (rescue_each(real, upper, h, err) < 0)
		return -err->code;
	if (!(st.st_mode & S_IWUSR) && fchmod(upper, st.st_mode & 07777) < 0)
		return rein_err_errno(err, "change the mode of '%s'", r->upper);
	return 0;
}

/* Of one tree; the list may have been filled before, and is filled anew. */
static int find_one(const struct rein_engine *e, const struct rein_run *run, size_t at, struct rein_mask *m,
		    struct rein_err *err)
{
	const struct rein_cow *cow = &run->view.cow[at];
	struct rein_hide_opts o = {
		.state_dir = e->state.dir,
		.hide = cow->hide.v,
		.show = cow->show.v,
		.whole = cow->whole,
		.rootless = !rein_is_root(),
		.uid = geteuid(),
		.gid = getegid(),
		.search = run->view.workspace,
		.names = run->hide_names.v,
	};

	rein_hide_list_done(&m->hidden);
	rein_free(take_ptr(m->path));
	m->hidden = (struct rein_hide_list)REIN_HIDE_LIST_INIT;
	return rein_hide_mask(&o, cow->path, &m->path, &m->hidden, err);
}

static bool is_hidden(const struct rein_run *r, const struct rein_cow *in, const char *path)
{
	const struct rein_strlist *hidden = &r->masks[in - r->view.cow].hidden.paths;
	const char *inside = path + strlen(in->path) + !rein_streq(in->path, "/");

	for (size_t i = 0; i < r->view.npaths; i++)
		if (r->view.paths[i].access != REIN_PATH_RO && r->view.paths[i].access != REIN_PATH_EMPTY &&
		    rein_path_within(path, r->view.paths[i].path))
			return true;
	for (size_t i = 0; !rein_streq(path, in->path) && i < hidden->n; i++)
		if (rein_path_within(inside, hidden->v[i]))
			return true;
	return false;
}

/* One hidden path of a tree, where something else than this tree shows it. again: trees that hide more now. */
static int hide_elsewhere(struct rein_run *run, const struct rein_cow *tree, const char *rel, bool *again)
{
	auto_free char *path = rein_asprintf("%s/%s", rein_streq(tree->path, "/") ? "" : tree->path, rel);
	struct rein_cow *in = path ? rein_view_cow_of_(&run->view, path) : NULL;

	if (!path)
		return -1;
	/* a link led into a tree that lies in this one, and covers our mask there */
	if (in && in != tree && !rein_strlist_has(&in->hide, path)) {
		if (rein_strlist_add(&in->hide, path) < 0)
			return -1;
		again[in - run->view.cow] = true;
	}
	return rein_view_hide_mounted_(&run->view, path);
}

/* Trees come before those that lie in them. */
static int find_elsewhere(const struct rein_engine *e, struct rein_run *run, struct rein_err *err)
{
	auto_free bool *again = rein_calloc(run->nmasks + 1, sizeof(*again));

	if (!again)
		return rein_err_nomem(err);
	for (size_t at = 0; at < run->nmasks; at++) {
		struct rein_mask *m = &run->masks[at];

		if (again[at] && find_one(e, run, at, m, err) < 0)
			return -err->code;
		for (size_t i = 0; i < m->hidden.paths.n; i++)
			if (hide_elsewhere(run, &run->view.cow[at], m->hidden.paths.v[i], again) < 0)
				return rein_err_nomem(err);
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct rein_path_rule *)a)->path, ((const struct rein_path_rule *)b)->path);
}

/*
 * A path that an option names is shown; one that a policy protects is only not written to. Otherwise a
 * project's file, which may only take away, would show what its own user hides.
 */
static int protect(struct rein_run *r, struct rein_err *err)
{
	for (size_t i = 0; i < r->keep.n; i++) {
		const struct rein_cow *in;
		char real[PATH_MAX];
		struct stat st;

		if (!realpath(r->keep.v[i], real) || stat(real, &st) < 0)
			continue;
		in = rein_view_cow_of_(&r->view, real);
		/* outside of all trees nothing is written to anyway */
		if (!in || is_hidden(r, in, real))
			continue;
		if (rein_view_add_path_(&r->view, real, NULL, REIN_PATH_RO, S_ISDIR(st.st_mode)) < 0)
			return rein_err_nomem(err);
	}
	if (r->view.npaths)
		qsort(r->view.paths, r->view.npaths, sizeof(*r->view.paths), by_path);
	return 0;
}

int rein_masks_find(const struct rein_engine *e, struct rein_run *run, struct rein_err *err)
{
	run->masks = rein_calloc(run->view.ncow, sizeof(*run->masks));
	if (!run->masks)
		return rein_err_nomem(err);
	for (; run->nmasks < run->view.ncow; run->nmasks++)
		run->masks[run->nmasks].hidden = (struct rein_hide_list)REIN_HIDE_LIST_INIT;
	for (size_t at = 0; at < run->nmasks; at++)
		if (find_one(e, run, at, &run->masks[at], err) < 0)
			return -err->code;
	if (find_elsewhere(e, run, err) < 0)
		return -err->code;
	return protect(run, err);
}

/* PLACE/ID/rN, where the place lies in this tree and is not the state itself: it is hidden. 1 if it was not yet. */
static int hide_place(const struct rein_engine *e, const struct rein_root *in, struct rein_cow *cow, const char *store)
{
	auto_free char *place = rein_strdup(store);

	for (int up = 0; place && up < 2; up++) {
		char *slash = strrchr(place, '/');

		if (slash)
			*slash = '\0';
	}
	if (!place)
		return -1;
	if (!rein_path_within(place, in->real) || rein_path_within(place, e->state.dir) ||
	    rein_strlist_has(&cow->hide, place))
		return 0;
	return rein_strlist_add(&cow->hide, place) < 0 ? -1 : 1;
}

int rein_masks_give(const struct rein_engine *e, struct rein_run *run, struct rein_err *err)
{
	struct rein_tx *t = &run->tx;

	for (size_t at = 0; at < t->nroots; at++) {
		struct rein_root *r = &t->roots[at];
		struct rein_mask *m = &run->masks[at];
		bool more = false;

		for (size_t i = 0; i < t->nroots; i++) {
			int rc = hide_place(e, r, &run->view.cow[at], t->roots[i].store);

			if (rc < 0)
				return rein_err_nomem(err);
			more |= rc > 0;
		}
		if (more && find_one(e, run, at, m, err) < 0)
			return -err->code;
		r->mask = take_ptr(m->path);
		if (rescue_foreign(r, &m->hidden, err) < 0)
			return -err->code;
		run->foreign += m->hidden.nforeign;
		run->links |= m->hidden.links;
	}
	return 0;
}

void rein_masks_done(struct rein_run *r)
{
	for (size_t i = 0; i < r->nmasks; i++) {
		rein_hide_list_done(&r->masks[i].hidden);
		rein_free(r->masks[i].path);
	}
	rein_free(take_ptr(r->masks));
	r->nmasks = 0;
}
