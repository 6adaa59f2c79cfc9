/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts: rules over the record that call a person. Four kinds:
 *
 *	RATE       `count` events that match within `window`
 *	FIRST      a value of `field` that was never seen before (among events that match)
 *	THRESHOLD  a number of an event reaches `count` (`field` says which)
 *	SEQUENCE   an event that matches, then one that matches `then`, in one session within `window`
 *
 * The engine is pure: events go in, alerts come out. The runner reads the record from where it
 * stopped, delivers, and only then moves on: after a crash an alert may come twice, never not at
 * all. The same rule and key is silent for `cooldown`; what was swallowed is counted in the next.
 */
#ifndef REIN_RECORD_ALERT_H
#define REIN_RECORD_ALERT_H

#include "base/buf.h"
#include "base/err.h"
#include "record/filter.h"

enum rein_alert_kind {
	REIN_ALERT_NONE = 0,
	REIN_ALERT_RATE,
	REIN_ALERT_FIRST,
	REIN_ALERT_THRESHOLD,
	REIN_ALERT_SEQUENCE,
};

enum rein_alert_field {
	REIN_ALERT_BY_AGENT, /* FIRST, and the key RATE counts by */
	REIN_ALERT_BY_SESSION,
	REIN_ALERT_BY_USER,
	REIN_ALERT_BY_RULE,
	REIN_ALERT_BY_PEER,
	REIN_ALERT_BY_PROGRAM,
	REIN_ALERT_BY_ALL,     /* one key for everything */
	REIN_ALERT_OF_DELETED, /* THRESHOLD */
	REIN_ALERT_OF_MODIFIED,
	REIN_ALERT_OF_NET_OUT,
	REIN_ALERT_OF_DURATION, /* ns */
	REIN_ALERT_OF_CPU,	/* ns */
};

struct rein_alert_rule {
	const char *name; /* [a-z0-9.-]+ */
	enum rein_alert_kind kind;
	struct rein_filter match, then;
	enum rein_alert_field field;
	uint64_t count, window_ns, cooldown_ns;
	const char *command; /* run with the alert as JSON on standard input, or NULL */
	bool to_stderr, desktop;
};

struct rein_alert {
	const struct rein_alert_rule *rule;
	char id[17];   /* of rule, key and line: the same if delivered again */
	char key[64];  /* which agent, session, host … */
	uint64_t line, time_ns, count, swallowed;
	char text[256]; /* one sentence */
};

struct rein_alerts;
typedef int rein_alert_fn(void *arg, const struct rein_alert *a, struct rein_err *err);

int rein_alerts_new(const struct rein_alert_rule *rule, size_t n, struct rein_alerts **ret,
		    struct rein_err *err);
void rein_alerts_free(struct rein_alerts *a);
/* fire may be NULL: the event is only learned from. */
int rein_alerts_feed(struct rein_alerts *a, uint64_t line, const struct rein_event *ev,
		     rein_alert_fn *fire, void *arg, struct rein_err *err);

/* All new lines of the record; deliver NULL: to where the rules say. Returns how many were fired. */
int rein_alerts_run(const char *state_dir, const struct rein_alert_rule *rule, size_t n,
		    rein_alert_fn *deliver, void *arg, struct rein_err *err);
/* Standard error, desktop notification, command: as the rule says. */
int rein_alert_deliver(const struct rein_alert *a, struct rein_err *err);
void rein_alert_json(const struct rein_alert *a, struct rein_buf *b);

/* Rules that make sense everywhere; used when a policy says nothing. */
extern const struct rein_alert_rule rein_alert_defaults[];
extern const size_t rein_alert_ndefaults;

#endif
