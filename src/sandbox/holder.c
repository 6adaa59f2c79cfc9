/* SPDX-License-Identifier: Apache-2.0 */
/* See holder.h. */
#include "sandbox/holder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/explain.h"
#include "sys/passfd.h"
#include "sys/sys.h"

#define PATIENCE_MS 10000 /* milliseconds, on a machine that has time */

/* 1: there is more to come. */
static int take(struct rein_holder *h, const struct rein_plan *plan, struct rein_gate *gate, struct rein_err *err)
{
	struct pollfd p = {.fd = h->spawn.control, .events = POLLIN};
	struct rein_box_note note;
	int fds[REIN_BOX_FDS], rc = 1;
	unsigned n;

	while (poll(&p, 1, PATIENCE_MS) < 0 && errno == EINTR)
		;
	if (rein_fds_receive(h->spawn.control, &note, sizeof(note), fds, REIN_BOX_FDS, MSG_DONTWAIT) !=
	    (ssize_t)sizeof(note))
		return rein_err_set(err, REIN_E_FAILED, "the holder of the network did not begin");
	n = rein_fds_count(fds, REIN_BOX_FDS);
	if (note.kind == REIN_BOX_MSG_FAIL)
		rc = rein_explain_step(&note, plan, err);
	else if (note.kind == REIN_BOX_MSG_NET)
		rc = rein_gate_attach(gate, note.has, note.status, fds, n, err) < 0 ? -err->code : 1;
	else if (note.kind == REIN_BOX_MSG_READY && note.has == REIN_BOX_HAS_NETNS && n == 1) {
		h->netns = take_fd(&fds[0]);
		rc = 0;
	} else
		rc = rein_err_set(err, REIN_E_FAILED, "the holder of the network said something else");
	for (int i = 0; i < REIN_BOX_FDS; i++)
		rein_closep_(&fds[i]);
	return rc;
}

int rein_holder_start(const struct rein_plan *plan, const char *box_program, struct rein_gate *gate,
		      struct rein_holder *ret, struct rein_err *err)
{
	int rc;

	if (rein_spawn_begin(plan->flags & REIN_PLAN_ORDERED, box_program, NULL, &ret->spawn, err) < 0 ||
	    rein_spawn_plan(&ret->spawn, plan, -1, err) < 0)
		return -err->code;
	while ((rc = take(ret, plan, gate, err)) > 0)
		;
	return rc;
}

void rein_holder_end(struct rein_holder *h)
{
	siginfo_t si;

	if (h->spawn.pidfd >= 0) {
		sys_pidfd_send_signal(h->spawn.pidfd, SIGKILL);
		while (sys_waitid(P_PIDFD, (id_t)h->spawn.pidfd, &si, WEXITED, NULL) < 0 && errno == EINTR)
			;
	}
	rein_closep_(&h->netns);
	rein_spawn_done(&h->spawn);
	*h = (struct rein_holder)REIN_HOLDER_INIT;
}
