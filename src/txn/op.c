/* SPDX-License-Identifier: Apache-2.0 */
/* The list of steps: ownership and its form on disk. */
#include "txn/op.h"

#include "base/auto.h"
#include "base/pack.h"

#define MAGIC 0x32504f52u /* "ROP2" */

void rein_op_done(struct rein_op *o)
{
	rein_free(o->path);
	rein_free(o->slot);
	rein_free(o->old_slot);
	rein_free(o->keep);
	rein_attrs_done(&o->old);
	rein_attrs_done(&o->new);
	*o = (struct rein_op){0};
}

void rein_ops_done(struct rein_ops *ops)
{
	for (size_t i = 0; i < ops->n; i++)
		rein_op_done(&ops->v[i]);
	rein_free(ops->v);
	*ops = (struct rein_ops){0};
}

struct rein_op *rein_ops_add(struct rein_ops *ops, uint32_t root, int kind, const char *path,
			     const char *slot)
{
	struct rein_op o = {.root = root, .kind = (uint8_t)kind, .path = rein_strdup(path)};

	o.slot = slot ? rein_strdup(slot) : NULL;
	if (!o.path || (slot && !o.slot) || rein_grow(ops->v, ops->n, ops->cap) < 0) {
		rein_free(o.path);
		rein_free(o.slot);
		return NULL;
	}
	ops->v[ops->n] = o;
	return &ops->v[ops->n++];
}

enum { F_SLOT = 1, F_OLD_SLOT = 2, F_KEEP = 4 };

void rein_ops_format(const struct rein_ops *ops, bool forward, struct rein_buf *b)
{
	size_t start = b->n;

	rein_buf_le32(b, MAGIC);
	rein_buf_le32(b, forward);
	rein_buf_le64(b, ops->n);
	for (size_t i = 0; i < ops->n; i++) {
		const struct rein_op *o = &ops->v[i];
		uint32_t flags = (o->slot ? F_SLOT : 0) | (o->old_slot ? F_OLD_SLOT : 0) |
				 (o->keep ? F_KEEP : 0);

		rein_buf_le32(b, o->root);
		rein_buf_le32(b, o->kind | (uint32_t)o->bits << 8 | flags << 16);
		rein_buf_le64(b, o->ino_old);
		rein_buf_le64(b, o->ino_new);
		rein_pack_str(b, rein_str(o->path));
		if (o->slot)
			rein_pack_str(b, rein_str(o->slot));
		if (o->old_slot)
			rein_pack_str(b, rein_str(o->old_slot));
		if (o->keep)
			rein_pack_str(b, rein_str(o->keep));
		rein_attrs_pack(b, &o->old);
		rein_attrs_pack(b, &o->new);
	}
	if (!b->failed)
		rein_buf_le64(b, rein_checksum(b->p + start, b->n - start));
}

/* A path from disk must stay below its root whatever the file says. */
static bool tame_path(const char *p)
{
	if (*p == '/')
		return false;
	for (; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
			return false;
	return true;
}

static bool parse_one(struct rein_unpack *u, struct rein_ops *ops)
{
	struct rein_op o = {.root = rein_unpack_le32(u)};
	uint32_t bits = rein_unpack_le32(u);
	uint32_t flags = bits >> 16;
	bool ok;

	o.kind = bits & 0xff;
	o.bits = bits >> 8 & 0xff;
	o.ino_old = rein_unpack_le64(u);
	o.ino_new = rein_unpack_le64(u);
	o.path = rein_unpack_cstr(u);
	if (flags & F_SLOT)
		o.slot = rein_unpack_cstr(u);
	if (flags & F_OLD_SLOT)
		o.old_slot = rein_unpack_cstr(u);
	if (flags & F_KEEP)
		o.keep = rein_unpack_cstr(u);
	ok = !u->failed && rein_attrs_unpack(u, &o.old) == 0 && rein_attrs_unpack(u, &o.new) == 0 &&
	     o.kind >= REIN_OP_LIFT && o.kind <= REIN_OP_DIRMETA && tame_path(o.path) &&
	     (!o.slot || tame_path(o.slot)) && (!o.old_slot || tame_path(o.old_slot)) &&
	     (!o.keep || tame_path(o.keep)) && (o.kind != REIN_OP_LINK || (o.slot && o.old_slot && o.keep)) &&
	     rein_grow(ops->v, ops->n, ops->cap) == 0;
	if (ok) {
		ops->v[ops->n++] = o;
		return true;
	}
	rein_op_done(&o);
	return false;
}

int rein_ops_parse(struct rein_str in, struct rein_ops *ret, bool *ret_forward, struct rein_err *err)
{
	struct rein_ops ops = {0};
	struct rein_unpack u = {(const unsigned char *)in.p, in.n, false};
	struct rein_unpack tail;
	uint64_t count;

	if (in.n < 24)
		return rein_err_set(err, REIN_E_INVALID, "the journal is cut short");
	tail = (struct rein_unpack){u.p + in.n - 8, 8, false};
	u.n -= 8;
	if (rein_unpack_le64(&tail) != rein_checksum(in.p, in.n - 8) ||
	    rein_unpack_le32(&u) != MAGIC)
		return rein_err_set(err, REIN_E_INVALID, "the journal is damaged");
	*ret_forward = rein_unpack_le32(&u) != 0;
	count = rein_unpack_le64(&u);
	for (uint64_t i = 0; i < count; i++) {
		if (!parse_one(&u, &ops)) {
			rein_ops_done(&ops);
			return rein_err_set(err, REIN_E_INVALID, "the journal is damaged at step %llu",
					    (unsigned long long)i);
		}
	}
	*ret = ops;
	return 0;
}
