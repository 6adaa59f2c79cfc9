/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most runs change nothing. Their directories are not removed and made anew for the next run but
 * kept in STATE/spare and taken again: on some disks every removed directory is a request of its
 * own. A spare is STATE/txn/ID as it was: r0 with an empty upper and an empty work directory, and
 * "used", what the overlay had in the latter. Who takes the spare removes that while the box runs,
 * when there is nothing else to do; likewise STATE/used, the work directories of runs that were
 * decided.
 *
 * Where even the overlay stays mounted for the next run (sandbox/warm.h) the directories wait in
 * STATE/warm, as they are, locked by whoever holds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
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
static bool blank_upper(int r0)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int upper = openat(r0, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};
	struct stat st;

	return upper >= 0 && fstat(upper, &st) == 0 &&
	       rein_names_read(upper, "", &names, &ignored) == 0 && !names.n &&
	       rein_attrs_strip_overlay(upper, "", st.st_mode, &ignored) == 0;
}

/* Modes in there are 0, but who keeps something lets its owner look at it. */
static void open_up(int dirfd, const char *work)
{
	static const char *const inner[] = {"", "/incompat", "/incompat/volatile",
					    "/incompat/volatile/dirty"};

	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		auto_free char *path = rein_asprintf("%s/work%s", work, inner[i]);

		if (!path || fchmodat(dirfd, path, 0700, 0) < 0)
			return;
	}
}

/*
 * The mark of a "volatile" overlay, inside, forbids mounting it again. A directory is moved only by
 * who may write to it. "index" may stay, but only empty.
 */
static bool blank_work(int r0)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_err ignored = {0};

	open_up(r0, "work");
	if (renameat2(r0, "work/work", r0, "used", RENAME_NOREPLACE) < 0)
		return false;
	return rein_names_read(r0, "work/index", &names, &ignored) < 0 ? ignored.sys == ENOENT
								       : names.n == 0;
}

/* upper, work, used: nothing that anybody would miss. */
static bool only_these(int r0)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_err ignored = {0};

	return rein_names_read(r0, "", &names, &ignored) == 0 && names.n == 3;
}

/* Room for one more, and nothing in its directory but r0. */
static bool may_be_kept(const struct rein_state *s, const struct rein_tx *t)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int dir = open_spares(s, true);
	struct rein_err ignored = {0};

	if (dir < 0 || rein_names_read(dir, "", &names, &ignored) < 0 || names.n >= SPARES_MAX)
		return false;
	rein_names_done(&names);
	unlinkat(t->dirfd, "meta", 0);
	return rein_names_read(t->dirfd, "", &names, &ignored) == 0 && names.n == 1;
}

void rein_tx_blank(const struct rein_state *s, struct rein_tx *t)
{
	auto_close int r0 = -1;

	if (t->blank || t->nroots != 1 || t->roots[0].staged || !t->roots[0].store ||
	    !rein_path_within(t->roots[0].store, s->dir))
		return;
	r0 = openat(t->dirfd, "r0", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	t->blank = r0 >= 0 && blank_upper(r0) && blank_work(r0) && only_these(r0) &&
		   may_be_kept(s, t);
}

bool rein_spare_give(const struct rein_state *s, struct rein_tx *t)
{
	auto_free char *to = rein_asprintf("spare/%s", t->id);

	rein_tx_blank(s, t);
	return t->blank && to && renameat2(s->txn_fd, t->id, s->fd, to, RENAME_NOREPLACE) == 0;
}

/* Links in an index count as links of the files they belong to: such a one goes at once. */
static bool has_links(const char *work)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int fd = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};

	if (fd < 0)
		return true;
	return rein_names_read(fd, "index", &names, &ignored) < 0 ? ignored.sys != ENOENT : names.n > 0;
}

bool rein_spare_later(const struct rein_state *s, const struct rein_tx *t, size_t root)
{
	const struct rein_root *r = &t->roots[root];
	auto_free char *to = rein_asprintf("used/%s.%zu", t->id, root);

	if (!s || !to || r->staged || !rein_path_within(r->store, s->dir) || has_links(r->work) ||
	    (mkdirat(s->fd, "used", 0700) < 0 && errno != EEXIST))
		return false;
	open_up(AT_FDCWD, r->work);
	return renameat2(AT_FDCWD, r->work, s->fd, to, RENAME_NOREPLACE) == 0;
}

static bool is_empty(int dirfd, const char *name)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_err ignored = {0};

	return rein_names_read(dirfd, name, &names, &ignored) == 0 && !names.n;
}

/* Nothing but what a mounted overlay needs: upper, empty, and work. */
static bool is_untouched(const struct rein_tx *t)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int r0 = openat(t->dirfd, "r0", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};

	return r0 >= 0 && is_empty(r0, "upper") && !has_links(t->roots[0].work) &&
	       rein_names_read(r0, "", &names, &ignored) == 0 && names.n == 2;
}

/* One that nobody holds is left over from a holder that was killed. */
static bool remove_stale(const struct rein_state *s, const char *path)
{
	auto_close int dir = openat(s->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};

	return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0 && rein_tree_remove(s->fd, path, &ignored) == 0;
}

bool rein_tx_leave(const struct rein_state *s, struct rein_tx *t, const char *name, int *ret_dir)
{
	auto_free char *to = rein_asprintf("warm/%s", name);

	if (!to || t->nroots != 1 || t->roots[0].staged || !rein_path_within(t->roots[0].store, s->dir) ||
	    !is_untouched(t) || (mkdirat(s->fd, "warm", 0700) < 0 && errno != EEXIST))
		return false;
	unlinkat(t->dirfd, "meta", 0);
	if (renameat2(s->txn_fd, t->id, s->fd, to, RENAME_NOREPLACE) < 0 &&
	    (errno != EEXIST || !remove_stale(s, to) ||
	     renameat2(s->txn_fd, t->id, s->fd, to, RENAME_NOREPLACE) < 0))
		return false;
	*ret_dir = take_fd(&t->dirfd);
	return true;
}

void rein_tx_remove_warm(const struct rein_state *s, const char *name)
{
	auto_free char *path = rein_asprintf("warm/%s", name);
	struct rein_err ignored = {0};

	if (path)
		rein_tree_remove(s->fd, path, &ignored);
}

int rein_tx_cool(const struct rein_tx *t, struct rein_err *err)
{
	auto_close int r0 = openat(t->dirfd, "r0", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (r0 < 0 || !blank_upper(r0))
		return rein_err_set(err, REIN_E_STATE, "the directories of an earlier run are not as it left them");
	return rein_tx_reopen(t, err);
}

void rein_warm_sweep(const struct rein_state *s)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_err ignored = {0};

	if (rein_names_read(s->fd, "warm", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *path = rein_asprintf("warm/%s", names.v[i]);

		if (path)
			remove_stale(s, path);
	}
}

void rein_tx_tidy(const struct rein_state *s, const struct rein_tx *t)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int used = openat(s->fd, "used", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};

	rein_tree_remove(t->dirfd, "r0/used", &ignored);
	if (used < 0 || rein_names_read(used, "", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		rein_tree_remove(used, names.v[i], &ignored);
}
