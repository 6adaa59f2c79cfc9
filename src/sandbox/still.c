/* SPDX-License-Identifier: Apache-2.0 */
/* See still.h. */
#include "sandbox/still.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/plan.h"
#include "sys/sys.h"

#define LOOK_NS	    (20 * 1000000ull)
#define PATIENCE_NS (5 * REIN_NS_PER_S) /* thousands of processes need their turn to stop */
/* who waited in the kernel may be seen on its way to a stop; so often, nobody is by accident */
#define MOVED_MAX   10

void rein_still_begin(struct rein_still *s, uint64_t now)
{
	rein_still_done(s);
	/* one that could not be held is at its end, whatever is ordered after that */
	*s = (struct rein_still){.since_ns = now, .next_ns = now + LOOK_NS, .never = s->never, .guard = s->guard};
}

enum rein_stillness rein_still_look(struct rein_still *s, pid_t box, uint64_t now)
{
	uint64_t begun = rein_clock_ns(CLOCK_THREAD_CPUTIME_ID), spent;
	auto_close int proc = rein_census_open(box);
	struct rein_stances is = {0};
	bool still = proc < 0 || rein_census_is_still(proc, &is); /* not there yet, or gone */

	if (still && s->stood)
		still = !rein_stances_moved(&s->was, &is, now - s->since_ns < PATIENCE_NS ? 1 : 0);
	rein_stances_done(&s->was);
	s->was = is;
	/* looking itself must not become the load; waiting for a processor is none */
	spent = rein_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	s->next_ns = now + (20 * spent > LOOK_NS ? 20 * spent : LOOK_NS);
	s->stood |= still;
	if (still)
		return REIN_STILL_YES;
	/* whoever it is, it is not to profit from how long it takes to look at the others */
	if (s->stood)
		s->next_ns = now + LOOK_NS;
	s->moved += s->stood;
	s->never = s->moved > MOVED_MAX || (!s->stood && now - s->since_ns > PATIENCE_NS);
	return s->never ? REIN_STILL_NEVER : REIN_STILL_AGAIN;
}

void rein_still_done(struct rein_still *s)
{
	rein_stances_done(&s->was);
}

/* False: it cannot be held. */
static bool keep(struct rein_still *s, pid_t box, void (*stop)(void *), void *arg)
{
	switch (rein_still_look(s, box, rein_mono_ns())) {
	case REIN_STILL_YES:
		return true;
	case REIN_STILL_AGAIN:
		stop(arg);
		return true;
	case REIN_STILL_NEVER:
		break;
	}
	return false;
}

void rein_still_keep(struct rein_still *s, const struct rein_still_ways *w, void *arg, uint64_t now)
{
	struct rein_still_box box;

	if (w->held(arg, &box) && now >= s->next_ns && !keep(s, box.pid, w->stop, arg))
		w->end(arg);
}

#define HELD_NOT 1 /* the guard's status */

static void stop_from_afar(void *arg)
{
	const struct rein_box_note stop = {.kind = REIN_BOX_MSG_SIGNAL, .status = SIGSTOP, .sys = 2};
	const struct rein_still_box *box = arg;

	send(box->control, &stop, sizeof(stop), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static _Noreturn void guard(struct rein_still *s, struct rein_still_box *box)
{
	struct pollfd gone = {.fd = box->pidfd, .events = POLLIN};

	for (;;) {
		uint64_t now = rein_mono_ns();
		int ms = s->next_ns > now ? (int)((s->next_ns - now) / 1000000) + 1 : 0;

		if (poll(&gone, 1, ms) == 1)
			_exit(0);
		if (keep(s, box->pid, stop_from_afar, box))
			continue;
		sys_pidfd_send_signal(box->pidfd, SIGKILL);
		_exit(HELD_NOT);
	}
}

/* Its pid, or -1 and errno. */
static pid_t post_guard(const struct rein_still *s, struct rein_still_box *box)
{
	struct rein_still own = *s;
	pid_t us = getpid(), pid = fork();
	sigset_t all;

	if (pid != 0)
		return pid;
	/* no signal of our group's, which is stopped and continued as a whole, is meant for it */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != us)
		_exit(0);
	guard(&own, box);
}

/* True: it had to end the box, and s->never says so. */
static bool relieve_guard(struct rein_still *s)
{
	const pid_t pid = s->guard;
	int status = 0;

	s->guard = 0;
	if (pid <= 0)
		return false;
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	s->never |= WIFEXITED(status) && WEXITSTATUS(status) == HELD_NOT;
	return WIFEXITED(status) && WEXITSTATUS(status) == HELD_NOT;
}

#define WORD_NS (REIN_NS_PER_S / 2) /* somebody has pressed a key, and waits for the shell */

/*
 * The signals that stop it are sent by its pid 1: until that has had its turn the command goes on, and would write to the
 * terminal after we have given it back. Who does not say so in time is found out by the guard.
 */
static void await_word(const struct rein_still *s, const struct rein_still_box *box, const struct rein_still_ways *w,
		       void *arg, uint64_t end)
{
	while (!s->told) {
		struct pollfd fds[] = {{.fd = box->control, .events = POLLIN}, {.fd = box->pidfd, .events = POLLIN}};
		const uint64_t now = rein_mono_ns();

		if (now >= end || poll(fds, 2, (int)((end - now) / 1000000) + 1) == 0)
			return;
		if (!w->hear(arg) || fds[1].revents || fds[0].revents & (POLLHUP | POLLERR))
			return;
	}
}

/* Who was in the middle of a system call ends that first, as soon as a processor is his. */
static void await_rest(struct rein_still *s, const struct rein_still_box *box, uint64_t end)
{
	struct pollfd gone = {.fd = box->pidfd, .events = POLLIN};

	while (rein_mono_ns() < end && rein_still_look(s, box->pid, rein_mono_ns()) == REIN_STILL_AGAIN)
		if (poll(&gone, 1, 1) == 1)
			return;
}

bool rein_still_hold(struct rein_still *s, const struct rein_still_ways *w, void *arg, bool still)
{
	struct rein_still_box box;

	if (relieve_guard(s)) {
		w->end(arg);
		return true;
	}
	w->rest(arg, still);
	if (still && w->held(arg, &box)) {
		const uint64_t end = rein_mono_ns() + WORD_NS;

		await_word(s, &box, w, arg, end);
		await_rest(s, &box, end);
		s->guard = post_guard(s, &box);
	}
	return s->guard >= 0;
}
