/* SPDX-License-Identifier: Apache-2.0 */
/* The policy on what was really changed. */
#include <sys/stat.h>

#include "base/auto.h"
#include "policy_try.h"

static void test_effects(void **state)
{
	static const struct {
		const char *path;
		int kind;
		uint32_t mode;
		const char *rule; /* NULL: allowed */
	} cases[] = {
		{"src/a.c", REIN_CHANGE_MODIFIED, S_IFREG | 0644, NULL},
		{".git/hooks/pre-commit", REIN_CHANGE_CREATED, S_IFREG | 0755, "effects.git-hooks"},
		{"sub/.git/hooks/pre-push", REIN_CHANGE_CREATED, S_IFREG | 0755, "effects.git-hooks"},
		{".git/config", REIN_CHANGE_MODIFIED, S_IFREG | 0644, NULL}, /* what it says decides */
		{".git/hooks/pre-commit.sample", REIN_CHANGE_CREATED, S_IFREG | 0755, NULL},
		{".git/index", REIN_CHANGE_MODIFIED, S_IFREG | 0644, NULL},
		{".git/refs/heads/x", REIN_CHANGE_DELETED, S_IFREG | 0644, NULL},
		{".git", REIN_CHANGE_DELETED, S_IFDIR | 0755, "effects.repository"},
		{".github/workflows/ci.yml", REIN_CHANGE_MODIFIED, S_IFREG | 0644, "effects.ci"},
		{".gitlab-ci.yml", REIN_CHANGE_DELETED, S_IFREG | 0644, "effects.ci"},
		{".rein.yaml", REIN_CHANGE_CREATED, S_IFREG | 0644, "effects.rein-files"},
		{"build/tool", REIN_CHANGE_CREATED, S_IFREG | 0755, NULL},
		{"bin/tool", REIN_CHANGE_CREATED, S_IFREG | 0755, NULL},
		{"x", REIN_CHANGE_META, S_IFREG | 04755, "effects.setuid"},
		/* bytes that mean "anything" in the words of a command are nothing special in a name */
		{".github/workflows/a\001.yml", REIN_CHANGE_CREATED, S_IFREG | 0644, "effects.ci"},
		{".github/workflows/\002", REIN_CHANGE_DELETED, S_IFREG | 0644, "effects.ci"},
		{"a\003/.git/hooks/pre-push", REIN_CHANGE_CREATED, S_IFREG | 0755, "effects.git-hooks"},
		{".git/hooks/\001.sample", REIN_CHANGE_CREATED, S_IFREG | 0755, NULL},
	};
	struct rein_policy *p = with(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_changes c = {0};
		struct rein_decision d;

		add_change(&c, cases[i].path, cases[i].kind, cases[i].mode);
		d = judge(p, &c, 100, NULL);
		if ((d.decide == REIN_ALLOW) != !cases[i].rule ||
		    (cases[i].rule && !rein_streq(cases[i].rule, d.rule)))
			fail_msg("%s: %s by %s", cases[i].path, rein_decide_name(d.decide), d.rule);
	}
	rein_policy_free(p);
}

/* Of places the first is told; how many are gone counts where a rule counts. */
static void test_effects_words(void **state)
{
	struct rein_policy *p = with(NULL, NULL);
	struct rein_changes c = {0};
	struct rein_decision d;

	(void)state;
	add_change(&c, ".git", REIN_CHANGE_DELETED, S_IFDIR | 0755);
	add_change(&c, ".git/HEAD", REIN_CHANGE_DELETED, S_IFREG | 0644);
	add_change(&c, ".git/objects/info", REIN_CHANGE_DELETED, S_IFDIR | 0755);
	d = judge(p, &c, 1000, NULL);
	assert_string_equal(d.reason, ".git and more: the history of the repository is gone");
	c = (struct rein_changes){0};
	for (int i = 0; i < 102; i++)
		add_change(&c, "many", REIN_CHANGE_DELETED, S_IFREG | 0644);
	d = judge(p, &c, 100000, NULL);
	assert_string_equal(d.reason, "102 files deleted: many files are gone (many and more)");
	rein_policy_free(p);
}

/* One rule, one change, one way in which it ended: does it object? */
static void test_effects_chosen(void **state)
{
	static const struct {
		const char *match;
		const char *path;
		int kind;
		uint32_t mode;
		bool objects;
	} cases[] = {
		{"{type: symlink}", "a", REIN_CHANGE_CREATED, S_IFLNK | 0777, true},
		{"{type: symlink}", "a", REIN_CHANGE_CREATED, S_IFREG | 0644, false},
		{"{type: special}", "a", REIN_CHANGE_CREATED, S_IFIFO | 0644, true},
		{"{type: special}", "a", REIN_CHANGE_CREATED, S_IFREG | 0755, false},
		{"{type: executable}", "a", REIN_CHANGE_CREATED, S_IFREG | 0755, true},
		{"{type: executable}", "a", REIN_CHANGE_DELETED, S_IFREG | 0755, true},
		{"{type: executable}", "a", REIN_CHANGE_CREATED, S_IFREG | 0644, false},
		{"{type: directory}", "a", REIN_CHANGE_CREATED, S_IFDIR | 0755, true},
		{"{type: directory}", "a", REIN_CHANGE_CREATED, S_IFREG | 0755, false},
		{"{type: setuid}", "a", REIN_CHANGE_CREATED, S_IFREG | 02755, true},
		{"{change: created}", "a", REIN_CHANGE_CREATED, S_IFREG | 0644, true},
		{"{change: created}", "a", REIN_CHANGE_CREATED, S_IFDIR | 0755, false}, /* files are counted */
		{"{change: created}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{path: [\"*.c\"], except: [a.c]}", "a.c", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{path: [\"*.c\"], except: [a.c]}", "b.c", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{path: [d], change: attributes}", "d", REIN_CHANGE_META, S_IFDIR | 0777, true},
		{"{count: \"<= 1\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{count: \"<= 0\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{count: \"== 1\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{count: \"== 2\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{count: \"!= 2\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{count: \"!= 1\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{count: \"> 0\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{count: \"> 1\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{bytes: \">= 5\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{bytes: \">= 6\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{share: \">= 10%\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{share: \">= 11%\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{status: \"!= 0\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{status: \"== 0\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{killed: true}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{killed: false}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{path: [a], level: risky}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{path: [a], level: safe}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{path: [a], reach: contained}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{path: [a], reach: read-only}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{path: [a], agent: bot}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{path: [a], agent: other}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{path: [a], environment: production}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{path: [a], environment: development}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{host: x.org}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{host: y.org}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{host: \"::1\"}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, true},
		{"{host: z.org}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
		{"{host: z.org, path: [a]}", "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644, false},
	};
	static const char *const hosts[] = {"X.org.:443", "me@y.org", "[::1]:80", NULL};
	const struct rein_verdict v = {.level = REIN_LEVEL_RISKY, .reach = REIN_REACH_CONTAINED};
	struct rein_root root = {.real = (char *)(uintptr_t)"/home/me/work"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *user = rein_asprintf("version: 1\neffects: [{id: x, match: %s, decide: deny}]\n", cases[i].match);
		struct rein_policy *p = with(user, NULL);
		struct rein_changes c = {0};
		struct rein_outcome o = {.changes = &c, .roots = &root, .nroots = 1, .tree_files = 10, .hosts = hosts, .status = -1,
					 .killed = true, .workspace = "/home/me/work", .home = "/home/me",
					 .who = {.verdict = &v, .agent = "bot", .environment = "production"}};
		struct rein_decision d;

		add_change(&c, cases[i].path, cases[i].kind, cases[i].mode);
		c.v[0].what = REIN_WHAT_MODE;
		c.v[0].after.size = 5;
		assert_int_equal(rein_policy_judge_effects(p, &o, &d), 0);
		if ((d.decide == REIN_DENY) != cases[i].objects)
			fail_msg("%s, %s: %s by %s", cases[i].match, cases[i].path, rein_decide_name(d.decide), d.rule);
		/* times of a directory above a change, and what is left out, are nobody's business */
		c.v[0].skipped = true;
		assert_int_equal(rein_policy_judge_effects(p, &o, &d), 0);
		if (strstr(cases[i].match, "path") || strstr(cases[i].match, "type"))
			assert_int_equal(d.decide, REIN_ALLOW);
		rein_changes_done(&c);
		rein_policy_free(p);
	}
}

/* A tree may be deeper than any system call can name; its files have names all the same. */
static void test_effects_far_down(void **state)
{
	static char path[5 * 2048 + sizeof("x/.git/hooks/pre-push")];
	struct rein_policy *p = with(NULL, NULL);
	struct rein_changes c = {0};

	(void)state;
	for (size_t i = 0; i < 2048; i++)
		memcpy(path + 5 * i, "deep/", 5);
	snprintf(path + (size_t)5 * 2048, sizeof("x/.git/hooks/pre-push"), "x/.git/hooks/pre-push");
	add_change(&c, path, REIN_CHANGE_CREATED, S_IFREG | 0755);
	assert_string_equal(judge(p, &c, 100, NULL).rule, "effects.git-hooks");
	rein_policy_free(p);
}

/* The strictest of those that object; one on trial only tells. */
static void test_effects_strictest(void **state)
{
	struct rein_policy *p = with("version: 1\neffects:\n"
				     "  - {id: h, match: {path: [a], change: modified, type: file}, decide: hold}\n"
				     "  - {id: d, match: {path: [a]}, decide: deny}\n"
				     "  - {id: t, match: {path: [b]}, decide: deny, mode: advisory}\n"
				     "  - {id: u, match: {path: [b], type: file}, decide: hold, mode: advisory}\n", NULL);
	struct rein_changes c = {0};
	struct rein_decision d;

	(void)state;
	add_change(&c, "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	d = judge(p, &c, 10, NULL);
	assert_string_equal(d.rule, "d");
	assert_int_equal(d.demand.minimum, 1);
	c = (struct rein_changes){0};
	add_change(&c, "b", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	d = judge(p, &c, 10, NULL);
	assert_int_equal(d.decide, REIN_ALLOW);
	assert_true(d.would);
	assert_string_equal(d.would_rule, "t");
	rein_policy_free(p);
}

static struct rein_changes deletions(unsigned n, const char *dir)
{
	struct rein_changes c = {0};

	for (unsigned i = 0; i < n; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%u.c", dir, i);
		add_change(&c, path, REIN_CHANGE_DELETED, S_IFREG | 0644);
	}
	return c;
}

/* Who names a path is told that it was moved away; who counts what is lost is not. */
static void test_effects_of_moves(void **state)
{
	struct rein_policy *p = with(NULL, NULL);
	struct rein_changes c = {0};

	(void)state;
	add_change(&c, ".rein.yaml", REIN_CHANGE_DELETED, S_IFREG | 0644);
	c.v[0].renamed_away = true;
	assert_string_equal(judge(p, &c, 100, NULL).rule, "effects.rein-files");
	c = deletions(150, "src");
	for (size_t i = 0; i < c.n; i++)
		c.v[i].renamed_away = true;
	assert_int_equal(judge(p, &c, 200, NULL).decide, REIN_ALLOW);
	rein_policy_free(p);
}

static void test_effects_in_numbers(void **state)
{
	struct rein_policy *p = with(NULL, NULL);
	struct rein_change_fact facts[200] = {0};
	struct rein_changes c = deletions(9, "src");

	(void)state;
	assert_int_equal(judge(p, &c, 10, NULL).decide, REIN_ALLOW);
	c = deletions(50, "src");
	assert_int_equal(judge(p, &c, 1000, NULL).decide, REIN_ALLOW);
	c = deletions(50, "src");
	assert_string_equal(judge(p, &c, 100, NULL).rule, "effects.delete-share");
	c = deletions(100, "src");
	assert_string_equal(judge(p, &c, 100000, NULL).rule, "effects.delete-many");
	c = deletions(150, "node_modules/x");
	assert_int_equal(judge(p, &c, 200, NULL).decide, REIN_ALLOW);
	c = deletions(150, "venv/bin");
	assert_int_equal(judge(p, &c, 200, NULL).decide, REIN_ALLOW);
	c = deletions(150, "env/lib/python3/site-packages/x");
	assert_int_equal(judge(p, &c, 200, NULL).decide, REIN_ALLOW);
	for (size_t i = 0; i < 12; i++)
		facts[i].bits = REIN_CHANGE_UNTRACKED;
	c = deletions(20, "src");
	{
		struct rein_decision d = judge(p, &c, 100000, facts);

		assert_string_equal(d.rule, "effects.delete-untracked");
		assert_non_null(strstr(d.reason, "12 files deleted"));
	}
	c = (struct rein_changes){0};
	add_change(&c, ".git/config", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	facts[0] = (struct rein_change_fact){.bits = REIN_CHANGE_PROGRAMS};
	{
		struct rein_decision d = judge(p, &c, 100, facts);

		assert_string_equal(d.rule, "effects.git-config");
	}
	c = (struct rein_changes){0};
	add_change(&c, "conf.py", REIN_CHANGE_CREATED, S_IFREG | 0644);
	facts[0] = (struct rein_change_fact){.secret = "aws-key-id", .bits = REIN_CHANGE_SECRET};
	{
		struct rein_decision d = judge(p, &c, 100, facts);

		assert_string_equal(d.rule, "effects.secret");
		assert_non_null(strstr(d.reason, "aws-key-id"));
	}
	rein_policy_free(p);
	p = with("version: 1\neffects:\n"
		 "  - {id: big, match: {lines: \">= 100\"}, decide: hold}\n"
		 "  - {id: failed, match: {status: \"!= 0\", level: \">= risky\"}, decide: deny, message: it failed}\n"
		 "  - {id: call, match: {host: [\"*.evil.example\"]}, decide: deny}\n", NULL);
	c = (struct rein_changes){0};
	add_change(&c, "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	facts[0] = (struct rein_change_fact){.lines_added = 60, .lines_removed = 40};
	assert_string_equal(judge(p, &c, 100, facts).rule, "big");
	{
		static const char *const hosts[] = {"ok.example", "a.evil.example:443", NULL};
		struct rein_changes none = {0};
		struct rein_outcome o = {.changes = &none, .hosts = hosts};
		struct rein_decision d;

		assert_int_equal(rein_policy_judge_effects(p, &o, &d), 0);
		assert_string_equal(d.rule, "call");
		o.hosts = NULL;
		o.status = 2;
		assert_int_equal(rein_policy_judge_effects(p, &o, &d), 0);
		assert_int_equal(d.decide, REIN_ALLOW); /* no verdict, no level */
		o.changes = NULL;
		assert_true(rein_policy_judge_effects(p, &o, &d) < 0);
		assert_int_equal(d.decide, REIN_HOLD);
	}
	rein_policy_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_effects_words),
		cmocka_unit_test(test_effects_chosen),
		cmocka_unit_test(test_effects_far_down),
		cmocka_unit_test(test_effects_strictest),
		cmocka_unit_test(test_effects_of_moves),
		cmocka_unit_test(test_effects_in_numbers),
	};

	return cmocka_run_group_tests(tests, policy_begin, policy_end);
}
