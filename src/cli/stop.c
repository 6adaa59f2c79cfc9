/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein pause, resume, kill, stop and start. Stop is the kill switch: it must work when little else does,
 * so it opens no engine, needs no registry and no disk, kills first and writes its record afterwards.
 */
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/boxes.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/trail.h"
#include "sandbox/census.h"
#include "sandbox/runtime.h"
#include "sandbox/stop.h"

struct stop_args {
	const char *agent, *reason;
	bool all;
};

#define AT(field) offsetof(struct stop_args, field)

const struct rein_opt rein_stop_opts[] = {
	{"all", 'a', REIN_OPT_FLAG, AT(all), NULL, "every box of this user", 0},
	{"agent", 0, REIN_OPT_STRING, AT(agent), "NAME", "only this agent's", 0},
	{"reason", 0, REIN_OPT_STRING, AT(reason), "TEXT", "why; told to everybody who is refused", 0},
	{0},
};

const struct rein_opt rein_start_opts[] = {
	{"agent", 0, REIN_OPT_STRING, AT(agent), "NAME", "only this agent may run again", 0},
	{"reason", 0, REIN_OPT_STRING, AT(reason), "TEXT", "why; recorded", 0},
	{0},
};

const struct rein_opt rein_kill_opts[] = {
	{"reason", 0, REIN_OPT_STRING, AT(reason), "TEXT", "why; told to whoever started it", 0},
	{0},
};

/* The state as far as it can be had. Nothing is recovered, nothing is made. */
static void open_state(struct rein_state *s, struct rein_orders *o, char **path)
{
	struct rein_err ignored = {0};

	*s = (struct rein_state){.fd = -1, .txn_fd = -1, .journal_fd = -1};
	if (rein_state_open(NULL, s, &ignored) < 0 && rein_state_path(path, &ignored) < 0)
		*path = NULL;
	*o = (struct rein_orders){.state_fd = s->fd, .state_dir = s->dir ? s->dir : *path ? *path : ""};
}

static void record(const char *dir, const char *result, const char *agent, const char *reason)
{
	struct rein_trail t = {0};
	struct rein_err err = {0};
	struct rein_who who = {.agent = agent};
	auto_free char *text = rein_asprintf("%s%s%s", agent ? "agent " : "everything", agent ? agent : "",
					     reason ? ": " : "");
	auto_free char *detail = text ? rein_asprintf("%s%s", text, reason ? reason : "") : NULL;

	if (!dir || !detail || rein_trail_open(&t, dir, &who, NULL, &err) < 0 ||
	    rein_trail_act(&t, REIN_EV_STOP, result, detail, &err) < 0)
		rein_say("this could not be recorded: %s", err.code ? err.msg : "the state cannot be opened");
	rein_trail_done(&t);
}

/* Keep only this agent's. */
static void choose(struct rein_live_list *l, const char *agent)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (rein_streq(l->v[i].agent, agent))
			l->v[n++] = l->v[i];
		else
			rein_live_done(&l->v[i]);
	}
	l->n = n;
}

static int report_stop(const struct rein_stopped *s, const char *agent, const struct rein_common *common, bool flagged,
		       bool changing, const struct rein_err *flag)
{
	bool good = !s->left && flagged && !changing;

	if (common->json) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);
		struct rein_json j = {.b = &b};

		rein_json_open(&j, '{');
		rein_json_ku64(&j, "boxes", s->boxes);
		rein_json_ku64(&j, "processes", s->processes);
		rein_json_ku64(&j, "left", s->left);
		rein_json_ku64(&j, "wall_ms", s->wall_ns / 1000000);
		rein_json_kbool(&j, "refusing", flagged);
		rein_json_kbool(&j, "changing", changing);
		rein_json_close(&j, '}');
		rein_json_out(&b);
	} else if (!common->quiet) {
		printf("stopped: %s box%s with %s process%s, all dead after %s, looked for and not found\n",
		       rein_ui_count(s->boxes), s->boxes == 1 ? "" : "es", rein_ui_count(s->processes),
		       s->processes == 1 ? "" : "es", rein_ui_seconds(s->wall_ns));
		if (flagged)
			printf("nothing new%s%s runs until: rein start%s%s\n", agent ? " of " : "", agent ? agent : "",
			       agent ? " --agent " : "", agent ? agent : "");
	}
	if (s->left)
		rein_say("%s processes are still there", rein_ui_count(s->left));
	if (!flagged)
		rein_say("new work is not refused: %s", flag->msg);
	if (changing)
		rein_say("a commit that had begun before is still not done: nothing else begins");
	return good ? 0 : rein_code_exit(REIN_E_FAILED);
}

static void free_stop(struct rein_stop **s)
{
	rein_stop_free(*s);
}

/* Those that are listed now; without the list, those that are found. */
static int gather(struct rein_stop *s, const struct rein_orders *o, const char *agent, struct rein_err *err)
{
	auto_(rein_live_list_done) struct rein_live_list l = {0};
	struct rein_err ignored = {0};

	if (o->state_fd >= 0)
		rein_live_list(o->state_fd, &l, &ignored);
	if (agent)
		choose(&l, agent);
	return rein_stop_add(s, &l, agent ? NULL : o->state_dir, err);
}

/*
 * What is there is held and counted first, a matter of milliseconds: once the flag is there the
 * supervisors kill their boxes by themselves. Then once more for what began meanwhile. At last a commit that had
 * begun before the flag was there comes to its end: then nothing changes any more.
 */
static int stop(const struct rein_orders *o, const struct stop_args *a, bool *flagged, bool *changing,
		struct rein_err *flag, struct rein_stopped *ret, struct rein_err *err)
{
	auto_(free_stop) struct rein_stop *s = NULL;

	if (rein_stop_prepare(&s, err) < 0 || gather(s, o, a->agent, err) < 0)
		return -err->code;
	rein_stop_count(s);
	/* its failure stops nobody */
	*flagged = rein_orders_give(o, REIN_ORDERS_STOP, a->agent, a->reason, flag) == 0;
	if (rein_stop_kill(s, err) < 0 || gather(s, o, a->agent, err) < 0 || rein_stop_kill(s, err) < 0)
		return -err->code;
	*changing = *flagged && !rein_orders_settled(o);
	rein_stop_verify(s, ret);
	return 0;
}

int rein_cli_stop(int argc, char **argv)
{
	struct stop_args a = {0};
	struct rein_common common = {0};
	auto_(rein_state_done) struct rein_state state = {.fd = -1, .txn_fd = -1, .journal_fd = -1};
	auto_free char *path = NULL;
	struct rein_orders o;
	struct rein_stopped s = {0};
	struct rein_err err = {0}, flag = {0};
	int first, status;
	bool flagged = false, changing = false;

	rein_ui_outlive_readers();
	if (rein_verb_begin("stop", argc, argv, &a, &common, &first, NULL, &status))
		return status;
	if (first < argc || a.all == (a.agent != NULL))
		rein_err_set(&err, REIN_E_USAGE, "rein stop --all, or rein stop --agent NAME (one box: rein kill ID)");
	if (err.code || rein_who_check(&(struct rein_who){.agent = a.agent}, &err) < 0)
		return rein_fail(&err, common.json);
	open_state(&state, &o, &path);
	if (stop(&o, &a, &flagged, &changing, &flag, &s, &err) < 0)
		return rein_fail(&err, common.json);
	record(state.dir, "stopped", a.agent, a.reason);
	return report_stop(&s, a.agent, &common, flagged, changing, &flag);
}

static void tell_one(void *arg, const char *whom, const struct rein_order_text *t)
{
	size_t *n = arg;

	++*n;
	if (*whom)
		rein_say("agent %s is stopped, by %s%s%s: rein start --agent %s", rein_ui_path(whom), t->who,
			 *t->why ? ": " : "", rein_ui_path(t->why), rein_ui_path(whom));
	else
		rein_say("everything is stopped, by %s%s%s: rein start", t->who, *t->why ? ": " : "",
			 rein_ui_path(t->why));
}

size_t rein_tell_stopped(const struct rein_engine *e)
{
	size_t n = 0;

	rein_orders_each(&(struct rein_orders){e->state.fd, e->state.dir}, REIN_ORDERS_STOP, tell_one, &n);
	return n;
}

void rein_json_order(struct rein_json *j, const char *whom, const struct rein_order_text *t)
{
	rein_json_open(j, '{');
	rein_json_kstr(j, "agent", *whom ? whom : NULL);
	rein_json_kstr(j, "since", t->when);
	rein_json_kstr(j, "by", t->who);
	rein_json_kstr(j, "reason", t->why);
	rein_json_close(j, '}');
}

static void list_one(void *arg, const char *whom, const struct rein_order_text *t)
{
	rein_json_order(arg, whom, t);
}

static void json_started(const struct rein_engine *e, bool taken)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 24);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_kbool(&j, "started", taken);
	rein_json_key(&j, "stopped");
	rein_json_open(&j, '[');
	rein_orders_each(&(struct rein_orders){e->state.fd, e->state.dir}, REIN_ORDERS_STOP, list_one, &j);
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

int rein_cli_start(int argc, char **argv)
{
	struct stop_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	struct rein_err err = {0};
	int first, status, taken;
	size_t left;

	rein_ui_outlive_readers();
	if (rein_verb_begin("start", argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (rein_who_check(&(struct rein_who){.agent = a.agent}, &err) < 0)
		return rein_fail(&err, common.json);
	taken = rein_orders_take_back(&(struct rein_orders){e.state.fd, e.state.dir}, REIN_ORDERS_STOP, a.agent,
				      &err);
	if (taken < 0)
		return rein_fail(&err, common.json);
	if (taken)
		record(e.state.dir, "started", a.agent, a.reason);
	if (common.json)
		json_started(&e, taken);
	else if (!common.quiet) {
		/* each is taken back by its own name */
		left = rein_tell_stopped(&e);
		printf("%s\n", taken ? "boxes may run again" : left ? "nothing else was stopped" : "nothing was stopped");
	}
	return 0;
}

/*
 * One that is frozen looks as it was, and of one in a kernel of its own nothing is seen: the supervisor waited
 * for the freezer, or for the runtime.
 */
static bool is_unseen(const struct rein_live *l)
{
	struct rein_err ignored = {0};
	const struct rein_runtime *runtime = *l->backend ? rein_runtime_find(l->backend, &ignored) : NULL;

	return l->group_version || (runtime && !runtime->executor);
}

/* Does everything in it stand still? */
static bool stands_still(const struct rein_live *l)
{
	const struct timespec a_while = {.tv_nsec = 50000000};
	auto_close int proc = rein_census_open(l->box);
	struct rein_census c, later;

	if (is_unseen(l))
		return true;
	if (proc < 0 || !rein_census_take(proc, &c) || c.stopped + c.waiting < c.processes)
		return false;
	if (!c.waiting)
		return true;
	/* who waits for a vfork(2) child that is stopped stops after it: it stands still if nothing moves */
	nanosleep(&a_while, NULL);
	return rein_census_take(proc, &later) && later.stopped == c.stopped && later.waiting == c.waiting &&
	       later.processes == c.processes && later.cpu_ns == c.cpu_ns &&
	       later.written_bytes == c.written_bytes;
}

static int wait_until(const struct rein_live *l, bool still)
{
	const struct timespec a_while = {.tv_nsec = 2000000};
	uint64_t end = rein_mono_ns() + 3 * REIN_NS_PER_S;

	while (rein_mono_ns() < end) {
		if (stands_still(l) == still || (is_unseen(l) && !still))
			return 0;
		nanosleep(&a_while, NULL);
	}
	return -1;
}

static int order(const char *verb, int argc, char **argv, enum rein_order_kind kind, bool give)
{
	struct stop_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_live_done) struct rein_live l = {0};
	auto_(free_stop) struct rein_stop *held = NULL;
	struct rein_live_list one = {.v = &l, .n = 1};
	struct rein_stopped s = {0};
	struct rein_orders o;
	struct rein_err err = {0};
	int first, status, rc;

	rein_ui_outlive_readers();
	if (rein_verb_begin(verb, argc, argv, &a, &common, &first, &e, &status))
		return status;
	o = (struct rein_orders){e.state.fd, e.state.dir};
	if (first != argc - 1)
		rein_err_set(&err, REIN_E_USAGE, "which box? rein %s ID (see: rein ps)", verb);
	if (err.code || rein_live_find(e.state.fd, argv[first], &l, &err) < 0)
		return rein_fail(&err, common.json);
	if (kind == REIN_ORDERS_KILL &&
	    (rein_stop_prepare(&held, &err) < 0 || rein_stop_add(held, &one, NULL, &err) < 0))
		return rein_fail(&err, common.json);
	rc = give ? rein_orders_give(&o, kind, l.id, a.reason, &err)
		  : rein_orders_take_back(&o, kind, l.id, &err);
	/* a box that is to die needs no order for it, only its supervisor does, to know who it was and why */
	if (rc < 0 && kind == REIN_ORDERS_KILL) {
		rein_say("who kills box %s could not be written down: %s", l.id, err.msg);
		err = (struct rein_err){0};
	}
	if (err.code)
		return rein_fail(&err, common.json);
	rein_live_poke(&l);
	if (kind == REIN_ORDERS_KILL) {
		rc = rein_stop_kill(held, &err);
		rein_stop_verify(held, &s);
		if (rc == 0 && s.left)
			rein_err_set(&err, REIN_E_FAILED, "%zu processes are still there", s.left);
	} else if (wait_until(&l, give) < 0) {
		rein_err_set(&err, REIN_E_FAILED, "box %s does not %s: its supervisor does not answer", l.id,
			     verb);
	}
	if (err.code)
		return rein_fail(&err, common.json);
	if (common.json)
		printf("{\"id\":\"%s\",\"done\":\"%s\"}\n", l.id, verb);
	return 0;
}

int rein_cli_pause(int argc, char **argv)
{
	return order("pause", argc, argv, REIN_ORDERS_PAUSE, true);
}

int rein_cli_resume(int argc, char **argv)
{
	return order("resume", argc, argv, REIN_ORDERS_PAUSE, false);
}

int rein_cli_kill(int argc, char **argv)
{
	return order("kill", argc, argv, REIN_ORDERS_KILL, true);
}
