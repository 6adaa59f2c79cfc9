/* SPDX-License-Identifier: Apache-2.0 */
/* Which events are meant. Empty fields ask for nothing; all that are set must hold. */
#ifndef REIN_MODEL_FILTER_H
#define REIN_MODEL_FILTER_H

#include <stdint.h>

struct rein_filter {
	uint64_t since_ns, until_ns; /* 0: no bound; until is exclusive */
	const char *agent, *session, *level, *decision, *result, *type, *txn, *action, *user, *rule;
	const char *path; /* glob over effects' paths, or a directory prefix */
	const char *text; /* words; each must be in command, paths, reason, detail or rule */
};

#endif
