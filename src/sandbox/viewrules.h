/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden by default, by name: one table, expanded for this machine. */
#ifndef REIN_SANDBOX_VIEWRULES_H
#define REIN_SANDBOX_VIEWRULES_H

#include "sandbox/view.h"

/*
 * Every path of the table that exists here: in the user's home; as root in every home and in the
 * system's table. Parents are resolved, the last component is not (it may be a symbolic link).
 */
int rein_viewrules_hidden(const struct rein_view_opts *opts, struct rein_strlist *ret,
			  struct rein_err *err);

#endif
