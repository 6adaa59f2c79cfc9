/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box may reach: rules from text, and which rule covers something. Pure.
 *
 *	NAME[:PORTS][,OPTION…]		example.org	*.example.org:443	github.com:22
 *	ADDRESS[/BITS][:PORTS][,OPTION…]	10.1.0.0/16:5432	[2001:db8::1]:443
 *
 * PORTS is a number, FIRST-LAST, or "*"; without it 80 and 443. Options: "ro" (GET and HEAD only),
 * "methods=GET+POST", "path=/v1/\*" (several may be given; a star stands for anything), "inspect" (TLS is
 * looked into, so that these hold there, too), "raw" (what is sent is not looked at),
 * "up=SIZE[/DURATION]" (bytes sent), "max=SIZE[/DURATION]" (both ways). The first rule that covers host
 * and port holds; where it speaks of requests, later ones that do so add theirs.
 *
 * An address that is not public is reached only where a rule names it, or a network around it (of 8
 * bits or more, IPv6 16); a name that leads there is not enough.
 */
#ifndef REIN_SANDBOX_NET_RULE_H
#define REIN_SANDBOX_NET_RULE_H

#include "base/err.h"
#include "base/str.h"
#include "model/net.h"
#include "sandbox/net/addr.h"

/* The host's own loopback, under a name: only where a rule names it together with a port. */
#define REIN_NET_HOST_NAME "host.rein.internal"

int rein_rule_parse(const char *text, struct rein_net_rule *ret, struct rein_err *err);
/*
 * Does a rule that allows something name the box itself? -code: by its name, which no box asks anybody for, so that it
 * would never hold; 1: by an address, which may stand there for a name that leads to it. Both with words in err.
 */
int rein_rule_is_own(const struct rein_net_rule *r, struct rein_err *err);
/* As rein_net_remedy; of this machine a rule without a port would be refused. */
void rein_rule_remedy(const struct rein_net_refusal *x, char *to, size_t max);
/* "443", "8000-8999" or "*" */
bool rein_ports_parse(const char *text, uint16_t *ret_first, uint16_t *ret_last);
/* "PORT" or "HOSTPORT:PORT" */
int rein_publish_parse(const char *text, struct rein_net_publish *ret, struct rein_err *err);

/* A name from outside in the form rules have: lower case, no final dot. False: not a host name. */
bool rein_name_normal(const char *name, size_t n, char to[REIN_NET_NAME]);

bool rein_rule_covers_name(const struct rein_net_rule *r, const char *name);
bool rein_rule_covers_port(const struct rein_net_rule *r, uint16_t port);
/* Does it say which requests may be made? */
bool rein_rule_limits_requests(const struct rein_net_rule *r);
/* May this one, by this rule? path: of the target, plain (http.h); sends: it carries more than a head. */
bool rein_rule_covers_request(const struct rein_net_rule *r, struct rein_str method, struct rein_str path,
			      bool sends);
/* The index of the rule that holds, or -1 with the reason. port 0: any port will do. */
int rein_rules_name(const struct rein_net_rule *v, size_t n, const char *name, uint16_t port,
		    uint32_t *why);
int rein_rules_address(const struct rein_net_rule *v, size_t n, const struct rein_addr *a,
		       uint16_t port, uint32_t *why);
/* Does a rule deny it? Also for names that are only spoken of, and addresses names lead to. */
bool rein_rules_deny_name(const struct rein_net_rule *v, size_t n, const char *name, uint16_t port);
bool rein_rules_deny_address(const struct rein_net_rule *v, size_t n, const struct rein_addr *a,
			     uint16_t port);
/* Is the address named by a rule, itself or its network? Then it need not be public. port 0: any. */
bool rein_rules_named(const struct rein_net_rule *v, size_t n, const struct rein_addr *a,
		      uint16_t port);

#endif
