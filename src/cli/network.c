/* SPDX-License-Identifier: Apache-2.0 */
/* See network.h. */
#include "cli/network.h"

#include <netinet/in.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/ui.h"
#include "sandbox/net/rule.h"
#include "sandbox/net/start.h"

#define SHOWN 8 /* refusals, without -v */

static const enum rein_net modes[] = {REIN_NET_NONE, REIN_NET_RESTRICTED, REIN_NET_OPEN, REIN_NET_HOST};

static const struct {
	const char *name, *text;
} words[] = {
	[REIN_NET_NONE] = {"none", "none"},
	[REIN_NET_HOST] = {"host", "of the host"},
	[REIN_NET_RESTRICTED] = {"restricted", "restricted to what was allowed"},
	[REIN_NET_OPEN] = {"open", "open, through the gate"},
};

const char *rein_net_mode_text(enum rein_net net)
{
	return words[net].text;
}

/* --allow-host alone means restricted. */
static int choose_mode(const struct rein_net_args *a, enum rein_net *ret, struct rein_err *err)
{
	bool rules = a->allow.n || a->sent || a->all || a->rate;
	enum rein_net net = a->mode ? modes[a->mode - 1] : rules ? REIN_NET_RESTRICTED : REIN_NET_NONE;

	if (rules && (net == REIN_NET_NONE || net == REIN_NET_HOST))
		return rein_err_set(err, REIN_E_USAGE,
				    "--net %s has no gate that could keep rules; use --net restricted or open",
				    words[net].name);
	if (a->publish.n && net == REIN_NET_HOST)
		return rein_err_set(err, REIN_E_USAGE,
				    "with --net host the command's ports are this machine's: nothing to publish");
	*ret = net;
	return 0;
}

static int budget(const char *option, const char *text, struct rein_net_budget *ret, struct rein_err *err)
{
	if (!text || rein_budget_parse(text, ret))
		return 0;
	return rein_err_set(err, REIN_E_USAGE, "%s '%s': wanted SIZE or SIZE/DURATION, as in 10M or 100M/1h",
			    option, text);
}

int rein_net_args_fill(struct rein_net_args *a, struct rein_run_opts *o, struct rein_err *err)
{
	struct rein_net_policy p = {.rate = a->rate, .nrules = a->allow.n, .npublish = a->publish.n};

	if (choose_mode(a, &o->net, err) < 0 || budget("--net-up", a->sent, &p.sent, err) < 0 ||
	    budget("--net-max", a->all, &p.all, err) < 0)
		return -err->code;
	if (a->allow.n > REIN_NET_RULES || a->publish.n > REIN_NET_PUBLISH)
		return rein_err_set(err, REIN_E_USAGE, "at most %d --allow-host and %d --publish",
				    REIN_NET_RULES, REIN_NET_PUBLISH);
	a->rules = rein_calloc(a->allow.n + 1, sizeof(*a->rules));
	a->ports = rein_calloc(a->publish.n + 1, sizeof(*a->ports));
	if (!a->rules || !a->ports)
		return rein_err_nomem(err);
	for (size_t i = 0; i < a->allow.n; i++) {
		if (rein_rule_parse(a->allow.v[i], &a->rules[i], err) < 0)
			return -err->code;
		if (rein_rule_is_own(&a->rules[i], err) < 0)
			return rein_err_prefix(err, "--allow-host '%s'", a->allow.v[i]);
	}
	for (size_t i = 0; i < a->publish.n; i++)
		if (rein_publish_parse(a->publish.v[i], &a->ports[i], err) < 0)
			return -err->code;
	for (size_t i = 0; i < a->sockets.n; i++)
		if (a->sockets.v[i][0] != '/')
			return rein_err_set(err, REIN_E_USAGE, "--allow-socket '%s': give the whole path",
					    a->sockets.v[i]);
	p.rules = a->rules;
	p.publish = a->ports;
	if (rein_gate_ports_free(&p, err) < 0)
		return -err->code;
	o->network = p;
	o->net_chosen = a->mode || a->allow.n;
	o->sockets = a->sockets;
	o->credentials = a->credentials;
	return 0;
}

void rein_net_args_done(struct rein_net_args *a)
{
	rein_strlist_done(&a->allow);
	rein_strlist_done(&a->publish);
	rein_strlist_done(&a->sockets);
	rein_strlist_done(&a->credentials);
	rein_free(a->rules);
	rein_free(a->ports);
}

void rein_net_announce(const struct rein_run_opts *o)
{
	struct rein_err note = {0};

	if (o->net == REIN_NET_HOST)
		rein_say("the command shares the host's network: what it sends cannot be undone");
	for (size_t i = 0; i < o->network.nrules; i++)
		if (rein_rule_is_own(&o->network.rules[i], &note) > 0)
			rein_say("%s", note.msg);
	for (size_t i = 0; i < o->network.npublish; i++)
		rein_say("port %u of this machine leads to port %u of the box",
			 o->network.publish[i].host, o->network.publish[i].inside);
}

static const char *protocol(uint32_t p)
{
	return p == 0 ? "name" : p == IPPROTO_TCP ? "tcp" : p == IPPROTO_UDP ? "udp" : p == IPPROTO_ICMP ? "icmp" : "other";
}

/* "example.org:443 (its name leads to ...: 10.0.0.1)" and what to type to have it. */
static void print_refusal(const struct rein_net_refusal *r)
{
	char port[16] = "", times[24] = "";

	if (r->port)
		snprintf(port, sizeof(port), ":%u", r->port);
	if (r->count > 1)
		snprintf(times, sizeof(times), ", %u times", r->count);
	rein_more("refused %s%s%s%s: %s%s%s%s%s", rein_ui_path(r->name), port,
		  r->protocol && r->protocol != IPPROTO_TCP ? "/" : "",
		  r->protocol && r->protocol != IPPROTO_TCP ? protocol(r->protocol) : "",
		  rein_net_why_text(r->why), r->detail[0] ? " (" : "",
		  r->detail[0] ? rein_ui_path(r->detail) : "", r->detail[0] ? ")" : "", times);
}

void rein_net_print(const struct rein_net_report *r, const struct rein_run_opts *o, bool verbose)
{
	size_t shown = r->nrefusals < SHOWN || verbose ? r->nrefusals : SHOWN;

	if (o->net == REIN_NET_HOST)
		rein_more("the network was open (--net host): what was sent cannot be undone");
	else if (r->sent)
		rein_more("sent %s to %s host%s, received %s: what was sent cannot be undone",
			  rein_ui_bytes(r->sent), rein_ui_count(r->nhosts), r->nhosts == 1 ? "" : "s",
			  rein_ui_bytes(r->received));
	if (r->noway)
		rein_more("it looked for a network, and the box has none: --allow-host NAME opens one host, --net open all");
	for (size_t i = 0; verbose && i < r->nhosts; i++)
		rein_more("  %s:%u, %s connection%s, sent %s, received %s", rein_ui_path(r->hosts[i].name),
			  r->hosts[i].port, rein_ui_count(r->hosts[i].connections),
			  r->hosts[i].connections == 1 ? "" : "s", rein_ui_bytes(r->hosts[i].sent),
			  rein_ui_bytes(r->hosts[i].received));
	for (size_t i = 0; i < shown; i++)
		print_refusal(&r->refusals[i]);
	if (shown < r->nrefusals || r->dropped)
		rein_more("and %s more refusals", rein_ui_count(r->nrefusals - shown + r->dropped));
	for (size_t i = 0; i < shown; i++) {
		char text[600];

		rein_rule_remedy(&r->refusals[i], text, sizeof(text));
		if (!*text)
			continue;
		rein_more("to allow: %s", rein_ui_path(text));
		break;
	}
}

static void json_refusal(struct rein_json *j, const struct rein_net_refusal *x)
{
	char text[600];

	rein_json_open(j, '{');
	rein_json_kstr(j, "name", x->name);
	rein_json_ku64(j, "port", x->port);
	rein_json_kstr(j, "protocol", protocol(x->protocol));
	rein_json_kstr(j, "why", rein_net_why_name(x->why));
	rein_json_kstr(j, "message", rein_net_why_text(x->why));
	rein_json_kstr(j, "detail", x->detail);
	rein_rule_remedy(x, text, sizeof(text));
	rein_json_kstr(j, "ask", text);
	rein_json_kstr(j, "severity", "medium");
	rein_json_ku64(j, "count", x->count);
	rein_json_close(j, '}');
}

void rein_net_json(struct rein_json *j, const struct rein_net_report *r, enum rein_net net)
{
	rein_json_key(j, "network");
	rein_json_open(j, '{');
	rein_json_kstr(j, "mode", words[net].name);
	rein_json_ku64(j, "sent_bytes", r->sent);
	rein_json_ku64(j, "received_bytes", r->received);
	rein_json_ku64(j, "connections", r->connections);
	rein_json_ku64(j, "refused", r->refused);
	rein_json_ku64(j, "looked_for", r->noway);
	rein_json_key(j, "hosts");
	rein_json_open(j, '[');
	for (size_t i = 0; i < r->nhosts; i++) {
		rein_json_open(j, '{');
		rein_json_kstr(j, "name", r->hosts[i].name);
		rein_json_ku64(j, "port", r->hosts[i].port);
		rein_json_ku64(j, "connections", r->hosts[i].connections);
		rein_json_ku64(j, "sent_bytes", r->hosts[i].sent);
		rein_json_ku64(j, "received_bytes", r->hosts[i].received);
		rein_json_ku64(j, "credentials", r->hosts[i].secrets);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
	rein_json_key(j, "refusals");
	rein_json_open(j, '[');
	for (size_t i = 0; i < r->nrefusals; i++)
		json_refusal(j, &r->refusals[i]);
	rein_json_close(j, ']');
	rein_json_close(j, '}');
}
