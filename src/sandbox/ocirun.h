/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run by an OCI runtime, between the files that do it: oci.c (the order of the steps, and the box while it
 * lives), ocistart.c (the process that becomes the runtime), ociend.c (what its end means).
 */
#ifndef REIN_SANDBOX_OCIRUN_H
#define REIN_SANDBOX_OCIRUN_H

#include <limits.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/console.h"
#include "sandbox/door.h"
#include "sandbox/holder.h"
#include "sandbox/idle.h"
#include "sandbox/inlet.h"
#include "sandbox/keep.h"
#include "sandbox/net/start.h"
#include "sandbox/ocibundle.h"
#include "sandbox/outlet.h"
#include "sandbox/runtime.h"
#include "sandbox/still.h"
#include "sandbox/supervise.h"

struct rein_ocirun {
	const struct rein_runtime *backend;
	const struct rein_box_spec *spec;
	struct rein_bundle bundle;
	struct rein_plan *plan;
	struct rein_keeper keeper;
	struct rein_outlet outlet;
	struct rein_outlet said; /* by the runtime itself, where the command's streams go round it */
	struct rein_inlet inlet;
	struct rein_gate gate;
	struct rein_holder holder; /* of the network, where the runtime's kernel is its own */
	struct rein_supervisor supervisor;
	struct rein_door door;
	struct rein_console console; /* where our executor is inside; else streams are pipes */
	const char *id;
	char pid_file[PATH_MAX];
	struct rein_runtime_root root;
	pid_t pid;
	int pidfd, signals;
	int init; /* the container's first process; -1: the runtime has not told yet */
	int control, theirs; /* to the executor inside; -1: there is none */
	int memory;	     /* its plan */
	struct rein_box_note end;
	int status;
	uint64_t started_ns, deadline_ns, paused_ns;
	uint64_t ended_by_us_ns; /* when a terminating signal was first passed on */
	struct rein_idle idle;
	bool slept; /* for as long as it may be idle */
	enum rein_box_end why;
	bool killed; /* by us; why says for what */
	bool paused, listed, ready;
	bool unfrozen; /* paused, but not by its freezer */
	struct rein_still still;
	bool signalled; /* the runtime itself: it may not have got as far as to pass it on */
};

/* ---- its start (ocistart.c) ---- */

/* Where our executor is inside: all it will ask for is in its socket before it is there. */
int rein_ocirun_prepare_(struct rein_ocirun *s, struct rein_err *err);
/* Its standard input, output and error. With a kernel of its own, nothing of the caller's: see inlet.h. */
int rein_ocirun_open_streams_(struct rein_ocirun *s, struct rein_err *err);
/* The runtime runs when this returns; where pidfd is -1 on failure, nothing was started. */
int rein_ocirun_start_(struct rein_ocirun *s, struct rein_err *err);

/* ---- its end (ociend.c) ---- */

/* Whatever the runtime left of itself, also after a kill: it may need a moment to see that all are dead. */
void rein_ocirun_clear_away_(struct rein_ocirun *s);
/* Did it get as far as the command? Then how that ended, else an error. */
int rein_ocirun_conclude_(struct rein_ocirun *s, const struct rusage *ru, struct rein_box_result *ret,
			  struct rein_err *err);

#endif
