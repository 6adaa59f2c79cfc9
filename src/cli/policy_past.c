/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein policy diff: which recorded actions would now be decided otherwise. rein policy suggest: rules that
 * people's own answers speak for.
 */
#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "classify/grammar.h"
#include "cli/past.h"
#include "cli/policy.h"
#include "cli/ui.h"
#include "engine/policyload.h"

#define TEXT_MAX   16384 /* the record cuts longer commands: they cannot be judged again */
#define OFTEN	   3	 /* answers that make a habit */
#define GROUPS_MAX 2000

static int read_past(struct rein_pasts *p, struct rein_err *err)
{
	auto_free char *state = NULL;

	return rein_state_path(&state, err) < 0 ? -err->code : rein_pasts_read(state, p, err);
}

/* What was redacted or cut is not what was run. */
static bool judgeable(const struct rein_past *x)
{
	return x->command && x->has_decision && strlen(x->command) < TEXT_MAX && !strstr(x->command, "[redacted:") &&
	       (!x->kind || rein_streq(x->kind, "command"));
}

static int judge_past(struct rein_judge *j, const struct rein_past *x, const struct rein_verdict **v,
		      struct rein_decision *d, struct rein_err *err)
{
	struct rein_action a = {.kind = REIN_ACTION_COMMAND, .text = x->command, .text_n = strlen(x->command), .cwd = x->cwd};
	auto_free char *workspace = x->cwd ? rein_policy_project(x->cwd) : NULL;

	a.workspace = workspace;
	j->facts.agent = x->agent;
	return rein_judge(j, &a, v, d, err);
}

/* ------------------------------------------------------------ diff */

struct difference {
	const struct rein_past *past;
	enum rein_decide now;
	char rule[96];
	size_t times;
};

struct differences {
	struct difference *v;
	size_t n, cap, judged, skipped, changed;
};

static int note(struct differences *all, const struct rein_past *x, const struct rein_decision *d, struct rein_err *err)
{
	struct difference *to;

	all->changed++;
	for (size_t i = 0; i < all->n; i++) {
		to = &all->v[i];
		if (to->past->decided == x->decided && to->now == d->decide && rein_streq(to->past->command, x->command)) {
			to->times++;
			return 0;
		}
	}
	if (all->n == GROUPS_MAX)
		return 0;
	if (rein_grow(all->v, all->n, all->cap) < 0)
		return rein_err_nomem(err);
	to = &all->v[all->n++];
	*to = (struct difference){.past = x, .now = d->decide, .times = 1};
	snprintf(to->rule, sizeof(to->rule), "%s", d->rule ? d->rule : "");
	return 0;
}

static void differences_json(const struct differences *all)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)64 << 20);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_ku64(&j, "actions", all->judged);
	rein_json_ku64(&j, "skipped", all->skipped);
	rein_json_ku64(&j, "different", all->changed);
	rein_json_key(&j, "differences");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < all->n; i++) {
		const struct difference *x = &all->v[i];

		rein_json_open(&j, '{');
		rein_json_kstr(&j, "command", x->past->command);
		rein_json_kstr(&j, "before", rein_decide_name(x->past->decided));
		rein_json_kstr(&j, "before_rule", x->past->rule);
		rein_json_kstr(&j, "now", rein_decide_name(x->now));
		rein_json_kstr(&j, "now_rule", x->rule);
		rein_json_ku64(&j, "times", x->times);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

static void differences_text(const struct differences *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct difference *x = &all->v[i];

		printf("%-5s -> %-5s %s%s", rein_decide_name(x->past->decided), rein_decide_name(x->now), x->rule,
		       x->times > 1 ? ", " : "");
		if (x->times > 1)
			printf("%zu times", x->times);
		printf("\n      %s\n", rein_ui_path(x->past->command));
	}
}

int rein_policy_diff(struct rein_judge *judge, const struct rein_common *common, struct rein_err *err)
{
	auto_(rein_pasts_done) struct rein_pasts past = {0};
	struct differences all = {0};
	int rc = read_past(&past, err);

	for (size_t i = 0; rc == 0 && i < past.n; i++) {
		const struct rein_verdict *v;
		struct rein_decision d;

		if (!judgeable(&past.v[i])) {
			all.skipped++;
			continue;
		}
		all.judged++;
		rc = judge_past(judge, &past.v[i], &v, &d, err);
		if (rc == 0 && d.decide != past.v[i].decided)
			rc = note(&all, &past.v[i], &d, err);
	}
	if (rc == 0 && common->json)
		differences_json(&all);
	else if (rc == 0)
		differences_text(&all);
	if (rc == 0 && !common->json && !common->quiet)
		rein_say("%zu of %zu recorded actions would be decided differently%s", all.changed, all.judged,
			 all.skipped ? " (some could not be judged again: cut, redacted or without a decision)" : "");
	rein_free(all.v);
	return rc;
}

/* ------------------------------------------------------------ suggest */

struct habit {
	char program[64], subcommand[64];
	enum rein_level level;
	unsigned approved, refused;
	uint64_t last_ns;
	const char *example;
};

struct habits {
	struct habit *v;
	size_t n, cap;
};

static bool plain(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') || (s.p[i] >= '0' && s.p[i] <= '9') ||
		      strchr("_-.+", s.p[i])))
			return false;
	return s.n > 0 && s.n < 64;
}

/* A rule can be told from one program with a plain name, never from a script of many. */
static bool habit_of(const struct rein_verdict *v, struct habit *ret)
{
	const struct rein_call *c = v->n_calls == 1 && !v->calls_lost ? &v->calls[0] : NULL;

	*ret = (struct habit){.level = v->level};
	if (!c || !c->n || !plain(c->words[0]) || !v->complete)
		return false;
	snprintf(ret->program, sizeof(ret->program), "%.*s", (int)c->words[0].n, c->words[0].p);
	if (c->n > 1 && plain(c->words[1]) && rein_is_subcommand(c->words[0], c->words[1]))
		snprintf(ret->subcommand, sizeof(ret->subcommand), "%.*s", (int)c->words[1].n, c->words[1].p);
	return true;
}

static int count(struct habits *all, const struct habit *h, const struct rein_past *x, struct rein_err *err)
{
	struct habit *to = NULL;

	for (size_t i = 0; i < all->n && !to; i++)
		if (rein_streq(all->v[i].program, h->program) && rein_streq(all->v[i].subcommand, h->subcommand))
			to = &all->v[i];
	if (!to && all->n == GROUPS_MAX)
		return 0;
	if (!to) {
		if (rein_grow(all->v, all->n, all->cap) < 0)
			return rein_err_nomem(err);
		to = &all->v[all->n++];
		*to = *h;
	}
	to->approved += x->approved;
	to->refused += x->refused;
	if (h->level > to->level)
		to->level = h->level;
	to->last_ns = x->time_ns > to->last_ns ? x->time_ns : to->last_ns;
	to->example = x->command;
	return 0;
}

/* Habits of refusing are always worth a rule; of approving only below destructive. */
static const char *speaks_for(const struct habit *h)
{
	if (h->refused >= OFTEN && !h->approved)
		return "deny";
	if (h->approved >= OFTEN && !h->refused && h->level < REIN_LEVEL_DESTRUCTIVE)
		return "allow";
	return NULL;
}

static void rule_yaml(struct rein_buf *b, const struct habit *h, const char *decide)
{
	rein_buf_printf(b, "  # %s %u times, never %s; such as: ", decide[0] == 'a' ? "approved" : "refused",
			decide[0] == 'a' ? h->approved : h->refused, decide[0] == 'a' ? "refused" : "approved");
	rein_buf_escaped(b, rein_str(h->example));
	rein_buf_printf(b, "\n  - id: habit.%s%s%s\n    match: {program: \"%s\"", h->program, *h->subcommand ? "." : "",
			h->subcommand, h->program);
	if (*h->subcommand)
		rein_buf_printf(b, ", subcommand: \"%s\"", h->subcommand);
	if (decide[0] == 'a')
		rein_buf_printf(b, ", level: [safe, risky%s]", h->level == REIN_LEVEL_DANGEROUS ? ", dangerous" : "");
	rein_buf_printf(b, "}\n    decide: %s\n", decide);
}

static void suggestions_json(const struct habits *all)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)16 << 20);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_key(&j, "suggestions");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < all->n; i++) {
		const struct habit *h = &all->v[i];
		auto_buf struct rein_buf yaml = REIN_BUF(1 << 16);
		const char *decide = speaks_for(h);

		if (!decide)
			continue;
		rule_yaml(&yaml, h, decide);
		rein_json_open(&j, '{');
		rein_json_kstr(&j, "decide", decide);
		rein_json_kstr(&j, "program", h->program);
		rein_json_kstr(&j, "subcommand", *h->subcommand ? h->subcommand : NULL);
		rein_json_kstr(&j, "level", rein_level_name((int)h->level));
		rein_json_ku64(&j, "approved", h->approved);
		rein_json_ku64(&j, "refused", h->refused);
		rein_json_kstr(&j, "example", h->example);
		rein_json_kstr(&j, "yaml", yaml.failed ? NULL : yaml.p);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

static size_t suggestions_text(const struct habits *all)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)16 << 20);
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const char *decide = speaks_for(&all->v[i]);

		if (!decide)
			continue;
		if (!n++)
			rein_buf_cstr(&b, "version: 1\nrules:\n");
		rule_yaml(&b, &all->v[i], decide);
	}
	if (n && !b.failed)
		fwrite(b.p, 1, b.n, stdout);
	return n;
}

int rein_policy_suggest(struct rein_judge *judge, const struct rein_common *common, struct rein_err *err)
{
	auto_(rein_pasts_done) struct rein_pasts past = {0};
	struct habits all = {0};
	size_t n = 0;
	int rc = read_past(&past, err);

	for (size_t i = 0; rc == 0 && i < past.n; i++) {
		const struct rein_verdict *v;
		struct rein_decision d;
		struct habit h;

		if (!judgeable(&past.v[i]) || (!past.v[i].approved && !past.v[i].refused))
			continue;
		rc = judge_past(judge, &past.v[i], &v, &d, err);
		/* a rule that decides already needs no second one */
		if (rc == 0 && (d.decide == REIN_ASK || d.decide == REIN_HOLD) && habit_of(v, &h))
			rc = count(&all, &h, &past.v[i], err);
	}
	if (rc == 0 && common->json)
		suggestions_json(&all);
	else if (rc == 0)
		n = suggestions_text(&all);
	if (rc == 0 && !common->json && !common->quiet && n)
		rein_say("%zu rule%s; look at them before they go into a policy", n, n == 1 ? "" : "s");
	else if (rc == 0 && !common->json && !common->quiet)
		rein_say("nothing was answered the same way %d times yet", OFTEN);
	rein_free(all.v);
	return rc;
}
