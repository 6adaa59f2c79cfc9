/* SPDX-License-Identifier: Apache-2.0 */
/* A system call without a C library, so without its errno, and a fork and a vfork that need none. */
#ifndef REIN_SYS_RAW_H
#define REIN_SYS_RAW_H

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long raw_syscall(long nr, long a, long b, long c,
							      long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return rc;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long raw_syscall(long nr, long a, long b, long c,
							      long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "no system call for this architecture"
#endif

/*
 * The child runs on our stack while we wait. It is inlined, so that there is no return address of ours
 * the child could overwrite; the child must not return from the function that calls this.
 */
static inline __attribute__((always_inline)) long raw_vfork(void)
{
	return raw_syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
}

/* For a process of one thread, whose library need not be told. */
static inline long raw_fork(void)
{
	return raw_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

#endif
