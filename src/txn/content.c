/* SPDX-License-Identifier: Apache-2.0 */
/* Finding content again after it was moved. */
#include "txn/content.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool moves_content(const struct rein_op *o)
{
	return o->kind >= REIN_OP_INPLACE && o->kind != REIN_OP_META && o->kind != REIN_OP_LINK &&
	       o->kind != REIN_OP_DIRMETA && *o->path;
}

static bool is_before(const struct rein_op *o, uint32_t root, const char *path)
{
	if (o->kind == REIN_OP_DIRMETA)
		return false;
	return o->root != root ? o->root < root : rein_path_cmp(o->path, path) < 0;
}

/* They are in order, but for the attributes of directories, which come last (rein_prepare). */
static const struct rein_op *step_at(const struct rein_ops *ops, uint32_t root, const char *path)
{
	size_t low = 0, high = ops->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (is_before(&ops->v[mid], root, path))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < ops->n && ops->v[low].root == root && rein_streq(ops->v[low].path, path); low++)
		if (moves_content(&ops->v[low]))
			return &ops->v[low];
	return NULL;
}

/* The step that moved this path or a directory above it, the highest. */
static int step_of(const struct rein_content *c, const struct rein_change *x, const struct rein_op **ret,
		   struct rein_err *err)
{
	auto_free char *path = rein_strdup(x->path);
	const struct rein_op *found = NULL;

	if (!path)
		return rein_err_nomem(err);
	for (char *slash = strchr(path, '/'); slash && !found; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		found = step_at(&c->ops, x->root, path);
		*slash = '/';
	}
	if (!found)
		found = step_at(&c->ops, x->root, path);
	/* of a file with several names one was written, for all of them */
	for (size_t i = 0; !found && x->in_place && i < c->ops.n; i++)
		if (c->ops.v[i].kind == REIN_OP_INPLACE && c->ops.v[i].root == x->root &&
		    c->ops.v[i].ino_old == x->before.ino)
			found = &c->ops.v[i];
	*ret = found;
	return 0;
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
	if (step_of(c, x, &o, err) < 0)
		return -err->code;
	if (!o) /* attributes only: the same bytes on both sides */
		return found(real, rein_strdup(x->path), ret_fd, ret_path, err);
	if (o->kind == REIN_OP_INPLACE)
		return found(store, rein_strdup(after ? o->slot : o->old_slot), ret_fd, ret_path, err);
	return found(store, in_slot(o, o->slot, x), ret_fd, ret_path, err);
}

int rein_content_read(const struct rein_content *c, const struct rein_change *x, bool after, size_t max,
		      struct rein_buf *b, struct rein_err *err)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	struct rein_fp fp;
	ssize_t n;
	int dir;

	rein_buf_clear(b);
	if (rein_content_find(c, x, after, &dir, &path, err) < 0)
		return -err->code;
	if (!path || rein_fp_at(dir, path, &fp, err) < 0 || !S_ISREG(fp.mode))
		return 0;
	fd = rein_open_quiet(dir, path);
	if (fd < 0)
		return rein_err_errno(err, "open '%s'", path);
	while (b->n < max) {
		char chunk[65536];
		size_t want = max - b->n < sizeof(chunk) ? max - b->n : sizeof(chunk);

		n = read(fd, chunk, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rein_err_errno(err, "read '%s'", path);
		if (n == 0)
			break;
		rein_buf_add(b, chunk, (size_t)n);
	}
	return b->failed ? rein_err_nomem(err) : 0;
}
