/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transaction: a directory of its own in the state, holding what a run changed until it is
 * committed, and what a commit replaced for as long as it can be undone.
 *
 *	RUNNING --rein_tx_hold--> HELD --rein_tx_commit--> COMMITTED <--redo/undo--> UNDONE
 *	   |                        |
 *	   +------------------------+--rein_tx_discard--> DISCARDED          (any but RUNNING) --gc--> gone
 *
 * [T1] Nothing outside the private directories changes before the journal is durable.
 * [T2] The journal lies in STATE/journal exactly while the real tree may be between two states.
 * [T3] Whoever opens the state finishes such a journal first, forward or else backward; once backward, only that way.
 * [T4] One process at a time commits, undoes or recovers (lock on STATE/journal).
 * [T5] A RUNNING transaction is locked by its process; unlocked, its process is dead.
 */
#ifndef REIN_TX_TXN_H
#define REIN_TX_TXN_H

#include "model/change.h"
#include "model/review.h"
#include "model/root.h"

enum rein_tx_state {
	REIN_TX_RUNNING = 1,
	REIN_TX_HELD,
	REIN_TX_COMMITTED,
	REIN_TX_UNDONE,
	REIN_TX_DISCARDED,
};

struct rein_state {
	char *dir; /* absolute */
	int fd, txn_fd, journal_fd;
};

#define REIN_TX_ID_MAX 8

struct rein_tx {
	char id[REIN_TX_ID_MAX + 1];
	int state;
	uint64_t created_ns, ended_ns, decided_ns;
	int status; /* the command's exit status */
	int end;    /* enum rein_box_end */
	char *workspace, *cwd;
	char *action; /* its name on the record, or NULL */
	char *agent;  /* on whose behalf, or NULL */
	int level, reach; /* of the command that named it; 0: nobody said */
	char *reason; /* why it was held or discarded, or NULL */
	struct rein_reviews reviews; /* that stand before its commit */
	char **argv;
	size_t argc;
	struct rein_root *roots;
	int64_t *begin_ns; /* a root's: when it began, in its filesystem's clock */
	int64_t clock_ns;  /* of the one who began it: how far the clock was from one that nobody sets; 0: unknown */
	size_t nroots;
	struct rein_summary sum;
	int dirfd; /* STATE/txn/ID, locked while RUNNING */
	bool blank; /* nothing happened, and nothing shows what it was meant for */
	bool unfinished; /* committed or undone, but its description could not be written yet */
};

/* NULL dir: $REIN_STATE, else $XDG_STATE_HOME/rein, else ~/.local/state/rein. Made 0700. */
int rein_state_open(const char *dir, struct rein_state *ret, struct rein_err *err);
void rein_state_done(struct rein_state *s);
/* What a filesystem makes of transactions: found by trying, and nothing is left. dir is any directory to keep a state in. */
struct rein_place_facts {
	bool staged;  /* the private layer lies elsewhere: a commit copies first */
	bool seconds; /* its times are whole seconds: one is let pass in a run, and one in a commit */
};
int rein_place_try(const char *dir, const char *real, struct rein_place_facts *ret, struct rein_err *err);
/* Is nothing of ours on the filesystem of real but what lies in the state? */
bool rein_place_none(const struct rein_state *s, const char *real);
/* The directory rein_state_open would take; the caller owns it. */
int rein_state_path(char **ret, struct rein_err *err);

void rein_tx_done(struct rein_tx *t);
const char *rein_tx_state_name(int state);

/* Directories of an earlier run whose overlay is still mounted: STATE/warm/NAME, and what has them locked. */
struct rein_tx_warm {
	const char *name;
	int dir;
};

/*
 * A new transaction over these real directories; stores and upper directories are made. warm: to be
 * taken over, with its descriptor (-1 then), if it is still there; or NULL.
 */
int rein_tx_begin(const struct rein_state *s, const char *const *reals, size_t n, struct rein_tx_warm *warm,
		   struct rein_tx *ret, struct rein_err *err);
/* A name and the trees for a run that only reads them: nothing is made, and there is nothing to drop. */
int rein_tx_reader(const struct rein_state *s, const char *const *reals, size_t n, struct rein_tx *ret,
		   struct rein_err *err);
/* The overlay does not fit after all, and is gone: make its directories fit for another. */
int rein_tx_cool(const struct rein_tx *t, struct rein_err *err);
/*
 * Nothing happened, and its overlay is to stay: the directories become STATE/warm/NAME, and *ret_dir
 * what has them locked. False: something happened after all, or somebody else's are there; as before.
 */
bool rein_tx_leave(const struct rein_state *s, struct rein_tx *t, const char *name, int *ret_dir);
void rein_tx_remove_warm(const struct rein_state *s, const char *name);
/*
 * Nothing happened: take every trace away. What can be done of it while the box's mounts still
 * stand may be done ahead, by rein_tx_blank.
 */
void rein_tx_blank(const struct rein_state *s, struct rein_tx *t);
int rein_tx_drop(const struct rein_state *s, struct rein_tx *t, struct rein_err *err);
/* Work that can wait until the box runs: what a former use of the directories left. */
void rein_tx_tidy(const struct rein_state *s, const struct rein_tx *t);
/* Call before the effects are read: if the clock was set back, it began earlier than it says. */
void rein_tx_heed_clock(struct rein_tx *t);
/* Make the layers fit to be mounted once more. */
int rein_tx_reopen(const struct rein_tx *t, struct rein_err *err);
/* Call when a command is over and before it is decided about: on a full disk that takes the room that was kept. */
void rein_reserve_use(const struct rein_state *s);
/* RUNNING to HELD, with what the run changed. */
int rein_tx_hold(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err);
/* sync: after a power cut the old or the new one is there, never half of it. */
int rein_tx_save(const struct rein_state *s, const struct rein_tx *t, bool sync, struct rein_err *err);
int rein_tx_load(const struct rein_state *s, const char *id, struct rein_tx *ret,
		  struct rein_err *err);
int rein_tx_changes(const struct rein_tx *t, struct rein_changes *ret, struct rein_err *err);
int rein_tx_save_changes(const struct rein_tx *t, const struct rein_changes *c, bool sync,
			 struct rein_err *err);
/* Is its process still there? */
bool rein_tx_alive(const struct rein_state *s, const char *id);
/* Take the place of a dead one's process, after whoever else does; the fd is the lock [T5]. */
int rein_tx_claim(const struct rein_state *s, const char *id, struct rein_tx *ret, int *ret_lock,
		  struct rein_err *err);

struct rein_tx_list {
	struct rein_tx *v; /* newest first */
	size_t n, cap;
};
void rein_tx_list_done(struct rein_tx_list *l);
int rein_tx_list(const struct rein_state *s, struct rein_tx_list *ret, struct rein_err *err);

/*
 * Marks clashes in c and returns their number; the tree is only read. forward: before a commit or
 * a redo; else before an undo.
 */
int rein_tx_check(const struct rein_state *s, const struct rein_tx *t, struct rein_changes *c,
		   bool forward, struct rein_err *err);
/*
 * Carry out the changes that are not skipped; none of them may clash. On success the real tree has
 * them durably and c's `after` is what is there now. A held one is held as it was if it fails: what is
 * skipped is so for this once.
 */
int rein_tx_commit(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		    struct rein_err *err);
int rein_tx_undo(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err);
int rein_tx_redo(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err);
int rein_tx_discard(const struct rein_state *s, struct rein_tx *t, struct rein_err *err);
/* Killed during an attempt to commit it, a held one may lack what that left out, or have what it merged: as it was. */
int rein_tx_make_whole(const struct rein_state *s, const struct rein_tx *t, const struct rein_changes *c,
		       struct rein_err *err);
/* A new HELD transaction with copies of the skipped changes of t that nobody decided about; *ret_id is its name, "" if none. */
int rein_tx_split(const struct rein_state *s, const struct rein_tx *t,
		   const struct rein_changes *c, char *ret_id, struct rein_err *err);
/* Take that back, because t is held as a whole after all. Fails where either is not as it was then. */
int rein_tx_unsplit(const struct rein_state *s, const struct rein_tx *t, const char *id, struct rein_err *err);

/*
 * Finish what a crash left. Returns the number of transactions recovered; what could not be finished
 * now stays, is tried again next time, and *stuck tells of the last such one.
 */
int rein_tx_recover(const struct rein_state *s, struct rein_err *stuck, struct rein_err *err);
/* Is this one half done and in need of recovery? */
bool rein_tx_stuck(const struct rein_state *s, const char *id);
/* Give such a one up: the tree stays as it is. */
int rein_tx_abandon(const struct rein_state *s, struct rein_tx *t, struct rein_err *err);

struct rein_gc_opts {
	uint64_t keep_count;  /* transactions, newest first; 0: no limit */
	uint64_t keep_age_ns; /* 0: no limit */
	uint64_t keep_bytes;  /* of stored content; 0: no limit */
	uint64_t now_ns;
	bool dry_run;
};
struct rein_gc_result {
	uint64_t removed, kept, bytes;
};
/* Never a running or held one. */
int rein_tx_gc(const struct rein_state *s, const struct rein_gc_opts *o, struct rein_gc_result *ret,
		struct rein_err *err);

#endif
