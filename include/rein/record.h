/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record: an append-only, tamper-evident log of events.
 *
 *	struct rein_record *r = NULL;
 *	struct rein_err err = {0};
 *
 *	if (rein_record_open(state_dir, NULL, &r, &err) < 0 ||
 *	    rein_record_append(r, &event, true, &err) < 0)
 *		refuse(&err);			// no record, no action
 *	rein_record_close(r);
 *
 * The way of one action: request (durable, before anything else), decision, approval, run.start
 * (durable: no record, no action), run.end, effects, then commit, discard, rollback or undo (durable
 * before the tree is touched). All carry the same `action`. What is not durable on its own is made so
 * by the next that is, in order; end with rein_record_sync or a durable event.
 *
 * Any number of processes append at the same time; there is no daemon. A durable append returns
 * only when the event is on disk and covered by a signed tree head; callers that wait at the same
 * time share one fdatasync. One handle belongs to one thread at a time; threads open their own.
 * After fork only one of the two processes may go on using the handle.
 *
 * On failure nothing of the call is acknowledged: the event may or may not be in the log, and the
 * log stays valid. A log that ends before its own signed head says, or does not match it, is
 * refused with REIN_E_STATE until rein_record_accept_loss() says in the log itself what is missing.
 */
#ifndef REIN_RECORD_H
#define REIN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rein/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rein_event;
struct rein_record;
struct rein_redactor;

struct rein_record_options {
	uint64_t segment_bytes;		    /* start a new segment past this; 0: the log's own setting */
	const struct rein_redactor *redact; /* NULL: the built-in patterns with the log's key */
	bool read_only;			    /* never create or repair; append is refused */
};

REIN_API int rein_record_open(const char *state_dir, const struct rein_record_options *opt,
			      struct rein_record **ret, struct rein_err *err);
REIN_API void rein_record_close(struct rein_record *r); /* NULL is fine */

/* Fills in id, time, host, user where they are empty; *ev itself is not changed. */
REIN_API int rein_record_append(struct rein_record *r, const struct rein_event *ev, bool durable,
				struct rein_err *err);
/* All of them in a row, in order, with nothing between them. */
REIN_API int rein_record_append_batch(struct rein_record *r, const struct rein_event *ev, size_t n,
				      bool durable, struct rein_err *err);
/* Make everything appended so far, by anybody, durable and covered by a signed head. */
REIN_API int rein_record_sync(struct rein_record *r, struct rein_err *err);
/* The id the last appended event got: 16 characters. */
REIN_API const char *rein_record_last_id(const struct rein_record *r);

/* New signing key: recorded in the log, signed by the old one. */
REIN_API int rein_record_rotate_key(struct rein_record *r, struct rein_err *err);
/* Go on after a truncation: records what is missing. An administrative act. */
REIN_API int rein_record_accept_loss(const char *state_dir, const char *reason,
				     struct rein_err *err);

struct rein_record_head {
	uint64_t n; /* lines the head covers */
	uint8_t root[32];
	uint8_t pub[32]; /* the key that signed it */
	uint64_t time_ns;
};

struct rein_verify_options {
	bool incremental;      /* from where the last verification ended */
	bool all_signatures;   /* check every signature, not only those the rest hangs on */
	bool all_events;       /* parse every event strictly */
	const char *anchor;    /* file of heads kept elsewhere; each must fit */
	const uint8_t *pinned; /* first key of the log as known from elsewhere (32 bytes), or NULL */
	bool archive;	       /* a directory of segments without live state */
};

struct rein_verify_result {
	struct rein_record_head head; /* the last signed head; everything before it is proven */
	uint64_t first;		      /* first line present; > 0 when older segments were pruned */
	uint64_t lines, events, heads, signatures, anchors;
	uint64_t tail;		      /* lines after the last head, in flight and not yet covered */
	uint64_t bytes;
	unsigned segments;
	bool loss_accepted; /* the log itself says that lines were lost */
};

/*
 * 0 when the log is whole. -REIN_E_INVALID when it is not, with the place and what it means in
 * err; *ret then holds how far it was good.
 */
REIN_API int rein_record_verify(const char *state_dir, const struct rein_verify_options *opt,
				struct rein_verify_result *ret, struct rein_err *err);

#ifdef __cplusplus
}
#endif
#endif
