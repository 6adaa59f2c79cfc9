/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the statements of a parsed text do. A statement that is in no table below is taken to change the
 * database: new versions of the grammar can only make this stricter.
 */
#include <stdlib.h>

#include "base/auto.h"
#include "sql/sql.h"
#include "sql/tree.h"

struct walk {
	struct rein_str text;
	struct rein_sql_report *ret;
	const struct tree_node *top; /* the statement */
	uint32_t start, end;	     /* of it */
	unsigned budget;	     /* for comparisons */
};

static bool is(struct rein_str s, const char *t)
{
	return rein_str_eq(s, rein_str(t));
}

/* Words separated by blanks. */
static bool in(struct rein_str s, const char *list)
{
	for (; *list; list += *list == ' ') {
		size_t n = strcspn(list, " ");

		if (n == s.n && !memcmp(list, s.p, n))
			return true;
		list += n;
	}
	return false;
}

static void say(struct walk *w, enum rein_level level, const char *what, const char *why, uint32_t start, uint32_t end)
{
	struct rein_sql_report *r = w->ret;
	struct rein_sql_line *to = r->n < REIN_SQL_LINES ? &r->v[r->n++] : NULL;

	for (size_t i = 0; !to && i < r->n; i++) /* no room: the worst survive */
		if (r->v[i].level < level)
			to = &r->v[i];
	if (to)
		*to = (struct rein_sql_line){level, what, why, start, end};
}

static void tell(struct walk *w, enum rein_level level, const char *what, const char *why)
{
	say(w, level, what, why, w->start, w->end);
}

static long number(const struct tree_node *n, long other)
{
	return n && n->kind == TREE_NUMBER ? strtol(n->text.p, NULL, 10) : other;
}

/* ------------------------------------------------------------ conditions that hold for every row */

enum truth { TRUTH_OPEN = 0, TRUTH_NO, TRUTH_YES };

static enum truth truth(struct walk *w, const struct tree_node *expr, unsigned depth);

/* {"A_Const": {"boolval": {"boolval": true}}}; false is an empty object */
static enum truth const_truth(const struct tree_node *c)
{
	const struct tree_node *b = tree_get(c, "boolval"), *i = tree_get(c, "ival");

	if (b)
		return tree_get(b, "boolval") ? TRUTH_YES : TRUTH_NO;
	if (i)
		return number(tree_get(i, "ival"), 0) ? TRUTH_YES : TRUTH_NO;
	return TRUTH_OPEN;
}

static bool const_int(const struct tree_node *side, long *ret)
{
	const struct tree_node *c = tree_get(side, "A_Const"), *i = tree_get(c, "ival");

	if (!i)
		return false;
	*ret = number(tree_get(i, "ival"), 0);
	return true;
}

/* The tree has < and > as \u003c and \u003e. */
static struct rein_str plain(struct rein_str op, char out[8])
{
	size_t n = 0;

	for (size_t i = 0; i < op.n && n < 8; i++) {
		bool escaped = op.n - i >= 6 && !memcmp(op.p + i, "\\u003", 5);

		out[n++] = !escaped ? op.p[i] : op.p[i + 5] == 'c' ? '<' : '>';
		i += escaped ? 5 : 0;
	}
	return (struct rein_str){out, n};
}

static enum truth compare(struct rein_str op, long a, long b)
{
	bool yes = is(op, "=") ? a == b : is(op, "<>") ? a != b : is(op, "<") ? a < b : is(op, ">") ? a > b
		 : is(op, "<=") ? a <= b : is(op, ">=") ? a >= b : false;

	return !in(op, "= <> < > <= >=") ? TRUTH_OPEN : yes ? TRUTH_YES : TRUTH_NO;
}

static struct rein_str operator_of(const struct tree_node *e)
{
	const struct tree_node *name = tree_get(e, "name");
	const struct tree_node *s = name && name->kids ? tree_get(tree_get(name->kids, "String"), "sval") : NULL;

	return s ? s->text : (struct rein_str){"", 0};
}

static enum truth expr_truth(struct walk *w, const struct tree_node *e)
{
	const struct tree_node *kind = tree_get(e, "kind"), *l = tree_get(e, "lexpr"), *r = tree_get(e, "rexpr");
	char text[8];
	struct rein_str op = plain(operator_of(e), text);
	long a, b;

	if (!kind || !l || !r)
		return TRUTH_OPEN;
	if (in(kind->text, "AEXPR_LIKE AEXPR_ILIKE")) {
		const struct tree_node *s = tree_get(tree_get(tree_get(r, "A_Const"), "sval"), "sval");

		return s && in(op, "~~ ~~*") && s->text.n && strspn(s->text.p, "%") >= s->text.n ? TRUTH_YES : TRUTH_OPEN;
	}
	if (!is(kind->text, "AEXPR_OP"))
		return TRUTH_OPEN;
	if (const_int(l, &a) && const_int(r, &b))
		return compare(op, a, b);
	if (!w->budget || !in(op, "= <= >="))
		return TRUTH_OPEN;
	w->budget--;
	return tree_same(l, r) ? TRUTH_YES : TRUTH_OPEN;
}

static enum truth bool_truth(struct walk *w, const struct tree_node *e, unsigned depth)
{
	const struct tree_node *op = tree_get(e, "boolop"), *args = tree_get(e, "args");
	bool all = true, none = true;

	if (!op || !args)
		return TRUTH_OPEN;
	for (const struct tree_node *a = args->kids; a; a = a->next) {
		enum truth t = truth(w, a, depth + 1);

		if (is(op->text, "NOT_EXPR"))
			return t == TRUTH_NO ? TRUTH_YES : t == TRUTH_YES ? TRUTH_NO : TRUTH_OPEN;
		if (is(op->text, "OR_EXPR") && t == TRUTH_YES)
			return TRUTH_YES;
		if (is(op->text, "AND_EXPR") && t == TRUTH_NO)
			return TRUTH_NO;
		all &= t == TRUTH_YES;
		none &= t == TRUTH_NO;
	}
	if (is(op->text, "AND_EXPR"))
		return all ? TRUTH_YES : TRUTH_OPEN;
	return none ? TRUTH_NO : TRUTH_OPEN;
}

/* Casts and IS TRUE add nothing to a constant. */
static enum truth truth(struct walk *w, const struct tree_node *expr, unsigned depth)
{
	const struct tree_node *n = expr ? expr->kids : NULL, *arg;

	if (!n || depth > 64)
		return TRUTH_OPEN;
	if (is(n->key, "A_Const"))
		return const_truth(n);
	if (is(n->key, "A_Expr"))
		return expr_truth(w, n);
	if (is(n->key, "BoolExpr"))
		return bool_truth(w, n, depth);
	if (is(n->key, "TypeCast")) {
		const struct tree_node *s;

		arg = tree_get(n, "arg");
		s = tree_get(tree_get(tree_get(arg, "A_Const"), "sval"), "sval");
		if (s)
			return in(s->text, "t true yes on y 1") ? TRUTH_YES : TRUTH_OPEN;
		return truth(w, arg, depth + 1);
	}
	if (is(n->key, "BooleanTest")) {
		const struct tree_node *test = tree_get(n, "booltesttype");
		enum truth t = truth(w, tree_get(n, "arg"), depth + 1);

		if (test && in(test->text, "IS_TRUE IS_NOT_FALSE"))
			return t;
	}
	return TRUTH_OPEN;
}

/* ------------------------------------------------------------ statements */

static void on_change(struct walk *w, const struct tree_node *n, const char *what)
{
	const struct tree_node *where = tree_get(n, "whereClause");
	bool del = what[0] == 'd';

	if (!where)
		tell(w, REIN_LEVEL_DESTRUCTIVE, what,
		     del ? "deletes every row: there is no WHERE" : "changes every row: there is no WHERE");
	else if (truth(w, where, 0) == TRUTH_YES)
		tell(w, REIN_LEVEL_DESTRUCTIVE, what, "the WHERE is always true: every row");
	else
		tell(w, REIN_LEVEL_RISKY, what, del ? "deletes rows" : "changes rows");
}

static void on_select(struct walk *w, const struct tree_node *n, const char *what)
{
	if (tree_get(n, "intoClause"))
		tell(w, REIN_LEVEL_RISKY, what, "writes what it selects");
}

static void on_copy(struct walk *w, const struct tree_node *n, const char *what)
{
	bool from = tree_get(n, "is_from"), file = tree_get(n, "filename");

	if (tree_get(n, "is_program"))
		tell(w, REIN_LEVEL_DANGEROUS, what, "makes the database server run a program");
	else if (file && !from)
		tell(w, REIN_LEVEL_DANGEROUS, what, "writes a file on the database server");
	else if (from)
		tell(w, REIN_LEVEL_RISKY, what, file ? "reads a file on the database server into a table" : "writes rows");
}

static void on_alter(struct walk *w, const struct tree_node *n, const char *what)
{
	static const struct {
		const char *types;
		enum rein_level level;
		const char *why;
	} rows[] = {
		{"AT_DropColumn AT_DropColumnRecurse AT_DetachPartition", REIN_LEVEL_DESTRUCTIVE, "drops a part of a table"},
		{"AT_DropConstraint AT_DropConstraintRecurse AT_DisableTrig AT_DisableTrigAll AT_DisableTrigUser "
		 "AT_DisableRule AT_DisableRowSecurity AT_NoForceRowSecurity AT_DropIdentity",
		 REIN_LEVEL_DANGEROUS, "takes a protection off a table"},
		{"AT_ChangeOwner", REIN_LEVEL_DANGEROUS, "changes who owns it"},
		{"AT_SetUnLogged", REIN_LEVEL_DANGEROUS, "a crash would empty the table"},
	};

	for (const struct tree_node *k = tree_next(n, n); k; k = tree_next(n, k))
		for (size_t i = 0; is(k->key, "subtype") && i < ARRAY_SIZE(rows); i++)
			if (in(k->text, rows[i].types)) {
				tell(w, rows[i].level, what, rows[i].why);
				return;
			}
	tell(w, REIN_LEVEL_RISKY, what, "changes the database");
}

static void on_role(struct walk *w, const struct tree_node *n, const char *what)
{
	for (const struct tree_node *k = tree_next(n, n); k; k = tree_next(n, k))
		if (is(k->key, "defname") &&
		    in(k->text, "superuser password createrole createdb bypassrls isreplication rolemembers adminmembers")) {
			tell(w, REIN_LEVEL_DANGEROUS, what, "changes who may do what in the database");
			return;
		}
	tell(w, REIN_LEVEL_RISKY, what, "changes the database's roles");
}

static void on_set(struct walk *w, const struct tree_node *n, const char *what)
{
	const struct tree_node *name = tree_get(n, "name");

	if (name && in(name->text, "role session_authorization"))
		tell(w, REIN_LEVEL_RISKY, what, "acts as somebody else");
	else if (name && in(name->text, "session_replication_role"))
		tell(w, REIN_LEVEL_DANGEROUS, what, "turns triggers and foreign keys off");
}

static bool has_word(struct rein_str s, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= s.n; i++)
		if (!strncasecmp(s.p + i, word, n))
			return true;
	return false;
}

/* The body of a function or of DO is a string. */
static void on_code(struct walk *w, const struct tree_node *n, const char *what)
{
	enum rein_level level = REIN_LEVEL_RISKY;
	const char *why = "puts code into the database";

	for (const struct tree_node *k = tree_next(n, n); k; k = tree_next(n, k)) {
		if (k->kind != TREE_TEXT)
			continue;
		if (in(k->text, "c plpython3u plpythonu plperlu plsh pltclu plr") || has_word(k->text, "to program") ||
		    has_word(k->text, "from program")) {
			if (level < REIN_LEVEL_DANGEROUS) {
				level = REIN_LEVEL_DANGEROUS;
				why = "code that can leave the database";
			}
		}
		if (has_word(k->text, "drop ") || has_word(k->text, "truncate ") || has_word(k->text, "delete from")) {
			level = REIN_LEVEL_DESTRUCTIVE;
			why = "code that removes data";
		}
	}
	tell(w, level, what, why);
}

static const struct rule {
	const char *nodes; /* of the grammar */
	const char *what;
	void (*look)(struct walk *w, const struct tree_node *n, const char *what);
	enum rein_level level; /* without a function */
	const char *why;
} rules[] = {
	{"SelectStmt", "select", on_select, 0, NULL},
	{"DeleteStmt", "delete", on_change, 0, NULL},
	{"UpdateStmt", "update", on_change, 0, NULL},
	{"CopyStmt", "copy", on_copy, 0, NULL},
	{"AlterTableStmt", "alter", on_alter, 0, NULL},
	{"CreateRoleStmt", "create", on_role, 0, NULL},
	{"AlterRoleStmt AlterRoleSetStmt", "alter", on_role, 0, NULL},
	{"VariableSetStmt", "set", on_set, 0, NULL},
	{"CreateFunctionStmt", "create", on_code, 0, NULL},
	{"DoStmt", "do", on_code, 0, NULL},
	{"InsertStmt", "insert", NULL, REIN_LEVEL_RISKY, "writes rows"},
	{"MergeStmt", "merge", NULL, REIN_LEVEL_RISKY, "writes rows"},
	{"DropStmt DropdbStmt DropTableSpaceStmt DropOwnedStmt DropSubscriptionStmt DropUserMappingStmt", "drop", NULL,
	 REIN_LEVEL_DESTRUCTIVE, "removes tables, databases or their contents"},
	{"DropRoleStmt", "drop", NULL, REIN_LEVEL_DESTRUCTIVE, "removes roles"},
	{"TruncateStmt", "truncate", NULL, REIN_LEVEL_DESTRUCTIVE, "empties tables"},
	{"GrantStmt GrantRoleStmt AlterDefaultPrivilegesStmt AlterPolicyStmt", "grant", NULL, REIN_LEVEL_DANGEROUS,
	 "changes who may do what in the database"},
	{"AlterOwnerStmt ReassignOwnedStmt", "alter", NULL, REIN_LEVEL_DANGEROUS, "changes who owns it"},
	{"LoadStmt", "load", NULL, REIN_LEVEL_DANGEROUS, "loads code into the database server"},
	{"AlterSystemStmt", "alter", NULL, REIN_LEVEL_DANGEROUS, "changes the server's configuration"},
	{"CreateSubscriptionStmt CreateForeignServerStmt ImportForeignSchemaStmt CreateUserMappingStmt", "create", NULL,
	 REIN_LEVEL_DANGEROUS, "connects the database with another"},
	{"VariableShowStmt TransactionStmt FetchStmt DeclareCursorStmt ClosePortalStmt ListenStmt UnlistenStmt "
	 "ConstraintsSetStmt DeallocateStmt ExplainStmt RawStmt",
	 "read", NULL, REIN_LEVEL_SAFE, "reads"},
};

static const struct rule *rule_of(struct rein_str key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (in(key, rules[i].nodes))
			return &rules[i];
	return NULL;
}

/* ------------------------------------------------------------ functions */

static const struct {
	const char *names;
	enum rein_level level;
	const char *why;
} functions[] = {
	{"pg_read_file pg_read_binary_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_stat_file lo_import lo_export lo_from_bytea "
	 "lo_put dblink dblink_exec dblink_connect dblink_send_query pg_file_write pg_file_rename pg_file_unlink "
	 "pg_logdir_ls query_to_xml xp_cmdshell sys_exec sys_eval load_file",
	 REIN_LEVEL_DANGEROUS, "a function that reaches outside the database"},
	{"pg_terminate_backend pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_promote pg_switch_wal "
	 "pg_create_restore_point pg_start_backup pg_stop_backup pg_backup_start pg_backup_stop set_config setval nextval "
	 "lo_create lo_creat lo_unlink lowrite pg_advisory_lock pg_notify pg_stat_reset pg_replication_slot_advance",
	 REIN_LEVEL_RISKY, "a function with side effects"},
	{"pg_drop_replication_slot pg_wal_replay_pause drop_chunks drop_hypertable delete_job truncate_local_data_after_distributing_table "
	 "master_remove_node",
	 REIN_LEVEL_DESTRUCTIVE, "a function that removes data"},
};

static void on_function(struct walk *w, const struct tree_node *call)
{
	const struct tree_node *list = tree_get(call, "funcname"), *last = list ? list->last : NULL;
	const struct tree_node *name = tree_get(tree_get(last, "String"), "sval");
	long at = number(tree_get(call, "location"), 0);

	for (size_t i = 0; name && i < ARRAY_SIZE(functions); i++)
		if (in(name->text, functions[i].names)) {
			size_t end = (size_t)at + name->text.n;

			if (at < 0 || end > w->text.n)
				tell(w, functions[i].level, "function", functions[i].why);
			else
				say(w, functions[i].level, "function", functions[i].why, (uint32_t)at, (uint32_t)end);
		}
}

/* ------------------------------------------------------------ the walk */

/* EXPLAIN executes only with ANALYZE, and not with ANALYZE false. */
static bool executes(const struct tree_node *explain)
{
	bool yes = false;

	for (const struct tree_node *k = tree_next(explain, explain); k; k = tree_next(explain, k)) {
		const struct tree_node *def = is(k->key, "DefElem") ? k : NULL, *name = tree_get(def, "defname");
		bool off = false;

		if (!name || !is(name->text, "analyze"))
			continue;
		for (const struct tree_node *v = tree_next(def, def); v; v = tree_next(def, v))
			off |= v->kind == TREE_TEXT && is(v->key, "sval") && in(v->text, "false off 0");
		yes = !off;
	}
	return yes;
}

static bool is_statement(const struct tree_node *n)
{
	return n->kind == TREE_OBJECT && n->key.n > 4 && !memcmp(n->key.p + n->key.n - 4, "Stmt", 4);
}

static void statement(struct walk *w, const struct tree_node *top)
{
	const struct tree_node *n = top;

	w->top = top;
	while ((n = tree_next(top, n))) {
		const struct rule *r;

		while (n && is(n->key, "ExplainStmt") && !executes(n))
			n = tree_skip(top, n);
		if (!n)
			return;
		if (is(n->key, "FuncCall"))
			on_function(w, n);
		if (!is_statement(n))
			continue;
		r = rule_of(n->key);
		if (!r)
			tell(w, REIN_LEVEL_RISKY, "change", "changes the database");
		else if (r->look)
			r->look(w, n, r->what);
		else if (r->level > REIN_LEVEL_SAFE)
			tell(w, r->level, r->what, r->why);
	}
}

static void place(struct walk *w, const struct tree_node *raw)
{
	long at = number(tree_get(raw, "stmt_location"), 0), n = number(tree_get(raw, "stmt_len"), 0);
	size_t size = w->text.n;

	w->start = at < 0 || (size_t)at > size ? 0 : (uint32_t)at;
	w->end = n <= 0 || w->start + (size_t)n > size ? (uint32_t)size : w->start + (uint32_t)n;
	while (w->start < w->end && strchr(" \t\r\n", w->text.p[w->start]))
		w->start++;
}

bool rein_sql_report_tree(struct rein_str text, const char *json, struct rein_sql_report *ret)
{
	__attribute__((cleanup(tree_done))) struct tree t = {0};
	struct walk w = {.text = text, .ret = ret, .budget = 64};
	const struct tree_node *list;

	ret->n = 0;
	if (!tree_read(json, &t))
		return false;
	list = tree_get(t.root, "stmts");
	for (const struct tree_node *raw = list ? list->kids : NULL; raw; raw = raw->next) {
		place(&w, raw);
		statement(&w, raw);
	}
	return true;
}
