/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the host's own name servers, and before them the host's /etc/hosts. Both address types are
 * asked for at once; when one is there the other has a twentieth of a second more. Every question has
 * a socket, so a port, and a number of its own; only its answer is listened to.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/net/rule.h"

#define ATTEMPT_NS (3 * REIN_NS_PER_S / 2)
#define ATTEMPTS   4
#define GRACE_NS   (REIN_NS_PER_S / 20)

struct query {
	struct watch watch;
	struct lookup *lookup;
	uint16_t type, id;
	unsigned attempt;
	bool used, done, tcp, sent;
	uint64_t until_ns;
	uint8_t *buf; /* TCP: what came so far */
	size_t have;
};

struct lookup {
	char text[REIN_NET_NAME];
	struct name *name;	 /* or */
	struct forward *forward; /* one type, as it is */
	struct waiter *waiters;
	struct query q[2];
	struct rein_addr v[2 * REIN_DNS_ADDRESSES];
	size_t n;
	uint32_t ttl;
	unsigned answers;
	bool absent, ended;
	struct lookup *next;
};

/* --- the host's files --- */

static void load_servers(struct resolver *r)
{
	FILE *f = fopen("/etc/resolv.conf", "re");
	char line[512], text[REIN_ADDR_TEXT + 1];

	while (f && r->nservers < GATE_SERVERS && fgets(line, sizeof(line), f))
		if (sscanf(line, " nameserver %48s", text) == 1 &&
		    rein_addr_parse(text, &r->servers[r->nservers]))
			r->ports[r->nservers++] = 53;
	if (f)
		fclose(f);
	if (!r->nservers) {
		r->servers[0] = rein_addr_v4(0x7f000001);
		r->ports[r->nservers++] = 53;
	}
}

static void load_fixed(struct resolver *r)
{
	FILE *f = fopen("/etc/hosts", "re");
	char line[1024];

	r->fixed = rein_calloc(GATE_STATIC, sizeof(*r->fixed));
	while (f && r->fixed && fgets(line, sizeof(line), f)) {
		struct rein_addr a;
		char *at = line + strspn(line, " \t"), *end;

		line[strcspn(line, "#\n")] = 0;
		end = at + strcspn(at, " \t");
		if (!*end)
			continue;
		*end++ = 0;
		if (!rein_addr_parse(at, &a))
			continue;
		for (at = end; *at; at = end) {
			size_t n;

			at += strspn(at, " \t");
			n = strcspn(at, " \t");
			end = at + n;
			if (n && r->nfixed < GATE_STATIC &&
			    rein_name_normal(at, n, r->fixed[r->nfixed].name))
				r->fixed[r->nfixed++].address = a;
		}
	}
	if (f)
		fclose(f);
}

void resolver_load(struct resolver *r)
{
	load_servers(r);
	load_fixed(r);
}

static bool is_fixed(struct gate *g, struct name *name)
{
	const struct resolver *r = &g->resolver;

	name->n = 0;
	if (rein_streq(name->text, REIN_NET_HOST_NAME)) {
		name->v[name->n++] = rein_addr_v4(0x7f000001);
	} else {
		for (size_t i = 0; i < r->nfixed && name->n < ARRAY_SIZE(name->v); i++)
			if (rein_streq(r->fixed[i].name, name->text))
				name->v[name->n++] = r->fixed[i].address;
	}
	if (!name->n)
		return false;
	name->state = NAME_FOUND;
	name->until_ns = UINT64_MAX;
	return true;
}

/* --- one question --- */

static void query_ready(struct gate *g, struct watch *w, uint32_t events);

static bool send_query(struct query *q)
{
	uint8_t m[2 + 512];
	size_t n = rein_dns_write_question(q->lookup->text, q->type, q->id, m + 2, sizeof(m) - 2);

	if (!n)
		return false;
	m[0] = (uint8_t)(n >> 8);
	m[1] = (uint8_t)n;
	q->sent = true;
	if (q->tcp)
		return send(q->watch.fd, m, n + 2, MSG_NOSIGNAL) == (ssize_t)(n + 2);
	return send(q->watch.fd, m + 2, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* Ask, or ask the next server; false when there is nobody left to ask. */
static bool ask(struct gate *g, struct query *q)
{
	const struct resolver *r = &g->resolver;

	while (q->attempt < ATTEMPTS) {
		size_t server = q->attempt % r->nservers;
		struct sockaddr_storage to;
		socklen_t n = rein_addr_to(&r->servers[server], r->ports[server], &to);
		int fd = socket(to.ss_family,
				(q->tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		q->attempt++;
		q->sent = false;
		q->have = 0;
		if (getrandom(&q->id, sizeof(q->id), 0) != sizeof(q->id) || fd < 0 ||
		    (connect(fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS)) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		gate_watch(g, &q->watch, fd, q->tcp ? EPOLLOUT : EPOLLIN, query_ready);
		q->until_ns = g->now_ns + ATTEMPT_NS;
		if (q->tcp || send_query(q))
			return true;
		gate_close(g, &q->watch);
	}
	return false;
}

static void lookup_check(struct gate *g, struct lookup *l);

static void query_end(struct gate *g, struct query *q)
{
	q->done = true;
	gate_close(g, &q->watch);
	rein_free(take_ptr(q->buf));
}

static void again(struct gate *g, struct query *q)
{
	gate_close(g, &q->watch);
	if (!ask(g, q)) {
		query_end(g, q);
		lookup_check(g, q->lookup);
	}
}

static void lookup_unlink(struct gate *g, struct lookup *l)
{
	for (struct lookup **p = &g->resolver.lookups; *p; p = &(*p)->next)
		if (*p == l) {
			*p = l->next;
			break;
		}
	g->resolver.count--;
	for (int i = 0; i < 2; i++)
		query_end(g, &l->q[i]);
	gate_free(g, l);
}

static void forward_end(struct gate *g, struct lookup *l, const uint8_t *m, size_t n)
{
	struct forward *f = l->forward;

	if (l->ended)
		return;
	l->ended = true;
	lookup_unlink(g, l);
	f->done(g, f, m, n);
}

/* An answer to this question came. */
static void answered(struct gate *g, struct query *q, const uint8_t *m, size_t n)
{
	struct lookup *l = q->lookup;
	struct rein_dns_reply r;

	if (!rein_dns_read_reply(m, n, l->text, q->type, q->id, &r))
		return;
	if (r.truncated && !q->tcp) {
		q->tcp = true;
		q->attempt--; /* the same server */
		again(g, q);
		return;
	}
	if (r.rcode != REIN_DNS_OK && r.rcode != REIN_DNS_NXDOMAIN) {
		again(g, q);
		return;
	}
	if (l->forward) {
		forward_end(g, l, m, n);
		return;
	}
	for (size_t i = 0; i < r.n && l->n < ARRAY_SIZE(l->v); i++)
		l->v[l->n++] = r.v[i];
	if (r.n && r.ttl < l->ttl)
		l->ttl = r.ttl;
	/* No such name; or no address of either kind: one that was not told may be there. */
	l->absent |= r.rcode == REIN_DNS_NXDOMAIN || ++l->answers == 2;
	query_end(g, q);
	lookup_check(g, l);
}

static void tcp_ready(struct gate *g, struct query *q)
{
	ssize_t n;
	size_t want;

	if (!q->sent) {
		if (!send_query(q)) {
			again(g, q);
			return;
		}
		gate_watch(g, &q->watch, q->watch.fd, EPOLLIN, query_ready);
		return;
	}
	if (!q->buf)
		q->buf = rein_alloc(2 + 65535);
	n = q->buf ? recv(q->watch.fd, q->buf + q->have, 2 + 65535 - q->have, 0) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		again(g, q);
		return;
	}
	q->have += (size_t)n;
	want = q->have < 2 ? 2 : 2 + ((size_t)q->buf[0] << 8 | q->buf[1]);
	if (q->have >= 2 && q->have >= want) {
		auto_free uint8_t *m = take_ptr(q->buf);

		answered(g, q, m + 2, want - 2);
	}
}

static void query_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct query *q = OWNER(w, struct query, watch);
	uint8_t m[REIN_DNS_MAX];
	ssize_t n;

	(void)events;
	if (q->tcp) {
		tcp_ready(g, q);
		return;
	}
	n = recv(w->fd, m, sizeof(m), 0);
	if (n > 0)
		answered(g, q, m, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		again(g, q);
}

/* --- a name --- */

static void lookup_end(struct gate *g, struct lookup *l)
{
	struct name *name = l->name;
	struct waiter *w = take_ptr(l->waiters), *next;
	uint64_t hold_s = l->n ? (l->ttl < 1 ? 1 : l->ttl > 600 ? 600 : l->ttl) : l->absent ? 5 : 1;

	if (l->ended)
		return;
	l->ended = true;
	name->state = l->n ? NAME_FOUND : l->absent ? NAME_ABSENT : NAME_FAILED;
	memcpy(name->v, l->v, sizeof(l->v));
	name->n = l->n;
	name->until_ns = g->now_ns + hold_s * REIN_NS_PER_S;
	name->lookup = NULL;
	lookup_unlink(g, l);
	for (; w; w = next) {
		next = w->next;
		w->done(g, w, name);
	}
}

static void lookup_check(struct gate *g, struct lookup *l)
{
	bool first = l->q[0].done, second = l->q[1].done || !l->q[1].used;

	if (l->ended)
		return;
	if (first && second) {
		if (l->forward)
			forward_end(g, l, NULL, 0);
		else
			lookup_end(g, l);
	} else if (l->n) {
		struct query *rest = first ? &l->q[1] : &l->q[0];

		if (rest->until_ns > g->now_ns + GRACE_NS) {
			rest->until_ns = g->now_ns + GRACE_NS;
			rest->attempt = ATTEMPTS;
		}
	}
}

static struct lookup *lookup_new(struct gate *g, const char *text)
{
	struct lookup *l = g->resolver.count < GATE_LOOKUPS ? rein_alloc(sizeof(*l)) : NULL;

	if (!l)
		return NULL;
	memcpy(l->text, text, strlen(text) + 1);
	l->ttl = UINT32_MAX;
	for (int i = 0; i < 2; i++)
		l->q[i] = (struct query){.watch = {.fd = -1}, .lookup = l};
	l->next = g->resolver.lookups;
	g->resolver.lookups = l;
	g->resolver.count++;
	return l;
}

void resolve(struct gate *g, struct name *name, struct waiter *w)
{
	static const uint16_t types[2] = {REIN_DNS_A, REIN_DNS_AAAA};
	struct lookup *l = name->lookup;

	if ((name->state != NAME_NEW && g->now_ns < name->until_ns) || is_fixed(g, name)) {
		w->done(g, w, name);
		return;
	}
	if (!l) {
		l = lookup_new(g, name->text);
		if (!l) {
			name->state = NAME_FAILED;
			w->done(g, w, name);
			return;
		}
		l->name = name;
		name->lookup = l;
		w->next = NULL;
		l->waiters = w;
		for (int i = 0; i < 2; i++) {
			l->q[i].type = types[i];
			l->q[i].used = true;
		}
		for (int i = 0; i < 2; i++)
			if (!ask(g, &l->q[i]))
				query_end(g, &l->q[i]);
		lookup_check(g, l);
		return;
	}
	w->next = l->waiters;
	l->waiters = w;
}

void resolve_cancel(struct name *name, struct waiter *w)
{
	for (struct waiter **p = name->lookup ? &name->lookup->waiters : NULL; p && *p; p = &(*p)->next)
		if (*p == w) {
			*p = w->next;
			return;
		}
}

void resolve_forward(struct gate *g, const char *name, uint16_t type, struct forward *f)
{
	struct lookup *l = lookup_new(g, name);

	if (!l) {
		f->done(g, f, NULL, 0);
		return;
	}
	l->forward = f;
	l->q[0].type = type;
	l->q[0].used = true;
	if (!ask(g, &l->q[0]))
		forward_end(g, l, NULL, 0);
}

void resolver_tick(struct gate *g)
{
	for (struct lookup *l = g->resolver.lookups; l;) {
		struct query *late = NULL;

		for (int i = 0; i < 2; i++)
			if (l->q[i].used && !l->q[i].done && g->now_ns >= l->q[i].until_ns)
				late = &l->q[i];
		if (!late) {
			l = l->next;
			continue;
		}
		late->until_ns = g->now_ns + ATTEMPT_NS; /* whatever happens: not twice in a round */
		again(g, late);
		l = g->resolver.lookups; /* the list may be another now */
	}
}

void resolver_done(struct gate *g)
{
	while (g->resolver.lookups) {
		struct lookup *l = g->resolver.lookups;

		if (l->name)
			l->name->lookup = NULL;
		lookup_unlink(g, l);
	}
	rein_free(g->resolver.fixed);
}
