/* SPDX-License-Identifier: Apache-2.0 */
/* rein metrics: what the record says, as Prometheus text on standard output. */
#include <stdio.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "record/count.h"
#include "record/report.h"
#include "record/tail.h"

static int write_metrics(const char *state, struct rein_stats *s, struct rein_buf *b,
			 struct rein_err *err)
{
	struct rein_err broken = {0};
	struct rein_verify_result v;
	uint64_t segments = 0, bytes = 0;

	if (rein_record_count(state, REIN_COUNT_SINCE, NULL, s, &v, &broken, err) < 0 ||
	    rein_record_size(state, &segments, &bytes, err) < 0)
		return -err->code;
	rein_metrics_write(s, broken.code ? NULL : &v, segments, bytes, b);
	return b->failed ? rein_err_nomem(err) : 0;
}

int rein_cli_metrics(int argc, char **argv)
{
	auto_free char *state = rein_cli_state_dir();
	struct rein_stats *s = rein_alloc(sizeof(*s));
	auto_buf struct rein_buf b = REIN_BUF(8 << 20);
	struct rein_err err = {0};
	int rc;

	if (argc > 1 && (rein_streq(argv[1], "--help") || rein_streq(argv[1], "-h"))) {
		printf("rein metrics: what the record says, as Prometheus text\n");
		rein_free(s);
		return 0;
	}
	if (argc > 1)
		rc = rein_err_set(&err, REIN_E_USAGE, "metrics takes no arguments");
	else if (!state || !s)
		rc = rein_err_nomem(&err);
	else
		rc = write_metrics(state, s, &b, &err);
	if (s)
		rein_stats_done(s);
	rein_free(s);
	if (rc < 0)
		return rein_fail(&err, false);
	return fwrite(b.p, 1, b.n, stdout) == b.n && fflush(stdout) == 0 ? 0 : 125;
}
