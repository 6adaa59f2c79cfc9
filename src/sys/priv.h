/* SPDX-License-Identifier: Apache-2.0 */
/* How much this process may do. */
#ifndef REIN_SYS_PRIV_H
#define REIN_SYS_PRIV_H

#include <stdbool.h>

/*
 * Root of the machine: uid 0, CAP_SYS_ADMIN, and not merely inside a user namespace (a rootless
 * container), where overlay's trusted attributes and an identity mapping are not to be had.
 */
bool rein_is_root(void);

/*
 * Enter a user namespace with only our own ids mapped. The process then reads and changes its own
 * files whatever their mode says, and gains nothing over anybody else's. Cannot be taken back; a
 * process with several threads, or a machine that forbids it, stays as it is.
 */
void rein_master_own_files(void);

#endif
