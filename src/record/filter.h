/* SPDX-License-Identifier: Apache-2.0 */
/* Which events a person asks for. Empty fields ask for nothing; all that are set must hold. */
#ifndef REIN_RECORD_FILTER_H
#define REIN_RECORD_FILTER_H

#include "model/event.h"

struct rein_filter {
	uint64_t since_ns, until_ns; /* 0: no bound; until is exclusive */
	const char *agent, *session, *level, *decision, *result, *type, *txn, *action, *user;
	const char *path; /* glob over effects' paths, or a directory prefix */
	const char *text; /* words; each must be in command, paths, reason, detail or rule */
};

bool rein_filter_match(const struct rein_filter *f, const struct rein_event *ev);
/* "2026-11-15", "2026-11-15T21:00", "2h" (ago), "yesterday", "today". */
bool rein_filter_time(const char *s, uint64_t now_ns, uint64_t *ret_ns);

#endif
