/* SPDX-License-Identifier: Apache-2.0 */
/* What a failure to build a box means on this machine, and what helps. All return the error. */
#ifndef REIN_SANDBOX_EXPLAIN_H
#define REIN_SANDBOX_EXPLAIN_H

#include "base/err.h"
#include "sandbox/plan.h"

/* The namespaces could not be made. flags are the plan's. */
int rein_explain_clone(int sys, uint32_t flags, struct rein_err *err);
/* The executor could not be executed. */
int rein_explain_exec(int sys, const char *program, uint32_t flags, struct rein_err *err);
/* The executor stopped at a step. */
int rein_explain_step(const struct rein_box_note *note, const struct rein_plan *plan,
		      struct rein_err *err);
/* The command itself could not be executed, where we stand and in the box. */
int rein_explain_command(int sys, const char *command, struct rein_err *err);

#endif
