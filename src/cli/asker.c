/* SPDX-License-Identifier: Apache-2.0 */
/* See asker.h. */
#include "cli/asker.h"

#include <errno.h>
#include <signal.h>

#include <rein/classify.h>

#include "base/clock.h"
#include "cli/judgement.h"
#include "cli/ui.h"
#include "engine/alerts.h"

/* The least of what its rules give; 0: for ever. */
static uint64_t patience(const struct rein_decision *d)
{
	uint64_t least = d->demand.expires_ns;

	for (size_t i = 0; i < d->n_also; i++)
		if (d->also[i].expires_ns && (!least || d->also[i].expires_ns < least))
			least = d->also[i].expires_ns;
	return least;
}

bool rein_asker_ask(void *arg, const struct rein_judgement *j)
{
	const struct rein_asker *a = arg;
	const struct rein_decision *d = &j->before;
	const uint64_t time = patience(d), until = time ? rein_ns_after(rein_mono_ns(), time) : 0;
	int key;

	if (a->approve)
		return true;
	rein_say("%sapprove?%s %s (%s, %s)", rein_ui(stderr, REIN_YELLOW), rein_ui_off(stderr), d->reason,
		 rein_level_name((int)d->level), rein_reach_name((int)d->reach));
	rein_print_command(a->argv);
	rein_print_decision(d);
	do
		key = rein_ui_key_until("      [y]es, run it  [n]o? ", until);
	while (key && !strchr("yYnNqk\3\4\33", key));
	if (!key)
		rein_more("nobody answered within %s", rein_ui_seconds(time));
	return key == 'y' || key == 'Y';
}

/* Until the time is over, or one of these comes, which are blocked. */
static bool wait_for(uint64_t ns, const sigset_t *stop)
{
	const uint64_t until = rein_ns_after(rein_mono_ns(), ns);

	for (;;) {
		const uint64_t now = rein_mono_ns(), left = now < until ? until - now : 0;
		const struct timespec t = {(time_t)(left / REIN_NS_PER_S), (long)(left % REIN_NS_PER_S)};
		const int got = sigtimedwait(stop, NULL, &t);

		if (got >= 0 || errno != EINTR)
			return got < 0;
	}
}

bool rein_asker_announce(void *arg, const struct rein_run *r)
{
	const struct rein_asker *a = arg;
	const struct rein_decision *d = &r->judged.before;
	const char *where = a->environment ? a->environment : r->settings.environment;
	sigset_t stop, old;
	bool go;

	rein_engine_alerts(a->engine, r->policy, a->alerts ? stderr : NULL);
	/* whatever would end us cancels it, on the record; from before it is said that it does */
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigaddset(&stop, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, &stop, &old);
	/* said also to who wants to hear nothing: it is what this environment is for */
	rein_say("%sin '%s', in %s:%s %s (%s, %s); Ctrl-C cancels it", rein_ui(stderr, REIN_YELLOW),
		 rein_ui_path(where ? where : ""), rein_ui_seconds(d->notify_ns), rein_ui_off(stderr), d->reason,
		 rein_level_name((int)d->level), rein_reach_name((int)d->reach));
	rein_print_command(a->argv);
	go = wait_for(d->notify_ns, &stop);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return go;
}
