/* SPDX-License-Identifier: Apache-2.0 */
/* Time as nanoseconds. Pure code takes it as a parameter; only edges call these. */
#ifndef REIN_BASE_CLOCK_H
#define REIN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define REIN_NS_PER_S 1000000000ull

static inline uint64_t rein_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * REIN_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t rein_now_ns(void)
{
	return rein_clock_ns(CLOCK_REALTIME);
}

static inline uint64_t rein_mono_ns(void)
{
	return rein_clock_ns(CLOCK_MONOTONIC);
}

/* So much later; for what is too long to be told, a time that never comes and to which more can be added. */
static inline uint64_t rein_ns_after(uint64_t t, uint64_t ns)
{
	return ns > INT64_MAX || t > INT64_MAX - ns ? INT64_MAX : t + ns;
}

#endif
