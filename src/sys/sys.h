/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the C library does not wrap, or wraps with more than the call. Each does exactly
 * one system call, touches no heap and no stdio, and returns -1 with errno: safe between clone and
 * exec, and in the executor.
 */
#ifndef REIN_SYS_SYS_H
#define REIN_SYS_SYS_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same number on every architecture; C libraries older than the kernel lack the name. */
#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule	     445
#define __NR_landlock_restrict_self  446
#endif

struct rusage;

static inline int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline int sys_pidfd_open(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int sys_pidfd_send_signal(int pidfd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

/* waitid with the resource usage the C library leaves out. */
static inline int sys_waitid(int type, id_t id, siginfo_t *info, int options, struct rusage *ru)
{
	return (int)syscall(SYS_waitid, type, id, info, options, ru);
}

#endif
