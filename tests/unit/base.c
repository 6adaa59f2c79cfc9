/* SPDX-License-Identifier: Apache-2.0 */
/* base: errors, buffers, globs, numbers, JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/glob.h"
#include "base/json.h"

static void errors_carry_code_and_text(void **state)
{
	struct rein_err err = {0};

	(void)state;
	errno = ENOENT;
	assert_int_equal(rein_err_errno(&err, "open '%s'", "a\nb"), -REIN_E_IO);
	assert_string_equal(err.msg, "open 'a?b': No such file or directory");
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(rein_err_prefix(&err, "txn %s", "7f3k"), -REIN_E_IO);
	assert_string_equal(err.msg, "txn 7f3k: open 'a?b': No such file or directory");
	assert_int_equal(rein_code_exit(REIN_E_CONFLICT), 123);
	assert_string_equal(rein_code_name(REIN_E_CONFLICT), "conflict");
	assert_int_equal(rein_code_exit(9999), 125);
}

static void buffers_stop_at_their_maximum(void **state)
{
	auto_buf struct rein_buf b = REIN_BUF(8);

	(void)state;
	rein_buf_cstr(&b, "1234");
	rein_buf_cstr(&b, "5678");
	assert_false(b.failed);
	rein_buf_char(&b, '9');
	assert_true(b.failed);
	rein_buf_char(&b, 'x');
	assert_int_equal(b.n, 8);
	assert_null(rein_buf_take(&b));
}

static void every_allocation_can_fail(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 4; n++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 20);

		rein_fault_alloc(n);
		for (int i = 0; i < 10000; i++)
			rein_buf_u64(&b, 12345);
		rein_fault_alloc(0);
		assert_true(b.failed);
	}
}

static void escapes_are_safe_for_a_terminal(void **state)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 10);

	(void)state;
	rein_buf_escaped(&b, STR("a\x1b[31m\xff\xe2\x80\xae\xc3\xa4\n"));
	assert_string_equal(b.p, "a\\x1b[31m\\xff\\xe2\\x80\\xae\xc3\xa4\\n");
}

static void globs(void **state)
{
	static const struct {
		const char *pattern, *path;
		int want;
	} cases[] = {
		{"*.c", "src/a.c", 1},
		{"*.c", "src/a.h", 0},
		{"src/*.c", "src/a.c", 1},
		{"src/*.c", "src/x/a.c", 0},
		{"src/**", "src/x/a.c", 1},
		{"src/**/a.c", "src/a.c", 1},
		{"src/**/a.c", "src/x/y/a.c", 1},
		{"src/**/a.c", "src/xa.c", 0},
		{"**/secrets/**", "secrets/x", 1},
		{"**/secrets/**", "a/b/secrets/c/x", 1},
		{"**/secrets/**", "a/secretsx/c", 0},
		{"**/.env*", ".env", 1},
		{"**/.env*", "a/.env.local", 1},
		{"**/.env*", "a/x.env", 0},
		{"[a-c]?.txt", "b1.txt", 1},
		{"[!a-c]?.txt", "b1.txt", 0},
		{"[x", "[x", 1},
		{"a\\*b", "a*b", 1},
		{"a\\*b", "axb", 0},
		{"./a", "a", 1},
		{"./a", "x/a", 0},
		{"./*.c", "x/a.c", 0},
		{"./**/a", "x/a", 1},
		{"**", "any/thing", 1},
		{"*", "any/thing", 1},
		{"", "", 1},
		{"*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (rein_glob_match(cases[i].pattern, cases[i].path) != cases[i].want)
			fail_msg("glob '%s' on '%s'", cases[i].pattern, cases[i].path);
}

static void numbers_people_write(void **state)
{
	uint64_t v;

	(void)state;
	assert_true(rein_parse_duration("5m", &v) && v == 300000000000ull);
	assert_true(rein_parse_duration("250ms", &v) && v == 250000000ull);
	assert_false(rein_parse_duration("5x", &v));
	assert_false(rein_parse_duration("", &v));
	assert_false(rein_parse_duration("99999999999999999999", &v));
	assert_true(rein_parse_size("10M", &v) && v == 10485760);
	assert_false(rein_parse_size("18446744073709551615T", &v));
	assert_false(rein_parse_u64("7 ", 10, &v));
	assert_false(rein_parse_u64("11", 10, &v));
}

static void paths_are_joined_by_one_slash(void **state)
{
	static const char *const cases[][3] = {
		{"/", "a", "/a"}, {"/", "", "/"}, {"/a", "b/c", "/a/b/c"}, {"/a", "", "/a"}, {"", "b", "/b"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *p = rein_path_join(cases[i][0], cases[i][1]);

		assert_string_equal(p, cases[i][2]);
	}
}

static void texts_on_one_line(void **state)
{
	char text[] = "a\\nb\\\\n\\t\\r\\x\\", nul[] = {'\\', '\0', 'n', '\0'}, none[] = "";

	(void)state;
	assert_int_equal(rein_unescape(text, sizeof(text) - 1), 10);
	assert_string_equal(text, "a\nb\\n\t\r\\x\\");
	assert_int_equal(rein_unescape(nul, 3), 3);
	assert_memory_equal(nul, "\\\0n", 4);
	assert_int_equal(rein_unescape(none, 0), 0);
}

static void json_is_valid_for_any_bytes(void **state)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 10);
	struct rein_json j = {.b = &b};

	(void)state;
	rein_json_open(&j, '{');
	rein_json_path(&j, "path", "a\xff\"\n");
	rein_json_ku64(&j, "n", 3);
	rein_json_key(&j, "v");
	rein_json_open(&j, '[');
	rein_json_bool(&j, true);
	rein_json_null(&j);
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	assert_string_equal(b.p, "{\"path\":\"a\xef\xbf\xbd\\\"\\n\",\"path_hex\":\"61ff220a\","
				 "\"n\":3,\"v\":[true,null]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_carry_code_and_text),
		cmocka_unit_test(buffers_stop_at_their_maximum),
		cmocka_unit_test(every_allocation_can_fail),
		cmocka_unit_test(escapes_are_safe_for_a_terminal),
		cmocka_unit_test(paths_are_joined_by_one_slash),
		cmocka_unit_test(globs),
		cmocka_unit_test(numbers_people_write),
		cmocka_unit_test(texts_on_one_line),
		cmocka_unit_test(json_is_valid_for_any_bytes),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
