/* SPDX-License-Identifier: Apache-2.0 */
/* Statements by PostgreSQL's grammar, and that what it does not know falls back to tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "classify/grammar.h"
#include "model/action.h"
#include "model/verdict.h"
#include "sql/sql.h"

static const struct {
	enum rein_level level; /* 0: not PostgreSQL's */
	const char *text;
} cases[] = {
	{REIN_LEVEL_SAFE, "select 1"},
	{REIN_LEVEL_SAFE, "select * from \"drop\" where note = 'delete from x; truncate y'"},
	{REIN_LEVEL_SAFE, "with a as (select 1) select * from a -- drop table a"},
	{REIN_LEVEL_SAFE, "explain delete from t"},
	{REIN_LEVEL_SAFE, "explain (analyze off, verbose) delete from t"},
	{REIN_LEVEL_SAFE, "show all; begin; rollback; set statement_timeout = 1; declare c cursor for select 1; fetch c"},
	{REIN_LEVEL_SAFE, "copy (select * from t) to stdout"},
	{REIN_LEVEL_SAFE, "table t"},
	{REIN_LEVEL_SAFE, "select count(*), lower(x) from t for update"},
	{REIN_LEVEL_RISKY, "delete from t where id = 3"},
	{REIN_LEVEL_RISKY, "delete from t where a = 1 or b = 2"},
	{REIN_LEVEL_RISKY, "update t set a = 1 where id = 2 and 1 = 1"},
	{REIN_LEVEL_RISKY, "delete from t where name like '%x'"},
	{REIN_LEVEL_RISKY, "insert into t values (1) on conflict do nothing"},
	{REIN_LEVEL_RISKY, "select * into backup from t"},
	{REIN_LEVEL_RISKY, "create table t (a int)"},
	{REIN_LEVEL_RISKY, "create index concurrently i on t (a)"},
	{REIN_LEVEL_RISKY, "alter table t add column b int"},
	{REIN_LEVEL_RISKY, "vacuum full t"},
	{REIN_LEVEL_RISKY, "select nextval('s')"},
	{REIN_LEVEL_RISKY, "explain analyze update t set a = 1 where id = 2"},
	{REIN_LEVEL_RISKY, "copy t from stdin"},
	{REIN_LEVEL_RISKY, "call p()"},
	{REIN_LEVEL_RISKY, "set role admin"},
	{REIN_LEVEL_DANGEROUS, "copy t to program 'curl http://x'"},
	{REIN_LEVEL_DANGEROUS, "copy t from program 'id'"},
	{REIN_LEVEL_DANGEROUS, "copy t to '/tmp/x'"},
	{REIN_LEVEL_DANGEROUS, "select pg_catalog.pg_read_file('/etc/passwd')"},
	{REIN_LEVEL_DANGEROUS, "select * from t where x = (select lo_import('/etc/shadow'))"},
	{REIN_LEVEL_DANGEROUS, "grant all on t to public"},
	{REIN_LEVEL_DANGEROUS, "alter user bob with password 'x'"},
	{REIN_LEVEL_DANGEROUS, "create role bob superuser"},
	{REIN_LEVEL_DANGEROUS, "alter table t disable row level security"},
	{REIN_LEVEL_DANGEROUS, "alter table t drop constraint c"},
	{REIN_LEVEL_DANGEROUS, "alter system set archive_command = 'x'"},
	{REIN_LEVEL_DANGEROUS, "load 'x.so'"},
	{REIN_LEVEL_DANGEROUS, "create function f() returns int language plpython3u as 'import os'"},
	{REIN_LEVEL_DANGEROUS, "do $$ begin copy t to program 'x'; end $$"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t using u"},
	{REIN_LEVEL_DESTRUCTIVE, "update t set a = 1"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where true"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where 1 = 1"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where 2 > 1"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where not false"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where id = id"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where id = 5 or 'a' = 'a'"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where ((1 = 1) and (true or x))"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where x like '%%'"},
	{REIN_LEVEL_DESTRUCTIVE, "delete from t where 't'::boolean is true"},
	{REIN_LEVEL_DESTRUCTIVE, "with d as (delete from t returning *) select count(*) from d"},
	{REIN_LEVEL_DESTRUCTIVE, "explain analyze delete from t"},
	{REIN_LEVEL_DESTRUCTIVE, "explain (costs, analyze) with d as (update t set a = 1 returning 1) select 1"},
	{REIN_LEVEL_DESTRUCTIVE, "select 1; drop table t cascade"},
	{REIN_LEVEL_DESTRUCTIVE, "drop database prod with (force)"},
	{REIN_LEVEL_DESTRUCTIVE, "alter table t drop column a"},
	{REIN_LEVEL_DESTRUCTIVE, "do $x$ begin execute 'DROP TABLE t'; end $x$"},
	{REIN_LEVEL_DESTRUCTIVE, "drop owned by bob"},
	{0, "replace into t values (1)"},
	{0, "select `a` from t"},
	{0, "delete t from t join u"},
	{0, "selekt 1"},
};

static enum rein_level worst(const struct rein_sql_report *r)
{
	enum rein_level level = REIN_LEVEL_SAFE;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].level > level)
			level = r->v[i].level;
	return level;
}

static void test_statements(void **state)
{
	struct rein_sql_report r;
	size_t wrong = 0;

	(void)state;
	if (!rein_sql_parse(STR("select 1"), &r)) {
		print_message("rein-sql.so is not here\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rein_str text = rein_str(cases[i].text);
		bool ok = rein_sql_parse(text, &r);
		enum rein_level got = ok ? worst(&r) : 0;

		for (size_t k = 0; k < r.n; k++)
			assert_true(r.v[k].start <= r.v[k].end && r.v[k].end <= text.n);
		if (got != cases[i].level) {
			print_message("%s: %d, not %d\n", cases[i].text, got, cases[i].level);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

/* Whoever asks gets a verdict, with the grammar and without it. */
static void test_verdicts(void **state)
{
	static const struct {
		enum rein_level with, without;
		const char *dialect, *text;
	} rows[] = {
		{REIN_LEVEL_SAFE, REIN_LEVEL_DESTRUCTIVE, "postgres", "explain (analyze false) delete from t"},
		{REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_RISKY, "postgres", "delete from t where x like '%'"},
		{REIN_LEVEL_RISKY, REIN_LEVEL_RISKY, "mysql", "delete from t where x like '%'"},
		{REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE, NULL, "select 1 /*! ; drop table t */"},
		{REIN_LEVEL_DESTRUCTIVE, REIN_LEVEL_DESTRUCTIVE, NULL, "select '\\'; drop table t; --'"},
	};
	struct rein_classifier *c;
	struct rein_sql_report r;
	struct rein_err err = {0};

	(void)state;
	if (!rein_sql_parse(STR("select 1"), &r))
		skip();
	assert_int_equal(rein_classifier_new(&c, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rein_action a = {.kind = REIN_ACTION_SQL, .text = rows[i].text, .text_n = strlen(rows[i].text),
					.dialect = rows[i].dialect};

		rein_classifier_set_sql(c, rein_sql_parse);
		assert_int_equal(rein_classify(c, &a, &err)->level, rows[i].with);
		rein_classifier_set_sql(c, NULL);
		assert_int_equal(rein_classify(c, &a, &err)->level, rows[i].without);
	}
	rein_classifier_free(c);
}

/* Nesting as deep as a text can be: an answer, whichever, and no fall off the stack. */
static void test_depth(void **state)
{
	static const char *const parts[] = {"+1", "(", "not ", "- ", " or 1", " union select 1", "case when ", "||''",
					    "[1]", "::int", "a.", "select(", "'", "$$", "/*", ";"};
	struct rein_sql_report r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 20);

		rein_buf_cstr(&b, "select 1");
		while (b.n + strlen(parts[i]) < REIN_SQL_BYTES)
			rein_buf_cstr(&b, parts[i]);
		rein_sql_parse((struct rein_str){b.p, b.n}, &r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
