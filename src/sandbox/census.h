/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at every process of a box from outside, through the box's own /proc, which shows nobody else.
 * A look is a moment's picture: processes come and go meanwhile.
 */
#ifndef REIN_SANDBOX_CENSUS_H
#define REIN_SANDBOX_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rein_census {
	uint64_t processes, threads; /* without pid 1, which is Rein's */
	uint64_t stopped;	     /* processes that are stopped or dead */
	uint64_t waiting;	     /* that wait in the kernel and take no signal meanwhile */
	uint64_t cpu_ns;	     /* of those there, and of all they waited for */
	uint64_t rss;		     /* bytes; shared pages count once a process */
	uint64_t read_bytes, written_bytes;
};

/* The box's /proc as a directory; -1 also while it has none of its own. pid: its pid 1, as seen here. */
int rein_census_open(pid_t pid);
/* False if the box is gone. */
bool rein_census_take(int proc, struct rein_census *ret);
/* A thread, and how often it has given its processor away: who is stopped does not, so two looks tell what was between. */
struct rein_stance {
	pid_t tid; /* as the box sees it */
	bool stopped;
	uint64_t switches;
	unsigned changes; /* looks at which it had more than before, though it was stopped */
};
struct rein_stances {
	struct rein_stance *v; /* by tid */
	size_t n, cap;
	bool lost; /* no memory for all of them: nothing can be said */
};
/*
 * Does every thread but pid 1's stand still: stopped, dead, or waiting in the kernel and stopped right after? *ret, how
 * each does, is the caller's (rein_stances_done).
 */
bool rein_census_is_still(int proc, struct rein_stances *ret);
/*
 * Between two looks at a box that was to stand still: somebody who was stopped ran, or somebody is new. grace: so many
 * changes of each count for nothing. Who was seen on its last steps to a stop, which some kernels interrupt, has one.
 */
bool rein_stances_moved(const struct rein_stances *was, struct rein_stances *is, unsigned grace);
void rein_stances_done(struct rein_stances *s);
/* Processes and threads alone, without pid 1: several times as fast. */
uint64_t rein_census_threads(int proc);
struct rein_process {
	pid_t pid, parent; /* as the box sees them */
	char state;
	uint64_t cpu_ns, rss, threads;
	const char *command; /* its words, joined by spaces; escaped for a terminal by whoever prints it */
};
/* Every process but pid 1, by pid. False if the box is gone. */
bool rein_census_each(int proc, void (*fn)(void *arg, const struct rein_process *p), void *arg);
/* Memory with shared pages divided by their users: exact, and dear. 0: cannot be read. */
uint64_t rein_census_pss(int proc);
/* What the box's private file system (/tmp and the like) holds, in bytes. */
uint64_t rein_census_tmpfs(pid_t pid);

#endif
