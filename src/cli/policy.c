/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein policy check | test | explain | show | init | trust | untrust | diff | suggest: the policy in force, or
 * that of the files given, tried without running anything.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/judge.h"
#include "cli/policy.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/policyload.h"
#include "sys/file.h"

struct options {
	struct rein_circumstances who;
};

const struct rein_opt rein_policy_opts[] = {
	REIN_JUDGE_OPTS(struct options, who),
	{0},
};

struct session {
	struct options o;
	struct rein_common common;
	struct rein_judge judge;
	char **args;
	int n;
};

static void session_done(struct session *s)
{
	rein_strlist_done(&s->o.who.policy);
	rein_judge_done(&s->judge);
}

/* Files named as operands are looked at alone; otherwise the policy in force. */
static int load(struct session *s, bool operands_are_files, struct rein_err *err)
{
	bool only_files = operands_are_files && s->n;

	for (int i = 0; only_files && i < s->n; i++)
		if (rein_strlist_add(&s->o.who.policy, s->args[i]) < 0)
			return rein_err_nomem(err);
	return rein_judge_load(&s->judge, &s->o.who, only_files, err);
}

struct remarks {
	struct rein_json *j;
	size_t n;
};

static void on_remark(void *arg, const char *file, unsigned line, const char *text)
{
	struct remarks *r = arg;

	r->n++;
	if (!r->j) {
		printf("%s:%u: %s\n", rein_ui_path(file), line, text);
		return;
	}
	rein_json_open(r->j, '{');
	rein_json_path(r->j, "file", file);
	rein_json_ku64(r->j, "line", line);
	rein_json_kstr(r->j, "text", text);
	rein_json_close(r->j, '}');
}

static int verb_check(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)4 << 20);
	struct rein_json j = {.b = &b};
	struct remarks r = {.j = s->common.json ? &j : NULL};
	int rc = load(s, true, err);

	if (rc < 0)
		return rc;
	rein_json_open(&j, '{');
	rein_json_key(&j, "remarks");
	rein_json_open(&j, '[');
	rc = rein_policy_check(s->judge.policy, on_remark, &r, err);
	if (rc < 0)
		return rc;
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	if (s->common.json)
		rein_json_out(&b);
	else if (!r.n && !s->common.quiet)
		rein_say("the policy is sound");
	return 0;
}

static void test_failed(const struct session *s, struct rein_json *j, const struct rein_policy_test *t,
			const struct rein_decision *d)
{
	if (!s->common.json) {
		printf("%s:%u: expected %s%s%s, decided %s by %s: %s\n", rein_ui_path(t->file), t->line,
		       rein_decide_name(t->expect), t->rule ? " by " : "", t->rule ? t->rule : "",
		       rein_decide_name(d->decide), d->rule ? d->rule : "nothing", d->reason);
		return;
	}
	rein_json_open(j, '{');
	rein_json_path(j, "file", t->file);
	rein_json_ku64(j, "line", t->line);
	rein_json_kstr(j, "expected", rein_decide_name(t->expect));
	rein_json_kstr(j, "decided", rein_decide_name(d->decide));
	rein_json_kstr(j, "rule", d->rule);
	rein_json_kstr(j, "reason", d->reason);
	rein_json_close(j, '}');
}

static int verb_test(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)16 << 20);
	struct rein_json j = {.b = &b};
	size_t failed = 0, n;
	int rc = load(s, true, err);

	if (rc < 0)
		return rc;
	rein_json_open(&j, '{');
	rein_json_key(&j, "failures");
	rein_json_open(&j, '[');
	n = rein_policy_tests(s->judge.policy);
	for (size_t i = 0; i < n; i++) {
		struct rein_policy_test t;
		struct rein_decision d;

		rein_policy_test_get(s->judge.policy, i, &t);
		t.facts.secret = rein_judge_secret(&t.action);
		rc = rein_judge_classify(&s->judge, &t.action, &t.facts.verdict, err);
		if (rc < 0)
			return rc;
		rein_policy_decide(s->judge.policy, &t.action, &t.facts, &d);
		if (d.decide == t.expect && (!t.rule || (d.rule && rein_streq(t.rule, d.rule))))
			continue;
		failed++;
		test_failed(s, &j, &t, &d);
	}
	rein_json_close(&j, ']');
	rein_json_ku64(&j, "tests", n);
	rein_json_ku64(&j, "failed", failed);
	rein_json_close(&j, '}');
	if (s->common.json)
		rein_json_out(&b);
	else if (!s->common.quiet)
		rein_say("%zu of %zu tests as expected%s", n - failed, n,
			 n ? "" : " (a policy carries them under 'tests:')");
	return failed ? 1 : 0;
}

struct telling {
	struct rein_json *j;
	size_t n;
};

static void on_considered(void *arg, const struct rein_considered *c)
{
	struct telling *t = arg;

	t->n++;
	if (t->j) {
		rein_json_open(t->j, '{');
		rein_json_kstr(t->j, "rule", c->rule);
		rein_json_kstr(t->j, "layer", rein_layer_name(c->layer));
		rein_json_path(t->j, "file", c->file);
		rein_json_ku64(t->j, "line", c->line);
		rein_json_kstr(t->j, "decide", rein_decide_name(c->decide));
		rein_json_kbool(t->j, "unsure", c->unsure);
		rein_json_kbool(t->j, "advisory", c->advisory);
		rein_json_close(t->j, '}');
		return;
	}
	printf("  %-5s %s (%s, %s:%u)%s%s\n", rein_decide_name(c->decide), c->rule, rein_layer_name(c->layer),
	       rein_ui_path(c->file), c->line, c->unsure ? ", perhaps: only known when it runs" : "",
	       c->advisory ? ", on trial" : "");
}

static void demand_text(const struct rein_demand *d)
{
	printf("  %u approval%s", d->minimum ? d->minimum : 1, d->minimum > 1 ? "s" : "");
	for (size_t i = 0; i < d->n_approvers; i++)
		printf("%s%s", i ? ", " : " of ", d->approvers[i]);
	if (d->expires_ns)
		printf(", waits %s", rein_ui_seconds(d->expires_ns));
	putchar('\n');
}

static void decision_text(const struct rein_decision *d)
{
	static const enum rein_colour colours[] = {REIN_RED, REIN_YELLOW, REIN_YELLOW, REIN_GREEN};

	printf("%s%s%s: %s\n", rein_ui(stdout, colours[d->decide]), rein_decide_name(d->decide), rein_ui_off(stdout),
	       d->reason);
	printf("  level %s, reach %s, tier %s\n", rein_level_name(d->level), rein_reach_name(d->reach),
	       rein_tier_name(d->tier));
	if (d->file)
		printf("  rule %s (%s, %s:%u)\n", d->rule, rein_layer_name(d->layer), rein_ui_path(d->file), d->line);
	else
		printf("  rule %s (%s)\n", d->rule, rein_layer_name(d->layer));
	if (d->instead)
		printf("  instead: %s\n", d->instead);
	if (d->decide == REIN_ASK || d->decide == REIN_HOLD) {
		demand_text(&d->demand);
		for (size_t i = 0; i < d->n_also; i++)
			demand_text(&d->also[i]);
	}
	if (d->notify)
		printf("  somebody is told, and has %s to cancel\n", rein_ui_seconds(d->notify_ns));
	if (d->would)
		printf("  on trial: %s would %s\n", d->would_rule, rein_decide_name(d->would_decide));
	if (d->advisory)
		printf("  advisory: recorded, not enforced\n");
}

static int verb_explain(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)4 << 20);
	struct rein_json j = {.b = &b};
	struct telling t = {.j = s->common.json ? &j : NULL};
	struct rein_decision d;
	struct rein_action a;
	int rc;

	if (s->n != 1)
		return rein_err_set(err, REIN_E_USAGE, "explain takes one action; put it in quotes");
	rc = load(s, false, err);
	if (!s->judge.policy)
		return rc;
	if (rc < 0) /* the policy denies, and that is the explanation */
		rein_say("%s", err->msg);
	rein_policy_action(rein_kind_name(s->o.who.kind), s->args[0], &a);
	rc = rein_judge_classify(&s->judge, &a, &s->judge.facts.verdict, err);
	if (rc < 0)
		return rc;
	rein_json_open(&j, '{');
	if (!s->common.json)
		printf("considered, strictest first:\n");
	rein_json_key(&j, "considered");
	rein_json_open(&j, '[');
	rein_policy_explain(s->judge.policy, &a, &s->judge.facts, &d, on_considered, &t);
	rein_json_close(&j, ']');
	rein_json_kstr(&j, "level", rein_level_name(d.level));
	rein_json_kstr(&j, "reach", rein_reach_name(d.reach));
	rein_json_decision(&j, &d);
	rein_json_close(&j, '}');
	if (s->common.json) {
		rein_json_out(&b);
		return 0;
	}
	if (!t.n)
		printf("  no rule: decided by level and reach\n");
	decision_text(&d);
	return 0;
}

static int verb_show(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)64 << 20);
	int rc = load(s, true, err);

	if (rc < 0)
		return rc;
	rein_policy_format(s->judge.policy, &b);
	if (b.failed)
		return rein_err_nomem(err);
	if (!s->common.json) {
		fwrite(b.p, 1, b.n, stdout);
		return 0;
	}
	printf("{\"policy\":");
	{
		auto_buf struct rein_buf out = REIN_BUF((size_t)64 << 20);
		struct rein_json j = {.b = &out};

		rein_json_str(&j, (struct rein_str){b.p, b.n});
		if (out.failed)
			return rein_err_nomem(err);
		fwrite(out.p, 1, out.n, stdout);
	}
	printf("}\n");
	return 0;
}

/* What a repository holds, and what a project of that kind wants looked at. */
static const struct {
	const char *file, *text;
} finds[] = {
	{"package.json",
	 "  - id: npm.publish\n    match: {program: [npm, yarn, pnpm], subcommand: [publish, unpublish, deprecate]}\n"
	 "    decide: deny\n    message: releases are made by continuous integration\n"
	 "    instead: open a pull request that raises the version\n"},
	{"Cargo.toml",
	 "  - id: cargo.publish\n    match: {program: cargo, subcommand: [publish, yank, owner]}\n    decide: deny\n"
	 "    message: releases are made by continuous integration\n"
	 "    instead: open a pull request that raises the version\n"},
	{"pyproject.toml",
	 "  - id: python.publish\n    match: {program: [twine, poetry, flit, hatch, uv], subcommand: [upload, publish]}\n"
	 "    decide: deny\n    message: releases are made by continuous integration\n"
	 "    instead: open a pull request that raises the version\n"},
	{"Dockerfile", "  - id: docker.push\n    match: {program: [docker, podman], subcommand: [push]}\n    decide: ask\n"
		       "    message: publishes an image\n"},
	{"main.tf", "  - id: terraform.apply\n    match: {program: [terraform, tofu], subcommand: [apply, destroy, import, state]}\n"
		    "    decide: ask\n    message: changes real infrastructure\n"
		    "    instead: terraform plan\n"},
	{"migrations", "  - id: migrations.applied\n    match: {kind: file, operation: [write, delete], path: [\"migrations/**\"]}\n"
		       "    decide: hold\n    message: a migration that was applied must not change\n"
		       "    instead: add a new migration\n"},
};

static bool exists(const char *dir, const char *name)
{
	auto_free char *path = rein_asprintf("%s/%s", dir, name);

	return path && access(path, F_OK) == 0;
}

static void done_json(const struct session *s, const char *verb)
{
	auto_free char *path = rein_asprintf("%s/.rein.yaml", s->judge.project);
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "done", verb);
	rein_json_path(&j, "file", path ? path : "");
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

static int verb_init(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	auto_free char *path = rein_asprintf("%s/.rein.yaml", s->judge.project);
	struct rein_policy *p = NULL;
	int rc;

	if (!path)
		return rein_err_nomem(err);
	if (access(path, F_OK) == 0)
		return rein_err_set(err, REIN_E_STATE, "'%s' is there already; try it with: rein policy check", path);
	rein_buf_cstr(&b, "# Rules of this project, for agents that run under Rein. A project's file only tightens what the\n"
			  "# user's own policy says, until the user trusts it: rein policy trust. Try it: rein policy test\n"
			  "version: 1\n\nrules:\n"
			  "  - id: project.policy\n    match: {kind: file, operation: [write, delete], path: [.rein.yaml]}\n"
			  "    decide: ask\n    message: changes the rules of this project\n");
	for (size_t i = 0; i < ARRAY_SIZE(finds); i++)
		if (exists(s->judge.project, finds[i].file))
			rein_buf_cstr(&b, finds[i].text);
	if (exists(s->judge.project, "Makefile"))
		rein_buf_cstr(&b, "\n# Commands that must succeed inside the box before anything is committed.\n"
				  "# validate: [make test]\n");
	rein_buf_cstr(&b, "\ntests:\n  - {action: ls -la, expect: allow}\n"
			  "  - {action: write .rein.yaml, kind: file, expect: ask}\n");
	if (b.failed)
		return rein_err_nomem(err);
	rc = rein_policy_new(&p, err);
	if (rc == 0)
		rc = rein_policy_add(p, REIN_LAYER_PROJECT, path, (struct rein_str){b.p, b.n}, err);
	rein_policy_free(p);
	if (rc == 0)
		rc = rein_file_replace(AT_FDCWD, path, (struct rein_str){b.p, b.n}, REIN_SYNC_ORDERED, err);
	if (rc == 0 && s->common.json)
		done_json(s, "init");
	else if (rc == 0 && !s->common.quiet)
		rein_say("wrote %s; look at it, then: rein policy test", rein_ui_path(path));
	return rc;
}

static int verb_trust(struct session *s, struct rein_err *err)
{
	int rc = rein_policy_trust(s->judge.project, err);

	if (rc == 0 && s->common.json)
		done_json(s, "trust");
	else if (rc == 0 && !s->common.quiet)
		rein_say("%s/.rein.yaml may now also loosen, until it changes", rein_ui_path(s->judge.project));
	return rc;
}

static int verb_untrust(struct session *s, struct rein_err *err)
{
	int rc = rein_policy_untrust(s->judge.project, err);

	if (rc == 0 && s->common.json)
		done_json(s, "untrust");
	else if (rc == 0 && !s->common.quiet)
		rein_say("%s/.rein.yaml can only tighten", rein_ui_path(s->judge.project));
	return rc;
}

/* Files given are added as the last layer: what would they change? */
static int verb_diff(struct session *s, struct rein_err *err)
{
	int rc = 0;

	for (int i = 0; i < s->n && rc == 0; i++)
		if (rein_strlist_add(&s->o.who.policy, s->args[i]) < 0)
			return rein_err_nomem(err);
	rc = load(s, false, err);
	return rc < 0 ? rc : rein_policy_diff(&s->judge, &s->common, err);
}

static int verb_suggest(struct session *s, struct rein_err *err)
{
	int rc = load(s, false, err);

	return rc < 0 ? rc : rein_policy_suggest(&s->judge, &s->common, err);
}

static const struct {
	const char *name;
	int (*run)(struct session *s, struct rein_err *err); /* > 0: exit status */
	bool operands;
} verbs[] = {
	{"check", verb_check, true}, {"test", verb_test, true},	   {"explain", verb_explain, true},
	{"show", verb_show, true},   {"init", verb_init, false},	   {"trust", verb_trust, false},
	{"untrust", verb_untrust, false}, {"diff", verb_diff, true}, {"suggest", verb_suggest, false},
};

int rein_cli_policy(int argc, char **argv)
{
	auto_(session_done) struct session s = {0};
	struct rein_err err = {0};
	int first, status, rc;

	if (rein_verb_begin("policy", argc, argv, &s.o, &s.common, &first, NULL, &status))
		return status;
	if (first >= argc) {
		rein_err_set(&err, REIN_E_USAGE, "policy what? check, test, explain, show, init, trust, untrust, diff or suggest");
		return rein_fail(&err, s.common.json);
	}
	s.args = argv + first + 1;
	s.n = argc - first - 1;
	rc = rein_judge_begin(&s.judge, &s.o.who, &err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(verbs); i++)
		if (rein_streq(verbs[i].name, argv[first])) {
			rc = s.n && !verbs[i].operands
				     ? rein_err_set(&err, REIN_E_USAGE, "policy %s takes nothing, not '%s'", argv[first],
						    s.args[s.n - 1])
				     : verbs[i].run(&s, &err);
			return rc < 0 ? rein_fail(&err, s.common.json) : rc;
		}
	if (rc == 0)
		rein_err_set(&err, REIN_E_USAGE, "no 'policy %s': check, test, explain, show, init, trust, untrust, diff or suggest",
			     argv[first]);
	return rein_fail(&err, s.common.json);
}
