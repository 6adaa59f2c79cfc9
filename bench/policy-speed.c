/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy-speed [RULES] < COMMANDS: time to classify and to decide each line, with that many rules of a
 * user besides the built-in ones, and how many were decided how.
 */
#include <stdio.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/clock.h"
#include "policy/policy.h"

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void put_rules(struct rein_buf *b, unsigned n)
{
	static const char *const forms[] = {
		"{program: tool%u, subcommand: [deploy, release], flags: [--force, -f]}",
		"{path: [\"services/part%u/**\", \"~/.part%u/*.key\"], effect: [write, delete]}",
		"{host: [\"*.region%u.example.com\"], level: \">= risky\"}",
		"{program: git, subcommand: [push], arguments: [\"release-%u\"]}",
		"{kind: sql, sql: [drop, truncate], agent: [\"agent-%u\"]}",
	};

	rein_buf_cstr(b, "version: 1\nrules:\n");
	for (unsigned i = 0; i < n; i++) {
		rein_buf_printf(b, "  - id: r%u\n    decide: %s\n    match: ", i, i % 3 ? "ask" : "deny");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		rein_buf_printf(b, forms[i % ARRAY_SIZE(forms)], i, i);
#pragma GCC diagnostic pop
		rein_buf_char(b, '\n');
	}
}

int main(int argc, char **argv)
{
	auto_buf struct rein_buf rules = REIN_BUF((size_t)16 << 20);
	auto_free uint64_t *times = rein_calloc(100000, sizeof(*times));
	size_t counts[REIN_DECIDE__MAX] = {0}, n = 0, cap = 0;
	struct rein_classifier *c = NULL;
	struct rein_policy *p = NULL;
	struct rein_err err = {0};
	auto_free char *line = NULL;
	uint64_t wanted = 1000, t0, loaded, both = 0;
	ssize_t len;

	if (argc > 1 && !rein_parse_u64(argv[1], 10000, &wanted))
		return 2;
	put_rules(&rules, (unsigned)wanted);
	t0 = rein_mono_ns();
	if (rein_classifier_new(&c, &err) < 0 || rein_policy_new(&p, &err) < 0)
		return 1;
	loaded = rein_mono_ns() - t0;
	if (wanted && rein_policy_add(p, REIN_LAYER_USER, "rules", (struct rein_str){rules.p, rules.n}, &err) < 0)
		fprintf(stderr, "%s\n", err.msg);
	if (rein_policy_seal(p, &err) < 0)
		return 1;
	while (times && n < 100000 && (len = getline(&line, &cap, stdin)) > 0) {
		struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = line, .text_n = (size_t)len};
		struct rein_verdict_facts f = {.minute = 600, .weekday = 1};
		struct rein_decision d;
		uint64_t t1 = rein_mono_ns(), t2;

		if (line[len - 1] == '\n')
			a.text_n--;
		f.verdict = rein_classify(c, &a, &err);
		t2 = rein_mono_ns();
		rein_policy_decide(p, &a, &f, &d);
		times[n++] = rein_mono_ns() - t2;
		both += rein_mono_ns() - t1;
		counts[d.decide]++;
		if (argc > 2)
			printf("%s\t%s\t%.*s\t%s\n", rein_decide_name(d.decide), d.rule, (int)a.text_n, line, d.reason);
	}
	if (n) {
		qsort(times, n, sizeof(*times), ascending);
		fprintf(stderr, "built-in layer read in %.0f us; %zu lines, decision alone: median %.1f us, p99 %.1f us; "
				"with the verdict %.1f us on average\n", (double)loaded / 1000, n,
			(double)times[n / 2] / 1000, (double)times[n * 99 / 100] / 1000, (double)both / (double)n / 1000);
	}
	for (size_t i = 0; i < REIN_DECIDE__MAX; i++)
		fprintf(stderr, "%-5s %zu\n", rein_decide_name((int)i), counts[i]);
	rein_policy_free(p);
	rein_classifier_free(c);
	return 0;
}
