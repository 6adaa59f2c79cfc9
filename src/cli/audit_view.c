/* SPDX-License-Identifier: Apache-2.0 */
/* rein audit log, show, similar: the record on a screen. */
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "record/event.h"
#include "record/export.h"
#include "record/index.h"
#include "record/tail.h"

struct screen {
	bool colour, utf8;
	unsigned width;
	uint64_t last_day;
};

static struct screen screen(void)
{
	unsigned width = rein_ui_width(stdout);

	return (struct screen){.colour = *rein_ui(stdout, REIN_BOLD) != '\0',
			       .utf8 = rein_ui_utf8(),
			       .width = width >= 40 ? width : 200};
}

static const char *paint(const struct screen *s, const char *code)
{
	return s->colour ? code : "";
}

#define RESET "\033[0m"

static const char *colour_of(const struct screen *s, const struct rein_event *ev)
{
	static const struct {
		const char *word, *code;
	} t[] = {{"deny", "\033[31m"},	      {"refused", "\033[31m"},	{"hold", "\033[33m"},
		 {"held", "\033[33m"},	      {"ask", "\033[33m"},	{"failed", "\033[35m"},
		 {"rolled_back", "\033[35m"}, {"conflict", "\033[35m"}, {"timed_out", "\033[35m"},
		 {"killed", "\033[35m"},      {"allow", "\033[32m"},	{"ok", "\033[32m"},
		 {"approve", "\033[32m"}};

	if (ev->type == REIN_EV_VIOLATION || ev->type == REIN_EV_ALERT ||
	    ev->type == REIN_EV_OVERRIDE)
		return paint(s, "\033[1;31m");
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		if (rein_str_eq(ev->result, rein_str(t[i].word)) ||
		    rein_str_eq(ev->decision, rein_str(t[i].word)))
			return paint(s, t[i].code);
	return "";
}

/* In the person's own time zone. */
void rein_audit_time(uint64_t ns, int what, char *out, size_t cap)
{
	time_t t = (time_t)(ns / REIN_NS_PER_S);
	char date[16] = "", clock[16] = "";
	struct tm tm;

	if (localtime_r(&t, &tm)) {
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	}
	snprintf(out, cap, "%s%s%s", what & REIN_AUDIT_DATE ? date : "",
		 what == (REIN_AUDIT_DATE | REIN_AUDIT_CLOCK) ? " " : "",
		 what & REIN_AUDIT_CLOCK ? clock : "");
}

/* What a person wants to see of an event in one line. */
static void gist(const struct rein_event *ev, struct rein_buf *b)
{
	if (ev->command.n)
		rein_buf_escaped(b, ev->command);
	if (ev->has_status && ev->type == REIN_EV_RUN_END)
		rein_buf_printf(b, "%sexit %lld", b->n ? ", " : "", (long long)ev->status);
	if (ev->effects.created || ev->effects.modified || ev->effects.deleted ||
	    ev->effects.renamed)
		rein_buf_printf(b, "%s%llu created, %llu modified, %llu deleted", b->n ? ", " : "",
				(unsigned long long)ev->effects.created,
				(unsigned long long)ev->effects.modified,
				(unsigned long long)ev->effects.deleted);
	if (ev->detail.n) {
		rein_buf_cstr(b, b->n ? " - " : "");
		rein_buf_escaped(b, ev->detail);
	}
	if (!ev->detail.n && ev->reason.n) {
		rein_buf_cstr(b, b->n ? " - " : "");
		rein_buf_escaped(b, ev->reason);
	}
	if (ev->rule.n) {
		rein_buf_cstr(b, b->n ? " - rule " : "rule ");
		rein_buf_escaped(b, ev->rule);
	}
	for (size_t i = 0; i < ev->napprover; i++) {
		rein_buf_cstr(b, i ? ", " : b->n ? " - by " : "by ");
		rein_buf_escaped(b, ev->approver[i]);
	}
	if (!b->n && ev->effects.npeer)
		rein_buf_escaped(b, ev->effects.peer[0]);
}

/* Cut to a number of columns; counts characters, not bytes. */
static void fit(struct rein_buf *b, unsigned columns, bool utf8)
{
	size_t i = 0;
	unsigned n = 0;

	while (i < b->n) {
		size_t len = rein_utf8_len(b->p + i, b->n - i);

		if (n + 1 == columns && i + (len ? len : 1) < b->n) {
			b->n = i;
			rein_buf_cstr(b, utf8 ? "\xe2\x80\xa6" : ">");
			return;
		}
		i += len ? len : 1;
		n++;
	}
}

static void show_line(struct screen *s, const struct rein_event *ev, struct rein_buf *out)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 17);
	char when[32];
	uint64_t day = ev->time_ns / (86400 * REIN_NS_PER_S);
	struct rein_str word = ev->decision.n ? ev->decision : ev->result;
	struct rein_str name = ev->txn.n ? ev->txn : ev->id;

	rein_audit_time(ev->time_ns, REIN_AUDIT_DATE, when, sizeof(when));
	if (day != s->last_day)
		rein_buf_printf(out, "%s%s%s\n", paint(s, "\033[1m"), when, paint(s, RESET));
	s->last_day = day;
	rein_audit_time(ev->time_ns, REIN_AUDIT_CLOCK, when, sizeof(when));
	gist(ev, &b);
	fit(&b, s->width > 70 ? s->width - 62 : 20, s->utf8);
	rein_buf_printf(out, "%s%s %-16.*s%s %-10.10s %s%-7.*s%s %-11.*s %-8.*s %s\n",
			paint(s, "\033[2m"), when, (int)name.n, name.p ? name.p : "",
			paint(s, RESET), rein_event_type_name(ev->type), colour_of(s, ev),
			(int)word.n, word.p ? word.p : "", paint(s, RESET), (int)ev->level.n,
			ev->level.p ? ev->level.p : "", (int)(ev->agent.n > 8 ? 8 : ev->agent.n),
			ev->agent.p ? ev->agent.p : "", b.p ? b.p : "");
}

struct listing {
	struct rein_audit *a;
	struct screen screen;
};

static void event_text(struct listing *l, uint64_t line, struct rein_str text,
		       const struct rein_event *ev, struct rein_buf *b)
{
	if (l->a->json)
		rein_export_format("jsonl")->event(b, line, text, ev);
	else
		show_line(&l->screen, ev, b);
}

struct kept {
	uint64_t line;
	char *text;
	size_t n;
};

struct collect {
	struct kept *v;
	size_t n, cap;
};

static int on_found(void *arg, uint64_t line, struct rein_str text, const struct rein_event *ev,
		    struct rein_err *err)
{
	struct collect *c = arg;

	(void)ev;
	if (rein_grow(c->v, c->n, c->cap) < 0)
		return rein_err_nomem(err);
	c->v[c->n].line = line;
	c->v[c->n].n = text.n;
	c->v[c->n].text = rein_strndup(text.p, text.n);
	return c->v[c->n].text ? (c->n++, 0) : rein_err_nomem(err);
}

static void collect_done(struct collect *c)
{
	for (size_t i = 0; i < c->n; i++)
		rein_free(c->v[i].text);
	rein_free(c->v);
}

static void print_kept(struct listing *l, const struct kept *k)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 18);
	struct rein_str text = {k->text, k->n};
	struct rein_event_read r;
	struct rein_err ignored = {0};

	if (rein_event_parse(text, &r, &ignored) < 0)
		return;
	event_text(l, k->line, text, &r.ev, &b);
	rein_event_read_done(&r);
	if (!b.failed)
		fwrite(b.p, 1, b.n, stdout);
}

static int on_followed(void *arg, const struct rein_line *line, struct rein_err *err)
{
	struct listing *l = arg;
	struct kept k = {
		.line = line->index, .text = (char *)(uintptr_t)line->text.p, .n = line->text.n};
	struct rein_event_read r;
	struct rein_err ignored = {0};

	(void)err;
	if (rein_event_parse(line->text, &r, &ignored) < 0)
		return 0;
	if (rein_filter_match(&l->a->filter, &r.ev))
		print_kept(l, &k);
	rein_event_read_done(&r);
	return 0;
}

static int open_index(struct rein_audit *a, const struct rein_index_ops **ops,
		      struct rein_index **x)
{
	if (rein_index_load(ops, &a->err) < 0 || (*ops)->open(a->state, false, x, &a->err) < 0)
		return rein_audit_fail(a);
	return 0;
}

int rein_audit_log(struct rein_audit *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct collect c = {0};
	struct listing l = {.a = a, .screen = screen()};
	uint64_t count = a->follow ? 10 : 100, before = 0, from;
	int rc = open_index(a, &ops, &x);

	if (rc)
		return rc;
	if ((a->count && !rein_parse_u64(a->count, 100000000, &count)) ||
	    (a->before && !rein_parse_u64(a->before, UINT64_MAX / 2, &before))) {
		ops->close(x);
		return rein_audit_usage(a, "not a number:", a->count ? a->count : a->before);
	}
	rc = ops->query(x, &a->filter, count, before, on_found, &c, &a->err);
	from = ops->lines(x);
	ops->close(x);
	if (rc >= 0) {
		rein_ui_page(!a->no_pager && !a->json && !a->follow);
		l.screen.colour = *rein_ui(stdout, REIN_BOLD) != '\0';
		if (!c.n && !a->json && !a->follow)
			fprintf(stderr, "rein: nothing in the record matches\n");
		for (size_t i = 0; i < c.n; i++) /* oldest first, as a log is read */
			print_kept(&l, &c.v[a->reverse ? i : c.n - 1 - i]);
		rein_ui_page_end();
		if (a->follow)
			rc = rein_record_follow(a->state, from, on_followed, &l, stdout, &a->err);
	}
	collect_done(&c);
	return rc < 0 ? rein_audit_fail(a) : 0;
}

/* --- show ----------------------------------------------------------------------------------- */

static void field(struct rein_buf *b, const struct screen *s, const char *name, struct rein_str v)
{
	if (!v.n)
		return;
	rein_buf_printf(b, "    %s%-10s%s ", paint(s, "\033[2m"), name, paint(s, RESET));
	rein_buf_escaped(b, v);
	rein_buf_char(b, '\n');
}

static void duration(uint64_t ns, char out[32])
{
	double s = (double)ns / 1e9;

	if (s < 0.001)
		snprintf(out, 32, "%.0f us", s * 1e6);
	else if (s < 1)
		snprintf(out, 32, "%.0f ms", s * 1e3);
	else
		snprintf(out, 32, "%.1f s", s);
}

static void show_event(struct listing *l, const struct rein_event *ev, uint64_t line,
		       uint64_t since, struct rein_buf *b)
{
	const struct screen *s = &l->screen;
	char when[32], after[32], num[32];

	rein_audit_time(ev->time_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, when, sizeof(when));
	duration(ev->time_ns - since, after);
	rein_buf_printf(b, "%s%s%s  %s+%s%s  %s%s%s", paint(s, "\033[2m"), when, paint(s, RESET),
			paint(s, "\033[2m"), after, paint(s, RESET), paint(s, "\033[1m"),
			rein_event_type_name(ev->type), paint(s, RESET));
	if (ev->decision.n || ev->result.n)
		rein_buf_printf(b, "  %s%.*s%s%.*s%s", colour_of(s, ev), (int)ev->decision.n,
				ev->decision.p ? ev->decision.p : "",
				ev->decision.n && ev->result.n ? " " : "", (int)ev->result.n,
				ev->result.p ? ev->result.p : "", paint(s, RESET));
	rein_buf_char(b, '\n');
	field(b, s, "command", ev->command);
	field(b, s, "in", ev->cwd);
	field(b, s, "level", ev->level);
	field(b, s, "reach", ev->reach);
	field(b, s, "rule", ev->rule);
	field(b, s, "reason", ev->reason);
	for (size_t i = 0; i < ev->napprover; i++)
		field(b, s, i ? "" : "by", ev->approver[i]);
	if (ev->has_status) {
		snprintf(num, sizeof(num), "%lld", (long long)ev->status);
		field(b, s, "exit", rein_str(num));
	}
	if (ev->duration_ns) {
		duration(ev->duration_ns, num);
		field(b, s, "took", rein_str(num));
	}
	if (ev->effects.created || ev->effects.modified || ev->effects.deleted) {
		char text[96];

		snprintf(text, sizeof(text), "%llu created, %llu modified, %llu deleted",
			 (unsigned long long)ev->effects.created,
			 (unsigned long long)ev->effects.modified,
			 (unsigned long long)ev->effects.deleted);
		field(b, s, "effects", rein_str(text));
	}
	for (size_t i = 0; i < ev->effects.npath; i++)
		field(b, s, i ? "" : "paths", ev->effects.path[i]);
	for (size_t i = 0; i < ev->effects.npeer; i++)
		field(b, s, i ? "" : "hosts", ev->effects.peer[i]);
	field(b, s, "detail", ev->detail);
	field(b, s, "output", ev->excerpt);
	snprintf(num, sizeof(num), "%.*s, line %llu", (int)ev->id.n, ev->id.p ? ev->id.p : "",
		 (unsigned long long)line);
	field(b, s, "event", rein_str(num));
}

int rein_audit_show(struct rein_audit *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct collect c = {0};
	struct listing l = {.a = a, .screen = screen()};
	uint64_t began = 0;
	int rc;

	if (a->nrest != 1)
		return rein_audit_usage(a, "show needs one event, action or transaction", NULL);
	rc = open_index(a, &ops, &x);
	if (rc)
		return rc;
	rc = ops->story(x, a->rest[0], on_found, &c, &a->err);
	ops->close(x);
	if (rc >= 0)
		rein_ui_page(!a->no_pager && !a->json);
	for (size_t i = 0; rc >= 0 && i < c.n; i++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 18);
		struct rein_str text = {c.v[i].text, c.v[i].n};
		struct rein_event_read r;

		if (rein_event_parse(text, &r, &a->err) < 0)
			continue;
		began = began ? began : r.ev.time_ns;
		if (!i && !a->json) {
			rein_buf_printf(&b, "%sAction %.*s%s", paint(&l.screen, "\033[1m"),
					(int)r.ev.action.n, r.ev.action.p ? r.ev.action.p : "",
					paint(&l.screen, RESET));
			rein_buf_printf(&b, "  agent %.*s  user %.*s  host %.*s\n\n",
					(int)r.ev.agent.n, r.ev.agent.p ? r.ev.agent.p : "",
					(int)r.ev.user.n, r.ev.user.p ? r.ev.user.p : "",
					(int)r.ev.host.n, r.ev.host.p ? r.ev.host.p : "");
		}
		if (a->json)
			event_text(&l, c.v[i].line, text, &r.ev, &b);
		else
			show_event(&l, &r.ev, c.v[i].line,
				   r.ev.time_ns < began ? r.ev.time_ns : began, &b);
		rein_event_read_done(&r);
		fwrite(b.p, 1, b.n, stdout);
	}
	rein_ui_page_end();
	collect_done(&c);
	return rc < 0 ? rein_audit_fail(a) : 0;
}

int rein_audit_similar(struct rein_audit *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct rein_similar found[5];
	auto_buf struct rein_buf words = REIN_BUF(1 << 16), out = REIN_BUF(1 << 16);
	struct rein_json j = {.b = &out};
	int n;

	for (int i = 0; i < a->nrest; i++) {
		rein_buf_cstr(&words, i ? " " : "");
		rein_buf_cstr(&words, a->rest[i]);
	}
	if (!words.n)
		return rein_audit_usage(a, "similar needs a command", NULL);
	n = open_index(a, &ops, &x);
	if (n)
		return n;
	n = ops->similar(x, (struct rein_str){words.p, words.n}, found, 5, &a->err);
	ops->close(x);
	if (n < 0)
		return rein_audit_fail(a);
	rein_json_open(&j, '[');
	for (int i = 0; i < n; i++) {
		char when[32];

		rein_audit_time(found[i].time_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, when,
				sizeof(when));
		if (!a->json)
			printf("%3.0f %%  %s  %-12s %-7s%s%s  %s\n", found[i].score * 100, when,
			       found[i].result[0] ? found[i].result : "-", found[i].decision,
			       found[i].undone[0] ? " " : "", found[i].undone, found[i].command);
		rein_json_open(&j, '{');
		rein_json_ku64(&j, "line", found[i].line);
		rein_json_ku64(&j, "time_ns", found[i].time_ns);
		rein_json_key(&j, "score");
		rein_json_double(&j, found[i].score);
		rein_json_kstr(&j, "action", found[i].action);
		rein_json_kstr(&j, "decision", found[i].decision);
		rein_json_kstr(&j, "result", found[i].result);
		rein_json_kstr(&j, "undone", found[i].undone);
		rein_json_kstr(&j, "command", found[i].command);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	if (a->json)
		puts(out.p);
	else if (!n)
		fprintf(stderr, "rein: nothing similar was done before\n");
	return 0;
}
