/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and usage as people and programs read them. */
#include "base/auto.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "model/limits.h"

/* The name as JSON members have it. */
static const char *member(enum rein_limit what)
{
	switch (what) {
	case REIN_LIMIT_CPU_TIME:
		return "cpu_time";
	case REIN_LIMIT_OPEN_FILES:
		return "open_files";
	default:
		return rein_limit_name(what);
	}
}

/* Times in milliseconds, as everywhere. */
static uint64_t value(enum rein_limit what, uint64_t v)
{
	return rein_limit_unit(what) == REIN_UNIT_NS ? v / 1000000 : v;
}

void rein_json_limits(struct rein_json *j, const struct rein_box_result *r)
{
	const struct {
		const char *name;
		uint64_t v;
	} usage[] = {
		{"memory_peak", r->usage.memory_peak},
		{"memory_average", r->usage.memory_average},
		{"processes_peak", r->usage.processes_peak},
		{"cpu_peak_percent", r->usage.cpu_peak_percent},
		{"read_bytes", r->usage.read_bytes},
		{"written_bytes", r->usage.written_bytes},
		{"disk_bytes", r->usage.disk_bytes},
		{"output_bytes", r->usage.output_bytes},
		{"samples", r->usage.samples},
	};

	rein_json_key(j, "limit");
	if (r->end == REIN_BOX_LIMIT) {
		rein_json_open(j, '{');
		rein_json_kstr(j, "name", member(r->hit.what));
		rein_json_ku64(j, "used", value(r->hit.what, r->hit.used));
		rein_json_ku64(j, "limit", value(r->hit.what, r->hit.limit));
		rein_json_kstr(j, "kept_by", rein_limit_by_name(r->kept_by[r->hit.what]));
		rein_json_close(j, '}');
	} else {
		rein_json_null(j);
	}
	rein_json_key(j, "limits");
	rein_json_open(j, '[');
	for (enum rein_limit i = 1; i < REIN_LIMIT__MAX; i++) {
		if (!r->limits.v[i] || r->limits.v[i] == REIN_LIMIT_OFF)
			continue;
		rein_json_open(j, '{');
		rein_json_kstr(j, "name", member(i));
		rein_json_ku64(j, "limit", value(i, r->limits.v[i]));
		rein_json_kstr(j, "kept_by", rein_limit_by_name(r->kept_by[i]));
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
	rein_json_key(j, "usage");
	rein_json_open(j, '{');
	for (size_t i = 0; i < ARRAY_SIZE(usage); i++)
		rein_json_ku64(j, usage[i].name, usage[i].v);
	rein_json_close(j, '}');
}

void rein_print_hit(const struct rein_box_result *r)
{
	rein_more("kept by: %s     %s: --limit %s=VALUE, or --limit %s=none",
		  rein_limit_by_name(r->kept_by[r->hit.what]), r->hit.what == REIN_LIMIT_FREE ? "less" : "more",
		  rein_limit_name(r->hit.what), rein_limit_name(r->hit.what));
}

void rein_print_kept(const struct rein_box_result *r)
{
	for (enum rein_limit i = 1; i < REIN_LIMIT__MAX; i++) {
		char text[48];

		if (!r->limits.v[i] || r->limits.v[i] == REIN_LIMIT_OFF)
			continue;
		rein_limit_format(i, r->limits.v[i], text, sizeof(text));
		rein_say("limit %s %s, kept by: %s", rein_limit_name(i), text,
			 rein_limit_by_name(r->kept_by[i]));
	}
}
