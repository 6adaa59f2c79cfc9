/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `true` in a transaction of its own, by a process that lives on, through librein: in a new box, and in one
 * that was kept ready; beside another sandbox, started by the same process. In turn, with a pause before
 * each that is not counted: it is for such times that boxes are kept.
 *
 *	bench-ready --title T [--rounds N] [--json FILE] [-- COMMAND of the other sandbox]
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <rein/txn.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/str.h"

#define PAUSE_NS (10 * 1000000l)
#define WARMUP	 5

extern char **environ;

static struct rein_pool *pool;
static char **other;

static void die(const char *what)
{
	fprintf(stderr, "bench-ready: %s\n", what);
	exit(1);
}

static void run_other(void)
{
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, other[0], NULL, NULL, other, environ) != 0 || waitpid(pid, &status, 0) != pid || status != 0)
		die(other[0]);
}

static void run_ours(struct rein_pool *from)
{
	static const char *const argv[] = {"true", NULL};
	struct rein_txn_opts opts = {.size = sizeof(opts), .pool = from};
	struct rein_txn_result result;
	struct rein_err err = {0};
	struct rein_txn *txn;

	if (rein_txn_begin(&opts, &txn, &err) < 0 || rein_txn_run(txn, argv, &result, &err) < 0 || result.status != 0 ||
	    rein_txn_abort(txn, &err) < 0)
		die(err.msg);
	rein_txn_free(txn);
}

static void run_new(void)
{
	run_ours(NULL);
}

static void run_ready(void)
{
	run_ours(pool);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct kind {
	const char *name;
	void (*run)(void);
	double *ms;
};

static void measure(struct kind *kinds, size_t n, size_t rounds)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (size_t round = 0; round < rounds + WARMUP; round++)
		for (size_t k = 0; k < n; k++) {
			struct kind *kind = &kinds[(round + k) % n];
			uint64_t began;

			nanosleep(&pause, NULL);
			began = rein_mono_ns();
			kind->run();
			if (round >= WARMUP)
				kind->ms[round - WARMUP] = (double)(rein_mono_ns() - began) / 1e6;
		}
}

static void tell(struct kind *kinds, size_t n, size_t rounds, const char *title, const char *json)
{
	FILE *f = json ? fopen(json, "we") : NULL;
	double first = 0;

	if (json && !f)
		die(json);
	printf("%s (%zu rounds, ms)\n", title, rounds);
	if (f)
		fprintf(f, "{\"title\": \"%s\", \"rounds\": %zu, \"alternatives\": [", title, rounds);
	for (size_t k = 0; k < n; k++) {
		double *v = kinds[k].ms, median = v[rounds / 2];

		first = k ? first : median;
		printf("  %-28s min %6.2f  median %6.2f  p95 %6.2f  %.2fx\n", kinds[k].name, v[0], median,
		       v[rounds * 95 / 100], median / first);
		if (f)
			fprintf(f, "%s{\"name\": \"%s\", \"wall_ms\": {\"min\": %.3f, \"median\": %.3f, \"p95\": %.3f, \"ratio\": %.3f}}",
				k ? ", " : "", kinds[k].name, v[0], median, v[rounds * 95 / 100], median / first);
	}
	if (f && (fprintf(f, "]}\n") < 0 || fclose(f) != 0))
		die(json);
}

int main(int argc, char **argv)
{
	struct kind kinds[3] = {{"bwrap", run_other, NULL}, {"librein", run_new, NULL}, {"librein, a box ready", run_ready, NULL}};
	struct kind *first = kinds + 1;
	const char *title = "ready", *json = NULL;
	uint64_t rounds = 200;
	struct rein_err err = {0};
	size_t n = 2;
	int at = 1;

	for (; at + 1 < argc && !rein_streq(argv[at], "--"); at += 2) {
		if (rein_streq(argv[at], "--title"))
			title = argv[at + 1];
		else if (rein_streq(argv[at], "--json"))
			json = argv[at + 1];
		else if (!rein_streq(argv[at], "--rounds") || !rein_parse_u64(argv[at + 1], 100000, &rounds) || rounds < 5)
			return 2;
	}
	if (at + 1 < argc) {
		other = argv + at + 1;
		first = kinds;
		n = 3;
	}
	for (size_t k = 0; k < n; k++) {
		first[k].ms = rein_calloc(rounds, sizeof(double));
		if (!first[k].ms)
			die("memory");
	}
	if (rein_pool_open(2, &pool, &err) < 0)
		die(err.msg);
	measure(first, n, rounds);
	if (rein_pool_used(pool) < rounds)
		die("some had no box that was ready");
	rein_pool_close(pool);
	for (size_t k = 0; k < n; k++)
		qsort(first[k].ms, rounds, sizeof(double), by_value);
	tell(first, n, rounds, title, json);
	return 0;
}
