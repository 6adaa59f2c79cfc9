/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's side of the gate, as bytes: netlink messages that give a fresh network namespace an
 * ordinary default route over lo, and rules that lead every connection to the gate's sockets. They are
 * made before the box is, travel in its plan, and the executor merely sends them.
 *
 *	hook output, priority -150	a first packet (SYN) waits in a queue until the gate has dialled
 *	nat output			TCP to any address that is not the box's own: to GATE_PORT;
 *					DNS, wherever it is addressed: to port 53 of lo
 *	filter output			the box's own addresses: yes; a connection the gate refused: reset;
 *					anything else: logged, and rejected
 *
 * Pure; nothing is sent here.
 */
#ifndef REIN_SANDBOX_NET_NETLINK_H
#define REIN_SANDBOX_NET_NETLINK_H

#include "base/buf.h"

/* Where the gate listens on lo, inside. Nothing of a program's own wants port 1. */
#define REIN_GATE_PORT 1
#define REIN_DNS_PORT  53

/* The box's own addresses, besides those of loopback. */
#define REIN_NET_OWN4 "\x64\x7f\xff\xfe"	/* 100.127.255.254 */
#define REIN_NET_OWN6 "\xfd\x72\x65\x69\x6e\0\0\0\0\0\0\0\0\0\0\1"

#define REIN_NET_MARK	0x7265696eu /* a held packet that the gate refused */
#define REIN_NET_GROUP	1	    /* of the log */
#define REIN_NET_QUEUE	1

enum rein_netlink_set {
	REIN_NETLINK_ROUTE4 = 0, /* lo, address, route */
	REIN_NETLINK_ROUTE6,
	REIN_NETLINK_LARGE, /* lo takes packets of more than 64 KiB */
	REIN_NETLINK_RULES,
	REIN_NETLINK_LOG_BIND,	/* for the log's own socket */
	REIN_NETLINK_QUEUE_BIND, /* for the queue's own socket */
	REIN_NETLINK_HOLD,	/* by the queue expression */
	REIN_NETLINK_HOLD_COMPAT, /* by the older NFQUEUE target: kernels have the one or the other */
	REIN_NETLINK__MAX,
};

/* Append the messages of one set; returns how many answers the kernel gives if all is well. */
unsigned rein_netlink_put(struct rein_buf *b, enum rein_netlink_set set);

#endif
