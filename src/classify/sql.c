/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL. PostgreSQL's by its own grammar when a parser was given; of any dialect by tokens: quotes, dollar quotes and comments are taken off first, statements
 * are told apart, and each is judged by its words. What is not known to only read is not safe.
 */
#include "classify/internal.h"

#define MAX_TOKENS 384
#define SQL_ALONE  8192 /* bytes given to the grammar: as an action of its own */
#define SQL_INSIDE 2048 /* in all of a command */
#define SQL_CALL   100	/* what one more text counts besides its length */

struct token {
	char word[20]; /* upper case; "'" for a string, one byte for punctuation */
	uint32_t at, end;
	struct rein_str raw;
};

struct sql {
	struct ctx *cx;
	struct rein_str s;
	size_t i;
	struct token t[MAX_TOKENS];
	size_t n;
	bool overflow, mapped, readonly;
	bool file;     /* the database is one on this machine */
	bool standard; /* a backslash in a string is a letter like any other */
	struct range at;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (c >= '0' && c <= '9') || (unsigned char)c >= 0x80 || c == HOLE;
}

static void skip_quoted(struct sql *q, char end, bool backslash)
{
	for (q->i++; q->i < q->s.n; q->i++) {
		if (backslash && q->s.p[q->i] == '\\') {
			q->i++;
		} else if (q->s.p[q->i] == end) {
			if (q->i + 1 < q->s.n && q->s.p[q->i + 1] == end) {
				q->i++;
				continue;
			}
			q->i++;
			return;
		}
	}
	if (q->i > q->s.n) /* a backslash was the last byte */
		q->i = q->s.n;
}

static bool skip_dollar(struct sql *q)
{
	size_t j = q->i + 1;
	const char *close;

	while (j < q->s.n && is_word(q->s.p[j]) && q->s.p[j] != HOLE)
		j++;
	if (j >= q->s.n || q->s.p[j] != '$')
		return false;
	close = memmem(q->s.p + j + 1, q->s.n - j - 1 < 65536 ? q->s.n - j - 1 : 65536, q->s.p + q->i,
		       j + 1 - q->i);
	q->i = close ? (size_t)(close - q->s.p) + (j + 1 - q->i) : q->s.n;
	return true;
}

static bool skip_comment(struct sql *q)
{
	char c = q->s.p[q->i], d = q->i + 1 < q->s.n ? q->s.p[q->i + 1] : 0;
	const char *end;

	if ((c == '-' && d == '-') || c == '#') {
		end = memchr(q->s.p + q->i, '\n', q->s.n - q->i);
		q->i = end ? (size_t)(end - q->s.p) : q->s.n;
		return true;
	}
	if (c != '/' || d != '*')
		return false;
	/* MySQL executes what stands in a comment that starts with ! */
	if (q->i + 2 < q->s.n && (q->s.p[q->i + 2] == '!' || q->s.p[q->i + 2] == 'M')) {
		q->i += 3;
		while (q->i < q->s.n && q->s.p[q->i] >= '0' && q->s.p[q->i] <= '9')
			q->i++;
		return true;
	}
	end = memmem(q->s.p + q->i + 2, q->s.n - q->i - 2, "*/", 2);
	q->i = end ? (size_t)(end - q->s.p) + 2 : q->s.n;
	return true;
}

static void add_token(struct sql *q, size_t from, const char *fixed)
{
	struct token *t;

	if (q->n == MAX_TOKENS) {
		q->overflow = true;
		return;
	}
	t = &q->t[q->n++];
	t->at = (uint32_t)from;
	t->end = (uint32_t)q->i;
	t->raw = (struct rein_str){q->s.p + from, q->i - from};
	if (fixed) {
		snprintf(t->word, sizeof(t->word), "%s", fixed);
		return;
	}
	for (size_t k = 0; k < sizeof(t->word) - 1 && from + k < q->i; k++) {
		char c = q->s.p[from + k];

		t->word[k] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
		t->word[k + 1] = '\0';
	}
}

/* Fill tokens up to ';' or the end. False: nothing left. */
static bool next_statement(struct sql *q)
{
	q->n = 0;
	q->overflow = false;
	while (q->i < q->s.n) {
		size_t from = q->i;
		char c = q->s.p[q->i];
		char one[2] = {c, '\0'};

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			q->i++;
		} else if (skip_comment(q)) {
			continue;
		} else if (c == '\'') {
			skip_quoted(q, '\'', !q->standard);
			add_token(q, from, "'");
		} else if (c == '"' || c == '`') {
			skip_quoted(q, c, false);
			add_token(q, from, "\"");
		} else if (c == '[' && q->n && !strcmp(q->t[q->n - 1].word, "FROM")) {
			skip_quoted(q, ']', false);
			add_token(q, from, "\"");
		} else if (c == '$' && skip_dollar(q)) {
			add_token(q, from, "'");
		} else if (is_word(c)) {
			while (q->i < q->s.n && is_word(q->s.p[q->i]))
				q->i++;
			add_token(q, from, NULL);
		} else if (c == ';') {
			q->i++;
			if (q->n)
				return true;
		} else if (c == '\\' && !q->n) {
			const char *end = memchr(q->s.p + q->i, '\n', q->s.n - q->i);

			q->i = end ? (size_t)(end - q->s.p) : q->s.n;
			add_token(q, from, "\\");
			return true;
		} else if (c == '.' && !q->n) {
			const char *end = memchr(q->s.p + q->i, '\n', q->s.n - q->i);

			q->i = end ? (size_t)(end - q->s.p) : q->s.n;
			add_token(q, from, ".");
			return true;
		} else {
			q->i++;
			add_token(q, from, one);
		}
	}
	return q->n > 0;
}

static bool is(const struct sql *q, size_t k, const char *word)
{
	return k < q->n && !strcmp(q->t[k].word, word);
}

static bool in(const struct sql *q, size_t k, const char *list)
{
	return k < q->n && str_in(rein_str(q->t[k].word), list);
}

static size_t find(const struct sql *q, size_t from, const char *list)
{
	for (size_t k = from; k < q->n; k++)
		if (in(q, k, list))
			return k;
	return q->n;
}

/* What a server does is done; a file of this machine's is held back and undone like any other. */
static enum rein_reach reach_of(const struct sql *q, enum rein_level level)
{
	return level == REIN_LEVEL_SAFE ? REIN_REACH_READONLY
	       : q->file		? REIN_REACH_CONTAINED
					: REIN_REACH_IRREVERSIBLE;
}

static void say(struct sql *q, enum rein_level level, size_t k, const char *why)
{
	struct range at = q->at;

	if (q->mapped && k < q->n)
		at = (struct range){q->t[k].at, q->t[k].end};
	if (q->readonly && level > REIN_LEVEL_SAFE)
		level = REIN_LEVEL_SAFE;
	fact(q->cx, REIN_FACT_SQL, level, reach_of(q, level), at,
	     k < q->n ? show(q->cx, q->t[k].raw) : NULL, why);
}

/* WHERE 1=1, WHERE true, WHERE a=a */
static bool tautology(const struct sql *q, size_t where)
{
	size_t k = where + 1;

	while (is(q, k, "("))
		k++;
	if (in(q, k, "TRUE 1") && (k + 1 >= q->n || in(q, k + 1, ") OR")))
		return true;
	if (is(q, k, "NOT") && in(q, k + 1, "FALSE 0"))
		return true;
	if (is(q, k + 1, "=") && k + 2 < q->n && rein_str_eq(q->t[k].raw, q->t[k + 2].raw))
		return true;
	for (size_t j = k; j + 3 < q->n; j++)
		if (is(q, j, "OR") && is(q, j + 2, "=") &&
		    rein_str_eq(q->t[j + 1].raw, q->t[j + 3].raw))
			return true;
	return false;
}

static void changes(struct sql *q, size_t verb)
{
	size_t where = find(q, verb, "WHERE");
	bool del = is(q, verb, "DELETE");

	if (where == q->n)
		say(q, REIN_LEVEL_DESTRUCTIVE, verb,
		    del ? "deletes every row: there is no WHERE" : "changes every row: there is no WHERE");
	else if (tautology(q, where))
		say(q, REIN_LEVEL_DESTRUCTIVE, where, "the WHERE is always true: every row");
	else
		say(q, REIN_LEVEL_RISKY, verb, del ? "deletes rows" : "changes rows");
}

static void reads(struct sql *q, size_t from)
{
	size_t k = find(q, from, "INTO");

	if (k < q->n && in(q, k + 1, "OUTFILE DUMPFILE"))
		say(q, REIN_LEVEL_DANGEROUS, k + 1, "writes a file on the database server");
	else if (k < q->n && !is(q, k + 1, "@"))
		say(q, REIN_LEVEL_RISKY, k, "writes what it selects");
	k = find(q, from,
		 "PG_READ_FILE PG_READ_BINARY_FIL PG_LS_DIR LO_IMPORT LO_EXPORT LOAD_FILE "
		 "DBLINK DBLINK_EXEC XP_CMDSHELL SYS_EXEC SYS_EVAL READFILE WRITEFILE "
		 "LOAD_EXTENSION EDIT FSDIR COPY_FROM QUERY_TO_XML EXECUTABLE");
	if (k < q->n)
		say(q, REIN_LEVEL_DANGEROUS, k, "a function that reaches outside the database");
	k = find(q, from, "PG_TERMINATE_BACKEN PG_CANCEL_BACKEND PG_RELOAD_CONF SETVAL NEXTVAL "
			  "PG_SWITCH_WAL PG_DROP_REPLICATIO SET_CONFIG LO_UNLINK LO_CREATE");
	if (k < q->n)
		say(q, REIN_LEVEL_RISKY, k, "a function with side effects");
}

static void backslash_command(struct sql *q)
{
	struct rein_str line = q->t[0].raw;
	struct field f = {.at = q->at};
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	size_t n = 1;

	while (n < line.n && line.p[n] != ' ' && !(n == 2 && line.p[1] == '!'))
		n++;
	f.s = str_from(line, n);
	while (f.s.n && f.s.p[0] == ' ')
		f.s = str_from(f.s, 1);
	if (str_starts(line, "\\!")) {
		f.s = str_from(line, 2);
		say(q, REIN_LEVEL_DANGEROUS, 0, "runs a shell command from the database client");
		run_text(q->cx, f.s, q->at, &io);
	} else if (str_in(str_to(line, n), "\\i \\ir \\include \\include_relative")) {
		effect_script(q->cx, &f, "sql");
	} else if (str_in(str_to(line, n), "\\o \\out \\w \\write \\s")) {
		if (f.s.n)
			effect_write(q->cx, &f, false);
	} else if (str_starts(line, "\\copy")) {
		say(q, str_has_ci(line, "program") ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY, 0,
		    "copies between a table and a file or program");
	} else if (!str_starts(line, "\\d") &&
		   !str_in(str_to(line, n),
			   "\\l \\l+ \\list \\c \\connect \\conninfo \\x \\t \\a \\timing \\pset "
			   "\\echo \\qecho \\warn \\? "
			   "\\h \\help \\q \\quit \\encoding \\errverbose \\set \\unset \\if "
			   "\\elif \\else \\endif \\sf "
			   "\\sf+ \\sv \\sv+ \\z \\r \\p \\f \\C \\H \\T \\lo_list \\gset \\gdesc "
			   "\\gx \\g \\crosstabview "
			   "\\watch \\s \\u \\G \\R \\W \\w \\n \\copyright \\bind \\parse")) {
		say(q, REIN_LEVEL_RISKY, 0, "a command of the database client that executes");
	}
}

static void dot_command(struct sql *q)
{
	struct rein_str line = q->t[0].raw;
	struct field f = {.at = q->at};
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct rein_str name;
	size_t n = 0;

	while (n < line.n && line.p[n] != ' ')
		n++;
	name = str_to(line, n);
	f.s = str_from(line, n + 1);
	if (str_in(name, ".shell .system .sh .sy .sys")) {
		say(q, REIN_LEVEL_DANGEROUS, 0, "runs a shell command from the database client");
		run_text(q->cx, f.s, q->at, &io);
	} else if (str_in(name, ".output .once .out .read") && f.s.n &&
		   (f.s.p[0] == '|' || str_starts(f.s, "'|"))) {
		say(q, REIN_LEVEL_DANGEROUS, 0, "runs a shell command from the database client");
		f.s = str_from(f.s, f.s.p[0] == '|' ? 1 : 2);
		run_text(q->cx, f.s, q->at, &io);
	} else if (str_in(name, ".output .once .out .save .backup .log .excel .dump") && f.s.n) {
		effect_write(q->cx, &f, false);
	} else if (str_in(name, ".read")) {
		effect_script(q->cx, &f, "sql");
	} else if (str_in(name, ".restore .import .load .clone .recover .open .archive")) {
		say(q, REIN_LEVEL_RISKY, 0, "changes the database");
	} else if (!str_in(name,
			   ".tables .schema .dump .mode .headers .header .help .quit .exit "
			   ".databases .indexes .indices .show .width .timer .stats .separator "
			   ".nullvalue .echo .fullschema .print .version .explain .output .once "
			   ".maxrows .changes .eqp .limit .lint .bail .columns .rows "
			   ".large_number_rendering")) {
		say(q, REIN_LEVEL_RISKY, 0, "a command of the database client that is not known");
	}
}

struct sql_rule {
	const char *words;
	enum rein_level level;
	const char *why;
};

static const struct sql_rule first_word[] = {
	{"SHOW DESCRIBE DESC USE BEGIN START COMMIT ROLLBACK END ABORT SAVEPOINT RELEASE VALUES TABLE "
	 "HELP LIST DECLARE FETCH CLOSE PRINT IF ELSE GO UNLISTEN LISTEN FROM SUMMARIZE PIVOT UNPIVOT",
	 REIN_LEVEL_SAFE, "reads"},
	{"DROP TRUNCATE UNDROP PURGE SHUTDOWN WIPE", REIN_LEVEL_DESTRUCTIVE,
	 "removes tables, databases or their contents"},
	{"INSERT MERGE REPLACE UPSERT IMPORT LOAD UNLOAD EXPORT PUT", REIN_LEVEL_RISKY, "writes rows"},
	{"CREATE COMMENT REINDEX VACUUM ANALYZE REFRESH CLUSTER OPTIMIZE REPAIR CHECKPOINT ATTACH "
	 "DETACH INSTALL RENAME LOCK UNLOCK NOTIFY DISCARD FLUSH CACHE UNCACHE MSCK SECURITY REASSIGN "
	 "KILL PREPARE DEALLOCATE HANDLER CALL EXEC EXECUTE DO BACKUP RESTORE FORCE",
	 REIN_LEVEL_RISKY, "changes the database"},
	{"GRANT REVOKE DENY", REIN_LEVEL_DANGEROUS, "changes who may do what in the database"},
};

static void with_body(struct sql *q, size_t from)
{
	bool any = false;

	for (size_t k = from; k < q->n; k++) {
		if (in(q, k, "DELETE UPDATE") && !is(q, k - 1, "FOR") && !is(q, k - 1, "ON")) {
			changes(q, k);
			any = true;
		} else if (in(q, k, "INSERT MERGE TRUNCATE DROP")) {
			say(q, in(q, k, "TRUNCATE DROP") ? REIN_LEVEL_DESTRUCTIVE : REIN_LEVEL_RISKY,
			    k, "a query whose parts write");
			any = true;
		}
	}
	if (!any)
		reads(q, from);
}

static void copy(struct sql *q, size_t k)
{
	size_t p = find(q, k, "PROGRAM");

	if (p < q->n)
		say(q, REIN_LEVEL_DANGEROUS, p, "makes the database server run a program");
	else if (find(q, k, "STDOUT") < q->n)
		say(q, REIN_LEVEL_SAFE, k, "reads");
	else
		say(q, REIN_LEVEL_RISKY, k, "copies between a table and a file");
}

static void statement(struct sql *q, size_t k)
{
	while (in(q, k, "("))
		k++;
	if (k >= q->n)
		return;
	if (is(q, k, "\\")) {
		backslash_command(q);
		return;
	}
	if (is(q, k, "SYSTEM") && q->t[k].raw.p >= q->s.p && q->t[k].raw.p + 6 <= q->s.p + q->s.n) { /* the client of MySQL */
		struct rein_str rest = str_from(q->s, (size_t)(q->t[k].raw.p - q->s.p) + 6);
		const char *nl = rest.n ? memchr(rest.p, '\n', rest.n) : NULL;
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		say(q, REIN_LEVEL_DANGEROUS, k, "runs a shell command from the database client");
		run_text(q->cx, nl ? str_to(rest, (size_t)(nl - rest.p)) : rest, q->at, &io);
		return;
	}
	if (is(q, k, ".")) {
		dot_command(q);
		return;
	}
	if (is(q, k, "EXPLAIN")) {
		size_t body = find(q, k + 1, "SELECT WITH DELETE UPDATE INSERT MERGE CREATE EXECUTE");
		size_t an = find(q, k + 1, "ANALYZE ANALYSE");

		if (an < body && body < q->n)
			statement(q, body);
		return;
	}
	if (is(q, k, "SELECT")) {
		reads(q, k);
		return;
	}
	if (is(q, k, "WITH")) {
		with_body(q, k);
		return;
	}
	if (in(q, k, "DELETE UPDATE")) {
		changes(q, k);
		return;
	}
	if (is(q, k, "COPY")) {
		copy(q, k);
		return;
	}
	if (is(q, k, "PRAGMA")) {
		if (find(q, k, "=") < q->n &&
		    find(q, k, "WRITABLE_SCHEMA JOURNAL_MODE USER_VERSION") < q->n)
			say(q, REIN_LEVEL_RISKY, k, "changes the database");
		return;
	}
	if (is(q, k, "SET")) {
		if (find(q, k, "GLOBAL PERSIST PASSWORD ROLE AUTHORIZATION") < q->n)
			say(q, REIN_LEVEL_RISKY, k, "changes settings or rights");
		return;
	}
	if (is(q, k, "RESET")) {
		say(q, find(q, k, "MASTER BINARY SLAVE") < q->n ? REIN_LEVEL_DESTRUCTIVE
								 : REIN_LEVEL_SAFE,
		    k, "resets");
		return;
	}
	if (in(q, k, "MATCH OPTIONAL")) { /* Cypher */
		size_t gone = find(q, k, "DELETE DROP REMOVE");

		if (gone < q->n)
			say(q, REIN_LEVEL_DESTRUCTIVE, gone, "deletes from a graph");
		else if (find(q, k, "CREATE SET MERGE") < q->n)
			say(q, REIN_LEVEL_RISKY, k, "changes a graph");
		return;
	}
	if (is(q, k, "ALTER")) {
		size_t drop = find(q, k, "DROP DELETE TRUNCATE CLEAR"); /* the latter: of ClickHouse and others */

		if (drop < q->n)
			say(q, REIN_LEVEL_DESTRUCTIVE, drop, "drops a part of a table");
		else if (find(q, k, "SUPERUSER PASSWORD OWNER") < q->n)
			say(q, REIN_LEVEL_DANGEROUS, k, "changes rights");
		else
			say(q, REIN_LEVEL_RISKY, k, "changes the database");
		return;
	}
	if (in(q, k, "EXEC EXECUTE CALL DO CREATE")) {
		if (find(q, k, "XP_CMDSHELL SP_OACREATE PLPYTHONU PLPERLU PLPYTHON3U PLSH") < q->n)
			say(q, REIN_LEVEL_DANGEROUS, k, "makes the database server run programs");
		for (size_t j = k + 1; j < q->n; j++)
			if (in(q, j, "DROP TRUNCATE") ||
			    (is(q, j, "DELETE") && is(q, j + 1, "FROM")))
				say(q, REIN_LEVEL_DESTRUCTIVE, j, "code that removes data");
		if (is(q, k, "DO") && k + 1 < q->n && str_has_ci(q->t[k + 1].raw, "drop "))
			say(q, REIN_LEVEL_DESTRUCTIVE, k, "code that removes data");
	}
	if (is(q, k, "CREATE") && in(q, k + 1, "USER ROLE") && find(q, k, "SUPERUSER") < q->n)
		say(q, REIN_LEVEL_DANGEROUS, k, "changes rights");
	for (size_t r = 0; r < ARRAY_SIZE(first_word); r++)
		if (in(q, k, first_word[r].words)) {
			say(q, first_word[r].level, k, first_word[r].why);
			return;
		}
	say(q, REIN_LEVEL_RISKY, k, "a statement that is not known to only read");
}

/* ------------------------------------------------------------ the grammar, where there is one */

enum dialect { DIALECT_ANY, DIALECT_POSTGRES, DIALECT_OTHER };

static enum dialect dialect_of(const char *name)
{
	static const struct {
		const char *names;
		enum dialect dialect;
	} rows[] = {
		{"postgres postgresql pg psql pgsql pgcli timescaledb", DIALECT_POSTGRES},
		{"mysql mariadb mycli sqlite sqlite3 duckdb mssql sqlcmd tsql oracle sqlplus clickhouse "
		 "clickhouse-client bigquery bq snowsql snowflake hive beeline spark-sql trino presto cqlsh",
		 DIALECT_OTHER},
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(rows); i++)
		if (str_in(rein_str(name), rows[i].names))
			return rows[i].dialect;
	return DIALECT_ANY;
}

/* A client's own commands (\\d, .tables) are no SQL. */
static bool has_client_command(struct rein_str s)
{
	bool fresh = true;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\'') {
			const char *end = memchr(s.p + i + 1, '\'', s.n - i - 1);

			i = end ? (size_t)(end - s.p) : s.n;
			fresh = false;
			continue;
		}
		if (s.p[i] == '\\' || (fresh && s.p[i] == '.'))
			return true;
		if (s.p[i] != ' ' && s.p[i] != '\t')
			fresh = s.p[i] == '\n' || s.p[i] == ';';
	}
	return false;
}

/* Which dialect it is nobody said: another may read the same bytes another way. */
static bool is_ambiguous(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], d = i + 1 < s.n ? s.p[i + 1] : ' ';

		if (c == '#' || c == '"' || c == '`' || c == '$' || (c == '/' && d == '*') ||
		    (c == '-' && d == '-'))
			return true;
	}
	return false;
}

/* True: the grammar understood all of it and has the last word. */
static bool by_grammar(struct sql *q, enum dialect dialect)
{
	struct rein_sql_report *r;
	size_t most = q->mapped ? SQL_ALONE : SQL_INSIDE;

	if (!cx_sql(q->cx) || dialect == DIALECT_OTHER || q->s.n > most - q->cx->sql_bytes ||
	    q->cx->sql_bytes > most || has_client_command(q->s))
		return false;
	q->cx->sql_bytes += q->s.n + SQL_CALL;
	r = arena_new(q->cx->a, struct rein_sql_report);
	if (!cx_sql(q->cx)(q->s, r))
		return false;
	for (size_t i = 0; i < r->n; i++) {
		const struct rein_sql_line *l = &r->v[i];
		enum rein_level level = q->readonly ? REIN_LEVEL_SAFE : l->level;

		fact(q->cx, REIN_FACT_SQL, level, reach_of(q, level),
		     q->mapped ? (struct range){l->start, l->end} : q->at, l->what, l->why);
	}
	return dialect == DIALECT_POSTGRES || !is_ambiguous(q->s);
}

static void by_tokens(struct sql *q)
{
	unsigned n = 0;

	while (next_statement(q)) {
		if (!cx_step(q->cx) || ++n > 4000) {
			cx_incomplete(q->cx, q->at, "more statements than are looked at");
			return;
		}
		statement(q, 0);
		if (q->overflow)
			say(q, REIN_LEVEL_RISKY, 0, "a statement too long to read in full");
	}
}

/* select … \g |cmd, \g file: where a client sends what it was told, after any statement */
static void client_outputs(struct sql *q)
{
	static const char *const ways[] = {"\\g ", "\\gx ", "\\o ", "\\w ",
					   "\\g|", "\\gx|", "\\o|"};
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (str_has(q->s, "\\gexec"))
		say(q, REIN_LEVEL_DANGEROUS, 0, "runs what a query returns as statements");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const char *at = q->s.n ? memmem(q->s.p, q->s.n, ways[i], strlen(ways[i])) : NULL;
		struct field f = {.at = q->at};
		const char *end;

		if (!at)
			continue;
		f.s = str_from(q->s, (size_t)(at - q->s.p) + strlen(ways[i]) -
					     (ways[i][strlen(ways[i]) - 1] == '|'));
		while (f.s.n && f.s.p[0] == ' ')
			f.s = str_from(f.s, 1);
		end = f.s.n ? memchr(f.s.p, '\n', f.s.n) : NULL;
		if (end)
			f.s.n = (size_t)(end - f.s.p);
		if (f.s.n > 1 && f.s.p[0] == '|') {
			fact(q->cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     q->at, show(q->cx, f.s), "sends what a database answers to a program");
			run_text(q->cx, str_from(f.s, 1), q->at, &io);
		} else if (f.s.n && (f.s.p[0] == '/' || f.s.p[0] == '~')) {
			effect_write(q->cx, &f, false);
		}
	}
}

/* from '/etc/shadow', file('/etc/shadow'): whatever function it is, the path counts */
static void secret_paths(struct sql *q)
{
	for (size_t i = 0; i + 2 < q->s.n; i++) {
		const char *end;
		struct field f = {.at = q->at};

		if (q->s.p[i] != '\'' || (q->s.p[i + 1] != '/' && q->s.p[i + 1] != '~'))
			continue;
		end = memchr(q->s.p + i + 1, '\'', q->s.n - i - 1);
		if (!end)
			return;
		f.s = (struct rein_str){q->s.p + i + 1, (size_t)(end - q->s.p) - i - 1};
		if (!cx_work(q->cx, 300 + f.s.n))
			return;
		if (path_spot(q->cx, f.s).secret)
			effect_read(q->cx, &f);
		i = (size_t)(end - q->s.p);
	}
}

/* Read-only is the database; what the client does besides is not. */
static bool leaves_database(struct rein_str s)
{
	static const char *const words[] = {"writefile", "load_extension", "edit(", "attach",
					    "install ",	 "export ",	   "copy "};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_has_ci(s, words[i]))
			return true;
	return s.n && (s.p[0] == '.' || s.p[0] == '\\');
}

bool sql_is_file(const char *client)
{
	return client && str_in(rein_str(client), "sqlite3 sqlite sqlcipher duckdb");
}

void sql_scan(struct ctx *cx, struct rein_str text, struct range at, const char *dialect, bool mapped,
	      bool readonly)
{
	struct sql *q = arena_new(cx->a, struct sql);

	q->cx = cx;
	q->s = text;
	q->at = at;
	q->mapped = mapped;
	q->readonly = readonly && !leaves_database(text);
	/* unless it is told to reach for another */
	q->file = !mapped && sql_is_file(dialect) && !str_has(text, "://") && !str_has_ci(text, "attach");
	cx->own_store &= !server_changes(text);
	if (!mapped) { /* clients only; SQL that comes by itself has none */
		client_outputs(q);
		secret_paths(q);
	}
	if (by_grammar(q, dialect_of(dialect)))
		return;
	by_tokens(q);
	/* whether a backslash escapes a quote differs between dialects and their settings: both readings count */
	if (memmem(text.p, text.n, "\\'", 2)) {
		q->standard = true;
		q->i = 0;
		by_tokens(q);
	}
}
