/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein audit log as people read it: one line an action, with what became of it. An action is five
 * to ten events; `--events` shows those.
 */
#include <stdio.h>

#include "base/auto.h"
#include "cli/audit_screen.h"
#include "cli/ui.h"
#include "record/event.h"

#define EVENTS_EACH 8	/* of an action, about; so many are fetched for one */
#define EVENTS_MOST 200 /* the newest of one action; more can only be repeats of undo and redo */

struct action {
	char key[33];  /* of the action; empty: an event that belongs to none */
	char name[33]; /* its transaction, else its own */
	char level[16], agent[16];
	uint64_t time_ns;
	const char *before, *after; /* what was decided, of the words below */
	const char *end;	    /* what became of it */
	bool ran, ended, approved, denied, whole;
	long long status;
	char result[24];
	struct rein_buf command, effects, why;
	size_t first; /* kept event, when it is no action */
};

struct actions {
	struct action *v;
	size_t n, cap;
};

static const char *const decisions[] = {"deny", "ask", "hold", "allow"};

static const char *decision_of(struct rein_str s)
{
	for (size_t i = 0; i < ARRAY_SIZE(decisions); i++)
		if (rein_str_eq(s, rein_str(decisions[i])))
			return decisions[i];
	return NULL;
}

static bool is(const char *a, const char *b)
{
	return a && rein_streq(a, b);
}

static void copy(char *out, size_t cap, struct rein_str s)
{
	if (s.n)
		snprintf(out, cap, "%.*s", (int)(s.n < cap ? s.n : cap - 1), s.p);
}

static void take_text(struct rein_buf *b, struct rein_str s)
{
	if (b->n || !s.n)
		return;
	rein_buf_escaped(b, s);
}

/* Which rule stood in the way, and why. */
static void take_why(struct action *x, const struct rein_event *ev)
{
	rein_buf_clear(&x->why);
	rein_buf_escaped(&x->why, ev->reason.n ? ev->reason : ev->detail);
	if (ev->rule.n) {
		rein_buf_cstr(&x->why, " (");
		rein_buf_escaped(&x->why, ev->rule);
		rein_buf_char(&x->why, ')');
	}
}

static const struct {
	enum rein_event_type type;
	const char *word;
} ends[] = {
	{REIN_EV_COMMIT, "committed"},	   {REIN_EV_REDO, "committed"},
	{REIN_EV_UNDO, "undone"},	   {REIN_EV_DISCARD, "discarded"},
	{REIN_EV_ROLLBACK, "rolled back"}, {REIN_EV_CONFLICT, "conflict"},
};

static void feed(struct action *x, const struct rein_event *ev)
{
	/* what was refused is no effect */
	bool effects = ev->type == REIN_EV_EFFECTS && !rein_str_eq(ev->result, STR("refused"));

	if (!x->time_ns || ev->time_ns < x->time_ns)
		x->time_ns = ev->time_ns;
	copy(x->level, sizeof(x->level), ev->level);
	copy(x->agent, sizeof(x->agent), ev->agent);
	copy(x->name, sizeof(x->name), ev->txn);
	take_text(&x->command, ev->command);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i].type == ev->type)
			x->end = ends[i].word;
	if (effects || ev->type == REIN_EV_COMMIT) {
		rein_buf_clear(&x->effects);
		rein_screen_effects(ev, &x->effects);
	}
	if (ev->type == REIN_EV_DECISION)
		x->before = decision_of(ev->decision);
	if (effects)
		x->after = decision_of(ev->decision);
	if ((ev->type == REIN_EV_DECISION || effects) && ev->decision.n &&
	    !is(decision_of(ev->decision), "allow"))
		take_why(x, ev);
	if (ev->type == REIN_EV_VIOLATION || ev->type == REIN_EV_LIMIT ||
	    ev->type == REIN_EV_ROLLBACK || ev->type == REIN_EV_CONFLICT)
		take_why(x, ev);
	if (ev->type == REIN_EV_APPROVAL) {
		x->approved = rein_str_eq(ev->decision, STR("approve"));
		x->denied = !x->approved;
	}
	if (ev->type == REIN_EV_RUN_START)
		x->ran = true;
	if (ev->type == REIN_EV_RUN_END) {
		x->ran = x->ended = true;
		x->status = ev->status;
		copy(x->result, sizeof(x->result), ev->result);
	}
}

static const char *outcome(const struct action *x, char out[24])
{
	if (x->end)
		return x->end;
	if (!x->ran)
		return is(x->before, "deny") || x->denied ? "refused"
		       : is(x->before, "ask")		  ? "not approved"
							  : "asked";
	if (!x->ended)
		return "running";
	if (is(x->after, "deny"))
		return "rolled back";
	if (x->effects.n && !x->end)
		return "held";
	if (rein_streq(x->result, "failed")) {
		snprintf(out, 24, "exit %lld", x->status);
		return out;
	}
	snprintf(out, 24, "%.23s", x->result);
	for (char *s = out; *s; s++)
		*s = *s == '_' ? ' ' : *s;
	return *out ? out : "ok";
}

static const char *colour_of(const char *word)
{
	static const struct {
		const char *word, *code;
	} t[] = {{"refused", "\033[31m"},  {"not approved", "\033[31m"},
		 {"held", "\033[33m"},	   {"rolled back", "\033[35m"},
		 {"conflict", "\033[35m"}, {"committed", "\033[32m"},
		 {"ok", "\033[32m"},	   {"undone", "\033[36m"},
		 {"discarded", "\033[36m"}};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		if (rein_streq(t[i].word, word))
			return t[i].code;
	return "\033[35m";
}

static void print_action(struct rein_screen *s, const struct action *x, struct rein_buf *out)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 17);
	char when[16], word[24];
	const char *became = outcome(x, word);

	rein_screen_day(s, x->time_ns, out);
	rein_audit_time(x->time_ns, REIN_AUDIT_CLOCK, when, sizeof(when));
	rein_buf_cstr(&b, x->command.n ? x->command.p : "");
	if (x->effects.n)
		rein_buf_printf(&b, " - %s", x->effects.p);
	if (x->end && x->ended && x->status)
		rein_buf_printf(&b, " - exit %lld", x->status);
	if (x->why.n)
		rein_buf_printf(&b, " - %s", x->why.p);
	if (x->approved)
		rein_buf_cstr(&b, " - approved");
	rein_screen_fit(&b, s->width > 90 ? s->width - 62 : 40, s->utf8);
	rein_buf_printf(
		out, "%s%s %-16s%s %s%-12s%s %-11s %-8.8s %s\n", rein_screen_paint(s, "\033[2m"),
		when, x->name[0] ? x->name : x->key, rein_screen_paint(s, REIN_SCREEN_RESET),
		rein_screen_paint(s, colour_of(became)), became,
		rein_screen_paint(s, REIN_SCREEN_RESET), x->level, x->agent, b.p ? b.p : "");
}

static struct action *action_of(struct actions *l, struct rein_str key, struct rein_err *err)
{
	for (size_t i = l->n; key.n && i-- > 0;)
		if (rein_str_eq(rein_str(l->v[i].key), key))
			return &l->v[i];
	if (rein_grow(l->v, l->n, l->cap) < 0) {
		rein_err_nomem(err);
		return NULL;
	}
	l->v[l->n] = (struct action){
		.command = REIN_BUF(1 << 17), .effects = REIN_BUF(256), .why = REIN_BUF(1 << 16)};
	copy(l->v[l->n].key, sizeof(l->v[0].key), key);
	return &l->v[l->n++];
}

static void actions_done(struct actions *l)
{
	for (size_t i = 0; i < l->n; i++) {
		rein_buf_done(&l->v[i].command);
		rein_buf_done(&l->v[i].effects);
		rein_buf_done(&l->v[i].why);
	}
	rein_free(l->v);
}

/* Alerts and administrative acts stand for themselves, whatever action they are about. */
static bool belongs(const struct rein_event *ev)
{
	return ev->action.n && ev->type != REIN_EV_ALERT && ev->type != REIN_EV_OVERRIDE;
}

/* The events that were found, newest first, to actions, newest first. */
static int group(const struct rein_collected *c, struct actions *l, uint64_t count,
		 struct rein_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rein_event_read r;
		struct rein_err ignored = {0};
		struct action *x;

		if (rein_event_parse((struct rein_str){c->v[i].text, c->v[i].n}, &r, &ignored) < 0)
			continue;
		x = action_of(l, belongs(&r.ev) ? r.ev.action : (struct rein_str){0}, err);
		if (x && !x->time_ns) {
			x->first = i;
			x->time_ns = r.ev.time_ns;
		}
		if (x)
			x->whole |= r.ev.type == REIN_EV_REQUEST;
		rein_event_read_done(&r);
		if (!x)
			return -err->code;
		if (l->n > count) { /* the page is full; this one is the next page's, and holds
				       nothing yet */
			l->n--;
			break;
		}
	}
	return 0;
}

/* Oldest first; only: one action, or NULL for those that are whole in c. */
static void feed_all(const struct rein_collected *c, struct actions *l, struct action *only)
{
	for (size_t i = c->n; i-- > 0;) {
		struct rein_event_read r;
		struct rein_err ignored = {0};
		struct action *x = only;

		if (rein_event_parse((struct rein_str){c->v[i].text, c->v[i].n}, &r, &ignored) < 0)
			continue;
		for (size_t k = 0; !only && k < l->n && belongs(&r.ev); k++)
			if (l->v[k].whole && rein_str_eq(rein_str(l->v[k].key), r.ev.action))
				x = &l->v[k];
		if (x && belongs(&r.ev))
			feed(x, &r.ev);
		rein_event_read_done(&r);
	}
}

/*
 * An action is told whole, whatever made it match. Without conditions all of it is among what was
 * found, unless it began before; then, and with conditions, it is asked for.
 */
static int complete(struct rein_audit *a, bool bare, const struct rein_index_ops *ops,
		    struct rein_index *x, const struct rein_collected *c, struct actions *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->n; i++)
		l->v[i].whole &= bare;
	if (bare)
		feed_all(c, l, NULL);
	for (size_t i = 0; rc >= 0 && i < l->n; i++) {
		const struct rein_filter one = {.action = l->v[i].key};
		struct rein_collected all = {0};

		if (!l->v[i].key[0] || l->v[i].whole)
			continue;
		rc = ops->query(x, &one, EVENTS_MOST, 0, rein_collect, &all, &a->err);
		if (rc >= 0)
			feed_all(&all, l, &l->v[i]);
		rein_collected_done(&all);
	}
	return rc;
}

static void print_one(struct rein_screen *s, const struct action *x, const struct rein_collected *c)
{
	auto_buf struct rein_buf out = REIN_BUF(1 << 18);
	struct rein_event_read r;
	struct rein_err ignored = {0};

	if (x->key[0]) {
		print_action(s, x, &out);
	} else {
		struct rein_str text = {c->v[x->first].text, c->v[x->first].n};

		if (rein_event_parse(text, &r, &ignored) < 0)
			return;
		rein_screen_event(s, &r.ev, &out);
		rein_event_read_done(&r);
	}
	if (!out.failed)
		fwrite(out.p, 1, out.n, stdout);
}

static int by_start(const void *a, const void *b)
{
	const struct action *x = a, *y = b;

	return x->time_ns > y->time_ns ? -1 : x->time_ns < y->time_ns;
}

int rein_audit_actions(struct rein_audit *a, const struct rein_index_ops *ops, struct rein_index *x,
		       uint64_t count, uint64_t before)
{
	const struct rein_filter none = {.since_ns = a->filter.since_ns,
					 .until_ns = a->filter.until_ns};
	bool bare = memcmp(&none, &a->filter, sizeof(none)) == 0;
	struct rein_collected c = {0};
	struct actions l = {0};
	struct rein_screen s;
	int rc = ops->query(x, &a->filter, count * (bare ? EVENTS_EACH : 2), before, rein_collect,
			    &c, &a->err);

	if (rc >= 0)
		rc = group(&c, &l, count, &a->err);
	if (rc >= 0)
		rc = complete(a, bare, ops, x, &c, &l);
	if (rc >= 0) {
		rein_ui_page(!a->no_pager);
		s = rein_screen();
		if (l.n)
			qsort(l.v, l.n, sizeof(l.v[0]), by_start);
		if (!l.n)
			rein_audit_note(a, "nothing in the record matches");
		for (size_t i = 0; i < l.n; i++)
			print_one(&s, &l.v[a->reverse ? i : l.n - 1 - i], &c);
		rein_ui_page_end();
	}
	actions_done(&l);
	rein_collected_done(&c);
	return rc;
}
