/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the stages: policy, view, verdict, transaction, box, effects, judgement, decision; the
 * record beside all of them. The only code that knows it.
 *
 *	rein_engine_open
 *	  -> rein_engine_begin -> rein_engine_exec (once or more) -> rein_engine_effects
 *	  -> (look) -> rein_engine_settle -> rein_run_done
 *
 * [E1] Nothing runs that the policy did not allow or a person did not approve.
 * [E2] No record, no action: the command starts after its request and decision are durable, the
 *      tree is touched after the commit's, the undo's or the redo's intent is.
 */
#ifndef REIN_ENGINE_ENGINE_H
#define REIN_ENGINE_ENGINE_H

#include "base/strlist.h"
#include "engine/judge.h"
#include "engine/trail.h"
#include "engine/violations.h"
#include "model/box.h"
#include "model/change.h"
#include "sandbox/env.h"
#include "sandbox/hide.h"
#include "sandbox/orders.h"
#include "sandbox/view.h"
#include "txn/txn.h"

struct rein_engine {
	struct rein_state state;
	char *box_program; /* rein-box, beside us or where it was installed */
	int recovered;	   /* transactions a crash had left, finished now */
	struct rein_err stuck; /* one that could not be finished, if any */
	struct rein_pool *pool; /* boxes made ahead; the caller's, or NULL */
	struct rein_box *ahead; /* of the run to come, or NULL */
};

#define REIN_NO_ENGINE {.state = {.fd = -1, .txn_fd = -1, .journal_fd = -1}}

struct rein_run_opts;

/* The caller's; NULL: no memory. */
char *rein_engine_box_program(void);
/*
 * Before it is opened, by whoever will run o in it: making a box's namespaces takes longest of all, and the state is
 * opened meanwhile. What fails here is tried again, and told, where the box is needed.
 */
void rein_engine_start_box(struct rein_engine *e, const struct rein_run_opts *o);
/* Of one that is REIN_NO_ENGINE; rein_engine_done is the caller's, also after a failure. */
int rein_engine_open(struct rein_engine *e, struct rein_err *err);
void rein_engine_done(struct rein_engine *e);

struct rein_run;

struct rein_run_opts {
	char **argv;
	const char *workspace;
	bool whole_system, nested;
	enum rein_net net;
	bool net_chosen; /* net is somebody's word, and stands above the policy's */
	struct rein_net_policy network; /* for a network behind the gate; the caller's */
	struct rein_strlist credentials; /* as text, see sandbox/net/credential.h */
	struct rein_strlist sockets;	/* local sockets of the host that are seen */
	uint64_t timeout_ns, idle_timeout_ns;
	bool discard;  /* whatever it does is to be thrown away */
	bool commit;   /* also when it fails, if nothing objects */
	bool writable; /* the trees can be written to, though its text says that it only reads */
	uint64_t warm_ns; /* keep the overlay so long for the next run, if this one changes nothing; 0: do not */
	const char *profile;	   /* of limits, from the policy; or NULL */
	struct rein_limits limits; /* stand above the profile's */
	uint64_t caps;
	struct rein_strlist rw, ro, hide, scratch, env, env_file;
	struct rein_strlist policy; /* files of the command line's layer */
	struct rein_who who;
	struct rein_strlist labels; /* for rein ps */
	struct rein_strlist canary; /* files whose reading is a violation, besides the policy's */
	void (*tell)(void *arg, const char *text); /* of violations, at once, from any thread; or NULL */
	void *tell_arg;
	const char *backend; /* "oci:runc" …; NULL: the built-in box */
	bool watch; /* take note of every program it executes, refuse those the policy denies */
	bool watch_files; /* and of files it is refused */
	uint64_t max_boxes, queue_ns; /* at most so many at once (0: any number), and how long to wait */
	/*
	 * Asked for a decision that a person must make, before it runs: true is a yes. NULL: there is
	 * nobody, and what must be asked is refused with REIN_E_APPROVAL.
	 */
	bool (*ask)(void *arg, const struct rein_judgement *j);
	/* Tell a person what is about to run, give him the time the decision has for it: false, he cancelled it. */
	bool (*announce)(void *arg, const struct rein_run *r);
	void *ask_arg;
};

/* What is not seen in a tree. */
struct rein_mask {
	struct rein_hide_list hidden;
	char *path; /* the layer that hides it, until a root has it; NULL: nothing is hidden */
};

struct rein_run {
	struct rein_tx tx;
	bool has_tx; /* false: nothing changed, nothing is kept */
	bool reads;  /* it could change nothing: the trees were shown themselves, read-only */
	struct rein_changes changes;
	struct rein_summary sum;
	struct rein_box_result result;
	struct rein_view view;
	struct rein_env env; /* of the box; what it is judged by is what it gets */
	struct rein_box *box; /* started ahead of the command, or NULL */
	struct rein_warm *warm; /* its overlay, to be left to the next run; or NULL */
	uint64_t warm_ns;
	bool was_warm; /* it came from an earlier one */
	bool links;	/* there are files with several names: the box was watched */
	size_t foreign; /* directories of another owner or group, which limits a rootless box */
	struct rein_mask *masks; /* one a tree of the view; they keep the masks while the box lives */
	size_t nmasks;
	unsigned execs;
	struct rein_policy *policy;
	struct rein_policy_settings settings; /* of the policy */
	struct rein_strlist rw, ro, hide, scratch, hide_names; /* the options and the policy together */
	struct rein_strlist socket_sources; /* where the options' sockets are */
	struct rein_strlist keep; /* the policy's: not written to, and seen only if nothing hides it */
	enum rein_net net; /* the options and the policy together; and its rules */
	struct rein_net_policy network;
	struct rein_net_rule *net_rules;
	struct rein_net_credential *credentials; /* room for so many; network says how many there are */
	size_t ncredentials;
	struct rein_strlist credential_vars; /* variables that hold one, and are not passed on */
	struct rein_strlist credential_files; /* files that do, as they were named */
	struct rein_judgement judged;
	struct rein_trail trail;
	struct rein_strlist canary; /* the options' and the policy's */
	bool safe_mode; /* it could change nothing */
	const char *safe_agent; /* for whom it is on; NULL: for everybody */
	struct rein_violations violations;
	struct rein_order_text order; /* REIN_BOX_STOPPED: who ordered it and why */
};

/*
 * Decide what the box sees and open a transaction over it; argv is only described. *ret is untouched on failure and
 * need not be anything before.
 */
int rein_engine_begin(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		      struct rein_err *err);
/*
 * Judge o->argv, and run it in the transaction to its end. REIN_E_DENIED and REIN_E_APPROVAL: it did
 * not run, and r->judged tells why. On failure the transaction is as before; drop or settle it.
 */
int rein_engine_exec(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		     struct rein_err *err);
/* Its first half: judge it, and ask where somebody is to be asked [E1]. */
int rein_engine_admit_(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		       struct rein_err *err);
/* What is done is kept back until all that d asks for is there. */
int rein_engine_review(struct rein_run *r, const struct rein_decision *d, struct rein_err *err);
/* Whoever commits the transaction, now or later, has these reviews before him. */
int rein_engine_bind_(struct rein_run *r, struct rein_err *err);
/* Only directories whose time moved because something was made and removed in them: no changes. */
bool rein_engine_only_traces_(const struct rein_tx *t, const struct rein_changes *c);
/*
 * A person's yes to what was done, on the record. REIN_E_APPROVAL, REIN_E_DENIED: it is not enough, it is somebody
 * else's to say, or it comes too late; j->missing has it in words.
 */
int rein_engine_approve(struct rein_run *r, struct rein_err *err);
/* What the box of the next command will find in its environment: r->env, as it was on failure. */
int rein_engine_env_(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err);
/* No network but the box's own loopback, nobody's socket: what is said to localhost, or heard, is a process of the box. */
bool rein_engine_offline_(const struct rein_run_opts *o, const struct rein_run *r);
/* A command as it will run in the box; its environment is the caller's to add. here: room for a path. */
struct rein_action rein_engine_action_(const struct rein_run_opts *o, const struct rein_run *r, char *const *argv,
				       char here[PATH_MAX]);
/* "NAME=value" in it from now on, unless somebody has set it. */
int rein_engine_default_var_(struct rein_run *r, const char *text, struct rein_err *err);
/* The second, which asks nobody: also for commands the policy itself names. */
int rein_engine_launch_(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
			struct rein_err *err);
/* Name a transaction by its command, without the secrets in it. */
int rein_engine_name(const struct rein_trail *trail, struct rein_tx *t, char *const *argv, struct rein_err *err);
/* Read what was done so far. */
int rein_engine_scan(struct rein_run *r, struct rein_err *err);
/* The same; nothing: the transaction is dropped and has_tx false. */
int rein_engine_effects(struct rein_engine *e, struct rein_run *r, struct rein_err *err);
/* What the policy says of the effects; r->judged.after. Validation has run when it says allow. */
int rein_engine_judge(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		      struct rein_err *err);
/*
 * All of them; on failure nothing is left but *ret's judgement and trail, to be told and freed with
 * rein_run_done all the same.
 */
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
int rein_engine_settle(struct rein_engine *e, struct rein_trail *trail, struct rein_tx *t,
		       struct rein_changes *c, enum rein_settle how, const char *reason,
		       struct rein_err *err);

/* Later decisions about one that exists, on the record first [E2]. */
enum rein_later { REIN_LATER_COMMIT, REIN_LATER_DISCARD, REIN_LATER_ABANDON, REIN_LATER_UNDO, REIN_LATER_REDO };
int rein_engine_later(struct rein_engine *e, const struct rein_who *who, struct rein_tx *t,
		      struct rein_changes *c, enum rein_later what, struct rein_err *err);

/*
 * Find a transaction by id, unique prefix, "@" or "@~N" (the newest of this workspace, N before
 * it); NULL: the newest of this workspace in one of the wanted states (bits 1 << state); of decided
 * ones the one that was decided last.
 */
int rein_engine_find(struct rein_engine *e, const char *name, unsigned wanted, struct rein_tx *ret,
		     struct rein_err *err);

/* All of them, newest first; runs whose process died and left changes are held first. */
int rein_engine_list(struct rein_engine *e, struct rein_tx_list *ret, struct rein_err *err);

/* Leave out what `only` does not name or `except` does. Whole directories stay whole; each pattern must name something. */
int rein_select(const struct rein_tx *t, struct rein_changes *c, const struct rein_strlist *only,
		const struct rein_strlist *except, struct rein_err *err);
/* A pattern as it is meant in the change's tree: the full paths of other trees, as people see them, are understood. */
const char *rein_pattern_in(const struct rein_tx *t, const struct rein_change *x, const char *glob);
/* Does one of these patterns name the change, or a directory that it lies in? */
int rein_named(const struct rein_tx *t, const struct rein_strlist *globs, const struct rein_change *x, bool *ret,
	       struct rein_err *err);
/* Leave out what is marked as skipped already. */
int rein_select_marked(struct rein_changes *c, struct rein_err *err);
/* The change that moves this one along, or itself. */
size_t rein_top_of(const struct rein_changes *c, size_t i);
/* Leave out one change, and what lies inside it. A rename is one thing: its old name stays, too. */
int rein_leave_out(struct rein_changes *c, size_t i, struct rein_err *err);
/*
 * A directory that was made is there by now: nothing is to be done about it (as about one in which things changed),
 * and what lies directly in it stands for itself.
 */
void rein_open_created(struct rein_changes *c, size_t top, const struct rein_fp *now);
/* A rename that is half left out is none: what comes was made, or what goes was deleted. */
void rein_part_halved(struct rein_changes *c);
/* What is written through one name of a file is there through the others, too: fails where one is left out alone. */
int rein_names_together(const struct rein_changes *c, struct rein_err *err);
/* All of these, when it is clear what is left out: what does not go with it any more comes, or stays, by itself. */
int rein_part_left(struct rein_changes *c, struct rein_err *err);

#endif
