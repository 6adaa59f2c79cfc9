/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and running: the stages in order. */
#include "engine/engine.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "effects/scan.h"
#include "engine/conffile.h"
#include "engine/credentials.h"
#include "engine/execs.h"
#include "engine/live.h"
#include "engine/masks.h"
#include "engine/network.h"
#include "engine/reader.h"
#include "engine/refused.h"
#include "engine/settings.h"
#include "engine/warm.h"
#include "record/redact.h"
#include "sandbox/hide.h"
#include "sandbox/launch.h"
#include "sandbox/warm.h"
#include "sys/priv.h"
#include "sys/tree.h"

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

void rein_engine_start_box(struct rein_engine *e, const struct rein_run_opts *o)
{
	struct rein_err later = {0};

	if (o->backend)
		return;
	e->box_program = rein_engine_box_program();
	if (e->box_program)
		rein_box_open(o->net, e->box_program, &e->ahead, &later);
}

int rein_engine_open(struct rein_engine *e, struct rein_err *err)
{
	if (rein_state_open(NULL, &e->state, err) < 0)
		return -err->code;
	if (!e->box_program)
		e->box_program = rein_engine_box_program();
	if (!e->box_program)
		return rein_err_nomem(err);
	e->recovered = rein_tx_recover(&e->state, &e->stuck, err);
	return e->recovered < 0 ? -err->code : 0;
}

void rein_engine_done(struct rein_engine *e)
{
	rein_box_close(take_ptr(e->ahead));
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
	rein_env_done(&r->env);
	rein_strlist_done(&r->rw);
	rein_strlist_done(&r->ro);
	rein_strlist_done(&r->keep);
	rein_strlist_done(&r->hide);
	rein_strlist_done(&r->scratch);
	rein_strlist_done(&r->hide_names);
	rein_strlist_done(&r->socket_sources);
	rein_network_done(r);
	rein_credentials_done(r);
	rein_judgement_done(&r->judged);
	rein_trail_done(&r->trail);
	rein_policy_free(take_ptr(r->policy));
}

static int check_files(const struct rein_run *r, const char *option, const struct rein_strlist *files,
		       struct rein_err *err)
{
	for (size_t i = 0; i < files->n; i++) {
		const char *file = files->v[i];
		auto_free char *full = file[0] == '/' ? rein_strdup(file) : rein_asprintf("%s/%s", r->view.cwd, file);

		if (!full)
			return rein_err_nomem(err);
		if (rein_view_way(&r->view, option, full, NULL, err) < 0)
			return -err->code;
	}
	return 0;
}

/* In a directory that nobody can enter it would be there for nothing. */
static int add_socket(struct rein_run *r, const char *path, struct rein_err *err)
{
	const struct rein_view *v = &r->view;
	char real[PATH_MAX];

	for (size_t i = 0; i < v->npaths; i++)
		if (v->paths[i].access == REIN_PATH_HIDE && rein_path_within(path, v->paths[i].path))
			return rein_err_set(err, REIN_E_USAGE,
					    "'%s' lies inside '%s', which is hidden: show all of that with --ro '%s', or "
					    "let the socket be elsewhere",
					    path, v->paths[i].path, v->paths[i].path);
	if (rein_view_way(v, "--allow-socket", path, real, err) < 0)
		return -err->code;
	return rein_strlist_add(&r->socket_sources, real) < 0 ? rein_err_nomem(err) : 0;
}

/* What else is named by its path, and would be somebody else's choice behind a link in a tree. */
static int check_ways(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	for (size_t i = 0; i < o->sockets.n; i++)
		if (add_socket(r, o->sockets.v[i], err) < 0)
			return -err->code;
	if (check_files(r, "--env-file", &o->env_file, err) < 0)
		return -err->code;
	return check_files(r, "the credential file", &r->credential_files, err);
}

/* A transaction of nothing tells. */
static int has_place(void *arg, const char *path, struct rein_err *err)
{
	const struct rein_engine *e = arg;
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};

	if (rein_tx_begin(&e->state, &path, 1, NULL, &t, err) < 0)
		return -err->code;
	return rein_tx_drop(&e->state, &t, err);
}

static int plan_view(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		     struct rein_err *err)
{
	auto_free char *config = NULL;
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
		.hide_names = r->hide_names.v,
		.uid = geteuid(),
		.rootless = !rein_is_root(),
		.has_place = has_place,
		.has_place_arg = (void *)e,
	};
	struct stat a, b;

	if (rein_conf_path("", &config, err) < 0)
		return -err->code;
	v.config_dir = config;
	/* $PWD is believed only where it really leads here */
	if (!v.cwd || stat(v.cwd, &a) < 0 || stat(".", &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		v.cwd = NULL;
	if (rein_view_plan(&v, &r->view, err) < 0 || rein_network_defaults(r, err) < 0)
		return -err->code;
	return check_ways(o, r, err);
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

static int scan(struct rein_run *r, struct rein_err *err)
{
	rein_tx_heed_clock(&r->tx);
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

bool rein_engine_only_traces_(const struct rein_tx *t, const struct rein_changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (x->kind != REIN_CHANGE_META || !S_ISDIR(x->after.mode) ||
		    x->what & ~REIN_WHAT_TIMES || x->after.mtime_ns < t->begin_ns[x->root])
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
	r->safe_agent = t.of_agent ? o->who.agent : NULL;
	/* whoever asks for a network is told; a policy's is simply not there */
	if (!o->net_chosen)
		rein_network_shut(o, r);
	if (r->net != REIN_NET_NONE)
		return rein_err_set(err, REIN_E_DENIED,
				    "safe mode is on (%s%s%.60s): no network until a person lifts it: rein safe --lift%s%s",
				    t.when, *t.why ? ", " : "", t.why, r->safe_agent ? " --agent " : "", r->safe_agent ? r->safe_agent : "");
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
	r->trail.alert = rein_policy_alerts(r->policy, &r->trail.nalert);
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
	if (!r->reads && rein_engine_read_lightly(o, r, err) < 0)
		return -err->code;
	if ((!r->reads && rein_engine_warm_open(e, o, r, err) < 0) || begin(e, r, err) < 0)
		return -err->code;
	r->has_tx = !r->reads;
	if (describe(r, o->argv, err) < 0)
		return -err->code;
	if (r->reads)
		return 0;
	if (rein_engine_bind_(r, err) < 0 || rein_masks_give(e, r, err) < 0 || rein_engine_warm_fit(o, r, err) < 0 ||
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

/* What it executed and what it was refused stays with the transaction; what checks do (validate.h) does not. */
static int execute(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	if (rein_engine_launch_(e, o, r, err) < 0)
		return -err->code;
	if (r->has_tx && (rein_engine_save_execs(&r->tx, &r->result.execs, err) < 0 ||
			  rein_engine_save_refused(&r->tx, &r->result.refused, err) < 0))
		return -err->code;
	return 0;
}

int rein_engine_exec(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		     struct rein_err *err)
{
	if (rein_engine_admit_(e, o, r, err) < 0)
		return -err->code;
	return execute(e, o, r, err);
}

#define SCANS 16 /* of a tree that others change meanwhile */

int rein_engine_scan(struct rein_run *r, struct rein_err *err)
{
	rein_changes_done(&r->changes);
	/* effects that cannot be read cannot be judged: nothing of them may be committed */
	for (int tries = 1; scan(r, err) < 0; tries++) {
		/* the private side stands still: what is gone was real, somebody took it away while we looked */
		bool gone = (err->sys == ENOENT || err->sys == ENOTDIR) && tries < SCANS;

		if (!gone && !rein_master_own_files(err->sys))
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
	if (rein_engine_only_traces_(&r->tx, &r->changes))
		return rein_engine_drop(e, r, err);
	rein_warm_free(take_ptr(r->warm)); /* its tree is about to change */
	return 0;
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

/*
 * A tree that was moved away while the box ran may come back, and what was done to it is nowhere else: it stays, as that of
 * a run which was killed does (find.c), and is held by the first command that can read it.
 */
static bool left_for_later(struct rein_run *r, struct rein_err *err)
{
	bool away = false;

	for (size_t i = 0; r->has_tx && i < r->tx.nroots; i++)
		away |= access(r->tx.roots[i].real, F_OK) < 0;
	if (!away)
		return false;
	r->has_tx = false;
	rein_err_prefix(err, "what it did is kept until its tree is there again, as %s", r->tx.id);
	return true;
}

int rein_engine_run(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		    struct rein_err *err)
{
	struct rein_err ignored = {0};

	*ret = (struct rein_run){.tx = {.dirfd = -1}, .box = take_ptr(e->ahead)};
	/*
	 * Its namespaces are made while we look at the policy and at the trees: whatever network the
	 * policy gives it is in one of its own, as it is without a policy.
	 */
	if ((o->backend || ret->box || rein_box_open(o->net, e->box_program, &ret->box, err) == 0) &&
	    prepare(e, o, ret, err) == 0 &&
	    rein_engine_admit_(e, o, ret, err) == 0 && open_tx(e, o, ret, err) == 0 &&
	    execute(e, o, ret, err) == 0) {
		if (rein_engine_effects(e, ret, err) == 0) {
			if (rein_engine_judge(e, o, ret, err) == 0)
				return 0;
		} else if (left_for_later(ret, err)) {
			return -err->code;
		}
	}
	rein_engine_drop(e, ret, &ignored);
	return -err->code;
}
