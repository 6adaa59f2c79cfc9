/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command in the transaction that is open: what the run knows becomes a specification, a box of whichever kind
 * carries it out, and how it ended is on the record. Nobody is asked here.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "engine/alerts.h"
#include "engine/credentials.h"
#include "engine/engine.h"
#include "engine/execs.h"
#include "engine/limits.h"
#include "engine/live.h"
#include "engine/network.h"
#include "engine/refused.h"
#include "sandbox/env.h"
#include "sandbox/launch.h"
#include "sandbox/oci.h"
#include "sandbox/pool.h"
#include "sandbox/warm.h"

extern char **environ;

static int run_box(const struct rein_engine *e, const struct rein_box_spec *spec, struct rein_run *r,
		   struct rein_err *err)
{
	bool ahead = r->box;
	int rc;

	if (!ahead) {
		r->box = rein_pool_take(e->pool, spec->net);
		ahead = r->box;
	}
	if (!ahead && rein_box_open(spec->net, e->box_program, &r->box, err) < 0)
		return -err->code;
	rc = rein_box_run(r->box, spec, &r->result, err);
	if (!ahead) /* else it comes down while its effects are looked at */
		rein_box_close(take_ptr(r->box));
	rein_pool_fill(e->pool);
	return rc;
}

static int sync_trail(void *arg, struct rein_err *err)
{
	return rein_trail_sync(arg, err);
}

struct errand {
	const struct rein_engine *e;
	struct rein_run *r;
};

static void meanwhile(void *arg)
{
	const struct errand *x = arg;

	if (x->r->has_tx)
		rein_tx_tidy(&x->e->state, &x->r->tx);
	rein_engine_alerts_meanwhile(x->e, x->r);
}

static int run_oci(const struct rein_engine *e, const struct rein_run_opts *o, const struct rein_box_spec *spec,
		   struct rein_run *r, struct rein_err *err)
{
	auto_free char *dir = rein_asprintf("%s/txn/%s", e->state.dir, r->tx.id);
	auto_free char *id = rein_asprintf("rein-%s", r->tx.id);
	const struct rein_runtime *backend = rein_runtime_find(o->backend, err);

	if (!backend)
		return -err->code;
	if (!dir || !id)
		return rein_err_nomem(err);
	return rein_oci_run(backend, spec, e->box_program, dir, id, &r->result, err);
}

/*
 * Several commands in one transaction: what the earlier ones copied and whom they reached still counts. What they
 * executed and were refused is theirs, and gives way to this one's.
 */
static int carry_out(const struct rein_engine *e, const struct rein_run_opts *o, const struct rein_box_spec *spec,
		     struct rein_run *r, struct rein_err *err)
{
	struct rein_linked_list linked = r->result.linked;
	struct rein_net_report net = r->result.net;
	int rc;

	r->result.linked = (struct rein_linked_list){0};
	r->result.net = (struct rein_net_report){0};
	rein_execs_done(&r->result.execs);
	rein_refused_done(&r->result.refused);
	rc = o->backend ? run_oci(e, o, spec, r, err) : run_box(e, spec, r, err);
	if (rein_linked_merge(&linked, &r->result.linked) < 0 && rc == 0)
		rc = rein_err_nomem(err);
	r->result.linked = linked;
	rein_net_report_add(&net, &r->result.net);
	rein_net_report_done(&r->result.net);
	r->result.net = net;
	return rc;
}

static void free_judge(struct rein_exec_judge_state **s)
{
	if (*s)
		rein_exec_judge_done(*s);
	rein_free(*s);
}

int rein_engine_env_(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	auto_strlist struct rein_strlist over = {0};
	struct rein_env_opts eo = {
		.environ = environ,
		.set = o->env.v,
		.files = o->env_file.v,
		.defaults = r->view.env.v,
		.cwd = r->view.cwd,
	};
	struct rein_env env = {0};

	if (rein_network_env(r, &over, err) < 0 || rein_credentials_env(r, &over, err) < 0)
		return -err->code;
	eo.over = over.v;
	eo.without = r->credential_vars.v;
	if (rein_env_make(&eo, &env, err) < 0)
		return -err->code;
	rein_env_done(&r->env);
	r->env = env;
	return 0;
}

int rein_engine_default_var_(struct rein_run *r, const char *text, struct rein_err *err)
{
	const size_t n = strcspn(text, "=") + 1;
	bool there = !r->env.envp.n; /* not made yet: then it will be */

	for (size_t i = 0; !there && i < r->env.envp.n; i++)
		there = strncmp(r->env.envp.v[i], text, n) == 0;
	if (rein_strlist_add(&r->view.env, text) < 0 || (!there && rein_strlist_add(&r->env.envp, text) < 0))
		return rein_err_nomem(err);
	return 0;
}

static int launch(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		  struct rein_err *err)
{
	auto_strlist struct rein_strlist hidden = {0};
	auto_(rein_watcher_close) struct rein_watcher watcher = {0};
	auto_(free_judge) struct rein_exec_judge_state *judge = NULL;
	struct errand errand = {e, r};
	struct rein_box_spec spec = {
		.argv = o->argv,
		.envp = r->env.envp.v, /* made when it was judged; a file is not read twice */
		.cwd = r->view.cwd,
		.hostname = "rein",
		.roots = r->tx.roots,
		.nroots = r->tx.nroots,
		.layer = r->warm ? &r->warm->layer : NULL,
		.paths = r->view.paths,
		.npaths = r->view.npaths,
		.whole_system = r->view.whole_root,
		.mounts = &r->view.mounts,
		.net = r->net,
		.watch_links = r->links,
		.network = r->network,
		.sockets = o->sockets.v,
		.socket_sources = r->socket_sources.v,
		.nested = o->nested,
		.caps = o->caps,
		.timeout_ns = o->timeout_ns,
		.idle_timeout_ns = o->idle_timeout_ns,
		.before_start = sync_trail, /* while the box is built */
		.before_start_arg = &r->trail,
		.meanwhile = meanwhile,
		.meanwhile_arg = &errand,
	};

	if (rein_engine_limits(o, r->policy, &r->settings, &spec.limits, err) < 0)
		return -err->code;
	if (!spec.timeout_ns)
		spec.timeout_ns = spec.limits.v[REIN_LIMIT_TIME];
	if (!spec.idle_timeout_ns)
		spec.idle_timeout_ns = spec.limits.v[REIN_LIMIT_IDLE];
	if (rein_watcher_open(&watcher, e, o, r, err) < 0)
		return -err->code;
	/* whoever waited for a place, or for a person's answer, was admitted long ago */
	if ((r->safe_mode ? rein_engine_admits(e, o, err) : rein_engine_may_change(e, &o->who, err)) < 0)
		return -err->code;
	spec.watch = &watcher.watch;
	if (o->watch) {
		judge = rein_calloc(1, sizeof(*judge));
		if (!judge)
			return rein_err_nomem(err);
		*judge = (struct rein_exec_judge_state){
			.policy = r->policy, .who = &o->who, .cwd = r->view.cwd, .workspace = r->view.workspace,
			.offline = rein_engine_offline_(o, r),
			.watcher = &watcher};
		spec.watch_execs = true;
		spec.exec_judge = rein_engine_judge_exec;
		spec.exec_judge_arg = judge;
	}
	spec.watch_files = o->watch_files;
	if (o->watch_files && rein_engine_hidden(r, &hidden) < 0)
		return rein_err_nomem(err);
	spec.hidden = hidden.v;
	if (watcher.canaries.rules) {
		spec.paths = watcher.canaries.rules;
		spec.npaths = watcher.canaries.nrules;
	}
	if (carry_out(e, o, &spec, r, err) < 0)
		return -err->code;
	watcher.over = true;
	rein_watcher_canaries(&watcher);
	if (r->result.end == REIN_BOX_LIMIT) {
		char text[128];

		rein_limit_hit_text(&r->result.hit, text, sizeof(text));
		rein_engine_violation(&watcher, REIN_VIOLATION_RESOURCE, text);
	}
	return 0;
}

int rein_engine_launch_(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
			struct rein_err *err)
{
	int rc;

	/* an upper that was mounted "volatile" needs a new work directory to be mounted again */
	if (r->execs) {
		rein_box_close(take_ptr(r->box));
		rein_warm_free(take_ptr(r->warm));
		if (rein_tx_reopen(&r->tx, err) < 0)
			return -err->code;
	}
	r->execs++;
	if (rein_trail_start(&r->trail, &r->tx, err) < 0)
		return -err->code;
	rc = launch(e, o, r, err);
	rein_reserve_use(&e->state);
	if (rc < 0) {
		/* why it did not run counts; an end that cannot be written is missing, visibly */
		rein_trail_failed(&r->trail, &r->tx, err, &(struct rein_err){0});
		return -err->code;
	}
	r->tx.ended_ns = rein_now_ns();
	r->tx.status = r->result.status;
	r->tx.end = r->result.end;
	return rein_trail_end(&r->trail, &r->tx, &r->result, err);
}
