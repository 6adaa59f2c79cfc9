/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at a process that waits for an answer: its memory, and what its paths mean inside its
 * box. With the rights of the thread that asks.
 */
#ifndef REIN_SANDBOX_CALLER_H
#define REIN_SANDBOX_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A string of the caller's, page by page: the next page may not exist. */
bool rein_caller_string(pid_t pid, uint64_t at, char *to, size_t max);
bool rein_caller_bytes(pid_t pid, uint64_t at, void *to, size_t n);
/* O_PATH of a descriptor of the caller's (number >= 0), or of its "cwd" or "root". */
int rein_caller_open(pid_t pid, const char *what, int number);
/* The same file on the same mount? */
bool rein_caller_same(int a, int b);
/*
 * Where a relative path starts (AT_FDCWD or a descriptor), as a path from the box's root: the kernel
 * names it, and it counts only if that name leads back to the same place.
 */
bool rein_caller_base(pid_t pid, int box_root, int dirfd, char *to, size_t size);

#endif
