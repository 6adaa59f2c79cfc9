/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the policy decides about an action, before it runs: allow, hold, ask or deny, by which rule, and what
 * may be done instead. Nothing is run.
 *
 *	struct rein_question q = {.text = "git push --force", .cwd = "/home/ada/project"};
 *	struct rein_classifier *c = NULL;
 *	struct rein_policy *p = NULL;
 *	struct rein_answer a = {0};
 *	struct rein_err err = {0};
 *
 *	if (rein_classifier_new(&c, &err) == 0 && rein_policy_open(q.cwd, NULL, &p, &err) == 0 &&
 *	    rein_policy_ask(p, c, &q, &a, &err) == 0 && a.decision == REIN_DECISION_ALLOW)
 *		run();
 *	else
 *		refuse(err.code ? err.msg : a.reason, a.instead);
 *	rein_policy_close(p);
 *	rein_classifier_free(c);
 *
 * A policy never changes once it is open and may be asked by any number of threads, each with a classifier
 * of its own. Zeroed memory denies, and so does every failure: *ret is filled on failure, too.
 */
#ifndef REIN_POLICY_H
#define REIN_POLICY_H

#include <stdbool.h>

#include <rein/classify.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rein_policy;

enum rein_policy_decision {
	REIN_DECISION_DENY = 0,
	REIN_DECISION_ASK,   /* approve before it runs */
	REIN_DECISION_HOLD,  /* run, keep the effects back for review */
	REIN_DECISION_ALLOW, /* run, commit by itself if the effects stay within policy */
};

/*
 * The policy in force in a directory: built in, /etc/rein/policy.d, the user's, the project's that holds it, and
 * the files given (paths, NULL-terminated; NULL: none). On failure *ret is a policy that denies everything and
 * tells why, or NULL when memory ran out.
 */
REIN_API int rein_policy_open(const char *directory, const char *const *files, struct rein_policy **ret,
			      struct rein_err *err);
REIN_API void rein_policy_close(struct rein_policy *p); /* NULL is fine */

/* NULL: not known. kind: "command" (when NULL), "file" ("write PATH"), "sql", "http" ("POST URL"), "custom". */
struct rein_question {
	const char *kind, *text;
	const char *cwd, *workspace, *home; /* absolute */
	const char *dialect;		    /* of sql */
	const char *agent, *role, *environment;
};

struct rein_answer {
	int decision;	     /* enum rein_policy_decision */
	int level, reach;    /* rein_level_name(), rein_reach_name() */
	bool advisory;	     /* decided and to be recorded, not to be enforced */
	char rule[96];	     /* its id, or the default that stood in */
	char reason[320];    /* one sentence */
	const char *instead; /* what may be done instead, or NULL; lives as long as the policy */
};

REIN_API int rein_policy_ask(const struct rein_policy *p, struct rein_classifier *c, const struct rein_question *q,
			     struct rein_answer *ret, struct rein_err *err);
REIN_API const char *rein_decision_name(int decision); /* "deny" … "allow" */

#ifdef __cplusplus
}
#endif
#endif
