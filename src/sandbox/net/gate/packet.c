/* SPDX-License-Identifier: Apache-2.0 */
/* See packet.h. */
#include "sandbox/net/gate/packet.h"

#include <string.h>

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void read_ports(const uint8_t *p, size_t n, struct packet *ret)
{
	bool has = ret->protocol == IPPROTO_TCP || ret->protocol == IPPROTO_UDP ||
		   ret->protocol == IPPROTO_UDPLITE || ret->protocol == IPPROTO_SCTP ||
		   ret->protocol == IPPROTO_DCCP;

	if (!has || n < 4)
		return;
	ret->from_port = get16(p);
	ret->to_port = get16(p + 2);
}

bool packet_read(const uint8_t *p, size_t n, struct packet *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (n >= 20 && p[0] >> 4 == 4) {
		size_t head = (size_t)(p[0] & 15) * 4;

		ret->protocol = p[9];
		ret->from = rein_addr_v4((uint32_t)get16(p + 12) << 16 | get16(p + 14));
		ret->to = rein_addr_v4((uint32_t)get16(p + 16) << 16 | get16(p + 18));
		/* a later fragment begins in the middle */
		if (head >= 20 && head <= n && !(get16(p + 6) & 0x1fff))
			read_ports(p + head, n - head, ret);
		return head >= 20;
	}
	if (n >= 40 && p[0] >> 4 == 6) {
		ret->protocol = p[6];
		memcpy(ret->from.b, p + 8, 16);
		memcpy(ret->to.b, p + 24, 16);
		read_ports(p + 40, n - 40, ret);
		return true;
	}
	return false;
}
