/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein audit: look at the record, prove it, hand it on, keep it in shape. One table of verbs, one
 * table of options; what each verb does is a function below.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "model/event.h"
#include "record/alert.h"
#include "record/anchor.h"
#include "record/event.h"
#include "record/export.h"
#include "record/filter.h"
#include "record/index.h"
#include "record/proof.h"
#include "record/prune.h"
#include "record/report.h"
#include "record/tail.h"

struct args {
	struct rein_filter filter;
	const char *since, *until, *format, *output, *anchor, *key, *archive, *reason, *keep_age,
		*keep_size, *count, *command, *before;
	bool json, follow, no_pager, all, incremental, dry_run, list, syslog, reverse;
	char **rest;
	int nrest;
	const char *state;
	struct rein_err err;
};

#define ARG(m) offsetof(struct args, m)

static const struct option {
	const char *name;
	char letter;
	bool flag;
	size_t at;
} options[] = {
	{"agent", 'a', false, ARG(filter.agent)},
	{"session", 0, false, ARG(filter.session)},
	{"level", 'l', false, ARG(filter.level)},
	{"decision", 'd', false, ARG(filter.decision)},
	{"result", 0, false, ARG(filter.result)},
	{"type", 't', false, ARG(filter.type)},
	{"txn", 0, false, ARG(filter.txn)},
	{"action", 0, false, ARG(filter.action)},
	{"user", 'u', false, ARG(filter.user)},
	{"path", 'p', false, ARG(filter.path)},
	{"text", 'g', false, ARG(filter.text)},
	{"since", 's', false, ARG(since)},
	{"until", 0, false, ARG(until)},
	{"format", 0, false, ARG(format)},
	{"output", 'o', false, ARG(output)},
	{"anchor", 0, false, ARG(anchor)},
	{"key", 0, false, ARG(key)},
	{"archive", 0, false, ARG(archive)},
	{"reason", 0, false, ARG(reason)},
	{"keep-age", 0, false, ARG(keep_age)},
	{"keep-size", 0, false, ARG(keep_size)},
	{"count", 'n', false, ARG(count)},
	{"command", 0, false, ARG(command)},
	{"before", 0, false, ARG(before)},
	{"json", 0, true, ARG(json)},
	{"follow", 'f', true, ARG(follow)},
	{"no-pager", 0, true, ARG(no_pager)},
	{"all", 0, true, ARG(all)},
	{"incremental", 'i', true, ARG(incremental)},
	{"dry-run", 0, true, ARG(dry_run)},
	{"list", 0, true, ARG(list)},
	{"syslog", 0, true, ARG(syslog)},
	{"reverse", 'r', true, ARG(reverse)},
};

static int fail(struct args *a)
{
	return rein_fail(&a->err, a->json);
}

static int usage(struct args *a, const char *what, const char *arg)
{
	rein_err_set(&a->err, REIN_E_USAGE, "audit: %s%s%s. See: rein audit help", what, arg ? " " : "",
		     arg ? arg : "");
	return fail(a);
}

static const struct option *find_option(const char *name, size_t n, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (name ? strlen(options[i].name) == n && memcmp(options[i].name, name, n) == 0
			 : options[i].letter == letter)
			return &options[i];
	return NULL;
}

/* --name=value, --name value, -x value; everything after "--" and every other word is kept. */
static int parse(struct args *a, int argc, char **argv, bool command)
{
	bool only_words = false;

	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value = NULL;
		const struct option *o;
		size_t n;

		if (only_words || w[0] != '-' || !w[1]) {
			a->rest[a->nrest++] = argv[i];
			only_words |= command; /* the rest is somebody else's command line */
			continue;
		}
		if (rein_streq(w, "--")) {
			only_words = true;
			continue;
		}
		n = w[1] == '-' ? strcspn(w + 2, "=") : 0;
		o = w[1] == '-' ? find_option(w + 2, n, 0) : w[2] ? NULL : find_option(NULL, 0, w[1]);
		if (!o)
			return usage(a, "unknown option", w);
		if (n && w[2 + n] == '=')
			value = w + 3 + n;
		if (o->flag) {
			if (value)
				return usage(a, "this option takes no value:", w);
			*(bool *)((char *)a + o->at) = true;
			continue;
		}
		if (!value && i + 1 >= argc)
			return usage(a, "a value is missing after", w);
		*(const char **)((char *)a + o->at) = value ? value : argv[++i];
	}
	return 0;
}

static int times(struct args *a)
{
	uint64_t now = rein_now_ns();

	if (a->since && !rein_filter_time(a->since, now, &a->filter.since_ns))
		return usage(a, "cannot read the time", a->since);
	if (a->until && !rein_filter_time(a->until, now, &a->filter.until_ns))
		return usage(a, "cannot read the time", a->until);
	return 0;
}

char *rein_cli_state_dir(void)
{
	const char *s = getenv("REIN_STATE"), *x = getenv("XDG_STATE_HOME"), *h = getenv("HOME");

	if (s && *s)
		return rein_strdup(s);
	if (x && *x == '/')
		return rein_asprintf("%s/rein", x);
	return rein_asprintf("%s/.local/state/rein", h && *h == '/' ? h : "/root");
}

/* --- showing events ------------------------------------------------------------------------- */

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
	} t[] = {{"deny", "\033[31m"},	    {"refused", "\033[31m"}, {"hold", "\033[33m"},
		 {"held", "\033[33m"},	    {"ask", "\033[33m"},     {"failed", "\033[35m"},
		 {"rolled_back", "\033[35m"}, {"conflict", "\033[35m"}, {"timed_out", "\033[35m"},
		 {"killed", "\033[35m"},    {"allow", "\033[32m"},   {"ok", "\033[32m"},
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

enum { DATE = 1, CLOCK = 2 };

/* In the person's own time zone. */
static void local_time(uint64_t ns, int what, char *out, size_t cap)
{
	time_t t = (time_t)(ns / REIN_NS_PER_S);
	char date[16] = "", clock[16] = "";
	struct tm tm;

	if (localtime_r(&t, &tm)) {
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	}
	snprintf(out, cap, "%s%s%s", what & DATE ? date : "", what == (DATE | CLOCK) ? " " : "",
		 what & CLOCK ? clock : "");
}

/* What a person wants to see of an event in one line. */
static void gist(const struct rein_event *ev, struct rein_buf *b)
{
	if (ev->command.n)
		rein_buf_escaped(b, ev->command);
	if (ev->has_status && ev->type == REIN_EV_RUN_END)
		rein_buf_printf(b, "%sexit %lld", b->n ? ", " : "", (long long)ev->status);
	if (ev->effects.created || ev->effects.modified || ev->effects.deleted || ev->effects.renamed)
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

	local_time(ev->time_ns, DATE, when, sizeof(when));
	if (day != s->last_day)
		rein_buf_printf(out, "%s%s%s\n", paint(s, "\033[1m"), when, paint(s, RESET));
	s->last_day = day;
	local_time(ev->time_ns, CLOCK, when, sizeof(when));
	gist(ev, &b);
	fit(&b, s->width > 70 ? s->width - 62 : 20, s->utf8);
	rein_buf_printf(out, "%s%s %-16.*s%s %-10.10s %s%-7.*s%s %-11.*s %-8.*s %s\n",
			paint(s, "\033[2m"), when, (int)name.n, name.p ? name.p : "", paint(s, RESET),
			rein_event_type_name(ev->type), colour_of(s, ev), (int)word.n,
			word.p ? word.p : "", paint(s, RESET), (int)ev->level.n,
			ev->level.p ? ev->level.p : "", (int)(ev->agent.n > 8 ? 8 : ev->agent.n),
			ev->agent.p ? ev->agent.p : "", b.p ? b.p : "");
}

struct listing {
	struct args *a;
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
	struct kept k = {.line = line->index,
			 .text = (char *)(uintptr_t)line->text.p,
			 .n = line->text.n};
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

static int open_index(struct args *a, const struct rein_index_ops **ops, struct rein_index **x)
{
	if (rein_index_load(ops, &a->err) < 0 || (*ops)->open(a->state, false, x, &a->err) < 0)
		return fail(a);
	return 0;
}

static int audit_log(struct args *a)
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
		return usage(a, "not a number:", a->count ? a->count : a->before);
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
	return rc < 0 ? fail(a) : 0;
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

static void show_event(struct listing *l, const struct rein_event *ev, uint64_t line, uint64_t since,
		       struct rein_buf *b)
{
	const struct screen *s = &l->screen;
	char when[32], after[32], num[32];

	local_time(ev->time_ns, DATE | CLOCK, when, sizeof(when));
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

static int audit_show(struct args *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct collect c = {0};
	struct listing l = {.a = a, .screen = screen()};
	uint64_t began = 0;
	int rc;

	if (a->nrest != 1)
		return usage(a, "show needs one event, action or transaction", NULL);
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
	return rc < 0 ? fail(a) : 0;
}

static int audit_similar(struct args *a)
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
		return usage(a, "similar needs a command", NULL);
	n = open_index(a, &ops, &x);
	if (n)
		return n;
	n = ops->similar(x, (struct rein_str){words.p, words.n}, found, 5, &a->err);
	ops->close(x);
	if (n < 0)
		return fail(a);
	rein_json_open(&j, '[');
	for (int i = 0; i < n; i++) {
		char when[32];

		local_time(found[i].time_ns, DATE | CLOCK, when, sizeof(when));
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

/* --- proving -------------------------------------------------------------------------------- */

static void print_verified(const struct args *a, const struct rein_verify_result *v, bool whole,
			   double seconds)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	struct rein_json j = {.b = &b};
	char root[65], key[65];

	rein_record_hex(v->head.root, 32, root);
	rein_record_hex(v->head.pub, 32, key);
	if (!a->json) {
		if (!whole)
			return;
		printf("whole: %llu lines (%llu events) in %u segment%s, verified in %.2f s\n",
		       (unsigned long long)v->lines, (unsigned long long)v->events, v->segments,
		       v->segments == 1 ? "" : "s", seconds);
		printf("head:  %llu lines, root %s\n", (unsigned long long)v->head.n, root);
		printf("key:   %s\n", key);
		if (v->first)
			printf("note:  lines before %llu were pruned, which is recorded\n",
			       (unsigned long long)v->first);
		if (v->tail)
			printf("note:  %llu line%s at the end not yet under a signed head\n",
			       (unsigned long long)v->tail, v->tail == 1 ? "" : "s");
		if (v->anchors)
			printf("note:  %llu heads kept elsewhere fit\n", (unsigned long long)v->anchors);
		if (v->loss_accepted)
			printf("note:  the record itself says that an earlier one was lost\n");
		return;
	}
	rein_json_open(&j, '{');
	rein_json_kbool(&j, "whole", whole);
	if (!whole)
		rein_json_kstr(&j, "problem", a->err.msg);
	rein_json_ku64(&j, "lines", v->lines);
	rein_json_ku64(&j, "events", v->events);
	rein_json_ku64(&j, "segments", v->segments);
	rein_json_ku64(&j, "first", v->first);
	rein_json_ku64(&j, "tail", v->tail);
	rein_json_ku64(&j, "signatures", v->signatures);
	rein_json_ku64(&j, "anchors", v->anchors);
	rein_json_ku64(&j, "head", v->head.n);
	rein_json_kstr(&j, "root", root);
	rein_json_kstr(&j, "key", key);
	rein_json_kbool(&j, "loss_accepted", v->loss_accepted);
	rein_json_close(&j, '}');
	puts(b.p);
}

static int audit_verify(struct args *a)
{
	struct rein_verify_options o = {.incremental = a->incremental,
					.all_signatures = a->all,
					.all_events = a->all,
					.anchor = a->anchor,
					.archive = a->archive != NULL};
	struct rein_verify_result v;
	uint64_t began = rein_mono_ns();
	uint8_t pinned[32];
	int rc;

	if (a->key) {
		if (strlen(a->key) != 64 || !rein_record_unhex(a->key, 32, pinned))
			return usage(a, "a key is 64 hexadecimal digits, not", a->key);
		o.pinned = pinned;
	}
	if (a->nrest == 1) /* a proof made by: rein audit prove */
		return rein_proof_check_file(a->rest[0], o.pinned, &a->err) < 0
			       ? fail(a)
			       : (puts("the proof holds"), 0);
	rc = rein_record_verify(a->archive ? a->archive : a->state, &o, &v, &a->err);
	print_verified(a, &v, rc == 0, (double)(rein_mono_ns() - began) / 1e9);
	if (rc < 0 && a->err.code == REIN_E_INVALID && !a->json)
		fprintf(stderr, "rein: the record is NOT whole\n      %s\n", a->err.msg);
	else if (rc < 0 && !a->json)
		return fail(a);
	return rc < 0 ? rein_code_exit(a->err.code) : 0;
}

static int open_record(struct args *a, struct rein_record **r)
{
	return rein_record_open(a->state, NULL, r, &a->err) < 0 ? fail(a) : 0;
}

static int audit_prove(struct args *a)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);

	if (a->nrest < 1 || a->nrest > 2)
		return usage(a, "prove needs an event (id or line), or two sizes", NULL);
	if (rein_proof_write(a->state, a->rest[0], a->nrest > 1 ? a->rest[1] : NULL, &b, &a->err) < 0)
		return fail(a);
	fwrite(b.p, 1, b.n, stdout);
	return 0;
}

/* --- handing on ----------------------------------------------------------------------------- */

struct exporting {
	struct args *a;
	const struct rein_export *format;
	FILE *out;
	struct rein_buf b;
};

static int on_export(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct exporting *e = arg;
	struct rein_event_read r;
	struct rein_err ignored = {0};

	if (rein_event_parse(l->text, &r, &ignored) < 0)
		return 0;
	rein_buf_clear(&e->b);
	if (rein_filter_match(&e->a->filter, &r.ev))
		e->format->event(&e->b, l->index, l->text, &r.ev);
	rein_event_read_done(&r);
	if (e->b.failed)
		return rein_err_nomem(err);
	if (e->b.n && fwrite(e->b.p, 1, e->b.n, e->out) != e->b.n)
		return rein_err_errno(err, "write the export");
	return 0;
}

static FILE *open_output(struct args *a)
{
	int fd;

	if (!a->output || rein_streq(a->output, "-"))
		return stdout;
	fd = open(a->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		rein_err_errno(&a->err, "open '%s'", a->output);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static int close_output(struct args *a, FILE *f)
{
	bool bad = fflush(f) != 0;

	if (f != stdout)
		bad |= fclose(f) != 0;
	return bad ? rein_err_errno(&a->err, "write '%s'", a->output ? a->output : "output") : 0;
}

/* Who took what out of the record is part of it. */
static int record_export(struct args *a, struct rein_record *r, const char *format, const char *to)
{
	struct rein_event ev = {.type = REIN_EV_EXPORT};

	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("format"), rein_str(format)};
	ev.extra[ev.nextra++] = (struct rein_event_pair){STR("to"), rein_str(to)};
	return rein_record_append(r, &ev, true, &a->err);
}

static int audit_export(struct args *a)
{
	struct exporting e = {.a = a, .b = REIN_BUF(1 << 20)};
	const char *name = a->format ? a->format : "jsonl";
	struct rein_record *r = NULL;
	int rc = open_record(a, &r);

	if (rc)
		return rc;
	if (a->archive) {
		rc = record_export(a, r, "archive", a->archive);
		if (rc == 0)
			rc = rein_record_archive(r, a->archive, a->filter.since_ns, a->filter.until_ns,
						 &a->err);
		rein_record_close(r);
		if (rc < 0)
			return fail(a);
		fprintf(stderr, "rein: archived in %s\n      check it anywhere: rein audit verify "
				"--archive %s\n", a->archive, a->archive);
		return 0;
	}
	e.format = rein_export_format(name);
	if (!e.format) {
		rein_record_close(r);
		return usage(a, "formats are", rein_export_names);
	}
	e.out = open_output(a);
	rc = e.out ? record_export(a, r, name, a->output ? a->output : "-") : -1;
	if (rc == 0 && e.format->begin) {
		e.format->begin(&e.b);
		fwrite(e.b.p, 1, e.b.n, e.out);
	}
	if (rc == 0)
		rc = rein_record_lines(a->state, on_export, &e, &a->err);
	if (e.out && close_output(a, e.out) < 0)
		rc = -1;
	rein_buf_done(&e.b);
	rein_record_close(r);
	return rc < 0 ? fail(a) : 0;
}

struct counting {
	struct args *a;
	struct rein_stats s;
};

static int on_count(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct counting *c = arg;
	struct rein_event_read r;
	struct rein_err ignored = {0};
	int rc = 0;

	if (rein_event_parse(l->text, &r, &ignored) < 0)
		return 0;
	if (rein_filter_match(&c->a->filter, &r.ev))
		rc = rein_stats_add(&c->s, &r.ev, err);
	rein_event_read_done(&r);
	return rc;
}

static int audit_report(struct args *a)
{
	auto_buf struct rein_buf b = REIN_BUF(64 << 20);
	struct counting *c = rein_alloc(sizeof(*c));
	struct rein_verify_result v;
	struct rein_report rep = {.verify = &v, .made_ns = rein_now_ns()};
	struct rein_err why = {0};
	char host[65] = "";
	FILE *f = NULL;
	int rc;

	if (!c)
		return rein_err_nomem(&a->err), fail(a);
	c->a = a;
	rc = rein_record_verify(a->state, NULL, &v, &why);
	if (rc < 0 && rc != -REIN_E_INVALID) {
		a->err = why;
		goto out;
	}
	rep.broken = rc < 0 ? why.msg : NULL;
	rc = rein_record_lines(a->state, on_count, c, &a->err);
	if (rc < 0)
		goto out;
	rein_stats_finish(&c->s);
	gethostname(host, sizeof(host) - 1);
	rep.stats = &c->s;
	rep.host = host;
	rep.since_ns = a->filter.since_ns;
	rep.until_ns = a->filter.until_ns;
	if (!rein_report_write(&rep, a->format ? a->format : "md", &b)) {
		rc = rein_err_set(&a->err, REIN_E_USAGE, "report formats are html, md and json");
		goto out;
	}
	f = open_output(a);
	rc = !f || b.failed || fwrite(b.p, 1, b.n, f) != b.n ? -1 : close_output(a, f);
out:
	rein_stats_done(&c->s);
	rein_free(c);
	return rc < 0 ? fail(a) : 0;
}

/* --- upkeep --------------------------------------------------------------------------------- */

static int audit_prune(struct args *a)
{
	struct rein_prune_options o = {.dry_run = a->dry_run, .keep_segments = 1};
	struct rein_prune_result res;
	struct rein_record *r = NULL;
	int rc;

	if ((a->keep_age && !rein_parse_duration(a->keep_age, &o.keep_ns)) ||
	    (a->keep_size && !rein_parse_size(a->keep_size, &o.keep_bytes)))
		return usage(a, "cannot read", a->keep_age ? a->keep_age : a->keep_size);
	rc = open_record(a, &r);
	if (rc)
		return rc;
	if (!o.keep_ns && !o.keep_bytes)
		rein_record_retention(r, &o.keep_ns, &o.keep_bytes);
	if (!o.keep_ns && !o.keep_bytes) {
		rein_record_close(r);
		return usage(a, "say what to keep: --keep-age 90d or --keep-size 1G", NULL);
	}
	rc = rein_record_prune(r, &o, &res, &a->err);
	rein_record_close(r);
	if (rc < 0)
		return fail(a);
	printf("%s %u segment%s (%llu bytes); the record now begins at line %llu%s\n",
	       a->dry_run ? "would remove" : "removed", res.segments, res.segments == 1 ? "" : "s",
	       (unsigned long long)res.bytes, (unsigned long long)res.first_line,
	       res.held ? "; a legal hold keeps the rest" : "");
	return 0;
}

static int list_holds(struct args *a)
{
	auto_free struct rein_hold *h = NULL;
	size_t n = 0;

	if (rein_record_list_holds(a->state, &h, &n, &a->err) < 0)
		return fail(a);
	for (size_t i = 0; i < n; i++) {
		char since[32], until[32];

		local_time(h[i].since_ns, DATE | CLOCK, since, sizeof(since));
		local_time(h[i].until_ns, DATE | CLOCK, until, sizeof(until));
		printf("%s  %s to %s  %s\n", h[i].id, h[i].since_ns ? since : "the beginning",
		       h[i].until_ns ? until : "further notice", h[i].reason);
	}
	return 0;
}

static int audit_hold(struct args *a)
{
	struct rein_record *r = NULL;
	int rc;

	if (a->list)
		return list_holds(a);
	if (!a->reason)
		return usage(a, "a hold needs a reason: --reason TEXT", NULL);
	rc = open_record(a, &r);
	if (rc)
		return rc;
	rc = rein_record_hold(r, a->filter.since_ns, a->filter.until_ns, a->reason, &a->err);
	if (rc == 0)
		printf("held: %s\n", rein_record_last_id(r));
	rein_record_close(r);
	return rc < 0 ? fail(a) : 0;
}

static int audit_release(struct args *a)
{
	struct rein_record *r = NULL;
	int rc;

	if (a->nrest != 1 || !a->reason)
		return usage(a, "release needs the id of a hold and --reason TEXT", NULL);
	rc = open_record(a, &r);
	if (rc)
		return rc;
	rc = rein_record_release(r, a->rest[0], a->reason, &a->err);
	rein_record_close(r);
	return rc < 0 ? fail(a) : 0;
}

static int audit_rebuild(struct args *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	uint64_t began = rein_mono_ns();

	if (rein_index_load(&ops, &a->err) < 0 || ops->open(a->state, true, &x, &a->err) < 0)
		return fail(a);
	printf("indexed %llu lines in %.1f s\n", (unsigned long long)ops->lines(x),
	       (double)(rein_mono_ns() - began) / 1e9);
	ops->close(x);
	return 0;
}

static int audit_rotate_key(struct args *a)
{
	struct rein_record *r = NULL;
	int rc = open_record(a, &r);

	if (rc)
		return rc;
	rc = rein_record_rotate_key(r, &a->err);
	rein_record_close(r);
	return rc < 0 ? fail(a) : 0;
}

static int audit_anchor(struct args *a)
{
	struct rein_record *r = NULL;
	int rc;

	if (!a->output && !a->command && !a->syslog)
		return usage(a, "say where: --output FILE, --command CMD or --syslog", NULL);
	rc = open_record(a, &r);
	if (rc)
		return rc;
	rc = rein_record_anchor_now(r, a->output, a->command, a->syslog, &a->err);
	rein_record_close(r);
	return rc < 0 ? fail(a) : 0;
}

static int audit_accept_loss(struct args *a)
{
	if (!a->reason)
		return usage(a, "say why: --reason TEXT", NULL);
	return rein_record_accept_loss(a->state, a->reason, &a->err) < 0 ? fail(a) : 0;
}

static int audit_alerts(struct args *a)
{
	int n = rein_alerts_run(a->state, rein_alert_defaults, rein_alert_ndefaults, NULL, NULL,
				&a->err);

	return n < 0 ? fail(a) : 0;
}

static int audit_help(struct args *a);

static const struct {
	const char *name, *args, *help;
	int (*run)(struct args *a);
} verbs[] = {
	{"log", "[filters] [-n N] [-f]", "what happened, newest at the end; -f keeps looking", audit_log},
	{"show", "ID", "the whole story of one action, event or transaction", audit_show},
	{"similar", "COMMAND", "past operations like this one and how they ended", audit_similar},
	{"verify", "[--all] [-i] [--anchor F] [--key HEX] [--archive DIR] [PROOF]",
	 "is the record whole?", audit_verify},
	{"prove", "ID|LINE, or OLD NEW", "a proof that fits a signed head, as JSON", audit_prove},
	{"export", "[filters] [--format F] [-o FILE] | --archive DIR",
	 "jsonl csv cef syslog ocsf; or a copy that verifies elsewhere", audit_export},
	{"report", "[--since T] [--format html|md|json] [-o FILE]", "for people who ask", audit_report},
	{"prune", "--keep-age D | --keep-size S [--dry-run]", "remove old segments, provably", audit_prune},
	{"hold", "[--since T] [--until T] --reason TEXT | --list", "legal hold", audit_hold},
	{"release", "HOLD --reason TEXT", "end a legal hold", audit_release},
	{"anchor", "-o FILE | --command CMD | --syslog", "keep the current head elsewhere", audit_anchor},
	{"alerts", "", "look at what is new and call whoever the rules say", audit_alerts},
	{"rotate-key", "", "a new signing key, vouched for by the old one", audit_rotate_key},
	{"rebuild", "", "make the search index anew", audit_rebuild},
	{"accept-loss", "--reason TEXT", "set a damaged record aside and begin anew", audit_accept_loss},
	{"help", "", "this", audit_help},
};

static int audit_help(struct args *a)
{
	(void)a;
	printf("rein audit VERB [options]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-12s %s\n%15s%s\n", verbs[i].name, verbs[i].help, "", verbs[i].args);
	printf("\nOptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		printf("  %c%c%c --%s%s\n", options[i].letter ? '-' : ' ',
		       options[i].letter ? options[i].letter : ' ', options[i].letter ? ',' : ' ',
		       options[i].name, options[i].flag ? "" : " VALUE");
	return 0;
}

int rein_cli_audit(int argc, char **argv)
{
	auto_free char *state = rein_cli_state_dir();
	auto_free char **rest = rein_calloc((size_t)argc + 1, sizeof(*rest));
	struct args a = {.state = state, .rest = rest};
	const char *verb = argc > 1 ? argv[1] : "help";
	int rc;

	if (!state || !rest)
		return rein_err_nomem(&a.err), fail(&a);
	if (rein_streq(verb, "--help") || rein_streq(verb, "-h"))
		verb = "help";
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!rein_streq(verbs[i].name, verb))
			continue;
		rc = argc > 2 ? parse(&a, argc - 2, argv + 2, verbs[i].run == audit_similar) : 0;
		if (rc == 0)
			rc = times(&a);
		return rc ? rc : verbs[i].run(&a);
	}
	return usage(&a, "unknown verb", verb);
}
