/* SPDX-License-Identifier: Apache-2.0 */
/* rein-sql.so: the only file that knows libpg_query. */
#include <pg_query.h>

#include "base/auto.h"
#include "sql/sql.h"

static bool parse(struct rein_str text, struct rein_sql_report *ret)
{
	auto_free char *copy = rein_strndup(text.p, text.n);
	PgQueryParseResult r;
	bool ok;

	if (!copy)
		return false;
	r = pg_query_parse(copy);
	ok = !r.error && r.parse_tree && rein_sql_report_tree(text, r.parse_tree, ret);
	pg_query_free_parse_result(r);
	if (!ok)
		ret->n = 0;
	return ok;
}

__attribute__((visibility("default"))) extern const struct rein_sql_module rein_sql_module;
const struct rein_sql_module rein_sql_module = {REIN_SQL_ABI, parse};
