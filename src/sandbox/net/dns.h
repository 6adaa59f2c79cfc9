/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages: reading a box's questions, writing answers to them, writing questions to a server
 * outside and reading its answers. Both sides are foreign bytes. Pure, bounded, no heap.
 */
#ifndef REIN_SANDBOX_NET_DNS_H
#define REIN_SANDBOX_NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/net.h"
#include "sandbox/net/addr.h"

#define REIN_DNS_UDP	   512	/* what everybody takes */
#define REIN_DNS_MAX	   4096 /* what we take */
#define REIN_DNS_ADDRESSES 16

enum rein_dns_type {
	REIN_DNS_A = 1,
	REIN_DNS_NS = 2,
	REIN_DNS_CNAME = 5,
	REIN_DNS_SOA = 6,
	REIN_DNS_PTR = 12,
	REIN_DNS_MX = 15,
	REIN_DNS_TXT = 16,
	REIN_DNS_AAAA = 28,
	REIN_DNS_SRV = 33,
	REIN_DNS_NAPTR = 35,
	REIN_DNS_OPT = 41,
	REIN_DNS_CAA = 257,
};

enum rein_dns_rcode {
	REIN_DNS_OK = 0,
	REIN_DNS_FORMERR = 1,
	REIN_DNS_SERVFAIL = 2,
	REIN_DNS_NXDOMAIN = 3,
	REIN_DNS_NOTIMP = 4,
	REIN_DNS_REFUSED = 5,
};

struct rein_dns_question {
	uint16_t id, type, class;
	bool recurse;
	bool edns;
	uint16_t udp_size;	  /* what the asker takes in one datagram */
	size_t end;		  /* of the question in the message */
	char name[REIN_NET_NAME]; /* normal; "" if it is no host name */
};

/*
 * A question. 0, or -1: answer nothing (it is no query), or the rcode to answer with. What could be
 * read is in *ret.
 */
int rein_dns_read_question(const uint8_t *m, size_t n, struct rein_dns_question *ret);

/* An answer: addresses, or a name for PTR, or none of both and a code. Returns its length, 0: no room. */
struct rein_dns_answer {
	enum rein_dns_rcode rcode;
	const struct rein_addr *address; /* of the type asked for */
	const char *pointer;
	uint32_t ttl;
	const char *blocked; /* why, in words, for those who ask with EDNS (RFC 8914) */
};
size_t rein_dns_write_answer(const uint8_t *question, size_t n, const struct rein_dns_question *q,
			     const struct rein_dns_answer *a, uint8_t *to, size_t max);

/* A question of ours; returns its length. */
size_t rein_dns_write_question(const char *name, uint16_t type, uint16_t id, uint8_t *to, size_t max);

struct rein_dns_reply {
	enum rein_dns_rcode rcode;
	bool truncated;
	uint32_t ttl; /* the shortest on the way */
	size_t n;
	struct rein_addr v[REIN_DNS_ADDRESSES];
};
/* The answer to our question, and to no other. Follows CNAMEs. False: not it, or not whole. */
bool rein_dns_read_reply(const uint8_t *m, size_t n, const char *name, uint16_t type, uint16_t id,
			 struct rein_dns_reply *ret);

/* "4.3.2.1.in-addr.arpa" and "….ip6.arpa" to the address. */
bool rein_dns_reverse(const char *name, struct rein_addr *ret);

#endif
