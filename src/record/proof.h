/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs as files: that one line is under a signed head (inclusion), or that one size of the log is
 * a beginning of another (consistency). They can be checked anywhere, without the log.
 */
#ifndef REIN_RECORD_PROOF_H
#define REIN_RECORD_PROOF_H

#include "base/buf.h"

/* what: a line number or an event's id; or two sizes when then is not NULL. Appends JSON. */
int rein_proof_write(const char *state_dir, const char *what, const char *then, struct rein_buf *b,
		     struct rein_err *err);
/* Checks a proof that was written by the above; pinned may be NULL. */
int rein_proof_check(struct rein_str text, const uint8_t *pinned, struct rein_err *err);
int rein_proof_check_file(const char *path, const uint8_t *pinned, struct rein_err *err);

#endif
