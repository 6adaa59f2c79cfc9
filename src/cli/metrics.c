/* SPDX-License-Identifier: Apache-2.0 */
/* rein metrics: what the record says, as Prometheus text on standard output. */
#include <stdio.h>

#include <rein/record.h>

#include "base/auto.h"
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
	struct rein_common common = {0};
	auto_free char *state = NULL;
	struct rein_stats *s;
	auto_buf struct rein_buf b = REIN_BUF(8 << 20);
	struct rein_err err = {0};
	int first, status, rc;

	if (rein_verb_begin("metrics", argc, argv, NULL, &common, &first, NULL, &status))
		return status;
	s = rein_alloc(sizeof(*s));
	if (!s)
		rc = rein_err_nomem(&err);
	else if ((rc = rein_state_path(&state, &err)) == 0)
		rc = write_metrics(state, s, &b, &err);
	if (s)
		rein_stats_done(s);
	rein_free(s);
	if (rc < 0)
		return rein_fail(&err, common.json);
	fwrite(b.p, 1, b.n, stdout);
	return 0;
}
