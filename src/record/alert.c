/* SPDX-License-Identifier: Apache-2.0 */
/* The alert engine: per rule and key one small memory of times, bounded; nothing else. Pure. */
#include "record/alert_memory.h"

#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "record/event.h"
#include "record/filter.h"
#include "record/head.h"
#include "record/shape.h"
#include "record/sha256.h"

int rein_alerts_new(const struct rein_alert_rule *rule, size_t n, struct rein_alerts **ret,
		    struct rein_err *err)
{
	struct rein_alerts *a;

	for (size_t i = 0; i < n; i++) {
		const struct rein_alert_rule *r = &rule[i];

		if (r->kind == REIN_ALERT_RATE &&
		    (r->count == 0 || r->count > REIN_ALERT_COUNT_MAX || !r->window_ns))
			return rein_err_set(
				err, REIN_E_INVALID,
				"alert '%s': a rate needs a count of 1 to %d and a window", r->name,
				REIN_ALERT_COUNT_MAX);
		if (r->kind == REIN_ALERT_NONE ||
		    (r->kind == REIN_ALERT_SEQUENCE && !r->window_ns) ||
		    (r->kind == REIN_ALERT_THRESHOLD) != (r->field >= REIN_ALERT_OF_DELETED))
			return rein_err_set(err, REIN_E_INVALID, "alert '%s' is incomplete",
					    r->name);
	}
	a = rein_alloc(sizeof(*a));
	if (!a)
		return rein_err_nomem(err);
	a->rule = rule;
	a->nrule = n;
	*ret = a;
	return 0;
}

void rein_alerts_free(struct rein_alerts *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->cap; i++)
		rein_free(a->m[i].time);
	rein_free(a->m);
	rein_free(a);
}

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 1099511628211ull;
	return h;
}

static struct rein_alert_memory *slot(struct rein_alert_memory *m, size_t cap, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (m[i].hash && m[i].hash != hash)
		i = (i + 1) & (cap - 1);
	return &m[i];
}

static int by_use(const void *a, const void *b)
{
	const struct rein_alert_memory *x = a, *y = b;

	return x->used_ns > y->used_ns ? -1 : x->used_ns < y->used_ns;
}

/* Into a table of another size; keep: the most recently used so many, the rest is forgotten. */
static int resize(struct rein_alerts *a, size_t cap, size_t keep)
{
	struct rein_alert_memory *v = rein_calloc(cap, sizeof(*v));
	size_t n = 0;

	if (!v)
		return -1;
	for (size_t i = 0; i < a->cap; i++)
		if (a->m[i].hash)
			a->m[n++] = a->m[i];
	if (n > keep)
		qsort(a->m, n, sizeof(*a->m), by_use);
	for (size_t i = 0; i < n; i++)
		if (i < keep)
			*slot(v, cap, a->m[i].hash) = a->m[i];
		else
			rein_free(a->m[i].time);
	rein_free(a->m);
	a->m = v;
	a->cap = cap;
	a->n = n < keep ? n : keep;
	return 0;
}

struct rein_alert_memory *rein_alerts_memory(struct rein_alerts *a, uint64_t hash, bool *is_new)
{
	struct rein_alert_memory *m;
	int rc = 0;

	if (a->n >= REIN_ALERT_MEMORIES)
		rc = resize(a, a->cap, REIN_ALERT_MEMORIES / 2);
	else if (a->n * 2 >= a->cap)
		rc = resize(a, a->cap ? a->cap * 2 : 256, SIZE_MAX);
	if (rc < 0)
		return NULL;
	m = slot(a->m, a->cap, hash);
	*is_new = !m->hash;
	if (*is_new) {
		m->hash = hash;
		a->n++;
	}
	return m;
}

/* Memory of a rule and key; *is_new tells whether it was there. */
static struct rein_alert_memory *memory_of(struct rein_alerts *a, size_t rule, const char *key,
					   uint64_t now, bool *is_new)
{
	uint64_t h = mix(mix(1469598103934665603ull, &rule, sizeof(rule)), key, strlen(key));
	struct rein_alert_memory *m;

	h ^= h >> 31;
	m = rein_alerts_memory(a, h ? h : 1, is_new);
	if (m)
		m->used_ns = now;
	return m;
}

static void copy(char *out, size_t cap, struct rein_str s)
{
	size_t n = s.n < cap ? s.n : cap - 1;

	if (n)
		memcpy(out, s.p, n);
	out[n] = '\0';
}

static void key_of(const struct rein_alert_rule *r, const struct rein_event *ev, char out[64])
{
	struct rein_shape sh;

	out[0] = '\0';
	switch (r->kind == REIN_ALERT_SEQUENCE ? REIN_ALERT_BY_SESSION : r->field) {
	case REIN_ALERT_BY_AGENT:
		copy(out, 64, ev->agent);
		break;
	case REIN_ALERT_BY_SESSION:
		copy(out, 64, ev->session.n ? ev->session : ev->agent);
		break;
	case REIN_ALERT_BY_USER:
		copy(out, 64, ev->user);
		break;
	case REIN_ALERT_BY_RULE:
		copy(out, 64, ev->rule);
		break;
	case REIN_ALERT_BY_PEER:
		if (ev->effects.npeer)
			copy(out, 64, ev->effects.peer[0]);
		break;
	case REIN_ALERT_BY_PROGRAM:
		rein_shape_of(ev->command, &sh);
		for (unsigned i = 0; i < sh.n; i++)
			if (sh.feature[i][0] == 'p')
				snprintf(out, 64, "%.62s", sh.feature[i] + 2);
		break;
	default:
		break;
	}
}

static uint64_t number_of(enum rein_alert_field f, const struct rein_event *ev)
{
	switch (f) {
	case REIN_ALERT_OF_DELETED:
		return ev->effects.deleted;
	case REIN_ALERT_OF_MODIFIED:
		return ev->effects.modified;
	case REIN_ALERT_OF_CREATED:
		return ev->effects.created;
	case REIN_ALERT_OF_NET_OUT:
		return ev->used.net_out;
	case REIN_ALERT_OF_DURATION:
		return ev->duration_ns;
	case REIN_ALERT_OF_CPU:
		return ev->used.cpu_ns;
	default:
		return 0;
	}
}

/* The count-th newest event is within the window: the rate is reached. */
static int rate(const struct rein_alert_rule *r, struct rein_alert_memory *m, uint64_t now,
		struct rein_err *err)
{
	uint64_t oldest;

	/* another number of times: of another rule whose hash is the same, or of a file that was changed */
	if (m->ntime != r->count) {
		rein_free(m->time);
		m->ntime = m->at = 0;
		m->time = rein_calloc(r->count, sizeof(*m->time));
		if (!m->time)
			return rein_err_nomem(err);
		m->ntime = (unsigned)r->count;
	}
	m->time[m->at] = now;
	m->at = (m->at + 1) % (unsigned)r->count;
	oldest = m->time[m->at];
	return oldest && now - oldest <= r->window_ns;
}

static int decide(struct rein_alerts *a, size_t i, const struct rein_event *ev, const char *key,
		  struct rein_alert_memory **ret, struct rein_err *err)
{
	const struct rein_alert_rule *r = &a->rule[i];
	bool first, matches = rein_filter_match(&r->match, ev);
	bool then = r->kind == REIN_ALERT_SEQUENCE && rein_filter_match(&r->then, ev);
	struct rein_alert_memory *m;

	if (!matches && !then)
		return 0;
	m = memory_of(a, i, key, ev->time_ns, &first);
	if (!m)
		return rein_err_nomem(err);
	*ret = m;
	switch (r->kind) {
	case REIN_ALERT_RATE:
		return rate(r, m, ev->time_ns, err);
	case REIN_ALERT_FIRST:
		return first && key[0];
	case REIN_ALERT_THRESHOLD:
		return number_of(r->field, ev) >= r->count;
	case REIN_ALERT_SEQUENCE:
		if (then && m->armed_ns && ev->time_ns - m->armed_ns <= r->window_ns) {
			m->armed_ns = 0;
			return 1;
		}
		if (matches)
			m->armed_ns = ev->time_ns;
		return 0;
	case REIN_ALERT_NONE:
		break;
	}
	return 0;
}

static void describe(struct rein_alert *x, const struct rein_event *ev)
{
	static const char *const what[] = {
		[REIN_ALERT_RATE] = "too many of them",
		[REIN_ALERT_FIRST] = "seen for the first time",
		[REIN_ALERT_THRESHOLD] = "over the limit",
		[REIN_ALERT_SEQUENCE] = "one after the other",
	};
	auto_buf struct rein_buf b = REIN_BUF(1 << 17);
	struct rein_str about = ev->detail.n ? ev->detail : ev->command.n ? ev->command : ev->rule;

	rein_buf_printf(&b, "%s: %s", x->rule->name, what[x->rule->kind]);
	if (x->key[0]) {
		rein_buf_cstr(&b, " (");
		rein_buf_escaped(&b, rein_str(x->key));
		rein_buf_char(&b, ')');
	}
	if (about.n) {
		rein_buf_cstr(&b, ": ");
		rein_buf_escaped(&b, about);
	}
	snprintf(x->text, sizeof(x->text), "%s", b.p ? b.p : x->rule->name);
}

int rein_alerts_feed(struct rein_alerts *a, uint64_t line, const struct rein_event *ev,
		     rein_alert_fn *fire, void *arg, struct rein_err *err)
{
	int fired = 0;

	if (ev->type == REIN_EV_ALERT)
		return 0; /* an alert about alerts would never end */
	for (size_t i = 0; i < a->nrule; i++) {
		const struct rein_alert_rule *r = &a->rule[i];
		struct rein_alert x = {.rule = r, .line = line, .time_ns = ev->time_ns};
		struct rein_alert_memory *m = NULL;
		uint64_t id;
		int rc;

		key_of(r, ev, x.key);
		rc = decide(a, i, ev, x.key, &m, err);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		if (m->fired_ns && r->cooldown_ns && ev->time_ns - m->fired_ns < r->cooldown_ns) {
			m->swallowed++;
			continue;
		}
		id = mix(mix(mix(7, r->name, strlen(r->name)), x.key, strlen(x.key)), &line,
			 sizeof(line));
		snprintf(x.id, sizeof(x.id), "%016llx", (unsigned long long)id);
		x.count = r->count;
		x.swallowed = m->swallowed;
		copy(x.event, sizeof(x.event), ev->id);
		copy(x.action, sizeof(x.action), ev->action);
		copy(x.agent, sizeof(x.agent), ev->agent);
		copy(x.session, sizeof(x.session), ev->session);
		describe(&x, ev);
		m->fired_ns = ev->time_ns;
		m->swallowed = 0;
		if (fire && fire(arg, &x, err) < 0)
			return -err->code;
		fired++;
	}
	return fired;
}

static bool may_match(const struct rein_filter *f, const struct rein_event *ev)
{
	return (!f->type || rein_streq(f->type, rein_event_type_name(ev->type))) &&
	       (!f->decision || rein_str_eq(rein_str(f->decision), ev->decision));
}

bool rein_alerts_concern(const struct rein_alert_rule *rule, size_t n, const struct rein_event *ev)
{
	for (size_t i = 0; i < n; i++) {
		const struct rein_alert_rule *r = &rule[i];
		char key[64];

		if (!may_match(&r->match, ev) && !(r->kind == REIN_ALERT_SEQUENCE && may_match(&r->then, ev)))
			continue;
		key_of(r, ev, key);
		if (r->kind == REIN_ALERT_FIRST ? key[0] != '\0'
						: r->kind != REIN_ALERT_THRESHOLD || number_of(r->field, ev) >= r->count)
			return true;
	}
	return false;
}

void rein_alert_json(const struct rein_alert *a, struct rein_buf *b)
{
	struct rein_json j = {.b = b};
	char when[REIN_EVENT_TIME_LEN + 1], host[65] = "";

	rein_event_time(a->time_ns, when);
	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	rein_json_open(&j, '{');
	rein_json_kstr(&j, "id", a->id);
	rein_json_kstr(&j, "rule", a->rule->name);
	rein_json_kstr(&j, "text", a->text);
	rein_json_kstr(&j, "time", when);
	rein_json_kstr(&j, "host", host);
	rein_json_kstr(&j, "key", a->key);
	rein_json_kstr(&j, "agent", a->agent);
	rein_json_kstr(&j, "session", a->session);
	rein_json_kstr(&j, "action", a->action);
	rein_json_kstr(&j, "event", a->event);
	rein_json_ku64(&j, "line", a->line);
	rein_json_ku64(&j, "swallowed", a->swallowed);
	rein_json_close(&j, '}');
}
