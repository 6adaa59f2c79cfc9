/* SPDX-License-Identifier: Apache-2.0 */
/* Settling conflicts path by path. The transaction's private copy may change, the tree does not. */
#include "engine/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/glob.h"
#include "sys/file.h"
#include "text/load.h"

static bool named(const struct rein_strlist *globs, const char *path)
{
	for (size_t i = 0; i < globs->n; i++)
		if (rein_glob_match(globs->v[i], path))
			return true;
	return false;
}

static int now_there(const struct rein_tx *t, const struct rein_change *x, struct rein_fp *ret,
		     struct rein_err *err)
{
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (real < 0)
		return rein_err_errno(err, "open '%s'", t->roots[x->root].real);
	return rein_fp_at(real, x->path, ret, err);
}

/* From now on the change is against what is there now. */
static int rebase(const struct rein_tx *t, struct rein_change *x, struct rein_err *err)
{
	struct rein_fp now;

	if (now_there(t, x, &now, err) < 0)
		return -err->code;
	x->before = now;
	x->clash = REIN_CLASH_NONE;
	if (x->kind == REIN_CHANGE_DELETED)
		x->skipped = !now.mode; /* gone on both sides */
	else if (!now.mode)
		x->kind = REIN_CHANGE_CREATED;
	else if (x->kind == REIN_CHANGE_CREATED)
		x->kind = REIN_CHANGE_MODIFIED;
	if (x->kind == REIN_CHANGE_CREATED || x->kind == REIN_CHANGE_MODIFIED)
		x->in_place = x->in_place && now.nlink > 1;
	return 0;
}

/*
 * Three ways: the file as the run found it (kept when the transaction was held), as it is now, and
 * as the run left it. The merged text replaces the transaction's version.
 */
static int merge_one(const struct rein_text *text, const struct rein_tx *t, size_t index,
		     struct rein_change *x, struct rein_err *err)
{
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open(t->roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_buf struct rein_buf base = REIN_BUF(REIN_TEXT_SIZE_MAX), ours = REIN_BUF(REIN_TEXT_SIZE_MAX);
	auto_buf struct rein_buf theirs = REIN_BUF(REIN_TEXT_SIZE_MAX), out = REIN_BUF(REIN_TEXT_SIZE_MAX);
	auto_close int fd = -1;
	struct rein_text_merge_in in = {.our_label = "workspace", .their_label = t->id};
	struct timespec keep[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	char name[64];
	bool conflict = false;

	snprintf(name, sizeof(name), "base/%zu", index);
	if (x->kind != REIN_CHANGE_MODIFIED || rein_file_read(t->dirfd, name, &base, err) < 0 ||
	    rein_file_read(real, x->path, &ours, err) < 0 || rein_file_read(upper, x->path, &theirs, err) < 0)
		return 0; /* no common ancestor, or not readable: stays a conflict */
	in.base = (struct rein_str){base.p ? base.p : "", base.n};
	in.ours = (struct rein_str){ours.p ? ours.p : "", ours.n};
	in.theirs = (struct rein_str){theirs.p ? theirs.p : "", theirs.n};
	if (rein_text_merge(text, &in, &out, &conflict, err) < 0)
		return err->code == REIN_E_UNSUPPORTED ? 0 : -err->code;
	if (conflict)
		return 0;
	fd = openat(upper, x->path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || write(fd, out.p ? out.p : "", out.n) != (ssize_t)out.n || futimens(fd, keep) < 0)
		return rein_err_errno(err, "write the merge of '%s'", x->path);
	if (rebase(t, x, err) < 0 || rein_fp_at(upper, x->path, &x->after, err) < 0)
		return -err->code;
	return 0;
}

static int merge_all(struct rein_tx *t, struct rein_changes *c, struct rein_err *err)
{
	struct rein_text *text = NULL;
	int rc = rein_text_load(NULL, &text, err);

	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		if (c->v[i].clash == REIN_CLASH_CHANGED && !c->v[i].skipped)
			rc = merge_one(text, t, i, &c->v[i], err);
	}
	rein_text_free(text);
	return rc;
}

static int unsettled(const struct rein_changes *c)
{
	int n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].clash && !c->v[i].skipped;
	return n;
}

int rein_resolve(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		 const struct rein_strlist *ours, const struct rein_strlist *theirs, bool merge,
		 struct rein_err *err)
{
	int n = rein_tx_check(&e->state, t, c, true, err);

	if (n <= 0)
		return n;
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (!x->clash || x->skipped)
			continue;
		if (named(ours, x->path)) {
			x->clash = REIN_CLASH_NONE;
			if (rein_leave_out(c, i, err) < 0)
				return -err->code;
		} else if (named(theirs, x->path) && x->clash != REIN_CLASH_HIDDEN &&
			   x->clash != REIN_CLASH_LINKS) {
			if (rebase(t, x, err) < 0)
				return -err->code;
		}
	}
	if (merge && unsettled(c) && merge_all(t, c, err) < 0)
		return -err->code;
	n = unsettled(c);
	if (n > 0)
		return rein_err_set(err, REIN_E_CONFLICT, "transaction %s: %d conflict%s", t->id, n,
				    n == 1 ? "" : "s");
	return 0;
}
