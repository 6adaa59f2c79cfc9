/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between rein and its gate: plain structs. The configuration lies in a sealed memfd,
 *
 *	struct rein_gate_config | rules | credentials | certificates servers are held against, as PEM
 *
 * the sockets of the box follow as one message with descriptors, and the gate answers with events
 * until rein closes the connection; then it tells the rest and ends.
 */
#ifndef REIN_SANDBOX_NET_WIRE_H
#define REIN_SANDBOX_NET_WIRE_H

#include <stdint.h>

#include "model/net.h"

#define REIN_GATE_MAGIC 0x31676e72u /* "rng1" */
#define REIN_GATE_CONFIG_FD  3
#define REIN_GATE_CONTROL_FD 4

/* Sockets of the box that its executor hands out, in this order. */
enum rein_net_fd {
	REIN_NETFD_TCP4 = 0, /* every connection to the outside arrives here */
	REIN_NETFD_TCP6,
	REIN_NETFD_UDP4, /* questions for names */
	REIN_NETFD_UDP6,
	REIN_NETFD_DNS4, /* the same over TCP */
	REIN_NETFD_DNS6,
	REIN_NETFD_LOG,	  /* what the rules rejected */
	REIN_NETFD_QUEUE, /* first packets, held */
	REIN_NETFD_MAKER, /* send a byte, receive a socket made inside */
	REIN_NETFD__MAX,
};

#define REIN_GATE_FDS (REIN_NETFD__MAX + 2 * REIN_NET_PUBLISH)

struct rein_gate_config {
	uint32_t magic, size;
	uint32_t nrules, npublish;
	struct rein_net_budget sent, all;
	uint64_t rate;
	uint32_t ncredentials, unused;
	uint32_t inspect; /* some TLS is looked into */
	uint32_t roots;	  /* bytes of the certificates */
};

/* The message with the box's descriptors: has tells which, the published listeners follow. */
struct rein_gate_sockets {
	uint32_t has;  /* bits 1 << enum rein_net_fd */
	uint32_t held; /* first packets wait in the queue */
	uint32_t npublish;
	uint16_t inside[2 * REIN_NET_PUBLISH]; /* the port each published listener leads to */
};

enum rein_gate_event_kind {
	REIN_GATE_NONE = 0,
	REIN_GATE_REFUSED, /* refusal, with the count since it was last told */
	REIN_GATE_HOST,	   /* at the end: what was carried for a host */
	REIN_GATE_TOTAL,   /* at the very end: the numbers of host, and dropped in its port */
	REIN_GATE_CERTIFICATE, /* first of all, if TLS is looked into: the box's own, text */
	REIN_GATE_FAILED,      /* or why there is none */
};

struct rein_gate_event {
	uint32_t kind, dropped;
	union {
		struct rein_net_refusal refusal;
		struct rein_net_host host;
		char text[1536];
	};
};

#endif
