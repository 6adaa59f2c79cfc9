/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --rw, --ro, --hide and --scratch say: resolved, checked against each other, and applied to
 * the view once the trees are known.
 */
#include "sandbox/viewplan.h"

#include <errno.h>
#include <sys/stat.h>

#include "sandbox/scratch.h"

static const char *const option_of[] = {[REIN_VIEW_RW] = "--rw",
					[REIN_VIEW_RO] = "--ro",
					[REIN_VIEW_HIDE] = "--hide",
					[REIN_VIEW_SCRATCH] = "--scratch"};

static int add_item(struct rein_viewplan *p, const char *path, const char *given, enum rein_viewkind kind, bool is_dir)
{
	struct rein_viewitem *it;

	if (rein_grow(p->items, p->nitems, p->items_cap) < 0)
		return rein_err_nomem(p->err);
	it = &p->items[p->nitems++];
	*it = (struct rein_viewitem){
		.path = rein_strdup(path), .given = rein_strdup(given), .kind = kind, .is_dir = is_dir};
	return it->path && it->given ? 0 : rein_err_nomem(p->err);
}

void rein_viewitem_done_(struct rein_viewitem *it)
{
	rein_free(it->path);
	rein_free(it->given);
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

static int no_directory(struct rein_viewplan *p, enum rein_viewkind kind, const char *path)
{
	return rein_err_set(p->err, REIN_E_USAGE, "%s '%s' is not a directory: name the directory that holds it",
			    option_of[kind], path);
}

static int add_option(struct rein_viewplan *p, const char *cwd, const char *given,
		      enum rein_viewkind kind)
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
	/* a file that may be written is one of a tree's: which trees there are is not known yet */
	if ((kind == REIN_VIEW_SCRATCH && !S_ISDIR(st.st_mode)) ||
	    (kind == REIN_VIEW_RW && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return no_directory(p, kind, given);
	if ((kind == REIN_VIEW_HIDE || kind == REIN_VIEW_SCRATCH) && rein_streq(real, "/"))
		return rein_err_set(p->err, REIN_E_USAGE, "%s '%s': not the root directory",
				    option_of[kind], given);
	/* A hidden one may be a link: both ends are hidden with the defaults, later. */
	if (kind == REIN_VIEW_HIDE) {
		if (!resolve_parent(path, real) || rein_strlist_add(&p->hidden, real) < 0)
			return rein_err_nomem(p->err);
		return 0;
	}
	return add_item(p, real, path, kind, S_ISDIR(st.st_mode));
}

static void drop_duplicate_items(struct rein_viewplan *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nitems; i++) {
		bool seen = false;

		for (size_t j = 0; j < kept; j++)
			seen |= rein_streq(p->items[i].path, p->items[j].path) &&
				p->items[i].kind == p->items[j].kind;
		if (seen)
			rein_viewitem_done_(&p->items[i]);
		else
			p->items[kept++] = p->items[i];
	}
	p->nitems = kept;
}

int rein_viewitems_add_(struct rein_viewplan *p, const char *cwd)
{
	char *const *lists[] = {
		[REIN_VIEW_RW] = p->opts->rw,
		[REIN_VIEW_RO] = p->opts->ro,
		[REIN_VIEW_HIDE] = p->opts->hide,
		[REIN_VIEW_SCRATCH] = p->opts->scratch,
	};

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; lists[k] && lists[k][i]; i++)
			if (add_option(p, cwd, lists[k][i], (enum rein_viewkind)k) < 0)
				return -p->err->code;
	drop_duplicate_items(p);
	return 0;
}

/* The most specific option that covers path, or NULL. */
const struct rein_viewitem *rein_viewitems_of_(const struct rein_viewplan *p, const char *path)
{
	const struct rein_viewitem *best = NULL;

	for (size_t i = 0; i < p->nitems; i++)
		if (rein_path_within(path, p->items[i].path) &&
		    (!best || strlen(p->items[i].path) > strlen(best->path)))
			best = &p->items[i];
	return best;
}

/* [V1] between --hide, which alone has filled the list by now, and the others */
static int check_hides(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->hidden.n; i++) {
		char real[PATH_MAX];
		bool there = realpath(p->hidden.v[i], real);

		for (size_t j = 0; j < p->nitems; j++)
			if (rein_streq(p->items[j].path, p->hidden.v[i]) ||
			    (there && rein_streq(p->items[j].path, real)))
				return rein_err_set(p->err, REIN_E_USAGE, "'%s' is given to both %s and --hide: keep one",
						    p->items[j].path, option_of[p->items[j].kind]);
	}
	return 0;
}

/* [V1], [V2] among the options */
int rein_viewitems_check_(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->nitems; i++) {
		const struct rein_viewitem *a = &p->items[i];

		for (size_t j = 0; j < p->nitems; j++) {
			const struct rein_viewitem *b = &p->items[j];

			if (i == j || !rein_path_within(a->path, b->path))
				continue;
			if (rein_streq(a->path, b->path) && a->kind != b->kind)
				return rein_err_set(p->err, REIN_E_USAGE,
						    "'%s' is given to both %s and %s: keep one",
						    a->path, option_of[b->kind],
						    option_of[a->kind]);
			if (b->kind == REIN_VIEW_SCRATCH && a->kind != REIN_VIEW_SCRATCH)
				return rein_err_set(p->err, REIN_E_USAGE,
						    "%s '%s' lies inside --scratch '%s', where "
						    "nothing outside is seen: drop one of the two",
						    option_of[a->kind], a->path, b->path);
		}
		if (a->kind == REIN_VIEW_SCRATCH && rein_path_within(p->v->workspace, a->path))
			return rein_err_set(p->err, REIN_E_USAGE,
					    "--scratch '%s' would cover the workspace '%s': name a "
					    "directory inside it, or another --workspace",
					    a->path, p->v->workspace);
	}
	return check_hides(p);
}

/*
 * A file given to --rw makes no tree of its own (an overlay is of directories): it is one that the tree
 * around it shows, whatever its name, and is copied with that tree. So there must be one, down to it.
 */
static int check_file(struct rein_viewplan *p, const struct rein_viewitem *it)
{
	const struct rein_cow *in = rein_view_cow_of_(p->v, it->path);
	const struct rein_viewitem *around;
	char dir[PATH_MAX];

	if (!in || rein_viewmounts_kept_(p->v, it->path))
		return no_directory(p, REIN_VIEW_RW, it->path);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(it->path, '/') - it->path), it->path);
	around = rein_viewitems_of_(p, dir);
	if (around && around->kind == REIN_VIEW_RO && rein_path_within(around->path, in->path))
		return rein_err_set(p->err, REIN_E_USAGE,
				    "--rw '%s' lies inside --ro '%s', where nothing is written: drop one of the two",
				    it->path, around->path);
	return 0;
}

int rein_viewitems_trees_(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->nitems; i++) {
		const struct rein_viewitem *it = &p->items[i];
		char real[PATH_MAX];

		if (rein_view_way(p->v, option_of[it->kind], it->given, real, p->err) < 0 ||
		    (it->kind == REIN_VIEW_RW && !it->is_dir && check_file(p, it) < 0))
			return -p->err->code;
		if (*real && !rein_streq(real, it->path))
			return rein_err_set(p->err, REIN_E_BUSY, "%s '%s' led to '%s' and leads to '%s' now: somebody changes it; try again",
					    option_of[it->kind], it->given, it->path, real);
	}
	return 0;
}

/* By every tree around it: what is a tree of its own must not be missing in the one it is mounted in. */
static int show(struct rein_viewplan *p, const char *path)
{
	for (size_t i = 0; i < p->v->ncow; i++)
		if (rein_path_within(path, p->v->cow[i].path) && rein_strlist_add(&p->v->cow[i].show, path) < 0)
			return rein_err_nomem(p->err);
	return 0;
}

int rein_viewitems_apply_(struct rein_viewplan *p)
{
	for (size_t i = 0; i < p->nitems; i++) {
		const struct rein_viewitem *it = &p->items[i];

		if (it->kind == REIN_VIEW_SCRATCH &&
		    rein_scratch_add(p->opts, p->v, it->path, p->err) < 0)
			return -p->err->code;
		if (it->kind != REIN_VIEW_SCRATCH && show(p, it->path) < 0)
			return -p->err->code;
		if (it->kind == REIN_VIEW_RO &&
		    rein_view_add_path_(p->v, it->path, NULL, REIN_PATH_RO, it->is_dir) < 0)
			return rein_err_nomem(p->err);
	}
	return 0;
}
