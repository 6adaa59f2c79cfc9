/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of databases: SQL, Redis, MongoDB. */
#include "classify/handlers.h"

#define GONE REIN_REACH_IRREVERSIBLE

struct data h_sql(struct ctx *cx, struct call *c)
{
	struct rein_str base = c->ops.n ? c->ops.v[0].s : STR("");
	enum rein_reach reach = sql_is_file(c->top->name) ? REIN_REACH_CONTAINED : GONE;
	bool any = false;

	call_base(cx, c);
	if (reach != GONE && str_is(base, ":memory:"))
		c->acts |= ACT_RDONLY; /* gone with the client */
	if (reach != GONE && (str_starts(base, "md:") || str_has(base, "://")))
		h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->ops.v[0].at, base, "works on a database elsewhere");
	for (size_t i = 0; i < c->n_got; i++) {
		if (c->got[i].opt->role == ROLE_SCRIPT && str_in(c->got[i].val.s, "- /dev/stdin"))
			continue; /* what it reads is looked at below */
		any |= c->got[i].opt->role == ROLE_SQL || c->got[i].opt->role == ROLE_SCRIPT;
		role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	}
	/* sqlite3 FILE SQL… */
	for (size_t i = 0; c->cmd->n_args && c->cmd->args[0] == ROLE_SQL && i < c->ops.n; i++) {
		role_effect(cx, c, ROLE_SQL, &c->ops.v[i]);
		any = true;
	}
	if (c->cmd->n_args > 1 && c->cmd->args[1] == ROLE_SQL)
		for (size_t i = 0; i < c->ops.n; i++) {
			if (i == 0) {
				effect_read(cx, &c->ops.v[0]);
			} else {
				role_effect(cx, c, ROLE_SQL, &c->ops.v[i]);
				any = true;
			}
		}
	if (!any && c->io->piped) {
		if (c->io->in.known)
			sql_scan(cx, c->io->in.text, c->argv[0].at, c->top->name, false, c->acts & ACT_RDONLY);
		else if (!(c->acts & ACT_RDONLY))
			h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, reach, c->argv[0].at,
			       rein_str(c->top->name), "runs SQL that cannot be seen");
	} else if (!any && !(c->acts & ACT_RDONLY)) {
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, reach, c->argv[0].at,
		       rein_str(c->top->name), "opens a session with a database");
	}
	return data_unknown(cx->seen | TAINT_FILE | TAINT_STORE);
}

static bool word_in_ci(struct rein_str s, const char *list)
{
	char low[32];

	if (!s.n || s.n >= sizeof(low))
		return false;
	for (size_t i = 0; i < s.n; i++)
		low[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
	return str_in((struct rein_str){low, s.n}, list);
}

static void redis_command(struct ctx *cx, struct rein_str w, struct rein_str arg, struct range at)
{
	if (word_in_ci(w, "flushall flushdb shutdown swapdb debug failover"))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, at, w, "empties or stops the store");
	else if (word_in_ci(w, "del unlink ltrim xtrim spop restore migrate zremrangebyscore "
			       "zremrangebyrank hdel srem zrem lrem getdel xdel"))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, at, w, "deletes from the store");
	else if (word_in_ci(w, "client script function") && word_in_ci(arg, "kill"))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, w,
		       "stops what others do at the store");
	else if (word_in_ci(
			 w,
			 "config acl cluster script function module client latency slowlog xgroup "
			 "memory") &&
		 word_in_ci(arg, "get list info nodes slots whoami getuser cat help stats doctor "
				 "usage exists getname id"))
		return;
	else if (word_in_ci(w, "config module slaveof replicaof acl cluster script function eval evalsha "
			       "save bgsave bgrewriteaof"))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_DANGEROUS, GONE, at, w,
		       "changes how the store works");
	else if (!word_in_ci(w, "get mget keys scan info ping ttl pttl type exists dbsize lrange llen "
				"hget hgetall hkeys hvals hlen smembers scard sismember zrange zscore "
				"zcard strlen getrange monitor time lastsave role echo randomkey object "
				"xrange xlen xinfo command select auth hello psubscribe subscribe "
				"lindex hexists hscan sscan zscan zrank zrevrange zcount bitcount "
				"geopos pfcount touch dump hmget xread srandmember"))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, w, "changes the store");
}

struct data h_redis(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	if (c->acts & ACT_RDONLY)
		return data_unknown(TAINT_NET | TAINT_STORE);
	if (c->ops.n)
		redis_command(cx, c->ops.v[0].s, c->ops.n > 1 ? c->ops.v[1].s : STR(""),
			      c->ops.v[0].at);
	if (c->ops.n > 2 && word_in_ci(c->ops.v[0].s, "config") &&
	    word_in_ci(c->ops.v[1].s, "get") &&
	    (str_has_ci(c->ops.v[2].s, "pass") || str_has_ci(c->ops.v[2].s, "auth") ||
	     !is_literal(c->ops.v[2].s) || str_has(c->ops.v[2].s, "*")))
		h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, c->ops.v[2].at,
		       c->ops.v[2].s, "reads a password of the store");
	if (c->ops.n > 1 && word_in_ci(c->ops.v[0].s, "eval") &&
	    (str_has_ci(c->ops.v[1].s, "flush") || str_has_ci(c->ops.v[1].s, "'del'") || str_has_ci(c->ops.v[1].s, "unlink")))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, c->ops.v[1].at, c->ops.v[1].s, "code that removes data");
	if (c->ops.n)
		return data_unknown(TAINT_NET | TAINT_STORE);
	if (c->io->piped && c->io->in.known) {
		struct rein_str s = c->io->in.text;

		while (s.n) {
			const char *nl = memchr(s.p, '\n', s.n);
			struct rein_str line = nl ? str_to(s, (size_t)(nl - s.p)) : s, arg = STR("");
			const char *sp = line.n ? memchr(line.p, ' ', line.n) : NULL;

			s = str_from(s, line.n + 1);
			if (sp) {
				const char *end;

				arg = str_from(line, (size_t)(sp - line.p) + 1);
				end = arg.n ? memchr(arg.p, ' ', arg.n) : NULL;
				if (end)
					arg.n = (size_t)(end - arg.p);
				line.n = (size_t)(sp - line.p);
			}
			if (line.n)
				redis_command(cx, line, arg, c->argv[0].at);
		}
	} else if (c->io->piped) {
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("redis"),
		       "runs commands that cannot be seen");
	} else {
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("redis"),
		       "opens a session with a store");
	}
	return data_unknown(TAINT_NET | TAINT_STORE);
}

/* Every function that is called is one that asks. */
static bool mongo_reads(struct rein_str s)
{
	static const char known[] =
		"find findOne aggregate count countDocuments estimatedDocumentCount distinct stats "
		"dataSize storageSize totalSize "
		"totalIndexSize serverStatus hostInfo getCollectionNames getCollectionInfos "
		"getIndexes getMongo getDBNames getDBs "
		"getSiblingDB getDB getCollection getName getUsers getUser getRoles getRole "
		"listDatabases limit sort skip project "
		"projection pretty toArray forEach map filter reduce slice join keys values "
		"entries includes indexOf explain hasNext "
		"next itcount size printjson print log stringify parse ObjectId ISODate Date "
		"NumberInt NumberLong NumberDecimal UUID "
		"tojson isMaster hello version status conf config currentOp getLogComponents "
		"printReplicationInfo printShardingStatus "
		"printSecondaryReplicationInfo getReplicationInfo getShardDistribution ping hint "
		"batchSize maxTimeMS readPref "
		"collation allowDiskUse toString toISOString getTime length match test exit quit "
		"help serverBuildInfo "
		"getProfilingStatus latencyStats validate indexStats isCapped connectionStatus "
		"getParameter function if for while";

	for (size_t i = 0; i < s.n; i++) {
		size_t n = 0, end = i;

		if (s.p[i] != '(')
			continue;
		while (end && s.p[end - 1] == ' ')
			end--;
		if (end && s.p[end - 1] == ']') /* db["dr" + "op"]() */
			return false;
		while (n < end && (s.p[end - 1 - n] == '_' || ((s.p[end - 1 - n] | 32) >= 'a' &&
							       (s.p[end - 1 - n] | 32) <= 'z')))
			n++;
		if (n && !str_in((struct rein_str){s.p + end - n, n}, known))
			return false;
	}
	return true;
}

static void mongo_code(struct ctx *cx, struct rein_str s, struct range at)
{
	static const char *const gone[] = {"dropDatabase", ".drop(",	"deleteMany", "deleteOne",
					   ".remove(",	   "dropUser",	"dropIndex", "shutdownServer",
					   "dropIndexes",  "findOneAndDelete", "dropRole", "dropAllUsers"};
	static const char *const change[] = {"insert", "update", "replaceOne", "create", "grant",
					     "save(",  "rename", "bulkWrite",  "$out",	 "$merge",
					     "runCommand", "adminCommand", "load(", "eval"};

	cx->own_store &= !server_changes(s);
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		if (str_has_ci(s, gone[i])) {
			h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, at, rein_str(gone[i]),
			       "deletes from the database");
			return;
		}
	if (str_has(s, "createUser") || str_has(s, "grantRole") || str_has(s, "updateUser") || str_has(s, "createRole"))
		h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, at, s, "changes who may use the database");
	for (size_t i = 0; i < ARRAY_SIZE(change); i++)
		if (str_has(s, change[i])) {
			h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, rein_str(change[i]),
			       "changes the database");
			return;
		}
	if (has_hole(s))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, s, "code that is only partly known");
	else if (!mongo_reads(s))
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, s,
		       "code that is not known to only read");
}

struct data h_mongo(struct ctx *cx, struct call *c)
{
	const struct got *e = call_opt(c, "--eval");

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) { /* it takes several */
		if (!strcmp(c->got[i].opt->name, "--eval"))
			mongo_code(cx, c->got[i].val.s, c->got[i].val.at);
		else if (c->got[i].opt->role == ROLE_SCRIPT)
			effect_script(cx, &c->got[i].val, "node");
	}
	for (size_t i = 0; i < c->ops.n; i++)
		if (str_ends(c->ops.v[i].s, ".js"))
			effect_script(cx, &c->ops.v[i], "node");
	if (!e && c->io->piped) {
		if (c->io->in.known)
			mongo_code(cx, c->io->in.text, c->argv[0].at);
		else
			h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("mongo"),
			       "runs code that cannot be seen");
	} else if (!e) {
		h_fact(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("mongo"),
		       "opens a session with a database");
	}
	return data_unknown(TAINT_NET | TAINT_STORE);
}
