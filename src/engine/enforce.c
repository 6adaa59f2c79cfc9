/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a judgement leads to. Before a command: it runs, a person is asked, or it is refused and the refusal is on the
 * record. After it: what the policy says of the effects, and what cannot be judged is held.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "approval/approval.h"
#include "base/auto.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/live.h"
#include "engine/refusals.h"
#include "engine/validate.h"
#include "sys/priv.h"

/* Refused: on the record, and durable, because the refusal is what will be asked about. */
static int refuse(const struct rein_engine *e, struct rein_run *r, enum rein_code code, struct rein_err *err)
{
	const struct rein_decision *d = &r->judged.before;
	struct rein_err ignored = {0};

	rein_refusals_note(e->state.dir, r->trail.who.agent, r->trail.who.session, d->rule ? d->rule : "",
			   r->trail.digest, rein_now_ns(), &r->judged.repeated, &ignored);
	if (rein_trail_sync(&r->trail, err) < 0)
		return -err->code;
	return rein_err_set(err, (int)code, "%s", d->reason);
}

/* Would the yes of who runs this be enough? What is missing is kept in words. */
static int suffices(struct rein_judgement *j, const struct rein_reviews *r, struct rein_err *err)
{
	if (rein_reviews_check_self(r, err) == 0)
		return 0;
	snprintf(j->missing, sizeof(j->missing), "%.300s", err->msg);
	return -err->code;
}

/* Asked before it runs: is there anybody here whose yes would do, and does he say it? */
static int ask(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	auto_(rein_reviews_done) struct rein_reviews need = {0};
	bool yes;

	if (rein_review_of(&r->judged.before, rein_now_ns(), &need, err) < 0)
		return -err->code;
	if (suffices(&r->judged, &need, err) < 0 || !o->ask)
		return refuse(e, r, REIN_E_APPROVAL, err);
	yes = o->ask(o->ask_arg, &r->judged);
	if (rein_trail_answered(&r->trail, yes, "action", err) < 0)
		return -err->code;
	if (!yes)
		return refuse(e, r, REIN_E_DENIED, err);
	r->judged.approved = true;
	return 0;
}

/* Nobody is there to be told: whoever reads the record has the time all the same. */
static void wait_for(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / REIN_NS_PER_S), (long)(ns % REIN_NS_PER_S)};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* C3: somebody is told, and has time to cancel it, or to pull the switch. */
static int announce(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		    struct rein_err *err)
{
	struct rein_decision *d = &r->judged.before;

	if (!d->notify || d->advisory)
		return 0;
	if (rein_trail_sync(&r->trail, err) < 0)
		return -err->code;
	if (!o->announce) {
		wait_for(d->notify_ns);
	} else if (!o->announce(o->ask_arg, r)) {
		snprintf(d->reason, sizeof(d->reason), "it was cancelled in the time given for it");
		if (rein_trail_answered(&r->trail, false, "action", err) < 0)
			return -err->code;
		return refuse(e, r, REIN_E_DENIED, err);
	}
	return rein_engine_admits(e, o, err);
}

int rein_engine_review(struct rein_run *r, const struct rein_decision *d, struct rein_err *err)
{
	if (!r->judged.must_hold)
		snprintf(r->judged.hold_reason, sizeof(r->judged.hold_reason), "%s", d->reason);
	r->judged.must_hold = true;
	return rein_review_of(d, rein_now_ns(), &r->judged.reviews, err);
}

int rein_engine_bind_(struct rein_run *r, struct rein_err *err)
{
	if (rein_reviews_join(&r->tx.reviews, &r->judged.reviews) < 0)
		return rein_err_nomem(err);
	rein_reviews_done(&r->judged.reviews);
	return 0;
}

int rein_engine_approve(struct rein_run *r, struct rein_err *err)
{
	if (suffices(&r->judged, &r->tx.reviews, err) < 0 ||
	    rein_trail_answered(&r->trail, true, "effects", err) < 0)
		return -err->code;
	r->judged.approved = true;
	return 0;
}

/* A directory of the host's in the box's own /tmp: whoever binds a socket there while the box runs is found there. */
static bool shows_tmp(const struct rein_view *v)
{
	for (size_t i = 0; i < v->npaths; i++)
		if (v->paths[i].access == REIN_PATH_RO && !rein_path_within(v->paths[i].path, v->workspace) &&
		    (rein_path_within(v->paths[i].path, "/tmp") || rein_path_within(v->paths[i].path, "/var/tmp")))
			return true;
	return false;
}

bool rein_engine_offline_(const struct rein_run_opts *o, const struct rein_run *r)
{
	return r->net == REIN_NET_NONE && !o->sockets.n && !r->network.npublish && !shows_tmp(&r->view);
}

struct rein_action rein_engine_action_(const struct rein_run_opts *o, const struct rein_run *r, char *const *argv,
				       char here[PATH_MAX])
{
	struct rein_action a = {.kind = REIN_ACTION_COMMAND,
				.argv = (const char *const *)argv,
				/* one spelling: the workspace's path is a resolved one */
				.cwd = realpath(r->view.cwd, here) ? here : r->view.cwd,
				.home = getenv("HOME"),
				.workspace = r->view.workspace,
				.offline = rein_engine_offline_(o, r)};

	while (argv[a.argc])
		a.argc++;
	return a;
}

int rein_engine_admit_(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		       struct rein_err *err)
{
	char here[PATH_MAX];
	struct rein_action a = rein_engine_action_(o, r, o->argv, here);

	/* not ours: what is held back is not there, and what an option sets is what counts */
	if (rein_engine_env_(o, r, err) < 0)
		return -err->code;
	a.environ_ = (const char *const *)r->env.envp.v;
	if (rein_judge_action(&r->judged, r->policy, &a, &o->who, err) < 0 ||
	    rein_trail_asked(&r->trail, &a, &r->judged.before, err) < 0)
		return -err->code;
	switch (rein_decision_enforced(&r->judged.before)) {
	case REIN_HOLD:
		return rein_engine_review(r, &r->judged.before, err) < 0 ? -err->code : announce(e, o, r, err);
	case REIN_ALLOW:
		return announce(e, o, r, err);
	case REIN_ASK:
		return ask(e, o, r, err);
	default:
		return refuse(e, r, REIN_E_DENIED, err);
	}
}

/* Timeouts and lost boxes are rolled back whatever the effects: nobody has to judge them. */
static bool was_ended(const struct rein_run *r)
{
	return r->result.end != REIN_BOX_EXITED && r->result.end != REIN_BOX_SIGNALED;
}

/* Without a person: what failed is committed only by who says so. */
static bool may_commit(const struct rein_run_opts *o, const struct rein_run *r)
{
	return !was_ended(r) &&
	       (!r->result.status || o->commit || r->settings.on_failure == REIN_FAILURE_COMMIT);
}

/* What cannot be judged is not lost, and not committed: it waits for a person. */
static int judge_or_hold(const struct rein_run_opts *o, struct rein_run *r, struct rein_aftermath *a,
			 struct rein_err *err)
{
	auto_free const char **hosts = rein_calloc(r->result.net.nhosts + 1, sizeof(*hosts));
	struct rein_err why = {0};

	if (!hosts)
		return rein_err_nomem(err);
	for (size_t i = 0; i < r->result.net.nhosts; i++)
		hosts[i] = r->result.net.hosts[i].name;
	a->hosts = hosts;
	while (rein_judge_effects(&r->judged, r->policy, a, &o->who, &why) < 0) {
		if (why.code == REIN_E_NOMEM) {
			*err = why;
			return -err->code;
		}
		if (rein_master_own_files(why.sys))
			continue;
		r->judged.after = (struct rein_decision){
			.decide = REIN_HOLD, .tier = REIN_TIER_HIGH, .rule = "unjudged", .demand = {.minimum = 1}};
		snprintf(r->judged.after.reason, sizeof(r->judged.after.reason), "%.300s", why.msg);
		r->judged.has_after = true;
		break;
	}
	a->hosts = NULL;
	return 0;
}

int rein_engine_judge(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		      struct rein_err *err)
{
	struct rein_aftermath a = {.tx = &r->tx,
				   .changes = &r->changes,
				   .workspace = r->view.workspace,
				   .home = getenv("HOME"),
				   .status = r->result.status,
				   .killed = was_ended(r),
				   .discard = o->discard || was_ended(r)};

	if (!r->has_tx)
		return 0;
	if (judge_or_hold(o, r, &a, err) < 0)
		return -err->code;
	if (may_commit(o, r) && rein_decision_enforced(&r->judged.after) == REIN_ALLOW) {
		int rc = rein_validate(e, o, r, err);

		/* what the checks themselves wrote, and whom they reached, is judged as well */
		if (rc < 0 || (rc == 0 && r->settings.validate.n && judge_or_hold(o, r, &a, err) < 0))
			return -err->code;
	}
	/* whoever commits it, now or later, has all of them before him */
	if ((rein_decision_enforced(&r->judged.after) != REIN_ALLOW &&
	     rein_review_of(&r->judged.after, rein_now_ns(), &r->judged.reviews, err) < 0) ||
	    rein_engine_bind_(r, err) < 0)
		return -err->code;
	return rein_trail_effects(&r->trail, &r->tx, &r->changes, &r->judged.after, err);
}
