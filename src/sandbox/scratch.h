/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches: writable in the box, kept from run to run for each workspace under STATE/scratch, never
 * committed, and empty at first. Several boxes of one workspace may use them at once, as several
 * programs use a cache. A package store, whose content cannot be fetched again without a network,
 * is left readable (and read-only) when there is none.
 */
#ifndef REIN_SANDBOX_SCRATCH_H
#define REIN_SANDBOX_SCRATCH_H

#include "sandbox/view.h"

/* Add the default caches of opts->home to v: rules where the real directory exists, else env. */
int rein_scratch_defaults(const struct rein_view_opts *opts, struct rein_view *v,
			  struct rein_err *err);
/* One directory, asked for by option or table. path resolved. */
int rein_scratch_add(const struct rein_view_opts *opts, struct rein_view *v, const char *path,
		     struct rein_err *err);

#endif
