/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boxes live: STATE/live, one file a box, named by its transaction.
 *
 * [V1] The file appears whole and locked, and is locked for as long as its rein lives: an unlocked one
 *      belongs to a dead rein, whose box died with it, and is removed by whoever sees it.
 * [V2] A pid read from an entry is used only through a descriptor of the process, looked at again
 *      after it was opened.
 */
#ifndef REIN_SANDBOX_LIVE_H
#define REIN_SANDBOX_LIVE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/strlist.h"
#include "model/box.h"

struct rein_live {
	char *id;
	pid_t rein, box; /* the supervisor, pid 1 of the box: as seen outside */
	uint64_t begun_ns;
	char *agent, *task, *level, *net, *workspace, *command, *group;
	char *backend; /* that built it; "": the built-in one */
	int group_version; /* of the control group whose freezer directory `group` is; 0: none */
	struct rein_strlist labels;
};

struct rein_live_list {
	struct rein_live *v;
	size_t n, cap;
};

void rein_live_done(struct rein_live *l);
void rein_live_list_done(struct rein_live_list *l);
/* *ret_lock: keep it open while the box lives. */
int rein_live_enter(int state_fd, const struct rein_live *l, int *ret_lock, struct rein_err *err);
void rein_live_leave(int state_fd, const char *id, int lock);
/* Those that live, oldest first. */
int rein_live_list(int state_fd, struct rein_live_list *ret, struct rein_err *err);
/* One by its id or a unique beginning of it. */
int rein_live_find(int state_fd, const char *name, struct rein_live *ret, struct rein_err *err);
/* A descriptor of pid 1 of the box, certainly of it; -1: it is gone. */
int rein_live_pidfd(const struct rein_live *l);
/* Whoever is the parent of a process now; -1: it is gone. */
pid_t rein_live_parent_of(pid_t pid);

/* Tell its supervisor to look at its orders now. */
void rein_live_poke(const struct rein_live *l);

/*
 * A place among at most n boxes at once, counted over crashes by locks. wait_ns: how long to queue;
 * 0: not at all. *ret_lock is the place.
 */
int rein_live_place(int state_fd, unsigned n, uint64_t wait_ns, int *ret_lock, struct rein_err *err);

#endif
