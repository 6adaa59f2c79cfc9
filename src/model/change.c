/* SPDX-License-Identifier: Apache-2.0 */
/* The list of changes: ownership, order, sums, and its form on disk. */
#include "model/change.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/pack.h"

#define MAGIC 0x32474843u /* "CHG2" */

void rein_changes_done(struct rein_changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		rein_free(c->v[i].path);
		rein_free(c->v[i].from);
		rein_free(c->v[i].link_to);
		rein_free(c->v[i].merged);
	}
	rein_free(c->v);
	*c = (struct rein_changes){0};
}

struct rein_change *rein_changes_add(struct rein_changes *c, uint32_t root, char *path)
{
	if (!path || rein_grow(c->v, c->n, c->cap) < 0) {
		rein_free(path);
		return NULL;
	}
	c->v[c->n] = (struct rein_change){.root = root, .path = path};
	return &c->v[c->n++];
}

static int by_path(const void *a, const void *b)
{
	const struct rein_change *x = a, *y = b;
	int order;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	order = rein_path_cmp(x->path, y->path);
	/* one path can be both deleted and created: the old thing first */
	return order ? order : (int)y->kind - (int)x->kind;
}

void rein_changes_sort(struct rein_changes *c)
{
	if (c->n)
		qsort(c->v, c->n, sizeof(c->v[0]), by_path);
}

size_t rein_changes_find(const struct rein_changes *c, uint32_t root, const char *path)
{
	const struct rein_change key = {.root = root, .path = (char *)(uintptr_t)path, .kind = UINT8_MAX};
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_path(&c->v[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->n && c->v[low].root == root && rein_streq(c->v[low].path, path) ? low : c->n;
}

void rein_changes_sum(const struct rein_changes *c, struct rein_summary *ret)
{
	*ret = (struct rein_summary){0};
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (x->skipped)
			continue;
		ret->clashes += x->clash != REIN_CLASH_NONE;
		if (x->renamed_away || x->opaque)
			continue; /* told by the change it belongs to */
		if (x->from)
			ret->renamed++;
		else if (x->kind == REIN_CHANGE_CREATED)
			ret->created++;
		else if (x->kind == REIN_CHANGE_MODIFIED)
			ret->modified++;
		else if (x->kind == REIN_CHANGE_DELETED)
			ret->deleted++;
		else if (!S_ISDIR(x->before.mode) || (x->what & ~REIN_WHAT_TIMES))
			ret->meta++; /* a directory's new time is only the trace of another change */
		if (S_ISREG(x->after.mode) && !x->from)
			ret->bytes_new += x->after.size;
		if (S_ISREG(x->before.mode))
			ret->bytes_old += x->before.size;
	}
}

static void pack_fp(struct rein_buf *b, const struct rein_fp *f)
{
	const uint64_t v[] = {f->dev, f->ino, f->size, f->rdev,
			      (uint64_t)f->mtime_ns, (uint64_t)f->ctime_ns,
			      (uint64_t)f->atime_ns};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		rein_buf_le64(b, v[i]);
	rein_buf_le32(b, f->mode);
	rein_buf_le32(b, f->uid);
	rein_buf_le32(b, f->gid);
	rein_buf_le32(b, f->nlink);
}

static void unpack_fp(struct rein_unpack *u, struct rein_fp *f)
{
	f->dev = rein_unpack_le64(u);
	f->ino = rein_unpack_le64(u);
	f->size = rein_unpack_le64(u);
	f->rdev = rein_unpack_le64(u);
	f->mtime_ns = (int64_t)rein_unpack_le64(u);
	f->ctime_ns = (int64_t)rein_unpack_le64(u);
	f->atime_ns = (int64_t)rein_unpack_le64(u);
	f->mode = rein_unpack_le32(u);
	f->uid = rein_unpack_le32(u);
	f->gid = rein_unpack_le32(u);
	f->nlink = rein_unpack_le32(u);
}

enum { F_TOP = 1, F_AWAY = 2, F_OPAQUE = 4, F_SKIPPED = 8, F_FROM = 16, F_IN_PLACE = 32, F_LINK = 64 };

void rein_changes_format(const struct rein_changes *c, struct rein_buf *b)
{
	size_t start = b->n;

	rein_buf_le32(b, MAGIC);
	rein_buf_le64(b, c->n);
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		uint32_t flags = (x->top ? F_TOP : 0) | (x->renamed_away ? F_AWAY : 0) |
				 (x->opaque ? F_OPAQUE : 0) | (x->skipped ? F_SKIPPED : 0) |
				 (x->from ? F_FROM : 0) | (x->in_place ? F_IN_PLACE : 0) |
				 (x->link_to ? F_LINK : 0);

		rein_buf_le32(b, x->root);
		rein_buf_le32(b, x->kind | (uint32_t)x->what << 8 | (uint32_t)x->clash << 16);
		rein_buf_le32(b, flags);
		rein_pack_str(b, rein_str(x->path));
		if (x->from)
			rein_pack_str(b, rein_str(x->from));
		if (x->link_to) {
			rein_pack_str(b, rein_str(x->link_to));
			rein_buf_le64(b, x->link_ino);
			rein_buf_le32(b, x->through);
		}
		pack_fp(b, &x->before);
		pack_fp(b, &x->after);
	}
	if (!b->failed)
		rein_buf_le64(b, rein_checksum(b->p + start, b->n - start));
}

static bool parse_one(struct rein_unpack *u, struct rein_changes *ret)
{
	uint32_t root = rein_unpack_le32(u);
	uint32_t bits = rein_unpack_le32(u);
	uint32_t flags = rein_unpack_le32(u);
	struct rein_change *x = rein_changes_add(ret, root, rein_unpack_cstr(u));

	if (!x)
		return false;
	x->kind = bits & 0xff;
	x->what = bits >> 8 & 0xff;
	x->clash = bits >> 16 & 0xff;
	x->top = flags & F_TOP;
	x->renamed_away = flags & F_AWAY;
	x->opaque = flags & F_OPAQUE;
	x->skipped = flags & F_SKIPPED;
	if (flags & F_FROM)
		x->from = rein_unpack_cstr(u);
	if (flags & F_LINK) {
		x->link_to = rein_unpack_cstr(u);
		x->link_ino = rein_unpack_le64(u);
		x->through = (uint8_t)rein_unpack_le32(u);
	}
	x->in_place = flags & F_IN_PLACE;
	unpack_fp(u, &x->before);
	unpack_fp(u, &x->after);
	return !u->failed && x->kind >= REIN_CHANGE_CREATED && x->kind <= REIN_CHANGE_META &&
	       x->clash <= REIN_CLASH_UNTIED && x->through <= REIN_THROUGH_CONTENT;
}

int rein_changes_parse(struct rein_str in, struct rein_changes *ret, struct rein_err *err)
{
	struct rein_changes c = {0};
	struct rein_unpack u = {(const unsigned char *)in.p, in.n, false};
	struct rein_unpack tail;
	uint64_t count;

	if (in.n < 20)
		return rein_err_set(err, REIN_E_INVALID, "the list of changes is cut short");
	tail = (struct rein_unpack){u.p + in.n - 8, 8, false};
	u.n -= 8;
	if (rein_unpack_le64(&tail) != rein_checksum(in.p, in.n - 8) ||
	    rein_unpack_le32(&u) != MAGIC)
		return rein_err_set(err, REIN_E_INVALID, "the list of changes is damaged");
	count = rein_unpack_le64(&u);
	for (uint64_t i = 0; i < count; i++) {
		if (!parse_one(&u, &c)) {
			rein_changes_done(&c);
			return rein_err_set(err, REIN_E_INVALID,
					    "the list of changes is damaged at entry %llu",
					    (unsigned long long)i);
		}
	}
	*ret = c;
	return 0;
}

static const char *const clash_texts[] = {
	[REIN_CLASH_NONE] = "",
	[REIN_CLASH_CHANGED] = "changed outside since the transaction began",
	[REIN_CLASH_EXISTS] = "was created outside meanwhile",
	[REIN_CLASH_GONE] = "is gone outside",
	[REIN_CLASH_HIDDEN] = "would overwrite or delete what was hidden from the command",
	[REIN_CLASH_LINKS] = "names of one hard-linked file were changed differently",
	[REIN_CLASH_LATER] = "was changed after the commit",
	[REIN_CLASH_UNTIED] = "is another name of a file that was replaced outside",
};

const char *rein_clash_text(int clash)
{
	if (clash < 0 || (size_t)clash >= sizeof(clash_texts) / sizeof(clash_texts[0]))
		return "unknown";
	return clash_texts[clash];
}

const char *rein_change_kind_name(int kind)
{
	static const char *const names[] = {
		[REIN_CHANGE_CREATED] = "created",
		[REIN_CHANGE_MODIFIED] = "modified",
		[REIN_CHANGE_DELETED] = "deleted",
		[REIN_CHANGE_META] = "attributes",
	};

	if (kind < REIN_CHANGE_CREATED || kind > REIN_CHANGE_META)
		return "unknown";
	return names[kind];
}

bool rein_fp_equal(const struct rein_fp *a, const struct rein_fp *b)
{
	if (!a->mode || !b->mode)
		return a->mode == b->mode;
	if (!rein_fp_same_inode(a, b) || a->mode != b->mode || a->uid != b->uid || a->gid != b->gid)
		return false;
	if (S_ISDIR(a->mode))
		return true;
	return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}
