/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box sees: which trees are copied on write, what is hidden, read-only or scratch. Decides
 * only; nothing is mounted here, and nothing is written but Rein's own state directory (which is
 * made, together with the scratch directories, so that it can be hidden).
 *
 *	struct rein_view view = {0};
 *
 *	if (rein_view_plan(&opts, &view, &err) < 0) ...
 *	each view.cow[i] becomes a root of the transaction, with a mask made by rein_hide_mask;
 *	view.paths go into the box's specification as they are; view.env into rein_env_make.
 *	rein_view_done(&view);
 *
 * [V1] Of two rules that cover a path the more specific one (the longer path) holds; the same path
 *      under two different options is an error.
 * [V2] Nothing lies inside a hidden or scratch path: asking for it is an error.
 * [V3] A hidden path inside a copy-on-write tree is in that tree's hide list and not in paths;
 *      outside of all of them it is in paths. A symbolic link that is hidden hides its target too.
 * [V4] cow and paths are sorted so that what lies inside follows what it lies in. The mounts
 *      of both together must be made in the order of their paths.
 * [V5] But the home directory: hidden, it is empty, and holds the trees and what options name in it. Once
 *      in a view.
 */
#ifndef REIN_SANDBOX_VIEW_H
#define REIN_SANDBOX_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strlist.h"
#include "model/box.h"
#include "sandbox/mounts.h"

struct rein_view_opts {
	const char *cwd;	/* absolute, as the user wrote it ($PWD); NULL: getcwd() */
	const char *home;	/* NULL or "": no home */
	const char *workspace;	/* --workspace, or NULL */
	const char *state_dir;	/* absolute; made if absent */
	const char *config_dir; /* Rein's configuration, or NULL for ~/.config/rein */
	bool whole_system;
	bool offline; /* no network: package stores stay readable instead of becoming scratch */
	char *const *rw, *const *ro, *const *hide, *const *scratch; /* NULL: none */
	char *const *hide_names; /* globs of one component, hidden wherever they are; NULL: none */
	uid_t uid;     /* effective; 0 hides what only root can read, too */
	bool rootless; /* mounts need a user namespace first (not root, or no CAP_SYS_ADMIN) */
	const char *mountinfo; /* NULL: this process's own */
	/*
	 * Can changes of the tree be kept on its own mount, or why not? Asked of mounts that nobody named, which
	 * are read-only then. What is made to find out goes again. NULL: they can.
	 */
	int (*has_place)(void *arg, const char *path, struct rein_err *err);
	void *has_place_arg;
};

struct rein_cow {
	char *path;		  /* resolved */
	struct rein_strlist hide; /* absolute paths below it, hidden by name */
	struct rein_strlist show; /* absolute paths the user named: no pattern hides them */
	bool whole; /* part of --whole-system: patterns are not looked for in system directories */
	bool found; /* a mount or a subvolume inside another tree: nobody asked for it */
	bool apart; /* a subvolume: no mount tells it from the tree around it */
};

struct rein_view_note {
	bool always; /* show it without -v */
	char *text;  /* ready to print */
};

struct rein_view {
	char *workspace; /* resolved */
	char *cwd;	 /* where the command starts */
	struct rein_cow *cow;
	size_t ncow;
	struct rein_path_rule *paths;
	size_t npaths;
	struct rein_strlist env; /* NAME=VALUE to set where nothing else did */
	struct rein_view_note *notes;
	size_t nnotes;
	struct rein_mounts mounts; /* as they were found */
	bool whole_root; /* "/" itself is one of the trees */
	size_t cow_cap, paths_cap, notes_cap;
};

int rein_view_plan(const struct rein_view_opts *opts, struct rein_view *ret, struct rein_err *err);
void rein_view_done(struct rein_view *v);

/*
 * A path that an option names may lead through no symbolic link in a tree: whoever may change the tree may have put it
 * there, and would say what is shown, written or listened to. path is absolute. ret, of PATH_MAX, may be NULL: where it
 * leads, without any link; empty if nothing is there.
 */
int rein_view_way(const struct rein_view *v, const char *option, const char *path, char *ret, struct rein_err *err);

/* Between the files of this module. */
int rein_view_note_(struct rein_view *v, bool always, const char *fmt, ...) REIN_PRINTF(3, 4);
int rein_view_add_path_(struct rein_view *v, const char *path, const char *source,
			enum rein_access access, bool is_dir);
/* The innermost copy-on-write tree that holds path, or NULL. */
struct rein_cow *rein_view_cow_of_(const struct rein_view *v, const char *path);
/*
 * A mask hides path in its tree: hide it, too, where a mount in a tree that is shown as it is shows it
 * again. -1 when out of memory; paths are no longer sorted.
 */
int rein_view_hide_mounted_(struct rein_view *v, const char *path);

#endif
