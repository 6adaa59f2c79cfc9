/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the first byte from the box is read the gate gives up what it will not need: every capability
 * but the one that answers the kernel's queue of held packets (as root; an ordinary user has none to
 * begin with), new privileges, and all system calls but those it serves with. It cannot open a file,
 * start or signal a process, or make a socket that is not TCP or UDP.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/caps.h"

/* The allocator and the sanitizers' own needs are unknown: a sanitized gate is for tests. */
#if defined(__SANITIZE_ADDRESS__)
#define UNCONFINED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNCONFINED 1
#endif
#endif

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "the gate has no system call filter for this architecture"
#endif

static const uint16_t allowed[] = {
	SYS_read, SYS_write, SYS_close, SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg, SYS_accept4,
	SYS_connect, SYS_getsockname, SYS_getsockopt, SYS_setsockopt, SYS_shutdown, SYS_epoll_ctl,
	SYS_epoll_pwait, SYS_pipe2, SYS_splice, SYS_fcntl, SYS_getrandom, SYS_clock_gettime, SYS_brk,
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_restart_syscall,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(v)   BPF_STMT(BPF_RET | BPF_K, (v))
#define REFUSE	    (SECCOMP_RET_ERRNO | EPERM)

/* The low half of an argument, on the machines above. */
#define LOAD_ARG(n) LOAD(args[n])

static int filter(void)
{
	struct sock_filter code[16 + 2 * ARRAY_SIZE(allowed) + 24];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;
	const struct sock_filter start[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
	};
	/* memory that is never executable; sockets of the internet's two kinds */
	const struct sock_filter end[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		LOAD_ARG(2),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 7, 0),
		RETURN(SECCOMP_RET_ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
		LOAD_ARG(0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0),
		RETURN(REFUSE),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(REFUSE),
	};

	for (size_t i = 0; i < ARRAY_SIZE(start); i++)
		code[n++] = start[i];
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_SIZE(end); i++)
		code[n++] = end[i];
	program.len = n;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int gate_confine(struct rein_err *err)
{
	uint64_t effective, permitted, kept;

	if (sys_caps_get(&effective, &permitted) < 0)
		return rein_err_errno(err, "read the gate's capabilities");
	kept = permitted & SYS_CAP(CAP_NET_ADMIN);
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break; /* not privileged, or past the last */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || sys_caps_set(kept, kept, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return rein_err_errno(err, "lay down the gate's rights");
#ifndef UNCONFINED
	if (filter() < 0)
		return rein_err_errno(err, "confine the gate");
#else
	(void)filter;
#endif
	return 0;
}
