/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the filter. The numbers of an architecture are cut into intervals of equal treatment, and
 * a binary search leads to the one a call is in: seven comparisons instead of hundreds. That also
 * keeps installation fast, because the kernel runs the program once for every number to find those
 * that are always allowed, and never runs it again for them.
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/auto.h"

#define RET_ERRNO(e) (SECCOMP_RET_ERRNO | ((e) & SECCOMP_RET_DATA))
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define MAX_INTERVALS 512
#define MAX_BLOCK     100 /* intervals searched before a jump could get too long */

struct interval {
	uint32_t first;
	enum rein_filter_action action;
};

struct fixup {
	size_t at;
	bool taken;
	enum rein_filter_action action;
};

struct writer {
	struct rein_filter *out;
	const struct rein_filter_options *options;
	struct fixup fixups[MAX_INTERVALS];
	size_t nfixups;
	bool failed;
};

static void emit(struct writer *w, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (w->out->n == ARRAY_SIZE(w->out->code)) {
		w->failed = true;
		return;
	}
	w->out->code[w->out->n++] = (struct sock_filter){code, jt, jf, k};
}

static void emit_return(struct writer *w, uint32_t value)
{
	emit(w, BPF_RET | BPF_K, value, 0, 0);
}

static void emit_load_half(struct writer *w, unsigned n, bool high)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	size_t at = high ? 4 : 0;
#else
	size_t at = high ? 0 : 4;
#endif
	emit(w, BPF_LD | BPF_W | BPF_ABS,
	     (uint32_t)(offsetof(struct seccomp_data, args) + n * sizeof(uint64_t) + at), 0, 0);
}

/* The low half of an argument: all that most calls checked here look at. */
static void emit_load_arg(struct writer *w, unsigned n)
{
	emit_load_half(w, n, false);
}

/* One value that decides: if the accumulator equals it, return. */
static void emit_case(struct writer *w, uint32_t value, uint32_t verdict)
{
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	emit_return(w, verdict);
}

static void set_jump(struct writer *w, size_t at, bool taken, size_t to)
{
	size_t distance = to - at - 1;

	if (w->failed || distance > 255) {
		w->failed = true;
		return;
	}
	if (taken)
		w->out->code[at].jt = (uint8_t)distance;
	else
		w->out->code[at].jf = (uint8_t)distance;
}

static void emit_clone(struct writer *w)
{
	/*
	 * Never a control group namespace: in a nested user namespace its owner could mount the
	 * hierarchy and would stand in the group of Rein and its caller.
	 */
	emit_load_arg(w, 0);
	emit(w, BPF_JMP | BPF_JSET | BPF_K, w->options->nested ? CLONE_NEWCGROUP : NAMESPACES, 0, 1);
	emit_return(w, RET_ERRNO(EPERM));
	emit_return(w, SECCOMP_RET_ALLOW);
}

/* Plain Linux, 32-bit naming and no randomisation are asked for by build tools and debuggers. */
static void emit_personality(struct writer *w)
{
	static const uint32_t harmless[] = {
		PER_LINUX, PER_LINUX32, UNAME26, PER_LINUX32 | UNAME26, ADDR_NO_RANDOMIZE,
		PER_LINUX32 | ADDR_NO_RANDOMIZE, 0xffffffff /* only asks */,
	};

	emit_load_arg(w, 0);
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		emit_case(w, harmless[i], SECCOMP_RET_ALLOW);
	emit_return(w, RET_ERRNO(EPERM));
}

/* Typing into a terminal, its selection, its line discipline. */
static void emit_ioctl(struct writer *w)
{
	emit_load_arg(w, 1);
	emit_case(w, TIOCSTI, RET_ERRNO(EPERM));
	emit_case(w, TIOCLINUX, RET_ERRNO(EPERM));
	emit_case(w, TIOCSETD, RET_ERRNO(EPERM));
	emit_return(w, SECCOMP_RET_ALLOW);
}

/*
 * An internet socket that is not TCP or UDP would be refused by the kernel anyway, silently; with a
 * listener the attempt is told. (Raw ones, and the datagram ones of ICMP.)
 */
static void emit_internet(struct writer *w, uint32_t refused)
{
	if (w->options->told) {
		emit_load_arg(w, 1);
		emit(w, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
		emit_case(w, SOCK_RAW, refused);
		emit_load_arg(w, 2);
		emit_case(w, IPPROTO_ICMP, refused);
		emit_case(w, IPPROTO_ICMPV6, refused);
	}
	emit_return(w, SECCOMP_RET_ALLOW);
}

/* Local, internet and routing-table sockets. Others (vsock!) are not bound by namespaces. */
static void emit_socket(struct writer *w)
{
	uint32_t refused = w->options->told ? SECCOMP_RET_USER_NOTIF : RET_ERRNO(EAFNOSUPPORT);
	size_t netlink;

	emit_load_arg(w, 0);
	emit_case(w, AF_UNIX, SECCOMP_RET_ALLOW);
	/* the kernel's cryptography: refused, but no way out */
	emit_case(w, AF_ALG, RET_ERRNO(EAFNOSUPPORT));
	netlink = w->out->n;
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 0);
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
	emit(w, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	emit_return(w, refused);
	emit_internet(w, refused);
	set_jump(w, netlink, true, w->out->n);
	emit_load_arg(w, 2);
	emit_case(w, 0 /* NETLINK_ROUTE */, SECCOMP_RET_ALLOW);
	emit_case(w, 12 /* NETLINK_NETFILTER: the rules */,
		  w->options->told ? SECCOMP_RET_USER_NOTIF : RET_ERRNO(EPROTONOSUPPORT));
	emit_return(w, RET_ERRNO(EPROTONOSUPPORT));
}

/*
 * Programs that handle secrets forbid themselves cores, and give up where they cannot: they are told that it is done,
 * and it is. resource, limit: which argument says what is limited, and points to the new limit if there is to be one;
 * limit < 0: there always is.
 */
static void emit_rlimit(struct writer *w, unsigned resource, int limit)
{
	if (w->options->no_cores) {
		emit_load_arg(w, resource);
		emit(w, BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 1, 0);
		emit_return(w, SECCOMP_RET_ALLOW);
		if (limit >= 0) {
			emit_load_half(w, (unsigned)limit, false);
			emit(w, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
			emit_return(w, RET_ERRNO(0));
			emit_load_half(w, (unsigned)limit, true);
			emit_case(w, 0, SECCOMP_RET_ALLOW);
		}
		emit_return(w, RET_ERRNO(0));
	} else {
		emit_return(w, SECCOMP_RET_ALLOW);
	}
}

static void emit_socketpair(struct writer *w)
{
	emit_load_arg(w, 0);
	emit_case(w, AF_UNIX, SECCOMP_RET_ALLOW);
	emit_return(w, RET_ERRNO(EAFNOSUPPORT));
}

/*
 * Opening for writing can make the overlay copy a file. What must not exist yet cannot be copied, so
 * unpacking an archive or checking out a branch is not stopped at every file.
 */
static void emit_open(struct writer *w, unsigned arg)
{
	emit_load_arg(w, arg);
	emit(w, BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_TRUNC, 1, 0);
	emit_return(w, SECCOMP_RET_ALLOW);
	emit(w, BPF_ALU | BPF_AND | BPF_K, O_CREAT | O_EXCL, 0, 0);
	emit_case(w, O_CREAT | O_EXCL, SECCOMP_RET_ALLOW);
	emit_return(w, SECCOMP_RET_USER_NOTIF);
}

static void emit_action(struct writer *w, enum rein_filter_action action)
{
	bool nested = w->options->nested;

	switch (action) {
	case REIN_FILTER_ALLOW:
		emit_return(w, SECCOMP_RET_ALLOW);
		break;
	case REIN_FILTER_NESTED_EPERM:
		emit_return(w, nested ? SECCOMP_RET_ALLOW : RET_ERRNO(EPERM));
		break;
	case REIN_FILTER_NESTED_ENOSYS:
		emit_return(w, RET_ERRNO(ENOSYS)); /* its flags are out of a filter's sight */
		break;
	case REIN_FILTER_ENOSYS:
		emit_return(w, RET_ERRNO(ENOSYS));
		break;
	case REIN_FILTER_RENAME:
		emit_return(w, w->options->notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		break;
	case REIN_FILTER_WATCH:
		emit_return(w, SECCOMP_RET_USER_NOTIF);
		break;
	case REIN_FILTER_OPEN_1:
		emit_open(w, 1);
		break;
	case REIN_FILTER_OPEN_2:
		emit_open(w, 2);
		break;
	case REIN_FILTER_EXEC:
		emit_return(w, w->options->notify && w->options->execs ? SECCOMP_RET_USER_NOTIF
								       : SECCOMP_RET_ALLOW);
		break;
	case REIN_FILTER_CLONE:
		emit_clone(w);
		break;
	case REIN_FILTER_PERSONALITY:
		emit_personality(w);
		break;
	case REIN_FILTER_IOCTL:
		emit_ioctl(w);
		break;
	case REIN_FILTER_SOCKET:
		emit_socket(w);
		break;
	case REIN_FILTER_SOCKETPAIR:
		emit_socketpair(w);
		break;
	case REIN_FILTER_SETRLIMIT:
		emit_rlimit(w, 0, -1);
		break;
	case REIN_FILTER_PRLIMIT:
		emit_rlimit(w, 1, 2);
		break;
	default:
		emit_return(w, RET_ERRNO(EPERM));
	}
}

/* A conditional jump to an action whose place is not known yet. */
static void jump_later(struct writer *w, size_t at, bool taken, enum rein_filter_action action)
{
	if (w->nfixups == ARRAY_SIZE(w->fixups)) {
		w->failed = true;
		return;
	}
	w->fixups[w->nfixups++] = (struct fixup){at, taken, action};
}

static void emit_search(struct writer *w, const struct interval *v, size_t n)
{
	size_t half = n / 2, at = w->out->n;

	emit(w, BPF_JMP | BPF_JGE | BPF_K, v[half].first, 0, 0);
	if (half == 1)
		jump_later(w, at, false, v[0].action);
	else
		emit_search(w, v, half); /* right behind: no distance */
	if (n - half == 1) {
		jump_later(w, at, true, v[half].action);
	} else {
		set_jump(w, at, true, w->out->n);
		emit_search(w, v + half, n - half);
	}
}

/* Every action that is used, once, and the jumps to it. */
static void emit_actions(struct writer *w)
{
	for (int action = 0; action < REIN_FILTER__MAX; action++) {
		size_t at = w->out->n;
		bool used = false;

		for (size_t i = 0; i < w->nfixups; i++) {
			if (w->fixups[i].action != (enum rein_filter_action)action)
				continue;
			set_jump(w, w->fixups[i].at, w->fixups[i].taken, at);
			used = true;
		}
		if (used)
			emit_action(w, (enum rein_filter_action)action);
	}
	w->nfixups = 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = ((const struct rein_filter_rule *)a)->nr;
	uint32_t y = ((const struct rein_filter_rule *)b)->nr;

	return x < y ? -1 : x > y;
}

/* Append, joining neighbours that are treated alike; the same number again replaces the last. */
static void cut(struct interval *v, size_t *n, uint32_t first, enum rein_filter_action action)
{
	if (*n && v[*n - 1].first == first)
		(*n)--;
	if (*n && v[*n - 1].action == action)
		return;
	v[(*n)++] = (struct interval){first, action};
}

/* A search with its actions right behind; a long one in halves, because jumps are short. */
static void emit_block(struct writer *w, const struct interval *v, size_t n)
{
	size_t half = n / 2, jump = w->out->n;

	if (n <= MAX_BLOCK) {
		emit_search(w, v, n);
		emit_actions(w);
		return;
	}
	emit(w, BPF_JMP | BPF_JGE | BPF_K, v[half].first, 0, 1);
	emit(w, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_block(w, v, half);
	if (!w->failed)
		w->out->code[jump + 1].k = (uint32_t)(w->out->n - jump - 2);
	emit_block(w, v + half, n - half);
}

static enum rein_filter_action watch_action(const struct rein_watch_call *c)
{
	if (c->how != REIN_WATCH_OPEN)
		return REIN_FILTER_WATCH;
	return c->flags == 1 ? REIN_FILTER_OPEN_1 : REIN_FILTER_OPEN_2;
}

/* The architecture's rules, and with them the watched calls. */
static size_t gather(const struct writer *w, const struct rein_filter_arch *arch,
		     struct rein_filter_rule *ret, size_t max)
{
	size_t n = arch->nrules;

	if (n + arch->watch->n > max)
		return 0;
	memcpy(ret, arch->rules, n * sizeof(*ret));
	for (size_t i = 0; w->options->files && i < arch->watch->n; i++)
		ret[n++] = (struct rein_filter_rule){arch->watch->v[i].nr, REIN_FILTER_WATCH};
	for (size_t i = 0; w->options->watch && !w->options->files && i < arch->watch->nfiles; i++)
		ret[n++] = (struct rein_filter_rule){arch->watch->v[i].nr,
						     watch_action(&arch->watch->v[i])};
	qsort(ret, n, sizeof(*ret), by_number);
	return n;
}

static void emit_arch(struct writer *w, const struct rein_filter_arch *arch)
{
	struct rein_filter_rule sorted[MAX_INTERVALS / 2 - 8];
	struct interval v[MAX_INTERVALS];
	size_t nrules = gather(w, arch, sorted, ARRAY_SIZE(sorted));
	size_t n = 0, r = 0;

	if (!nrules) {
		w->failed = true;
		return;
	}
	cut(v, &n, 0, REIN_FILTER_ENOSYS);
	for (size_t k = 0; k < arch->nknown; k++) {
		cut(v, &n, arch->known[k][0], REIN_FILTER_ALLOW);
		for (; r < nrules && sorted[r].nr <= arch->known[k][1]; r++) {
			cut(v, &n, sorted[r].nr, sorted[r].action);
			cut(v, &n, sorted[r].nr + 1, REIN_FILTER_ALLOW);
		}
		cut(v, &n, arch->known[k][1] + 1, REIN_FILTER_ENOSYS);
	}
	emit(w, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit_block(w, v, n);
}

/* if (arch == this) { search } */
static void emit_for(struct writer *w, const struct rein_filter_arch *arch)
{
	size_t jump = w->out->n;

	emit(w, BPF_JMP | BPF_JEQ | BPF_K, arch->audit, 1, 0);
	emit(w, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_arch(w, arch);
	if (!w->failed)
		w->out->code[jump + 1].k = (uint32_t)(w->out->n - jump - 2);
}

bool rein_filter_build(const struct rein_filter_options *options, struct rein_filter *ret)
{
	struct writer w = {.out = ret, .options = options};

	ret->n = 0;
	emit(&w, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit_for(&w, &rein_filter_native);
#ifdef __x86_64__
	emit_for(&w, &rein_filter_i386);
#endif
	/* A kind of program this filter has no numbers for. */
	emit_return(&w, RET_ERRNO(ENOSYS));
	return !w.failed;
}
