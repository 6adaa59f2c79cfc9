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
 * Files of our own that their mode keeps from us: a process of our own (never somebody's who uses
 * the library) may enter a user namespace in which only its own ids are mapped. It then reads and
 * changes its own files whatever their mode says and gains nothing over anybody else's; ids of
 * others can no longer be given. Hence only after a plain attempt was denied: true means "now try
 * again".
 */
void rein_may_master_own_files(void); /* this process is ours */
bool rein_master_own_files(int denied_errno);
/* The namespace itself, for a process that was made for it. False: not to be had. */
bool rein_own_files_ns(void);

#endif
