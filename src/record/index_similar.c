/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Similar past operations: candidates by the rarest features they share with the command, scored by
 * weight in common over weight of both. The work is bounded whatever the history.
 */
#include "base/auto.h"
#include "record/index_db.h"
#include "record/shape.h"

#define CANDIDATES 2048 /* shapes that are looked at, at most, */
#define ENTRIES	   4096 /* and places they are found at: both bound the time whatever the history */

struct candidate {
	sqlite3_int64 shape;
	double score;
};

struct pool {
	struct candidate c[2 * CANDIDATES]; /* open addressing by shape */
	unsigned n;
};

static struct candidate *slot(struct pool *p, sqlite3_int64 shape)
{
	size_t h = (size_t)((uint64_t)shape * 0x9e3779b97f4a7c15ull >> 52);

	while (p->c[h].shape && p->c[h].shape != shape)
		h = (h + 1) % ARRAY_SIZE(p->c);
	if (!p->c[h].shape) {
		if (p->n == CANDIDATES)
			return NULL;
		p->n++;
		p->c[h].shape = shape;
	}
	return &p->c[h];
}

struct wanted {
	const char *name;
	sqlite3_int64 id, df;
	double weight;
};

static int by_df(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->df < y->df ? -1 : x->df > y->df;
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->score > y->score ? -1 : x->score < y->score ? 1 : x->shape > y->shape ? -1 : 1;
}

static void gather(struct rein_index *x, struct wanted *w, unsigned n, struct pool *p)
{
	sqlite3_stmt *find = NULL, *post = NULL;
	int left = ENTRIES;

	sqlite3_prepare_v2(x->db, "SELECT id,df FROM feature WHERE name=?", -1, &find, NULL);
	sqlite3_prepare_v2(x->db,
			   "SELECT shape FROM post WHERE feature=? ORDER BY shape DESC LIMIT ?", -1,
			   &post, NULL);
	for (unsigned i = 0; find && i < n; i++) {
		sqlite3_bind_text(find, 1, w[i].name, -1, SQLITE_STATIC);
		if (sqlite3_step(find) == SQLITE_ROW) {
			w[i].id = sqlite3_column_int64(find, 0);
			w[i].df = sqlite3_column_int64(find, 1);
		}
		sqlite3_reset(find);
	}
	qsort(w, n, sizeof(*w), by_df); /* the rarest features say most */
	for (unsigned i = 0; post && i < n && left > 0; i++) {
		sqlite3_bind_int64(post, 1, w[i].id);
		sqlite3_bind_int(post, 2, left < CANDIDATES / 2 ? left : CANDIDATES / 2);
		for (; w[i].id && sqlite3_step(post) == SQLITE_ROW; left--) {
			struct candidate *c = slot(p, sqlite3_column_int64(post, 0));

			if (c)
				c->score += w[i].weight;
		}
		sqlite3_reset(post);
	}
	sqlite3_finalize(find);
	sqlite3_finalize(post);
}

/* Weight in common over weight of both: 1 when the features are the same. Both are in order. */
static double settle(sqlite3_int64 shape, const struct rein_shape *mine, sqlite3_stmt *s)
{
	double common = 0, all = 0;
	const char *f = NULL;
	unsigned i = 0;

	sqlite3_bind_int64(s, 1, shape);
	if (sqlite3_step(s) == SQLITE_ROW)
		f = (const char *)sqlite3_column_text(s, 0);
	while (i < mine->n || (f && *f)) {
		size_t n = f ? strcspn(f, "\n") : 0;
		int d = i == mine->n ? 1 : !f || !*f ? -1 : strncmp(mine->feature[i], f, n);

		if (!d && mine->feature[i][n]) /* it goes on where theirs ends */
			d = 1;
		all += rein_shape_weight(d <= 0 ? mine->feature[i] : f);
		common += d ? 0 : rein_shape_weight(f);
		i += d <= 0;
		if (d >= 0)
			f += n + (f[n] == '\n');
	}
	sqlite3_reset(s);
	return all > 0 ? common / all : 0;
}

static void copy_col(sqlite3_stmt *s, int i, char *out, size_t cap)
{
	const unsigned char *t = sqlite3_column_text(s, i);

	snprintf(out, cap, "%s", t ? (const char *)t : "");
}

static unsigned operations(struct rein_index *x, const struct candidate *c, sqlite3_stmt *s,
			   struct rein_similar *ret, unsigned have, unsigned max)
{
	auto_free char *line = rein_alloc(REIN_EVENT_LINE_MAX);

	sqlite3_bind_int64(s, 1, c->shape);
	while (line && have < max && sqlite3_step(s) == SQLITE_ROW) {
		struct rein_similar *r = &ret[have];
		uint64_t len = (uint64_t)sqlite3_column_int64(s, 8);
		struct rein_event_read ev;
		struct rein_err ignored = {0};

		*r = (struct rein_similar){.line = (uint64_t)sqlite3_column_int64(s, 0),
					   .time_ns = (uint64_t)sqlite3_column_int64(s, 1),
					   .score = c->score};
		copy_col(s, 2, r->action, sizeof(r->action));
		copy_col(s, 3, r->decision, sizeof(r->decision));
		copy_col(s, 4, r->result, sizeof(r->result));
		copy_col(s, 5, r->undone, sizeof(r->undone));
		if (!rein_index_line(x, (uint64_t)sqlite3_column_int64(s, 6),
				     (uint64_t)sqlite3_column_int64(s, 7), len, line) ||
		    rein_event_parse((struct rein_str){line, len}, &ev, &ignored) < 0)
			continue;
		snprintf(r->command, sizeof(r->command), "%.*s", (int)ev.ev.command.n,
			 ev.ev.command.p);
		rein_event_read_done(&ev);
		have++;
	}
	sqlite3_reset(s);
	return have;
}

static int find_similar(struct rein_index *x, struct rein_str command, struct rein_similar *ret,
			unsigned max, struct rein_err *err)
{
	auto_free struct pool *p = rein_alloc(sizeof(*p));
	struct wanted w[REIN_SHAPE_FEATURES] = {0};
	struct rein_shape sh;
	sqlite3_stmt *shape = NULL, *op = NULL;
	unsigned have = 0, n = 0;

	if (!p)
		return rein_err_nomem(err);
	rein_shape_of(command, &sh);
	for (unsigned i = 0; i < sh.n; i++)
		w[i] = (struct wanted){.name = sh.feature[i],
				       .weight = rein_shape_weight(sh.feature[i])};
	gather(x, w, sh.n, p);
	for (size_t i = 0; i < ARRAY_SIZE(p->c); i++)
		if (p->c[i].shape)
			p->c[n++] = p->c[i];
	qsort(p->c, n, sizeof(p->c[0]), by_score);
	n = n < 64 ? n : 64; /* only the best need an exact score */
	if (sqlite3_prepare_v2(x->db, "SELECT features FROM shape WHERE id=?", -1, &shape, NULL) !=
		    SQLITE_OK ||
	    sqlite3_prepare_v2(
		    x->db,
		    "SELECT seq,time,action,decision,result,undone,segment,offset,len FROM "
		    "op WHERE shape=? ORDER BY seq DESC LIMIT 3",
		    -1, &op, NULL) != SQLITE_OK) {
		sqlite3_finalize(shape);
		return rein_index_err(x, err, "cannot be asked");
	}
	for (unsigned i = 0; i < n; i++)
		p->c[i].score = settle(p->c[i].shape, &sh, shape);
	qsort(p->c, n, sizeof(p->c[0]), by_score);
	for (unsigned i = 0; i < n && have < max && p->c[i].score >= 0.25; i++)
		have = operations(x, &p->c[i], op, ret, have, max);
	sqlite3_finalize(shape);
	sqlite3_finalize(op);
	return (int)have;
}

/* One transaction: each statement by itself would lock the file and look for a journal, a hundred times. */
int rein_index_similar(struct rein_index *x, struct rein_str command, struct rein_similar *ret,
		       unsigned max, struct rein_err *err)
{
	int rc = rein_index_run(x, "BEGIN", err);

	if (rc < 0)
		return rc;
	rc = find_similar(x, command, ret, max, err);
	sqlite3_exec(x->db, "COMMIT", NULL, NULL, NULL);
	return rc;
}
