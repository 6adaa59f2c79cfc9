/* SPDX-License-Identifier: Apache-2.0 */
/* Finding content again after it was moved. */
#include "txn/content.h"

#include <errno.h>
#include <fcntl.h>

#include "base/auto.h"
#include "sys/file.h"
#include "txn/internal.h"

void rein_content_done(struct rein_content *c)
{
	for (size_t i = 0; c->upper && i < c->t->nroots; i++)
		rein_closep_(&c->upper[i]);
	rein_free(c->upper);
	rein_op_dirs_done(&c->dirs);
	rein_ops_done(&c->ops);
	*c = (struct rein_content){0};
}

int rein_content_open(const struct rein_tx *t, struct rein_content *ret, struct rein_err *err)
{
	struct rein_content c = {.t = t};
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);
	bool forward;

	if (t->state == REIN_TX_DISCARDED)
		return rein_err_set(err, REIN_E_STATE, "transaction %s was discarded: its content is gone",
				    t->id);
	if (rein_op_dirs_open(t, &c.dirs, err) < 0)
		return -err->code;
	c.upper = rein_calloc(t->nroots, sizeof(*c.upper));
	if (!c.upper) {
		rein_content_done(&c);
		return rein_err_nomem(err);
	}
	for (size_t i = 0; i < t->nroots; i++)
		c.upper[i] = open(t->roots[i].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if ((t->state == REIN_TX_COMMITTED || t->state == REIN_TX_UNDONE) &&
	    (rein_file_read(t->dirfd, "ops", &b, err) < 0 ||
	     rein_ops_parse((struct rein_str){b.p, b.n}, &c.ops, &forward, err) < 0)) {
		rein_content_done(&c);
		return -err->code;
	}
	*ret = c;
	return 0;
}

/* The step that moved this path or a directory above it. */
static const struct rein_op *step_of(const struct rein_content *c, const struct rein_change *x)
{
	for (size_t i = 0; i < c->ops.n; i++) {
		const struct rein_op *o = &c->ops.v[i];

		if (o->root == x->root && o->kind >= REIN_OP_INPLACE && o->kind != REIN_OP_META &&
		    o->kind != REIN_OP_LINK && o->kind != REIN_OP_DIRMETA && *o->path &&
		    rein_path_within(x->path, o->path))
			return o;
	}
	/* of a file with several names one was written, for all of them */
	for (size_t i = 0; x->in_place && i < c->ops.n; i++)
		if (c->ops.v[i].kind == REIN_OP_INPLACE && c->ops.v[i].root == x->root &&
		    c->ops.v[i].ino_old == x->before.ino)
			return &c->ops.v[i];
	return NULL;
}

static char *in_slot(const struct rein_op *o, const char *slot, const struct rein_change *x)
{
	return rein_asprintf("%s%s", slot, x->path + strlen(o->path));
}

static int found(int fd, char *path, int *ret_fd, char **ret_path, struct rein_err *err)
{
	if (!path)
		return rein_err_nomem(err);
	*ret_fd = fd;
	*ret_path = path;
	return 0;
}

int rein_content_find(const struct rein_content *c, const struct rein_change *x, bool after,
		      int *ret_fd, char **ret_path, struct rein_err *err)
{
	const struct rein_op *o;
	int real = c->dirs.real[x->root], store = c->dirs.store[x->root];
	bool in_tree = c->t->state == REIN_TX_COMMITTED ? after : !after;

	*ret_path = NULL;
	if (after ? x->kind == REIN_CHANGE_DELETED : x->kind == REIN_CHANGE_CREATED && !x->from)
		return 0;
	if (!after && x->from && x->kind == REIN_CHANGE_CREATED) { /* the old content is under the old name */
		struct rein_change old = {.path = x->from, .root = x->root, .kind = REIN_CHANGE_DELETED};

		return rein_content_find(c, &old, false, ret_fd, ret_path, err);
	}
	if (in_tree)
		return found(real, rein_strdup(x->path), ret_fd, ret_path, err);
	if (c->t->state == REIN_TX_HELD || c->t->state == REIN_TX_RUNNING)
		return found(c->upper[x->root], rein_strdup(x->path), ret_fd, ret_path, err);
	if (x->link_to && after)
		return found(real, rein_strdup(x->link_to), ret_fd, ret_path, err);
	o = step_of(c, x);
	if (!o) /* attributes only: the same bytes on both sides */
		return found(real, rein_strdup(x->path), ret_fd, ret_path, err);
	if (o->kind == REIN_OP_INPLACE)
		return found(store, rein_strdup(after ? o->slot : o->old_slot), ret_fd, ret_path, err);
	return found(store, in_slot(o, o->slot, x), ret_fd, ret_path, err);
}
