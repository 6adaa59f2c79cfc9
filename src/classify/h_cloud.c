/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of services: the verb decides, verbs.c; beside it there are files that are fetched or sent,
 * code that runs elsewhere, options that delete.
 */
#include "classify/handlers.h"

#define GONE REIN_REACH_IRREVERSIBLE

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
		fetches |= str_segment(c->ops.v[i].s, "download pull export save dump backup");
	/* aws s3api get-object … FILE: no option before it whose value it could be */
	if (from && c->ops.n > 2 && c->argc > 4 && c->argv[c->argc - 1].s.n &&
	    c->argv[c->argc - 1].s.p[0] != '-' && c->argv[c->argc - 2].s.n &&
	    c->argv[c->argc - 2].s.p[0] != '-' &&
	    str_segment(c->ops.v[1].s, "get select invoke synthesize"))
		effect_write(cx, &c->argv[c->argc - 1], false);
	if (!fetches)
		return;
	for (size_t i = 0; i < c->ops.n && i < 5;
	     i++) /* gh run download: to here, where no place is named */
		if (str_is(c->ops.v[i].s, "download"))
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_SAFE, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, NULL, "downloads into the workspace");
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
			h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, GONE, c->argv[i].at, s,
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
		if (sql && str_segment(c->ops.v[i].s, "execute query sql")) {
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
	return aws && before.n && before.p[0] != '-' && c->argc < 6 && !memchr(before.p, '/', before.n) &&
	       str_is(c->argv[c->argc - 1].s, "help");
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

/* True: SQL was among them, which tells more than "execute". */
static bool option_roles(struct ctx *cx, struct call *c)
{
	bool sql = false;

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
	return sql;
}

/* aws ssm send-command --parameters commands=…, salt '*' cmd.run … */
static void remote_code(struct ctx *cx, const struct call *c)
{
	for (size_t i = 1; i < c->argc; i++) {
		bool salt = i + 1 < c->argc &&
			    str_in(c->argv[i].s, "cmd.run cmd.shell cmd.run_all cmd.run_stdout");
		struct rein_str text = salt ? c->argv[i + 1].s : str_from(c->argv[i].s, 9);
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		if (!salt && !str_starts(c->argv[i].s, "commands="))
			continue;
		cx->remote++;
		run_text(cx, text, c->argv[i].at, &io);
		cx->remote--;
	}
}

/* kafka-topics --delete: the options are the verbs */
static void option_verbs(struct ctx *cx, struct call *c)
{
	bool any = false;

	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;
		int cls;

		if (!str_starts(s, "--"))
			continue;
		cls = verb_class(cx, str_from(s, 2));
		if (str_is(s, "--reset-offsets") && !call_word(c, "--execute"))
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
				h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->argv[k].at,
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
		h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->argv[0].at,
		       rein_str(c->top->name), "what it does at a service is not known");
}

struct data h_verbs(struct ctx *cx, struct call *c)
{
	struct fields words;
	size_t from = 0;
	int verb = 0;
	bool sql;

	if (asks_help(c))
		return data_unknown(0);
	sql = option_roles(cx, c);
	call_base(cx, c);
	remote_code(cx, c);
	/* the verb of some services is always the second word */
	if (cmd_notes(c->top, "second") && c->ops.n > 1)
		from = 1;
	if (cmd_notes(c->top, "options")) {
		option_verbs(cx, c);
		return data_unknown(TAINT_NET | cx->seen);
	}
	reveal_service(cx, c);
	fetched_files(cx, c, from);
	if (copies(cx, c))
		return data_unknown(TAINT_NET | cx->seen);
	words = verb_words(cx, c, from, sql);
	/* config get db_password, etcdctl get /app/token */
	for (size_t i = 0; i + 1 < words.n && i < 4; i++)
		if (str_in(words.v[i].s, "get output") &&
		    (i ? str_in(words.v[i - 1].s, "config configs variable variables var vars env kv setting "
						  "settings parameter param stack") :
			 str_is(rein_str(c->top->name), "etcdctl")))
			rummage_values(cx, words.v + i + 1, 1);
	if (words.n && !(c->cmd != c->top && !c->cmd->handler && c->cmd->n_args))
		verb = verbs_effect(cx, c->top->name, words.v, words.n, true, c->acts & ACT_DRY);
	if (verb != VERB_READ && verb != VERB_NOUN)
		protect_service(cx, c);
	if (from && (verb == VERB_CREATE || verb == VERB_CHANGE) &&
	    str_in(c->ops.v[0].s, "iam sso-admin identitystore organizations"))
		h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->ops.v[1].at,
		       c->ops.v[1].s, "changes who may do what at a service");
	for (size_t i = 0; i < c->ops.n && i < 3; i++)
		if (str_in(c->ops.v[i].s, "config configure settings"))
			protect_config(cx, c);
	if (!c->ops.n && c->has_unknown && c->cmd == c->top)
		h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->unknown.at, c->unknown.s,
		       "what it does at a service is not known");
	deleting_options(cx, c);
	if (c->rest < c->argc) /* doppler run -- make */
		exec_rest(cx, c, c->rest);
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (!is_literal(s) && i < 3 && s.n == 1)
			h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->ops.v[i].at, s,
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
		h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, c->ops.v[1].at,
		       STR("token"), "prints a credential");
	if (c->ops.n > 1 && str_is(c->ops.v[0].s, "auth") && str_is(c->ops.v[1].s, "status") &&
	    call_has(c, "-t"))
		h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, c->ops.v[1].at,
		       STR("-t"), "prints a credential");
	if (c->ops.n > 1 && str_in(c->ops.v[0].s, "pr mr") && str_is(c->ops.v[1].s, "ready"))
		h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_COMPENSABLE, c->ops.v[1].at,
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
	h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, GONE, c->argv[0].at, mod,
	       "works on other machines");
	if (a && str_in(mod, "shell command raw script win_shell ansible.builtin.shell "
			     "ansible.builtin.command")) {
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		cx->remote++;
		run_text(cx, a->val.s, a->val.at, &io);
		cx->remote--;
	} else if (a && str_has(a->val.s, "state=absent")) {
		h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, GONE, a->val.at, a->val.s,
		       "removes something on other machines");
	}
	return data_unknown(TAINT_NET);
}
