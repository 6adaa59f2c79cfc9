/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the box's rename calls. Whatever the kernel does right by itself is waved on; a directory
 * rename that overlayfs refuses with EXDEV is carried out here. In a tree with hard-linked files the
 * calls that change a file come here too, and are waved on after its names were joined.
 *
 * [S1] Acts only on the box's overlays, reached through the box's own root directory: never on a path
 *      of the host, whatever the box does to its tree meanwhile.
 * [S2] First asks the kernel with the caller's own rights; only its EXDEV, which comes after all
 *      permission checks, leads to more.
 * [S3] A socket that is asked about was refused by the filter: it is noted, and never waved on.
 */
#ifndef REIN_SANDBOX_SUPERVISE_H
#define REIN_SANDBOX_SUPERVISE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/box.h"
#include "model/net.h"
#include "sandbox/watchexec.h"
#include "sandbox/watchfile.h"

#include "sandbox/linkgroup.h"
#include "sandbox/linkkeeper.h"

struct rein_supervisor {
	int listener; /* owned */
	pid_t box;    /* pid 1 of the box, as seen here */
	int box_root; /* its root directory, once there was something to do */
	bool root;    /* we have rights the box has not: lay them down */
	uint64_t all; /* what we have ourselves, for looking at the caller */
	bool itself;  /* the thread's rights are those; false: a caller's, or not known */
	uint64_t caps;
	uint64_t devs[32];
	uint32_t ndevs;
	int bell;	   /* wakes the thread at the end */
	atomic_bool *stop; /* in shared memory, once there is a thread */
	atomic_uint moved;
	bool watch;	 /* there are files with several names */
	bool may_chroot; /* somebody in the box may have another root than the box's */
	const struct rein_root *roots;
	size_t nroots;
	struct rein_linkgroups *groups; /* as root, the thread's until it is joined; else */
	struct rein_linkkeeper keeper;
	struct rein_linked_list linked; /* at the end: what they were */
	struct rein_net_report sockets; /* the thread's too: those that were refused, */
	const struct rein_box_watch *told; /* and who is told of them; or NULL */
	struct rein_watchexec execs; /* the thread's until it is joined, */
	struct rein_watchfile files; /* and this, too */
	bool running;
	pthread_t thread;
};

#define REIN_SUPERVISOR_INIT {.listener = -1, .box_root = -1, .bell = -1}

/* The box is ready; s->box and s->devs are the caller's to fill in. listener: owned from now on, or -1. */
void rein_supervisor_begin(struct rein_supervisor *s, const struct rein_box_spec *spec, int listener, bool root,
			   uint64_t begun_ns);
/* The listener has something: start the thread that answers, or answer once if there can be none. */
void rein_supervisor_wake(struct rein_supervisor *s);
/* The box is dead or about to be: abandon what is under way, wait for the thread. */
void rein_supervisor_end(struct rein_supervisor *s);
/* What was seen goes into the result, which owns it then. */
void rein_supervisor_take(struct rein_supervisor *s, struct rein_box_result *r, struct rein_net_report *net);
void rein_supervisor_done(struct rein_supervisor *s);

#endif
