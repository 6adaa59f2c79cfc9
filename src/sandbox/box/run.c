/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid 1 at work: starts the command as pid 2, reaps whatever is orphaned, passes signals on, and
 * reports how the command ended. Its own end takes every process of the box with it.
 */
#include "sandbox/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "sandbox/box/raw.h"
#include "sys/sys.h"

/* Shared with the child until it execs. */
struct start {
	const struct box *box;
	char **argv, **envp;
	volatile int sys; /* written by the child, in our memory, where no compiler looks for it */
};

/* Offsets to pointers, in our private copy of the plan. */
static char **words(struct rein_plan *plan, uint32_t at, uint32_t n)
{
	uint64_t *v = (uint64_t *)((char *)plan + at);

	_Static_assert(sizeof(char *) == sizeof(uint64_t), "the plan's arrays become pointers");
	for (uint32_t i = 0; i < n; i++)
		v[i] = (uint64_t)(uintptr_t)((char *)plan + v[i]);
	return (char **)v;
}

/* A script without "#!" is the shell's, as execvp(3) has it. Only returns on failure. */
static void exec_one(const char *path, struct start *s)
{
	execve(path, s->argv, s->envp);
	if (errno == ENOEXEC) {
		static char *script[4096];
		uint32_t n = s->box->plan->nargv;

		if (n + 2 > sizeof(script) / sizeof(script[0])) {
			errno = E2BIG;
			return;
		}
		script[0] = (char *)(uintptr_t)"sh";
		script[1] = (char *)(uintptr_t)path;
		for (uint32_t i = 1; i <= n; i++)
			script[i + 1] = s->argv[i];
		execve("/bin/sh", script, s->envp);
	}
}

/* Look the command up in PATH. The most telling error wins: found but not executable, then absent. */
static void exec_command(struct start *s)
{
	const char *name = s->argv[0], *dir = rein_plan_str(s->box->plan, s->box->plan->search);
	size_t len = strlen(name);
	static char path[PATH_MAX];
	struct stat st;
	int best = ENOENT;

	if (len == 0 || strchr(name, '/')) {
		exec_one(name, s);
		return;
	}
	for (;; dir++) {
		size_t n = strcspn(dir, ":");

		if (n + len + 2 <= sizeof(path)) {
			memcpy(path, n ? dir : ".", n ? n : 1);
			path[n ? n : 1] = '/';
			memcpy(path + (n ? n : 1) + 1, name, len + 1);
			exec_one(path, s);
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return;
			/* A directory nobody may search says nothing about the command. */
			if (errno == EACCES && fstatat(AT_FDCWD, path, &st, 0) == 0)
				best = EACCES;
		}
		dir += n;
		if (!*dir)
			break;
	}
	errno = best;
}

static _Noreturn __attribute__((noinline)) void child(struct start *s)
{
	const struct box *box = s->box;
	sigset_t none;

	if (setpgid(0, 0) < 0)
		goto failed;
	if (box->slave >= 0) {
		pid_t group = getpid();

		/* From a background group this raises SIGTTOU, which is blocked here. */
		if (box->plan->flags & REIN_PLAN_FOREGROUND &&
		    ioctl(box->slave, TIOCSPGRP, &group) < 0)
			goto failed;
		for (int fd = 0; fd < 3; fd++)
			if (box->plan->tty_mask & 1u << fd && dup2(box->slave, fd) < 0)
				goto failed;
	}
	if (close_range(3, ~0u, 0) < 0)
		goto failed;
	umask(box->umask);
	/* last: from here on a limit on open files or processes may bite */
	for (uint32_t i = 0; i < box->plan->nrlimits; i++) {
		const struct rein_plan_rlimit *l = &box->plan->rlimits[i];
		uint64_t both[2] = {l->value, l->value}, was[2];
		long rc = raw_syscall(SYS_prlimit64, 0, l->resource, 0, (long)(uintptr_t)was, 0, 0);

		/* the caller's own may be lower already: it stays */
		if (rc == 0 && was[1] < both[1])
			both[0] = both[1] = was[1];
		if (rc == 0)
			rc = raw_syscall(SYS_prlimit64, 0, l->resource, (long)(uintptr_t)both, 0, 0, 0);
		if (rc < 0) {
			errno = (int)-rc;
			goto failed;
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	exec_command(s);
failed:
	s->sys = errno ? errno : EIO;
	_exit(127);
}

static pid_t start(struct box *box)
{
	struct start s = {
		.box = box,
		.argv = words(box->plan, box->plan->argv, box->plan->nargv),
		.envp = words(box->plan, box->plan->envp, box->plan->nenvp),
	};
	long pid = raw_vfork();

	if (pid == 0)
		child(&s);
#ifdef __SANITIZE_ADDRESS__
	/* the child left its marks on the stack we share, and never came back to take them away */
	__asan_unpoison_memory_region((char *)__builtin_frame_address(0) - 65536, 65536);
#endif
	errno = (int)-pid;
	if (pid < 0)
		box_step_failed(box, REIN_STEP_SPAWN, 0);
	if (s.sys) {
		struct rein_box_note note = {.kind = REIN_BOX_MSG_EXEC, .sys = s.sys};

		box_send(box, &note, NULL, 0);
		_exit(127);
	}
	return (pid_t)pid;
}

static void hand_over(struct box *box)
{
	struct rein_box_note note = {
		.kind = REIN_BOX_MSG_READY, .ndevs = box->ndevs, .landlock = box->landlock};
	int fds[2];
	unsigned n = 0;

	memcpy(note.devs, box->devs, sizeof(note.devs));
	if (box->listener >= 0) {
		note.has |= REIN_BOX_HAS_LISTENER;
		fds[n++] = box->listener;
	}
	if (box->terminal >= 0) {
		note.has |= REIN_BOX_HAS_TERMINAL;
		fds[n++] = box->terminal;
	}
	if (!n)
		return;
	box_send(box, &note, fds, n);
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

static uint64_t usage_ns(const struct rusage *ru)
{
	return ((uint64_t)ru->ru_utime.tv_sec + (uint64_t)ru->ru_stime.tv_sec) * 1000000000ull +
	       ((uint64_t)ru->ru_utime.tv_usec + (uint64_t)ru->ru_stime.tv_usec) * 1000ull;
}

/*
 * Everybody else goes before it is said that the command has ended: from then on rein works on what
 * they left, while this process takes the namespaces and mounts down. Nobody escapes: a fork either
 * comes before the signal and is found by it, or sees it pending and fails.
 */
static void end_all(void)
{
	int status;

	kill(-1, SIGKILL);
	while (wait4(-1, &status, __WALL, NULL) > 0 || errno == EINTR)
		;
}

static void report_end(const struct box *box, int status, const struct rusage *ru)
{
	struct rein_box_note note = {
		.kind = REIN_BOX_MSG_EXIT,
		.status = status,
		.cpu_ns = usage_ns(ru),
		.max_rss_kib = (uint64_t)ru->ru_maxrss,
	};

	end_all();
	/* whoever shares our caller's standard input goes on where the command stopped */
	if (box->given >= 0)
		syscall(SYS_lseek, box->given, syscall(SYS_lseek, box->reopened, 0, SEEK_CUR), SEEK_SET);
	box_send(box, &note, NULL, 0);
	_exit(0);
}

static void reap(const struct box *box, pid_t command)
{
	struct rusage ru;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &ru)) > 0) {
		if (pid != command)
			continue;
		if (WIFSTOPPED(status)) {
			struct rein_box_note note = {.kind = REIN_BOX_MSG_STOPPED,
						     .status = WSTOPSIG(status)};

			box_send(box, &note, NULL, 0);
			continue;
		}
		report_end(box, status, &ru);
	}
}

static void pass_signal(const struct rein_box_note *note, pid_t command)
{
	if (note->kind == REIN_BOX_MSG_SIGNAL && note->status > 0 && note->status < NSIG)
		kill(note->sys == 2 ? -1 : note->sys ? -command : command, note->status);
}

static void take_message(const struct box *box, pid_t command)
{
	struct rein_box_note note;
	int rc = box_receive(box, &note);

	if (rc <= 0)
		_exit(125); /* [B3] */
	pass_signal(&note, command);
	if (note.kind == REIN_BOX_MSG_FOREGROUND) {
		/* Only if nobody in the box has it: a shell there may have given it to a job. */
		pid_t owner = 0;

		if (box->slave >= 0 && ioctl(box->slave, TIOCGPGRP, &owner) == 0 && owner == getpid())
			ioctl(box->slave, TIOCSPGRP, &command);
		kill(-command, SIGCONT);
	}
}

void box_run(struct box *box)
{
	struct pollfd fds[3];
	sigset_t all;
	pid_t command;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fds[0] = (struct pollfd){.fd = box->control, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK),
				 .events = POLLIN};
	if (fds[1].fd < 0)
		box_step_failed(box, REIN_STEP_SPAWN, 0);
	hand_over(box);
	box_await(box, REIN_BOX_MSG_GO);
	command = start(box);
	pass_signal(&box->early, command);
	/* Nothing of ours may keep the command's streams open: their ends are seen outside. */
	close_range(0, 2, 0);
	for (;;) {
		struct signalfd_siginfo si;
		int wait = box->plan->sample_ms ? (int)box->plan->sample_ms : -1;
		int n;

		fds[2] = (struct pollfd){.fd = box->maker, .events = POLLIN};
		n = poll(fds, 3, wait);

		if (n < 0 && errno != EINTR)
			_exit(125);
		if (n == 0)
			box_sample(box);
		while (read(fds[1].fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
			;
		reap(box, command);
		if (fds[0].revents)
			take_message(box, command);
		if (fds[2].revents)
			box_make_socket(box);
	}
}
