/* SPDX-License-Identifier: Apache-2.0 */
/* From the index of a tree and the paths hidden by name to the hidden set, and to its mask. */
#include "sandbox/hide.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "sandbox/hideindex.h"
#include "sandbox/hidelinks.h"
#include "sandbox/hidemask.h"
#include "sandbox/viewhash.h"

/* Not searched in a tree of the whole system: programs' own files, and public certificates. */
static const char *const system_dirs[] = {
	"/bin",
	"/boot",
	"/dev",
	"/etc/apt",
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/nix",
	"/proc",
	"/run",
	"/sbin",
	"/snap",
	"/sys",
	"/tmp",
	"/usr",
	"/var/cache",
	"/var/lib/apt",
	"/var/lib/containerd",
	"/var/lib/containers",
	"/var/lib/docker",
	"/var/lib/dpkg",
	"/var/lib/flatpak",
	"/var/lib/snapd",
	"/var/log",
	"/var/tmp",
};

bool rein_hide_searches(const char *path, const char *search)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++)
		if (rein_path_within(path, system_dirs[i]) && !(search && rein_path_within(search, system_dirs[i])))
			return false;
	return true;
}

void rein_hide_list_done(struct rein_hide_list *l)
{
	rein_strlist_done(&l->paths);
	for (size_t i = 0; i < l->nforeign; i++)
		rein_free(l->foreign[i].path);
	rein_free(l->foreign);
	if (l->passing)
		rein_hidemask_release(l->passing, l->lock_fd);
	rein_free(l->passing);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	*l = (struct rein_hide_list)REIN_HIDE_LIST_INIT;
}

static bool listed(char *const *list, const char *real, const char *rel)
{
	size_t n = rein_streq(real, "/") ? 0 : strlen(real);

	for (size_t i = 0; list && list[i]; i++)
		if (strncmp(list[i], real, n) == 0 && list[i][n] == '/' &&
		    rein_streq(list[i] + n + 1, rel))
			return true;
	return false;
}

/* Where a repository keeps names that are branches, relative to it. */
static bool holds_branches(const char *rel)
{
	return rein_path_within(rel, "refs") || rein_path_within(rel, "logs/refs");
}

/*
 * Is a match in this directory the name of a branch? The marks of a repository (HEAD, objects,
 * refs) are an agent's to make, so they excuse only what lies where branches do, and a ref only if
 * it is as long as one: 40 or 64 digits and a newline.
 */
static bool is_branch(const struct rein_hideindex *x, uint32_t dir, int root_fd, const char *path)
{
	const char *here = x->strings + x->dirs[dir].path;
	struct stat st;

	for (uint32_t d = dir;; d = x->dirs[d].parent) {
		const char *top = x->strings + x->dirs[d].path;
		const char *rel = here + strlen(top) + (*top && d != dir);

		if ((x->dirs[d].flags & REIN_HIDEDIR_GIT) && holds_branches(rel))
			return rein_path_within(rel, "logs/refs") ||
			       (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				(S_ISDIR(st.st_mode) ||
				 (S_ISREG(st.st_mode) && (st.st_size == 41 || st.st_size == 65))));
		if (d == 0)
			return false;
	}
}

/* A directory called .env that is a Python environment stays. */
static bool is_venv(const struct rein_hideindex *x, const struct rein_hidedir *d, const char *name)
{
	for (uint32_t i = 0; i < d->nchild; i++) {
		const struct rein_hidedir *c = &x->dirs[d->first_child + i];

		if (rein_streq(rein_basename(x->strings + c->path), name))
			return c->flags & REIN_HIDEDIR_VENV;
	}
	return false;
}

static int add_matches(const struct rein_hide_opts *o, const char *real, int root_fd,
		       const struct rein_hideindex *x, uint32_t dir, struct rein_strlist *ret)
{
	const struct rein_hidedir *d = &x->dirs[dir];
	const char *above = x->strings + d->path;

	for (uint32_t i = 0; i < d->nmatch; i++) {
		const struct rein_hidematch *m = &x->matches[d->first_match + i];
		const char *name = x->strings + m->name;
		auto_free char *path = rein_asprintf("%s%s%s", above, *above ? "/" : "", name);

		if (!path)
			return -1;
		if (listed(o->show, real, path) ||
		    ((m->flags & REIN_HIDEMATCH_INNER) && listed(o->show, real, above)) ||
		    ((m->flags & REIN_HIDEMATCH_DIR) && rein_starts(name, ".env") && is_venv(x, d, name)) ||
		    is_branch(x, dir, root_fd, path))
			continue;
		if (rein_strlist_take(ret, take_ptr(path)) < 0)
			return -1;
	}
	return 0;
}

/* Other names of what was found, except those the user named. */
static int add_links(const struct rein_hide_opts *o, const char *real, int root_fd,
		     const struct rein_hideindex *x, struct rein_strlist *l)
{
	size_t kept = l->n;

	if (rein_hidelinks_add(x, real, root_fd, l) < 0)
		return -1;
	for (size_t i = kept; i < l->n; i++) {
		if (listed(o->show, real, l->v[i]))
			rein_free(l->v[i]);
		else
			l->v[kept++] = l->v[i];
	}
	l->n = kept;
	return 0;
}

static int add_named(const struct rein_hide_opts *o, const char *real, struct rein_strlist *ret)
{
	size_t n = rein_streq(real, "/") ? 0 : strlen(real);

	for (size_t i = 0; o->hide && o->hide[i]; i++) {
		const char *path = o->hide[i];

		if (strncmp(path, real, n) == 0 && path[n] == '/' && path[n + 1] &&
		    rein_strlist_add(ret, path + n + 1) < 0)
			return -1;
	}
	return 0;
}

/* '/' sorts before everything else, so that what is inside a path follows it directly. */
static int by_path(const void *pa, const void *pb)
{
	const unsigned char *a = *(unsigned char *const *)pa, *b = *(unsigned char *const *)pb;

	while (*a && *a == *b)
		a++, b++;
	return (*a == '/' ? 1 : *a ? *a + 1 : 0) - (*b == '/' ? 1 : *b ? *b + 1 : 0);
}

static void drop_covered(struct rein_strlist *l)
{
	size_t kept = 0;

	if (l->n > 1)
		qsort(l->v, l->n, sizeof(char *), by_path);
	for (size_t i = 0; i < l->n; i++) {
		if (kept && rein_path_within(l->v[i], l->v[kept - 1]))
			rein_free(l->v[i]);
		else
			l->v[kept++] = l->v[i];
	}
	l->n = kept;
	if (l->v)
		l->v[kept] = NULL;
}

static int add_foreign(const struct rein_hide_opts *o, const struct rein_hideindex *x,
		       struct rein_hide_list *l)
{
	for (uint32_t i = 0; i < x->ndirs; i++) {
		const struct rein_hidedir *d = &x->dirs[i];

		if ((d->uid == o->uid && d->gid == o->gid) || (d->flags & REIN_HIDEDIR_BLIND))
			continue;
		if (rein_grow(l->foreign, l->nforeign, l->foreign_cap) < 0)
			return -1;
		l->foreign[l->nforeign] =
			(struct rein_foreign_dir){.path = rein_strdup(x->strings + d->path),
						  .uid = d->uid,
						  .gid = d->gid,
						  .mode = d->mode & 07777};
		if (!l->foreign[l->nforeign].path)
			return -1;
		l->nforeign++;
	}
	return 0;
}

/* system_dirs below the tree, relative to it; one holding the searched directory is left out. */
static int prune_list(const struct rein_hide_opts *o, const char *real, struct rein_strlist *ret)
{
	size_t n = rein_streq(real, "/") ? 0 : strlen(real);

	for (size_t i = 0; o->whole && i < ARRAY_SIZE(system_dirs); i++) {
		const char *dir = system_dirs[i];

		if ((o->search && rein_path_within(o->search, dir)) || strlen(dir) <= n + 1 ||
		    !rein_path_within(dir, real))
			continue;
		if (rein_strlist_add(ret, dir + n + 1) < 0)
			return -1;
	}
	return 0;
}

static int index_file(const struct rein_hide_opts *o, const char *real, char *ret,
		      struct rein_err *err)
{
	uint64_t h = rein_hash64(real, strlen(real), 5);

	if ((size_t)snprintf(ret, PATH_MAX, "%s/index", o->state_dir) >= PATH_MAX)
		return rein_err_set(err, REIN_E_LIMIT, "path too long: '%s'", o->state_dir);
	if (mkdir(ret, 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "index directory '%s'", ret);
	if ((size_t)snprintf(ret, PATH_MAX, "%s/index/%016llx", o->state_dir,
			     (unsigned long long)h) >= PATH_MAX)
		return rein_err_set(err, REIN_E_LIMIT, "path too long: '%s'", o->state_dir);
	return 0;
}

void rein_hide_forget(const char *state_dir, const char *real)
{
	struct rein_hide_opts o = {.state_dir = state_dir};
	struct rein_err ignored = {0};
	char file[PATH_MAX];

	if (index_file(&o, real, file, &ignored) == 0)
		unlink(file);
}

static int find_hidden(const struct rein_hide_opts *o, const char *real, int root_fd,
		       struct rein_hide_list *l, struct rein_err *err)
{
	auto_(rein_hideindex_done) struct rein_hideindex x = {0};
	auto_strlist struct rein_strlist prune = {0};
	char file[PATH_MAX];
	struct stat st;
	struct rein_hideindex_opts xo = {.real = real, .root_fd = root_fd, .names = o->names};

	if (prune_list(o, real, &prune) < 0)
		return rein_err_nomem(err);
	xo.prune = (const char *const *)prune.v;
	if (!o->fresh) {
		if (index_file(o, real, file, err) < 0)
			return -err->code;
		xo.file = file;
	}
	if (stat(o->state_dir, &st) == 0) {
		xo.skip_dev = st.st_dev;
		xo.skip_ino = st.st_ino;
	}
	if (rein_hideindex_get(&xo, &x, err) < 0)
		return -err->code;
	for (uint32_t i = 0; i < x.ndirs; i++)
		if (x.dirs[i].nmatch && add_matches(o, real, root_fd, &x, i, &l->paths) < 0)
			return rein_err_nomem(err);
	if (add_named(o, real, &l->paths) < 0 || add_links(o, real, root_fd, &x, &l->paths) < 0 ||
	    (o->rootless && add_foreign(o, &x, l) < 0))
		return rein_err_nomem(err);
	drop_covered(&l->paths);
	/* of a whole system only a part was looked at */
	l->links = x.links || o->whole;
	l->ndirs = x.ndirs;
	l->nread = x.nread;
	return 0;
}

int rein_hide_mask(const struct rein_hide_opts *opts, const char *real, char **ret_mask,
		   struct rein_hide_list *ret_hidden, struct rein_err *err)
{
	auto_(rein_hide_list_done) struct rein_hide_list l = REIN_HIDE_LIST_INIT;
	auto_close int fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *mask = NULL;

	if (fd < 0) /* a tree one may enter but not list */
		fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return rein_err_errno(err, "open '%s'", real);
	if (find_hidden(opts, real, fd, &l, err) < 0)
		return rein_err_prefix(err, "look for secrets in '%s'", real);
	if (l.paths.n && rein_hidemask_get(opts, real, fd, &l.paths, &mask, &l.lock_fd, err) < 0)
		return -err->code;
	if (mask && !rein_path_within(mask, opts->state_dir) && !opts->mask_base) {
		l.passing = rein_strdup(mask);
		if (!l.passing)
			return rein_err_nomem(err);
	}
	*ret_mask = take_ptr(mask);
	*ret_hidden = l;
	l = (struct rein_hide_list)REIN_HIDE_LIST_INIT;
	return 0;
}
