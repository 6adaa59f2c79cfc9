/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files version control could bring back: those whose content, as it is now, is in the
 * repository's index. Only the index and the files are read; no hook, filter or configuration outside
 * the repository takes part.
 */
#include "text/tracked.h"

#include <git2.h>
#include <git2/sys/repository.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"

/* The same file as git last saw it; what only looks older or newer is read. */
static bool is_current(const git_index_entry *e, const char *path, const struct stat *st)
{
	git_oid oid;

	if (e->file_size == (uint32_t)st->st_size && e->mtime.seconds == (int32_t)st->st_mtim.tv_sec &&
	    e->mtime.nanoseconds == (uint32_t)st->st_mtim.tv_nsec && e->ino == (uint32_t)st->st_ino)
		return true;
	return git_odb_hashfile(&oid, path, GIT_OBJECT_BLOB) == 0 && git_oid_equal(&oid, &e->id);
}

static int look(git_index *index, const char *workdir, const char *dir, const char *const *paths, size_t n,
		bool *ret, struct rein_err *err)
{
	size_t top = strlen(workdir);

	for (size_t i = 0; i < n; i++) {
		auto_free char *full = rein_asprintf("%s/%s", dir, paths[i]);
		const git_index_entry *e;
		struct stat st;

		if (!full)
			return rein_err_nomem(err);
		if (strncmp(full, workdir, top) != 0)
			continue;
		e = git_index_get_bypath(index, full + top, 0);
		ret[i] = e && lstat(full, &st) == 0 && S_ISREG(st.st_mode) && is_current(e, full, &st);
	}
	return 0;
}

static int tracked_in(git_repository *repo, const char *dir, const char *const *paths, size_t n, bool *ret,
		      struct rein_err *err)
{
	const char *workdir = git_repository_workdir(repo);
	git_index *index = NULL;
	int rc = 0;

	if (!workdir)
		return 0;
	if (git_repository_index(&index, repo) < 0)
		return rein_err_set(err, REIN_E_INVALID, "the repository's index cannot be read");
	rc = look(index, workdir, dir, paths, n, ret, err);
	git_index_free(index);
	return rc;
}

int rein_text_tracked_(const char *dir, const char *const *paths, size_t n, bool *ret, struct rein_err *err)
{
	static const int levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
				     GIT_CONFIG_LEVEL_GLOBAL};
	git_repository *repo = NULL;
	int rc = 0;

	if (git_libgit2_init() < 0)
		return rein_err_set(err, REIN_E_FAILED, "start libgit2");
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0); /* nothing of it is run */
	if (git_repository_open_ext(&repo, dir, 0, NULL) == 0)
		rc = tracked_in(repo, dir, paths, n, ret, err);
	git_repository_free(repo);
	git_libgit2_shutdown();
	return rc;
}
