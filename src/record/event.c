/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events to lines and back. One table says every member: its name, where it lives and how it is
 * written; formatting, parsing and walking all read the table, so they cannot disagree.
 */
#include "record/event.h"

#include <stddef.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "record/jread.h"

#define NODES 256 /* more than the largest event needs */

const char *rein_event_type_name(enum rein_event_type t)
{
	return (unsigned)t < REIN_EV__MAX ? rein_event_types[t] : "";
}

enum rein_event_type rein_event_type_of(struct rein_str name)
{
	for (int i = 1; i < REIN_EV__MAX; i++)
		if (rein_str_eq(name, rein_str(rein_event_types[i])))
			return (enum rein_event_type)i;
	return REIN_EV_NONE;
}

enum kind {
	K_TYPE,
	K_TIME,
	K_TEXT, /* walked: may hold anything a person or an agent wrote */
	K_WORD, /* [A-Za-z0-9._:+@/-]*: identifiers and the product's words; walked too */
	K_U64,
	K_STATUS,
	K_LIST, /* of texts; count follows at .count */
	K_PAIRS,
};

#define AT(m) offsetof(struct rein_event, m)

static const char in_effects[] = "effects", in_used[] = "used"; /* compared by address */

static const struct field {
	const char *group, *key;
	enum kind kind;
	size_t at, count;
} fields[] = {
	{NULL, "type", K_TYPE, AT(type), 0},
	{NULL, "time", K_TIME, AT(time_ns), 0},
	{NULL, "mono", K_U64, AT(mono_ns), 0},
	{NULL, "id", K_WORD, AT(id), 0},
	{NULL, "action", K_WORD, AT(action), 0},
	{NULL, "prev", K_WORD, AT(prev), 0},
	{NULL, "host", K_TEXT, AT(host), 0},
	{NULL, "user", K_TEXT, AT(user), 0},
	{NULL, "uid", K_U64, AT(uid), 0},
	{NULL, "pid", K_U64, AT(pid), 0},
	{NULL, "agent", K_TEXT, AT(agent), 0},
	{NULL, "session", K_TEXT, AT(session), 0},
	{NULL, "task", K_TEXT, AT(task), 0},
	{NULL, "kind", K_WORD, AT(kind), 0},
	{NULL, "command", K_TEXT, AT(command), 0},
	{NULL, "cwd", K_TEXT, AT(cwd), 0},
	{NULL, "digest", K_WORD, AT(digest), 0},
	{NULL, "level", K_WORD, AT(level), 0},
	{NULL, "reach", K_WORD, AT(reach), 0},
	{NULL, "decision", K_WORD, AT(decision), 0},
	{NULL, "rule", K_TEXT, AT(rule), 0},
	{NULL, "reason", K_TEXT, AT(reason), 0},
	{NULL, "approvers", K_LIST, AT(approver), AT(napprover)},
	{NULL, "txn", K_WORD, AT(txn), 0},
	{in_effects, "created", K_U64, AT(effects.created), 0},
	{in_effects, "modified", K_U64, AT(effects.modified), 0},
	{in_effects, "deleted", K_U64, AT(effects.deleted), 0},
	{in_effects, "renamed", K_U64, AT(effects.renamed), 0},
	{in_effects, "bytes", K_U64, AT(effects.bytes), 0},
	{in_effects, "lines_added", K_U64, AT(effects.lines_added), 0},
	{in_effects, "lines_removed", K_U64, AT(effects.lines_removed), 0},
	{in_effects, "paths", K_LIST, AT(effects.path), AT(effects.npath)},
	{in_effects, "paths_total", K_U64, AT(effects.paths_total), 0},
	{in_effects, "peers", K_LIST, AT(effects.peer), AT(effects.npeer)},
	{in_used, "wall", K_U64, AT(used.wall_ns), 0},
	{in_used, "cpu", K_U64, AT(used.cpu_ns), 0},
	{in_used, "max_rss_kib", K_U64, AT(used.max_rss_kib), 0},
	{in_used, "written", K_U64, AT(used.written), 0},
	{in_used, "net_in", K_U64, AT(used.net_in), 0},
	{in_used, "net_out", K_U64, AT(used.net_out), 0},
	{NULL, "result", K_WORD, AT(result), 0},
	{NULL, "status", K_STATUS, AT(status), 0},
	{NULL, "duration", K_U64, AT(duration_ns), 0},
	{NULL, "detail", K_TEXT, AT(detail), 0},
	{NULL, "excerpt", K_TEXT, AT(excerpt), 0},
	{NULL, "extra", K_PAIRS, AT(extra), AT(nextra)},
};

static void *at(const struct rein_event *ev, size_t off)
{
	return (char *)(uintptr_t)ev + off;
}

/* Days since 1970-01-01 of a proleptic Gregorian date, and back: no locale, no time zone data. */
static int64_t days_from(int64_t y, unsigned m, unsigned d)
{
	int64_t era;
	unsigned yoe, doy, doe;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = (unsigned)(y - era * 400);
	doy = (153 * (m + (m > 2 ? -3u : 9u)) + 2) / 5 + d - 1;
	doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
	return era * 146097 + (int64_t)doe - 719468;
}

static void put(char *p, unsigned width, uint64_t v)
{
	while (width--) {
		p[width] = (char)('0' + v % 10);
		v /= 10;
	}
}

void rein_event_time(uint64_t ns, char out[REIN_EVENT_TIME_LEN + 1])
{
	uint64_t s = ns / REIN_NS_PER_S, days = s / 86400 + 719468, rest = s % 86400;
	uint64_t era = days / 146097, doe = days % 146097;
	uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	uint64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
	uint64_t y = yoe + era * 400 + (m <= 2);

	memcpy(out, "0000-00-00T00:00:00.000000000Z", REIN_EVENT_TIME_LEN + 1);
	put(out, 4, y);
	put(out + 5, 2, m);
	put(out + 8, 2, d);
	put(out + 11, 2, rest / 3600);
	put(out + 14, 2, rest / 60 % 60);
	put(out + 17, 2, rest % 60);
	put(out + 20, 9, ns % REIN_NS_PER_S);
}

bool rein_event_time_parse(struct rein_str s, uint64_t *ret_ns)
{
	static const char shape[] = "0000-00-00T00:00:00.000000000Z";
	uint64_t v[7] = {0};
	unsigned k = 0;
	char back[REIN_EVENT_TIME_LEN + 1];
	int64_t days;

	if (s.n != REIN_EVENT_TIME_LEN)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (shape[i] == '0' && s.p[i] >= '0' && s.p[i] <= '9')
			v[k] = v[k] * 10 + (uint64_t)(s.p[i] - '0');
		else if (shape[i] == '0' || s.p[i] != shape[i])
			return false;
		else
			k++;
	}
	if (v[0] < 1970 || v[0] > 2500 || v[1] < 1 || v[1] > 12)
		return false;
	days = days_from((int64_t)v[0], (unsigned)v[1], (unsigned)v[2]);
	*ret_ns = ((uint64_t)days * 86400 + v[3] * 3600 + v[4] * 60 + v[5]) * REIN_NS_PER_S + v[6];
	rein_event_time(*ret_ns, back);
	return memcmp(back, s.p, s.n) == 0; /* refuses 31 June, 25:00 and leap seconds */
}

void rein_event_id(uint64_t time_ns, uint32_t random, char out[REIN_EVENT_ID_LEN + 1])
{
	static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned __int128 v = (unsigned __int128)(time_ns / 1000000) << 32 | random;

	for (int i = REIN_EVENT_ID_LEN - 1; i >= 0; i--) {
		out[i] = alphabet[(unsigned)v & 31];
		v >>= 5;
	}
	out[REIN_EVENT_ID_LEN] = '\0';
}

static bool word_ok(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c && strchr("._:+@/-", c))))
			return false;
	}
	return s.n <= 256;
}

static bool key_ok(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') ||
		      (s.p[i] && strchr("._-", s.p[i]))))
			return false;
	return s.n > 0 && s.n <= 64;
}

static bool is_empty(const struct rein_event *ev, const struct field *f)
{
	switch (f->kind) {
	case K_TYPE:
	case K_TIME:
		return false;
	case K_TEXT:
	case K_WORD:
		return ((struct rein_str *)at(ev, f->at))->n == 0;
	case K_U64:
		return *(uint64_t *)at(ev, f->at) == 0;
	case K_STATUS:
		return !ev->has_status;
	case K_LIST:
	case K_PAIRS:
		break;
	}
	return *(size_t *)at(ev, f->count) == 0;
}

static int write_pairs(const struct rein_event *ev, struct rein_json *j, struct rein_err *err)
{
	if (ev->nextra > REIN_EVENT_LIST)
		return rein_err_set(err, REIN_E_INVALID, "event has %zu extra members", ev->nextra);
	rein_json_open(j, '{');
	for (size_t i = 0; i < ev->nextra; i++) {
		char key[65] = "";

		if (!key_ok(ev->extra[i].key))
			return rein_err_set(err, REIN_E_INVALID, "event member name is malformed");
		for (size_t k = 0; k < i; k++)
			if (rein_str_eq(ev->extra[k].key, ev->extra[i].key))
				return rein_err_set(err, REIN_E_INVALID, "event member twice");
		memcpy(key, ev->extra[i].key.p, ev->extra[i].key.n);
		rein_json_key(j, key);
		rein_json_str(j, ev->extra[i].value);
	}
	rein_json_close(j, '}');
	return 0;
}

static int write_field(const struct rein_event *ev, const struct field *f, struct rein_json *j,
		       struct rein_err *err)
{
	const struct rein_str *s = at(ev, f->at);
	char time[REIN_EVENT_TIME_LEN + 1];

	rein_json_key(j, f->key);
	switch (f->kind) {
	case K_TYPE:
		if (ev->type <= REIN_EV_NONE || ev->type >= REIN_EV__MAX)
			return rein_err_set(err, REIN_E_INVALID, "event without a type");
		rein_json_cstr(j, rein_event_types[ev->type]);
		break;
	case K_TIME:
		rein_event_time(ev->time_ns, time);
		rein_json_cstr(j, time);
		break;
	case K_WORD:
		if (!word_ok(*s))
			return rein_err_set(err, REIN_E_INVALID, "event field '%s' is not a word",
					    f->key);
		rein_json_str(j, *s);
		break;
	case K_TEXT:
		rein_json_str(j, *s);
		break;
	case K_U64:
		rein_json_u64(j, *(uint64_t *)at(ev, f->at));
		break;
	case K_STATUS:
		rein_json_i64(j, ev->status);
		break;
	case K_LIST:
		if (*(size_t *)at(ev, f->count) > REIN_EVENT_LIST)
			return rein_err_set(err, REIN_E_INVALID, "event list '%s' is too long",
					    f->key);
		rein_json_open(j, '[');
		for (size_t i = 0; i < *(size_t *)at(ev, f->count); i++)
			rein_json_str(j, s[i]);
		rein_json_close(j, ']');
		break;
	case K_PAIRS:
		return write_pairs(ev, j, err);
	}
	return 0;
}

int rein_event_format(const struct rein_event *ev, struct rein_buf *b, struct rein_err *err)
{
	struct rein_json j = {.b = b};
	const char *group = NULL;
	size_t start = b->n;

	rein_json_open(&j, '{');
	rein_json_ku64(&j, "v", REIN_EVENT_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];

		if (is_empty(ev, f))
			continue;
		if (group && group != f->group)
			rein_json_close(&j, '}');
		if (f->group && group != f->group) {
			rein_json_key(&j, f->group);
			rein_json_open(&j, '{');
		}
		group = f->group;
		if (write_field(ev, f, &j, err) < 0)
			return -err->code;
	}
	if (group)
		rein_json_close(&j, '}');
	rein_json_close(&j, '}');
	if (b->failed || b->n - start > REIN_EVENT_LINE_MAX)
		return rein_err_set(err, REIN_E_LIMIT, "event over %u bytes", REIN_EVENT_LINE_MAX);
	return 0;
}

static int each_pair(struct rein_event *ev, rein_event_text_fn *fn, void *arg)
{
	int rc = 0;

	for (size_t k = 0; k < ev->nextra && k < REIN_EVENT_LIST && rc == 0; k++)
		rc = fn(arg, REIN_TEXT_ITEM, &ev->extra[k].value);
	return rc;
}

int rein_event_each_text(struct rein_event *ev, rein_event_text_fn *fn, void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields) && rc == 0; i++) {
		const struct field *f = &fields[i];
		struct rein_str *s = at(ev, f->at);

		if (f->kind == K_PAIRS)
			rc = each_pair(ev, fn, arg);
		else if (f->kind == K_WORD)
			rc = fn(arg, REIN_TEXT_WORD, s);
		else if (f->kind == K_TEXT)
			rc = fn(arg, s == &ev->command || s == &ev->excerpt ? REIN_TEXT_LONG
									    : REIN_TEXT_LINE, s);
		else if (f->kind == K_LIST)
			for (size_t k = 0, n = *(size_t *)at(ev, f->count);
			     k < n && k < REIN_EVENT_LIST && rc == 0; k++)
				rc = fn(arg, REIN_TEXT_ITEM, &s[k]);
	}
	return rc;
}

static bool read_pairs(struct rein_event_read *r, unsigned n)
{
	struct rein_event *ev = &r->ev;

	if (r->node[n].type != REIN_J_OBJECT)
		return false;
	for (unsigned i = r->node[n].child; i; i = r->node[i].next) {
		if (ev->nextra == REIN_EVENT_LIST || !key_ok(r->node[i].key))
			return false;
		ev->extra[ev->nextra].key = r->node[i].key;
		if (!rein_jread_text(&r->node[i], &r->arena, &ev->extra[ev->nextra++].value))
			return false;
	}
	return ev->nextra > 0;
}

static bool read_list(struct rein_event_read *r, const struct field *f, unsigned n)
{
	struct rein_str *s = at(&r->ev, f->at);
	size_t *count = at(&r->ev, f->count);

	if (r->node[n].type != REIN_J_ARRAY)
		return false;
	for (unsigned i = r->node[n].child; i; i = r->node[i].next) {
		if (*count == REIN_EVENT_LIST)
			return false;
		if (!rein_jread_text(&r->node[i], &r->arena, &s[(*count)++]))
			return false;
	}
	return *count > 0;
}

static bool read_field(struct rein_event_read *r, const struct field *f, unsigned n)
{
	const struct rein_jnode *node = &r->node[n];
	struct rein_event *ev = &r->ev;
	struct rein_str s;
	uint64_t *u = at(ev, f->at);

	switch (f->kind) {
	case K_TYPE:
		if (!rein_jread_text(node, &r->arena, &s))
			return false;
		ev->type = rein_event_type_of(s);
		return ev->type != REIN_EV_NONE;
	case K_TIME:
		return rein_jread_text(node, &r->arena, &s) && rein_event_time_parse(s, u);
	case K_TEXT:
		return rein_jread_text(node, &r->arena, at(ev, f->at)) && !is_empty(ev, f);
	case K_WORD:
		return rein_jread_text(node, &r->arena, at(ev, f->at)) && !is_empty(ev, f) &&
		       word_ok(*(struct rein_str *)at(ev, f->at));
	case K_U64:
		return rein_jread_u64(node, u) && *u != 0;
	case K_STATUS:
		ev->has_status = true;
		return rein_jread_i64(node, &ev->status);
	case K_LIST:
		return read_list(r, f, n);
	case K_PAIRS:
		break;
	}
	return read_pairs(r, n);
}

/* Members must come in the table's order: one walk over both. */
static bool read_members(struct rein_event_read *r, unsigned first, const char *group, size_t *fi)
{
	for (unsigned i = first; i; i = r->node[i].next) {
		struct rein_str key = r->node[i].key;
		bool found = false;

		for (; *fi < ARRAY_SIZE(fields) && !found; (*fi)++) {
			const struct field *f = &fields[*fi];

			if (f->group != group && !(f->group && !group))
				return false;
			if (f->group != group) {
				if (!rein_str_eq(key, rein_str(f->group)))
					continue;
				if (r->node[i].type != REIN_J_OBJECT || !r->node[i].child ||
				    !read_members(r, r->node[i].child, f->group, fi))
					return false;
				while (*fi < ARRAY_SIZE(fields) && fields[*fi].group == f->group)
					(*fi)++;
				found = true;
				break;
			}
			if (!rein_str_eq(key, rein_str(f->key)))
				continue;
			if (!read_field(r, f, i))
				return false;
			found = true;
		}
		if (!found)
			return false;
	}
	return true;
}

void rein_event_read_done(struct rein_event_read *r)
{
	rein_buf_done(&r->arena);
	rein_free(r->node);
	r->node = NULL;
}

static int parse(struct rein_str line, struct rein_event_read *r, struct rein_err *err)
{
	auto_buf struct rein_buf back = REIN_BUF(REIN_EVENT_LINE_MAX + 8);
	unsigned v;
	uint64_t version;
	size_t fi = 0;

	if (line.n > REIN_EVENT_LINE_MAX)
		return rein_err_set(err, REIN_E_LIMIT, "event over %u bytes", REIN_EVENT_LINE_MAX);
	r->node = rein_calloc(NODES, sizeof(*r->node));
	r->arena = (struct rein_buf){.p = rein_alloc(line.n + 1), .cap = line.n + 1, .max = line.n};
	if (!r->node || !r->arena.p)
		return rein_err_nomem(err);
	if (rein_jread(line, r->node, NODES, err) < 0)
		return -err->code;
	v = r->node[0].type == REIN_J_OBJECT ? r->node[0].child : 0;
	if (!v || !rein_str_eq(r->node[v].key, STR("v")) || !rein_jread_u64(&r->node[v], &version))
		return rein_err_set(err, REIN_E_INVALID, "not an event: no schema version");
	if (version != REIN_EVENT_VERSION)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "event of schema version %llu; this Rein reads version %d",
				    (unsigned long long)version, REIN_EVENT_VERSION);
	if (!read_members(r, r->node[v].next, NULL, &fi) || r->ev.type == REIN_EV_NONE)
		return rein_err_set(err, REIN_E_INVALID, "not an event of schema version 1");
	if (rein_event_format(&r->ev, &back, err) < 0)
		return -err->code;
	if (back.n != line.n || memcmp(back.p, line.p, line.n) != 0)
		return rein_err_set(err, REIN_E_INVALID, "event line is not in canonical form");
	return 0;
}

int rein_event_parse(struct rein_str line, struct rein_event_read *ret, struct rein_err *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = parse(line, ret, err);
	if (rc < 0)
		rein_event_read_done(ret);
	return rc;
}
