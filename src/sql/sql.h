/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL's own grammar: what the statements of a text do. The grammar is libpg_query's and lies in
 * rein-sql.so, loaded at the first text; where it is not installed every text is "not understood" and
 * callers fall back to what tokens say.
 */
#ifndef REIN_SQL_SQL_H
#define REIN_SQL_SQL_H

#include "model/sqlreport.h"

#define REIN_SQL_BYTES	8192 /* longer texts are not parsed: the grammar's tree nests as deep as they are long */
#define REIN_SQL_ABI	1u
#define REIN_SQL_SYMBOL "rein_sql_module"

struct rein_sql_module {
	unsigned abi;
	rein_sql_fn *parse;
};

bool rein_sql_parse(struct rein_str text, struct rein_sql_report *ret); /* a rein_sql_fn */

/* report.c: from the parser's JSON tree to lines; false: the tree is not what it should be. */
bool rein_sql_report_tree(struct rein_str text, const char *json, struct rein_sql_report *ret);

#endif
