/* SPDX-License-Identifier: Apache-2.0 */
/* See network.h. */
#include "engine/network.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/str.h"
#include "engine/credentials.h"
#include "engine/live.h"
#include "sandbox/net/rule.h"
#include "sandbox/net/start.h"

const char *rein_network_name(enum rein_net net)
{
	static const char *const names[] = {
		[REIN_NET_NONE] = "none",
		[REIN_NET_HOST] = "host",
		[REIN_NET_RESTRICTED] = "restricted",
		[REIN_NET_OPEN] = "open",
	};

	return names[net];
}

/* Rules as they are collected; they stay the run's. */
struct rules {
	struct rein_net_rule *v;
	size_t n, cap;
};

static int add(struct rules *to, const struct rein_net_rule *rule, struct rein_err *err)
{
	if (to->n == REIN_NET_RULES)
		return rein_err_set(
			err, REIN_E_LIMIT,
			"more than %d host rules, the policy's and --allow-host together",
			REIN_NET_RULES);
	if (rein_grow(to->v, to->n, to->cap) < 0)
		return rein_err_nomem(err);
	to->v[to->n++] = *rule;
	return 0;
}

/* One rule a port that the section names, for a rule that names none of its own. */
static int add_at_ports(struct rules *to, struct rein_net_rule *rule,
			const struct rein_policy_list *ports, struct rein_err *err)
{
	if (rule->first || !ports->n)
		return add(to, rule, err);
	for (size_t i = 0; i < ports->n; i++) {
		struct rein_net_rule one = *rule;

		if (!rein_ports_parse(ports->v[i], &one.first, &one.last))
			return rein_err_set(err, REIN_E_INVALID, "'%s' is no port", ports->v[i]);
		if (add(to, &one, err) < 0)
			return -err->code;
	}
	return 0;
}

/* Denied is a host at every port, unless ports are named with it. */
static int add_denied(struct rules *to, const struct rein_policy_settings *s, struct rein_err *err)
{
	for (size_t i = 0; i < s->blocked_hosts.n; i++) {
		struct rein_net_rule r;

		if (rein_rule_parse(s->blocked_hosts.v[i], &r, err) < 0)
			return -err->code;
		r.flags = (r.flags & (REIN_RULE_ADDRESS | REIN_RULE_SIX)) | REIN_RULE_DENY;
		if (!r.first) {
			r.first = 1;
			r.last = 65535;
		}
		if (add(to, &r, err) < 0)
			return -err->code;
	}
	return 0;
}

static int add_allowed(struct rules *to, const struct rein_policy_settings *s, struct rein_err *err)
{
	for (size_t i = 0; i < s->hosts.n; i++) {
		struct rein_net_rule r;

		if (rein_rule_parse(s->hosts.v[i], &r, err) < 0 ||
		    add_at_ports(to, &r, &s->ports, err) < 0)
			return -err->code;
	}
	return 0;
}

/* Open, but only at the ports that are named. */
static int add_open(struct rules *to, const struct rein_policy_settings *s, struct rein_err *err)
{
	struct rein_net_rule name = {.name = "*"}, address = {.flags = REIN_RULE_ADDRESS};

	if (add_at_ports(to, &name, &s->ports, err) < 0 ||
	    add_at_ports(to, &address, &s->ports, err) < 0)
		return -err->code;
	return 0;
}

static int collect(const struct rein_run_opts *o, const struct rein_policy_settings *s,
		   enum rein_net net, struct rules *to, struct rein_err *err)
{
	if (add_denied(to, s, err) < 0)
		return -err->code;
	for (size_t i = 0; i < o->network.nrules; i++)
		if (add(to, &o->network.rules[i], err) < 0)
			return -err->code;
	if (add_allowed(to, s, err) < 0)
		return -err->code;
	return net == REIN_NET_OPEN && s->ports.n ? add_open(to, s, err) : 0;
}

int rein_network_word(const char *key, const char *word, struct rein_err *err)
{
	struct rein_net_rule rule;
	uint16_t first, last;

	if (rein_streq(key, "credentials"))
		return rein_credentials_word(word, err);
	if (!rein_streq(key, "ports")) {
		int own, rc = rein_rule_parse(word, &rule, err);

		if (rc < 0 || !rein_streq(key, "allow"))
			return rc;
		own = rein_rule_is_own(&rule, err);
		if (own)
			rein_err_prefix(err, "'%s'", word);
		return own;
	}
	return rein_ports_parse(word, &first, &last)
		       ? 0
		       : rein_err_set(err, REIN_E_INVALID,
				      "'%s' is no port, \"FIRST-LAST\" or \"*\"", word);
}

static enum rein_net choose(const struct rein_run_opts *o, const struct rein_policy_settings *s)
{
	static const enum rein_net modes[] = {
		[REIN_POLICY_NET_NONE] = REIN_NET_NONE,
		[REIN_POLICY_NET_RESTRICTED] = REIN_NET_RESTRICTED,
		[REIN_POLICY_NET_OPEN] = REIN_NET_OPEN,
	};

	return o->net_chosen || s->net == REIN_POLICY_NET_NONE ? o->net : modes[s->net];
}

/*
 * So that both are kept: the smaller number, in the longer time. 0 bytes is no limit, and a time of 0
 * the whole run.
 */
static void tighten(struct rein_net_budget *to, const struct rein_net_budget *by)
{
	if (!by->bytes)
		return;
	if (!to->bytes) {
		*to = *by;
		return;
	}
	if (by->bytes < to->bytes)
		to->bytes = by->bytes;
	if (!by->window_ns || (to->window_ns && by->window_ns > to->window_ns))
		to->window_ns = by->window_ns;
}

/* Whoever writes the command line may lower what others set, and has the last word only about himself. */
static void join_budget(struct rein_net_budget *to, const struct rein_net_budget *policy, bool own)
{
	if (!to->bytes || !own)
		tighten(to, policy);
}

/* What only a gate could keep, or NULL. */
static const char *needs_gate(const struct rein_policy_settings *s, const struct rein_policy_limits *limits)
{
	return s->blocked_hosts.n      ? "network.deny"
	       : limits->egress_bytes  ? "limits.egress"
	       : s->net_sent.bytes     ? "network.up"
	       : s->net_all.bytes      ? "network.max"
	       : s->net_rate	       ? "network.rate"
				       : NULL;
}

static int join_volumes(const struct rein_run_opts *o, const struct rein_run *r,
			struct rein_net_policy *to, struct rein_err *err)
{
	const struct rein_policy_settings *s = &r->settings;
	struct rein_policy_limits limits = s->limits;
	struct rein_net_budget egress = {0};
	const char *kept;

	/* one that is not there is told of later */
	if (o->profile)
		rein_policy_profile(r->policy, o->profile, &limits);
	kept = needs_gate(s, &limits);
	if (r->net == REIN_NET_HOST && kept)
		return rein_err_set(
			err, REIN_E_DENIED,
			"--net host has no gate that could keep the policy's %s; use --net open", kept);
	join_budget(&to->all, &s->net_all, s->net_own_all);
	join_budget(&to->sent, &s->net_sent, s->net_own_sent);
	if (s->net_rate && (!to->rate || (!s->net_own_rate && s->net_rate < to->rate)))
		to->rate = s->net_rate;
	/* what a profile lets out is a volume like others */
	egress.bytes = limits.egress_bytes;
	tighten(&to->sent, &egress);
	return 0;
}

int rein_network_join(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	const struct rein_policy_settings *s = &r->settings;
	struct rules rules = {0};

	r->net = choose(o, s);
	r->network = o->network;
	if (join_volumes(o, r, &r->network, err) < 0)
		return -err->code;
	if (r->net != REIN_NET_RESTRICTED && r->net != REIN_NET_OPEN)
		return 0;
	if (!s->hosts.n && !s->blocked_hosts.n && !s->ports.n)
		return 0;
	if (collect(o, s, r->net, &rules, err) < 0) {
		rein_free(rules.v);
		return -err->code;
	}
	r->net_rules = rules.v;
	r->network.rules = rules.v;
	r->network.nrules = rules.n;
	r->network.complete = r->net == REIN_NET_OPEN && s->ports.n;
	return 0;
}

void rein_network_shut(const struct rein_run_opts *o, struct rein_run *r)
{
	r->net = o->net;
	r->network = o->network;
}

void rein_network_done(struct rein_run *r)
{
	rein_free(take_ptr(r->net_rules));
	r->network = (struct rein_net_policy){0};
}

/* Each program has its own; all name the same file. */
int rein_network_defaults(struct rein_run *r, struct rein_err *err)
{
	static const char *const vars[] = {
		"npm_config_fetch_retries=0", /* else 70 seconds; pnpm, too */
		"PIP_RETRIES=0",	      /* else 10 */
	};

	for (size_t i = 0; r->net == REIN_NET_NONE && i < ARRAY_SIZE(vars); i++)
		if (rein_strlist_add(&r->view.env, vars[i]) < 0)
			return rein_err_nomem(err);
	return 0;
}

int rein_network_env(const struct rein_run *r, struct rein_strlist *to, struct rein_err *err)
{
	static const char *const names[] = {
		"SSL_CERT_FILE",       /* OpenSSL, so Python, Ruby, PHP, Perl; Go; Rust */
		"CURL_CA_BUNDLE",      /* curl */
		"REQUESTS_CA_BUNDLE",  /* Python's requests */
		"PIP_CERT",	       /* pip */
		"NODE_EXTRA_CA_CERTS", /* Node */
		"GIT_SSL_CAINFO",      /* git */
		"CARGO_HTTP_CAINFO",   /* cargo */
		"AWS_CA_BUNDLE",       /* AWS's tools */
		"DENO_CERT",	       /* Deno */
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	};

	if (!rein_gate_inspects(&r->network))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (rein_strlist_take(to, rein_asprintf("%s=" REIN_GATE_BUNDLE, names[i])) < 0)
			return rein_err_nomem(err);
	return 0;
}

/* --- what was refused --- */

/* A box that asks for one name after the other is known by then; its report has the rest. */
#define NOTED_MAX 64

void rein_network_refused(void *watcher, const struct rein_net_refusal *x, bool over)
{
	struct rein_watcher *w = watcher;
	char text[160], port[16] = "", ask[REIN_NET_NAME + 64];

	/* without a network, one with a published port asks in vain as others do, of whom nobody
	 * hears */
	if (w->run->net == REIN_NET_NONE && x->why != REIN_WHY_SOCKET)
		return;
	if (!rein_net_refusal_is_violation(x) || atomic_fetch_add(&w->network_refusals, 1) >= NOTED_MAX)
		return;
	w->over |= over;
	rein_rule_remedy(x, ask, sizeof(ask));
	if (x->port)
		snprintf(port, sizeof(port), ":%u", x->port);
	snprintf(text, sizeof(text), "%.60s%s: %s%s%.50s", x->name, port, rein_net_why_text(x->why),
		 *ask ? "; to ask for it: " : "", ask);
	rein_engine_violation(w, REIN_VIOLATION_NETWORK, text);
}
