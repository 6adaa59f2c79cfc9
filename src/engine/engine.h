/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the stages: view, transaction, box, effects, decision. The only code that knows it.
 *
 *	rein_engine_open
 *	  -> rein_engine_begin -> rein_engine_exec (once or more) -> rein_engine_effects
 *	  -> (look) -> rein_engine_settle -> rein_run_done
 */
#ifndef REIN_ENGINE_ENGINE_H
#define REIN_ENGINE_ENGINE_H

#include "base/strlist.h"
#include "model/box.h"
#include "model/change.h"
#include "sandbox/hide.h"
#include "sandbox/view.h"
#include "txn/txn.h"

struct rein_engine {
	struct rein_state state;
	char *box_program; /* rein-box, beside us or where it was installed */
	int recovered;	   /* transactions a crash had left, finished now */
	struct rein_err stuck; /* one that could not be finished, if any */
};

int rein_engine_open(struct rein_engine *e, struct rein_err *err);
void rein_engine_done(struct rein_engine *e);

struct rein_run_opts {
	char **argv;
	const char *workspace;
	bool whole_system, nested;
	enum rein_net net;
	uint64_t timeout_ns, idle_timeout_ns;
	const char *profile;	   /* of limits, from the policy; or NULL */
	struct rein_limits limits; /* stand above the profile's */
	uint64_t caps;
	struct rein_strlist rw, ro, hide, scratch, env, env_file;
};

struct rein_run {
	struct rein_tx tx;
	bool has_tx; /* false: nothing changed, nothing is kept */
	struct rein_changes changes;
	struct rein_summary sum;
	struct rein_box_result result;
	struct rein_view view;
	struct rein_strlist env_dropped;
	struct rein_box *box; /* started ahead of the command, or NULL */
	size_t foreign; /* directories of another owner or group, which limits a rootless box */
	struct rein_hide_list *masks; /* one a root; they keep the masks while the box lives */
	size_t nmasks;
	unsigned execs;
};

/*
 * Decide what the box sees and open a transaction over it; argv is only described. *ret is zeroed
 * memory, but for a box that was opened ahead: that one is taken over, on failure too.
 */
int rein_engine_begin(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		      struct rein_err *err);
/* Run o->argv in it to its end. On failure the transaction is as before; drop or settle it. */
int rein_engine_exec(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		     struct rein_err *err);
/* Read what was done so far. */
int rein_engine_scan(struct rein_run *r, struct rein_err *err);
/* The same; nothing: the transaction is dropped and has_tx false. */
int rein_engine_effects(struct rein_engine *e, struct rein_run *r, struct rein_err *err);
/* All three; on failure nothing is left. */
int rein_engine_run(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		    struct rein_err *err);
/* Take an undecided transaction away without a trace. */
int rein_engine_drop(struct rein_engine *e, struct rein_run *r, struct rein_err *err);
void rein_run_done(struct rein_run *r);

enum rein_settle { REIN_SETTLE_HOLD = 0, REIN_SETTLE_COMMIT, REIN_SETTLE_DISCARD };

/*
 * Decide an open transaction. A commit that meets conflicts holds instead and returns
 * REIN_E_CONFLICT; reason is kept with a held or discarded one, may be NULL.
 */
int rein_engine_settle(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		       enum rein_settle how, const char *reason, struct rein_err *err);

/*
 * Find a transaction by id, unique prefix, "@" or "@~N" (the newest of this workspace, N before
 * it); NULL: the newest of this workspace in one of the wanted states (bits 1 << state).
 */
int rein_engine_find(struct rein_engine *e, const char *name, unsigned wanted, struct rein_tx *ret,
		     struct rein_err *err);

/* All of them, newest first; runs whose process died are held first. */
int rein_engine_list(struct rein_engine *e, struct rein_tx_list *ret, struct rein_err *err);

/* Leave out what `only` does not name or `except` does. Whole directories stay whole. */
int rein_select(struct rein_changes *c, const struct rein_strlist *only,
		const struct rein_strlist *except, struct rein_err *err);

#endif
