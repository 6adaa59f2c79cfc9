/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, running, settling: the stages in order. */
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "effects/scan.h"
#include "sandbox/env.h"
#include "sandbox/launch.h"

#ifndef REIN_LIBEXECDIR
#define REIN_LIBEXECDIR "/usr/local/libexec/rein"
#endif

/* Beside the running program (a build tree), else where it was installed. */
static char *find_box(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash) {
			*slash = '\0';
			path = rein_asprintf("%s/rein-box", self);
			if (!path || access(path, X_OK) == 0)
				return path;
			rein_free(path);
		}
	}
	return rein_strdup(REIN_LIBEXECDIR "/rein-box");
}

int rein_engine_open(struct rein_engine *e, struct rein_err *err)
{
	*e = (struct rein_engine){.state = {.fd = -1, .txn_fd = -1, .journal_fd = -1}};
	if (rein_state_open(NULL, &e->state, err) < 0)
		return -err->code;
	e->box_program = find_box();
	if (!e->box_program) {
		rein_engine_done(e);
		return rein_err_nomem(err);
	}
	e->recovered = rein_tx_recover(&e->state, err);
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
	rein_tx_done(&r->tx);
	rein_changes_done(&r->changes);
	rein_view_done(&r->view);
	rein_strlist_done(&r->env_dropped);
}

static int plan_view(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_view *ret,
		     struct rein_err *err)
{
	struct rein_view_opts v = {
		.cwd = getenv("PWD"),
		.home = getenv("HOME"),
		.workspace = o->workspace,
		.state_dir = e->state.dir,
		.whole_system = o->whole_system,
		.offline = o->net == REIN_NET_NONE,
		.rw = o->rw.v,
		.ro = o->ro.v,
		.hide = o->hide.v,
		.scratch = o->scratch.v,
		.uid = geteuid(),
		.rootless = geteuid() != 0,
	};
	struct stat a, b;

	/* $PWD is believed only where it really leads here */
	if (!v.cwd || stat(v.cwd, &a) < 0 || stat(".", &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		v.cwd = NULL;
	return rein_view_plan(&v, ret, err);
}

static int begin(const struct rein_engine *e, const struct rein_view *v, struct rein_tx *ret,
		 struct rein_err *err)
{
	auto_free const char **reals = rein_calloc(v->ncow, sizeof(*reals));

	if (!reals)
		return rein_err_nomem(err);
	for (size_t i = 0; i < v->ncow; i++)
		reals[i] = v->cow[i].path;
	return rein_tx_begin(&e->state, reals, v->ncow, ret, err);
}

static int describe(struct rein_tx *t, const struct rein_view *v, char **argv, struct rein_err *err)
{
	size_t n = 0;

	while (argv[n])
		n++;
	t->workspace = rein_strdup(v->workspace);
	t->cwd = rein_strdup(v->cwd);
	t->argv = rein_calloc(n, sizeof(*t->argv));
	if (!t->workspace || !t->cwd || !t->argv)
		return rein_err_nomem(err);
	for (; t->argc < n; t->argc++) {
		t->argv[t->argc] = rein_strdup(argv[t->argc]);
		if (!t->argv[t->argc])
			return rein_err_nomem(err);
	}
	return 0;
}

static int launch(const struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *r,
		  struct rein_err *err)
{
	extern char **environ;
	auto_(rein_env_done) struct rein_env env = {0};
	struct rein_env_opts eo = {
		.environ = environ,
		.set = o->env.v,
		.files = o->env_file.v,
		.defaults = r->view.env.v,
		.cwd = r->view.cwd,
	};
	struct rein_box_spec spec = {
		.argv = o->argv,
		.cwd = r->view.cwd,
		.hostname = "rein",
		.roots = r->tx.roots,
		.nroots = r->tx.nroots,
		.paths = r->view.paths,
		.npaths = r->view.npaths,
		.whole_system = r->view.whole_root,
		.net = o->net,
		.nested = o->nested,
		.caps = o->caps,
		.timeout_ns = o->timeout_ns,
		.idle_timeout_ns = o->idle_timeout_ns,
	};

	if (rein_env_make(&eo, &env, err) < 0)
		return -err->code;
	spec.envp = env.envp.v;
	r->env_dropped = env.dropped;
	env.dropped = (struct rein_strlist){0};
	return rein_box_launch(&spec, e->box_program, &r->result, err);
}

static int scan(struct rein_run *r, struct rein_err *err)
{
	for (size_t i = 0; i < r->tx.nroots; i++)
		if (rein_scan(&r->tx.roots[i], (uint32_t)i, r->tx.begin_ns[i], &r->changes, err) < 0)
			return -err->code;
	return rein_scan_finish(r->tx.roots, r->tx.nroots, &r->changes, err);
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

int rein_engine_run(struct rein_engine *e, const struct rein_run_opts *o, struct rein_run *ret,
		    struct rein_err *err)
{
	struct rein_run r = {.tx = {.dirfd = -1}};
	struct rein_err ignored = {0};

	if (plan_view(e, o, &r.view, err) < 0 || begin(e, &r.view, &r.tx, err) < 0)
		goto fail;
	r.has_tx = true;
	/* on disk before the command starts: a crash leaves a transaction, not a riddle */
	if (describe(&r.tx, &r.view, o->argv, err) < 0 ||
	    rein_tx_save(&e->state, &r.tx, false, err) < 0 || launch(e, o, &r, err) < 0)
		goto fail;
	r.tx.ended_ns = rein_now_ns();
	r.tx.status = r.result.status;
	r.tx.end = r.result.end;
	if (scan(&r, err) < 0) {
		/* the effects are there but cannot be read: nothing of it may be committed */
		rein_err_prefix(err, "read the effects");
		goto fail;
	}
	rein_changes_sum(&r.changes, &r.sum);
	if (only_traces(&r)) {
		if (rein_tx_drop(&e->state, &r.tx, err) < 0)
			goto fail;
		r.has_tx = false;
	}
	*ret = r;
	return 0;
fail:
	if (r.has_tx)
		rein_tx_drop(&e->state, &r.tx, &ignored);
	rein_run_done(&r);
	return -err->code;
}

static int set_reason(struct rein_tx *t, const char *reason)
{
	rein_free(t->reason);
	t->reason = reason ? rein_strdup(reason) : NULL;
	return reason && !t->reason ? -1 : 0;
}

int rein_engine_settle(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		       enum rein_settle how, const char *reason, struct rein_err *err)
{
	struct rein_err held = {0};

	if (set_reason(t, reason) < 0)
		return rein_err_nomem(err);
	switch (how) {
	case REIN_SETTLE_COMMIT:
		if (rein_tx_commit(&e->state, t, c, err) == 0)
			return 0;
		if (t->state == REIN_TX_RUNNING) {
			set_reason(t, err->code == REIN_E_CONFLICT ? "conflict" : "commit failed");
			if (rein_tx_hold(&e->state, t, c, &held) < 0)
				return rein_err_prefix(err, "could not even be held (%s)", held.msg);
		}
		return -err->code;
	case REIN_SETTLE_DISCARD:
		if (rein_tx_save_changes(t, c, err) < 0)
			return -err->code;
		return rein_tx_discard(&e->state, t, err);
	case REIN_SETTLE_HOLD:
		break;
	}
	return rein_tx_hold(&e->state, t, c, err);
}
