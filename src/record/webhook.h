/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One signed POST. The receiver can tell who sent it and that nothing was changed:
 *
 *	Rein-Id: ID			the same whenever the same thing is sent again: drop repeats by it
 *	Rein-Timestamp: SECONDS
 *	Rein-Signature: ed25519=HEX; key=KEYID
 *	Rein-Signature-256: sha256=HEX	only with a secret: HMAC-SHA-256
 *
 * Both are over "rein-webhook-v1\n", the timestamp in decimal, "\n" and the body. The first is made
 * with the record's signing key; its public half is what `rein audit verify` prints.
 */
#ifndef REIN_RECORD_WEBHOOK_H
#define REIN_RECORD_WEBHOOK_H

#include "base/buf.h"
#include "model/alert.h"

#define REIN_WEBHOOK_CONTEXT "rein-webhook-v1\n"

/* *ret_retry_ns: what the server asks to wait, or 0. May be NULL. */
int rein_webhook_send(int audit_fd, const struct rein_webhook *w, const char *id,
		      struct rein_str body, uint64_t *ret_retry_ns, struct rein_err *err);

#endif
