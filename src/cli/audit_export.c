/* SPDX-License-Identifier: Apache-2.0 */
/* rein audit export, report: the record for other programs and for people who ask. */
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "model/event.h"
#include "record/count.h"
#include "record/event.h"
#include "record/export.h"
#include "record/prune.h"
#include "record/report.h"
#include "record/tail.h"

struct exporting {
	struct rein_audit *a;
	const struct rein_export *format;
	FILE *out;
	struct rein_buf b;
};

static int on_export(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct exporting *e = arg;
	struct rein_event_read r;
	struct rein_err ignored = {0};

	if (rein_event_parse(l->text, &r, &ignored) < 0)
		return 0;
	rein_buf_clear(&e->b);
	if (rein_filter_match(&e->a->filter, &r.ev))
		e->format->event(&e->b, l->index, l->text, &r.ev);
	rein_event_read_done(&r);
	if (e->b.failed)
		return rein_err_nomem(err);
	if (e->b.n && fwrite(e->b.p, 1, e->b.n, e->out) != e->b.n)
		return rein_err_errno(err, "write the export");
	return 0;
}

static FILE *open_output(struct rein_audit *a)
{
	int fd;

	if (!a->output || rein_streq(a->output, "-"))
		return stdout;
	fd = open(a->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		rein_err_errno(&a->err, "open '%s'", a->output);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static int close_output(struct rein_audit *a, FILE *f)
{
	bool bad = fflush(f) != 0 || ferror(f);

	if (f != stdout)
		bad |= fclose(f) != 0;
	return bad ? rein_err_errno(&a->err, "write '%s'", a->output ? a->output : "output") : 0;
}

/* Who took what out of the record is part of it. */
static int record_export(struct rein_audit *a, struct rein_record *r, const char *format,
			 const char *to)
{
	struct rein_event ev = {.type = REIN_EV_EXPORT};

	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("format"), rein_str(format)};
	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("to"), rein_str(to)};
	return rein_record_append(r, &ev, true, &a->err);
}

int rein_audit_export(struct rein_audit *a)
{
	struct exporting e = {.a = a, .b = REIN_BUF(1 << 20)};
	const char *name = a->format ? a->format : "jsonl";
	struct rein_record *r = NULL;
	int rc = rein_audit_open(a, &r);

	if (rc)
		return rc;
	if (a->archive) {
		rc = record_export(a, r, "archive", a->archive);
		if (rc == 0)
			rc = rein_record_archive(r, a->archive, a->filter.since_ns,
						 a->filter.until_ns, &a->err);
		rein_record_close(r);
		if (rc < 0)
			return rein_audit_fail(a);
		if (!a->json && !a->quiet) {
			rein_say("archived in %s", rein_ui_path(a->archive));
			rein_more("check it anywhere: rein audit verify --archive %s", rein_ui_path(a->archive));
		}
		return rein_audit_done(a, "export");
	}
	e.format = rein_export_format(name);
	if (!e.format) {
		rein_record_close(r);
		return rein_audit_usage(a, "formats are", rein_export_names);
	}
	e.out = open_output(a);
	rc = e.out ? record_export(a, r, name, a->output ? a->output : "-") : -1;
	if (rc == 0 && e.format->begin) {
		e.format->begin(&e.b);
		fwrite(e.b.p, 1, e.b.n, e.out);
	}
	if (rc == 0)
		rc = rein_record_lines(a->state, on_export, &e, &a->err);
	if (e.out && close_output(a, e.out) < 0)
		rc = -1;
	rein_buf_done(&e.b);
	rein_record_close(r);
	return rc < 0 ? rein_audit_fail(a) : 0;
}

int rein_audit_report(struct rein_audit *a)
{
	auto_buf struct rein_buf b = REIN_BUF(64 << 20);
	struct rein_stats *s = rein_alloc(sizeof(*s));
	struct rein_verify_result v;
	struct rein_report rep = {.verify = &v, .made_ns = rein_now_ns()};
	struct rein_err why = {0};
	char host[65] = "";
	FILE *f = NULL;
	int rc;

	if (!s)
		return rein_err_nomem(&a->err), rein_audit_fail(a);
	rc = rein_record_count(a->state, REIN_COUNT_ALL, &a->filter, s, &v, &why, &a->err);
	if (rc == 0 && why.code && why.code != REIN_E_INVALID) {
		a->err = why;
		rc = -why.code;
	}
	if (rc < 0)
		goto out;
	rep.broken = why.code ? why.msg : NULL;
	gethostname(host, sizeof(host) - 1);
	rep.stats = s;
	rep.host = host;
	rep.since_ns = a->filter.since_ns;
	rep.until_ns = a->filter.until_ns;
	if (!rein_report_write(&rep, a->format ? a->format : a->json ? "json" : "md", &b)) {
		rc = rein_err_set(&a->err, REIN_E_USAGE, "report formats are html, md and json");
		goto out;
	}
	if (b.failed) {
		rc = rein_err_nomem(&a->err);
		goto out;
	}
	f = open_output(a);
	rc = f ? 0 : -1;
	if (f) {
		fwrite(b.p, 1, b.n, f);
		rc = close_output(a, f); /* that it was not written is remembered */
	}
out:
	rein_stats_done(s);
	rein_free(s);
	return rc < 0 ? rein_audit_fail(a) : 0;
}
