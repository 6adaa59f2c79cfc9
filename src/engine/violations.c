/* SPDX-License-Identifier: Apache-2.0 */
/* See violations.h. */
#include "engine/violations.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "engine/live.h"
#include "sys/file.h"

#define DIR_NAME "violations"

static const struct {
	const char *name;
	bool high;
} rows[] = {
	[REIN_VIOLATION_NONE] = {"none", true},
	[REIN_VIOLATION_PERMISSION] = {"permission", true},
	[REIN_VIOLATION_FILE] = {"file", true},
	[REIN_VIOLATION_NETWORK] = {"network", false},
	[REIN_VIOLATION_RESOURCE] = {"resource", false},
};
static_assert(ARRAY_SIZE(rows) == REIN_VIOLATION__MAX, "a row for every violation");

const char *rein_violation_name(enum rein_violation_type type)
{
	return rows[type].name;
}

bool rein_violation_is_high(enum rein_violation_type type)
{
	return rows[type].high;
}

/* Agents are words, but a word may hold a slash. */
static void file_name(const char *agent, char *to, size_t size)
{
	size_t n = 0;

	if (!agent) {
		snprintf(to, size, "all");
		return;
	}
	n += (size_t)snprintf(to, size, "agent-");
	for (; *agent && n + 3 < size; agent++, n += 2)
		snprintf(to + n, size - n, "%02x", (unsigned)(unsigned char)*agent);
}

static int open_counts(int state_fd, const char *agent, int flags)
{
	auto_close int dir = -1;
	char name[300];

	if (mkdirat(state_fd, DIR_NAME, 0700) < 0 && errno != EEXIST)
		return -1;
	dir = openat(state_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	file_name(agent, name, sizeof(name));
	return dir < 0 ? -1 : openat(dir, name, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* One byte a violation, 'H' or 'm': appended in one write, counted by reading. False: not written. */
static bool count(int state_fd, const char *agent, bool high, size_t *highs, size_t *mediums)
{
	auto_close int fd = open_counts(state_fd, agent, O_RDWR | O_APPEND);
	char text[4096];
	ssize_t n;

	if (fd < 0 || write(fd, high ? "H" : "m", 1) != 1)
		return false;
	n = pread(fd, text, sizeof(text), 0);
	for (ssize_t i = 0; i < n; i++) {
		*highs += text[i] == 'H';
		*mediums += text[i] == 'm';
	}
	return n > 0;
}

static void enter_safe_mode(struct rein_watcher *w, const char *text)
{
	struct rein_err ignored = {0};
	auto_free char *why = rein_asprintf("safe mode: %s", text);

	w->run->violations.safe_mode = true;
	if (rein_orders_give(&w->orders, REIN_ORDERS_SAFE, w->opts->who.agent, text, &ignored) < 0 ||
	    (!w->over &&
	     rein_orders_give(&w->orders, REIN_ORDERS_PAUSE, w->run->tx.id, why ? why : text, &ignored) < 0))
		w->pause = true; /* there is another way to say it */
	rein_trail_act(&w->run->trail, REIN_EV_STOP, "safe_mode", text, &ignored);
	kill(getpid(), SIGURG); /* look at your orders */
}

/*
 * Whoever did it waits for our answer: it gets none before the box stands still, or it would be over and gone
 * before anybody came to pause it. Not for ever, and never by the thread that has to do it.
 */
static void await_pause(const struct rein_watcher *w)
{
	const struct timespec a_moment = {.tv_nsec = 2000000};

	if (w->over || pthread_equal(pthread_self(), w->attending))
		return;
	for (int i = 0; i < 1000 && !w->paused; i++)
		nanosleep(&a_moment, NULL);
}

/* Is what it would lead to under way? A person who has lifted safe mode has ended it, and has not allowed the next one. */
static bool is_under_way(const struct rein_watcher *w)
{
	return w->run->violations.safe_mode &&
	       (w->pause || rein_orders_apply(&w->orders, REIN_ORDERS_SAFE, w->opts->who.agent, NULL));
}

void rein_engine_violation(struct rein_watcher *w, enum rein_violation_type type, const char *text)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct rein_violations *all = &w->run->violations;
	const char *agent = w->opts->who.agent;
	bool high = rows[type].high, counted, enough;
	size_t highs = 0, mediums = 0;
	struct rein_err ignored = {0};
	char line[512];

	pthread_mutex_lock(&one_at_a_time);
	if (all->n < REIN_VIOLATIONS_MAX) {
		all->v[all->n].type = type;
		snprintf(all->v[all->n].text, sizeof(all->v[0].text), "%s", text);
	}
	all->n++;
	snprintf(line, sizeof(line), "%s (%s): %s", rows[type].name, high ? "high" : "medium", text);
	rein_trail_act(&w->run->trail, REIN_EV_VIOLATION, rows[type].name, line, &ignored);
	/* medium ones of nobody in particular add up to nothing: a file of them would only grow */
	counted = (!high && !agent) || count(w->engine->state.fd, agent, high, &highs, &mediums);
	/* nor are they news: what was refused is in the report */
	if (w->opts->tell && (high || agent || type != REIN_VIOLATION_NETWORK))
		w->opts->tell(w->opts->tell_arg, line);
	/* medium ones add up to an agent's behaviour; runs of nobody in particular are not one agent's */
	enough = !is_under_way(w) && (!counted || highs || (agent && mediums > REIN_MEDIUM_MAX));
	if (enough)
		enter_safe_mode(w, line);
	pthread_mutex_unlock(&one_at_a_time);
	if (!enough)
		return;
	await_pause(w);
	if (!w->opts->tell)
		return;
	if (w->over)
		snprintf(line, sizeof(line), "safe mode is on%s%s; lift it: rein safe --lift%s%s",
			 agent ? " for agent " : "", agent ? agent : "", agent ? " --agent " : "", agent ? agent : "");
	else
		snprintf(line, sizeof(line),
			 "box %s is paused and safe mode is on%s%s: look (rein stats %s), then "
			 "rein resume or rein kill; lift: rein safe --lift%s%s",
			 w->run->tx.id, agent ? " for agent " : "", agent ? agent : "", w->run->tx.id,
			 agent ? " --agent " : "", agent ? agent : "");
	w->opts->tell(w->opts->tell_arg, line);
}

int rein_safe_mode_begin(const struct rein_orders *o, const char *agent, const char *why, struct rein_err *err)
{
	return rein_orders_give(o, REIN_ORDERS_SAFE, agent, why, err) < 0 ? -err->code : 1;
}

int rein_safe_mode_lift(const struct rein_orders *o, const char *agent, struct rein_err *err)
{
	auto_close int fd = open_counts(o->state_fd, agent, O_RDWR);

	/* what was counted has been looked at */
	if (fd >= 0 && ftruncate(fd, 0) < 0)
		return rein_err_errno(err, "forget the violations");
	return rein_orders_take_back(o, REIN_ORDERS_SAFE, agent, err);
}
