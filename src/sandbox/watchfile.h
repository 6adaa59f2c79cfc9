/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files a box will be refused, as it asks for them: writes to places that cannot be written to, and
 * opening what is hidden. The supervisor's thread is asked, looks where the path leads, takes note
 * and lets the call go on: the kernel refuses it by itself. As with executions, what was looked at
 * can be changed by another thread of the caller; this is for knowing, and no wall depends on it.
 *
 * Not seen: a hidden name that is only looked at (stat, access), or reached by another name of it
 * (a symbolic link); what plain permissions refuse; writes through descriptors.
 */
#ifndef REIN_SANDBOX_WATCHFILE_H
#define REIN_SANDBOX_WATCHFILE_H

#include <linux/seccomp.h>
#include <stdbool.h>

#include "model/refused.h"

struct rein_watchfile {
	bool on;
	char *const *hidden; /* absolute paths; NULL: none */
	uint64_t begun_ns;
	struct rein_refused seen;
	uint64_t names[64]; /* which components can begin a hidden name: a filter of 4096 bits */
	bool ready;
};

/* Never blocks; what cannot be read is not noted. */
void rein_watchfile_note(struct rein_watchfile *w, const struct seccomp_notif *n, int box_root);

#endif
