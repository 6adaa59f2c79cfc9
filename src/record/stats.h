/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what is in the record, for reports and metrics. Pure: events in, numbers out. */
#ifndef REIN_RECORD_STATS_H
#define REIN_RECORD_STATS_H

#include "base/buf.h"
#include "base/err.h"
#include "model/event.h"

#define REIN_STATS_NAMES   64 /* different words of one kind that are told apart */
#define REIN_STATS_BUCKETS 12 /* upper bounds of durations; the last is infinity */

struct rein_tally_entry {
	char name[48];
	uint64_t n;
};

struct rein_tally {
	struct rein_tally_entry v[REIN_STATS_NAMES];
	unsigned n;
	uint64_t other; /* of names that found no place */
};

struct rein_histogram {
	uint64_t bucket[REIN_STATS_BUCKETS];
	uint64_t n;
	double sum_s;
};

extern const double rein_stats_bounds[REIN_STATS_BUCKETS - 1]; /* seconds */

struct rein_stats_day {
	uint64_t day; /* since 1970 */
	uint64_t actions, refused, held, failed;
};

struct rein_stats_agent {
	char name[48];
	uint64_t actions, refused, held, failed, undone, committed;
};

/* Something a person should see by itself, not only as a count. */
struct rein_stats_note {
	uint64_t time_ns;
	enum rein_event_type type;
	char agent[24], rule[64], word[24], text[200];
};
#define REIN_STATS_NOTES 25 /* the newest */

struct rein_stats {
	uint64_t events, first_ns, last_ns;
	uint64_t type[REIN_EV__MAX];
	struct rein_tally level, decision, result, agent, approver, refused_rule, reach, kind, user;
	struct rein_tally level_decision; /* "level decision" */
	struct rein_tally violation;	  /* rule or result of violations and limits */
	uint64_t created, modified, deleted, renamed, bytes, net_in, net_out, written;
	struct rein_histogram run, decide;
	/* Actions: all events that share an action id count once. */
	uint64_t actions, runs, runs_recorded, refused, held, failed, undone, overridden;
	uint64_t grave, grave_approved, grave_refused, grave_kept, grave_unapproved;
	struct rein_stats_agent by_agent[REIN_STATS_NAMES];
	unsigned nagents;
	struct rein_stats_note note[REIN_STATS_NOTES]; /* a ring; all that were, counted by nnotes */
	uint64_t nnotes;
	struct rein_stats_day *day;
	size_t ndays, day_cap;
	struct rein_stats_map *map; /* of actions */
};

int rein_stats_add(struct rein_stats *s, const struct rein_event *ev, struct rein_err *err);
void rein_stats_finish(struct rein_stats *s); /* once, after the last event; sorts and sums up */
void rein_stats_done(struct rein_stats *s);
/* What was counted so far, before it was finished, as bytes that only this very program reads; false: not such. */
void rein_stats_save(const struct rein_stats *s, struct rein_buf *b);
bool rein_stats_load(struct rein_stats *s, struct rein_str saved);
uint64_t rein_tally_get(const struct rein_tally *t, const char *name);

#endif
