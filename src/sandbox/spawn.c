/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child borrows our memory until it execs (CLONE_VM): nothing is copied, and it makes only system
 * calls meanwhile, raw ones, because errno is ours, too.
 *
 * We do not wait for its exec (CLONE_VFORK): whoever is woken by that is put on the child's processor,
 * and both had to share it for more than a millisecond while the other one idled.
 */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/explain.h"
#include "sys/apart.h"
#include "sys/caps.h"
#include "sys/passfd.h"
#include "sys/raw.h"

/* Above the two numbers the executor expects its descriptors at. */
#define FIRST_FREE 10

/* At the foot of the child's stack, which stays until the child is dead. */
struct rein_spawn_child {
	const char *program;
	const struct rein_spawn_with *with;
	int plan, control;
	bool raise; /* a new user namespace: carry its rights over the exec */
	_Atomic int sys; /* written by the child, in our memory */
};

#define STACK_SIZE ((size_t)64 << 10)

/*
 * All the executor needs: mounts, lo and the host name, giving the rest up. The file ones are for
 * overlayfs, which works in its upper and work directories with the rights of whoever mounted it.
 */
#define EXECUTOR_CAPS                                                                              \
	(SYS_CAP(CAP_SYS_ADMIN) | SYS_CAP(CAP_NET_ADMIN) | SYS_CAP(CAP_NET_BIND_SERVICE) |         \
	 SYS_CAP(CAP_SETPCAP) |                                                                    \
	 SYS_CAP(CAP_CHOWN) | SYS_CAP(CAP_DAC_OVERRIDE) | SYS_CAP(CAP_DAC_READ_SEARCH) |           \
	 SYS_CAP(CAP_FOWNER) | SYS_CAP(CAP_FSETID) | SYS_CAP(CAP_SETFCAP))

/* The last n of the processors we may use: those without a limit have the first ones for themselves. */
static int stay_behind(unsigned n)
{
	cpu_set_t all, few;

	CPU_ZERO(&few);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return -1;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && n; cpu--)
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &few);
			n--;
		}
	if (sched_setaffinity(0, sizeof(few), &few) < 0)
		return -1;
	return setpriority(PRIO_PROCESS, 0, 19);
}

/* Before anything else is done, so that all of it counts. */
static int settle(const struct rein_spawn_with *with)
{
	for (size_t i = 0; i < with->njoin; i++)
		if (write(with->join[i], "0", 1) != 1)
			return -1;
	if (with->processors && stay_behind(with->processors) < 0)
		return -1;
	for (int fd = 0; with->streams && fd <= 2; fd++)
		if (with->streams[fd] >= 0 && dup2(with->streams[fd], fd) < 0)
			return -1;
	return 0;
}

/* The new user namespace's rights, over the exec: a user id other than 0 would lose them there, but for the ambient ones. */
static long keep_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint32_t low = (uint32_t)EXECUTOR_CAPS, high = (uint32_t)(EXECUTOR_CAPS >> 32);
	const struct __user_cap_data_struct data[2] = {{low, low, low}, {high, high, high}};
	long rc = raw_syscall(SYS_capset, (long)&head, (long)data, 0, 0, 0, 0);

	for (unsigned cap = 0; rc == 0 && cap < 64; cap++)
		if (EXECUTOR_CAPS & SYS_CAP(cap))
			rc = raw_syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0, 0);
	return rc;
}

static long place_descriptors(const struct rein_spawn_child *c)
{
	long rc = raw_syscall(SYS_dup3, c->plan, REIN_BOX_PLAN_FD, 0, 0, 0, 0);

	if (rc >= 0)
		rc = raw_syscall(SYS_dup3, c->control, REIN_BOX_CONTROL_FD, 0, 0, 0, 0);
	if (rc >= 0)
		rc = raw_syscall(SYS_close_range, REIN_BOX_CONTROL_FD + 1, ~0u, 0, 0, 0, 0);
	return rc < 0 ? rc : 0;
}

/* The kernel's struct sigaction and sigset_t, in which zeroes are what is wanted. */
static long reset_signals(void)
{
	static const uint64_t by_default[4], none;
	long rc = raw_syscall(SYS_rt_sigaction, SIGPIPE, (long)by_default, 0, sizeof(none), 0, 0);

	return rc < 0 ? rc : raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof(none), 0, 0);
}

static int child(void *arg)
{
	static char *const argv[] = {(char *)(uintptr_t) "rein-box", NULL};
	static char *const envp[] = {NULL};
	struct rein_spawn_child *c = arg;
	long rc = c->raise ? keep_caps() : 0;

	if (rc == 0 && c->with) /* then our parent waits, and errno is ours alone */
		rc = settle(c->with) < 0 ? -errno : 0;
	if (rc == 0)
		rc = place_descriptors(c);
	if (rc == 0)
		rc = reset_signals();
	if (rc == 0)
		rc = raw_syscall(SYS_execve, (long)c->program, (long)argv, (long)envp, 0, 0, 0);
	c->sys = (int)-rc;
	return 125; /* clone(2) has it call exit, which is a system call and no more */
}

int rein_spawn_above(int fd, struct rein_err *err)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);

	if (high < 0)
		rein_err_errno(err, "descriptors of the box");
	if (fd >= 0)
		close(fd);
	return high;
}

int rein_spawn_memory(struct rein_err *err)
{
	return rein_spawn_above(memfd_create("rein-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING), err);
}

int rein_spawn_seal(int fd, const struct rein_plan *plan, struct rein_err *err)
{
	size_t done = 0;

	while (done < plan->size) {
		ssize_t n = write(fd, (const char *)plan + done, plan->size - done);

		if (n < 0 && errno != EINTR)
			return rein_err_errno(err, "write the plan");
		done += n > 0 ? (size_t)n : 0;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return rein_err_errno(err, "seal the plan");
	return 0;
}

/*
 * Only those two that must be made from outside: a process does not enter a pid namespace it makes,
 * and without privilege it is the user namespace that gives the right to it. The rest, of which the
 * network namespace alone takes longer than all else, the executor makes while the plan is drawn.
 */
static unsigned namespaces(uint32_t flags)
{
	return CLONE_NEWPID | (flags & REIN_PLAN_USERNS ? CLONE_NEWUSER : 0);
}

/* The socket's buffer holds the order until the executor is there to read it. */
static int give_order(int control, uint32_t flags, struct rein_err *err)
{
	struct rein_box_order order = {
		.magic = REIN_PLAN_MAGIC, .flags = flags, .uid = geteuid(), .gid = getegid()};

	if (send(control, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
		return rein_err_errno(err, "control socket");
	return 0;
}

/* Descriptors that were given hold their owner's memory: then we wait until they are in place. */
static pid_t start(struct rein_spawn_child *c, uint32_t flags, int *pidfd)
{
	const unsigned how = CLONE_VM | CLONE_PIDFD | SIGCHLD | (c->with ? CLONE_VFORK : 0);
	sigset_t all, old;
	pid_t pid;

	/* No handler of ours may run in the child: it would run in our memory. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	/* its stack grows down from the end of the pages this struct is at the beginning of */
	pid = clone(child, (char *)c + STACK_SIZE, (int)(how | namespaces(flags)), c, pidfd);
	if (pid < 0)
		c->sys = errno;
	else if (!c->with)
		rein_set_apart(pid);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

int rein_spawn_begin(uint32_t flags, const char *program, const struct rein_spawn_with *with,
		     struct rein_spawn *ret, struct rein_err *err)
{
	auto_close int memfd = -1, ours = -1, theirs = -1;
	struct rein_spawn_child *c;
	int pair[2], pidfd = -1;
	pid_t pid;

	memfd = rein_spawn_memory(err);
	if (memfd < 0)
		return -err->code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rein_err_errno(err, "control socket");
	ours = pair[0];
	theirs = rein_spawn_above(pair[1], err);
	if (theirs < 0 || give_order(ours, flags, err) < 0)
		return -err->code;
	c = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (c == MAP_FAILED)
		return rein_err_nomem(err);
	*c = (struct rein_spawn_child){
		.program = program, .with = with, .plan = memfd, .control = theirs, .raise = flags & REIN_PLAN_USERNS};
	pid = start(c, flags, &pidfd);
	if (pid < 0) {
		int sys = c->sys;

		munmap(c, STACK_SIZE);
		return rein_explain_clone(sys, flags, err);
	}
	*ret = (struct rein_spawn){.pid = pid,
				   .pidfd = pidfd,
				   .control = take_fd(&ours),
				   .plan = take_fd(&memfd),
				   .flags = flags,
				   .child = c};
	return 0;
}

int rein_spawn_failure(const struct rein_spawn *s, struct rein_err *err)
{
	return s->child->sys ? rein_explain_exec(s->child->sys, s->child->program, s->flags, err) : 0;
}

void rein_spawn_done(struct rein_spawn *s)
{
	rein_closep_(&s->control);
	rein_closep_(&s->pidfd);
	rein_closep_(&s->plan);
	if (s->child)
		munmap(s->child, STACK_SIZE);
	s->child = NULL;
}

int rein_spawn_plan(struct rein_spawn *s, const struct rein_plan *plan, int layer, struct rein_err *err)
{
	const struct rein_box_note note = {.kind = REIN_BOX_MSG_PLAN, .has = s->early ? REIN_BOX_HAS_STREAMS : 0};
	int fds[4] = {0, 1, 2};
	unsigned nfds = s->early ? 3 : 0;
	auto_close int fd = take_fd(&s->plan);

	if (rein_spawn_seal(fd, plan, err) < 0)
		return -err->code;
	if (layer >= 0)
		fds[nfds++] = layer;
	rein_fds_send(s->control, &note, sizeof(note), fds, nfds, 0);
	return 0;
}
