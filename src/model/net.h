/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a box: what it may reach, and what came of it. Plain data of fixed size, so that a
 * rule can be checked whole and handed to another process as it is.
 *
 * A policy without rules permits nothing.
 */
#ifndef REIN_MODEL_NET_H
#define REIN_MODEL_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REIN_NET_NAME	 256 /* a domain name, with its end */
#define REIN_NET_RULES	 512
#define REIN_NET_METHODS 64  /* of a rule, as text */
#define REIN_NET_PATHS	 256 /* the same */
#define REIN_NET_PUBLISH 32
#define REIN_CREDENTIALS 32
#define REIN_CREDENTIAL_PLACES 8
#define REIN_CREDENTIAL_MAX    4096 /* bytes of a secret */
#define REIN_CREDENTIAL_LEAST  8	/* letters and digits of one, or it could be anything */
#define REIN_NET_LISTED	 2048 /* different refusals, or hosts, in a report */

/* So many bytes, in all or in every window of time. bytes 0: no limit. */
struct rein_net_budget {
	uint64_t bytes, window_ns;
};

enum rein_net_rule_flag {
	REIN_RULE_ADDRESS = 1 << 0,  /* by address and prefix; otherwise by name */
	REIN_RULE_READONLY = 1 << 1, /* GET and HEAD only, in what can be read */
	REIN_RULE_RAW = 1 << 2,	     /* what is sent is not looked at */
	REIN_RULE_DENY = 1 << 3,     /* not a permission: what it covers is refused */
	REIN_RULE_INSPECT = 1 << 4,  /* TLS is looked into, with a certificate of the box's own */
	REIN_RULE_SIX = 1 << 5,	     /* of addresses, not those of IPv4, though the prefix covers them */
	REIN_RULE_FLAGS = (1 << 6) - 1,
};

/*
 * One permission. The first rule that covers a name (or address) and a port holds. A name is in lower
 * case without a final dot: "example.org" itself, "*.example.org" everything below it, "*" any.
 * Addresses are kept as IPv6, IPv4 mapped into it.
 */
struct rein_net_rule {
	uint32_t flags;
	uint16_t first, last; /* ports; 0, 0: 80 and 443 */
	uint8_t address[16];
	uint32_t prefix; /* of 128 bits */
	char name[REIN_NET_NAME];
	struct rein_net_budget sent, all; /* per rule, from the box's side */
	char methods[REIN_NET_METHODS];	  /* "GET+POST"; "": any */
	char paths[REIN_NET_PATHS];	  /* patterns, a line each; "": any */
};

/* A port of the host's loopback that leads to a port inside. */
struct rein_net_publish {
	uint16_t host, inside;
};

/* A host that may have a secret, at one port. */
struct rein_net_place {
	uint16_t port;
	char host[REIN_NET_NAME];
};

/* A secret, and what the box holds instead of it: of the same length, and not terminated. */
struct rein_net_credential {
	char name[64];	 /* the box's variable */
	char header[64]; /* the one it may be in; "*": any */
	char format[128]; /* the whole value, with {} for it; "": any */
	struct rein_net_place places[REIN_CREDENTIAL_PLACES];
	uint32_t nplaces;
	uint32_t plain; /* also without TLS */
	uint32_t n;
	char secret[REIN_CREDENTIAL_MAX], placeholder[REIN_CREDENTIAL_MAX];
};

struct rein_net_policy {
	const struct rein_net_rule *rules;
	size_t nrules;
	const struct rein_net_publish *publish;
	size_t npublish;
	struct rein_net_budget sent, all; /* of the whole box */
	uint64_t rate;			  /* bytes a second, both directions together; 0: no limit */
	const struct rein_net_credential *credentials;
	size_t ncredentials;
	bool complete; /* an open network, too, is what the rules say and no more */
};

/* "SIZE[/DURATION]" */
bool rein_budget_parse(const char *text, struct rein_net_budget *ret);

/* Why something was refused; wire names and words are in netwhy.def. */
enum rein_net_why {
#define WHY(name, wire, text) REIN_WHY_##name,
#include "model/netwhy.def"
#undef WHY
	REIN_WHY__MAX,
};

/* A refusal, as often as it happened. */
struct rein_net_refusal {
	uint32_t why;	    /* enum rein_net_why */
	uint32_t protocol;  /* IPPROTO_TCP, IPPROTO_UDP …; 0: a name was asked for */
	uint32_t port;	    /* 0: none */
	uint32_t count;
	char name[REIN_NET_NAME];   /* the name asked for, or the address */
	char detail[REIN_NET_NAME]; /* what was found instead: an address, another name; or "" */
};

/*
 * Did somebody try to reach what he must not? Not who asks what an address is called, whose client
 * tries another transport to a host that is allowed, who pings, who met a false server, or who was
 * merely too slow or too many.
 */
bool rein_net_refusal_is_violation(const struct rein_net_refusal *x);

/* What was carried for one name or address. */
struct rein_net_host {
	uint32_t port, connections;
	uint32_t secrets, unused; /* requests that a credential was put into */
	uint64_t sent, received;
	char name[REIN_NET_NAME];
};

/* What happened on the box's network. The lists end where their room ends; dropped counts the rest. */
struct rein_net_report {
	struct rein_net_refusal *refusals;
	size_t nrefusals, refusals_cap;
	struct rein_net_host *hosts;
	size_t nhosts, hosts_cap;
	uint64_t sent, received;
	uint32_t connections;
	uint32_t refused; /* all of them together: violations of medium severity */
	uint32_t dropped;
	uint32_t noway; /* without a network: how often a command that failed looked for one */
	bool held; /* connections were dialled before the program was told that they stand */
};

/* Count one more of the same, or a new one. */
void rein_net_report_refusal(struct rein_net_report *r, const struct rein_net_refusal *more);
/* Is the i-th the first violation of its name and port? A client that tries again has not tried something else. */
bool rein_net_report_is_first(const struct rein_net_report *r, size_t i);
void rein_net_report_host(struct rein_net_report *r, const struct rein_net_host *more);
void rein_net_report_add(struct rein_net_report *r, const struct rein_net_report *more);
void rein_net_report_done(struct rein_net_report *r);
/* The option that would allow it, or "". */
void rein_net_remedy(const struct rein_net_refusal *x, char *to, size_t max);
const char *rein_net_why_name(uint32_t why); /* stable, for machines */
const char *rein_net_why_text(uint32_t why); /* for people */

#endif
