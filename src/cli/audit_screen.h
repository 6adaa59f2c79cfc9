/* SPDX-License-Identifier: Apache-2.0 */
/* Events and actions on a terminal: what the views of the record share. */
#ifndef REIN_CLI_AUDIT_SCREEN_H
#define REIN_CLI_AUDIT_SCREEN_H

#include "base/buf.h"
#include "cli/audit.h"
#include "model/event.h"
#include "record/index.h"

#define REIN_SCREEN_RESET "\033[0m"

struct rein_screen {
	bool colour, utf8;
	unsigned width;
	char last_day[16];
};

struct rein_screen rein_screen(void);
const char *rein_screen_paint(const struct rein_screen *s, const char *code);
/* Cut to a number of columns; counts characters, not bytes. */
void rein_screen_fit(struct rein_buf *b, unsigned columns, bool utf8);
/* The date, once a day. */
void rein_screen_day(struct rein_screen *s, uint64_t time_ns, struct rein_buf *out);
/* One event in one line. */
void rein_screen_event(struct rein_screen *s, const struct rein_event *ev, struct rein_buf *out);
/* "1 created, 14 deleted", what is zero left out; nothing when all is. */
void rein_screen_effects(const struct rein_event *ev, struct rein_buf *b);

/* Lines of a query, in the order they came. */
struct rein_kept {
	uint64_t line;
	char *text;
	size_t n;
};

struct rein_collected {
	struct rein_kept *v;
	size_t n, cap;
};

int rein_collect(void *arg, uint64_t line, struct rein_str text, const struct rein_event *ev,
		 struct rein_err *err); /* a rein_index_fn; arg: struct rein_collected */
void rein_collected_done(struct rein_collected *c);

/* rein audit log: one line an action. Negative on failure. */
int rein_audit_actions(struct rein_audit *a, const struct rein_index_ops *ops, struct rein_index *x,
		       uint64_t count, uint64_t before);

#endif
