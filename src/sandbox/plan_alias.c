/* SPDX-License-Identifier: Apache-2.0 */
/* Other ways to what is hidden: the places where the same part of a file system is mounted once more. */
#include <sys/stat.h>

#include "sandbox/plan_items.h"

/* What follows dir in path: "" or "/...". path lies within dir. */
static const char *below(const char *path, const char *dir)
{
	return rein_streq(dir, "/") ? path : path + strlen(dir);
}

/* "/a" and "/b" to "/a/b"; "/" and "/b" to "/b", "/a" and "" or "/" to "/a". Owned by the list. */
static int join(struct rein_planitems *l, const char *dir, const char *rest, char **ret, struct rein_err *err)
{
	char *path = rein_asprintf("%s%s", rein_streq(dir, "/") ? "" : dir,
				   rein_streq(rest, "/") ? "" : rest);
	int rc;

	if (!path)
		return rein_err_nomem(err);
	*ret = *path ? path : (char *)(uintptr_t) "/";
	rc = rein_planitems_own_(l, ret, err);
	rein_free(path);
	return rc;
}

static const struct rein_mount *mount_of(const struct rein_mounts *mounts, const char *path)
{
	const struct rein_mount *best = NULL;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct rein_mount *m = &mounts->v[i];

		if (rein_path_within(path, m->point) &&
		    (!best || strlen(m->point) >= strlen(best->point)))
			best = m;
	}
	return best;
}

static bool same_file(const char *a, const char *b, bool *is_dir)
{
	struct stat x, y;

	if (lstat(a, &x) < 0 || lstat(b, &y) < 0 || x.st_dev != y.st_dev || x.st_ino != y.st_ino)
		return false;
	*is_dir = S_ISDIR(x.st_mode);
	return true;
}

static bool in_root(const struct rein_box_spec *spec, const char *path)
{
	for (size_t i = 0; spec && i < spec->nroots; i++)
		if (rein_path_within(path, spec->roots[i].real))
			return true;
	return false;
}

/*
 * The same part of a file system may be mounted at several places. What is hidden here, or below here
 * by a mask, is covered there too. Names count only if they lead to the same file: something else may
 * be mounted over them. If masked is given, its roots have masks of their own and stay.
 */
static int cover(struct rein_planitems *l, const struct rein_mounts *mounts, const char *path,
		 const struct rein_box_spec *masked, struct rein_err *err)
{
	const struct rein_mount *home = mount_of(mounts, path);
	char *inner, *here, *there;

	if (!home || rein_mounts_kind(home->fstype) == REIN_FS_PSEUDO)
		return 0;
	if (join(l, home->root, below(path, home->point), &inner, err) < 0)
		return -err->code;
	for (size_t i = 0; i < mounts->n; i++) {
		const struct rein_mount *m = &mounts->v[i];
		bool inside = rein_path_within(m->root, inner), is_dir;

		if (m == home || m->major != home->major || m->minor != home->minor ||
		    (!inside && !rein_path_within(inner, m->root)))
			continue;
		if (join(l, m->point, inside ? "" : below(inner, m->root), &there, err) < 0 ||
		    join(l, path, inside ? below(m->root, inner) : "", &here, err) < 0)
			return -err->code;
		if (rein_planitems_has_(l, there) || rein_streq(here, there) || in_root(masked, there) ||
		    !same_file(here, there, &is_dir))
			continue;
		if (rein_planitems_add_(
			    l,
			    (struct rein_planitem){.kind = is_dir ? REIN_MOUNT_HIDE_DIR : REIN_MOUNT_HIDE_FILE,
						   .flags = REIN_MOUNT_OPTIONAL,
						   .target = there},
			    err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_planitems_add_aliases_(struct rein_planitems *l, const struct rein_mounts *mounts,
				const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; i < spec->nroots; i++)
		if (spec->roots[i].mask && cover(l, mounts, spec->roots[i].real, spec, err) < 0)
			return -err->code;
	for (size_t i = 0; i < spec->npaths; i++) {
		enum rein_access access = spec->paths[i].access;

		/* in an empty one trees may lie that are seen all the same */
		if ((access == REIN_PATH_HIDE || access == REIN_PATH_EMPTY) &&
		    cover(l, mounts, spec->paths[i].path, access == REIN_PATH_EMPTY ? spec : NULL, err) < 0)
			return -err->code;
	}
	return 0;
}
