/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How bad could an action be, and where do its effects go? Nothing is run and nothing is opened:
 * the answer comes from the text and from what is known about programs.
 *
 *	struct rein_classifier *c = NULL;
 *	struct rein_err err = {0};
 *	const struct rein_verdict *v;
 *
 *	if (rein_classifier_new(&c, &err) < 0 ||
 *	    (v = rein_classify_command(c, "rm -rf ~", NULL, &err)) == NULL)
 *		fprintf(stderr, "%s\n", err.msg);
 *	else if (rein_verdict_level(v) >= REIN_LEVEL_DANGEROUS)
 *		puts(rein_verdict_reason(v, 0));
 *	rein_classifier_free(c);
 *
 * A verdict belongs to its classifier and lives until the next call with it. A classifier serves one
 * thread at a time; make as many as you like. No verdict (NULL) means out of memory: treat it as a
 * refusal.
 */
#ifndef REIN_CLASSIFY_H
#define REIN_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rein/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is "nobody looked" and ranks above everything: zeroed memory is never harmless. */
enum rein_level {
	REIN_LEVEL_NONE = 0,
	REIN_LEVEL_SAFE,
	REIN_LEVEL_RISKY,
	REIN_LEVEL_DANGEROUS,
	REIN_LEVEL_DESTRUCTIVE,
	REIN_LEVEL__MAX
};

enum rein_reach {
	REIN_REACH_NONE = 0,
	REIN_REACH_READONLY,	 /* nothing changes */
	REIN_REACH_CONTAINED,	 /* files and processes here: can be held and undone */
	REIN_REACH_COMPENSABLE,	 /* leaves the machine; another action reverses it */
	REIN_REACH_IRREVERSIBLE, /* leaves the machine for good */
	REIN_REACH__MAX
};

struct rein_classifier;
struct rein_verdict;
struct rein_action;

REIN_API int rein_classifier_new(struct rein_classifier **ret, struct rein_err *err);
REIN_API void rein_classifier_free(struct rein_classifier *c); /* NULL is fine */
/*
 * Add what a YAML file says about programs (docs/knowledge.md); it overrides what is built in. After one that was not
 * understood there are no more verdicts from this classifier.
 */
REIN_API int rein_classifier_learn(struct rein_classifier *c, const char *path, const char *yaml,
				   size_t n, struct rein_err *err);

REIN_API const struct rein_verdict *rein_classify(struct rein_classifier *c,
						  const struct rein_action *action,
						  struct rein_err *err);
/* The common case: shell text, run in cwd (NULL: the root of the workspace). Without a text there is no verdict. */
REIN_API const struct rein_verdict *rein_classify_command(struct rein_classifier *c,
							  const char *text, const char *cwd,
							  struct rein_err *err);

REIN_API int rein_verdict_level(const struct rein_verdict *v); /* enum rein_level */
REIN_API int rein_verdict_reach(const struct rein_verdict *v); /* enum rein_reach */
REIN_API bool rein_verdict_complete(const struct rein_verdict *v);
REIN_API size_t rein_verdict_count(const struct rein_verdict *v); /* effects */
REIN_API const char *rein_verdict_reason(const struct rein_verdict *v, size_t i); /* NULL past the end */
REIN_API const char *rein_verdict_target(const struct rein_verdict *v, size_t i); /* may be NULL */
REIN_API const char *rein_verdict_kind(const struct rein_verdict *v, size_t i);
REIN_API void rein_verdict_range(const struct rein_verdict *v, size_t i, size_t *ret_start,
				 size_t *ret_end);

REIN_API const char *rein_level_name(int level); /* "safe" … "destructive" */
REIN_API const char *rein_reach_name(int reach); /* "read-only" … "irreversible" */

#ifdef __cplusplus
}
#endif
#endif
