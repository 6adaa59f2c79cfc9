/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git index remembers times and numbers of the files it names, and git writes it anew whenever they
 * differ: after a commit of ours, which gives files new ones, the next `git status` does. That is no later
 * work of anybody's: such an index says what it said before.
 */
#ifndef REIN_ENGINE_GITINDEX_H
#define REIN_ENGINE_GITINDEX_H

#include "base/str.h"
#include "txn/txn.h"

#define REIN_GITINDEX_DIGEST 32

/* Of all it says but what it remembers of files, and but caches git makes by itself. False: it is no index. */
bool rein_gitindex_digest(struct rein_str in, uint8_t ret[REIN_GITINDEX_DIGEST]);
/* Each name in it, in order; one in conflict several times. False: it is no index, or fn said so. */
typedef bool rein_gitindex_fn(void *arg, const char *name);
bool rein_gitindex_names(struct rein_str in, rein_gitindex_fn *fn, void *arg);

/*
 * Keep with a transaction that is about to be committed what its indexes say, before it and after it. What
 * cannot be kept is a conflict later, no more.
 */
void rein_gitindex_keep(const struct rein_tx *t, const struct rein_changes *c);
/* Does the file that is there now say what was left there: by the commit, by the undo, or, of one that is held, for the run? */
bool rein_gitindex_says_so(const struct rein_tx *t, const struct rein_changes *c, size_t i);

#endif
