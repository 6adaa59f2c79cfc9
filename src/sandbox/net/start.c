/* SPDX-License-Identifier: Apache-2.0 */
/* See start.h. */
#include "sandbox/net/start.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/net/roots.h"
#include "sys/passfd.h"
#include "sys/sys.h"

#define FIRST_FREE 10 /* above the numbers the gate expects its descriptors at */
#define BACKLOG 4096 /* of a published port: whom the kernel has no place for believes to be connected, and waits for ever */
#define GOODBYE_MS 3000
#define PATIENCE_MS 10000 /* for a certificate: milliseconds, on a machine that has time */

bool rein_gate_wanted(const struct rein_box_spec *spec)
{
	return spec->net == REIN_NET_RESTRICTED || spec->net == REIN_NET_OPEN ||
	       (spec->net == REIN_NET_NONE && spec->network.npublish);
}

bool rein_gate_inspects(const struct rein_net_policy *p)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (p->rules[i].flags & REIN_RULE_INSPECT)
			return true;
	return p->ncredentials;
}

/* --- the configuration --- */

static const struct rein_net_rule anything[] = {
	{.first = 1, .last = 65535, .name = "*"},
	{.first = 1, .last = 65535, .flags = REIN_RULE_ADDRESS},
};

static int write_all(int fd, const void *p, size_t n, struct rein_err *err)
{
	if (n && write(fd, p, n) != (ssize_t)n)
		return rein_err_errno(err, "write the gate's configuration");
	return 0;
}

static int seal(const struct rein_box_spec *spec, const struct rein_buf *roots, int *ret, struct rein_err *err)
{
	const struct rein_net_policy *p = &spec->network;
	auto_close int fd = memfd_create("rein-gate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t extra = spec->net == REIN_NET_OPEN && !p->complete ? ARRAY_SIZE(anything) : 0;
	struct rein_gate_config c = {.magic = REIN_GATE_MAGIC,
				     .nrules = (uint32_t)(p->nrules + extra),
				     .npublish = (uint32_t)p->npublish,
				     .sent = p->sent,
				     .all = p->all,
				     .rate = p->rate,
				     .ncredentials = (uint32_t)p->ncredentials,
				     .inspect = rein_gate_inspects(p),
				     .roots = (uint32_t)roots->n};

	if (p->nrules + extra > REIN_NET_RULES)
		return rein_err_set(err, REIN_E_LIMIT, "more than %u host rules",
				    (unsigned)(REIN_NET_RULES - extra));
	c.size = (uint32_t)(sizeof(c) + c.nrules * sizeof(*p->rules) + c.ncredentials * sizeof(*p->credentials) +
			    c.roots);
	if (fd < 0)
		return rein_err_errno(err, "memfd for the gate");
	if (write_all(fd, &c, sizeof(c), err) < 0 ||
	    write_all(fd, p->rules, p->nrules * sizeof(*p->rules), err) < 0 ||
	    write_all(fd, anything, extra * sizeof(*anything), err) < 0 ||
	    write_all(fd, p->credentials, p->ncredentials * sizeof(*p->credentials), err) < 0 ||
	    write_all(fd, roots->p, roots->n, err) < 0)
		return -err->code;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return rein_err_errno(err, "seal the gate's configuration");
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
	return *ret < 0 ? rein_err_errno(err, "keep the gate's configuration") : 0;
}

/* --- published ports --- */

static int listen_on(int family, uint16_t port)
{
	auto_close int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
	    (family == AF_INET ? bind(fd, (struct sockaddr *)&four, sizeof(four))
			       : bind(fd, (struct sockaddr *)&six, sizeof(six))) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -1;
	return take_fd(&fd);
}

static int publish(struct rein_gate *g, const struct rein_net_policy *p, struct rein_err *err)
{
	if (p->npublish > REIN_NET_PUBLISH)
		return rein_err_set(err, REIN_E_LIMIT, "more than %d published ports", REIN_NET_PUBLISH);
	for (size_t i = 0; i < p->npublish; i++) {
		int fd = listen_on(AF_INET, p->publish[i].host);

		if (fd < 0)
			return rein_err_errno(err, "publish port %u of this machine (another: --publish PORT:%u)",
					      p->publish[i].host, p->publish[i].inside);
		g->inside[g->npublished] = p->publish[i].inside;
		g->published[g->npublished++] = fd;
		fd = listen_on(AF_INET6, p->publish[i].host);
		if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
			continue; /* a machine without IPv6 */
		/* "localhost" is both: with one of them somebody else's, it would lead to him or to us */
		if (fd < 0)
			return rein_err_errno(err, "publish port %u of this machine, at ::1 (another: --publish PORT:%u)",
					      p->publish[i].host, p->publish[i].inside);
		g->inside[g->npublished] = p->publish[i].inside;
		g->published[g->npublished++] = fd;
	}
	return 0;
}

static void unpublish(struct rein_gate *g)
{
	while (g->npublished)
		close(g->published[--g->npublished]);
}

int rein_gate_ports_free(const struct rein_net_policy *p, struct rein_err *err)
{
	struct rein_gate g = REIN_GATE_INIT;
	int rc = publish(&g, p, err);

	unpublish(&g);
	return rc;
}

/* --- the process --- */

static char *beside(const char *box_program)
{
	const char *slash = strrchr(box_program, '/');

	return rein_asprintf("%.*srein-gate", slash ? (int)(slash + 1 - box_program) : 0, box_program);
}

static int spawn(const char *program, int config, int control, pid_t *ret)
{
	static char *const argv[] = {(char *)(uintptr_t) "rein-gate", NULL}, *const envp[] = {NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	/* None of the command's streams may stay open because of it, and no terminal reaches it. */
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&files, config, REIN_GATE_CONFIG_FD);
	posix_spawn_file_actions_adddup2(&files, control, REIN_GATE_CONTROL_FD);
	posix_spawn_file_actions_addclosefrom_np(&files, REIN_GATE_CONTROL_FD + 1);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawn(ret, program, &files, &attributes, argv, envp);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return rc;
}

/* Its first word: the certificate of the box, or why there is none. */
static int take_certificate(struct rein_gate *g, struct rein_buf *roots, struct rein_err *err)
{
	struct pollfd p = {.fd = g->control, .events = POLLIN};
	struct rein_gate_event e;

	while (poll(&p, 1, PATIENCE_MS) < 0 && errno == EINTR)
		;
	if (recv(g->control, &e, sizeof(e), MSG_DONTWAIT) != (ssize_t)sizeof(e))
		return rein_err_set(err, REIN_E_FAILED, "the gate did not begin to look into TLS");
	e.text[sizeof(e.text) - 1] = 0;
	if (e.kind != REIN_GATE_CERTIFICATE)
		return rein_err_set(err, REIN_E_UNSUPPORTED, "%.200s", e.kind == REIN_GATE_FAILED ? e.text : "the gate failed");
	rein_buf_add(roots, e.text, strlen(e.text));
	if (roots->failed)
		return rein_err_nomem(err);
	g->bundle = rein_buf_take(roots);
	return 0;
}

int rein_gate_start(const struct rein_box_spec *spec, const char *box_program, struct rein_gate *ret,
		    struct rein_err *err)
{
	auto_free char *program = beside(box_program);
	auto_buf struct rein_buf roots = REIN_BUF(REIN_ROOTS_MAX);
	bool inspects = rein_gate_inspects(&spec->network);
	auto_close int config = -1, theirs = -1, ours = -1;
	int pair[2], rc;
	pid_t pid;

	if (!program)
		return rein_err_nomem(err);
	if (inspects && rein_roots_read(&roots, err) < 0)
		return -err->code;
	if (publish(ret, &spec->network, err) < 0 || seal(spec, &roots, &config, err) < 0)
		return -err->code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rein_err_errno(err, "socket to the gate");
	ours = pair[0];
	theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, FIRST_FREE);
	close(pair[1]);
	if (theirs < 0)
		return rein_err_errno(err, "socket to the gate");
	rc = spawn(program, config, theirs, &pid);
	if (rc) {
		errno = rc;
		return rein_err_errno(err, "start '%s'", program);
	}
	ret->pidfd = sys_pidfd_open(pid, 0);
	if (ret->pidfd < 0) {
		rein_err_errno(err, "watch the gate");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -err->code;
	}
	ret->control = take_fd(&ours);
	rein_closep_(&theirs); /* else its end would not be heard */
	theirs = -1;
	return inspects ? take_certificate(ret, &roots, err) : 0;
}

int rein_gate_attach(struct rein_gate *g, uint32_t has, bool held, const int *fds, size_t n,
		     struct rein_err *err)
{
	struct rein_gate_sockets m = {.has = has, .held = held, .npublish = g->npublished};
	int all[REIN_GATE_FDS];

	_Static_assert(REIN_GATE_FDS <= REIN_FDS_MAX, "in one message");
	if (n > REIN_NETFD__MAX)
		return rein_err_set(err, REIN_E_FAILED, "too many sockets from the box");
	memcpy(all, fds, n * sizeof(int));
	memcpy(all + n, g->published, g->npublished * sizeof(int));
	memcpy(m.inside, g->inside, sizeof(m.inside));
	g->report.held = held;
	if (rein_fds_send(g->control, &m, sizeof(m), all, (unsigned)n + g->npublished, 0) != (ssize_t)sizeof(m))
		return rein_err_errno(err, "give the gate its sockets");
	unpublish(g);
	return 0;
}

/* --- what it tells --- */

static void take_event(struct rein_gate *g, struct rein_gate_event *e)
{
	struct rein_net_report *r = &g->report;

	e->refusal.name[REIN_NET_NAME - 1] = e->refusal.detail[REIN_NET_NAME - 1] = 0;
	switch (e->kind) {
	case REIN_GATE_REFUSED:
		rein_net_report_refusal(r, &e->refusal);
		break;
	case REIN_GATE_HOST:
		e->host.name[REIN_NET_NAME - 1] = 0;
		rein_net_report_host(r, &e->host);
		break;
	case REIN_GATE_TOTAL:
		r->sent += e->host.sent;
		r->received += e->host.received;
		r->connections += e->host.connections;
		r->refused += e->dropped;
		r->dropped += e->dropped;
		break;
	default:
		break;
	}
}

bool rein_gate_read(struct rein_gate *g)
{
	struct rein_gate_event e;
	ssize_t n;

	if (g->control < 0)
		return false;
	while ((n = recv(g->control, &e, sizeof(e), MSG_DONTWAIT)) == (ssize_t)sizeof(e))
		take_event(g, &e);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

bool rein_gate_hear(struct rein_gate *g, const struct rein_box_watch *w, bool over)
{
	const struct rein_net_report *r = &g->report;
	bool alive = rein_gate_read(g);

	for (; g->told < r->nrefusals; g->told++)
		if (w && rein_net_report_is_first(r, g->told))
			w->refused(w->arg, &r->refusals[g->told], over);
	return alive;
}

void rein_gate_end(struct rein_gate *g)
{
	uint64_t until = rein_mono_ns() + GOODBYE_MS * 1000000ull;
	siginfo_t si;

	unpublish(g);
	if (g->control >= 0) {
		struct pollfd p = {.fd = g->control, .events = POLLIN};

		shutdown(g->control, SHUT_WR);
		while (rein_gate_read(g) && rein_mono_ns() < until)
			poll(&p, 1, 100);
	}
	if (g->pidfd >= 0) {
		/* It has said goodbye, or it never will. */
		sys_pidfd_send_signal(g->pidfd, SIGKILL);
		while (sys_waitid(P_PIDFD, (id_t)g->pidfd, &si, WEXITED, NULL) < 0 && errno == EINTR)
			;
	}
	rein_free(take_ptr(g->bundle));
	rein_closep_(&g->control);
	rein_closep_(&g->pidfd);
	g->control = g->pidfd = -1;
}
