/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of the host's loopback that lead to servers in the box. Only a process inside can make a socket
 * that reaches them: pid 1 of the box makes one for each connection and hands it out. A server that
 * listens at "localhost" may be at 127.0.0.1 or at ::1 alone: the other is tried when one refuses.
 *
 *	accepted -> asked (for a socket) -> joining (127.0.0.1, then ::1) -> a flow
 *
 * While many wait for a socket nobody else is accepted: they wait where the kernel keeps them.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

#define WAITING 64

struct published {
	int client;
	uint16_t inside;
	struct watch server;
	bool six; /* the second try */
	struct published *next;
};

static void listen_to(struct gate *g, uint32_t events)
{
	for (size_t i = 0; i < g->npublished; i++)
		if (g->published[i].fd >= 0 && g->published[i].events != events)
			gate_watch(g, &g->published[i], g->published[i].fd, events, publish_ready);
}

static size_t waiting(const struct gate *g)
{
	size_t n = 0;

	for (const struct published *p = g->asked; p; p = p->next)
		n++;
	return n;
}

/* Have a socket made for it; false: it cannot be asked for now. */
static bool ask(struct gate *g, struct published *p)
{
	struct published **last = &g->asked;

	while (*last)
		last = &(*last)->next;
	if (send(g->sockets[REIN_NETFD_MAKER].fd, "s", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return false;
	p->next = NULL;
	*last = p;
	return true;
}

void publish_ready(struct gate *g, struct watch *w, uint32_t events)
{
	size_t at = (size_t)(w - g->published);
	struct sockaddr_storage peer;
	int fd = gate_accept(g, w, &peer);
	struct published *p;

	(void)events;
	if (fd < 0)
		return;
	p = g->nflows + g->njoining < g->max_flows ? rein_alloc(sizeof(*p)) : NULL;
	if (p)
		*p = (struct published){.client = fd, .inside = g->inside[at], .server.fd = -1};
	if (!p || !ask(g, p)) {
		rein_free(p);
		close(fd);
	}
	if (waiting(g) >= WAITING)
		listen_to(g, 0);
}

/* -1 with EAGAIN: none now; EMFILE: there was one, but no room for it; any other failure is for good. */
static int receive_socket(int from)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;
	int fd;

	do
		n = recvmsg(from, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (n > 0 && msg.msg_flags & MSG_CTRUNC) {
		errno = EMFILE;
		return -1;
	}
	if (n == 0 || !c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int))) {
		errno = EPROTO; /* what was there before says nothing of this */
		return -1;
	}
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void unlink_joining(struct gate *g, struct published *p)
{
	struct published **at = &g->joining;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	g->njoining--;
}

/* Nobody is there: said as he would say it. */
static void give_up(struct gate *g, struct published *p)
{
	struct linger now = {.l_onoff = 1};

	gate_close(g, &p->server);
	setsockopt(p->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(p->client);
	gate_free(g, p);
}

/* The kernel has begun; false: it cannot. */
static bool join(const struct published *p, int fd)
{
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons(p->inside),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(p->inside)};
	struct rein_addr to = rein_addr_v4(INADDR_LOOPBACK);
	int family = AF_INET, rc;
	socklen_t n = sizeof(family);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n);
	if (family == AF_INET && p->six)
		return false;
	if (p->six)
		six.sin6_addr = in6addr_loopback;
	else
		memcpy(&six.sin6_addr, to.b, sizeof(to.b));
	rc = family == AF_INET ? connect(fd, (struct sockaddr *)&four, sizeof(four))
			       : connect(fd, (struct sockaddr *)&six, sizeof(six));
	return rc == 0 || errno == EINPROGRESS;
}

static void joined(struct gate *g, struct watch *w, uint32_t events)
{
	struct published *p = OWNER(w, struct published, server);
	int sys = 0;
	socklen_t n = sizeof(sys);

	(void)events;
	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0)
		sys = errno;
	unlink_joining(g, p);
	if (sys == 0) {
		flow_relay(g, p->client, gate_release(g, w));
		gate_free(g, p);
		return;
	}
	/* by a new one: a socket that was once led to IPv4 stays there */
	gate_close(g, w);
	if (sys == ECONNREFUSED && !p->six) {
		p->six = true;
		if (ask(g, p))
			return;
	}
	give_up(g, p);
}

void publish_made(struct gate *g, struct watch *w, uint32_t events)
{
	struct published *p = g->asked;
	int fd = receive_socket(w->fd);

	(void)events;
	if (fd < 0 && errno != EAGAIN && errno != EMFILE) {
		gate_close(g, w); /* the box is ending */
		return;
	}
	if (!p || (fd < 0 && errno == EAGAIN)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	g->asked = p->next;
	if (waiting(g) < WAITING / 2)
		listen_to(g, EPOLLIN);
	p->server.fd = fd;
	if (fd < 0 || !join(p, fd)) {
		give_up(g, p);
		return;
	}
	p->next = g->joining;
	g->joining = p;
	g->njoining++;
	gate_watch(g, &p->server, fd, EPOLLOUT, joined);
}

void publish_done(struct gate *g)
{
	while (g->asked) {
		struct published *p = g->asked;

		g->asked = p->next;
		close(p->client);
		rein_free(p);
	}
	while (g->joining) {
		struct published *p = g->joining;

		unlink_joining(g, p);
		give_up(g, p);
	}
}
