/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention. Whole segments go, oldest first; what they held stays provable, because the segment
 * that is then the oldest begins with the peaks of the tree before it, and a prune event names the
 * files with their hashes. A legal hold keeps what it covers, and the segment that tells of it.
 */
#ifndef REIN_RECORD_PRUNE_H
#define REIN_RECORD_PRUNE_H

#include <rein/record.h>

struct rein_prune_options {
	uint64_t keep_ns;	/* keep what is younger; 0: any age may go */
	uint64_t keep_bytes;	/* keep at most this much; 0: no bound */
	unsigned keep_segments; /* keep at least this many */
	uint64_t now_ns;	/* 0: now */
	bool dry_run;
};

struct rein_prune_result {
	unsigned segments, held; /* removed; kept only because of a hold */
	uint64_t bytes, first_line;
};

/* Refuses to touch a log that does not verify. ret may be NULL. */
int rein_record_prune(struct rein_record *r, const struct rein_prune_options *opt,
		      struct rein_prune_result *ret, struct rein_err *err);

/* Legal hold over a span of time (until 0: open end); the id is that of its event. */
int rein_record_hold(struct rein_record *r, uint64_t since_ns, uint64_t until_ns,
		     const char *reason, struct rein_err *err);
int rein_record_release(struct rein_record *r, const char *hold_id, const char *reason,
			struct rein_err *err);
struct rein_hold {
	char id[17];
	uint64_t since_ns, until_ns, segment;
	char reason[128];
};
int rein_record_holds(int dirfd, struct rein_hold **ret, size_t *n, struct rein_err *err);

/* Copies the sealed log (or the segments that touch a span of time) into a new directory. */
int rein_record_archive(struct rein_record *r, const char *dest, uint64_t since_ns,
			uint64_t until_ns, struct rein_err *err);

#endif
