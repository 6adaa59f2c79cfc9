/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was refused and what was carried. A refusal is told as soon as it happens, but not more often
 * than twenty times a second: a box that asks in a loop must not drown whoever listens. The counts
 * are exact all the same.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

static void copy(char *to, const char *from)
{
	size_t n = strnlen(from, REIN_NET_NAME - 1);

	memcpy(to, from, n);
	to[n] = 0;
}

void book_refuse(struct gate *g, uint32_t why, uint32_t protocol, uint32_t port, const char *name,
		 const char *detail, bool count)
{
	struct book *b = &g->book;
	struct rein_net_refusal *r, one = {.why = why, .protocol = protocol, .port = port, .count = 1};
	bool harmless;

	for (size_t i = 0; i < b->nrefusals; i++) {
		r = &b->refusals[i];
		if (r->why == why && r->protocol == protocol && r->port == port &&
		    rein_streq(r->name, name)) {
			r->count += count;
			b->dirty |= count;
			return;
		}
	}
	copy(one.name, name);
	copy(one.detail, detail ? detail : "");
	harmless = !rein_net_refusal_is_violation(&one);
	if (b->nrefusals == GATE_REFUSALS || (harmless && b->nharmless == GATE_HARMLESS) ||
	    rein_grow(b->refusals, b->nrefusals, b->refusals_cap) < 0 || rein_grow(b->told, b->nrefusals, b->told_cap) < 0) {
		b->dropped += count;
		return;
	}
	b->nharmless += harmless;
	b->refusals[b->nrefusals] = one;
	b->told[b->nrefusals++] = 0;
	b->dirty = true;
}

struct rein_net_host *book_host(struct gate *g, const char *name, uint16_t port)
{
	struct book *b = &g->book;
	struct rein_net_host *h;

	for (size_t i = 0; i < b->nhosts; i++)
		if (b->hosts[i].port == port && rein_streq(b->hosts[i].name, name))
			return &b->hosts[i];
	/* Flows point into it: all the room at once. */
	if (!b->hosts)
		b->hosts = rein_calloc(GATE_HOSTS, sizeof(*b->hosts));
	if (!b->hosts || b->nhosts == GATE_HOSTS)
		return NULL;
	h = &b->hosts[b->nhosts++];
	h->port = port;
	copy(h->name, name);
	return h;
}

/* 0, or -1: nobody takes it now. */
static int tell(struct gate *g, const struct rein_gate_event *e, int flags)
{
	return send(g->control.fd, e, sizeof(*e), MSG_NOSIGNAL | flags) == (ssize_t)sizeof(*e) ? 0 : -1;
}

void book_tell(struct gate *g)
{
	struct book *b = &g->book;

	if (!b->dirty || g->now_ns - b->told_ns < REIN_NS_PER_S / 20)
		return;
	b->told_ns = g->now_ns;
	for (size_t i = 0; i < b->nrefusals; i++) {
		struct rein_gate_event e = {.kind = REIN_GATE_REFUSED, .refusal = b->refusals[i]};

		e.refusal.count -= b->told[i];
		if (!e.refusal.count)
			continue;
		if (tell(g, &e, MSG_DONTWAIT) < 0)
			return;
		b->told[i] = b->refusals[i].count;
	}
	b->dirty = false;
}

/* rein reads until the end, but not for ever: the send buffer's own timeout ends it. */
void book_close(struct gate *g)
{
	struct book *b = &g->book;
	struct timeval patience = {.tv_sec = 2};
	struct rein_gate_event e = {.kind = REIN_GATE_TOTAL, .dropped = b->dropped};

	setsockopt(g->control.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (size_t i = 0; i < b->nrefusals; i++) {
		struct rein_gate_event r = {.kind = REIN_GATE_REFUSED, .refusal = b->refusals[i]};

		r.refusal.count -= b->told[i];
		if (r.refusal.count && tell(g, &r, 0) < 0)
			return;
	}
	for (size_t i = 0; i < b->nhosts; i++) {
		struct rein_gate_event h = {.kind = REIN_GATE_HOST, .host = b->hosts[i]};

		if (tell(g, &h, 0) < 0)
			return;
	}
	e.host.sent = b->sent;
	e.host.received = b->received;
	e.host.connections = b->connections;
	tell(g, &e, 0);
}

void book_done(struct gate *g)
{
	rein_free(g->book.refusals);
	rein_free(g->book.told);
	rein_free(g->book.hosts);
}
