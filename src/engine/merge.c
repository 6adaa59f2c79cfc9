/* SPDX-License-Identifier: Apache-2.0 */
/* Settling conflicts path by path. The transaction's private copy may change, the tree does not. */
#include "engine/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/glob.h"
#include "sys/file.h"

static bool named(const struct rein_strlist *globs, const char *path)
{
	for (size_t i = 0; i < globs->n; i++)
		if (rein_glob_match(globs->v[i], path))
			return true;
	return false;
}

static int now_there(const struct rein_tx *t, const struct rein_change *x, struct rein_fp *ret,
		     struct rein_err *err)
{
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (real < 0)
		return rein_err_errno(err, "open '%s'", t->roots[x->root].real);
	return rein_fp_at(real, x->path, ret, err);
}

/* From now on the change is against what is there now. */
static int rebase(const struct rein_tx *t, struct rein_change *x, struct rein_err *err)
{
	struct rein_fp now;

	if (now_there(t, x, &now, err) < 0)
		return -err->code;
	x->before = now;
	x->clash = REIN_CLASH_NONE;
	if (x->kind == REIN_CHANGE_DELETED)
		x->skipped = !now.mode; /* gone on both sides */
	else if (!now.mode)
		x->kind = REIN_CHANGE_CREATED;
	else if (x->kind == REIN_CHANGE_CREATED)
		x->kind = REIN_CHANGE_MODIFIED;
	if (x->kind == REIN_CHANGE_CREATED || x->kind == REIN_CHANGE_MODIFIED)
		x->in_place = x->in_place && now.nlink > 1;
	return 0;
}

int rein_resolve(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		 const struct rein_strlist *ours, const struct rein_strlist *theirs, bool merge,
		 struct rein_err *err)
{
	int n = rein_tx_check(&e->state, t, c, true, err);

	(void)merge;
	if (n <= 0)
		return n;
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (!x->clash || x->skipped)
			continue;
		if (named(ours, x->path)) {
			x->skipped = true;
			x->clash = REIN_CLASH_NONE;
			n--;
		} else if (named(theirs, x->path) && x->clash != REIN_CLASH_HIDDEN &&
			   x->clash != REIN_CLASH_LINKS) {
			if (rebase(t, x, err) < 0)
				return -err->code;
			n--;
		}
	}
	if (n > 0)
		return rein_err_set(err, REIN_E_CONFLICT, "transaction %s: %d conflict%s", t->id, n,
				    n == 1 ? "" : "s");
	return 0;
}
