/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index in SQLite. Filled from the log in batches under flock(audit/index.lock); a killed
 * writer leaves a rollback journal that the next connection plays back. The last indexed line is
 * remembered with its hash: if the log has another line there, the index is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/index_db.h"

#define SCHEMA 1

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

int rein_index_err(struct rein_index *x, struct rein_err *err, const char *what)
{
	return rein_err_set(err, REIN_E_IO, "index: %s: %s. To rebuild it: rein audit rebuild",
			    what, sqlite3_errmsg(x->db));
}

int rein_index_run(struct rein_index *x, const char *text, struct rein_err *err)
{
	return sqlite3_exec(x->db, text, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : rein_index_err(x, err, "cannot be changed");
}

sqlite3_stmt *rein_index_get(struct rein_index *x, int which)
{
	if (!x->stmt[which])
		sqlite3_prepare_v3(x->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
				   &x->stmt[which], NULL);
	else
		sqlite3_reset(x->stmt[which]);
	return x->stmt[which];
}

void rein_index_bind(sqlite3_stmt *s, int i, struct rein_str v)
{
	if (v.n)
		sqlite3_bind_text(s, i, v.p, (int)v.n, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, i);
}

bool rein_index_done(sqlite3_stmt *s)
{
	bool ok = s && sqlite3_step(s) == SQLITE_DONE;

	if (s)
		sqlite3_reset(s);
	return ok;
}

/* 0 when the word is empty or unknown. */
sqlite3_int64 rein_index_word(struct rein_index *x, struct rein_str w, bool make)
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
		s = rein_index_get(x, ADD_WORD);
		rein_index_bind(s, 1, w);
		if (!rein_index_done(s))
			return 0;
	}
	s = rein_index_get(x, GET_WORD);
	rein_index_bind(s, 1, w);
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

bool rein_index_meta_set(struct rein_index *x, const char *key, const void *p, size_t n, uint64_t v)
{
	sqlite3_stmt *s = rein_index_get(x, SET_META);

	if (!s)
		return false;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (p)
		sqlite3_bind_blob(s, 2, p, (int)n, SQLITE_STATIC);
	else
		sqlite3_bind_int64(s, 2, (sqlite3_int64)v);
	return rein_index_done(s);
}

static uint64_t rein_index_meta(struct rein_index *x, const char *key)
{
	sqlite3_stmt *s = rein_index_get(x, GET_META);
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

	x->next_line = rein_index_meta(x, "next_line");
	x->segment = rein_index_meta(x, "segment");
	x->offset = rein_index_meta(x, "offset");
	x->last_offset = rein_index_meta(x, "last_offset");
	x->last_len = rein_index_meta(x, "last_len");
	s = rein_index_get(x, GET_META);
	sqlite3_bind_text(s, 1, "last_hash", -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_bytes(s, 0) == 32)
		memcpy(x->last_hash.b, sqlite3_column_blob(s, 0), 32);
	sqlite3_reset(s);
}

bool rein_index_line(struct rein_index *x, uint64_t segment, uint64_t offset, uint64_t len,
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
	if (!line || !rein_index_line(x, x->segment, x->last_offset, x->last_len, line))
		return false;
	rein_merkle_leaf(line, x->last_len, &h);
	return memcmp(h.b, x->last_hash.b, 32) == 0;
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
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
			    NULL) != SQLITE_OK)
		return rein_index_err(x, err, "cannot be opened");
	sqlite3_busy_timeout(x->db, 10000);
	if (rein_index_run(
		    x,
		    "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=NORMAL;"
		    "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; PRAGMA trusted_schema=OFF",
		    err) < 0)
		return -err->code;
	x->next_line = x->segment = x->offset = 0;
	if (rein_index_meta(x, "schema") == SCHEMA) {
		load_meta(x);
		return 0;
	}
	if (rein_index_run(x, "BEGIN IMMEDIATE", err) < 0 || rein_index_run(x, schema, err) < 0)
		return -err->code;
	return rein_index_meta_set(x, "schema", NULL, 0, SCHEMA)
		       ? rein_index_run(x, "COMMIT", err)
		       : rein_index_err(x, err, "cannot be made");
}

static int open_fresh(struct rein_index *x, struct rein_err *err)
{
	db_close(x);
	if (unlinkat(x->dirfd, "index.db", 0) < 0 && errno != ENOENT)
		return rein_err_errno(err, "remove the old index");
	unlinkat(x->dirfd, "index.db-journal", 0);
	return db_open(x, err) < 0 ? -err->code : rein_index_catch_up(x, err);
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
		rc = rein_index_catch_up(x, err);
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

static uint64_t lines(struct rein_index *x)
{
	return x->next_line;
}

__attribute__((visibility("default"))) extern const struct rein_index_ops rein_index_module;

const struct rein_index_ops rein_index_module = {
	.abi = REIN_INDEX_ABI,
	.open = index_open,
	.refresh = refresh,
	.query = rein_index_query,
	.story = rein_index_story,
	.similar = rein_index_similar,
	.lines = lines,
	.close = index_close,
};
