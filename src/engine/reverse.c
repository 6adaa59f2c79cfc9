/* SPDX-License-Identifier: Apache-2.0 */
/* See reverse.h. Only the list changes here, neither the tree nor the transaction. */
#include "engine/reverse.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "engine/gitindex.h"
#include "engine/tie.h"
#include "sys/file.h"

static bool is_plain(const struct rein_fp *fp)
{
	return !fp->mode || (!S_ISDIR(fp->mode) && fp->nlink == 1);
}

/* A redo that takes one name away: the file keeps its others. */
static bool takes_name(const struct rein_change *x, bool forward)
{
	return forward && x->kind == REIN_CHANGE_DELETED && !S_ISDIR(x->before.mode);
}

/* Done by a step of its own, which concerns no other name. */
static bool stands_alone(const struct rein_change *x, bool forward)
{
	return takes_name(x, forward) ||
	       (is_plain(&x->before) && is_plain(&x->after) && (!x->in_place || x->kind == REIN_CHANGE_META) &&
		!x->link_to && !x->through);
}

/*
 * Take what is there for what the transaction left there: then it changes places with the other version, as
 * that would have. There must be something, and of the same kind.
 */
static bool accept(const struct rein_tx *t, const struct rein_change *x, bool forward, struct rein_fp *ret)
{
	const struct rein_fp *known = forward ? &x->before : &x->after;
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rein_err ignored = {0};

	return stands_alone(x, forward) && x->kind != REIN_CHANGE_META && known->mode && real >= 0 &&
	       rein_fp_at(real, x->path, ret, &ignored) == 0 && ret->mode && (is_plain(ret) || takes_name(x, forward)) &&
	       (ret->mode & S_IFMT) == (known->mode & S_IFMT);
}

unsigned rein_reverse_ways(const struct rein_tx *t, const struct rein_changes *c, size_t i, bool forward)
{
	const struct rein_change *x = &c->v[i];
	struct rein_fp now;

	if (x->clash == REIN_CLASH_UNTIED)
		return REIN_WAY_THEIRS | (rein_top_of(c, i) == i ? REIN_WAY_OURS : REIN_WAY_OURS_TOP);
	return (x->top && stands_alone(x, forward) ? REIN_WAY_OURS : 0) |
	       (accept(t, x, forward, &now) ? REIN_WAY_THEIRS : 0);
}

static bool settle(const struct rein_tx *t, struct rein_changes *c, size_t i, bool forward, bool ours, bool theirs)
{
	struct rein_change *x = &c->v[i];
	struct rein_fp now;

	if (ours && x->top && stands_alone(x, forward)) {
		x->skipped = true;
		return true;
	}
	/* first what it is, then what it says: whoever changes it meanwhile is found before anything moves */
	if (!accept(t, x, forward, &now) || !(theirs || rein_gitindex_says_so(t, c, i)))
		return false;
	*(forward ? &x->before : &x->after) = now;
	return true;
}

/* What moves as one is left out as one, and what a rename was to take from its old name stays there. */
static void leave_out(struct rein_changes *c, size_t top)
{
	const size_t n = strlen(c->v[top].path);

	for (size_t i = top; i < c->n && (i == top || rein_top_of(c, i) == top); i++) {
		const struct rein_change *x = &c->v[i];
		const size_t old = x->from ? rein_changes_find(c, x->root, x->from) : c->n;

		if (i != top && x->path[n] != '/')
			continue;
		c->v[i].skipped = true;
		c->v[i].clash = REIN_CLASH_NONE;
		if (old < c->n && c->v[old].renamed_away && c->v[old].top && !S_ISDIR(c->v[old].before.mode)) {
			c->v[old].skipped = true;
			c->v[old].clash = REIN_CLASH_NONE;
		}
	}
}

/*
 * A name that a redo gives to a file which is not where it was: left out, with the directory that brings it if that is
 * named, too; or tied anew, as by a commit.
 */
static int settle_untied(const struct rein_tx *t, struct rein_changes *c, size_t i, const struct rein_strlist *ours,
			 bool take, bool *ret, struct rein_err *err)
{
	const size_t top = rein_top_of(c, i);
	bool whole;

	if (rein_named(t, ours, &c->v[top], &whole, err) < 0 || (!whole && take && rein_retie(t, c, &c->v[i], err) < 0))
		return -err->code;
	if (whole)
		leave_out(c, top);
	*ret = whole || take;
	return 0;
}

/* Everything that was done is to stay as it is: then nothing would happen, and it would be said to have. */
static bool is_all_left(const struct rein_changes *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->v[i].skipped && (c->v[i].kind != REIN_CHANGE_META || c->v[i].what & ~REIN_WHAT_TIMES))
			return false;
	return true;
}

int rein_resolve_reverse(struct rein_engine *e, const struct rein_tx *t, struct rein_changes *c, bool forward,
			 const struct rein_strlist *ours, const struct rein_strlist *theirs, struct rein_err *err)
{
	int n = rein_tx_check(&e->state, t, c, forward, err), left = 0;

	if (n <= 0)
		return n;
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		bool keep, take, settled = false;

		if (!x->clash || x->skipped)
			continue;
		if (rein_named(t, ours, x, &keep, err) < 0 || rein_named(t, theirs, x, &take, err) < 0)
			return -err->code;
		if (x->clash != REIN_CLASH_UNTIED)
			settled = settle(t, c, i, forward, keep, take);
		else if (settle_untied(t, c, i, ours, take, &settled, err) < 0)
			return -err->code;
		if (settled)
			x->clash = REIN_CLASH_NONE;
	}
	for (size_t i = 0; i < c->n; i++)
		left += c->v[i].clash && !c->v[i].skipped;
	if (left)
		return rein_err_set(err, REIN_E_CONFLICT, "transaction %s: %d conflict%s", t->id, left, left == 1 ? "" : "s");
	if (is_all_left(c))
		return rein_err_set(err, REIN_E_USAGE, "transaction %s: with all of it left as it is there is nothing to do", t->id);
	rein_part_halved(c);
	return 0;
}
