/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child enters a mount namespace of its own, mounts what the bundle needs and becomes the runtime;
 * everything it mounted goes away with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/ocirun.h"
#include "sandbox/spawn.h"
#include "sys/sys.h"

/*
 * With a kernel of its own the runtime is the box, and everything of it counts. Else what the runtime itself needs is
 * not the command's: rein brings the executor there, before it starts anything.
 */
static int join(const struct rein_ocirun *s)
{
	for (size_t i = 0; !s->backend->executor && i < s->keeper.group.njoin; i++)
		if (write(s->keeper.group.join[i], "0", 1) != 1)
			return -1;
	return 0;
}

/*
 * A runtime gives the files that are its streams to the container's user: the command's go round it, by the numbers
 * the executor looks at, and it gets a pipe for what it has to say itself. The user's terminal is for neither: the
 * box opens one of its own.
 */
static int pass_streams(const struct rein_ocirun *s, int null)
{
	for (int fd = 0; fd <= 2; fd++) {
		bool none = s->console.relay.mask & 1u << fd || fcntl(fd, F_GETFD) < 0;

		if (dup2(s->outlet.given[fd] >= 0 ? s->outlet.given[fd] : none ? null : fd, REIN_BOX_STREAMS_FD + fd) < 0)
			return -1;
	}
	if (dup2(s->memory, REIN_BOX_PLAN_FD) < 0 || dup2(s->theirs, REIN_BOX_CONTROL_FD) < 0 || dup2(null, 0) < 0)
		return -1;
	for (int fd = 1; fd <= 2; fd++)
		if (dup2(s->said.given[2] >= 0 ? s->said.given[2] : null, fd) < 0)
			return -1;
	return 0;
}

/* Nothing of the caller's, see inlet.h. */
static int give_pipes(const struct rein_ocirun *s, int null)
{
	for (int fd = 0; fd <= 2; fd++) {
		int given = fd ? s->outlet.given[fd] : s->inlet.given;

		if (dup2(given >= 0 ? given : null, fd) < 0)
			return -1;
	}
	return 0;
}

static _Noreturn void child(const struct rein_ocirun *s, int report)
{
	const char *argv[REIN_RUNTIME_WORDS];
	struct rein_err err = {0};
	int null = rein_spawn_above(open("/dev/null", O_RDWR | O_CLOEXEC), &err);
	sigset_t none;
	size_t n;

	if (join(s) < 0) {
		rein_err_errno(&err, "join the control group");
		goto failed;
	}
	/* when rein goes, so does the runtime: the executor sees it at its socket, gVisor by this */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid(); /* the caller's terminal is not the command's to type into */
	/* nothing else says which network it is to have: without this one it would be the host's */
	if (s->plan->flags & REIN_PLAN_HOLDER && setns(s->holder.netns, CLONE_NEWNET) < 0) {
		rein_err_errno(&err, "enter the network");
		goto failed;
	}
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		rein_err_errno(&err, "enter a mount namespace");
		goto failed;
	}
	rein_runtime_shield(s->backend);
	if (rein_bundle_mount(&s->bundle, &err) < 0)
		goto failed;
	if ((s->backend->executor ? pass_streams(s, null) : give_pipes(s, null)) < 0) {
		rein_err_errno(&err, "descriptors of the box");
		goto failed;
	}
	n = rein_runtime_command(s->backend, s->root.path, "run", s->spec, argv);
	if (s->backend->executor) {
		argv[n++] = "--preserve-fds";
		argv[n++] = "5";
	}
	argv[n++] = "--pid-file";
	argv[n++] = s->pid_file;
	argv[n++] = "--bundle";
	argv[n++] = s->bundle.dir;
	argv[n++] = s->id;
	argv[n] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* the descriptor that tells of a failure closes by itself when there is none */
	close_range(s->backend->executor ? REIN_BOX_STREAMS_FD + 3 : 3, (unsigned)report - 1, 0);
	close_range((unsigned)report + 1, ~0u, 0);
	rein_runtime_exec(argv);
	rein_err_errno(&err, "run %s", argv[0]);
failed:
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(125);
}

int rein_ocirun_prepare_(struct rein_ocirun *s, struct rein_err *err)
{
	const struct rein_box_order order = {.magic = REIN_PLAN_MAGIC,
					     .flags = s->plan->flags & REIN_PLAN_ORDERED,
					     .uid = s->plan->uid,
					     .gid = s->plan->gid};
	const struct rein_box_note plan = {.kind = REIN_BOX_MSG_PLAN};
	int pair[2];

	if (!s->backend->executor)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rein_err_errno(err, "control socket");
	s->control = rein_spawn_above(pair[0], err);
	s->theirs = rein_spawn_above(pair[1], err);
	s->memory = rein_spawn_memory(err);
	if (s->control < 0 || s->theirs < 0 || s->memory < 0 || rein_spawn_seal(s->memory, s->plan, err) < 0)
		return -err->code;
	if (send(s->control, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order) ||
	    send(s->control, &plan, sizeof(plan), MSG_NOSIGNAL) != (ssize_t)sizeof(plan))
		return rein_err_errno(err, "control socket");
	return 0;
}

int rein_ocirun_open_streams_(struct rein_ocirun *s, struct rein_err *err)
{
	uint64_t limit = s->spec->limits.v[REIN_LIMIT_OUTPUT];

	if (s->backend->executor) {
		/* of the runtime only the second: it has nothing to say that is a result */
		if (rein_outlet_open(&s->said, UINT64_MAX, 1u << 1, err) < 0)
			return -err->code;
		return rein_outlet_open(&s->outlet, limit, s->console.relay.mask, err);
	}
	if (rein_outlet_open(&s->outlet, limit ? limit : UINT64_MAX, 0, err) < 0)
		return -err->code;
	return rein_inlet_open(&s->inlet, err);
}

int rein_ocirun_start_(struct rein_ocirun *s, struct rein_err *err)
{
	auto_close int ours = -1;
	struct rein_err why = {0};
	int pipes[2], report;

	if (s->spec->before_start && s->spec->before_start(s->spec->before_start_arg, err) < 0)
		return -err->code;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return rein_err_errno(err, "pipe");
	ours = pipes[0];
	report = rein_spawn_above(pipes[1], err);
	if (report < 0)
		return -err->code;
	s->pid = fork();
	if (s->pid == 0)
		child(s, report);
	close(report);
	rein_closep_(&s->theirs);
	s->theirs = -1;
	if (s->pid < 0)
		return rein_err_errno(err, "fork");
	s->pidfd = sys_pidfd_open(s->pid, 0);
	if (s->pidfd < 0) { /* nobody would see its end */
		rein_err_errno(err, "pidfd_open");
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
		return -err->code;
	}
	if (read(ours, &why, sizeof(why)) == (ssize_t)sizeof(why)) {
		waitpid(s->pid, NULL, 0);
		*err = why;
		return -err->code;
	}
	if (s->spec->meanwhile)
		s->spec->meanwhile(s->spec->meanwhile_arg);
	rein_keep_start(&s->keeper, 0); /* its processes are the runtime's, and counted by the group */
	if (rein_outlet_start(&s->said, err) < 0 || rein_outlet_start(&s->outlet, err) < 0)
		return -err->code;
	return rein_inlet_start(&s->inlet, err);
}
