/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar, when there is one and the text is fit for it. */
#include <pthread.h>

#include "sql/sql.h"
#include "sys/module.h"

static const struct rein_sql_module *module;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	struct rein_err ignored = {0}; /* without it, tokens decide */

	module = sys_module("rein-sql", REIN_SQL_SYMBOL, REIN_SQL_ABI, &ignored);
}

bool rein_sql_parse(struct rein_str text, struct rein_sql_report *ret)
{
	ret->n = 0;
	if (!text.n || text.n > REIN_SQL_BYTES)
		return false;
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' && text.p[i] != '\n' && text.p[i] != '\t' && text.p[i] != '\r')
			return false; /* also what is not known before it runs */
	pthread_once(&once, load);
	return module && module->parse(text, ret);
}
