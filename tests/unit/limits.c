/* SPDX-License-Identifier: Apache-2.0 */
/* The words for limits: read, told, laid over a profile; who is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "model/limits.h"
#include "sandbox/census.h"

static void reads(void **state)
{
	struct rein_limits l = {0};
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_limits_parse(&l, "memory=512M,cpu=150%,cpu-time=90s", &err), 0);
	assert_int_equal(rein_limits_parse(&l, "processes=64", &err), 0);
	assert_true(l.v[REIN_LIMIT_MEMORY] == 512ull << 20);
	assert_true(l.v[REIN_LIMIT_CPU] == 150);
	assert_true(l.v[REIN_LIMIT_CPU_TIME] == 90000000000ull);
	assert_true(l.v[REIN_LIMIT_PROCESSES] == 64);
	assert_true(rein_limits_any(&l));
}

static void refuses(void **state)
{
	static const char *const bad[] = {"",	       "memory",      "memory=",       "memory=0",
					  "memory=1X", "=5",	      "mem=5",	       "memory=1,",
					  ",memory=1", "cpu=-1",      "processes=1.5", "time=5 m",
					  "memoryx=1", "open-files=", "cpu=100001"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rein_limits l = {0};
		struct rein_err err = {0};

		assert_int_equal(rein_limits_parse(&l, bad[i], &err), -REIN_E_USAGE);
	}
}

static void lies_over_a_profile(void **state)
{
	struct rein_limits asked = {0}, profile = {0}, both;
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_limits_parse(&profile, "memory=1G,processes=10,time=1m", &err), 0);
	assert_int_equal(rein_limits_parse(&asked, "memory=2G,processes=none", &err), 0);
	both = rein_limits_over(&asked, &profile);
	assert_true(both.v[REIN_LIMIT_MEMORY] == 2ull << 30);
	assert_true(both.v[REIN_LIMIT_PROCESSES] == 0);
	assert_true(both.v[REIN_LIMIT_TIME] == 60000000000ull);
	/* the two times alone need no watching */
	both = (struct rein_limits){.v = {[REIN_LIMIT_TIME] = 1, [REIN_LIMIT_IDLE] = 1}};
	assert_false(rein_limits_any(&both));
}

static void tells(void **state)
{
	static const struct {
		struct rein_limit_hit hit;
		const char *text;
	} rows[] = {
		{{REIN_LIMIT_MEMORY, 564133888, 512 << 20}, "memory limit reached: 538 MiB of 512 MiB"},
		{{REIN_LIMIT_PROCESSES, 31, 30}, "processes limit reached: 31 of 30"},
		{{REIN_LIMIT_CPU_TIME, 1020000000, 1000000000}, "cpu-time limit reached: 1.02 s of 1 s"},
		{{REIN_LIMIT_OUTPUT, 1000, 999}, "output limit reached: 1000 bytes of 999 bytes"},
		{{REIN_LIMIT_TIME, 120000000000, 60000000000}, "time limit reached: 2 min of 1 min"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[128];

		rein_limit_hit_text(&rows[i].hit, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

/* An executor that has not mounted its own yet shows the /proc of everybody. */
static void counts_nobody_of_ours(void **state)
{
	(void)state;
	assert_int_equal(rein_census_open(getpid()), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(refuses),
		cmocka_unit_test(lies_over_a_profile),
		cmocka_unit_test(tells),
		cmocka_unit_test(counts_nobody_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
