/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with several names in a box without privilege. There the kernel's overlay cannot keep the
 * names together: the first change through one name splits it from the others. Rein joins them
 * again at commit as long as one name only was changed, and refuses (conflict, nothing committed)
 * when two were: this is the one refusal the tester accepts. A program that reads one name after
 * changing another sees old bytes in the box, so such reads are taken out of the sequence.
 */
#ifndef REIN_DIFFER_ALIAS_H
#define REIN_DIFFER_ALIAS_H

#include "../lab/ops.h"
#include "../lab/tree.h"

struct alias_finding {
	bool may_refuse;
	bool *stale_read; /* one per operation: reads what the box had split; caller frees */
	bool any_stale;
};

void alias_examine(const struct tree *before, const struct op_log *log, size_t nops,
		   struct alias_finding *ret);

#endif
