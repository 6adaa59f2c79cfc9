/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First packets, held in the kernel's queue while the gate finds out whether there is anything to
 * connect to: the program's connect() then tells the truth. Also the log of what the rules rejected.
 * Both sockets were opened inside; only the kernel writes to them.
 */
#include "sandbox/net/gate/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/net/gate/packet.h"
#include "sandbox/net/netlink.h"

#define CLAIM_NS (10 * REIN_NS_PER_S) /* a dialled connection nobody picks up */

struct hold {
	struct dial dial;
	struct packet packet;
	uint32_t id;
	int fd; /* dialled; -1: under way */
	uint64_t until_ns;
	struct hold *next;
};

static bool same(const struct hold *h, const struct rein_addr *from, uint16_t from_port,
		 const struct rein_addr *to, uint16_t to_port)
{
	return h->packet.from_port == from_port && h->packet.to_port == to_port &&
	       rein_addr_eq(&h->packet.from, from) && rein_addr_eq(&h->packet.to, to);
}

static void verdict(struct gate *g, uint32_t id, uint32_t what, bool refused)
{
	struct {
		struct nlmsghdr h;
		struct nfgenmsg g;
		struct nlattr va;
		struct nfqnl_msg_verdict_hdr v;
		struct nlattr ma;
		uint32_t mark;
	} m = {
		.h = {.nlmsg_len = sizeof(m),
		      .nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_VERDICT,
		      .nlmsg_flags = NLM_F_REQUEST},
		.g = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(REIN_NET_QUEUE)},
		.va = {sizeof(m.va) + sizeof(m.v), NFQA_VERDICT_HDR},
		.v = {.verdict = htonl(what), .id = htonl(id)},
		.ma = {sizeof(m.ma) + sizeof(m.mark), NFQA_MARK},
		.mark = htonl(REIN_NET_MARK),
	};
	struct sockaddr_nl to = {.nl_family = AF_NETLINK};

	if (!refused)
		m.h.nlmsg_len -= sizeof(m.ma) + sizeof(m.mark);
	/* If the kernel does not take it the packet stays where it is: held. */
	while (sendto(g->sockets[REIN_NETFD_QUEUE].fd, &m, m.h.nlmsg_len, MSG_DONTWAIT,
		      (struct sockaddr *)&to, sizeof(to)) < 0 && errno == EINTR)
		;
}

static void drop(struct gate *g, struct hold *h)
{
	for (struct hold **p = &g->holds; *p; p = &(*p)->next)
		if (*p == h) {
			*p = h->next;
			break;
		}
	g->nholds--;
	if (h->fd >= 0)
		close(h->fd);
	gate_free(g, h);
}

static void refuse(struct gate *g, const struct packet *p, const struct name *name, uint32_t why,
		   const struct rein_addr *found)
{
	char text[REIN_ADDR_TEXT], detail[REIN_ADDR_TEXT] = "";

	rein_addr_text(&p->to, text);
	if (found && name)
		rein_addr_text(found, detail);
	book_refuse(g, why, p->protocol, p->to_port, name ? name->text : text, detail, true);
}

static void dialled(struct dial *d, int fd)
{
	struct hold *h = OWNER(d, struct hold, dial);
	struct gate *g = d->gate;

	if (fd >= 0) {
		h->fd = fd;
		h->until_ns = g->now_ns + CLAIM_NS;
		verdict(g, h->id, NF_ACCEPT, false);
		return;
	}
	if (d->why)
		refuse(g, &h->packet, d->name, d->why, &d->address);
	verdict(g, h->id, NF_ACCEPT, true); /* accepted into the rule that resets it */
	drop(g, h);
}

static void first_packet(struct gate *g, uint32_t id, const struct packet *p)
{
	struct name *name;
	struct hold *h;
	uint32_t why;
	int rule;

	for (h = g->holds; h; h = h->next)
		if (same(h, &p->from, p->from_port, &p->to, p->to_port)) {
			/* sent again: while we dial it is one too many, afterwards it may pass */
			verdict(g, id, h->fd >= 0 ? NF_ACCEPT : NF_DROP, false);
			return;
		}
	rule = gate_rule(g, &p->to, p->to_port, &name, &why);
	h = rule >= 0 && g->nholds < GATE_HOLDS ? rein_alloc(sizeof(*h)) : NULL;
	if (!h) {
		refuse(g, p, name, rule < 0 ? why : REIN_WHY_LIMIT, NULL);
		verdict(g, id, NF_ACCEPT, true);
		return;
	}
	*h = (struct hold){.packet = *p, .id = id, .fd = -1, .next = g->holds};
	g->holds = h;
	g->nholds++;
	h->dial = (struct dial){
		.name = name, .address = p->to, .port = p->to_port, .rule = rule, .done = dialled};
	dial_start(g, &h->dial);
}

int hold_take(struct gate *g, const struct rein_addr *from, uint16_t from_port,
	      const struct rein_addr *to, uint16_t to_port, int *ret_rule, struct name **ret_name)
{
	for (struct hold *h = g->holds; h; h = h->next)
		if (h->fd >= 0 && same(h, from, from_port, to, to_port)) {
			int fd = take_fd(&h->fd);

			*ret_rule = h->dial.rule;
			*ret_name = h->dial.name;
			drop(g, h);
			return fd;
		}
	return -1;
}

/* The attributes of a message from netfilter; type 0 ends the search. */
static const uint8_t *attribute(const struct nlmsghdr *h, uint16_t type, size_t *ret_n)
{
	const uint8_t *p = (const uint8_t *)h + NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
	const uint8_t *end = (const uint8_t *)h + h->nlmsg_len;

	while (end - p >= (ptrdiff_t)sizeof(struct nlattr)) {
		const struct nlattr *a = (const struct nlattr *)(const void *)p;

		if (a->nla_len < sizeof(*a) || a->nla_len > end - p)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type) {
			*ret_n = a->nla_len - sizeof(*a);
			return p + sizeof(*a);
		}
		if (NLA_ALIGN(a->nla_len) > end - p)
			return NULL;
		p += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

/* Several messages may come in one datagram. */
static void each_message(struct gate *g, struct watch *w,
			 void (*take)(struct gate *, const struct nlmsghdr *))
{
	_Alignas(struct nlmsghdr) uint8_t buf[16384];

	for (int rounds = 0; rounds < 64 && w->fd >= 0; rounds++) {
		struct nlmsghdr *h = (struct nlmsghdr *)(void *)buf;
		ssize_t got = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT);
		size_t n = got > 0 ? (size_t)got : 0;

		if (got < 0 && errno == ENOBUFS)
			continue; /* some were lost: programs send first packets again */
		if (got <= 0)
			return;
		while (n >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= n) {
			size_t step = NLMSG_ALIGN(h->nlmsg_len);

			if (h->nlmsg_type >= NLMSG_MIN_TYPE)
				take(g, h);
			if (step >= n)
				break;
			n -= step;
			h = (struct nlmsghdr *)(void *)((uint8_t *)h + step);
		}
	}
}

static void take_held(struct gate *g, const struct nlmsghdr *h)
{
	struct nfqnl_msg_packet_hdr head;
	struct packet p;
	size_t n;
	const uint8_t *at;

	if (h->nlmsg_type != (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET))
		return;
	at = attribute(h, NFQA_PACKET_HDR, &n);
	if (!at || n < sizeof(head))
		return;
	memcpy(&head, at, sizeof(head));
	at = attribute(h, NFQA_PAYLOAD, &n);
	if (!at || !packet_read(at, n, &p) || p.protocol != IPPROTO_TCP || !p.to_port) {
		verdict(g, ntohl(head.packet_id), NF_DROP, false);
		return;
	}
	first_packet(g, ntohl(head.packet_id), &p);
}

void hold_ready(struct gate *g, struct watch *w, uint32_t events)
{
	(void)events;
	each_message(g, w, take_held);
}

static void take_logged(struct gate *g, const struct nlmsghdr *h)
{
	struct packet p;
	size_t n;
	const uint8_t *at;

	if (h->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET))
		return;
	at = attribute(h, NFULA_PAYLOAD, &n);
	/* TCP that comes here is the tail of something refused; ICMP is the kernel's own voice */
	if (!at || !packet_read(at, n, &p) || p.protocol == IPPROTO_TCP ||
	    p.protocol == IPPROTO_ICMP || p.protocol == IPPROTO_ICMPV6 || p.protocol == IPPROTO_IGMP)
		return;
	refuse(g, &p, names_by_address(&g->names, &p.to), REIN_WHY_PROTOCOL, NULL);
}

void log_ready(struct gate *g, struct watch *w, uint32_t events)
{
	(void)events;
	each_message(g, w, take_logged);
}

void hold_tick(struct gate *g)
{
	struct hold *next;

	for (struct hold *h = g->holds; h; h = next) {
		next = h->next;
		if (h->fd >= 0 && g->now_ns >= h->until_ns)
			drop(g, h);
	}
}

void hold_done(struct gate *g)
{
	while (g->holds) {
		struct hold *h = g->holds;

		if (h->fd < 0)
			dial_cancel(&h->dial);
		drop(g, h);
	}
}
