/* SPDX-License-Identifier: Apache-2.0 */
/* Actions as the record knows them: what was asked, what was decided, what people answered. */
#ifndef REIN_CLI_PAST_H
#define REIN_CLI_PAST_H

#include "base/err.h"
#include "model/decision.h"

struct rein_past {
	char *action; /* what joins its events */
	char *kind, *command, *cwd, *agent, *rule;
	enum rein_decide decided;
	bool has_decision;
	unsigned approved, refused; /* answers of people */
	uint64_t time_ns;
};

struct rein_pasts {
	struct rein_past *v;
	size_t n, cap;
	size_t *slot, slots; /* hash table: index + 1 */
};

/* All that is kept, oldest first. No record yet: none. */
int rein_pasts_read(const char *state_dir, struct rein_pasts *ret, struct rein_err *err);
void rein_pasts_done(struct rein_pasts *p);

#endif
