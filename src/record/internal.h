/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the record share; nobody else includes this. */
#ifndef REIN_RECORD_INTERNAL_H
#define REIN_RECORD_INTERNAL_H

#include <rein/record.h>

#include "base/buf.h"
#include "record/event.h"
#include "record/head.h"
#include "record/tail.h"

#define REIN_RECORD_DIR	      "audit"
#define REIN_RECORD_HEAD_SIZE 512 /* one sector: written whole or not at all */
#define REIN_SEGMENT_BYTES    (64ull << 20)
#define REIN_SEGMENT_NAME     16
#define REIN_SYSLOG_SOCKET    "/dev/log"
#define REIN_REDACT_OWN	      32 /* patterns of the user */

/* Where the end of the log is, as far as written (not as far as durable). */
struct rein_log_state {
	uint64_t gen;
	uint64_t segment; /* 0: no log yet */
	uint64_t offset;
	uint64_t last_head; /* n of the last head or rotate line, UINT64_MAX before the first */
	uint8_t pub[32];    /* the key that must sign the next head */
	bool closed;	    /* set aside; open again */
	struct rein_merkle tree;
};

/* What is known to be durable: the published head and the place in the log behind it. */
struct rein_published {
	bool present;
	struct rein_head head;
	struct rein_str line; /* into text */
	uint64_t segment, offset;
	char text[REIN_RECORD_HEAD_SIZE];
};

/* Lines with their newlines, and the leaf of each. */
struct rein_lines {
	struct rein_buf text;
	struct rein_hash *leaf;
	size_t n, cap;
};

struct rein_record_config {
	uint64_t segment_bytes;
	char anchor_path[512];
	char anchor_webhook[512], anchor_secret[512];
	char anchor_syslog[108]; /* socket, or empty */
	uint64_t keep_ns, keep_bytes; /* 0: for ever */
	char redact[REIN_REDACT_OWN][256]; /* "NAME REGEX" */
	size_t nredact;
};

struct rein_record {
	int dirfd, state_fd, head_fd, seg_fd;
	uint64_t seg_open;
	bool read_only;
	uint32_t *bell; /* rung when a head was published; NULL until needed */
	bool no_bell;
	struct rein_record_config config;
	struct rein_log_state st;
	struct rein_key key;
	struct rein_redactor *own_redact;
	const struct rein_redactor *redact;
	struct rein_lines events; /* the caller's, being assembled */
	struct rein_lines own;	  /* heads, starts and repairs */
	uint32_t pool[32]; /* random numbers in stock */
	size_t npool;
	char last_id[REIN_EVENT_ID_LEN + 1];
	char host[65], user[33];
	uint8_t boot[16];
};

void rein_segment_name(uint64_t segment, char out[REIN_SEGMENT_NAME]);
/* Sorted numbers of the segments in the directory; the caller frees. */
int rein_segments(int dirfd, uint64_t **ret, size_t *n, struct rein_err *err);
int rein_record_dir(const char *state_dir, bool create, struct rein_err *err); /* fd */
int rein_record_config_read(int dirfd, struct rein_record_config *ret, struct rein_err *err);
int rein_published_read(int head_fd, struct rein_published *ret, struct rein_err *err);
void rein_record_anchor(struct rein_record *r, struct rein_str line);

/* Append lock held from begin to end; the state is loaded, the tail whole. */
int rein_log_begin(struct rein_record *r, struct rein_err *err);
void rein_log_end(struct rein_record *r);
/* Between the two. */
int rein_log_write(struct rein_record *r, const struct rein_lines *l, struct rein_err *err);
int rein_log_rotate(struct rein_record *r, struct rein_err *err); /* start a new segment */
int rein_log_close(struct rein_record *r, struct rein_err *err); /* other handles must reopen */
int rein_log_sync(struct rein_record *r, uint64_t n, struct rein_err *err);

/*
 * Complete lines of one file from an offset on; line->index counts from *index. A negative return
 * of fn stops. *ret_end is behind the last complete line.
 */
int rein_segment_lines(int fd, uint64_t segment, uint64_t from, uint64_t end, uint64_t *index,
		       rein_line_fn *fn, void *arg, uint64_t *ret_end, struct rein_err *err);
/* The line number a segment begins with, from its first line. */
int rein_segment_first(int fd, uint64_t *ret, struct rein_err *err);
/* All lines present from a segment on (0: the oldest), oldest first. Tolerates a torn tail. */
int rein_record_each(int dirfd, uint64_t from_segment, rein_line_fn *fn, void *arg,
		     struct rein_err *err);
/* A place behind a head up to which all was verified, and what it takes to go on from there. */
struct rein_bookmark {
	uint64_t segment, offset, first, pruned_to;
	uint8_t pub[32];
	struct rein_merkle tree;
};

/* Somebody who looks on while the log is verified. */
struct rein_verify_watch {
	const struct rein_bookmark *from; /* begin here, not where the options say; or NULL */
	const struct rein_merkle *expect; /* the tree the log must have had at that many lines, or NULL */
	rein_line_fn *fn;		  /* told of each event that fits so far; what is proven is known at the end */
	void *arg;
	bool met;			  /* it had */
	struct rein_bookmark reached;	  /* segment 0: none, the last lines are under no head yet */
};

int rein_verify_watched(int dirfd, const struct rein_verify_options *opt, struct rein_verify_watch *watch,
			struct rein_verify_result *ret, struct rein_err *err);
int rein_verify_fd(int dirfd, const struct rein_verify_options *opt, struct rein_verify_result *ret,
		   struct rein_err *err);
/* Value of an extra member, or an empty string. */
struct rein_str rein_event_extra(const struct rein_event *ev, const char *key);
bool rein_str_u64(struct rein_str s, uint64_t *ret);
/* Appends to a batch of extra members in memory of the caller. */
void rein_event_add_extra(struct rein_event *ev, const char *key, const char *value);

#endif
