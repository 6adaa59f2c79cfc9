/* SPDX-License-Identifier: Apache-2.0 */
/* rein doctor: what this machine can enforce, what that means, how to get what is missing. */
#include "base/auto.h"
#include "base/json.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sandbox/probe.h"

static const char *const words[] = {
	[REIN_PROBE_MISSING] = "missing",
	[REIN_PROBE_PARTIAL] = "partial",
	[REIN_PROBE_OK] = "ok",
};

static void print_json(const struct rein_probe_item *items, size_t n, bool able)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_kbool(&j, "able", able);
	rein_json_key(&j, "features");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		rein_json_open(&j, '{');
		rein_json_kstr(&j, "name", items[i].name);
		rein_json_kstr(&j, "title", items[i].title);
		rein_json_kstr(&j, "state", words[items[i].state]);
		rein_json_kbool(&j, "required", items[i].required);
		rein_json_kstr(&j, "detail", items[i].detail);
		rein_json_kstr(&j, "meaning", items[i].meaning);
		rein_json_kstr(&j, "remedy", items[i].remedy);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

/* Text folded into the window, behind an indent. */
static void fold(const char *text, unsigned width)
{
	unsigned room = (width > 60 ? width : 80) - 12, at = 0;

	printf("            ");
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at && at + 1 + n > room) {
			printf("\n            ");
			at = 0;
		}
		printf("%s%.*s", at ? " " : "", (int)n, text);
		at += (unsigned)n + (at ? 1 : 0);
		text += n;
		text += *text == ' ';
	}
	putchar('\n');
}

int rein_cli_doctor(int argc, char **argv)
{
	static const enum rein_colour colours[] = {REIN_RED, REIN_YELLOW, REIN_GREEN};
	struct rein_probe_item items[REIN_PROBE_MAX];
	struct rein_common common = {0};
	int first, status;
	bool able = true;
	size_t n;

	if (rein_verb_begin("doctor", argc, argv, NULL, &common, &first, NULL, &status))
		return status;
	n = rein_probe(items);
	for (size_t i = 0; i < n; i++)
		able &= !items[i].required || items[i].state != REIN_PROBE_MISSING;
	if (common.json) {
		print_json(items, n, able);
		return able ? 0 : rein_code_exit(REIN_E_UNSUPPORTED);
	}
	for (size_t i = 0; i < n; i++) {
		const struct rein_probe_item *it = &items[i];

		printf("  %s%-8s%s  %s%s%s%s\n", rein_ui(stdout, colours[it->state]), words[it->state],
		       rein_ui_off(stdout), it->title, *it->detail ? " (" : "", it->detail,
		       *it->detail ? ")" : "");
		if (it->state != REIN_PROBE_OK || common.verbose)
			fold(it->meaning, rein_ui_width(stdout));
		if (it->remedy && it->state != REIN_PROBE_OK)
			fold(it->remedy, rein_ui_width(stdout));
	}
	if (able)
		printf("rein can run here: everything it requires is there\n");
	else
		printf("rein cannot run here until what is missing and required is there\n");
	return able ? 0 : rein_code_exit(REIN_E_UNSUPPORTED);
}
