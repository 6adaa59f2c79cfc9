/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the index: filters become one statement; the log's own lines are what is handed out. */
#include "base/auto.h"
#include "record/index_db.h"

/* First line at or after a time. Lines are nearly in order of time: a margin covers the rest. */
static uint64_t line_at(struct rein_index *x, uint64_t time_ns)
{
	sqlite3_stmt *s = NULL;
	uint64_t lo = 0, hi = x->next_line;

	if (sqlite3_prepare_v2(x->db,
			       "SELECT seq,time FROM event WHERE seq>=? ORDER BY seq LIMIT 1", -1,
			       &s, NULL) != SQLITE_OK)
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
	id = rein_index_word(x, rein_str(v), false);
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
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
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
					text[n] == '*' || (unsigned char)text[n] >= 0x80 ? "*"
											 : "");
		text += n ? n : 1;
		while ((unsigned char)*text >= 0x80 ||
		       (n == 0 && token_byte(*text) && (unsigned char)text[-1] >= 0x80))
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

	for (char *p = copy ? strtok_r(copy, "/", &save) : NULL; p;
	     p = strtok_r(NULL, "/", &save)) {
		size_t n = strcspn(p, "*?[\\");

		/* a wildcard in the middle of a token leaves its beginning, which is a prefix: good
		 */
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
		if (!rein_index_line(x, (uint64_t)sqlite3_column_int64(s, 1),
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
		return rein_index_err(x, err, "cannot be asked");
	for (int i = 0; i < w->n; i++)
		if (w->arg[i].text)
			sqlite3_bind_text(*s, i + 1, w->arg[i].text, -1, SQLITE_STATIC);
		else
			sqlite3_bind_int64(*s, i + 1, w->arg[i].num);
	return 0;
}

int rein_index_query(struct rein_index *x, const struct rein_filter *f, uint64_t limit,
		     uint64_t before, rein_index_fn *fn, void *arg, struct rein_err *err)
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
int rein_index_story(struct rein_index *x, const char *id, rein_index_fn *fn, void *arg,
		     struct rein_err *err)
{
	static const char find[] = "SELECT coalesce(action,''),coalesce(txn,''),id FROM event "
				   "WHERE id=?1 OR action=?1 OR "
				   "txn=?1 ORDER BY seq DESC LIMIT 1";
	static const char all[] =
		"SELECT seq,segment,offset,len FROM event WHERE id=?3 OR (?1<>'' AND action=?1) OR "
		"(?2<>'' AND txn=?2) ORDER BY seq";
	sqlite3_stmt *s = NULL, *t = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(x->db, find, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(x->db, all, -1, &t, NULL) != SQLITE_OK) {
		rc = rein_index_err(x, err, "cannot be asked");
	} else {
		sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
		if (sqlite3_step(s) == SQLITE_ROW) {
			for (int i = 0; i < 3; i++)
				sqlite3_bind_text(t, i + 1, (const char *)sqlite3_column_text(s, i),
						  -1, SQLITE_TRANSIENT);
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
