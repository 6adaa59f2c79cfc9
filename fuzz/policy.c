/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is accepted as a policy, written out, is read as the same policy; what is not accepted says
 * where, and denies. A project's text never makes a decision looser than it is without it.
 */
#include <assert.h>
#include <stdint.h>

#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct rein_str words[] = {
	{"git", 3}, {"push", 4}, {"--force", 7}, {"main", 4}, {"\001", 1},
};
static const struct rein_call calls[] = {{words, 4, 0, 3}, {words, 5, 0, 3}};
static const struct rein_fact facts[] = {
	{.kind = REIN_FACT_REMOTE, .level = REIN_LEVEL_RISKY, .reach = REIN_REACH_COMPENSABLE, .target = "example.com",
	 .reason = "sends", .program = "git", .call = 1},
	{.kind = REIN_FACT_DELETE, .level = REIN_LEVEL_DANGEROUS, .reach = REIN_REACH_CONTAINED, .target = "a/…/*.c",
	 .reason = "deletes", .cwd = {"/w", 2}, .call = 2},
	{.kind = REIN_FACT_WRITE, .level = REIN_LEVEL_SAFE, .reach = REIN_REACH_CONTAINED, .target = "../w/a.key",
	 .reason = "writes", .cwd = {"/w", 2}},
};
static const struct rein_verdict verdict = {
	.level = REIN_LEVEL_DANGEROUS, .reach = REIN_REACH_COMPENSABLE, .complete = true, .facts = facts, .n_facts = 3,
	.worst = &facts[1], .calls = calls, .n_calls = 2,
};

static enum rein_decide decide(const struct rein_policy *p)
{
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = "", .cwd = "/w", .home = "/h", .workspace = "/w"};
	struct rein_verdict_facts f = {.verdict = &verdict, .agent = "a", .role = "r", .minute = 60, .weekday = 1};
	struct rein_decision d;

	rein_policy_decide(p, &a, &f, &d);
	assert(d.decide < REIN_DECIDE__MAX && strlen(d.reason) < sizeof(d.reason));
	return d.decide;
}

static void judge(const struct rein_policy *p)
{
	struct rein_change v[] = {
		{.path = (char *)(uintptr_t)"a/b.key", .kind = REIN_CHANGE_CREATED, .after = {.mode = 0100755, .size = 9}},
		{.path = (char *)(uintptr_t)".git/hooks/x", .kind = REIN_CHANGE_DELETED, .before = {.mode = 0100644}},
	};
	struct rein_changes c = {v, 2, 2};
	struct rein_root root = {.real = (char *)(uintptr_t)"/w"};
	struct rein_outcome o = {.changes = &c, .roots = &root, .nroots = 1, .workspace = "/w", .home = "/h",
				 .tree_files = 4, .who = {.verdict = &verdict}};
	struct rein_decision d;

	rein_policy_judge_effects(p, &o, &d);
	assert(d.decide < REIN_DECIDE__MAX);
}

static void ignore(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg;
	(void)file;
	(void)line;
	assert(*text);
}

static void round_trip(const struct rein_policy *p)
{
	auto_buf struct rein_buf a = REIN_BUF((size_t)64 << 20), b = REIN_BUF((size_t)64 << 20);
	struct rein_policy *q = NULL;
	struct rein_err err = {0};

	rein_policy_format(p, &a);
	assert(!a.failed);
	assert(rein_policy_new_empty(&q, &err) == 0);
	if (rein_policy_add(q, REIN_LAYER_USER, "q", (struct rein_str){a.p ? a.p : "", a.n}, &err) < 0) {
		fprintf(stderr, "%s\n%s", err.msg, a.p ? a.p : "");
		assert(!"what was written is not read");
	}
	assert(rein_policy_seal(q, &err) == 0);
	rein_policy_format(q, &b);
	assert(a.n == b.n && !memcmp(a.p, b.p, a.n));
	rein_policy_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static enum rein_decide without = REIN_DECIDE__MAX;
	static const enum rein_layer layers[] = {REIN_LAYER_USER, REIN_LAYER_PROJECT};

	for (size_t i = 0; i < 2; i++) {
		struct rein_policy *p = NULL;
		struct rein_err err = {0};

		if (without == REIN_DECIDE__MAX) {
			assert(rein_policy_new(&p, &err) == 0 && rein_policy_seal(p, &err) == 0);
			without = decide(p);
			rein_policy_free(p);
		}
		assert(rein_policy_new(&p, &err) == 0);
		if (rein_policy_add(p, layers[i], "p", (struct rein_str){(const char *)data, n}, &err) < 0) {
			assert(!strncmp(err.msg, "p:", 2));
			assert(decide(p) == REIN_DENY); /* [P1] */
		} else {
			assert(rein_policy_seal(p, &err) == 0);
			assert(rein_policy_check(p, ignore, NULL, &err) == 0);
			assert(layers[i] != REIN_LAYER_PROJECT || decide(p) <= without); /* [P3] */
			decide(p);
			judge(p);
			round_trip(p);
		}
		rein_policy_free(p);
	}
	return 0;
}
