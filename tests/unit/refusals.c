/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals are counted an agent, a rule and an action each; the third one says stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"
#include "engine/refusals.h"

static char dir[] = "/tmp/rein-refusals-XXXXXX";
static uint64_t now = 1000 * REIN_NS_PER_S;

static unsigned note(const char *agent, const char *session, const char *rule, const char *digest)
{
	struct rein_err err = {0};
	unsigned times = 0;

	if (rein_refusals_note(dir, agent, session, rule, digest, now, &times, &err) < 0)
		fail_msg("%s", err.msg);
	return times;
}

static void test_counts(void **state)
{
	(void)state;
	assert_int_equal(note("a", "s", "r", "d"), 1);
	assert_int_equal(note("a", "s", "r", "d"), 2);
	assert_null(rein_refusals_advice(2));
	assert_int_equal(note("a", "s", "r", "d"), 3);
	assert_non_null(rein_refusals_advice(3));
	assert_int_equal(note("b", "s", "r", "d"), 1);
	assert_int_equal(note("a", "t", "r", "d"), 1);
	assert_int_equal(note("a", "s", "q", "d"), 1);
	assert_int_equal(note("a", "s", "r", "e"), 1);
	assert_int_equal(note(NULL, NULL, "r", "d"), 1);
	assert_int_equal(note("as", "", "r", "d"), 1);
	assert_int_equal(note("a", "s", "r", "d"), 4);
}

static void test_forgets(void **state)
{
	(void)state;
	assert_int_equal(note("f", "", "r", "d"), 1);
	now += 3601 * REIN_NS_PER_S;
	assert_int_equal(note("f", "", "r", "d"), 1);
	now -= 60 * REIN_NS_PER_S; /* the clock was set back */
	assert_int_equal(note("f", "", "r", "d"), 1);
}

/* Many different ones never grow the table; the newest stay. */
static void test_full(void **state)
{
	char digest[32];

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		now++;
		snprintf(digest, sizeof(digest), "%u", i);
		assert_int_equal(note("x", "", "r", digest), 1);
	}
	assert_int_equal(note("x", "", "r", "1999"), 2);
	assert_int_equal(note("x", "", "r", "1"), 1);
}

static void test_many_processes(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int k = 0; k < 25; k++)
				note("p", "", "r", "d");
			_exit(0);
		}
		assert_true(pid > 0);
	}
	for (int i = 0; i < 8; i++)
		wait(NULL);
	assert_int_equal(note("p", "", "r", "d"), 201);
}

static void test_damaged(void **state)
{
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/refusals", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("rubbish that is no table", f);
	fclose(f);
	assert_int_equal(note("a", "s", "r", "d"), 1);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	{
		struct rein_err err = {0};
		unsigned times = 0;

		assert_true(rein_refusals_note(dir, "a", "s", "r", "d", now, &times, &err) < 0);
	}
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),	       cmocka_unit_test(test_forgets), cmocka_unit_test(test_full),
		cmocka_unit_test(test_many_processes), cmocka_unit_test(test_damaged),
	};
	int rc;

	if (!mkdtemp(dir))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return rc;
}
