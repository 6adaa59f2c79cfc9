/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the real tree still what the changes assume? Forward: as it was when the box ended. Backward:
 * as the commit left it. Every path of the list is compared, and a directory that would move as a
 * whole is searched for what the list does not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/priv.h"
#include "sys/tree.h"
#include "txn/internal.h"

struct check {
	const struct rein_state *s;
	const struct rein_tx *t;
	struct rein_changes *c;
	struct rein_op_dirs d;
	struct rein_moved *moved;
	bool forward;
};

/* Same file in the same state; our own moves do not count. */
static bool same(const struct check *k, const struct rein_fp *was, const struct rein_fp *is)
{
	return rein_fp_equal(was, is) || (was->mode && is->mode && rein_moved_same(k->s, k->moved, was, is));
}

/*
 * A directory in which something changed, and nothing else of it: back again, its time keeps nothing from being undone.
 * What moves in it is compared by itself, and a directory that is gone or another one is followed (follow.c).
 */
static bool is_trace(const struct check *k, const struct rein_change *x)
{
	return x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) && !(x->what & ~REIN_WHAT_TIMES) &&
	       (!k->forward || k->t->state == REIN_TX_UNDONE);
}

/*
 * A name that another transaction gave it since would stay behind with the old content, or the new one: it was to be one
 * file. What is deleted, or only a name of another, or written in place, parts nothing.
 */
static bool would_part(const struct check *k, const struct rein_change *x, const struct rein_fp *was,
		       const struct rein_fp *now)
{
	return now->nlink > was->nlink && !S_ISDIR(now->mode) && !x->in_place && !x->link_to &&
	       (x->kind == REIN_CHANGE_MODIFIED || (x->kind == REIN_CHANGE_CREATED && !k->forward));
}

static uint8_t verdict(const struct check *k, const struct rein_change *x, const struct rein_fp *now)
{
	bool there_before = x->kind != REIN_CHANGE_CREATED;
	bool there_after = x->kind != REIN_CHANGE_DELETED;
	bool want = k->forward ? there_before : there_after;
	const struct rein_fp *was = k->forward ? &x->before : &x->after;

	if (!want && now->mode)
		return k->forward ? REIN_CLASH_EXISTS : REIN_CLASH_LATER;
	if (!want)
		return REIN_CLASH_NONE;
	if (!now->mode)
		return k->forward ? REIN_CLASH_GONE : REIN_CLASH_LATER;
	if (x->kind == REIN_CHANGE_META && S_ISDIR(now->mode) && !(x->what & ~REIN_WHAT_TIMES))
		return rein_fp_same_inode(was, now) ? REIN_CLASH_NONE : REIN_CLASH_CHANGED;
	if (same(k, was, now) && !would_part(k, x, was, now))
		return REIN_CLASH_NONE;
	return k->forward ? REIN_CLASH_CHANGED : REIN_CLASH_LATER;
}

struct search {
	const struct check *k;
	const struct rein_change *top;
	int64_t not_after_ns;
	bool whole; /* the list names everything that is in it */
	const char *found;
};

/*
 * Until when may a name inside have changed? What was left out of the commit is somebody else's, whatever has its name
 * now; so is what lies where the list says that nothing is, and what has a name by now that the run gave as well.
 * Whoever commits a directory over another one that both made (--theirs) has said so of what is in it; a redo puts
 * away what the undo brought back, and nothing that came since.
 */
static int64_t good_until(const struct search *s, const char *path)
{
	const struct check *k = s->k;
	const uint32_t root = s->top->root;

	for (size_t i = rein_changes_find(k->c, root, path);
	     i < k->c->n && k->c->v[i].root == root && rein_streq(k->c->v[i].path, path); i++) {
		const struct rein_change *x = &k->c->v[i];

		if (x->skipped)
			continue;
		if (x->top || x->kind != (k->forward ? REIN_CHANGE_CREATED : REIN_CHANGE_DELETED))
			return INT64_MAX; /* it is compared by itself */
		if (k->forward && k->t->state == REIN_TX_UNDONE)
			return k->t->decided_ns;
		if (k->forward && !s->top->what) /* the scan found nothing there to compare with */
			return INT64_MAX;
	}
	return s->whole ? INT64_MIN : s->not_after_ns;
}

/*
 * An entry the list does not name must be older than the moment the list was made. Where it names all, there is none,
 * whatever its time says: somebody may have set the clock back. (What is a whiteout to the overlay nobody sees in a box.)
 */
static int unknown_visit(const struct rein_visit *v, void *arg, struct rein_err *err)
{
	struct search *s = arg;
	const bool timed = !s->whole || (S_ISCHR(v->fp.mode) && v->fp.rdev == 0);

	(void)err;
	if ((timed && v->fp.ctime_ns <= s->not_after_ns) || rein_streq(v->path, s->top->path))
		return 0;
	if (v->fp.ctime_ns <= good_until(s, v->path))
		return 0;
	s->found = v->path;
	return 1;
}

static int search_inside(const struct check *k, struct rein_change *x, struct rein_err *err)
{
	struct search s = {
		.k = k,
		.top = x,
		.not_after_ns = k->forward ? k->t->begin_ns[x->root] : x->after.ctime_ns,
		/* but for one that was there, and had to be made because it was gone: that is all it had in the run */
		.whole = x->kind == (k->forward ? REIN_CHANGE_DELETED : REIN_CHANGE_CREATED) && !x->what,
	};
	int rc = rein_tree_walk(k->d.real[x->root], x->path, unknown_visit, &s, err);

	if (rc < 0 && err->sys == EACCES)
		return 0; /* what may not be read moves unseen, as it was made */
	if (rc < 0)
		return rc;
	if (s.found)
		x->clash = k->forward ? REIN_CLASH_CHANGED : REIN_CLASH_LATER;
	return 0;
}

static int check_one(const struct check *k, struct rein_change *x, struct rein_err *err)
{
	auto_close int parent = -1;
	const char *name;
	struct rein_fp now;

	if (is_trace(k, x))
		return 0;
	if (rein_open_parent(k->d.real[x->root], x->path, &name, &parent, err) < 0) {
		if (err->sys != ENOENT && err->sys != ENOTDIR && err->sys != ELOOP)
			return -err->code;
		x->clash = k->forward ? REIN_CLASH_GONE : REIN_CLASH_LATER;
		return 0;
	}
	if (rein_fp_at(parent, name, &now, err) < 0)
		return -err->code;
	x->clash = verdict(k, x, &now);
	if (!x->clash && now.mode) /* no part of what is compared; others are told of our moves where there are any */
		(k->forward ? &x->before : &x->after)->nlink = now.nlink;
	if (x->clash || !x->top || !S_ISDIR(now.mode) || x->kind == REIN_CHANGE_META)
		return 0;
	return search_inside(k, x, err);
}

/*
 * A name that the run gave to a real file: an editor that saves by renaming, or whoever removes it, leaves nothing to tie
 * the name to. Inside a new directory, too, where nothing else is compared.
 */
static int check_tie(const struct check *k, struct rein_change *x, struct rein_err *err)
{
	auto_close int parent = -1;
	const char *name;
	struct rein_fp now = {0};

	if (rein_open_parent(k->d.real[x->root], x->link_to, &name, &parent, err) < 0) {
		if (err->sys != ENOENT && err->sys != ENOTDIR && err->sys != ELOOP)
			return -err->code;
	} else if (rein_fp_at(parent, name, &now, err) < 0) {
		return -err->code;
	}
	if (!now.mode || now.ino != x->link_ino)
		x->clash = REIN_CLASH_UNTIED;
	return 0;
}

/* What lies inside something that is moved or absent anyway is told by its directory. */
static bool covered(const struct check *k, const struct rein_change *x, const struct rein_change *top)
{
	size_t n = top ? strlen(top->path) : 0;

	if (!top || x->top || top->root != x->root || strncmp(x->path, top->path, n) ||
	    x->path[n] != '/')
		return false;
	/* created in the way forward, or deleted in the way back: nothing is there to compare */
	return k->forward ? x->kind == REIN_CHANGE_CREATED : x->kind == REIN_CHANGE_DELETED;
}

static int check_once(const struct rein_state *s, const struct rein_tx *t, struct rein_changes *c,
		      bool forward, struct rein_err *err)
{
	struct rein_moved moved = {0};
	struct check k = {.s = s, .t = t, .c = c, .moved = &moved, .forward = forward};
	const struct rein_change *top = NULL;
	int clashes = 0;
	int rc = rein_op_dirs_open(t, &k.d, err);

	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		uint8_t fixed = x->clash;

		if (x->top)
			top = x;
		if (x->skipped)
			continue;
		/* found by the scan, and no look at the tree can make it go away */
		if (forward && (fixed == REIN_CLASH_HIDDEN || fixed == REIN_CLASH_LINKS ||
				fixed == REIN_CLASH_CHANGED)) {
			clashes++;
			continue;
		}
		x->clash = REIN_CLASH_NONE;
		if (!covered(&k, x, top))
			rc = check_one(&k, x, err);
		if (rc == 0 && forward && x->link_to && !x->clash)
			rc = check_tie(&k, x, err);
		clashes += x->clash != REIN_CLASH_NONE;
	}
	rein_op_dirs_done(&k.d);
	rein_moved_done(&moved);
	return rc < 0 ? rc : clashes;
}

int rein_tx_check(const struct rein_state *s, const struct rein_tx *t, struct rein_changes *c,
		  bool forward, struct rein_err *err)
{
	int rc;

	do
		rc = check_once(s, t, c, forward, err);
	while (rc < 0 && rein_master_own_files(err->sys));
	return rc;
}
