/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs on the record share. */
#ifndef REIN_CLI_AUDIT_H
#define REIN_CLI_AUDIT_H

#include <rein/record.h>

#include "record/filter.h"

/* One call of `rein audit`: what was asked, and why it failed. */
struct rein_audit {
	struct rein_filter filter;
	const char *since, *until, *format, *output, *anchor, *key, *archive, *reason, *count, *command,
		*before, *webhook;
	uint64_t keep_ns, keep_bytes, wait_ns; /* 0: not said */
	bool json, quiet, follow, no_pager, all, incremental, dry_run, list, syslog, reverse, test, events;
	char **rest;
	int nrest;
	const char *state;
	struct rein_err err;
};

/* The verbs of `rein audit`, for completion: NULL past the last. */
struct rein_verb;
const struct rein_verb *rein_audit_verb(size_t i, const char **ret_name);

/* Print why and return the exit status. */
int rein_audit_fail(struct rein_audit *a);
int rein_audit_usage(struct rein_audit *a, const char *what, const char *arg);
/* What has nothing else to tell is done. */
int rein_audit_done(const struct rein_audit *a, const char *verb);
/* For people who look at the screen: neither with --json nor with -q. */
void rein_audit_note(const struct rein_audit *a, const char *text);
int rein_audit_open(struct rein_audit *a, struct rein_record **r);

enum { REIN_AUDIT_DATE = 1, REIN_AUDIT_CLOCK = 2 };
/* In the person's own time zone. */
void rein_audit_time(uint64_t ns, int what, char *out, size_t cap);

/* The verbs; each returns an exit status. */
int rein_audit_log(struct rein_audit *a);
int rein_audit_show(struct rein_audit *a);
int rein_audit_similar(struct rein_audit *a);
int rein_audit_verify(struct rein_audit *a);
int rein_audit_prove(struct rein_audit *a);
int rein_audit_export(struct rein_audit *a);
int rein_audit_report(struct rein_audit *a);
int rein_audit_prune(struct rein_audit *a);
int rein_audit_hold(struct rein_audit *a);
int rein_audit_release(struct rein_audit *a);
int rein_audit_anchor(struct rein_audit *a);
int rein_audit_alerts(struct rein_audit *a);
int rein_audit_rotate_key(struct rein_audit *a);
int rein_audit_rebuild(struct rein_audit *a);
int rein_audit_accept_loss(struct rein_audit *a);

#endif
