/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An action of the command line judged without running it: the policy in force where we stand, a
 * classifier, and what is said about the circumstances. Shared by `classify` and `policy`.
 */
#ifndef REIN_CLI_JUDGE_H
#define REIN_CLI_JUDGE_H

#include <rein/classify.h>

#include "base/json.h"
#include "base/strlist.h"
#include "policy/policy.h"

#define REIN_KINDS "command|file|sql|http|custom"

/* As options fill it; see rein_judge_opts. */
struct rein_circumstances {
	struct rein_strlist policy; /* files of the last layer */
	int kind;
	const char *agent, *role, *environment, *at;
	uint64_t trust;
};

#define REIN_JUDGE_OPTS(type, member)                                                                         \
	{"policy", 'p', REIN_OPT_LIST, offsetof(type, member.policy), "FILE", "add a policy file as the last layer", 0}, \
	{"kind", 0, REIN_OPT_CHOICE, offsetof(type, member.kind), REIN_KINDS, "what the action is", 0},        \
	{"agent", 0, REIN_OPT_STRING, offsetof(type, member.agent), "NAME", "as this agent", 0},               \
	{"role", 0, REIN_OPT_STRING, offsetof(type, member.role), "ROLE", "in this role", 0},                  \
	{"environment", 0, REIN_OPT_STRING, offsetof(type, member.environment), "NAME", "in this environment", 0}, \
	{"trust", 0, REIN_OPT_NUMBER, offsetof(type, member.trust), "N", "with this trust, 0 to 100", 0},      \
	{"at", 0, REIN_OPT_STRING, offsetof(type, member.at), "HH:MM", "at this time of day", 0}

struct rein_judge {
	struct rein_policy *policy; /* NULL until loaded */
	struct rein_classifier *classifier;
	char *cwd, *project, *home;
	struct rein_verdict_facts facts; /* all but the verdict */
};

/* Where we stand, and the circumstances; nothing is loaded yet. */
int rein_judge_begin(struct rein_judge *j, const struct rein_circumstances *c, struct rein_err *err);
/* The policy in force; on failure there may still be one that denies everything and tells why. */
int rein_judge_load(struct rein_judge *j, const struct rein_circumstances *c, bool only_files,
		    struct rein_err *err);
/* Classified and decided; the verdict lives until the next call. Fills in the action's place. */
int rein_judge(struct rein_judge *j, struct rein_action *a, const struct rein_verdict **ret_verdict,
	       struct rein_decision *ret, struct rein_err *err);
/* The first half of it. */
int rein_judge_classify(struct rein_judge *j, struct rein_action *a, const struct rein_verdict **ret,
			struct rein_err *err);
void rein_judge_done(struct rein_judge *j);

/* The kind of secret in what would be written, or NULL. */
const char *rein_judge_secret(const struct rein_action *a);
const char *rein_kind_name(int choice); /* of --kind; NULL when not given */
/* "HH:MM" to a minute of the day. */
int rein_minute(const char *at, int *ret, struct rein_err *err);
/* decision, tier, rule …: members of an object that is open. */
void rein_json_decision(struct rein_json *j, const struct rein_decision *d);

#endif
