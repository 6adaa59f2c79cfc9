/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificates this machine holds servers against: the file that SSL_CERT_FILE names, as for
 * other programs, else the system's.
 */
#ifndef REIN_SANDBOX_NET_ROOTS_H
#define REIN_SANDBOX_NET_ROOTS_H

#include "base/buf.h"
#include "base/err.h"

#define REIN_ROOTS_MAX (4u << 20)

int rein_roots_read(struct rein_buf *to, struct rein_err *err);

#endif
