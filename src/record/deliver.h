/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emptying the outbox: desktop notifications, commands and webhooks, each entry at least once. What
 * fails is tried again after 1, 2, 4 … seconds up to a quarter of an hour, for a day; then it is given
 * up, which is recorded. A webhook gets at most so many a minute; the rest waits. Heads for
 * `anchor-webhook` go out the same way, at most one a minute.
 *
 * One process delivers at a time; it may be killed at any point. Commands and addresses are looked up
 * in what the caller passes (the policy's); an entry whose destination is not there any more is given
 * up.
 */
#ifndef REIN_RECORD_DELIVER_H
#define REIN_RECORD_DELIVER_H

#include "base/err.h"
#include "model/alert.h"
#include "record/alert.h"

struct rein_deliver_opts {
	const struct rein_alert_rule *rule;
	size_t nrule;
	const struct rein_webhook *webhook;
	size_t nwebhook;
	uint64_t wait_ns; /* 0: try everything once, now; else keep the pauses and go on so long */
};

struct rein_deliver_result {
	unsigned delivered, given_up, waiting;
	char why[200]; /* of the last failure */
};

/* Put an alert's destinations, other than standard error, into the outbox; a rein_alert_fn. */
struct rein_deliver_queue {
	int audit_fd;
	const struct rein_deliver_opts *opts;
	unsigned queued;
};
int rein_deliver_queue(struct rein_deliver_queue *q, const struct rein_alert *a, struct rein_err *err);

/* Is there something whose time has come? Cheap: for every command's end. */
bool rein_deliver_due(const char *state_dir);
/* Another process is at it: that is no failure; *ret tells what waits. */
int rein_deliver(const char *state_dir, const struct rein_deliver_opts *o,
		 struct rein_deliver_result *ret, struct rein_err *err);

#endif
