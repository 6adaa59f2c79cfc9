/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: shell text. Beyond not crashing: every range lies in the text, what was not
 * understood is never safe, the level is that of the worst fact, and a command after a harmless one
 * is never safer than alone.
 */
#include <stdint.h>
#include <stdlib.h>

#include <rein/classify.h>

#include "model/action.h"
#include "model/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct rein_classifier *c;
	struct rein_err err = {0};
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = (const char *)data, .text_n = n};
	const struct rein_verdict *v;
	enum rein_level worst = REIN_LEVEL_SAFE, alone;
	char *more;

	if (n > 65536 || (!c && rein_classifier_new(&c, &err) < 0))
		return 0;
	v = rein_classify(c, &a, &err);
	if (!v)
		return 0;
	for (size_t i = 0; i < v->n_facts; i++) {
		check(v->facts[i].start <= v->facts[i].end && v->facts[i].end <= n + 1);
		check(v->facts[i].reason != NULL);
		worst = v->facts[i].level > worst ? v->facts[i].level : worst;
	}
	check(v->level == worst && v->reach > REIN_REACH_NONE);
	check(v->complete || v->level > REIN_LEVEL_SAFE);
	alone = v->level;
	if (!v->complete)
		return 0;
	more = malloc(n + 8);
	if (!more)
		return 0;
	for (size_t i = 0; i < 5; i++)
		more[i] = "true\n"[i];
	for (size_t i = 0; i < n; i++)
		more[i + 5] = (char)data[i];
	a.text = more;
	a.text_n = n + 5;
	v = rein_classify(c, &a, &err);
	check(!v || v->level >= alone);
	free(more);
	return 0;
}
