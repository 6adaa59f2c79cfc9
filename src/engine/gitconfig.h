/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a git configuration, or an attributes file, name programs that git will start by itself? An
 * ordinary change of it (a remote, a branch, a user name) does not. Pure.
 */
#ifndef REIN_ENGINE_GITCONFIG_H
#define REIN_ENGINE_GITCONFIG_H

#include <stdbool.h>

#include "base/str.h"

/* In a line of `after` that `before` does not have. What cannot be read as configuration counts. */
bool rein_gitconfig_adds_programs(struct rein_str after, struct rein_str before);
/* Every file it includes, as it is written there, never empty. Ends with fn's first negative value, and returns it. */
int rein_gitconfig_includes(struct rein_str text, int (*fn)(void *arg, struct rein_str path), void *arg);
/* The same of every directory that it names for hooks. */
int rein_gitconfig_hooks(struct rein_str text, int (*fn)(void *arg, struct rein_str path), void *arg);

#endif
