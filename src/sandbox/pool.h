/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes made ahead, for a process that lives long and runs many commands: executors whose namespaces,
 * /proc, /sys and /dev are there, and who wait for a plan.
 *
 * [P1] A box is given only if a new one would not be different: what a process is born with is what it was
 *      (situation.h), and no mount was made, taken away or changed since before it was started.
 * [P2] One that is not given is not missed: the caller starts another, and that one's errors are told.
 * [P3] A fork's child has nothing of it.
 *
 * Any thread may use it.
 */
#ifndef REIN_SANDBOX_POOL_H
#define REIN_SANDBOX_POOL_H

#include "base/err.h"
#include "model/box.h"

struct rein_box;
struct rein_pool;

#define REIN_POOL_MAX 64

/* n: so many are kept. box_program as for rein_box_open. */
int rein_pool_new(unsigned n, const char *box_program, struct rein_pool **ret, struct rein_err *err);
/* A box for this network, the caller's from now on; NULL: none fits. p may be NULL. */
struct rein_box *rein_pool_take(struct rein_pool *p, enum rein_net net);
/* A command has ended: there is time to make what is missing. p may be NULL. */
void rein_pool_fill(struct rein_pool *p);
/* So many are there now; so many were given so far. */
unsigned rein_pool_ready(struct rein_pool *p);
uint64_t rein_pool_given(struct rein_pool *p);
/* Nothing of them is left. NULL is fine. */
void rein_pool_free(struct rein_pool *p);

#endif
