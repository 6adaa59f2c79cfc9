/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the executor inside its namespaces, without a fork's copying. */
#ifndef REIN_SANDBOX_SPAWN_H
#define REIN_SANDBOX_SPAWN_H

#include <sys/types.h>

#include "base/err.h"
#include "sandbox/plan.h"

struct rein_spawn {
	pid_t pid;
	int pidfd;
	int control; /* our end of the socket */
};

/* Seal the plan, start the program with it. On success the caller owns both descriptors. */
int rein_spawn_box(const struct rein_plan *plan, const char *program, struct rein_spawn *ret,
		   struct rein_err *err);

#endif
