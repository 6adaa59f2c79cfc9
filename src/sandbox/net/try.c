/* SPDX-License-Identifier: Apache-2.0 */
/* See try.h: the very messages a box is given. */
#include "sandbox/net/try.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "sandbox/net/netlink.h"

static int send_set(int fd, enum rein_netlink_set set)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	_Alignas(struct nlmsghdr) char buf[4096];
	struct sockaddr_nl to = {.nl_family = AF_NETLINK};
	unsigned want = rein_netlink_put(&b, set), good = 0;
	ssize_t n;

	if (b.failed)
		return ENOMEM;
	if (sendto(fd, b.p, b.n, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return errno;
	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		for (struct nlmsghdr *h = (struct nlmsghdr *)buf; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type != NLMSG_ERROR)
				continue;
			if (((struct nlmsgerr *)NLMSG_DATA(h))->error)
				return -((struct nlmsgerr *)NLMSG_DATA(h))->error;
			good++;
		}
	return good == want ? 0 : EPROTO;
}

int rein_net_try(bool *held)
{
	auto_close int route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	auto_close int rules = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	auto_close int queue = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	int sys;

	*held = false;
	if (route < 0 || rules < 0 || queue < 0)
		return errno;
	sys = send_set(route, REIN_NETLINK_ROUTE4);
	if (!sys)
		sys = send_set(rules, REIN_NETLINK_RULES);
	if (!sys)
		*held = send_set(queue, REIN_NETLINK_QUEUE_BIND) == 0 &&
			(send_set(rules, REIN_NETLINK_HOLD_COMPAT) == 0 ||
			 send_set(rules, REIN_NETLINK_HOLD) == 0);
	return sys;
}
