/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The working state of planning a view, between the files that do it: view.c (the order of the
 * steps), viewitems.c (what the options say), viewroots.c (which trees are copied on write),
 * viewmounts.c (what mounts make of them), viewhide.c (what is hidden).
 */
#ifndef REIN_SANDBOX_VIEWPLAN_H
#define REIN_SANDBOX_VIEWPLAN_H

#include <limits.h>

#include "sandbox/gitdir.h"
#include "sandbox/mounts.h"
#include "sandbox/view.h"

enum rein_viewkind {
	REIN_VIEW_RW,
	REIN_VIEW_RO,
	REIN_VIEW_HIDE,
	REIN_VIEW_SCRATCH,
};

/* One option of the user. A hidden symbolic link is two: itself and what it points at. */
struct rein_viewitem {
	char *path;  /* resolved */
	char *given; /* absolute, but as it was named */
	enum rein_viewkind kind;
	bool is_dir;
};

struct rein_viewplan {
	const struct rein_view_opts *opts;
	struct rein_view *v;
	struct rein_err *err;
	char home[PATH_MAX]; /* resolved, or "" */
	struct rein_mounts mounts;
	struct rein_viewitem *items;
	size_t nitems, items_cap;
	struct rein_strlist hidden; /* all of them, defaults and options */
	struct rein_err no_place;   /* why the mount that was asked about last cannot change */
};

/* ---- places (view.c) ---- */

/* Does the path lie in a directory of every box's own, where nothing outside is seen? */
bool rein_viewplan_is_private_(const char *path);

/* ---- what the options say (viewitems.c) ---- */

int rein_viewitems_add_(struct rein_viewplan *p, const char *cwd);
void rein_viewitem_done_(struct rein_viewitem *it);
/* [V1], [V2] among the options; nothing but --hide has added to hidden yet. */
int rein_viewitems_check_(struct rein_viewplan *p);
/* Once the trees are settled: no link in one of them is followed, and files that may be written lie in one. */
int rein_viewitems_trees_(struct rein_viewplan *p);
/* Scratch, read-only, and what no pattern may hide. */
int rein_viewitems_apply_(struct rein_viewplan *p);
/* The most specific option that covers path, or NULL. */
const struct rein_viewitem *rein_viewitems_of_(const struct rein_viewplan *p, const char *path);

/* ---- which trees are copied on write (viewroots.c) ---- */

int rein_viewroots_add_(struct rein_viewplan *p, const struct rein_gitdir *git);
/* Sort, and drop every tree that a wider one holds anyway. */
void rein_viewroots_settle_(struct rein_viewplan *p);
void rein_viewroots_done_(struct rein_cow *c);
/* One more tree, unless it is there. */
int rein_viewroots_cow_(struct rein_viewplan *p, const char *path, bool whole);
bool rein_viewroots_has_(const struct rein_view *v, const char *path);

/* ---- mounts (viewmounts.c) ---- */

/* What --whole-system adds. */
int rein_viewmounts_whole_(struct rein_viewplan *p);
/* Mounts inside the trees. */
int rein_viewmounts_nested_(struct rein_viewplan *p);
/* Is the mount what one finds at its point, or does another one cover it? */
bool rein_viewmounts_visible_(const struct rein_viewplan *p, size_t index);
/* The mount a path lies on. */
const struct rein_mount *rein_viewmounts_of_(const struct rein_viewplan *p, const char *path);
/* "/a" + "/b/c" behind "/b" = "/a/c"; the root of everything adds no slash of its own. */
void rein_viewmounts_rebase_(const char *path, const char *from, const char *to, char *ret,
			     size_t size);
/* Is there a rule for a directory around path already? Clones are recursive. */
bool rein_viewmounts_kept_(const struct rein_view *v, const char *path);

/* ---- what is hidden (viewhide.c) ---- */

int rein_viewhide_state_(struct rein_viewplan *p);
int rein_viewhide_aliases_(struct rein_viewplan *p);
int rein_viewhide_all_(struct rein_viewplan *p);

#endif
