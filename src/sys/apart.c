/* SPDX-License-Identifier: Apache-2.0 */
/* See apart.h. */
#include "sys/apart.h"

#include <sched.h>
#include <stdbool.h>

/* The processors we may use, and those of them that are not this one. */
static bool find_others(cpu_set_t *all, cpu_set_t *others)
{
	int here = sched_getcpu();

	if (here < 0 || sched_getaffinity(0, sizeof(*all), all) < 0)
		return false;
	*others = *all;
	CPU_CLR(here, others);
	return CPU_COUNT(others) > 0;
}

void rein_set_apart(pid_t pid)
{
	cpu_set_t all, others;

	if (find_others(&all, &others) && sched_setaffinity(pid, sizeof(others), &others) == 0)
		sched_setaffinity(pid, sizeof(all), &all);
}

void rein_set_thread_apart(pthread_t thread)
{
	cpu_set_t all, others;

	if (find_others(&all, &others) && pthread_setaffinity_np(thread, sizeof(others), &others) == 0)
		pthread_setaffinity_np(thread, sizeof(all), &all);
}
