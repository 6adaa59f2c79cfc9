/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the changed files git reads as its configuration: those of a git directory, whatever it is called
 * and wherever it lies (a bare one, one apart from its work tree, a submodule's, a linked work tree's), and
 * what the repository's own configuration includes. A file that is merely called config is somebody else's.
 * The same of hooks, which git starts by themselves.
 */
#ifndef REIN_ENGINE_GITFILES_H
#define REIN_ENGINE_GITFILES_H

#include "base/strlist.h"
#include "txn/content.h"

struct rein_gitfiles {
	const struct rein_content *content;
	struct rein_strlist included; /* by the configurations of the real trees; absolute */
	struct rein_strlist hooks;    /* directories that they name for hooks; absolute */
};

/* content must live as long. */
int rein_gitfiles_open(const struct rein_content *content, struct rein_gitfiles *ret, struct rein_err *err);
void rein_gitfiles_done(struct rein_gitfiles *g);

/* path: of a change in this root. */
bool rein_gitfiles_is_config(const struct rein_gitfiles *g, uint32_t root, const char *path);
/*
 * A hook of a git directory or in a directory that a configuration names for them, or what takes the place of such a
 * directory. Samples are none.
 */
bool rein_gitfiles_is_hook(const struct rein_gitfiles *g, const struct rein_change *x);
/* Beside this configuration, is there a hook that was there before? */
bool rein_gitfiles_has_hooks(const struct rein_gitfiles *g, uint32_t root, const char *config);
/* The file that says where git has the rest of a git directory, its configuration and its hooks among it. */
bool rein_gitfiles_is_commondir(const struct rein_gitfiles *g, const struct rein_change *x);
/* Does such a file, by what it says, lead anywhere but from a linked work tree's directory to the repository it is in? */
bool rein_gitfiles_leads_astray(const struct rein_gitfiles *g, uint32_t root, const char *path, struct rein_str text);
/*
 * Does a new entry make its directory one of git's, so that a configuration which was there before is read from
 * now on? *ret_config is that file's path in the root, the caller's; NULL: it does not.
 */
int rein_gitfiles_completes(const struct rein_gitfiles *g, const struct rein_change *x, char **ret_config,
			    struct rein_err *err);

#endif
