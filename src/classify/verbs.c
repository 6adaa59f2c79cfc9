/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of services are all alike: noun noun verb name. The verb decides, wherever it
 * stands: delete-stack, record-sets delete, doDelete.
 */
#include "classify/internal.h"

static int verb_in(const struct know *k, const char *word)
{
	size_t lo = 0, hi = k->n_verbs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strcmp(word, k->verbs[mid].word);

		if (!c)
			return k->verbs[mid].cls;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return 0;
}

static int verb_exact(struct ctx *cx, const char *p, size_t n)
{
	const struct know *extra = cx_extra(cx);
	char word[40];
	int cls = 0;

	if (!n || n >= sizeof(word))
		return 0;
	for (size_t i = 0; i < n; i++)
		word[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);
	word[n] = '\0';
	if (extra)
		cls = verb_in(extra, word);
	return cls ? cls : verb_in(&know_builtin, word);
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* "snapshot" and "snapshots": the table has the plural */
static bool names_things(struct ctx *cx, struct rein_str w)
{
	char plural[40];

	if (w.n < 4 || w.n + 1 >= sizeof(plural))
		return false;
	memcpy(plural, w.p, w.n);
	plural[w.n] = 's';
	return verb_exact(cx, w.p, w.n) == VERB_NOUN || verb_exact(cx, plural, w.n + 1) == VERB_NOUN;
}

/*
 * dominfo, listsnapshots, clearsnapshot: words that were written together. What goes away must be
 * something by name, for there are droplets; what is got must not be a secret, and listen does not list.
 */
static int joined(struct ctx *cx, struct rein_str w)
{
	static const char *const ends[] = {"info", "list", "stats", "status"};
	static const char *const gone[] = {"delete", "remove", "clear", "drop", "purge", "destroy", "wipe",
					   "truncate", "flush", "erase"};
	static const char *const read[] = {"list", "get", "describe", "show", "view"};

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		if (str_starts(w, gone[i]) && names_things(cx, str_from(w, strlen(gone[i]))))
			return VERB_DELETE;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (str_ends(w, ends[i]) && w.n > strlen(ends[i]) + 1)
			return VERB_READ;
	if (str_starts(w, "listen") || str_has(w, "secret") || str_has(w, "passw") || str_has(w, "token") ||
	    str_has(w, "cred") || str_has(w, "key"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(read); i++)
		if (str_starts(w, read[i]) && w.n > strlen(read[i]) + 3)
			return VERB_READ;
	return 0;
}

int verb_class(struct ctx *cx, struct rein_str w)
{
	int first = 0, best, k = 0;
	const char *colon;
	size_t i = 0;

	if (!w.p || !w.n || w.n > 60 || !is_literal(w))
		return 0;
	for (size_t j = 0; j < w.n; j++)
		if (!((w.p[j] >= 'a' && w.p[j] <= 'z') || is_upper(w.p[j]) || w.p[j] == '-' ||
		      w.p[j] == '_' || w.p[j] == ':' || (w.p[j] >= '0' && w.p[j] <= '9')))
			return 0;
	best = verb_exact(cx, w.p, w.n);
	if (best)
		return best;
	colon = memrchr(w.p, ':', w.n);
	if (colon) { /* ps:restart: the verb is the last one */
		struct rein_str last = str_from(w, (size_t)(colon - w.p) + 1);

		best = verb_exact(cx, last.p, last.n);
		if (best && best != VERB_READ && best != VERB_NOUN)
			return best;
	}
	while (i < w.n) {
		size_t n = 0;
		int cls;

		while (i + n < w.n && w.p[i + n] != '-' && w.p[i + n] != '_' && w.p[i + n] != ':' &&
		       !(n && is_upper(w.p[i + n]) && !is_upper(w.p[i + n - 1])))
			n++;
		cls = verb_exact(cx, w.p + i, n);
		/* projects:list, config:set; but unmonitor-instances only names its instances after
		 * a word nobody knows */
		if (k == 0 || first == VERB_NOUN || (!first && cls != VERB_NOUN))
			first = cls ? cls : first;
		if ((cls == VERB_DELETE || cls == VERB_DANGER) && first != VERB_READ)
			return cls;
		k++;
		i += n;
		if (i < w.n && (w.p[i] == '-' || w.p[i] == '_' || w.p[i] == ':'))
			i++;
		else if (!n)
			break;
	}
	return k > 1 ? first : joined(cx, w);
}

struct verb_level {
	enum rein_level level;
	enum rein_reach reach;
	const char *why;
};

static const struct verb_level verb_levels[] = {
	[VERB_CREATE] = {REIN_LEVEL_RISKY, REIN_REACH_COMPENSABLE, "creates something at a service"},
	[VERB_CHANGE] = {REIN_LEVEL_RISKY, REIN_REACH_COMPENSABLE, "changes something at a service"},
	[VERB_DELETE] = {REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
			 "deletes something at a service"},
	[VERB_EXEC] = {REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, "runs something at a service"},
	[VERB_DANGER] = {REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			 "hands out access, or takes protection or data away"},
};

static void verb_fact(struct ctx *cx, int cls, const struct field *f)
{
	const struct verb_level *l = &verb_levels[cls];

	fact(cx, REIN_FACT_REMOTE, l->level, l->reach, f->at, show(cx, f->s), l->why);
}

/* "db reset" empties it; "password reset" does not. What vault disables, it forgets. */
static bool empties(const char *program, const struct field *ops, size_t i)
{
	if (str_is(ops[i].s, "disable"))
		return i && str_is(rein_str(program), "vault") && str_in(ops[i - 1].s, "secrets auth");
	return str_in(rein_str(program), "rabbitmqctl kubeadm") ||
	       (i && str_in(ops[i - 1].s, "db database databases pg postgres store storage data cluster volume index queue"));
}

/*
 * "url-maps delete", "search service create": words that read where they are the verb also name
 * groups of things, and then the verb comes after them.
 */
static bool names_group(struct rein_str w)
{
	static const struct rein_str words[] = {
		WORD("log"),	    WORD("logs"),    WORD("search"),  WORD("test"),
		WORD("url"),	    WORD("health"),  WORD("report"),  WORD("events"),
		WORD("audit"),	    WORD("history"), WORD("process"), WORD("query"),
		WORD("diagnostic"), WORD("checks"),  WORD("scan"),    WORD("docs"),
		WORD("plan"),	    WORD("top"),     WORD("select"),  WORD("filter"),
		WORD("lookup"),	    WORD("status"),  WORD("version"), WORD("info"),
		WORD("preview"),    WORD("metric"),  WORD("monitor"), WORD("data"),
	};
	size_t n = 0;

	while (n < w.n && w.p[n] != '-' && w.p[n] != '_')
		n++;
	return str_among(str_to(w, n), words, ARRAY_SIZE(words));
}

/* Who may do what: creating one of these hands out access. */
static bool about_rights(const struct field *ops, size_t n)
{
	for (size_t i = 0; i < n && i < 4; i++)
		if (str_ends(ops[i].s, "_permissions") || str_ends(ops[i].s, "-permissions") ||
		    str_in(ops[i].s,
			   "iam role roles rolebinding role-binding role-bindings rolebindings "
			   "clusterrolebinding policy-binding acl acls permission permissions "
			   "collaborator collaborators ssh-key ssh-keys deploy-key deploy-keys "
			   "service-account service-accounts "
			   "access-token access-tokens api-keys api-key firewall-rules "
			   "firewall-rule policy policies"))
			return true;
	return false;
}

/* backups restore, lifecycle set: what is there now is gone then */
static bool loses_data(const struct field *verb, const struct field *ops, size_t n)
{
	if (str_is(verb->s, "restore"))
		return true;
	for (size_t i = 0; i < n && i < 4; i++)
		if (str_in(ops[i].s, "lifecycle retention"))
			return true;
	return false;
}

/* One word, not a name made of several: "delete", not "delete-me". */
static bool plain_verb(struct ctx *cx, struct rein_str w)
{
	return verb_exact(cx, w.p, w.n) != 0 && !memchr(w.p, '-', w.n) && !memchr(w.p, '_', w.n);
}

/*
 * "run services list": verbs that name a group of things too. After one that never does, a word that
 * reads is only a name: "stream add EVENTS".
 */
static bool only_verb(struct rein_str w)
{
	static const struct rein_str words[] = {
		WORD("create"),	   WORD("add"),	      WORD("new"),     WORD("set"),	 WORD("put"),
		WORD("update"),	   WORD("edit"),      WORD("modify"),  WORD("patch"),	 WORD("change"),
		WORD("rename"),	   WORD("move"),      WORD("mv"),      WORD("cp"),	 WORD("mb"),
		WORD("make"),	   WORD("mkdir"),     WORD("insert"),  WORD("enqueue"),	 WORD("produce"),
		WORD("send"),	   WORD("post"),      WORD("invite"),  WORD("subscribe"), WORD("start"),
		WORD("stop"),	   WORD("restart"),   WORD("reboot"),  WORD("resume"),	 WORD("pause"),
		WORD("suspend"),   WORD("scale"),     WORD("resize"),  WORD("enable"),	 WORD("upload"),
		WORD("publish"),   WORD("submit"),    WORD("register"), WORD("apply"),	 WORD("approve"),
		WORD("reject"),	   WORD("close"),     WORD("reopen"),  WORD("unlock"),	 WORD("upgrade"),
		WORD("downgrade"), WORD("unset"),     WORD("assign"),  WORD("write"),	 WORD("promote"),
		WORD("kill"),	   WORD("abort"),     WORD("invoke"),  WORD("execute"),	 WORD("exec"),
		WORD("cancel"),	   WORD("allocate"),  WORD("launch"),  WORD("provision"), WORD("replace"),
	};

	return str_among(w, words, ARRAY_SIZE(words));
}

/* What looks on elsewhere deploys, or runs programs, with these. */
static bool watch_runs(const char *program)
{
	return str_in(rein_str(program), "pulumi consul cdk sst amplify convex modal");
}

/*
 * "vm.destroy", "pkg.remove": some put the noun before a dot. A colon stands in a verb only where the
 * command line begins; behind it there are names: "crane manifest repo:tag".
 */
static int word_class(struct ctx *cx, const char *program, struct rein_str w, bool first)
{
	const char *dot = w.n ? memrchr(w.p, '.', w.n) : NULL;

	if (dot && str_in(rein_str(program), "govc salt salt-call salt-run")) {
		int cls = verb_class(cx, w);

		return cls ? cls : verb_class(cx, str_from(w, (size_t)(dot - w.p) + 1));
	}
	if (!first && w.n && memchr(w.p, ':', w.n))
		return 0;
	return verb_class(cx, w);
}

int verbs_effect(struct ctx *cx, const char *program, const struct field *ops, size_t n, bool known,
		 bool dry)
{
	const struct field *pending = NULL;
	int pending_cls = 0;
	unsigned words = 0;
	bool done = false;
	bool group = false, gap = false;
	bool groups = str_in(rein_str(program), "az gcloud oci ibmcloud aliyun openstack yc azd");

	if (dry)
		return VERB_READ;
	for (size_t i = 0; i < n && words < 6; i++) {
		int cls;

		if (!ops[i].s.n || ops[i].s.p[0] == '-')
			continue;
		words++;
		cls = word_class(cx, program, ops[i].s, words == 1);
		/* "job status remove-old": after what is hardly ever a group, a word made of several is a name */
		if (i && cls && memchr(ops[i].s.p, '-', ops[i].s.n) &&
		    str_in(ops[i - 1].s, "status history info top lookup preview"))
			continue;
		if ((cls == VERB_DANGER && str_in(ops[i].s, "reset disable") && empties(program, ops, i)) ||
		    (!cls && str_is(ops[i].s, "clean") && i && empties(program, ops, i)))
			cls = VERB_DELETE;
		if (cls == VERB_READ && str_is(ops[i].s, "watch") && watch_runs(program))
			cls = VERB_EXEC;
		/* after what reads there are names in most programs, and more verbs in some */
		if (done && (!plain_verb(cx, ops[i].s) || cls == VERB_READ || cls == VERB_NOUN))
			continue;
		if (cls == VERB_DELETE) {
			verb_fact(cx, VERB_DELETE, &ops[i]);
			return VERB_DELETE;
		}
		if (cls == VERB_NOUN)
			continue;
		if (group && !groups && cls != VERB_DANGER &&
		    !(cls && cls != VERB_READ && plain_verb(cx, ops[i].s)))
			continue;
		gap |= !cls && !names_things(cx, ops[i].s);
		if (cls == VERB_READ && known && i + 1 < n && names_group(ops[i].s)) {
			group = true;
			if (pending && words <= 3 && pending_cls != VERB_DANGER && !groups &&
			    !only_verb(pending->s))
				pending = NULL;
			continue;
		}
		if (cls == VERB_READ) {
			group = true;
			/* "run services list": the first word only names a group */
			if (pending && words <= 3 && known && pending_cls != VERB_DANGER &&
			    (groups || !gap) && !only_verb(pending->s))
				pending = NULL;
			if (!groups)
				break;
			done = true;
			continue;
		}
		/* "snapshot restore": the first only says what of */
		if (cls && (!pending || cls == VERB_DANGER ||
			    (pending + 1 == &ops[i] && known && !only_verb(pending->s) && plain_verb(cx, ops[i].s)))) {
			pending = &ops[i];
			pending_cls = cls;
			gap = false;
		}
		if (words == 6)
			break;
	}
	if (pending) {
		if (known && (pending_cls == VERB_CREATE || pending_cls == VERB_CHANGE) &&
		    about_rights(ops, n))
			fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     pending->at, show(cx, pending->s),
			     "changes who may do what at a service");
		else if (known && pending_cls == VERB_CHANGE && loses_data(pending, ops, n))
			fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, pending->at,
			     show(cx, pending->s), "puts something else in the place of data, or says when it is deleted");
		else if (known || pending_cls == VERB_DANGER)
			verb_fact(cx, pending_cls, pending);
		return pending_cls;
	}
	if (!known || group)
		return VERB_READ;
	for (size_t i = 0; i < n; i++) {
		int cls = verb_class(cx, ops[i].s);

		/* "projects" lists them; what a word nobody knows does to "volumes" is not known */
		if (cls == VERB_READ ||
		    ((cls == VERB_NOUN || (!cls && names_things(cx, ops[i].s))) && i + 1 == n && !gap))
			return VERB_READ;
	}
	if (!n)
		return VERB_READ;
	fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, ops[0].at,
	     show(cx, ops[0].s), "an action at a service that is not known to only read");
	return 0;
}
