/* SPDX-License-Identifier: Apache-2.0 */
/* What the alert engine remembers, for the file that keeps it between runs. */
#ifndef REIN_RECORD_ALERT_MEMORY_H
#define REIN_RECORD_ALERT_MEMORY_H

#include "record/alert.h"

#define REIN_ALERT_MEMORIES 16384 /* rules and keys; past it the least recently used half goes */

struct rein_alert_memory {
	uint64_t hash;	/* of rule and key; 0 = empty */
	uint64_t *time; /* ring of RATE */
	unsigned at, ntime;
	uint64_t armed_ns; /* SEQUENCE: when the first part was seen */
	uint64_t fired_ns, swallowed, used_ns;
};

struct rein_alerts {
	const struct rein_alert_rule *rule;
	size_t nrule;
	struct rein_alert_memory *m; /* open addressing */
	size_t n, cap;
};

/* The memory of that hash, made if it was not there; NULL: out of memory. */
struct rein_alert_memory *rein_alerts_memory(struct rein_alerts *a, uint64_t hash, bool *is_new);

/* Where in the log the memory stands: everything before was fed. */
struct rein_alert_place {
	uint64_t line, segment, offset;
};

/*
 * The memory as it was saved, if it was saved under these very rules; otherwise nothing is known and
 * *ret is the beginning. Saving is not durable: what is lost is learned again from the log.
 */
int rein_alerts_restore(struct rein_alerts *a, int audit_fd, struct rein_alert_place *ret,
			struct rein_err *err);
int rein_alerts_save(const struct rein_alerts *a, int audit_fd, const struct rein_alert_place *at,
		     struct rein_err *err);

#endif
