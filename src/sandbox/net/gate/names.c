/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address of our own for each name that was asked for, so that a connection tells its name on any
 * port. IPv4 from 100.64.0.0/10, which no public host has and programs do not take for private; IPv6
 * from a local prefix. An address is never given to another name while the box lives: programs keep
 * what they once resolved.
 */
#include "sandbox/net/gate/gate.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "sandbox/net/netlink.h"

#define FIRST4 0x64400000u /* 100.64.0.0 */
#define FIRST  0x100	   /* nobody looks twice at 100.64.1.0 and after */

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

struct name *names_get(struct names *t, const char *text)
{
	uint32_t at = hash(text) % ARRAY_SIZE(t->index);
	struct name *n;

	for (; t->index[at]; at = (at + 1) % (uint32_t)ARRAY_SIZE(t->index))
		if (rein_streq(t->v[t->index[at] - 1]->text, text))
			return t->v[t->index[at] - 1];
	if (t->n == GATE_NAMES || rein_grow(t->v, t->n, t->cap) < 0)
		return NULL;
	n = rein_alloc(sizeof(*n));
	if (!n)
		return NULL;
	memcpy(n->text, text, strlen(text) + 1);
	n->number = FIRST + (uint32_t)t->n;
	t->v[t->n++] = n;
	t->index[at] = (uint32_t)t->n;
	return n;
}

static struct name *by_number(struct names *t, uint32_t number)
{
	return number >= FIRST && number - FIRST < t->n ? t->v[number - FIRST] : NULL;
}

bool names_is_ours(const struct rein_addr *a)
{
	/* No more than can be given away: the rest of the network are other people's hosts. */
	if (rein_addr_is4(a))
		return rein_addr_get4(a) - FIRST4 < FIRST + GATE_NAMES;
	return memcmp(a->b, REIN_NET_OWN6, 12) == 0;
}

struct name *names_by_address(struct names *t, const struct rein_addr *a)
{
	if (!names_is_ours(a))
		return NULL;
	return by_number(t, rein_addr_is4(a) ? rein_addr_get4(a) - FIRST4 : rein_addr_get4(a));
}

struct rein_addr names_address(const struct name *n, bool six)
{
	uint32_t big = htonl(n->number);
	struct rein_addr a;

	if (!six)
		return rein_addr_v4(FIRST4 + n->number);
	memcpy(a.b, REIN_NET_OWN6, 12);
	memcpy(a.b + 12, &big, sizeof(big));
	return a;
}

void names_done(struct names *t)
{
	for (size_t i = 0; i < t->n; i++)
		rein_free(t->v[i]);
	rein_free(t->v);
}
