/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grammar of SQL found in a text: one line a statement that does more than read, worst kept when
 * there are too many. Plain data; `what` and `why` are constants.
 */
#ifndef REIN_MODEL_SQLREPORT_H
#define REIN_MODEL_SQLREPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/effect_fact.h"

#define REIN_SQL_LINES 32

struct rein_sql_line {
	enum rein_level level;
	const char *what; /* "delete", "drop" …: what a policy calls it */
	const char *why;
	uint32_t start, end; /* bytes of the text */
};

struct rein_sql_report {
	struct rein_sql_line v[REIN_SQL_LINES];
	size_t n;
};

/*
 * true: understood to the last byte, and the report is all it does. false: another dialect, an error,
 * too long, or nobody here who knows the grammar; then the report says nothing.
 */
typedef bool rein_sql_fn(struct rein_str text, struct rein_sql_report *ret);

#endif
