/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each execve of a box, as the kernel is about to do it: the supervisor's thread is asked, looks at the
 * caller's memory, takes note and lets it go on. What was looked at can be changed by another thread of
 * the caller before the kernel looks: this is for knowing and for refusing what is done in good faith;
 * the walls of the box never depend on it.
 */
#ifndef REIN_SANDBOX_WATCHEXEC_H
#define REIN_SANDBOX_WATCHEXEC_H

#include <linux/seccomp.h>
#include <stdbool.h>

#include "model/box.h"
#include "model/execs.h"

struct rein_watchexec {
	bool on;
	struct rein_execs seen;
	uint64_t begun_ns;
	rein_exec_judge judge; /* may be NULL */
	void *judge_arg;
};

/* Is it one of ours to look at? */
bool rein_watchexec_is(const struct seccomp_data *data);
/* 1: go on, or a negative errno. Never blocks; what cannot be read is noted as far as it can be. */
int rein_watchexec_note(struct rein_watchexec *w, const struct seccomp_notif *n, int box_root);

#endif
