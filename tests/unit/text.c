/* SPDX-License-Identifier: Apache-2.0 */
/* text: diffs and merges through the loaded module. REIN_TEXT_MODULE says where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/auto.h"
#include "text/load.h"

static struct rein_text *text;

static int load(void **state)
{
	struct rein_err err = {0};

	(void)state;
	if (rein_text_load(getenv("REIN_TEXT_MODULE"), &text, &err) < 0) {
		print_error("%s\n", err.msg);
		return -1;
	}
	return 0;
}

static int unload(void **state)
{
	(void)state;
	rein_text_free(text);
	return 0;
}

static void diffs_read_like_git(void **state)
{
	static const struct {
		const char *before, *after, *a, *b, *want;
		unsigned added, removed;
	} cases[] = {
		{"a", "b", "one\ntwo\nthree\n", "one\n2\nthree\n",
		 "--- a/a\n+++ b/b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", 1, 1},
		{NULL, "new file", "", "x\ny\n",
		 "--- /dev/null\n+++ b/new file\t\n@@ -0,0 +1,2 @@\n+x\n+y\n", 2, 0},
		{"gone", NULL, "x\n", "", "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", 0, 1},
		{"f", "f", "x", "x\n",
		 "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n", 1, 1},
		{"f", "f", "a\nx\n", "a\nx",
		 "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-x\n+x\n\\ No newline at end of file\n", 1,
		 1},
		{"f", "f", "a\nx", "b\nx",
		 "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n x\n\\ No newline at end of file\n", 1,
		 1},
		{"q\"\n\x01\xff", "f", "", "x\n",
		 "--- \"a/q\\\"\\n\\001\xff\"\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", 1, 0},
		{"same", "same", "x\n", "x\n", "", 0, 0},
		{"empty", "empty", "", "", "", 0, 0},
		{"crlf", "crlf", "x\r\n", "x\n", "--- a/crlf\n+++ b/crlf\n@@ -1 +1 @@\n-x\r\n+x\n",
		 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf struct rein_buf b = REIN_BUF(4096);
		struct rein_text_side before = {cases[i].before, rein_str(cases[i].a)};
		struct rein_text_side after = {cases[i].after, rein_str(cases[i].b)};
		struct rein_text_stat st;
		struct rein_err err = {0};

		assert_int_equal(rein_text_diff_buf(text, &before, &after, 3, &b, &st, &err), 0);
		assert_string_equal(b.n ? b.p : "", cases[i].want);
		assert_int_equal(st.added, cases[i].added);
		assert_int_equal(st.removed, cases[i].removed);
		assert_false(st.binary || st.huge);
		assert_int_equal(rein_text_diff(text, &before, &after, 0, NULL, NULL, &st, &err),
				 0);
		assert_int_equal(st.added, cases[i].added);
	}
}

static int stop_at_hunk(void *ctx, enum rein_text_kind kind, const char *p, size_t n)
{
	(void)p;
	(void)n;
	++*(int *)ctx;
	return kind == REIN_TEXT_HUNK;
}

static void what_is_not_text_is_only_named(void **state)
{
	struct rein_text_side a = {"f", {"a\0b", 3}}, b = {"f", STR("x\n")}, c = {"f", STR("y\n")};
	struct rein_text_side huge = {"f", {NULL, REIN_TEXT_SIZE_MAX + 1}};
	auto_buf struct rein_buf small = REIN_BUF(16);
	auto_free char *late = rein_alloc(9000);
	struct rein_text_stat st;
	struct rein_err err = {0};
	int calls = 0;

	(void)state;
	assert_int_equal(rein_text_diff(text, &a, &b, 3, stop_at_hunk, &calls, &st, &err), 0);
	assert_true(st.binary);
	huge.text.p = rein_calloc(1, REIN_TEXT_SIZE_MAX + 1);
	assert_int_equal(rein_text_diff(text, &huge, &b, 3, stop_at_hunk, &calls, &st, &err), 0);
	assert_true(st.huge);
	rein_free((char *)(uintptr_t)huge.text.p);
	assert_int_equal(calls, 0);
	/* Stopping is no error; neither is a NUL behind the first 8000 bytes. */
	assert_int_equal(rein_text_diff(text, &b, &c, 3, stop_at_hunk, &calls, &st, &err), 0);
	assert_int_equal(calls, 3);
	memset(late, 'x', 8500);
	b.text = (struct rein_str){late, 9000};
	assert_int_equal(rein_text_diff(text, &b, &c, 3, NULL, NULL, &st, &err), 0);
	assert_false(st.binary);
	assert_int_equal(rein_text_diff_buf(text, &b, &c, 3, &small, &st, &err), -REIN_E_LIMIT);
}

static void large_texts_are_compared(void **state)
{
	auto_buf struct rein_buf a = REIN_BUF(64 << 20), b = REIN_BUF(64 << 20);
	struct rein_text_side before, after;
	struct rein_text_stat st;
	struct rein_err err = {0};

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		rein_buf_printf(&a, "line %u of many\n", i);
		if (i % 1000 != 5)
			rein_buf_printf(&b, "line %u of many%s\n", i, i % 500 ? "" : " changed");
	}
	before = (struct rein_text_side){"f", {a.p, a.n}};
	after = (struct rein_text_side){"f", {b.p, b.n}};
	assert_int_equal(rein_text_diff(text, &before, &after, 3, NULL, NULL, &st, &err), 0);
	assert_int_equal(st.added, 400);
	assert_int_equal(st.removed, 600);
}

static void merges_join_or_mark(void **state)
{
	static const struct {
		const char *base, *ours, *theirs, *want;
		bool conflict;
	} cases[] = {
		{"1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n",
		 "one\n2\n3\n4\nfive\n", false},
		{"1\n2\n3\n", "1\nb\n3\n", "1\nc\n3\n",
		 "1\n<<<<<<< now\nb\n=======\nc\n>>>>>>> run\n3\n", true},
		{"1\n", "1\n2\n", "1\n2\n", "1\n2\n", false},
		{"x", "x", "y", "y", false},
		{"a\nb\nc\nd\ne", "A\nb\nc\nd\ne", "a\nb\nc\nd\nE", "A\nb\nc\nd\nE", false},
		{"a\n", "", "a\n", "", false},
		{"", "", "", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf struct rein_buf b = REIN_BUF(4096);
		struct rein_text_merge_in in = {.base = rein_str(cases[i].base),
						.ours = rein_str(cases[i].ours),
						.theirs = rein_str(cases[i].theirs),
						.our_label = "now",
						.their_label = "run"};
		struct rein_err err = {0};
		bool conflict = !cases[i].conflict;

		assert_int_equal(rein_text_merge(text, &in, &b, &conflict, &err), 0);
		assert_string_equal(b.n ? b.p : "", cases[i].want);
		assert_int_equal(conflict, cases[i].conflict);
	}
}

static void merges_refuse_what_they_cannot(void **state)
{
	auto_buf struct rein_buf b = REIN_BUF(8);
	struct rein_text_merge_in in = {
		.base = STR("1\n"), .ours = {"a\0", 2}, .theirs = STR("1\n")};
	struct rein_err err = {0};
	bool conflict;

	(void)state;
	assert_int_equal(rein_text_merge(text, &in, &b, &conflict, &err), -REIN_E_UNSUPPORTED);
	in.ours = STR("1\nlonger than the buffer\n");
	assert_int_equal(rein_text_merge(text, &in, &b, &conflict, &err), -REIN_E_LIMIT);
	assert_int_equal(b.n, 0);
	/* Both created it: what is the same is no conflict, what differs is. */
	rein_buf_clear(&b);
	b.max = 4096;
	in = (struct rein_text_merge_in){
		.no_base = true, .ours = STR("a\n"), .theirs = STR("b\n"), .diff3 = true};
	assert_int_equal(rein_text_merge(text, &in, &b, &conflict, &err), 0);
	assert_true(conflict);
	assert_non_null(strstr(b.p, "<<<<<<< ours\na\n"));
	rein_buf_clear(&b);
	in.theirs = STR("a\n");
	assert_int_equal(rein_text_merge(text, &in, &b, &conflict, &err), 0);
	assert_false(conflict);
	assert_string_equal(b.p, "a\n");
}

static void a_missing_module_says_so(void **state)
{
	struct rein_text *t = NULL;
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_text_load("/nonexistent/rein-text.so", &t, &err),
			 -REIN_E_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "/nonexistent/rein-text.so"));
	assert_null(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diffs_read_like_git),
		cmocka_unit_test(what_is_not_text_is_only_named),
		cmocka_unit_test(large_texts_are_compared),
		cmocka_unit_test(merges_join_or_mark),
		cmocka_unit_test(merges_refuse_what_they_cannot),
		cmocka_unit_test(a_missing_module_says_so),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
