/* SPDX-License-Identifier: Apache-2.0 */
/* See rule.h. */
#include "sandbox/net/rule.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/str.h"

/* The longest name on the wire is 255 bytes, 253 as text. */
#define NAME_MAX_TEXT 253

static bool label_ok(const char *p, size_t n)
{
	if (n == 0 || n > 63)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= '0' && p[i] <= '9') || p[i] == '-' ||
		      p[i] == '_'))
			return false;
	return true;
}

bool rein_name_normal(const char *name, size_t n, char to[REIN_NET_NAME])
{
	size_t label = 0;

	if (n && name[n - 1] == '.')
		n--;
	if (n == 0 || n > NAME_MAX_TEXT)
		return false;
	for (size_t i = 0; i < n; i++)
		to[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
	to[n] = 0;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && to[i] != '.')
			continue;
		if (!label_ok(to + label, i - label))
			return false;
		label = i + 1;
	}
	return true;
}

static bool parse_port(const char *s, uint16_t *ret)
{
	uint64_t v;

	if (!rein_parse_u64(s, 65535, &v) || !v)
		return false;
	*ret = (uint16_t)v;
	return true;
}

bool rein_ports_parse(const char *text, uint16_t *ret_first, uint16_t *ret_last)
{
	char copy[16];
	char *dash;

	if (rein_streq(text, "*")) {
		*ret_first = 1;
		*ret_last = 65535;
		return true;
	}
	if (strlen(text) >= sizeof(copy))
		return false;
	memcpy(copy, text, strlen(text) + 1);
	dash = strchr(copy, '-');
	if (dash)
		*dash = 0;
	return parse_port(copy, ret_first) && parse_port(dash ? dash + 1 : copy, ret_last) &&
	       *ret_first <= *ret_last;
}

/* "GET+POST": words of capitals. */
static bool parse_methods(const char *s, struct rein_net_rule *r)
{
	size_t n = strlen(s);

	if (!n || n >= sizeof(r->methods) || r->methods[0] || s[n - 1] == '+')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'A' && s[i] <= 'Z') || s[i] == '-' || (s[i] == '+' && i && s[i - 1] != '+')))
			return false;
	memcpy(r->methods, s, n + 1);
	return true;
}

/* One more pattern. What a plain path cannot have would never match: a slip. */
static bool parse_path(const char *s, struct rein_net_rule *r)
{
	size_t n = strlen(s), had = strlen(r->paths);

	if (s[0] != '/' || had + n + 2 > sizeof(r->paths))
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] >= 0x7f || strchr("?#\\", s[i]))
			return false;
	memcpy(r->paths + had, s, n);
	memcpy(r->paths + had + n, "\n", 2);
	return true;
}

static bool parse_option(const char *s, struct rein_net_rule *r)
{
	if (rein_streq(s, "ro"))
		r->flags |= REIN_RULE_READONLY;
	else if (rein_streq(s, "inspect"))
		r->flags |= REIN_RULE_INSPECT;
	else if (rein_starts(s, "methods="))
		return parse_methods(s + 8, r);
	else if (rein_starts(s, "path="))
		return parse_path(s + 5, r);
	else if (rein_streq(s, "raw"))
		r->flags |= REIN_RULE_RAW;
	else if (rein_starts(s, "up="))
		return rein_budget_parse(s + 3, &r->sent);
	else if (rein_starts(s, "max="))
		return rein_budget_parse(s + 4, &r->all);
	else
		return false;
	return true;
}

/* Bits after the prefix must be zero: "10.1.2.3/8" is a slip. */
static bool prefix_clean(const struct rein_net_rule *r)
{
	for (unsigned i = r->prefix; i < 128; i++)
		if (r->address[i / 8] & 0x80u >> i % 8)
			return false;
	return true;
}

/* "a.b.c.d", "a.b.c.d/n", "v6", "v6/n". False: not an address. Sets *bad if it almost is one. */
static bool parse_address(char *s, struct rein_net_rule *r, bool *bad)
{
	char *slash = strchr(s, '/');
	struct rein_addr a;
	uint64_t bits = 128;

	if (slash)
		*slash = 0;
	if (!rein_addr_parse(s, &a)) {
		*bad = slash;
		if (slash)
			*slash = '/';
		return false;
	}
	if (slash) {
		bool four = rein_addr_is4(&a) && !strchr(s, ':');

		if (!rein_parse_u64(slash + 1, four ? 32 : 128, &bits)) {
			*bad = true;
			return false;
		}
		bits += four ? 96 : 0;
	}
	r->flags |= REIN_RULE_ADDRESS;
	if (strchr(s, ':') && bits < 96) /* "::/0" is written as IPv6, and meant so */
		r->flags |= REIN_RULE_SIX;
	memcpy(r->address, a.b, sizeof(a.b));
	r->prefix = (uint32_t)bits;
	*bad = !prefix_clean(r);
	return !*bad;
}

/*
 * "10.0.0.1-10.0.0.9", "127.1", "2130706433": no host has such a name, to programs the last two are
 * addresses. Taken for a name, one that is to be denied would not be.
 */
static bool ends_in_number(const char *s)
{
	const char *dot = strrchr(s, '.'), *last = dot ? dot + 1 : s;
	bool hex = rein_starts(last, "0x");

	return last[strspn(last, "0123456789-")] == 0 || (hex && last[2 + strspn(last + 2, "0123456789abcdef")] == 0);
}

static bool parse_name(const char *s, struct rein_net_rule *r)
{
	char rest[REIN_NET_NAME];

	if (rein_streq(s, "*")) {
		memcpy(r->name, "*", 2);
		return true;
	}
	if (!rein_starts(s, "*."))
		return rein_name_normal(s, strlen(s), r->name) && !ends_in_number(r->name);
	if (!rein_name_normal(s + 2, strlen(s + 2), rest) || ends_in_number(rest) || strlen(rest) + 3 > REIN_NET_NAME)
		return false;
	memcpy(r->name, "*.", 2);
	memcpy(r->name + 2, rest, strlen(rest) + 1);
	return true;
}

/* Cut ":PORTS" off; IPv6 addresses with ports are in brackets. */
static char *cut_ports(char *s)
{
	char *colon = strrchr(s, ':'), *close = strchr(s, ']');

	if (*s == '[') {
		if (!close)
			return NULL;
		if (close[1] == '/' && close[1 + strcspn(close + 1, ":")] == ':')
			colon = strchr(close, ':');
		else if (close[1] != ':')
			return NULL;
		*colon = 0;
		return colon + 1;
	}
	if (!colon || strchr(s, ':') != colon)
		return NULL; /* none, or a bare IPv6 address */
	*colon = 0;
	return colon + 1;
}

/* "[v6]" and "[v6]/n" without the brackets. */
static void unbracket(char *s)
{
	char *close = strchr(s, ']');

	if (*s != '[' || !close || (close[1] && close[1] != '/')) /* "[::1]8" is not "::18" */
		return;
	memmove(close, close + 1, strlen(close + 1) + 1);
	memmove(s, s + 1, strlen(s + 1) + 1);
}

int rein_rule_parse(const char *text, struct rein_net_rule *ret, struct rein_err *err)
{
	char copy[512], *ports, *option;
	const char *host;
	struct rein_net_rule r = {0};
	bool bad = false;

	if (strlen(text) >= sizeof(copy))
		return rein_err_set(err, REIN_E_USAGE, "host rule is too long: '%.40s...'", text);
	host = strstr(text, "://");
	if (host && host < text + strcspn(text, ","))
		return rein_err_set(err, REIN_E_USAGE, "host rule '%s': a host is wanted, not a URL: %.*s", text,
				    (int)strcspn(host + 3, "/?#,"), host + 3);
	memcpy(copy, text, strlen(text) + 1);
	option = strchr(copy, ',');
	while (option) {
		char *next = strchr(option + 1, ',');

		*option = 0;
		if (next)
			*next = 0;
		if (!parse_option(option + 1, &r))
			return rein_err_set(err, REIN_E_USAGE,
					    "host rule '%s': '%s' is no option; there are ro, methods=GET+POST, "
					    "path=/DIR/*, inspect, raw, up=SIZE[/DURATION], max=SIZE[/DURATION]",
					    text, option + 1);
		if (next)
			*next = ',';
		option = next;
	}
	ports = cut_ports(copy);
	if (ports && !rein_ports_parse(ports, &r.first, &r.last))
		return rein_err_set(err, REIN_E_USAGE,
				    "host rule '%s': '%s' is no port, FIRST-LAST or *", text, ports);
	unbracket(copy);
	if (!parse_address(copy, &r, &bad) && (bad || !parse_name(copy, &r)))
		return rein_err_set(err, REIN_E_USAGE,
				    "host rule '%s': wanted NAME[:PORT], *.DOMAIN[:PORT] or "
				    "ADDRESS/BITS[:PORT]%s",
				    text, bad ? " with nothing set beyond the bits" : "");
	if (rein_streq(r.name, REIN_NET_HOST_NAME) && !r.first)
		return rein_err_set(err, REIN_E_USAGE,
				    "host rule '%s': say which port of this machine, "
				    "as in " REIN_NET_HOST_NAME ":5432", text);
	if (r.flags & REIN_RULE_RAW && (rein_rule_limits_requests(&r) || r.flags & REIN_RULE_INSPECT))
		return rein_err_set(err, REIN_E_USAGE,
				    "host rule '%s': raw excludes ro, methods, path and inspect", text);
	if (r.flags & REIN_RULE_INSPECT && r.flags & REIN_RULE_ADDRESS)
		return rein_err_set(err, REIN_E_USAGE,
				    "host rule '%s': inspect needs a name, which a certificate can be made for",
				    text);
	*ret = r;
	return 0;
}

int rein_rule_is_own(const struct rein_net_rule *r, struct rein_err *err)
{
	char port[16] = "PORT"; /* as it would have to be written */
	struct rein_addr a;

	if (r->first && r->first == r->last)
		snprintf(port, sizeof(port), "%u", r->first);
	if (rein_streq(r->name, "localhost"))
		return rein_err_set(err, REIN_E_USAGE,
				    "in a box that is the box itself; this machine is " REIN_NET_HOST_NAME ":%s", port);
	memcpy(a.b, r->address, sizeof(a.b));
	if (!(r->flags & REIN_RULE_ADDRESS) || r->flags & REIN_RULE_DENY || rein_addr_class(&a) != REIN_ADDR_LOOPBACK)
		return 0;
	rein_err_set(err, REIN_E_USAGE,
		     "a box that calls a loopback address reaches only itself: this machine is " REIN_NET_HOST_NAME ":%s", port);
	return 1;
}

void rein_rule_remedy(const struct rein_net_refusal *x, char *to, size_t max)
{
	char port[16] = "PORT"; /* its name is asked for first, and refused before a port is known */

	rein_net_remedy(x, to, max);
	if (!rein_streq(x->name, REIN_NET_HOST_NAME) || !rein_streq(to, "--allow-host " REIN_NET_HOST_NAME))
		return;
	if (x->port)
		snprintf(port, sizeof(port), "%u", x->port);
	snprintf(to, max, "--allow-host " REIN_NET_HOST_NAME ":%s", port);
}

int rein_publish_parse(const char *text, struct rein_net_publish *ret, struct rein_err *err)
{
	char copy[16];
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	struct rein_net_publish p = {0};

	if (n < sizeof(copy)) {
		memcpy(copy, text, n);
		copy[n] = 0;
		if (parse_port(copy, &p.host) && parse_port(colon ? colon + 1 : copy, &p.inside)) {
			*ret = p;
			return 0;
		}
	}
	return rein_err_set(err, REIN_E_USAGE, "'%s' is no PORT or HOSTPORT:PORT", text);
}

bool rein_rule_covers_name(const struct rein_net_rule *r, const char *name)
{
	size_t n = strlen(name), tail;

	if (r->flags & REIN_RULE_ADDRESS)
		return false;
	/* This machine is not "any host". */
	if (rein_streq(name, REIN_NET_HOST_NAME))
		return rein_streq(r->name, name);
	if (r->name[0] != '*')
		return rein_streq(r->name, name);
	tail = strlen(r->name + 1); /* ".example.org", or nothing: any */
	return n > tail && rein_streq(name + n - tail, r->name + 1);
}

bool rein_rule_limits_requests(const struct rein_net_rule *r)
{
	return r->flags & REIN_RULE_READONLY || r->methods[0] || r->paths[0];
}

static bool has_method(const char *list, struct rein_str method)
{
	while (*list) {
		size_t n = strcspn(list, "+");

		if (rein_str_eq((struct rein_str){list, n}, method))
			return true;
		list += n + (list[n] == '+');
	}
	return false;
}

/* A star stands for anything, slashes too. Going back to the last star is enough. */
static bool fits(struct rein_str pattern, struct rein_str s)
{
	size_t p = 0, i = 0, star = SIZE_MAX, from = 0;

	while (i < s.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = i;
		} else if (p < pattern.n && pattern.p[p] == s.p[i]) {
			p++;
			i++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			i = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

bool rein_rule_covers_request(const struct rein_net_rule *r, struct rein_str method, struct rein_str path,
			      bool sends)
{
	if (r->flags & REIN_RULE_READONLY && (sends || !has_method("GET+HEAD", method)))
		return false;
	if (r->methods[0] && !has_method(r->methods, method))
		return false;
	for (const char *line = r->paths; *line;) {
		size_t n = strcspn(line, "\n");

		if (path.n && fits((struct rein_str){line, n}, path))
			return true;
		line += n + (line[n] == '\n');
	}
	return !r->paths[0];
}

bool rein_rule_covers_port(const struct rein_net_rule *r, uint16_t port)
{
	if (!r->first)
		return port == 80 || port == 443;
	return port >= r->first && port <= r->last;
}

/* port 0, any: only what is denied at every port. */
static bool denies(const struct rein_net_rule *r, uint16_t port)
{
	return port ? rein_rule_covers_port(r, port) : r->first == 1 && r->last == 65535;
}

int rein_rules_name(const struct rein_net_rule *v, size_t n, const char *name, uint16_t port,
		    uint32_t *why)
{
	*why = REIN_WHY_NO_RULE;
	for (size_t i = 0; i < n; i++) {
		if (!rein_rule_covers_name(&v[i], name))
			continue;
		if (v[i].flags & REIN_RULE_DENY) {
			if (!denies(&v[i], port))
				continue;
			*why = REIN_WHY_DENIED;
			return -1;
		}
		if (!port || rein_rule_covers_port(&v[i], port))
			return (int)i;
		*why = REIN_WHY_PORT;
	}
	return -1;
}

bool rein_rules_deny_name(const struct rein_net_rule *v, size_t n, const char *name, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].flags & REIN_RULE_DENY && rein_rule_covers_name(&v[i], name) && denies(&v[i], port))
			return true;
	return false;
}

/* Wide networks are "anywhere", not a place that was named. */
static bool names_place(const struct rein_net_rule *r)
{
	struct rein_addr a;

	memcpy(a.b, r->address, sizeof(a.b));
	return rein_addr_is4(&a) ? r->prefix >= 96 + 8 : r->prefix >= 16 && (a.b[0] || a.b[1]);
}

static bool within(const struct rein_net_rule *r, const struct rein_addr *a)
{
	return rein_addr_within(a, r->address, r->prefix) && !(r->flags & REIN_RULE_SIX && rein_addr_is4(a));
}

/* What is denied is so in every spelling. */
static bool covers_address(const struct rein_net_rule *r, const struct rein_addr *a)
{
	struct rein_addr inner = rein_addr_inner(a);

	return r->flags & REIN_RULE_ADDRESS &&
	       (within(r, a) || (r->flags & REIN_RULE_DENY && within(r, &inner)));
}

int rein_rules_address(const struct rein_net_rule *v, size_t n, const struct rein_addr *a,
		       uint16_t port, uint32_t *why)
{
	bool global = rein_addr_class(a) == REIN_ADDR_GLOBAL;

	*why = REIN_WHY_NO_NAME;
	for (size_t i = 0; i < n; i++) {
		if (!covers_address(&v[i], a))
			continue;
		if (v[i].flags & REIN_RULE_DENY) {
			if (!denies(&v[i], port))
				continue;
			*why = REIN_WHY_DENIED;
			return -1;
		}
		if (!global && !names_place(&v[i])) {
			*why = REIN_WHY_ADDRESS;
			continue;
		}
		if (!port || rein_rule_covers_port(&v[i], port))
			return (int)i;
		*why = REIN_WHY_PORT;
	}
	return -1;
}

bool rein_rules_deny_address(const struct rein_net_rule *v, size_t n, const struct rein_addr *a,
			     uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].flags & REIN_RULE_DENY && covers_address(&v[i], a) && denies(&v[i], port))
			return true;
	return false;
}

bool rein_rules_named(const struct rein_net_rule *v, size_t n, const struct rein_addr *a, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].flags & REIN_RULE_ADDRESS && !(v[i].flags & REIN_RULE_DENY) && names_place(&v[i]) &&
		    within(&v[i], a) && (!port || rein_rule_covers_port(&v[i], port)))
			return true;
	return false;
}
