/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of the host's loopback that lead to servers in the box. Only a process inside can make a socket
 * that reaches them: pid 1 of the box makes one for each connection and hands it out.
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
	struct published *next;
};

void publish_ready(struct gate *g, struct watch *w, uint32_t events)
{
	size_t at = (size_t)(w - g->published), n = 0;
	struct sockaddr_storage peer;
	int fd = gate_accept(g, w, &peer);
	struct published **last = &g->asked, *p;

	(void)events;
	if (fd < 0)
		return;
	for (; *last; last = &(*last)->next)
		n++;
	p = n < WAITING ? rein_alloc(sizeof(*p)) : NULL;
	if (!p || send(g->sockets[REIN_NETFD_MAKER].fd, "s", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
		rein_free(p);
		close(fd);
		return;
	}
	*p = (struct published){.client = fd, .inside = g->inside[at]};
	*last = p;
}

/* -1 with EAGAIN: none now; any other failure is for good. */
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
	if (n == 0 || !c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int))) {
		errno = EPROTO; /* what was there before says nothing of this */
		return -1;
	}
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

void publish_made(struct gate *g, struct watch *w, uint32_t events)
{
	struct published *p = g->asked;
	int fd = receive_socket(w->fd);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	(void)events;
	if (fd < 0 && errno != EAGAIN) {
		gate_close(g, w); /* the box is ending */
		return;
	}
	if (fd < 0 || !p) {
		if (fd >= 0)
			close(fd);
		return;
	}
	g->asked = p->next;
	to.sin_port = htons(p->inside);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS) {
		close(fd);
		close(p->client);
	} else {
		flow_relay(g, p->client, fd);
	}
	rein_free(p);
}

void publish_done(struct gate *g)
{
	while (g->asked) {
		struct published *p = g->asked;

		g->asked = p->next;
		close(p->client);
		rein_free(p);
	}
}
