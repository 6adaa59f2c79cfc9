/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a report share. */
#ifndef REIN_RECORD_REPORT_OUT_H
#define REIN_RECORD_REPORT_OUT_H

#include "record/report.h"

struct rein_report_out {
	struct rein_buf *b;
	bool html;
	unsigned columns;
};

/* Text that was not ours, for either face. */
void rein_report_esc(struct rein_report_out *o, const char *s);
/* 1234567 as 1,234,567. */
const char *rein_report_num(uint64_t v, char out[32]);
void rein_report_chart_days(struct rein_report_out *o, const struct rein_stats *s);
void rein_report_chart_bars(struct rein_report_out *o, const struct rein_tally *t, const char *title);

#endif
