/* SPDX-License-Identifier: Apache-2.0 */
/* Sending the current head somewhere else, on request. */
#ifndef REIN_RECORD_ANCHOR_H
#define REIN_RECORD_ANCHOR_H

#include <rein/record.h>

struct rein_anchor_to { /* what is NULL or false is not asked for */
	const char *path;    /* appended to it */
	const char *command; /* gets the head on its standard input */
	const char *webhook; /* an address; POST, signed */
	bool use_syslog;
};

int rein_record_anchor_now(struct rein_record *r, const struct rein_anchor_to *to,
			   struct rein_err *err);

#endif
