/* SPDX-License-Identifier: Apache-2.0 */
/* Settling conflicts path by path. Only the list changes here, neither the tree nor the transaction. */
#include "engine/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "engine/gitindex.h"
#include "engine/tie.h"
#include "sys/attr.h"
#include "sys/file.h"
#include "text/load.h"

/* From now on the change is against this. Another file than the one that the run changed is replaced, not written to. */
static void rebase_on(struct rein_change *x, const struct rein_fp *now)
{
	const bool same = rein_fp_same_inode(&x->before, now);

	x->before = *now;
	x->clash = REIN_CLASH_NONE;
	if (x->kind == REIN_CHANGE_DELETED)
		x->skipped = !now->mode; /* gone on both sides */
	else if (!now->mode)
		x->kind = REIN_CHANGE_CREATED;
	else if (x->kind == REIN_CHANGE_CREATED)
		x->kind = REIN_CHANGE_MODIFIED;
	if (x->kind == REIN_CHANGE_CREATED || x->kind == REIN_CHANGE_MODIFIED)
		x->in_place = x->in_place && same && now->nlink > 1;
}

static int rebase(const struct rein_tx *t, const struct rein_changes *c, struct rein_change *x, struct rein_err *err)
{
	struct rein_fp now;

	if (rein_retie(t, c, x, err) < 0)
		return -err->code;
	if (x->clash == REIN_CLASH_UNTIED) { /* its own place is as it was */
		x->clash = REIN_CLASH_NONE;
		return 0;
	}
	if (rein_real_now(t, x, &now, err) < 0)
		return -err->code;
	rebase_on(x, &now);
	return 0;
}

/* An index that says what the run found in it. First what it is, then what it says: a later change is found again. */
static bool refreshed(const struct rein_tx *t, const struct rein_changes *c, size_t i, struct rein_fp *now)
{
	const struct rein_change *x = &c->v[i];
	struct rein_err ignored = {0};

	return x->clash == REIN_CLASH_CHANGED && x->kind == REIN_CHANGE_MODIFIED && !x->in_place &&
	       rein_real_now(t, x, now, &ignored) == 0 && rein_gitindex_says_so(t, c, i);
}

/* A change's text, joined, until it is clear that nothing stays in conflict. */
struct merged {
	size_t at;
	struct rein_fp ours; /* what it was joined with: a later edit is a conflict again */
	struct rein_buf text;
};

struct merges {
	struct merged *v;
	size_t n, cap;
};

static void merges_done(struct merges *m)
{
	for (size_t i = 0; i < m->n; i++)
		rein_buf_done(&m->v[i].text);
	rein_free(m->v);
}

/* Of what both sides made another, the two must agree. */
static bool attributes_agree(const struct rein_change *x, const struct rein_fp *now)
{
	return S_ISREG(now->mode) &&
	       (!(x->what & REIN_WHAT_MODE) || now->mode == x->before.mode || now->mode == x->after.mode) &&
	       (!(x->what & REIN_WHAT_OWNER) || (now->uid == x->before.uid && now->gid == x->before.gid) ||
		(now->uid == x->after.uid && now->gid == x->after.gid));
}

/* Made on both sides: neither has attributes from before, so they must be the same. */
static bool made_alike(const struct rein_change *x, const struct rein_fp *now)
{
	return now->mode == x->after.mode && now->uid == x->after.uid && now->gid == x->after.gid;
}

/*
 * Names of one file in the run that are several files out here by now: an editor saved one of them by renaming. Each
 * would have a text of its own, and there is room for one: the others' edits would be lost.
 */
static bool went_apart(const struct rein_tx *t, const struct rein_changes *c, size_t index, const struct rein_fp *now)
{
	const struct rein_change *x = &c->v[index];

	for (size_t i = 0; x->after.nlink > 1 && i < c->n; i++) {
		const struct rein_change *y = &c->v[i];
		struct rein_err ignored = {0};
		struct rein_fp other;

		if (i == index || y->skipped || y->root != x->root || !y->before.mode || !y->after.mode ||
		    !rein_fp_same_inode(&y->after, &x->after))
			continue;
		if (rein_real_now(t, y, &other, &ignored) < 0 || !rein_fp_same_inode(&other, now))
			return true;
	}
	return false;
}

/*
 * Three ways: the file as the run found it (kept when the transaction was held; nothing, where both made it), as it
 * is now, and as the run left it. Nothing is added to m where it stays a conflict.
 */
static int merge_one(const struct rein_text *text, const struct rein_tx *t, const struct rein_changes *c, size_t index,
		     struct merges *m, struct rein_err *err)
{
	const struct rein_change *x = &c->v[index];
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open(t->roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_buf struct rein_buf base = REIN_BUF(REIN_TEXT_SIZE_MAX), ours = REIN_BUF(REIN_TEXT_SIZE_MAX);
	auto_buf struct rein_buf theirs = REIN_BUF(REIN_TEXT_SIZE_MAX), out = REIN_BUF(REIN_TEXT_SIZE_MAX);
	const bool made = x->kind == REIN_CHANGE_CREATED;
	struct rein_text_merge_in in = {.our_label = "workspace", .their_label = t->id, .no_base = made};
	struct rein_fp now;
	char name[64];
	bool conflict = false;

	snprintf(name, sizeof(name), "base/%zu", index);
	if ((!made && (x->kind != REIN_CHANGE_MODIFIED || rein_file_read(t->dirfd, name, &base, err) < 0)) ||
	    rein_fp_at(real, x->path, &now, err) < 0 || !attributes_agree(x, &now) || (made && !made_alike(x, &now)) ||
	    went_apart(t, c, index, &now) ||
	    rein_file_read(real, x->path, &ours, err) < 0 || rein_file_read(upper, x->path, &theirs, err) < 0)
		return 0; /* no common ancestor, or not readable: stays a conflict */
	in.base = (struct rein_str){base.p ? base.p : "", base.n};
	in.ours = (struct rein_str){ours.p ? ours.p : "", ours.n};
	in.theirs = (struct rein_str){theirs.p ? theirs.p : "", theirs.n};
	if (rein_text_merge(text, &in, &out, &conflict, err) < 0)
		return err->code == REIN_E_UNSUPPORTED ? 0 : -err->code;
	if (conflict)
		return 0;
	if (rein_grow(m->v, m->n, m->cap) < 0)
		return rein_err_nomem(err);
	m->v[m->n++] = (struct merged){index, now, out};
	out = (struct rein_buf){0};
	return 0;
}

static int merge_all(const struct rein_tx *t, const struct rein_changes *c, struct merges *m, struct rein_err *err)
{
	struct rein_text *text = NULL;
	int rc = rein_text_load(NULL, &text, err);

	for (size_t i = 0; rc == 0 && i < c->n; i++)
		if ((c->v[i].clash == REIN_CLASH_CHANGED || c->v[i].clash == REIN_CLASH_EXISTS) && !c->v[i].skipped)
			rc = merge_one(text, t, c, i, m, err);
	rein_text_free(text);
	return rc;
}

/* The merged text is committed instead of the transaction's version. */
static int accept(struct merged *m, struct rein_change *x, struct rein_err *err)
{
	char *text = m->text.n ? m->text.p : rein_strdup("");

	if (!text)
		return rein_err_nomem(err);
	rein_free(x->merged);
	x->merged = text;
	x->merged_n = x->after.size = m->text.n;
	if (m->text.n)
		m->text = (struct rein_buf){0};
	rebase_on(x, &m->ours);
	return 0;
}

static int unsettled(const struct rein_changes *c)
{
	int n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].clash && !c->v[i].skipped;
	return n;
}

/* Keep the workspace's version. What was replaced as a whole stays as a whole, if it is named, too. */
static int keep_ours(const struct rein_tx *t, struct rein_changes *c, size_t i, const struct rein_strlist *ours,
		     struct rein_err *err)
{
	const size_t top = rein_top_of(c, i);
	bool whole = false;
	struct rein_fp now;

	/* replaced outside, it is no name any more of the file it was: what becomes of that is the others' to say */
	if (c->v[i].in_place && rein_real_now(t, &c->v[i], &now, err) < 0)
		return -err->code;
	c->v[i].in_place = c->v[i].in_place && rein_fp_same_inode(&now, &c->v[i].before);
	if (c->v[top].kind == REIN_CHANGE_MODIFIED && rein_named(t, ours, &c->v[top], &whole, err) < 0)
		return -err->code;
	c->v[i].clash = REIN_CLASH_NONE;
	return rein_leave_out(c, whole ? top : i, err);
}

/* What the patterns name, and what is a conflict only by its looks. */
static int settle_each(const struct rein_tx *t, struct rein_changes *c, const struct rein_strlist *ours,
		       const struct rein_strlist *theirs, struct rein_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		bool keep, take;
		struct rein_fp now;

		if (!x->clash || x->skipped)
			continue;
		if (rein_named(t, ours, x, &keep, err) < 0 || rein_named(t, theirs, x, &take, err) < 0)
			return -err->code;
		if (keep) {
			if (keep_ours(t, c, i, ours, err) < 0)
				return -err->code;
		} else if (take && x->clash != REIN_CLASH_HIDDEN && x->clash != REIN_CLASH_LINKS) {
			if (rebase(t, c, x, err) < 0)
				return -err->code;
		} else if (refreshed(t, c, i, &now)) {
			rebase_on(x, &now);
		}
	}
	return 0;
}

/* Directories that both sides made become one: what is in them comes by itself, and has to be looked at. */
static int join_directories(const struct rein_tx *t, struct rein_changes *c, bool *any, struct rein_err *err)
{
	*any = false;
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		struct rein_fp now;

		if (x->skipped || x->clash != REIN_CLASH_EXISTS || !S_ISDIR(x->after.mode))
			continue;
		if (rein_real_now(t, x, &now, err) < 0)
			return -err->code;
		if (!S_ISDIR(now.mode))
			continue;
		rein_open_created(c, i, &now);
		*any = true;
	}
	return 0;
}

/* What is said of a change in the way is said of what lies in it, of its old name, and of a directory that goes with it. */
static void decide(struct rein_changes *c, size_t i)
{
	const struct rein_change *x = &c->v[i];
	const size_t old = x->from ? rein_changes_find(c, x->root, x->from) : c->n;

	for (size_t k = 0; k < c->n; k++) {
		struct rein_change *y = &c->v[k];

		if (y->root == x->root && (rein_path_within(y->path, x->path) ||
					   (y->kind == REIN_CHANGE_DELETED && rein_path_within(x->path, y->path))))
			y->decided = y->skipped;
	}
	if (old < c->n && c->v[old].renamed_away)
		c->v[old].decided = c->v[old].skipped;
}

/*
 * What is not chosen is looked at, too, if it is to be kept as it is: where it is in the way, that is settled, and not to be
 * asked again.
 */
static int settle_left_out(struct rein_engine *e, const struct rein_tx *t, struct rein_changes *c,
			   const struct rein_strlist *ours, struct rein_err *err)
{
	auto_free struct {
		bool skipped, meant, clashes;
		uint8_t clash;
	} *was = rein_calloc(c->n ? c->n : 1, sizeof(*was));
	bool any = false;
	int n = 0;

	if (!was)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		was[i].skipped = c->v[i].skipped;
		was[i].clash = c->v[i].clash;
		if (was[i].skipped && rein_named(t, ours, &c->v[i], &was[i].meant, err) < 0)
			return -err->code;
		any |= was[i].meant;
	}
	if (!any)
		return 0;
	for (size_t i = 0; i < c->n; i++)
		c->v[i].skipped = !was[i].meant;
	n = rein_tx_check(&e->state, t, c, true, err);
	for (size_t i = 0; i < c->n; i++) {
		was[i].clashes = was[i].meant && c->v[i].clash;
		c->v[i].skipped = was[i].skipped;
		c->v[i].clash = was[i].clash;
	}
	for (size_t i = 0; n > 0 && i < c->n; i++) {
		const size_t top = rein_top_of(c, i);
		const bool whole = c->v[top].kind == REIN_CHANGE_MODIFIED; /* it goes or stays */

		if (was[i].clashes && (!whole || was[top].meant))
			decide(c, whole ? top : i);
	}
	return n < 0 ? n : rein_names_together(c, err);
}

/* As settle_each(); what it leaves out is left out for good. */
static int settle_all(const struct rein_tx *t, struct rein_changes *c, const struct rein_strlist *ours,
		      const struct rein_strlist *theirs, struct rein_err *err)
{
	auto_free bool *was = rein_calloc(c->n ? c->n : 1, sizeof(*was));

	if (!was)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		was[i] = c->v[i].skipped;
	if (settle_each(t, c, ours, theirs, err) < 0)
		return -err->code;
	for (size_t i = 0; i < c->n; i++)
		c->v[i].decided |= c->v[i].skipped && !was[i];
	return 0;
}

int rein_resolve(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		 const struct rein_strlist *ours, const struct rein_strlist *theirs, bool merge,
		 struct rein_err *err)
{
	auto_(merges_done) struct merges merges = {0};
	bool again = false;
	int n;

	if (settle_left_out(e, t, c, ours, err) < 0)
		return -err->code;
	do {
		n = rein_tx_check(&e->state, t, c, true, err);
		if (n < 0 || (n == 0 && !again))
			return n;
		if (settle_all(t, c, ours, theirs, err) < 0 || (merge && join_directories(t, c, &again, err) < 0))
			return -err->code;
	} while (again);
	n = unsettled(c);
	if (n > 0 && merge && (rein_tx_make_whole(&e->state, t, c, err) < 0 || merge_all(t, c, &merges, err) < 0))
		return -err->code;
	n -= (int)merges.n;
	for (size_t i = 0; i < merges.n; i++) {
		struct rein_change *x = &c->v[merges.v[i].at];

		/* as long as anything stays in conflict the run's own version stays, too */
		if (n > 0)
			x->clash = REIN_CLASH_NONE;
		else if (accept(&merges.v[i], x, err) < 0)
			return -err->code;
	}
	if (n > 0)
		return rein_err_set(err, REIN_E_CONFLICT, "transaction %s: %d conflict%s", t->id, n,
				    n == 1 ? "" : "s");
	return rein_part_left(c, err);
}
