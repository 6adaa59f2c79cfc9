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

bool rein_asker_ask(void *arg, const struct rein_judgement *j)
{
	const struct rein_asker *a = arg;
	const struct rein_decision *d = &j->before;
	const uint64_t until = rein_ns_after(rein_mono_ns(), d->expires_ns);
	int key;

	if (a->approve)
		return true;
	rein_say("%sapprove?%s %s (%s, %s)", rein_ui(stderr, REIN_YELLOW), rein_ui_off(stderr), d->reason,
		 rein_level_name((int)d->level), rein_reach_name((int)d->reach));
	rein_print_command(a->argv);
	rein_print_decision(d);
	do
		key = rein_ui_key_until("      [y]es, run it  [n]o? ", d->expires_ns ? until : 0);
	while (key && !strchr("yYnNqk\3\4\33", key));
	if (!key)
		rein_more("nobody answered within %s", rein_ui_seconds(d->expires_ns));
	return key == 'y' || key == 'Y';
}

/* Until the time is over, or somebody wants it not to happen: whatever would end us cancels it, on the record. */
static bool wait_for(uint64_t ns, const sigset_t *stop)
{
	const uint64_t until = rein_ns_after(rein_mono_ns(), ns);
	int got = 0;

	for (;;) {
		const uint64_t now = rein_mono_ns(), left = now < until ? until - now : 0;
		const struct timespec t = {(time_t)(left / REIN_NS_PER_S), (long)(left % REIN_NS_PER_S)};

		got = left ? sigtimedwait(stop, NULL, &t) : 0;
		if (got >= 0 || errno != EINTR)
			break;
	}
	return got <= 0;
}

bool rein_asker_announce(void *arg, const struct rein_run *r)
{
	const struct rein_asker *a = arg;
	const struct rein_decision *d = &r->judged.before;
	const char *where = a->environment ? a->environment : r->settings.environment;
	sigset_t stop, old;
	bool goes_on;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigaddset(&stop, SIGQUIT);
	/* before it is said: who answers at once cancels it, too, and does not kill us */
	pthread_sigmask(SIG_BLOCK, &stop, &old);
	/* said also to who wants to hear nothing: it is what this environment is for */
	rein_say("%sin '%s', in %s:%s %s (%s, %s); Ctrl-C cancels it", rein_ui(stderr, REIN_YELLOW),
		 rein_ui_path(where ? where : ""), rein_ui_seconds(d->notify_ns), rein_ui_off(stderr), d->reason,
		 rein_level_name((int)d->level), rein_reach_name((int)d->reach));
	rein_print_command(a->argv);
	rein_engine_alerts(a->engine, r->policy, a->alerts ? stderr : NULL);
	goes_on = wait_for(d->notify_ns, &stop);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return goes_on;
}
