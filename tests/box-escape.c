/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs inside a box and tries to get out, or to do what a box may not. Each attempt must be refused;
 * what is not is printed and makes the exit status 1. The environment says where the bait is:
 *
 *	BAIT_FILE	a file outside the workspace, writable by this user on the host
 *	BAIT_HIDDEN	a hidden file; BAIT_SOCKET a listening socket of the host
 *	BAIT_ABSTRACT	name of an abstract socket of the host; BAIT_PID a process of the host
 *	BAIT_PORT	a TCP port of the host's loopback
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char *bait(const char *name)
{
	const char *v = getenv(name);

	return v ? v : "/nonexistent";
}

/* Plain calls: the number, its arguments, the errno they must give. */
static const struct {
	const char *name;
	long nr;
	long a, b, c;
	int want;
} plain[] = {
	{"add_key", SYS_add_key, 0, 0, 0, EPERM},
	{"request_key", SYS_request_key, 0, 0, 0, EPERM},
	{"keyctl", SYS_keyctl, 0, 0, 0, EPERM},
	{"bpf", SYS_bpf, 0, 0, 0, EPERM},
	{"perf_event_open", SYS_perf_event_open, 0, 0, 0, EPERM},
	{"userfaultfd", SYS_userfaultfd, 0, 0, 0, EPERM},
	{"io_uring_setup", SYS_io_uring_setup, 1, 0, 0, ENOSYS},
	{"ptrace", SYS_ptrace, PTRACE_TRACEME, 0, 0, EPERM},
	{"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, EPERM},
	{"kcmp", SYS_kcmp, 1, 2, 0, EPERM},
	{"mount", SYS_mount, 0, 0, 0, EPERM},
	{"umount2", SYS_umount2, (long)"/proc", 0, 0, EPERM},
	{"pivot_root", SYS_pivot_root, 0, 0, 0, EPERM},
	{"setns", SYS_setns, 0, 0, 0, EPERM},
	{"unshare user", SYS_unshare, CLONE_NEWUSER, 0, 0, EPERM},
	{"unshare mount", SYS_unshare, CLONE_NEWNS, 0, 0, EPERM},
	{"unshare net", SYS_unshare, CLONE_NEWNET, 0, 0, EPERM},
	{"clone user", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, EPERM},
	{"clone3", SYS_clone3, 0, 0, 0, ENOSYS},
	{"fsopen", SYS_fsopen, 0, 0, 0, ENOSYS},
	{"open_tree", SYS_open_tree, 0, 0, 0, ENOSYS},
	{"move_mount", SYS_move_mount, 0, 0, 0, ENOSYS},
	{"mount_setattr", SYS_mount_setattr, 0, 0, 0, ENOSYS},
	{"open_by_handle_at", SYS_open_by_handle_at, 0, 0, 0, EPERM},
	{"kexec_load", SYS_kexec_load, 0, 0, 0, EPERM},
	{"init_module", SYS_init_module, 0, 0, 0, EPERM},
	{"finit_module", SYS_finit_module, 0, 0, 0, EPERM},
	{"delete_module", SYS_delete_module, 0, 0, 0, EPERM},
	{"swapon", SYS_swapon, 0, 0, 0, EPERM},
	{"reboot", SYS_reboot, 0, 0, 0, EPERM},
	{"acct", SYS_acct, 0, 0, 0, EPERM},
	{"quotactl", SYS_quotactl, 0, 0, 0, EPERM},
	{"settimeofday", SYS_settimeofday, 0, 0, 0, EPERM},
	{"clock_settime", SYS_clock_settime, 0, 0, 0, EPERM},
	{"adjtimex", SYS_adjtimex, 0, 0, 0, EPERM},
	{"syslog", SYS_syslog, 3, 0, 0, EPERM},
	{"personality", SYS_personality, READ_IMPLIES_EXEC, 0, 0, EPERM},
	{"vsock", SYS_socket, 40, SOCK_STREAM, 0, EAFNOSUPPORT},
	{"packet", SYS_socket, AF_PACKET, SOCK_RAW, 0, EAFNOSUPPORT},
	{"alg", SYS_socket, AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT},
	{"netlink audit", SYS_socket, AF_NETLINK, SOCK_RAW, 9, EPROTONOSUPPORT},
	{"raw socket", SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP, EPERM},
	{"chroot", SYS_chroot, (long)"/", 0, 0, EPERM},
	{"sethostname", SYS_sethostname, (long)"x", 1, 0, EPERM},
	{"x32", 0x40000000 | 39, 0, 0, 0, ENOSYS},
	{"number of the future", 9999, 0, 0, 0, ENOSYS},
#ifdef SYS_iopl
	{"iopl", SYS_iopl, 3, 0, 0, EPERM},
#endif
};

static int failed;

static void must(bool refused, const char *name, const char *what)
{
	if (refused)
		return;
	printf("NOT REFUSED: %s (%s)\n", name, what);
	failed = 1;
}

static void try_plain(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		long rc;

		errno = 0;
		rc = syscall(plain[i].nr, plain[i].a, plain[i].b, plain[i].c, 0, 0, 0);
		if (rc == 0 && plain[i].nr == SYS_clone)
			_exit(0);
		must(rc < 0 && errno == plain[i].want, plain[i].name, rc < 0 ? strerror(errno) : "success");
	}
}

/* Opening for writing what lies outside, under every name it has. */
static void try_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd < 0, "open for writing", path);
	if (fd >= 0)
		close(fd);
}

static void try_files(void)
{
	static const char *const paths[] = {
		"/etc/passwd",
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe",
		"/proc/sysrq-trigger",
		"/proc/1/mem",
		"/proc/1/root/etc/passwd",
		"/proc/self/root/etc/passwd",
		"/proc/self/task/self/root/etc/passwd",
		"/sys/kernel/uevent_helper",
		"/sys/power/state",
		"/dev/mem",
		"/dev/kmsg",
		"/proc/self/exe",
	};
	char path[4200];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		try_write(paths[i]);
	try_write(bait("BAIT_FILE"));
	snprintf(path, sizeof(path), "/proc/self/root%s", bait("BAIT_FILE"));
	try_write(path);
	snprintf(path, sizeof(path), "/proc/self/cwd/../../../../../../../..%s", bait("BAIT_FILE"));
	try_write(path);
	must(symlink(bait("BAIT_FILE"), "link") == 0, "symlink", "the workspace is writable");
	try_write("link");
	unlink("link");
	must(link(bait("BAIT_FILE"), "hard") < 0, "hard link out", "link");
	must(linkat(AT_FDCWD, bait("BAIT_FILE"), AT_FDCWD, "/tmp/hard", 0) < 0, "hard link to /tmp",
	     "link");
	must(unlink(bait("BAIT_FILE")) < 0, "unlink", bait("BAIT_FILE"));
	must(rename(bait("BAIT_FILE"), "stolen") < 0, "rename in", bait("BAIT_FILE"));
	must(chmod(bait("BAIT_FILE"), 0777) < 0, "chmod", bait("BAIT_FILE"));
	must(truncate(bait("BAIT_FILE"), 0) < 0, "truncate", bait("BAIT_FILE"));
	must(open(bait("BAIT_HIDDEN"), O_RDONLY | O_CLOEXEC) < 0, "read", bait("BAIT_HIDDEN"));
	must(chmod(bait("BAIT_HIDDEN"), 0777) < 0, "chmod", bait("BAIT_HIDDEN"));
	must(unlink(bait("BAIT_HIDDEN")) < 0, "uncover", bait("BAIT_HIDDEN"));
	must(mknod("device", S_IFCHR | 0666, makedev(1, 1)) < 0, "mknod", "device");
	must(mknod("/tmp/device", S_IFBLK | 0666, makedev(8, 0)) < 0, "mknod", "/tmp/device");
	must(chmod("/dev/null", 0600) < 0, "chmod", "/dev/null");
}

static bool connects(const struct sockaddr *a, socklen_t n)
{
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, a, n);

	close(fd);
	return rc == 0;
}

static void try_network(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const char *name = bait("BAIT_ABSTRACT");

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", bait("BAIT_SOCKET"));
	must(!connects((struct sockaddr *)&un, sizeof(un)), "connect", bait("BAIT_SOCKET"));
	memset(&un.sun_path, 0, sizeof(un.sun_path));
	memcpy(un.sun_path + 1, name, strnlen(name, sizeof(un.sun_path) - 1));
	must(!connects((struct sockaddr *)&un,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
	     "connect to an abstract socket", name);
	in.sin_port = htons((uint16_t)strtoul(bait("BAIT_PORT"), NULL, 10));
	must(!connects((struct sockaddr *)&in, sizeof(in)), "connect to the host's loopback", "tcp");
	in.sin_addr.s_addr = htonl(0x01010101);
	must(!connects((struct sockaddr *)&in, sizeof(in)), "connect to the world", "tcp");
}

static void try_processes(void)
{
	pid_t pid = (pid_t)strtoul(bait("BAIT_PID"), NULL, 10);
	char path[64];

	must(kill(pid, 0) < 0 || pid < 100, "signal outward", "kill");
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	must(open(path, O_RDONLY | O_CLOEXEC) < 0, "see a process of the host", path);
	must(open("/proc/1/environ", O_RDONLY | O_CLOEXEC) < 0, "look into pid 1", "environ");
	must(open("/proc/1/fd/4", O_RDWR | O_CLOEXEC) < 0, "pid 1's socket", "open");
	must(readlink("/proc/1/exe", path, sizeof(path)) < 0, "pid 1's program", "readlink");
	must(kill(1, SIGKILL) < 0 || kill(1, 0) == 0, "kill pid 1", "kill");
}

static void try_terminal(void)
{
	char c = 'x';
	int zero = 0;

	must(ioctl(0, TIOCSTI, &c) < 0 && errno == EPERM, "TIOCSTI", strerror(errno));
	must(ioctl(0, TIOCLINUX, &c) < 0 && errno == EPERM, "TIOCLINUX", strerror(errno));
	must(ioctl(0, TIOCSETD, &zero) < 0 && errno == EPERM, "TIOCSETD", strerror(errno));
	/* The upper half of the command is ignored by the kernel, so the filter must too. */
	must(syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, &c) < 0 && errno == EPERM,
	     "TIOCSTI with high bits", strerror(errno));
}

static void try_descriptors(void)
{
	for (int fd = 3; fd < 1024; fd++)
		must(fcntl(fd, F_GETFD) < 0, "leaked descriptor", "fcntl");
}

static void try_rights(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	must(f != NULL, "status", "open");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Cap", 3) == 0)
			must(strtoull(line + 8, NULL, 16) == 0, "capabilities", line);
		if (strncmp(line, "NoNewPrivs:", 11) == 0)
			must(line[12] == '1', "no new privileges", line);
		if (strncmp(line, "Seccomp:", 8) == 0)
			must(line[9] == '2', "seccomp", line);
	}
	if (f)
		fclose(f);
	must(setuid(geteuid() + 1) < 0, "setuid", "another user");
	must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0) < 0, "ambient", "CAP_SYS_ADMIN");
}

#ifdef __x86_64__
/* The same calls by the door for 32-bit programs. */
static long call32(long nr, long a, long b)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(nr), "b"(a), "c"(b), "d"(0), "S"(0), "D"(0) : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

static void try_other_door(void)
{
	must(call32(26, PTRACE_TRACEME, 0) == -EPERM, "i386 ptrace", "int 0x80");
	must(call32(21, 0, 0) == -EPERM, "i386 mount", "int 0x80");
	must(call32(357, 0, 0) == -EPERM, "i386 bpf", "int 0x80");
	must(call32(102, 1, 0) == -ENOSYS, "i386 socketcall", "int 0x80");
	must(call32(310, CLONE_NEWUSER, 0) == -EPERM, "i386 unshare", "int 0x80");
	must(call32(359, 40, SOCK_STREAM) == -EAFNOSUPPORT, "i386 vsock", "int 0x80");
	must(call32(435, 0, 0) == -ENOSYS, "i386 clone3", "int 0x80");
}
#else
static void try_other_door(void)
{
}
#endif

int main(void)
{
	try_descriptors();
	try_plain();
	try_files();
	try_network();
	try_processes();
	try_terminal();
	try_rights();
	try_other_door();
	if (!failed)
		printf("all refused: %zu calls and more\n", ARRAY_SIZE(plain));
	return failed;
}
