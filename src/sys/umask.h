/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mask for the modes of new files belongs to who calls us, and to the command. What Rein makes for itself its
 * owner must be able to use, whatever that mask says.
 */
#ifndef REIN_SYS_UMASK_H
#define REIN_SYS_UMASK_H

#include <sys/types.h>

/* For a program, once, before it makes anything: keep the mask, and go on with one that leaves the owner's bits. */
void rein_umask_keep(void);
/* The caller's: what was kept, else that of the process. */
mode_t rein_umask(void);

#endif
