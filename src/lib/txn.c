/* SPDX-License-Identifier: Apache-2.0 */
/* include/rein/txn.h over the engine. */
#include <rein/txn.h>

#include <sys/stat.h>

#include "base/auto.h"
#include "engine/engine.h"
#include "engine/reverse.h"
#include "sandbox/pool.h"

struct rein_txn {
	struct rein_engine engine;
	struct rein_run_opts opts;
	struct rein_run run;
	bool begun;	/* the box was planned */
	bool decided;	/* committed, held or gone */
	bool effects;	/* run.changes is up to date */
	char *workspace, *agent, *session, *task;
	const char *forced; /* why neither a commit nor a hold is possible any more, or NULL */
};

_Static_assert((int)REIN_TXN_CANCELLED == (int)REIN_BOX_CANCELLED && (int)REIN_TXN_LIMIT == (int)REIN_BOX_LIMIT &&
		       (int)REIN_TXN_STOPPED == (int)REIN_BOX_STOPPED,
	       "the public ends are the inner ones");

static int copy_list(struct rein_strlist *to, const char *const *from)
{
	for (; from && *from; from++)
		if (rein_strlist_add(to, *from) < 0)
			return -1;
	return 0;
}

static void free_opts(struct rein_run_opts *o)
{
	struct rein_strlist *lists[] = {&o->rw, &o->ro, &o->hide, &o->scratch, &o->env, &o->env_file, &o->policy};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		rein_strlist_done(lists[i]);
}

static bool say_yes(void *arg, const struct rein_judgement *j)
{
	(void)arg;
	(void)j;
	return true;
}

/* The caller's strings are his again when the call returns; an empty one is none. */
static int keep(char **to, const char *from)
{
	if (from && *from)
		*to = rein_strdup(from);
	return from && *from && !*to ? -1 : 0;
}

static int take_opts(struct rein_txn *t, const struct rein_txn_opts *o, struct rein_err *err)
{
	if (!o)
		return 0;
	if (o->size != sizeof(*o))
		return rein_err_set(err, REIN_E_USAGE, "rein_txn_opts.size is %zu, not %zu", o->size,
				    sizeof(*o));
	if (keep(&t->workspace, o->workspace) < 0 || keep(&t->agent, o->agent) < 0 || keep(&t->session, o->session) < 0 ||
	    keep(&t->task, o->task) < 0)
		return rein_err_nomem(err);
	t->opts.workspace = t->workspace;
	t->opts.whole_system = o->whole_system;
	t->opts.nested = o->allow_nested;
	t->opts.net = o->share_network ? REIN_NET_HOST : REIN_NET_NONE;
	t->opts.net_chosen = true;
	t->opts.who = (struct rein_who){.agent = t->agent, .session = t->session, .task = t->task};
	t->opts.ask = o->approve ? say_yes : NULL;
	t->engine.pool = o->pool;
	t->opts.timeout_ns = o->timeout_ns;
	t->opts.idle_timeout_ns = o->idle_timeout_ns;
	if (copy_list(&t->opts.rw, o->rw) < 0 || copy_list(&t->opts.ro, o->ro) < 0 ||
	    copy_list(&t->opts.hide, o->hide) < 0 || copy_list(&t->opts.scratch, o->scratch) < 0 ||
	    copy_list(&t->opts.env, o->env) < 0 || copy_list(&t->opts.policy, o->policy) < 0)
		return rein_err_nomem(err);
	return rein_who_check(&t->opts.who, err);
}

static int new_handle(struct rein_txn **ret, struct rein_err *err)
{
	struct rein_txn *t = rein_alloc(sizeof(*t));

	if (!t)
		return rein_err_nomem(err);
	t->run.tx.dirfd = -1;
	t->engine = (struct rein_engine)REIN_NO_ENGINE;
	if (rein_engine_open(&t->engine, err) < 0) {
		rein_engine_done(&t->engine);
		rein_free(t);
		return -err->code;
	}
	*ret = t;
	return 0;
}

int rein_pool_open(unsigned n, struct rein_pool **ret, struct rein_err *err)
{
	auto_free char *program = rein_engine_box_program();

	return program ? rein_pool_new(n, program, ret, err) : rein_err_nomem(err);
}

unsigned rein_pool_size(struct rein_pool *pool)
{
	return rein_pool_ready(pool);
}

uint64_t rein_pool_used(struct rein_pool *pool)
{
	return rein_pool_given(pool);
}

void rein_pool_close(struct rein_pool *pool)
{
	rein_pool_free(pool);
}

int rein_txn_begin(const struct rein_txn_opts *opts, struct rein_txn **ret, struct rein_err *err)
{
	static char *const nothing[] = {NULL};
	struct rein_txn *t;

	if (new_handle(&t, err) < 0)
		return -err->code;
	t->opts.argv = (char **)(uintptr_t)nothing;
	if (take_opts(t, opts, err) < 0 || rein_engine_begin(&t->engine, &t->opts, &t->run, err) < 0) {
		t->decided = true;
		rein_txn_free(t);
		return -err->code;
	}
	t->begun = true;
	*ret = t;
	return 0;
}

int rein_txn_open(const char *name, struct rein_txn **ret, struct rein_err *err)
{
	struct rein_txn *t;

	if (new_handle(&t, err) < 0)
		return -err->code;
	t->decided = true;
	if (rein_engine_find(&t->engine, name, ~0u, &t->run.tx, err) < 0 ||
	    rein_tx_changes(&t->run.tx, &t->run.changes, err) < 0) {
		rein_txn_free(t);
		return -err->code;
	}
	t->effects = true;
	t->run.has_tx = true;
	*ret = t;
	return 0;
}

const char *rein_txn_id(const struct rein_txn *txn)
{
	return txn->run.tx.id;
}

/* What rein run rolls back whatever was wished: it was ended for cause, and what it did is a half. */
static const char *why_forced(const struct rein_run *r)
{
	switch (r->result.end) {
	case REIN_BOX_LOST:
		return "the box was lost";
	case REIN_BOX_TIMEOUT:
		return "the command timed out";
	case REIN_BOX_IDLE_TIMEOUT:
		return "the command was idle for too long";
	case REIN_BOX_CANCELLED:
		return "the command was cancelled";
	case REIN_BOX_LIMIT:
		return "the command hit a limit";
	case REIN_BOX_STOPPED:
		return "the command was stopped";
	case REIN_BOX_EXITED:
	case REIN_BOX_SIGNALED:
		break;
	}
	return r->violations.safe_mode ? "safe mode began" : NULL;
}

int rein_txn_run(struct rein_txn *t, const char *const *argv, struct rein_txn_result *ret,
		 struct rein_err *err)
{
	if (!t->begun || t->decided)
		return rein_err_set(err, REIN_E_STATE, "this transaction is decided: begin another");
	if (!argv || !argv[0])
		return rein_err_set(err, REIN_E_USAGE, "no command");
	t->opts.argv = (char **)(uintptr_t)argv;
	t->effects = false;
	if (rein_engine_exec(&t->engine, &t->opts, &t->run, err) < 0)
		return -err->code;
	if (!t->forced)
		t->forced = why_forced(&t->run);
	/* a transaction is named by its first command */
	if (!t->run.tx.argc && rein_engine_name(&t->run.trail, &t->run.tx, t->opts.argv, err) < 0)
		return -err->code;
	*ret = (struct rein_txn_result){
		.end = (enum rein_txn_end)t->run.result.end,
		.status = t->run.result.status,
		.wall_ns = t->run.result.wall_ns,
		.cpu_ns = t->run.result.cpu_ns,
		.max_rss_kib = t->run.result.max_rss_kib,
	};
	return 0;
}

static int refresh(struct rein_txn *t, struct rein_err *err)
{
	if (t->effects || t->decided)
		return 0;
	if (rein_engine_scan(&t->run, err) < 0)
		return -err->code;
	t->effects = true;
	return 0;
}

int rein_txn_effects(struct rein_txn *t, size_t *ret_count, struct rein_err *err)
{
	if (refresh(t, err) < 0)
		return -err->code;
	*ret_count = t->run.changes.n;
	return 0;
}

size_t rein_txn_effect_count(const struct rein_txn *t)
{
	return t->run.changes.n;
}

int rein_txn_effect(const struct rein_txn *t, size_t i, struct rein_effect *ret)
{
	const struct rein_change *x;

	if (i >= t->run.changes.n)
		return -REIN_E_NOTFOUND;
	x = &t->run.changes.v[i];
	*ret = (struct rein_effect){
		.kind = x->from ? REIN_EFFECT_RENAMED : (enum rein_effect_kind)x->kind,
		.root = t->run.tx.roots[x->root].real,
		.path = x->path,
		.from = x->from,
		.conflict = x->clash ? rein_clash_text(x->clash) : NULL,
		.mode_before = x->before.mode,
		.mode_after = x->after.mode,
		.size_before = x->before.size,
		.size_after = x->after.size,
	};
	return 0;
}

/* One that was decided about before: a person goes back to it. */
static int decide_later(struct rein_txn *t, enum rein_settle how, struct rein_err *err)
{
	if (how == REIN_SETTLE_HOLD)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is %s", t->run.tx.id,
				    rein_tx_state_name(t->run.tx.state));
	return rein_engine_later(&t->engine, &t->opts.who, &t->run.tx, &t->run.changes,
				 how == REIN_SETTLE_COMMIT ? REIN_LATER_COMMIT : REIN_LATER_DISCARD, err);
}

/*
 * What the policy makes of a wish to commit, or to keep it for a commit that is not judged any more. 0 and *how as it
 * is, or an error that is to be told.
 */
static int ask_policy(struct rein_txn *t, enum rein_settle *how, struct rein_err *why, struct rein_err *err)
{
	const struct rein_judgement *j = &t->run.judged;
	struct rein_err missing = {0};
	enum rein_decide d;

	if (rein_engine_judge(&t->engine, &t->opts, &t->run, err) < 0)
		return -err->code;
	d = rein_decision_enforced(&j->after);
	if (d == REIN_ALLOW && j->must_hold)
		d = REIN_HOLD;
	if (d == REIN_ALLOW)
		return 0;
	if (d != REIN_DENY && *how == REIN_SETTLE_HOLD)
		return 0;
	if (d != REIN_DENY && t->opts.ask) {
		if (rein_engine_approve(&t->run, &missing) == 0)
			return 0;
		if (!*j->missing) { /* an answer that cannot be recorded was not given */
			*err = missing;
			return -err->code;
		}
	}
	*how = d == REIN_DENY ? REIN_SETTLE_DISCARD : REIN_SETTLE_HOLD;
	rein_err_set(why, d == REIN_DENY ? REIN_E_ROLLED_BACK : REIN_E_HELD, "%s%s%s",
		     j->has_after && rein_decision_enforced(&j->after) != REIN_ALLOW ? j->after.reason
										     : j->hold_reason,
		     *j->missing ? "; " : "", j->missing);
	return 0;
}

static int decide(struct rein_txn *t, enum rein_settle how, struct rein_err *err)
{
	struct rein_err why = {0};
	int rc;

	if (t->decided && t->run.has_tx)
		return decide_later(t, how, err);
	if (!t->run.has_tx)
		return rein_err_set(err, REIN_E_STATE, "this transaction is gone");
	if (refresh(t, err) < 0)
		return -err->code;
	if (t->begun && !t->decided && !t->run.changes.n) {
		t->decided = true; /* nothing happened: nothing is kept */
		return rein_engine_drop(&t->engine, &t->run, err);
	}
	if (t->forced && how != REIN_SETTLE_DISCARD) {
		how = REIN_SETTLE_DISCARD;
		rein_err_set(&why, REIN_E_ROLLED_BACK, "rolled back: %s", t->forced);
	}
	if (how != REIN_SETTLE_DISCARD && ask_policy(t, &how, &why, err) < 0)
		return -err->code;
	rc = rein_engine_settle(&t->engine, &t->run.trail, &t->run.tx, &t->run.changes, how,
				why.code ? why.msg : NULL, err);
	t->decided = true;
	if (rc == 0 && why.code) {
		*err = why;
		rc = -why.code;
	}
	return rc;
}

int rein_txn_commit(struct rein_txn *t, struct rein_err *err)
{
	return decide(t, REIN_SETTLE_COMMIT, err);
}

int rein_txn_hold(struct rein_txn *t, struct rein_err *err)
{
	return decide(t, REIN_SETTLE_HOLD, err);
}

int rein_txn_abort(struct rein_txn *t, struct rein_err *err)
{
	return decide(t, REIN_SETTLE_DISCARD, err);
}

static int reverse(struct rein_txn *t, enum rein_later what, struct rein_err *err)
{
	static const struct rein_strlist none;

	if (!t->run.has_tx)
		return rein_err_set(err, REIN_E_STATE, "this transaction is gone");
	if (t->run.tx.state == (what == REIN_LATER_REDO ? REIN_TX_UNDONE : REIN_TX_COMMITTED) &&
	    rein_resolve_reverse(&t->engine, &t->run.tx, &t->run.changes, what == REIN_LATER_REDO, &none, &none, err) < 0)
		return -err->code;
	return rein_engine_later(&t->engine, &t->opts.who, &t->run.tx, &t->run.changes, what, err);
}

int rein_txn_undo(struct rein_txn *t, struct rein_err *err)
{
	return reverse(t, REIN_LATER_UNDO, err);
}

int rein_txn_redo(struct rein_txn *t, struct rein_err *err)
{
	return reverse(t, REIN_LATER_REDO, err);
}

void rein_txn_free(struct rein_txn *t)
{
	struct rein_err ignored = {0};

	if (!t)
		return;
	if (t->begun && !t->decided)
		rein_engine_drop(&t->engine, &t->run, &ignored);
	rein_run_done(&t->run);
	rein_engine_done(&t->engine);
	free_opts(&t->opts);
	rein_free(t->workspace);
	rein_free(t->agent);
	rein_free(t->session);
	rein_free(t->task);
	rein_free(t);
}
