/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From changes to steps. Works in the private directories only ([T1]): brings content to the root's
 * filesystem, removes overlay's traces from it, saves the bytes an in-place write will destroy.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/internal.h"

struct prep {
	const struct rein_tx *t;
	const struct rein_changes *c;
	const struct rein_op_dirs *d;
	struct rein_ops *ops;
	size_t next_slot;
	struct rein_copies staged; /* of staged_root, so far */
	uint32_t staged_root;
	bool *speaks; /* a change: of all that concern one hard-linked file, the one that changes it */
};

static int strip_visit(const struct rein_visit *v, void *arg, struct rein_err *err)
{
	(void)arg;
	if (S_ISCHR(v->fp.mode) && v->fp.rdev == 0) /* a whiteout left inside a new directory */
		return unlinkat(v->dirfd, v->name, 0) < 0 ? rein_err_errno(err, "remove '%s'", v->path)
							  : 0;
	return rein_attrs_strip_overlay(v->dirfd, v->name, v->fp.mode, err);
}

static char *upper_slot(const struct rein_change *x)
{
	return rein_asprintf("upper/%s", x->path);
}

/*
 * What is left out is kept, under the number of its change: if the commit fails it goes back to its place
 * (rein_put_back). Gone already: with a directory above it that is left out, too.
 */
static int set_aside(const struct prep *p, const struct rein_change *x, const char *inside, struct rein_err *err)
{
	int store = p->d->store[x->root];
	auto_free char *to = rein_asprintf("left/%zu", (size_t)(x - p->c->v));

	if (!to)
		return rein_err_nomem(err);
	if (mkdirat(store, "left", 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "create 'left'");
	if (renameat2(store, inside, store, to, RENAME_NOREPLACE) < 0 && errno != ENOENT)
		return rein_err_errno(err, "leave '%s' out", x->path);
	return 0;
}

static int put_back_in(const struct rein_tx *t, const struct rein_changes *c, size_t root, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int store = rein_open_store(&t->roots[root], err);

	if (store < 0)
		return store;
	if (faccessat(store, "left", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : rein_err_errno(err, "look for 'left'");
	if (rein_names_read(store, "left", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		size_t at = strtoull(names.v[i], NULL, 10);
		auto_free char *from = rein_asprintf("left/%s", names.v[i]);
		auto_free char *to = at < c->n ? upper_slot(&c->v[at]) : NULL;

		if (at >= c->n || c->v[at].root != root)
			return rein_err_set(err, REIN_E_INVALID, "transaction %s: '%s' is no change of it", t->id,
					    names.v[i]);
		if (!from || !to)
			return rein_err_nomem(err);
		if (renameat2(store, from, store, to, RENAME_NOREPLACE) < 0)
			return rein_err_errno(err, "put '%s' back", c->v[at].path);
	}
	return unlinkat(store, "left", AT_REMOVEDIR) < 0 ? rein_err_errno(err, "remove 'left'") : 0;
}

int rein_put_back(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err)
{
	for (size_t i = 0; i < t->nroots; i++)
		if (!t->roots[i].staged && put_back_in(t, c, i, err) < 0)
			return -err->code;
	return rein_merged_take_back(t, c, err);
}

/* What was left out of a new directory must not move with it. Of what is staged this is a copy. */
static int prune(struct prep *p, const struct rein_change *top, const char *slot,
		 struct rein_err *err)
{
	size_t n = strlen(top->path);

	for (const struct rein_change *x = top + 1; x < p->c->v + p->c->n; x++) {
		auto_free char *inside = NULL;

		if (x->root != top->root || strncmp(x->path, top->path, n) || x->path[n] != '/')
			break;
		if (!x->skipped)
			continue;
		inside = rein_asprintf("%s%s", slot, x->path + n);
		if (!inside)
			return rein_err_nomem(err);
		if ((p->t->roots[x->root].staged ? rein_tree_remove(p->d->store[x->root], inside, err)
						 : set_aside(p, x, inside, err)) < 0)
			return -err->code;
	}
	return 0;
}

static char *new_slot(struct prep *p, uint32_t root, const char *dir, struct rein_err *err)
{
	char *slot;

	if (mkdirat(p->d->store[root], dir, 0700) < 0 && errno != EEXIST) {
		rein_err_errno(err, "create '%s'", dir);
		return NULL;
	}
	slot = rein_asprintf("%s/%zu", dir, p->next_slot++);
	if (!slot)
		rein_err_nomem(err);
	return slot;
}

/* The slot that holds the change's new content, on the root's own filesystem, stripped. */
static char *content_slot(struct prep *p, const struct rein_change *x, struct rein_err *err)
{
	const struct rein_root *r = &p->t->roots[x->root];
	auto_free char *slot = NULL;
	auto_close int upper = -1;

	if (!r->staged) {
		slot = upper_slot(x);
		if (!slot) {
			rein_err_nomem(err);
			return NULL;
		}
	} else {
		upper = open(r->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		slot = new_slot(p, x->root, "stage", err);
		if (!slot)
			return NULL;
		if (x->root != p->staged_root)
			rein_copies_done(&p->staged);
		p->staged_root = x->root;
		if (rein_tree_copy_one(upper, x->path, p->d->store[x->root], slot, &p->staged, err) < 0)
			return NULL;
	}
	if (S_ISDIR(x->after.mode) && prune(p, x, slot, err) < 0)
		return NULL;
	if (rein_tree_walk(p->d->store[x->root], slot, strip_visit, NULL, err) < 0)
		return NULL;
	return take_ptr(slot);
}

static struct rein_op *add(struct prep *p, int kind, const struct rein_change *x, const char *slot,
			   struct rein_err *err)
{
	struct rein_op *o = rein_ops_add(p->ops, x->root, kind, x->path, slot);

	if (!o) {
		rein_err_nomem(err);
		return NULL;
	}
	o->ino_old = x->before.ino;
	return o;
}

static int slot_inode(struct prep *p, const struct rein_op *o, uint64_t *ret, struct rein_err *err)
{
	struct rein_fp fp;

	if (rein_fp_at(p->d->store[o->root], o->slot, &fp, err) < 0)
		return -err->code;
	if (!fp.mode)
		return rein_err_set(err, REIN_E_FAILED, "the content of '%s' is missing", o->path);
	*ret = fp.ino;
	return 0;
}

/*
 * One more name of a hard-linked file: the slot becomes a link of the real one. What was in the slot
 * is kept, or a commit that is taken back could not be tried again.
 */
static int add_link(struct prep *p, const struct rein_change *x, const char *slot, uint64_t *ret_ino,
		    struct rein_err *err)
{
	auto_free char *keep = new_slot(p, x->root, "undo", err);
	struct rein_op *o = keep ? add(p, REIN_OP_LINK, x, slot, err) : NULL;
	auto_close int parent = -1;
	const char *name;
	struct rein_fp fp;

	if (!o || rein_open_parent(p->d->store[x->root], slot, &name, &parent, err) < 0 ||
	    rein_attrs_read(parent, "", &o->new, err) < 0)
		return -err->code;
	if (rein_fp_at(p->d->real[x->root], x->link_to, &fp, err) < 0)
		return -err->code;
	if (!fp.mode || fp.ino != x->link_ino)
		return rein_err_set(err, REIN_E_CONFLICT, "'%s' is gone outside", x->link_to);
	o->keep = take_ptr(keep);
	o->old_slot = rein_strdup(x->link_to);
	o->ino_old = *ret_ino = fp.ino;
	return o->old_slot ? 0 : rein_err_nomem(err);
}

/* A file's new bytes and attributes go through a real name of it; its old ones are kept. */
static int add_inplace(struct prep *p, uint32_t root, const char *path, uint64_t ino, const char *slot,
		       struct rein_err *err)
{
	auto_free char *old = new_slot(p, root, "undo", err);
	int real = p->d->real[root], store = p->d->store[root];
	struct rein_op *o = old ? rein_ops_add(p->ops, root, REIN_OP_INPLACE, path, slot) : NULL;

	if (!o)
		return old ? rein_err_nomem(err) : -err->code;
	o->ino_old = ino;
	o->bits = REIN_ATTR_ALL & ~REIN_ATTR_ATIME;
	o->old_slot = take_ptr(old);
	if (rein_tree_copy(real, path, store, o->old_slot, err) < 0 ||
	    rein_attrs_read(real, path, &o->old, err) < 0 ||
	    rein_attrs_read(store, slot, &o->new, err) < 0)
		return -err->code;
	return 0;
}

/*
 * A hard-linked file that was changed and has none of its names left where it was: the change goes
 * through the old name, then the new name becomes a link. The bytes stay in another slot meanwhile.
 */
static int change_through(struct prep *p, const struct rein_change *x, const char *slot,
			  struct rein_err *err)
{
	int store = p->d->store[x->root];
	auto_free char *aside = NULL;
	struct rein_op *o;

	if (!x->through || !p->speaks[x - p->c->v])
		return 0;
	if (x->through == REIN_THROUGH_CONTENT) {
		aside = new_slot(p, x->root, "undo", err);
		if (!aside)
			return -err->code;
		if (linkat(store, slot, store, aside, 0) < 0)
			return rein_err_errno(err, "keep '%s'", x->path);
		return add_inplace(p, x->root, x->link_to, x->link_ino, aside, err);
	}
	o = rein_ops_add(p->ops, x->root, REIN_OP_META, x->link_to, NULL);
	if (!o)
		return rein_err_nomem(err);
	o->ino_old = x->link_ino;
	if (rein_attrs_read(p->d->real[x->root], x->link_to, &o->old, err) < 0 ||
	    rein_attrs_read(store, slot, &o->new, err) < 0)
		return -err->code;
	o->bits = (uint8_t)rein_attrs_differ(&o->old, &o->new);
	return 0;
}

/* Names inside a new directory that belong to real, hard-linked files. */
static int links_inside(struct prep *p, const struct rein_change *top, const char *slot,
			struct rein_err *err)
{
	size_t n = strlen(top->path);

	for (const struct rein_change *x = top + 1; x < p->c->v + p->c->n; x++) {
		auto_free char *inside = NULL;
		uint64_t ino;

		if (x->root != top->root || strncmp(x->path, top->path, n) || x->path[n] != '/')
			break;
		if (!x->link_to || x->skipped)
			continue;
		inside = rein_asprintf("%s%s", slot, x->path + n);
		if (!inside)
			return rein_err_nomem(err);
		if (change_through(p, x, inside, err) < 0 || add_link(p, x, inside, &ino, err) < 0)
			return -err->code;
	}
	return 0;
}

static int prep_move(struct prep *p, const struct rein_change *x, int kind, struct rein_err *err)
{
	auto_free char *slot = kind == REIN_OP_DELETE ? new_slot(p, x->root, "undo", err)
						      : content_slot(p, x, err);
	uint64_t linked = 0;
	struct rein_op *o;

	if (!slot)
		return -err->code;
	if (change_through(p, x, slot, err) < 0)
		return -err->code;
	if (x->link_to && add_link(p, x, slot, &linked, err) < 0)
		return -err->code;
	if (S_ISDIR(x->after.mode) && kind != REIN_OP_DELETE && links_inside(p, x, slot, err) < 0)
		return -err->code;
	o = add(p, kind, x, slot, err);
	if (!o)
		return -err->code;
	rein_op_expect(&o->old, &x->before);
	if (kind == REIN_OP_EXCHANGE && (S_ISDIR(x->before.mode) || S_ISDIR(x->after.mode)))
		o->bits = REIN_ATTR_MTIME;
	if (linked) {
		o->ino_new = linked;
		return 0;
	}
	return kind == REIN_OP_DELETE ? 0 : slot_inode(p, o, &o->ino_new, err);
}

static int prep_inplace(struct prep *p, const struct rein_change *x, struct rein_err *err)
{
	auto_free char *slot = content_slot(p, x, err);

	return slot ? add_inplace(p, x->root, x->path, x->before.ino, slot, err) : -err->code;
}

static uint8_t bits_of(unsigned what)
{
	return (uint8_t)((what & REIN_WHAT_MODE ? REIN_ATTR_MODE : 0) |
			 (what & REIN_WHAT_OWNER ? REIN_ATTR_OWNER : 0) |
			 (what & REIN_WHAT_TIMES ? REIN_ATTR_MTIME : 0) |
			 (what & REIN_WHAT_XATTR ? REIN_ATTR_XATTR : 0));
}

/* Attributes are read from upper wherever that lies; nothing of it moves. */
static int attrs_from_upper(struct prep *p, const struct rein_op *o, struct rein_attrs *ret,
			    struct rein_err *err)
{
	const struct rein_root *r = &p->t->roots[o->root];
	auto_close int upper = r->staged ? open(r->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
					 : openat(p->d->store[o->root], "upper",
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (upper < 0)
		return rein_err_errno(err, "open '%s'", r->upper);
	if (rein_attrs_read(upper, o->path, ret, err) == 0)
		return 0;
	/* what was split off another transaction has no layer for a directory it only deletes in */
	return err->sys == ENOENT ? rein_attrs_read(p->d->real[o->root], o->path, ret, err) : -err->code;
}

/* Only its owner gives a directory a mode and a time. Where somebody else's is written to, it keeps the new one. */
static bool is_ours(const struct rein_attrs *a)
{
	return geteuid() == 0 || a->uid == geteuid();
}

static int prep_meta(struct prep *p, const struct rein_change *x, struct rein_err *err)
{
	int kind = S_ISDIR(x->before.mode) ? REIN_OP_DIRMETA : REIN_OP_META;
	struct rein_op *o = add(p, kind, x, NULL, err);

	if (!o)
		return -err->code;
	o->bits = bits_of(x->what);
	if (rein_attrs_read(p->d->real[o->root], o->path, &o->old, err) < 0 ||
	    attrs_from_upper(p, o, &o->new, err) < 0)
		return -err->code;
	if (!(o->bits & REIN_ATTR_MODE))
		o->new.mode = o->old.mode;
	/* not upper's own time: an attempt before this one may have moved things in it */
	o->new.mtime_ns = o->bits & REIN_ATTR_MTIME ? x->after.mtime_ns : o->old.mtime_ns;
	if (kind == REIN_OP_DIRMETA && !(x->what & ~REIN_WHAT_TIMES) && !is_ours(&o->old))
		o->bits = 0;
	return 0;
}

static int prep_change(struct prep *p, const struct rein_change *x, struct rein_err *err)
{
	if (x->in_place && !p->speaks[x - p->c->v])
		return 0;
	switch (x->kind) {
	case REIN_CHANGE_CREATED:
		return prep_move(p, x, REIN_OP_CREATE, err);
	case REIN_CHANGE_DELETED:
		return prep_move(p, x, REIN_OP_DELETE, err);
	case REIN_CHANGE_META:
		return prep_meta(p, x, err);
	case REIN_CHANGE_MODIFIED:
		if (x->in_place && S_ISREG(x->before.mode))
			return prep_inplace(p, x, err);
		return prep_move(p, x, REIN_OP_EXCHANGE, err);
	}
	return rein_err_set(err, REIN_E_INVALID, "'%s': unknown kind of change", x->path);
}

static bool is_move(int kind)
{
	return kind == REIN_OP_EXCHANGE || kind == REIN_OP_CREATE || kind == REIN_OP_DELETE;
}

int rein_refuse_fixed(const char *dir, const struct rein_fp *fp, struct rein_err *err)
{
	return !fp->fixed ? 0
			  : rein_err_set(err, REIN_E_UNSUPPORTED,
					 "'%s' is immutable or append-only: what is committed there could not be taken back; "
					 "chattr -i -a it first", *dir ? dir : ".");
}

static int by_dir(const void *a, const void *b)
{
	const struct rein_op *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return rein_path_cmp(x->path, y->path);
}

/*
 * The directories moves happen in: their mtime becomes what it was in the box, and one that is not
 * writable is made so for the while. An outsider's change to a directory keeps its own new time.
 */
static int prep_parents(struct prep *p, struct rein_err *err)
{
	auto_(rein_ops_done) struct rein_ops dirs = {0};
	size_t moves = p->ops->n;

	for (size_t i = 0; i < moves; i++) {
		const struct rein_op *o = &p->ops->v[i];
		const char *slash = strrchr(o->path, '/');
		auto_free char *dir = rein_strndup(o->path, slash ? (size_t)(slash - o->path) : 0);
		bool have = false;

		if (!dir)
			return rein_err_nomem(err);
		if (!is_move(o->kind))
			continue;
		for (size_t k = dirs.n; k > 0 && !have && k + 8 > dirs.n; k--)
			have = dirs.v[k - 1].root == o->root && rein_streq(dirs.v[k - 1].path, dir);
		if (!have && !rein_ops_add(&dirs, o->root, REIN_OP_DIRMETA, dir, NULL))
			return rein_err_nomem(err);
	}
	/* those that have a change of their own are there already */
	for (size_t i = 0; i < moves; i++)
		if (p->ops->v[i].kind == REIN_OP_DIRMETA &&
		    !rein_ops_add(&dirs, p->ops->v[i].root, REIN_OP_LIFT, p->ops->v[i].path, NULL))
			return rein_err_nomem(err);
	if (dirs.n)
		qsort(dirs.v, dirs.n, sizeof(dirs.v[0]), by_dir);
	for (size_t i = 0, k; i < dirs.n; i = k) {
		bool own = false, moved_in = false;
		struct rein_op *o;
		struct rein_fp fp;

		for (k = i; k < dirs.n && by_dir(&dirs.v[i], &dirs.v[k]) == 0; k++) {
			own |= dirs.v[k].kind == REIN_OP_LIFT;
			moved_in |= dirs.v[k].kind == REIN_OP_DIRMETA;
		}
		if (!moved_in)
			continue;
		if (rein_fp_at(p->d->real[dirs.v[i].root], dirs.v[i].path, &fp, err) < 0)
			return -err->code;
		if (!fp.mode)
			return rein_err_set(err, REIN_E_CONFLICT, "'%s' is gone outside", dirs.v[i].path);
		if (rein_refuse_fixed(dirs.v[i].path, &fp, err) < 0)
			return -err->code;
		if (!own) {
			o = rein_ops_add(p->ops, dirs.v[i].root, REIN_OP_DIRMETA, dirs.v[i].path, NULL);
			if (!o)
				return rein_err_nomem(err);
			o->ino_old = fp.ino;
			if (rein_attrs_read(p->d->real[o->root], o->path, &o->old, err) < 0 ||
			    rein_attrs_read(p->d->real[o->root], o->path, &o->new, err) < 0)
				return -err->code;
			/*
			 * No change of its own: everything stays as it was, its time too. The upper layer is not
			 * asked: a directory that is deleted there and only partly here has nothing in it.
			 */
			o->new.mode = o->old.mode;
			o->new.mtime_ns = o->old.mtime_ns;
			o->bits = is_ours(&o->old) ? REIN_ATTR_MODE | REIN_ATTR_MTIME : 0;
		}
		/* its own change may not speak of what the moves and the lift disturb */
		for (size_t m = 0; own && m < p->ops->n; m++) {
			struct rein_op *q = &p->ops->v[m];

			if (q->kind == REIN_OP_DIRMETA && q->root == dirs.v[i].root &&
			    rein_streq(q->path, dirs.v[i].path) && is_ours(&q->old))
				q->bits |= REIN_ATTR_MODE | REIN_ATTR_MTIME;
		}
		if ((fp.mode & S_IRWXU) != S_IRWXU && geteuid() != 0 && fp.uid == geteuid()) {
			if (!rein_ops_add(p->ops, dirs.v[i].root, REIN_OP_LIFT, dirs.v[i].path, NULL))
				return rein_err_nomem(err);
		}
	}
	return 0;
}

/* A directory whose time moved since the run ended was changed by somebody else: leave its time. */
static int respect_outsiders(struct prep *p, struct rein_err *err)
{
	for (size_t i = 0; i < p->ops->n; i++) {
		struct rein_op *o = &p->ops->v[i];
		struct rein_fp fp;

		if (o->kind != REIN_OP_DIRMETA)
			continue;
		if (rein_fp_at(p->d->real[o->root], o->path, &fp, err) < 0)
			return -err->code;
		/* one that is ahead of the clock was so before, if nothing else of it moved */
		if (fp.mtime_ns > p->t->begin_ns[o->root] && fp.ctime_ns > p->t->begin_ns[o->root])
			o->bits &= (uint8_t)~REIN_ATTR_MTIME;
	}
	return 0;
}

/* Deepest first, so that a parent's mode does not lock out a child. */
static int deepest_first(const void *a, const void *b)
{
	const struct rein_op *x = a, *y = b;
	bool dx = x->kind == REIN_OP_DIRMETA, dy = y->kind == REIN_OP_DIRMETA;

	if (dx != dy)
		return dx ? 1 : -1;
	return dx ? -by_dir(x, y) : by_dir(x, y);
}

void rein_ops_sort(struct rein_ops *ops)
{
	if (ops->n)
		qsort(ops->v, ops->n, sizeof(ops->v[0]), deepest_first);
}

/* [O2], while nothing has happened yet: half way there would be neither forward nor back. */
static int refuse_nested(const struct rein_ops *ops, struct rein_err *err)
{
	const struct rein_op *above = NULL;

	for (size_t i = 0; i < ops->n; i++) { /* what lies in a directory follows it */
		const struct rein_op *o = &ops->v[i];

		if (!is_move(o->kind))
			continue;
		if (above && above->root == o->root && !rein_streq(o->path, above->path) &&
		    rein_path_within(o->path, above->path))
			return rein_err_set(err, REIN_E_FAILED, "'%s' and '%s' cannot both be moved", above->path, o->path);
		above = o;
	}
	return 0;
}

struct speaker {
	uint32_t root;
	uint64_t ino;
	size_t at;
};

static int by_inode(const void *a, const void *b)
{
	const struct speaker *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Several names tell of one and the same change to a file; it is made once. */
static int choose_speakers(struct prep *p, struct rein_err *err)
{
	auto_free struct speaker *v = rein_calloc(p->c->n, sizeof(*v));
	size_t n = 0;

	p->speaks = rein_calloc(p->c->n, sizeof(*p->speaks));
	if (!v || !p->speaks)
		return rein_err_nomem(err);
	for (size_t i = 0; i < p->c->n; i++) {
		const struct rein_change *x = &p->c->v[i];
		bool in_place = x->in_place && x->top && x->what;

		if (!x->skipped && (in_place || x->through))
			v[n++] = (struct speaker){x->root, in_place ? x->before.ino : x->link_ino, i};
	}
	if (n)
		qsort(v, n, sizeof(*v), by_inode);
	for (size_t i = 0; i < n; i++)
		p->speaks[v[i].at] = i == 0 || v[i].root != v[i - 1].root || v[i].ino != v[i - 1].ino;
	return 0;
}

#define WHITEOUT ".wh." /* how aufs and fuse-overlayfs begin the names of their own marks */

static bool looks_like_whiteout(const char *path)
{
	return strncmp(path, WHITEOUT, strlen(WHITEOUT)) == 0 || strstr(path, "/" WHITEOUT);
}

/*
 * Some filesystems make no such name, but do rename to it: then it is a mark that something is deleted, and the content is
 * nowhere. Whether this one does is tried, where it matters.
 */
static int refuse_whiteouts(const struct prep *p, struct rein_err *err)
{
	for (size_t i = 0; i < p->c->n; i++) {
		const struct rein_change *x = &p->c->v[i];
		auto_close int fd = -1;

		if (x->skipped || !x->after.mode || !looks_like_whiteout(x->path))
			continue;
		fd = openat(p->d->store[x->root], WHITEOUT "try", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && (errno == EINVAL || errno == EPERM))
			return rein_err_set(err, REIN_E_UNSUPPORTED,
					    "'%s' cannot be committed: its filesystem (fuse-overlayfs, aufs) keeps names that begin "
					    "with " WHITEOUT " to itself; leave it out (--except), or work on another", x->path);
		if (fd < 0 || unlinkat(p->d->store[x->root], WHITEOUT "try", 0) < 0)
			return rein_err_errno(err, "try a name like that of '%s'", x->path);
	}
	return 0;
}

int rein_prepare(const struct rein_tx *t, const struct rein_changes *c, struct rein_ops *ret,
		 struct rein_err *err)
{
	struct rein_op_dirs d = {0};
	struct rein_ops ops = {0};
	struct prep p = {.t = t, .c = c, .d = &d, .ops = &ops};
	int rc = rein_op_dirs_open(t, &d, err);

	/* what an attempt before this one left behind */
	for (size_t i = 0; rc == 0 && i < d.n; i++) {
		rc = rein_tree_remove(d.store[i], "undo", err);
		if (rc == 0)
			rc = rein_tree_remove(d.store[i], "stage", err);
	}
	if (rc == 0)
		rc = refuse_whiteouts(&p, err);
	if (rc == 0)
		rc = choose_speakers(&p, err);
	for (size_t i = 0; rc == 0 && i < c->n; i++)
		if (c->v[i].top && !c->v[i].skipped)
			rc = prep_change(&p, &c->v[i], err);
	if (rc == 0)
		rc = prep_parents(&p, err);
	if (rc == 0)
		rc = respect_outsiders(&p, err);
	rein_op_dirs_done(&d);
	rein_copies_done(&p.staged);
	rein_free(p.speaks);
	rein_ops_sort(&ops);
	if (rc == 0)
		rc = refuse_nested(&ops, err);
	if (rc < 0) {
		rein_ops_done(&ops);
		return rc;
	}
	*ret = ops;
	return 0;
}
