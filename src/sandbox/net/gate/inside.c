/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking into TLS, where a rule says so: the connection ends here and another one begins, so that
 *what flows through the lanes between them is plain HTTP and judged as such. The server comes
 *first: a program is answered only after the real host has proved to be the one it asked for.
 *
 *	hello read (inspect) -> SHAKE: outer handshake -> inner handshake -> HEAD
 */
#include "sandbox/net/gate/gate.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/module.h"

#define SHAKE_NS (20 * REIN_NS_PER_S)

static int tell(const struct gate *g, uint32_t kind, const char *text, size_t n)
{
	struct rein_gate_event e = {.kind = kind};

	if (n >= sizeof(e.text))
		n = sizeof(e.text) - 1;
	memcpy(e.text, text, n);
	return send(g->control.fd, &e, sizeof(e), MSG_NOSIGNAL) == (ssize_t)sizeof(e) ? 0 : -1;
}

static int open_authority(struct gate *g, struct rein_err *err)
{
	char pem[sizeof(((struct rein_gate_event *)NULL)->text)];
	size_t n;

	g->tls.ops = sys_module(REIN_TLSIO_MODULE, REIN_TLSIO_SYMBOL, REIN_TLSIO_ABI, err);
	if (!g->tls.ops)
		return rein_err_prefix(err, "looking into TLS");
	g->tls.authority = g->tls.ops->open(err);
	if (!g->tls.authority)
		return -err->code;
	n = g->tls.ops->certificate(g->tls.authority, pem, sizeof(pem));
	/* rein waits for it; the rest is done while the box is built */
	if (!n || tell(g, REIN_GATE_CERTIFICATE, pem, n) < 0)
		return rein_err_set(err, REIN_E_FAILED, "hand out the box's certificate");
	return 0;
}

int inside_open(struct gate *g, struct rein_err *err)
{
	const char *roots = (const char *)(g->credentials + g->ncredentials);

	if (!g->config->inspect)
		return 0;
	if (open_authority(g, err) < 0) {
		tell(g, REIN_GATE_FAILED, err->msg, strlen(err->msg));
		return -err->code;
	}
	/* Without any every server is refused, and told why. */
	if (g->tls.ops->trust(g->tls.authority, roots, g->config->roots, err) < 0)
		*err = (struct rein_err){0};
	return 0;
}

void inside_close(struct gate *g)
{
	if (g->tls.authority)
		g->tls.ops->close(g->tls.authority);
}

void inside_begin(struct gate *g, struct flow *f)
{
	const struct rein_tlsio_ops *ops = g->tls.ops;

	if (!g->tls.authority) {
		flow_refuse(g, f, REIN_WHY_OPAQUE, "");
		return;
	}
	f->outer = ops->connect(g->tls.authority, f->server.fd, f->name->text);
	f->inner = ops->accept(g->tls.authority, f->client.fd, f->name->text, f->up.buf + f->up.at,
			       f->up.n - f->up.at);
	if (!f->outer || !f->inner) {
		flow_refuse(g, f, REIN_WHY_LIMIT, "");
		return;
	}
	f->up.at = f->up.n = f->up.clear = 0;
	f->look = LOOK_SHAKE;
	f->look_ns = g->now_ns + SHAKE_NS;
}

void inside_end(struct gate *g, struct flow *f)
{
	if (!g->tls.ops)
		return;
	g->tls.ops->free(take_ptr(f->inner));
	g->tls.ops->free(take_ptr(f->outer));
}

bool inside_shake(struct gate *g, struct flow *f)
{
	const struct rein_tlsio_ops *ops = g->tls.ops;
	int rc = f->proven ? 1 : ops->handshake(f->outer);

	if (rc < 0) {
		flow_refuse(g, f, REIN_WHY_CERTIFICATE, ops->why(f->outer));
		return false;
	}
	if (rc == 0)
		return false;
	f->proven = true;
	rc = ops->handshake(f->inner);
	if (rc < 0) {
		flow_refuse(g, f, REIN_WHY_HANDSHAKE, ops->why(f->inner));
		return false;
	}
	if (rc == 0)
		return false;
	f->look = LOOK_HEAD;
	f->look_ns = 0;
	return true;
}
