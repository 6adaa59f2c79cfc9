/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: method, URL and body of a request, separated by newlines. DELETE is never safe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rein/classify.h>

#include "model/action.h"
#include "model/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct rein_classifier *c;
	struct rein_err err = {0};
	struct rein_action a = {.kind = REIN_ACTION_HTTP};
	const struct rein_verdict *v;
	char *text, *url, *body;

	if (n > 65536 || (!c && rein_classifier_new(&c, &err) < 0))
		return 0;
	text = malloc(n + 1);
	if (!text)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	url = strchr(text, '\n');
	a.method = text;
	if (url) {
		*url++ = '\0';
		a.url = url;
		body = strchr(url, '\n');
		if (body) {
			*body++ = '\0';
			a.body = body;
			a.body_n = strlen(body);
		}
	}
	v = rein_classify(c, &a, &err);
	if (v && !strcmp(text, "DELETE") && a.url && strncmp(a.url, "file:", 5) &&
	    v->level < REIN_LEVEL_DESTRUCTIVE)
		abort();
	free(text);
	return 0;
}
