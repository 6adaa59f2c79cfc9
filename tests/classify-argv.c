/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classify-argv: what the parser and the expansion say a script will run, one command a line, for
 * comparison with what bash really runs. Reads scripts separated by NUL from standard input; writes for
 * each: "ok", "syntax" or "odd" (good, but not understood in full, as after an eval whose text is no script: never
 * safe), then "argc arg…" lines with every argument quoted as hexadecimal, "?" where an argument is not known, and an
 * empty line.
 */
#include <stdio.h>

#include "base/auto.h"
#include "classify/internal.h"

static void put(FILE *to, const struct field *f)
{
	if (!is_literal(f->s) || str_has(f->s, "/dev/fd/sub")) { /* bash numbers its own way */
		fputs(" ?", to);
		return;
	}
	fputs(" x", to);
	for (size_t i = 0; i < f->s.n; i++)
		fprintf(to, "%02x", (unsigned char)f->s.p[i]);
}

static void trace(void *arg, const struct field *v, size_t n)
{
	FILE *to = arg;

	fprintf(to, "%zu", n);
	for (size_t i = 0; i < n; i++)
		put(to, &v[i]);
	fputc('\n', to);
}

int main(void)
{
	struct rein_classifier *c = NULL;
	struct rein_err err = {0};
	auto_free char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	if (rein_classifier_new(&c, &err) < 0)
		return 1;
	while ((n = getdelim(&text, &cap, '\0', stdin)) > 0) {
		size_t len = (size_t)n - (text[n - 1] == '\0');
		struct arena a = {.max = (size_t)64 << 20};
		auto_free char *lines = NULL;
		size_t lines_n = 0;
		FILE *to = open_memstream(&lines, &lines_n);
		struct script sc;
		bool complete;
		jmp_buf fail;

		a.fail = &fail;
		if (!to || setjmp(fail))
			return 1;
		shell_parse(&a, (struct rein_str){text, len}, 0, NULL, false, &sc);
		complete = rein_classify_trace(c, (struct rein_str){text, len}, trace, to);
		fclose(to);
		puts(sc.error ? "syntax" : sc.odd || !complete ? "odd" : "ok");
		arena_done(&a);
		puts(lines ? lines : "");
	}
	rein_classifier_free(c);
	return 0;
}
