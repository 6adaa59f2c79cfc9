/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to call a person, and how: what the policy says and the record carries out. Strings belong to
 * whoever made the rule. Four kinds:
 *
 *	RATE       `count` events that match within `window`
 *	FIRST      a value of `field` that was never seen before (among events that match)
 *	THRESHOLD  a number of an event reaches `count` (`field` says which)
 *	SEQUENCE   an event that matches, then one that matches `then`, in one session within `window`
 */
#ifndef REIN_MODEL_ALERT_H
#define REIN_MODEL_ALERT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/filter.h"

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
	REIN_ALERT_OF_CREATED,
	REIN_ALERT_OF_NET_OUT,
	REIN_ALERT_OF_DURATION, /* ns */
	REIN_ALERT_OF_CPU,	/* ns */
	REIN_ALERT_FIELD__MAX
};

#define REIN_ALERT_COUNT_MAX 256 /* of a RATE: that many times are remembered a key */

struct rein_alert_rule {
	const char *name; /* [a-z0-9.-]+ */
	enum rein_alert_kind kind;
	struct rein_filter match, then;
	enum rein_alert_field field;
	uint64_t count, window_ns, cooldown_ns;
	bool to_stderr, desktop;
	const char *command; /* run with the alert as JSON on standard input, or NULL */
	const char *const *webhook; /* names */
	size_t nwebhook;
};

struct rein_webhook {
	const char *name;	 /* [A-Za-z0-9._-]+ */
	const char *url;	 /* https, or http on this machine */
	const char *secret_file; /* absolute; its content is the key of an HMAC, or NULL */
	uint64_t per_minute;	 /* at most so many deliveries */
};

#endif
