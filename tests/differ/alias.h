/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with several names in a box without privilege. There the kernel's overlay cannot keep the
 * names together: the first change through one name splits it from the others. Rein joins them
 * again at commit as long as one name only was changed, and refuses (conflict, nothing committed)
 * when two were: this is the one refusal the tester accepts.
 *
 * What a program does through one name after a change through another sees the old file, and a
 * change is lost with the name it was made through, if that is deleted while another stays. Both
 * are limits of the kernel that Rein's documentation names; such operations are taken out of the
 * sequence, except that a share of the sequences keeps changes through two names.
 *
 * Which file a renamed and changed copy was, Rein tells from its access time. Where many files
 * share one (ops_stamps_together) that leaves a doubt when a name of a file with several left its
 * place, and Rein refuses: accepted there only.
 */
#ifndef REIN_DIFFER_ALIAS_H
#define REIN_DIFFER_ALIAS_H

#include "../lab/ops.h"
#include "../lab/tree.h"

struct alias_finding {
	bool may_refuse; /* two names were changed */
	bool left_place; /* a name of a file with several was renamed or deleted */
	bool *out;	 /* one per operation: to be taken out; caller frees */
	bool any_out;
};

/* after: the tree the native run left. keep_changes: second changes are not taken out. */
void alias_examine(const struct tree *before, const struct tree *after, const struct op_log *log,
		   size_t nops, bool keep_changes, struct alias_finding *ret);

#endif
