/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times commands against each other. All alternatives run in turn, round after round, each round
 * beginning with another one, so that what disturbs the machine disturbs all of them alike. For
 * each it reports wall time and CPU time (the command and every descendant that was waited for)
 * as minimum, median, 95th percentile, and the ratio of its median to that of the first.
 *
 *	bench [--rounds N] [--warmup N] [--cd DIR] [--title TEXT] [--json FILE]
 *	      --alt NAME [--prepare SHELL-TEXT] [--status N] -- COMMAND... [--alt ...]
 *
 * --prepare runs before every run of its alternative and is not timed. A run that does not end
 * with --status (0) ends everything: the time of a failure is not a result. A median of fewer
 * than 5 runs and a 95th percentile of fewer than 20 are not given.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"

#define MAX_ALTERNATIVES 16
#define MAX_ROUNDS	 100000
#define ENOUGH_MEDIAN	 5
#define ENOUGH_P95	 20

extern char **environ;

struct series {
	double *ms;
	double min, median, p95;
};

struct alternative {
	const char *name;
	const char *prepare; /* NULL: nothing to do */
	int status;	     /* how it has to end */
	char **argv;
	struct series wall, cpu;
};

struct bench {
	const char *title, *json;
	unsigned rounds, warmup;
	struct alternative alternatives[MAX_ALTERNATIVES];
	unsigned n;
	int null_fd, stderr_fd;
};

static int fail(const char *what, const char *detail)
{
	fprintf(stderr, "bench: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	return -1;
}

/* ---- what to do --------------------------------------------------------------------------- */

static int parse_count(const char *text, unsigned *ret)
{
	uint64_t v;

	if (!text || !rein_parse_u64(text, MAX_ROUNDS, &v))
		return fail("not a number", text);
	*ret = (unsigned)v;
	return 0;
}

/* Everything after --alt up to the next one. The array is cut in place: argv[i] becomes NULL. */
static int parse_alternative(struct bench *b, char **argv, int *at)
{
	struct alternative *a = &b->alternatives[b->n];
	unsigned status = 0;
	int i = *at;

	if (b->n == MAX_ALTERNATIVES)
		return fail("too many alternatives", NULL);
	a->name = argv[i];
	if (!a->name)
		return fail("--alt needs a name", NULL);
	for (i++; argv[i] && !rein_streq(argv[i], "--"); i += 2) {
		if (rein_streq(argv[i], "--prepare") && argv[i + 1])
			a->prepare = argv[i + 1];
		else if (!rein_streq(argv[i], "--status") || parse_count(argv[i + 1], &status) < 0)
			return fail("unknown option of an alternative", argv[i]);
	}
	if (!argv[i] || !argv[i + 1])
		return fail("an alternative needs -- and a command", a->name);
	a->status = (int)status;
	a->argv = &argv[i + 1];
	while (argv[i] && !rein_streq(argv[i], "--alt"))
		i++;
	if (argv[i])
		argv[i++] = NULL;
	else
		i = -1;
	*at = i;
	b->n++;
	return 0;
}

static int parse(struct bench *b, int argc, char **argv)
{
	for (int i = 1; i > 0 && i < argc;) {
		const char *value = argv[i + 1];

		if (rein_streq(argv[i], "--alt")) {
			for (i++; i > 0;)
				if (parse_alternative(b, argv, &i) < 0)
					return -1;
			break;
		}
		if (!value)
			return fail("option without a value", argv[i]);
		if (rein_streq(argv[i], "--title"))
			b->title = value;
		else if (rein_streq(argv[i], "--json"))
			b->json = value;
		else if (rein_streq(argv[i], "--cd")) {
			if (chdir(value) < 0)
				return fail(value, strerror(errno));
		} else if (rein_streq(argv[i], "--rounds")) {
			if (parse_count(value, &b->rounds) < 0)
				return -1;
		} else if (rein_streq(argv[i], "--warmup")) {
			if (parse_count(value, &b->warmup) < 0)
				return -1;
		} else {
			return fail("unknown option", argv[i]);
		}
		i += 2;
	}
	if (b->n == 0)
		return fail("nothing to time: give at least one --alt", NULL);
	return b->rounds ? 0 : fail("--rounds must be at least 1", NULL);
}

/* ---- running ------------------------------------------------------------------------------ */

/* Spawn with stdin and stdout at /dev/null and stderr kept for the case that it fails. */
static int spawn(struct bench *b, char **argv, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, b->null_fd, 0);
	posix_spawn_file_actions_adddup2(&actions, b->null_fd, 1);
	posix_spawn_file_actions_adddup2(&actions, b->stderr_fd, 2);
	rc = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc ? fail(argv[0], strerror(rc)) : 0;
}

static void show_stderr(struct bench *b)
{
	char text[4096];
	ssize_t n = pread(b->stderr_fd, text, sizeof(text), 0);

	if (n > 0)
		fwrite(text, 1, (size_t)n, stderr);
}

static double cpu_ms(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

/* One run; ret_wall and ret_cpu may be NULL. */
static int run_once(struct bench *b, char **argv, int want, double *ret_wall, double *ret_cpu)
{
	struct rusage usage;
	uint64_t start;
	int status;
	pid_t pid;

	if (ftruncate(b->stderr_fd, 0) < 0 || lseek(b->stderr_fd, 0, SEEK_SET) < 0)
		return fail("stderr", strerror(errno));
	start = rein_mono_ns();
	if (spawn(b, argv, &pid) < 0)
		return -1;
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return fail("wait4", strerror(errno));
	if (ret_wall)
		*ret_wall = (double)(rein_mono_ns() - start) / 1e6;
	if (ret_cpu)
		*ret_cpu = cpu_ms(&usage);
	if (WIFEXITED(status) && WEXITSTATUS(status) == want)
		return 0;
	show_stderr(b);
	fprintf(stderr, "bench: '%s' ended with status %d, not %d\n", argv[0],
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), want);
	return -1;
}

static int run_alternative(struct bench *b, struct alternative *a, double *ret_wall,
			   double *ret_cpu)
{
	if (a->prepare) {
		char *shell[] = {(char *)"/bin/sh", (char *)"-c", (char *)a->prepare, NULL};

		if (run_once(b, shell, 0, NULL, NULL) < 0)
			return fail("preparing failed", a->name);
	}
	if (run_once(b, a->argv, a->status, ret_wall, ret_cpu) < 0)
		return fail("this is no result", a->name);
	return 0;
}

static int run_rounds(struct bench *b)
{
	for (unsigned round = 0; round < b->warmup + b->rounds; round++) {
		for (unsigned k = 0; k < b->n; k++) {
			struct alternative *a = &b->alternatives[(round + k) % b->n];
			double wall, cpu;

			if (run_alternative(b, a, &wall, &cpu) < 0)
				return -1;
			if (round < b->warmup)
				continue;
			a->wall.ms[round - b->warmup] = wall;
			a->cpu.ms[round - b->warmup] = cpu;
		}
	}
	return 0;
}

/* ---- numbers ------------------------------------------------------------------------------ */

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void summarize(struct series *s, unsigned n)
{
	qsort(s->ms, n, sizeof(*s->ms), by_value);
	s->min = s->ms[0];
	s->median = n % 2 ? s->ms[n / 2] : (s->ms[n / 2 - 1] + s->ms[n / 2]) / 2;
	s->p95 = s->ms[(n * 95 + 99) / 100 - 1]; /* nearest rank */
}

static void print_number(bool given, double v, const char *unit)
{
	if (given)
		printf(" %10.*f%s", v < 10 ? 2 : v < 1000 ? 1 : 0, v, unit);
	else
		printf(" %10s%*s", "-", (int)strlen(unit), "");
}

static void print_table(const struct bench *b)
{
	const struct alternative *first = &b->alternatives[0];
	bool median = b->rounds >= ENOUGH_MEDIAN, p95 = b->rounds >= ENOUGH_P95;

	printf("%s (%u rounds, ms)\n", b->title ? b->title : "bench", b->rounds);
	printf("  %-28s %10s %10s %10s %11s %10s %11s\n", "", "min", "median", "p95", "ratio",
	       "cpu", "cpu ratio");
	for (unsigned i = 0; i < b->n; i++) {
		const struct alternative *a = &b->alternatives[i];

		printf("  %-28s", a->name);
		print_number(true, a->wall.min, "");
		print_number(median, a->wall.median, "");
		print_number(p95, a->wall.p95, "");
		print_number(median, a->wall.median / first->wall.median, "x");
		print_number(median, a->cpu.median, "");
		print_number(median && first->cpu.median > 0, a->cpu.median / first->cpu.median,
			     "x");
		printf("\n");
	}
	if (!median)
		printf("  (fewer than %d rounds: no median)\n", ENOUGH_MEDIAN);
}

static void json_number(struct rein_json *j, const char *key, bool given, double v)
{
	rein_json_key(j, key);
	if (given)
		rein_json_double(j, v);
	else
		rein_json_null(j);
}

static void json_series(struct rein_json *j, const char *key, const struct series *s,
			const struct series *first, unsigned rounds)
{
	rein_json_key(j, key);
	rein_json_open(j, '{');
	json_number(j, "min", true, s->min);
	json_number(j, "median", rounds >= ENOUGH_MEDIAN, s->median);
	json_number(j, "p95", rounds >= ENOUGH_P95, s->p95);
	json_number(j, "ratio", rounds >= ENOUGH_MEDIAN && first->median > 0,
		    s->median / first->median);
	rein_json_close(j, '}');
}

static int write_json(const struct bench *b)
{
	auto_buf struct rein_buf out = REIN_BUF(1 << 20);
	struct rein_json j = {.b = &out};
	FILE *file;

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "title", b->title ? b->title : "bench");
	rein_json_ku64(&j, "rounds", b->rounds);
	rein_json_key(&j, "alternatives");
	rein_json_open(&j, '[');
	for (unsigned i = 0; i < b->n; i++) {
		const struct alternative *a = &b->alternatives[i];

		rein_json_open(&j, '{');
		rein_json_kstr(&j, "name", a->name);
		rein_json_key(&j, "command");
		rein_json_open(&j, '[');
		for (char **arg = a->argv; *arg; arg++)
			rein_json_cstr(&j, *arg);
		rein_json_close(&j, ']');
		json_series(&j, "wall_ms", &a->wall, &b->alternatives[0].wall, b->rounds);
		json_series(&j, "cpu_ms", &a->cpu, &b->alternatives[0].cpu, b->rounds);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_buf_char(&out, '\n');
	file = out.failed ? NULL : fopen(b->json, "we");
	if (!file)
		return fail(b->json, out.failed ? "result too long" : strerror(errno));
	if (fwrite(out.p, 1, out.n, file) != out.n || fclose(file) != 0)
		return fail(b->json, strerror(errno));
	return 0;
}

static int prepare(struct bench *b)
{
	b->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	b->stderr_fd = memfd_create("stderr", MFD_CLOEXEC);
	if (b->null_fd < 0 || b->stderr_fd < 0)
		return fail("/dev/null", strerror(errno));
	for (unsigned i = 0; i < b->n; i++) {
		struct alternative *a = &b->alternatives[i];

		a->wall.ms = rein_calloc(b->rounds, sizeof(double));
		a->cpu.ms = rein_calloc(b->rounds, sizeof(double));
		if (!a->wall.ms || !a->cpu.ms)
			return fail("out of memory", NULL);
	}
	return 0;
}

static void release(struct bench *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		rein_free(b->alternatives[i].wall.ms);
		rein_free(b->alternatives[i].cpu.ms);
	}
}

int main(int argc, char **argv)
{
	struct bench b = {.rounds = 20, .warmup = 2};
	int rc = 1;

	if (parse(&b, argc, argv) < 0)
		return 2;
	if (prepare(&b) == 0 && run_rounds(&b) == 0) {
		for (unsigned i = 0; i < b.n; i++) {
			summarize(&b.alternatives[i].wall, b.rounds);
			summarize(&b.alternatives[i].cpu, b.rounds);
		}
		print_table(&b);
		rc = b.json && write_json(&b) < 0;
	}
	release(&b);
	return rc;
}
