/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions in words. */
#include "cli/judgement.h"

#include <rein/classify.h>

#include "base/auto.h"
#include "cli/ui.h"
#include "engine/refusals.h"

static const char *decided(const struct rein_decision *d)
{
	static const char *const words[] = {
		[REIN_DENY] = "refused", [REIN_ASK] = "asked", [REIN_HOLD] = "held", [REIN_ALLOW] = "allowed"};

	return (unsigned)d->decide < ARRAY_SIZE(words) ? words[d->decide] : "refused";
}

const char *rein_judgement_words(const struct rein_judgement *j)
{
	static char text[160];
	const struct rein_decision *d = &j->before;

	if (!j->has_before)
		return "not judged";
	if (d->level == REIN_LEVEL_SAFE && d->decide == REIN_ALLOW)
		return "safe";
	snprintf(text, sizeof(text), "%s, %s: %s%s", rein_level_name((int)d->level), rein_reach_name((int)d->reach),
		 j->approved ? "approved" : d->decide == REIN_HOLD ? "to be reviewed" : decided(d),
		 d->advisory && d->decide != REIN_ALLOW ? " if it were enforced" : "");
	return text;
}

void rein_print_command(char *const *argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	rein_more("%s", rein_ui_command(argv, n, 400));
}

static void print_demand(const struct rein_demand *d)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);

	if (!d->n_approvers && d->minimum <= 1)
		return;
	for (size_t i = 0; i < d->n_approvers; i++)
		rein_buf_printf(&b, "%s%s", i ? ", " : "", rein_ui_path(d->approvers[i]));
	rein_more("approval: %u%s%s", d->minimum ? d->minimum : 1, b.n ? " of " : " people", b.n ? b.p : "");
}

void rein_print_decision(const struct rein_decision *d)
{
	if (d->rule && d->line && d->layer != REIN_LAYER_BUILTIN)
		rein_more("rule: %s (%s, %s:%u)", d->rule, rein_layer_name((int)d->layer), rein_ui_path(d->file),
			  d->line);
	else if (d->rule)
		rein_more("rule: %s (%s)", d->rule, rein_layer_name((int)d->layer));
	if (d->instead)
		rein_more("instead: %s", d->instead);
	print_demand(&d->demand);
	for (size_t i = 0; i < d->n_also; i++)
		print_demand(&d->also[i]);
}

void rein_print_refusal(const struct rein_judgement *j, const struct rein_err *err, char *const *argv, bool offline)
{
	const struct rein_decision *d = &j->before;
	bool asks = err->code == REIN_E_APPROVAL;

	char verdict[80] = ""; /* none where a policy that cannot be read denies everything */

	if (d->level)
		snprintf(verdict, sizeof(verdict), " (%s, %s)", rein_level_name((int)d->level), rein_reach_name((int)d->reach));
	rein_say("%s%s:%s %s%s", rein_ui(stderr, asks ? REIN_YELLOW : REIN_RED),
		 asks ? "needs approval, nothing ran" : "refused", rein_ui_off(stderr), d->reason, verdict);
	rein_print_command(argv);
	rein_print_decision(d);
	if (*j->missing)
		rein_more("%s", j->missing);
	else if (asks)
		rein_more("a person can approve it: at a terminal, or with rein run --approve");
	if (asks && offline && d->reach >= REIN_REACH_COMPENSABLE)
		rein_more("if it needs a network, too: the box has none, --allow-host NAME opens one host, --net open all");
	if (rein_refusals_advice(j->repeated))
		rein_more("%s", rein_refusals_advice(j->repeated));
}

static void put(struct rein_json *j, const struct rein_decision *d)
{
	rein_json_open(j, '{');
	rein_json_kstr(j, "decision", rein_decide_name((int)d->decide));
	rein_json_kstr(j, "rule", d->rule ? d->rule : "");
	rein_json_kstr(j, "layer", rein_layer_name((int)d->layer));
	rein_json_kstr(j, "reason", d->reason);
	rein_json_key(j, "instead");
	if (d->instead)
		rein_json_cstr(j, d->instead);
	else
		rein_json_null(j);
	rein_json_kbool(j, "advisory", d->advisory);
	rein_json_close(j, '}');
}

void rein_json_judgement(struct rein_json *j, const struct rein_judgement *judged)
{
	rein_json_kstr(j, "level", judged->has_before ? rein_level_name((int)judged->before.level) : "");
	rein_json_kstr(j, "reach", judged->has_before ? rein_reach_name((int)judged->before.reach) : "");
	rein_json_kbool(j, "approved", judged->approved);
	rein_json_key(j, "approval_missing");
	if (*judged->missing)
		rein_json_cstr(j, judged->missing);
	else
		rein_json_null(j);
	rein_json_ku64(j, "refused_times", judged->repeated);
	rein_json_key(j, "decided");
	if (judged->has_before)
		put(j, &judged->before);
	else
		rein_json_null(j);
	rein_json_key(j, "effects_decided");
	if (judged->has_after)
		put(j, &judged->after);
	else
		rein_json_null(j);
}
