/* SPDX-License-Identifier: Apache-2.0 */
/* log, show, status, gc: what there is. */
#include <limits.h>
#include <unistd.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/execs.h"
#include "engine/refused.h"

struct log_args {
	uint64_t count;
	bool all, ids;
	int state;
};

const struct rein_opt rein_log_opts[] = {
	{"count", 'n', REIN_OPT_NUMBER, offsetof(struct log_args, count), "N", "at most N", 0},
	{"all", 'a', REIN_OPT_FLAG, offsetof(struct log_args, all), NULL, "of every workspace", 0},
	{"ids", 0, REIN_OPT_FLAG, offsetof(struct log_args, ids), NULL, "only the ids", 0},
	{"state", 0, REIN_OPT_CHOICE, offsetof(struct log_args, state), "running|held|committed|undone|discarded", "only those", 0},
	{0},
};

static enum rein_colour state_colour(int state)
{
	return state == REIN_TX_HELD	    ? REIN_YELLOW
	       : state == REIN_TX_COMMITTED ? REIN_GREEN
	       : state == REIN_TX_RUNNING   ? REIN_CYAN
					    : REIN_DIM;
}

/* Nobody knows what one did that has not ended: its changes are looked for then. */
static void summarize(const struct rein_engine *e, const struct rein_tx *t, struct rein_buf *b)
{
	if (t->state != REIN_TX_RUNNING)
		rein_ui_summary(b, &t->sum);
	else if (rein_tx_alive(&e->state, t->id))
		rein_buf_cstr(b, "not ended yet");
	else
		rein_buf_cstr(b, "its process is gone, and what it did is not known");
}

static void print_row(const struct rein_engine *e, const struct rein_tx *t, uint64_t now, unsigned width)
{
	auto_buf struct rein_buf sum = REIN_BUF(4096);
	size_t room = width > 42 ? width - 30 : width ? 12 : 1000;

	summarize(e, t, &sum);
	printf("%s%-6s%s %s%-9s%s %-11s %s\n", rein_ui(stdout, REIN_BOLD), t->id, rein_ui_off(stdout),
	       rein_ui(stdout, state_colour(t->state)), rein_tx_state_name(t->state),
	       rein_ui_off(stdout), rein_ui_ago(t->created_ns, now),
	       rein_ui_command(t->argv, t->argc, room));
	printf("       %s%s%s%s%s\n", rein_ui(stdout, REIN_DIM), sum.p ? sum.p : "",
	       t->reason ? "; " : "", t->reason ? rein_ui_path(t->reason) : "", rein_ui_off(stdout));
}

static void print_review(const struct rein_review *r)
{
	const uint64_t now = rein_now_ns();

	printf("to approve  %u of ", r->minimum ? r->minimum : 1);
	for (size_t i = 0; i < r->by.n; i++)
		printf("%s%s", i ? ", " : "", rein_ui_path(r->by.v[i]));
	if (!r->by.n)
		printf("anybody");
	if (r->until_ns)
		printf(now < r->until_ns ? ", within %s\n" : ", too late by %s\n",
		       rein_ui_seconds(now < r->until_ns ? r->until_ns - now : now - r->until_ns));
	else
		putchar('\n');
}

static void print_list_json(const struct rein_tx **v, size_t n)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_key(&j, "transactions");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		rein_json_open(&j, '{');
		rein_json_tx(&j, v[i]);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

/* Those of this workspace, or of all; the caller's array has room for every one. */
static size_t choose(const struct rein_tx_list *l, bool all, int state, size_t max,
		     const struct rein_tx **ret)
{
	char cwd[PATH_MAX];
	size_t n = 0;

	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	for (size_t i = 0; i < l->n && (!max || n < max); i++) {
		const struct rein_tx *t = &l->v[i];

		if ((state && t->state != state) ||
		    (!all && t->workspace && !rein_path_within(cwd, t->workspace)))
			continue;
		ret[n++] = t;
	}
	return n;
}

int rein_cli_log(int argc, char **argv)
{
	struct log_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_list_done) struct rein_tx_list l = {0};
	auto_free const struct rein_tx **v = NULL;
	struct rein_err err = {0};
	uint64_t now = rein_now_ns();
	int first, status;
	size_t n;

	if (rein_verb_begin("log", argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (rein_engine_list(&e, &l, &err) < 0)
		return rein_fail(&err, common.json);
	v = rein_calloc(l.n, sizeof(*v));
	if (!v) {
		rein_err_nomem(&err);
		return rein_fail(&err, common.json);
	}
	n = choose(&l, a.all, a.state, a.count, v);
	if (common.json) {
		print_list_json(v, n);
		return 0;
	}
	for (size_t i = 0; a.ids && i < n; i++)
		printf("%s\n", v[i]->id);
	if (a.ids)
		return 0;
	if (!n && !common.quiet)
		rein_say("no transactions here%s", l.n ? " (rein log --all shows other workspaces')" : "");
	rein_ui_page(n > 10 && !common.no_pager);
	for (size_t i = 0; i < n; i++)
		print_row(&e, v[i], now, rein_ui_width(stdout));
	rein_ui_page_end();
	return 0;
}

static void print_end(const struct rein_tx *t, const char *effects)
{
	printf("ran         %s, exit status %d, took %s\n", rein_ui_ago(t->created_ns, rein_now_ns()), t->status,
	       rein_ui_seconds(t->ended_ns > t->created_ns ? t->ended_ns - t->created_ns : 0));
	printf("effects     %s (%s new, %s replaced or deleted)\n", effects, rein_ui_bytes(t->sum.bytes_new),
	       rein_ui_bytes(t->sum.bytes_old));
}

int rein_cli_show(int argc, char **argv)
{
	auto_(rein_execs_done) struct rein_execs execs = {0};
	auto_(rein_refused_done) struct rein_refused refused = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_buf struct rein_buf sum = REIN_BUF(4096);
	struct rein_err err = {0};
	int first, status;

	if (rein_verb_begin("show", argc, argv, NULL, &common, &first, &e, &status))
		return status;
	if (rein_engine_find(&e, first < argc ? argv[first] : "@", ~0u, &t, &err) < 0 ||
	    (t.state != REIN_TX_RUNNING && rein_tx_changes(&t, &c, &err) < 0) ||
	    rein_engine_load_execs(&t, &execs, &err) < 0 ||
	    rein_engine_load_refused(&t, &refused, &err) < 0)
		return rein_fail(&err, common.json);
	if (common.json) {
		auto_buf struct rein_buf b = REIN_BUF(1u << 30);
		struct rein_json j = {.b = &b};

		rein_json_open(&j, '{');
		rein_json_tx(&j, &t);
		rein_json_key(&j, "changes");
		rein_json_changes(&j, &t, &c);
		rein_json_execs(&j, &execs);
		rein_json_refused(&j, &refused, refused.total);
		rein_json_close(&j, '}');
		rein_json_out(&b);
		return 0;
	}
	summarize(&e, &t, &sum);
	rein_ui_page(!common.no_pager);
	printf("transaction %s%s%s  %s%s%s%s%s\n", rein_ui(stdout, REIN_BOLD), t.id, rein_ui_off(stdout),
	       rein_ui(stdout, state_colour(t.state)), rein_tx_state_name(t.state),
	       rein_ui_off(stdout), t.reason ? ": " : "", t.reason ? rein_ui_path(t.reason) : "");
	for (size_t i = 0; i < t.reviews.n; i++)
		print_review(&t.reviews.v[i]);
	printf("command     %s\n", rein_ui_command(t.argv, t.argc, 1000));
	if (t.level)
		printf("judged      %s, %s%s%s\n", rein_level_name(t.level), rein_reach_name(t.reach),
		       t.agent ? ", for agent " : "", t.agent ? rein_ui_path(t.agent) : "");
	if (t.action)
		printf("record      rein audit show %s\n", t.action);
	printf("in          %s\n", rein_ui_path(t.cwd ? t.cwd : ""));
	printf("workspace   %s\n", rein_ui_path(t.workspace ? t.workspace : ""));
	if (t.state == REIN_TX_RUNNING)
		printf("began       %s: %s\n", rein_ui_ago(t.created_ns, rein_now_ns()), sum.p ? sum.p : "");
	else
		print_end(&t, sum.p ? sum.p : "");
	rein_print_changes(stdout, &t, &c, 0);
	if (refused.total) {
		printf("refused     %s\n", rein_ui_count(refused.total));
		rein_print_refused(stdout, &refused, common.verbose ? REIN_REFUSED_MAX : 20);
	}
	if (execs.total) {
		printf("executed    %s\n", rein_ui_count(execs.total));
		rein_print_execs(stdout, &execs, common.verbose ? REIN_EXECS_MAX : 20);
	}
	rein_ui_page_end();
	return 0;
}

/* Of what runs there is no diff, and nothing to decide about. */
static void print_choices(const struct rein_engine *e, const struct rein_tx **v, size_t n)
{
	bool held = false, alive = false, left = false;

	for (size_t i = 0; i < n; i++) {
		const bool runs = v[i]->state == REIN_TX_RUNNING;

		held |= !runs;
		alive |= runs && rein_tx_alive(&e->state, v[i]->id);
		left |= runs && !rein_tx_alive(&e->state, v[i]->id);
	}
	if (!n)
		printf("nothing is waiting here\n");
	if (held)
		printf("look: rein diff ID   keep: rein commit ID   drop: rein discard ID\n");
	if (alive)
		printf("of those that run: rein ps   end: rein kill ID\n");
	if (left)
		printf("of those whose process is gone: drop: rein discard ID\n");
}

int rein_cli_status(int argc, char **argv)
{
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_list_done) struct rein_tx_list l = {0};
	auto_free const struct rein_tx **v = NULL;
	struct rein_err err = {0};
	uint64_t now = rein_now_ns();
	int first, status;
	size_t n, open = 0;

	if (rein_verb_begin("status", argc, argv, NULL, &common, &first, &e, &status))
		return status;
	if (rein_engine_list(&e, &l, &err) < 0)
		return rein_fail(&err, common.json);
	v = rein_calloc(l.n, sizeof(*v));
	if (!v) {
		rein_err_nomem(&err);
		return rein_fail(&err, common.json);
	}
	n = choose(&l, false, 0, 0, v);
	for (size_t i = 0; i < n; i++)
		if (v[i]->state == REIN_TX_HELD || v[i]->state == REIN_TX_RUNNING)
			v[open++] = v[i];
	if (common.json) {
		print_list_json(v, open);
		return 0;
	}
	for (size_t i = 0; i < open; i++)
		print_row(&e, v[i], now, rein_ui_width(stdout));
	print_choices(&e, v, open);
	return 0;
}

struct gc_args {
	uint64_t count, age_ns, bytes;
	bool dry_run;
};

const struct rein_opt rein_gc_opts_table[] = {
	{"keep", 0, REIN_OPT_NUMBER, offsetof(struct gc_args, count), "N", "keep the newest N (default 200; 0: all)", 0},
	{"keep-age", 0, REIN_OPT_DURATION, offsetof(struct gc_args, age_ns), "DURATION", "keep those younger (default 30d; 0: any age)", 0},
	{"keep-size", 0, REIN_OPT_SIZE, offsetof(struct gc_args, bytes), "SIZE", "keep at most this much content (default 10G; 0: any)", 0},
	{"dry-run", 'n', REIN_OPT_FLAG, offsetof(struct gc_args, dry_run), NULL, "only say what would go", 0},
	{0},
};

int rein_cli_gc(int argc, char **argv)
{
	struct gc_args a = {200, 30 * 86400ull * REIN_NS_PER_S, 10ull << 30, false};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	struct rein_gc_result r = {0};
	struct rein_err err = {0};
	int first, status;

	rein_ui_outlive_readers();
	if (rein_verb_begin("gc", argc, argv, &a, &common, &first, &e, &status))
		return status;
	struct rein_gc_opts o = {a.count, a.age_ns, a.bytes, rein_now_ns(), a.dry_run};
	if (rein_tx_gc(&e.state, &o, &r, &err) < 0)
		return rein_fail(&err, common.json);
	if (common.json) {
		auto_buf struct rein_buf b = REIN_BUF(4096);
		struct rein_json j = {.b = &b};

		rein_json_open(&j, '{');
		rein_json_ku64(&j, "removed", r.removed);
		rein_json_ku64(&j, "kept", r.kept);
		rein_json_ku64(&j, "bytes", r.bytes);
		rein_json_kbool(&j, "dry_run", a.dry_run);
		rein_json_close(&j, '}');
		rein_json_out(&b);
	} else if (!common.quiet) {
		rein_say("%s %s transaction%s, %s; %s kept", a.dry_run ? "would remove" : "removed",
			 rein_ui_count(r.removed), r.removed == 1 ? "" : "s", rein_ui_bytes(r.bytes),
			 rein_ui_count(r.kept));
	}
	return 0;
}
