/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is decided about an action, before it runs and after it ran, and what a policy is told to
 * decide by. Plain data; strings of a decision point into the policy that made it and live as long.
 */
#ifndef REIN_MODEL_DECISION_H
#define REIN_MODEL_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/change.h"
#include "model/root.h"
#include "model/verdict.h"

enum rein_decide {
	REIN_DENY = 0, /* zeroed memory denies */
	REIN_ASK,      /* approve before it runs; of effects: as hold */
	REIN_HOLD,     /* run, keep the effects back for review */
	REIN_ALLOW,    /* run, commit by itself if the effects stay within policy */
	REIN_DECIDE__MAX
};

/* How loud: S4's escalation tiers. */
enum rein_tier {
	REIN_TIER_CRITICAL = 0, /* refused, to be done by hand */
	REIN_TIER_HIGH,		/* explicit approval */
	REIN_TIER_MEDIUM,	/* told, and waited for a while */
	REIN_TIER_LOW,		/* told at most */
};

enum rein_layer {
	REIN_LAYER_BUILTIN = 0,
	REIN_LAYER_SYSTEM,  /* /etc/rein/policy.d */
	REIN_LAYER_USER,    /* ~/.config/rein/policy.yaml */
	REIN_LAYER_PROJECT, /* .rein.yaml: may only tighten */
	REIN_LAYER_TRUSTED, /* .rein.yaml the user trusts */
	REIN_LAYER_COMMAND, /* the command line */
	REIN_LAYER__MAX
};

#define REIN_TIME_NONE (-1)

/* Everything besides the action itself that a rule may look at. NULL and zero: not known. */
struct rein_verdict_facts {
	const struct rein_verdict *verdict; /* NULL: nobody classified it, which denies */
	const char *agent, *role, *environment;
	const char *secret;	/* kind of secret in the content that is written, or NULL */
	bool trust_known;
	unsigned trust;		/* 0..100 */
	int minute;		/* of the local day, 0..1439, or REIN_TIME_NONE */
	int weekday;		/* 0 Monday .. 6 Sunday, or REIN_TIME_NONE */
};

/* What the caller found out about one change, parallel to the list of changes. */
enum rein_change_bits {
	REIN_CHANGE_UNTRACKED = 1, /* no version control has the old content */
	REIN_CHANGE_SECRET = 2,	   /* the new content holds a secret */
	REIN_CHANGE_BINARY = 4,
	REIN_CHANGE_PROGRAMS = 8,  /* a git configuration that newly names programs to start, or a hook */
	REIN_CHANGE_KEPT = 16,	   /* deleted, and git has it elsewhere or has done with it */
	REIN_CHANGE_FORGOT = 32,   /* a git index that lacks what was hidden from the command */
};

struct rein_change_fact {
	const char *secret; /* its kind */
	uint32_t lines_added, lines_removed;
	uint32_t bits;
};

struct rein_outcome {
	const struct rein_changes *changes;	/* NULL: nobody looked, which holds */
	const struct rein_root *roots;		/* what a change's root is an index into */
	size_t nroots;
	const struct rein_change_fact *facts;	/* parallel to changes, or NULL */
	const char *workspace, *home;		/* absolute */
	uint64_t tree_files;			/* files there were in the workspace; 0: not known */
	const char *const *hosts;		/* connected to, NULL-terminated, or NULL */
	int status;				/* as a shell reports it */
	bool killed;				/* timeout, limit or violation */
	struct rein_verdict_facts who;		/* verdict may be NULL here */
};

#define REIN_REASON_MAX 320

/* Who may say yes to something, how many have to, and how long they have. */
struct rein_demand {
	const char *const *approvers; /* users or groups; none: anybody but the requester */
	size_t n_approvers;
	unsigned minimum;    /* approvals needed; 0: one */
	uint64_t expires_ns; /* how long an answer is waited for; 0: for ever */
};

#define REIN_DEMANDS 8

struct rein_decision {
	enum rein_decide decide;
	enum rein_tier tier;
	enum rein_level level;
	enum rein_reach reach;
	bool advisory;		/* the whole policy: decided and to be recorded, not to be enforced */
	bool would;		/* a rule on trial would have decided more strictly: */
	enum rein_decide would_decide;
	const char *would_rule;
	bool by_default;	/* no rule spoke: by level and reach */
	bool unsure;		/* the rule may apply; what it names is only known at run time */
	bool notify;		/* tell somebody, and leave notify_ns to cancel */
	enum rein_layer layer;
	const char *rule;	/* its id, or the name of the default */
	const char *file;	/* where it stands; line 0: nowhere */
	unsigned line;
	const char *instead;	/* what may be done instead, or NULL */
	struct rein_demand demand; /* asked or held; its minimum is at least 1 then */
	struct rein_demand also[REIN_DEMANDS]; /* of the other rules that ask or hold: they count as well */
	size_t n_also;
	uint64_t notify_ns;
	uint32_t start, end;	/* the bytes of the text that caused it */
	size_t matched;		/* effects: how many changes the rule speaks of */
	char reason[REIN_REASON_MAX]; /* one sentence, escaped */
};

#endif
