/* SPDX-License-Identifier: Apache-2.0 */
/* See warm.h. */
#include "engine/warm.h"

#include <fcntl.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/warm.h"

/* One tree, in a box of ours. */
static bool is_possible(const struct rein_run_opts *o, const struct rein_run *r)
{
	return r->warm_ns && !o->backend && !o->whole_system && r->view.ncow == 1;
}

int rein_engine_warm_open(const struct rein_engine *e, const struct rein_run_opts *o,
			  struct rein_run *r, struct rein_err *err)
{
	r->warm_ns = o->warm_ns ? o->warm_ns : r->settings.warm_ns;
	if (!is_possible(o, r))
		return 0;
	r->warm = rein_warm_take(e->state.fd, r->view.cow[0].path);
	/* git status locks its index if it can, to write down what it saw: each time a change */
	return rein_engine_default_var_(r, "GIT_OPTIONAL_LOCKS=0", err);
}

static void forget(struct rein_run *r)
{
	rein_warm_free(take_ptr(r->warm));
}

int rein_engine_warm_fit(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	const struct rein_root *root = r->tx.roots;
	const char *mask = root->mask ? root->mask : "";

	if (r->warm && rein_streq(r->warm->mask, mask)) {
		r->was_warm = true;
		return 0;
	}
	if (r->warm) {
		forget(r); /* unmounts it */
		if (rein_tx_cool(&r->tx, err) < 0)
			return -err->code;
	}
	/*
	 * A mask in memory goes with the run. A file that has names elsewhere can be changed by
	 * them, which no watch here sees.
	 */
	if (!is_possible(o, r) || root->staged || r->masks[0].hidden.passing || r->links)
		return 0;
	r->warm = rein_warm_watch(root->real);
	if (r->warm)
		r->warm->mask = rein_strdup(mask);
	if (r->warm && !r->warm->mask)
		forget(r);
	return 0;
}

/* A mask is kept by a lock of its own, which ours are closed with. */
static bool keep_mask(struct rein_run *r)
{
	const struct rein_hide_list *mask = &r->masks[0].hidden;

	if (r->warm->lock < 0 && mask->lock_fd >= 0)
		r->warm->lock = fcntl(mask->lock_fd, F_DUPFD_CLOEXEC, 3);
	return !*r->warm->mask || r->warm->lock >= 0;
}

bool rein_engine_warm_close(const struct rein_engine *e, struct rein_run *r)
{
	struct rein_warm *w = r->warm;
	bool left = false;

	if (w && w->layer >= 0 && rein_warm_true(w) && keep_mask(r) &&
	    rein_tx_leave(&e->state, &r->tx, w->name, &w->dir)) {
		left = true;
		if (!rein_warm_leave(e->state.fd, w, r->warm_ns)) {
			rein_closep_(&w->layer);
			w->layer = -1;
			rein_tx_remove_warm(&e->state, w->name);
		}
	}
	forget(r);
	return left;
}
