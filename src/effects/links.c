/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that belong together: renamed files, and hard links. The overlay forgets both (it copies a
 * file under its new name, and splits a linked file when one name is written); here they are found
 * again, so that a commit keeps links and people see a rename as one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "effects/compare.h"
#include "effects/scan.h"
#include "sys/attr.h"
#include "sys/file.h"
#include "sys/tree.h"

#define SURE_MAX (16u << 20) /* compare contents up to here; beyond, size and time in ns must do */

struct ref {
	struct rein_change *x;
	uint64_t a, b, c; /* sort key */
};

static int by_key(const void *p, const void *q)
{
	const struct ref *x = p, *y = q;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	if (x->c != y->c)
		return x->c < y->c ? -1 : 1;
	return strcmp(x->x->path, y->x->path);
}

static bool same_file(const struct rein_root *root, const struct rein_change *gone,
		      const struct rein_change *made)
{
	auto_close int real = open(root->real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open(root->upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int a = rein_open_quiet(real, gone->path);
	auto_close int b = rein_open_quiet(upper, made->path);
	struct rein_err ignored = {0};

	if (made->after.size > SURE_MAX)
		return true;
	return a >= 0 && b >= 0 && rein_file_same_data(a, b, &ignored) == 1;
}

/* Take over a deleted path as the former name of x. */
static int adopt(struct rein_change *x, struct rein_change *gone, struct rein_err *err)
{
	x->from = rein_strdup(gone->path);
	if (!x->from)
		return rein_err_nomem(err);
	x->before = gone->before;
	gone->renamed_away = true;
	return 0;
}

/* A created file with a deleted one's size and time to the nanosecond, and its bytes, is that file. */
static int find_renames(const struct rein_root *roots, struct rein_changes *c, struct rein_err *err)
{
	auto_free struct ref *gone = rein_calloc(c->n, sizeof(*gone));
	size_t n = 0;

	if (!gone)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].kind == REIN_CHANGE_DELETED && S_ISREG(c->v[i].before.mode))
			gone[n++] = (struct ref){&c->v[i], c->v[i].root, c->v[i].before.size,
						 (uint64_t)c->v[i].before.mtime_ns};
	if (!n)
		return 0;
	qsort(gone, n, sizeof(*gone), by_key);
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		size_t lo = 0, hi = n;

		if (x->kind != REIN_CHANGE_CREATED || !S_ISREG(x->after.mode) || x->from || x->link_to)
			continue;
		while (lo < hi) { /* first with the key, then along the equal ones */
			size_t mid = (lo + hi) / 2;
			struct ref *g = &gone[mid];
			uint64_t m = (uint64_t)x->after.mtime_ns;

			if (g->a < x->root ||
			    (g->a == x->root &&
			     (g->b < x->after.size || (g->b == x->after.size && g->c < m))))
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < n && gone[lo].a == x->root && gone[lo].b == x->after.size &&
		       gone[lo].c == (uint64_t)x->after.mtime_ns;
		     lo++) {
			struct rein_change *g = gone[lo].x;

			if (g->renamed_away || !same_file(&roots[x->root], g, x))
				continue;
			if (adopt(x, g, err) < 0)
				return -err->code;
			break;
		}
	}
	return 0;
}

/* One name of a file that the box copied, and which real file that is. */
struct member {
	struct rein_change *x;
	const struct rein_linked *is;
};

static int by_file(const void *p, const void *q)
{
	const struct member *a = p, *b = q;

	if (a->is->root != b->is->root)
		return a->is->root < b->is->root ? -1 : 1;
	if (a->is->real_ino != b->is->real_ino)
		return a->is->real_ino < b->is->real_ino ? -1 : 1;
	if (a->is != b->is)
		return a->is < b->is ? -1 : 1;
	return strcmp(a->x->path, b->x->path);
}

/* What distinguishes the copy from the real file. */
static int difference(const struct rein_root *root, const struct member *m, uint8_t *ret,
		      struct rein_err *err)
{
	auto_close int upper = open(root->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int real = open(root->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rein_pair pair = {upper, real, m->x->path, m->is->path};
	struct rein_fp fp;
	uint8_t what;
	int same;

	if (rein_fp_at(real, m->is->path, &fp, err) < 0)
		return -err->code;
	*ret = REIN_THROUGH_NOTHING;
	if (fp.ino != m->is->real_ino || (fp.mode & S_IFMT) != (m->x->after.mode & S_IFMT)) {
		m->x->clash = REIN_CLASH_CHANGED; /* outside: it is gone from there */
		return 0;
	}
	same = rein_pair_same(&pair, &m->x->after, &fp, err);
	if (same < 0 || rein_pair_attrs(&pair, &what, err) < 0)
		return -err->code;
	*ret = !same ? REIN_THROUGH_CONTENT : what ? REIN_THROUGH_ATTRS : REIN_THROUGH_NOTHING;
	return 0;
}

/* Deleted names of real files, by number: what was renamed left one of them. */
struct gone {
	struct ref *v;
	size_t n;
};

static int find_gone(const struct rein_changes *c, struct gone *ret, struct rein_err *err)
{
	ret->v = rein_calloc(c->n, sizeof(*ret->v));
	if (!ret->v)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].kind == REIN_CHANGE_DELETED && c->v[i].before.nlink > 1 &&
		    !S_ISDIR(c->v[i].before.mode))
			ret->v[ret->n++] = (struct ref){&c->v[i], c->v[i].root, c->v[i].before.ino, 0};
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_key);
	return 0;
}

static struct rein_change *take_gone(const struct gone *g, const struct rein_linked *is)
{
	size_t lo = 0, hi = g->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->v[mid].a < is->root || (g->v[mid].a == is->root && g->v[mid].b < is->real_ino))
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < g->n && g->v[lo].a == is->root && g->v[lo].b == is->real_ino; lo++)
		if (!g->v[lo].x->renamed_away)
			return g->v[lo].x;
	return NULL;
}

/* This name becomes one of the real file's. */
static int tie(const struct member *m, uint8_t through, const struct gone *gone, struct rein_err *err)
{
	struct rein_change *x = m->x, *old;

	x->link_to = rein_strdup(m->is->path);
	if (!x->link_to)
		return rein_err_nomem(err);
	x->link_ino = m->is->real_ino;
	x->through = through;
	x->in_place = false;
	old = x->kind == REIN_CHANGE_CREATED ? take_gone(gone, m->is) : NULL;
	return old ? adopt(x, old, err) : 0;
}

/*
 * All names of one real file that are in upper. They are one copy, unless some could not be joined
 * in the box; then only one of the copies may have changed.
 */
static int settle(const struct rein_root *root, struct member *m, size_t n, const struct gone *gone,
		  struct rein_err *err)
{
	unsigned changed = 0;

	for (size_t i = 0, k; i < n; i = k) { /* one copy after the other */
		uint8_t through = REIN_THROUGH_NOTHING;

		if (difference(root, &m[i], &through, err) < 0)
			return -err->code;
		changed += through != REIN_THROUGH_NOTHING;
		for (k = i; k < n && m[k].is == m[i].is; k++)
			if (!(m[k].x->top && m[k].x->in_place) && tie(&m[k], through, gone, err) < 0)
				return -err->code;
	}
	for (size_t i = 0; changed > 1 && i < n; i++)
		m[i].x->clash = REIN_CLASH_LINKS;
	return 0;
}

/* Names of files that had several when the box began. */
static int tie_linked(const struct rein_root *roots, const struct rein_linked_list *linked,
		      struct rein_changes *c, struct rein_err *err)
{
	auto_free struct member *v = rein_calloc(c->n, sizeof(*v));
	auto_free struct ref *room = NULL;
	struct gone gone = {0};
	size_t n = 0;

	if (!v)
		return rein_err_nomem(err);
	for (size_t i = 0; linked->n && i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (!x->after.mode || S_ISDIR(x->after.mode))
			continue;
		v[n] = (struct member){x, rein_linked_find(linked, x->root, &x->after)};
		n += v[n].is != NULL;
	}
	if (!n)
		return 0;
	if (find_gone(c, &gone, err) < 0)
		return -err->code;
	room = gone.v;
	qsort(v, n, sizeof(*v), by_file);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].is->root == v[i].is->root &&
				v[k].is->real_ino == v[i].is->real_ino;
		     k++)
			;
		if (settle(&roots[v[i].is->root], v + i, k - i, &gone, err) < 0)
			return -err->code;
	}
	return 0;
}

/*
 * One upper file under several names that it got in the box. If one of the names was a real file
 * with the same content, the others must become links of that.
 */
static int join_group(struct ref *g, size_t n, struct rein_err *err)
{
	struct rein_change *anchor = NULL;

	for (size_t i = 0; i < n && !anchor; i++)
		if (g[i].x->top && g[i].x->in_place)
			anchor = g[i].x;
	for (size_t i = 0; anchor && i < n; i++) {
		struct rein_change *x = g[i].x;

		if (x == anchor)
			continue;
		x->link_to = rein_strdup(anchor->path);
		if (!x->link_to)
			return rein_err_nomem(err);
		x->link_ino = anchor->before.ino;
		x->in_place = false;
		if (x->kind == REIN_CHANGE_META)
			x->kind = REIN_CHANGE_MODIFIED;
	}
	return 0;
}

static int find_links(const struct rein_linked_list *linked, struct rein_changes *c, struct rein_err *err)
{
	auto_free struct ref *v = rein_calloc(c->n, sizeof(*v));
	size_t n = 0;

	if (!v)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (x->after.mode && !S_ISDIR(x->after.mode) && x->after.nlink > 1 &&
		    !rein_linked_find(linked, x->root, &x->after))
			v[n++] = (struct ref){x, x->after.dev, x->after.ino, 0};
	}
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].a == v[i].a && v[k].b == v[i].b; k++)
			;
		if (k - i > 1 && join_group(v + i, k - i, err) < 0)
			return -err->code;
	}
	return 0;
}

/* Copies the overlay made and nobody changed, kept only because they might have been joined. */
static void drop_untouched(struct rein_changes *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (x->kind == REIN_CHANGE_META && !x->what && !x->link_to && !x->clash) {
			rein_free(x->path);
			rein_free(x->from);
			continue;
		}
		c->v[n++] = *x;
	}
	c->n = n;
}

int rein_scan_finish(const struct rein_root *roots, const struct rein_linked_list *linked,
		     struct rein_changes *out, struct rein_err *err)
{
	rein_changes_sort(out);
	if (!out->n)
		return 0;
	if (tie_linked(roots, linked, out, err) < 0 || find_renames(roots, out, err) < 0 ||
	    find_links(linked, out, err) < 0)
		return -err->code;
	drop_untouched(out);
	return 0;
}
