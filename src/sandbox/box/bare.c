/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of a C library that the executor uses, and its entry point. A static C library spends
 * 0.35 ms before main (it asks the processor about its caches, which a virtual machine has to answer);
 * this spends none. Declarations are the C library's own; each function here is one system call or a
 * plain loop. Not linked into sanitized builds, which use the real one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/raw.h"

int main(void);
void bare_start(void);

static int error_number;

int *__errno_location(void)
{
	return &error_number;
}

/* The kernel gives -errno. */
static long result(long rc)
{
	if (rc < 0 && rc >= -4095) {
		error_number = (int)-rc;
		return -1;
	}
	return rc;
}

#define CALL(nr, a, b, c, d, e, f)                                                                 \
	result(raw_syscall(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))
#define CALL0(nr)	      CALL(nr, 0, 0, 0, 0, 0, 0)
#define CALL1(nr, a)	      CALL(nr, a, 0, 0, 0, 0, 0)
#define CALL2(nr, a, b)	      CALL(nr, a, b, 0, 0, 0, 0)
#define CALL3(nr, a, b, c)    CALL(nr, a, b, c, 0, 0, 0)
#define CALL4(nr, a, b, c, d) CALL(nr, a, b, c, d, 0, 0)
#define CALL5(nr, a, b, c, d, e) CALL(nr, a, b, c, d, e, 0)

long syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return CALL(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void _exit(int status)
{
	for (;;)
		CALL1(SYS_exit_group, status);
}

int open(const char *path, int flags, ...)
{
	return (int)CALL4(SYS_openat, AT_FDCWD, path, flags, 0);
}

int openat(int dir, const char *path, int flags, ...)
{
	return (int)CALL4(SYS_openat, dir, path, flags, 0);
}

int fcntl(int fd, int cmd, ...)
{
	long arg;
	va_list ap;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return (int)CALL3(SYS_fcntl, fd, cmd, arg);
}

int ioctl(int fd, unsigned long cmd, ...)
{
	long arg;
	va_list ap;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return (int)CALL3(SYS_ioctl, fd, cmd, arg);
}

int prctl(int option, ...)
{
	long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return (int)CALL5(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

ssize_t read(int fd, void *to, size_t n)
{
	return CALL3(SYS_read, fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
	return CALL3(SYS_write, fd, from, n);
}

int close(int fd)
{
	return (int)CALL1(SYS_close, fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	return (int)CALL3(SYS_close_range, first, last, flags);
}

int dup2(int from, int to)
{
	return from == to ? fcntl(from, F_GETFD) < 0 ? -1 : to : (int)CALL3(SYS_dup3, from, to, 0);
}

int fstat(int fd, struct stat *st)
{
	return (int)CALL2(SYS_fstat, fd, st);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return (int)CALL4(SYS_newfstatat, dir, path, st, flags);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	return (int)CALL3(SYS_mkdirat, dir, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int mknodat(int dir, const char *path, mode_t mode, dev_t dev)
{
	return (int)CALL4(SYS_mknodat, dir, path, mode, dev);
}

int mknod(const char *path, mode_t mode, dev_t dev)
{
	return mknodat(AT_FDCWD, path, mode, dev);
}

int symlinkat(const char *to, int dir, const char *path)
{
	return (int)CALL3(SYS_symlinkat, to, dir, path);
}

mode_t umask(mode_t mask)
{
	return (mode_t)CALL1(SYS_umask, mask);
}

int chdir(const char *path)
{
	return (int)CALL1(SYS_chdir, path);
}

int fchdir(int fd)
{
	return (int)CALL1(SYS_fchdir, fd);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	return (void *)CALL(SYS_mmap, at, n, prot, flags, fd, offset);
}

int munmap(void *at, size_t n)
{
	return (int)CALL2(SYS_munmap, at, n);
}

int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data)
{
	return (int)CALL5(SYS_mount, source, target, type, flags, data);
}

int umount2(const char *target, int flags)
{
	return (int)CALL2(SYS_umount2, target, flags);
}

int fsopen(const char *name, unsigned flags)
{
	return (int)CALL2(SYS_fsopen, name, flags);
}

int fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)CALL5(SYS_fsconfig, fd, cmd, key, value, aux);
}

int fsmount(int fd, unsigned flags, unsigned attributes)
{
	return (int)CALL3(SYS_fsmount, fd, flags, attributes);
}

int open_tree(int dir, const char *path, unsigned flags)
{
	return (int)CALL3(SYS_open_tree, dir, path, flags);
}

int move_mount(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return (int)CALL5(SYS_move_mount, from_dir, from, to_dir, to, flags);
}

int mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr, size_t size)
{
	return (int)CALL5(SYS_mount_setattr, dir, path, flags, attr, size);
}

int unshare(int flags)
{
	return (int)CALL1(SYS_unshare, flags);
}

int sethostname(const char *name, size_t n)
{
	return (int)CALL2(SYS_sethostname, name, n);
}

int socket(int family, int type, int protocol)
{
	return (int)CALL3(SYS_socket, family, type, protocol);
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *n)
{
	return (int)CALL5(SYS_getsockopt, fd, level, option, value, n);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return CALL3(SYS_sendmsg, fd, msg, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return CALL3(SYS_recvmsg, fd, msg, flags);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t n)
{
	return (int)CALL5(SYS_setsockopt, fd, level, option, value, n);
}

int bind(int fd, const struct sockaddr *at, socklen_t n)
{
	return (int)CALL3(SYS_bind, fd, at, n);
}

int listen(int fd, int backlog)
{
	return (int)CALL2(SYS_listen, fd, backlog);
}

int socketpair(int family, int type, int protocol, int pair[2])
{
	return (int)CALL4(SYS_socketpair, family, type, protocol, pair);
}

ssize_t recv(int fd, void *to, size_t n, int flags)
{
	return CALL(SYS_recvfrom, fd, to, n, flags, 0, 0);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	return (int)CALL5(SYS_ppoll, fds, n, ms < 0 ? NULL : &ts, NULL, 0);
}

/* The kernel's signal sets have 64 bits. */
#define SIGSET_BYTES 8

int sigemptyset(sigset_t *set)
{
	memset(set, 0, sizeof(*set));
	return 0;
}

int sigfillset(sigset_t *set)
{
	memset(set, 0xff, sizeof(*set));
	return 0;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return (int)CALL4(SYS_rt_sigprocmask, how, set, old, SIGSET_BYTES);
}

int signalfd(int fd, const sigset_t *set, int flags)
{
	return (int)CALL4(SYS_signalfd4, fd, set, SIGSET_BYTES, flags);
}

int kill(pid_t pid, int sig)
{
	return (int)CALL2(SYS_kill, pid, sig);
}

pid_t getpid(void)
{
	return (pid_t)CALL0(SYS_getpid);
}

pid_t setsid(void)
{
	return (pid_t)CALL0(SYS_setsid);
}

int setpgid(pid_t pid, pid_t group)
{
	return (int)CALL2(SYS_setpgid, pid, group);
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return (pid_t)CALL4(SYS_wait4, pid, status, options, usage);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
	return (int)CALL3(SYS_execve, path, argv, envp);
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *t = to;

	while (n--)
		*t++ = (char)c;
	return to;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; a++, b++, n--)
		;
	return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do
		if (*s == (char)c)
			last = s;
	while (*s++);
	return (char *)(uintptr_t)last;
}

size_t strcspn(const char *s, const char *reject)
{
	size_t n = 0;

	while (s[n] && !strchr(reject, s[n]))
		n++;
	return n;
}

char *strstr(const char *s, const char *what)
{
	size_t n = strlen(what);

	for (; *s; s++)
		if (strncmp(s, what, n) == 0)
			return (char *)(uintptr_t)s;
	return n ? NULL : (char *)(uintptr_t)s;
}

/* The kernel enters here with the stack pointer at argc, which is of no interest. */
#if defined(__x86_64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call bare_start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	bl bare_start\n");
#endif

void bare_start(void)
{
	_exit(main());
}
