/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining names and moving directories without root takes rights over the owner's files whatever
 * their modes say: rename(2) asks for none over what is inside the directory it moves, and a name to be
 * joined may lie where its owner cannot enter. Those rights exist in a user namespace of one's own,
 * which a thread cannot enter; so a process does the work, asked each time.
 *
 * [K1] It has rights over the owner's files and nobody else's, and dies with the thread that asks.
 */
#ifndef REIN_SANDBOX_LINKKEEPER_H
#define REIN_SANDBOX_LINKKEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "model/linked.h"
#include "model/root.h"

struct rein_linkkeeper {
	pid_t pid; /* 0: not started */
	int sock;
};

/*
 * Must be called, and the keeper used, in one and the same thread. *stop is in shared memory: moves
 * under way end when it becomes true. False: it could not be started.
 */
bool rein_linkkeeper_start(struct rein_linkkeeper *k, const struct rein_root *roots, size_t n,
			   int box_root, const atomic_bool *stop);
/* As rein_linkgroups_hold; returns when it is done. */
void rein_linkkeeper_hold(struct rein_linkkeeper *k, int fd);
/* As rein_move_dir, joining the names of the files that are moved. */
int rein_linkkeeper_move(struct rein_linkkeeper *k, int from, const char *name, int to,
			 const char *target, unsigned flags);
/* What it found; it is gone then. */
void rein_linkkeeper_end(struct rein_linkkeeper *k, struct rein_linked_list *ret);

#endif
