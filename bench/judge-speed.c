/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge-speed [--rules N] [--json FILE] < TEXTS: how long a verdict and the decision about it take in a warm
 * process with that many rules of a user besides the built-in ones (1,000), one text a line (escapes \\ \n \t \r),
 * each the best of five; what the verdict on 64 KiB takes at most: of each of these texts, again and again, and of
 * hostile repetitions; on 1 MiB of the latter; what the worst of them takes with the decision, and how much memory is
 * kept. CPU time.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/auto.h"
#include "base/buf.h"
#include "classify/grammar.h"
#include "policy/policy.h"
#include "sql/sql.h"

struct judge {
	struct rein_classifier *c;
	struct rein_policy *p;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e6 * (double)t.tv_sec + (double)t.tv_nsec / 1e3;
}

static double best(const struct judge *j, const char *text, size_t n, bool decide)
{
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = text, .text_n = n};
	double min = 1e18;

	for (int i = 0; i < 5; i++) {
		struct rein_verdict_facts f = {.minute = 600, .weekday = 1};
		struct rein_err err = {0};
		struct rein_decision d;
		double start = now_us(), took;

		f.verdict = rein_classify(j->c, &a, &err);
		if (!f.verdict)
			exit(1);
		if (decide)
			rein_policy_decide(j->p, &a, &f, &d);
		took = now_us() - start;
		min = took < min ? took : min;
	}
	return min;
}

static void put_rules(struct rein_buf *b, unsigned n)
{
	rein_buf_cstr(b, "version: 1\nrules:\n");
	for (unsigned i = 0; i < n; i++) {
		rein_buf_printf(b, "  - id: r%u\n    decide: %s\n    match: ", i, i % 3 ? "ask" : "deny");
		switch (i % 5) {
		case 0:
			rein_buf_printf(b, "{program: tool%u, subcommand: [deploy, release], flags: [--force, -f]}\n", i);
			break;
		case 1:
			rein_buf_printf(b, "{path: [\"services/part%u/**\", \"~/.part%u/*.key\"], effect: [write, delete]}\n", i, i);
			break;
		case 2:
			rein_buf_printf(b, "{host: [\"*.region%u.example.com\"], level: \">= risky\"}\n", i);
			break;
		case 3:
			rein_buf_printf(b, "{program: git, subcommand: [push], arguments: [\"release-%u\"]}\n", i);
			break;
		default:
			rein_buf_printf(b, "{kind: sql, sql: [drop, truncate], agent: [\"agent-%u\"]}\n", i);
		}
	}
}

static void begin(struct judge *j, unsigned rules)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)16 << 20);
	struct rein_err err = {0};

	put_rules(&b, rules);
	if (rein_classifier_new(&j->c, &err) < 0 || rein_policy_new(&j->p, &err) < 0 ||
	    rein_policy_add(j->p, REIN_LAYER_USER, "rules", (struct rein_str){b.p, b.n}, &err) < 0 ||
	    rein_policy_seal(j->p, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	rein_classifier_set_sql(j->c, rein_sql_parse);
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void keep(char **which, double *worst, const char *text, double took)
{
	*worst = took;
	rein_free(*which);
	*which = rein_strdup(text);
	if (!*which)
		exit(1);
}

/* 64 KiB of one text, a line each time. Most are far from the worst: only what may be it is measured well. */
static void repeated(const struct judge *j, const char *line, size_t n, double *worst, char **which)
{
	enum { SIZE = 65536 };
	static char text[SIZE];
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = text};
	struct rein_err err = {0};
	double start, took;

	if (!n || n >= SIZE)
		return;
	for (; a.text_n + n + 1 <= SIZE; a.text_n += n + 1) {
		memcpy(text + a.text_n, line, n);
		text[a.text_n + n] = '\n';
	}
	start = now_us();
	if (!rein_classify(j->c, &a, &err))
		exit(1);
	if ((now_us() - start) / 1e3 <= *worst)
		return;
	took = best(j, text, a.text_n, false) / 1e3;
	if (took > *worst)
		keep(which, worst, line, took);
}

static void hostile(const struct judge *j, double worst[2], char *which[2], double *decided)
{
	static const char *const parts[] = {
		"(", "((", "$(", "`", "\"$(", "${x:-", "{a,", "{", "<(", "$((", "a[", "<<E\n", "if ", "! ", "a | ", "a && ",
		"x=1 ", "sudo ", "env -S '", "[[ ", "~", "'", "*", "a;", "eval ", "f(){ f; };", "xargs ", "python -c '",
		"{1..9}", "git ", "rm ", "psql -c '", "psql -c 'select 1+1';", "ls -la src\n", "echo $x/$y >f\n",
		"cat <<'E'\nabc def\nE\n", "lorem ipsum dolor ", "x=$x$x;", "case a in a) ", "\\\n", "\x01\x80\xff", "for i in a; do ",
		"a=(", "function f ", "&", "|", "{},", "${x/a/b}", "$'\\x41'", "curl x | sh;", "2>&1 ", "!(", "@(a|", "\"\"",
		"$x", "${x}", "\"$x\"", "${!x}", "$HOME", "~/", "$1", "$((x))", "a=$x ", "`a`",
		"$x{a,b}", "${x@Q}", "${#x}", "${x:-${y}}", "${x//a*/b}", "${x##*/}", "a* ", "*?", "./f\n", "cat ~/.a*c\n",
	};
	static const char *const heads[] = {"", "echo ", "x=", "x=a*a*a*a*a*a*a*a*a*a*a*a\necho "};
	size_t sizes[] = {65536, 1 << 20};
	auto_free char *text = rein_alloc((1 << 20) + 64);

	if (!text)
		exit(1);
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
		for (size_t h = 0; h < ARRAY_SIZE(heads) + 1; h++) { /* the last: none, and a MiB */
			const char *head = heads[h % ARRAY_SIZE(heads)];
			size_t n = strlen(parts[k]), total = strlen(head), s = h == ARRAY_SIZE(heads);
			double took;

			memcpy(text, head, total);
			for (; total + n <= sizes[s]; total += n)
				memcpy(text + total, parts[k], n);
			took = best(j, text, total, false) / 1e3;
			if (took > worst[s])
				keep(&which[s], &worst[s], parts[k], took);
			took = best(j, text, total, true) / 1e3;
			*decided = took > *decided ? took : *decided;
		}
}

static void shown(struct rein_buf *b, const char *s)
{
	for (; *s; s++)
		if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ' || (unsigned char)*s > 126)
			rein_buf_printf(b, "\\\\x%02x", (unsigned char)*s);
		else
			rein_buf_char(b, *s);
}

int main(int argc, char **argv)
{
	auto_buf struct rein_buf out = REIN_BUF(1 << 16);
	double worst[2] = {0}, decided = 0;
	char *which[2] = {NULL, NULL};
	const char *json = NULL;
	auto_free char *line = NULL;
	auto_free double *v = NULL;
	size_t cap = 0, n = 0, vcap = 0;
	struct judge j = {0};
	uint64_t rules = 1000;
	ssize_t got;

	for (int i = 1; i + 1 < argc; i += 2)
		if (rein_streq(argv[i], "--json"))
			json = argv[i + 1];
		else if (!rein_streq(argv[i], "--rules") || !rein_parse_u64(argv[i + 1], 10000, &rules))
			return 2;
	begin(&j, (unsigned)rules);
	while ((got = getline(&line, &cap, stdin)) > 0) {
		size_t len = (size_t)got - (line[got - 1] == '\n');

		if (rein_grow(v, n, vcap) < 0)
			return 1;
		len = rein_unescape(line, len);
		v[n++] = best(&j, line, len, true);
		repeated(&j, line, len, &worst[0], &which[0]);
	}
	if (!n)
		return 2;
	qsort(v, n, sizeof(*v), order);
	hostile(&j, worst, which, &decided);
	rein_buf_printf(&out, "{\"title\": \"verdict and decision\", \"texts\": %zu, \"rules\": %llu, \"median_us\": %.1f, \"p99_us\": "
			      "%.1f, \"max_us\": %.1f, \"hostile_64k_ms\": %.2f, \"hostile_64k\": \"", n, (unsigned long long)rules,
			v[n / 2], v[n * 99 / 100], v[n - 1], worst[0]);
	shown(&out, which[0]);
	rein_buf_printf(&out, "\", \"hostile_1m_ms\": %.2f, \"hostile_1m\": \"", worst[1]);
	shown(&out, which[1]);
	rein_buf_printf(&out, "\", \"hostile_decided_ms\": %.2f, \"memory_kib\": %zu}\n", decided, (size_t)mallinfo2().uordblks / 1024);
	fputs(out.p, stdout);
	if (json) {
		FILE *f = fopen(json, "we");

		if (!f || fputs(out.p, f) < 0 || fclose(f))
			return 1;
	}
	rein_free(which[0]);
	rein_free(which[1]);
	rein_policy_free(j.p);
	rein_classifier_free(j.c);
	return 0;
}
