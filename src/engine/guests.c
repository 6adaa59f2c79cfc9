/* SPDX-License-Identifier: Apache-2.0 */
/* See guests.h. */
#include "engine/guests.h"

#include <limits.h>
#include <stdlib.h>

#include "approval/approval.h"
#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/door.h"

struct rein_guest {
	uint32_t number;
	struct rein_trail trail;
};

int rein_guests_door(void *arg)
{
	struct rein_watcher *w = arg;
	struct rein_err ignored = {0};
	int fd = rein_door_listen(w->engine->state.fd, w->run->tx.id, &ignored);

	w->has_door = fd >= 0;
	return fd < 0 ? -1 : fd;
}

/* What it did, in the list of transactions, is the worst of what was done in it. */
static void count_in(struct rein_tx *t, const struct rein_decision *d)
{
	if ((int)d->level > t->level)
		t->level = (int)d->level;
	if ((int)d->reach > t->reach)
		t->reach = (int)d->reach;
}

/* Whoever visits is one person, and the one whose box it is. */
static int take_answer(const struct rein_decision *d, bool approved, struct rein_trail *t, struct rein_err *err)
{
	auto_(rein_reviews_done) struct rein_reviews need = {0};

	if (rein_review_of(d, rein_now_ns(), &need, err) < 0 || rein_reviews_check_self(&need, err) < 0)
		return -err->code;
	return approved ? rein_trail_answered(t, true, "action", err)
			: rein_err_set(err, REIN_E_APPROVAL, "%s", d->reason);
}

static int decide(const struct rein_decision *d, bool approved, struct rein_watcher *w,
		  struct rein_trail *t, struct rein_err *err)
{
	switch (rein_decision_enforced(d)) {
	case REIN_HOLD: /* [G2] */
		if (rein_engine_review(w->run, d, err) < 0)
			return -err->code;
		break;
	case REIN_ALLOW:
		break;
	case REIN_ASK:
		return take_answer(d, approved, t, err);
	default:
		return rein_err_set(err, REIN_E_DENIED, "%s", d->reason);
	}
	/* nobody is told in there, and nobody waits: then it is asked */
	return d->notify && !d->advisory ? take_answer(d, approved, t, err) : 0;
}

/* The box's own, but for the terminal, which is the visitor's and may be any; only the list is the caller's. */
static const char **environment(const struct rein_env *env)
{
	const char **v = rein_calloc(env->envp.n + 2, sizeof(*v));
	size_t n = 0;

	if (!v)
		return NULL;
	v[n++] = "TERM=\001";
	for (size_t i = 0; i < env->envp.n; i++)
		if (!rein_starts(env->envp.v[i], "TERM="))
			v[n++] = env->envp.v[i];
	return v;
}

static int judge(struct rein_watcher *w, struct rein_trail *t, char **argv, bool approved,
		 struct rein_err *err)
{
	auto_(rein_judgement_done) struct rein_judgement j = {0};
	const struct rein_run *r = w->run;
	auto_free const char **envp = environment(&r->env);
	char here[PATH_MAX];
	struct rein_action a = rein_engine_action_(w->opts, r, argv, here);
	int rc;

	if (!envp)
		return rein_err_nomem(err);
	a.environ_ = envp;
	if (rein_judge_action(&j, r->policy, &a, &w->opts->who, err) < 0 ||
	    rein_trail_asked(t, &a, &j.before, err) < 0)
		return -err->code;
	rc = decide(&j.before, approved, w, t, err);
	if (rc == 0)
		count_in(&w->run->tx, &j.before);
	return rc;
}

int rein_guests_admit(void *arg, uint32_t guest, char **argv, bool approved, struct rein_err *err)
{
	struct rein_watcher *w = arg;
	struct rein_guest g = {.number = guest};
	struct rein_err ignored = {0};
	int rc;

	if (rein_engine_admits(w->engine, w->opts, err) < 0)
		return -err->code;
	if (rein_grow(w->guests, w->nguests, w->guests_cap) < 0)
		return rein_err_nomem(err);
	w->run->trail.alerting = true; /* what a guest's trail says is not compared with the rules */
	rc = rein_trail_open(&g.trail, w->engine->state.dir, &w->opts->who, NULL, err);
	rc = rc < 0 ? rc : judge(w, &g.trail, argv, approved, err);
	rc = rc < 0 ? rc : rein_trail_start(&g.trail, &w->run->tx, err);
	if (rc == 0 && rein_trail_sync(&g.trail, err) == 0) { /* [G1] */
		w->guests[w->nguests++] = g;
		return 0;
	}
	/* a refusal is what will be asked about */
	if (g.trail.record)
		rein_trail_sync(&g.trail, &ignored);
	rein_trail_done(&g.trail);
	return -err->code;
}

void rein_guests_left(void *arg, uint32_t guest, const struct rein_box_result *r)
{
	struct rein_watcher *w = arg;
	struct rein_err ignored = {0};

	for (size_t i = 0; i < w->nguests; i++) {
		struct rein_guest *g = &w->guests[i];

		if (g->number != guest)
			continue;
		/* its beginning is on the record: an end that cannot be written is missing there,
		 * visibly */
		rein_trail_end(&g->trail, &w->run->tx, r, &ignored);
		rein_trail_done(&g->trail);
		*g = w->guests[--w->nguests];
		return;
	}
}

void rein_guests_done(struct rein_watcher *w)
{
	for (size_t i = 0; i < w->nguests; i++)
		rein_trail_done(&w->guests[i].trail);
	rein_free(take_ptr(w->guests));
	w->nguests = 0;
	if (w->has_door)
		rein_door_remove(w->engine->state.fd, w->run->tx.id);
	w->has_door = false;
}
