/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a commit, decided before the first of them is taken. Each can be done and undone,
 * knows from the private side alone whether it was done, and may be repeated.
 *
 * Forward order:  LIFT, INPLACE + META, LINK, then moves (EXCHANGE CREATE DELETE), then DIRMETA.
 * Backward order: LIFT, moves, LINK, INPLACE + META, then DIRMETA with the old values.
 *
 * [O1] A move is one rename within one filesystem; the slot in the private store tells whether it
 *      was done: EXCHANGE when the slot holds the old inode, CREATE when the slot is empty, DELETE
 *      when the slot is full.
 *      A move knows the file it takes away by its inode, and by its time: old.mtime_ns of the one that
 *      was there before, new.mtime_ns of the one it put there; 0 where that may be another by now.
 * [O2] No two moves concern paths one of which contains the other.
 */
#ifndef REIN_TX_OP_H
#define REIN_TX_OP_H

#include "base/buf.h"
#include "base/fp.h"
#include "sys/attr.h"

enum rein_op_kind {
	REIN_OP_LIFT = 1, /* make a directory writable for the moves in it */
	REIN_OP_INPLACE,  /* write a hard-linked file through its name */
	REIN_OP_META,	  /* attributes of a file */
	REIN_OP_LINK,	  /* make the slot another name of a real file */
	REIN_OP_EXCHANGE, /* slot and real change places */
	REIN_OP_CREATE,	  /* slot moves to real */
	REIN_OP_DELETE,	  /* real moves to slot */
	REIN_OP_DIRMETA,  /* attributes of a directory, after the moves in it */
};

/* How far a step came, of those that do not tell by their slots; after a crash, of all. Not written down. */
enum rein_op_reach {
	REIN_REACH_NOT = 0,
	REIN_REACH_MAYBE, /* begun, or who knows */
	REIN_REACH_DONE,  /* a later step was taken: whoever changed the file did so afterwards */
};

struct rein_op {
	char *path;	/* relative to the root's real directory */
	char *slot;	/* relative to the root's store, or NULL */
	char *old_slot; /* INPLACE: copy of the old bytes. LINK: the real path to link */
	char *keep;	/* LINK: where what was in the slot waits; changes places with it */
	struct rein_attrs old, new;
	uint64_t ino_old, ino_new;
	int64_t ctime_ns; /* that the move gave to what it put into the tree; 0: it put nothing there. Not written down */
	uint32_t root;
	uint8_t kind;
	uint8_t bits; /* META, DIRMETA, INPLACE: which attributes. EXCHANGE: the time, if a directory is among the two */
	uint8_t reach; /* enum rein_op_reach */
};

struct rein_ops {
	struct rein_op *v;
	size_t n, cap;
};

void rein_op_done(struct rein_op *o);
void rein_ops_done(struct rein_ops *ops);
struct rein_op *rein_ops_add(struct rein_ops *ops, uint32_t root, int kind, const char *path,
			     const char *slot);
void rein_ops_format(const struct rein_ops *ops, bool forward, struct rein_buf *b);
int rein_ops_parse(struct rein_str in, struct rein_ops *ret, bool *ret_forward,
		   struct rein_err *err);

/* Where the roots are, opened once. */
struct rein_op_dirs {
	int *real, *store;
	const int64_t *begin_ns; /* the transaction's */
	size_t n;
};

/*
 * Is everything there that the steps need, one way and back? Before the journal: what is missing then
 * is a refusal, afterwards it would be a tree between two states.
 */
int rein_ops_verify(const struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward,
		    struct rein_err *err);
/* The times that directories keep which change places: as they are now, for the journal. */
int rein_ops_times(struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward, struct rein_err *err);
/*
 * Take every step in one direction. On failure the steps taken stay: call it the other way, with back. What somebody else
 * did meanwhile is a reason to fail; not so on the way back, where a step that was not taken has nothing to do. One that
 * cannot be taken back keeps no other from it, and a directory that was moved within the tree is followed.
 */
int rein_ops_apply(const struct rein_ops *ops, const struct rein_op_dirs *dirs, bool forward, bool back,
		   struct rein_err *err);
/* After a crash: was one of the moves made? */
int rein_ops_moved(const struct rein_ops *ops, const struct rein_op_dirs *dirs, struct rein_err *err);
/* By what a move will know the file that it is to take away ([O1]). */
void rein_op_expect(struct rein_attrs *a, const struct rein_fp *fp);

#endif
