/* SPDX-License-Identifier: Apache-2.0 */
/* rein audit log, show, similar: the record on a screen. */
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/audit.h"
#include "cli/audit_screen.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "record/event.h"
#include "record/export.h"
#include "record/index.h"
#include "record/tail.h"

struct rein_screen rein_screen(void)
{
	unsigned width = rein_ui_width(stdout);

	return (struct rein_screen){.colour = *rein_ui(stdout, REIN_BOLD) != '\0',
				    .utf8 = rein_ui_utf8(),
				    .width = width >= 40 ? width : 200};
}

const char *rein_screen_paint(const struct rein_screen *s, const char *code)
{
	return s->colour ? code : "";
}

static const char *colour_of(const struct rein_screen *s, const struct rein_event *ev)
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
		return rein_screen_paint(s, "\033[1;31m");
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		if (rein_str_eq(ev->result, rein_str(t[i].word)) ||
		    rein_str_eq(ev->decision, rein_str(t[i].word)))
			return rein_screen_paint(s, t[i].code);
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
	    ev->effects.renamed) {
		rein_buf_cstr(b, b->n ? ", " : "");
		rein_screen_effects(ev, b);
	}
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
	if (!b->n)
		for (size_t i = 0; i < ev->nextra && i < 4; i++) {
			rein_buf_printf(b, "%s%.*s ", i ? ", " : "", (int)ev->extra[i].key.n,
					ev->extra[i].key.p);
			rein_buf_escaped(b, ev->extra[i].value);
		}
}

/* Cut to a number of columns; counts characters, not bytes. */
void rein_screen_fit(struct rein_buf *b, unsigned columns, bool utf8)
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

void rein_screen_day(struct rein_screen *s, uint64_t time_ns, struct rein_buf *out)
{
	char day[16];

	rein_audit_time(time_ns, REIN_AUDIT_DATE, day, sizeof(day));
	if (!rein_streq(day, s->last_day))
		rein_buf_printf(out, "%s%s%s\n", rein_screen_paint(s, "\033[1m"), day,
				rein_screen_paint(s, REIN_SCREEN_RESET));
	snprintf(s->last_day, sizeof(s->last_day), "%s", day);
}

void rein_screen_effects(const struct rein_event *ev, struct rein_buf *b)
{
	const struct {
		uint64_t n;
		const char *word;
	} rows[] = {{ev->effects.created, "created"},
		    {ev->effects.modified, "modified"},
		    {ev->effects.deleted, "deleted"},
		    {ev->effects.renamed, "renamed"}};
	bool first = true;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].n)
			continue;
		rein_buf_printf(b, "%s%llu %s", first ? "" : ", ", (unsigned long long)rows[i].n,
				rows[i].word);
		first = false;
	}
}

void rein_screen_event(struct rein_screen *s, const struct rein_event *ev, struct rein_buf *out)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 17), agent = REIN_BUF(1 << 17);
	char when[32];
	struct rein_str word = ev->decision.n ? ev->decision : ev->result;
	struct rein_str name = ev->txn.n ? ev->txn : ev->id;

	rein_screen_day(s, ev->time_ns, out);
	rein_audit_time(ev->time_ns, REIN_AUDIT_CLOCK, when, sizeof(when));
	gist(ev, &b);
	rein_buf_escaped(&agent, ev->agent);
	rein_screen_fit(&b, s->width > 70 ? s->width - 62 : 20, s->utf8);
	rein_buf_printf(out, "%s%s %-16.*s%s %-10.10s %s%-7.*s%s %-11.*s %-8.*s %s\n",
			rein_screen_paint(s, "\033[2m"), when, (int)name.n, name.p ? name.p : "",
			rein_screen_paint(s, REIN_SCREEN_RESET), rein_event_type_name(ev->type),
			colour_of(s, ev), (int)word.n, word.p ? word.p : "",
			rein_screen_paint(s, REIN_SCREEN_RESET), (int)ev->level.n,
			ev->level.p ? ev->level.p : "", (int)(agent.n > 8 ? 8 : agent.n),
			agent.p ? agent.p : "", b.p ? b.p : "");
}

struct listing {
	struct rein_audit *a;
	struct rein_screen screen;
};

static void event_text(struct listing *l, uint64_t line, struct rein_str text,
		       const struct rein_event *ev, struct rein_buf *b)
{
	if (l->a->json)
		rein_export_format("jsonl")->event(b, line, text, ev);
	else
		rein_screen_event(&l->screen, ev, b);
}

int rein_collect(void *arg, uint64_t line, struct rein_str text, const struct rein_event *ev,
		 struct rein_err *err)
{
	struct rein_collected *c = arg;

	(void)ev;
	if (rein_grow(c->v, c->n, c->cap) < 0)
		return rein_err_nomem(err);
	c->v[c->n].line = line;
	c->v[c->n].n = text.n;
	c->v[c->n].text = rein_strndup(text.p, text.n);
	return c->v[c->n].text ? (c->n++, 0) : rein_err_nomem(err);
}

void rein_collected_done(struct rein_collected *c)
{
	for (size_t i = 0; i < c->n; i++)
		rein_free(c->v[i].text);
	rein_free(c->v);
}

static void print_kept(struct listing *l, const struct rein_kept *k)
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
	struct rein_kept k = {
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
	struct rein_collected c = {0};
	struct listing l = {.a = a, .screen = rein_screen()};
	uint64_t count = a->follow ? 10 : 100, before = 0, from;
	int rc = open_index(a, &ops, &x);

	if (rc)
		return rc;
	if ((a->count && !rein_parse_u64(a->count, 100000000, &count)) ||
	    (a->before && !rein_parse_u64(a->before, UINT64_MAX / 2, &before))) {
		ops->close(x);
		return rein_audit_usage(a, "-n and --before take a number", NULL);
	}
	if (!a->json && !a->follow && !a->events && !a->filter.type) {
		count = a->count ? count : 50;
		rc = rein_audit_actions(a, ops, x, count, before);
		ops->close(x);
		return rc < 0 ? rein_audit_fail(a) : 0;
	}
	rc = ops->query(x, &a->filter, count, before, rein_collect, &c, &a->err);
	from = ops->lines(x);
	ops->close(x);
	if (rc >= 0) {
		rein_ui_page(!a->no_pager && !a->json && !a->follow);
		l.screen.colour = *rein_ui(stdout, REIN_BOLD) != '\0';
		if (!c.n && !a->follow)
			rein_audit_note(a, "nothing in the record matches");
		for (size_t i = 0; i < c.n; i++) /* oldest first, as a log is read */
			print_kept(&l, &c.v[a->reverse ? i : c.n - 1 - i]);
		rein_ui_page_end();
		if (a->follow)
			rc = rein_record_follow(a->state, from, on_followed, &l, stdout, &a->err);
	}
	rein_collected_done(&c);
	return rc < 0 ? rein_audit_fail(a) : 0;
}

/* --- show ----------------------------------------------------------------------------------- */

static void field(struct rein_buf *b, const struct rein_screen *s, const char *name,
		  struct rein_str v)
{
	if (!v.n)
		return;
	rein_buf_printf(b, "    %s%-10s%s ", rein_screen_paint(s, "\033[2m"), name,
			rein_screen_paint(s, REIN_SCREEN_RESET));
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

/* What an earlier event of the story said already is not said again. */
struct told {
	char level[24], reach[24];
	uint64_t command, cwd, paths; /* hashes */
};

static uint64_t hash_str(uint64_t h, struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211ull;
	return h * 31 + s.n;
}

static bool is_news(uint64_t *told, uint64_t now)
{
	bool news = *told != now;

	*told = now;
	return news;
}

static bool is_new_word(char told[24], struct rein_str now)
{
	if (!now.n || (strlen(told) == now.n && memcmp(told, now.p, now.n) == 0))
		return false;
	snprintf(told, 24, "%.*s", (int)(now.n < 23 ? now.n : 23), now.p);
	return true;
}

static void show_numbers(const struct rein_screen *s, const struct rein_event *ev,
			 struct told *told, struct rein_buf *b)
{
	auto_buf struct rein_buf effects = REIN_BUF(256);
	uint64_t paths = 14695981039346656037ull;
	char num[48];

	if (ev->has_status) {
		snprintf(num, sizeof(num), "%lld", (long long)ev->status);
		field(b, s, "exit", rein_str(num));
	}
	if (ev->duration_ns) {
		duration(ev->duration_ns, num);
		field(b, s, "took", rein_str(num));
	}
	if (ev->used.max_rss_kib) {
		snprintf(num, sizeof(num), "%.1f MB", (double)ev->used.max_rss_kib / 1024);
		field(b, s, "memory", rein_str(num));
	}
	for (size_t i = 0; i < ev->effects.npath; i++)
		paths = hash_str(paths, ev->effects.path[i]);
	if (!ev->effects.npath || is_news(&told->paths, paths)) {
		rein_screen_effects(ev, &effects);
		field(b, s, "effects", (struct rein_str){effects.p, effects.n});
		for (size_t i = 0; i < ev->effects.npath; i++)
			field(b, s, i ? "" : "paths", ev->effects.path[i]);
		if (ev->effects.npath && ev->effects.paths_total > ev->effects.npath) {
			snprintf(num, sizeof(num), "and %llu more",
				 (unsigned long long)(ev->effects.paths_total - ev->effects.npath));
			field(b, s, "", rein_str(num));
		}
	}
	for (size_t i = 0; i < ev->effects.npeer; i++)
		field(b, s, i ? "" : "hosts", ev->effects.peer[i]);
}

static void show_event(const struct rein_screen *s, const struct rein_event *ev, uint64_t line,
		       uint64_t since, struct told *told, struct rein_buf *b)
{
	char when[32], after[32];

	rein_audit_time(ev->time_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, when, sizeof(when));
	duration(ev->time_ns - since, after);
	rein_buf_printf(b, "%s%s %8s%s  %s%-10s%s", rein_screen_paint(s, "\033[2m"), when, after,
			rein_screen_paint(s, REIN_SCREEN_RESET), rein_screen_paint(s, "\033[1m"),
			rein_event_type_name(ev->type), rein_screen_paint(s, REIN_SCREEN_RESET));
	rein_buf_printf(b, " %s%.*s%s%.*s%s", colour_of(s, ev), (int)ev->decision.n,
			ev->decision.p ? ev->decision.p : "",
			ev->decision.n && ev->result.n ? " " : "", (int)ev->result.n,
			ev->result.p ? ev->result.p : "", rein_screen_paint(s, REIN_SCREEN_RESET));
	rein_buf_printf(b, " %s(line %llu)%s\n", rein_screen_paint(s, "\033[2m"),
			(unsigned long long)line, rein_screen_paint(s, REIN_SCREEN_RESET));
	if (ev->command.n && is_news(&told->command, hash_str(1, ev->command)))
		field(b, s, "command", ev->command);
	if (ev->cwd.n && is_news(&told->cwd, hash_str(1, ev->cwd)))
		field(b, s, "in", ev->cwd);
	if (is_new_word(told->level, ev->level))
		field(b, s, "level", ev->level);
	if (is_new_word(told->reach, ev->reach))
		field(b, s, "reach", ev->reach);
	field(b, s, "rule", ev->rule);
	field(b, s, "reason", ev->reason);
	for (size_t i = 0; i < ev->napprover; i++)
		field(b, s, i ? "" : "by", ev->approver[i]);
	show_numbers(s, ev, told, b);
	field(b, s, "detail", ev->detail);
	field(b, s, "output", ev->excerpt);
}

int rein_audit_show(struct rein_audit *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct rein_collected c = {0};
	struct listing l = {.a = a, .screen = rein_screen()};
	struct told told = {0};
	uint64_t began = 0;
	int rc;

	if (a->nrest != 1)
		return rein_audit_usage(a, "show needs one event, action or transaction", NULL);
	rc = open_index(a, &ops, &x);
	if (rc)
		return rc;
	rc = ops->story(x, a->rest[0], rein_collect, &c, &a->err);
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
			rein_buf_printf(&b, "%sAction %.*s%s",
					rein_screen_paint(&l.screen, "\033[1m"), (int)r.ev.action.n,
					r.ev.action.p ? r.ev.action.p : "",
					rein_screen_paint(&l.screen, REIN_SCREEN_RESET));
			rein_buf_cstr(&b, "  agent ");
			rein_buf_escaped(&b, r.ev.agent);
			rein_buf_cstr(&b, "  user ");
			rein_buf_escaped(&b, r.ev.user);
			rein_buf_cstr(&b, "  host ");
			rein_buf_escaped(&b, r.ev.host);
			rein_buf_cstr(&b, "\n\n");
		}
		if (a->json)
			event_text(&l, c.v[i].line, text, &r.ev, &b);
		else
			show_event(&l.screen, &r.ev, c.v[i].line,
				   r.ev.time_ns < began ? r.ev.time_ns : began, &told, &b);
		rein_event_read_done(&r);
		fwrite(b.p, 1, b.n, stdout);
	}
	rein_ui_page_end();
	rein_collected_done(&c);
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
		auto_buf struct rein_buf command = REIN_BUF(1 << 20);
		char when[32];

		rein_buf_escaped(&command, rein_str(found[i].command));
		rein_audit_time(found[i].time_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, when,
				sizeof(when));
		if (!a->json)
			printf("%3.0f %%  %s  %-12s %-7s%s%s  %s\n", found[i].score * 100, when,
			       found[i].result[0] ? found[i].result : "-", found[i].decision,
			       found[i].undone[0] ? " " : "", found[i].undone, command.p ? command.p : "");
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
		rein_audit_note(a, "nothing similar was done before");
	return 0;
}
