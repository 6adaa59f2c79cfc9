/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a transaction: at the end of its run, and later. The record hears of it before the
 * tree does [E2].
 */
#include "engine/engine.h"

#include "approval/approval.h"
#include "base/auto.h"
#include "engine/gitindex.h"
#include "engine/live.h"

static int set_reason(struct rein_tx *t, const char *reason)
{
	rein_free(t->reason);
	t->reason = reason ? rein_strdup(reason) : NULL;
	return reason && !t->reason ? -1 : 0;
}

/* The intent failed to come true: say so. What was said before stays said. */
static void note_failure(struct rein_trail *trail, const struct rein_tx *t, const struct rein_err *why)
{
	struct rein_err ignored = {0};

	if (why->code == REIN_E_CONFLICT)
		rein_trail_decided(trail, REIN_EV_CONFLICT, t, NULL, "conflict", why->msg, &ignored);
	else
		rein_trail_decided(trail, REIN_EV_ROLLBACK, t, NULL, "failed", why->msg, &ignored);
}

static int commit(struct rein_engine *e, struct rein_trail *trail, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err)
{
	/* whoever gives an order from now on waits for our end */
	auto_close int held = rein_orders_hold(&(struct rein_orders){e->state.fd, e->state.dir}, err);

	if (held < 0)
		return -err->code;
	/* what was ordered while it ran: a person looks at it first */
	if (rein_engine_may_change(e, &trail->who, err) < 0)
		return rein_err_prefix(err, "held %s, nothing was changed", t->id);
	if (rein_trail_decided(trail, REIN_EV_COMMIT, t, c, "ok", NULL, err) < 0 ||
	    rein_trail_sync(trail, err) < 0)
		return -err->code;
	rein_gitindex_keep(t, c);
	if (rein_tx_commit(&e->state, t, c, err) == 0)
		return 0;
	note_failure(trail, t, err);
	return -err->code;
}

int rein_engine_settle(struct rein_engine *e, struct rein_trail *trail, struct rein_tx *t,
		       struct rein_changes *c, enum rein_settle how, const char *reason,
		       struct rein_err *err)
{
	struct rein_err held = {0};

	if (set_reason(t, reason) < 0)
		return rein_err_nomem(err);
	switch (how) {
	case REIN_SETTLE_COMMIT:
		if (commit(e, trail, t, c, err) == 0)
			return 0;
		if (t->state == REIN_TX_RUNNING) {
			set_reason(t, err->code == REIN_E_CONFLICT  ? "conflict"
				      : err->code == REIN_E_STOPPED ? "stopped, or in safe mode, before it was committed"
								    : "commit failed");
			if (rein_tx_hold(&e->state, t, c, &held) < 0)
				return rein_err_prefix(err, "could not even be held (%s)", held.msg);
		}
		return -err->code;
	case REIN_SETTLE_DISCARD:
		rein_changes_sum(c, &t->sum);
		if (rein_trail_decided(trail, reason ? REIN_EV_ROLLBACK : REIN_EV_DISCARD, t, c,
				       reason ? "rolled_back" : "discarded", reason, err) < 0)
			return -err->code;
		/* what filled the disk goes, though nobody can read later what it was */
		if (rein_tx_save_changes(t, c, false, err) < 0) {
			if (!rein_err_is_full(err) || rein_tx_save_changes(t, &(struct rein_changes){0}, false, err) < 0)
				return -err->code;
			*err = (struct rein_err){0};
		}
		return rein_tx_discard(&e->state, t, err);
	case REIN_SETTLE_HOLD:
		break;
	}
	if (rein_tx_hold(&e->state, t, c, err) == 0)
		return 0;
	if (rein_err_is_full(err))
		rein_err_prefix(err, "%s cannot be held: make room and look again (rein log), or drop it (rein discard %s)",
				t->id, t->id);
	return -err->code;
}

static int carry_out(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c, enum rein_later what,
		     struct rein_err *err)
{
	switch (what) {
	case REIN_LATER_COMMIT:
		rein_gitindex_keep(t, c);
		return rein_tx_commit(&e->state, t, c, err);
	case REIN_LATER_DISCARD:
		return rein_tx_discard(&e->state, t, err);
	case REIN_LATER_ABANDON:
		return rein_tx_abandon(&e->state, t, err);
	case REIN_LATER_UNDO:
		return rein_tx_undo(&e->state, t, c, err);
	case REIN_LATER_REDO:
		return rein_tx_redo(&e->state, t, c, err);
	}
	return rein_err_set(err, REIN_E_FAILED, "no such decision");
}

#define OPEN (1u << REIN_TX_HELD | 1u << REIN_TX_RUNNING)

int rein_engine_later(struct rein_engine *e, const struct rein_who *who, struct rein_tx *t,
		      struct rein_changes *c, enum rein_later what, struct rein_err *err)
{
	static const struct {
		unsigned states; /* in which it can be decided so; 0: any */
		enum rein_event_type type;
		const char *result, *detail;
	} rows[] = {
		[REIN_LATER_COMMIT] = {OPEN, REIN_EV_COMMIT, "ok", NULL},
		[REIN_LATER_DISCARD] = {OPEN, REIN_EV_DISCARD, "discarded", NULL},
		[REIN_LATER_ABANDON] = {0, REIN_EV_DISCARD, "discarded", "given up half done; the tree stays as it is"},
		[REIN_LATER_UNDO] = {1u << REIN_TX_COMMITTED, REIN_EV_UNDO, "ok", NULL},
		[REIN_LATER_REDO] = {1u << REIN_TX_UNDONE, REIN_EV_REDO, "ok", NULL},
	};
	auto_(rein_trail_done) struct rein_trail trail = {0};

	rein_reserve_use(&e->state);
	if (what == REIN_LATER_COMMIT && rein_reviews_check_self(&t->reviews, err) < 0)
		return -err->code;
	/* what will be refused is no intent */
	if (rows[what].states && !(rows[what].states & 1u << t->state))
		return carry_out(e, t, c, what, err);
	if (rein_trail_open(&trail, e->state.dir, who, t->action, err) < 0)
		return -err->code;
	/* a person who commits what was held has answered */
	if (what == REIN_LATER_COMMIT && rein_trail_answered(&trail, true, "effects", err) < 0)
		return -err->code;
	if (rein_trail_decided(&trail, rows[what].type, t, c, rows[what].result, rows[what].detail, err) < 0 ||
	    rein_trail_sync(&trail, err) < 0)
		return -err->code;
	if (carry_out(e, t, c, what, err) == 0)
		return 0;
	note_failure(&trail, t, err);
	return -err->code;
}
