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
#include "effects/origin.h"
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

		if (x->kind != REIN_CHANGE_CREATED || !S_ISREG(x->after.mode) || x->from)
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

/* A real file that is no longer under its name. */
static bool left_its_name(const struct rein_change *g)
{
	return g->before.mode && !S_ISDIR(g->before.mode) && !g->renamed_away &&
	       (g->kind == REIN_CHANGE_DELETED ||
		(g->kind == REIN_CHANGE_MODIFIED && !g->in_place && !g->opaque));
}

/* A file in upper that may be such a one under its new name. */
static bool took_a_name(const struct rein_change *x)
{
	return x->after.mode && !S_ISDIR(x->after.mode) && !x->from &&
	       (x->kind == REIN_CHANGE_CREATED || x->kind == REIN_CHANGE_MODIFIED);
}

static bool same_state(const struct rein_change *x, const struct rein_change *g)
{
	return x->after.size == g->before.size && x->after.mtime_ns == g->before.mtime_ns;
}

/* x is the hard-linked file g under another name: g's other names must stay it. */
static int tie(struct rein_change *x, struct rein_change *g, struct rein_err *err)
{
	x->rewritten = S_ISREG(x->after.mode) && !same_state(x, g);
	x->in_place = false;
	if (x->kind == REIN_CHANGE_CREATED && g->kind == REIN_CHANGE_DELETED) {
		if (adopt(x, g, err) < 0)
			return -err->code;
	} else {
		x->from = rein_strdup(g->path);
	}
	x->link_to = rein_strdup(g->path);
	return x->from && x->link_to ? 0 : rein_err_nomem(err);
}

static struct rein_change *find(struct rein_changes *c, uint32_t root, const char *path)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].root == root && took_a_name(&c->v[i]) && rein_streq(c->v[i].path, path))
			return &c->v[i];
	return NULL;
}

/*
 * Where a path of before the run ended up, by the renames the box reported. False: something else
 * took its place on the way.
 */
static bool follow(const struct rein_strlist *renames, char *name, size_t size)
{
	for (size_t i = 0; i + 1 < renames->n; i += 2) {
		char rest[PATH_MAX];

		if (!rein_path_within(name, renames->v[i])) {
			if (rein_streq(name, renames->v[i + 1]))
				return false;
			continue;
		}
		snprintf(rest, sizeof(rest), "%s", name + strlen(renames->v[i]));
		snprintf(name, size, "%s%s", renames->v[i + 1], rest);
	}
	return true;
}

/* Where the overlay tells (as root), it has the last word. */
static bool contradicts(const struct rein_root *root, const struct rein_change *x,
			const struct rein_change *g)
{
	auto_close int upper = open(root->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int real = open(root->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return rein_origin_is(upper, x->path, real, g->path) == 0;
}

/* The box reported every rename that can have carried a hard-linked file away. */
static int tie_reported(const struct rein_root *roots, const int64_t *begin_ns,
			const struct rein_strlist *renames, struct rein_changes *c,
			struct rein_err *err)
{
	for (size_t i = 0; renames->n && i < c->n; i++) {
		struct rein_change *g = &c->v[i], *x;
		const char *real = roots[g->root].real;
		char was[2 * PATH_MAX], is[2 * PATH_MAX];
		size_t len = strlen(real);

		if (!left_its_name(g) || g->before.nlink < 2)
			continue;
		snprintf(was, sizeof(was), "%s/%s", real, g->path);
		memcpy(is, was, sizeof(is));
		if (!follow(renames, is, sizeof(is)) || rein_streq(was, is) || strncmp(is, real, len) || is[len] != '/')
			continue;
		x = find(c, g->root, is + len + 1);
		if (x && x != g && rein_scan_may_be_copy(&x->after, &g->before, begin_ns[g->root]) &&
		    !contradicts(&roots[g->root], x, g) && tie(x, g, err) < 0)
			return -err->code;
	}
	return 0;
}

/* As root: the overlay noted where each copy came from. */
static int tie_by_origin(const struct rein_root *roots, struct rein_changes *c, struct rein_err *err)
{
	auto_free struct ref *gone = rein_calloc(c->n, sizeof(*gone));
	size_t n = 0;

	if (!gone)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *g = &c->v[i];

		if (left_its_name(g) && g->before.nlink > 1)
			gone[n++] = (struct ref){g, g->root, (uint64_t)g->before.atime_ns, 0};
	}
	if (!n)
		return 0;
	qsort(gone, n, sizeof(*gone), by_key);
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		struct ref key = {x, x->root, (uint64_t)x->after.atime_ns, 0};
		auto_close int upper = -1, real = -1;
		size_t lo = 0, hi = n;

		if (!took_a_name(x) || x->link_to)
			continue;
		while (lo < hi) {
			size_t mid = (lo + hi) / 2;

			if (gone[mid].a < key.a || (gone[mid].a == key.a && gone[mid].b < key.b))
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo == n || gone[lo].a != key.a || gone[lo].b != key.b)
			continue;
		upper = open(roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		real = open(roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (; lo < n && gone[lo].a == key.a && gone[lo].b == key.b; lo++) {
			struct rein_change *g = gone[lo].x;

			if (g == x || !left_its_name(g) ||
			    (x->kind == REIN_CHANGE_MODIFIED && rein_fp_same_inode(&x->before, &g->before)) ||
			    rein_origin_is(upper, x->path, real, g->path) != 1)
				continue;
			if (tie(x, g, err) < 0)
				return -err->code;
			break;
		}
	}
	return 0;
}

static bool is_old_link(const struct rein_change *x)
{
	return S_ISREG(x->before.mode) && S_ISREG(x->after.mode) && x->before.nlink > 1;
}

/*
 * One upper file under several names. If one of the names was a real file that was written through
 * or merely linked, the others must become links of that real file.
 */
static int join_group(struct ref *g, size_t n, struct rein_err *err)
{
	struct rein_change *anchor = NULL;

	for (size_t i = 0; i < n && !anchor; i++)
		if (g[i].x->top && g[i].x->in_place && g[i].x->before.mode && !g[i].x->from)
			anchor = g[i].x;
	for (size_t i = 0; i < n && !anchor; i++) /* a renamed file keeps its other names */
		if (g[i].x->link_to && g[i].x->from && g[i].x->kind == REIN_CHANGE_CREATED)
			anchor = g[i].x;
	if (!anchor)
		return 0;
	anchor->in_place = true;
	for (size_t i = 0; i < n; i++) {
		struct rein_change *x = g[i].x;
		const char *to = anchor->from ? anchor->from : anchor->path;

		if (x == anchor || x->kind == REIN_CHANGE_DELETED)
			continue;
		if (rein_fp_same_inode(&x->before, &anchor->before) && !x->from)
			continue; /* both are names of the same real file already */
		x->link_to = rein_strdup(to);
		if (!x->link_to)
			return rein_err_nomem(err);
		x->in_place = false;
		if (x->kind == REIN_CHANGE_META)
			x->kind = REIN_CHANGE_MODIFIED;
	}
	return 0;
}

/* Two names of one real file, both changed, must have stayed one file in the box. */
static void clash_split(struct ref *g, size_t n)
{
	bool split = false;

	for (size_t i = 1; i < n; i++)
		split |= g[i].x->after.ino != g[0].x->after.ino;
	for (size_t i = 0; split && i < n; i++)
		g[i].x->clash = REIN_CLASH_LINKS;
}

static int each_group(struct ref *v, size_t n, bool split, struct rein_err *err)
{
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].a == v[i].a && v[k].b == v[i].b; k++)
			;
		if (k - i < 2)
			continue;
		if (split)
			clash_split(v + i, k - i);
		else if (join_group(v + i, k - i, err) < 0)
			return -err->code;
	}
	return 0;
}

static int find_links(struct rein_changes *c, struct rein_err *err)
{
	auto_free struct ref *v = rein_calloc(c->n, sizeof(*v));
	size_t n = 0;

	if (!v)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].after.mode && !S_ISDIR(c->v[i].after.mode) && c->v[i].after.nlink > 1)
			v[n++] = (struct ref){&c->v[i], c->v[i].after.dev, c->v[i].after.ino, 0};
	if (each_group(v, n, false, err) < 0)
		return -err->code;
	for (n = 0; n < c->n; n++)
		v[n] = (struct ref){0};
	n = 0;
	for (size_t i = 0; i < c->n; i++)
		if (is_old_link(&c->v[i]) && c->v[i].in_place && !c->v[i].from && c->v[i].what)
			v[n++] = (struct ref){&c->v[i], c->v[i].before.dev, c->v[i].before.ino, 0};
	return each_group(v, n, true, err);
}

/*
 * With an index (as root) a hard-linked file that was changed lives on in the work directory even
 * when the name it was changed through is deleted: its other names show the change. The index names
 * a file by its handle; find the one of a deleted name.
 */
static int index_entry(const struct rein_root *root, const char *path, char **ret,
		       struct rein_err *err)
{
	auto_close int real = open(root->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *dir = rein_asprintf("%s/index", root->work);
	auto_(rein_names_done) struct rein_names names = {0};
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h.handle_bytes = MAX_HANDLE_SZ};
	char hex[2 * MAX_HANDLE_SZ + 1];
	int mount_id;

	if (!dir)
		return rein_err_nomem(err);
	if (name_to_handle_at(real, path, &u.h, &mount_id, 0) < 0 ||
	    rein_names_read(AT_FDCWD, dir, &names, err) < 0)
		return 0; /* no handles, no index */
	for (unsigned i = 0; i < u.h.handle_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", u.h.f_handle[i]);
	for (size_t i = 0; i < names.n; i++) {
		if (!strstr(names.v[i], hex))
			continue;
		*ret = rein_asprintf("%s/%s", dir, names.v[i]);
		return *ret ? 0 : rein_err_nomem(err);
	}
	return 0;
}

/* Does the file in the index differ from the real one it stands for? */
static int index_differs(const struct rein_root *root, const struct rein_change *x, struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs p = {0}, q = {0};
	auto_close int real = open(root->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int a = rein_open_quiet(real, x->path);
	auto_close int b = rein_open_quiet(AT_FDCWD, x->kept);
	int same;

	if (a < 0 || b < 0)
		return rein_err_errno(err, "compare '%s'", x->path);
	same = rein_file_same_data(a, b, err);
	if (same < 0 || rein_attrs_read(real, x->path, &p, err) < 0 ||
	    rein_attrs_read(AT_FDCWD, x->kept, &q, err) < 0)
		return -err->code;
	return !same || rein_attrs_differ(&p, &q);
}

static int find_kept(const struct rein_root *roots, struct rein_changes *c, struct rein_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		struct rein_fp fp;
		int differs = 1;

		if (!left_its_name(x) || x->before.nlink < 2 || !S_ISREG(x->before.mode))
			continue;
		for (size_t k = 0; k < i && differs; k++) /* once for all names of it */
			differs = !c->v[k].kept || !rein_fp_same_inode(&c->v[k].before, &x->before);
		if (!differs)
			continue;
		if (index_entry(&roots[x->root], x->path, &x->kept, err) < 0)
			return -err->code;
		if (!x->kept)
			continue;
		if (rein_fp_at(AT_FDCWD, x->kept, &fp, err) < 0)
			return -err->code;
		differs = 0;
		if (S_ISREG(fp.mode) && fp.nlink == 1) /* else another name in upper carries the change */
			differs = index_differs(&roots[x->root], x, err);
		if (differs < 0)
			return differs;
		if (!differs)
			rein_free(take_ptr(x->kept));
	}
	return 0;
}

/* Copies the overlay made and nobody changed, kept only because they might have been joined. */
static void drop_untouched(struct rein_changes *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (x->kind == REIN_CHANGE_META && !x->what && !x->link_to) {
			rein_free(x->path);
			rein_free(x->from);
			continue;
		}
		c->v[n++] = *x;
	}
	c->n = n;
}

int rein_scan_finish(const struct rein_root *roots, const int64_t *begin_ns,
		     const struct rein_strlist *renames, struct rein_changes *out,
		     struct rein_err *err)
{
	rein_changes_sort(out);
	if (!out->n)
		return 0;
	if (tie_reported(roots, begin_ns, renames, out, err) < 0 || tie_by_origin(roots, out, err) < 0 ||
	    find_renames(roots, out, err) < 0 || find_links(out, err) < 0)
		return -err->code;
	if (find_kept(roots, out, err) < 0)
		return -err->code;
	drop_untouched(out);
	return 0;
}
