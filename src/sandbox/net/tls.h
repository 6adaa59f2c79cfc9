/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first message of a TLS connection, read for the name it asks for (RFC 8446, RFC 6066). It may
 * be cut into records and packets in any way. Pure, bounded.
 */
#ifndef REIN_SANDBOX_NET_TLS_H
#define REIN_SANDBOX_NET_TLS_H

#include <stddef.h>
#include <stdint.h>

#include "model/net.h"

#define REIN_TLS_HELLO 16384 /* longer ones are refused */

enum rein_tls_result {
	REIN_TLS_BAD = 0, /* not a TLS handshake, or not a proper one */
	REIN_TLS_MORE,	  /* so far so good */
	REIN_TLS_NAMED,	  /* name is the one asked for, normal */
	REIN_TLS_NAMELESS,
};

/* p, n: what came so far. name is written only for NAMED. */
enum rein_tls_result rein_tls_hello(const uint8_t *p, size_t n, char name[REIN_NET_NAME]);

#endif
