/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: SQL text. A statement appended never makes the verdict better. */
#include <stdint.h>
#include <stdlib.h>

#include <rein/classify.h>

#include "model/action.h"
#include "model/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct rein_classifier *c;
	struct rein_err err = {0};
	struct rein_action a = {.kind = REIN_ACTION_SQL, .text = (const char *)data, .text_n = n};
	const struct rein_verdict *v;

	if (n > 65536 || (!c && rein_classifier_new(&c, &err) < 0))
		return 0;
	v = rein_classify(c, &a, &err);
	for (size_t i = 0; v && i < v->n_facts; i++)
		if (v->facts[i].start > v->facts[i].end || v->facts[i].end > n)
			abort();
	return 0;
}
