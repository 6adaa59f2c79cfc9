/* SPDX-License-Identifier: Apache-2.0 */
/* See result.h. */
#include "sandbox/result.h"

#include <string.h>

#include "base/clock.h"

void rein_result_usage(struct rein_box_result *r, const struct rusage *ru)
{
	r->cpu_ns = ((uint64_t)ru->ru_utime.tv_sec + (uint64_t)ru->ru_stime.tv_sec) * REIN_NS_PER_S +
		    ((uint64_t)ru->ru_utime.tv_usec + (uint64_t)ru->ru_stime.tv_usec) * 1000ull;
	r->max_rss_kib = (uint64_t)ru->ru_maxrss;
}

void rein_result_take(struct rein_box_result *r, const struct rein_keeper *k, struct rein_supervisor *s,
		      struct rein_gate *g)
{
	r->limits = k->spec->limits;
	r->limits.v[REIN_LIMIT_TIME] = k->spec->timeout_ns;
	r->limits.v[REIN_LIMIT_IDLE] = k->spec->idle_timeout_ns;
	r->hit = k->hit;
	memcpy(r->kept_by, k->by, sizeof(r->kept_by));
	r->usage = k->usage;
	if (k->cpu_ns > r->cpu_ns)
		r->cpu_ns = k->cpu_ns;
	rein_supervisor_take(s, r, &g->report);
	r->net = g->report;
	g->report = (struct rein_net_report){0};
}
