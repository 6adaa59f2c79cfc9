/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the steps of a commit, either way. Every step first looks whether it was taken already
 * (op.h [O1]), so that a run interrupted anywhere can be continued or reversed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "txn/op.h"

/* A step's two ends, by open parent directories. */
struct ends {
	int real_fd, slot_fd;
	const char *real_name, *slot_name;
	struct rein_fp real, slot;
	char *moved; /* where real_name lies, if that is not its path */
};

static void ends_done(struct ends *e)
{
	rein_closep_(&e->real_fd);
	rein_closep_(&e->slot_fd);
	rein_free(e->moved);
}

static int ends_open(const struct rein_op *o, const struct rein_op_dirs *d, struct ends *e,
		     struct rein_err *err)
{
	*e = (struct ends){.real_fd = -1, .slot_fd = -1};
	if (rein_open_parent(d->real[o->root], o->path, &e->real_name, &e->real_fd, err) < 0) {
		/* a link inside a directory that is still to come, or gone again */
		if (o->kind == REIN_OP_LINK &&
		    (err->sys == ENOENT || err->sys == ENOTDIR || err->sys == ELOOP))
			goto slot;
		if (err->sys == ENOENT || err->sys == ENOTDIR || err->sys == ELOOP)
			err->code = REIN_E_CONFLICT;
		return -err->code;
	}
	if (rein_fp_at(e->real_fd, e->real_name, &e->real, err) < 0)
		return -err->code;
slot:
	if (!o->slot)
		return 0;
	if (rein_open_parent(d->store[o->root], o->slot, &e->slot_name, &e->slot_fd, err) < 0)
		/* gone with its directory, or the old thing is there */
		return o->kind == REIN_OP_LINK &&
				       (err->sys == ENOENT || err->sys == ENOTDIR || err->sys == ELOOP)
			       ? 0
			       : -err->code;
	return rein_fp_at(e->slot_fd, e->slot_name, &e->slot, err);
}

static int outsider(const struct rein_op *o, struct rein_err *err)
{
	return rein_err_set(err, REIN_E_CONFLICT, "'%s' was changed by somebody else meanwhile",
			    o->path);
}

static int lost(const struct rein_op *o, struct rein_err *err)
{
	return rein_err_set(err, REIN_E_FAILED, "the stored content for '%s' is missing", o->path);
}

static int move(int from_fd, const char *from, int to_fd, const char *to, unsigned flags,
		const struct rein_op *o, struct rein_err *err)
{
	if (renameat2(from_fd, from, to_fd, to, flags) == 0)
		return 0;
	if (errno == EEXIST)
		return outsider(o, err);
	if (errno == EXDEV)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "'%s' cannot be moved: it comes from a lower layer of this container's "
				    "file system, whose directories stay where they are; keep the "
				    "workspace on a volume, or copy it (cp -a) to where you work",
				    o->path);
	if (errno == EINVAL && flags & RENAME_EXCHANGE)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "'%s' cannot be replaced atomically: this file system does not "
				    "exchange names (RENAME_EXCHANGE); keep the workspace on another one",
				    o->path);
	return rein_err_errno(err, "move '%s'", o->path);
}

static int do_exchange(const struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	uint64_t slot_todo = forward ? o->ino_new : o->ino_old;
	uint64_t real_todo = forward ? o->ino_old : o->ino_new;

	if (!e->slot.mode)
		return lost(o, err);
	/* done already; a slot that was a link has its first content again when that is undone, too */
	if (e->slot.ino != slot_todo)
		return e->slot.ino == real_todo || (e->real.mode && e->real.ino == slot_todo)
			       ? 0
			       : lost(o, err);
	if (!e->real.mode || e->real.ino != real_todo)
		return outsider(o, err);
	return move(e->slot_fd, e->slot_name, e->real_fd, e->real_name, RENAME_EXCHANGE, o, err);
}

static int put(const struct rein_op *o, struct ends *e, struct rein_err *err)
{
	if (!e->slot.mode)
		return e->real.mode ? 0 : lost(o, err);
	return move(e->slot_fd, e->slot_name, e->real_fd, e->real_name, RENAME_NOREPLACE, o, err);
}

static int take_away(const struct rein_op *o, uint64_t ino, struct ends *e, struct rein_err *err)
{
	if (e->slot.mode)
		return 0;
	if (!e->real.mode || e->real.ino != ino)
		return outsider(o, err);
	return move(e->real_fd, e->real_name, e->slot_fd, e->slot_name, RENAME_NOREPLACE, o, err);
}

static int do_create(const struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	return forward ? put(o, e, err) : take_away(o, o->ino_new, e, err);
}

static int do_delete(const struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	return forward ? take_away(o, o->ino_old, e, err) : put(o, e, err);
}

static int attributes(const struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	const struct rein_attrs *a = forward ? &o->new : &o->old;

	if (!e->real.mode || e->real.ino != o->ino_old)
		return outsider(o, err);
	return rein_attrs_apply(e->real_fd, e->real_name, a, o->bits, err);
}

static int do_inplace(const struct rein_op *o, const struct rein_op_dirs *d, struct ends *e,
		      bool forward, struct rein_err *err)
{
	auto_close int from = -1, to = -1;

	if (!e->real.mode || e->real.ino != o->ino_old)
		return outsider(o, err);
	from = openat(d->store[o->root], forward ? o->slot : o->old_slot,
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? lost(o, err) : rein_err_errno(err, "read what '%s' becomes", o->path);
	to = openat(e->real_fd, e->real_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (to < 0 && errno == EACCES &&
	    fchmodat(e->real_fd, e->real_name, e->real.mode | S_IRUSR | S_IWUSR,
		     AT_SYMLINK_NOFOLLOW) == 0)
		to = openat(e->real_fd, e->real_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (to < 0)
		return rein_err_errno(err, "write '%s'", o->path);
	if (rein_file_copy_data(from, to, err) < 0)
		return rein_err_prefix(err, "write '%s'", o->path);
	return attributes(o, e, forward, err);
}

/* Linking moved the time of a directory that is about to become real: set it back. */
static int keep_dir_time(const struct rein_op *o, const struct ends *e, struct rein_err *err)
{
	if (e->slot_fd < 0)
		return 0;
	return rein_attrs_apply(e->slot_fd, "", &o->new, REIN_ATTR_MTIME, err);
}

/*
 * A hard-linked file whose name has been moved already, in an attempt before this one: it is in the
 * slot of the step that moved it, and the change reaches it there. 0 if it is nowhere.
 */
static int find_moved(const struct rein_ops *ops, const struct rein_op_dirs *d, uint32_t root,
		      const char *path, uint64_t ino, struct ends *e, struct rein_err *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *q = &ops->v[i];
		auto_close int parent = -1;
		auto_free char *moved = NULL;
		const char *name;
		struct rein_fp fp;

		if ((q->kind != REIN_OP_DELETE && q->kind != REIN_OP_EXCHANGE) || q->root != root ||
		    !rein_path_within(path, q->path))
			continue;
		moved = rein_asprintf("%s%s", q->slot, path + strlen(q->path));
		if (!moved)
			return rein_err_nomem(err);
		if (rein_open_parent(d->store[root], moved, &name, &parent, err) < 0 ||
		    rein_fp_at(parent, name, &fp, err) < 0) {
			if (err->sys == ENOENT || err->sys == ENOTDIR || err->sys == ELOOP)
				continue;
			return -err->code;
		}
		if (!fp.mode || fp.ino != ino)
			continue;
		rein_closep_(&e->real_fd);
		rein_free(e->moved);
		e->real = fp;
		e->real_name = name;
		e->real_fd = take_fd(&parent);
		e->moved = take_ptr(moved);
		return 1;
	}
	return 0;
}

/* The file by that path, or where it was moved. 0 if it is neither here nor there. */
static int find_real(const struct rein_ops *ops, const struct rein_op_dirs *d, uint32_t root,
		     const char *path, uint64_t ino, struct ends *e, struct rein_err *err)
{
	if (rein_open_parent(d->real[root], path, &e->real_name, &e->real_fd, err) == 0) {
		if (rein_fp_at(e->real_fd, e->real_name, &e->real, err) < 0)
			return -err->code;
		if (e->real.mode && e->real.ino == ino)
			return 1;
	} else if (err->sys != ENOENT && err->sys != ENOTDIR && err->sys != ELOOP) {
		return -err->code;
	}
	return find_moved(ops, d, root, path, ino, e, err);
}

static int stat_store(const struct rein_op *o, const struct rein_op_dirs *d, const char *slot,
		      struct rein_fp *ret, struct rein_err *err)
{
	auto_close int parent = -1;
	const char *name;

	*ret = (struct rein_fp){0};
	if (rein_open_parent(d->store[o->root], slot, &name, &parent, err) < 0)
		return err->sys == ENOENT || err->sys == ENOTDIR ? 0 : -err->code;
	return rein_fp_at(parent, name, ret, err);
}

/* Has the move been made that takes this slot along? */
static int has_moved(const struct rein_ops *ops, const struct rein_op *o, const struct rein_op_dirs *d,
		     struct rein_err *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *q = &ops->v[i];
		struct rein_fp fp;

		if ((q->kind != REIN_OP_CREATE && q->kind != REIN_OP_EXCHANGE) || q->root != o->root ||
		    !rein_path_within(o->path, q->path))
			continue;
		if (stat_store(q, d, q->slot, &fp, err) < 0)
			return -err->code;
		return q->kind == REIN_OP_CREATE ? !fp.mode : fp.ino == q->ino_old;
	}
	return 0;
}

/* What was in the slot returns to it; the link goes. */
static int unlink_again(const struct rein_op *o, const struct rein_op_dirs *d, const struct ends *e,
			bool linked, bool made, struct rein_err *err)
{
	int store = d->store[o->root];

	if (linked && (e->slot_fd < 0 || !e->slot.mode || e->slot.ino != o->ino_old))
		return lost(o, err);
	if (linked && renameat2(store, o->keep, e->slot_fd, e->slot_name, RENAME_EXCHANGE) < 0)
		return rein_err_errno(err, "unlink '%s'", o->path);
	if ((linked || made) && unlinkat(store, o->keep, 0) < 0)
		return rein_err_errno(err, "unlink '%s'", o->path);
	return linked ? keep_dir_time(o, e, err) : 0;
}

/*
 * The slot becomes one more name of the real file at old_slot: the link is made at keep, then the
 * two change places. Or it stops being one. What lies at keep tells how far it came.
 */
static int do_link(const struct rein_ops *ops, const struct rein_op *o, const struct rein_op_dirs *d,
		   struct ends *e, bool forward, struct rein_err *err)
{
	auto_(ends_done) struct ends file = {.real_fd = -1, .slot_fd = -1};
	int store = d->store[o->root], found;
	struct rein_fp keep;
	bool linked, made;

	if (stat_store(o, d, o->keep, &keep, err) < 0)
		return -err->code;
	made = keep.mode && keep.ino == o->ino_old;
	linked = keep.mode && !made;
	if (!forward)
		return unlink_again(o, d, e, linked, made, err);
	if (linked) {
		found = has_moved(ops, o, d, err);
		return found < 0 ? found : found ? 0 : keep_dir_time(o, e, err);
	}
	if (e->slot_fd < 0 || !e->slot.mode)
		return lost(o, err);
	found = find_real(ops, d, o->root, o->old_slot, o->ino_old, &file, err);
	if (found <= 0)
		return found < 0 ? found : outsider(o, err);
	if (!made && linkat(file.real_fd, file.real_name, store, o->keep, 0) < 0)
		return rein_err_errno(err, "link '%s' to '%s'", o->path, o->old_slot);
	if (renameat2(store, o->keep, e->slot_fd, e->slot_name, RENAME_EXCHANGE) < 0)
		return rein_err_errno(err, "link '%s'", o->path);
	return keep_dir_time(o, e, err);
}

static int do_lift(struct ends *e, const struct rein_op *o, struct rein_err *err)
{
	if ((e->real.mode & S_IRWXU) == S_IRWXU)
		return 0;
	if (fchmodat(e->real_fd, *e->real_name ? e->real_name : ".", (e->real.mode & 07777) | S_IRWXU,
		     AT_SYMLINK_NOFOLLOW) < 0)
		return rein_err_errno(err, "make '%s' writable", o->path);
	return 0;
}

static int open_both(const struct rein_ops *ops, const struct rein_op *o, const struct rein_op_dirs *d,
		     struct ends *e, struct rein_err *err)
{
	int rc = ends_open(o, d, e, err), found;

	if ((o->kind != REIN_OP_INPLACE && o->kind != REIN_OP_META) ||
	    (rc == 0 && e->real.mode && e->real.ino == o->ino_old) ||
	    (rc < 0 && err->code != REIN_E_CONFLICT))
		return rc;
	found = find_moved(ops, d, o->root, o->path, o->ino_old, e, err);
	return found < 0 ? found : found ? 0 : rc < 0 ? rc : outsider(o, err);
}

static int take_step(const struct rein_ops *ops, const struct rein_op *o, const struct rein_op_dirs *d,
		     bool forward, struct rein_err *err)
{
	auto_(ends_done) struct ends e = {.real_fd = -1, .slot_fd = -1};

	if (o->root >= d->n)
		return rein_err_set(err, REIN_E_INVALID, "the journal names an unknown root");
	if (open_both(ops, o, d, &e, err) < 0)
		return -err->code;
	switch (o->kind) {
	case REIN_OP_LIFT:
		return do_lift(&e, o, err);
	case REIN_OP_INPLACE:
		return do_inplace(o, d, &e, forward, err);
	case REIN_OP_META:
	case REIN_OP_DIRMETA:
		return attributes(o, &e, forward, err);
	case REIN_OP_LINK:
		return do_link(ops, o, d, &e, forward, err);
	case REIN_OP_EXCHANGE:
		return do_exchange(o, &e, forward, err);
	case REIN_OP_CREATE:
		return do_create(o, &e, forward, err);
	case REIN_OP_DELETE:
		return do_delete(o, &e, forward, err);
	}
	return rein_err_set(err, REIN_E_INVALID, "the journal has an unknown step");
}

static bool in_phase(int kind, int phase, bool forward)
{
	static const uint32_t forward_phases[] = {
		1u << REIN_OP_LIFT,
		1u << REIN_OP_INPLACE | 1u << REIN_OP_META,
		1u << REIN_OP_LINK,
		1u << REIN_OP_EXCHANGE | 1u << REIN_OP_CREATE | 1u << REIN_OP_DELETE,
		1u << REIN_OP_DIRMETA,
	};
	static const int backward[] = {0, 3, 2, 1, 4};

	return forward_phases[forward ? phase : backward[phase]] & 1u << kind;
}

int rein_ops_apply(const struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward,
		   struct rein_err *err)
{
	for (int phase = 0; phase < 5; phase++) {
		for (size_t i = 0; i < ops->n; i++) {
			/* what was done last is undone first */
			const struct rein_op *o = &ops->v[forward || phase == 4 ? i : ops->n - 1 - i];

			if (in_phase(o->kind, phase, forward) &&
			    take_step(ops, o, dirs, forward, err) < 0)
				return -err->code;
		}
	}
	return 0;
}

static int need(const struct rein_op *o, const struct rein_op_dirs *d, const char *slot,
		struct rein_err *err)
{
	struct rein_fp fp;

	if (!slot)
		return 0;
	if (stat_store(o, d, slot, &fp, err) < 0)
		return -err->code;
	return fp.mode ? 0 : lost(o, err);
}

int rein_ops_verify(const struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward,
		    struct rein_err *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *o = &ops->v[i];
		/* the slot is empty while its content is in the tree */
		bool full = o->kind == REIN_OP_EXCHANGE || o->kind == REIN_OP_INPLACE ||
			    (o->kind == REIN_OP_CREATE && forward) ||
			    (o->kind == REIN_OP_DELETE && !forward);

		if (o->root >= dirs->n)
			return rein_err_set(err, REIN_E_INVALID, "the journal names an unknown root");
		if ((full && need(o, dirs, o->slot, err) < 0) ||
		    (o->kind == REIN_OP_INPLACE && need(o, dirs, o->old_slot, err) < 0) ||
		    (o->kind == REIN_OP_LINK && !forward && need(o, dirs, o->keep, err) < 0))
			return -err->code;
	}
	return 0;
}
