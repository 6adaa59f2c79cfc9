/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: descriptors, ticks, the message with the box's sockets, the end. See gate.h. */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"

void gate_watch(struct gate *g, struct watch *w, int fd, uint32_t events,
		void (*ready)(struct gate *, struct watch *, uint32_t))
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	w->fd = fd;
	w->ready = ready;
	w->events = events;
	/* The only failure is lack of memory: nothing will arrive, deadlines end it. */
	if (epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &e) < 0 && errno == EEXIST)
		epoll_ctl(g->epoll, EPOLL_CTL_MOD, fd, &e);
}

int gate_release(struct gate *g, struct watch *w)
{
	if (w->fd >= 0)
		epoll_ctl(g->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	return take_fd(&w->fd);
}

void gate_close(struct gate *g, struct watch *w)
{
	int fd = gate_release(g, w);

	if (fd >= 0)
		close(fd);
}

/* A descriptor that is there to be given up. */
static void keep_spare(struct gate *g)
{
	if (g->spare < 0)
		g->spare = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

int gate_accept(struct gate *g, const struct watch *w, struct sockaddr_storage *peer)
{
	socklen_t n = sizeof(*peer);
	struct linger now = {.l_onoff = 1};
	int fd = accept4(w->fd, (struct sockaddr *)peer, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd;
	/* One that nobody takes would wake us again and again: turn it away. */
	rein_closep_(&g->spare);
	g->spare = -1;
	fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		book_refuse(g, REIN_WHY_LIMIT, IPPROTO_TCP, 0, "?", "", true);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(fd);
	}
	keep_spare(g);
	return -1;
}

void gate_free(struct gate *g, void *p)
{
	/* Out of memory: better lost than used again. */
	if (p && rein_grow(g->garbage, g->ngarbage, g->garbage_cap) == 0)
		g->garbage[g->ngarbage++] = p;
}

static void sweep(struct gate *g)
{
	while (g->ngarbage)
		rein_free(g->garbage[--g->ngarbage]);
}

/* --- the box's sockets --- */

static const struct {
	void (*ready)(struct gate *, struct watch *, uint32_t);
} handlers[REIN_NETFD__MAX] = {
	[REIN_NETFD_TCP4] = {flow_accept},   [REIN_NETFD_TCP6] = {flow_accept},
	[REIN_NETFD_UDP4] = {dns_udp_ready}, [REIN_NETFD_UDP6] = {dns_udp_ready},
	[REIN_NETFD_DNS4] = {dns_tcp_ready}, [REIN_NETFD_DNS6] = {dns_tcp_ready},
	[REIN_NETFD_LOG] = {log_ready},	     [REIN_NETFD_QUEUE] = {hold_ready},
	[REIN_NETFD_MAKER] = {publish_made},
};

static void take_sockets(struct gate *g, const struct rein_gate_sockets *m, const int *fds, size_t n)
{
	size_t at = 0;

	g->held = m->held;
	g->six = m->has & 1u << REIN_NETFD_TCP6;
	for (unsigned i = 0; i < REIN_NETFD__MAX; i++)
		if (m->has & 1u << i && at < n)
			gate_watch(g, &g->sockets[i], fds[at++], EPOLLIN, handlers[i].ready);
	for (; at < n && g->npublished < ARRAY_SIZE(g->published); at++) {
		g->inside[g->npublished] = m->inside[g->npublished];
		gate_watch(g, &g->published[g->npublished++], fds[at], EPOLLIN, publish_ready);
	}
	for (; at < n; at++)
		close(fds[at]);
}

static void control_ready(struct gate *g, struct watch *w, uint32_t events)
{
	union {
		char bytes[CMSG_SPACE(REIN_GATE_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct rein_gate_sockets m;
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(w->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(m)) {
		g->ended = true;
		return;
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		int fds[REIN_GATE_FDS];
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || bytes > sizeof(fds))
			continue;
		memcpy(fds, CMSG_DATA(c), bytes);
		take_sockets(g, &m, fds, bytes / sizeof(int));
	}
}

/* --- the loop --- */

/* Deadlines are coarse: a look every 20 ms while something has one, and none otherwise. */
static int patience(const struct gate *g)
{
	if (g->busy)
		return 0;
	if (g->starved)
		return 5;
	if (g->dials || g->resolver.lookups || g->book.dirty || g->keeping)
		return 20;
	return g->flows || g->holds || g->dns.conns ? 250 : -1;
}

static void tick(struct gate *g)
{
	resolver_tick(g);
	dial_tick(g);
	hold_tick(g);
	flow_tick(g);
	book_tell(g);
}

static void loop(struct gate *g)
{
	struct epoll_event v[128];
	uint64_t last = 0;

	while (!g->ended) {
		int wait = patience(g), n = epoll_wait(g->epoll, v, ARRAY_SIZE(v), wait);

		g->now_ns = rein_mono_ns();
		for (int i = 0; i < n; i++) {
			struct watch *w = v[i].data.ptr;

			/* closed by an earlier event of this round */
			if (w->fd >= 0)
				w->ready(g, w, v[i].events);
		}
		if (g->busy)
			flow_again(g);
		if (wait >= 0 && g->now_ns - last >= (uint64_t)(wait ? wait : 20) * 1000000) {
			last = g->now_ns;
			tick(g);
		}
		sweep(g);
	}
}

static bool credential_valid(const struct rein_net_credential *c)
{
	if (c->nplaces > REIN_CREDENTIAL_PLACES || c->n < REIN_CREDENTIAL_LEAST || c->n > sizeof(c->secret) ||
	    !memchr(c->name, 0, sizeof(c->name)) || !memchr(c->header, 0, sizeof(c->header)) ||
	    !memchr(c->format, 0, sizeof(c->format)))
		return false;
	for (uint32_t i = 0; i < c->nplaces; i++)
		if (!memchr(c->places[i].host, 0, sizeof(c->places[i].host)))
			return false;
	return true;
}

bool gate_config_valid(const void *memory, size_t size)
{
	const struct rein_gate_config *c = memory;
	const struct rein_net_rule *r = (const void *)(c + 1);
	const struct rein_net_credential *s;

	if (size < sizeof(*c) || c->magic != REIN_GATE_MAGIC || c->size != size ||
	    c->nrules > REIN_NET_RULES || c->npublish > REIN_NET_PUBLISH ||
	    c->ncredentials > REIN_CREDENTIALS ||
	    size != sizeof(*c) + c->nrules * sizeof(*r) + c->ncredentials * sizeof(*s) + c->roots)
		return false;
	for (uint32_t i = 0; i < c->nrules; i++)
		if (r[i].flags & ~(uint32_t)REIN_RULE_FLAGS || r[i].prefix > 128 ||
		    r[i].first > r[i].last || !memchr(r[i].name, 0, sizeof(r[i].name)) ||
		    !memchr(r[i].methods, 0, sizeof(r[i].methods)) || !memchr(r[i].paths, 0, sizeof(r[i].paths)))
			return false;
	s = (const void *)(r + c->nrules);
	for (uint32_t i = 0; i < c->ncredentials; i++)
		if (!credential_valid(&s[i]))
			return false;
	return true;
}

static int prepare(struct gate *g, int control, struct rein_err *err)
{
	struct rlimit files;

	g->rules = (const struct rein_net_rule *)(const void *)(g->config + 1);
	g->nrules = g->config->nrules;
	g->credentials = (const struct rein_net_credential *)(const void *)(g->rules + g->nrules);
	g->ncredentials = g->config->ncredentials;
	g->total.sent.budget = g->config->sent;
	g->total.all.budget = g->config->all;
	g->meters = rein_calloc(g->nrules ? g->nrules : 1, sizeof(*g->meters));
	if (!g->meters)
		return rein_err_nomem(err);
	for (size_t i = 0; i < g->nrules; i++) {
		g->meters[i].sent.budget = g->rules[i].sent;
		g->meters[i].all.budget = g->rules[i].all;
	}
	/* Two descriptors a connection, four more when it is fast. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
		setrlimit(RLIMIT_NOFILE, &files);
		g->max_flows = files.rlim_cur > 256 ? (unsigned)(files.rlim_cur - 128) / 8 : 16;
	}
	g->max_flows = g->max_flows < GATE_FLOWS ? g->max_flows : GATE_FLOWS;
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (g->epoll < 0)
		return rein_err_errno(err, "epoll");
	keep_spare(g);
	g->now_ns = rein_mono_ns();
	resolver_load(&g->resolver);
	gate_watch(g, &g->control, control, EPOLLIN, control_ready);
	if (dial_open(g, err) < 0 || inject_open(g, err) < 0 || inside_open(g, err) < 0)
		return -err->code;
	return gate_confine(err);
}

int gate_run(const struct rein_gate_config *config, int control, struct rein_err *err)
{
	struct gate *g = rein_alloc(sizeof(*g));
	int rc;

	if (!g)
		return rein_err_nomem(err);
	g->config = config;
	g->epoll = g->routes = g->spare = g->control.fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(g->sockets); i++)
		g->sockets[i].fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(g->published); i++)
		g->published[i].fd = -1;
	rc = prepare(g, control, err);
	if (rc == 0) {
		loop(g);
		book_close(g);
	}
	publish_done(g);
	dns_done(g);
	flow_done(g);
	inside_close(g);
	inject_close(g);
	hold_done(g);
	resolver_done(g);
	sweep(g);
	names_done(&g->names);
	book_done(g);
	rein_free(g->meters);
	rein_free(g->garbage);
	for (size_t i = 0; i < ARRAY_SIZE(g->sockets); i++)
		gate_close(g, &g->sockets[i]);
	for (size_t i = 0; i < g->npublished; i++)
		gate_close(g, &g->published[i]);
	rein_closep_(&g->routes);
	rein_closep_(&g->spare);
	if (g->epoll >= 0)
		close(g->epoll);
	rein_free(g);
	return rc;
}
