/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be looked up about changes before rules can speak of them: secrets in new content,
 * lines, whether version control has what was deleted, how large the tree is. Only what is asked for
 * is looked at, because all of it costs.
 */
#ifndef REIN_ENGINE_FACTS_H
#define REIN_ENGINE_FACTS_H

#include "model/decision.h"
#include "txn/txn.h"

#define REIN_FACTS_SCANNED ((size_t)8 << 20) /* of one file; what comes later is not searched for secrets */

struct rein_facts {
	struct rein_change_fact *v; /* parallel to the changes; NULL when nothing was asked for */
	uint64_t tree_files;	    /* 0: not asked for */
};

/* needs: bits of enum rein_policy_need. */
int rein_facts_gather(unsigned needs, const struct rein_tx *t, const struct rein_changes *c,
		      const char *workspace, struct rein_facts *ret, struct rein_err *err);
void rein_facts_done(struct rein_facts *f);

#endif
