/* SPDX-License-Identifier: Apache-2.0 */
/* Services, containers, clusters. */
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

static bool has_segment(struct rein_str s, const char *list)
{
	while (s.n) {
		size_t n = 0;

		while (n < s.n && s.p[n] != '-' && s.p[n] != '_' && s.p[n] != ':')
			n++;
		if (n && str_in(str_to(s, n), list))
			return true;
		s = str_from(s, n + 1);
	}
	return false;
}

/* get-cluster-credentials, show-connection-string, secret-get-value: the value itself, not what is
 * known of it */
static bool reveals(struct rein_str s)
{
	static const char about[] =
		"policy policies used info status usage metadata rotation versions list names "
		"capabilities describe report lookup create delete update rotate rules "
		"requirements "
		"limit count type types attributes";

	if (s.n > 96 || (!str_has(s, "-") && !str_has(s, "_") && !str_has(s, ":")))
		return false; /* no verb is as long */
	return has_segment(s, "get print show download export retrieve reveal fetch read access "
			      "generate") &&
	       !has_segment(s, about) &&
	       (has_segment(
			s,
			"credential credentials secret secrets token password passwords keypair") ||
		str_has(s, "connection-string") || str_has(s, "private-key") ||
		str_has(s, "auth-code") || str_has(s, "instance-access") ||
		str_has(s, "key-pair") || str_has(s, "config-helper"));
}

/* "print token", "kubeconfig get": a word that reads beside one that names what must not be seen */
static bool reveals_pair(struct rein_str a, struct rein_str b)
{
	static const char read[] = "get read print download export reveal cat fetch lookup";

	if (str_in(a, "token credentials credential password kubeconfig keypair initial-password"))
		return str_in(b, read);
	if (str_in(a, "appsettings"))
		return str_in(b, "list show");
	return str_in(a, read) &&
	       str_in(b, "token credentials credential password kubeconfig keypair");
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
		if (str_in(s, "get-parameter get-parameters get-parameters-by-path "
			      "get-parameter-history") &&
		    argv_has(c, "--with-decryption"))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
		if (i == 1 && str_is(s, "get") && str_is(c->ops.v[0].s, "item") &&
		    (argv_has(c, "--fields") || argv_has(c, "--reveal") || argv_has(c, "--otp")))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
		if (i < 3 && (str_has(s, "secret") || str_in(s, "ssm keyvault kv vault token tokens")))
			secret = true;
		if (str_is(s, "get") && i &&
		    ((str_is(rein_str(c->top->name), "nomad") &&
		      str_is(c->ops.v[i - 1].s, "var")) ||
		     (str_is(rein_str(c->top->name), "op") &&
		      str_is(c->ops.v[i - 1].s, "document"))))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
		if ((reveals(s) && verb_class(cx, s) != VERB_CHANGE) ||
		    str_is(s, "config-helper") ||
		    (i && i < 4 && reveals_pair(c->ops.v[i - 1].s, s)))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "hands out credentials");
		if (str_in(s, "get-secret-value batch-get-secret-value get-session-token "
			      "get-login-password get-credentials-for-identity assume-role "
			      "print-access-token print-identity-token get-access-token "
			      "get-federation-token generate-data-key get-authorization-token "
			      "create-for-rbac create-access-key "
			      "create-service-specific-credential get-password-data "
			      "list-connection-strings list-publishing-credentials "
			      "list-publishing-profiles generate-sas "
			      "get-credential-report get-login export-secret-keys") ||
		    (str_is(rein_str(c->top->name), "az") && i &&
		     str_in(s, "list show list-keys") &&
		     str_in(c->ops.v[i - 1].s, "keys key credential credentials connection-string "
					       "admin-key query-key")) ||
		    (str_is(rein_str(c->top->name), "az") && i && str_is(s, "list-keys")) ||
		    (i && str_is(s, "create") &&
		     str_in(c->ops.v[i - 1].s, "keys token tokens credentials credential")))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "hands out credentials");
		else if (secret &&
			 str_in(s, "access read get reveal download export show "
				   "get-parameter get-parameters get-parameters-by-path") &&
			 i && !str_is(rein_str(c->top->name), "consul") &&
			 (str_has(c->ops.v[i - 1].s, "secret") ||
			  str_in(c->ops.v[i - 1].s, "versions kv secret")))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->ops.v[i].at, s, "reads the value of a secret");
	}
}

static bool is_remote(struct rein_str s)
{
	return str_has(s, "://") || names_host(s);
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

/* Words of a call that fetches which name places outside are where it puts what it fetched. */
static void fetched_files(struct ctx *cx, struct call *c, size_t from)
{
	bool fetches = false;

	for (size_t i = 0; i < c->ops.n && i < 5; i++)
		fetches |= has_segment(c->ops.v[i].s, "download pull export save dump backup");
	/* aws s3api get-object … FILE: no option before it whose value it could be */
	if (from && c->ops.n > 2 && c->argc > 4 && c->argv[c->argc - 1].s.n &&
	    c->argv[c->argc - 1].s.p[0] != '-' && c->argv[c->argc - 2].s.n &&
	    c->argv[c->argc - 2].s.p[0] != '-' &&
	    has_segment(c->ops.v[1].s, "get select invoke synthesize"))
		effect_write(cx, &c->argv[c->argc - 1], false);
	if (!fetches)
		return;
	for (size_t i = 1; i < c->argc; i++) {
		struct field f = c->argv[i];
		const char *eq = f.s.n && f.s.p[0] == '-' ? memchr(f.s.p, '=', f.s.n) : NULL;

		if (eq)
			f.s = str_from(f.s, (size_t)(eq - f.s.p) + 1);
		if (f.s.n > 1 && (f.s.p[0] == '/' || f.s.p[0] == '~') && !str_has(f.s, "://"))
			effect_write(cx, &f, false);
	}
}

/* --delete, and of what copies everything whose name begins so: --delete-removed, --delete-destination=true */
static bool option_deletes(struct rein_str name, bool copies)
{
	if (str_in(name, "delete remove purge prune delete-all remove-all delete-excluded"))
		return true;
	return copies && (str_starts(name, "delete-") || str_starts(name, "remove-") || str_starts(name, "purge-"));
}

/* mirror --remove, sync --delete: an option can be the verb that counts */
static void deleting_options(struct ctx *cx, struct call *c)
{
	bool copies = false;

	for (size_t i = 0; i < c->ops.n && i < 4; i++) {
		if (verb_class(cx, c->ops.v[i].s) == VERB_READ)
			return;
		copies |= str_in(c->ops.v[i].s, "sync rsync mirror copy cp upload");
	}
	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s, value = STR("");
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;

		if (!str_starts(s, "--"))
			continue;
		if (eq) {
			value = str_from(s, (size_t)(eq - s.p) + 1);
			s = str_to(s, (size_t)(eq - s.p));
		} else if (i + 1 < c->argc) {
			value = c->argv[i + 1].s;
		}
		if (option_deletes(str_from(s, 2), copies) && !str_in(value, "false no none 0"))
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, GONE, c->argv[i].at, s,
			    "an option that deletes at a service");
	}
}

/* Options whose names say that a text follows: --filter-http-method DELETE, --regex drop */
static bool takes_text(struct rein_str name)
{
	static const char words[] =
		"filter regex regexp pattern match grep query search contains word sort order selector label "
		"labels tag tags reason message description comment title body note author method";
	const char *dash = memrchr(name.p, '-', name.n);

	return str_starts(name, "filter") ||
	       str_in(dash ? str_from(name, (size_t)(dash - name.p) + 1) : name, words);
}

/*
 * The words among which the verb is to be looked for. One behind an option that is not listed may be its
 * value: it does not count where the option's name says so, or where a verb that reads stands already.
 */
static struct fields verb_words(struct ctx *cx, struct call *c, size_t from, bool sql)
{
	struct fields words = {0};
	bool reads = false;

	for (size_t i = from; i < c->ops.n; i++) {
		struct rein_str before = c->op_at[i] > 1 ? c->argv[c->op_at[i] - 1].s : STR("");
		bool value = before.n > 2 && str_starts(before, "--") && !memchr(before.p, '=', before.n);

		for (size_t k = 0; value && k < c->n_got; k++)
			value = c->got[k].word != c->op_at[i] - 1;
		if (value && (reads || takes_text(str_from(before, 2))))
			continue;
		if (sql && has_segment(c->ops.v[i].s, "execute query sql")) {
			words.n = 0;
			break;
		}
		reads |= str_in(c->ops.v[i].s, "list ls get show describe tail view");
		fields_push(cx, &words, c->ops.v[i]);
	}
	return words;
}

/* "help" where no name can stand: first, or of aws right behind the operation */
static bool asks_help(const struct call *c)
{
	struct rein_str before = c->argc > 2 ? c->argv[c->argc - 2].s : STR("");
	bool aws = str_in(rein_str(c->top->name), "aws awslocal");

	if (c->ops.n && str_is(c->ops.v[0].s, "help") && c->op_at[0] == 1 && (aws || !c->top->note))
		return true;
	return aws && before.n && before.p[0] != '-' && c->argc < 6 && !memchr(before.p, '/', before.n) && str_is(c->argv[c->argc - 1].s, "help");
}

/* --cli-input-json file:///etc/shadow is read and sent */
static void named_files(struct ctx *cx, const struct call *c)
{
	static const char *const ways[] = {"file://", "fileb://"};

	for (size_t i = 1; i < c->argc; i++)
		for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
			struct field f = c->argv[i];
			const char *at = f.s.n ? memmem(f.s.p, f.s.n, ways[k], strlen(ways[k])) : NULL;

			if (!at)
				continue;
			f.s = str_from(f.s, (size_t)(at - f.s.p) + strlen(ways[k]));
			if (f.s.n)
				effect_read(cx, &f);
		}
}

struct data h_verbs(struct ctx *cx, struct call *c)
{
	struct fields words;
	size_t from = 0;
	int verb = 0;
	bool sql = false; /* it tells more than "execute" */

	if (asks_help(c))
		return data_unknown(0);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_METHOD)
			http_scan(cx, g->val.s, c->ops.n > 1 ? c->ops.v[1].s : STR("/"), STR(""),
				  !str_in(g->val.s, "GET HEAD get"), g->at);
		else if (g->opt->role == ROLE_SQL && g->val.s.n) {
			sql = true;
			role_effect(cx, c, ROLE_SQL, &g->val);
		} else if (g->opt->role == ROLE_SHELL) {
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
	if (cmd_notes(c->top, "second") && c->ops.n > 1)
		from = 1;
	if (cmd_notes(c->top, "options")) {
		/* kafka-topics --delete: the options are the verbs */
		bool any = false;

		for (size_t i = 1; i < c->argc; i++) {
			struct rein_str s = c->argv[i].s;
			int cls;

			if (!str_starts(s, "--"))
				continue;
			cls = verb_class(cx, str_from(s, 2));
			if (str_is(s, "--reset-offsets") && !argv_has(c, "--execute"))
				cls = VERB_READ; /* only then it does */
			if (cls != VERB_DELETE && cls != VERB_DANGER && s.n > 2 &&
			    memchr(s.p + 2, '-', s.n - 2))
				cls = 0; /* bootstrap-server is no verb */
			if (!cls)
				continue;
			any = true;
			/* --alter … --add-config retention.ms=1 deletes what is older */
			for (size_t k = 1; str_is(s, "--alter") && k < c->argc; k++)
				if (str_has(c->argv[k].s, "retention."))
					say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->argv[k].at,
					    c->argv[k].s, "changes how long data is kept");
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
	fetched_files(cx, c, from);
	if (copies(cx, c))
		return data_unknown(TAINT_NET | cx->seen);
	words = verb_words(cx, c, from, sql);
	/* config get db_password, etcdctl get /app/token */
	for (size_t i = 0; i + 1 < words.n && i < 4; i++)
		if (str_in(words.v[i].s, "get output") &&
		    (i ? str_in(words.v[i - 1].s, "config configs variable variables var vars env kv setting settings "
						  "parameter param stack") :
			 str_is(rein_str(c->top->name), "etcdctl")))
			rummage_values(cx, words.v + i + 1, 1);
	if (words.n && !(c->cmd != c->top && !c->cmd->handler && c->cmd->n_args))
		verb = verbs_effect(cx, c->top->name, words.v, words.n, true, c->acts & ACT_DRY);
	if (verb != VERB_READ && verb != VERB_NOUN)
		protect_service(cx, c);
	if (from && (verb == VERB_CREATE || verb == VERB_CHANGE) &&
	    str_in(c->ops.v[0].s, "iam sso-admin identitystore organizations"))
		say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->ops.v[1].at,
		    c->ops.v[1].s, "changes who may do what at a service");
	for (size_t i = 0; i < c->ops.n && i < 3; i++)
		if (str_in(c->ops.v[i].s, "config configure settings"))
			protect_config(cx, c);
	if (!c->ops.n && c->has_unknown && c->cmd == c->top)
		say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->unknown.at, c->unknown.s,
		    "what it does at a service is not known");
	deleting_options(cx, c);
	if (c->rest < c->argc) /* doppler run -- make */
		exec_rest(cx, c, c->rest);
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (!is_literal(s) && i < 3 && s.n == 1)
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->ops.v[i].at, s,
			    "what it does at a service is only known when it runs");
		if (s.n && (str_has(s, "/") || str_has(s, ".")) && path_spot(cx, s).secret)
			effect_read(cx, &c->ops.v[i]);
	}
	named_files(cx, c);
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
	if (c->ops.n > 1 && str_is(c->ops.v[0].s, "auth") && str_is(c->ops.v[1].s, "status") &&
	    call_has(c, "-t"))
		say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, c->ops.v[1].at,
		    STR("-t"), "prints a credential");
	if (c->ops.n > 1 && str_in(c->ops.v[0].s, "pr mr") && str_is(c->ops.v[1].s, "ready"))
		say(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_COMPENSABLE, c->ops.v[1].at,
		    c->ops.v[1].s, "changes something at a service");
	/* git fetches it; nothing changes at the service */
	if (c->ops.n > 1 && ((str_in(c->ops.v[0].s, "pr mr") && str_is(c->ops.v[1].s, "checkout")) ||
			     (str_is(c->ops.v[0].s, "repo") && str_is(c->ops.v[1].s, "clone")))) {
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->ops.v[1].at, NULL,
		     "fetches into the workspace");
		return data_unknown(TAINT_NET);
	}
	return h_verbs(cx, c);
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

/* A command that is run elsewhere, looked at by itself. True: it only reads. */
static bool runs_there(struct ctx *cx, struct call *c, struct field *v, size_t n)
{
	const struct know_cmd *k = is_literal(v[0].s) ? know_find(cx, str_base(v[0].s)) : NULL;
	enum rein_level level = cx->level;
	enum rein_reach reach = cx->reach;
	struct data d;
	bool reads, code = false; /* without any, a shell or interpreter takes what is typed */

	for (size_t i = 1; i < n; i++)
		code |= v[i].s.n && v[i].s.p[0] != '-';
	cx->level = REIN_LEVEL_SAFE;
	cx->reach = REIN_REACH_READONLY;
	cx->remote++;
	d = exec_argv(cx, v, n, c->io);
	cx->remote--;
	reads = !(d.taint & TAINT_SECRET) && cx->level == REIN_LEVEL_SAFE && cx->reach <= REIN_REACH_READONLY &&
		(code || !k || (k->handler != HANDLE_shell && k->handler != HANDLE_interp));
	cx->level = level > cx->level ? level : cx->level;
	cx->reach = reach > cx->reach ? reach : cx->reach;
	return reads;
}

struct data h_docker(struct ctx *cx, struct call *c)
{
	struct rein_str sub = rein_str(c->cmd->name);
	const struct got *host = call_opt(c, "-H");

	if (str_in(sub, "run exec create") && c->ops.n > 1 && runs_there(cx, c, c->ops.v + 1, c->ops.n - 1) &&
	    str_is(sub, "exec"))
		c->acts |= ACT_RDONLY; /* docker exec web ls */
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
		else if (!strcmp(g->opt->key, "-f") && c->cmd->level && str_has(g->val.s, "://"))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, g->at, g->val.s,
			    "starts what comes from the network and nobody looked at");
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
	if (str_in(sub, "build bake"))
		for (size_t i = 0; i < c->ops.n; i++)
			if (str_has(c->ops.v[i].s, "://") || str_starts(c->ops.v[i].s, "git@"))
				say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->ops.v[i].at, c->ops.v[i].s,
				    "builds what comes from the network");
	if (str_is(sub, "cp")) {
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
	static const char *const given[] = {"hostPID: true", "hostNetwork: true", "hostIPC: true", "hostPath:", "privileged: true",
					    "cluster-admin"};
	static const char *const rights[] = {"hostPID", "hostNetwork", "hostIPC", "hostPath", "\"privileged\":true", "\"privileged\": true"};

	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_has(s, "finalizers"))
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
			    "takes away what holds a deletion back");
		if (str_has(s, "pod-security.kubernetes.io/") && str_has(s, "=privileged"))
			say(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
			    "lets pods have rights on their nodes");
		for (size_t k = 0; k < ARRAY_SIZE(rights); k++)
			if (str_has(s, rights[k]) && str_has(s, "{"))
				say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
				    "a pod with rights on its node");
	}
	/* kubectl apply -f - <<EOF */
	for (size_t k = 0; c->io->piped && k < ARRAY_SIZE(given); k++)
		if (str_has(c->io->in.text, given[k]))
			say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->argv[0].at, rein_str(given[k]),
			    "a pod with rights on its node, or rights for somebody");
}

/* apply -f https://…, curl … | apply -f -: what nobody looked at runs in a cluster */
static void kubectl_sources(struct ctx *cx, const struct call *c)
{
	if (c->cmd->level < REIN_LEVEL_RISKY)
		return;
	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str v = c->got[i].val.s;

		if (!str_in(rein_str(c->got[i].opt->key), "-f -k"))
			continue;
		if (str_starts(v, "http://") || str_starts(v, "https://") || str_starts(v, "git@") ||
		    str_starts(v, "github.com/") ||
		    (str_in(v, "- /dev/stdin") && c->io->piped && c->io->in.taint & TAINT_NET))
			say(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->got[i].at, v,
			    "gives a cluster what comes from the network and nobody looked at");
	}
}

struct data h_kubectl(struct ctx *cx, struct call *c)
{
	struct rein_str sub = rein_str(c->cmd->name);
	const struct got *out = call_opt(c, "-o");

	if (!out)
		out = call_opt(c, "--output");
	if (str_in(sub, "exec debug run") && c->dashdash != (size_t)-1 && c->ops.n > c->dashdash &&
	    runs_there(cx, c, c->ops.v + c->dashdash, c->ops.n - c->dashdash) && str_is(sub, "exec"))
		c->acts |= ACT_RDONLY; /* kubectl exec pod -- ls */
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role != ROLE_NONE && c->got[i].opt->role != ROLE_DATA)
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	kubectl_texts(cx, c);
	kubectl_sources(cx, c);
	for (size_t i = 1; i < c->argc && str_is(sub, "get"); i++)
		if (str_starts(c->argv[i].s, "--raw") &&
		    (str_has(c->argv[i].s, "secret") ||
		     (i + 1 < c->argc && str_has(c->argv[i + 1].s, "secret"))))
			say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			    c->argv[i].at, c->argv[i].s, "reads the values of secrets");
	/* get pods,secrets -o yaml */
	if (str_is(sub, "get") && c->ops.n &&
	    (str_starts(c->ops.v[0].s, "secret") || str_has(c->ops.v[0].s, ",secret")) &&
	    (out ? !str_in(out->val.s, "name wide") : argv_has(c, "--template")))
		say(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
		    c->ops.v[0].at, c->ops.v[0].s, "reads the values of secrets");
	if (str_is(sub, "debug") && c->ops.n && str_starts(c->ops.v[0].s, "node"))
		say(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->ops.v[0].at,
		    c->ops.v[0].s, "opens a privileged shell on a node");
	return data_unknown(TAINT_NET);
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
