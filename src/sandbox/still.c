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
	*s = (struct rein_still){.since_ns = now, .next_ns = now + LOOK_NS, .never = s->never};
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

#define HELD_NOT 1 /* the guard's status */

static _Noreturn void guard(struct rein_still *s, const struct rein_still_box *box)
{
	const struct rein_box_note stop = {.kind = REIN_BOX_MSG_SIGNAL, .status = SIGSTOP, .sys = 2};
	struct pollfd gone = {.fd = box->pidfd, .events = POLLIN};

	for (;;) {
		uint64_t now = rein_mono_ns();
		int ms = s->next_ns > now ? (int)((s->next_ns - now) / 1000000) + 1 : 0;

		if (poll(&gone, 1, ms) == 1)
			_exit(0);
		switch (rein_still_look(s, box->pid, rein_mono_ns())) {
		case REIN_STILL_YES:
			break;
		case REIN_STILL_AGAIN:
			send(box->control, &stop, sizeof(stop), MSG_NOSIGNAL | MSG_DONTWAIT);
			break;
		case REIN_STILL_NEVER:
			sys_pidfd_send_signal(box->pidfd, SIGKILL);
			_exit(HELD_NOT);
		}
	}
}

pid_t rein_still_guard(const struct rein_still *s, const struct rein_still_box *box)
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

bool rein_still_relieve(struct rein_still *s, pid_t guard)
{
	int status = 0;

	kill(guard, SIGKILL);
	while (waitpid(guard, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != HELD_NOT)
		return false;
	s->never = true;
	return true;
}
