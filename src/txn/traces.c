/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our moves and links leave a trace on a file with several names that its other names show, too, and those may be in no
 * list of ours: another transaction knows one of them by the ctime it had. What such files were like is taken down before
 * the steps, what became of them is noted after them (moved.c). As there, what is missed costs a conflict that is none.
 */
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "txn/internal.h"

/* Where a step finds a file, and where it leaves it. */
enum { AT_PATH, AT_SLOT, AT_OLD_SLOT, AT_KEEP, N_PLACES };

static bool look_at(const struct rein_op *o, const struct rein_op_dirs *d, int place, struct rein_fp *ret)
{
	const int real = d->real[o->root], store = d->store[o->root];
	const struct {
		int root;
		const char *path;
	} places[N_PLACES] = {
		[AT_PATH] = {real, o->path},
		[AT_SLOT] = {store, o->slot},
		[AT_OLD_SLOT] = {real, o->kind == REIN_OP_LINK ? o->old_slot : NULL},
		[AT_KEEP] = {store, o->keep},
	};
	auto_close int parent = -1;
	struct rein_err ignored = {0};
	const char *name;

	return places[place].path &&
	       rein_open_parent(places[place].root, places[place].path, &name, &parent, &ignored) == 0 &&
	       rein_fp_at(parent, name, ret, &ignored) == 0 && ret->mode && !S_ISDIR(ret->mode);
}

/* The check before has counted the names of what is in the tree. */
static bool may_have_others(const struct rein_op *o, const struct rein_changes *c)
{
	const struct rein_change *x = rein_op_change(o, c);

	return o->kind == REIN_OP_LINK ||
	       ((o->kind == REIN_OP_EXCHANGE || o->kind == REIN_OP_CREATE || o->kind == REIN_OP_DELETE) && x &&
		(x->before.nlink > 1 || x->after.nlink > 1));
}

void rein_traces_take(const struct rein_ops *ops, const struct rein_changes *c, const struct rein_op_dirs *d,
		      struct rein_traces *ret)
{
	for (size_t i = 0; i < ops->n; i++) {
		struct rein_fp fp;

		if (!may_have_others(&ops->v[i], c))
			continue;
		for (int place = 0; place < N_PLACES; place++) {
			if (!look_at(&ops->v[i], d, place, &fp) || (fp.nlink < 2 && place != AT_OLD_SLOT))
				continue;
			if (rein_grow(ret->v, ret->n, ret->cap) < 0)
				return;
			ret->v[ret->n++] = (struct rein_trace){i, fp};
		}
	}
}

void rein_traces_note(const struct rein_state *s, const struct rein_traces *t, const struct rein_ops *ops,
		      const struct rein_op_dirs *d)
{
	struct rein_moved moved;

	if (!t->n)
		return;
	rein_moved_open(s, &moved);
	for (size_t i = 0; i < t->n; i++) {
		const struct rein_trace *was = &t->v[i];

		for (int place = 0; place < N_PLACES; place++) {
			struct rein_fp now, same;

			if (!look_at(&ops->v[was->op], d, place, &now))
				continue;
			same = now;
			same.ctime_ns = was->fp.ctime_ns;
			/* more than that is somebody else's work, or a change that is told as one */
			if (!rein_fp_equal(&was->fp, &same))
				continue;
			rein_moved_note(&moved, &was->fp, &now);
			break;
		}
	}
	rein_moved_close(s, &moved);
}

void rein_traces_done(struct rein_traces *t)
{
	rein_free(t->v);
	*t = (struct rein_traces){0};
}
