/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of the record: who did what, what was decided, what came of it. Strings are views into
 * memory of the caller (or of the parser); an empty string or a zero means "not said". Words such
 * as level, reach, decision and result are the product's own lower-case words.
 */
#ifndef REIN_MODEL_EVENT_H
#define REIN_MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define REIN_EVENT_VERSION 1
#define REIN_EVENT_LIST	   32 /* most entries of a list in one event; "…_total" tells the rest */

/* Append only: the numbers are not stored, the names are. */
enum rein_event_type {
	REIN_EV_NONE = 0, /* zeroed memory is no event and is refused */
	REIN_EV_REQUEST,    /* an action was asked for: the intent */
	REIN_EV_DECISION,   /* classify and policy spoke */
	REIN_EV_APPROVAL,   /* a person answered */
	REIN_EV_ESCALATION, /* asked again, higher up, or expired */
	REIN_EV_RUN_START,
	REIN_EV_RUN_END,
	REIN_EV_EFFECTS, /* what the run did */
	REIN_EV_COMMIT,
	REIN_EV_DISCARD,
	REIN_EV_ROLLBACK, /* automatic: limit, violation, failed validation */
	REIN_EV_UNDO,
	REIN_EV_REDO,
	REIN_EV_CONFLICT,
	REIN_EV_VIOLATION,
	REIN_EV_NETWORK, /* a connection refused or permitted */
	REIN_EV_LIMIT,
	REIN_EV_POLICY,	  /* a policy was changed or loaded */
	REIN_EV_ADMIN,	  /* any other administrative act */
	REIN_EV_OVERRIDE, /* emergency override */
	REIN_EV_STOP,	  /* kill switch, safe mode, and their end */
	REIN_EV_TOKEN,
	REIN_EV_TRUST,
	REIN_EV_BREAKER,
	REIN_EV_SNAPSHOT,
	REIN_EV_ALERT,
	REIN_EV_REPAIR,	 /* the record repaired its own tail */
	REIN_EV_PRUNE,	 /* old segments were removed; their hashes stay */
	REIN_EV_HOLD,	 /* legal hold */
	REIN_EV_RELEASE, /* end of a legal hold */
	REIN_EV_EXPORT,
	REIN_EV__MAX
};

extern const char *const rein_event_types[]; /* by number; the first is empty; ends with NULL */

struct rein_event_pair {
	struct rein_str key, value; /* key: [a-z0-9_.-]+ */
};

struct rein_event {
	enum rein_event_type type;
	struct rein_str id;	/* of this event; made by the record when empty */
	struct rein_str action; /* joins all events of one action */
	struct rein_str prev;	/* id of the event this one answers */
	uint64_t time_ns;	/* wall clock; filled in when 0 */
	uint64_t mono_ns;	/* since boot; filled in when 0 */

	struct rein_str host, user; /* filled in when empty */
	uint64_t uid, pid;	    /* filled in when time_ns was 0 */
	struct rein_str agent, session, task;

	struct rein_str kind;	 /* command, file, sql, http, code, custom */
	struct rein_str command; /* what was asked, redacted; the digest covers the whole */
	struct rein_str cwd;
	struct rein_str digest; /* of the action as it was, made by the caller */

	struct rein_str level, reach, decision, rule, reason;
	struct rein_str approver[REIN_EVENT_LIST];
	size_t napprover;
	struct rein_str txn;

	struct { /* summary of effects */
		uint64_t created, modified, deleted, renamed, bytes;
		uint64_t lines_added, lines_removed;
		struct rein_str path[REIN_EVENT_LIST];
		size_t npath;
		uint64_t paths_total;
		struct rein_str peer[REIN_EVENT_LIST]; /* host:port reached or refused */
		size_t npeer;
	} effects;

	struct { /* resources used */
		uint64_t wall_ns, cpu_ns, max_rss_kib, written, net_in, net_out;
	} used;

	struct rein_str result; /* ok failed killed timed_out refused held rolled_back conflict … */
	int64_t status;		/* exit status, when has_status */
	bool has_status;
	uint64_t duration_ns;
	struct rein_str detail;	 /* one sentence for people */
	struct rein_str excerpt; /* of output or of a diff */
	struct rein_event_pair extra[REIN_EVENT_LIST];
	size_t nextra;
};

#endif
