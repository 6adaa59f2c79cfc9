/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be sent and was not yet: one file an entry in audit/outbox, there until it was delivered
 * or given up. An entry is durable when rein_outbox_put returns. It names a destination, never its
 * address or its secret: those are the policy's.
 */
#ifndef REIN_RECORD_OUTBOX_H
#define REIN_RECORD_OUTBOX_H

#include "base/buf.h"

#define REIN_OUTBOX_MAX 1000 /* entries: whoever is never reached must not fill the disk */
#define REIN_OUTBOX_TO	96

struct rein_outbox_entry {
	char file[64];
	char id[17];		 /* of the alert */
	char to[REIN_OUTBOX_TO]; /* "desktop", "command:RULE", "webhook:NAME" */
	uint64_t created_ns, next_ns;
	uint64_t attempts;
	char why[200]; /* the last attempt failed */
	char *text;    /* the whole file */
	struct rein_str body;
};

struct rein_outbox {
	struct rein_outbox_entry *v; /* oldest first */
	size_t n, cap;
};

/* audit_fd is the record's directory. The same id and destination again replaces. Full: REIN_E_LIMIT. */
int rein_outbox_put(int audit_fd, const char *id, const char *to, uint64_t now_ns,
		    struct rein_str body, struct rein_err *err);
/* Everything that waits. Files that are no entries are left alone. */
int rein_outbox_read(int audit_fd, struct rein_outbox *ret, struct rein_err *err);
void rein_outbox_done(struct rein_outbox *o);
/* Remember an attempt that failed. Not durable: forgetting it only means trying sooner. */
int rein_outbox_again(int audit_fd, const struct rein_outbox_entry *e, struct rein_err *err);
int rein_outbox_remove(int audit_fd, const struct rein_outbox_entry *e, struct rein_err *err);
/* The directory, for what else is kept there. 1: opened, 0: there is none. */
int rein_outbox_dir(int audit_fd, bool create, int *ret_fd, struct rein_err *err);

#endif
