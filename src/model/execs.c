/* SPDX-License-Identifier: Apache-2.0 */
/* See execs.h. On disk: a magic number, the counts, the rows. */
#include "model/execs.h"

#include "base/alloc.h"
#include "base/pack.h"

#define MAGIC 0x31435845u /* "EXC1" */

static void exec_done(struct rein_exec *x)
{
	rein_free(x->path);
	rein_free(x->words);
}

void rein_execs_done(struct rein_execs *e)
{
	for (size_t i = 0; i < e->n; i++)
		exec_done(&e->v[i]);
	rein_free(e->v);
	*e = (struct rein_execs){0};
}

static size_t words_len(const struct rein_exec *x)
{
	size_t n = 0;

	for (uint32_t i = 0; i < x->nwords; i++)
		n += strlen(x->words + n) + 1;
	return n;
}

void rein_execs_add(struct rein_execs *e, const struct rein_exec *x)
{
	struct rein_exec copy = *x;
	size_t size = sizeof(copy) + (x->words ? words_len(x) : 0) + (x->path ? strlen(x->path) : 0);

	copy.file = NULL; /* the judge's alone */
	e->total++;
	e->refused += x->refused;
	if (!x->path || !x->words || e->n >= REIN_EXECS_MAX || e->bytes + size > REIN_EXECS_BYTES ||
	    rein_grow(e->v, e->n, e->cap) < 0) {
		exec_done(&copy);
		return;
	}
	e->bytes += size;
	e->v[e->n++] = copy;
}

const char *rein_exec_word(const struct rein_exec *x, uint32_t i)
{
	const char *p = x->words;

	while (i--)
		p += strlen(p) + 1;
	return p;
}

void rein_execs_pack(const struct rein_execs *e, struct rein_buf *b)
{
	rein_buf_le32(b, MAGIC);
	rein_buf_le64(b, e->total);
	rein_buf_le64(b, e->refused);
	rein_buf_le32(b, (uint32_t)e->n);
	for (size_t i = 0; i < e->n; i++) {
		const struct rein_exec *x = &e->v[i];

		rein_buf_le32(b, (uint32_t)x->pid);
		rein_buf_le32(b, (uint32_t)x->parent);
		rein_buf_le64(b, x->at_ns);
		rein_buf_le32(b, x->nwords);
		rein_buf_le32(b, (uint32_t)x->cut | (uint32_t)x->refused << 1 | (uint32_t)x->level << 8);
		rein_pack_str(b, rein_str(x->path));
		rein_pack_str(b, (struct rein_str){x->words, words_len(x)});
	}
}

/* As many words as it says, and nothing after them. */
static bool words_ok(struct rein_str s, uint32_t n)
{
	uint32_t found = 0;

	for (size_t i = 0; i < s.n; i++)
		found += s.p[i] == '\0';
	return found == n && (s.n == 0 || s.p[s.n - 1] == '\0');
}

static bool unpack_one(struct rein_unpack *u, struct rein_execs *e)
{
	struct rein_exec x = {0};
	struct rein_str words;
	uint32_t flags;

	x.pid = (int32_t)rein_unpack_le32(u);
	x.parent = (int32_t)rein_unpack_le32(u);
	x.at_ns = rein_unpack_le64(u);
	x.nwords = rein_unpack_le32(u);
	flags = rein_unpack_le32(u);
	x.cut = flags & 1;
	x.refused = flags & 2;
	x.level = (int)(flags >> 8);
	x.path = rein_unpack_cstr(u);
	words = rein_unpack_str(u);
	if (u->failed || !x.path || !words_ok(words, x.nwords)) {
		rein_free(x.path);
		return false;
	}
	x.words = rein_alloc(words.n + 1);
	if (x.words) {
		memcpy(x.words, words.p, words.n);
		x.words[words.n] = '\0';
	}
	rein_execs_add(e, &x);
	return true;
}

int rein_execs_unpack(struct rein_str data, struct rein_execs *ret, struct rein_err *err)
{
	struct rein_unpack u = {(const unsigned char *)data.p, data.n, false};
	struct rein_execs e = {0};
	uint64_t total, refused;
	uint32_t n;

	if (rein_unpack_le32(&u) != MAGIC)
		return rein_err_set(err, REIN_E_INVALID, "not a list of executions");
	total = rein_unpack_le64(&u);
	refused = rein_unpack_le64(&u);
	n = rein_unpack_le32(&u);
	for (uint32_t i = 0; i < n && !u.failed; i++)
		if (!unpack_one(&u, &e))
			u.failed = true;
	if (u.failed) {
		rein_execs_done(&e);
		return rein_err_set(err, REIN_E_INVALID, "the list of executions is damaged");
	}
	e.total = total;
	e.refused = refused;
	*ret = e;
	return 0;
}
