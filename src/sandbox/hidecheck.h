/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what an index knows of a tree still so? Each known directory is asked for its times, and one
 * that changed is read again: files come and go, but seldom a directory or a secret. In a large tree
 * threads do it, from the start on; whoever finishes helps them.
 *
 *	struct rein_hidecheck *c = rein_hidecheck_start(&opts, &index, &root);
 *	... what else is to be done ...
 *	if (rein_hidecheck_finish(c) < 0) ...
 *	if (c->differs) make it anew; c->changed says what must be read
 *	rein_hidecheck_free(c);
 */
#ifndef REIN_SANDBOX_HIDECHECK_H
#define REIN_SANDBOX_HIDECHECK_H

#include <pthread.h>
#include <stdatomic.h>

#include "sandbox/hideindex.h"
#include "sandbox/hidescan.h"

#define REIN_HIDECHECK_WORKERS 4

/* A directory whose times are other ones, and that holds what it held. */
struct rein_hidetimes {
	uint32_t dir;
	struct rein_hidedir now;
};

struct rein_hideworker {
	struct rein_hidecheck *check;
	pthread_t thread; /* none for the first, who is whoever finishes */
	int root_fd;
	struct rein_hidescan l;
	struct rein_hidetimes *v;
	size_t n, cap;
};

struct rein_hidecheck {
	const struct rein_hideindex_opts *o;
	const struct rein_hideindex *x;
	uint32_t *order; /* depth first: neighbours share their path in the kernel's caches */
	uint64_t mount;
	dev_t dev;
	unsigned char *changed; /* one for each directory: its times are other ones */
	atomic_uint next;	/* whoever is free takes the next few: one of us may have to wait for a processor */
	atomic_uint nchanged;
	atomic_bool differs; /* one holds other directories or secrets; not all that changed were read then */
	atomic_bool failed;
	struct rein_hideworker worker[REIN_HIDECHECK_WORKERS];
	unsigned nworkers;
	unsigned threads; /* of them at work: all but the first, until they were waited for */
};

/* What opts and x point to must stay until the end. NULL when out of memory. */
struct rein_hidecheck *rein_hidecheck_start(const struct rein_hideindex_opts *opts,
					    const struct rein_hideindex *x, const struct statx *root);
/* -1 when out of memory or descriptors: then nothing is known. */
int rein_hidecheck_finish(struct rein_hidecheck *c);
/* Ends one that was not finished, too. NULL is fine. */
void rein_hidecheck_free(struct rein_hidecheck *c);

#endif
