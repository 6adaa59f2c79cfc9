/* SPDX-License-Identifier: Apache-2.0 */
/* rein metrics: what the record says, as Prometheus text on standard output. */
#include <stdio.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "record/event.h"
#include "record/report.h"
#include "record/tail.h"

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct rein_event_read r;
	struct rein_err ignored = {0};
	int rc;

	if (rein_event_parse(l->text, &r, &ignored) < 0)
		return 0;
	rc = rein_stats_add(arg, &r.ev, err);
	rein_event_read_done(&r);
	return rc;
}

static int write_metrics(const char *state, struct rein_stats *s, struct rein_buf *b,
			 struct rein_err *err)
{
	struct rein_err broken = {0};
	struct rein_verify_result v;
	uint64_t segments = 0, bytes = 0;
	bool whole;

	if (rein_record_lines(state, on_line, s, err) < 0 ||
	    rein_record_size(state, &segments, &bytes, err) < 0)
		return -err->code;
	rein_stats_finish(s);
	whole = rein_record_verify(state, &(struct rein_verify_options){.incremental = true}, &v,
				   &broken) == 0;
	rein_metrics_write(s, whole ? &v : NULL, segments, bytes, b);
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
