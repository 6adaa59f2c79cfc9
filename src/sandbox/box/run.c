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
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "sys/raw.h"
#include "sys/sys.h"

/* The command shares it with us until it executes its program; a guest has a copy. */
struct start {
	const struct box *box;
	const struct rein_plan *plan; /* the box's, or a further command's own */
	char **argv, **envp;
	bool guest;
	int streams[3], slave; /* -1: none, or as they are */
	int report;	       /* a guest's: where it says why it failed; closed by its program */
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
		uint32_t n = s->plan->nargv;

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
	const char *name = s->argv[0], *dir = rein_plan_str(s->plan, s->plan->search);
	size_t len = strlen(name);
	static char path[PATH_MAX];
	struct stat st;
	int best = ENOENT;

	if (len == 0 || strchr(name, '/')) {
		exec_one(name, s);
		return;
	}
	for (;; dir++) {
		size_t n = strcspn(dir, ":"), at = n ? n : 1; /* no directory is the current one */

		if (at + len + 2 <= sizeof(path)) {
			memcpy(path, n ? dir : ".", at);
			path[at] = '/';
			memcpy(path + at + 1, name, len + 1);
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

static void heed(int sig)
{
	static const uint64_t by_default[4]; /* the kernel's struct sigaction */

	raw_syscall(SYS_rt_sigaction, sig, (long)(uintptr_t)by_default, 0, sizeof(uint64_t), 0, 0);
}

/* A session of its own: it shares nothing with the command but the box, and ends with its caller. */
static int settle_guest(const struct start *s)
{
	/* whoever started the box may have had some ignored, as shells do for what runs in the background */
	for (int sig = 1; sig < NSIG; sig++)
		heed(sig);
	if (setsid() < 0 || (s->slave >= 0 && ioctl(s->slave, TIOCSCTTY, 0) < 0))
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if (s->streams[fd] >= 0 && dup2(s->streams[fd], fd) < 0)
			return -1;
	return 0;
}

static _Noreturn __attribute__((noinline)) void child(struct start *s)
{
	const struct box *box = s->box;
	sigset_t none;

	if (s->guest ? settle_guest(s) < 0 : setpgid(0, 0) < 0)
		goto failed;
	if (s->slave >= 0) {
		pid_t group = getpid();

		/* a shell ignores these in $(...): the kernel would refuse what it is to report */
		if (s->plan->flags & REIN_PLAN_CALLS)
			heed(SIGTTIN), heed(SIGTTOU);
		/* From a background group this raises SIGTTOU, which is blocked here. */
		if (s->plan->flags & REIN_PLAN_FOREGROUND && ioctl(s->slave, TIOCSPGRP, &group) < 0)
			goto failed;
		for (int fd = 0; fd < 3; fd++)
			if (s->plan->tty_mask & 1u << fd && dup2(s->slave, fd) < 0)
				goto failed;
	}
	if (s->guest ? close_range(3, (unsigned)s->report - 1, 0) < 0 || close_range((unsigned)s->report + 1, ~0u, 0) < 0
		     : close_range(3, ~0u, 0) < 0)
		goto failed;
	umask(box->plan->umask);
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
	if (s->guest && write(s->report, (const void *)&s->sys, sizeof(s->sys)) < 0)
		_exit(126); /* nobody listens any more */
	_exit(127);
}

/* Returns when it has executed its program, or failed to (s->sys). Nobody else is in the box who could stop it before. */
static long launch(struct start *s)
{
	long pid = raw_vfork();

	if (pid == 0)
		child(s);
#ifdef __SANITIZE_ADDRESS__
	/* the child left its marks on the stack we share, and never came back to take them away */
	__asan_unpoison_memory_region((char *)__builtin_frame_address(0) - 65536, 65536);
#endif
	return pid;
}

/*
 * Whoever is in the box may stop a guest before it executes its program, and could hold us with it: so it has its own
 * memory, and how far it got is heard from a pipe.
 */
static long launch_apart(struct start *s)
{
	long pid = raw_fork();

	if (pid == 0)
		child(s);
	return pid;
}

static pid_t start(struct box *box)
{
	struct start s = {
		.box = box,
		.plan = box->plan,
		.argv = words(box->plan, box->plan->argv, box->plan->nargv),
		.envp = words(box->plan, box->plan->envp, box->plan->nenvp),
		.slave = box->slave,
	};
	long pid = launch(&s);

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
	int fds[3];
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
	if (box->layer >= 0) {
		note.has |= REIN_BOX_HAS_LAYER;
		fds[n++] = box->layer;
	}
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
 * comes before the signal and is found by it, or sees it pending and fails. Returns how many there were.
 */
static uint32_t end_all(void)
{
	uint32_t n = 0;
	int status;
	pid_t pid;

	kill(-1, SIGKILL);
	while ((pid = wait4(-1, &status, __WALL, NULL)) > 0 || errno == EINTR)
		n += pid > 0;
	return n;
}

static void report_end(const struct box *box, int status, const struct rusage *ru)
{
	struct rein_box_note note = {
		.kind = REIN_BOX_MSG_EXIT,
		.status = status,
		.cpu_ns = usage_ns(ru),
		.max_rss_kib = (uint64_t)ru->ru_maxrss,
	};

	note.alive = 1 + end_all();
	/* whoever shares our caller's standard input goes on where the command stopped */
	if (box->given >= 0)
		syscall(SYS_lseek, box->given, syscall(SYS_lseek, box->reopened, 0, SEEK_CUR), SEEK_SET);
	box_send(box, &note, NULL, 0);
	/* a runtime passes it on to whoever called it */
	_exit(!(box->plan->flags & REIN_PLAN_CONTAINED) ? 0
	      : WIFSIGNALED(status)			? 128 + WTERMSIG(status)
							: WEXITSTATUS(status));
}

static struct box_guest *find_guest(struct box *box, uint32_t number)
{
	for (size_t i = 0; i < REIN_BOX_GUESTS; i++)
		if (box->guests[i].number == number)
			return &box->guests[i];
	return NULL;
}

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Above the numbers a command has: our own three are closed, and new descriptors take their places. */
static int lift(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, 16);

	close(*fd);
	*fd = high;
	return high < 0 ? -1 : 0;
}

/*
 * From a process that has given everything up [B2]: whatever it starts is behind the same walls as the
 * command is.
 */
static int start_guest(struct box_guest *g, uint32_t number, struct start *s, int fds[REIN_BOX_FDS])
{
	const struct rein_plan *plan = s->plan;
	int terminal = -1, report[2] = {-1, -1}, next = 1;
	long pid = -1;

	if (plan->tty_mask && (box_open_terminal(plan, &terminal, &s->slave) < 0 || lift(&s->slave) < 0))
		goto out;
	for (int fd = 0; fd < 3; fd++) {
		if (plan->tty_mask & 1u << fd)
			continue;
		errno = EBADF;
		if (next >= REIN_BOX_FDS || fds[next] < 0 || lift(&fds[next]) < 0 || box_own_device(fds[next]) < 0)
			goto out;
		s->streams[fd] = fds[next++];
	}
	if (syscall(SYS_pipe2, report, O_CLOEXEC) < 0 || lift(&report[1]) < 0)
		goto out;
	s->report = report[1];
	pid = launch_apart(s);
	errno = (int)-pid;
	if (pid > 0) {
		*g = (struct box_guest){.number = number, .pid = (pid_t)pid, .starting = report[0], .terminal = terminal};
		report[0] = terminal = -1;
	}
out:
	next = errno;
	drop(&s->slave);
	drop(&terminal);
	drop(&report[0]);
	drop(&report[1]);
	errno = next;
	return pid < 0 ? -1 : 0;
}

static bool is_starting(const struct box_guest *g)
{
	return g->number && g->starting >= 0;
}

/* Its pipe says why it failed, or ends: it has executed its program, or was killed on the way, which is told next. */
static void hear_start(const struct box *box, struct box_guest *g)
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_GUEST, .guest = g->number};

	if (read(g->starting, &note.sys, sizeof(note.sys)) == (ssize_t)sizeof(note.sys))
		note.kind = REIN_BOX_MSG_GONE;
	else if (g->terminal >= 0)
		note.has = REIN_BOX_HAS_TERMINAL;
	drop(&g->starting);
	box_send(box, &note, &g->terminal, note.has ? 1 : 0);
	drop(&g->terminal);
	if (note.kind == REIN_BOX_MSG_GONE)
		*g = (struct box_guest){0};
}

static void on_start(struct box *box, const struct rein_box_note *order, int fds[REIN_BOX_FDS])
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_GONE, .guest = order->guest};
	struct start s = {.box = box, .guest = true, .streams = {-1, -1, -1}, .slave = -1};
	struct box_guest *free_place = find_guest(box, 0);
	struct rein_plan *plan;

	errno = EINVAL;
	plan = fds[0] < 0 || !order->guest ? NULL : box_map_plan(fds[0]);
	if (plan && !free_place)
		errno = EAGAIN;
	if (plan) {
		s.plan = plan;
		s.argv = words(plan, plan->argv, plan->nargv);
		s.envp = words(plan, plan->envp, plan->nenvp);
	}
	if (!plan || !free_place || start_guest(free_place, order->guest, &s, fds) < 0) {
		note.sys = errno ? errno : EIO;
		box_send(box, &note, NULL, 0);
	}
	if (plan)
		munmap(plan, plan->size);
}

static void report_guest(const struct box *box, struct box_guest *g, int status, const struct rusage *ru)
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_GONE,
				     .status = status,
				     .cpu_ns = usage_ns(ru),
				     .max_rss_kib = (uint64_t)ru->ru_maxrss};

	if (is_starting(g)) /* that waits for nothing: nobody has the other end any more */
		hear_start(box, g);
	if (!g->number)
		return;
	note.guest = g->number;
	*g = (struct box_guest){0};
	box_send(box, &note, NULL, 0);
}

#define REAPED_MAX 256 /* a turn: who makes orphans faster than they are buried does not keep us from our orders */

/* True: there may be more. */
static bool reap(struct box *box, pid_t command)
{
	for (int n = 0; n < REAPED_MAX; n++) {
		struct rusage ru;
		int status;
		pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED, &ru);

		if (pid <= 0)
			return false;
		if (pid != command) {
			for (size_t i = 0; i < REIN_BOX_GUESTS && !WIFSTOPPED(status); i++)
				if (box->guests[i].pid == pid)
					report_guest(box, &box->guests[i], status, &ru);
			continue;
		}
		if (WIFSTOPPED(status) && box->held)
			continue; /* reported late, it would stop rein itself after the box was resumed */
		if (WIFSTOPPED(status)) {
			struct rein_box_note note = {.kind = REIN_BOX_MSG_STOPPED,
						     .status = WSTOPSIG(status)};

			box_send(box, &note, NULL, 0);
			continue;
		}
		report_end(box, status, &ru);
	}
	return true;
}

/* Who is told to go on while all are held goes on with them: a terminal or a shell outside gives no such order. */
static void send_signal(const struct box *box, pid_t to, int sig)
{
	if (sig != SIGCONT || !box->held)
		kill(to, sig);
}

static void pass_signal(struct box *box, const struct rein_box_note *note, pid_t command)
{
	struct box_guest *g = note->guest ? find_guest(box, note->guest) : NULL;
	pid_t to = note->guest ? g ? g->pid : 0 : command;

	if (note->kind == REIN_BOX_MSG_SIGNAL && note->sys == 2)
		box->held = note->status == SIGSTOP;
	/* a guest that has gone has no pid any more: 0 would be ourselves */
	if (note->kind == REIN_BOX_MSG_SIGNAL && note->status > 0 && note->status < NSIG && to > 1)
		/* who is still starting may have no group yet, and nobody is in it */
		send_signal(box, note->sys == 2 ? -1 : note->sys && !(g && is_starting(g)) ? -to : to, note->status);
	if (box->held && note->kind == REIN_BOX_MSG_SIGNAL && note->sys == 2)
		box_send(box, &(struct rein_box_note){.kind = REIN_BOX_MSG_HELD}, NULL, 0);
}

static void take_message(struct box *box, pid_t command)
{
	struct rein_box_note note;
	int fds[REIN_BOX_FDS];

	if (box_receive_fds(box, &note, fds) <= 0)
		_exit(125); /* [B3] */
	pass_signal(box, &note, command);
	if (note.kind == REIN_BOX_MSG_START)
		on_start(box, &note, fds);
	for (int i = 0; i < REIN_BOX_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (note.kind == REIN_BOX_MSG_FOREGROUND) {
		/* Only if nobody in the box has it: a shell there may have given it to a job. */
		pid_t owner = 0;

		if (box->slave >= 0 && ioctl(box->slave, TIOCGPGRP, &owner) == 0 && owner == getpid())
			ioctl(box->slave, TIOCSPGRP, &command);
		send_signal(box, -command, SIGCONT);
	}
}

static uint64_t now_ms(void)
{
	struct timespec t = {0};

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* By the clock: orphans and signals wake us more often than that, and nothing need be going on for it. */
static int until_sample(const struct box *box, uint64_t *due_ms)
{
	uint64_t now;

	if (!box->plan->sample_ms)
		return -1;
	now = now_ms();
	if (now >= *due_ms) {
		if (*due_ms)
			box_sample(box);
		*due_ms = now + box->plan->sample_ms;
	}
	return (int)(*due_ms - now);
}

void box_run(struct box *box)
{
	enum { CONTROL, SIGNALS, MAKER, STARTS, NFDS = STARTS + REIN_BOX_GUESTS };
	struct pollfd fds[NFDS];
	uint64_t due_ms = 0;
	bool more = false;
	sigset_t all;
	pid_t command;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fds[CONTROL] = (struct pollfd){.fd = box->control, .events = POLLIN};
	fds[SIGNALS] = (struct pollfd){.fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN};
	if (fds[SIGNALS].fd < 0)
		box_step_failed(box, REIN_STEP_SPAWN, 0);
	hand_over(box);
	box_await(box, REIN_BOX_MSG_GO);
	command = start(box);
	pass_signal(box, &box->early, command);
	/* Nothing of ours may keep the command's streams open: their ends are seen outside. */
	close_range(0, 2, 0);
	/* a mount that goes has the kernel wait for all processors: the command need not */
	if (box->private.queues >= 0)
		close(box->private.queues);
	for (;;) {
		struct signalfd_siginfo si[16];
		int wait_ms = until_sample(box, &due_ms);

		fds[MAKER] = (struct pollfd){.fd = box->maker, .events = POLLIN};
		for (size_t i = 0; i < REIN_BOX_GUESTS; i++)
			fds[STARTS + i] = (struct pollfd){
				.fd = is_starting(&box->guests[i]) ? box->guests[i].starting : -1, .events = POLLIN};
		if (poll(fds, NFDS, more ? 0 : wait_ms) < 0 && errno != EINTR)
			_exit(125);
		/* only woken by them; a few at a time, since anybody in the box can send more than can be read */
		if (fds[SIGNALS].revents && read(fds[SIGNALS].fd, si, sizeof(si)) < 0 && errno != EAGAIN)
			_exit(125);
		/* before anybody else can have their places */
		for (size_t i = 0; i < REIN_BOX_GUESTS; i++)
			if (fds[STARTS + i].revents)
				hear_start(box, &box->guests[i]);
		more = reap(box, command);
		if (fds[CONTROL].revents)
			take_message(box, command);
		if (fds[MAKER].revents)
			box_make_socket(box);
	}
}
