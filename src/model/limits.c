/* SPDX-License-Identifier: Apache-2.0 */
/* The names and units of the limits; how they are written and read. */
#include "model/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/str.h"

static const struct {
	const char *name;
	enum rein_limit_unit unit;
} rows[] = {
	[REIN_LIMIT_NONE] = {"none", REIN_UNIT_COUNT},
	[REIN_LIMIT_MEMORY] = {"memory", REIN_UNIT_BYTES},
	[REIN_LIMIT_CPU] = {"cpu", REIN_UNIT_PERCENT},
	[REIN_LIMIT_CPU_TIME] = {"cpu-time", REIN_UNIT_NS},
	[REIN_LIMIT_PROCESSES] = {"processes", REIN_UNIT_COUNT},
	[REIN_LIMIT_DISK] = {"disk", REIN_UNIT_BYTES},
	[REIN_LIMIT_FILE] = {"file", REIN_UNIT_BYTES},
	[REIN_LIMIT_OPEN_FILES] = {"open-files", REIN_UNIT_COUNT},
	[REIN_LIMIT_TIME] = {"time", REIN_UNIT_NS},
	[REIN_LIMIT_IDLE] = {"idle", REIN_UNIT_NS},
	[REIN_LIMIT_OUTPUT] = {"output", REIN_UNIT_BYTES},
	[REIN_LIMIT_FREE] = {"free", REIN_UNIT_BYTES},
};
static_assert(ARRAY_SIZE(rows) == REIN_LIMIT__MAX, "a row for every limit");

static const char *const by_names[] = {
	[REIN_BY_NOBODY] = "nobody",	 [REIN_BY_CGROUP2] = "cgroup v2",
	[REIN_BY_CGROUP1] = "cgroup v1", [REIN_BY_RLIMIT] = "rlimit",
	[REIN_BY_WATCHING] = "watching", [REIN_BY_PRIORITY] = "priority",
	[REIN_BY_CLOCK] = "clock",
};
static_assert(ARRAY_SIZE(by_names) == REIN_BY__MAX, "a name for everybody");

const char *rein_limit_name(enum rein_limit what)
{
	return rows[what].name;
}

enum rein_limit_unit rein_limit_unit(enum rein_limit what)
{
	return rows[what].unit;
}

const char *rein_limit_by_name(enum rein_limit_by by)
{
	return by_names[by];
}

static bool parse_value(enum rein_limit_unit unit, char *text, uint64_t *ret)
{
	size_t n = strlen(text);

	switch (unit) {
	case REIN_UNIT_BYTES:
		return rein_parse_size(text, ret);
	case REIN_UNIT_NS:
		return rein_parse_duration(text, ret);
	case REIN_UNIT_PERCENT:
		if (n && text[n - 1] == '%')
			text[n - 1] = '\0';
		return rein_parse_u64(text, 100000, ret);
	case REIN_UNIT_COUNT:
		return rein_parse_u64(text, 1u << 30, ret);
	}
	return false;
}

static int parse_one(struct rein_limits *l, char *word, struct rein_err *err)
{
	char *equals = strchr(word, '=');

	for (size_t i = 1; equals && i < REIN_LIMIT__MAX; i++) {
		size_t n = strlen(rows[i].name);

		if ((size_t)(equals - word) != n || memcmp(word, rows[i].name, n) != 0)
			continue;
		if (rein_streq(equals + 1, "none") || (i == REIN_LIMIT_FREE && rein_streq(equals + 1, "0")))
			l->v[i] = REIN_LIMIT_OFF;
		else if (!parse_value(rows[i].unit, equals + 1, &l->v[i]) || !l->v[i])
			return rein_err_set(err, REIN_E_USAGE,
					    "'%s' is no value for the limit %s (as in memory=512M, time=5m, "
					    "cpu=150, processes=64; none takes it back)",
					    equals + 1, rows[i].name);
		else if (i == REIN_LIMIT_FREE && l->v[i] == REIN_LIMIT_OFF)
			l->v[i]--; /* all of it is not none */
		return 0;
	}
	return rein_err_set(err, REIN_E_USAGE,
			    "'%s' is no limit: NAME=VALUE with memory, cpu, cpu-time, processes, disk, "
			    "file, open-files, time, idle, output or free",
			    word);
}

int rein_limits_parse(struct rein_limits *l, const char *text, struct rein_err *err)
{
	auto_free char *copy = rein_strdup(text);
	char *at = copy;

	if (!copy)
		return rein_err_nomem(err);
	for (;;) {
		size_t n = strcspn(at, ",");
		bool last = !at[n];

		at[n] = '\0';
		if (parse_one(l, at, err) < 0)
			return -err->code;
		if (last)
			return 0;
		at += n + 1;
	}
}

static void format_bytes(uint64_t v, char *to, size_t size)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double scaled = (double)v;
	size_t unit = 0;

	for (; scaled >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
		scaled /= 1024;
	if (!unit || scaled == (double)(uint64_t)scaled)
		snprintf(to, size, "%.0f %s", scaled, units[unit]);
	else
		snprintf(to, size, "%.1f %s", scaled, units[unit]);
}

static void format_ns(uint64_t v, char *to, size_t size)
{
	uint64_t ms = v / 1000000;

	if (ms % 1000)
		snprintf(to, size, "%.3g s", (double)ms / 1000);
	else if (ms % 60000 || !ms)
		snprintf(to, size, "%" PRIu64 " s", ms / 1000);
	else
		snprintf(to, size, "%" PRIu64 " min", ms / 60000);
}

void rein_limit_format(enum rein_limit what, uint64_t value, char *to, size_t size)
{
	switch (rows[what].unit) {
	case REIN_UNIT_BYTES:
		format_bytes(value, to, size);
		break;
	case REIN_UNIT_NS:
		format_ns(value, to, size);
		break;
	case REIN_UNIT_PERCENT:
		snprintf(to, size, "%" PRIu64 " %%", value);
		break;
	case REIN_UNIT_COUNT:
		snprintf(to, size, "%" PRIu64, value);
		break;
	}
}

void rein_limit_hit_text(const struct rein_limit_hit *hit, char *to, size_t size)
{
	char used[48], limit[48];

	rein_limit_format(hit->what, hit->used, used, sizeof(used));
	rein_limit_format(hit->what, hit->limit, limit, sizeof(limit));
	if (hit->what == REIN_LIMIT_FREE)
		snprintf(to, size, "the disk is nearly full (%s left, %s are to stay free)", used, limit);
	else
		snprintf(to, size, "%s limit reached: %s of %s", rows[hit->what].name, used, limit);
}

struct rein_limits rein_limits_over(const struct rein_limits *asked, const struct rein_limits *profile)
{
	struct rein_limits l = *profile;

	for (size_t i = 1; i < REIN_LIMIT__MAX; i++)
		if (asked->v[i])
			l.v[i] = asked->v[i] == REIN_LIMIT_OFF && i != REIN_LIMIT_FREE ? 0 : asked->v[i];
	return l;
}

bool rein_limits_any(const struct rein_limits *l)
{
	for (size_t i = 1; i < REIN_LIMIT__MAX; i++)
		if (l->v[i] && i != REIN_LIMIT_TIME && i != REIN_LIMIT_IDLE && i != REIN_LIMIT_FREE)
			return true;
	return false;
}
