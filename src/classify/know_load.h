/* SPDX-License-Identifier: Apache-2.0 */
/* Reading knowledge files, at build time by the generator and at run time for a user's own. */
#ifndef REIN_CLASSIFY_KNOW_LOAD_H
#define REIN_CLASSIFY_KNOW_LOAD_H

#include "base/err.h"
#include "classify/arena.h"
#include "classify/know.h"

/* Growing tables; a->fail must be armed. Entries of a later file come after those of an earlier. */
struct know_tables {
	struct arena *a;
	struct know_cmd *cmds;
	size_t n_cmds, cap_cmds;
	struct know_path *paths;
	size_t n_paths, cap_paths;
	struct know_env *envs;
	size_t n_envs, cap_envs;
	struct know_verb *verbs;
	size_t n_verbs, cap_verbs;
	struct know_example *examples;
	size_t n_examples, cap_examples;
};

int know_load(struct know_tables *t, const char *path, const char *text, size_t n,
	      struct rein_err *err);
/* Sort what is looked up by name; refuses a name that occurs twice. */
int know_finish(struct know_tables *t, struct know *ret, struct rein_err *err);

#endif
