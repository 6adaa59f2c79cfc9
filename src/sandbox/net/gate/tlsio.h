/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on both sides of an inspected connection, as the gate needs it: never blocking, no files
 *after the beginning, no state shared between connections. rein-tls.so implements it and is all
 *that links a TLS library; the gate loads it only for a box that has something to be looked into.
 *
 *	open (a certificate authority for this box alone) -> certificate -> trust
 *	  -> connect (to the server: its certificate is checked) -> handshake until 1
 *	  -> accept (from the program: a certificate of ours) -> handshake until 1 -> read, write,
 *goodbye
 */
#ifndef REIN_SANDBOX_NET_GATE_TLSIO_H
#define REIN_SANDBOX_NET_GATE_TLSIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define REIN_TLSIO_MODULE "rein-tls"
#define REIN_TLSIO_SYMBOL "rein_tlsio_ops"
#define REIN_TLSIO_ABI	  1

struct rein_tlsio;	/* a box's authority, and what servers are held against */
struct rein_tlsio_conn; /* one end of a connection; the descriptor stays the caller's */

struct rein_tlsio_ops {
	unsigned abi;
	/* The authority's keys are made here and never leave this memory. NULL: err. */
	struct rein_tlsio *(*open)(struct rein_err *err);
	void (*close)(struct rein_tlsio *t);
	/* Its certificate as PEM, with its end; the bytes without that, or 0: no room. */
	size_t (*certificate)(const struct rein_tlsio *t, char *to, size_t max);
	/* Servers must be certified by one of these. */
	int (*trust)(struct rein_tlsio *t, const char *pem, size_t n, struct rein_err *err);

	/* The program's end, as `name`; `first`: what it sent and was read already. NULL: no
	 * memory. */
	struct rein_tlsio_conn *(*accept)(struct rein_tlsio *t, int fd, const char *name,
					  const uint8_t *first, size_t n);
	/* The server's end: it must prove to be `name`. */
	struct rein_tlsio_conn *(*connect)(struct rein_tlsio *t, int fd, const char *name);
	int (*handshake)(
		struct rein_tlsio_conn *c); /* 1: done, 0: when there is more, -1: failed */
	const char *(*why)(struct rein_tlsio_conn *c); /* it failed; in words */
	/* As recv and send: -1 and EAGAIN, or the end of it. 0: the other side will send no more.
	 */
	ssize_t (*read)(struct rein_tlsio_conn *c, void *to, size_t n);
	ssize_t (*write)(struct rein_tlsio_conn *c, const void *from, size_t n);
	bool (*ended_well)(struct rein_tlsio_conn *c); /* it said that it would send no more */
	void (*goodbye)(struct rein_tlsio_conn *c);    /* we shall send no more */
	void (*free)(struct rein_tlsio_conn *c);       /* NULL is fine */
};

#endif
