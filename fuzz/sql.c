/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: SQL text, by tokens and by the grammar: always a verdict, always within the text. */
#include <stdint.h>
#include <stdlib.h>

#include "classify/grammar.h"
#include "model/action.h"
#include "model/verdict.h"
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct rein_classifier *c;
	struct rein_err err = {0};
	struct rein_action a = {.kind = REIN_ACTION_SQL, .text = (const char *)data, .text_n = n};
	const struct rein_verdict *v;
	enum rein_level tokens;

	if (n > 65536 || (!c && rein_classifier_new(&c, &err) < 0))
		return 0;
	rein_classifier_set_sql(c, NULL);
	v = rein_classify(c, &a, &err);
	tokens = v ? v->level : 0;
	/* PostgreSQL's grammar, where it is here, tells the same bytes apart and stays within them */
	rein_classifier_set_sql(c, rein_sql_parse);
	v = rein_classify(c, &a, &err);
	if (!v || !tokens || !v->level)
		abort();
	for (size_t i = 0; v && i < v->n_facts; i++)
		if (v->facts[i].start > v->facts[i].end || v->facts[i].end > n)
			abort();
	return 0;
}
