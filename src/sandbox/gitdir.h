/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a git work tree keeps its repository, found without running git (whose configuration
 * could run programs). A '.git' file is an agent's to write: a directory outside the work tree is
 * taken for its repository only if that directory points back at this very work tree, which
 * nobody who can write only the work tree can arrange.
 */
#ifndef REIN_SANDBOX_GITDIR_H
#define REIN_SANDBOX_GITDIR_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct rein_gitdir {
	char *root;	 /* the work tree: the directory that holds .git; NULL: not in one */
	char *gitdir;	 /* its repository, resolved, when it lies outside root; else NULL */
	char *commondir; /* what a linked work tree shares, when outside root; else NULL */
	bool unproven;	 /* gitdir lies outside and does not point back: must not be written */
};

/* cwd absolute and resolved. Not being in a work tree is no error. */
int rein_gitdir_find(const char *cwd, struct rein_gitdir *ret, struct rein_err *err);
void rein_gitdir_done(struct rein_gitdir *g);

/* The parsers, pure. "gitdir: PATH\n" */
bool rein_gitdir_parse_link(struct rein_str text, struct rein_str *ret);
/* First line of a file that holds one path (commondir, gitdir). */
bool rein_gitdir_parse_path(struct rein_str text, struct rein_str *ret);
/* core.worktree of a repository's config, unquoted into buf (size bytes, terminated). */
bool rein_gitdir_parse_worktree(struct rein_str text, char *buf, size_t size);

#endif
