/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path globs: '*' and '?' stop at '/', '**' does not, '[a-z]' and '[!a-z]' as in the shell.
 * A pattern without '/' matches the last component at any depth, as in .gitignore; "./a" only at the top. Linear in
 * pattern times text at worst; no recursion on input length.
 */
#ifndef REIN_BASE_GLOB_H
#define REIN_BASE_GLOB_H

#include <stdbool.h>

/* path is relative, without a leading "./". */
bool rein_glob_match(const char *pattern, const char *path);
/* One component against one pattern component (no '/' in either). */
bool rein_glob_name(const char *pattern, const char *name);
bool rein_glob_is_literal(const char *pattern);

#endif
