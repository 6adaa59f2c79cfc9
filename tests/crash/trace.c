/* SPDX-License-Identifier: Apache-2.0 */
/* See trace.h. */
#include "trace.h"

#include "calls.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE_S 60
#define LINGER_S   5 /* what a killed program started must be gone by then */
#define MAX_TASKS  256

struct task {
	pid_t tid;
	bool failing; /* its present call was taken away: give it the errno at the exit */
	bool emptied; /* its present call asks for nothing: give it back what it asked for */
	uint64_t asked;
};

struct tracer {
	const struct trace_fault *f;
	struct trace_result *ret;
	pid_t leader;
	bool counting; /* from the exec of the program on */
	bool killed;
	struct task tasks[MAX_TASKS];
	size_t ntasks;
	int leader_status;
	bool leader_done;
};

#if defined(__x86_64__)

static int take_call_away(pid_t tid)
{
	return (int)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, orig_rax), -1L);
}

static int set_argument(pid_t tid, uint64_t v)
{
	return (int)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rdi), (long)v);
}

static int answer(pid_t tid, int err)
{
	return (int)ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax),
			   -(long)err);
}

#elif defined(__aarch64__)

static int take_call_away(pid_t tid)
{
	int nr = -1;
	struct iovec v = {&nr, sizeof(nr)};

	return (int)ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &v);
}

/* The result takes its place: nothing to give back. */
static int set_argument(pid_t tid, uint64_t to)
{
	struct user_regs_struct regs;
	struct iovec v = {&regs, sizeof(regs)};

	if (to)
		return 0;
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) < 0)
		return -1;
	regs.regs[0] = 0;
	return (int)ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v);
}

static int answer(pid_t tid, int err)
{
	struct user_regs_struct regs;
	struct iovec v = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) < 0)
		return -1;
	regs.regs[0] = (uint64_t) - (int64_t)err;
	return (int)ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v);
}

#else
#error "no register access for this architecture"
#endif

void trace_init(void)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		lab_die_errno("become a subreaper");
	sigaction(SIGCHLD, &sa, NULL);
}

static struct task *task_of(struct tracer *t, pid_t tid)
{
	for (size_t i = 0; i < t->ntasks; i++)
		if (t->tasks[i].tid == tid)
			return &t->tasks[i];
	if (t->ntasks == MAX_TASKS)
		lab_die("more than %d tasks", MAX_TASKS);
	t->tasks[t->ntasks] = (struct task){.tid = tid};
	return &t->tasks[t->ntasks++];
}

static void task_gone(struct tracer *t, pid_t tid)
{
	for (size_t i = 0; i < t->ntasks; i++)
		if (t->tasks[i].tid == tid)
			t->tasks[i] = t->tasks[--t->ntasks];
}

static pid_t thread_group(pid_t tid)
{
	char path[64], line[128];
	long tgid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:", 5))
			tgid = strtol(line + 5, NULL, 10);
	if (f)
		fclose(f);
	return (pid_t)tgid;
}

/*
 * The dynamic loader itself does not survive a failing allocation, whatever it loads: its calls
 * are not counted when memory is what fails.
 */
static bool from_loader(pid_t tid, uint64_t ip)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		char *end;
		uint64_t from = strtoull(line, &end, 16), to = strtoull(end + 1, NULL, 16);

		found = ip >= from && ip < to && strstr(line, "/ld-linux");
	}
	if (f)
		fclose(f);
	return found;
}

/* The crash: the program, and with `alone` not set everything it started, dies here. */
static void crash(struct tracer *t)
{
	t->killed = true;
	if (t->f->alone) {
		kill(t->leader, SIGKILL);
		return;
	}
	for (size_t i = 0; i < t->ntasks; i++)
		kill(t->tasks[i].tid, SIGKILL);
}

static void on_entry(struct tracer *t, struct task *task, const struct __ptrace_syscall_info *si)
{
	uint64_t args[6];
	struct call_info c;
	bool due;

	memcpy(args, si->entry.args, sizeof(args));
	c = call_classify(si->entry.nr, args);
	if (si->entry.nr == SYS_exit_group && task->tid == t->leader && args[0] == 0)
		t->ret->said_success = true;
	if (!t->counting || !((c.classes & t->f->classes) || (t->f->classes & CALL_ANY)))
		return;
	if (t->f->classes == CALL_MEMORY && from_loader(task->tid, si->instruction_pointer))
		return;
	t->ret->seen++;
	due = t->f->at && (t->ret->seen == t->f->at || (t->f->sticky && t->ret->seen > t->f->at));
	if (!due)
		return;
	if (!t->ret->hit)
		t->ret->call = c.name ? c.name : "another call";
	t->ret->hit = true;
	if (t->f->err == 0) {
		crash(t);
	} else if (si->entry.nr == SYS_brk) {
		/* it knows no errors: one that fails answers with where the break is, as one for nothing does */
		task->emptied = true;
		task->asked = args[0];
		if (set_argument(task->tid, 0) < 0)
			lab_die_errno("change a call");
	} else if (take_call_away(task->tid) == 0) {
		task->failing = true;
	} else {
		lab_die_errno("take a call away");
	}
}

static void on_syscall(struct tracer *t, struct task *task)
{
	struct __ptrace_syscall_info si;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof(si), &si) < 0)
		return; /* it was killed meanwhile */
	if (si.op == PTRACE_SYSCALL_INFO_ENTRY) {
		on_entry(t, task, &si);
	} else if (si.op == PTRACE_SYSCALL_INFO_EXIT && task->emptied) {
		task->emptied = false;
		if (set_argument(task->tid, task->asked) < 0 && errno != ESRCH)
			lab_die_errno("change a call back");
	} else if (si.op == PTRACE_SYSCALL_INFO_EXIT && task->failing) {
		task->failing = false;
		if (answer(task->tid, t->f->err) < 0 && errno != ESRCH)
			lab_die_errno("answer for a call");
	}
}

static void on_stop(struct tracer *t, pid_t tid, int st)
{
	struct task *task = task_of(t, tid);
	int sig = WSTOPSIG(st), event = st >> 16;
	long pass = 0;

	if (t->f->alone && tid != t->leader && thread_group(tid) != t->leader) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		task_gone(t, tid);
		return;
	}
	if (sig == (SIGTRAP | 0x80))
		on_syscall(t, task);
	else if (event == PTRACE_EVENT_EXEC)
		t->counting |= tid == t->leader;
	else if (!event && sig != SIGSTOP)
		pass = sig; /* a real signal: let it through */
	if (ptrace(PTRACE_SYSCALL, tid, 0, pass) < 0 && errno != ESRCH)
		lab_die_errno("go on after a stop");
}

static void on_tick(int sig)
{
	(void)sig; /* only interrupts a wait */
}

static void tick(bool on)
{
	struct itimerval every = {{0}, {0}};
	struct sigaction sa = {.sa_handler = on_tick};

	if (on)
		every.it_interval.tv_usec = every.it_value.tv_usec = 100000;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Wait with a deadline: 0 nothing left to wait for, -1 out of time. */
static pid_t wait_until(double deadline, int *st)
{
	for (;;) {
		pid_t pid = waitpid(-1, st, __WALL);

		if (pid > 0)
			return pid;
		if (pid < 0 && errno == ECHILD)
			return 0;
		if (pid < 0 && errno != EINTR)
			lab_die_errno("wait");
		if (lab_now() > deadline)
			return -1;
	}
}

static void kill_children(void)
{
	char path[64], buf[4096], *p, *end;
	FILE *f;
	long pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (f && fgets(buf, sizeof(buf), f))
		for (p = buf; (pid = strtol(p, &end, 10)) > 0 && end != p; p = end)
			kill((pid_t)pid, SIGKILL);
	if (f)
		fclose(f);
}

static void follow(struct tracer *t)
{
	double deadline = lab_now() + DEADLINE_S;
	int st;

	for (;;) {
		pid_t pid = wait_until(deadline, &st);

		if (pid == 0)
			return;
		if (pid < 0) { /* the program hangs, or something it started stays */
			if (t->leader_done)
				t->ret->left_processes = true;
			else
				t->ret->r.status = -1;
			kill_children();
			deadline = lab_now() + DEADLINE_S;
			continue;
		}
		if (WIFSTOPPED(st)) {
			on_stop(t, pid, st);
			continue;
		}
		task_gone(t, pid);
		if (pid == t->leader) {
			t->leader_done = true;
			t->leader_status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
			deadline = lab_now() + LINGER_S;
		}
	}
}

static void read_back(int fd, struct lab_text *t)
{
	char buf[8192];
	off_t at = 0;
	ssize_t n;

	lab_text_add(t, "", 0);
	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		lab_text_add(t, buf, (size_t)n);
		at += n;
	}
	close(fd);
}

void trace_run(const struct lab_cmd *c, const struct trace_fault *f, struct trace_result *ret)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK |
			     PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	struct tracer t = {.f = f, .ret = ret};
	int in = lab_memfd(c->in ? c->in : "", c->in ? c->in_n : 0), out = lab_memfd("", 0),
	    err = lab_memfd("", 0), st;
	double start = lab_now();

	*ret = (struct trace_result){0};
	fflush(stdout);
	t.leader = fork();
	if (t.leader < 0)
		lab_die_errno("fork");
	if (t.leader == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			lab_die_errno("be traced");
		raise(SIGSTOP);
		lab_exec(c, in, out, err);
	}
	close(in);
	if (waitpid(t.leader, &st, 0) < 0 || !WIFSTOPPED(st))
		lab_die("the program did not start");
	task_of(&t, t.leader);
	if (ptrace(PTRACE_SETOPTIONS, t.leader, 0, options) < 0 ||
	    ptrace(PTRACE_SYSCALL, t.leader, 0, 0) < 0)
		lab_die_errno("trace");
	tick(true);
	follow(&t);
	tick(false);
	if (ret->r.status != -1)
		ret->r.status = t.leader_status;
	ret->r.seconds = lab_now() - start;
	read_back(out, &ret->r.out);
	read_back(err, &ret->r.err);
}
