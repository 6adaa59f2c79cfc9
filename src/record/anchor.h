/* SPDX-License-Identifier: Apache-2.0 */
/* Sending the current head somewhere else, on request. */
#ifndef REIN_RECORD_ANCHOR_H
#define REIN_RECORD_ANCHOR_H

#include <rein/record.h>

/* Each destination may be NULL / false. The command gets the head on its standard input. */
int rein_record_anchor_now(struct rein_record *r, const char *path, const char *command,
			   bool use_syslog, struct rein_err *err);

#endif
