/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein policy check | test | explain | show | init | trust | untrust: the policy in force, or that of
 * the files given, tried without running anything.
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/policyload.h"
#include "sys/file.h"

struct options {
	struct rein_strlist policy;
	int kind;
	const char *agent, *role, *environment, *at, *cwd;
	uint64_t trust;
};

#define KINDS "command|file|sql|http|custom"

const struct rein_opt rein_policy_opts[] = {
	{"policy", 'p', REIN_OPT_LIST, offsetof(struct options, policy), "FILE", "add a policy file as the last layer", 0},
	{"kind", 0, REIN_OPT_CHOICE, offsetof(struct options, kind), KINDS, "what the action is", 0},
	{"agent", 0, REIN_OPT_STRING, offsetof(struct options, agent), "NAME", "as this agent", 0},
	{"role", 0, REIN_OPT_STRING, offsetof(struct options, role), "ROLE", "in this role", 0},
	{"environment", 0, REIN_OPT_STRING, offsetof(struct options, environment), "NAME", "in this environment", 0},
	{"trust", 0, REIN_OPT_NUMBER, offsetof(struct options, trust), "N", "with this trust, 1 to 100", 0},
	{"at", 0, REIN_OPT_STRING, offsetof(struct options, at), "HH:MM", "at this time of day", 0},
	{0},
};

static const char *const kinds[] = {NULL, "command", "file", "sql", "http", "custom"};

struct session {
	struct options o;
	struct rein_common common;
	struct rein_policy *policy;
	struct rein_classifier *classifier;
	char *cwd, *project;
	char **args;
	int n;
};

static void session_done(struct session *s)
{
	rein_strlist_done(&s->o.policy);
	rein_policy_free(s->policy);
	rein_classifier_free(s->classifier);
	rein_free(s->cwd);
	rein_free(s->project);
}

/* Files named as operands are looked at alone; otherwise the policy in force. */
static int load(struct session *s, bool operands_are_files, struct rein_err *err)
{
	struct rein_policy_sources from = {.project = s->project, .files = &s->o.policy};

	if (operands_are_files && s->n) {
		from.only_files = true;
		for (int i = 0; i < s->n; i++)
			if (rein_strlist_add(&s->o.policy, s->args[i]) < 0)
				return rein_err_nomem(err);
	}
	return rein_policy_load(&from, &s->policy, err);
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
	rc = rein_policy_check(s->policy, on_remark, &r, err);
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

static int classify(struct session *s, const struct rein_action *a, const struct rein_verdict **ret,
		    struct rein_err *err)
{
	if (!s->classifier && rein_classifier_new(&s->classifier, err) < 0)
		return -err->code;
	*ret = rein_classify(s->classifier, a, err);
	return *ret ? 0 : -err->code;
}

static void place(const struct session *s, struct rein_action *a)
{
	a->cwd = s->cwd;
	a->workspace = s->project;
	a->home = getenv("HOME");
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
	n = rein_policy_tests(s->policy);
	for (size_t i = 0; i < n; i++) {
		struct rein_policy_test t;
		struct rein_decision d;

		rein_policy_test_get(s->policy, i, &t);
		place(s, &t.action);
		rc = classify(s, &t.action, &t.facts.verdict, err);
		if (rc < 0)
			return rc;
		rein_policy_decide(s->policy, &t.action, &t.facts, &d);
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

static void decision_json(struct rein_json *j, const struct rein_decision *d)
{
	rein_json_kstr(j, "decision", rein_decide_name(d->decide));
	rein_json_kstr(j, "level", rein_level_name(d->level));
	rein_json_kstr(j, "reach", rein_reach_name(d->reach));
	rein_json_kstr(j, "tier", rein_tier_name(d->tier));
	rein_json_kstr(j, "rule", d->rule);
	rein_json_kstr(j, "layer", rein_layer_name(d->layer));
	if (d->file)
		rein_json_path(j, "file", d->file);
	rein_json_ku64(j, "line", d->line);
	rein_json_kstr(j, "reason", d->reason);
	rein_json_kstr(j, "instead", d->instead);
	rein_json_kbool(j, "advisory", d->advisory);
	rein_json_kbool(j, "unsure", d->unsure);
	rein_json_kbool(j, "notify", d->notify);
	rein_json_ku64(j, "minimum", d->minimum);
	rein_json_ku64(j, "expires_s", d->expires_ns / REIN_NS_PER_S);
	rein_json_key(j, "approvers");
	rein_json_open(j, '[');
	for (size_t i = 0; i < d->n_approvers; i++)
		rein_json_cstr(j, d->approvers[i]);
	rein_json_close(j, ']');
	if (d->would) {
		rein_json_kstr(j, "would", rein_decide_name(d->would_decide));
		rein_json_kstr(j, "would_rule", d->would_rule);
	}
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
		printf("  %u approval%s", d->minimum, d->minimum == 1 ? "" : "s");
		for (size_t i = 0; i < d->n_approvers; i++)
			printf("%s%s", i ? ", " : " of ", d->approvers[i]);
		printf(", waits %s\n", rein_ui_seconds(d->expires_ns));
	}
	if (d->notify)
		printf("  somebody is told, and has %s to cancel\n", rein_ui_seconds(d->notify_ns));
	if (d->would)
		printf("  on trial: %s would %s\n", d->would_rule, rein_decide_name(d->would_decide));
	if (d->advisory)
		printf("  advisory: recorded, not enforced\n");
}

static int set_time(const struct session *s, struct rein_verdict_facts *f, struct rein_err *err)
{
	time_t now = (time_t)(rein_now_ns() / REIN_NS_PER_S);
	const char *at = s->o.at;
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return rein_err_set(err, REIN_E_FAILED, "the time of day is not known");
	f->minute = tm.tm_hour * 60 + tm.tm_min;
	f->weekday = (tm.tm_wday + 6) % 7;
	if (!at)
		return 0;
	if (strlen(at) != 5 || strspn(at, "0123456789") != 2 || at[2] != ':' || strspn(at + 3, "0123456789") != 2)
		return rein_err_set(err, REIN_E_USAGE, "--at: '%s' is not a time such as 23:30", at);
	f->minute = ((at[0] - '0') * 10 + at[1] - '0') * 60 + (at[3] - '0') * 10 + at[4] - '0';
	return 0;
}

static int verb_explain(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)4 << 20);
	struct rein_json j = {.b = &b};
	struct telling t = {.j = s->common.json ? &j : NULL};
	struct rein_verdict_facts f = {.agent = s->o.agent, .role = s->o.role, .environment = s->o.environment,
				       .trust_known = s->o.trust > 0, .trust = (unsigned)s->o.trust};
	struct rein_decision d;
	struct rein_action a;
	int rc;

	if (s->n != 1)
		return rein_err_set(err, REIN_E_USAGE, "explain takes one action; put it in quotes");
	rc = set_time(s, &f, err);
	if (rc < 0)
		return rc;
	rc = load(s, false, err);
	if (!s->policy)
		return rc;
	if (rc < 0) /* the policy denies, and that is the explanation */
		rein_say("%s", err->msg);
	rein_policy_action(kinds[s->o.kind], s->args[0], &a);
	place(s, &a);
	rc = classify(s, &a, &f.verdict, err);
	if (rc < 0)
		return rc;
	rein_json_open(&j, '{');
	if (!s->common.json)
		printf("considered, strictest first:\n");
	rein_json_key(&j, "considered");
	rein_json_open(&j, '[');
	rein_policy_explain(s->policy, &a, &f, &d, on_considered, &t);
	rein_json_close(&j, ']');
	decision_json(&j, &d);
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
	rein_policy_format(s->policy, &b);
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
		    "    decide: ask\n    minimum: 2\n    message: changes real infrastructure\n"
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

static int verb_init(struct session *s, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	auto_free char *path = rein_asprintf("%s/.rein.yaml", s->project);
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
		if (exists(s->project, finds[i].file))
			rein_buf_cstr(&b, finds[i].text);
	if (exists(s->project, "Makefile"))
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
	if (rc == 0 && !s->common.quiet)
		rein_say("wrote %s; look at it, then: rein policy test", rein_ui_path(path));
	return rc;
}

static int verb_trust(struct session *s, struct rein_err *err)
{
	int rc = rein_policy_trust(s->project, err);

	if (rc == 0 && !s->common.quiet)
		rein_say("%s/.rein.yaml may now also loosen, until it changes", rein_ui_path(s->project));
	return rc;
}

static int verb_untrust(struct session *s, struct rein_err *err)
{
	return rein_policy_untrust(s->project, err);
}

static const struct {
	const char *name;
	int (*run)(struct session *s, struct rein_err *err); /* > 0: exit status */
} verbs[] = {
	{"check", verb_check}, {"test", verb_test},	{"explain", verb_explain}, {"show", verb_show},
	{"init", verb_init},   {"trust", verb_trust}, {"untrust", verb_untrust},
};

static int find_place(struct session *s, struct rein_err *err)
{
	char *cwd = realpath(".", NULL);

	s->cwd = cwd ? rein_strdup(cwd) : NULL;
	free(cwd);
	s->project = s->cwd ? rein_policy_project(s->cwd) : NULL;
	return s->project ? 0 : rein_err_set(err, REIN_E_IO, "the current directory is gone");
}

int rein_cli_policy(int argc, char **argv)
{
	auto_(session_done) struct session s = {0};
	struct rein_err err = {0};
	int first, status, rc;

	if (rein_verb_begin("policy", argc, argv, &s.o, &s.common, &first, NULL, &status))
		return status;
	if (first >= argc) {
		rein_err_set(&err, REIN_E_USAGE, "policy what? check, test, explain, show, init, trust or untrust");
		return rein_fail(&err, s.common.json);
	}
	s.args = argv + first + 1;
	s.n = argc - first - 1;
	rc = find_place(&s, &err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(verbs); i++)
		if (rein_streq(verbs[i].name, argv[first])) {
			rc = verbs[i].run(&s, &err);
			return rc < 0 ? rein_fail(&err, s.common.json) : rc;
		}
	if (rc == 0)
		rein_err_set(&err, REIN_E_USAGE, "no 'policy %s': check, test, explain, show, init, trust or untrust",
			     argv[first]);
	return rein_fail(&err, s.common.json);
}
