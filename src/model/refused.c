/* SPDX-License-Identifier: Apache-2.0 */
/* See refused.h. On disk: a magic number, the counts, the rows. */
#include "model/refused.h"

#include "base/alloc.h"
#include "base/pack.h"
#include "base/str.h"

#define MAGIC 0x31464552u /* "REF1" */

void rein_refused_done(struct rein_refused *r)
{
	for (size_t i = 0; i < r->n; i++)
		rein_free(r->v[i].path);
	rein_free(r->v);
	*r = (struct rein_refused){0};
}

void rein_refused_add(struct rein_refused *r, const struct rein_refused_file *x)
{
	r->total += x->count;
	for (size_t i = 0; x->path && i < r->n; i++)
		if (r->v[i].write == x->write && rein_streq(r->v[i].path, x->path)) {
			r->v[i].count += x->count;
			rein_free(x->path);
			return;
		}
	if (!x->path || r->n >= REIN_REFUSED_MAX || rein_grow(r->v, r->n, r->cap) < 0) {
		rein_free(x->path);
		return;
	}
	r->v[r->n++] = *x;
}

void rein_refused_pack(const struct rein_refused *r, struct rein_buf *b)
{
	rein_buf_le32(b, MAGIC);
	rein_buf_le64(b, r->total);
	rein_buf_le32(b, (uint32_t)r->n);
	for (size_t i = 0; i < r->n; i++) {
		const struct rein_refused_file *x = &r->v[i];

		rein_buf_le32(b, (uint32_t)x->write | (uint32_t)x->hidden << 1);
		rein_buf_le32(b, (uint32_t)x->pid);
		rein_buf_le64(b, x->at_ns);
		rein_buf_le64(b, x->count);
		rein_pack_str(b, rein_str(x->path));
	}
}

int rein_refused_unpack(struct rein_str data, struct rein_refused *ret, struct rein_err *err)
{
	struct rein_unpack u = {(const unsigned char *)data.p, data.n, false};
	struct rein_refused r = {0};
	uint32_t magic = rein_unpack_le32(&u), n;
	uint64_t total = rein_unpack_le64(&u);

	n = rein_unpack_le32(&u);
	for (uint32_t i = 0; i < n && magic == MAGIC && !u.failed; i++) {
		struct rein_refused_file x = {0};
		uint32_t flags = rein_unpack_le32(&u);

		x.write = flags & 1;
		x.hidden = flags & 2;
		x.pid = (int32_t)rein_unpack_le32(&u);
		x.at_ns = rein_unpack_le64(&u);
		x.count = rein_unpack_le64(&u);
		x.path = rein_unpack_cstr(&u);
		rein_refused_add(&r, &x);
	}
	if (magic != MAGIC || u.failed) {
		rein_refused_done(&r);
		return rein_err_set(err, REIN_E_INVALID, "the list of refused files is damaged");
	}
	r.total = total;
	*ret = r;
	return 0;
}
