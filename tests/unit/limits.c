/* SPDX-License-Identifier: Apache-2.0 */
/* The words for limits: read, told, laid over a profile; who is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "model/limits.h"
#include "sandbox/census.h"
#include "sandbox/nameless.h"
#include "sys/tree.h"

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
	/* that there is to be none is told on, where every box has one */
	assert_int_equal(rein_limits_parse(&asked, "free=none", &err), 0);
	assert_int_equal(rein_limits_parse(&profile, "free=2G", &err), 0);
	assert_true(rein_limits_over(&asked, &profile).v[REIN_LIMIT_FREE] == REIN_LIMIT_OFF);
	assert_int_equal(rein_limits_parse(&asked, "free=0", &err), 0);
	assert_true(asked.v[REIN_LIMIT_FREE] == REIN_LIMIT_OFF);
	assert_int_equal(rein_limits_parse(&asked, "free=18446744073709551615", &err), 0);
	assert_true(asked.v[REIN_LIMIT_FREE] != REIN_LIMIT_OFF);
	/* the two times alone need no watching, nor does what every box is watched for */
	both = (struct rein_limits){.v = {[REIN_LIMIT_TIME] = 1, [REIN_LIMIT_IDLE] = 1, [REIN_LIMIT_FREE] = 1}};
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
		{{REIN_LIMIT_FREE, 95 << 20, 1 << 30}, "the disk is nearly full (95 MiB left, 1 GiB are to stay free)"},
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

/* Looks at a box that was to stand still: a row is before and after, and whether somebody moved. */
static void tells_who_moved(void **state)
{
	static const struct {
		struct rein_stance was[2], is[2];
		size_t nwas, nis;
		unsigned grace;
		bool moved, before_lost;
	} rows[] = {
		{{{2, true, 5, 0}}, {{2, true, 5, 0}}, 1, 1, 0, false, false},
		{{{2, true, 5, 0}}, {{2, true, 6, 0}}, 1, 1, 0, true, false},
		/* the last steps to a stop, once */
		{{{2, true, 5, 0}}, {{2, true, 6, 0}}, 1, 1, 1, false, false},
		{{{2, true, 5, 1}}, {{2, true, 6, 0}}, 1, 1, 1, true, false},
		/* it waited in the kernel, and was stopped after that */
		{{{2, false, 5, 0}}, {{2, true, 9, 0}}, 1, 1, 0, false, false},
		{{{2, true, 5, 0}, {3, true, 1, 0}}, {{3, true, 1, 0}}, 2, 1, 0, false, false},
		{{{3, true, 1, 0}}, {{2, true, 5, 0}, {3, true, 1, 0}}, 1, 2, 1, true, false},
		{{{3, true, 1, 0}}, {{3, true, 1, 0}, {4, true, 5, 0}}, 1, 2, 1, true, false},
		/* nobody was there to be held, or not all could be written down */
		{{{0}}, {{2, true, 5, 0}}, 0, 1, 0, false, false},
		{{{2, true, 5, 0}}, {{2, true, 6, 0}}, 1, 1, 0, false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rein_stance before[2], after[2];
		struct rein_stances was = {before, rows[i].nwas, 2, rows[i].before_lost}, is = {after, rows[i].nis, 2, false};

		memcpy(before, rows[i].was, sizeof(before));
		memcpy(after, rows[i].is, sizeof(after));
		assert_int_equal(rein_stances_moved(&was, &is, rows[i].grace), rows[i].moved);
	}
}

#define FILES 400

/* Made to look like the /proc of a box: every file of ours, nameless, open in two processes. */
static void make_proc(const char *dir, const int *files)
{
	static const char *const processes[] = {"5", "6"};
	char path[128], to[64];

	for (size_t p = 0; p < ARRAY_SIZE(processes); p++) {
		snprintf(path, sizeof(path), "%s/%s", dir, processes[p]);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/%s/fd", dir, processes[p]);
		assert_int_equal(mkdir(path, 0700), 0);
		for (size_t i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/%s/fd/%zu", dir, processes[p], i);
			snprintf(to, sizeof(to), "/proc/self/fd/%d", files[i]);
			assert_int_equal(symlink(to, path), 0);
		}
	}
}

static void counts_a_nameless_file_once(void **state)
{
	char dir[] = "/tmp/rein-limits.XXXXXX", path[64];
	struct rein_err err = {0};
	uint64_t bytes = 0;
	struct rein_nameless found;
	int files[FILES], proc;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < FILES; i++) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/file", dir);
		files[i] = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(files[i] >= 0);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(write(files[i], "x", 1), 1);
		fsync(files[i]);
		assert_int_equal(fstat(files[i], &st), 0);
		bytes += (uint64_t)st.st_blocks * 512;
	}
	make_proc(dir, files);
	proc = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(bytes > 0);
	rein_nameless_count(proc, &found);
	assert_true(found.bytes == bytes);
	assert_false(found.closed);
	close(proc);
	for (size_t i = 0; i < FILES; i++)
		close(files[i]);
	assert_int_equal(rein_tree_remove(AT_FDCWD, dir, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(refuses),
		cmocka_unit_test(lies_over_a_profile),
		cmocka_unit_test(tells),
		cmocka_unit_test(counts_nobody_of_ours),
		cmocka_unit_test(tells_who_moved),
		cmocka_unit_test(counts_a_nameless_file_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
