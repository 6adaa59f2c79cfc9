/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box may use, what it used, and which limit it ran into. Filled by the command line and the
 * policy, kept by the sandbox, told to people. One table (limits.c) names them all.
 */
#ifndef REIN_MODEL_LIMITS_H
#define REIN_MODEL_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rein_limit {
	REIN_LIMIT_NONE = 0,
	REIN_LIMIT_MEMORY,     /* bytes, of all its processes together */
	REIN_LIMIT_CPU,	       /* percent of one processor; slows down, is never "hit" */
	REIN_LIMIT_CPU_TIME,   /* ns, of all its processes together */
	REIN_LIMIT_PROCESSES,  /* processes and threads at once */
	REIN_LIMIT_DISK,       /* bytes in its private layers and its /tmp */
	REIN_LIMIT_FILE,       /* bytes of any single file */
	REIN_LIMIT_OPEN_FILES, /* a process; it sees EMFILE, which is not a "hit" */
	REIN_LIMIT_TIME,       /* ns */
	REIN_LIMIT_IDLE,       /* ns */
	REIN_LIMIT_OUTPUT,     /* bytes on its standard output and error together */
	REIN_LIMIT_FREE,       /* bytes it leaves free on the disk; 0: REIN_FREE_*, OFF: none */
	REIN_LIMIT__MAX,
};

enum rein_limit_unit { REIN_UNIT_BYTES, REIN_UNIT_NS, REIN_UNIT_PERCENT, REIN_UNIT_COUNT };

/* Who keeps a limit. */
enum rein_limit_by {
	REIN_BY_NOBODY = 0,
	REIN_BY_CGROUP2,
	REIN_BY_CGROUP1,
	REIN_BY_RLIMIT,	  /* the kernel, process by process */
	REIN_BY_WATCHING, /* rein, looking at the box's processes several times a second */
	REIN_BY_PRIORITY, /* fewer processors and a low priority: an approximation */
	REIN_BY_CLOCK,	  /* rein's own timer or counter */
	REIN_BY__MAX,
};

struct rein_limits {
	uint64_t v[REIN_LIMIT__MAX]; /* 0: no limit */
};
#define REIN_LIMIT_OFF UINT64_MAX /* asked for: none, whatever a profile says */

/* What a box leaves free if nobody says otherwise: a part of the filesystem, but no more than so much. */
#define REIN_FREE_PART 50
#define REIN_FREE_MOST (1ull << 30)

struct rein_limit_hit {
	enum rein_limit what; /* NONE: none was hit */
	uint64_t used, limit; /* used: what was seen when it was noticed; of FREE what was left */
};

/* Averages and peaks over the run; what could not be seen is 0. */
struct rein_usage {
	uint64_t memory_peak, memory_average; /* bytes */
	uint64_t processes_peak;
	uint64_t cpu_peak_percent; /* over one interval */
	uint64_t read_bytes, written_bytes; /* through system calls, anywhere */
	uint64_t disk_bytes;		    /* private layers and /tmp, if it was limited */
	uint64_t output_bytes;		    /* if it was limited */
	uint64_t samples;
};

const char *rein_limit_name(enum rein_limit what);
enum rein_limit_unit rein_limit_unit(enum rein_limit what);
const char *rein_limit_by_name(enum rein_limit_by by);
/* "memory=512M,time=5m": sets them; "memory=none" takes one back. */
int rein_limits_parse(struct rein_limits *l, const char *text, struct rein_err *err);
/* "512 MiB", "5m", "150 %", "64" */
void rein_limit_format(enum rein_limit what, uint64_t value, char *to, size_t size);
/* "memory limit: 538.2 MiB of 512 MiB" */
void rein_limit_hit_text(const struct rein_limit_hit *hit, char *to, size_t size);
/* What was asked for, above what a profile says; of `free` also that there is to be none. */
struct rein_limits rein_limits_over(const struct rein_limits *asked, const struct rein_limits *profile);
/* Is there any besides the two times, and the one that every box has? */
bool rein_limits_any(const struct rein_limits *l);

#endif
