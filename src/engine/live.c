/* SPDX-License-Identifier: Apache-2.0 */
/* See live.h. */
#include "engine/live.h"

#include <stdio.h>
#include <unistd.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/clock.h"
#include "engine/guests.h"
#include "engine/network.h"

static struct rein_orders orders_of(const struct rein_engine *e)
{
	return (struct rein_orders){.state_fd = e->state.fd, .state_dir = e->state.dir};
}

int rein_engine_admits(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_err *err)
{
	struct rein_orders orders = orders_of(e);
	struct rein_order_text t;

	if (!rein_orders_apply(&orders, REIN_ORDERS_STOP, o->who.agent, &t))
		return 0;
	/* the way out must be there however long the reason is */
	return rein_err_set(err, REIN_E_STOPPED, "stopped by %s at %s%s%.60s: nothing runs until: rein start%s%s",
			    t.who, t.when, *t.why ? ", because: " : "", t.why, t.of_agent ? " --agent " : "",
			    t.of_agent ? o->who.agent : "");
}

int rein_engine_may_change(const struct rein_engine *e, const struct rein_who *who, struct rein_err *err)
{
	struct rein_orders orders = orders_of(e);
	struct rein_order_text t;

	if (rein_engine_admits(e, &(struct rein_run_opts){.who = *who}, err) < 0)
		return -err->code;
	if (!rein_orders_apply(&orders, REIN_ORDERS_SAFE, who->agent, &t))
		return 0;
	return rein_err_set(err, REIN_E_STOPPED,
			    "safe mode began meanwhile (%s%s%.60s): nothing changes until a person lifts it: rein safe --lift%s%s",
			    t.when, *t.why ? ", " : "", t.why, t.of_agent ? " --agent " : "", t.of_agent ? who->agent : "");
}

void rein_watcher_canaries(struct rein_watcher *w)
{
	const char *canary;

	while ((canary = rein_canaries_next(&w->canaries))) {
		char text[160];

		snprintf(text, sizeof(text), "the canary %.130s was opened", canary);
		rein_engine_violation(w, REIN_VIOLATION_FILE, text);
	}
}

static enum rein_ordered ask(void *arg)
{
	static const enum rein_ordered answers[] = {
		[REIN_ORDER_NONE] = REIN_BOX_GO,
		[REIN_ORDER_PAUSE] = REIN_BOX_PAUSE,
		[REIN_ORDER_KILL] = REIN_BOX_STOP,
		[REIN_ORDER_STOP] = REIN_BOX_STOP,
	};
	struct rein_watcher *w = arg;
	enum rein_ordered answer;

	rein_watcher_canaries(w);
	answer = answers[rein_orders_read(&w->orders, w->run->tx.id, w->opts->who.agent, &w->run->order)];
	return answer == REIN_BOX_GO && w->pause ? REIN_BOX_PAUSE : answer;
}

/*
 * Not being listed is no reason not to run: whoever stops boxes finds them in /proc too. It happens
 * while the box is being built, so that nobody waits for it.
 */
static void begun(void *arg, int pid, const char *group, int group_version)
{
	struct rein_watcher *w = arg;
	const struct rein_who *who = &w->opts->who;
	auto_free char *command = rein_trail_words(w->run->tx.argv, w->run->tx.argc);
	char *level = (char *)(uintptr_t)rein_level_name((int)w->run->trail.level);
	struct rein_live l = {
		.id = w->run->tx.id,
		.rein = getpid(),
		.box = pid,
		.begun_ns = rein_now_ns(),
		.agent = (char *)(uintptr_t)who->agent,
		.task = (char *)(uintptr_t)who->task,
		.level = w->run->trail.level ? level : NULL,
		.net = (char *)(uintptr_t)rein_network_name(w->run->net),
		.workspace = w->run->view.workspace,
		.command = command,
		.group = (char *)(uintptr_t)group,
		.group_version = group ? group_version : 0,
		.backend = (char *)(uintptr_t)w->opts->backend,
		.labels = w->opts->labels,
	};
	struct rein_err ignored = {0};

	rein_live_enter(w->engine->state.fd, &l, &w->entry, &ignored);
}

static void paused(void *arg, bool on)
{
	struct rein_watcher *w = arg;

	w->paused = on;
}

static void forget(const struct rein_watcher *w)
{
	struct rein_err ignored = {0};

	rein_orders_take_back(&w->orders, REIN_ORDERS_KILL, w->run->tx.id, &ignored);
	rein_orders_take_back(&w->orders, REIN_ORDERS_PAUSE, w->run->tx.id, &ignored);
}

int rein_watcher_open(struct rein_watcher *w, const struct rein_engine *e, const struct rein_run_opts *o,
		      struct rein_run *r, struct rein_err *err)
{
	*w = (struct rein_watcher){
		.watch = {.fd = -1,
			  .ask = ask,
			  .begun = begun,
			  .paused = paused,
			  .door = rein_guests_door,
			  .admit = rein_guests_admit,
			  .left = rein_guests_left,
			  .refused = rein_network_refused,
			  .arg = w},
		.engine = e,
		.opts = o,
		.run = r,
		.orders = orders_of(e),
		.attending = pthread_self(),
		.canaries = {.fd = -1},
		.entry = -1,
		.place = -1,
	};
	if (o->max_boxes &&
	    rein_live_place(e->state.fd, (unsigned)o->max_boxes, o->queue_ns, &w->place, err) < 0)
		return -err->code;
	if (r->canary.n) {
		auto_free char *dir = rein_asprintf("%s/txn/%s", e->state.dir, r->tx.id);

		if (!dir)
			return rein_err_nomem(err);
		if (rein_canaries_open(&w->canaries, &r->canary, dir, r->view.paths, r->view.npaths, err) < 0)
			return -err->code;
	}
	w->watch.fd = w->canaries.fd;
	/* a name may come again: what was ordered of the one before is not for us */
	forget(w);
	return 0;
}

void rein_watcher_close(struct rein_watcher *w)
{
	if (!w->engine)
		return;
	rein_canaries_done(&w->canaries);
	rein_guests_done(w);
	rein_live_leave(w->engine->state.fd, w->run->tx.id, w->entry);
	/* what was ordered of this box alone ends with it */
	if (w->run->order.when[0])
		forget(w);
	rein_closep_(&w->place);
	w->engine = NULL;
}
