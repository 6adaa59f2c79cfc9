/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's network when it leads to a gate: the plan's netlink messages are sent as they are, the
 * sockets the gate serves are made here, inside, and handed out. What follows in the box has no right
 * to change any of it. Later, pid 1 makes sockets for the gate that reach the box's own servers.
 */
#include "sandbox/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/net/netlink.h"
#include "sandbox/net/wire.h"

/*
 * Settings of the box's own network, before /proc is guarded. Any port may be served in it, also those
 * below 1024. All its traffic is loopback, up to the gate, where an algorithm that measures and paces
 * (bbr, if that is the system's) costs half the throughput and gains nothing; every kernel has reno.
 */
void box_prepare_net(void)
{
	box_write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", 1);
	box_write_file("/proc/sys/net/ipv4/tcp_congestion_control", "reno", 4);
}

/* Netlink answers before send returns: whatever it has to say is there. */
static int answers(int fd, uint32_t want)
{
	_Alignas(struct nlmsghdr) char buf[4096];
	uint32_t good = 0;
	int sys = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		struct nlmsghdr *h = (struct nlmsghdr *)buf;

		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
				continue;
			if (e->error == 0)
				good++;
			else if (!sys)
				sys = -e->error;
		}
	}
	errno = sys ? sys : EPROTO;
	return !sys && good == want ? 0 : -1;
}

static int send_batch(const struct box *box, const struct rein_plan_batch *b, int fd)
{
	struct sockaddr_nl to = {.nl_family = AF_NETLINK};
	struct iovec iov = {(char *)box->plan + b->at, b->size};
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1};

	return sendmsg(fd, &msg, 0) == (ssize_t)b->size ? answers(fd, b->answers) : -1;
}

/* True: first packets are held. */
static bool send_batches(const struct box *box, const int *sockets)
{
	bool holding = false;

	for (uint32_t i = 0; i < box->plan->nbatches; i++) {
		const struct rein_plan_batch *b = &rein_plan_batches(box->plan)[i];
		bool hold = b->flags & REIN_BATCH_HOLD;

		if (hold && holding)
			continue;
		if (send_batch(box, b, sockets[b->socket]) == 0)
			holding |= hold;
		else if (!(b->flags & REIN_BATCH_OPTIONAL))
			box_step_failed(box, REIN_STEP_NETWORK, i);
	}
	return holding;
}

/* A socket of the gate's on lo, or -1 where the kernel lacks IPv6. */
static int listener(const struct box *box, int family, int type, uint16_t port)
{
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_six = family == AF_INET6;
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	if (fd < 0 && is_six)
		return -1;
	six.sin6_addr.s6_addr[15] = 1;
	if (is_six && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		box_step_failed(box, REIN_STEP_NETWORK, port);
	if (bind(fd, is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four,
		 is_six ? sizeof(six) : sizeof(four)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 4096) < 0)) {
		if (is_six && errno == EADDRNOTAVAIL) { /* IPv6 is there, but turned off */
			close(fd);
			return -1;
		}
		box_step_failed(box, REIN_STEP_NETWORK, port);
	}
	return fd;
}

void box_net(struct box *box)
{
	static const struct {
		int family, type;
		uint16_t port;
	} listeners[] = {
		[REIN_NETFD_TCP4] = {AF_INET, SOCK_STREAM, REIN_GATE_PORT},
		[REIN_NETFD_TCP6] = {AF_INET6, SOCK_STREAM, REIN_GATE_PORT},
		[REIN_NETFD_UDP4] = {AF_INET, SOCK_DGRAM, REIN_DNS_PORT},
		[REIN_NETFD_UDP6] = {AF_INET6, SOCK_DGRAM, REIN_DNS_PORT},
		[REIN_NETFD_DNS4] = {AF_INET, SOCK_STREAM, REIN_DNS_PORT},
		[REIN_NETFD_DNS6] = {AF_INET6, SOCK_STREAM, REIN_DNS_PORT},
	};
	struct rein_box_note note = {.kind = REIN_BOX_MSG_NET};
	int netlink[REIN_SOCKET__MAX], fds[REIN_NETFD__MAX], given[REIN_NETFD__MAX], pair[2];
	unsigned n = 0;

	for (unsigned i = 0; i < REIN_SOCKET__MAX; i++) {
		netlink[i] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				    i == REIN_SOCKET_ROUTE ? NETLINK_ROUTE : NETLINK_NETFILTER);
		if (netlink[i] < 0)
			box_step_failed(box, REIN_STEP_NETWORK, 0);
	}
	note.status = send_batches(box, netlink);
	for (unsigned i = 0; i < sizeof(listeners) / sizeof(listeners[0]); i++)
		fds[i] = listener(box, listeners[i].family, listeners[i].type, listeners[i].port);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		box_step_failed(box, REIN_STEP_NETWORK, 0);
	fds[REIN_NETFD_LOG] = netlink[REIN_SOCKET_LOG];
	fds[REIN_NETFD_QUEUE] = netlink[REIN_SOCKET_QUEUE];
	fds[REIN_NETFD_MAKER] = pair[1];
	for (unsigned i = 0; i < REIN_NETFD__MAX; i++)
		if (fds[i] >= 0) {
			note.has |= 1u << i;
			given[n++] = fds[i];
		}
	box_send(box, &note, given, n);
	while (n)
		close(given[--n]);
	close(netlink[REIN_SOCKET_ROUTE]);
	close(netlink[REIN_SOCKET_RULES]);
	box->maker = pair[0];
}

void box_make_socket(struct box *box)
{
	char byte;
	struct iovec iov = {&byte, 1};
	int fd;

	if (recv(box->maker, &byte, 1, MSG_DONTWAIT) != 1) {
		close(box->maker);
		box->maker = -1;
		return;
	}
	/* it reaches servers of both kinds, where the kernel has both */
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return; /* the command has used up what there is: the one outside waits in vain */
	box_send_fds(box->maker, &iov, &fd, 1);
	close(fd);
}
