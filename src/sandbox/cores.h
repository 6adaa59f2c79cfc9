/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a crash leaves. Where the kernel is told to hand cores to a program (core(5)), that is one of the host's, root's,
 * outside of every namespace: a command that crashes in a box would start it, and say what it reads and stores, beyond the
 * transaction and its limits. Such a box has no cores. Where they are files, they are the box's. (Linux 6.16 can send them
 * to a socket, too, and knows no limit at which it does not: SECURITY.md.)
 */
#ifndef REIN_SANDBOX_CORES_H
#define REIN_SANDBOX_CORES_H

#include <stdbool.h>

bool rein_cores_start_program(void);

#endif
