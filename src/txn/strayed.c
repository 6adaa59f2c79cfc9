/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory that somebody moves while steps are taken in it: what was done there can only be taken back where it is
 * now. It is the one that the attributes of directories (DIRMETA) know by its number, if it is older than the
 * transaction: a number that was given to another directory since went to a younger one.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/internal.h"

struct search {
	uint64_t dev, ino;
	int64_t born_by_ns;
	int fd;
};

static int visit(const struct rein_visit *v, void *arg, struct rein_err *err)
{
	struct search *s = arg;
	struct rein_fp fp;

	if (!S_ISDIR(v->fp.mode) || v->fp.dev != s->dev || v->fp.ino != s->ino || !v->fp.born_ns ||
	    v->fp.born_ns > s->born_by_ns)
		return 0;
	s->fd = rein_open_sub(v->dirfd, v->name);
	/* it may be gone again, and another there */
	if (s->fd >= 0 && (rein_fp_at(s->fd, "", &fp, err) < 0 || fp.ino != s->ino))
		rein_closep_(&s->fd);
	return 1;
}

static int look_for(const struct rein_op_dirs *d, uint32_t root, uint64_t ino)
{
	struct search s = {.ino = ino, .born_by_ns = d->begin_ns[root], .fd = -1};
	struct rein_err ignored = {0};
	struct rein_fp top;

	if (rein_fp_at(d->real[root], "", &top, &ignored) < 0)
		return -1;
	s.dev = top.dev;
	rein_tree_walk(d->real[root], ".", visit, &s, &ignored);
	return s.fd;
}

void rein_strayed_done(struct rein_strayed *s)
{
	for (size_t i = 0; i < s->n; i++)
		rein_closep_(&s->v[i].fd);
	rein_free(s->v);
	*s = (struct rein_strayed){0};
}

int rein_strayed_known(const struct rein_strayed *s, uint32_t root, uint64_t ino)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].root == root && s->v[i].ino == ino)
			return s->v[i].fd;
	return -1;
}

/* The number of the directory that a step is taken in, or 0. */
static uint64_t number_of(const struct rein_ops *ops, const struct rein_op *o, size_t len)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *q = &ops->v[i];

		if (q->kind == REIN_OP_DIRMETA && q->root == o->root && strncmp(q->path, o->path, len) == 0 && !q->path[len])
			return q->ino_old;
	}
	return 0;
}

int rein_strayed_find(struct rein_strayed *s, const struct rein_ops *ops, const struct rein_op *o,
		      const struct rein_op_dirs *d, int there, struct rein_err *err)
{
	const char *slash = strrchr(o->path, '/');
	const int len = slash ? (int)(slash - o->path) : 0;
	const uint64_t ino = slash ? number_of(ops, o, (size_t)len) : 0;
	struct rein_err ignored = {0};
	struct rein_fp fp = {0};
	bool seen = false;

	if (!ino || (there >= 0 && rein_fp_at(there, "", &fp, &ignored) == 0 && fp.ino == ino))
		return -1; /* it is in its place */
	for (size_t i = 0; i < s->n; i++)
		seen |= s->v[i].root == o->root && s->v[i].ino == ino;
	if (!seen && rein_grow(s->v, s->n, s->cap) == 0)
		s->v[s->n++] = (struct rein_stray){o->root, ino, look_for(d, o->root, ino)};
	if (rein_strayed_known(s, o->root, ino) < 0)
		rein_err_set(err, REIN_E_CONFLICT, "'%.*s' was moved away or removed meanwhile: move it back, if it still is",
			     len, o->path);
	return rein_strayed_known(s, o->root, ino);
}
