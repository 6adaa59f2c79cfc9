/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index in SQLite. Filled from the log in batches under flock(audit/index.lock); a killed
 * writer leaves a rollback journal that the next connection plays back. The last indexed line is
 * remembered with its hash: if the log has another line there, the index is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/index.h"
#include "record/internal.h"
#include "record/shape.h"

#define SCHEMA 1
#define BATCH  50000

enum {
	ADD_EVENT,
	ADD_TEXT,
	ADD_SHAPE,
	GET_SHAPE,
	ADD_FEATURE,
	ADD_POST,
	ADD_OP,
	SET_OP,
	ADD_WORD,
	GET_WORD,
	SET_META,
	GET_META,
	NSTMT
};

static const char *const sql[NSTMT] = {
	[ADD_EVENT] = "INSERT OR REPLACE INTO event VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[ADD_TEXT] = "INSERT INTO text(rowid,body) VALUES(?,?)",
	[ADD_SHAPE] = "INSERT OR IGNORE INTO shape(features) VALUES(?)",
	[GET_SHAPE] = "SELECT id FROM shape WHERE features=?",
	[ADD_FEATURE] = "INSERT INTO feature(name,df) VALUES(?,1) ON CONFLICT(name) DO UPDATE SET "
			"df=df+1",
	[ADD_POST] = "INSERT OR IGNORE INTO post SELECT id,? FROM feature WHERE name=?",
	[ADD_OP] = "INSERT OR IGNORE INTO op(action,seq,time,shape,segment,offset,len) "
		   "VALUES(?,?,?,?,?,?,?)",
	[SET_OP] = "UPDATE op SET decision=coalesce(?2,decision), result=coalesce(?3,result), "
		   "undone=coalesce(?4,undone) WHERE action=?1",
	[ADD_WORD] = "INSERT OR IGNORE INTO word(text) VALUES(?)",
	[GET_WORD] = "SELECT id FROM word WHERE text=?",
	[SET_META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
	[GET_META] = "SELECT value FROM meta WHERE key=?",
};

static const char schema[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT UNIQUE);"
	"CREATE TABLE event(seq INTEGER PRIMARY KEY, segment INT, offset INT, len INT, time INT,"
	" type INT, id TEXT, action TEXT, txn TEXT, agent INT, session INT, level INT,"
	" decision INT, result INT, user INT);"
	"CREATE INDEX by_id ON event(id);"
	"CREATE INDEX by_action ON event(action) WHERE action IS NOT NULL;"
	"CREATE INDEX by_txn ON event(txn) WHERE txn IS NOT NULL;"
	"CREATE INDEX by_type ON event(type);"
	"CREATE INDEX by_agent ON event(agent) WHERE agent IS NOT NULL;"
	"CREATE INDEX by_session ON event(session) WHERE session IS NOT NULL;"
	"CREATE INDEX by_level ON event(level) WHERE level IS NOT NULL;"
	"CREATE INDEX by_decision ON event(decision) WHERE decision IS NOT NULL;"
	"CREATE INDEX by_result ON event(result) WHERE result IS NOT NULL;"
	"CREATE VIRTUAL TABLE text USING fts5(body, content='', columnsize=0, detail=none,"
	" tokenize=\"unicode61 tokenchars '_'\");"
	"CREATE TABLE shape(id INTEGER PRIMARY KEY, features TEXT UNIQUE);"
	"CREATE TABLE feature(id INTEGER PRIMARY KEY, name TEXT UNIQUE, df INT);"
	"CREATE TABLE post(feature INT, shape INT, PRIMARY KEY(feature, shape)) WITHOUT ROWID;"
	"CREATE TABLE op(action TEXT PRIMARY KEY, seq INT, time INT, shape INT, segment INT,"
	" offset INT, len INT, decision TEXT, result TEXT, undone TEXT) WITHOUT ROWID;"
	"CREATE INDEX op_shape ON op(shape, seq);";

struct rein_index {
	sqlite3 *db;
	sqlite3_stmt *stmt[NSTMT];
	int dirfd, lock_fd, seg_fd;
	uint64_t seg_open;
	char *path;
	uint64_t next_line, segment, offset; /* where indexing goes on */
	uint64_t last_offset, last_len;
	struct rein_hash last_hash;
	unsigned in_batch;
	struct {
		char text[64];
		sqlite3_int64 id;
	} words[256]; /* small cache of interned words */
};

static int sql_err(struct rein_index *x, struct rein_err *err, const char *what)
{
	return rein_err_set(err, REIN_E_IO, "index: %s: %s. To rebuild it: rein audit rebuild", what,
			    sqlite3_errmsg(x->db));
}

static int run(struct rein_index *x, const char *text, struct rein_err *err)
{
	return sqlite3_exec(x->db, text, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : sql_err(x, err, "cannot be changed");
}

static sqlite3_stmt *get(struct rein_index *x, int which)
{
	if (!x->stmt[which])
		sqlite3_prepare_v3(x->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &x->stmt[which],
				   NULL);
	else
		sqlite3_reset(x->stmt[which]);
	return x->stmt[which];
}

static void bind_str(sqlite3_stmt *s, int i, struct rein_str v)
{
	if (v.n)
		sqlite3_bind_text(s, i, v.p, (int)v.n, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, i);
}

static bool done(sqlite3_stmt *s)
{
	bool ok = s && sqlite3_step(s) == SQLITE_DONE;

	if (s)
		sqlite3_reset(s);
	return ok;
}

/* 0 when the word is empty or unknown. */
static sqlite3_int64 word_id(struct rein_index *x, struct rein_str w, bool make)
{
	uint32_t h = 2166136261u;
	sqlite3_stmt *s;
	sqlite3_int64 id = 0;

	if (!w.n)
		return 0;
	for (size_t i = 0; i < w.n; i++)
		h = (h ^ (unsigned char)w.p[i]) * 16777619u;
	h %= ARRAY_SIZE(x->words);
	if (x->words[h].id && rein_str_eq(rein_str(x->words[h].text), w))
		return x->words[h].id;
	if (make) {
		s = get(x, ADD_WORD);
		bind_str(s, 1, w);
		if (!done(s))
			return 0;
	}
	s = get(x, GET_WORD);
	bind_str(s, 1, w);
	if (s && sqlite3_step(s) == SQLITE_ROW)
		id = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (id && w.n < sizeof(x->words[h].text)) {
		memcpy(x->words[h].text, w.p, w.n);
		x->words[h].text[w.n] = '\0';
		x->words[h].id = id;
	}
	return id;
}

static void bind_word(struct rein_index *x, sqlite3_stmt **s, int which, int i, struct rein_str w)
{
	sqlite3_int64 id = word_id(x, w, true);

	(void)which;
	if (id)
		sqlite3_bind_int64(*s, i, id);
	else
		sqlite3_bind_null(*s, i);
}

static bool add_event(struct rein_index *x, const struct rein_line *l, const struct rein_event *ev)
{
	sqlite3_stmt *s = get(x, ADD_EVENT);

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)l->index);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)l->segment);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)l->offset);
	sqlite3_bind_int64(s, 4, (sqlite3_int64)l->text.n);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)ev->time_ns);
	sqlite3_bind_int(s, 6, ev->type);
	bind_str(s, 7, ev->id);
	bind_str(s, 8, ev->action);
	bind_str(s, 9, ev->txn);
	bind_word(x, &s, ADD_EVENT, 10, ev->agent);
	bind_word(x, &s, ADD_EVENT, 11, ev->session);
	bind_word(x, &s, ADD_EVENT, 12, ev->level);
	bind_word(x, &s, ADD_EVENT, 13, ev->decision);
	bind_word(x, &s, ADD_EVENT, 14, ev->result);
	bind_word(x, &s, ADD_EVENT, 15, ev->user);
	return done(s);
}

static bool add_text(struct rein_index *x, uint64_t line, const struct rein_event *ev)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	const struct rein_str in[] = {ev->command, ev->cwd,    ev->reason,
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
	s = get(x, ADD_TEXT);
	if (!s || b.failed)
		return false;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)line);
	sqlite3_bind_text(s, 2, b.p, (int)b.n, SQLITE_STATIC);
	return done(s);
}

/* Id of the shape; a new one brings its features along. */
static sqlite3_int64 shape_id(struct rein_index *x, const struct rein_shape *sh)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	sqlite3_stmt *s = get(x, ADD_SHAPE);
	sqlite3_int64 id = 0;
	bool is_new;

	for (unsigned i = 0; i < sh->n; i++) {
		rein_buf_cstr(&b, sh->feature[i]);
		rein_buf_char(&b, '\n');
	}
	if (!s || b.failed || !b.n)
		return 0;
	sqlite3_bind_text(s, 1, b.p, (int)b.n, SQLITE_STATIC);
	if (!done(s))
		return 0;
	is_new = sqlite3_changes(x->db) > 0;
	s = get(x, GET_SHAPE);
	sqlite3_bind_text(s, 1, b.p, (int)b.n, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		id = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	for (unsigned i = 0; is_new && id && i < sh->n; i++) {
		s = get(x, ADD_FEATURE);
		sqlite3_bind_text(s, 1, sh->feature[i], -1, SQLITE_STATIC);
		if (!done(s))
			return 0;
		s = get(x, ADD_POST);
		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_text(s, 2, sh->feature[i], -1, SQLITE_STATIC);
		if (!done(s))
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
	s = get(x, ADD_OP);
	bind_str(s, 1, ev->action.n ? ev->action : ev->id);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)l->index);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)ev->time_ns);
	sqlite3_bind_int64(s, 4, shape);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)l->segment);
	sqlite3_bind_int64(s, 6, (sqlite3_int64)l->offset);
	sqlite3_bind_int64(s, 7, (sqlite3_int64)l->text.n);
	return done(s);
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
	s = get(x, SET_OP);
	bind_str(s, 1, key);
	bind_str(s, 2, ev->decision);
	bind_str(s, 3, ev->result);
	bind_str(s, 4, undone);
	return done(s);
}

static bool set_meta(struct rein_index *x, const char *key, const void *p, size_t n, uint64_t v)
{
	sqlite3_stmt *s = get(x, SET_META);

	if (!s)
		return false;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (p)
		sqlite3_bind_blob(s, 2, p, (int)n, SQLITE_STATIC);
	else
		sqlite3_bind_int64(s, 2, (sqlite3_int64)v);
	return done(s);
}

static int commit(struct rein_index *x, struct rein_err *err)
{
	if (!set_meta(x, "next_line", NULL, 0, x->next_line) ||
	    !set_meta(x, "segment", NULL, 0, x->segment) ||
	    !set_meta(x, "offset", NULL, 0, x->offset) ||
	    !set_meta(x, "last_offset", NULL, 0, x->last_offset) ||
	    !set_meta(x, "last_len", NULL, 0, x->last_len) ||
	    !set_meta(x, "last_hash", x->last_hash.b, 32, 0))
		return sql_err(x, err, "cannot be written");
	x->in_batch = 0;
	return run(x, "COMMIT", err);
}

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct rein_index *x = arg;
	struct rein_event_read r;
	struct rein_err ignored = {0};
	bool ok = true;

	if (x->in_batch == 0 && run(x, "BEGIN IMMEDIATE", err) < 0)
		return -err->code;
	x->in_batch++;
	/* Heads, and lines a newer version wrote, are not searchable; verification is not our task. */
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
		return sql_err(x, err, "cannot be written");
	x->next_line = l->index + 1;
	x->segment = l->segment;
	x->offset = l->offset + l->text.n + 1;
	x->last_offset = l->offset;
	x->last_len = l->text.n;
	rein_merkle_leaf(l->text.p, l->text.n, &x->last_hash);
	return x->in_batch >= BATCH ? commit(x, err) : 0;
}

static uint64_t meta_u64(struct rein_index *x, const char *key)
{
	sqlite3_stmt *s = get(x, GET_META);
	uint64_t v = 0;

	if (!s)
		return 0;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		v = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return v;
}

static void load_meta(struct rein_index *x)
{
	sqlite3_stmt *s;

	x->next_line = meta_u64(x, "next_line");
	x->segment = meta_u64(x, "segment");
	x->offset = meta_u64(x, "offset");
	x->last_offset = meta_u64(x, "last_offset");
	x->last_len = meta_u64(x, "last_len");
	s = get(x, GET_META);
	sqlite3_bind_text(s, 1, "last_hash", -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_bytes(s, 0) == 32)
		memcpy(x->last_hash.b, sqlite3_column_blob(s, 0), 32);
	sqlite3_reset(s);
}

static bool read_line(struct rein_index *x, uint64_t segment, uint64_t offset, uint64_t len,
		      char *out)
{
	char name[REIN_SEGMENT_NAME];

	if (x->seg_fd < 0 || x->seg_open != segment) {
		rein_closep_(&x->seg_fd);
		rein_segment_name(segment, name);
		x->seg_fd = openat(x->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		x->seg_open = segment;
	}
	return x->seg_fd >= 0 && len <= REIN_EVENT_LINE_MAX &&
	       pread(x->seg_fd, out, len, (off_t)offset) == (ssize_t)len;
}

/* Is the index one of this very log? */
static bool matches(struct rein_index *x)
{
	auto_free char *line = rein_alloc(REIN_EVENT_LINE_MAX);
	struct rein_hash h;

	if (x->next_line == 0)
		return true;
	if (!line || !read_line(x, x->segment, x->last_offset, x->last_len, line))
		return false;
	rein_merkle_leaf(line, x->last_len, &h);
	return memcmp(h.b, x->last_hash.b, 32) == 0;
}

static int catch_up(struct rein_index *x, struct rein_err *err)
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

static void db_close(struct rein_index *x)
{
	for (int i = 0; i < NSTMT; i++) {
		sqlite3_finalize(x->stmt[i]);
		x->stmt[i] = NULL;
	}
	sqlite3_close_v2(x->db);
	x->db = NULL;
	memset(x->words, 0, sizeof(x->words));
}

static int db_open(struct rein_index *x, struct rein_err *err)
{
	if (sqlite3_open_v2(x->path, &x->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, NULL) !=
	    SQLITE_OK)
		return sql_err(x, err, "cannot be opened");
	sqlite3_busy_timeout(x->db, 10000);
	if (run(x, "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=NORMAL;"
		   "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; PRAGMA trusted_schema=OFF",
		err) < 0)
		return -err->code;
	x->next_line = x->segment = x->offset = 0;
	if (meta_u64(x, "schema") == SCHEMA) {
		load_meta(x);
		return 0;
	}
	if (run(x, "BEGIN IMMEDIATE", err) < 0 || run(x, schema, err) < 0)
		return -err->code;
	return set_meta(x, "schema", NULL, 0, SCHEMA) ? run(x, "COMMIT", err)
						       : sql_err(x, err, "cannot be made");
}

static int open_fresh(struct rein_index *x, struct rein_err *err)
{
	db_close(x);
	if (unlinkat(x->dirfd, "index.db", 0) < 0 && errno != ENOENT)
		return rein_err_errno(err, "remove the old index");
	unlinkat(x->dirfd, "index.db-journal", 0);
	return db_open(x, err) < 0 ? -err->code : catch_up(x, err);
}

static int refresh(struct rein_index *x, struct rein_err *err)
{
	int rc;

	if (flock(x->lock_fd, LOCK_EX) < 0)
		return rein_err_errno(err, "lock the index");
	if (x->db)
		load_meta(x); /* another process may have gone on */
	rc = x->db ? 0 : db_open(x, err);
	if (rc == 0 && matches(x))
		rc = catch_up(x, err);
	else
		rc = open_fresh(x, err); /* damaged, foreign or of another version */
	flock(x->lock_fd, LOCK_UN);
	return rc;
}

static void index_close(struct rein_index *x)
{
	if (!x)
		return;
	db_close(x);
	rein_closep_(&x->seg_fd);
	rein_closep_(&x->lock_fd);
	rein_closep_(&x->dirfd);
	rein_free(x->path);
	rein_free(x);
}

static int index_open(const char *state_dir, bool rebuild, struct rein_index **ret,
		      struct rein_err *err)
{
	struct rein_index *x = rein_alloc(sizeof(*x));

	if (!x)
		return rein_err_nomem(err);
	x->seg_fd = x->lock_fd = -1;
	x->dirfd = rein_record_dir(state_dir, false, err);
	if (x->dirfd < 0)
		goto fail;
	x->path = rein_asprintf("%s/%s/index.db", state_dir, REIN_RECORD_DIR);
	x->lock_fd = openat(x->dirfd, "index.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (!x->path || x->lock_fd < 0) {
		rein_err_errno(err, "open the index");
		goto fail;
	}
	if (rebuild) {
		if (flock(x->lock_fd, LOCK_EX) < 0 || open_fresh(x, err) < 0)
			goto fail;
		flock(x->lock_fd, LOCK_UN);
	} else if (refresh(x, err) < 0) {
		goto fail;
	}
	*ret = x;
	return 0;
fail:
	index_close(x);
	return -err->code;
}

/* --- asking --------------------------------------------------------------------------------- */

/* First line at or after a time. Lines are nearly in order of time: a margin covers the rest. */
static uint64_t line_at(struct rein_index *x, uint64_t time_ns)
{
	sqlite3_stmt *s = NULL;
	uint64_t lo = 0, hi = x->next_line;

	if (sqlite3_prepare_v2(x->db, "SELECT seq,time FROM event WHERE seq>=? ORDER BY seq LIMIT 1",
			       -1, &s, NULL) != SQLITE_OK)
		return 0;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		sqlite3_bind_int64(s, 1, (sqlite3_int64)mid);
		if (sqlite3_step(s) == SQLITE_ROW && (uint64_t)sqlite3_column_int64(s, 1) < time_ns)
			lo = (uint64_t)sqlite3_column_int64(s, 0) + 1;
		else
			hi = mid;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return lo;
}

#define MARGIN 1000

struct where {
	struct rein_buf sql;
	struct {
		const char *text;
		sqlite3_int64 num;
	} arg[16];
	int n;
	bool nothing; /* a word nobody ever used */
};

static void and_num(struct where *w, const char *cond, sqlite3_int64 v)
{
	rein_buf_printf(&w->sql, " AND %s", cond);
	w->arg[w->n].text = NULL;
	w->arg[w->n++].num = v;
}

static void and_word(struct rein_index *x, struct where *w, const char *cond, const char *v)
{
	sqlite3_int64 id;

	if (!v)
		return;
	id = word_id(x, rein_str(v), false);
	if (!id)
		w->nothing = true;
	and_num(w, cond, id);
}

static void and_text(struct where *w, const char *cond, const char *v)
{
	if (!v)
		return;
	rein_buf_printf(&w->sql, " AND %s", cond);
	w->arg[w->n++].text = v;
}

static bool token_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * Words of a query as FTS5 wants them: quoted, whole, or as a prefix when a '*' follows. Of a word
 * with other than ASCII letters only the beginning is used: how the index folds the rest is its own
 * affair.
 */
static void match_words(struct rein_buf *b, const char *text)
{
	while (*text) {
		size_t n = 0;

		while (token_byte(text[n]))
			n++;
		if (n)
			rein_buf_printf(b, "%s\"%.*s\"%s", b->n ? " AND " : "", (int)n, text,
					text[n] == '*' || (unsigned char)text[n] >= 0x80 ? "*" : "");
		text += n ? n : 1;
		while ((unsigned char)*text >= 0x80 || (n == 0 && token_byte(*text) &&
							(unsigned char)text[-1] >= 0x80))
			text++;
	}
}

/*
 * The most telling literal part of a path glob narrows the search: the last component that has one
 * (what stands before a wildcard counts). The filter itself decides; more parts would only cost.
 */
static void match_path(struct rein_buf *b, const char *path)
{
	auto_free char *copy = rein_strdup(path);
	char *save = NULL, last[128] = "";

	for (char *p = copy ? strtok_r(copy, "/", &save) : NULL; p; p = strtok_r(NULL, "/", &save)) {
		size_t n = strcspn(p, "*?[\\");

		/* a wildcard in the middle of a token leaves its beginning, which is a prefix: good */
		if (n)
			snprintf(last, sizeof(last), "%.*s%s", (int)(n < 126 ? n : 126), p,
				 p[n] ? "*" : "");
	}
	match_words(b, last);
}

static int each_row(struct rein_index *x, sqlite3_stmt *s, const struct rein_filter *f,
		    uint64_t limit, rein_index_fn *fn, void *arg, struct rein_err *err)
{
	auto_free char *line = rein_alloc(REIN_EVENT_LINE_MAX);
	uint64_t found = 0;
	int rc;

	if (!line)
		return rein_err_nomem(err);
	while (found < limit && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t len = (uint64_t)sqlite3_column_int64(s, 3);
		struct rein_str text = {line, len};
		struct rein_event_read r;
		struct rein_err ignored = {0};

		/* A pruned line is still in the index: it is not there any more. */
		if (!read_line(x, (uint64_t)sqlite3_column_int64(s, 1),
			       (uint64_t)sqlite3_column_int64(s, 2), len, line) ||
		    rein_event_parse(text, &r, &ignored) < 0)
			continue;
		rc = 0;
		if (!f || rein_filter_match(f, &r.ev)) {
			found++;
			rc = fn(arg, (uint64_t)sqlite3_column_int64(s, 0), text, &r.ev, err);
		}
		rein_event_read_done(&r);
		if (rc < 0)
			return rc;
	}
	return (int)(found > INT32_MAX ? INT32_MAX : found);
}

static int bind_all(struct rein_index *x, struct where *w, sqlite3_stmt **s, struct rein_err *err)
{
	if (w->sql.failed)
		return rein_err_nomem(err);
	if (sqlite3_prepare_v2(x->db, w->sql.p, -1, s, NULL) != SQLITE_OK)
		return sql_err(x, err, "cannot be asked");
	for (int i = 0; i < w->n; i++)
		if (w->arg[i].text)
			sqlite3_bind_text(*s, i + 1, w->arg[i].text, -1, SQLITE_STATIC);
		else
			sqlite3_bind_int64(*s, i + 1, w->arg[i].num);
	return 0;
}

static int query(struct rein_index *x, const struct rein_filter *f, uint64_t limit, uint64_t before,
		 rein_index_fn *fn, void *arg, struct rein_err *err)
{
	struct where w = {.sql = REIN_BUF(8192)};
	auto_buf struct rein_buf match = REIN_BUF(4096);
	sqlite3_stmt *s = NULL;
	int rc;

	if (f->text)
		match_words(&match, f->text);
	if (f->path)
		match_path(&match, f->path);
	if (match.n) {
		rein_buf_cstr(&w.sql, "SELECT seq,segment,offset,len FROM text CROSS JOIN event ON "
				      "seq=text.rowid WHERE text MATCH ?");
		w.arg[w.n++].text = match.p;
	} else {
		rein_buf_cstr(&w.sql, "SELECT seq,segment,offset,len FROM event WHERE 1");
	}
	if (before)
		and_num(&w, match.n ? "text.rowid<?" : "seq<?", (sqlite3_int64)before);
	if (f->since_ns) {
		uint64_t from = line_at(x, f->since_ns);

		and_num(&w, match.n ? "text.rowid>=?" : "seq>=?",
			(sqlite3_int64)(from > MARGIN ? from - MARGIN : 0));
	}
	if (f->until_ns)
		and_num(&w, match.n ? "text.rowid<?" : "seq<?",
			(sqlite3_int64)(line_at(x, f->until_ns) + MARGIN));
	and_word(x, &w, "agent=?", f->agent);
	and_word(x, &w, "session=?", f->session);
	and_word(x, &w, "level=?", f->level);
	and_word(x, &w, "decision=?", f->decision);
	and_word(x, &w, "result=?", f->result);
	and_word(x, &w, "user=?", f->user);
	and_text(&w, "txn=?", f->txn);
	and_text(&w, "action=?", f->action);
	if (f->type)
		and_num(&w, "type=?", rein_event_type_of(rein_str(f->type)));
	rein_buf_printf(&w.sql, " ORDER BY %s DESC", match.n ? "text.rowid" : "seq");
	rc = w.nothing ? 0 : bind_all(x, &w, &s, err);
	if (rc == 0 && s)
		rc = each_row(x, s, f, limit, fn, arg, err);
	sqlite3_finalize(s);
	rein_buf_done(&w.sql);
	return rc;
}

/* What id names: an event, or a prefix of one; its action and transaction. */
static int story(struct rein_index *x, const char *id, rein_index_fn *fn, void *arg,
		 struct rein_err *err)
{
	static const char find[] =
		"SELECT coalesce(action,''),coalesce(txn,''),id FROM event WHERE id=?1 OR action=?1 OR "
		"txn=?1 ORDER BY seq DESC LIMIT 1";
	static const char all[] =
		"SELECT seq,segment,offset,len FROM event WHERE id=?3 OR (?1<>'' AND action=?1) OR "
		"(?2<>'' AND txn=?2) ORDER BY seq";
	sqlite3_stmt *s = NULL, *t = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(x->db, find, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(x->db, all, -1, &t, NULL) != SQLITE_OK) {
		rc = sql_err(x, err, "cannot be asked");
	} else {
		sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
		if (sqlite3_step(s) == SQLITE_ROW) {
			for (int i = 0; i < 3; i++)
				sqlite3_bind_text(t, i + 1, (const char *)sqlite3_column_text(s, i), -1,
						  SQLITE_TRANSIENT);
			rc = each_row(x, t, NULL, UINT64_MAX, fn, arg, err);
		}
		if (rc == 0)
			rc = rein_err_set(err, REIN_E_NOTFOUND,
					  "nothing in the record is called '%s'", id);
	}
	sqlite3_finalize(s);
	sqlite3_finalize(t);
	return rc;
}

/* --- similar operations --------------------------------------------------------------------- */

#define CANDIDATES 4096 /* shapes looked at, at most: bounds the time whatever the history */

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
	size_t h = (size_t)((uint64_t)shape * 0x9e3779b97f4a7c15ull >> 51);

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
	int room;

	sqlite3_prepare_v2(x->db, "SELECT id,df FROM feature WHERE name=?", -1, &find, NULL);
	sqlite3_prepare_v2(x->db, "SELECT shape FROM post WHERE feature=? ORDER BY shape DESC LIMIT ?",
			   -1, &post, NULL);
	for (unsigned i = 0; find && i < n; i++) {
		sqlite3_bind_text(find, 1, w[i].name, -1, SQLITE_STATIC);
		if (sqlite3_step(find) == SQLITE_ROW) {
			w[i].id = sqlite3_column_int64(find, 0);
			w[i].df = sqlite3_column_int64(find, 1);
		}
		sqlite3_reset(find);
	}
	qsort(w, n, sizeof(*w), by_df); /* the rarest features say most */
	for (unsigned i = 0; post && i < n; i++) {
		room = CANDIDATES / 2;
		sqlite3_bind_int64(post, 1, w[i].id);
		sqlite3_bind_int(post, 2, room);
		while (w[i].id && sqlite3_step(post) == SQLITE_ROW) {
			struct candidate *c = slot(p, sqlite3_column_int64(post, 0));

			if (c)
				c->score += w[i].weight;
		}
		sqlite3_reset(post);
	}
	sqlite3_finalize(find);
	sqlite3_finalize(post);
}

/* Weight in common over weight of both: 1 when the features are the same. */
static double settle(struct rein_index *x, sqlite3_int64 shape, double common, double mine,
		     sqlite3_stmt *s)
{
	double theirs = 0;
	const char *f;

	(void)x;
	sqlite3_bind_int64(s, 1, shape);
	if (sqlite3_step(s) == SQLITE_ROW) {
		f = (const char *)sqlite3_column_text(s, 0);
		for (; f && *f; f += strcspn(f, "\n") + 1)
			theirs += rein_shape_weight(f);
	}
	sqlite3_reset(s);
	return common / (mine + theirs - common);
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
		if (!read_line(x, (uint64_t)sqlite3_column_int64(s, 6),
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

static int similar(struct rein_index *x, struct rein_str command, struct rein_similar *ret,
		   unsigned max, struct rein_err *err)
{
	auto_free struct pool *p = rein_alloc(sizeof(*p));
	struct wanted w[REIN_SHAPE_FEATURES] = {0};
	struct rein_shape sh;
	sqlite3_stmt *shape = NULL, *op = NULL;
	double mine = 0;
	unsigned have = 0, n = 0;

	if (!p)
		return rein_err_nomem(err);
	rein_shape_of(command, &sh);
	for (unsigned i = 0; i < sh.n; i++) {
		w[i] = (struct wanted){.name = sh.feature[i],
				       .weight = rein_shape_weight(sh.feature[i])};
		mine += w[i].weight;
	}
	gather(x, w, sh.n, p);
	for (size_t i = 0; i < ARRAY_SIZE(p->c); i++)
		if (p->c[i].shape)
			p->c[n++] = p->c[i];
	qsort(p->c, n, sizeof(p->c[0]), by_score);
	n = n < 64 ? n : 64; /* only the best need an exact score */
	if (sqlite3_prepare_v2(x->db, "SELECT features FROM shape WHERE id=?", -1, &shape, NULL) !=
		    SQLITE_OK ||
	    sqlite3_prepare_v2(x->db,
			       "SELECT seq,time,action,decision,result,undone,segment,offset,len FROM "
			       "op WHERE shape=? ORDER BY seq DESC LIMIT 3",
			       -1, &op, NULL) != SQLITE_OK) {
		sqlite3_finalize(shape);
		return sql_err(x, err, "cannot be asked");
	}
	for (unsigned i = 0; i < n; i++)
		p->c[i].score = settle(x, p->c[i].shape, p->c[i].score, mine, shape);
	qsort(p->c, n, sizeof(p->c[0]), by_score);
	for (unsigned i = 0; i < n && have < max && p->c[i].score >= 0.25; i++)
		have = operations(x, &p->c[i], op, ret, have, max);
	sqlite3_finalize(shape);
	sqlite3_finalize(op);
	return (int)have;
}

static uint64_t lines(struct rein_index *x)
{
	return x->next_line;
}

__attribute__((visibility("default"))) extern const struct rein_index_ops rein_index_module;

const struct rein_index_ops rein_index_module = {
	.abi = REIN_INDEX_ABI,
	.open = index_open,
	.refresh = refresh,
	.query = query,
	.story = story,
	.similar = similar,
	.lines = lines,
	.close = index_close,
};
