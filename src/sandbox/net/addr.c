/* SPDX-License-Identifier: Apache-2.0 */
/* See addr.h. The classes follow the registries of special-purpose addresses (RFC 6890 and after). */
#include "sandbox/net/addr.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/auto.h"

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct rein_addr rein_addr_v4(uint32_t v)
{
	struct rein_addr a;

	memcpy(a.b, mapped, sizeof(mapped));
	v = htonl(v);
	memcpy(a.b + 12, &v, sizeof(v));
	return a;
}

bool rein_addr_is4(const struct rein_addr *a)
{
	return memcmp(a->b, mapped, sizeof(mapped)) == 0;
}

uint32_t rein_addr_get4(const struct rein_addr *a)
{
	uint32_t v;

	memcpy(&v, a->b + 12, sizeof(v));
	return ntohl(v);
}

bool rein_addr_eq(const struct rein_addr *a, const struct rein_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool rein_addr_within(const struct rein_addr *a, const uint8_t net[16], unsigned prefix)
{
	unsigned whole = prefix / 8, rest = prefix % 8;

	if (prefix > 128 || memcmp(a->b, net, whole) != 0)
		return false;
	return !rest || ((a->b[whole] ^ net[whole]) & (0xff00u >> rest & 0xff)) == 0;
}

static const struct {
	uint32_t net;
	unsigned prefix;
	enum rein_addr_class is;
} four[] = {
	{0xa83f8110, 32, REIN_ADDR_METADATA},  /* 168.63.129.16 */
	{0xa9fea9fe, 32, REIN_ADDR_METADATA},  /* 169.254.169.254 */
	{0x646464c8, 32, REIN_ADDR_METADATA},  /* 100.100.100.200 */
	{0xc00000c0, 32, REIN_ADDR_METADATA},  /* 192.0.0.192 */
	{0x00000000, 8, REIN_ADDR_RESERVED},   /* "this network"; 0.0.0.0 is the host itself */
	{0x0a000000, 8, REIN_ADDR_PRIVATE},
	{0x64400000, 10, REIN_ADDR_PRIVATE},   /* carriers', and ours */
	{0x7f000000, 8, REIN_ADDR_LOOPBACK},
	{0xa9fe0000, 16, REIN_ADDR_LINKLOCAL},
	{0xac100000, 12, REIN_ADDR_PRIVATE},
	{0xc0000000, 24, REIN_ADDR_RESERVED},
	{0xc0000200, 24, REIN_ADDR_RESERVED},  /* documentation */
	{0xc0586300, 24, REIN_ADDR_RESERVED},  /* 6to4 relays */
	{0xc0a80000, 16, REIN_ADDR_PRIVATE},
	{0xc6120000, 15, REIN_ADDR_RESERVED},  /* benchmarks */
	{0xc6336400, 24, REIN_ADDR_RESERVED},
	{0xcb007100, 24, REIN_ADDR_RESERVED},
	{0xe0000000, 4, REIN_ADDR_MULTICAST},
	{0xf0000000, 4, REIN_ADDR_RESERVED},
};

static enum rein_addr_class class4(uint32_t v)
{
	for (size_t i = 0; i < ARRAY_SIZE(four); i++)
		if (((v ^ four[i].net) >> (32 - four[i].prefix)) == 0)
			return four[i].is;
	return REIN_ADDR_GLOBAL;
}

static const struct {
	uint8_t net[16];
	unsigned prefix;
	enum rein_addr_class is;
} six[] = {
	{{0xfd, 0x00, 0x0e, 0xc2}, 32, REIN_ADDR_METADATA},
	{{0}, 127, REIN_ADDR_LOOPBACK}, /* :: and ::1 */
	{{0}, 8, REIN_ADDR_RESERVED},
	{{0xfc}, 7, REIN_ADDR_PRIVATE},
	{{0xfe, 0x80}, 10, REIN_ADDR_LINKLOCAL},
	{{0xfe, 0xc0}, 10, REIN_ADDR_PRIVATE}, /* site-local, once */
	{{0xff}, 8, REIN_ADDR_MULTICAST},
	{{0x20, 0x01, 0x00, 0x00}, 23, REIN_ADDR_RESERVED}, /* Teredo, ORCHID … */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, REIN_ADDR_RESERVED}, /* documentation */
	{{0x3f, 0xff}, 20, REIN_ADDR_RESERVED},
};

struct rein_addr rein_addr_inner(const struct rein_addr *a)
{
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b}, sixto4[2] = {0x20, 0x02};
	struct rein_addr inner = *a;

	if (memcmp(a->b, nat64, sizeof(nat64)) == 0)
		return rein_addr_v4(rein_addr_get4(a));
	if (memcmp(a->b, sixto4, sizeof(sixto4)) != 0)
		return inner;
	memcpy(inner.b + 12, a->b + 2, 4);
	return rein_addr_v4(rein_addr_get4(&inner));
}

enum rein_addr_class rein_addr_class(const struct rein_addr *a)
{
	struct rein_addr inner = rein_addr_inner(a);

	if (rein_addr_is4(&inner))
		return class4(rein_addr_get4(&inner));
	for (size_t i = 0; i < ARRAY_SIZE(six); i++)
		if (rein_addr_within(a, six[i].net, six[i].prefix))
			return six[i].is;
	/* Only 2000::/3 has been given out. */
	return (a->b[0] & 0xe0) == 0x20 ? REIN_ADDR_GLOBAL : REIN_ADDR_RESERVED;
}

const char *rein_addr_class_text(enum rein_addr_class c)
{
	static const char *const words[] = {
		[REIN_ADDR_RESERVED] = "reserved",   [REIN_ADDR_LOOPBACK] = "loopback",
		[REIN_ADDR_PRIVATE] = "private",     [REIN_ADDR_LINKLOCAL] = "link-local",
		[REIN_ADDR_METADATA] = "cloud metadata", [REIN_ADDR_MULTICAST] = "multicast",
		[REIN_ADDR_GLOBAL] = "public",
	};

	return words[c];
}

bool rein_addr_parse(const char *text, struct rein_addr *ret)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*ret = rein_addr_v4(ntohl(v4.s_addr));
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6) != 1)
		return false;
	memcpy(ret->b, &v6, sizeof(ret->b));
	return true;
}

void rein_addr_text(const struct rein_addr *a, char to[REIN_ADDR_TEXT])
{
	bool four_ = rein_addr_is4(a);

	if (!inet_ntop(four_ ? AF_INET : AF_INET6, four_ ? a->b + 12 : a->b, to, REIN_ADDR_TEXT))
		to[0] = 0;
}

socklen_t rein_addr_to(const struct rein_addr *a, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (rein_addr_is4(a)) {
		struct sockaddr_in *to = (struct sockaddr_in *)ret;

		to->sin_family = AF_INET;
		to->sin_port = htons(port);
		memcpy(&to->sin_addr, a->b + 12, 4);
		return sizeof(*to);
	}
	struct sockaddr_in6 *to = (struct sockaddr_in6 *)ret;

	to->sin6_family = AF_INET6;
	to->sin6_port = htons(port);
	memcpy(&to->sin6_addr, a->b, 16);
	return sizeof(*to);
}

bool rein_addr_from(const struct sockaddr_storage *from, struct rein_addr *ret, uint16_t *port)
{
	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;

		*ret = rein_addr_v4(ntohl(in->sin_addr.s_addr));
		*port = ntohs(in->sin_port);
		return true;
	}
	if (from->ss_family != AF_INET6)
		return false;
	const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)from;

	memcpy(ret->b, &in->sin6_addr, 16);
	*port = ntohs(in->sin6_port);
	return true;
}
