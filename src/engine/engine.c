/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, running, settling: the stages in order. */
#include "engine/engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "effects/scan.h"
#include "engine/credentials.h"
#include "engine/execs.h"
#include "engine/limits.h"
#include "engine/live.h"
#include "engine/masks.h"
#include "engine/network.h"
#include "engine/reader.h"
#include "engine/refusals.h"
#include "engine/refused.h"
#include "engine/settings.h"
#include "engine/validate.h"
#include "engine/warm.h"
#include "record/redact.h"
#include "sandbox/env.h"
#include "sandbox/hide.h"
#include "sandbox/launch.h"
#include "sandbox/oci.h"
#include "sandbox/pool.h"
#include "sandbox/warm.h"
#include "sys/priv.h"
#include "sys/tree.h"

extern char **environ;

#ifndef REIN_LIBEXECDIR
#define REIN_LIBEXECDIR "/usr/local/libexec/rein"
#endif

/* DIR/rein-box for the directory of a file, if it is there; *ret untouched otherwise. */
static int beside(char *file, char **ret)
{
	char *slash = strrchr(file, '/');
	char *path;

	if (!slash)
		return 0;
	*slash = '\0';
	path = rein_asprintf("%s/rein-box", file);
	if (!path)
		return -1;
	if (access(path, X_OK) < 0) {
		rein_free(path);
		return 0;
	}
	*ret = path;
	return 1;
}

/* Beside the program or the library (a build tree), else where it was installed. */
char *rein_engine_box_program(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *path = NULL;
	Dl_info info;

	if (n > 0) {
		self[n] = '\0';
		if (beside(self, &path) != 0)
			return path;
	}
	if (dladdr((void *)(uintptr_t)rein_engine_open, &info) && info.dli_fname && *info.dli_fname == '/') {
		snprintf(self, sizeof(self), "%s", info.dli_fname);
		if (beside(self, &path) != 0)
			return path;
	}
	return rein_strdup(REIN_LIBEXECDIR "/rein-box");
}

int rein_engine_open(struct rein_engine *e, struct rein_err *err)
{
	*e = (struct rein_engine){.state = {.fd = -1, .txn_fd = -1, .journal_fd = -1}};
	if (rein_state_open(NULL, &e->state, err) < 0)
		return -err->code;
	e->box_program = rein_engine_box_program();
	if (!e->box_program) {
		rein_engine_done(e);
		return rein_err_nomem(err);
	}
	e->recovered = rein_tx_recover(&e->state, &e->stuck, err);
	if (e->recovered < 0) {
		rein_engine_done(e);
		return -err->code;
	}
	return 0;
}

void rein_engine_done(struct rein_engine *e)
{
	rein_state_done(&e->state);
	rein_free(take_ptr(e->box_program));
}

void rein_run_done(struct rein_run *r)
{
	rein_box_close(take_ptr(r->box));
	rein_warm_free(take_ptr(r->warm));
	rein_linked_done(&r->result.linked);
	rein_net_report_done(&r->result.net);
	rein_execs_done(&r->result.execs);
	rein_refused_done(&r->result.refused);
	rein_strlist_done(&r->canary);
	rein_masks_done(r);
	rein_tx_done(&r->tx);
	rein_changes_done(&r->changes);
	rein_view_done(&r->view);
	rein_strlist_done(&r->env_dropped);
	rein_strlist_done(&r->rw);
	rein_strlist_done(&r->ro);
	rein_strlist_done(&r->hide);
	rein_strlist_done(&r->scratch);
	rein_strlist_done(&r->hide_names);
	rein_network_done(r);
	rein_credentials_done(r);
	rein_judgement_done(&r->judged);
	rein_trail_done(&r->trail);
	rein_policy_free(take_ptr(r->policy));
}

static int plan_view(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		     struct rein_err *err)
{
	struct rein_view_opts v = {
		.cwd = getenv("PWD"),
		.home = getenv("HOME"),
		.workspace = o->workspace,
		.state_dir = e->state.dir,
		.whole_system = o->whole_system,
		.offline = r->net == REIN_NET_NONE,
		.rw = r->rw.v,
		.ro = r->ro.v,
		.hide = r->hide.v,
		.scratch = r->scratch.v,
		.uid = geteuid(),
		.rootless = !rein_is_root(),
	};
	struct stat a, b;

	/* $PWD is believed only where it really leads here */
	if (!v.cwd || stat(v.cwd, &a) < 0 || stat(".", &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		v.cwd = NULL;
	return rein_view_plan(&v, &r->view, err);
}

static int begin(const struct rein_engine *e, struct rein_run *r, struct rein_err *err)
{
	const struct rein_view *v = &r->view;
	struct rein_tx_warm warm = {.dir = -1};
	int rc;
	auto_free const char **reals = rein_calloc(v->ncow, sizeof(*reals));

	if (!reals)
		return rein_err_nomem(err);
	for (size_t i = 0; i < v->ncow; i++)
		reals[i] = v->cow[i].path;
	if (r->reads)
		return rein_tx_reader(&e->state, reals, v->ncow, &r->tx, err);
	if (r->warm)
		warm = (struct rein_tx_warm){r->warm->name, take_fd(&r->warm->dir)};
	rc = rein_tx_begin(&e->state, reals, v->ncow, r->warm ? &warm : NULL, &r->tx, err);
	if (warm.dir >= 0) { /* it was not there any more */
		close(warm.dir);
		rein_warm_free(take_ptr(r->warm));
	}
	return rc;
}

/* The words as they may be kept: without the secrets in them. */
int rein_engine_name(const struct rein_trail *trail, struct rein_tx *t, char *const *argv, struct rein_err *err)
{
	size_t n = 0;

	while (argv[n])
		n++;
	if (!n)
		return 0;
	t->argv = rein_calloc(n, sizeof(*t->argv));
	if (!t->argv)
		return rein_err_nomem(err);
	if (rein_record_redact_words(trail->record, argv, n, t->argv, err) < 0)
		return -err->code;
	t->argc = n;
	return 0;
}

static int describe(struct rein_run *r, char **argv, struct rein_err *err)
{
	struct rein_tx *t = &r->tx;

	t->workspace = rein_strdup(r->view.workspace);
	t->cwd = rein_strdup(r->view.cwd);
	t->action = rein_strdup(r->trail.action);
	if (r->trail.who.agent)
		t->agent = rein_strdup(r->trail.who.agent);
	if (!t->workspace || !t->cwd || !t->action || (r->trail.who.agent && !t->agent))
		return rein_err_nomem(err);
	t->level = (int)r->trail.level;
	t->reach = (int)r->trail.reach;
	return rein_engine_name(&r->trail, t, argv, err);
}

/* Several commands in one transaction: what the earlier ones copied still counts. */
static int run_box(const struct rein_engine *e, const struct rein_box_spec *spec, struct rein_run *r,
		   struct rein_err *err)
{
	struct rein_linked_list before = r->result.linked;
	bool ahead = r->box;
	struct rein_net_report net = r->result.net;
	int rc;

	if (!ahead) {
		r->box = rein_pool_take(e->pool, spec->net);
		ahead = r->box;
	}
	if (!ahead && rein_box_open(spec->net, e->box_program, &r->box, err) < 0)
		return -err->code;
	r->result.linked = (struct rein_linked_list){0};
	r->result.net = (struct rein_net_report){0};
	rc = rein_box_run(r->box, spec, &r->result, err);
	if (!ahead) /* else it comes down while its effects are looked at */
		rein_box_close(take_ptr(r->box));
	rein_pool_fill(e->pool);
	if (rein_linked_merge(&before, &r->result.linked) < 0 && rc == 0)
		rc = rein_err_nomem(err);
	r->result.linked = before;
	rein_net_report_add(&net, &r->result.net);
	rein_net_report_done(&r->result.net);
	r->result.net = net;
	return rc;
}

static int sync_trail(void *arg, struct rein_err *err)
{
	return rein_trail_sync(arg, err);
}

struct errand {
	const struct rein_engine *e;
	const struct rein_run *r;
};

static void meanwhile(void *arg)
{
	const struct errand *x = arg;

	rein_tx_tidy(&x->e->state, &x->r->tx);
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

static void free_judge(struct rein_exec_judge_state **s)
{
	if (*s)
		rein_exec_judge_done(*s);
	rein_free(*s);
}

static int launch(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		  struct rein_err *err)
{
	auto_(rein_env_done) struct rein_env env = {0};
	auto_strlist struct rein_strlist over = {0}, hidden = {0};
	auto_(rein_watcher_close) struct rein_watcher watcher = {0};
	auto_(free_judge) struct rein_exec_judge_state *judge = NULL;
	struct rein_env_opts eo = {
		.environ = environ,
		.set = o->env.v,
		.files = o->env_file.v,
		.defaults = r->view.env.v,
		.cwd = r->view.cwd,
	};
	struct errand errand = {e, r};
	struct rein_box_spec spec = {
		.argv = o->argv,
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
		.nested = o->nested,
		.caps = o->caps,
		.timeout_ns = o->timeout_ns,
		.idle_timeout_ns = o->idle_timeout_ns,
		.before_start = sync_trail, /* while the box is built */
		.before_start_arg = &r->trail,
		.meanwhile = r->has_tx ? meanwhile : NULL,
		.meanwhile_arg = &errand,
	};

	if (rein_engine_limits(o, r->policy, &r->settings, &spec.limits, err) < 0)
		return -err->code;
	if (!spec.timeout_ns)
		spec.timeout_ns = spec.limits.v[REIN_LIMIT_TIME];
	if (!spec.idle_timeout_ns)
		spec.idle_timeout_ns = spec.limits.v[REIN_LIMIT_IDLE];
	if (rein_network_env(r, &over, err) < 0 || rein_credentials_env(r, &over, err) < 0)
		return -err->code;
	eo.over = over.v;
	eo.without = r->credential_vars.v;
	if (rein_env_make(&eo, &env, err) < 0 || rein_watcher_open(&watcher, e, o, r, err) < 0)
		return -err->code;
	spec.watch = &watcher.watch;
	if (o->watch) {
		judge = rein_calloc(1, sizeof(*judge));
		if (!judge)
			return rein_err_nomem(err);
		*judge = (struct rein_exec_judge_state){
			.policy = r->policy, .who = &o->who, .cwd = r->view.cwd, .workspace = r->view.workspace,
			.watcher = &watcher};
		spec.watch_execs = true;
		spec.exec_judge = rein_engine_judge_exec;
		spec.exec_judge_arg = judge;
	}
	spec.watch_files = o->watch_files;
	if (o->watch_files && rein_engine_hidden(r, &hidden) < 0)
		return rein_err_nomem(err);
	spec.hidden = hidden.v;
	spec.envp = env.envp.v;
	r->env_dropped = env.dropped;
	env.dropped = (struct rein_strlist){0};
	if (watcher.canaries.rules) {
		spec.paths = watcher.canaries.rules;
		spec.npaths = watcher.canaries.nrules;
	}
	if (o->backend ? run_oci(e, o, &spec, r, err) < 0 : run_box(e, &spec, r, err) < 0)
		return -err->code;
	watcher.over = true;
	if (r->result.end == REIN_BOX_LIMIT) {
		char text[128];

		rein_limit_hit_text(&r->result.hit, text, sizeof(text));
		rein_engine_violation(&watcher, REIN_VIOLATION_RESOURCE, text);
	}
	return 0;
}

static int scan(struct rein_run *r, struct rein_err *err)
{
	for (size_t i = 0; i < r->tx.nroots; i++)
		if (rein_scan(&r->tx.roots[i], (uint32_t)i, r->tx.begin_ns[i], &r->result.linked,
			      &r->changes, err) < 0)
			return -err->code;
	return rein_scan_finish(r->tx.roots, &r->result.linked, &r->changes, err);
}

/* A hard link that was made without a trace in the tree's directories: the next run will watch. */
static void notice_links(const struct rein_engine *e, const struct rein_run *r)
{
	for (size_t i = 0; !r->links && i < r->changes.n; i++)
		if (r->changes.v[i].clash == REIN_CLASH_LINKS)
			rein_hide_forget(e->state.dir, r->tx.roots[r->changes.v[i].root].real);
}

/* Only directories whose time moved because something was made and removed in them. */
static bool only_traces(const struct rein_run *r)
{
	for (size_t i = 0; i < r->changes.n; i++) {
		const struct rein_change *x = &r->changes.v[i];

		if (x->kind != REIN_CHANGE_META || !S_ISDIR(x->after.mode) ||
		    x->what & ~REIN_WHAT_TIMES || x->after.mtime_ns < r->tx.begin_ns[x->root])
			return false;
	}
	return true;
}

/* A tree that is between two states is no ground to build on. */
static int refuse_half_done(struct rein_engine *e, const struct rein_view *v, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};

	if (!e->stuck.code)
		return 0;
	if (rein_names_read(e->state.journal_fd, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
		struct rein_err unknown = {0};
		bool ours = rein_tx_load(&e->state, names.v[i], &t, &unknown) < 0;

		for (size_t r = 0; r < t.nroots; r++)
			for (size_t k = 0; k < v->ncow; k++)
				ours |= rein_path_within(t.roots[r].real, v->cow[k].path) ||
					rein_path_within(v->cow[k].path, t.roots[r].real);
		if (ours)
			return rein_err_set(err, REIN_E_STATE,
					    "transaction %s is half done here: put back what it needs, or give "
					    "it up: rein discard --force %s",
					    names.v[i], names.v[i]);
	}
	return 0;
}

/* Whoever did what he must not do may look, until a person lifts it: nothing he runs changes anything. */
static int enforce_safe_mode(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
			     struct rein_err *err)
{
	struct rein_orders orders = {.state_fd = e->state.fd, .state_dir = e->state.dir};
	struct rein_order_text t;

	if (!rein_orders_apply(&orders, REIN_ORDERS_SAFE, o->who.agent, &t))
		return 0;
	r->safe_mode = true;
	/* whoever asks for a network is told; a policy's is simply not there */
	if (!o->net_chosen)
		rein_network_shut(o, r);
	if (r->net != REIN_NET_NONE)
		return rein_err_set(err, REIN_E_DENIED,
				    "safe mode is on (%s, %s): no network until a person lifts it: rein safe --lift",
				    t.when, t.why);
	for (size_t i = 0; i < r->view.ncow; i++)
		if (rein_view_add_path_(&r->view, r->view.cow[i].path, NULL, REIN_PATH_RO, true) < 0)
			return rein_err_nomem(err);
	return 0;
}

/* Everything that is decided without a command: policy, view, trail. Nothing is made yet. */
static int prepare(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	if (rein_engine_admits(e, o, err) < 0 || rein_settings_load(o, r, err) < 0 || plan_view(e, o, r, err) < 0 ||
	    rein_trail_open(&r->trail, e->state.dir, &o->who, NULL, err) < 0)
		return -err->code;
	if (enforce_safe_mode(e, o, r, err) < 0)
		return -err->code;
	return refuse_half_done(e, &r->view, err);
}

/* On disk before the command starts: a crash leaves a transaction, not a riddle. */
static int open_tx(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	if (rein_masks_find(e, r, err) < 0)
		return -err->code;
	r->reads = rein_engine_only_reads(e, o, r);
	if ((!r->reads && rein_engine_warm_open(e, o, r, err) < 0) || begin(e, r, err) < 0)
		return -err->code;
	r->has_tx = !r->reads;
	if (describe(r, o->argv, err) < 0)
		return -err->code;
	if (r->reads)
		return 0;
	if (rein_masks_give(e, r, err) < 0 || rein_engine_warm_fit(o, r, err) < 0 ||
	    rein_tx_save(&e->state, &r->tx, false, err) < 0)
		return -err->code;
	return 0;
}

int rein_engine_begin(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		      struct rein_err *err)
{
	struct rein_run r = {.tx = {.dirfd = -1}};
	struct rein_err ignored = {0};

	if (prepare(e, o, &r, err) < 0 || open_tx(e, o, &r, err) < 0) {
		rein_engine_drop(e, &r, &ignored);
		rein_run_done(&r);
		return -err->code;
	}
	*ret = r;
	return 0;
}

/* Refused: on the record, and durable, because the refusal is what will be asked about. */
static int refuse(const struct rein_engine *e, struct rein_run *r, enum rein_code code, struct rein_err *err)
{
	const struct rein_decision *d = &r->judged.before;
	struct rein_err ignored = {0};

	rein_refusals_note(e->state.dir, r->trail.who.agent, r->trail.who.session, d->rule ? d->rule : "",
			   r->trail.digest, rein_now_ns(), &r->judged.repeated, &ignored);
	if (rein_trail_sync(&r->trail, err) < 0)
		return -err->code;
	return rein_err_set(err, (int)code, "%s", d->reason);
}

/* [E1] */
static int admit(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	char here[PATH_MAX];
	size_t argc = 0;
	struct rein_action a = {.kind = REIN_ACTION_COMMAND,
				.argv = (const char *const *)o->argv,
				/* one spelling: the workspace's path is a resolved one */
				.cwd = realpath(r->view.cwd, here) ? here : r->view.cwd,
				.home = getenv("HOME"),
				.workspace = r->view.workspace,
				.environ_ = (const char *const *)environ};
	bool yes;

	while (o->argv[argc])
		argc++;
	a.argc = argc;
	if (rein_judge_action(&r->judged, r->policy, &a, &o->who, err) < 0 ||
	    rein_trail_asked(&r->trail, &a, &r->judged.before, err) < 0)
		return -err->code;
	switch (rein_decision_enforced(&r->judged.before)) {
	case REIN_HOLD:
		if (!r->judged.must_hold)
			snprintf(r->judged.hold_reason, sizeof(r->judged.hold_reason), "%s",
				 r->judged.before.reason);
		r->judged.must_hold = true;
		return 0;
	case REIN_ALLOW:
		return 0;
	case REIN_ASK:
		if (!o->ask)
			return refuse(e, r, REIN_E_APPROVAL, err);
		yes = o->ask(o->ask_arg, &r->judged);
		if (rein_trail_answered(&r->trail, yes, "action", err) < 0)
			return -err->code;
		if (!yes)
			return refuse(e, r, REIN_E_DENIED, err);
		r->judged.approved = true;
		return 0;
	default:
		return refuse(e, r, REIN_E_DENIED, err);
	}
}

int rein_engine_launch_(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
			struct rein_err *err)
{
	/* an upper that was mounted "volatile" needs a new work directory to be mounted again */
	if (r->execs) {
		rein_box_close(take_ptr(r->box));
		rein_warm_free(take_ptr(r->warm));
		if (rein_tx_reopen(&r->tx, err) < 0)
			return -err->code;
	}
	r->execs++;
	if (rein_trail_start(&r->trail, &r->tx, err) < 0 || launch(e, o, r, err) < 0)
		return -err->code;
	r->tx.ended_ns = rein_now_ns();
	r->tx.status = r->result.status;
	r->tx.end = r->result.end;
	if (r->has_tx && (rein_engine_save_execs(&r->tx, &r->result.execs, err) < 0 ||
			  rein_engine_save_refused(&r->tx, &r->result.refused, err) < 0))
		return -err->code;
	return rein_trail_end(&r->trail, &r->tx, &r->result, err);
}

int rein_engine_exec(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		     struct rein_err *err)
{
	if (admit(e, o, r, err) < 0)
		return -err->code;
	return rein_engine_launch_(e, o, r, err);
}

int rein_engine_scan(struct rein_run *r, struct rein_err *err)
{
	rein_changes_done(&r->changes);
	/* effects that cannot be read cannot be judged: nothing of them may be committed */
	while (scan(r, err) < 0) {
		if (!rein_master_own_files(err->sys))
			return rein_err_prefix(err, "read the effects");
		rein_changes_done(&r->changes);
	}
	rein_changes_sum(&r->changes, &r->sum);
	return 0;
}

int rein_engine_effects(struct rein_engine *e, struct rein_run *r, struct rein_err *err)
{
	if (r->reads)
		return 0;
	if (rein_engine_scan(r, err) < 0)
		return -err->code;
	notice_links(e, r);
	if (only_traces(r))
		return rein_engine_drop(e, r, err);
	rein_warm_free(take_ptr(r->warm)); /* its tree is about to change */
	return 0;
}

/* Timeouts and lost boxes are rolled back whatever the effects: nobody has to judge them. */
static bool was_ended(const struct rein_run *r)
{
	return r->result.end != REIN_BOX_EXITED && r->result.end != REIN_BOX_SIGNALED;
}

/* What cannot be judged is not lost, and not committed: it waits for a person. */
static int judge_or_hold(const struct rein_run_opts *o, struct rein_run *r, const struct rein_aftermath *a,
			 struct rein_err *err)
{
	struct rein_err why = {0};

	while (rein_judge_effects(&r->judged, r->policy, a, &o->who, &why) < 0) {
		if (why.code == REIN_E_NOMEM) {
			*err = why;
			return -err->code;
		}
		if (rein_master_own_files(why.sys))
			continue;
		r->judged.after = (struct rein_decision){
			.decide = REIN_HOLD, .tier = REIN_TIER_HIGH, .rule = "unjudged", .minimum = 1};
		snprintf(r->judged.after.reason, sizeof(r->judged.after.reason), "%.300s", why.msg);
		r->judged.has_after = true;
		break;
	}
	return 0;
}

int rein_engine_judge(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		      struct rein_err *err)
{
	struct rein_aftermath a = {.tx = &r->tx,
				   .changes = &r->changes,
				   .workspace = r->view.workspace,
				   .home = getenv("HOME"),
				   .status = r->result.status,
				   .killed = was_ended(r),
				   .discard = o->discard || was_ended(r)};

	auto_free const char **hosts = NULL;

	if (!r->has_tx)
		return 0;
	hosts = rein_calloc(r->result.net.nhosts + 1, sizeof(*hosts));
	if (!hosts)
		return rein_err_nomem(err);
	for (size_t i = 0; i < r->result.net.nhosts; i++)
		hosts[i] = r->result.net.hosts[i].name;
	a.hosts = hosts;
	if (judge_or_hold(o, r, &a, err) < 0)
		return -err->code;
	if (!was_ended(r) && !r->result.status && rein_decision_enforced(&r->judged.after) == REIN_ALLOW) {
		int rc = rein_validate(e, o, r, err);

		/* what the checks themselves wrote is judged as well */
		if (rc < 0 || (rc == 0 && r->settings.validate.n && judge_or_hold(o, r, &a, err) < 0))
			return -err->code;
	}
	return rein_trail_effects(&r->trail, &r->tx, &r->changes, &r->judged.after, err);
}

int rein_engine_drop(struct rein_engine *e, struct rein_run *r, struct rein_err *err)
{
	if (!r->has_tx)
		return 0;
	r->has_tx = false;
	if (!r->warm)
		rein_tx_blank(&e->state, &r->tx);
	/* until its mounts are gone nobody else may have these directories */
	rein_box_close(take_ptr(r->box));
	if (rein_engine_warm_close(e, r))
		return 0;
	return rein_tx_drop(&e->state, &r->tx, err);
}

int rein_engine_run(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		    struct rein_err *err)
{
	struct rein_err ignored = {0};

	*ret = (struct rein_run){.tx = {.dirfd = -1}};
	/*
	 * Its namespaces are made while we look at the policy and at the trees: whatever network the
	 * policy gives it is in one of its own, as it is without a policy.
	 */
	if ((o->backend || rein_box_open(o->net, e->box_program, &ret->box, err) == 0) && prepare(e, o, ret, err) == 0 &&
	    admit(e, o, ret, err) == 0 && open_tx(e, o, ret, err) == 0 &&
	    rein_engine_launch_(e, o, ret, err) == 0 && rein_engine_effects(e, ret, err) == 0 &&
	    rein_engine_judge(e, o, ret, err) == 0)
		return 0;
	rein_engine_drop(e, ret, &ignored);
	return -err->code;
}
