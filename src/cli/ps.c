/* SPDX-License-Identifier: Apache-2.0 */
/* rein ps and rein stats: the boxes that live, and what they use right now. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/boxes.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sandbox/census.h"
#include "sandbox/cgroup.h"

struct ps_args {
	bool watch;
	const char *agent;
};

const struct rein_opt rein_ps_opts[] = {
	{"watch", 'w', REIN_OPT_FLAG, offsetof(struct ps_args, watch), NULL, "again every second, until interrupted", 0},
	{"agent", 0, REIN_OPT_STRING, offsetof(struct ps_args, agent), "NAME", "only this agent's", 0},
	{0},
};

/* A box and what was seen of it. */
struct look {
	const struct rein_live *live;
	struct rein_census c;
	bool seen;
	const char *state;
	uint64_t age_ns;
};

static void look_at(const struct rein_engine *e, const struct rein_live *l, struct look *ret)
{
	struct rein_orders o = {.state_fd = e->state.fd, .state_dir = e->state.dir};
	auto_close int proc = rein_census_open(l->box);
	uint64_t now = rein_now_ns();

	*ret = (struct look){.live = l, .age_ns = now > l->begun_ns ? now - l->begun_ns : 0};
	ret->seen = proc >= 0 && rein_census_take(proc, &ret->c);
	ret->state = rein_orders_has(&o, REIN_ORDERS_PAUSE, l->id, NULL)	 ? "paused"
		     : ret->seen && ret->c.processes && ret->c.stopped == ret->c.processes ? "stopped"
										   : "running";
}

static unsigned percent(const struct look *k)
{
	return k->age_ns ? (unsigned)(k->c.cpu_ns * 100 / k->age_ns) : 0;
}

static void json_box(struct rein_json *j, const struct look *k)
{
	const struct rein_live *l = k->live;

	rein_json_open(j, '{');
	rein_json_kstr(j, "id", l->id);
	rein_json_kstr(j, "state", k->state);
	rein_json_kstr(j, "agent", *l->agent ? l->agent : NULL);
	rein_json_kstr(j, "task", *l->task ? l->task : NULL);
	rein_json_key(j, "labels");
	rein_json_open(j, '[');
	for (size_t i = 0; i < l->labels.n; i++)
		rein_json_cstr(j, l->labels.v[i]);
	rein_json_close(j, ']');
	rein_json_kstr(j, "level", *l->level ? l->level : NULL);
	rein_json_kstr(j, "network", l->net);
	rein_json_path(j, "workspace", l->workspace);
	rein_json_kstr(j, "command", l->command);
	rein_json_ki64(j, "pid", l->rein);
	rein_json_ku64(j, "wall_ms", k->age_ns / 1000000);
	rein_json_ku64(j, "cpu_ms", k->c.cpu_ns / 1000000);
	rein_json_ku64(j, "memory", k->c.rss);
	rein_json_ku64(j, "processes", k->c.processes);
	rein_json_ku64(j, "threads", k->c.threads);
	rein_json_ku64(j, "read_bytes", k->c.read_bytes);
	rein_json_ku64(j, "written_bytes", k->c.written_bytes);
}

static void print_json(const struct rein_engine *e, const struct rein_live_list *l, const char *agent)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 28);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_key(&j, "boxes");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < l->n; i++) {
		struct look k;

		if (agent && !rein_streq(agent, l->v[i].agent))
			continue;
		look_at(e, &l->v[i], &k);
		json_box(&j, &k);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

static const char *or_dash(const char *s)
{
	return *s ? rein_ui_path(s) : "-";
}

/* In the order they stand; where the window is too narrow, the lowest rank goes first, and 0 never. */
enum { ID, AGENT, TASK, LEVEL, TIME, CPU, MEMORY, PROCS, NET, STATE, COLUMNS };

static const struct {
	const char *title;
	int width; /* negative: to the left */
	unsigned rank;
} columns[] = {
	[ID] = {"ID", -7, 0},	      [AGENT] = {"AGENT", -12, 5},  [TASK] = {"TASK", -12, 1}, [LEVEL] = {"LEVEL", -11, 3},
	[TIME] = {"TIME", 8, 8},      [CPU] = {"CPU", 5, 6},	    [MEMORY] = {"MEMORY", 10, 7},
	[PROCS] = {"PROCS", 5, 4},    [NET] = {"NET", -10, 2},	    [STATE] = {"STATE", -8, 0},
};
static_assert(ARRAY_SIZE(columns) == COLUMNS, "a row for every column");

#define COMMAND_MIN 20

/* The lowest rank that is shown, and what is left for the command. */
static unsigned fit(unsigned window, size_t *room)
{
	for (unsigned rank = 1;; rank++) {
		size_t used = 0;

		for (size_t i = 0; i < COLUMNS; i++)
			if (!columns[i].rank || columns[i].rank >= rank)
				used += (size_t)abs(columns[i].width) + 1;
		*room = !window ? 1000 : window > used ? window - used : 1;
		if (*room >= COMMAND_MIN || rank > COLUMNS)
			return rank;
	}
}

static void print_row(const char *const cells[COLUMNS], unsigned rank, const char *command)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (!columns[i].rank || columns[i].rank >= rank)
			printf("%*.*s ", columns[i].width, abs(columns[i].width), cells[i]);
	printf("%s", command);
}

static void print_box(const struct look *k, unsigned rank, size_t room)
{
	char cpu[16], processes[24];
	const char *const cells[COLUMNS] = {
		[ID] = k->live->id,
		[AGENT] = or_dash(k->live->agent),
		[TASK] = or_dash(k->live->task),
		[LEVEL] = or_dash(k->live->level),
		[TIME] = rein_ui_seconds(k->age_ns),
		[CPU] = cpu,
		[MEMORY] = rein_ui_bytes(k->c.rss),
		[PROCS] = processes,
		[NET] = k->live->net,
		[STATE] = k->state,
	};

	snprintf(cpu, sizeof(cpu), "%u%%", percent(k));
	snprintf(processes, sizeof(processes), "%" PRIu64, k->c.processes);
	print_row(cells, rank, rein_ui_text(k->live->command, room));
	printf("\n");
}

static void print_table(const struct rein_engine *e, const struct rein_live_list *l, const char *agent)
{
	const char *titles[COLUMNS];
	size_t shown = 0, room;
	unsigned rank = fit(rein_ui_width(stdout), &room);

	for (size_t i = 0; i < COLUMNS; i++)
		titles[i] = columns[i].title;
	for (size_t i = 0; i < l->n; i++) {
		struct look k;

		if (agent && !rein_streq(agent, l->v[i].agent))
			continue;
		if (!shown++) {
			printf("%s", rein_ui(stdout, REIN_BOLD));
			print_row(titles, rank, "COMMAND");
			printf("%s\n", rein_ui_off(stdout));
		}
		look_at(e, &l->v[i], &k);
		print_box(&k, rank, room);
	}
	if (!shown)
		printf("no box is running\n");
}

int rein_cli_ps(int argc, char **argv)
{
	struct ps_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	struct rein_err err = {0};
	int first, status;

	if (rein_verb_begin("ps", argc, argv, &a, &common, &first, &e, &status))
		return status;
	for (;;) {
		auto_(rein_live_list_done) struct rein_live_list l = {0};

		if (rein_live_list(e.state.fd, &l, &err) < 0)
			return rein_fail(&err, common.json);
		if (common.json)
			print_json(&e, &l, a.agent);
		else
			print_table(&e, &l, a.agent);
		/* not in the list, which programs read: why nothing runs */
		if (!common.json && !common.quiet)
			rein_tell_stopped(&e);
		if (!a.watch)
			return 0;
		if (fflush(stdout) != 0)
			return rein_code_exit(REIN_E_IO);
		sleep(1);
		if (!common.json && isatty(STDOUT_FILENO))
			printf("\033[H\033[J");
	}
}

struct tree {
	struct rein_process *v;
	size_t n, cap;
};

static void tree_done(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		rein_free((char *)(uintptr_t)t->v[i].command);
	rein_free(t->v);
}

static void plant(void *arg, const struct rein_process *p)
{
	struct tree *t = arg;

	if (rein_grow(t->v, t->n, t->cap) < 0)
		return;
	t->v[t->n] = *p;
	t->v[t->n].command = rein_strdup(p->command);
	t->n += t->v[t->n].command != NULL;
}

/* Children below their parent; whose parent is pid 1, or gone, stands at the left. */
static void print_tree(const struct tree *t, pid_t parent, int depth)
{
	for (size_t i = 0; i < t->n && depth < 64; i++) {
		const struct rein_process *p = &t->v[i];

		if (p->parent != parent)
			continue;
		printf("  %7d %c %8s %10s  %*s%s\n", (int)p->pid, p->state,
		       rein_ui_seconds(p->cpu_ns), rein_ui_bytes(p->rss), 2 * depth, "",
		       rein_ui_text(p->command, 100));
		print_tree(t, p->pid, depth + 1);
	}
}

static void json_tree(struct rein_json *j, const struct tree *t)
{
	rein_json_key(j, "tree");
	rein_json_open(j, '[');
	for (size_t i = 0; i < t->n; i++) {
		const char state[2] = {t->v[i].state, '\0'};

		rein_json_open(j, '{');
		rein_json_ki64(j, "pid", t->v[i].pid);
		rein_json_ki64(j, "parent", t->v[i].parent);
		rein_json_kstr(j, "state", state);
		rein_json_ku64(j, "cpu_ms", t->v[i].cpu_ns / 1000000);
		rein_json_ku64(j, "memory", t->v[i].rss);
		rein_json_kstr(j, "command", t->v[i].command);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
}

static void show_one(const struct rein_engine *e, const struct rein_live *l, bool json)
{
	auto_close int proc = rein_census_open(l->box);
	auto_(tree_done) struct tree t = {0};
	uint64_t pss = proc >= 0 ? rein_census_pss(proc) : 0;
	struct look k;

	look_at(e, l, &k);
	if (proc >= 0)
		rein_census_each(proc, plant, &t);
	if (json) {
		auto_buf struct rein_buf b = REIN_BUF(1u << 28);
		struct rein_json j = {.b = &b};

		json_box(&j, &k);
		rein_json_ku64(&j, "memory_proportional", pss);
		rein_json_ku64(&j, "tmp_bytes", proc >= 0 ? rein_census_tmpfs(l->box) : 0);
		json_tree(&j, &t);
		rein_json_close(&j, '}');
		rein_json_out(&b);
		return;
	}
	printf("%s%s%s  %s, %s, network %s, %s in %s\n", rein_ui(stdout, REIN_BOLD), l->id,
	       rein_ui_off(stdout), k.state, rein_ui_seconds(k.age_ns), l->net, or_dash(l->command),
	       rein_ui_path(l->workspace));
	printf("  processor %s (%u%%), memory %s (%s with shared pages divided), /tmp %s\n",
	       rein_ui_seconds(k.c.cpu_ns), percent(&k), rein_ui_bytes(k.c.rss), rein_ui_bytes(pss),
	       rein_ui_bytes(proc >= 0 ? rein_census_tmpfs(l->box) : 0));
	printf("  %" PRIu64 " processes, %" PRIu64 " threads, read %s, written %s\n", k.c.processes,
	       k.c.threads, rein_ui_bytes(k.c.read_bytes), rein_ui_bytes(k.c.written_bytes));
	print_tree(&t, 1, 0);
}

int rein_cli_stats(int argc, char **argv)
{
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_live_done) struct rein_live l = {0};
	struct rein_err err = {0};
	int first, status;

	if (rein_verb_begin("stats", argc, argv, NULL, &common, &first, &e, &status))
		return status;
	if (first != argc - 1)
		rein_err_set(&err, REIN_E_USAGE, "which box? rein stats ID (see: rein ps)");
	if (err.code || rein_live_find(e.state.fd, argv[first], &l, &err) < 0)
		return rein_fail(&err, common.json);
	show_one(&e, &l, common.json);
	return 0;
}
