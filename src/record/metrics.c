/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text: counters over the whole record that is kept, histograms of latencies. */
#include "base/auto.h"
#include "record/event.h"
#include "record/report.h"

static void label(struct rein_buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			rein_buf_char(b, '\\');
		rein_buf_char(b, (unsigned char)*s < 0x20 ? ' ' : *s);
	}
}

static void head(struct rein_buf *b, const char *name, const char *type, const char *help)
{
	rein_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct rein_buf *b, const char *name, const char *type, const char *help, uint64_t v)
{
	head(b, name, type, help);
	rein_buf_printf(b, "%s %llu\n", name, (unsigned long long)v);
}

static void tally(struct rein_buf *b, const char *name, const char *key, const char *help,
		  const struct rein_tally *t)
{
	head(b, name, "counter", help);
	for (unsigned i = 0; i < t->n; i++) {
		rein_buf_printf(b, "%s{%s=\"", name, key);
		label(b, t->v[i].name);
		rein_buf_printf(b, "\"} %llu\n", (unsigned long long)t->v[i].n);
	}
	if (t->other)
		rein_buf_printf(b, "%s{%s=\"(others)\"} %llu\n", name, key,
				(unsigned long long)t->other);
}

static void decisions(struct rein_buf *b, const struct rein_tally *t)
{
	head(b, "rein_decisions_total", "counter", "Decisions by level and answer.");
	for (unsigned i = 0; i < t->n; i++) {
		const char *space = strchr(t->v[i].name, ' ');

		rein_buf_printf(b, "rein_decisions_total{level=\"%.*s\",decision=\"",
				(int)(space - t->v[i].name), t->v[i].name);
		label(b, space + 1);
		rein_buf_printf(b, "\"} %llu\n", (unsigned long long)t->v[i].n);
	}
}

static void histogram(struct rein_buf *b, const char *name, const char *help,
		      const struct rein_histogram *h)
{
	uint64_t sum = 0;

	head(b, name, "histogram", help);
	for (unsigned i = 0; i < REIN_STATS_BUCKETS - 1; i++) {
		sum += h->bucket[i];
		rein_buf_printf(b, "%s_bucket{le=\"%g\"} %llu\n", name, rein_stats_bounds[i],
				(unsigned long long)sum);
	}
	rein_buf_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", name,
			(unsigned long long)h->n, name, h->sum_s, name, (unsigned long long)h->n);
}

void rein_metrics_write(const struct rein_stats *s, const struct rein_verify_result *log,
			uint64_t segments, uint64_t bytes, struct rein_buf *b)
{
	head(b, "rein_events_total", "counter", "Events in the record by type.");
	for (int t = 1; t < REIN_EV__MAX; t++)
		rein_buf_printf(b, "rein_events_total{type=\"%s\"} %llu\n",
				rein_event_type_name((enum rein_event_type)t),
				(unsigned long long)s->type[t]);
	decisions(b, &s->level_decision);
	tally(b, "rein_runs_total", "result", "Runs by result.", &s->result);
	tally(b, "rein_actions_by_agent_total", "agent", "Actions requested by agent.", &s->agent);
	tally(b, "rein_violations_total", "rule", "Violations and limits hit, by rule.",
	      &s->violation);
	one(b, "rein_actions_total", "counter", "Actions.", s->actions);
	one(b, "rein_actions_refused_total", "counter", "Actions refused.", s->refused);
	one(b, "rein_actions_held_total", "counter", "Actions held for review.", s->held);
	one(b, "rein_undo_total", "counter", "Undone transactions.", s->type[REIN_EV_UNDO]);
	one(b, "rein_commits_total", "counter", "Committed transactions.", s->type[REIN_EV_COMMIT]);
	one(b, "rein_files_created_total", "counter", "Files created by commits.", s->created);
	one(b, "rein_files_modified_total", "counter", "Files modified by commits.", s->modified);
	one(b, "rein_files_deleted_total", "counter", "Files deleted by commits.", s->deleted);
	one(b, "rein_bytes_committed_total", "counter", "Bytes in committed files.", s->bytes);
	one(b, "rein_network_in_bytes_total", "counter", "Bytes received by boxes.", s->net_in);
	one(b, "rein_network_out_bytes_total", "counter", "Bytes sent by boxes.", s->net_out);
	histogram(b, "rein_run_duration_seconds", "How long runs took.", &s->run);
	histogram(b, "rein_decision_duration_seconds", "How long decisions took.", &s->decide);
	one(b, "rein_record_segments", "gauge", "Segments of the record on disk.", segments);
	one(b, "rein_record_bytes", "gauge", "Bytes of the record on disk.", bytes);
	if (log) {
		one(b, "rein_record_lines", "gauge", "Lines covered by the last signed head.",
		    log->head.n);
		one(b, "rein_record_uncovered_lines", "gauge", "Lines not yet under a signed head.",
		    log->tail);
		one(b, "rein_record_head_time_seconds", "gauge", "When the last head was signed.",
		    log->head.time_ns / 1000000000);
	}
	one(b, "rein_record_whole", "gauge", "1 when the record was verified and is whole.", log != NULL);
	one(b, "rein_record_repairs_total", "counter", "Times a torn tail was repaired.",
	    s->type[REIN_EV_REPAIR]);
}
