/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel shows of a packet the box sent: where it came from and where it was to go. */
#ifndef REIN_SANDBOX_NET_GATE_PACKET_H
#define REIN_SANDBOX_NET_GATE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/net/addr.h"

struct packet {
	uint8_t protocol;
	struct rein_addr from, to;
	uint16_t from_port, to_port; /* 0: the protocol has none, or they are not in it */
};

/* p, n: a packet from its IP header on, perhaps cut. False: not one that can be read. Pure. */
bool packet_read(const uint8_t *p, size_t n, struct packet *ret);

#endif
