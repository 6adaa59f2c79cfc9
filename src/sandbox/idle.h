/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The idle timeout: the executor tells, again and again, how much its processes have computed and written; launch.h
 * says what idle means.
 */
#ifndef REIN_SANDBOX_IDLE_H
#define REIN_SANDBOX_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/plan.h"

struct rein_idle {
	uint64_t since_ns;	  /* little happened since then, */
	uint64_t cpu_ns, written; /* when the counters stood there */
};

/* How often the executor has to look. */
uint32_t rein_idle_interval_ms(uint64_t limit_ns);
/* True: it was idle for so long. */
bool rein_idle_sample(struct rein_idle *i, uint64_t limit_ns, const struct rein_box_note *note);

#endif
