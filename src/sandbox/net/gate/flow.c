/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carrying a connection. Small traffic is copied (fewer system calls); after a quarter of a megabyte a
 * direction goes through a pipe without being copied. Ends of streams are passed on one by one; a
 * refusal is a reset, except where the program can be told in its own language.
 *
 * Descriptors are watched edge-triggered: each event moves as much as can be moved, both ways.
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/net/netlink.h"
#include "sandbox/net/rule.h"

#define SPLICE_AFTER (256u << 10)
#define PIPE_LARGE   (512 << 10)
#define PIPE_SMALL   (256 << 10)
#define FEW	     16 /* so many connections have large ones: all pipes of a user share 64 MiB */
#define ROUNDS	     32 /* then others have their turn */
#define LINGER_NS    (2 * REIN_NS_PER_S)
#define ORIGINAL_DST 80 /* SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST */
#define EDGES	     (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

static void flow_end(struct gate *g, struct flow *f, bool with_reset);

static void flow_ready_client(struct gate *g, struct watch *w, uint32_t events)
{
	struct flow *f = OWNER(w, struct flow, client);

	/* it has said all it had to say, and is gone: nobody is left to listen, and reading would not tell */
	if (events & EPOLLERR && f->up.eof) {
		flow_end(g, f, true);
		return;
	}
	f->up.dry &= !(events & ~(uint32_t)EPOLLOUT);
	flow_pump(g, f);
}

static void flow_ready_server(struct gate *g, struct watch *w, uint32_t events)
{
	struct flow *f = OWNER(w, struct flow, server);

	f->down.dry &= !(events & ~(uint32_t)EPOLLOUT);
	flow_pump(g, f);
}

static void lane_done(struct lane *l)
{
	rein_free(take_ptr(l->buf));
	for (int i = 0; i < 2; i++) {
		rein_closep_(&l->pipe[i]);
		l->pipe[i] = -1;
	}
}

static void reset(int fd)
{
	struct linger now = {.l_onoff = 1};

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void flow_end(struct gate *g, struct flow *f, bool with_reset)
{
	if (f->dead)
		return;
	f->dead = true;
	if (f->dial)
		dial_cancel(f->dial);
	gate_free(g, take_ptr(f->dial));
	if (with_reset) {
		reset(f->client.fd);
		reset(f->server.fd);
	}
	inside_end(g, f);
	gate_close(g, &f->client);
	gate_close(g, &f->server);
	lane_done(&f->up);
	lane_done(&f->down);
	if (f->prev)
		f->prev->next = f->next;
	else
		g->flows = f->next;
	if (f->next)
		f->next->prev = f->prev;
	g->nflows--;
	gate_free(g, f);
}

bool flow_few(const struct gate *g)
{
	return g->nflows <= NEAR_FEW;
}

int flow_queue(const struct gate *g)
{
	return flow_few(g) ? NEAR_QUEUE : NEAR_QUEUE_MANY;
}

static struct flow *flow_new(struct gate *g, int client)
{
	struct flow *f = g->nflows < g->max_flows ? rein_alloc(sizeof(*f)) : NULL;
	int one = 1, queue = flow_queue(g);

	if (!f)
		return NULL;
	f->up.pipe[0] = f->up.pipe[1] = f->down.pipe[0] = f->down.pipe[1] = -1;
	f->server.fd = -1;
	f->rule = -1;
	f->next = g->flows;
	if (g->flows)
		g->flows->prev = f;
	g->flows = f;
	g->nflows++;
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(client, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &queue, sizeof(queue));
	f->client.fd = client;
	return f;
}

static const char *flow_name(const struct flow *f, char text[REIN_ADDR_TEXT])
{
	if (f->name)
		return f->name->text;
	rein_addr_text(&f->to, text);
	return text;
}

/* --- refusing --- */

/* To the program, as it would hear it from the server. */
static ssize_t say(const struct gate *g, const struct flow *f, const void *p, size_t n)
{
	return f->inner && f->look != LOOK_SHAKE ? g->tls.ops->write(f->inner, p, n)
						 : send(f->client.fd, p, n, MSG_NOSIGNAL);
}

/* Would the program take what we say for the answer to what is refused, and not for a part of another? */
static bool is_heard(const struct flow *f)
{
	return f->look == LOOK_HEAD ? f->replied || !f->requests : f->look == LOOK_BODY && !f->replied;
}

/* In the program's own language, as far as it is known; false: there is none. */
static bool explain(const struct gate *g, struct flow *f, uint32_t why, const char *detail)
{
	static const char alert[] = "\x15\x03\x01\x00\x02\x02\x31"; /* fatal, access_denied */
	struct rein_net_refusal x = {.why = why, .protocol = IPPROTO_TCP, .port = f->port};
	char text[REIN_ADDR_TEXT], ask[2 * REIN_NET_NAME + 128], body[1400], message[1800];
	int n;

	/* as long as we have said nothing ourselves */
	if (f->look == LOOK_TLS || (f->look == LOOK_SHAKE && !f->proven))
		return say(g, f, alert, sizeof(alert) - 1) == sizeof(alert) - 1;
	/* the TLS library has told it what it thinks of it */
	if (f->look == LOOK_SHAKE)
		return true;
	if (!is_heard(f))
		return false;
	snprintf(x.name, sizeof(x.name), "%s", flow_name(f, text));
	snprintf(x.detail, sizeof(x.detail), "%s", detail);
	rein_rule_remedy(&x, ask, sizeof(ask));
	n = snprintf(body, sizeof(body), "rein: refused: %s:%u: %s%s%s%s.\n%s%s%s", x.name, x.port,
		     rein_net_why_text(why), *detail ? " (" : "", x.detail, *detail ? ")" : "", *ask ? "To ask for it: rein run " : "", ask, *ask ? "\n" : "");
	n = snprintf(message, sizeof(message),
		     "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
		     "X-Rein-Refused: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		     rein_net_why_name(why), n, body);
	return n < (int)sizeof(message) && say(g, f, message, (size_t)n) == n;
}

static void note(struct gate *g, const struct flow *f, uint32_t why, const char *detail)
{
	char text[REIN_ADDR_TEXT];

	book_refuse(g, why, IPPROTO_TCP, f->port, flow_name(f, text), detail, true);
}

void flow_refuse(struct gate *g, struct flow *f, uint32_t why, const char *detail)
{
	if (f->dead || f->closing)
		return;
	note(g, f, why, detail);
	f->look_ns = 0;
	if (f->down.n != f->down.at || f->down.piped || !explain(g, f, why, detail)) {
		flow_end(g, f, true);
		return;
	}
	/* A reset now would overtake the explanation: wait until it was read. */
	f->closing = true;
	f->until_ns = g->now_ns + LINGER_NS;
	reset(f->server.fd);
	gate_close(g, &f->server);
	if (f->inner && f->look != LOOK_SHAKE)
		g->tls.ops->goodbye(f->inner);
	shutdown(f->client.fd, SHUT_WR);
}

/* --- carrying --- */

enum moved { STUCK = 0, MOVED, ENDED };

static bool would_block(void)
{
	return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
}

/* Used up to the byte is not over it: refused is who has more. Inside TLS that cannot be seen from here. */
static bool has_more(const struct flow *f, struct lane *l, int from)
{
	char byte;
	ssize_t n = f->inner ? 1 : recv(from, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);

	l->dry = n < 0 && would_block();
	return n > 0;
}

/* May bytes be taken? 0: not now, or it was refused. */
static size_t allowance(struct gate *g, struct flow *f, struct lane *l, int from, bool up, size_t want)
{
	bool over;
	size_t n = meter_allow(g, f->rule, up, want, &over);

	if (over && has_more(f, l, from)) {
		if (up) {
			flow_refuse(g, f, REIN_WHY_BUDGET, "");
		} else { /* cut off in the middle of an answer, and nothing of ours must look like the rest */
			note(g, f, REIN_WHY_BUDGET, "");
			flow_end(g, f, true);
		}
		return 0;
	}
	if (over)
		return l->dry ? 0 : 1; /* an end, or a failure: it takes no bytes to hear of it */
	if (!n)
		f->starved = g->starved = true;
	return n;
}

/* For the report: what left, and what came. */
static void passed(struct gate *g, struct flow *f, bool up, size_t n)
{
	if (f->rule >= 0)
		*(up ? &g->book.sent : &g->book.received) += n;
	if (f->host)
		*(up ? &f->host->sent : &f->host->received) += n;
}

/* Of what the program sends nothing has left yet, and nothing may: it is only taken from the budget. */
static void counted(struct gate *g, struct flow *f, bool up, size_t n)
{
	meter_count(g, f->rule, up, n);
	if (!up)
		passed(g, f, up, n);
}

/* The answer to an upgrade decides what the connection is from then on. It may come in pieces. */
static void hear(struct flow *f, const uint8_t *p, size_t n)
{
	static const char yes[] = "HTTP/1.1 101";

	if (f->look != LOOK_ANSWER || f->answered)
		return;
	for (size_t i = 0; i < n; i++) {
		f->answered = p[i] != (uint8_t)yes[f->heard];
		if (f->answered)
			return;
		if (!yes[++f->heard]) {
			f->answered = true;
			f->look = LOOK_AWAY;
			return;
		}
	}
}

/* Go on, the answer follows: it comes alone, because the server waits for the rest of the request. */
static bool is_interim(const uint8_t *p, size_t n)
{
	static const char go_on[] = "HTTP/1.1 100", end[] = "\r\n\r\n";

	return n > sizeof(go_on) && memcmp(p, go_on, sizeof(go_on) - 1) == 0 &&
	       memmem(p, n, end, sizeof(end) - 1) == p + n - (sizeof(end) - 1);
}

static enum moved fill(struct gate *g, struct flow *f, struct lane *l, int from, bool up)
{
	size_t room;
	ssize_t n;

	if (l->eof || l->dry)
		return STUCK;
	if (!l->buf)
		l->buf = rein_alloc(LANE_BUF);
	if (!l->buf)
		return ENDED;
	if (l->at == l->n)
		l->at = l->n = l->clear = 0;
	if (l->n == LANE_BUF && l->at) {
		memmove(l->buf, l->buf + l->at, l->n - l->at);
		l->n -= l->at;
		l->clear -= l->at;
		l->at = 0;
	}
	room = LANE_BUF - l->n;
	if (!room)
		return STUCK;
	room = allowance(g, f, l, from, up, room);
	if (!room)
		return STUCK;
	n = f->inner ? g->tls.ops->read(up ? f->inner : f->outer, l->buf + l->n, room)
		     : recv(from, l->buf + l->n, room, 0);
	if (n < 0) {
		l->dry = errno == EAGAIN && !f->inner;
		return would_block() ? STUCK : ENDED;
	}
	if (n == 0) {
		l->eof = true;
		if (up && f->rule >= 0)
			inspect(g, f);
		else if (f->secrets)
			inject_let_go(f);
		return MOVED;
	}
	counted(g, f, up, (size_t)n);
	if (!up) {
		hear(f, l->buf + l->n, (size_t)n);
		f->replied |= !is_interim(l->buf + l->n, (size_t)n);
	}
	l->n += (size_t)n;
	l->total += (size_t)n;
	if (up && f->rule >= 0)
		inspect(g, f);
	else if (f->secrets)
		inject_mask(g, f);
	else
		l->clear = l->n;
	return MOVED;
}

static enum moved empty(struct gate *g, struct flow *f, struct lane *l, int to, bool up)
{
	ssize_t n;

	if (l->at == l->clear)
		return STUCK;
	n = f->inner ? g->tls.ops->write(up ? f->outer : f->inner, l->buf + l->at, l->clear - l->at)
		     : send(to, l->buf + l->at, l->clear - l->at, MSG_NOSIGNAL);
	if (n < 0)
		return would_block() ? STUCK : ENDED;
	l->at += (size_t)n;
	if (up)
		passed(g, f, up, (size_t)n);
	return MOVED;
}

static bool use_pipe(const struct gate *g, struct lane *l)
{
	int size;

	if (l->pipe[0] >= 0)
		return true;
	if (l->total < SPLICE_AFTER || l->at != l->n)
		return false;
	if (pipe2(l->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		l->pipe[0] = l->pipe[1] = -1;
		l->total = 0; /* later */
		return false;
	}
	/* Above a user's share of pipe memory it stays small, which works too. */
	size = fcntl(l->pipe[1], F_SETPIPE_SZ, g->nflows <= FEW ? PIPE_LARGE : PIPE_SMALL);
	if (size < 0)
		size = fcntl(l->pipe[1], F_GETPIPE_SZ);
	l->pipe_size = size > 0 ? (size_t)size : 4096;
	rein_free(take_ptr(l->buf));
	l->at = l->n = l->clear = 0;
	return true;
}

static enum moved splice_lane(struct gate *g, struct flow *f, struct lane *l, int from, int to, bool up)
{
	enum moved moved = STUCK;
	ssize_t n;

	if (!l->eof && !l->dry && l->piped < l->pipe_size) {
		size_t want = allowance(g, f, l, from, up, l->pipe_size - l->piped);

		n = want ? splice(from, NULL, l->pipe[1], NULL, want, SPLICE_F_MOVE | SPLICE_F_NONBLOCK)
			 : -1;
		if (f->dead || f->closing)
			return STUCK;
		if (n > 0) {
			counted(g, f, up, (size_t)n);
			f->replied |= !up;
			l->piped += (size_t)n;
			l->total += (size_t)n;
			moved = MOVED;
		} else if (n == 0) {
			l->eof = true;
			moved = MOVED;
		} else if (want) {
			/* with something in the pipe it may be the pipe that is full: pages count, not bytes */
			l->dry = errno == EAGAIN && !l->piped;
			if (!would_block())
				return ENDED;
		}
	}
	if (l->piped) {
		n = splice(l->pipe[0], NULL, to, NULL, l->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n > 0) {
			l->piped -= (size_t)n;
			if (up)
				passed(g, f, up, (size_t)n);
			moved = MOVED;
		} else if (n < 0 && !would_block()) {
			return ENDED;
		}
	}
	return moved;
}

/*
 * A program that has said all may wait for the answer, or have closed the connection, which looks the
 * same from here. Its kernel forgets one that was closed after a minute: it is asked. Otherwise the
 * connection would stay for as long as the server is silent.
 */
static void ask_for_it(int client)
{
	int on = 1, idle_s = 20, tries = 3;

	setsockopt(client, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(client, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
	setsockopt(client, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static enum moved move_lane(struct gate *g, struct flow *f, bool up)
{
	struct lane *l = up ? &f->up : &f->down;
	int from = up ? f->client.fd : f->server.fd, to = up ? f->server.fd : f->client.fd;
	bool as_is = !f->inner && !f->secrets && (f->rule < 0 || f->look == LOOK_AWAY || (!up && f->look != LOOK_ANSWER));
	enum moved in, out;

	if (l->pipe[0] >= 0 || (as_is && use_pipe(g, l))) {
		in = splice_lane(g, f, l, from, to, up);
		out = STUCK;
	} else {
		in = fill(g, f, l, from, up);
		if (f->dead || f->closing)
			return STUCK;
		out = in == ENDED ? STUCK : empty(g, f, l, to, up);
	}
	if (f->dead || f->closing)
		return STUCK;
	if (in == ENDED || out == ENDED)
		return ENDED;
	if (l->eof && l->at == l->n && !l->piped && !l->shut) {
		l->shut = true;
		/* an end that nobody announced is not announced by us */
		if (f->inner && g->tls.ops->ended_well(up ? f->inner : f->outer))
			g->tls.ops->goodbye(up ? f->outer : f->inner);
		shutdown(to, SHUT_WR);
		if (up)
			ask_for_it(from);
		return MOVED;
	}
	return in == MOVED || out == MOVED ? MOVED : STUCK;
}

/* Refused and told: read on until the program has heard it and closes. Not for as long as it likes to send. */
static void drain(struct gate *g, struct flow *f)
{
	uint8_t sink[4096];
	ssize_t n = 1;

	for (int round = 0; round < ROUNDS && n > 0; round++)
		n = recv(f->client.fd, sink, sizeof(sink), 0);
	if (n > 0)
		f->busy = g->busy = true;
	else if (n == 0 || !would_block())
		flow_end(g, f, false);
}

/* Nothing can be sent any more; what the server said before that is still heard: it may say why. */
static void hear_the_rest(struct gate *g, struct flow *f)
{
	f->down.shut = true; /* the end is a reset, whatever came before */
	for (int round = 0; round < ROUNDS && !f->dead && move_lane(g, f, false) == MOVED; round++)
		;
	flow_end(g, f, true);
}

void flow_pump(struct gate *g, struct flow *f)
{
	f->starved = f->busy = false;
	for (int round = 0; round < ROUNDS; round++) {
		enum moved up, down;
		size_t clear;

		if (f->dead)
			return;
		if (f->closing) {
			drain(g, f);
			return;
		}
		if (f->server.fd < 0)
			return; /* still dialling */
		if (f->look == LOOK_SHAKE && !inside_shake(g, f)) {
			if (f->dead || f->closing)
				continue;
			return;
		}
		up = move_lane(g, f, true);
		if (f->dead || f->closing || f->look == LOOK_SHAKE)
			continue; /* nothing passes before both ends are known */
		if (up == ENDED) {
			hear_the_rest(g, f);
			return;
		}
		down = move_lane(g, f, false);
		if (f->dead || f->closing)
			continue;
		if (down == ENDED) {
			flow_end(g, f, true);
			return;
		}
		if (f->up.shut && f->down.shut) {
			flow_end(g, f, false);
			return;
		}
		/* an answer may have cleared what was held back; else an edge tells when there is more to do */
		clear = f->up.clear;
		if (f->look == LOOK_AWAY || f->answered)
			inspect(g, f);
		if (up == STUCK && down == STUCK && f->up.clear == clear)
			return;
	}
	/* More to do, and no edge will tell: come back after the others. */
	if (!f->dead && !f->closing)
		f->busy = g->busy = true;
}

void flow_again(struct gate *g)
{
	struct flow *next;

	g->busy = false;
	for (struct flow *f = g->flows; f; f = next) {
		next = f->next;
		if (f->busy)
			flow_pump(g, f);
	}
}

/* --- beginning --- */

static void flow_begin(struct gate *g, struct flow *f, int server)
{
	char text[REIN_ADDR_TEXT];

	g->book.connections++;
	f->host = book_host(g, flow_name(f, text), f->port);
	if (f->host)
		f->host->connections++;
	f->secrets = inject_here(g, f);
	gate_watch(g, &f->server, server, EDGES, flow_ready_server);
	gate_watch(g, &f->client, f->client.fd, EDGES, flow_ready_client);
	flow_pump(g, f);
}

static void dialled(struct dial *d, int fd)
{
	struct gate *g = d->gate;
	struct flow *f = NULL;
	char text[REIN_ADDR_TEXT];

	for (f = g->flows; f && f->dial != d; f = f->next)
		;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return;
	}
	f->dial = NULL;
	gate_free(g, d);
	if (fd >= 0) {
		flow_begin(g, f, fd);
		return;
	}
	rein_addr_text(&d->address, text);
	if (d->why)
		flow_refuse(g, f, d->why, f->name ? text : "");
	else
		flow_end(g, f, true);
}

static bool original_target(int fd, struct rein_addr *to, uint16_t *port)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof(at);

	if (getsockopt(fd, IPPROTO_IP, ORIGINAL_DST, &at, &n) < 0) {
		n = sizeof(at);
		if (getsockopt(fd, IPPROTO_IPV6, ORIGINAL_DST, &at, &n) < 0)
			return false;
	}
	return rein_addr_from(&at, to, port);
}

static void take_connection(struct gate *g, int fd, const struct sockaddr_storage *peer)
{
	struct rein_addr from, to;
	struct name *name = NULL;
	uint16_t from_port, port;
	uint32_t why = REIN_WHY_NO_NAME;
	int server = -1, rule = -1, queue = flow_queue(g);
	struct flow *f;

	/* Whoever connects to the gate itself was led here by nobody. */
	if (!rein_addr_from(peer, &from, &from_port) || !original_target(fd, &to, &port) ||
	    (rein_addr_class(&to) == REIN_ADDR_LOOPBACK && port == REIN_GATE_PORT)) {
		book_refuse(g, REIN_WHY_NO_NAME, IPPROTO_TCP, REIN_GATE_PORT, "127.0.0.1", "", true);
		reset(fd);
		close(fd);
		return;
	}
	if (g->held)
		server = hold_take(g, &from, from_port, &to, port, &rule, &name);
	if (server < 0)
		rule = gate_rule(g, &to, port, &name, &why);
	f = flow_new(g, fd);
	if (!f) {
		char text[REIN_ADDR_TEXT];

		rein_addr_text(&to, text);
		book_refuse(g, REIN_WHY_LIMIT, IPPROTO_TCP, port, name ? name->text : text, "", true);
		reset(fd);
		close(fd);
		if (server >= 0)
			close(server);
		return;
	}
	if (flow_few(g))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &queue, sizeof(queue));
	f->name = name;
	f->to = to;
	f->port = port;
	f->rule = rule;
	if (rule < 0) {
		flow_refuse(g, f, why, "");
		return;
	}
	if (server >= 0) {
		flow_begin(g, f, server);
		return;
	}
	f->dial = rein_alloc(sizeof(*f->dial));
	if (!f->dial) {
		flow_end(g, f, true);
		return;
	}
	*f->dial = (struct dial){.name = name, .address = to, .port = port, .rule = rule, .done = dialled};
	dial_start(g, f->dial);
}

void flow_accept(struct gate *g, struct watch *w, uint32_t events)
{
	(void)events;
	for (int i = 0; i < 64; i++) {
		struct sockaddr_storage peer;
		int fd = gate_accept(g, w, &peer);

		if (fd < 0)
			return;
		take_connection(g, fd, &peer);
	}
}

void flow_relay(struct gate *g, int client, int server)
{
	struct flow *f = flow_new(g, client);

	if (!f) {
		close(client);
		close(server);
		return;
	}
	f->look = LOOK_AWAY;
	gate_watch(g, &f->server, server, EDGES, flow_ready_server);
	gate_watch(g, &f->client, client, EDGES, flow_ready_client);
}

void flow_tick(struct gate *g)
{
	struct flow *next;

	g->starved = g->keeping = false;
	for (struct flow *f = g->flows; f; f = next) {
		next = f->next;
		if (f->closing && g->now_ns >= f->until_ns)
			flow_end(g, f, false);
		else if (f->look_ns && g->now_ns >= f->look_ns)
			flow_refuse(g, f, REIN_WHY_SLOW, "");
		else if (f->starved)
			flow_pump(g, f);
		if (f->dead || !f->kept_ns)
			continue;
		g->keeping = true;
		if (g->now_ns >= f->kept_ns) {
			inject_let_go(f);
			flow_pump(g, f);
		}
	}
}

void flow_done(struct gate *g)
{
	while (g->flows)
		flow_end(g, g->flows, true);
}
