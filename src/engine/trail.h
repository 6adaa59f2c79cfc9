/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trail of one action on the record: its events, in the order include/rein/record.h asks for,
 * all under one action's name. Each call appends; what must be durable before something happens is
 * made so by rein_trail_sync.
 */
#ifndef REIN_ENGINE_TRAIL_H
#define REIN_ENGINE_TRAIL_H

#include "base/err.h"
#include "model/action.h"
#include "model/box.h"
#include "model/change.h"
#include "model/decision.h"
#include "model/event.h"
#include "txn/txn.h"

struct rein_alert_rule;
struct rein_record;

/* On whose behalf. Strings may be NULL; nothing is owned. */
struct rein_who {
	const char *agent, *session, *task, *role, *environment;
};

/*
 * Agent, session and task go on the record and into rules: words, not texts, and none so long that no order could be
 * given to it.
 */
int rein_who_check(const struct rein_who *who, struct rein_err *err);

#define REIN_ACTION_ID_LEN 16

struct rein_trail {
	struct rein_record *record; /* NULL: not opened */
	char action[REIN_ACTION_ID_LEN + 1];
	char prev[REIN_ACTION_ID_LEN + 1]; /* the event before */
	struct rein_who who;
	char *command; /* as a shell would read it; redacted by the record */
	char *cwd;
	char digest[65];
	enum rein_level level;
	enum rein_reach reach;
	const struct rein_alert_rule *alert; /* the policy's, nalert of them */
	size_t nalert;
	bool alerting; /* an event was appended since the last look (alerts.h) that may concern one of them */
};

/* action: of the run this goes on with; NULL begins a new one. */
int rein_trail_open(struct rein_trail *t, const char *state_dir, const struct rein_who *who,
		    const char *action, struct rein_err *err);
void rein_trail_done(struct rein_trail *t);
/* Everything so far is on disk. */
int rein_trail_sync(struct rein_trail *t, struct rein_err *err);

/* What is asked for and what is decided about it. */
int rein_trail_asked(struct rein_trail *t, const struct rein_action *a, const struct rein_decision *d,
		     struct rein_err *err);
/* A person's answer; of: "action" or "effects". */
int rein_trail_answered(struct rein_trail *t, bool yes, const char *of, struct rein_err *err);
int rein_trail_start(struct rein_trail *t, const struct rein_tx *tx, struct rein_err *err);
int rein_trail_end(struct rein_trail *t, const struct rein_tx *tx, const struct rein_box_result *r,
		   struct rein_err *err);
/* It could not be started, or was lost sight of: why says so. Without this it would seem to run for ever. */
int rein_trail_failed(struct rein_trail *t, const struct rein_tx *tx, const struct rein_err *why,
		      struct rein_err *err);
/* What it did and what the policy says to that (NULL: it was not asked). */
int rein_trail_effects(struct rein_trail *t, const struct rein_tx *tx, const struct rein_changes *c,
		       const struct rein_decision *d, struct rein_err *err);
/* commit, discard, rollback, undo, redo, conflict; c may be NULL. */
int rein_trail_decided(struct rein_trail *t, enum rein_event_type type, const struct rein_tx *tx,
		       const struct rein_changes *c, const char *result, const char *detail,
		       struct rein_err *err);

/* An act of a person that belongs to no transaction: stop, start, safe mode, and why. */
int rein_trail_act(struct rein_trail *t, enum rein_event_type type, const char *result,
		   const char *detail, struct rein_err *err);

/* argv as one line a shell would read back as the same words. Owned by the caller. */
char *rein_trail_words(char *const *argv, size_t argc);

#endif
