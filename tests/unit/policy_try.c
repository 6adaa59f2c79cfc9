/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_try.h"

#include <rein/classify.h>

#include "base/auto.h"

struct rein_classifier *classifier;

int policy_begin(void **state)
{
	struct rein_err err = {0};

	(void)state;
	return rein_classifier_new(&classifier, &err);
}

int policy_end(void **state)
{
	(void)state;
	rein_classifier_free(classifier);
	return 0;
}

struct rein_policy *try_layers(const char *user, const char *project, enum rein_layer layer, struct rein_err *err)
{
	struct rein_policy *p = NULL;

	assert_int_equal(rein_policy_new(&p, err), 0);
	if (user)
		rein_policy_add(p, REIN_LAYER_USER, "user.yaml", rein_str(user), err);
	if (project)
		rein_policy_add(p, layer, ".rein.yaml", rein_str(project), err);
	rein_policy_seal(p, err);
	return p;
}

struct rein_policy *with(const char *user, const char *project)
{
	struct rein_err err = {0};
	struct rein_policy *p = try_layers(user, project, REIN_LAYER_PROJECT, &err);

	if (err.code)
		fail_msg("%s", err.msg);
	return p;
}

struct rein_decision decide_as(const struct rein_policy *p, const char *kind, const char *text,
			       struct rein_verdict_facts f)
{
	struct rein_action a;
	struct rein_decision d;
	struct rein_err err = {0};

	assert_int_equal(rein_policy_action(kind, text, &a), 0);
	a.cwd = a.workspace = "/home/me/work";
	a.home = "/home/me";
	f.verdict = rein_classify(classifier, &a, &err);
	assert_non_null(f.verdict);
	assert_int_equal(rein_policy_decide(p, &a, &f, &d), 0);
	return d;
}

struct rein_decision decide(const struct rein_policy *p, const char *text)
{
	return decide_as(p, NULL, text, (struct rein_verdict_facts){.minute = 600, .weekday = 2});
}

void add_change(struct rein_changes *c, const char *path, int kind, uint32_t mode)
{
	struct rein_change *x = rein_changes_add(c, 0, rein_strdup(path));

	assert_non_null(x);
	x->kind = (uint8_t)kind;
	x->top = true;
	if (kind == REIN_CHANGE_DELETED)
		x->before.mode = mode;
	else
		x->after.mode = mode;
}

struct rein_decision judge(const struct rein_policy *p, struct rein_changes *c, uint64_t files,
			   const struct rein_change_fact *facts)
{
	struct rein_root root = {.real = (char *)(uintptr_t)"/home/me/work"};
	struct rein_outcome o = {.changes = c, .roots = &root, .nroots = 1, .facts = facts, .tree_files = files,
				 .workspace = "/home/me/work", .home = "/home/me"};
	struct rein_decision d;

	assert_int_equal(rein_policy_judge_effects(p, &o, &d), 0);
	rein_changes_done(c);
	return d;
}

void says(const char *yaml, const char *what)
{
	struct rein_err err = {0};
	struct rein_policy *p = try_layers(yaml, NULL, 0, &err);

	if (!strstr(err.msg, what))
		fail_msg("said '%s', expected '%s'", err.msg, what);
	rein_policy_free(p);
}
