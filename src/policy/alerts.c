/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections `alerts` and `webhooks`: whom to call, when, and how. An alert may run a command and
 * send text over the network, so a project nobody trusts has no word in either [P3]. A later layer
 * replaces an alert or a webhook of the same name, or turns it off.
 */
#include "policy/internal.h"

#define QUIET_NS   (60ull * 1000000000) /* between two alerts of one kind and key, unless said */
#define PER_MINUTE 30

static const char *const by_names[] = {"agent", "session", "user", "rule", "host", "program", "all", NULL};
static const char *const number_names[] = {"deleted", "modified", "created", "sent", "duration", "cpu", NULL};
_Static_assert(ARRAY_SIZE(by_names) - 1 == REIN_ALERT_BY_ALL + 1, "every key has a name");
_Static_assert(ARRAY_SIZE(number_names) - 1 == REIN_ALERT_FIELD__MAX - REIN_ALERT_OF_DELETED,
	       "every number has a name");

#define WHEN(part)                                                                                 \
	{"type", F_CHOICE, offsetof(struct alert, part.type), rein_event_types},                   \
		{"agent", F_STR, offsetof(struct alert, part.agent)},                              \
		{"session", F_STR, offsetof(struct alert, part.session)},                          \
		{"user", F_STR, offsetof(struct alert, part.user)},                                \
		{"level", F_STR, offsetof(struct alert, part.level)},                              \
		{"decision", F_STR, offsetof(struct alert, part.decision)},                        \
		{"result", F_STR, offsetof(struct alert, part.result)},                            \
		{"rule", F_STR, offsetof(struct alert, part.rule)},                                \
		{"path", F_STR, offsetof(struct alert, part.path)},                                \
		{"text", F_STR, offsetof(struct alert, part.text)}

static const struct field when_fields[] = {WHEN(when), {0}};
static const struct field then_fields[] = {WHEN(then), {0}};
static const struct table when_table = {when_fields, sizeof(struct alert), NULL};
static const struct table then_table = {then_fields, sizeof(struct alert), NULL};

static const struct field alert_fields[] = {
	{"id", F_STR, offsetof(struct alert, id)},
	{"when", F_MAP, 0, NULL, &when_table},
	{"then", F_MAP, 0, NULL, &then_table},
	{"count", F_U64, offsetof(struct alert, count)},
	{"within", F_DURATION, offsetof(struct alert, within_ns)},
	{"by", F_CHOICE, offsetof(struct alert, by), by_names},
	{"first", F_CHOICE, offsetof(struct alert, first), by_names},
	{"number", F_CHOICE, offsetof(struct alert, number), number_names},
	{"reaches", F_STR, offsetof(struct alert, reaches)},
	{"quiet", F_DURATION, offsetof(struct alert, quiet_ns)},
	{"to", F_STRS, offsetof(struct alert, to)},
	{"command", F_STR, offsetof(struct alert, command)},
	{"off", F_TRI, offsetof(struct alert, off)},
	{0},
};

static bool name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n && !s[n] && n <= 60;
}

static bool any_set(const struct alert_when *w)
{
	static const struct alert_when none;

	return memcmp(w, &none, sizeof(none)) != 0;
}

static struct rein_filter filter_of(const struct alert_when *w)
{
	return (struct rein_filter){.type = w->type ? rein_event_types[w->type - 1] : NULL,
				    .agent = w->agent,
				    .session = w->session,
				    .user = w->user,
				    .level = w->level,
				    .decision = w->decision,
				    .result = w->result,
				    .rule = w->rule,
				    .path = w->path,
				    .text = w->text};
}

static int check_destinations(const struct source *src, const struct node *at, struct alert *a)
{
	const char **names = pool_alloc(src->pool, (a->to.n + 1) * sizeof(*names));

	if (!names)
		return rein_err_nomem(src->err);
	for (size_t i = 0; i < a->to.n; i++) {
		const char *to = a->to.v[i];

		if (rein_streq(to, "stderr"))
			a->rule.to_stderr = true;
		else if (rein_streq(to, "desktop"))
			a->rule.desktop = true;
		else if (rein_starts(to, "webhook:") && name_ok(to + 8))
			names[a->rule.nwebhook++] = to + 8;
		else
			return bad(src, at, "alert '%s': 'to' takes stderr, desktop and webhook:NAME, not '%s'; a "
					    "program to run is 'command'", a->id, to);
	}
	a->rule.webhook = names;
	a->rule.command = a->command;
	return 0;
}

static int check_threshold(const struct source *src, const struct node *at, struct alert *a)
{
	enum rein_alert_field of = (enum rein_alert_field)(REIN_ALERT_OF_DELETED + a->number - 1);
	bool ok = false;

	if (!a->reaches)
		return bad(src, at, "alert '%s': 'number' needs 'reaches'", a->id);
	if (of == REIN_ALERT_OF_DURATION || of == REIN_ALERT_OF_CPU)
		ok = rein_parse_duration(a->reaches, &a->rule.count);
	else
		ok = rein_parse_size(a->reaches, &a->rule.count);
	if (!ok || !a->rule.count)
		return bad(src, at, "alert '%s': '%s' is not a number such as 1000, 10M or, for times, 5m", a->id,
			   a->reaches);
	a->rule.kind = REIN_ALERT_THRESHOLD;
	a->rule.field = of;
	return 0;
}

/* Exactly one of the four kinds, by what is given. */
static int check_kind(const struct source *src, const struct node *at, struct alert *a)
{
	struct rein_alert_rule *r = &a->rule;
	int kinds = (a->count != 0) + (a->first != 0) + (a->number != 0) + any_set(&a->then);

	if (kinds != 1)
		return bad(src, at, "alert '%s' takes one of: 'count' and 'within'; 'first'; 'number' and 'reaches'; "
				    "'then' and 'within'", a->id);
	if ((a->count || any_set(&a->then)) && !a->within_ns)
		return bad(src, at, "alert '%s': 'within' is missing, such as: within: 10m", a->id);
	if (a->number)
		return check_threshold(src, at, a);
	r->kind = a->count ? REIN_ALERT_RATE : a->first ? REIN_ALERT_FIRST : REIN_ALERT_SEQUENCE;
	r->count = a->count;
	r->window_ns = a->within_ns;
	r->field = a->first ? (enum rein_alert_field)(a->first - 1)
		   : a->by  ? (enum rein_alert_field)(a->by - 1)
			    : REIN_ALERT_BY_ALL;
	if (a->count > REIN_ALERT_COUNT_MAX)
		return bad(src, at, "alert '%s': a count of at most %d", a->id, REIN_ALERT_COUNT_MAX);
	if (a->first && r->field == REIN_ALERT_BY_ALL)
		return bad(src, at, "alert '%s': the first of what? agent, session, user, rule, host or program", a->id);
	return 0;
}

static int check_alert(const struct source *src, const struct node *at, void *element)
{
	struct alert *a = element;
	int rc;

	a->file = src->file;
	a->line = at->line;
	if (!a->id || !name_ok(a->id))
		return bad(src, at, "an alert needs an 'id' of letters, digits, '.', '-' and '_', at most 60");
	if (a->off == TRI_YES)
		return 0;
	rc = check_kind(src, at, a);
	if (rc == 0)
		rc = check_destinations(src, at, a);
	a->rule.name = a->id;
	a->rule.match = filter_of(&a->when);
	a->rule.then = filter_of(&a->then);
	a->rule.cooldown_ns = a->quiet_ns ? a->quiet_ns : a->first ? 0 : QUIET_NS;
	return rc;
}

static const struct field webhook_fields[] = {
	{"url", F_STR, offsetof(struct webhook, url)},
	{"secret_file", F_STR, offsetof(struct webhook, secret_file)},
	{"per_minute", F_U64, offsetof(struct webhook, per_minute)},
	{"off", F_TRI, offsetof(struct webhook, off)},
	{0},
};

/* All of what stands between "http://" and the path, so that "127.example.org" and "localhost:1@example.org" are not. */
static bool is_local(const char *host)
{
	static const char *const names[] = {"127.", "localhost", "[::1]"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (!rein_starts(host, names[i]))
			continue;
		n += i == 0 ? strspn(host + n, "0123456789.") : 0;
		if (host[n] == ':')
			n += 1 + strspn(host + n + 1, "0123456789");
		return !host[n] || host[n] == '/';
	}
	return false;
}

/* What is sent is signed, not hidden: in the clear only within this machine. */
static bool url_ok(const char *url)
{
	for (const char *s = url; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return false;
	if (rein_starts(url, "https://"))
		return url[8] != '\0';
	return rein_starts(url, "http://") && is_local(url + 7);
}

static int check_webhook(const struct source *src, const struct node *at, void *element)
{
	struct webhook *w = element;

	w->file = src->file;
	w->line = at->line;
	if (!name_ok(w->name))
		return bad(src, at, "a webhook's name is of letters, digits, '.', '-' and '_'");
	if (w->off == TRI_YES)
		return 0;
	if (!w->url || !url_ok(w->url))
		return bad(src, at, "webhook '%s' needs a 'url' that begins with https:// (http:// only for "
				    "127.0.0.1, [::1] and localhost)", w->name);
	if (w->secret_file && w->secret_file[0] != '/')
		return bad(src, at, "webhook '%s': 'secret_file' is an absolute path", w->name);
	if (w->per_minute > 6000)
		return bad(src, at, "webhook '%s': at most 6000 per minute", w->name);
	return 0;
}

const struct table alert_table = {alert_fields, sizeof(struct alert), check_alert};
const struct table webhook_table = {webhook_fields, sizeof(struct webhook), check_webhook};

int alerts_join(struct rein_policy *p, const struct source *src, const struct document *d, bool free_hand)
{
	if (!free_hand && (d->alerts.n || d->webhooks.n)) {
		remark(p, src->file, d->alerts.n ? d->alerts.v[0].line : d->webhooks.v[0].line,
		       "alerts and webhooks of a project count only when the file is trusted; ignored");
		return 0;
	}
	for (size_t i = 0; i < d->alerts.n; i++) {
		for (size_t k = 0; k < p->all.alerts.n; k++)
			if (rein_streq(p->all.alerts.v[k].id, d->alerts.v[i].id))
				p->all.alerts.v[k].off = TRI_YES;
		if (rein_grow(p->all.alerts.v, p->all.alerts.n, p->all.alerts.cap) < 0)
			return -1;
		p->all.alerts.v[p->all.alerts.n++] = d->alerts.v[i];
	}
	for (size_t i = 0; i < d->webhooks.n; i++) {
		for (size_t k = 0; k < p->all.webhooks.n; k++)
			if (rein_streq(p->all.webhooks.v[k].name, d->webhooks.v[i].name))
				p->all.webhooks.v[k].replaced = true;
		if (rein_grow(p->all.webhooks.v, p->all.webhooks.n, p->all.webhooks.cap) < 0)
			return -1;
		p->all.webhooks.v[p->all.webhooks.n++] = d->webhooks.v[i];
	}
	return 0;
}

/* One that was turned off is known, and calls nobody. */
static bool has_webhook(const struct rein_policy *p, const char *name)
{
	for (size_t i = 0; i < p->all.webhooks.n; i++)
		if (rein_streq(p->all.webhooks.v[i].name, name))
			return true;
	return false;
}

/* An alert that would call nobody is an error: it must not be found out when it is needed. */
int alerts_seal(struct rein_policy *p, struct rein_err *err)
{
	for (size_t i = 0; i < p->all.webhooks.n; i++) {
		const struct webhook *w = &p->all.webhooks.v[i];

		if (w->off == TRI_YES || w->replaced)
			continue;
		if (rein_grow(p->webhooks.v, p->webhooks.n, p->webhooks.cap) < 0)
			return rein_err_nomem(err);
		p->webhooks.v[p->webhooks.n++] = (struct rein_webhook){
			w->name, w->url, w->secret_file, w->per_minute ? w->per_minute : PER_MINUTE};
	}
	for (size_t i = 0; i < p->all.alerts.n; i++) {
		const struct alert *a = &p->all.alerts.v[i];

		if (a->off == TRI_YES)
			continue;
		for (size_t k = 0; k < a->rule.nwebhook; k++)
			if (!has_webhook(p, a->rule.webhook[k]))
				return rein_err_set(err, REIN_E_INVALID,
						    "%s:%u: alert '%s': there is no webhook '%s' under 'webhooks'",
						    a->file, a->line, a->id, a->rule.webhook[k]);
		if (rein_grow(p->alerts.v, p->alerts.n, p->alerts.cap) < 0)
			return rein_err_nomem(err);
		p->alerts.v[p->alerts.n++] = a->rule;
	}
	return 0;
}

const struct rein_alert_rule *rein_policy_alerts(const struct rein_policy *p, size_t *n)
{
	*n = p->alerts.n;
	return p->alerts.v;
}

const struct rein_webhook *rein_policy_webhooks(const struct rein_policy *p, size_t *n)
{
	*n = p->webhooks.n;
	return p->webhooks.v;
}
