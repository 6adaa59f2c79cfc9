/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: what agents did, what was refused, who approved, what was undone, and the statement that
 * the record it comes from is whole. HTML is one file without scripts and without anything from
 * elsewhere; charts are SVG in it.
 */
#ifndef REIN_RECORD_REPORT_H
#define REIN_RECORD_REPORT_H

#include <rein/record.h>

#include "base/buf.h"
#include "record/stats.h"

struct rein_report {
	const struct rein_stats *stats;
	const struct rein_verify_result *verify;
	const char *broken; /* NULL, or what verification found */
	uint64_t since_ns, until_ns, made_ns;
	const char *host, *user;
};

/* "html", "md" or "json"; false when there is no such format. */
bool rein_report_write(const struct rein_report *r, const char *format, struct rein_buf *b);
/* Prometheus text exposition. */
void rein_metrics_write(const struct rein_stats *s, const struct rein_verify_result *log,
			uint64_t segments, uint64_t bytes, struct rein_buf *b);

#endif
