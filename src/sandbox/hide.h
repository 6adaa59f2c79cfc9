/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hiding inside a copy-on-write tree: a mask, which is a read-only lower layer above the real tree
 * with a whiteout (character device 0:0) for everything hidden. Nothing is ever written to the real
 * tree. The mask is kept between runs and shared by boxes with the same hidden set.
 *
 *	struct rein_hide_list hidden = REIN_HIDE_LIST_INIT;
 *	char *mask = NULL;
 *
 *	if (rein_hide_mask(&opts, root->real, &mask, &hidden, &err) < 0) ...
 *	root->mask = mask;	(NULL: nothing is hidden there)
 *	... run the box ...
 *	rein_hide_list_done(&hidden);	after the box is gone: it holds the mask's lock
 *
 * [M1] A mask's names never change once it has its name; another hidden set is another mask.
 * [M2] A mask is removed only under an exclusive lock, which no box can hold off or miss.
 * [M3] The directories of a mask have the mode, times, attributes and (as far as permitted) owner
 *      of the real ones, brought up to date at every run: the box sees the mask's.
 * [M4] What a mask hid can be had again after the mask is gone (rein_hide_revive), for 30 days.
 *
 * Hidden by pattern: .env*, *.key, *.pem and what is in directories called secrets, as
 * sandbox/hideindex.h says. A secret made outside while a box runs is seen in it.
 */
#ifndef REIN_SANDBOX_HIDE_H
#define REIN_SANDBOX_HIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strlist.h"

struct rein_hide_opts {
	const char *state_dir;
	char *const *hide; /* absolute paths below the tree, hidden by name; NULL: none */
	char *const *names; /* more names to hide wherever they are, as globs; NULL: none */
	char *const *show; /* absolute paths that no pattern hides; NULL: none */
	bool whole;	   /* a tree of --whole-system: system directories are not searched */
	bool rootless;	   /* list directories of other owners */
	uid_t uid;
	gid_t gid;
	const char *search; /* with whole: a directory that is searched even so (the workspace) */
	const char *mask_base; /* where masks go; NULL: the state, or memory where that cannot be */
	bool fresh;	       /* do not use or keep an index */
};

/* A directory that a rootless overlay cannot copy up (EOVERFLOW), KERNEL: its ids are unmapped. */
struct rein_foreign_dir {
	char *path; /* relative to the tree */
	uid_t uid;
	gid_t gid;
	mode_t mode;
};

struct rein_hide_list {
	struct rein_strlist paths; /* hidden, relative to the tree, sorted; none inside another */
	struct rein_foreign_dir *foreign; /* parents first */
	size_t nforeign, foreign_cap;
	bool links;    /* the tree has files with several names, or may have */
	size_t ndirs;  /* directories known */
	size_t nread;  /* of them read this time */
	int lock_fd;   /* keeps the mask; -1: none */
	char *passing; /* a mask in memory, removed with this list; or NULL */
};

#define REIN_HIDE_LIST_INIT                                                                        \
	{                                                                                          \
		.lock_fd = -1                                                                      \
	}

int rein_hide_mask(const struct rein_hide_opts *opts, const char *real, char **ret_mask,
		   struct rein_hide_list *ret_hidden, struct rein_err *err);
void rein_hide_list_done(struct rein_hide_list *l);
/* Are patterns looked for here in a tree of the whole system? search: as in the options, or NULL. */
bool rein_hide_searches(const char *path, const char *search);

/* What is known of the tree turned out to be wrong: the next run looks again. */
void rein_hide_forget(const char *state_dir, const char *real);

/*
 * Have the mask of an earlier run again, at the same place, and hold it until *ret_lock is closed:
 * for reading the effects of a run that was killed.
 */
int rein_hide_revive(const char *state_dir, const char *mask, int *ret_lock, struct rein_err *err);

#endif
