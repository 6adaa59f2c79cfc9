/* SPDX-License-Identifier: Apache-2.0 */
/* How the layers of a policy join: what a project may say, and what it may not. Cites [P3] of policy.h. */
#include <sys/stat.h>

#include "base/auto.h"
#include "policy_try.h"

static void test_network_layers(void **state)
{
	static const char user[] = "version: 1\nnetwork: {allow: [a.org, 'b.org:22'], up: 10M, max: 1G/1h, rate: 2M}\n";
	static const char project[] = "version: 1\n"
				      "network: {mode: restricted, deny: [a.org], up: 1M, max: 1M, rate: 5M}\n";
	struct rein_policy *p = with(user, project);
	struct rein_policy_settings s;

	(void)state;
	rein_policy_settings(p, &s);
	assert_int_equal(s.net, REIN_POLICY_NET_RESTRICTED); /* hosts alone say so */
	assert_int_equal(s.hosts.n, 2);
	assert_int_equal(s.blocked_hosts.n, 1);
	assert_int_equal(s.net_sent.bytes, 1 << 20);
	assert_int_equal(s.net_all.bytes, 1 << 30); /* another window: not comparable */
	assert_int_equal(s.net_rate, 2 << 20);
	rein_policy_free(p);
	/* where nobody has opened it, a project cannot */
	p = with(NULL, "version: 1\nnetwork: {mode: restricted}\n");
	rein_policy_settings(p, &s);
	assert_int_equal(s.net, REIN_POLICY_NET_NONE);
	rein_policy_free(p);
}

/* The most specific rule has the word; who has to be asked is every rule's business. */
static void test_demands_add_up(void **state)
{
	static const char user[] = "version: 1\n"
				   "rules: [{id: all, match: {program: touch}, decide: ask, minimum: 2, approvers: [ops]}]\n";
	static const char none[] = "version: 1\n";
	struct rein_policy *p = with(user, "version: 1\n"
					   "rules: [{id: mine, match: {program: touch, arguments: [a], path: [a]}, "
					   "decide: ask, approvers: [me]}]\n");
	struct rein_decision d = decide(p, "touch a");
	char many[2000];
	int n;

	(void)state;
	assert_string_equal(d.rule, "mine");
	assert_int_equal(d.n_also, 1);
	assert_int_equal(d.also[0].minimum, 2);
	assert_string_equal(d.also[0].approvers[0], "ops");
	assert_int_equal(decide(p, "touch b").n_also, 0);
	assert_int_equal(decide(p, "touch b").demand.minimum, 2);
	rein_policy_free(p);
	/* a rule that only holds, where the rest of it is asked */
	p = with("version: 1\nrules: [{id: h, match: {program: touch}, decide: hold, approvers: [ops]}]\n", none);
	d = decide(p, "touch a; git push");
	assert_int_equal(d.decide, REIN_ASK);
	assert_true(d.by_default);
	assert_int_equal(d.demand.n_approvers, 0);
	assert_int_equal(d.n_also, 1);
	d = decide(p, "touch a");
	assert_int_equal(d.decide, REIN_HOLD);
	assert_int_equal(d.demand.n_approvers, 1);
	assert_int_equal(d.n_also, 0);
	rein_policy_free(p);
	/* an environment's, besides a rule's */
	p = with("version: 1\nenvironment: production\n"
		 "environments: {production: {tier: approve, approvers: [ops]}}\n"
		 "rules: [{id: a, match: {program: touch}, decide: ask, approvers: [me]}]\n", none);
	d = decide(p, "touch a");
	assert_string_equal(d.demand.approvers[0], "me");
	assert_int_equal(d.n_also, 1);
	assert_string_equal(d.also[0].approvers[0], "ops");
	rein_policy_free(p);
	/* on trial, or for nobody in particular: nothing to add */
	p = with("version: 1\nrules:\n"
		 "  - {id: t, match: {program: touch}, decide: ask, minimum: 2, mode: advisory}\n"
		 "  - {id: u, match: {program: touch, path: [a]}, decide: ask}\n", none);
	d = decide(p, "touch a");
	assert_int_equal(d.demand.minimum, 1);
	assert_int_equal(d.n_also, 0);
	rein_policy_free(p);
	/* more than there is room for: nobody satisfies them */
	n = snprintf(many, sizeof(many), "version: 1\nrules:\n");
	for (int i = 0; i < REIN_DEMANDS + 2; i++)
		n += snprintf(many + n, sizeof(many) - (size_t)n,
			      "  - {id: r%d, match: {program: touch}, decide: ask, approvers: [a%d]}\n", i, i);
	p = with(many, none);
	assert_true(decide(p, "touch a").demand.minimum > 100);
	rein_policy_free(p);
}

/* [P3]: in which environment it is, and who approves there */
static void test_project_and_environments(void **state)
{
	static const char user[] = "version: 1\n"
				   "environment: production\n"
				   "environments: {production: {tier: approve, approvers: [ops], minimum: 2}}\n"
				   "rules:\n"
				   "  - {id: k, match: {program: kubectl, environment: production}, decide: deny}\n"
				   "  - {id: t, match: {program: touch, environment: tests}, decide: allow}\n";
	struct rein_policy *p = with(user, "version: 1\n"
					   "environments: {production: {tier: approve, approvers: [me], minimum: 1}}\n"
					   "rules: [{id: h, match: {program: touch}, decide: hold, approvers: [me]}]\n");
	struct rein_decision d = decide(p, "touch a");

	(void)state;
	assert_int_equal(d.decide, REIN_ASK);
	assert_int_equal(d.demand.minimum, 2);
	assert_int_equal(d.demand.n_approvers, 1);
	assert_string_equal(d.demand.approvers[0], "ops");
	assert_int_equal(d.n_also, 1); /* the project's own, besides */
	rein_policy_free(p);
	p = with(user, "version: 1\nenvironment: elsewhere\n");
	assert_int_equal(decide(p, "kubectl get pods").decide, REIN_DENY);
	rein_policy_free(p);
	p = with("version: 1\nrules: [{id: k, match: {program: kubectl, environment: development}, decide: deny}]\n",
		 "version: 1\nenvironment: elsewhere\n");
	assert_int_equal(decide(p, "kubectl get pods").decide, REIN_DENY);
	rein_policy_free(p);
	/* what only tightens is taken at its word */
	p = with(NULL, "version: 1\nenvironment: production\nenvironments: {production: {tier: approve, minimum: 3}}\n");
	d = decide(p, "touch a");
	assert_int_equal(d.decide, REIN_ASK);
	assert_int_equal(d.demand.minimum, 3);
	rein_policy_free(p);
}

/* [P3]: each of the ways in which being elsewhere would loosen */
static void test_project_moves(void **state)
{
	static const struct {
		const char *user, *to;
		bool moves;
	} cases[] = {
		{"environment: production\n", "development", false}, /* a lower tier */
		{"environment: production\n", "nowhere", true},	    /* nobody knows it: the highest */
		{"", "production", true},
		{"environment: one\nenvironments: {one: {tier: approve, minimum: 2}, two: {tier: approve}}\n", "two", false},
		{"environment: one\nenvironments: {one: {tier: approve}, two: {tier: approve, minimum: 2}}\n", "two", true},
		{"environment: one\nenvironments: {one: {tier: approve, approvers: [ops]}, two: {tier: approve, approvers: [me]}}\n",
		 "two", false},
		{"environment: one\nenvironments: {one: {tier: approve}, two: {tier: approve, approvers: [me]}}\n", "two", true},
		{"environment: one\nenvironments: {one: {tier: notify, wait: 1h}, two: {tier: notify}}\n", "two", false},
		{"environment: one\nenvironments: {one: {tier: notify}, two: {tier: notify, wait: 1h}}\n", "two", true},
		{"rules: [{id: a, match: {program: x, environment: staging}, decide: allow}]\n", "staging", false},
		{"rules: [{id: a, match: {program: x, environment: [staging, development]}, decide: allow}]\n", "staging", true},
		{"rules: [{id: a, match: {program: x, environment: development}, decide: allow}]\n", "staging", true},
		{"effects: [{id: a, match: {path: [x], environment: development}, decide: hold}]\n", "staging", false},
		{"effects: [{id: a, match: {path: [x], environment: staging}, decide: hold}]\n", "staging", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *user = rein_asprintf("version: 1\n%s", cases[i].user);
		auto_free char *project = rein_asprintf("version: 1\nenvironment: %s\n", cases[i].to);
		struct rein_policy *p = with(user, project);
		struct rein_policy_settings s;

		rein_policy_settings(p, &s);
		if (rein_streq(s.environment, cases[i].to) != cases[i].moves)
			fail_msg("%zu: from '%s' to '%s': %s", i, cases[i].user, cases[i].to, s.environment);
		rein_policy_free(p);
	}
}

/* [P3]: the time in which somebody can cancel is not a project's to shorten, nor where nobody named it */
static void test_project_and_announcements(void **state)
{
	static const struct {
		const char *user, *project;
		uint64_t seconds;
	} cases[] = {
		{"", "staging: {tier: notify, wait: 1ms}", 5},
		{"environments: {staging: {tier: notify}}\n", "staging: {tier: notify, wait: 1ms}", 5},
		{"environments: {staging: {tier: notify, wait: 20s}}\n", "staging: {tier: notify}", 20},
		{"environments: {staging: {tier: notify, wait: 20s}}\n", "staging: {tier: notify, wait: 60s}", 60},
		{"", "development: {tier: notify, wait: 1s}", 1}, /* where nothing was announced before */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *user = rein_asprintf("version: 1\nrules: [{id: a, match: {program: git}, decide: allow}]\n%s",
						     cases[i].user);
		auto_free char *project = rein_asprintf("version: 1\nenvironments: {%s}\n", cases[i].project);
		struct rein_policy *p = with(user, project);
		struct rein_decision d = decide_as(p, NULL, "git push", (struct rein_verdict_facts){
			.environment = strstr(cases[i].project, "staging") ? "staging" : "development"});

		assert_int_equal(d.decide, REIN_ALLOW);
		assert_true(d.notify);
		assert_int_equal(d.notify_ns, cases[i].seconds * 1000000000);
		/* what stays in the box is not announced, nor what is asked anyway */
		assert_false(decide_as(p, NULL, "touch a", (struct rein_verdict_facts){.environment = "staging"}).notify);
		assert_false(decide_as(p, NULL, "npm publish", (struct rein_verdict_facts){.environment = "staging"}).notify);
		rein_policy_free(p);
	}
}

static bool wants(const struct rein_decision *d, const char *who)
{
	bool any = d->demand.n_approvers && !strcmp(d->demand.approvers[0], who);

	for (size_t i = 0; i < d->n_also; i++)
		any |= d->also[i].n_approvers && !strcmp(d->also[i].approvers[0], who);
	return any;
}

static unsigned most(const struct rein_decision *d)
{
	unsigned n = d->demand.minimum;

	for (size_t i = 0; i < d->n_also; i++)
		n = d->also[i].minimum > n ? d->also[i].minimum : n;
	return n;
}

static uint64_t soonest(const struct rein_decision *d)
{
	uint64_t ns = d->demand.expires_ns;

	for (size_t i = 0; i < d->n_also; i++)
		ns = d->also[i].expires_ns && d->also[i].expires_ns < ns ? d->also[i].expires_ns : ns;
	return ns;
}

/* [P3]: whose yes it takes is not a project's to say where somebody else said it */
static void test_project_and_approvers(void **state)
{
	static const char user[] = "version: 1\n"
				   "environments: {production: {tier: approve, approvers: [ops], minimum: 2}}\n"
				   "rules:\n"
				   "  - {id: r, match: {program: git}, decide: ask, approvers: [lead], minimum: 2, expires: 1h}\n"
				   "  - {id: n, match: {program: ln}, decide: ask}\n"
				   "  - {id: h, match: {program: make}, decide: hold, approvers: [ops]}\n"
				   "  - {id: m, match: {program: tool, subcommand: go}, decide: deny, approvers: [ops]}\n"
				   "effects: [{id: e, match: {path: [\"*.c\"]}, decide: hold, approvers: [ops], minimum: 2}]\n";
	struct rein_policy *p = with(user, "version: 1\nrules:\n"
					   "  - {id: a, match: {program: git, subcommand: push}, decide: ask, approvers: [me], expires: 9h}\n"
					   "  - {id: b, match: {program: make, arguments: [all]}, decide: ask, approvers: [me], minimum: 3}\n"
					   "  - {id: c, match: {program: touch}, decide: ask, approvers: [me]}\n"
					   "  - {id: l, match: {program: ln, flags: [-s]}, decide: ask, approvers: [me], expires: 1m}\n"
					   "effects: [{id: d, match: {path: [\"a.c\"], type: file}, decide: hold, approvers: [me]}]\n");
	struct rein_verdict_facts production = {.environment = "production", .minute = 600, .weekday = 2};
	struct rein_changes c = {0};
	struct rein_decision d = decide(p, "git push");

	(void)state;
	assert_string_equal(d.rule, "a");
	assert_true(wants(&d, "lead"));
	assert_int_equal(most(&d), 2);
	assert_int_equal(soonest(&d), 3600ull * 1000000000);
	d = decide(p, "ln -s a b");
	assert_true(wants(&d, "me"));
	assert_int_equal(soonest(&d), 60ull * 1000000000);
	d = decide(p, "make all");
	assert_int_equal(d.decide, REIN_ASK);
	assert_true(wants(&d, "ops"));
	assert_int_equal(most(&d), 3);
	d = decide(p, "touch a");
	assert_true(wants(&d, "me") && !d.n_also); /* nobody else asks for anybody */
	d = decide_as(p, NULL, "touch a", production);
	assert_true(wants(&d, "ops"));
	assert_int_equal(most(&d), 2);
	d = decide_as(p, NULL, "git push", production);
	assert_true(wants(&d, "lead") && wants(&d, "ops")); /* the rule's, as without the project, and the environment's */
	/* what else is in the command changes nothing: it is asked, and by no rule, but of them */
	d = decide(p, "make x; kubectl delete namespace prod");
	assert_int_equal(d.decide, REIN_ASK);
	assert_true(wants(&d, "ops"));
	d = decide(p, "tool \"$1\"; kubectl delete namespace prod");
	assert_int_equal(d.decide, REIN_ASK);
	assert_true(wants(&d, "ops"));
	add_change(&c, "a.c", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	d = judge(p, &c, 100, NULL);
	assert_string_equal(d.rule, "d");
	assert_true(wants(&d, "ops"));
	assert_int_equal(most(&d), 2);
	rein_policy_free(p);
}

/* [P3]: smaller ones count, larger ones do not, whether a profile or a number stood there before */
static void test_project_limits(void **state)
{
	static const struct {
		const char *user, *project;
		uint64_t memory, processes, free;
	} cases[] = {
		/* what stays free may only become more, also than where nobody said anything */
		{"", "{free: 1K}", 0, 0, 0},
		{"", "{free: 2G}", 0, 0, 2ull << 30},
		{"{free: 3G}", "{free: 2G}", 0, 0, 3ull << 30},
		{"{free: 100M}", "{profiles: {untrusted: {free: 1K}}, profile: untrusted}", 256 << 20, 32, 100 << 20},
		{"", "{memory: 64M}", 64 << 20, 0},
		{"{memory: 128M, processes: 9}", "{memory: 64M, processes: 99}", 64 << 20, 9},
		{"{memory: 128M}", "{profile: untrusted}", 128 << 20, 32},
		{"{profile: untrusted}", "{memory: 64G, processes: 9}", 256 << 20, 9},
		{"{profile: untrusted}", "{profile: build}", 256 << 20, 32},
		{"{profile: untrusted}", "{profiles: {untrusted: {memory: 64G, processes: 9}}}", 256 << 20, 9},
		{"{profile: untrusted, memory: 128M}", "{profile: code, memory: 64G}", 128 << 20, 32},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *user = *cases[i].user ? rein_asprintf("version: 1\nlimits: %s\n", cases[i].user) : NULL;
		auto_free char *project = rein_asprintf("version: 1\nlimits: %s\n", cases[i].project);
		auto_buf struct rein_buf b = REIN_BUF(1 << 20);
		struct rein_policy *p = with(user, project), *again = NULL;
		struct rein_policy_settings s;
		struct rein_err err = {0};

		rein_policy_settings(p, &s);
		assert_int_equal(s.limits.memory_bytes, cases[i].memory);
		assert_int_equal(s.limits.processes, cases[i].processes);
		assert_int_equal(s.limits.free_bytes, cases[i].free);
		/* and so it is shown */
		rein_policy_format(p, &b);
		assert_int_equal(rein_policy_new_empty(&again, &err), 0);
		assert_int_equal(rein_policy_add(again, REIN_LAYER_USER, "again", (struct rein_str){b.p, b.n}, &err), 0);
		assert_int_equal(rein_policy_seal(again, &err), 0);
		rein_policy_settings(again, &s);
		assert_int_equal(s.limits.memory_bytes, cases[i].memory);
		assert_int_equal(s.limits.processes, cases[i].processes);
		assert_int_equal(s.limits.free_bytes, cases[i].free);
		rein_policy_free(again);
		rein_policy_free(p);
	}
}

/* [P3]: a rule of the same id stands beside the other one; what a project tightens elsewhere holds */
static void test_project_replaces_nothing(void **state)
{
	struct rein_policy *p = with("version: 1\nmode: advisory\nnetwork: {mode: open, up: 10M, max: 1G/1h}\n"
				     "rules: [{id: x, match: {program: touch}, decide: deny}]\n"
				     "effects: [{id: y, match: {path: [a]}, decide: deny}]\n",
				     "version: 1\nmode: enforce\nnetwork: {mode: none, up: 20M, max: 2G/1h}\non_failure: discard\n"
				     "rules: [{id: x, match: {program: touch}, decide: ask}]\n"
				     "effects: [{id: y, match: {path: [a]}, decide: hold}, {id: effects.ci, off: true}]\n");
	struct rein_changes c = {0};
	struct rein_policy_settings s;

	(void)state;
	rein_policy_settings(p, &s);
	assert_false(s.advisory);
	assert_int_equal(s.net, REIN_POLICY_NET_NONE);
	assert_int_equal(s.net_sent.bytes, 10 << 20);
	assert_int_equal(s.net_all.bytes, 1 << 30);
	assert_int_equal(s.on_failure, REIN_FAILURE_DISCARD);
	EXPECT(p, "touch a", REIN_DENY);
	add_change(&c, "a", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	assert_int_equal(judge(p, &c, 100, NULL).decide, REIN_DENY);
	c = (struct rein_changes){0};
	add_change(&c, ".github/workflows/ci.yml", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	assert_string_equal(judge(p, &c, 100, NULL).rule, "effects.ci");
	rein_policy_free(p);
}

static void test_project_only_tightens(void **state) /* [P3] */
{
	static const char project[] = "version: 1\n"
				      "mode: advisory\n"
				      "network: {mode: open, allow: [x.org]}\n"
				      "workspace: {writable: [/etc], hidden: [private]}\n"
				      "defaults: {risky: {compensable: allow, contained: hold}}\n"
				      "environments: {production: {tier: auto}}\n"
				      "on_failure: commit\n"
				      "rules:\n"
				      "  - {id: open, match: {level: \">= safe\"}, decide: allow}\n"
				      "  - {id: rein.own-files, off: true}\n"
				      "  - {id: git.push-force, match: {program: git}, decide: hold}\n"
				      "  - {id: no-curl, match: {program: curl}, decide: deny}\n";
	struct rein_policy *p = with(NULL, project);
	struct rein_policy_settings s;
	struct rein_err err = {0};

	(void)state;
	rein_policy_settings(p, &s);
	assert_false(s.advisory);
	assert_int_equal(s.net, REIN_POLICY_NET_NONE);
	assert_int_equal(s.hosts.n, 0);
	assert_int_equal(s.writable.n, 0);
	assert_int_equal(s.hidden.n, 1);
	assert_int_equal(s.on_failure, REIN_FAILURE_HOLD);
	EXPECT(p, "rm -rf ~", REIN_HOLD);
	EXPECT(p, "kubectl delete namespace prod", REIN_ASK);
	EXPECT(p, "git push", REIN_ASK); /* its hold does not loosen the default */
	EXPECT(p, "git push --force", REIN_ASK);
	EXPECT(p, "npm install", REIN_HOLD);
	EXPECT(p, "curl https://x.org", REIN_DENY);
	EXPECT(p, "echo x > .rein.yaml", REIN_HOLD);
	assert_int_equal(decide_as(p, NULL, "touch a", (struct rein_verdict_facts){.environment = "production"}).decide, REIN_ASK);
	rein_policy_free(p);
	p = try_layers(NULL, project, REIN_LAYER_TRUSTED, &err);
	assert_int_equal(err.code, 0);
	rein_policy_settings(p, &s);
	assert_true(s.advisory);
	assert_int_equal(s.net, REIN_POLICY_NET_OPEN);
	EXPECT(p, "kubectl delete namespace prod", REIN_ALLOW);
	rein_policy_free(p);
}

static void test_alerts_of_layers(void **state)
{
	static const char user[] =
		"version: 1\n"
		"webhooks:\n  ops: {url: \"https://x.example/in\", secret_file: /etc/s}\n  old: {off: true}\n"
		"alerts:\n"
		"  - {id: agent.new, off: true}\n"
		"  - {id: delete.many, when: {type: commit}, number: deleted, reaches: 10, to: [\"webhook:ops\", \"webhook:old\"]}\n"
		"  - {id: slow, when: {type: run.end}, number: duration, reaches: 5m, command: cat}\n"
		"  - {id: s, when: {text: secret}, then: {type: network}, within: 5m, quiet: 10s, to: [stderr]}\n";
	struct rein_policy *p = with(user, "version: 1\nalerts:\n  - {id: evil, when: {type: request}, first: agent, command: id}\n");
	const struct rein_alert_rule *a, *found[4] = {0};
	const struct rein_webhook *w;
	auto_buf struct rein_buf once = REIN_BUF(1 << 20), twice = REIN_BUF(1 << 20);
	struct rein_policy *again = NULL;
	struct rein_err err = {0};
	size_t n, nw;

	(void)state;
	w = rein_policy_webhooks(p, &nw);
	assert_int_equal(nw, 1);
	assert_string_equal(w->name, "ops");
	assert_int_equal(w->per_minute, 30);
	a = rein_policy_alerts(p, &n);
	for (size_t i = 0; i < n; i++) {
		assert_string_not_equal(a[i].name, "agent.new");
		assert_string_not_equal(a[i].name, "evil"); /* [P3] */
		found[0] = rein_streq(a[i].name, "delete.many") ? &a[i] : found[0];
		found[1] = rein_streq(a[i].name, "slow") ? &a[i] : found[1];
		found[2] = rein_streq(a[i].name, "s") ? &a[i] : found[2];
		found[3] = rein_streq(a[i].name, "override.used") ? &a[i] : found[3];
	}
	for (size_t i = 0; i < 4; i++)
		assert_non_null(found[i]);
	assert_int_equal(found[0]->kind, REIN_ALERT_THRESHOLD);
	assert_int_equal(found[0]->count, 10);
	assert_int_equal(found[0]->nwebhook, 2);
	assert_string_equal(found[0]->match.type, "commit");
	assert_int_equal(found[1]->count, 300ull * 1000000000);
	assert_int_equal(found[1]->field, REIN_ALERT_OF_DURATION);
	assert_int_equal(found[2]->kind, REIN_ALERT_SEQUENCE);
	assert_int_equal(found[2]->cooldown_ns, 10ull * 1000000000);
	assert_string_equal(found[2]->then.type, "network");
	/* written out, it reads as the same */
	rein_policy_format(p, &once);
	assert_int_equal(rein_policy_new_empty(&again, &err), 0);
	if (rein_policy_add(again, REIN_LAYER_USER, "again", (struct rein_str){once.p, once.n}, &err) < 0)
		fail_msg("%s in\n%s", err.msg, once.p);
	if (rein_policy_seal(again, &err) < 0)
		fail_msg("%s in\n%s", err.msg, once.p);
	rein_policy_format(again, &twice);
	assert_string_equal(once.p, twice.p);
	rein_policy_free(again);
	rein_policy_free(p);
	says("version: 1\nalerts:\n  - {id: a, when: {type: comit}, count: 1, within: 1s}\n", "did you mean 'commit'?");
	says("version: 1\nalerts:\n  - {id: a, when: {type: commit}, count: 1}\n", "'within' is missing");
	says("version: 1\nalerts:\n  - {id: a, when: {type: commit}, count: 1, within: 1s, first: agent}\n", "takes one of");
	says("version: 1\nalerts:\n  - {id: a, count: 1, within: 1s, to: [\"webhook:x\"]}\n", "there is no webhook 'x'");
	says("version: 1\nalerts:\n  - {id: a, count: 1, within: 1s, to: [mail]}\n", "a program to run is 'command'");
	says("version: 1\nalerts:\n  - {id: a, count: 257, within: 1s}\n", "a count of at most 256");
	{
		static const char *const far[] = {"http://example.com/", "http://127.example.com/", "http://127.0.0.1.example.com/",
						  "http://localhost:1@example.com/", "http://localhost.example.com/",
						  "http://[::1].example.com/", "http://127.0.0.1:x/", "https://", "ftp://127.0.0.1/", "https://a b/"};
		static const char *const near[] = {"http://127.0.0.1/", "http://127.0.0.1:8080/a", "http://localhost:80/", "http://[::1]:80/x"};

		for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
			auto_free char *text = rein_asprintf("version: 1\nwebhooks:\n  x: {url: \"%s\"}\n", far[i]);

			says(text, "begins with https://");
		}
		for (size_t i = 0; i < ARRAY_SIZE(near); i++) {
			auto_free char *text = rein_asprintf("version: 1\nwebhooks:\n  x: {url: \"%s\"}\n", near[i]);

			rein_policy_free(with(text, NULL));
		}
	}
	says("version: 1\nwebhooks:\n  x: {url: \"https://e.com/\", per_minute: 6001}\n", "at most 6000");
	says("version: 1\nwebhooks:\n  x: {url: \"https://e.com/\", secret_file: s}\n", "absolute path");
}

static void test_replaced_by_id(void **state)
{
	struct rein_policy *p = with("version: 1\nrules:\n  - {id: git.push-force, match: {program: git, subcommand: push}, decide: allow}\n"
				     "effects:\n  - {id: effects.ci, off: true}\n", NULL);
	struct rein_changes c = {0};

	(void)state;
	EXPECT(p, "git push --force", REIN_ALLOW);
	add_change(&c, ".github/workflows/ci.yml", REIN_CHANGE_MODIFIED, S_IFREG | 0644);
	assert_int_equal(judge(p, &c, 100, NULL).decide, REIN_ALLOW);
	rein_policy_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_network_layers),
		cmocka_unit_test(test_demands_add_up),
		cmocka_unit_test(test_project_and_environments),
		cmocka_unit_test(test_project_moves),
		cmocka_unit_test(test_project_and_announcements),
		cmocka_unit_test(test_project_and_approvers),
		cmocka_unit_test(test_project_limits),
		cmocka_unit_test(test_project_replaces_nothing),
		cmocka_unit_test(test_project_only_tightens),
		cmocka_unit_test(test_alerts_of_layers),
		cmocka_unit_test(test_replaced_by_id),
	};

	return cmocka_run_group_tests(tests, policy_begin, policy_end);
}
