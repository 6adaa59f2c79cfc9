/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of an undo or a redo are those of the commit, written down then. Meanwhile people worked in the tree, and
 * decided about what is in the way: the steps follow.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "txn/internal.h"

const struct rein_change *rein_op_change(const struct rein_op *o, const struct rein_changes *c)
{
	static const uint8_t kinds[] = {
		[REIN_OP_EXCHANGE] = REIN_CHANGE_MODIFIED,
		[REIN_OP_CREATE] = REIN_CHANGE_CREATED,
		[REIN_OP_DELETE] = REIN_CHANGE_DELETED,
		[REIN_OP_META] = REIN_CHANGE_META,
		[REIN_OP_DIRMETA] = 0,
	};

	for (size_t i = rein_changes_find(c, o->root, o->path);
	     i < c->n && c->v[i].root == o->root && rein_streq(c->v[i].path, o->path); i++)
		if (kinds[o->kind] && c->v[i].kind == kinds[o->kind])
			return &c->v[i];
	return NULL;
}

/*
 * What is left out since then has no step; and a file that was accepted in place of the one that was left there (it was
 * just compared) is the one to move.
 */
static void follow_changes(struct rein_ops *ops, const struct rein_changes *c, bool forward)
{
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++) {
		struct rein_op *o = &ops->v[i];
		const struct rein_change *x = rein_op_change(o, c);

		if (x && x->skipped) {
			rein_op_done(o);
			continue;
		}
		if (x && x->top && !x->link_to && !forward && (o->kind == REIN_OP_EXCHANGE || o->kind == REIN_OP_CREATE)) {
			o->ino_new = x->after.ino;
			rein_op_expect(&o->new, &x->after);
		}
		if (x && x->top && !x->link_to && forward && (o->kind == REIN_OP_EXCHANGE || o->kind == REIN_OP_DELETE)) {
			o->ino_old = x->before.ino;
			rein_op_expect(&o->old, &x->before);
		}
		ops->v[n++] = *o;
	}
	ops->n = n;
}

/* The change that a link is made for: the name it gives. */
static struct rein_change *named_by(const struct rein_op *o, const struct rein_changes *c)
{
	for (size_t i = rein_changes_find(c, o->root, o->path);
	     i < c->n && c->v[i].root == o->root && rein_streq(c->v[i].path, o->path); i++)
		if (c->v[i].kind == REIN_CHANGE_CREATED || c->v[i].kind == REIN_CHANGE_MODIFIED)
			return &c->v[i];
	return NULL;
}

/* What the run made of that file is in the slot: it comes as a file of its own. */
static int part(struct rein_ops *ops, const struct rein_op *link, struct rein_change *x, const struct rein_op_dirs *d,
		struct rein_err *err)
{
	auto_close int parent = -1;
	const char *name;

	if (rein_open_parent(d->store[link->root], link->slot, &name, &parent, err) < 0 ||
	    rein_fp_at(parent, name, &x->after, err) < 0)
		return -err->code;
	if (!x->after.mode)
		return rein_err_set(err, REIN_E_FAILED, "the stored content for '%s' is missing", link->path);
	for (size_t i = 0; i < ops->n; i++)
		if ((ops->v[i].kind == REIN_OP_CREATE || ops->v[i].kind == REIN_OP_EXCHANGE) &&
		    ops->v[i].root == link->root && rein_streq(ops->v[i].path, link->path))
			ops->v[i].ino_new = x->after.ino;
	return 0;
}

/* A name of the file, of those that come, through which it is changed (prepare.c); NULL: it is not to be any more. */
static const char *way_to(const struct rein_op *o, const struct rein_changes *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->v[i].skipped && c->v[i].through && c->v[i].link_to && c->v[i].root == o->root &&
		    c->v[i].link_ino == o->ino_old)
			return c->v[i].link_to;
	return NULL;
}

/* A file that is changed under a name by which the list does not know it: that is link_to of others. */
static bool goes_through(const struct rein_op *o, const struct rein_changes *c)
{
	if (o->kind != REIN_OP_INPLACE && o->kind != REIN_OP_META)
		return false;
	for (size_t i = rein_changes_find(c, o->root, o->path);
	     i < c->n && c->v[i].root == o->root && rein_streq(c->v[i].path, o->path); i++)
		if (c->v[i].in_place || c->v[i].kind == REIN_CHANGE_META)
			return false;
	return true;
}

/* One step: taken another way, or not at all. */
static int follow_tie(struct rein_ops *ops, struct rein_op *o, const struct rein_changes *c, const struct rein_op_dirs *d,
		      struct rein_err *err)
{
	struct rein_change *x = o->kind == REIN_OP_LINK ? named_by(o, c) : NULL;
	const char *to;
	char **way;

	if (!x && !goes_through(o, c))
		return 0;
	to = !x ? way_to(o, c) : x->skipped ? NULL : x->link_to;
	way = x ? &o->old_slot : &o->path;
	if (!to) {
		if (x && !x->skipped && part(ops, o, x, d, err) < 0)
			return -err->code;
		rein_op_done(o);
	} else if (!rein_streq(*way, to)) {
		rein_free(*way);
		*way = rein_strdup(to);
		return *way ? 0 : rein_err_nomem(err);
	}
	return 0;
}

static bool is_loose(const struct rein_op *o, const struct rein_changes *c)
{
	const struct rein_change *x = o->kind == REIN_OP_LINK ? named_by(o, c) : NULL;

	return x && (x->skipped || !x->link_to || !rein_streq(x->link_to, o->old_slot));
}

/*
 * Forward: what was to be a name of a real file is so by another name of that, or is a file of its own, where the one it
 * was tied to is gone or another file's by now.
 */
static int follow_ties(struct rein_ops *ops, const struct rein_changes *c, const struct rein_op_dirs *d,
		       struct rein_err *err)
{
	size_t i = 0, n = 0;

	while (i < ops->n && !is_loose(&ops->v[i], c))
		i++;
	if (i == ops->n)
		return 0;
	for (i = 0; i < ops->n; i++)
		if (follow_tie(ops, &ops->v[i], c, d, err) < 0)
			return -err->code;
	for (i = 0; i < ops->n; i++)
		if (ops->v[i].kind)
			ops->v[n++] = ops->v[i];
	ops->n = n;
	rein_ops_sort(ops);
	return 0;
}

/* What is at the path of a step now; nothing where its directory is gone, too. */
static int now_at(const struct rein_op_dirs *d, const struct rein_op *o, struct rein_fp *ret, struct rein_err *err)
{
	auto_close int parent = -1;
	const char *name;

	*ret = (struct rein_fp){0};
	if (rein_open_parent(d->real[o->root], o->path, &name, &parent, err) < 0)
		return err->sys == ENOENT || err->sys == ENOTDIR ? 0 : -err->code;
	return rein_fp_at(parent, name, ret, err);
}

/*
 * A directory that things only move in is compared by nobody. If it has another mode by now, that is somebody's later
 * work and stays. If another directory is in its place, the moves go there, and it keeps its own mode and time: half
 * way is too late to find that out. If it is gone, so is all that would have moved in it, as was just found.
 */
static int follow_directories(struct rein_ops *ops, const struct rein_op_dirs *d, struct rein_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++) {
		struct rein_op o = ops->v[i];
		const bool times = o.kind == REIN_OP_DIRMETA;
		struct rein_fp fp;

		if ((times || o.kind == REIN_OP_LIFT) && now_at(d, &o, &fp, err) < 0)
			return -err->code;
		if ((times || o.kind == REIN_OP_LIFT) && !S_ISDIR(fp.mode)) {
			rein_op_done(&ops->v[i]);
			continue;
		}
		if (times && rein_refuse_fixed(o.path, &fp, err) < 0)
			return -err->code;
		if (times && o.old.mode == o.new.mode)
			o.old.mode = o.new.mode = fp.mode;
		if (times && fp.ino != o.ino_old) {
			o.ino_old = fp.ino;
			o.old.mode = o.new.mode = fp.mode;
			o.old.mtime_ns = o.new.mtime_ns = fp.mtime_ns;
			o.bits = REIN_ATTR_MODE | REIN_ATTR_MTIME;
		}
		ops->v[n++] = o;
	}
	ops->n = n;
	return 0;
}

int rein_ops_follow(struct rein_ops *ops, struct rein_changes *c, const struct rein_op_dirs *d, bool forward,
		    struct rein_err *err)
{
	if (forward && follow_ties(ops, c, d, err) < 0)
		return -err->code;
	follow_changes(ops, c, forward);
	return follow_directories(ops, d, err);
}
