/* SPDX-License-Identifier: Apache-2.0 */
/* Settling conflicts path by path. The transaction's private copy may change, the tree does not. */
#include "engine/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/glob.h"
#include "engine/gitindex.h"
#include "sys/attr.h"
#include "sys/file.h"
#include "text/load.h"

bool rein_named(const struct rein_tx *t, const struct rein_strlist *globs, const struct rein_change *x)
{
	for (size_t i = 0; i < globs->n; i++)
		if (rein_glob_match(rein_pattern_in(t, x, globs->v[i]), x->path))
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

/* From now on the change is against this. */
static void rebase_on(struct rein_change *x, const struct rein_fp *now)
{
	x->before = *now;
	x->clash = REIN_CLASH_NONE;
	if (x->kind == REIN_CHANGE_DELETED)
		x->skipped = !now->mode; /* gone on both sides */
	else if (!now->mode)
		x->kind = REIN_CHANGE_CREATED;
	else if (x->kind == REIN_CHANGE_CREATED)
		x->kind = REIN_CHANGE_MODIFIED;
	if (x->kind == REIN_CHANGE_CREATED || x->kind == REIN_CHANGE_MODIFIED)
		x->in_place = x->in_place && now->nlink > 1;
}

static int rebase(const struct rein_tx *t, struct rein_change *x, struct rein_err *err)
{
	struct rein_fp now;

	if (now_there(t, x, &now, err) < 0)
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
	       now_there(t, x, now, &ignored) == 0 && rein_gitindex_says_so(t, c, i);
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

/*
 * Three ways: the file as the run found it (kept when the transaction was held), as it is now, and
 * as the run left it. Nothing is added to m where it stays a conflict.
 */
static int merge_one(const struct rein_text *text, const struct rein_tx *t, size_t index,
		     const struct rein_change *x, struct merges *m, struct rein_err *err)
{
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open(t->roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_buf struct rein_buf base = REIN_BUF(REIN_TEXT_SIZE_MAX), ours = REIN_BUF(REIN_TEXT_SIZE_MAX);
	auto_buf struct rein_buf theirs = REIN_BUF(REIN_TEXT_SIZE_MAX), out = REIN_BUF(REIN_TEXT_SIZE_MAX);
	struct rein_text_merge_in in = {.our_label = "workspace", .their_label = t->id};
	struct rein_fp now;
	char name[64];
	bool conflict = false;

	snprintf(name, sizeof(name), "base/%zu", index);
	if (x->kind != REIN_CHANGE_MODIFIED || rein_file_read(t->dirfd, name, &base, err) < 0 ||
	    rein_fp_at(real, x->path, &now, err) < 0 || !attributes_agree(x, &now) ||
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
		if (c->v[i].clash == REIN_CLASH_CHANGED && !c->v[i].skipped)
			rc = merge_one(text, t, i, &c->v[i], m, err);
	rein_text_free(text);
	return rc;
}

/* Over the text that is there, in which another name may share. Room first: a full disk costs nothing. */
static int write_over(int fd, const struct rein_buf *b)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -1;
	rc = (off_t)b->n > st.st_size ? posix_fallocate(fd, 0, (off_t)b->n) : 0;
	if (rc && rc != EOPNOTSUPP) {
		if (ftruncate(fd, st.st_size) == 0)
			errno = rc;
		return -1;
	}
	for (size_t at = 0; at < b->n;) {
		ssize_t n = pwrite(fd, b->p + at, b->n - at, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	return ftruncate(fd, (off_t)b->n);
}

/* The merged text replaces the transaction's version; what the run left of the attributes is the workspace's. */
static int accept(const struct rein_tx *t, const struct merged *m, struct rein_change *x, struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs attrs = {0};
	auto_close int real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open(t->roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = openat(upper, x->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned bits = (x->what & REIN_WHAT_MODE ? 0 : REIN_ATTR_MODE) |
			(x->what & REIN_WHAT_OWNER ? 0 : REIN_ATTR_OWNER) |
			(x->what & REIN_WHAT_XATTR ? 0 : REIN_ATTR_XATTR);

	if (fd < 0 || write_over(fd, &m->text) < 0 || futimens(fd, NULL) < 0)
		return rein_err_errno(err, "write the merge of '%s'", x->path);
	if (rein_attrs_read(real, x->path, &attrs, err) < 0 ||
	    rein_attrs_apply(upper, x->path, &attrs, bits, err) < 0 ||
	    rein_fp_at(upper, x->path, &x->after, err) < 0)
		return -err->code;
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

int rein_resolve(struct rein_engine *e, struct rein_tx *t, struct rein_changes *c,
		 const struct rein_strlist *ours, const struct rein_strlist *theirs, bool merge,
		 struct rein_err *err)
{
	auto_(merges_done) struct merges merges = {0};
	int n = rein_tx_check(&e->state, t, c, true, err);

	if (n <= 0)
		return n;
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		struct rein_fp now;

		if (!x->clash || x->skipped)
			continue;
		if (rein_named(t, ours, x)) {
			x->clash = REIN_CLASH_NONE;
			if (rein_leave_out(c, i, err) < 0)
				return -err->code;
		} else if (rein_named(t, theirs, x) && x->clash != REIN_CLASH_HIDDEN &&
			   x->clash != REIN_CLASH_LINKS) {
			if (rebase(t, x, err) < 0)
				return -err->code;
		} else if (refreshed(t, c, i, &now)) {
			rebase_on(x, &now);
		}
	}
	n = unsettled(c);
	if (n > 0 && merge && merge_all(t, c, &merges, err) < 0)
		return -err->code;
	n -= (int)merges.n;
	for (size_t i = 0; i < merges.n; i++) {
		struct rein_change *x = &c->v[merges.v[i].at];

		/* as long as anything stays in conflict the run's own version stays, too */
		if (n > 0)
			x->clash = REIN_CLASH_NONE;
		else if (accept(t, &merges.v[i], x, err) < 0)
			return -err->code;
	}
	if (n > 0)
		return rein_err_set(err, REIN_E_CONFLICT, "transaction %s: %d conflict%s", t->id, n,
				    n == 1 ? "" : "s");
	return 0;
}
