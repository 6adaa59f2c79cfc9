/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting outside, for a name or an address that a rule covers. Several addresses are tried as in
 * RFC 8305: the next one when one fails or is silent for a quarter of a second; the first that answers
 * wins. Each is judged right before it is tried [G3], and an address of this machine itself counts as
 * its loopback whatever it looks like.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/net/rule.h"

#define STAGGER_NS  (REIN_NS_PER_S / 4)
#define PATIENCE_NS (60 * REIN_NS_PER_S)

int gate_rule(struct gate *g, const struct rein_addr *to, uint16_t port, struct name **ret_name,
	      uint32_t *why)
{
	struct name *name = names_by_address(&g->names, to);

	*ret_name = name;
	if (name)
		return rein_rules_name(g->rules, g->nrules, name->text, port, why);
	if (names_is_ours(to)) { /* ours, but nobody's: not a place */
		*why = REIN_WHY_NO_NAME;
		return -1;
	}
	return rein_rules_address(g->rules, g->nrules, to, port, why);
}

int dial_open(struct gate *g, struct rein_err *err)
{
	g->routes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	return g->routes < 0 ? rein_err_errno(err, "ask the kernel for routes") : 0;
}

/* The kernel's answer to question `number`, there before send returns; others are late ones. */
static int route_type(int fd, uint32_t number)
{
	union {
		struct nlmsghdr h;
		char bytes[4096];
	} m;
	ssize_t n;

	while ((n = recv(fd, &m, sizeof(m), MSG_DONTWAIT)) > 0) {
		const struct rtmsg *r = NLMSG_DATA(&m.h);

		if (!NLMSG_OK(&m.h, n) || m.h.nlmsg_seq != number)
			continue;
		return m.h.nlmsg_type == RTM_NEWROUTE && m.h.nlmsg_len >= NLMSG_LENGTH(sizeof(*r))
			       ? r->rtm_type
			       : RTN_UNSPEC;
	}
	return RTN_UNSPEC;
}

/*
 * 1: reachable, 0: no way there from here, -1: it is this machine itself. The kernel is asked for the
 * route: the source it would choose does not tell, a second address of this machine is reached from
 * the first.
 */
static int route(struct gate *g, const struct rein_addr *a)
{
	bool four = rein_addr_is4(a);
	size_t n = four ? 4 : 16;
	struct {
		struct nlmsghdr h;
		struct rtmsg r;
		struct rtattr at;
		uint8_t to[16];
	} m = {
		.h = {.nlmsg_len = (uint32_t)(offsetof(typeof(m), to) + n),
		      .nlmsg_type = RTM_GETROUTE,
		      .nlmsg_flags = NLM_F_REQUEST,
		      .nlmsg_seq = ++g->asked_routes},
		.r = {.rtm_family = four ? AF_INET : AF_INET6, .rtm_dst_len = (uint8_t)(8 * n)},
		.at = {.rta_len = (uint16_t)RTA_LENGTH(n), .rta_type = RTA_DST},
	};

	memcpy(m.to, a->b + 16 - n, n);
	if (send(g->routes, &m, m.h.nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return 0;
	switch (route_type(g->routes, m.h.nlmsg_seq)) {
	case RTN_UNICAST:
		return 1;
	case RTN_UNSPEC:
		return 0;
	default:
		return -1;
	}
}

static bool is_this_machine(const struct dial *d)
{
	return d->name && rein_streq(d->name->text, REIN_NET_HOST_NAME);
}

/* May this dial go there? [G3] */
static bool permitted(const struct dial *d, const struct rein_addr *a, int *reach)
{
	struct gate *g = d->gate;

	*reach = route(g, a);
	if (rein_rules_deny_address(g->rules, g->nrules, a, d->port))
		return false;
	if (is_this_machine(d) || rein_rules_named(g->rules, g->nrules, a, d->port))
		return true;
	return *reach >= 0 && rein_addr_class(a) == REIN_ADDR_GLOBAL;
}

static void finish(struct dial *d, int fd)
{
	struct gate *g = d->gate;

	for (struct dial **p = &g->dials; *p; p = &(*p)->link)
		if (*p == d) {
			*p = d->link;
			break;
		}
	for (size_t i = 0; i < d->next; i++)
		gate_close(g, &d->tries[i]);
	if (d->waiting)
		resolve_cancel(d->name, &d->waiter);
	d->waiting = false;
	if (d->done)
		d->done(d, fd);
}

static void try_next(struct dial *d);

static bool any_open(const struct dial *d)
{
	for (size_t i = 0; i < d->next; i++)
		if (d->tries[i].fd >= 0)
			return true;
	return false;
}

static void tried(struct gate *g, struct watch *w, uint32_t events)
{
	struct dial *d = NULL;
	int sys = 0;
	socklen_t n = sizeof(sys);

	(void)events;
	for (d = g->dials; d; d = d->link)
		if (w >= d->tries && w < d->tries + DIAL_TRIES)
			break;
	if (!d || w->fd < 0)
		return;
	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0)
		sys = errno;
	if (sys == 0) {
		finish(d, gate_release(g, w));
		return;
	}
	d->sys = sys;
	gate_close(g, w);
	try_next(d);
}

/* near: an address of this machine. */
static int start_one(const struct gate *g, const struct rein_addr *a, uint16_t port, bool near)
{
	struct sockaddr_storage to;
	socklen_t n = rein_addr_to(a, port, &to);
	auto_close int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, queue = flow_queue(g);

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* Only there: a distant server needs as much as is under way. */
	if (near)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof(queue));
	if (near && flow_few(g))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &queue, sizeof(queue));
	if (connect(fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS)
		return -1;
	return take_fd(&fd);
}

/* Start the next address that may be tried; when none is left and none is open, it has failed. */
static void try_next(struct dial *d)
{
	struct gate *g = d->gate;

	while (d->next < d->n) {
		size_t i = d->next++;
		int reach, fd;

		d->tries[i].fd = -1;
		if (!permitted(d, &d->v[i], &reach)) {
			if (!d->sys)
				d->why = REIN_WHY_ADDRESS;
			d->address = d->v[i];
			continue;
		}
		d->sys = reach ? 0 : ENETUNREACH;
		fd = reach ? start_one(g, &d->v[i], d->port, reach < 0) : -1;
		if (fd < 0) {
			d->sys = d->sys ? d->sys : errno;
			continue;
		}
		d->why = REIN_WHY_OTHER;
		gate_watch(g, &d->tries[i], fd, EPOLLOUT, tried);
		d->next_ns = g->now_ns + STAGGER_NS;
		return;
	}
	d->next_ns = 0;
	if (any_open(d))
		return;
	if (d->sys)
		d->why = REIN_WHY_OTHER;
	finish(d, -1);
}

/* One of each family in turn, IPv6 first. */
static void candidates(struct dial *d, const struct rein_addr *v, size_t n)
{
	size_t at[2] = {0, 0};

	d->n = 0;
	while (d->n < DIAL_TRIES && (at[0] < n || at[1] < n))
		for (int four = 0; four < 2; four++) {
			while (at[four] < n && rein_addr_is4(&v[at[four]]) != four)
				at[four]++;
			if (at[four] < n && d->n < DIAL_TRIES)
				d->v[d->n++] = v[at[four]++];
		}
}

static void resolved(struct gate *g, struct waiter *w, struct name *name)
{
	struct dial *d = OWNER(w, struct dial, waiter);

	(void)g;
	d->waiting = false;
	d->sys = name->state == NAME_FOUND ? 0 : EHOSTUNREACH;
	candidates(d, name->v, name->n);
	try_next(d);
}

void dial_start(struct gate *g, struct dial *d)
{
	d->gate = g;
	d->until_ns = g->now_ns + PATIENCE_NS;
	d->link = g->dials;
	g->dials = d;
	d->why = REIN_WHY_OTHER;
	for (size_t i = 0; i < DIAL_TRIES; i++)
		d->tries[i].fd = -1;
	if (!d->name) {
		d->v[0] = d->address;
		d->n = 1;
		try_next(d);
	} else {
		d->waiting = true;
		d->waiter = (struct waiter){.done = resolved};
		resolve(g, d->name, &d->waiter);
	}
}

void dial_cancel(struct dial *d)
{
	d->done = NULL;
	finish(d, -1);
}

void dial_tick(struct gate *g)
{
	/* What ends may end others with it: begin again each time. Every turn puts one off or ends it. */
	for (struct dial *d = g->dials; d;) {
		if (g->now_ns >= d->until_ns) {
			d->sys = ETIMEDOUT;
			finish(d, -1);
			d = g->dials;
		} else if (d->next_ns && g->now_ns >= d->next_ns) {
			try_next(d);
			d = g->dials;
		} else {
			d = d->link;
		}
	}
}
