/* SPDX-License-Identifier: Apache-2.0 */
/* Talking to anybody outside. The victim notes whatever reaches it. */
#include "escape.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int dial_unix(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (n >= sizeof(sun.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(sun.sun_path, path, n);
	if (path[0] == '@')
		sun.sun_path[0] = 0;
	rc = connect(fd, (struct sockaddr *)&sun,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	if (rc == 0)
		close(fd);
	return rc;
}

static verdict unix_abstract(void)
{
	char name[80];

	snprintf(name, sizeof(name), "@%s", scene.tag);
	if (scene.box & BOX_NET_HOST && dial_unix(name) == 0)
		return skip("kernel: --net host shares abstract sockets where Landlock cannot scope them");
	return REFUSED(dial_unix(name), E(ECONNREFUSED), E(EPERM));
}

static verdict unix_runtime(void)
{
	return REFUSED(dial_unix(in(scene.run, "sock")), E(ENOENT), E(EACCES), E(ECONNREFUSED));
}

static verdict unix_tmp(void)
{
	char name[80];

	snprintf(name, sizeof(name), "%s.sock", scene.tag);
	TRY(REFUSED(dial_unix(in("/tmp", name)), E(ENOENT)));
	return REFUSED(dial_unix(in("/var/tmp", name)), E(ENOENT));
}

static verdict unix_run(void)
{
	TRY(REFUSED(dial_unix(in("/run", in(scene.tag, "sock"))), E(ENOENT), E(EACCES)));
	TRY(REFUSED(dial_unix(in("/var/run", in(scene.tag, "sock"))), E(ENOENT), E(EACCES)));
	TRY(REFUSED(dial_unix("/run/docker.sock"), E(ENOENT), E(EACCES), E(ECONNREFUSED)));
	TRY(REFUSED(dial_unix("/run/dbus/system_bus_socket"), E(ENOENT), E(EACCES), E(ECONNREFUSED)));
	return REFUSED(dial_unix("/run/systemd/private"), E(ENOENT), E(EACCES), E(ECONNREFUSED));
}

static verdict unix_elsewhere(void)
{
	return REFUSED(dial_unix(in(scene.outside, "sock")), E(ENOENT), E(EACCES), E(EPERM), E(EROFS),
		       E(ECONNREFUSED));
}

static verdict unix_workspace(void)
{
	return REFUSED(dial_unix(in(scene.ws, "sock")), E(ENOENT), E(EACCES), E(EPERM), E(EROFS),
		       E(ECONNREFUSED));
}

static int dial_inet(const char *address, int port, int type)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	inet_pton(AF_INET, address, &sin.sin_addr);
	rc = type == SOCK_STREAM
		     ? connect(fd, (struct sockaddr *)&sin, sizeof(sin))
		     : (int)sendto(fd, "hello", 5, 0, (struct sockaddr *)&sin, sizeof(sin));
	if (rc < 0 && errno == EINPROGRESS) {
		usleep(200000);
		rc = connect(fd, (struct sockaddr *)&sin, sizeof(sin));
		if (rc < 0 && errno == EALREADY)
			errno = EINPROGRESS;
	}
	return rc;
}

static int dial_inet6(const char *address, int port, int type)
{
	struct sockaddr_in6 sin = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (fd < 0)
		return -1;
	inet_pton(AF_INET6, address, &sin.sin6_addr);
	rc = type == SOCK_STREAM
		     ? connect(fd, (struct sockaddr *)&sin, sizeof(sin))
		     : (int)sendto(fd, "hello", 5, 0, (struct sockaddr *)&sin, sizeof(sin));
	if (rc < 0 && errno == EINPROGRESS) {
		usleep(200000);
		rc = connect(fd, (struct sockaddr *)&sin, sizeof(sin));
	}
	return rc;
}

#define NO_NET E(ENETUNREACH), E(EHOSTUNREACH), E(ECONNREFUSED), E(EADDRNOTAVAIL), E(EAFNOSUPPORT)

static verdict tcp_loopback(void)
{
	TRY(REFUSED(dial_inet("127.0.0.1", scene.tcp, SOCK_STREAM), NO_NET));
	return REFUSED(dial_inet6("::1", scene.tcp, SOCK_STREAM), NO_NET);
}

static verdict udp_loopback(void)
{
	dial_inet("127.0.0.1", scene.udp, SOCK_DGRAM); /* its own loopback takes it: nobody hears */
	return NULL;
}

/* Addresses set aside for documentation: nobody is there, and the route alone is asked for. */
static verdict network_v4(void)
{
	TRY(REFUSED(dial_inet("192.0.2.1", 80, SOCK_STREAM), E(ENETUNREACH)));
	TRY(REFUSED(dial_inet("192.0.2.1", 53, SOCK_DGRAM), E(ENETUNREACH)));
	TRY(REFUSED(dial_inet("169.254.169.254", 80, SOCK_STREAM), E(ENETUNREACH)));
	TRY(REFUSED(dial_inet("255.255.255.255", 9, SOCK_DGRAM), E(ENETUNREACH), E(EACCES)));
	return REFUSED(dial_inet("224.0.0.251", 5353, SOCK_DGRAM), E(ENETUNREACH));
}

static verdict network_v6(void)
{
	TRY(REFUSED(dial_inet6("2001:db8::1", 80, SOCK_STREAM), E(ENETUNREACH), E(EAFNOSUPPORT), E(EADDRNOTAVAIL)));
	TRY(REFUSED(dial_inet6("2001:db8::1", 53, SOCK_DGRAM), E(ENETUNREACH), E(EAFNOSUPPORT), E(EADDRNOTAVAIL)));
	return REFUSED(dial_inet6("::ffff:192.0.2.1", 80, SOCK_STREAM), E(ENETUNREACH), E(EAFNOSUPPORT), E(EADDRNOTAVAIL));
}

static verdict only_loopback(void)
{
	struct if_nameindex *v = if_nameindex();
	verdict bad_one = NULL;

	for (struct if_nameindex *i = v; i && i->if_index; i++)
		if (strcmp(i->if_name, "lo") != 0)
			bad_one = bad("interface %s", i->if_name);
	return bad_one;
}

static verdict families(void)
{
	static const struct {
		int family, type, protocol;
	} v[] = {{40 /* vsock */, SOCK_STREAM, 0}, {AF_PACKET, SOCK_RAW, 0}, {38 /* alg */, SOCK_SEQPACKET, 0},
		 {AF_KEY, SOCK_RAW, 2}, {AF_BLUETOOTH, SOCK_RAW, 1}, {29 /* can */, SOCK_RAW, 1},
		 {30 /* tipc */, SOCK_STREAM, 0}, {21 /* rds */, SOCK_SEQPACKET, 0}, {44 /* xdp */, SOCK_RAW, 0},
		 {43 /* smc */, SOCK_STREAM, 0}, {41 /* kcm */, SOCK_DGRAM, 0}, {33 /* rxrpc */, SOCK_DGRAM, AF_INET},
		 {39 /* nfc */, SOCK_RAW, 0}, {24 /* pppox */, SOCK_STREAM, 0}, {42 /* qipcrtr */, SOCK_DGRAM, 0},
		 {45 /* mctp */, SOCK_DGRAM, 0}, {AF_X25, SOCK_SEQPACKET, 0}, {AF_AX25, SOCK_DGRAM, 0}};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		int fd = socket(v[i].family, v[i].type, v[i].protocol);

		if (fd >= 0)
			return bad("a socket of family %d", v[i].family);
		TRY(refused(fd, "socket", E(EAFNOSUPPORT), E(EPERM), E(EACCES), NULL));
	}
	return NULL;
}

static verdict raw_sockets(void)
{
	TRY(REFUSED(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), E(EPERM), E(EACCES)));
	TRY(REFUSED(socket(AF_INET, SOCK_RAW, IPPROTO_RAW), E(EPERM), E(EACCES)));
	TRY(REFUSED(socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), E(EPERM), E(EACCES), E(EAFNOSUPPORT)));
	return REFUSED(socket(AF_INET, SOCK_PACKET, 3), E(EPERM), E(EACCES), E(ESOCKTNOSUPPORT), E(EINVAL));
}

static verdict ping_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);

	if (fd >= 0 && scene.box & BOX_NET_HOST)
		return NULL; /* the host's own setting */
	return REFUSED(fd, E(EPERM), E(EACCES));
}

static verdict netlink_families(void)
{
	for (int protocol = 1; protocol < 32; protocol++) {
		int fd = socket(AF_NETLINK, SOCK_RAW, protocol);

		if (fd >= 0)
			return bad("netlink protocol %d", protocol);
		TRY(refused(fd, "netlink", E(EPROTONOSUPPORT), E(EPERM), NULL));
	}
	return NULL;
}

/* Reading the routes is allowed (getifaddrs does), changing them is not. */
static verdict netlink_change(void)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg m;
	} up = {.h = {.nlmsg_len = sizeof(up), .nlmsg_type = RTM_NEWLINK,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.m = {.ifi_index = 1, .ifi_change = IFF_UP}};
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[256];
	} answer = {0};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return REFUSED(fd, E(EPROTONOSUPPORT), E(EPERM), E(EAFNOSUPPORT));
	if (send(fd, &up, sizeof(up), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
		return NULL;
	return answer.e.error == 0 ? bad("an interface was changed") : NULL;
}

static verdict interface_change(void)
{
	struct ifreq ifr = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return REFUSED(ioctl(fd, SIOCSIFFLAGS, &ifr), E(EPERM));
}

static verdict mixed_socketpair(void)
{
	int v[2];

	TRY(REFUSED(socketpair(40, SOCK_STREAM, 0, v), E(EAFNOSUPPORT), E(EPERM), E(EOPNOTSUPP)));
	return REFUSED(socketpair(AF_INET, SOCK_STREAM, 0, v), E(EAFNOSUPPORT), E(EPERM), E(EOPNOTSUPP));
}

/* SysV shared memory the driver made outside with the key of the tag. */
static verdict shared_memory(void)
{
	return REFUSED(shmget(0x7265696e, 0, 0), E(ENOENT), E(EACCES));
}

const struct attempt socket_attempts[] = {
	{"abstract sockets of the host", unix_abstract, 0, 0},
	{"sockets in the runtime directory", unix_runtime, 0, 0},
	{"sockets in /tmp", unix_tmp, 0, 0},
	{"sockets in /run", unix_run, 0, 0},
	{"sockets elsewhere outside", unix_elsewhere, 0, 0},
	{"sockets of others in the workspace", unix_workspace, 0, 0},
	{"TCP to the host's loopback", tcp_loopback, 0, BOX_NET_HOST},
	{"UDP to the host's loopback", udp_loopback, 0, BOX_NET_HOST},
	{"the network by IPv4", network_v4, 0, BOX_NET_HOST},
	{"the network by IPv6", network_v6, 0, BOX_NET_HOST},
	{"no interface but the loopback", only_loopback, 0, BOX_NET_HOST},
	{"families no namespace holds", families, 0, 0},
	{"raw sockets", raw_sockets, 0, 0},
	{"ping sockets", ping_socket, 0, 0},
	{"netlink other than routes", netlink_families, 0, 0},
	{"changing interfaces by netlink", netlink_change, 0, 0},
	{"changing interfaces by ioctl", interface_change, 0, 0},
	{"socket pairs of other families", mixed_socketpair, 0, 0},
	{"shared memory of the host", shared_memory, 0, 0},
	{0},
};
