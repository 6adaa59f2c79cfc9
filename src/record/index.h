/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index over the record: a cache in SQLite that can be deleted at any time and is rebuilt from
 * the log. It answers "which lines", the log answers "what was in them". It lives in a module that
 * is loaded when something is searched, so that running a command never pays for it.
 *
 * Debian's SQLite has a bug that can lose pages when several connections write and checkpoint a
 * write-ahead log at the same time. There is no write-ahead log here: a rollback journal, one writer
 * at a time under a lock of our own, and a rebuild whenever SQLite reports damage.
 */
#ifndef REIN_RECORD_INDEX_H
#define REIN_RECORD_INDEX_H

#include "base/buf.h"
#include "model/event.h"
#include "record/filter.h"

struct rein_index;

/* Newest first. line is the canonical text; a negative return stops. */
typedef int rein_index_fn(void *arg, uint64_t line, struct rein_str text,
			  const struct rein_event *ev, struct rein_err *err);

struct rein_similar {
	uint64_t line, time_ns;
	double score; /* 0..1, 1 = the same shape */
	char action[33], decision[17], result[25], undone[9];
	char command[201]; /* redacted, cut */
};

struct rein_index_ops {
	unsigned abi;
	/* Brings the index up to date first; rebuild throws the old one away. */
	int (*open)(const char *state_dir, bool rebuild, struct rein_index **ret,
		    struct rein_err *err);
	int (*refresh)(struct rein_index *x, struct rein_err *err);
	/* At most limit events, all older than line `before` (0: from the newest). */
	int (*query)(struct rein_index *x, const struct rein_filter *f, uint64_t limit,
		     uint64_t before, rein_index_fn *fn, void *arg, struct rein_err *err);
	/* Every event of the action or transaction that id names, oldest first; 0 found is an error. */
	int (*story)(struct rein_index *x, const char *id, rein_index_fn *fn, void *arg,
		     struct rein_err *err);
	/* Past operations like this one, best first. Returns their number. */
	int (*similar)(struct rein_index *x, struct rein_str command, struct rein_similar *ret,
		       unsigned max, struct rein_err *err);
	uint64_t (*lines)(struct rein_index *x);
	void (*close)(struct rein_index *x);
};

#define REIN_INDEX_ABI	  1
#define REIN_INDEX_SYMBOL "rein_index_module"

/* Loads the module; the answer stays valid until the process ends. */
int rein_index_load(const struct rein_index_ops **ret, struct rein_err *err);

#endif
