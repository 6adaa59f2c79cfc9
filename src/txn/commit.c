/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commit, undo, redo and recovery: the only code that changes real trees.
 *
 *  1. content and directories of the private side durable (one syncfs a filesystem), the real side still as it was
 *  2. the list of steps in STATE/journal/ID, durable
 *  3. the steps; if one fails, all of them backward
 *  4. the real side durable, and with it, still beside its place, the new description
 *  5. that takes its place, and the journal moves to STATE/txn/ID/ops: done. If that is lost, recovery finds every step
 *     taken and does it again.
 *
 * Content must be durable before the journal: RENAME_EXCHANGE orders nothing on ext4, a power cut
 * would leave empty files under their real names.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/file.h"
#include "sys/priv.h"
#include "sys/sys.h"
#include "sys/tree.h"
#include "txn/internal.h"

#define JOURNAL_MAX (1u << 30)

/*
 * The path was free of links when the run began. One that is there now leads to another tree, and whoever put it there
 * would choose where a commit writes.
 */
static int open_real(const char *path, struct rein_err *err)
{
	int fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);

	if (fd < 0 && errno == ELOOP)
		return rein_err_set(err, REIN_E_STATE,
				    "'%s' is reached through a symbolic link now: that is not the tree the command ran in",
				    path);
	return fd < 0 ? rein_err_errno(err, "open '%s'", path) : fd;
}

int rein_op_dirs_open(const struct rein_tx *t, struct rein_op_dirs *ret, struct rein_err *err)
{
	struct rein_op_dirs d = {rein_calloc(t->nroots, sizeof(int)),
				 rein_calloc(t->nroots, sizeof(int)), t->begin_ns, 0};

	if (!d.real || !d.store) {
		rein_op_dirs_done(&d);
		return rein_err_nomem(err);
	}
	for (; d.n < t->nroots; d.n++) {
		d.store[d.n] = rein_open_store(&t->roots[d.n], err);
		d.real[d.n] = d.store[d.n] < 0 ? -1 : open_real(t->roots[d.n].real, err);
		if (d.real[d.n] < 0) {
			d.n++;
			rein_op_dirs_done(&d);
			return -err->code;
		}
	}
	*ret = d;
	return 0;
}

void rein_op_dirs_done(struct rein_op_dirs *d)
{
	for (size_t i = 0; i < d->n; i++) {
		rein_closep_(&d->real[i]);
		rein_closep_(&d->store[i]);
	}
	rein_free(d->real);
	rein_free(d->store);
	*d = (struct rein_op_dirs){0};
}

static int sync_all(const struct rein_op_dirs *d, int extra, struct rein_err *err)
{
	struct stat st;
	dev_t seen[16];
	size_t n = 0;

	for (size_t i = 0; i <= d->n; i++) {
		int fd = i < d->n ? d->store[i] : extra;
		bool have = false;

		if (fd < 0)
			continue;
		if (fstat(fd, &st) < 0)
			return rein_err_errno(err, "stat");
		for (size_t k = 0; k < n; k++)
			have |= seen[k] == st.st_dev;
		if (have)
			continue;
		if (syncfs(fd) < 0)
			return rein_err_errno(err, "write everything to disk");
		if (n < ARRAY_SIZE(seen))
			seen[n++] = st.st_dev;
	}
	return 0;
}

static int write_journal(const struct rein_state *s, const char *id, const struct rein_ops *ops,
			 bool forward, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(JOURNAL_MAX);

	rein_ops_format(ops, forward, &b);
	if (b.failed)
		return rein_err_set(err, REIN_E_LIMIT, "too many changes for one commit");
	if (rein_file_replace(s->journal_fd, id, (struct rein_str){b.p, b.n}, REIN_SYNC_DURABLE,
			      err) < 0) {
		struct rein_err why = *err;

		/* it may be there in name: nobody may act on it */
		unlinkat(s->journal_fd, id, 0);
		*err = why;
		return rein_err_prefix(err, "write the journal");
	}
	return 0;
}

/* Step 3 and 4 in one direction. */
static int carry_out(const struct rein_ops *ops, const struct rein_op_dirs *d, bool forward, bool back,
		     struct rein_err *err)
{
	if (rein_ops_apply(ops, d, forward, back, err) < 0)
		return -err->code;
	return sync_all(d, -1, err);
}

/* The journal has done its duty: it becomes the list that an undo will follow backward. */
static int close_journal(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err)
{
	if (renameat(s->journal_fd, t->id, t->dirfd, "ops") < 0)
		return rein_err_errno(err, "close the journal of %s", t->id);
	return 0;
}

/*
 * The list of a transaction stays as it is until the commit, undo or redo is done: what was left out, or
 * settled in another way, is so for this one attempt. What is chosen is written beside it, for recovery.
 */
static int save_chosen(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(JOURNAL_MAX);

	rein_changes_format(c, &b);
	if (b.failed)
		return rein_err_set(err, REIN_E_LIMIT, "too many changes for one transaction");
	return rein_file_replace(t->dirfd, "chosen", (struct rein_str){b.p, b.n}, REIN_SYNC_NONE, err);
}

/* The changes that a journal is about. */
static int load_chosen(const struct rein_tx *t, struct rein_changes *ret, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(JOURNAL_MAX);

	if (t->state == REIN_TX_RUNNING || faccessat(t->dirfd, "chosen", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return rein_tx_changes(t, ret, err);
	if (rein_file_read(t->dirfd, "chosen", &b, err) < 0 ||
	    rein_changes_parse((struct rein_str){b.p, b.n}, ret, err) < 0)
		return -err->code;
	for (size_t i = 0; i < ret->n; i++) {
		if (ret->v[i].root < t->nroots)
			continue;
		rein_changes_done(ret);
		return rein_err_set(err, REIN_E_INVALID, "a change has no root");
	}
	return 0;
}

/* It is done: nothing of the attempt is needed any more. */
static void forget_attempt(const struct rein_state *s, const struct rein_tx *t, const struct rein_op_dirs *d,
			   struct rein_changes *c)
{
	struct rein_err ignored = {0};

	unlinkat(t->dirfd, "chosen", 0);
	rein_merged_forget(t);
	for (size_t i = 0; i < d->n; i++)
		rein_tree_remove(d->store[i], "left", &ignored);
	rein_parted_forget(s, t, d, c);
}

/*
 * Somebody else's doing stands in the way back. It would in the way forward, and every command would go there and back
 * again: so there is only one way from here. Lost in a power cut, the mark costs one such round.
 */
#define BACK "back"

/* It is as before; where the content of a held one cannot be put back now, the next attempt begins with that. */
static void take_back_attempt(const struct rein_tx *t, const struct rein_changes *c)
{
	struct rein_err ignored = {0};

	unlinkat(t->dirfd, "chosen", 0);
	unlinkat(t->dirfd, BACK, 0);
	if (t->state == REIN_TX_HELD || t->state == REIN_TX_RUNNING)
		rein_put_back(t, c, &ignored);
}

/* What moves put into the tree has the time that they gave it, wherever it lies by now. */
static bool refresh_moved(struct rein_moved *moved, const struct rein_ops *ops, struct rein_changes *c, bool before)
{
	bool any = false;

	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *o = &ops->v[i];
		const struct rein_change *x = o->ctime_ns ? rein_op_change(o, c) : NULL;
		struct rein_fp *known = !x ? NULL : before ? &c->v[x - c->v].before : &c->v[x - c->v].after, now;

		if (!known || !known->mode || x->link_to || known->ino != (before ? o->ino_old : o->ino_new) ||
		    known->ctime_ns == o->ctime_ns)
			continue;
		now = *known;
		now.ctime_ns = o->ctime_ns;
		rein_moved_note(moved, known, &now);
		*known = now;
		any = true;
	}
	return any;
}

static bool refresh_list(struct rein_moved *moved, const struct rein_ops *ops, const struct rein_op_dirs *d,
			 struct rein_changes *c, bool forward)
{
	bool any = refresh_moved(moved, ops, c, forward);
	struct rein_err ignored = {0};

	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		struct rein_fp *known = forward ? &x->before : &x->after;
		struct rein_fp now, same;

		if (!known->mode || *x->path == '\0' ||
		    (forward && x->from && x->kind == REIN_CHANGE_CREATED) ||
		    rein_fp_at(d->real[x->root], x->path, &now, &ignored) < 0)
			continue;
		same = now;
		same.ctime_ns = known->ctime_ns;
		if (!rein_fp_equal(known, &same) || known->ctime_ns == now.ctime_ns)
			continue;
		rein_moved_note(moved, known, &now);
		*known = now;
		any = true;
	}
	return any;
}

/*
 * A way there and back leaves everything as it was but the ctimes. Where nothing else differs the
 * fingerprints follow; an outsider's change stays one. What cannot be written down (a full disk) would be
 * taken for such a change ever after.
 */
static int refresh_back(const struct rein_state *s, const struct rein_tx *t, const struct rein_ops *ops,
			const struct rein_op_dirs *d, struct rein_changes *c, bool forward, struct rein_err *err)
{
	auto_(rein_changes_done) struct rein_changes whole = {0};
	bool has_own = t->state != REIN_TX_RUNNING; /* beside the chosen ones */
	struct rein_moved moved;
	bool any;

	if (has_own && rein_tx_changes(t, &whole, err) < 0)
		return -err->code;
	rein_moved_open(s, &moved);
	any = refresh_list(&moved, ops, d, c, forward);
	any |= refresh_list(&moved, ops, d, &whole, forward);
	rein_moved_close(s, &moved);
	return any ? rein_tx_save_changes(t, has_own ? &whole : c, true, err) : 0;
}

static bool goes_back(const struct rein_tx *t)
{
	return faccessat(t->dirfd, BACK, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int take_back(const struct rein_state *s, const struct rein_tx *t, struct rein_changes *c, const struct rein_ops *ops,
		     const struct rein_op_dirs *d, bool forward, struct rein_err *err)
{
	auto_close int mark = -1;

	if ((carry_out(ops, d, !forward, true, err) == 0 ||
	     (rein_master_own_files(err->sys) && carry_out(ops, d, !forward, true, err) == 0)) &&
	    refresh_back(s, t, ops, d, c, forward, err) == 0)
		return 0;
	if (err->code == REIN_E_CONFLICT)
		mark = openat(t->dirfd, BACK, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return -err->code;
}

static int remove_journal(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err)
{
	if (unlinkat(s->journal_fd, t->id, 0) < 0 || fsync(s->journal_fd) < 0)
		return rein_err_errno(err, "remove the journal of %s", t->id);
	return 0;
}

static int go_back(const struct rein_state *s, const struct rein_tx *t, struct rein_changes *c,
		   const struct rein_ops *ops, const struct rein_op_dirs *d, bool forward,
		   struct rein_err *err)
{
	struct rein_err why = *err, second = {0};

	if (take_back(s, t, c, ops, d, forward, &second) < 0) /* the journal stays: the next command tries again ([T3]) */
		return rein_err_set(err, REIN_E_FAILED, /* no conflict that leaves everything as it was */
				    "transaction %s is half done, which the next command tries to settle (to give it up: "
				    "rein discard --force %s): %s; at first: %s",
				    t->id, t->id, second.msg, why.msg);
	if (remove_journal(s, t, err) < 0)
		return -err->code;
	*err = why;
	return rein_err_prefix(err, "nothing was changed");
}

/* Stat a path of ours, whatever the modes on the way to it say. */
static int look(int root, const char *path, struct rein_fp *ret)
{
	for (;;) {
		auto_close int parent = -1;
		struct rein_err err = {0};
		const char *name;

		if (rein_open_parent(root, path, &name, &parent, &err) == 0 &&
		    rein_fp_at(parent, name, ret, &err) == 0)
			return 0;
		if (!rein_master_own_files(err.sys))
			return -1;
	}
}

/*
 * Somebody may have been there since, a formatter that watches the tree or, before a recovery, a person: what is not what
 * was put there is later work, and stays that to an undo. (What is written through a name has times of its own.)
 */
static bool is_what_was_put(const struct rein_change *x, const struct rein_fp *known, const struct rein_fp *now)
{
	return S_ISDIR(known->mode) || x->kind == REIN_CHANGE_META || x->link_to ||
	       (known->size == now->size && known->mtime_ns == now->mtime_ns && known->mode == now->mode);
}

/* What is in the real tree now, for later checks; and the ctimes our moves caused. */
static void refresh(const struct rein_state *s, const struct rein_ops *ops, const struct rein_op_dirs *d,
		    struct rein_changes *c, bool forward)
{
	struct rein_moved moved;

	rein_moved_open(s, &moved);
	refresh_moved(&moved, ops, c, !forward);
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		struct rein_fp *known = forward ? &x->after : &x->before;
		struct rein_fp now;

		if (x->skipped || (forward && x->kind == REIN_CHANGE_DELETED) ||
		    (!forward && x->kind == REIN_CHANGE_CREATED))
			continue;
		if (look(d->real[x->root], x->path, &now) < 0 || !now.mode || !is_what_was_put(x, known, &now))
			continue;
		rein_moved_note(&moved, known, &now);
		/*
		 * An inode that was written to in place is the same before and after. Whoever knew it before may take it for
		 * that one only where nothing was changed that a fingerprint does not tell: extended attributes are told by
		 * nothing but the time, nor is content of the same length whose time was set back.
		 */
		if ((x->kind == REIN_CHANGE_META || x->in_place) && !(x->what & (REIN_WHAT_XATTR | REIN_WHAT_CONTENT)))
			rein_moved_note(&moved, forward ? &x->before : &x->after, &now);
		*known = now;
	}
	rein_moved_close(s, &moved);
}

static int finish(const struct rein_state *s, struct rein_tx *t, const struct rein_ops *ops,
		  const struct rein_op_dirs *d, struct rein_changes *c, bool forward, struct rein_err *err)
{
	refresh(s, ops, d, c, forward);
	rein_free(take_ptr(t->reason)); /* it was held for that, and is no more */
	t->state = forward ? REIN_TX_COMMITTED : REIN_TX_UNDONE;
	t->decided_ns = rein_now_ns();
	if (rein_tx_save_changes(t, c, true, err) < 0 || rein_tx_save(s, t, true, err) < 0 ||
	    close_journal(s, t, err) < 0)
		return -err->code;
	return 0;
}

/*
 * What the transaction will be when the steps are durable: written beside the old description, so
 * that the one sync covers both.
 */
struct outcome {
	struct rein_tx tx;	/* a shallow copy, as is the list */
	struct rein_changes changes;
	bool staged;
};

static void outcome_done(struct outcome *o)
{
	rein_free(o->changes.v);
}

static void foresee(const struct rein_state *s, const struct rein_tx *t, const struct rein_ops *ops,
		    const struct rein_op_dirs *d, const struct rein_changes *c, bool forward, struct outcome *ret)
{
	struct rein_err ignored = {0};

	*ret = (struct outcome){.tx = *t, .changes = *c};
	ret->tx.reason = NULL; /* as in finish(); t has it still */
	ret->changes.v = rein_calloc(c->n ? c->n : 1, sizeof(*c->v));
	if (!ret->changes.v)
		return;
	if (c->n)
		memcpy(ret->changes.v, c->v, c->n * sizeof(*c->v));
	refresh(s, ops, d, &ret->changes, forward);
	ret->tx.state = forward ? REIN_TX_COMMITTED : REIN_TX_UNDONE;
	ret->tx.decided_ns = rein_now_ns();
	ret->staged = rein_tx_stage(&ret->tx, &ret->changes, &ignored) == 0;
}

/* It is durable: give it its place. */
static int settle(const struct rein_state *s, const struct outcome *o, struct rein_tx *t,
		  struct rein_changes *c, struct rein_err *err)
{
	t->state = o->tx.state;
	t->decided_ns = o->tx.decided_ns;
	rein_free(take_ptr(t->reason));
	if (c->n)
		memcpy(c->v, o->changes.v, c->n * sizeof(*c->v));
	if (rein_tx_publish(t, err) < 0)
		return -err->code;
	return close_journal(s, t, err);
}

static int take_steps(const struct rein_ops *ops, const struct rein_op_dirs *d, bool forward,
		      struct rein_err *err)
{
	if (rein_ops_apply(ops, d, forward, false, err) == 0)
		return 0;
	/* what a mode of our own files forbids is tried once more with the right to it */
	if (!rein_master_own_files(err->sys))
		return -err->code;
	return rein_ops_apply(ops, d, forward, false, err);
}

static int conflict(const struct rein_tx *t, int n, struct rein_err *err)
{
	return rein_err_set(err, REIN_E_CONFLICT, "transaction %s: %d conflict%s", t->id, n,
			    n == 1 ? "" : "s");
}

/* Under the lock nobody else of ours changes the tree: look once more, then act. */
static int check_again(const struct rein_state *s, const struct rein_tx *t, struct rein_changes *c,
		       bool forward, struct rein_err *err)
{
	int n = rein_tx_check(s, t, c, forward, err);

	return n > 0 ? conflict(t, n, err) : n;
}

/* Where times are whole seconds, what is changed after this has another one than what the steps gave. */
static void let_second_pass(const struct rein_tx *t, const struct rein_op_dirs *d)
{
	struct rein_err ignored = {0};
	int64_t now;

	for (size_t i = 0; i < d->n; i++)
		if (t->begin_ns[i] % (int64_t)REIN_NS_PER_S == 0)
			rein_tick(d->store[i], &now, &ignored);
}

static int run(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
	       struct rein_ops *ops, const struct rein_op_dirs *d, bool forward,
	       struct rein_err *err)
{
	auto_(rein_traces_done) struct rein_traces traces = {0};
	auto_(outcome_done) struct outcome o = {0};
	int rc;

	/* the disk may take seconds, and others work meanwhile: what they wrote into a file would move away with it */
	if (rein_ops_verify(ops, d, forward, err) < 0 || sync_all(d, t->dirfd, err) < 0 ||
	    check_again(s, t, c, forward, err) < 0 || rein_ops_times(ops, d, forward, err) < 0 ||
	    write_journal(s, t->id, ops, forward, err) < 0)
		return -err->code;
	rein_traces_take(ops, c, d, &traces);
	rc = take_steps(ops, d, forward, err) < 0 ? go_back(s, t, c, ops, d, forward, err) : 0;
	rein_traces_note(s, &traces, ops, d);
	if (rc < 0)
		return rc;
	let_second_pass(t, d);
	foresee(s, t, ops, d, c, forward, &o);
	if (sync_all(d, t->dirfd, err) < 0)
		return go_back(s, t, c, ops, d, forward, err);
	/*
	 * Done and durable. If it cannot be written down (a full disk) the journal stays and the
	 * next command writes it: that is no failure of the commit.
	 */
	rc = o.staged ? settle(s, &o, t, c, err) : finish(s, t, ops, d, c, forward, err);
	t->unfinished = rc < 0;
	if (rc == 0)
		forget_attempt(s, t, d, c);
	*err = (struct rein_err){0};
	return 0;
}

static int refuse_stuck(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err)
{
	if (!rein_tx_stuck(s, t->id))
		return 0;
	return rein_err_set(err, REIN_E_STATE,
			    "transaction %s is half done and cannot be finished (every command tries); "
			    "put the paths it needs back, or give it up: rein discard --force %s",
			    t->id, t->id);
}

/* Recovery must find what the journal belongs to. */
static int write_down(const struct rein_state *s, struct rein_tx *t, const struct rein_changes *c,
		      struct rein_err *err)
{
	rein_changes_sum(c, &t->sum);
	if (t->state == REIN_TX_HELD)
		return save_chosen(t, c, err);
	return rein_tx_save_changes(t, c, false, err) < 0 ? -err->code : rein_tx_save(s, t, false, err);
}

static int attempt(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c, struct rein_err *err)
{
	auto_(rein_ops_done) struct rein_ops ops = {0};
	auto_(rein_op_dirs_done) struct rein_op_dirs d = {0};

	/* first what an attempt before this one left */
	if (rein_remove_work(s, t, err) < 0 || rein_put_back(t, c, err) < 0 || rein_merged_put(t, c, err) < 0 ||
	    rein_parted_mark(c, err) < 0 || rein_prepare(t, c, &ops, err) < 0 || rein_op_dirs_open(t, &d, err) < 0 || write_down(s, t, c, err) < 0)
		return -err->code;
	return run(s, t, c, &ops, &d, true, err);
}

static int commit_once(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		       struct rein_err *err)
{
	const struct rein_summary was = t->sum;
	struct rein_err again = {0};
	auto_close int lock = -1;
	int rc, clashes = 0;

	if (t->state != REIN_TX_HELD && t->state != REIN_TX_RUNNING)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is already %s", t->id,
				    rein_tx_state_name(t->state));
	if (rein_journal_lock(s, &lock, err) < 0 || refuse_stuck(s, t, err) < 0 || rein_tx_still(s, t, err) < 0 ||
	    check_again(s, t, c, true, err) < 0)
		return -err->code;
	rc = attempt(s, t, c, err);
	if (rc < 0 && !rein_tx_stuck(s, t->id)) {
		take_back_attempt(t, c);
		t->sum = was;
		/* gone since the check: that is a conflict, and it can be told of what */
		if (err->sys == ENOENT || err->sys == ENOTDIR)
			clashes = rein_tx_check(s, t, c, true, &again);
		rc = clashes > 0 ? conflict(t, clashes, err) : rc;
	}
	return rc;
}

int rein_tx_commit(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		   struct rein_err *err)
{
	int rc;

	if (t->state == REIN_TX_RUNNING)
		rein_tx_narrow(s, t, c);
	do
		rc = commit_once(s, t, c, err);
	while (rc < 0 && rein_master_own_files(err->sys));
	return rc;
}

static int reverse_once(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		   bool forward, struct rein_err *err)
{
	auto_(rein_ops_done) struct rein_ops ops = {0};
	auto_(rein_op_dirs_done) struct rein_op_dirs d = {0};
	auto_buf struct rein_buf b = REIN_BUF(JOURNAL_MAX);
	const struct rein_summary sum = t->sum;
	auto_close int lock = -1;
	bool was;
	int rc;

	if (rein_journal_lock(s, &lock, err) < 0 || refuse_stuck(s, t, err) < 0 || rein_tx_still(s, t, err) < 0 ||
	    check_again(s, t, c, forward, err) < 0 ||
	    rein_file_read(t->dirfd, "ops", &b, err) < 0 ||
	    rein_ops_parse((struct rein_str){b.p, b.n}, &ops, &was, err) < 0 ||
	    rein_op_dirs_open(t, &d, err) < 0 || rein_ops_follow(&ops, c, &d, forward, err) < 0)
		return -err->code;
	rein_changes_sum(c, &t->sum); /* something may be left out since */
	rc = save_chosen(t, c, err) < 0 ? -err->code : run(s, t, c, &ops, &d, forward, err);
	if (rc < 0 && !rein_tx_stuck(s, t->id)) {
		take_back_attempt(t, c);
		t->sum = sum;
	}
	return rc;
}

static int reverse(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c, bool forward,
		   struct rein_err *err)
{
	int rc;

	do
		rc = reverse_once(s, t, c, forward, err);
	while (rc < 0 && rein_master_own_files(err->sys));
	return rc;
}

int rein_tx_undo(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err)
{
	if (t->state != REIN_TX_COMMITTED)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is %s: only a committed one can be undone",
				    t->id, rein_tx_state_name(t->state));
	return reverse(s, t, c, false, err);
}

int rein_tx_redo(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err)
{
	if (t->state != REIN_TX_UNDONE)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is %s: only an undone one can be redone",
				    t->id, rein_tx_state_name(t->state));
	return reverse(s, t, c, true, err);
}

/*
 * People go on working after a crash. A file that is written in place shows no more who wrote it last; but it was written
 * before anything was moved, and before it was said to be done.
 */
static int find_reach(const struct rein_tx *t, const struct rein_op_dirs *d, bool forward, struct rein_ops *ops,
		      struct rein_err *err)
{
	int moved = forward ? rein_ops_moved(ops, d, err) : 0;
	const bool done = moved || t->state == (forward ? REIN_TX_COMMITTED : REIN_TX_UNDONE);

	if (moved < 0)
		return moved;
	for (size_t i = 0; i < ops->n; i++)
		ops->v[i].reach = done ? REIN_REACH_DONE : REIN_REACH_MAYBE;
	return 0;
}

/* One journal a crash left: forward as it was meant, else back. */
static int recover_one(const struct rein_state *s, const char *id, struct rein_err *err)
{
	auto_(rein_ops_done) struct rein_ops ops = {0};
	auto_(rein_op_dirs_done) struct rein_op_dirs d = {0};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_buf struct rein_buf b = REIN_BUF(JOURNAL_MAX);
	bool forward;

	if (rein_file_read(s->journal_fd, id, &b, err) < 0)
		return -err->code;
	/* it got its name only when it was whole on disk: damage means that a step may be half known */
	if (rein_ops_parse((struct rein_str){b.p, b.n}, &ops, &forward, err) < 0)
		return rein_err_prefix(err, "recover transaction %s: journal/%s", id, id);
	if (rein_tx_load(s, id, &t, err) < 0 || load_chosen(&t, &c, err) < 0 ||
	    rein_parted_mark(&c, err) < 0 || rein_op_dirs_open(&t, &d, err) < 0)
		return rein_err_prefix(err, "recover transaction %s", id);
	if (find_reach(&t, &d, forward, &ops, err) < 0)
		return rein_err_prefix(err, "recover transaction %s", id);
	if (goes_back(&t) || (carry_out(&ops, &d, forward, false, err) < 0 &&
			      (!rein_master_own_files(err->sys) || carry_out(&ops, &d, forward, false, err) < 0))) {
		if (take_back(s, &t, &c, &ops, &d, forward, err) < 0)
			return rein_err_prefix(err, "transaction %s is half done", id);
		if (remove_journal(s, &t, err) < 0)
			return -err->code;
		take_back_attempt(&t, &c);
		return 0;
	}
	rein_changes_sum(&c, &t.sum);
	if (finish(s, &t, &ops, &d, &c, forward, err) < 0)
		return -err->code;
	forget_attempt(s, &t, &d, &c);
	return 0;
}

bool rein_tx_stuck(const struct rein_state *s, const char *id)
{
	return faccessat(s->journal_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int rein_tx_abandon(const struct rein_state *s, struct rein_tx *t, struct rein_err *err)
{
	auto_close int lock = -1;

	if (rein_journal_lock(s, &lock, err) < 0)
		return -err->code;
	/* the tree stays as it is; list and content stay until gc, for whoever wants to look */
	if (renameat(s->journal_fd, t->id, t->dirfd, "ops.abandoned") < 0)
		return rein_err_errno(err, "abandon transaction %s", t->id);
	rein_free(t->reason);
	t->reason = rein_strdup("abandoned: it could neither be finished nor taken back");
	t->state = REIN_TX_DISCARDED;
	t->decided_ns = rein_now_ns();
	return rein_tx_save(s, t, true, err);
}

int rein_tx_recover(const struct rein_state *s, struct rein_err *stuck, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int lock = -1;
	struct rein_err why;
	int n = 0;

	/* cheap on every start: one look into a directory that is almost always empty */
	if (rein_names_read(s->journal_fd, "", &names, err) < 0)
		return -err->code;
	if (!names.n)
		return 0;
	if (rein_journal_lock(s, &lock, err) < 0)
		return -err->code;
	rein_names_done(&names); /* whoever held the lock may have finished meanwhile */
	if (rein_names_read(s->journal_fd, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		if (strchr(names.v[i], '.')) { /* a file that never got its name */
			unlinkat(s->journal_fd, names.v[i], 0);
			continue;
		}
		/* one that cannot be finished now must not stop everything else */
		why = (struct rein_err){0};
		if (recover_one(s, names.v[i], &why) < 0)
			*stuck = why;
		else
			n++;
	}
	return n;
}
