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
		if (x && x->top && !x->link_to && !forward && (o->kind == REIN_OP_EXCHANGE || o->kind == REIN_OP_CREATE))
			o->ino_new = x->after.ino;
		if (x && x->top && !x->link_to && forward && (o->kind == REIN_OP_EXCHANGE || o->kind == REIN_OP_DELETE))
			o->ino_old = x->before.ino;
		ops->v[n++] = *o;
	}
	ops->n = n;
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

int rein_ops_follow(struct rein_ops *ops, const struct rein_changes *c, const struct rein_op_dirs *d, bool forward,
		    struct rein_err *err)
{
	follow_changes(ops, c, forward);
	return follow_directories(ops, d, err);
}
