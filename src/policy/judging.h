/* SPDX-License-Identifier: Apache-2.0 */
/* One action on its way through the rules: shared by those who match and who decide. */
#ifndef REIN_POLICY_JUDGING_H
#define REIN_POLICY_JUDGING_H

#include "model/call.h"
#include "policy/internal.h"

#define WHOLE REIN_VERDICT_FACTS /* the part behind the facts: the action as a whole */

struct parts {
	uint64_t bits[2];
};

static inline void mark(struct parts *p, size_t i)
{
	p->bits[i / 64] |= 1ull << (i % 64);
}

static inline bool has(const struct parts *p, size_t i)
{
	return p->bits[i / 64] >> (i % 64) & 1;
}

struct judging {
	const struct rein_policy *p;
	const struct rein_action *a;
	const struct rein_verdict_facts *f;
	const struct rein_verdict *v;
	const char *environment;
	struct place at;
	uint64_t program_bits;
	bool program_unsure;
	bool whole; /* there is more to it than the facts tell */
	char (*paths)[1280]; /* absolute targets of the facts; "" none, "\001" not known */
	struct rein_fact everything; /* stands for the whole */
	struct parts covered;
	const struct rule *best; /* strictest */
	enum rein_decide best_decide;
	bool best_unsure;
	uint32_t best_start, best_end;
	const struct rein_fact *best_fact;
	const struct common *demands[REIN_DEMANDS]; /* rules that ask or hold, and not for anybody's yes */
	size_t n_demands; /* so many there were */
	const struct rule *trial; /* strictest of the advisory ones */
	enum rein_decide trial_decide;
	rein_considered_fn *fn;
	void *arg;
};

/* Where a rule matches. */
struct hit {
	enum match m;
	struct parts parts; /* those that match for certain */
	uint32_t start, end;
	const struct rein_fact *fact;
};

/* fit.c: the rule against the action's circumstances, facts and calls */
void match_rule(const struct judging *j, const struct rule *r, struct hit *h);
bool is_path_kind(enum rein_fact_kind k); /* its target is a path */

/* call.c: what a rule says of programs, against one that would start */
enum match match_call(const struct rule *r, const struct rein_call *c);
struct rein_str base_of(struct rein_str program);

static inline enum match least(enum match a, enum match b)
{
	return a < b ? a : b;
}

#endif
