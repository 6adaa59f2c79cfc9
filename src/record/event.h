/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical line of an event. One event has exactly one line: members in the order of the
 * table in event.c, absent when empty, no white space, integers only, shortest escapes. The reader
 * accepts nothing else, so that format(parse(line)) == line for every line it accepts.
 */
#ifndef REIN_RECORD_EVENT_H
#define REIN_RECORD_EVENT_H

#include "base/buf.h"
#include "model/event.h"

#define REIN_EVENT_LINE_MAX  65536u /* without the newline */
#define REIN_EVENT_ID_LEN    16
#define REIN_EVENT_TIME_LEN  30 /* 2026-11-15T21:44:00.123456789Z */

const char *rein_event_type_name(enum rein_event_type t);
enum rein_event_type rein_event_type_of(struct rein_str name); /* NONE when unknown */

/* Appends the line, without newline. Fails when a field is malformed or the line too long. */
int rein_event_format(const struct rein_event *ev, struct rein_buf *b, struct rein_err *err);

enum rein_event_text {
	REIN_TEXT_WORD, /* an identifier; must stay a word */
	REIN_TEXT_LONG, /* command, excerpt */
	REIN_TEXT_LINE, /* any other text */
	REIN_TEXT_ITEM, /* of a list */
};

/* Every text of an event, for a walker such as redaction. */
typedef int rein_event_text_fn(void *arg, enum rein_event_text kind, struct rein_str *text);
int rein_event_each_text(struct rein_event *ev, rein_event_text_fn *fn, void *arg);

/* An event that was read; views point into line (the caller's) and into memory of its own. */
struct rein_event_read {
	struct rein_event ev;
	struct rein_buf arena;
	struct rein_jnode *node;
};

int rein_event_parse(struct rein_str line, struct rein_event_read *ret, struct rein_err *err);
void rein_event_read_done(struct rein_event_read *r);

void rein_event_time(uint64_t ns, char out[REIN_EVENT_TIME_LEN + 1]);
bool rein_event_time_parse(struct rein_str s, uint64_t *ret_ns);
/* 16 characters, sortable by time: 48 bits of milliseconds, 32 random bits. */
void rein_event_id(uint64_t time_ns, uint32_t random, char out[REIN_EVENT_ID_LEN + 1]);

#endif
