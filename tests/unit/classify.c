/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classify: the examples in the knowledge files, the cases in tests/cases/classify (level, reach or -,
 * escaped text; "kind:" lines switch the kind), ranges, limits, allocation failures, user knowledge.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/buf.h"
#include "classify/know.h"
#include "model/action.h"
#include "model/verdict.h"

static struct rein_classifier *fresh(void)
{
	struct rein_classifier *c = NULL;
	struct rein_err err = {0};

	assert_int_equal(rein_classifier_new(&c, &err), 0);
	return c;
}

static const struct rein_verdict *judge(struct rein_classifier *c, const char *text)
{
	struct rein_err err = {0};
	const struct rein_verdict *v = rein_classify_command(c, text, NULL, &err);

	assert_non_null(v);
	return v;
}

/* In depth: options with their arities, sub-commands or a grammar of its own, not only a level. */
static void knowledge_is_deep(void **state)
{
	size_t deep = 0, any = 0;

	(void)state;
	for (size_t i = 0; i < know_builtin.n_cmds; i++) {
		const struct know_cmd *k = &know_builtin.cmds[i];

		any++;
		deep += k->handler || k->n_subs > 0 || k->n_opts >= 4;
	}
	print_message("%zu programs, %zu in depth, %zu examples\n", any, deep, know_builtin.n_examples);
	assert_true(any >= 1000);
	assert_true(deep >= 350);
}

static void examples_classify_as_stated(void **state)
{
	struct rein_classifier *c = fresh();
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < know_builtin.n_examples; i++) {
		const struct know_example *e = &know_builtin.examples[i];
		const struct rein_verdict *v = judge(c, e->command);

		if ((int)v->level == e->level && (!e->reach || (int)v->reach == e->reach))
			continue;
		wrong++;
		print_error("%s: '%s' is %s/%s, stated %s/%s (%s)\n", e->program, e->command,
			    rein_level_name(v->level), rein_reach_name(v->reach),
			    rein_level_name(e->level), rein_reach_name(e->reach),
			    v->worst ? v->worst->reason : "nothing");
	}
	rein_classifier_free(c);
	assert_int_equal(wrong, 0);
	assert_true(know_builtin.n_cmds >= 350);
}

static size_t unescape(char *s)
{
	size_t to = 0;

	for (size_t i = 0; s[i]; i++) {
		char ch = s[i];

		if (ch == '\\' && s[i + 1] && strchr("\\ntr0", s[i + 1])) {
			ch = s[++i];
			ch = (char)(ch == 'n'	? '\n'
				    : ch == 't' ? '\t'
				    : ch == 'r' ? '\r'
				    : ch == '0' ? '\001'
						: '\\');
		}
		s[to++] = ch;
	}
	s[to] = '\0';
	return to;
}

static void fill(struct rein_action *a, const char *kind, char *text)
{
	static const char *const ops[] = {"", "read", "write", "append", "delete", "chmod", "list"};
	char *sp = strchr(text, ' ');

	*a = (struct rein_action){.kind = REIN_ACTION_COMMAND, .text = text, .text_n = strlen(text)};
	if (rein_streq(kind, "offline")) {
		a->offline = true;
	} else if (rein_streq(kind, "sql")) {
		a->kind = REIN_ACTION_SQL;
	} else if (rein_streq(kind, "http")) {
		a->kind = REIN_ACTION_HTTP;
		assert_non_null(sp);
		*sp = '\0';
		a->method = text;
		a->url = sp + 1;
		sp = strchr(sp + 1, ' ');
		if (sp) {
			*sp = '\0';
			a->body = sp + 1;
			a->body_n = strlen(sp + 1);
		}
	} else if (rein_streq(kind, "file")) {
		a->kind = REIN_ACTION_FILE;
		assert_non_null(sp);
		*sp = '\0';
		a->path = sp + 1;
		for (size_t i = 1; i < ARRAY_SIZE(ops); i++)
			if (rein_streq(text, ops[i]))
				a->op = (enum rein_file_op)i;
	} else if (rein_streq(kind, "custom")) {
		a->kind = REIN_ACTION_CUSTOM;
		a->name = text;
	}
}

static unsigned case_file(const char *path, unsigned *total)
{
	struct rein_classifier *c = fresh();
	char line[70000], kind[32] = "command";
	unsigned wrong = 0, number = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct rein_err err = {0};
		const struct rein_verdict *v;
		struct rein_action a;
		char *level = line, *reach, *text;

		number++;
		line[strcspn(line, "\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		if (rein_starts(line, "kind:")) {
			snprintf(kind, sizeof(kind), "%.20s", line + 5);
			continue;
		}
		reach = strchr(line, '\t');
		assert_non_null(reach);
		*reach++ = '\0';
		text = strchr(reach, '\t');
		assert_non_null(text);
		*text++ = '\0';
		unescape(text);
		fill(&a, kind, text);
		v = rein_classify(c, &a, &err);
		assert_non_null(v);
		++*total;
		if (rein_streq(rein_level_name(v->level), level) &&
		    (rein_streq(reach, "-") || rein_streq(reach, rein_reach_name(v->reach))))
			continue;
		wrong++;
		print_error("%s:%u: %s/%s, expected %s/%s: %s (%s)\n", path, number,
			    rein_level_name(v->level), rein_reach_name(v->reach), level, reach,
			    text, v->worst ? v->worst->reason : "nothing");
	}
	fclose(f);
	rein_classifier_free(c);
	return wrong;
}

static void cases_classify_as_stated(void **state)
{
	const char *dir = getenv("REIN_CASES");
	unsigned wrong = 0, total = 0;
	auto_closedir DIR *d = NULL;
	struct dirent *e;

	(void)state;
	assert_non_null(dir);
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d))) {
		auto_free char *path = rein_asprintf("%s/%s", dir, e->d_name);
		size_t n = strlen(e->d_name);

		if (n > 4 && rein_streq(e->d_name + n - 4, ".tsv"))
			wrong += case_file(path, &total);
	}
	assert_int_equal(wrong, 0);
	assert_true(total >= 1500);
}

static void ranges_point_at_the_bytes(void **state)
{
	struct rein_classifier *c = fresh();
	const char *text = "ls && rm -rf ~/x; echo ok";
	const struct rein_verdict *v = judge(c, text);

	(void)state;
	assert_int_equal(v->level, REIN_LEVEL_DESTRUCTIVE);
	assert_non_null(v->worst);
	assert_int_equal(v->worst->end - v->worst->start, 3);
	assert_memory_equal(text + v->worst->start, "~/x", 3);
	for (size_t i = 0; i < v->n_facts; i++)
		assert_true(v->facts[i].end <= strlen(text) && v->facts[i].start <= v->facts[i].end);
	rein_classifier_free(c);
}

static void every_allocation_failure_is_no_verdict(void **state)
{
	static const char text[] =
		"for f in a b; do x=$(cat $f | base64 -d); eval \"$x\"; done; python -c 'import os'";

	(void)state;
	for (unsigned long n = 1; n < 12; n++) {
		struct rein_classifier *c = NULL;
		struct rein_err err = {0};

		rein_fault_alloc(n);
		if (rein_classifier_new(&c, &err) == 0) {
			const struct rein_verdict *v = rein_classify_command(c, text, NULL, &err);

			assert_true(v ? v->level >= REIN_LEVEL_RISKY : err.code == REIN_E_NOMEM);
		}
		rein_fault_alloc(0);
		rein_classifier_free(c);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nothing that repeats makes it slow, deep or harmless. Generous times: sanitizers are slow. */
static void hostile_text_is_bounded(struct rein_classifier *c, char *text, const char *head, const char *part)
{
	size_t n = strlen(part), total = strlen(head);
	struct rein_err err = {0};
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = text};
	const struct rein_verdict *v;
	double start;

	memcpy(text, head, total);
	while (total + n < (1 << 20)) {
		memcpy(text + total, part, n);
		total += n;
	}
	text[total] = '\0';
	a.text_n = total;
	start = seconds();
	v = rein_classify(c, &a, &err);
	assert_non_null(v);
	if (seconds() - start > 4.0) {
		print_error("1 MiB of '%s%s' took %.2f s\n", head, part, seconds() - start);
		fail();
	}
	if (!v->complete)
		assert_true(v->level >= REIN_LEVEL_RISKY);
}

static void hostile_texts_are_bounded(void **state)
{
	static const char *const parts[] = {
		"(", "((", "$(", "`", "\"$(", "${x:-", "{a,", "{", "<(", "$((", "a[", "\\\n", "<<E\n",
		"if ", "case x in ", "! ", "time ", "a | ", "a && ", "x=1 ", "sudo ", "env -S '", "[[ ",
		"{{", "}", "~", "'", "$'", "*", "a;", "eval ", "f(){ f; };", "xargs ", "&", "\001", "#",
		"python -c '", "sed '", "awk '", "{1..9}", "\"", "git ", "rm ", "psql -c '",
	};
	/* within one command: a word, a cluster, a list of options that is looked through more than once */
	static const char *const calls[][2] = {
		{"du ", "/bin"}, {"gcc ", "=/"}, {"gcc ", "=/a,"}, {"rpm -q", "a"}, {"rpm -qz", "v"}, {"jq /x ", "-r "},
		{"foo ", "--exec='ls x' "}, {"heroku run ", "'ls x' "}, {"psql -c \"", "'/a'"}, {"aws ", "get-"},
	};
	struct rein_classifier *c = fresh();
	char *text = rein_alloc((1 << 20) + 64);

	(void)state;
	assert_non_null(text);
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
		hostile_text_is_bounded(c, text, "", parts[k]);
	for (size_t k = 0; k < ARRAY_SIZE(calls); k++)
		hostile_text_is_bounded(c, text, calls[k][0], calls[k][1]);
	rein_free(text);
	rein_classifier_free(c);
}

static void users_can_add_knowledge(void **state)
{
	static const char yaml[] = "programs:\n"
				   "  frobnicate: {any: true, args: \"read*\"}\n"
				   "  zap: {level: destructive, why: \"zaps\"}\n";
	static const char broken[] = "programs:\n  x: {args: \"raed*\"}\n";
	struct rein_classifier *c = fresh();
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(judge(c, "frobnicate x")->level, REIN_LEVEL_RISKY);
	assert_int_equal(rein_classifier_learn(c, "mine.yaml", yaml, strlen(yaml), &err), 0);
	assert_int_equal(judge(c, "frobnicate x")->level, REIN_LEVEL_SAFE);
	assert_int_equal(judge(c, "frobnicate .env")->level, REIN_LEVEL_DANGEROUS);
	assert_int_equal(judge(c, "zap")->level, REIN_LEVEL_DESTRUCTIVE);
	assert_int_equal(rein_classifier_learn(c, "broken.yaml", broken, strlen(broken), &err),
			 -REIN_E_INVALID);
	assert_non_null(strstr(err.msg, "broken.yaml:2:"));
	assert_null(rein_classify_command(c, "ls", NULL, &err)); /* it may have been about ls */
	rein_classifier_free(c);
}

static void no_text_has_no_verdict(void **state)
{
	struct rein_classifier *c = fresh();
	struct rein_err err = {0};

	(void)state;
	assert_null(rein_classify_command(c, NULL, NULL, &err));
	assert_int_equal(err.code, REIN_E_INVALID);
	assert_int_equal(judge(c, "ls")->level, REIN_LEVEL_SAFE);
	rein_classifier_free(c);
}

static void argv_is_not_shell_text(void **state)
{
	static const char *const argv[] = {"echo", "$(rm -rf /)", ";", "rm", "-rf", "/", NULL};
	static const char *const gone[] = {"rm", "-rf", "/", NULL};
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .argv = argv, .argc = 6};
	struct rein_classifier *c = fresh();
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_classify(c, &a, &err)->level, REIN_LEVEL_SAFE);
	a.argv = gone;
	a.argc = 3;
	assert_int_equal(rein_classify(c, &a, &err)->level, REIN_LEVEL_DESTRUCTIVE);
	a = (struct rein_action){0};
	assert_int_equal(rein_classify(c, &a, &err)->level, REIN_LEVEL_DESTRUCTIVE);
	rein_classifier_free(c);
}

static void place_depends_on_cwd_and_workspace(void **state)
{
	struct rein_action a = {.kind = REIN_ACTION_COMMAND,
				.text = "rm -rf ../x",
				.text_n = 11,
				.cwd = "/home/me/w/src",
				.home = "/home/me",
				.workspace = "/home/me/w"};
	struct rein_classifier *c = fresh();
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_classify(c, &a, &err)->level, REIN_LEVEL_RISKY);
	a.cwd = "/home/me/w";
	assert_int_equal(rein_classify(c, &a, &err)->level, REIN_LEVEL_DESTRUCTIVE);
	rein_classifier_free(c);
}

static void environment_is_the_commands_own(void **state)
{
	static const char *const env[] = {"CMD=-rf /", "EMPTY=", "MY_TOKEN=ls", "TWICE=ls", "TWICE=rm",
					  "PWD=/home/me/w", "HOW=\001", "TMPDIR=/home/me/w/tmp", NULL};
	static const struct {
		const char *text;
		enum rein_level level, unknown; /* with this environment; with none that is known */
	} rows[] = {
		{"rm $CMD", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE},
		{"echo $CMD", REIN_LEVEL_SAFE, REIN_LEVEL_SAFE},
		/* known to be set, and to what */
		{"${EMPTY-echo} rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_SAFE},
		{"$EMPTY rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DANGEROUS},
		/* not there, or set by what is not looked into */
		{"$NONE rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DANGEROUS},
		{"${NONE[0]} rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DANGEROUS},
		{"${NONE[@]} rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DANGEROUS},
		{"$NONE ls", REIN_LEVEL_DANGEROUS, REIN_LEVEL_DANGEROUS},
		{"${NONE:+echo} rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE},
		{"cd \"$NONE\" && rm -rf x", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE},
		{"set -- $NONE ls; $1", REIN_LEVEL_DANGEROUS, REIN_LEVEL_DANGEROUS},
		{"${NONE:-ls}", REIN_LEVEL_SAFE, REIN_LEVEL_SAFE},
		/* there twice, or not known */
		{"$TWICE x", REIN_LEVEL_DANGEROUS, REIN_LEVEL_DANGEROUS},
		{"$HOW x", REIN_LEVEL_DANGEROUS, REIN_LEVEL_DANGEROUS},
		{"${HOW:+echo} rm -rf /", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE},
		/* a credential is one by its name, and its value is nobody's business */
		{"echo $MY_TOKEN", REIN_LEVEL_RISKY, REIN_LEVEL_RISKY},
		{"$MY_TOKEN x", REIN_LEVEL_DANGEROUS, REIN_LEVEL_DANGEROUS},
		/* the shell's own */
		{"cd /etc; rm -rf $PWD/x", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE},
		{"HOME=/etc; cd; rm -r x", REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE},
		{"rm -r $TMPDIR/x", REIN_LEVEL_RISKY, REIN_LEVEL_RISKY},
	};
	struct rein_classifier *c = fresh();
	struct rein_err err = {0};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		bool known = i % 2 == 0;
		struct rein_action a = {.kind = REIN_ACTION_COMMAND,
					.text = rows[i / 2].text,
					.text_n = strlen(rows[i / 2].text),
					.cwd = "/home/me/w",
					.home = "/home/me",
					.environ_ = known ? env : NULL};
		const struct rein_verdict *v = rein_classify(c, &a, &err);

		assert_non_null(v);
		if (v->level != (known ? rows[i / 2].level : rows[i / 2].unknown))
			fail_msg("'%s'%s: level %d", a.text, known ? "" : " without an environment", v->level);
	}
	rein_classifier_free(c);
}

/* In a box without a network, what is said to its own loopback stays there; what ssh says elsewhere does not. */
static void own_services_are_contained(void **state)
{
	static const struct {
		const char *text;
		enum rein_reach alone, offline;
	} cases[] = {
		{"curl -X POST -d a=b localhost:3000/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_CONTAINED},
		{"curl -X DELETE http://127.0.0.1:3000/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_CONTAINED},
		{"curl -X POST -d a=b 'http://[::1]:3000/x'", REIN_REACH_IRREVERSIBLE, REIN_REACH_CONTAINED},
		{"python3 -m http.server", REIN_REACH_IRREVERSIBLE, REIN_REACH_CONTAINED},
		{"curl -X POST -d a=b http://localhost.example/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_IRREVERSIBLE},
		{"curl -X POST -d a=b http://127.example/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_IRREVERSIBLE},
		{"curl -X POST -d a=b http://127.0.$N/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_IRREVERSIBLE},
		{"ssh host curl -X POST -d a=b localhost:3000/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_IRREVERSIBLE},
		{"curl -X POST -d a=b https://example.com/x", REIN_REACH_IRREVERSIBLE, REIN_REACH_IRREVERSIBLE},
	};
	struct rein_err err = {0};
	struct rein_classifier *c;

	(void)state;
	assert_int_equal(rein_classifier_new(&c, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = cases[i].text, .text_n = strlen(cases[i].text)};

		assert_int_equal(rein_verdict_reach(rein_classify(c, &a, &err)), cases[i].alone);
		a.offline = true;
		assert_int_equal(rein_verdict_reach(rein_classify(c, &a, &err)), cases[i].offline);
		if (cases[i].offline == REIN_REACH_CONTAINED)
			assert_int_equal(rein_verdict_level(rein_classify(c, &a, &err)), REIN_LEVEL_RISKY);
	}
	rein_classifier_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knowledge_is_deep),
		cmocka_unit_test(examples_classify_as_stated),
		cmocka_unit_test(cases_classify_as_stated),
		cmocka_unit_test(own_services_are_contained),
		cmocka_unit_test(ranges_point_at_the_bytes),
		cmocka_unit_test(every_allocation_failure_is_no_verdict),
		cmocka_unit_test(hostile_texts_are_bounded),
		cmocka_unit_test(users_can_add_knowledge),
		cmocka_unit_test(no_text_has_no_verdict),
		cmocka_unit_test(argv_is_not_shell_text),
		cmocka_unit_test(place_depends_on_cwd_and_workspace),
		cmocka_unit_test(environment_is_the_commands_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
