/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most runs change nothing. Their directories are not removed and made anew for the next run but
 * kept in STATE/spare and taken again: on some disks every removed directory is a request of its
 * own. A spare is STATE/txn/ID as it was: r0 with an empty upper and a used work directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/attr.h"
#include "sys/tree.h"
#include "txn/internal.h"

#define SPARES_MAX 4

static int open_spares(const struct rein_state *s, bool make)
{
	if (make && mkdirat(s->fd, "spare", 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(s->fd, "spare", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool rein_spare_take(const struct rein_state *s, const char *id)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int dir = open_spares(s, false);
	struct rein_err ignored = {0};

	if (dir < 0 || rein_names_read(dir, "", &names, &ignored) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) /* another process may be quicker: then the next */
		if (renameat2(dir, names.v[i], s->txn_fd, id, RENAME_NOREPLACE) == 0)
			return true;
	return false;
}

/* Nothing in upper, and no trace of the tree it belonged to. */
static bool make_blank(int r0)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int upper = openat(r0, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};
	struct stat st;

	if (upper < 0 || fstat(upper, &st) < 0 || rein_names_read(upper, "", &names, &ignored) < 0 ||
	    names.n || rein_attrs_strip_overlay(upper, "", st.st_mode, &ignored) < 0)
		return false;
	rein_names_done(&names);
	if (rein_names_read(r0, "", &names, &ignored) < 0 || names.n != 2)
		return false;
	rein_names_done(&names);
	/* the mark of a "volatile" overlay forbids mounting it again; the overlay's modes are 0 */
	if (fchmodat(r0, "work/work", 0700, 0) < 0 ||
	    rein_tree_remove(r0, "work/work/incompat", &ignored) < 0)
		return false;
	if (rein_names_read(r0, "work/work", &names, &ignored) < 0 || names.n)
		return false;
	rein_names_done(&names);
	return rein_names_read(r0, "work/index", &names, &ignored) < 0 ? ignored.sys == ENOENT
								       : names.n == 0;
}

bool rein_spare_give(const struct rein_state *s, const struct rein_tx *t)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int r0 = -1, dir = -1;
	struct rein_err ignored = {0};

	if (t->nroots != 1 || t->roots[0].staged ||
	    !rein_path_within(t->roots[0].store, s->dir))
		return false;
	r0 = openat(t->dirfd, "r0", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r0 < 0 || !make_blank(r0))
		return false;
	dir = open_spares(s, true);
	if (dir < 0 || rein_names_read(dir, "", &names, &ignored) < 0 || names.n >= SPARES_MAX)
		return false;
	rein_names_done(&names);
	unlinkat(t->dirfd, "meta", 0);
	if (rein_names_read(t->dirfd, "", &names, &ignored) < 0 || names.n != 1)
		return false;
	return renameat2(s->txn_fd, t->id, dir, t->id, RENAME_NOREPLACE) == 0;
}
