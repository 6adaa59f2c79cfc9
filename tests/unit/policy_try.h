/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the policy share: policies from texts, decisions on texts, judgements of changes. */
#ifndef REIN_TESTS_POLICY_TRY_H
#define REIN_TESTS_POLICY_TRY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/policy.h"

/* Whose verdicts are decided on; a group's tests run between these two. */
extern struct rein_classifier *classifier;
int policy_begin(void **state);
int policy_end(void **state);

/* The built-in rules, the user's and a project's; either text may be NULL. with() wants no error. */
struct rein_policy *try_layers(const char *user, const char *project, enum rein_layer layer, struct rein_err *err);
struct rein_policy *with(const char *user, const char *project);
/* A policy of this text is refused, and the error says this. */
void says(const char *yaml, const char *what);

/* On a text of this kind (NULL: a command), in /home/me/work, by default on a Wednesday at ten. */
struct rein_decision decide_as(const struct rein_policy *p, const char *kind, const char *text,
			       struct rein_verdict_facts f);
struct rein_decision decide(const struct rein_policy *p, const char *text);

/* On changes, which are gone afterwards, in a tree of so many files. */
void add_change(struct rein_changes *c, const char *path, int kind, uint32_t mode);
struct rein_decision judge(const struct rein_policy *p, struct rein_changes *c, uint64_t files,
			   const struct rein_change_fact *facts);

#define EXPECT(p, text, want)                                                                      \
	do {                                                                                       \
		struct rein_decision d_ = decide(p, text);                                         \
		if (d_.decide != (want))                                                           \
			fail_msg("'%s': %s by %s (%s), expected %s", text, rein_decide_name(d_.decide), \
				 d_.rule, d_.reason, rein_decide_name(want));                      \
	} while (0)

#endif
