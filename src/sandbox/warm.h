/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warm layer. An overlay looks up every name of the tree below it once for itself, and a new one
 * starts with nothing: a command that only reads (a search, git status) spends most of its time on
 * that. When such a command changed nothing, its overlay can serve the next one, if nothing changed
 * in the tree either: the kernel does not promise what an overlay shows then.
 *
 * Between two runs a process holds it, with what says whether it is still true: an inotify watch on
 * every directory of the tree, set before the overlay was mounted.
 *
 * [W1] A layer is taken only if no name, no content and no attribute below the tree's directory
 *      changed since before it was mounted; whoever holds it gives it up at the first change.
 * [W2] It is taken by one run at a time, of the same user, for the same tree and the same mask.
 * [W3] When its time is over, or its holder is killed, nothing of it remains but a directory that
 *      the next run or gc removes.
 */
#ifndef REIN_SANDBOX_WARM_H
#define REIN_SANDBOX_WARM_H

#include <stdbool.h>
#include <stdint.h>

#define REIN_WARM_NAME 24

struct rein_warm {
	char name[REIN_WARM_NAME]; /* of its directory below STATE/warm */
	int layer;		   /* the overlay, mounted nowhere; -1: there is none (yet) */
	int changes;		   /* inotify; silent as long as nothing changed */
	int dir;		   /* its directory, locked; -1: not left yet */
	int lock;		   /* keeps its mask; -1: it has none */
	uint64_t dev, ino;	   /* the tree */
	char *mask;		   /* the mask's path; "": none */
};

/* Start to watch the tree, for a layer that will be made now. NULL: it cannot be watched, or is too
 * large. */
struct rein_warm *rein_warm_watch(const char *real);
/* The layer an earlier run left for this tree, if it is still true [W1]; or NULL. */
struct rein_warm *rein_warm_take(int state_fd, const char *real);
/* Did nothing change so far? */
bool rein_warm_true(const struct rein_warm *w);
/*
 * Leave it, whose directory is STATE/warm/NAME already, to a process of its own, for so long. It is
 * the caller's no more but to be freed. False: it could not be; the directory is the caller's to
 * remove.
 */
bool rein_warm_leave(int state_fd, struct rein_warm *w, uint64_t ns);
/* Close and free it; NULL is fine. */
void rein_warm_free(struct rein_warm *w);

#endif
