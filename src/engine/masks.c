/* SPDX-License-Identifier: Apache-2.0 */
/* See masks.h. */
#include "engine/masks.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sys/attr.h"
#include "sys/priv.h"
#include "sys/tree.h"

/*
 * Directories of a foreign owner or group cannot be copied up without privilege; made in upper
 * beforehand, with the real one's face, the command can work in them.
 */
static int rescue_foreign(const struct rein_root *r, const struct rein_hide_list *h,
			  struct rein_err *err)
{
	auto_close int real = -1, upper = -1;

	if (!h->nforeign)
		return 0;
	real = open(r->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	upper = open(r->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (real < 0 || upper < 0)
		return rein_err_errno(err, "open '%s'", r->real);
	for (size_t i = 0; i < h->nforeign; i++) {
		const struct rein_foreign_dir *f = &h->foreign[i];
		auto_(rein_attrs_done) struct rein_attrs a = {0};

		if (f->uid != geteuid() || !*f->path)
			continue; /* only the group can be given without privilege */
		if (rein_mkdirs(upper, f->path, err) < 0 ||
		    rein_attrs_read(real, f->path, &a, err) < 0)
			return -err->code;
		if (fchownat(upper, f->path, (uid_t)-1, f->gid, 0) < 0) {
			unlinkat(upper, f->path, AT_REMOVEDIR);
			continue;
		}
		if (rein_attrs_apply(upper, f->path, &a, REIN_ATTR_ALL & ~REIN_ATTR_OWNER, err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_masks_make(const struct rein_engine *e, struct rein_run *run, struct rein_err *err)
{
	const struct rein_view *v = &run->view;
	struct rein_tx *t = &run->tx;

	run->masks = rein_calloc(t->nroots, sizeof(*run->masks));
	if (!run->masks)
		return rein_err_nomem(err);
	for (size_t at = 0; at < t->nroots; at++) {
		struct rein_root *r = &t->roots[at];
		struct rein_cow *cow = &v->cow[at];
		struct rein_hide_opts o = {
			.state_dir = e->state.dir,
			.show = cow->show.v,
			.whole = cow->whole,
			.rootless = !rein_is_root(),
			.uid = geteuid(),
			.gid = getegid(),
			.search = v->workspace,
			.names = run->hide_names.v,
		};

		run->masks[at] = (struct rein_hide_list)REIN_HIDE_LIST_INIT;
		run->nmasks++;
		for (size_t i = 0; i < t->nroots; i++) {
			auto_free char *place = rein_strdup(t->roots[i].store);

			/* PLACE/ID/rN: the place itself is hidden */
			for (int up = 0; place && up < 2; up++) {
				char *slash = strrchr(place, '/');

				if (slash)
					*slash = '\0';
			}
			if (!place)
				return rein_err_nomem(err);
			if (rein_path_within(place, r->real) &&
			    !rein_path_within(place, e->state.dir) &&
			    !rein_strlist_has(&cow->hide, place) &&
			    rein_strlist_add(&cow->hide, place) < 0)
				return rein_err_nomem(err);
		}
		o.hide = cow->hide.v;
		if (rein_hide_mask(&o, r->real, &r->mask, &run->masks[at], err) < 0 ||
		    rescue_foreign(r, &run->masks[at], err) < 0)
			return -err->code;
		run->foreign += run->masks[at].nforeign;
		run->links |= run->masks[at].links;
	}
	return 0;
}

void rein_masks_done(struct rein_run *r)
{
	for (size_t i = 0; i < r->nmasks; i++)
		rein_hide_list_done(&r->masks[i]);
	rein_free(take_ptr(r->masks));
	r->nmasks = 0;
}
