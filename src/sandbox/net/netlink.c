/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See netlink.h. Attributes nest, and a length is known when its content is: begin() returns where it
 * stands and end() fills it in. Only the last message of a set that is a transaction asks for an
 * answer; errors are always answered.
 */
#include "sandbox/net/netlink.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "base/auto.h"

#define LO 1 /* the first interface of every network namespace */
#define TABLE "rein"
#define GSO_IPV4_MAX_SIZE 63 /* IFLA_GSO_IPV4_MAX_SIZE, newer than the headers of some systems */

struct writer {
	struct rein_buf *b;
	size_t message; /* where the current one begins */
	uint32_t seq;
};

static void pad(struct writer *w)
{
	static const char zero[4];

	rein_buf_add(w->b, zero, (4 - w->b->n % 4) % 4);
}

static void message(struct writer *w, uint16_t type, uint16_t flags, const void *head, size_t n)
{
	struct nlmsghdr h = {.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = ++w->seq};

	w->message = w->b->n;
	rein_buf_add(w->b, &h, sizeof(h));
	rein_buf_add(w->b, head, n);
	pad(w);
}

static void message_end(struct writer *w)
{
	uint32_t n = (uint32_t)(w->b->n - w->message);

	if (!w->b->failed)
		memcpy(w->b->p + w->message, &n, sizeof(n));
}

static void attribute(struct writer *w, uint16_t type, const void *data, size_t n)
{
	struct nlattr a = {.nla_len = (uint16_t)(sizeof(a) + n), .nla_type = type};

	rein_buf_add(w->b, &a, sizeof(a));
	rein_buf_add(w->b, data, n);
	pad(w);
}

static size_t begin(struct writer *w, uint16_t type)
{
	size_t at = w->b->n;

	attribute(w, type | NLA_F_NESTED, NULL, 0);
	return at;
}

static void end(struct writer *w, size_t at)
{
	uint16_t n = (uint16_t)(w->b->n - at);

	if (!w->b->failed)
		memcpy(w->b->p + at, &n, sizeof(n));
}

static void text(struct writer *w, uint16_t type, const char *s)
{
	attribute(w, type, s, strlen(s) + 1);
}

static void number(struct writer *w, uint16_t type, uint32_t v) /* netfilter's are big endian */
{
	v = htonl(v);
	attribute(w, type, &v, sizeof(v));
}

static void short_number(struct writer *w, uint16_t type, uint16_t v)
{
	v = htons(v);
	attribute(w, type, &v, sizeof(v));
}

/* --- routes --- */

static void raise_lo(struct writer *w)
{
	struct ifinfomsg m = {.ifi_index = LO, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};

	message(w, RTM_NEWLINK, NLM_F_ACK, &m, sizeof(m));
	message_end(w);
}

/*
 * A segment of lo is 65,483 bytes, what a splice hands to TCP 16 pages, a bit more: two segments, over what
 * lo takes at once, and each is cut in two again. Kernels before 6.3 do not know it and let it pass. Not
 * for IPv6, where such packets carry a header more.
 */
static void enlarge_lo(struct writer *w)
{
	struct ifinfomsg m = {.ifi_index = LO};
	uint32_t size = 8 * 65535; /* the most there is */

	message(w, RTM_NEWLINK, NLM_F_ACK, &m, sizeof(m));
	attribute(w, GSO_IPV4_MAX_SIZE, &size, sizeof(size));
	message_end(w);
}

static void route(struct writer *w, unsigned char family, const void *own, size_t n)
{
	struct ifaddrmsg a = {.ifa_family = family,
			      .ifa_prefixlen = (unsigned char)(n * 8),
			      .ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0,
			      .ifa_index = LO};
	struct rtmsg r = {.rtm_family = family,
			  .rtm_table = RT_TABLE_MAIN,
			  .rtm_protocol = RTPROT_BOOT,
			  .rtm_scope = family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
			  .rtm_type = RTN_UNICAST};
	uint32_t lo = LO;

	message(w, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &a, sizeof(a));
	attribute(w, IFA_LOCAL, own, n);
	attribute(w, IFA_ADDRESS, own, n);
	message_end(w);
	message(w, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &r, sizeof(r));
	attribute(w, RTA_OIF, &lo, sizeof(lo));
	attribute(w, RTA_PREFSRC, own, n);
	message_end(w);
}

/* --- rules --- */

static void nf_message(struct writer *w, uint16_t type, uint16_t flags, uint8_t family, uint16_t id)
{
	struct nfgenmsg g = {.nfgen_family = family, .version = NFNETLINK_V0, .res_id = htons(id)};

	message(w, type, flags, &g, sizeof(g));
}

static void batch(struct writer *w, uint16_t type)
{
	nf_message(w, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	message_end(w);
}

static void nft(struct writer *w, uint16_t type, uint16_t flags, uint8_t family)
{
	nf_message(w, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), NLM_F_CREATE | flags, family, 0);
}

static void table(struct writer *w, uint8_t family)
{
	nft(w, NFT_MSG_NEWTABLE, 0, family);
	text(w, NFTA_TABLE_NAME, TABLE);
	message_end(w);
}

static void chain(struct writer *w, uint8_t family, const char *name, const char *type, int priority)
{
	size_t hook;

	nft(w, NFT_MSG_NEWCHAIN, 0, family);
	text(w, NFTA_CHAIN_TABLE, TABLE);
	text(w, NFTA_CHAIN_NAME, name);
	hook = begin(w, NFTA_CHAIN_HOOK);
	number(w, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	number(w, NFTA_HOOK_PRIORITY, (uint32_t)priority);
	end(w, hook);
	text(w, NFTA_CHAIN_TYPE, type);
	message_end(w);
}

/* A rule being written: the list of its expressions, and the one at hand. */
struct rule {
	size_t list, element, data;
};

static struct rule rule(struct writer *w, uint8_t family, const char *name, uint16_t flags)
{
	nft(w, NFT_MSG_NEWRULE, NLM_F_APPEND | flags, family);
	text(w, NFTA_RULE_TABLE, TABLE);
	text(w, NFTA_RULE_CHAIN, name);
	return (struct rule){.list = begin(w, NFTA_RULE_EXPRESSIONS)};
}

static void rule_end(struct writer *w, struct rule *r)
{
	end(w, r->list);
	message_end(w);
}

static void expression(struct writer *w, struct rule *r, const char *name)
{
	r->element = begin(w, NFTA_LIST_ELEM);
	text(w, NFTA_EXPR_NAME, name);
	r->data = begin(w, NFTA_EXPR_DATA);
}

static void expression_end(struct writer *w, struct rule *r)
{
	end(w, r->data);
	end(w, r->element);
}

static void value(struct writer *w, uint16_t type, const void *data, size_t n)
{
	size_t at = begin(w, type);

	attribute(w, NFTA_DATA_VALUE, data, n);
	end(w, at);
}

static void is(struct writer *w, struct rule *r, uint32_t op, const void *data, size_t n)
{
	expression(w, r, "cmp");
	number(w, NFTA_CMP_SREG, NFT_REG_1);
	number(w, NFTA_CMP_OP, op);
	value(w, NFTA_CMP_DATA, data, n);
	expression_end(w, r);
}

static void if_meta(struct writer *w, struct rule *r, uint32_t key, uint32_t op, const void *data, size_t n)
{
	expression(w, r, "meta");
	number(w, NFTA_META_DREG, NFT_REG_1);
	number(w, NFTA_META_KEY, key);
	expression_end(w, r);
	is(w, r, op, data, n);
}

static void if_protocol(struct writer *w, struct rule *r, uint8_t protocol)
{
	if_meta(w, r, NFT_META_L4PROTO, NFT_CMP_EQ, &protocol, 1);
}

static void if_marked(struct writer *w, struct rule *r)
{
	uint32_t mark = REIN_NET_MARK;

	if_meta(w, r, NFT_META_MARK, NFT_CMP_EQ, &mark, sizeof(mark));
}

static void load(struct writer *w, struct rule *r, uint32_t offset, uint32_t n)
{
	expression(w, r, "payload");
	number(w, NFTA_PAYLOAD_DREG, NFT_REG_1);
	number(w, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
	number(w, NFTA_PAYLOAD_OFFSET, offset);
	number(w, NFTA_PAYLOAD_LEN, n);
	expression_end(w, r);
}

static void if_port(struct writer *w, struct rule *r, uint32_t op, uint16_t port)
{
	port = htons(port);
	load(w, r, 2, 2);
	is(w, r, op, &port, sizeof(port));
}

/* TCP, and the first packet of a connection (SYN without ACK), or any other. */
static void if_first(struct writer *w, struct rule *r, bool yes)
{
	static const uint8_t mask = 0x12, none = 0, syn = 0x02;

	if_protocol(w, r, IPPROTO_TCP);
	load(w, r, 13, 1);
	expression(w, r, "bitwise");
	number(w, NFTA_BITWISE_SREG, NFT_REG_1);
	number(w, NFTA_BITWISE_DREG, NFT_REG_1);
	number(w, NFTA_BITWISE_LEN, 1);
	value(w, NFTA_BITWISE_MASK, &mask, 1);
	value(w, NFTA_BITWISE_XOR, &none, 1);
	expression_end(w, r);
	is(w, r, yes ? NFT_CMP_EQ : NFT_CMP_NEQ, &syn, 1);
}

/* Is the destination one of the namespace's own addresses, or is it not? A lookup for each packet. */
static void if_local(struct writer *w, struct rule *r, bool yes)
{
	uint32_t local = RTN_LOCAL;

	expression(w, r, "fib");
	number(w, NFTA_FIB_DREG, NFT_REG_1);
	number(w, NFTA_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
	number(w, NFTA_FIB_FLAGS, NFTA_FIB_F_DADDR);
	expression_end(w, r);
	is(w, r, yes ? NFT_CMP_EQ : NFT_CMP_NEQ, &local, sizeof(local));
}

static void accept_it(struct writer *w, struct rule *r)
{
	size_t data, verdict;

	expression(w, r, "immediate");
	number(w, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = begin(w, NFTA_IMMEDIATE_DATA);
	verdict = begin(w, NFTA_DATA_VERDICT);
	number(w, NFTA_VERDICT_CODE, NF_ACCEPT);
	end(w, verdict);
	end(w, data);
	expression_end(w, r);
}

static void redirect(struct writer *w, struct rule *r, uint16_t port)
{
	port = htons(port);
	expression(w, r, "immediate");
	number(w, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	value(w, NFTA_IMMEDIATE_DATA, &port, sizeof(port));
	expression_end(w, r);
	expression(w, r, "redir");
	number(w, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
	expression_end(w, r);
}

static void reject(struct writer *w, struct rule *r, uint32_t type, uint8_t code)
{
	expression(w, r, "reject");
	number(w, NFTA_REJECT_TYPE, type);
	attribute(w, NFTA_REJECT_ICMP_CODE, &code, 1);
	expression_end(w, r);
}

static void log_it(struct writer *w, struct rule *r)
{
	expression(w, r, "log");
	short_number(w, NFTA_LOG_GROUP, REIN_NET_GROUP);
	number(w, NFTA_LOG_SNAPLEN, 128);
	expression_end(w, r);
}

static void nat_rules(struct writer *w)
{
	static const uint8_t carried[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct rule r;

	chain(w, NFPROTO_INET, "nat", "nat", -100);
	r = rule(w, NFPROTO_INET, "nat", 0);
	if_local(w, &r, true);
	accept_it(w, &r);
	rule_end(w, &r);
	r = rule(w, NFPROTO_INET, "nat", 0);
	if_marked(w, &r);
	accept_it(w, &r);
	rule_end(w, &r);
	for (size_t i = 0; i < ARRAY_SIZE(carried); i++) {
		r = rule(w, NFPROTO_INET, "nat", 0);
		if_protocol(w, &r, carried[i]);
		if_port(w, &r, NFT_CMP_EQ, 53);
		redirect(w, &r, REIN_DNS_PORT);
		rule_end(w, &r);
	}
	r = rule(w, NFPROTO_INET, "nat", 0);
	if_protocol(w, &r, IPPROTO_TCP);
	redirect(w, &r, REIN_GATE_PORT);
	rule_end(w, &r);
}

static void filter_rules(struct writer *w)
{
	struct rule r;

	chain(w, NFPROTO_INET, "filter", "filter", 0);
	/*
	 * A connection is judged by its first packet; the others need no lookup each. One that belongs
	 * to no connection gets nowhere: lo is all there is, and does not forward.
	 */
	r = rule(w, NFPROTO_INET, "filter", 0);
	if_first(w, &r, false);
	accept_it(w, &r);
	rule_end(w, &r);
	r = rule(w, NFPROTO_INET, "filter", 0);
	if_local(w, &r, true);
	accept_it(w, &r);
	rule_end(w, &r);
	r = rule(w, NFPROTO_INET, "filter", 0);
	if_protocol(w, &r, IPPROTO_TCP);
	if_marked(w, &r);
	reject(w, &r, NFT_REJECT_TCP_RST, 0);
	rule_end(w, &r);
	r = rule(w, NFPROTO_INET, "filter", NLM_F_ACK);
	log_it(w, &r);
	reject(w, &r, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
	rule_end(w, &r);
}

static void queue_expression(struct writer *w, struct rule *r)
{
	expression(w, r, "queue");
	short_number(w, NFTA_QUEUE_NUM, REIN_NET_QUEUE);
	short_number(w, NFTA_QUEUE_TOTAL, 1);
	short_number(w, NFTA_QUEUE_FLAGS, 0); /* no bypass: without a gate nothing passes */
	expression_end(w, r);
}

static void queue_target(struct writer *w, struct rule *r)
{
	uint64_t info = 0; /* struct xt_NFQ_info, padded as x_tables pads */
	uint16_t queue = REIN_NET_QUEUE;

	memcpy(&info, &queue, sizeof(queue));
	expression(w, r, "target");
	text(w, NFTA_TARGET_NAME, "NFQUEUE");
	number(w, NFTA_TARGET_REV, 0);
	attribute(w, NFTA_TARGET_INFO, &info, sizeof(info));
	expression_end(w, r);
}

static void hold_rules(struct writer *w, uint8_t family,
		       void (*queue)(struct writer *, struct rule *))
{
	struct rule r;

	table(w, family);
	chain(w, family, "hold", "filter", -150);
	r = rule(w, family, "hold", NLM_F_ACK);
	if_first(w, &r, true);
	if_port(w, &r, NFT_CMP_NEQ, 53);
	if_local(w, &r, false); /* last: a lookup, and only for these few */
	queue(w, &r);
	rule_end(w, &r);
}

static void log_bind(struct writer *w)
{
	struct nfulnl_msg_config_cmd bind = {.command = NFULNL_CFG_CMD_BIND};
	struct nfulnl_msg_config_mode mode = {.copy_range = htonl(128), .copy_mode = NFULNL_COPY_PACKET};
	uint16_t type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;

	nf_message(w, type, NLM_F_ACK, AF_UNSPEC, REIN_NET_GROUP);
	attribute(w, NFULA_CFG_CMD, &bind, sizeof(bind));
	attribute(w, NFULA_CFG_MODE, &mode, sizeof(mode));
	number(w, NFULA_CFG_QTHRESH, 1); /* at once, not in bundles */
	message_end(w);
}

static void queue_bind(struct writer *w)
{
	struct nfqnl_msg_config_cmd bind = {.command = NFQNL_CFG_CMD_BIND};
	struct nfqnl_msg_config_params params = {.copy_range = htonl(128),
						 .copy_mode = NFQNL_COPY_PACKET};
	uint16_t type = NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_CONFIG;

	nf_message(w, type, NLM_F_ACK, AF_UNSPEC, REIN_NET_QUEUE);
	attribute(w, NFQA_CFG_CMD, &bind, sizeof(bind));
	message_end(w);
	nf_message(w, type, NLM_F_ACK, AF_UNSPEC, REIN_NET_QUEUE);
	attribute(w, NFQA_CFG_PARAMS, &params, sizeof(params));
	message_end(w);
}

unsigned rein_netlink_put(struct rein_buf *b, enum rein_netlink_set set)
{
	struct writer w = {.b = b};

	switch (set) {
	case REIN_NETLINK_ROUTE4:
		raise_lo(&w);
		route(&w, AF_INET, REIN_NET_OWN4, 4);
		return 3;
	case REIN_NETLINK_ROUTE6:
		route(&w, AF_INET6, REIN_NET_OWN6, 16);
		return 2;
	case REIN_NETLINK_LARGE:
		enlarge_lo(&w);
		return 1;
	case REIN_NETLINK_RULES:
		batch(&w, NFNL_MSG_BATCH_BEGIN);
		table(&w, NFPROTO_INET);
		nat_rules(&w);
		filter_rules(&w);
		batch(&w, NFNL_MSG_BATCH_END);
		return 1;
	case REIN_NETLINK_LOG_BIND:
		log_bind(&w);
		return 1;
	case REIN_NETLINK_QUEUE_BIND:
		queue_bind(&w);
		return 2;
	case REIN_NETLINK_HOLD:
		batch(&w, NFNL_MSG_BATCH_BEGIN);
		hold_rules(&w, NFPROTO_INET, queue_expression);
		batch(&w, NFNL_MSG_BATCH_END);
		return 1;
	case REIN_NETLINK_HOLD_COMPAT:
		batch(&w, NFNL_MSG_BATCH_BEGIN);
		hold_rules(&w, NFPROTO_IPV4, queue_target);
		hold_rules(&w, NFPROTO_IPV6, queue_target);
		batch(&w, NFNL_MSG_BATCH_END);
		return 2;
	default:
		return 0;
	}
}
