/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, all as 16 bytes: IPv4 mapped into IPv6 (::ffff:a.b.c.d), so that there is one kind of
 * prefix and one comparison. Pure.
 */
#ifndef REIN_SANDBOX_NET_ADDR_H
#define REIN_SANDBOX_NET_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rein_addr {
	uint8_t b[16];
};

#define REIN_ADDR_TEXT 48

/* Where an address leads. Zeroed memory leads nowhere good. */
enum rein_addr_class {
	REIN_ADDR_RESERVED = 0, /* no host has it: unspecified, documentation, broadcast, tunnels … */
	REIN_ADDR_LOOPBACK,
	REIN_ADDR_PRIVATE,   /* somebody's inner network, carrier networks */
	REIN_ADDR_LINKLOCAL, /* the cable; clouds keep credentials there */
	REIN_ADDR_METADATA,  /* a cloud's service for its machines, at an address that looks global */
	REIN_ADDR_MULTICAST,
	REIN_ADDR_GLOBAL,
};

struct rein_addr rein_addr_v4(uint32_t host_order);
bool rein_addr_is4(const struct rein_addr *a);
uint32_t rein_addr_get4(const struct rein_addr *a); /* host order */
bool rein_addr_eq(const struct rein_addr *a, const struct rein_addr *b);
bool rein_addr_within(const struct rein_addr *a, const uint8_t net[16], unsigned prefix);
/* An IPv4 address in disguise (NAT64, 6to4) is what it disguises; any other is itself. */
struct rein_addr rein_addr_inner(const struct rein_addr *a);
enum rein_addr_class rein_addr_class(const struct rein_addr *a);
const char *rein_addr_class_text(enum rein_addr_class c);

bool rein_addr_parse(const char *text, struct rein_addr *ret);
void rein_addr_text(const struct rein_addr *a, char to[REIN_ADDR_TEXT]);

/* To and from the kernel's. The length is that of the family. */
socklen_t rein_addr_to(const struct rein_addr *a, uint16_t port, struct sockaddr_storage *ret);
bool rein_addr_from(const struct sockaddr_storage *from, struct rein_addr *ret, uint16_t *port);

#endif
