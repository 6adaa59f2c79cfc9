/* SPDX-License-Identifier: Apache-2.0 */
/* Services, containers, databases, build tools and a few programs with odd arguments. */
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED
#define RONLY REIN_REACH_READONLY
#define GONE  REIN_REACH_IRREVERSIBLE

static void say(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level,
		enum rein_reach reach, struct range at, struct rein_str what, const char *why)
{
	fact(cx, kind, level, reach, at, show(cx, what), why);
}

/* Reading a secret's value (not its name) out of a service. */
static bool argv_has(const struct call *c, const char *word)
{
	for (size_t i = 1; i < c->argc; i++)
		if (str_is(c->argv[i].s, word) ||
		    (str_starts(c->argv[i].s, word) && c->argv[i].s.p[strlen(word)] == '='))
			return true;
	return false;
}

static void secret_reads(struct ctx *cx, struct call *c)
{
	bool secret = false;

	for (size_t i = 0; i < c->ops.n && i < 5; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (str_has(s, "secret_access_key") || str_has(s, "session_token"))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads a credential");
		if (i == 0 && str_is(s, "read") && str_in(rein_str(c->top->name), "op vault"))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
		if (str_in(s, "get-parameter get-parameters get-parameters-by-path") &&
		    argv_has(c, "--with-decryption"))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
		if (i == 1 && str_is(s, "get") && str_is(c->ops.v[0].s, "item") &&
		    (argv_has(c, "--fields") || argv_has(c, "--reveal") || argv_has(c, "--otp")))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
		if (i < 3 && (str_has(s, "secret") || str_in(s, "ssm keyvault kv vault token tokens")))
			secret = true;
		if (str_in(s, "get-secret-value batch-get-secret-value get-session-token "
			      "get-login-password get-credentials-for-identity assume-role "
			      "print-access-token print-identity-token get-access-token "
			      "get-federation-token generate-data-key get-authorization-token "
			      "create-for-rbac create-access-key create-service-specific-credential") ||
		    (i && str_is(s, "create") && str_in(c->ops.v[i - 1].s, "keys token tokens credentials credential")))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "hands out credentials");
		else if (secret && str_in(s, "access read get reveal download export show "
					     "get-parameter get-parameters get-parameters-by-path") &&
			 i && (str_has(c->ops.v[i - 1].s, "secret") ||
			       str_in(c->ops.v[i - 1].s, "versions kv secret")) )
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
	}
}

static bool is_remote(struct rein_str s)
{
	const char *colon = s.n ? memchr(s.p, ':', s.n) : NULL;
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;

	return str_has(s, "://") || (colon && (!slash || colon < slash));
}

/* "storage cp gs://a ./b": which way the data goes decides. */
static bool copies(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i + 2 < c->ops.n && i < 3; i++) {
		struct field *from = &c->ops.v[i + 1], *to = &c->ops.v[i + 2];

		if (!str_in(c->ops.v[i].s, "cp copy download get copyto"))
			continue;
		if (!is_remote(from->s) || is_remote(to->s))
			continue;
		effect_write(cx, to, false);
		vfile_put(cx, to->s, data_unknown(TAINT_NET), false);
		return true;
	}
	return false;
}

/* mirror --remove, sync --delete: an option can be the verb that counts */
static void deleting_options(struct ctx *cx, struct call *c)
{
	for (size_t i = 0; i < c->ops.n && i < 4; i++)
		if (verb_class(cx, c->ops.v[i].s) == VERB_READ)
			return;
	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_is(s, "-d") && str_is(rein_str(c->top->name), "gsutil") && argv_has(c, "rsync"))
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, GONE, c->argv[i].at, s,
			    "an option that deletes at a service");
		if (str_starts(s, "--") && str_in(str_from(s, 2), "delete remove purge prune delete-all "
								  "remove-all delete-excluded"))
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, GONE, c->argv[i].at, s,
			    "an option that deletes at a service");
	}
}

struct data h_verbs(struct ctx *cx, struct call *c)
{
	size_t from = 0;

	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_METHOD)
			http_scan(cx, g->val.s, c->ops.n > 1 ? c->ops.v[1].s : STR("/"), STR(""),
				  !str_in(g->val.s, "GET HEAD get"), g->at);
		else if (g->opt->role == ROLE_SHELL) {
			cx->remote++;
			role_effect(cx, c, g->opt->role, &g->val);
			cx->remote--;
		} else if (g->opt->role != ROLE_NONE && g->opt->role != ROLE_DATA) {
			role_effect(cx, c, g->opt->role, &g->val);
		}
	}
	call_base(cx, c);
	for (size_t i = 1; i < c->argc; i++) { /* aws ssm send-command --parameters commands=…, salt '*' cmd.run … */
		bool salt = str_in(c->argv[i].s, "cmd.run cmd.shell cmd.run_all cmd.run_stdout") && i + 1 < c->argc;
		struct rein_str text = salt ? c->argv[i + 1].s : str_from(c->argv[i].s, 9);
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		if (!salt && !str_starts(c->argv[i].s, "commands="))
			continue;
		cx->remote++;
		run_text(cx, text, c->argv[i].at, &io);
		cx->remote--;
	}
	/* the verb of some services is always the second word */
	if (c->top->note && str_is(rein_str(c->top->note), "second") && c->ops.n > 1)
		from = 1;
	if (c->top->note && str_is(rein_str(c->top->note), "options")) {
		/* kafka-topics --delete: the options are the verbs */
		bool any = false;

		for (size_t i = 1; i < c->argc; i++) {
			struct rein_str s = c->argv[i].s;
			int cls;

			if (!str_starts(s, "--"))
				continue;
			cls = verb_class(cx, str_from(s, 2));
			if (cls != VERB_DELETE && cls != VERB_DANGER && s.n > 2 &&
			    memchr(s.p + 2, '-', s.n - 2))
				cls = 0; /* bootstrap-server is no verb */
			if (!cls)
				continue;
			any = true;
			if (cls != VERB_READ && cls != VERB_NOUN) {
				struct field f = c->argv[i];

				f.s = str_from(s, 2);
				verbs_effect(cx, c->top->name, &f, 1, true, false);
			}
		}
		if (!any && c->ops.n)
			verbs_effect(cx, c->top->name, c->ops.v, c->ops.n, true, false);
		else if (!any && !c->cmd->level)
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->argv[0].at,
			    rein_str(c->top->name), "what it does at a service is not known");
		return data_unknown(TAINT_NET | cx->seen);
	}
	secret_reads(cx, c);
	if (copies(cx, c))
		return data_unknown(TAINT_NET | cx->seen);
	if (c->ops.n > from && !(c->cmd != c->top && !c->cmd->handler && c->cmd->n_args))
		verbs_effect(cx, c->top->name, c->ops.v + from, c->ops.n - from, true,
			     c->acts & ACT_DRY);
	if (!c->ops.n && c->has_unknown && c->cmd == c->top)
		say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->unknown.at, c->unknown.s,
		    "what it does at a service is not known");
	deleting_options(cx, c);
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (!is_literal(s) && i < 3 && s.n == 1)
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->ops.v[i].at, s,
			    "what it does at a service is only known when it runs");
		if (s.n && (str_has(s, "/") || str_has(s, ".")) && path_spot(cx, s).secret)
			effect_read(cx, &c->ops.v[i]);
	}
	return data_unknown(TAINT_NET | cx->seen);
}

/* gh, glab: "api" takes a method, the rest are verbs */
struct data h_gh(struct ctx *cx, struct call *c)
{
	if (c->ops.n && str_is(c->ops.v[0].s, "api")) {
		const struct got *m = call_opt(c, "-X"); /* or --method */
		struct rein_str method = m ? m->val.s : STR("GET"), body = STR("");
		bool has_body = false;

		for (size_t i = 0; i < c->n_got; i++)
			if (c->got[i].opt->role == ROLE_BODY) {
				has_body = true;
				body = c->got[i].val.s;
			}
		if (has_body && !m)
			method = STR("POST");
		if (c->ops.n > 1 && str_is(c->ops.v[1].s, "graphql"))
			c->ops.v[1].s = STR("/graphql");
		http_scan(cx, method, c->ops.n > 1 ? c->ops.v[1].s : STR("/"), body,
			  has_body && !str_is(method, "GET"), c->ops.v[0].at);
		return data_unknown(TAINT_NET);
	}
	if (c->ops.n > 1 && str_is(c->ops.v[0].s, "auth") && str_is(c->ops.v[1].s, "token"))
		say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, c->ops.v[1].at,
		    STR("token"), "prints a credential");
	/* git fetches it; nothing changes at the service */
	if (c->ops.n > 1 && ((str_in(c->ops.v[0].s, "pr mr") && str_is(c->ops.v[1].s, "checkout")) ||
			     (str_is(c->ops.v[0].s, "repo") && str_is(c->ops.v[1].s, "clone")))) {
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->ops.v[1].at, NULL,
		     "fetches into the workspace");
		return data_unknown(TAINT_NET);
	}
	return h_verbs(cx, c);
}

/* ------------------------------------------------------------ databases */

struct data h_sql(struct ctx *cx, struct call *c)
{
	bool any = false;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
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
			say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at,
			    rein_str(c->top->name), "runs SQL that cannot be seen");
	} else if (!any && !(c->acts & ACT_RDONLY)) {
		say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at,
		    rein_str(c->top->name), "opens a session with a database");
	}
	return data_unknown(cx->seen | TAINT_FILE);
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
		say(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, at, w, "empties or stops the store");
	else if (word_in_ci(w, "del unlink ltrim xtrim spop restore migrate zremrangebyscore "
			       "zremrangebyrank hdel srem zrem lrem getdel xdel"))
		say(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, at, w, "deletes from the store");
	else if (word_in_ci(w, "config acl cluster script function module client latency slowlog xgroup "
			       "memory") &&
		 word_in_ci(arg, "get list info nodes slots whoami getuser cat kill help stats doctor "
				 "usage exists getname id"))
		return;
	else if (word_in_ci(w, "config module slaveof replicaof acl cluster script function eval evalsha "
			       "save bgsave bgrewriteaof"))
		say(cx, REIN_FACT_SQL, REIN_LEVEL_DANGEROUS, GONE, at, w,
		    "changes how the store works");
	else if (!word_in_ci(w, "get mget keys scan info ping ttl pttl type exists dbsize lrange llen "
				"hget hgetall hkeys hvals hlen smembers scard sismember zrange zscore "
				"zcard strlen getrange monitor time lastsave role echo randomkey object "
				"xrange xlen xinfo command select auth hello psubscribe subscribe "
				"lindex hexists hscan sscan zscan zrank zrevrange zcount bitcount "
				"geopos pfcount touch dump hmget xread srandmember"))
		say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, w, "changes the store");
}

struct data h_redis(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	if (c->acts & ACT_RDONLY)
		return data_unknown(TAINT_NET);
	if (c->ops.n)
		redis_command(cx, c->ops.v[0].s, c->ops.n > 1 ? c->ops.v[1].s : STR(""),
			      c->ops.v[0].at);
	if (c->ops.n > 1 && word_in_ci(c->ops.v[0].s, "eval") &&
	    (str_has_ci(c->ops.v[1].s, "flush") || str_has_ci(c->ops.v[1].s, "'del'") || str_has_ci(c->ops.v[1].s, "unlink")))
		say(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, c->ops.v[1].at, c->ops.v[1].s, "code that removes data");
	if (c->ops.n)
		return data_unknown(TAINT_NET);
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
		say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("redis"),
		    "runs commands that cannot be seen");
	} else {
		say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("redis"),
		    "opens a session with a store");
	}
	return data_unknown(TAINT_NET);
}

static void mongo_code(struct ctx *cx, struct rein_str s, struct range at)
{
	static const char *const gone[] = {"dropDatabase", ".drop(",	"deleteMany", "deleteOne",
					   ".remove(",	   "dropUser",	"dropIndex", "shutdownServer",
					   "dropIndexes",  "findOneAndDelete", "dropRole", "dropAllUsers"};
	static const char *const change[] = {"insert", "update", "replaceOne", "create", "grant",
					     "save(",  "rename", "bulkWrite",  "$out",	 "$merge",
					     "runCommand", "adminCommand", "load(", "eval"};

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		if (str_has_ci(s, gone[i])) {
			say(cx, REIN_FACT_SQL, REIN_LEVEL_DESTRUCTIVE, GONE, at, rein_str(gone[i]),
			    "deletes from the database");
			return;
		}
	for (size_t i = 0; i < ARRAY_SIZE(change); i++)
		if (str_has(s, change[i])) {
			say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, rein_str(change[i]),
			    "changes the database");
			return;
		}
	if (has_hole(s))
		say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, at, s, "code that is only partly known");
}

struct data h_mongo(struct ctx *cx, struct call *c)
{
	const struct got *e = call_opt(c, "--eval");

	call_base(cx, c);
	if (e)
		mongo_code(cx, e->val.s, e->val.at);
	for (size_t i = 0; i < c->ops.n; i++)
		if (str_ends(c->ops.v[i].s, ".js"))
			effect_script(cx, &c->ops.v[i], "node");
	if (!e && c->io->piped) {
		if (c->io->in.known)
			mongo_code(cx, c->io->in.text, c->argv[0].at);
		else
			say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("mongo"),
			    "runs code that cannot be seen");
	} else if (!e) {
		say(cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, GONE, c->argv[0].at, STR("mongo"),
		    "opens a session with a database");
	}
	return data_unknown(TAINT_NET);
}

/* ------------------------------------------------------------ containers */

static void docker_mount(struct ctx *cx, const struct got *g)
{
	struct field f = g->val;
	const char *src, *end;
	struct spot s;

	if (!f.s.p || !f.s.n)
		return;
	src = memmem(f.s.p, f.s.n, "src=", 4);
	if (!src)
		src = memmem(f.s.p, f.s.n, "source=", 7);
	if (src) {
		const char *eq = memchr(src, '=', 8);

		f.s = str_from(f.s, (size_t)(eq - f.s.p) + 1);
		end = f.s.n ? memchr(f.s.p, ',', f.s.n) : NULL;
	} else if (str_starts(f.s, "type=")) {
		return;
	} else {
		end = f.s.n ? memchr(f.s.p, ':', f.s.n) : NULL;
		if (!end)
			return;
	}
	if (end)
		f.s.n = (size_t)(end - f.s.p);
	if (!f.s.n || (f.s.p[0] != '/' && f.s.p[0] != '.' && f.s.p[0] != '~'))
		return;
	s = path_spot(cx, f.s);
	if (str_has(f.s, "docker.sock") || s.secret || s.place == PLACE_SYSTEM ||
	    s.place == PLACE_SYSTEM_ROOT || s.place == PLACE_HOME_ROOT || s.place == PLACE_PROC ||
	    s.place == PLACE_DEVICE)
		say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, LOCAL, g->at, f.s,
		    "gives a container the system's own files");
}

struct data h_docker(struct ctx *cx, struct call *c)
{
	struct rein_str sub = rein_str(c->cmd->name);
	const struct got *host = call_opt(c, "-H");

	call_base(cx, c);
	if (!host)
		host = call_opt(c, "--host");
	if (host && str_starts(host->val.s, "tcp://"))
		say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, host->at, host->val.s,
		    "commands the containers of another machine");
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		const char *n = g->opt->name;

		if (!strcmp(n, "-v") || !strcmp(n, "--volume") || !strcmp(n, "--mount"))
			docker_mount(cx, g);
		else if (str_in(rein_str(n), "--pid --net --network --ipc --uts --userns --cgroupns") &&
			 str_is(g->val.s, "host"))
			say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, LOCAL, g->at, g->val.s,
			    "a container that shares the host's namespaces");
		else if (g->opt->role != ROLE_NONE && g->opt->role != ROLE_DATA &&
			 g->opt->role != ROLE_ENV)
			role_effect(cx, c, g->opt->role, &g->val);
	}
	if (str_is(sub, "inspect"))
		for (size_t i = 0; i < c->n_got; i++)
			if (str_in(rein_str(c->got[i].opt->name), "-f --format") &&
			    (str_has(c->got[i].val.s, "Env") || str_has(c->got[i].val.s, "json .Config") ||
			     str_has(c->got[i].val.s, "json .}}")))
				say(cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, RONLY, c->got[i].at, c->got[i].val.s,
				    "shows the environment of a container");
	if (str_in(sub, "run exec create") && c->ops.n > 1) {
		struct field *v = c->ops.v + 1;
		size_t n = c->ops.n - 1;

		cx->remote++;
		exec_argv(cx, v, n, c->io);
		cx->remote--;
	} else if (str_is(sub, "cp")) {
		for (size_t i = 0; i < c->ops.n; i++)
			if (!memchr(c->ops.v[i].s.p, ':', c->ops.v[i].s.n)) {
				if (i)
					effect_write(cx, &c->ops.v[i], false);
				else
					effect_read(cx, &c->ops.v[i]);
			}
	}
	return data_unknown(TAINT_FILE);
}

/* What --patch and --overrides say, as far as a word tells. */
static void kubectl_texts(struct ctx *cx, const struct call *c)
{
	static const char *const rights[] = {"hostPID", "hostNetwork", "hostIPC", "hostPath", "\"privileged\":true", "\"privileged\": true"};

	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_has(s, "finalizers"))
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
			    "takes away what holds a deletion back");
		for (size_t k = 0; k < ARRAY_SIZE(rights); k++)
			if (str_has(s, rights[k]) && str_has(s, "{"))
				say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
				    "a pod with rights on its node");
	}
}

struct data h_kubectl(struct ctx *cx, struct call *c)
{
	struct rein_str sub = rein_str(c->cmd->name);
	const struct got *out = call_opt(c, "-o");

	if (!out)
		out = call_opt(c, "--output");
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role != ROLE_NONE && c->got[i].opt->role != ROLE_DATA)
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	kubectl_texts(cx, c);
	if (str_is(sub, "get") && c->ops.n && str_starts(c->ops.v[0].s, "secret") && out &&
	    !str_in(out->val.s, "name wide"))
		say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
		    c->ops.v[0].at, c->ops.v[0].s, "reads the values of secrets");
	if (str_in(sub, "exec debug run") && c->dashdash != (size_t)-1 && c->ops.n > c->dashdash) {
		cx->remote++;
		exec_argv(cx, c->ops.v + c->dashdash, c->ops.n - c->dashdash, c->io);
		cx->remote--;
	}
	if (str_is(sub, "debug") && c->ops.n && str_starts(c->ops.v[0].s, "node"))
		say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->ops.v[0].at,
		    c->ops.v[0].s, "opens a privileged shell on a node");
	return data_unknown(TAINT_NET);
}

/* ------------------------------------------------------------ build tools */

static const char risky_targets[] =
	"install uninstall deploy publish release push destroy teardown drop reset migrate seed nuke "
	"purge prod production distclean mrproper rollback down upload postinstall preinstall ship "
	"promote bootstrap provision apply wipe";

static const char gone_targets[] = "destroy drop reset wipe nuke purge fresh teardown flush";

static bool risky_name(struct rein_str s, const char *list)
{
	size_t i = 0;

	while (i < s.n) {
		size_t n = 0;

		while (i + n < s.n && !strchr("-_:./", s.p[i + n]))
			n++;
		if (n && str_in((struct rein_str){s.p + i, n}, list))
			return true;
		i += n + 1;
	}
	return false;
}

struct data h_make(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_CONFIG && str_in(g->val.s, "- /dev/stdin"))
			effect_code(cx, &(struct data){.taint = c->io->in.taint}, "make", g->at);
		else if (g->opt->role == ROLE_SHELL)
			role_effect(cx, c, ROLE_SHELL, &g->val);
		else if (g->opt->role == ROLE_CONFIG)
			effect_script(cx, &g->val, "make");
	}
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_SAFE, LOCAL, c->argv[0].at, NULL,
	     "builds what the workspace describes");
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (str_starts(s, "SHELL="))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at, s,
			    "makes another program run every line");
		if (memchr(s.p, '=', s.n))
			continue;
		if (risky_name(s, gone_targets))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at, s,
			    "a target whose name says that it destroys");
		else if (!is_literal(s) || risky_name(s, risky_targets))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->ops.v[i].at, s,
			    "a target that reaches beyond the workspace");
	}
	return data_unknown(0);
}

struct data h_npmrun(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_SAFE, LOCAL, c->argv[0].at, NULL,
	     "runs a script of the workspace");
	if (c->ops.n && risky_name(c->ops.v[0].s, gone_targets))
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[0].at, c->ops.v[0].s,
		    "a script whose name says that it destroys");
	else if (c->ops.n &&
		 (!is_literal(c->ops.v[0].s) || risky_name(c->ops.v[0].s, risky_targets)))
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->ops.v[0].at, c->ops.v[0].s,
		    "a script whose name says that it reaches further");
	return data_unknown(0);
}

/* ------------------------------------------------------------ others */

struct data h_java(struct ctx *cx, struct call *c)
{
	const struct got *jar = call_opt(c, "-jar");

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role == ROLE_PROG)
			role_effect(cx, c, ROLE_PROG, &c->got[i].val);
	if (jar && str_is(str_base(jar->val.s), "jenkins-cli.jar")) {
		verbs_effect(cx, "jenkins", c->ops.v, c->ops.n, true, false);
		return data_unknown(TAINT_NET);
	}
	if (jar)
		effect_script(cx, &jar->val, "java");
	else if (c->ops.n)
		effect_script(cx, &c->ops.v[0], "java");
	return data_unknown(0);
}

/* fzf --bind 'key:execute(cmd)+become(cmd)' */
static void fzf_bind(struct ctx *cx, const struct got *g)
{
	static const char *const run[] = {"execute", "become", "reload", "transform", "preview",
					  "execute-silent", "change-preview"};
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	for (size_t i = 0; i < ARRAY_SIZE(run); i++) {
		const char *at = g->val.s.n ? memmem(g->val.s.p, g->val.s.n, run[i], strlen(run[i]))
					    : NULL;
		struct rein_str rest;
		struct sbuf code = {.a = cx->a};
		size_t end;

		if (!at)
			continue;
		rest = str_from(g->val.s, (size_t)(at - g->val.s.p) + strlen(run[i]));
		if (!rest.n || !strchr("([{:", rest.p[0]))
			continue;
		rest = str_from(rest, 1);
		for (end = 0; end < rest.n && !strchr(")]", rest.p[end]); end++) {
			if (rest.p[end] == '{' && end + 1 < rest.n && rest.p[end + 1] == '}') {
				sbuf_char(&code, HOLE);
				end++;
			} else {
				sbuf_char(&code, rest.p[end]);
			}
		}
		run_text(cx, sbuf_view(&code), g->val.at, &io);
	}
}

struct data h_fzf(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		if (!strcmp(c->got[i].opt->name, "--bind"))
			fzf_bind(cx, &c->got[i]);
		else
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	}
	return data_unknown(c->io->in.taint);
}

/* ed and ex read their commands: those that begin with '!' are the shell's. */
static void editor_input(struct ctx *cx, const struct call *c)
{
	struct rein_str s = c->io->in.text;
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (!c->io->piped || !str_in(str_base(c->argv[0].s), "ed red ex"))
		return;
	if (!c->io->in.known)
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->argv[0].at, c->argv[0].s, "editor commands that cannot be seen");
	while (c->io->in.known && s.n && cx_step(cx)) {
		const char *nl = memchr(s.p, '\n', s.n);
		struct rein_str line = nl ? str_to(s, (size_t)(nl - s.p)) : s;

		s = str_from(s, line.n + 1);
		if (str_starts(line, "!") || str_starts(line, ":!"))
			run_text(cx, str_from(line, line.p[0] == '!' ? 1 : 2), c->argv[0].at, &io);
		else if (str_has(line, "!"))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->argv[0].at, line, "an editor command that runs programs");
	}
}

struct data h_vim(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	editor_input(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str s = c->got[i].val.s, bang = str_starts(s, ":") ? str_from(s, 1) : s;

		if (c->got[i].opt->role == ROLE_CODE && str_starts(bang, "!")) {
			struct io io = {.in = data_unknown(TAINT_INPUT)};

			run_text(cx, str_from(bang, 1), c->got[i].at, &io);
		}
		if (c->got[i].opt->role != ROLE_CODE) {
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
			continue;
		}
		if (str_has(s, "!") || str_has(s, "system(") || str_has(s, "term") ||
		    str_has(s, "py") || str_has(s, "lua"))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->got[i].at, s,
			    "an editor command that runs programs");
		else if (str_has(s, "delete-directory") || str_has(s, "delete-file") || str_has(s, "shell-command") ||
			 str_has(s, "call-process"))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->got[i].at, s,
			    "an editor command that runs programs or deletes");
		else if (!str_in(s, "q qa q! :q wq :wq x :x qall wqa :qa set\\ nu"))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->got[i].at, s,
			    "an editor command");
	}
	for (size_t i = 0; i < c->ops.n; i++) {
		if (c->ops.v[i].s.n > 1 && c->ops.v[i].s.p[0] == '+') {
			if (str_has(c->ops.v[i].s, "!"))
				say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at,
				    c->ops.v[i].s, "an editor command that runs programs");
			continue;
		}
		if (path_spot(cx, c->ops.v[i].s).secret)
			effect_read(cx, &c->ops.v[i]);
		else
			effect_write(cx, &c->ops.v[i], true);
	}
	return data_unknown(0);
}

struct data h_ansible(struct ctx *cx, struct call *c)
{
	const struct got *m = call_opt(c, "-m"), *a = call_opt(c, "-a");
	struct rein_str mod = m ? m->val.s : STR("command");

	call_base(cx, c);
	if (c->acts & ACT_DRY)
		return data_unknown(0);
	if (m && str_in(str_base(mod), "ping setup debug stat gather_facts find slurp getent "
				       "service_facts package_facts assert"))
		return data_unknown(TAINT_NET);
	say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->argv[0].at, mod,
	    "works on other machines");
	if (a && str_in(mod, "shell command raw script win_shell ansible.builtin.shell "
			     "ansible.builtin.command")) {
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		cx->remote++;
		run_text(cx, a->val.s, a->val.at, &io);
		cx->remote--;
	} else if (a && str_has(a->val.s, "state=absent")) {
		say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, GONE, a->val.at, a->val.s,
		    "removes something on other machines");
	}
	return data_unknown(TAINT_NET);
}
