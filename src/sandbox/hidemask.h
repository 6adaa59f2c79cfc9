/* SPDX-License-Identifier: Apache-2.0 */
/* Building, refreshing and locking a mask: [M1] to [M4] of sandbox/hide.h. */
#ifndef REIN_SANDBOX_HIDEMASK_H
#define REIN_SANDBOX_HIDEMASK_H

#include "sandbox/hide.h"

/* paths relative to real, sorted, not empty. *ret_lock is an open descriptor that keeps it. */
int rein_hidemask_get(const struct rein_hide_opts *opts, const char *real, int root_fd,
		      const struct rein_strlist *paths, char **ret_mask, int *ret_lock,
		      struct rein_err *err);
/* Remove a mask that is not kept (it lies in memory), unless another box uses it. */
void rein_hidemask_release(const char *mask, int lock);

#endif
