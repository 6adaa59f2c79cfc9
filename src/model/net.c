/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the reasons, and the end of a report. */
#include "model/net.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"

static const struct {
	const char *wire, *text;
} reasons[REIN_WHY__MAX] = {
#define WHY(name, wire, text) [REIN_WHY_##name] = {wire, text},
#include "model/netwhy.def"
#undef WHY
};

void rein_net_remedy(const struct rein_net_refusal *x, char *to, size_t max)
{
	bool six = strchr(x->name, ':');
	char name[REIN_NET_NAME + 2];

	snprintf(name, sizeof(name), "%s%s%s", six ? "[" : "", x->name, six ? "]" : "");
	to[0] = 0;
	switch (x->why) {
	case REIN_WHY_NO_RULE:
	case REIN_WHY_PORT:
	case REIN_WHY_NO_NAME:
		if (x->port && x->port != 80 && x->port != 443)
			snprintf(to, max, "--allow-host %s:%u", name, x->port);
		else
			snprintf(to, max, "--allow-host %s", x->name);
		break;
	case REIN_WHY_ADDRESS:
		if (x->detail[0])
			snprintf(to, max, "--allow-host %s", x->detail);
		break;
	case REIN_WHY_REQUEST: /* detail is "METHOD PATH" */
		if (strchr(x->detail, ' ') && !strpbrk(x->detail, ",*"))
			snprintf(to, max, "--allow-host %s:%u%s,methods=%.*s,path=%s", name, x->port,
				 x->port == 80 ? "" : ",inspect", (int)strcspn(x->detail, " "), x->detail,
				 strchr(x->detail, ' ') + 1);
		break;
	case REIN_WHY_SNI:
	case REIN_WHY_HOST:
	case REIN_WHY_NO_SNI:
	case REIN_WHY_NOT_TLS:
	case REIN_WHY_NOT_HTTP:
		snprintf(to, max, "--allow-host %s:%u,raw", name, x->port);
		break;
	default:
		break;
	}
}

bool rein_budget_parse(const char *text, struct rein_net_budget *ret)
{
	char size[32];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	struct rein_net_budget b = {0};

	if (n >= sizeof(size))
		return false;
	memcpy(size, text, n);
	size[n] = 0;
	if (!rein_parse_size(size, &b.bytes) || !b.bytes ||
	    (slash && (!rein_parse_duration(slash + 1, &b.window_ns) || !b.window_ns)))
		return false;
	*ret = b;
	return true;
}

const char *rein_net_why_name(uint32_t why)
{
	return reasons[why < REIN_WHY__MAX ? why : REIN_WHY_OTHER].wire;
}

const char *rein_net_why_text(uint32_t why)
{
	return reasons[why < REIN_WHY__MAX ? why : REIN_WHY_OTHER].text;
}

static bool is_address(const char *name)
{
	struct in6_addr ignored;

	return inet_pton(AF_INET, name, &ignored) == 1 || inet_pton(AF_INET6, name, &ignored) == 1;
}

bool rein_net_refusal_is_violation(const struct rein_net_refusal *x)
{
	size_t n = strlen(x->name);

	switch (x->why) {
	case REIN_WHY_OTHER:
	case REIN_WHY_SLOW:
	case REIN_WHY_LIMIT:
	case REIN_WHY_CERTIFICATE: /* the server's fault */
	case REIN_WHY_HANDSHAKE:
		return false;
	case REIN_WHY_PROTOCOL:
		return is_address(x->name);
	case REIN_WHY_SOCKET:
		return rein_streq(x->name, "vsock") || rein_streq(x->name, "packet");
	default:
		return n < 5 || !rein_streq(x->name + n - 5, ".arpa");
	}
}

void rein_net_report_refusal(struct rein_net_report *r, const struct rein_net_refusal *more)
{
	r->refused += more->count;
	for (size_t i = 0; i < r->nrefusals; i++) {
		struct rein_net_refusal *x = &r->refusals[i];

		if (x->why == more->why && x->protocol == more->protocol && x->port == more->port &&
		    rein_streq(x->name, more->name)) {
			x->count += more->count;
			return;
		}
	}
	if (r->nrefusals == REIN_NET_LISTED || rein_grow(r->refusals, r->nrefusals, r->refusals_cap) < 0)
		r->dropped += more->count;
	else
		r->refusals[r->nrefusals++] = *more;
}

bool rein_net_report_is_first(const struct rein_net_report *r, size_t i)
{
	if (!rein_net_refusal_is_violation(&r->refusals[i]))
		return false;
	/* what is none must not hide one behind it */
	for (size_t k = 0; k < i; k++)
		if (rein_net_refusal_is_violation(&r->refusals[k]) && r->refusals[k].port == r->refusals[i].port &&
		    rein_streq(r->refusals[k].name, r->refusals[i].name))
			return false;
	return true;
}

void rein_net_report_host(struct rein_net_report *r, const struct rein_net_host *more)
{
	for (size_t i = 0; i < r->nhosts; i++) {
		struct rein_net_host *x = &r->hosts[i];

		if (x->port == more->port && rein_streq(x->name, more->name)) {
			x->connections += more->connections;
			x->secrets += more->secrets;
			x->sent += more->sent;
			x->received += more->received;
			return;
		}
	}
	if (r->nhosts < REIN_NET_LISTED && rein_grow(r->hosts, r->nhosts, r->hosts_cap) == 0)
		r->hosts[r->nhosts++] = *more;
}

void rein_net_report_add(struct rein_net_report *r, const struct rein_net_report *more)
{
	for (size_t i = 0; i < more->nrefusals; i++)
		rein_net_report_refusal(r, &more->refusals[i]);
	for (size_t i = 0; i < more->nhosts; i++)
		rein_net_report_host(r, &more->hosts[i]);
	r->sent += more->sent;
	r->received += more->received;
	r->connections += more->connections;
	r->refused += more->dropped;
	r->dropped += more->dropped;
	r->noway += more->noway;
	r->held |= more->held;
}

void rein_net_report_done(struct rein_net_report *r)
{
	rein_free(r->refusals);
	rein_free(r->hosts);
	*r = (struct rein_net_report){0};
}
