/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box executed: judged while it runs, kept with its transaction, read back. A program the policy
 * denies by its real words is refused (EACCES) wherever it is started from; everything else goes on.
 */
#ifndef REIN_ENGINE_EXECS_H
#define REIN_ENGINE_EXECS_H

#include "engine/judge.h"
#include "model/execs.h"
#include "policy/policy.h"

#define REIN_EXEC_CACHE 256

struct rein_watcher;

struct rein_exec_judge_state {
	const struct rein_policy *policy;
	const struct rein_who *who;
	const char *cwd, *workspace;
	bool offline; /* as of rein_action */
	struct rein_watcher *watcher; /* told of what is refused */
	struct rein_judgement judgement;
	struct { /* make runs the same compiler a thousand times */
		uint64_t key;
		int level;
		bool known, refused;
	} cache[REIN_EXEC_CACHE];
};

/* A rein_exec_judge; arg: struct rein_exec_judge_state. */
bool rein_engine_judge_exec(void *arg, struct rein_exec *x);
void rein_exec_judge_done(struct rein_exec_judge_state *s);

/* Keep it with a transaction; nothing is written for an empty list. */
int rein_engine_save_execs(const struct rein_tx *t, const struct rein_execs *e, struct rein_err *err);
/* None: success with an empty list. */
int rein_engine_load_execs(const struct rein_tx *t, struct rein_execs *ret, struct rein_err *err);

#endif
