/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter of a box, as a BPF program. What is known and harmless is allowed, what no
 * ordinary program needs is refused with an errno that says so, what is not known answers ENOSYS, as
 * an older kernel would. Pure: the same options give the same program.
 */
#ifndef REIN_SANDBOX_FILTER_H
#define REIN_SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/watch.h"

struct rein_filter_options {
	bool nested; /* namespaces and mounts may be made inside */
	bool notify; /* renames are reported to a listener */
	bool execs;  /* and executions */
	bool watch;  /* and what changes files, as sandbox/watch.h lists it */
	bool files;  /* and what opens, makes or removes them */
	bool told;   /* so are sockets that are refused: the box has a network of its own */
	bool no_cores; /* the limit on cores stays as it is, whatever the command says */
};

struct rein_filter {
	struct sock_filter code[BPF_MAXINSNS];
	size_t n;
};

/* False only if the program would not fit, which a test rules out. */
bool rein_filter_build(const struct rein_filter_options *options, struct rein_filter *ret);

/* What becomes of a system call. */
enum rein_filter_action {
	REIN_FILTER_ALLOW = 0,
	REIN_FILTER_EPERM,
	REIN_FILTER_ENOSYS,
	REIN_FILTER_NESTED_EPERM, /* allowed if nested */
	REIN_FILTER_NESTED_ENOSYS,
	REIN_FILTER_CLONE, /* from here on an argument decides */
	REIN_FILTER_PERSONALITY,
	REIN_FILTER_IOCTL,
	REIN_FILTER_SOCKET,
	REIN_FILTER_SOCKETPAIR,
	REIN_FILTER_SETRLIMIT,
	REIN_FILTER_PRLIMIT,
	REIN_FILTER_RENAME,
	REIN_FILTER_EXEC,
	REIN_FILTER_WATCH,
	REIN_FILTER_OPEN_1, /* the flags are this argument */
	REIN_FILTER_OPEN_2,
	REIN_FILTER__MAX,
};

struct rein_filter_rule {
	uint32_t nr;
	enum rein_filter_action action;
};

/* One architecture: its audit number, the ranges of numbers it uses, and the exceptions. */
struct rein_filter_arch {
	uint32_t audit;
	const uint32_t (*known)[2]; /* first, last; ascending */
	size_t nknown;
	const struct rein_filter_rule *rules;
	size_t nrules;
	const struct rein_watch_table *watch;
};

extern const struct rein_filter_arch rein_filter_native;
#ifdef __x86_64__
extern const struct rein_filter_arch rein_filter_i386;
#endif

#endif
