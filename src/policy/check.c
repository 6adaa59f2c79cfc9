/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is legal and surely not meant, the cases a policy carries, and the policy written out again.
 * A rule never speaks when another one that decides the same or more strictly matches whatever it
 * matches; that is seen here only where it can be seen for certain: all conditions of the other are
 * absent or equal.
 */
#include <stdarg.h>

#include "policy/internal.h"

static bool covers_strs(const struct strs *a, const struct strs *b)
{
	if (!a->n)
		return true;
	if (!b->n)
		return false;
	for (size_t i = 0; i < b->n; i++) {
		bool found = false;

		for (size_t k = 0; k < a->n && !found; k++)
			found = rein_streq(a->v[k], b->v[i]);
		if (!found)
			return false;
	}
	return true;
}

static bool covers_bits(uint32_t a, uint32_t b)
{
	return !a || (b && !(b & ~a));
}

static bool covers_cmp(const struct cmp *a, const struct cmp *b)
{
	return !a->op || (a->op == b->op && a->n == b->n);
}

static bool covers_tri(enum tri a, enum tri b)
{
	return !a || a == b;
}

static bool covers_who(const struct who *a, const struct who *b)
{
	return covers_strs(&a->agent, &b->agent) && covers_strs(&a->role, &b->role) &&
	       covers_strs(&a->environment, &b->environment) && covers_cmp(&a->trust, &b->trust) &&
	       (!a->time.set || (b->time.set && a->time.from == b->time.from && a->time.to == b->time.to)) &&
	       covers_bits(a->days, b->days) && covers_bits(a->level, b->level) && covers_bits(a->reach, b->reach);
}

/* Everything b matches, a matches. */
static bool covers(const struct rule *a, const struct rule *b)
{
	return covers_who(&a->who, &b->who) && covers_bits(a->kind, b->kind) && covers_bits(a->effect, b->effect) &&
	       covers_bits(a->operation, b->operation) && covers_strs(&a->program, &b->program) &&
	       covers_strs(&a->subcommand, &b->subcommand) && covers_strs(&a->flags, &b->flags) &&
	       covers_strs(&a->arguments, &b->arguments) && covers_strs(&a->path, &b->path) && !a->except.n &&
	       covers_strs(&a->host, &b->host) && covers_strs(&a->sql, &b->sql) &&
	       covers_strs(&a->method, &b->method) && covers_strs(&a->name, &b->name) &&
	       covers_tri(a->complete, b->complete) && covers_tri(a->secret, b->secret);
}

struct telling {
	rein_remark_fn *fn;
	void *arg;
};

static void tell(const struct telling *t, const struct common *c, const char *fmt, ...) REIN_PRINTF(3, 4);

static void tell(const struct telling *t, const struct common *c, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->fn(t->arg, c->file, c->line, text);
}

/* Of two rules, does the earlier in strictness leave nothing to the other? */
static void compare(const struct telling *t, const struct rule *a, const struct rule *b)
{
	bool trial = a->c.mode == MODE_ADVISORY || a->c.share;

	if (trial || !covers(a, b))
		return;
	if (a->c.decide < b->c.decide)
		tell(t, &b->c, "rule '%s' (%s) never decides: '%s' (%s, %s:%u) matches all it matches and is stricter",
		     b->c.id, rein_decide_name(b->c.decide - 1), a->c.id, rein_decide_name(a->c.decide - 1),
		     a->c.file, a->c.line);
	else if (a->c.decide == b->c.decide && covers(b, a) && a->c.line < b->c.line)
		tell(t, &b->c, "rule '%s' says the same as '%s' (%s:%u)", b->c.id, a->c.id, a->c.file, a->c.line);
}

/* Allowed, because a policy may be written for more than this machine; told, because here it is a refusal. */
static void alone(const struct telling *t, const struct common *c)
{
	if (c->decide - 1 != REIN_ALLOW && c->minimum > 1)
		tell(t, c, "rule '%s' wants %u people: 'rein run' knows one, the user it runs as, so that what waits for "
		     "them does not happen", c->id, (unsigned)c->minimum);
}

#define COMPARED 2000 /* rules compared with each other; more would take seconds */

int rein_policy_check(const struct rein_policy *p, rein_remark_fn *fn, void *arg, struct rein_err *err)
{
	struct telling t = {fn, arg};
	size_t n = p->live.n < COMPARED ? p->live.n : COMPARED;

	if (p->broken)
		return rein_err_set(err, REIN_E_INVALID, "%s", p->why);
	for (const struct remark *r = p->remarks; r; r = r->next)
		fn(arg, r->file, r->line, r->text);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (i != k && p->live.v[k]->c.layer != REIN_LAYER_BUILTIN)
				compare(&t, p->live.v[i], p->live.v[k]);
	for (size_t i = 0; i < p->live_effects.n; i++)
		if (p->live_effects.v[i]->c.decide - 1 == REIN_ALLOW)
			tell(&t, &p->live_effects.v[i]->c,
			     "rule '%s': allow changes nothing here, effects stay unless a rule objects; narrow that "
			     "rule with 'except', or give its id and 'off: true'", p->live_effects.v[i]->c.id);
	for (size_t i = 0; i < p->all.rules.n; i++) {
		const struct common *c = &p->all.rules.v[i].c;

		if (c->decide - 1 == REIN_ALLOW && (c->approvers.n || c->minimum || c->expires_ns))
			tell(&t, c, "rule '%s' allows, so nobody is asked: approvers, minimum and expires have no effect",
			     c->id);
		alone(&t, c);
	}
	for (size_t i = 0; i < p->all.effects.n; i++)
		alone(&t, &p->all.effects.v[i].c);
	return 0;
}

size_t rein_policy_tests(const struct rein_policy *p)
{
	return p->all.tests.n;
}

/*
 * The word before the path, however it is written. One that nobody knows is no operation (0), which the classifier
 * takes for dangerous; a text that is a path and nothing else is written to.
 */
static enum rein_file_op operation_of(const char *text, const char **ret_path)
{
	static const struct {
		const char *name;
		enum rein_file_op op;
	} rows[] = {{"read", REIN_FILE_READ},	  {"write", REIN_FILE_WRITE}, {"append", REIN_FILE_APPEND},
		    {"delete", REIN_FILE_DELETE}, {"chmod", REIN_FILE_CHMOD}, {"list", REIN_FILE_LIST},
		    {"remove", REIN_FILE_DELETE}, {"create", REIN_FILE_WRITE}, {"edit", REIN_FILE_WRITE}};
	const char *word = text + strspn(text, " \t");
	size_t n = strcspn(word, " \t");

	*ret_path = text;
	if (!word[n] || memchr(word, '/', n) || *word == '~' || *word == '.')
		return REIN_FILE_WRITE;
	*ret_path = word + n + strspn(word + n, " \t");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == n && strncasecmp(word, rows[i].name, n) == 0)
			return rows[i].op;
	return 0;
}

/* A word before the address is a method, whichever it is and however it is written; without one it is fetched. */
static const char *method_of(const char *text, const char **ret_url)
{
	static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "TRACE",
					      "MKCOL", "MOVE", "COPY", "LOCK", "PROPFIND", "REPORT"};
	const char *word = text + strspn(text, " \t");
	size_t n = strcspn(word, " \t");

	*ret_url = text;
	if (!n || !word[n] || memchr(word, ':', n) || memchr(word, '/', n) || memchr(word, '.', n))
		return "GET";
	*ret_url = word + n + strspn(word + n, " \t");
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strlen(methods[i]) == n && strncasecmp(word, methods[i], n) == 0)
			return methods[i];
	return "UNKNOWN";
}

int rein_policy_action(const char *kind, const char *text, struct rein_action *ret)
{
	*ret = (struct rein_action){.text = text, .text_n = strlen(text)};
	if (!kind || rein_streq(kind, "command")) {
		ret->kind = REIN_ACTION_COMMAND;
	} else if (rein_streq(kind, "sql")) {
		ret->kind = REIN_ACTION_SQL;
	} else if (rein_streq(kind, "custom")) {
		ret->kind = REIN_ACTION_CUSTOM;
		ret->name = text;
	} else if (rein_streq(kind, "file")) {
		ret->kind = REIN_ACTION_FILE;
		ret->op = operation_of(text, &ret->path);
	} else if (rein_streq(kind, "http")) {
		ret->kind = REIN_ACTION_HTTP;
		ret->method = method_of(text, &ret->url);
	} else {
		return -1;
	}
	return 0;
}

void rein_policy_test_get(const struct rein_policy *p, size_t i, struct rein_policy_test *ret)
{
	const struct test *t = &p->all.tests.v[i];

	*ret = (struct rein_policy_test){.file = t->file, .line = t->line, .rule = t->rule,
					 .expect = (enum rein_decide)(t->expect - 1)};
	rein_policy_action(t->kind, t->action, &ret->action); /* the kind was checked when it was read */
	ret->action.dialect = t->dialect;
	if (t->content) {
		ret->action.content = t->content;
		ret->action.content_n = strlen(t->content);
	}
	ret->facts.agent = t->agent;
	ret->facts.role = t->role;
	ret->facts.environment = t->environment;
	ret->facts.trust_known = t->trust > 0;
	ret->facts.trust = t->trust ? (unsigned)(t->trust - 1) : 0;
	ret->facts.minute = t->time ? ((t->time[0] - '0') * 10 + t->time[1] - '0') * 60 +
					      (t->time[3] - '0') * 10 + t->time[4] - '0'
				    : REIN_TIME_NONE;
	ret->facts.weekday = REIN_TIME_NONE;
}

#define KEEP(to, from, test)                                                                       \
	do {                                                                                       \
		(to).v = rein_calloc((from).n + 1, sizeof(*(to).v));                               \
		for (size_t i_ = 0; (to).v && i_ < (from).n; i_++)                                 \
			if (test(&(from), i_))                                                     \
				(to).v[(to).n++] = (from).v[i_];                                   \
		if (!(to).v)                                                                       \
			b->failed = true;                                                          \
	} while (0)

#define IS_ON(list, i)	((list)->v[i].off != TRI_YES)
#define IN_FORCE(list, i) (!(list)->v[i].replaced)
#define SPEAKS(list, i) (!(list)->v[i].c.inert && !(list)->v[i].c.replaced && (list)->v[i].c.off != TRI_YES)
#define LAST_OF_NAME(list, i) last_environment((list)->v, (list)->n, i)

static bool last_environment(const struct environment *v, size_t n, size_t at)
{
	for (size_t i = at + 1; i < n; i++)
		if (rein_streq(v[i].name, v[at].name))
			return false;
	return true;
}

void rein_policy_format(const struct rein_policy *p, struct rein_buf *b)
{
	struct document d = p->all;

	d.rules = (__typeof__(d.rules)){0};
	d.effects = (__typeof__(d.effects)){0};
	d.environments = (__typeof__(d.environments)){0};
	d.alerts = (__typeof__(d.alerts)){0};
	d.webhooks = (__typeof__(d.webhooks)){0};
	KEEP(d.rules, p->all.rules, SPEAKS);
	KEEP(d.effects, p->all.effects, SPEAKS);
	KEEP(d.environments, p->all.environments, LAST_OF_NAME);
	KEEP(d.alerts, p->all.alerts, IS_ON);
	KEEP(d.webhooks, p->all.webhooks, IN_FORCE); /* one that is off is still known */
	limits_shown(p, &d.limits.own);
	if (!b->failed)
		schema_format(&d, b);
	rein_free(d.rules.v);
	rein_free(d.effects.v);
	rein_free(d.environments.v);
	rein_free(d.alerts.v);
	rein_free(d.webhooks.v);
}
