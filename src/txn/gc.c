/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Letting old transactions go. One that goes is first renamed out of the list, so that nobody can
 * undo it half; what a crash leaves in the trash is removed by the next collection.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/internal.h"

static int size_visit(const struct rein_visit *v, void *arg, struct rein_err *err)
{
	struct stat st;

	(void)err;
	if (fstatat(v->dirfd, v->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*(uint64_t *)arg += (uint64_t)st.st_blocks * 512;
	return 0;
}

static uint64_t size_of(const struct rein_tx *t)
{
	struct rein_err ignored = {0};
	uint64_t bytes = 0;

	for (size_t i = 0; i < t->nroots; i++)
		rein_tree_walk(AT_FDCWD, t->roots[i].store, size_visit, &bytes, &ignored);
	return bytes;
}

static int remove_roots(const struct rein_tx *t, struct rein_err *err)
{
	for (size_t i = 0; i < t->nroots; i++)
		if (rein_remove_store(&t->roots[i], err) < 0)
			return -err->code;
	return 0;
}

/*
 * STATE/trash/ID: description still there, content perhaps half gone. One whose filesystem lets
 * nothing go now must not keep the others: it stays, and *stuck tells of it.
 */
static int empty_trash(const struct rein_state *s, struct rein_err *stuck, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int trash = openat(s->fd, "trash", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rein_state in_trash = *s;

	if (trash < 0)
		return errno == ENOENT ? 0 : rein_err_errno(err, "open 'trash'");
	if (rein_names_read(trash, "", &names, err) < 0)
		return -err->code;
	in_trash.txn_fd = trash;
	for (size_t i = 0; i < names.n; i++) {
		auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
		struct rein_err skip = {0};

		if (rein_tx_load(&in_trash, names.v[i], &t, &skip) < 0 || remove_roots(&t, stuck) == 0)
			rein_tree_remove(trash, names.v[i], stuck);
	}
	return 0;
}

static int to_trash(const struct rein_state *s, const char *id, struct rein_err *err)
{
	auto_close int trash = -1;

	if (mkdirat(s->fd, "trash", 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "create 'trash'");
	trash = openat(s->fd, "trash", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trash < 0 || renameat(s->txn_fd, id, trash, id) < 0)
		return rein_err_errno(err, "remove transaction %s", id);
	return 0;
}

/* One by one: a run that takes a spare at this moment has all of it, or none. */
static void spares_to_trash(const struct rein_state *s)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_err ignored = {0};

	if (rein_names_read(s->fd, "spare", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *from = rein_asprintf("spare/%s", names.v[i]);
		auto_free char *to = rein_asprintf("trash/%s", names.v[i]);

		if (from && to && (mkdirat(s->fd, "trash", 0700) == 0 || errno == EEXIST))
			renameat(s->fd, from, s->fd, to);
	}
}

/* Given up half done: what it took from the tree may be nowhere else, and stays as long as any undo would. */
static bool is_abandoned(const struct rein_state *s, const char *id)
{
	auto_free char *ops = rein_asprintf("%s/ops.abandoned", id);

	return !ops || faccessat(s->txn_fd, ops, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Without effects and without a description, or with an empty one: what a power cut leaves of a run before anything of it
 * was on disk. A description that is there but cannot be read is left alone: somebody's work may hang on it.
 */
static bool is_unborn(const struct rein_state *s, const char *id)
{
	auto_free char *meta = rein_asprintf("%s/meta", id);
	auto_free char *changes = rein_asprintf("%s/changes", id);
	struct stat st;

	if (!meta || !changes || faccessat(s->txn_fd, changes, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	return fstatat(s->txn_fd, meta, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size == 0 : errno == ENOENT;
}

/* Those that nobody holds. One that is just being begun looks the same: so it is held by us until it is gone ([T5]). */
static int collect_unborn(const struct rein_state *s, struct rein_gc_result *r, bool dry_run,
			  struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};

	if (rein_names_read(s->txn_fd, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		auto_close int lock = -1;

		if (!is_unborn(s, names.v[i]) || rein_tx_stuck(s, names.v[i]))
			continue;
		lock = openat(s->txn_fd, names.v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 || !is_unborn(s, names.v[i]))
			continue;
		r->removed++;
		if (!dry_run && to_trash(s, names.v[i], err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_tx_gc(const struct rein_state *s, const struct rein_gc_opts *o, struct rein_gc_result *ret,
		struct rein_err *err)
{
	auto_(rein_tx_list_done) struct rein_tx_list l = {0};
	auto_close int lock = -1;
	struct rein_gc_result r = {0};
	struct rein_err stuck = {0};
	uint64_t kept_bytes = 0;

	if (rein_journal_lock(s, &lock, err) < 0 || (!o->dry_run && empty_trash(s, &stuck, err) < 0) ||
	    collect_unborn(s, &r, o->dry_run, err) < 0 || rein_tx_list(s, &l, err) < 0)
		return -err->code;
	for (size_t i = 0; i < l.n; i++) {
		const struct rein_tx *t = &l.v[i];
		bool open = t->state == REIN_TX_RUNNING || t->state == REIN_TX_HELD ||
			    rein_tx_stuck(s, t->id);
		uint64_t bytes = size_of(t);
		uint64_t age = o->now_ns > t->created_ns ? o->now_ns - t->created_ns : 0;
		bool old = (o->keep_count && r.kept >= o->keep_count) ||
			   (o->keep_age_ns && age > o->keep_age_ns) ||
			   (o->keep_bytes && kept_bytes + bytes > o->keep_bytes);

		if (open || !old) {
			/* whoever was to remove what was thrown away may not have come to it */
			if (bytes && t->state == REIN_TX_DISCARDED && !is_abandoned(s, t->id) && !o->dry_run)
				remove_roots(t, &stuck);
			r.kept += !open;
			kept_bytes += bytes;
			continue;
		}
		r.removed++;
		r.bytes += bytes;
		if (!o->dry_run && to_trash(s, t->id, err) < 0)
			return -err->code;
	}
	if (!o->dry_run) {
		spares_to_trash(s);
		if (empty_trash(s, &stuck, err) < 0 || rein_moved_trim(s, err) < 0 ||
		    rein_tree_remove(s->fd, "used", err) < 0)
			return -err->code;
		rein_warm_sweep(s);
	}
	if (stuck.code) { /* everything else is done */
		*err = stuck;
		return -err->code;
	}
	*ret = r;
	return 0;
}
