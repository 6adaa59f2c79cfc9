/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules to decisions. Pure: texts, names, times and states are passed in; nothing is opened or
 * asked. Layers are added in order, then the policy is sealed; after that it never changes and any
 * number of threads may decide by it.
 *
 *	struct rein_policy *p;
 *
 *	rein_policy_new(&p, &err);		// holds the built-in layer
 *	rein_policy_add(p, REIN_LAYER_USER, "policy.yaml", text, &err);
 *	rein_policy_seal(p, &err);
 *	rein_policy_decide(p, &action, &facts, &decision);
 *	rein_policy_free(p);
 *
 * [P1] A policy that could not be read denies: after a failed add or seal every decision is deny and
 *      tells why.
 * [P2] deny beats ask beats hold beats allow, whatever the layers. Only a rule of the same id in a
 *      later layer takes an earlier one back.
 * [P3] A project's file that is not trusted only tightens: what would loosen in it has no effect.
 * [P4] An allow rule speaks only for the parts of an action it matches; the rest is judged by level
 *      and reach.
 * [P5] What is only known at run time matches a restricting rule (deny becomes ask) and never an
 *      allow rule. A path of which not even the beginning is known matches no rule about paths:
 *      what really happened is judged afterwards.
 */
#ifndef REIN_POLICY_POLICY_H
#define REIN_POLICY_POLICY_H

#include "base/buf.h"
#include "base/err.h"
#include "model/action.h"
#include "model/alert.h"
#include "model/decision.h"
#include "model/net.h"

struct rein_policy;

int rein_policy_new(struct rein_policy **ret, struct rein_err *err);
/* Nothing in it, not even the built-in layer; for tests and for the built-in text itself. */
int rein_policy_new_empty(struct rein_policy **ret, struct rein_err *err);
int rein_policy_add(struct rein_policy *p, enum rein_layer layer, const char *file,
		    struct rein_str yaml, struct rein_err *err);
int rein_policy_seal(struct rein_policy *p, struct rein_err *err);
/* For a caller that could not read a file: from now on everything is denied, with this reason [P1]. */
void rein_policy_break(struct rein_policy *p, const struct rein_err *err);
void rein_policy_free(struct rein_policy *p); /* NULL is fine */

extern const char rein_policy_builtin[]; /* policy/builtin.yaml */
extern const size_t rein_policy_builtin_n;

/*
 * Before it runs. 0: decided. Negative: could not be decided, *ret denies and tells why. *ret is
 * always filled.
 */
int rein_policy_decide(const struct rein_policy *p, const struct rein_action *action,
		       const struct rein_verdict_facts *facts, struct rein_decision *ret);
/* After it ran. Allow: commit by itself; hold or ask: keep back; deny: throw away. */
int rein_policy_judge_effects(const struct rein_policy *p, const struct rein_outcome *outcome,
			      struct rein_decision *ret);

/*
 * Who knows whether a word of the network section (key "allow", "deny", "ports" or "credentials") is one:
 * asked while files are added, so that a slip is an error with its place. Before them; the default is to
 * believe it. More than 0: it is one, and what err says is worth a remark.
 */
typedef int rein_policy_word_fn(const char *key, const char *word, struct rein_err *err);
void rein_policy_set_words(struct rein_policy *p, rein_policy_word_fn *fn);

/* What rules about effects look at beyond the list of changes itself: found out only when needed. */
enum rein_policy_need {
	REIN_NEEDS_SECRETS = 1,
	REIN_NEEDS_UNTRACKED = 2,
	REIN_NEEDS_LINES = 4,
	REIN_NEEDS_SHARE = 8,
	REIN_NEEDS_PROGRAMS = 16,
	REIN_NEEDS_FORGOT = 32,
};
unsigned rein_policy_needs(const struct rein_policy *p);

/* Everything that was considered, in order; called for each rule that applies or might. */
struct rein_considered {
	const char *rule, *file, *message;
	enum rein_layer layer;
	unsigned line;
	enum rein_decide decide;
	bool unsure, advisory, won;
};
typedef void rein_considered_fn(void *arg, const struct rein_considered *c);
int rein_policy_explain(const struct rein_policy *p, const struct rein_action *action,
			const struct rein_verdict_facts *facts, struct rein_decision *ret,
			rein_considered_fn *fn, void *arg);

/* What is legal but surely not meant: rules that never speak, that contradict, that are ignored. */
typedef void rein_remark_fn(void *arg, const char *file, unsigned line, const char *text);
int rein_policy_check(const struct rein_policy *p, rein_remark_fn *fn, void *arg, struct rein_err *err);

/* The cases a policy carries: action and expected decision. */
struct rein_policy_test {
	const char *file;
	unsigned line;
	struct rein_action action; /* cwd, home and workspace are the caller's */
	struct rein_verdict_facts facts;
	enum rein_decide expect;
	const char *rule; /* or NULL */
};
/* "OPERATION PATH" for file, "METHOD URL" for http; kind NULL is command. -1: no such kind. */
int rein_policy_action(const char *kind, const char *text, struct rein_action *ret);
size_t rein_policy_tests(const struct rein_policy *p);
void rein_policy_test_get(const struct rein_policy *p, size_t i, struct rein_policy_test *ret);

/* The settings the engine carries out. Lists are joined over layers, later layers last. */
enum rein_policy_net { REIN_POLICY_NET_NONE = 0, REIN_POLICY_NET_RESTRICTED, REIN_POLICY_NET_OPEN };
enum rein_policy_failure { REIN_FAILURE_DISCARD = 0, REIN_FAILURE_HOLD, REIN_FAILURE_COMMIT };

struct rein_policy_list {
	const char *const *v;
	size_t n;
};

/* 0: no limit. */
struct rein_policy_limits {
	uint64_t memory_bytes, disk_bytes, file_bytes, output_bytes, egress_bytes;
	uint64_t time_ns, idle_ns, cpu_time_ns;
	uint64_t cpu_percent; /* 100: one processor */
	uint64_t processes, open_files;
	uint64_t free_bytes; /* stays free on the disk; 0: as without a policy */
};

struct rein_policy_settings {
	bool advisory; /* the whole policy */
	const char *environment;
	struct rein_policy_list writable, readonly, shown, hidden, scratch, canary;
	enum rein_policy_net net;
	struct rein_policy_list hosts, blocked_hosts, ports, credentials;
	struct rein_net_budget net_sent, net_all;
	uint64_t net_rate; /* bytes a second */
	bool net_own_sent, net_own_all, net_own_rate; /* of these: by the command line's own layer */
	const char *profile;
	struct rein_policy_limits limits;
	enum rein_policy_failure on_failure;
	uint64_t warm_ns; /* how long a run's overlay waits for the next one; 0: not at all */
	struct rein_policy_list validate;
	struct rein_policy_list foreign_validate; /* of these, an untrusted project's: the very same strings */
};
void rein_policy_settings(const struct rein_policy *p, struct rein_policy_settings *ret);
/* false: no such profile */
bool rein_policy_profile(const struct rein_policy *p, const char *name, struct rein_policy_limits *ret);

/* Whom to call when; what each names is there. They live as long as the policy. */
const struct rein_alert_rule *rein_policy_alerts(const struct rein_policy *p, size_t *n);
const struct rein_webhook *rein_policy_webhooks(const struct rein_policy *p, size_t *n);

/* The policy in force as YAML that reads as the same policy. */
void rein_policy_format(const struct rein_policy *p, struct rein_buf *b);

const char *rein_decide_name(int decide); /* "deny" … "allow" */
const char *rein_layer_name(int layer);
const char *rein_tier_name(int tier);

#endif
