/* SPDX-License-Identifier: Apache-2.0 */
/* Which system call belongs to which class of trace.h. */
#ifndef REIN_CRASH_CALLS_H
#define REIN_CRASH_CALLS_H

#include <stdint.h>

/* name is NULL for a call of no class. */
struct call_info {
	const char *name;
	unsigned classes;
};

struct call_info call_classify(uint64_t nr, const uint64_t *args);

#endif
