/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor as the holder of a network. Where a kernel of its own runs the command (gVisor) there is no place
 * inside for an executor of the host's: the network namespace is made here, beforehand, with the same routes, rules
 * and sockets as in a box; rein gets it as a descriptor and starts the runtime in it. Afterwards this process has no
 * rights, and does one thing: it makes sockets for the gate that lead to the box's own servers. It ends with rein.
 */
#include "sandbox/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void box_hold_begin(const struct box *box)
{
	sigset_t all;

	/* Passed on by rein, if at all: nothing here is the terminal's to interrupt. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* None of the command's streams may stay open because of it. */
	close_range(0, 2, 0);
	if (unshare(CLONE_NEWNET) < 0)
		box_step_failed(box, REIN_STEP_NAMESPACES, 0);
	if (setsid() < 0)
		box_step_failed(box, REIN_STEP_SESSION, 0);
	box_prepare_net();
}

/* [B2] holds before anybody can use the namespace. */
static void hand_over(struct box *box)
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_READY, .has = REIN_BOX_HAS_NETNS};
	int space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (space < 0)
		box_step_failed(box, REIN_STEP_NETWORK, 0);
	box_confine(box);
	box_send(box, &note, &space, 1);
	close(space);
}

void box_hold(struct box *box)
{
	const uint32_t never = REIN_PLAN_USERNS | REIN_PLAN_IDENTITY | REIN_PLAN_CONTAINED | REIN_PLAN_NOTIFY |
			       REIN_PLAN_LANDLOCK;

	errno = EINVAL;
	if (!(box->plan->flags & REIN_PLAN_GATE) || box->plan->flags & never || box->plan->tty_mask || box->plan->caps)
		box_step_failed(box, REIN_STEP_PLAN, 0);
	box_net(box);
	hand_over(box);
	for (;;) {
		struct pollfd fds[] = {{.fd = box->control, .events = POLLIN}, {.fd = box->maker, .events = POLLIN}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(125);
		if (fds[0].revents)
			_exit(0); /* [B3]; rein has nothing to say to a holder */
		if (fds[1].revents)
			box_make_socket(box);
	}
}
