/* SPDX-License-Identifier: Apache-2.0 */
/* rein safe: safe mode, looked at, begun and lifted by a person. */
#include "base/auto.h"
#include "base/json.h"
#include "cli/boxes.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/trail.h"
#include "engine/violations.h"

struct safe_args {
	const char *agent, *reason;
	bool lift, enter;
};

#define AT(field) offsetof(struct safe_args, field)

const struct rein_opt rein_safe_opts[] = {
	{"lift", 0, REIN_OPT_FLAG, AT(lift), NULL, "end it; violations count from nothing again", 0},
	{"enter", 0, REIN_OPT_FLAG, AT(enter), NULL, "begin it", 0},
	{"agent", 0, REIN_OPT_STRING, AT(agent), "NAME", "for this agent (default: for everybody)", 0},
	{"reason", 0, REIN_OPT_STRING, AT(reason), "TEXT", "why; recorded", 0},
	{0},
};

void rein_json_violations(struct rein_json *j, const struct rein_run *r)
{
	const struct rein_violations *all = &r->violations;

	rein_json_kbool(j, "safe_mode", r->safe_mode || all->safe_mode);
	rein_json_key(j, "violations");
	rein_json_open(j, '[');
	for (size_t i = 0; i < all->n && i < REIN_VIOLATIONS_MAX; i++) {
		rein_json_open(j, '{');
		rein_json_kstr(j, "type", rein_violation_name(all->v[i].type));
		rein_json_kstr(j, "severity", rein_violation_is_high(all->v[i].type) ? "high" : "medium");
		rein_json_kstr(j, "text", all->v[i].text);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
}

struct rows {
	struct rein_json *json;
	size_t n;
};

static void print_row(void *arg, const char *whom, const struct rein_order_text *t)
{
	struct rows *r = arg;

	r->n++;
	if (r->json) {
		rein_json_order(r->json, whom, t);
	} else {
		printf("%-16s since %s, by %s: %s\n", *whom ? rein_ui_path(whom) : "everybody", t->when,
		       t->who, t->why);
	}
}

static void print_all(const struct rein_orders *o, bool json)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 24);
	struct rein_json j = {.b = &b};
	struct rows r = {.json = json ? &j : NULL};

	if (json) {
		rein_json_open(&j, '{');
		rein_json_key(&j, "safe_mode");
		rein_json_open(&j, '[');
	}
	rein_orders_each(o, REIN_ORDERS_SAFE, print_row, &r);
	if (json) {
		rein_json_close(&j, ']');
		rein_json_close(&j, '}');
		rein_json_out(&b);
	} else if (!r.n) {
		printf("safe mode is off\n");
	}
}

int rein_cli_safe(int argc, char **argv)
{
	struct safe_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_trail_done) struct rein_trail t = {0};
	struct rein_orders o;
	struct rein_who who = {0};
	struct rein_err err = {0};
	int first, status, rc = 0;

	rein_ui_outlive_readers();
	if (rein_verb_begin("safe", argc, argv, &a, &common, &first, &e, &status))
		return status;
	o = (struct rein_orders){e.state.fd, e.state.dir};
	if (a.lift && a.enter)
		rein_err_set(&err, REIN_E_USAGE, "either --lift or --enter");
	if (err.code || rein_who_check(&(struct rein_who){.agent = a.agent}, &err) < 0)
		return rein_fail(&err, common.json);
	if (a.lift || a.enter) {
		who.agent = a.agent;
		/* no record, no action */
		if (rein_trail_open(&t, e.state.dir, &who, NULL, &err) < 0 ||
		    rein_trail_act(&t, REIN_EV_STOP, a.lift ? "safe_mode_lifted" : "safe_mode",
				   a.reason ? a.reason : "", &err) < 0)
			return rein_fail(&err, common.json);
		rc = a.lift ? rein_safe_mode_lift(&o, a.agent, &err)
			    : rein_safe_mode_begin(&o, a.agent, a.reason, &err);
		if (rc < 0)
			return rein_fail(&err, common.json);
		if (a.enter && !rein_orders_settled(&o))
			rein_say("a commit that had begun before is still not done");
	}
	if (common.json || !(a.lift || a.enter))
		print_all(&o, common.json);
	else if (!common.quiet)
		printf("%s\n", !rc ? "safe mode was off" : a.lift ? "safe mode is lifted" : "safe mode is on");
	return 0;
}
