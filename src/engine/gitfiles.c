/* SPDX-License-Identifier: Apache-2.0 */
/* See gitfiles.h. On the careful side: what is in the tree or in the box's version of it counts as there. */
#include "engine/gitfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "engine/gitconfig.h"
#include "sys/file.h"
#include "sys/tree.h"

#define CONFIG_MAX  (1u << 20)
#define INCLUDE_MAX 64 /* files; git itself follows ten in a row */

void rein_gitfiles_done(struct rein_gitfiles *g)
{
	rein_strlist_done(&g->included);
	rein_strlist_done(&g->hooks);
}

struct including {
	struct rein_gitfiles *g;
	const char *config; /* whose directory the path of an included file starts at */
	const char *top;    /* of the work tree, where that of hooks does */
	struct rein_err *err;
};

static int read_config(const struct including *in);

/* The directory as it is, the name as it is said: the file may not be there yet. */
static char *resolved(const char *path)
{
	auto_free char *dir = rein_strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	char real[PATH_MAX];

	if (!slash)
		return NULL;
	*slash = '\0';
	if (!realpath(*dir ? dir : "/", real))
		return rein_strdup(path);
	return rein_asprintf("%s/%s", rein_streq(real, "/") ? "" : real, slash + 1);
}

/* A path as it is said in a configuration; a relative one starts at the first n bytes of dir. */
static char *said(struct rein_str path, const char *dir, size_t n)
{
	const char *home = getenv("HOME");
	auto_free char *full = NULL;

	if (path.n > 1 && path.p[0] == '~' && path.p[1] == '/')
		full = rein_asprintf("%s%.*s", home ? home : "", (int)path.n - 1, path.p + 1);
	else if (path.p[0] == '/')
		full = rein_strndup(path.p, path.n);
	else
		full = rein_asprintf("%.*s/%.*s", (int)n, dir, (int)path.n, path.p);
	return full ? resolved(full) : NULL;
}

static int on_include(void *arg, struct rein_str path)
{
	const struct including *in = arg;
	auto_free char *real = said(path, in->config, (size_t)(strrchr(in->config, '/') - in->config));
	struct including next = {in->g, real, in->top, in->err};

	if (!real)
		return rein_err_nomem(in->err);
	if (rein_strlist_has(&in->g->included, real) || in->g->included.n >= INCLUDE_MAX)
		return 0;
	if (rein_strlist_add(&in->g->included, real) < 0)
		return rein_err_nomem(in->err);
	return read_config(&next);
}

/* A directory that is a link is known by where it leads. */
static int on_hooks(void *arg, struct rein_str path)
{
	const struct including *in = arg;
	auto_free char *dir = NULL;
	char real[PATH_MAX];

	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	dir = said(path, in->top, strlen(in->top));
	if (!dir || rein_strlist_add(&in->g->hooks, realpath(dir, real) ? real : dir) < 0)
		return rein_err_nomem(in->err);
	return 0;
}

/* Without a trace, and whatever lies there. */
static bool read_file(const char *path, struct rein_buf *b)
{
	auto_close int fd = rein_open_quiet(AT_FDCWD, path);
	char chunk[4096];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(b, chunk, (size_t)n);
	return n == 0 && !b->failed;
}

/* One that cannot be read names nothing that is known. */
static int read_config(const struct including *in)
{
	auto_buf struct rein_buf b = REIN_BUF(CONFIG_MAX);
	struct including at = *in;
	struct rein_str text;
	int rc;

	if (!read_file(in->config, &b) || !b.n)
		return 0;
	text = (struct rein_str){b.p, b.n};
	rc = rein_gitconfig_hooks(text, on_hooks, &at);
	return rc < 0 ? rc : rein_gitconfig_includes(text, on_include, &at);
}

static bool is_there(const struct rein_gitfiles *g, uint32_t root, const char *dir, const char *name)
{
	auto_free char *path = rein_asprintf("%s%s%s", dir, *dir ? "/" : "", name);

	/* no memory to ask: it is */
	return !path || faccessat(g->content->upper[root], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       faccessat(g->content->dirs.real[root], path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* As git tells one; that of a linked work tree has the rest elsewhere. */
static bool is_gitdir(const struct rein_gitfiles *g, uint32_t root, const char *dir)
{
	return is_there(g, root, dir, "HEAD") &&
	       (is_there(g, root, dir, "commondir") ||
		(is_there(g, root, dir, "objects") && is_there(g, root, dir, "refs")));
}

int rein_gitfiles_open(const struct rein_content *content, struct rein_gitfiles *ret, struct rein_err *err)
{
	static const char *const configs[] = {"config", "config.worktree"};
	struct rein_gitfiles g = {.content = content};

	for (uint32_t i = 0; i < content->t->nroots; i++)
		for (size_t k = 0; k < ARRAY_SIZE(configs); k++) {
			/* a tree with a repository in it, or a repository that is a tree of its own */
			const char *real = content->t->roots[i].real;
			bool own = is_gitdir(&g, i, "");
			auto_free char *path = rein_asprintf("%s/%s%s", real, own ? "" : ".git/", configs[k]);
			struct including in = {&g, path, own && content->t->workspace ? content->t->workspace : real, err};

			if (!path)
				rein_err_nomem(err);
			if (!path || read_config(&in) < 0) {
				rein_gitfiles_done(&g);
				return -err->code;
			}
		}
	*ret = g;
	return 0;
}

static char *dir_of(const char *path)
{
	const char *name = rein_basename(path);

	return rein_strndup(path, name > path ? (size_t)(name - path) - 1 : 0);
}

static bool is_config_name(const char *name)
{
	return rein_streq(name, "config") || rein_streq(name, "config.worktree");
}

bool rein_gitfiles_is_config(const struct rein_gitfiles *g, uint32_t root, const char *path)
{
	bool named = is_config_name(rein_basename(path));
	auto_free char *full = NULL, *dir = NULL;

	if (!named && !g->included.n)
		return false;
	full = rein_asprintf("%s/%s", g->content->t->roots[root].real, path);
	dir = dir_of(path);
	if (!full || !dir) /* no memory to tell: it is looked at */
		return true;
	if (rein_strlist_has(&g->included, full))
		return true;
	return named && (strstr(full, "/.git/") || strstr(full, ".git/config") || is_gitdir(g, root, dir));
}

static bool is_sample(const char *name)
{
	const size_t n = strlen(name), end = strlen(".sample");

	return n > end && rein_streq(name + n - end, ".sample");
}

/* Is this where git looks for hooks? */
static bool is_hooks_dir(const struct rein_gitfiles *g, uint32_t root, const char *path)
{
	auto_free char *full = rein_asprintf("%s%s%s", g->content->t->roots[root].real, *path ? "/" : "", path);
	auto_free char *dir = dir_of(path);

	if (!full || !dir) /* no memory to tell: it is */
		return true;
	return rein_strlist_has(&g->hooks, full) ||
	       (rein_streq(rein_basename(path), "hooks") && is_gitdir(g, root, dir));
}

bool rein_gitfiles_is_hook(const struct rein_gitfiles *g, const struct rein_change *x)
{
	auto_free char *dir = dir_of(x->path);

	if (S_ISDIR(x->after.mode))
		return false;
	if (!dir || (!is_sample(rein_basename(x->path)) && is_hooks_dir(g, x->root, dir)))
		return true;
	/* the directory itself, where it is none any more, stands for all that it leads to */
	return is_hooks_dir(g, x->root, x->path);
}

bool rein_gitfiles_has_hooks(const struct rein_gitfiles *g, uint32_t root, const char *config)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_free char *dir = dir_of(config);
	auto_free char *hooks = dir ? rein_asprintf("%s%shooks", dir, *dir ? "/" : "") : NULL;
	struct rein_err ignored = {0};

	if (!hooks)
		return true;
	if (rein_names_read(g->content->dirs.real[root], hooks, &names, &ignored) < 0)
		return ignored.sys != ENOENT; /* one that cannot be read may hold anything */
	for (size_t i = 0; i < names.n; i++)
		if (!is_sample(names.v[i]))
			return true;
	return false;
}

bool rein_gitfiles_is_commondir(const struct rein_gitfiles *g, const struct rein_change *x)
{
	auto_free char *dir = NULL;

	if (!rein_streq(rein_basename(x->path), "commondir"))
		return false;
	dir = dir_of(x->path);
	return !dir || is_there(g, x->root, dir, "HEAD");
}

bool rein_gitfiles_leads_astray(const struct rein_gitfiles *g, uint32_t root, const char *path, struct rein_str text)
{
	auto_free char *dir = dir_of(path);
	auto_free char *all = dir ? dir_of(dir) : NULL;
	auto_free char *repository = all ? dir_of(all) : NULL;

	while (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	return !repository || text.n != 5 || memcmp(text.p, "../..", 5) != 0 ||
	       !rein_streq(rein_basename(all), "worktrees") || !is_gitdir(g, root, repository);
}

int rein_gitfiles_completes(const struct rein_gitfiles *g, const struct rein_change *x, char **ret_config,
			    struct rein_err *err)
{
	static const char *const parts[] = {"HEAD", "objects", "refs", "commondir"};
	auto_free char *dir = NULL;
	bool is_part = false;

	*ret_config = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		is_part |= rein_streq(rein_basename(x->path), parts[i]);
	if (!is_part || x->kind != REIN_CHANGE_CREATED)
		return 0;
	dir = dir_of(x->path);
	if (!dir)
		return rein_err_nomem(err);
	if (!is_gitdir(g, x->root, dir))
		return 0;
	*ret_config = rein_asprintf("%s%sconfig", dir, *dir ? "/" : "");
	return *ret_config ? 0 : rein_err_nomem(err);
}
