/* SPDX-License-Identifier: Apache-2.0 */
/* See tie.h. Only the list changes here, neither the tree nor the transaction. */
#include "engine/tie.h"

#include <fcntl.h>

#include "base/auto.h"
#include "sys/file.h"

int rein_real_now(const struct rein_tx *t, const struct rein_change *x, struct rein_fp *ret, struct rein_err *err)
{
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (real < 0)
		return rein_err_errno(err, "open '%s'", t->roots[x->root].real);
	return rein_fp_at(real, x->path, ret, err);
}

/* A real path that is still the file with this number, of those the changes tell of; NULL: none is known. */
static const char *still_named(const struct rein_tx *t, const struct rein_changes *c, uint32_t root, uint64_t ino)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rein_err ignored = {0};
		struct rein_fp now;

		if (c->v[i].root == root && c->v[i].before.ino == ino && c->v[i].before.mode &&
		    rein_real_now(t, &c->v[i], &now, &ignored) == 0 && now.mode && now.ino == ino)
			return c->v[i].path;
	}
	return NULL;
}

int rein_retie(const struct rein_tx *t, const struct rein_changes *c, struct rein_change *x, struct rein_err *err)
{
	const struct rein_change there = {.root = x->root, .path = x->link_to};
	const char *other;
	struct rein_fp now;

	if (!x->link_to)
		return 0;
	if (rein_real_now(t, &there, &now, err) < 0)
		return -err->code;
	if (now.mode && now.ino == x->link_ino)
		return 0;
	rein_free(take_ptr(x->link_to));
	other = still_named(t, c, x->root, x->link_ino);
	if (!other) {
		x->through = REIN_THROUGH_NOTHING;
		return 0;
	}
	x->link_to = rein_strdup(other);
	return x->link_to ? 0 : rein_err_nomem(err);
}
