/* SPDX-License-Identifier: Apache-2.0 */
/* The table of caches, and the directories that stand in for them. */
#include "sandbox/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "sandbox/tops.h"
#include "sandbox/viewhash.h"

enum kind {
	CACHE,	  /* useful when empty: always scratch */
	STORE,	  /* useless when empty and offline: then left as it is */
	ENV_ONLY, /* only says where to go when it does not exist */
};

/* Below home. env=value is set when the directory does not exist and home cannot be written. */
static const struct {
	const char *path;
	enum kind kind;
	const char *env;
} table[] = {
	{".cache", CACHE, "XDG_CACHE_HOME=/tmp/.cache"},
	{".npm", CACHE, "npm_config_cache=/tmp/.npm"},
	{".ccache", CACHE, NULL},
	{".node-gyp", CACHE, NULL},
	{".bun/install/cache", CACHE, NULL},
	{".local/share/virtualenv", CACHE, NULL},
	{".yarn/berry", CACHE, NULL},
	{".gradle/daemon", CACHE, NULL},
	{".gradle/native", CACHE, NULL},
	{".gradle/.tmp", CACHE, NULL},
	{".gradle/notifications", CACHE, NULL},
	{".cargo", ENV_ONLY, "CARGO_HOME=/tmp/.cargo"},
	{".cargo/registry", STORE, NULL},
	{".cargo/git", STORE, NULL},
	{".m2/repository", STORE, NULL},
	{".ivy2", STORE, NULL},
	{".gradle", ENV_ONLY, "GRADLE_USER_HOME=/tmp/.gradle"},
	{".gradle/caches", STORE, NULL},
	{".gradle/wrapper", STORE, NULL},
	{"go", ENV_ONLY, "GOPATH=/tmp/go"},
	{"go/pkg", STORE, NULL},
	{".local/share/pnpm", STORE, NULL},
	{".bundle/cache", STORE, NULL},
	{".nuget/packages", STORE, NULL},
	{".dotnet", ENV_ONLY, "DOTNET_CLI_HOME=/tmp"},
};

static int make_dir(const char *path, struct rein_err *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "make scratch directory '%s'", path);
	return 0;
}

/* STATE/scratch/NAME-HASH/PATH-HASH, the first after the workspace, the second after path. */
static int make_source(const struct rein_view_opts *opts, const char *workspace, const char *path,
		       const struct stat *st, char **ret, struct rein_err *err)
{
	uint64_t ws = rein_hash64(workspace, strlen(workspace), 1);
	uint64_t own = rein_hash64(path, strlen(path), 2);
	auto_free char *dir = rein_asprintf("%s/scratch", opts->state_dir);
	auto_free char *mine = rein_asprintf("%s/scratch/%.100s-%016llx", opts->state_dir,
					     rein_basename(workspace), (unsigned long long)ws);
	auto_free char *source = mine ? rein_asprintf("%s/%.100s-%016llx", mine,
						      rein_basename(path), (unsigned long long)own)
				      : NULL;
	struct stat now;

	if (!dir || !source)
		return rein_err_nomem(err);
	if (lstat(source, &now) < 0) {
		if (make_dir(dir, err) < 0 || make_dir(mine, err) < 0 || make_dir(source, err) < 0)
			return -err->code;
		if (chmod(source, (st->st_mode & 07777) | 0700) < 0 ||
		    (opts->uid == 0 && chown(source, st->st_uid, st->st_gid) < 0))
			return rein_err_errno(err, "scratch directory '%s'", source);
	} else if (!S_ISDIR(now.st_mode)) {
		return rein_err_set(err, REIN_E_STATE,
				    "'%s' should be a directory: remove it and try again", source);
	}
	*ret = take_ptr(source);
	return 0;
}

int rein_scratch_add(const struct rein_view_opts *opts, struct rein_view *v, const char *path,
		     struct rein_err *err)
{
	auto_free char *source = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return rein_err_errno(err, "scratch path '%s'", path);
	if (make_source(opts, v->workspace, path, &st, &source, err) < 0)
		return -err->code;
	if (rein_view_add_path_(v, path, source, REIN_PATH_SCRATCH, true) < 0)
		return rein_err_nomem(err);
	return 0;
}

/* A table entry gives way to everything else that was said about the place. */
static bool gives_way(const struct rein_view *v, const char *path)
{
	for (size_t i = 0; i < v->ncow; i++)
		if (rein_path_within(v->cow[i].path, path))
			return true;
	for (size_t i = 0; i < v->npaths; i++)
		if (rein_path_within(v->paths[i].path, path) ||
		    (v->paths[i].access != REIN_PATH_RO && v->paths[i].access != REIN_PATH_EMPTY &&
		     rein_path_within(path, v->paths[i].path)))
			return true;
	for (size_t i = 0; i < v->ncow; i++)
		if (rein_strlist_has(&v->cow[i].show, path))
			return true;
	return rein_path_within(v->workspace, path);
}

int rein_scratch_defaults(const struct rein_view_opts *opts, struct rein_view *v,
			  struct rein_err *err)
{
	char home[PATH_MAX], path[PATH_MAX], real[PATH_MAX];
	auto_close int home_fd = -1;
	struct rein_tops tops;
	bool writable;

	if (!opts->home || opts->home[0] != '/' || !realpath(opts->home, home))
		return 0;
	home_fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (home_fd < 0)
		return 0;
	rein_tops_read(home_fd, &tops);
	writable = rein_view_cow_of_(v, home) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct stat st;

		if (!rein_tops_may_have(&tops, table[i].path) || fstatat(home_fd, table[i].path, &st, 0) < 0) {
			if (table[i].env && !writable &&
			    rein_strlist_add(&v->env, table[i].env) < 0)
				return rein_err_nomem(err);
			continue;
		}
		if (table[i].kind == ENV_ONLY || (table[i].kind == STORE && opts->offline) ||
		    !S_ISDIR(st.st_mode))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, table[i].path) >=
			    sizeof(path) ||
		    !realpath(path, real) || access(real, W_OK) < 0 || gives_way(v, real))
			continue;
		if (rein_scratch_add(opts, v, real, err) < 0)
			return -err->code;
	}
	return 0;
}
