/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's name server. Only names that a rule covers are asked for outside [G1]; all others do not
 * exist. A permitted name that exists has one address of ours, whatever its real ones are. Types that
 * would lead round the gate (HTTPS and SVCB carry addresses and keys) have no records here.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/net/rule.h"

#define TTL	 1  /* seconds; an address of ours never changes, but rules may */
#define QUESTION 288 /* the longest, with its header */
#define CONN_NS	 (60 * REIN_NS_PER_S)

struct dns_conn {
	struct watch watch;
	uint8_t in[2 + REIN_DNS_MAX];
	size_t have;
	uint64_t until_ns;
	struct dns_conn *next;
};

struct dns_request {
	struct waiter waiter;
	struct forward forward;
	struct rein_dns_question q;
	uint8_t m[QUESTION];
	size_t n;
	int udp; /* the socket to answer on, or */
	struct sockaddr_storage from;
	socklen_t from_n;
	struct dns_conn *conn; /* NULL: gone meanwhile */
	struct dns_request *next;
};

static void conn_close(struct gate *g, struct dns_conn *c)
{
	for (struct dns_request *r = g->dns.list; r; r = r->next)
		if (r->conn == c)
			r->conn = NULL;
	for (struct dns_conn **p = &g->dns.open; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			g->dns.conns--;
			break;
		}
	gate_close(g, &c->watch);
	gate_free(g, c);
}

static void reply(struct gate *g, const struct dns_request *r, const uint8_t *m, size_t n)
{
	uint8_t head[2] = {(uint8_t)(n >> 8), (uint8_t)n};
	struct iovec iov[2] = {{head, 2}, {(void *)(uintptr_t)m, n}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	if (!n)
		return;
	if (r->udp >= 0)
		sendto(r->udp, m, n, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&r->from, r->from_n);
	/* Who does not read its answers loses the connection. */
	else if (r->conn && sendmsg(r->conn->watch.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(n + 2))
		conn_close(g, r->conn);
}

static void answer(struct gate *g, const struct dns_request *r, const struct rein_dns_answer *a)
{
	uint8_t m[1024];

	reply(g, r, m, rein_dns_write_answer(r->m, r->n, &r->q, a, m, sizeof(m)));
}

static void answer_code(struct gate *g, const struct dns_request *r, enum rein_dns_rcode code)
{
	answer(g, r, &(struct rein_dns_answer){.rcode = code});
}

static void request_done(struct gate *g, struct dns_request *r)
{
	for (struct dns_request **p = &g->dns.list; *p; p = &(*p)->next)
		if (*p == r) {
			*p = r->next;
			g->dns.requests--;
			gate_free(g, r);
			return;
		}
}

static void refuse(struct gate *g, const struct dns_request *r, uint32_t why, const char *detail)
{
	struct rein_dns_answer a = {.rcode = REIN_DNS_NXDOMAIN, .blocked = rein_net_why_text(why)};

	/* Programs ask for several types at once: that is one attempt. */
	book_refuse(g, why, 0, 0, r->q.name[0] ? r->q.name : "?", detail, r->q.type == REIN_DNS_A);
	answer(g, r, &a);
}

/* Of what was found, is there an address a connection could be made to? */
static bool any_permitted(const struct gate *g, const struct name *name)
{
	if (rein_streq(name->text, REIN_NET_HOST_NAME))
		return true;
	for (size_t i = 0; i < name->n; i++)
		if (rein_addr_class(&name->v[i]) == REIN_ADDR_GLOBAL ||
		    rein_rules_named(g->rules, g->nrules, &name->v[i], 0))
			return true;
	return false;
}

static void resolved(struct gate *g, struct waiter *w, struct name *name)
{
	struct dns_request *r = OWNER(w, struct dns_request, waiter);
	bool six = r->q.type == REIN_DNS_AAAA;
	struct rein_addr ours = names_address(name, six);
	struct rein_dns_answer a = {.address = six && !g->six ? NULL : &ours, .ttl = TTL};

	if (name->state == NAME_FOUND && !any_permitted(g, name)) {
		char text[REIN_ADDR_TEXT];

		rein_addr_text(&name->v[0], text);
		refuse(g, r, REIN_WHY_ADDRESS, text);
	} else if (name->state == NAME_FOUND) {
		answer(g, r, &a);
	} else {
		answer_code(g, r, name->state == NAME_ABSENT ? REIN_DNS_NXDOMAIN : REIN_DNS_SERVFAIL);
	}
	request_done(g, r);
}

static void forwarded(struct gate *g, struct forward *f, const uint8_t *m, size_t n)
{
	struct dns_request *r = OWNER(f, struct dns_request, forward);
	uint8_t copy[REIN_DNS_MAX];
	size_t most = r->udp < 0 ? sizeof(copy) : r->q.udp_size;

	if (!m || n < 12 || (n > most && n < r->q.end)) {
		answer_code(g, r, REIN_DNS_SERVFAIL);
	} else if (n > most) {
		/* does not fit: the question back, and "ask over TCP" */
		memcpy(copy, r->m, r->q.end);
		memset(copy + 6, 0, 6);
		copy[2] = 0x82 | (copy[2] & 1);
		copy[3] = 0x80;
		reply(g, r, copy, r->q.end);
	} else {
		memcpy(copy, m, n);
		memcpy(copy, r->m, 2);
		reply(g, r, copy, n);
	}
	request_done(g, r);
}

static bool is_localhost(const char *name)
{
	size_t n = strlen(name);

	return rein_streq(name, "localhost") || (n > 10 && rein_streq(name + n - 10, ".localhost"));
}

static bool may_forward(uint16_t type)
{
	static const uint16_t types[] = {REIN_DNS_NS,  REIN_DNS_CNAME, REIN_DNS_SOA,   REIN_DNS_MX,
					 REIN_DNS_TXT, REIN_DNS_SRV,   REIN_DNS_NAPTR, REIN_DNS_CAA};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i] == type)
			return true;
	return false;
}

static void answer_local(struct gate *g, const struct dns_request *r)
{
	struct rein_addr a = rein_addr_v4(0x7f000001);

	if (r->q.type == REIN_DNS_AAAA) {
		memset(a.b, 0, sizeof(a.b));
		a.b[15] = 1;
	}
	answer(g, r,
	       &(struct rein_dns_answer){
		       .ttl = TTL,
		       .address = r->q.type == REIN_DNS_A || (g->six && r->q.type == REIN_DNS_AAAA) ? &a
												    : NULL});
}

static void answer_pointer(struct gate *g, const struct dns_request *r)
{
	struct rein_addr a;
	const struct name *name = rein_dns_reverse(r->q.name, &a) ? names_by_address(&g->names, &a) : NULL;

	answer(g, r,
	       &(struct rein_dns_answer){.rcode = name ? REIN_DNS_OK : REIN_DNS_NXDOMAIN,
					 .pointer = name ? name->text : NULL,
					 .ttl = TTL});
}

/* Answered at once, or true: the request waits for somebody. */
static bool decide(struct gate *g, struct dns_request *r)
{
	uint32_t why;
	struct name *name;

	if (!r->q.name[0]) {
		refuse(g, r, REIN_WHY_DNS, "");
	} else if (is_localhost(r->q.name)) {
		answer_local(g, r);
	} else if (r->q.type == REIN_DNS_PTR) {
		answer_pointer(g, r);
	} else if (rein_rules_name(g->rules, g->nrules, r->q.name, 0, &why) < 0) {
		refuse(g, r, why, "");
	} else if (r->q.type == REIN_DNS_A || r->q.type == REIN_DNS_AAAA) {
		name = names_get(&g->names, r->q.name);
		if (!name) {
			refuse(g, r, REIN_WHY_LIMIT, "");
			return false;
		}
		r->waiter.done = resolved;
		resolve(g, name, &r->waiter);
		return true;
	} else if (may_forward(r->q.type) && !rein_streq(r->q.name, REIN_NET_HOST_NAME)) { /* ours: nobody outside knows it */
		r->forward.done = forwarded;
		resolve_forward(g, r->q.name, r->q.type, &r->forward);
		return true;
	} else {
		answer_code(g, r, REIN_DNS_OK);
	}
	return false;
}

/* One message of the box's. from: where to answer. */
static void take_message(struct gate *g, const uint8_t *m, size_t n, const struct dns_request *from)
{
	struct dns_request *r = g->dns.requests < GATE_REQUESTS ? rein_alloc(sizeof(*r)) : NULL;
	int code;

	if (!r)
		return; /* asked again later */
	*r = *from;
	code = rein_dns_read_question(m, n, &r->q);
	if (code < 0 || r->q.end > sizeof(r->m)) {
		rein_free(r);
		return;
	}
	r->n = r->q.end;
	memcpy(r->m, m, r->n);
	r->next = g->dns.list;
	g->dns.list = r;
	g->dns.requests++;
	if (code > 0)
		answer_code(g, r, (enum rein_dns_rcode)code);
	if (code > 0 || !decide(g, r))
		request_done(g, r);
}

void dns_udp_ready(struct gate *g, struct watch *w, uint32_t events)
{
	(void)events;
	for (int i = 0; i < 64; i++) {
		struct dns_request from = {.udp = w->fd, .from_n = sizeof(from.from)};
		uint8_t m[REIN_DNS_MAX];
		ssize_t n = recvfrom(w->fd, m, sizeof(m), MSG_DONTWAIT, (struct sockaddr *)&from.from,
				     &from.from_n);

		if (n < 0)
			return;
		take_message(g, m, (size_t)n, &from);
	}
}

/* Several questions may come on one connection, together. */
static void conn_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct dns_conn *c = OWNER(w, struct dns_conn, watch);
	struct dns_request from = {.udp = -1, .conn = c};
	ssize_t n = recv(w->fd, c->in + c->have, sizeof(c->in) - c->have, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(g, c);
		return;
	}
	c->have += (size_t)n;
	c->until_ns = g->now_ns + CONN_NS;
	while (c->have >= 2 && c->watch.fd >= 0) {
		size_t length = (size_t)c->in[0] << 8 | c->in[1];

		if (length > REIN_DNS_MAX) {
			conn_close(g, c);
			return;
		}
		if (c->have < 2 + length)
			return;
		take_message(g, c->in + 2, length, &from);
		c->have -= 2 + length;
		memmove(c->in, c->in + 2 + length, c->have);
	}
}

void dns_tcp_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct sockaddr_storage peer;
	int fd = gate_accept(g, w, &peer);
	struct dns_conn *c;

	(void)events;
	if (fd < 0)
		return;
	/* The one that was silent longest makes room. */
	if (g->dns.conns >= GATE_DNS_CONNS) {
		struct dns_conn *oldest = g->dns.open;

		for (c = oldest; c; c = c->next)
			if (c->until_ns < oldest->until_ns)
				oldest = c;
		conn_close(g, oldest);
	}
	c = rein_alloc(sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	c->until_ns = g->now_ns + CONN_NS;
	c->next = g->dns.open;
	g->dns.open = c;
	g->dns.conns++;
	gate_watch(g, &c->watch, fd, EPOLLIN, conn_ready);
}

void dns_done(struct gate *g)
{
	while (g->dns.open)
		conn_close(g, g->dns.open);
	while (g->dns.list)
		request_done(g, g->dns.list);
}
