/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the index: each line of the log once, in batches, each batch with the place it reached.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/index_db.h"
#include "record/shape.h"

#define BATCH 50000

static void bind_word(struct rein_index *x, sqlite3_stmt **s, int which, int i, struct rein_str w)
{
	sqlite3_int64 id = rein_index_word(x, w, true);

	(void)which;
	if (id)
		sqlite3_bind_int64(*s, i, id);
	else
		sqlite3_bind_null(*s, i);
}

static bool add_event(struct rein_index *x, const struct rein_line *l, const struct rein_event *ev)
{
	sqlite3_stmt *s = rein_index_get(x, ADD_EVENT);

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)l->index);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)l->segment);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)l->offset);
	sqlite3_bind_int64(s, 4, (sqlite3_int64)l->text.n);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)ev->time_ns);
	sqlite3_bind_int(s, 6, ev->type);
	rein_index_bind(s, 7, ev->id);
	rein_index_bind(s, 8, ev->action);
	rein_index_bind(s, 9, ev->txn);
	bind_word(x, &s, ADD_EVENT, 10, ev->agent);
	bind_word(x, &s, ADD_EVENT, 11, ev->session);
	bind_word(x, &s, ADD_EVENT, 12, ev->level);
	bind_word(x, &s, ADD_EVENT, 13, ev->decision);
	bind_word(x, &s, ADD_EVENT, 14, ev->result);
	bind_word(x, &s, ADD_EVENT, 15, ev->user);
	return rein_index_done(s);
}

static bool add_text(struct rein_index *x, uint64_t line, const struct rein_event *ev)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	const struct rein_str in[] = {ev->command, ev->cwd,  ev->reason,
				      ev->detail,  ev->rule, ev->excerpt};
	sqlite3_stmt *s;

	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		if (in[i].n) {
			rein_buf_str(&b, in[i]);
			rein_buf_char(&b, ' ');
		}
	for (size_t i = 0; i < ev->effects.npath; i++) {
		rein_buf_str(&b, ev->effects.path[i]);
		rein_buf_char(&b, ' ');
	}
	for (size_t i = 0; i < ev->effects.npeer; i++) {
		rein_buf_str(&b, ev->effects.peer[i]);
		rein_buf_char(&b, ' ');
	}
	if (!b.n)
		return true;
	s = rein_index_get(x, ADD_TEXT);
	if (!s || b.failed)
		return false;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)line);
	sqlite3_bind_text(s, 2, b.p, (int)b.n, SQLITE_STATIC);
	return rein_index_done(s);
}

/* Id of the shape; a new one brings its features along. */
static sqlite3_int64 shape_id(struct rein_index *x, const struct rein_shape *sh)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	sqlite3_stmt *s = rein_index_get(x, ADD_SHAPE);
	sqlite3_int64 id = 0;
	bool is_new;

	for (unsigned i = 0; i < sh->n; i++) {
		rein_buf_cstr(&b, sh->feature[i]);
		rein_buf_char(&b, '\n');
	}
	if (!s || b.failed || !b.n)
		return 0;
	sqlite3_bind_text(s, 1, b.p, (int)b.n, SQLITE_STATIC);
	if (!rein_index_done(s))
		return 0;
	is_new = sqlite3_changes(x->db) > 0;
	s = rein_index_get(x, GET_SHAPE);
	sqlite3_bind_text(s, 1, b.p, (int)b.n, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		id = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	for (unsigned i = 0; is_new && id && i < sh->n; i++) {
		s = rein_index_get(x, ADD_FEATURE);
		sqlite3_bind_text(s, 1, sh->feature[i], -1, SQLITE_STATIC);
		if (!rein_index_done(s))
			return 0;
		s = rein_index_get(x, ADD_POST);
		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_text(s, 2, sh->feature[i], -1, SQLITE_STATIC);
		if (!rein_index_done(s))
			return 0;
	}
	return id;
}

static bool add_op(struct rein_index *x, const struct rein_line *l, const struct rein_event *ev)
{
	struct rein_shape sh;
	sqlite3_int64 shape;
	sqlite3_stmt *s;

	rein_shape_of(ev->command, &sh);
	shape = shape_id(x, &sh);
	if (!shape)
		return true; /* nothing to compare it by */
	s = rein_index_get(x, ADD_OP);
	rein_index_bind(s, 1, ev->action.n ? ev->action : ev->id);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)l->index);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)ev->time_ns);
	sqlite3_bind_int64(s, 4, shape);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)l->segment);
	sqlite3_bind_int64(s, 6, (sqlite3_int64)l->offset);
	sqlite3_bind_int64(s, 7, (sqlite3_int64)l->text.n);
	return rein_index_done(s);
}

static bool set_op(struct rein_index *x, const struct rein_event *ev)
{
	struct rein_str key = ev->action.n ? ev->action : ev->id, undone = {0};
	sqlite3_stmt *s;

	if (ev->type == REIN_EV_UNDO)
		undone = STR("undone");
	if (ev->type == REIN_EV_REDO)
		undone = STR("redone");
	if (!ev->decision.n && !ev->result.n && !undone.n)
		return true;
	s = rein_index_get(x, SET_OP);
	rein_index_bind(s, 1, key);
	rein_index_bind(s, 2, ev->decision);
	rein_index_bind(s, 3, ev->result);
	rein_index_bind(s, 4, undone);
	return rein_index_done(s);
}

static int commit(struct rein_index *x, struct rein_err *err)
{
	if (!rein_index_meta_set(x, "next_line", NULL, 0, x->next_line) ||
	    !rein_index_meta_set(x, "segment", NULL, 0, x->segment) ||
	    !rein_index_meta_set(x, "offset", NULL, 0, x->offset) ||
	    !rein_index_meta_set(x, "last_offset", NULL, 0, x->last_offset) ||
	    !rein_index_meta_set(x, "last_len", NULL, 0, x->last_len) ||
	    !rein_index_meta_set(x, "last_hash", x->last_hash.b, 32, 0))
		return rein_index_err(x, err, "cannot be written");
	x->in_batch = 0;
	return rein_index_run(x, "COMMIT", err);
}

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct rein_index *x = arg;
	struct rein_event_read r;
	struct rein_err ignored = {0};
	bool ok = true;

	if (x->in_batch == 0 && rein_index_run(x, "BEGIN IMMEDIATE", err) < 0)
		return -err->code;
	x->in_batch++;
	/* Heads, and lines a newer version wrote, are not searchable; verification is not our task.
	 */
	if (rein_event_parse(l->text, &r, &ignored) == 0) {
		ok = add_event(x, l, &r.ev) && add_text(x, l->index, &r.ev);
		if (ok && r.ev.command.n &&
		    (r.ev.type == REIN_EV_REQUEST || r.ev.type == REIN_EV_RUN_START))
			ok = add_op(x, l, &r.ev);
		if (ok)
			ok = set_op(x, &r.ev);
		rein_event_read_done(&r);
	}
	if (!ok)
		return rein_index_err(x, err, "cannot be written");
	x->next_line = l->index + 1;
	x->segment = l->segment;
	x->offset = l->offset + l->text.n + 1;
	x->last_offset = l->offset;
	x->last_len = l->text.n;
	rein_merkle_leaf(l->text.p, l->text.n, &x->last_hash);
	return x->in_batch >= BATCH ? commit(x, err) : 0;
}

int rein_index_catch_up(struct rein_index *x, struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	size_t n = 0;

	if (rein_segments(x->dirfd, &seg, &n, err) < 0)
		return -err->code;
	for (size_t i = 0; i < n; i++) {
		char name[REIN_SEGMENT_NAME];
		auto_close int fd = -1;
		struct stat st;
		uint64_t index = x->next_line, from = 0, end;

		if (seg[i] < x->segment)
			continue;
		rein_segment_name(seg[i], name);
		fd = openat(x->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 || fstat(fd, &st) < 0)
			return rein_err_errno(err, "open segment '%s'", name);
		if (seg[i] == x->segment)
			from = x->offset;
		else if (rein_segment_first(fd, &index, err) < 0)
			return -err->code;
		if ((uint64_t)st.st_size > from &&
		    rein_segment_lines(fd, seg[i], from, (uint64_t)st.st_size, &index, on_line, x,
				       &end, err) < 0) {
			sqlite3_exec(x->db, "ROLLBACK", NULL, NULL, NULL);
			x->in_batch = 0;
			return -err->code;
		}
	}
	return x->in_batch ? commit(x, err) : 0;
}
