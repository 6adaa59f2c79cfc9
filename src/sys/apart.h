/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where what we start runs. The scheduler likes to put a new process or thread where its parent
 * runs, and there it waits until we block, more than a millisecond later, though another processor
 * is idle. Whoever is there and may not stay is moved at once; then it may go anywhere again. With
 * one processor nothing happens.
 */
#ifndef REIN_SYS_APART_H
#define REIN_SYS_APART_H

#include <pthread.h>
#include <sys/types.h>

void rein_set_apart(pid_t pid);
void rein_set_thread_apart(pthread_t thread); /* not joined yet */

#endif
