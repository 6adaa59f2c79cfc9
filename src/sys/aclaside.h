/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control lists that name others, for a process that entered a user namespace of its own
 * (sys/priv.h): there foreign ids read as nobody's and cannot be written. A process that stayed
 * outside does both, on a descriptor, with its owner's plain rights; it ends with the one it serves.
 */
#ifndef REIN_SYS_ACLASIDE_H
#define REIN_SYS_ACLASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Before entering. Without it lists are read and written in the namespace. */
void rein_aclaside_start(void);
/* Is it there, and is this attribute its business? */
bool rein_aclaside_for(const char *name);
/* As the l*xattr calls; value NULL asks for the size, or removes. */
ssize_t rein_aclaside_get(const char *path, const char *name, void *value, size_t size);
int rein_aclaside_set(const char *path, const char *name, const void *value, size_t size);
int rein_aclaside_remove(const char *path, const char *name);

#endif
