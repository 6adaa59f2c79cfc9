/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching other processes: the victim outside, and the box's own init. */
#include "escape.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static verdict ptrace_attach(void)
{
	TRY(REFUSED(ptrace(PTRACE_ATTACH, scene.victim, 0, 0), E(EPERM), E(ESRCH)));
	return REFUSED(ptrace(PTRACE_ATTACH, 1, 0, 0), E(EPERM));
}

static verdict ptrace_seize(void)
{
	TRY(REFUSED(ptrace(PTRACE_SEIZE, scene.victim, 0, 0), E(EPERM), E(ESRCH)));
	return REFUSED(ptrace(PTRACE_SEIZE, 1, 0, 0), E(EPERM));
}

static verdict ptrace_traceme(void)
{
	return REFUSED(ptrace(PTRACE_TRACEME, 0, 0, 0), E(EPERM));
}

static int sleeper(void *arg)
{
	(void)arg;
	pause();
	return 0;
}

static verdict ptrace_own_child(void)
{
	pid_t pid = fork();
	verdict v;

	if (pid == 0)
		_exit(sleeper(NULL));
	v = REFUSED(ptrace(PTRACE_SEIZE, pid, 0, 0), E(EPERM));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return v;
}

static verdict memory_read(void)
{
	char here[16];
	struct iovec local = {here, sizeof(here)}, remote = {(void *)0x400000, sizeof(here)};

	TRY(REFUSED(process_vm_readv(scene.victim, &local, 1, &remote, 1, 0), E(EPERM), E(ESRCH)));
	return REFUSED(process_vm_readv(1, &local, 1, &remote, 1, 0), E(EPERM));
}

static verdict memory_write(void)
{
	char here[16] = "overwritten";
	struct iovec local = {here, sizeof(here)}, remote = {(void *)0x400000, sizeof(here)};

	TRY(REFUSED(process_vm_writev(scene.victim, &local, 1, &remote, 1, 0), E(EPERM), E(ESRCH)));
	return REFUSED(process_vm_writev(1, &local, 1, &remote, 1, 0), E(EPERM));
}

static const char *of(pid_t pid, const char *what)
{
	char rel[64];

	snprintf(rel, sizeof(rel), "%d/%s", (int)pid, what);
	return in("/proc", rel);
}

static verdict proc_victim(void)
{
	static const char *const names[] = {"", "root", "cwd", "fd", "mem", "environ", "exe", "ns/mnt"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		TRY(REFUSED(open(of(scene.victim, names[i]), O_RDONLY | O_CLOEXEC), E(ENOENT)));
	return NULL;
}

static verdict proc_init_root(void)
{
	TRY(REFUSED(open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC), E(EACCES), E(EPERM)));
	TRY(REFUSED(open("/proc/1/root/etc/passwd", O_RDONLY | O_CLOEXEC), E(EACCES), E(EPERM)));
	return REFUSED(chdir("/proc/1/root"), E(EACCES), E(EPERM));
}

static verdict proc_init_cwd(void)
{
	TRY(REFUSED(open("/proc/1/cwd", O_PATH | O_CLOEXEC), E(EACCES), E(EPERM)));
	return REFUSED(open("/proc/1/cwd/..", O_PATH | O_CLOEXEC), E(EACCES), E(EPERM));
}

static verdict proc_init_fd(void)
{
	char name[32];

	/* uid 0 owns the directory and may list it; what it lists stays shut */
	for (int fd = 0; fd < 64; fd++) {
		snprintf(name, sizeof(name), "/proc/1/fd/%d", fd);
		TRY(REFUSED(open(name, O_RDWR | O_CLOEXEC | O_NOCTTY), E(EACCES), E(EPERM), E(ENOENT)));
	}
	return NULL;
}

static verdict proc_init_mem(void)
{
	TRY(REFUSED(open("/proc/1/mem", O_RDWR | O_CLOEXEC), E(EACCES), E(EPERM)));
	TRY(REFUSED(open("/proc/1/mem", O_RDONLY | O_CLOEXEC), E(EACCES), E(EPERM)));
	return no_secret_in("/proc/1/environ");
}

static verdict proc_init_exe(void)
{
	char target[PATH_MAX];

	TRY(REFUSED(open("/proc/1/exe", O_RDWR | O_CLOEXEC), E(EACCES), E(EPERM), E(EROFS), E(ETXTBSY)));
	return REFUSED(readlink("/proc/1/exe", target, sizeof(target)), E(EACCES), E(EPERM));
}

/* Whatever process is visible, its root must be ours: the canary is read-only there too. */
static verdict proc_every_root(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	struct stat own, other;
	int seen = 0;

	if (!d || stat("/", &own) < 0)
		return bad("/proc: %s", strerror(errno));
	while ((e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		seen++;
		if (stat(of((pid_t)strtol(e->d_name, NULL, 10), "root"), &other) == 0 &&
		    (own.st_ino != other.st_ino || own.st_dev != other.st_dev))
			return bad("/proc/%s/root is another root", e->d_name);
	}
	closedir(d);
	return seen < 64 ? NULL : bad("%d processes are visible", seen);
}

static verdict pidfd_getfd_init(void)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (fd < 0)
		return REFUSED(fd, E(EPERM), E(ENOSYS), E(ESRCH));
	for (int i = 0; i < 32; i++)
		TRY(REFUSED(syscall(SYS_pidfd_getfd, fd, i, 0), E(EPERM)));
	return NULL;
}

static verdict signal_victim(void)
{
	siginfo_t si = {.si_code = SI_QUEUE};

	TRY(REFUSED(kill(scene.victim, SIGUSR1), E(ESRCH)));
	TRY(REFUSED(kill(-scene.victim, SIGUSR1), E(ESRCH)));
	TRY(REFUSED(syscall(SYS_tgkill, scene.victim, scene.victim, SIGUSR1), E(ESRCH)));
	TRY(REFUSED(syscall(SYS_tkill, scene.victim, SIGUSR1), E(ESRCH)));
	TRY(REFUSED(syscall(SYS_rt_sigqueueinfo, scene.victim, SIGUSR1, &si), E(ESRCH)));
	return REFUSED(syscall(SYS_pidfd_open, scene.victim, 0), E(ESRCH));
}

/* Everybody in the box ignores it; outside it would be noted. */
static verdict signal_everybody(void)
{
	signal(SIGUSR2, SIG_IGN);
	kill(-1, SIGURG);
	kill(-1, SIGWINCH);
	kill(-1, SIGCHLD);
	kill(0, SIGURG);
	return NULL;
}

static verdict signal_init(void)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGSTOP, SIGINT, SIGSEGV, SIGABRT, SIGPIPE};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		kill(1, signals[i]);
	usleep(20000);
	return kill(1, 0) == 0 || errno == EPERM ? NULL : bad("init is gone");
}

static verdict priority_outside(void)
{
	TRY(REFUSED(setpriority(PRIO_PROCESS, (id_t)scene.victim, 10), E(ESRCH)));
	TRY(REFUSED(setpriority(PRIO_PGRP, (id_t)scene.victim, 10), E(ESRCH)));
	setpriority(PRIO_USER, getuid(), 5); /* the victim looks at its own afterwards */
	return NULL;
}

static verdict ioprio_outside(void)
{
	TRY(REFUSED(syscall(SYS_ioprio_set, 1, scene.victim, 3 << 13), E(ESRCH)));
	syscall(SYS_ioprio_set, 3, getuid(), 3 << 13);
	return NULL;
}

static verdict affinity_outside(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	TRY(REFUSED(sched_setaffinity(scene.victim, sizeof(one), &one), E(ESRCH)));
	return REFUSED(sched_setscheduler(scene.victim, SCHED_BATCH, &(struct sched_param){0}), E(ESRCH));
}

static verdict prlimit_outside(void)
{
	struct rlimit low = {3, 3};

	return REFUSED(prlimit(scene.victim, RLIMIT_NOFILE, &low, NULL), E(ESRCH));
}

static verdict oom_score_outside(void)
{
	return REFUSED(write_text(of(scene.victim, "oom_score_adj"), "1000"), E(ENOENT));
}

/* The driver opened 3, 7 and 100 before it started rein: a directory, a socket, a file to write. */
static verdict inherited_descriptors(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		char link[64], target[PATH_MAX] = "?";

		/* the pipe this attempt reports through */
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		if (readlink(link, target, sizeof(target) - 1) > 0 && !strncmp(target, "pipe:", 5))
			continue;
		return bad("descriptor %d is %.200s", fd, target);
	}
	return NULL;
}

static verdict stdio_is_no_way_out(void)
{
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;

		if (fstat(fd, &st) < 0)
			return bad("descriptor %d is closed", fd);
		if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
			return bad("descriptor %d leads out", fd);
		TRY(REFUSED(openat(fd, "..", O_RDONLY | O_CLOEXEC), E(ENOTDIR)));
	}
	return NULL;
}

/* The driver gave the canary outside as standard input, for reading: on its own mount, which is writable. */
static verdict reopen_stdin(void)
{
	struct stat st;

	if (fstat(0, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL; /* another kind of box: a terminal, nothing */
	if (scene.box & BOX_WHOLE) { /* a copy may be written to; the driver looks at the file itself */
		(void)!truncate("/proc/self/fd/0", 0);
		(void)!fchmod(0, 0777);
		return NULL;
	}
	TRY(REFUSED(open("/proc/self/fd/0", O_RDWR | O_CLOEXEC), E(EACCES), E(EPERM), E(EROFS)));
	TRY(REFUSED(open("/dev/stdin", O_WRONLY | O_TRUNC | O_CLOEXEC), E(EACCES), E(EPERM), E(EROFS)));
	TRY(REFUSED(truncate("/proc/self/fd/0", 0), E(EACCES), E(EPERM), E(EROFS)));
	TRY(REFUSED(chmod("/proc/self/fd/0", 0777), E(EACCES), E(EPERM), E(EROFS)));
	TRY(REFUSED(fchmod(0, 0777), E(EACCES), E(EPERM), E(EROFS)));
	TRY(REFUSED(futimens(0, NULL), E(EACCES), E(EPERM), E(EROFS)));
	return REFUSED(linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, in(scene.ws, "stdin-link"), AT_SYMLINK_FOLLOW),
		       E(EXDEV), E(EACCES), E(EPERM), E(EROFS));
}

/* Not in the process table of the host: the driver sees that these are gone after the run. */
static void close_from(int first)
{
	if (close_range((unsigned)first, ~0u, 0) < 0) /* gVisor has none */
		for (int fd = first; fd < 1024; fd++)
			close(fd);
}

static verdict daemon_left_behind(void)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			signal(SIGHUP, SIG_IGN);
			close_from(0); /* also the pipe that is waited for */
			sleep(1000);
		}
		_exit(0);
	}
	return NULL;
}

static verdict fork_storm(void)
{
	int made = 0;

	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close_from(3);
			setsid();
			pause();
			_exit(0);
		}
		made += pid > 0;
	}
	return made ? NULL : bad("could not even fork");
}

const struct attempt process_attempts[] = {
	{"ptrace attach to a process outside and to init", ptrace_attach, 0, 0},
	{"ptrace seize", ptrace_seize, 0, 0},
	{"ptrace traceme", ptrace_traceme, 0, 0},
	{"ptrace of an own child", ptrace_own_child, 0, 0},
	{"process_vm_readv", memory_read, 0, 0},
	{"process_vm_writev", memory_write, 0, 0},
	{"the /proc directory of a process outside", proc_victim, 0, 0},
	{"/proc/1/root", proc_init_root, 0, 0},
	{"/proc/1/cwd", proc_init_cwd, 0, 0},
	{"/proc/1/fd", proc_init_fd, 0, 0},
	{"/proc/1/mem and environ", proc_init_mem, 0, 0},
	{"/proc/1/exe", proc_init_exe, 0, 0},
	{"/proc/*/root of everything visible", proc_every_root, 0, 0},
	{"pidfd_getfd from init", pidfd_getfd_init, 0, 0},
	{"signals to a process outside", signal_victim, 0, 0},
	{"signals to everybody", signal_everybody, 0, 0},
	{"signals to init", signal_init, 0, 0},
	{"setpriority of processes outside", priority_outside, 0, 0},
	{"ioprio_set of processes outside", ioprio_outside, 0, 0},
	{"sched_setaffinity of processes outside", affinity_outside, 0, 0},
	{"prlimit of processes outside", prlimit_outside, 0, 0},
	{"oom_score_adj of processes outside", oom_score_outside, 0, 0},
	{"inherited descriptors", inherited_descriptors, 0, 0},
	{"standard descriptors", stdio_is_no_way_out, 0, 0},
	{"opening standard input again, for writing", reopen_stdin, 0, 0},
	{0},
};

/* Made last: they stay until the box ends. */
const struct attempt last_attempts[] = {
	{"a daemon left behind", daemon_left_behind, 0, 0},
	{"a storm of processes left behind", fork_storm, 0, 0},
	{0},
};
