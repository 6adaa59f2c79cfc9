/* SPDX-License-Identifier: Apache-2.0 */
/* Which transaction is meant. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/hide.h"
#include "base/auto.h"
#include "base/prefix.h"
#include "effects/scan.h"
#include "engine/engine.h"
#include "sys/priv.h"

/* Does the caller stand in this transaction's workspace? Nobody does who stands in a directory that is gone. */
static bool is_here(const struct rein_tx *t, const char *cwd)
{
	return t->workspace && *cwd && rein_path_within(cwd, t->workspace);
}

/* Only of this workspace: whoever stands elsewhere must say which, or another project's work would be undone. */
static int pick(const struct rein_tx_list *l, const char *cwd, unsigned wanted, uint64_t back)
{
	for (size_t i = 0; i < l->n; i++)
		if (is_here(&l->v[i], cwd) && wanted & 1u << l->v[i].state && back-- == 0)
			return (int)i;
	return -1;
}

/* The one that was decided about last: what an undo takes back first, and a redo brings first. */
static int pick_last(const struct rein_tx_list *l, const char *cwd, unsigned wanted)
{
	int at = -1;

	for (size_t i = 0; i < l->n; i++)
		if (is_here(&l->v[i], cwd) && wanted & 1u << l->v[i].state &&
		    (at < 0 || l->v[i].decided_ns > l->v[at].decided_ns))
			at = (int)i;
	return at;
}

static const char *wanted_text(unsigned wanted)
{
	if (wanted == 1u << REIN_TX_COMMITTED)
		return "no committed transaction here";
	if (wanted == 1u << REIN_TX_UNDONE)
		return "no undone transaction here";
	if (wanted & 1u << REIN_TX_COMMITTED)
		return "no transaction here";
	return "no held transaction here";
}

/*
 * Which copy was which hard-linked file died with the run. Where one left its name and anything was
 * made, nobody can say whether that is it.
 */
static void doubt_links(struct rein_changes *c)
{
	bool made = false;

	for (size_t i = 0; i < c->n; i++)
		made |= c->v[i].after.mode && !S_ISDIR(c->v[i].after.mode);
	for (size_t i = 0; made && i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (x->before.mode && !S_ISDIR(x->before.mode) && x->before.nlink > 1 &&
		    x->clash == REIN_CLASH_NONE)
			x->clash = REIN_CLASH_LINKS;
	}
}

static int read_effects(const struct rein_engine *e, const struct rein_tx *t, struct rein_changes *c,
			struct rein_err *err)
{
	const struct rein_linked_list none = {0};

	for (size_t i = 0; i < t->nroots; i++) {
		auto_close int lock = -1;

		/* what the command could not see: swept meanwhile, or lost with the memory it was in */
		if ((t->roots[i].mask &&
		     rein_hide_revive(e->state.dir, t->roots[i].mask, &lock, err) < 0) ||
		    rein_scan(&t->roots[i], (uint32_t)i, t->begin_ns[i], &none, c, err) < 0)
			return -err->code;
	}
	if (rein_scan_finish(t->roots, &none, c, err) < 0)
		return -err->code;
	doubt_links(c);
	return 0;
}

/* Its layers went with a power cut, or with the memory they were in. Not: they are on a disk that is not there now. */
static bool is_lost(const struct rein_engine *e, const struct rein_tx *t)
{
	bool lost = false;

	for (size_t i = 0; i < t->nroots; i++) {
		const struct rein_root *r = &t->roots[i];

		if (access(r->real, F_OK) < 0)
			return false; /* moved away: it may come back */
		lost |= access(r->upper, F_OK) < 0 && (r->staged || rein_path_within(r->upper, e->state.dir));
	}
	return lost;
}

/*
 * A run whose process died (kill -9, power cut) left its effects unread: read them, hold it if there are any. What
 * cannot be read now stays as it is, and *ret_why tells; the next command tries again.
 */
static int adopt(struct rein_engine *e, const char *id, char **ret_why, struct rein_err *err)
{
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_close int lock = -1;
	struct rein_err why = {0};
	int rc;

	rein_reserve_use(&e->state);
	if (rein_tx_claim(&e->state, id, &t, &lock, err) < 0)
		return -err->code;
	if (t.state != REIN_TX_RUNNING)
		return 0; /* somebody else was quicker */
	while ((rc = read_effects(e, &t, &c, &why)) < 0 && rein_master_own_files(why.sys))
		rein_changes_done(&c);
	if (rc < 0) {
		rein_free(t.reason);
		t.reason = rein_asprintf("interrupted: %s", why.msg);
		rein_changes_done(&c);
		if (!is_lost(e, &t)) {
			*ret_why = take_ptr(t.reason);
			return 0;
		}
		/* nothing of it can be judged, so nothing of it lands */
		if (rein_tx_save_changes(&t, &c, false, err) < 0)
			return -err->code;
		return rein_tx_discard(&e->state, &t, err);
	}
	if (!t.reason)
		t.reason = rein_strdup("interrupted: the run never ended");
	/* one of nothing waits for nobody, and would be in the way of those that do */
	if (rein_engine_only_traces_(&t, &c))
		rc = rein_tx_save_changes(&t, &c, false, &why) < 0 ? -why.code : rein_tx_discard(&e->state, &t, &why);
	else
		rc = rein_tx_hold(&e->state, &t, &c, &why);
	if (rc < 0) { /* it can still be looked at, and thrown away */
		*ret_why = rein_asprintf("interrupted, and cannot be held: %s", why.msg);
		return *ret_why ? 0 : rein_err_nomem(err);
	}
	return 0;
}

static int adopt_dead(struct rein_engine *e, struct rein_tx_list *l, struct rein_err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		struct rein_tx *t = &l->v[i], now;
		auto_free char *why = NULL;

		/* one whose commit is half done is recovery's: its tree is no ground to compare with */
		if (t->state != REIN_TX_RUNNING || rein_tx_alive(&e->state, t->id) ||
		    rein_tx_stuck(&e->state, t->id))
			continue;
		if (adopt(e, t->id, &why, err) < 0 || rein_tx_load(&e->state, t->id, &now, err) < 0)
			return -err->code;
		rein_closep_(&now.dirfd); /* as in the list */
		now.dirfd = -1;
		rein_tx_done(t);
		*t = now;
		if (why) {
			rein_free(t->reason);
			t->reason = take_ptr(why);
		}
	}
	return 0;
}

static int find_id(const struct rein_tx_list *l, const char *name, struct rein_err *err)
{
	struct rein_prefix p = {.name = name};

	for (size_t i = 0; i < l->n; i++)
		rein_prefix_offer(&p, i, l->v[i].id);
	if (p.n > 1)
		return rein_prefix_refuse(&p, REIN_E_NOTFOUND, "transactions", err);
	return p.n ? (int)p.at : -REIN_E_NOTFOUND;
}

int rein_engine_find(struct rein_engine *e, const char *name, unsigned wanted, struct rein_tx *ret,
		     struct rein_err *err)
{
	auto_(rein_tx_list_done) struct rein_tx_list l = {0};
	char cwd[PATH_MAX];
	uint64_t back = 0;
	int at;

	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	if (rein_tx_list(&e->state, &l, err) < 0 || adopt_dead(e, &l, err) < 0)
		return -err->code;
	if (!name || name[0] == '@') {
		if (name && name[1] && (name[1] != '~' || (name[2] && !rein_parse_u64(name + 2, 1u << 20, &back))))
			return rein_err_set(err, REIN_E_USAGE,
					    "'%s' is not a transaction: an id, @ or @~1", name);
		if (name && name[1] == '~' && !name[2])
			back = 1;
		at = name					       ? pick(&l, cwd, ~0u, back)
		     : wanted & (1u << REIN_TX_HELD) ? pick(&l, cwd, wanted, 0)
						       : pick_last(&l, cwd, wanted);
		if (at < 0)
			return rein_err_set(err, REIN_E_NOTFOUND, "%s (see: rein log)",
					    !name ? wanted_text(wanted) : name[1] ? "no such transaction" : "no transaction here");
	} else {
		at = find_id(&l, name, err);
		/* not in the list: unknown, or its description cannot be read, which is then said */
		if (at < 0)
			return err->code ? -err->code : rein_tx_load(&e->state, name, ret, err);
	}
	return rein_tx_load(&e->state, l.v[at].id, ret, err);
}

int rein_engine_list(struct rein_engine *e, struct rein_tx_list *ret, struct rein_err *err)
{
	struct rein_tx_list l = {0};

	if (rein_tx_list(&e->state, &l, err) < 0)
		return -err->code;
	if (adopt_dead(e, &l, err) < 0) {
		rein_tx_list_done(&l);
		return -err->code;
	}
	*ret = l;
	return 0;
}
