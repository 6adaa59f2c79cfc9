/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus-speed < TEXTS: nanoseconds a verdict takes in a warm classifier, one text a line (escapes
 * \\ \n \t \r): median and 99th percentile over the texts, each taken as the best of five; then the
 * same for 64 KiB and 1 MiB of each of a few hostile repetitions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "model/action.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double best(struct rein_classifier *c, const char *text, size_t n, int runs)
{
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = text, .text_n = n};
	double min = 1e18;

	for (int i = 0; i < runs; i++) {
		struct rein_err err = {0};
		double start = now(), took;

		if (!rein_classify(c, &a, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			exit(1);
		}
		took = now() - start;
		min = took < min ? took : min;
	}
	return min;
}

static size_t unescape(char *s, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		char ch = s[i];

		if (ch == '\\' && i + 1 < n && strchr("\\ntr", s[i + 1])) {
			ch = s[++i];
			ch = (char)(ch == 'n' ? '\n' : ch == 't' ? '\t' : ch == 'r' ? '\r' : '\\');
		}
		s[to++] = ch;
	}
	return to;
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void hostile(struct rein_classifier *c)
{
	static const char *const parts[] = {
		"(", "((", "$(", "`", "\"$(", "${x:-", "{a,", "{", "<(", "$((", "a[", "<<E\n", "if ",
		"! ", "a | ", "a && ", "x=1 ", "sudo ", "env -S '", "[[ ", "~", "'", "*", "a;", "eval ",
		"f(){ f; };", "xargs ", "python -c '", "{1..9}", "git ", "rm ", "psql -c '",
		"ls -la src\n", "echo $x/$y >f\n", "cat <<'E'\nabc def\nE\n", "lorem ipsum dolor ",
	};
	size_t sizes[] = {65536, 1 << 20};
	auto_free char *text = rein_alloc((1 << 20) + 32);

	if (!text)
		exit(1);
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
		double took[2];

		for (size_t s = 0; s < 2; s++) {
			size_t n = strlen(parts[k]), total = 0;

			for (; total + n <= sizes[s]; total += n)
				memcpy(text + total, parts[k], n);
			took[s] = best(c, text, total, 5) / 1e6;
		}
		printf("%-16.14s", parts[k][strlen(parts[k]) - 1] == '\n' ? "(lines)" : parts[k]);
		printf(" 64 KiB %7.2f ms   1 MiB %7.2f ms%s\n", took[0], took[1],
		       took[0] > 2.0 || took[1] > 50.0 ? "   over" : "");
	}
}

int main(void)
{
	struct rein_classifier *c = NULL;
	struct rein_err err = {0};
	auto_free char *line = NULL;
	auto_free double *v = NULL;
	size_t cap = 0, n = 0, vcap = 0;
	ssize_t got;

	if (rein_classifier_new(&c, &err) < 0)
		return 1;
	while ((got = getline(&line, &cap, stdin)) > 0) {
		size_t len = (size_t)got - (line[got - 1] == '\n');

		if (rein_grow(v, n, vcap) < 0)
			return 1;
		v[n++] = best(c, line, unescape(line, len), 5);
	}
	if (n) {
		qsort(v, n, sizeof(*v), order);
		printf("%zu texts: median %.1f µs, p99 %.1f µs, max %.1f µs\n", n, v[n / 2] / 1e3,
		       v[n * 99 / 100] / 1e3, v[n - 1] / 1e3);
	}
	hostile(c);
	rein_classifier_free(c);
	return 0;
}
