/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of txn share among themselves. */
#ifndef REIN_TX_INTERNAL_H
#define REIN_TX_INTERNAL_H

#include "txn/op.h"
#include "txn/txn.h"

/* Where a root's changes live: fills store, upper, work, staged. tag names it below the place. */
int rein_place(const struct rein_state *s, const char *id, size_t index, struct rein_root *root,
	       struct rein_err *err);

/* The directory of a root's changes, if it is the one that was made: by nobody else, reached through no link. */
int rein_open_store(const struct rein_root *r, struct rein_err *err);
/* What it lies in, whoever's that is, to remove it from there; -1: there is none, or it is behind a link. */
int rein_open_store_parent(const struct rein_root *r, const char **ret_name);
/* Now, in the clock of the filesystem that store is on: whoever changes something there from here on does so later. */
int rein_tick(int store, int64_t *ret_ns, struct rein_err *err);

/* In a place on another filesystem, beside the transactions' directories. */
#define REIN_PLACE_IGNORE ".gitignore"

/* Room to write down what becomes of a transaction, though its command fills the disk. */
void rein_reserve_keep(const struct rein_state *s);

/* Directories of a run that changed nothing, for the next one: see spare.c. True: done. */
bool rein_spare_take(const struct rein_state *s, const char *id);
bool rein_spare_give(const struct rein_state *s, struct rein_tx *t);
/* Remove layers that were kept for a next run and whose holder is gone. */
void rein_warm_sweep(const struct rein_state *s);

/*
 * Both descriptions of a transaction, written and then put in their places: what lies between makes
 * them durable.
 */
int rein_tx_stage(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err);
int rein_tx_publish(const struct rein_tx *t, struct rein_err *err);

/* Let go of the trees that nothing was changed in. */
void rein_tx_narrow(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c);
void rein_root_done(struct rein_root *r);
int rein_remove_store(const struct rein_root *r, struct rein_err *err);
/* The overlay's work directory: with an index it may hold links that would count. s may be NULL. */
int rein_remove_work(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err);
/* Out of the way, to be removed when there is time (rein_tx_tidy). False: not possible. */
bool rein_spare_later(const struct rein_state *s, const struct rein_tx *t, size_t root);

/* Changes to steps: makes undo copies, stages what lies elsewhere, strips overlay's attributes. */
int rein_prepare(const struct rein_tx *t, const struct rein_changes *c, struct rein_ops *ret,
		 struct rein_err *err);
/* Names come and go in that directory: one from which they cannot be taken again would leave a commit half done. */
int rein_refuse_fixed(const char *dir, const struct rein_fp *fp, struct rein_err *err);
/* By path, and what directories get at last. */
void rein_ops_sort(struct rein_ops *ops);

/*
 * Merged text in place of the run's, whose own version is kept until it is taken back or forgotten. Under the lock, as
 * what follows.
 */
int rein_merged_put(const struct rein_tx *t, struct rein_changes *c, struct rein_err *err);
int rein_merged_take_back(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err);
void rein_merged_forget(const struct rein_tx *t);
/*
 * After a commit that failed: what it left out of new directories is in its place again, and what it merged is the run's
 * again. Under the lock, and not while there is a journal: its steps count on their absence.
 */
int rein_put_back(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err);

int rein_op_dirs_open(const struct rein_tx *t, struct rein_op_dirs *ret, struct rein_err *err);
void rein_op_dirs_done(struct rein_op_dirs *d);

/* Exclusive right to change real trees ([T4]); the fd is the lock. */
int rein_journal_lock(const struct rein_state *s, int *ret_fd, struct rein_err *err);
/* Under that lock: is t still what was loaded? Somebody may have decided about it meanwhile. */
int rein_tx_still(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err);

/*
 * ctimes that our own moves gave to inodes: a fingerprint taken before such a move still counts.
 */
#define REIN_MOVED_BITS 13

struct rein_moved_bucket {
	uint32_t first, last; /* notes, from 1; 0: none */
};

struct rein_moved {
	struct rein_buf known, fresh;
	struct rein_moved_bucket *buckets; /* by inode: a commit asks for each of its files, and notes are many */
	uint32_t *next;			   /* a note's: the next of its bucket */
	size_t n, cap;
};
void rein_moved_open(const struct rein_state *s, struct rein_moved *m);
void rein_moved_note(struct rein_moved *m, const struct rein_fp *was, const struct rein_fp *is);
void rein_moved_close(const struct rein_state *s, struct rein_moved *m);
void rein_moved_done(struct rein_moved *m);
/* Opens m, zeroed at first, when there is a need to. */
bool rein_moved_same(const struct rein_state *s, struct rein_moved *m, const struct rein_fp *was,
		     const struct rein_fp *is);
int rein_moved_trim(const struct rein_state *s, struct rein_err *err);

/* Files that were one in the run, and are no more if some of their names are left out: see parted.c. */
int rein_parted_mark(struct rein_changes *c, struct rein_err *err);
/* The commit is done and written down: the names that were left out go. */
void rein_parted_forget(const struct rein_state *s, const struct rein_tx *t, const struct rein_op_dirs *d,
			struct rein_changes *c);

/* Files with several names that steps are about to move or link, as they are before: see traces.c. */
struct rein_trace {
	size_t op;
	struct rein_fp fp;
};

struct rein_traces {
	struct rein_trace *v;
	size_t n, cap;
};
void rein_traces_take(const struct rein_ops *ops, const struct rein_changes *c, const struct rein_op_dirs *d,
		      struct rein_traces *ret);
void rein_traces_note(const struct rein_state *s, const struct rein_traces *t, const struct rein_ops *ops,
		      const struct rein_op_dirs *d);
void rein_traces_done(struct rein_traces *t);
/* Directories that somebody moved while steps were taken in them, as far as they were looked for: see strayed.c. */
struct rein_stray {
	uint32_t root;
	uint64_t ino;
	int fd; /* -1: nowhere in the tree */
};

struct rein_strayed {
	struct rein_stray *v;
	size_t n, cap;
};
void rein_strayed_done(struct rein_strayed *s);
/*
 * The directory of a step, where it is now; s keeps it open. there: what has its path, or -1. Returns -1 if that is it, and
 * then err stays, or if it is nowhere, and then err says so.
 */
int rein_strayed_find(struct rein_strayed *s, const struct rein_ops *ops, const struct rein_op *o,
		      const struct rein_op_dirs *d, int there, struct rein_err *err);
/* One that was found before, or -1. */
int rein_strayed_known(const struct rein_strayed *s, uint32_t root, uint64_t ino);

/*
 * The steps as they were taken, made fit for the way back or forth again: after the check, under the lock. What comes as a
 * file of its own, no longer as a name of another, is known by that (after).
 */
int rein_ops_follow(struct rein_ops *ops, struct rein_changes *c, const struct rein_op_dirs *d, bool forward,
		    struct rein_err *err);
/* The change that a step carries out by itself, or NULL: of one path there may be two. */
const struct rein_change *rein_op_change(const struct rein_op *o, const struct rein_changes *c);

#endif
