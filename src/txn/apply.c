/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the steps of a commit, either way. Every step first looks whether it was taken already
 * (op.h [O1]), so that a run interrupted anywhere can be continued or reversed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"
#include "txn/internal.h"

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

static bool is_gone(const struct rein_err *err)
{
	return err->sys == ENOENT || err->sys == ENOTDIR || err->sys == ELOOP;
}

static int ends_open(const struct rein_op *o, const struct rein_op_dirs *d, struct ends *e,
		     struct rein_err *err)
{
	*e = (struct ends){.real_fd = -1, .slot_fd = -1};
	/* its directory is gone, or still to come: nothing is there, and what that means is the step's to say */
	if (rein_open_parent(d->real[o->root], o->path, &e->real_name, &e->real_fd, err) < 0) {
		if (!is_gone(err))
			return -err->code;
	} else if (rein_fp_at(e->real_fd, e->real_name, &e->real, err) < 0) {
		return -err->code;
	}
	if (!o->slot)
		return 0;
	if (rein_open_parent(d->store[o->root], o->slot, &e->slot_name, &e->slot_fd, err) < 0)
		/* gone with its directory, or the old thing is there */
		return o->kind == REIN_OP_LINK && is_gone(err) ? 0 : -err->code;
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

void rein_op_expect(struct rein_attrs *a, const struct rein_fp *fp)
{
	/* a step before may write the file through another name of it; a directory's time says nothing of what is in it */
	a->mtime_ns = S_ISREG(fp->mode) && fp->nlink == 1 ? fp->mtime_ns : 0;
}

/* The file that was compared. Since then the journal was written, and may have waited long for whoever finishes it. */
static bool is_it(const struct rein_fp *fp, uint64_t ino, const struct rein_attrs *a)
{
	return fp->mode && fp->ino == ino && (!a->mtime_ns || S_ISDIR(fp->mode) || fp->mtime_ns == a->mtime_ns);
}

/* Has the move taken away what it was to take? Another file may have got the name in the instant before it. */
static bool took_it(const struct ends *e, uint64_t ino, const struct rein_attrs *a)
{
	struct rein_err ignored = {0};
	struct rein_fp fp;

	return rein_fp_at(e->slot_fd, e->slot_name, &fp, &ignored) < 0 || is_it(&fp, ino, a);
}

static int keep_time(int fd, const char *name, uint64_t ino, const struct rein_attrs *a, struct rein_err *err)
{
	struct rein_fp fp;

	if (rein_fp_at(fd, name, &fp, err) < 0)
		return -err->code;
	if (!S_ISDIR(fp.mode) || fp.ino != ino || fp.mtime_ns == a->mtime_ns || (geteuid() != 0 && fp.uid != geteuid()))
		return 0;
	return rein_attrs_apply(fd, name, a, REIN_ATTR_MTIME, err);
}

/* XFS gives a directory a new time when it changes places with something that lies in another one. */
static int keep_times(const struct rein_op *o, const struct ends *e, bool forward, struct rein_err *err)
{
	if (!(o->bits & REIN_ATTR_MTIME) || e->real_fd < 0)
		return 0;
	if (keep_time(e->real_fd, e->real_name, forward ? o->ino_new : o->ino_old, forward ? &o->new : &o->old, err) < 0)
		return -err->code;
	return keep_time(e->slot_fd, e->slot_name, forward ? o->ino_old : o->ino_new, forward ? &o->old : &o->new, err);
}

int rein_ops_times(struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward, struct rein_err *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		auto_(ends_done) struct ends e = {.real_fd = -1, .slot_fd = -1};
		struct rein_op *o = &ops->v[i];

		if (o->kind != REIN_OP_EXCHANGE || !(o->bits & REIN_ATTR_MTIME))
			continue;
		if (ends_open(o, dirs, &e, err) < 0)
			return -err->code;
		if (S_ISDIR(e.real.mode))
			(forward ? &o->old : &o->new)->mtime_ns = e.real.mtime_ns;
		if (S_ISDIR(e.slot.mode))
			(forward ? &o->new : &o->old)->mtime_ns = e.slot.mtime_ns;
	}
	return 0;
}

/* At once: a moment later it may lie elsewhere, with its directory. */
static void note_time(struct rein_op *o, const struct ends *e)
{
	struct rein_err ignored = {0};
	struct rein_fp fp;

	o->ctime_ns = rein_fp_at(e->real_fd, e->real_name, &fp, &ignored) == 0 && fp.mode ? fp.ctime_ns : 0;
}

static int do_exchange(struct rein_op *o, struct ends *e, bool forward, bool back, struct rein_err *err)
{
	uint64_t slot_todo = forward ? o->ino_new : o->ino_old;
	uint64_t real_todo = forward ? o->ino_old : o->ino_new;
	const struct rein_attrs any = {0}, *a = back ? &any : forward ? &o->old : &o->new;

	if (!e->slot.mode)
		return lost(o, err);
	/* done already; a slot that was a link has its first content again when that is undone, too */
	if (e->slot.ino != slot_todo)
		return e->slot.ino == real_todo || (e->real.mode && e->real.ino == slot_todo)
			       ? keep_times(o, e, forward, err)
			       : lost(o, err);
	if (!is_it(&e->real, real_todo, a))
		return outsider(o, err);
	if (move(e->slot_fd, e->slot_name, e->real_fd, e->real_name, RENAME_EXCHANGE, o, err) < 0)
		return -err->code;
	if (back || took_it(e, real_todo, a)) {
		if (keep_times(o, e, forward, err) < 0)
			return -err->code;
		note_time(o, e);
		return 0;
	}
	if (move(e->slot_fd, e->slot_name, e->real_fd, e->real_name, RENAME_EXCHANGE, o, err) < 0 ||
	    keep_times(o, e, !forward, err) < 0)
		return -err->code;
	return outsider(o, err);
}

static int put(struct rein_op *o, struct ends *e, bool back, struct rein_err *err)
{
	/* after a crash: whoever removed what was put there did so afterwards */
	if (!e->slot.mode)
		return e->real.mode || back || o->reach == REIN_REACH_DONE ? 0 : lost(o, err);
	if (e->real_fd < 0)
		return outsider(o, err);
	if (move(e->slot_fd, e->slot_name, e->real_fd, e->real_name, RENAME_NOREPLACE, o, err) < 0)
		return -err->code;
	note_time(o, e);
	return 0;
}

static int take_away(const struct rein_op *o, uint64_t ino, const struct rein_attrs *was, struct ends *e, bool back,
		     struct rein_err *err)
{
	const struct rein_attrs any = {0}, *a = back ? &any : was;

	if (e->slot.mode)
		return 0;
	if (!is_it(&e->real, ino, a))
		return outsider(o, err);
	if (move(e->real_fd, e->real_name, e->slot_fd, e->slot_name, RENAME_NOREPLACE, o, err) < 0)
		return -err->code;
	if (back || took_it(e, ino, a))
		return 0;
	return move(e->slot_fd, e->slot_name, e->real_fd, e->real_name, RENAME_NOREPLACE, o, err) < 0 ? -err->code
												      : outsider(o, err);
}

static int do_create(struct rein_op *o, struct ends *e, bool forward, bool back, struct rein_err *err)
{
	return forward ? put(o, e, back, err) : take_away(o, o->ino_new, &o->new, e, back, err);
}

static int do_delete(struct rein_op *o, struct ends *e, bool forward, bool back, struct rein_err *err)
{
	return forward ? take_away(o, o->ino_old, &o->old, e, back, err) : put(o, e, back, err);
}

static int attributes(const struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	const struct rein_attrs *a = forward ? &o->new : &o->old;

	if (!e->real.mode || e->real.ino != o->ino_old)
		return outsider(o, err);
	return rein_attrs_apply(e->real_fd, e->real_name, a, o->bits, err);
}

static int do_inplace(struct rein_op *o, const struct rein_op_dirs *d, struct ends *e, bool forward, bool back,
		      struct rein_err *err)
{
	auto_close int from = -1, other = -1, to = -1;
	int rc;

	if (!e->real.mode || e->real.ino != o->ino_old)
		return outsider(o, err);
	from = openat(d->store[o->root], forward ? o->slot : o->old_slot,
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	other = from < 0 ? -1
			 : openat(d->store[o->root], forward ? o->old_slot : o->slot, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (other < 0)
		return errno == ENOENT ? lost(o, err) : rein_err_errno(err, "read what '%s' becomes", o->path);
	to = openat(e->real_fd, e->real_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (to < 0 && errno == EACCES &&
	    fchmodat(e->real_fd, e->real_name, e->real.mode | S_IRUSR | S_IWUSR,
		     AT_SYMLINK_NOFOLLOW) == 0)
		to = openat(e->real_fd, e->real_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (to < 0)
		return rein_err_errno(err, "write '%s'", o->path);
	/* a byte that neither we have nor found is somebody's later work, and would be nowhere any more */
	rc = rein_file_between(to, from, other, err);
	if (rc <= 0) {
		fchmod(to, e->real.mode & 07777);
		return rc < 0 ? rc : back || o->reach == REIN_REACH_DONE ? 0 : outsider(o, err);
	}
	o->reach = o->reach ? o->reach : REIN_REACH_MAYBE;
	if (rein_file_copy_data(from, to, err) < 0) {
		struct rein_err ignored = {0};

		/* on the way back from a full disk not a byte of it may have been written yet */
		if (rein_file_same_data(from, to, &ignored) != 1)
			return rein_err_prefix(err, "write '%s'", o->path);
	}
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
			if (is_gone(err))
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
	} else if (!is_gone(err)) {
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

/* A move, by what is in its slot ([O1]). */
static bool is_made(const struct rein_op *o, const struct rein_fp *slot)
{
	return o->kind == REIN_OP_CREATE ? !slot->mode : o->kind == REIN_OP_DELETE ? slot->mode : slot->ino == o->ino_old;
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
		return is_made(q, &fp);
	}
	return 0;
}

int rein_ops_moved(const struct rein_ops *ops, const struct rein_op_dirs *dirs, struct rein_err *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *o = &ops->v[i];
		struct rein_fp fp;

		if ((o->kind != REIN_OP_CREATE && o->kind != REIN_OP_EXCHANGE && o->kind != REIN_OP_DELETE) ||
		    o->root >= dirs->n)
			continue;
		if (stat_store(o, dirs, o->slot, &fp, err) < 0)
			return -err->code;
		if (is_made(o, &fp))
			return 1;
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

static int do_meta(struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	o->reach = o->reach ? o->reach : REIN_REACH_MAYBE;
	return attributes(o, e, forward, err);
}

/* Everything in it is where it belongs by now: one that was moved away, or came, since then keeps what it has. */
static int do_dirmeta(const struct rein_op *o, struct ends *e, bool forward, struct rein_err *err)
{
	if (!e->real.mode || e->real.ino != o->ino_old)
		return 0;
	return attributes(o, e, forward, err) < 0 && !is_gone(err) ? -err->code : 0;
}

static int do_lift(struct ends *e, const struct rein_op *o, bool back, struct rein_err *err)
{
	if (!e->real.mode)
		return back ? 0 : outsider(o, err);
	if ((e->real.mode & S_IRWXU) == S_IRWXU)
		return 0;
	if (fchmodat(e->real_fd, *e->real_name ? e->real_name : ".", (e->real.mode & 07777) | S_IRWXU,
		     AT_SYMLINK_NOFOLLOW) < 0)
		return rein_err_errno(err, "make '%s' writable", o->path);
	return 0;
}

/* 1: the file that is to be written is nowhere. */
static int open_both(const struct rein_ops *ops, const struct rein_op *o, const struct rein_op_dirs *d,
		     struct ends *e, struct rein_err *err)
{
	int found;

	if (ends_open(o, d, e, err) < 0)
		return -err->code;
	if ((o->kind != REIN_OP_INPLACE && o->kind != REIN_OP_META) ||
	    (e->real.mode && e->real.ino == o->ino_old))
		return 0;
	found = find_moved(ops, d, o->root, o->path, o->ino_old, e, err);
	return found < 0 ? found : !found;
}

static int act(const struct rein_ops *ops, struct rein_op *o, const struct rein_op_dirs *d, struct ends *e, bool forward,
	       bool back, struct rein_err *err)
{
	switch (o->kind) {
	case REIN_OP_LIFT:
		return do_lift(e, o, back, err);
	case REIN_OP_INPLACE:
		return do_inplace(o, d, e, forward, back, err);
	case REIN_OP_META:
		return do_meta(o, e, forward, err);
	case REIN_OP_DIRMETA:
		return do_dirmeta(o, e, forward, err);
	case REIN_OP_LINK:
		return do_link(ops, o, d, e, forward, err);
	case REIN_OP_EXCHANGE:
		return do_exchange(o, e, forward, back, err);
	case REIN_OP_CREATE:
		return do_create(o, e, forward, back, err);
	case REIN_OP_DELETE:
		return do_delete(o, e, forward, back, err);
	}
	return rein_err_set(err, REIN_E_INVALID, "the journal has an unknown step");
}

static int take_step(const struct rein_ops *ops, struct rein_op *o, const struct rein_op_dirs *d, bool forward,
		     bool back, struct rein_err *err)
{
	auto_(ends_done) struct ends e = {.real_fd = -1, .slot_fd = -1};
	int rc;

	if (o->root >= d->n)
		return rein_err_set(err, REIN_E_INVALID, "the journal names an unknown root");
	if (back && !o->reach && (o->kind == REIN_OP_INPLACE || o->kind == REIN_OP_META))
		return 0;
	rc = open_both(ops, o, d, &e, err);
	if (rc != 0)
		return rc < 0 ? rc : back || o->reach != REIN_REACH_DONE ? outsider(o, err) : 0;
	return act(ops, o, d, &e, forward, back, err);
}

/* What could not be taken back where it was, where it is by now. */
static int take_elsewhere(const struct rein_ops *ops, struct rein_op *o, const struct rein_op_dirs *d, bool forward,
			  struct rein_strayed *strayed, struct rein_err *err)
{
	auto_(ends_done) struct ends e = {.real_fd = -1, .slot_fd = -1};
	struct rein_err why = *err;
	int dir;

	if (o->root >= d->n || ends_open(o, d, &e, err) < 0) {
		*err = why;
		return -err->code;
	}
	*err = why;
	dir = rein_strayed_find(strayed, ops, o, d, e.real_fd, err);
	if (dir < 0)
		return -err->code;
	rein_closep_(&e.real_fd);
	e.real_fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (e.real_fd < 0)
		return rein_err_errno(err, "open the directory of '%s'", o->path);
	if (rein_fp_at(e.real_fd, e.real_name, &e.real, err) < 0)
		return -err->code;
	return act(ops, o, d, &e, forward, true, err);
}

/* Its mode and its time, too. */
static int dress_strayed(const struct rein_op *o, bool forward, const struct rein_strayed *strayed, struct rein_err *err)
{
	int dir = rein_strayed_known(strayed, o->root, o->ino_old);

	return dir < 0 ? 0 : rein_attrs_apply(dir, "", forward ? &o->new : &o->old, o->bits, err);
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

static int take_back(const struct rein_ops *ops, struct rein_op *o, const struct rein_op_dirs *d, bool forward,
		     struct rein_strayed *strayed, struct rein_err *err)
{
	if (take_step(ops, o, d, forward, true, err) < 0 &&
	    (err->code != REIN_E_CONFLICT || take_elsewhere(ops, o, d, forward, strayed, err) < 0))
		return -err->code;
	return o->kind == REIN_OP_DIRMETA ? dress_strayed(o, forward, strayed, err) : 0;
}

int rein_ops_apply(const struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward, bool back,
		   struct rein_err *err)
{
	auto_(rein_strayed_done) struct rein_strayed strayed = {0};
	struct rein_err first = {0};

	for (int phase = 0; phase < 5; phase++) {
		for (size_t i = 0; i < ops->n; i++) {
			/* what was done last is undone first */
			struct rein_op *o = &ops->v[forward || phase == 4 ? i : ops->n - 1 - i];
			struct rein_err why = {0};

			if (!in_phase(o->kind, phase, forward))
				continue;
			if (!back && take_step(ops, o, dirs, forward, false, err) < 0)
				return -err->code;
			if (back && take_back(ops, o, dirs, forward, &strayed, &why) < 0 && !first.code)
				first = why;
		}
	}
	if (first.code)
		*err = first;
	return -first.code;
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
