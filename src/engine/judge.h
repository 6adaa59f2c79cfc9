/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is thought of an action: before it runs, from its words; afterwards, from what it did. The
 * policy decides both; this finds out what the policy looks at.
 */
#ifndef REIN_ENGINE_JUDGE_H
#define REIN_ENGINE_JUDGE_H

#include "engine/trail.h"
#include "model/action.h"
#include "model/decision.h"
#include "model/review.h"
#include "policy/policy.h"
#include "txn/txn.h"

struct rein_classifier;

/* Zeroed memory was not judged and denies. Strings of the decisions live as long as the policy. */
struct rein_judgement {
	struct rein_classifier *classifier; /* holds the verdict */
	const struct rein_verdict *verdict;
	struct rein_decision before, after;
	bool has_before, has_after;
	bool must_hold;	   /* of several commands in one transaction, one is to be reviewed */
	char hold_reason[REIN_REASON_MAX];
	struct rein_reviews reviews; /* that stand before a commit, as far as any one yes will not do */
	char missing[REIN_REASON_MAX]; /* what one more yes would not be enough for, or empty */
	bool approved;	   /* a person said yes to `before` */
	unsigned repeated; /* how often this very action was refused by this rule in a row, this time included */
};

void rein_judgement_done(struct rein_judgement *j);

/* Classify and decide: j->before. What it decides is for the caller to enforce. */
int rein_judge_action(struct rein_judgement *j, const struct rein_policy *p, const struct rein_action *a,
		      const struct rein_who *who, struct rein_err *err);

struct rein_aftermath {
	const struct rein_tx *tx;
	const struct rein_changes *changes;
	const char *workspace, *home;
	const char *const *hosts; /* connected to, NULL-terminated, or NULL */
	int status;
	bool killed;
	bool discard; /* it is thrown away whatever is found: its content is not searched */
};

/* Look at what the policy has rules about, and decide: j->after. */
int rein_judge_effects(struct rein_judgement *j, const struct rein_policy *p, const struct rein_aftermath *a,
		       const struct rein_who *who, struct rein_err *err);

/* A decision in force: an advisory one lets everything pass. */
enum rein_decide rein_decision_enforced(const struct rein_decision *d);

#endif
