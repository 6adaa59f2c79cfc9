/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection says about itself, held against the name it was made for [G2]. On port 443 it must
 * be TLS that names that host, on port 80 plain HTTP requests for it; on a port that a rule names,
 * either is recognised, and anything else is carried as it is. Every request of a plain HTTP connection
 * is judged, not only the first.
 *
 *	FIRST -> TLS -> AWAY
 *	             -> SHAKE -> HEAD (looked into)
 *	      -> HEAD -> BODY -> HEAD ...
 *	              -> ANSWER -> AWAY (the server switched protocols) | HEAD
 *	      -> AWAY
 */
#include "sandbox/net/gate/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sandbox/net/rule.h"
#include "sandbox/net/tls.h"

#define LOOK_NS (20 * REIN_NS_PER_S)

static const struct rein_net_rule *rule_of(const struct gate *g, const struct flow *f)
{
	return &g->rules[f->rule];
}

/* Only certain requests: what cannot be read as one is refused. */
static bool limited(const struct gate *g, const struct flow *f)
{
	return rein_rule_limits_requests(rule_of(g, f));
}

static bool readonly(const struct gate *g, const struct flow *f)
{
	return rule_of(g, f)->flags & REIN_RULE_READONLY;
}

/* Something is begun and not whole: it must be so in time. */
static void wait_for_more(struct gate *g, struct flow *f, uint32_t why)
{
	if (f->up.eof || f->up.n - f->up.clear >= LANE_BUF - 1)
		flow_refuse(g, f, why, "");
	else if (!f->look_ns && f->up.n > f->up.clear)
		f->look_ns = g->now_ns + LOOK_NS;
}

static void look_away(struct flow *f)
{
	f->look = LOOK_AWAY;
	f->look_ns = 0;
	f->up.clear = f->up.n;
}

static void look_tls(struct gate *g, struct flow *f)
{
	char name[REIN_NET_NAME];

	switch (rein_tls_hello(f->up.buf + f->up.clear, f->up.n - f->up.clear, name)) {
	case REIN_TLS_MORE:
		wait_for_more(g, f, REIN_WHY_NOT_TLS);
		break;
	case REIN_TLS_NAMED:
		if (f->name && !rein_streq(name, f->name->text))
			flow_refuse(g, f, REIN_WHY_SNI, name);
		else if (rein_rules_deny_name(g->rules, g->nrules, name, f->port))
			flow_refuse(g, f, REIN_WHY_DENIED, name); /* by its number */
		else if (f->name && (f->secrets || rule_of(g, f)->flags & REIN_RULE_INSPECT))
			inside_begin(g, f);
		else if (limited(g, f))
			flow_refuse(g, f, REIN_WHY_OPAQUE, "");
		else
			look_away(f);
		break;
	case REIN_TLS_NAMELESS:
		if (f->name)
			flow_refuse(g, f, REIN_WHY_NO_SNI, "");
		else if (limited(g, f))
			flow_refuse(g, f, REIN_WHY_OPAQUE, "");
		else
			look_away(f);
		break;
	default:
		flow_refuse(g, f, REIN_WHY_NOT_TLS, "");
	}
}

static bool covers(const struct flow *f, const struct rein_net_rule *r)
{
	return f->name ? rein_rule_covers_name(r, f->name->text) && rein_rule_covers_port(r, f->port) : false;
}

/* By the rule that holds, or by a later one for the same host that speaks of requests as well. */
static bool request_allowed(const struct gate *g, const struct flow *f, const struct rein_http_head *h)
{
	const struct rein_net_rule *first = rule_of(g, f);
	bool sends = h->upgrade || h->framing != REIN_HTTP_NO_BODY;
	struct rein_str path = {"", 0};

	if (!first->methods[0] && !first->paths[0])
		return true;
	/* One that can be read in two ways has none: only rules without paths cover it. */
	if (!rein_http_path(h->target, &path))
		path = (struct rein_str){"", 0};
	for (const struct rein_net_rule *r = first; r < g->rules + g->nrules; r++)
		if ((r == first || (!(r->flags & REIN_RULE_DENY) && (r->methods[0] || r->paths[0]) && covers(f, r))) &&
		    rein_rule_covers_request(r, h->method, path, sends))
			return true;
	return false;
}

/* A whole head: may this request be made? */
static uint32_t judge(const struct gate *g, const struct flow *f, const struct rein_http_head *h)
{
	if (rein_str_eq(h->method, STR("CONNECT")))
		return REIN_WHY_CONNECT;
	if (f->name && (!rein_streq(h->host, f->name->text) || (h->port && h->port != f->port)))
		return REIN_WHY_HOST;
	if (!f->name && rein_rules_deny_name(g->rules, g->nrules, h->host, f->port))
		return REIN_WHY_DENIED;
	/* To a server, not to a proxy: no other form of target. */
	if ((f->inner || limited(g, f)) && h->target.p[0] != '/' &&
	    !(rein_str_eq(h->method, STR("OPTIONS")) && rein_str_eq(h->target, STR("*"))))
		return REIN_WHY_NOT_HTTP;
	if ((limited(g, f) && h->another) || !request_allowed(g, f, h))
		return REIN_WHY_REQUEST;
	if (rule_of(g, f)->methods[0] || rule_of(g, f)->paths[0])
		return REIN_WHY_OTHER;
	if (readonly(g, f) && !rein_http_reads(h->method))
		return REIN_WHY_METHOD;
	/* Reading has nothing to send along, and nothing to turn into. */
	if (readonly(g, f) && (h->upgrade || h->framing != REIN_HTTP_NO_BODY))
		return REIN_WHY_METHOD;
	return REIN_WHY_OTHER;
}

/* What of a target is told: not its query, which may hold anything. */
static int path_length(struct rein_str target)
{
	size_t n = 0;

	while (n < target.n && n < 160 && target.p[n] != '?' && target.p[n] != '#')
		n++;
	return (int)n;
}

/*
 * A head that comes byte by byte is not read from its beginning for each of them: only when its end is
 * there or it is twice as long as the last time, so that what can be none is known early.
 */
static bool is_worth_reading(struct flow *f, const char *p, size_t n)
{
	return rein_http_head_ends(p, n, &f->head_seen) || n >= f->head_next;
}

static void look_head(struct gate *g, struct flow *f)
{
	const char *p = (const char *)f->up.buf + f->up.clear;
	size_t n = f->up.n - f->up.clear;
	struct rein_http_head h;
	const char *misplaced;
	uint32_t why;

	switch (is_worth_reading(f, p, n) ? rein_http_head(p, n, &h) : REIN_HTTP_MORE) {
	case REIN_HTTP_MORE:
		if (n >= f->head_next)
			f->head_next = 2 * n < REIN_HTTP_HEAD ? 2 * n : REIN_HTTP_HEAD;
		wait_for_more(g, f, REIN_WHY_NOT_HTTP);
		return;
	case REIN_HTTP_BAD:
		flow_refuse(g, f, REIN_WHY_NOT_HTTP, "");
		return;
	case REIN_HTTP_OK:
		break;
	}
	why = judge(g, f, &h);
	if (why) {
		char detail[REIN_NET_NAME] = "";

		if (why == REIN_WHY_HOST || why == REIN_WHY_DENIED)
			memcpy(detail, h.host, sizeof(detail));
		else
			snprintf(detail, sizeof(detail), "%.*s%s%.*s", h.method.n < 32 ? (int)h.method.n : 32, h.method.p,
				 why == REIN_WHY_REQUEST ? " " : "", why == REIN_WHY_REQUEST ? path_length(h.target) : 0,
				 h.target.p);
		flow_refuse(g, f, why, detail);
		return;
	}
	/* What follows an upgrade can be anything, once the server agrees: only where its answer is
	 * certain to be the answer to this. */
	if (h.upgrade && (f->requests || h.framing != REIN_HTTP_NO_BODY)) {
		flow_refuse(g, f, REIN_WHY_NOT_HTTP, "Upgrade");
		return;
	}
	misplaced = inject(g, f, (char *)f->up.buf + f->up.clear, h.n);
	if (misplaced) {
		flow_refuse(g, f, REIN_WHY_CREDENTIAL, misplaced);
		return;
	}
	f->requests++;
	f->head_seen = f->head_next = 0;
	f->look_ns = 0;
	f->up.clear += h.n;
	f->body = rein_http_body(&h);
	f->answered = f->replied = false;
	f->heard = 0;
	f->look = h.upgrade ? LOOK_ANSWER : f->body.state == REIN_BODY_DONE ? LOOK_HEAD : LOOK_BODY;
}

static void look_body(struct gate *g, struct flow *f)
{
	f->up.clear += rein_http_body_take(&f->body, (const char *)f->up.buf + f->up.clear,
					   f->up.n - f->up.clear);
	if (f->body.state == REIN_BODY_BAD)
		flow_refuse(g, f, REIN_WHY_NOT_HTTP, "");
	else if (f->body.state == REIN_BODY_DONE)
		f->look = LOOK_HEAD;
}

static void look_first(struct gate *g, struct flow *f)
{
	const uint8_t *p = f->up.buf + f->up.clear;
	size_t n = f->up.n - f->up.clear;

	if (rule_of(g, f)->flags & REIN_RULE_RAW) {
		look_away(f);
		return;
	}
	if (p[0] == 22 || f->port == 443) {
		f->look = LOOK_TLS;
		return;
	}
	switch (f->port == 80 ? REIN_HTTP_OK : rein_http_looks((const char *)p, n)) {
	case REIN_HTTP_OK:
		f->look = LOOK_HEAD;
		break;
	case REIN_HTTP_MORE:
		wait_for_more(g, f, REIN_WHY_NOT_HTTP);
		break;
	default:
		if (limited(g, f))
			flow_refuse(g, f, REIN_WHY_OPAQUE, "");
		else
			look_away(f);
	}
}

/* The server's first words after an upgrade was asked for. */
static void look_answer(struct flow *f)
{
	if (f->answered)
		f->look = LOOK_HEAD; /* flow.c turned away already if it was a yes */
}

void inspect(struct gate *g, struct flow *f)
{
	static void (*const looks[])(struct gate *, struct flow *) = {
		[LOOK_FIRST] = look_first,
		[LOOK_TLS] = look_tls,
		[LOOK_HEAD] = look_head,
		[LOOK_BODY] = look_body,
	};

	for (;;) {
		enum look before = f->look;
		size_t clear = f->up.clear;

		if (f->closing || f->dead)
			return;
		if (f->look == LOOK_SHAKE)
			return;
		if (f->look == LOOK_AWAY) {
			f->up.clear = f->up.n;
			return;
		}
		if (f->up.clear == f->up.n)
			return;
		if (f->look == LOOK_ANSWER)
			look_answer(f);
		else
			looks[f->look](g, f);
		if (f->look == before && f->up.clear == clear)
			return;
	}
}
