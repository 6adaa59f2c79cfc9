/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file under several names, of which some are left out of a commit. What comes is a file of its own; what is
 * held for another time has a copy. The names that stay behind in the private layer would count as names of a real
 * file, and their removal would look like somebody's work on it: so they go at the end of the commit, and it is noted.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "txn/internal.h"

static int by_file(const void *a, const void *b)
{
	const struct rein_change *x = *(struct rein_change *const *)a, *y = *(struct rein_change *const *)b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->after.ino != y->after.ino)
		return x->after.ino < y->after.ino ? -1 : 1;
	return 0;
}

static void mark(struct rein_change **v, size_t n)
{
	bool comes = false, stays = false;

	for (size_t i = 0; i < n; i++) {
		comes |= !v[i]->skipped && !v[i]->link_to;
		stays |= v[i]->skipped;
	}
	for (size_t i = 0; comes && stays && i < n; i++)
		v[i]->parted = v[i]->skipped || !v[i]->link_to;
}

int rein_parted_mark(struct rein_changes *c, struct rein_err *err)
{
	auto_free struct rein_change **v = NULL;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) { /* most commits have none: counted first */
		for (size_t i = n = 0; i < c->n; i++) {
			struct rein_change *x = &c->v[i];

			if (!x->after.mode || S_ISDIR(x->after.mode) || x->after.nlink < 2 || (x->in_place && !x->skipped))
				continue;
			if (v)
				v[n] = x;
			n++;
		}
		if (n < 2)
			return 0;
		if (!v)
			v = rein_calloc(n, sizeof(*v));
		if (!v)
			return rein_err_nomem(err);
	}
	qsort(v, n, sizeof(*v), by_file);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && by_file(&v[i], &v[k]) == 0; k++)
			;
		mark(v + i, k - i);
	}
	return 0;
}

/* Only if it is that name still: what an undo needs lies in the same layer. */
static void remove_name(const struct rein_op_dirs *d, const struct rein_change *x)
{
	auto_free char *path = rein_asprintf("upper/%s", x->path);
	auto_close int parent = -1;
	struct rein_err ignored = {0};
	struct rein_fp now;
	const char *name;

	if (path && rein_open_parent(d->store[x->root], path, &name, &parent, &ignored) == 0 &&
	    rein_fp_at(parent, name, &now, &ignored) == 0 && rein_fp_same_inode(&now, &x->after))
		unlinkat(parent, name, 0);
}

static bool look_again(const struct rein_op_dirs *d, struct rein_change *x, struct rein_moved *moved)
{
	auto_close int parent = -1;
	struct rein_err ignored = {0};
	struct rein_fp now, same;
	const char *name;

	if (rein_open_parent(d->real[x->root], x->path, &name, &parent, &ignored) < 0 ||
	    rein_fp_at(parent, name, &now, &ignored) < 0)
		return false;
	same = now;
	same.ctime_ns = x->after.ctime_ns;
	if (!rein_fp_equal(&x->after, &same))
		return false;
	rein_moved_note(moved, &x->after, &now);
	x->after = now;
	return true;
}

void rein_parted_forget(const struct rein_state *s, const struct rein_tx *t, const struct rein_op_dirs *d,
			struct rein_changes *c)
{
	struct rein_err ignored = {0};
	struct rein_moved moved;
	bool any = false;

	for (size_t i = 0; i < c->n; i++) {
		any |= c->v[i].parted;
		if (c->v[i].parted && c->v[i].skipped && !t->roots[c->v[i].root].staged)
			remove_name(d, &c->v[i]);
	}
	if (!any)
		return;
	rein_moved_open(s, &moved);
	for (size_t i = any = 0; i < c->n; i++)
		if (c->v[i].parted && !c->v[i].skipped)
			any |= look_again(d, &c->v[i], &moved);
	rein_moved_close(s, &moved);
	if (any)
		rein_tx_save_changes(t, c, true, &ignored);
}
