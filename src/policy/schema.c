/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy file may say: one table a section. A row here is all it takes to read, write and
 * suggest a key.
 */
#include "policy/internal.h"

static const char *const decide_names[] = {"deny", "ask", "hold", "allow", NULL};
static const char *const mode_names[] = {"enforce", "advisory", NULL};
static const char *const level_names[] = {"", "safe", "risky", "dangerous", "destructive", NULL};
static const char *const reach_names[] = {"", "read-only", "contained", "compensable", "irreversible", NULL};
static const char *const kind_names[] = {"", "command", "file", "sql", "http", "custom", NULL};
static const char *const operation_names[] = {"", "read", "write", "append", "delete", "chmod", "list", NULL};
static const char *const effect_names[] = {
#define X(c, n) n,
	REIN_FACT_KINDS(X)
#undef X
	NULL,
};
static const char *const change_names[] = {"", "created", "modified", "deleted", "attributes", NULL};
static const char *const type_names[] = {"file", "directory", "symlink", "executable", "setuid", "special", NULL};
static const char *const tier_names[] = {"auto", "notify", "approve", NULL};
static const char *const net_names[] = {"none", "restricted", "open", NULL};
static const char *const failure_names[] = {"discard", "hold", "commit", NULL};

#define WHO(s)                                                                                     \
	{"agent", F_STRS, offsetof(s, who.agent)}, {"role", F_STRS, offsetof(s, who.role)},        \
		{"environment", F_STRS, offsetof(s, who.environment)},                             \
		{"trust", F_CMP, offsetof(s, who.trust)}, {"time", F_SPAN, offsetof(s, who.time)}, \
		{"days", F_DAYS, offsetof(s, who.days)},                                           \
		{"level", F_BITS, offsetof(s, who.level), level_names},                            \
		{"reach", F_BITS, offsetof(s, who.reach), reach_names}

#define COMMON(s)                                                                                  \
	{"decide", F_CHOICE, offsetof(s, c.decide), decide_names},                                 \
		{"message", F_STR, offsetof(s, c.message)},                                        \
		{"instead", F_STR, offsetof(s, c.instead)},                                        \
		{"approvers", F_STRS, offsetof(s, c.approvers)},                                   \
		{"minimum", F_U64, offsetof(s, c.minimum)},                                        \
		{"expires", F_DURATION, offsetof(s, c.expires_ns)},                                \
		{"mode", F_CHOICE, offsetof(s, c.mode), mode_names},                               \
		{"share", F_PERCENT, offsetof(s, c.share)}, {"off", F_TRI, offsetof(s, c.off)}

static const struct field match_fields[] = {
	{"kind", F_BITS, offsetof(struct rule, kind), kind_names},
	{"program", F_STRS, offsetof(struct rule, program)},
	{"subcommand", F_STRS, offsetof(struct rule, subcommand)},
	{"flags", F_STRS, offsetof(struct rule, flags)},
	{"arguments", F_STRS, offsetof(struct rule, arguments)},
	{"path", F_STRS, offsetof(struct rule, path)},
	{"except", F_STRS, offsetof(struct rule, except)},
	{"operation", F_BITS, offsetof(struct rule, operation), operation_names},
	{"effect", F_BITS, offsetof(struct rule, effect), effect_names},
	{"host", F_STRS, offsetof(struct rule, host)},
	{"sql", F_STRS, offsetof(struct rule, sql)},
	{"method", F_STRS, offsetof(struct rule, method)},
	{"name", F_STRS, offsetof(struct rule, name)},
	{"secret", F_TRI, offsetof(struct rule, secret)},
	{"complete", F_TRI, offsetof(struct rule, complete)},
	WHO(struct rule),
	{0},
};

static const struct field effect_match_fields[] = {
	{"change", F_BITS, offsetof(struct effect_rule, change), change_names},
	{"type", F_BITS, offsetof(struct effect_rule, type), type_names},
	{"path", F_STRS, offsetof(struct effect_rule, path)},
	{"except", F_STRS, offsetof(struct effect_rule, except)},
	{"untracked", F_TRI, offsetof(struct effect_rule, untracked)},
	{"secret", F_TRI, offsetof(struct effect_rule, secret)},
	{"programs", F_TRI, offsetof(struct effect_rule, programs)},
	{"forgotten", F_TRI, offsetof(struct effect_rule, forgot)},
	{"count", F_CMP, offsetof(struct effect_rule, count)},
	{"share", F_CMP_PERCENT, offsetof(struct effect_rule, share)},
	{"lines", F_CMP, offsetof(struct effect_rule, lines)},
	{"bytes", F_CMP_SIZE, offsetof(struct effect_rule, bytes)},
	{"host", F_STRS, offsetof(struct effect_rule, host)},
	{"status", F_CMP, offsetof(struct effect_rule, status)},
	{"killed", F_TRI, offsetof(struct effect_rule, killed)},
	WHO(struct effect_rule),
	{0},
};

static const struct table match_table = {match_fields, sizeof(struct rule), NULL};
static const struct table effect_match_table = {effect_match_fields, sizeof(struct effect_rule), NULL};

/* A project's ids leave room for the prefix they may get. */
static bool id_ok(const char *s, enum rein_layer layer)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/");

	return n && !s[n] && n <= (layer == REIN_LAYER_PROJECT ? 150 : 200);
}

/* It is shown to people, and may be a stranger's: nothing in it speaks to a terminal. */
static int tame(const struct source *src, const char **text)
{
	auto_buf struct rein_buf b = REIN_BUF(32768);
	size_t n = 0;

	if (!*text)
		return 0;
	rein_buf_escaped(&b, rein_str(*text));
	for (const char *s = *text; *s; s++)
		n += 1 + (*s == '\\');
	if (!b.failed && b.n == n)
		return 0; /* nothing but backslashes, which are harmless */
	*text = b.failed ? NULL : pool_dup(src->pool, b.p, b.n);
	return *text ? 0 : rein_err_nomem(src->err);
}

static int tame_all(const struct source *src, struct strs *words)
{
	for (size_t i = 0; i < words->n; i++)
		if (tame(src, &words->v[i]) < 0)
			return -src->err->code;
	return 0;
}

static int check_common(const struct source *src, const struct node *at, struct common *c)
{
	if (tame(src, &c->instead) < 0 || tame_all(src, &c->approvers) < 0)
		return -src->err->code;
	c->file = src->file;
	c->line = at->line;
	c->layer = src->layer;
	if (!c->id)
		return bad(src, at, "a rule needs an 'id', so that a decision can name it");
	if (!id_ok(c->id, src->layer))
		return bad(src, at, "id '%s': letters, digits, '.', '-', '_' and '/' only, at most 150", c->id);
	if (!c->decide && c->off != TRI_YES)
		return bad(src, at, "rule '%s' does not say what to decide: allow, hold, ask or deny", c->id);
	if (c->minimum > 100)
		return bad(src, at, "rule '%s': more than 100 approvals are never given", c->id);
	return 0;
}

/* Hosts are compared in lower case. */
static int lower_all(const struct source *src, struct strs *hosts)
{
	for (size_t i = 0; i < hosts->n; i++) {
		char *s = pool_dup(src->pool, hosts->v[i], strlen(hosts->v[i]));

		if (!s)
			return rein_err_nomem(src->err);
		hosts->v[i] = s;
		for (; *s; s++)
			*s = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
	}
	return 0;
}

/* How specific: named things weigh more than classes of things. */
static unsigned weigh(const struct field *fields, const void *rule)
{
	static const struct {
		const char *name;
		unsigned weight;
	} heavy[] = {{"program", 8}, {"subcommand", 8}, {"flags", 8}, {"arguments", 8}, {"path", 8},
		     {"host", 8},    {"name", 8},	{"sql", 6},   {"method", 4},	{"type", 4},
		     {"secret", 6},  {"untracked", 4},	{"programs", 6},	{"forgotten", 6},	{"count", 3},	{"share", 3}};
	unsigned sum = 0;

	for (const struct field *f = fields; f->name; f++) {
		static const char zero[64];
		const char *v = (const char *)rule + f->offset;
		size_t n = f->type == F_STRS || f->type == F_CMP || f->type == F_CMP_SIZE ||
					   f->type == F_CMP_PERCENT
				   ? 16
			   : f->type == F_SPAN ? sizeof(struct span)
					       : 4;
		unsigned w = 2;

		if (!memcmp(v, zero, n))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(heavy); i++)
			if (rein_streq(heavy[i].name, f->name))
				w = heavy[i].weight;
		sum += w;
	}
	return sum;
}

static int check_rule(const struct source *src, const struct node *at, void *element)
{
	struct rule *r = element;
	int rc = check_common(src, at, &r->c);

	if (rc < 0)
		return rc;
	if (lower_all(src, &r->host) < 0)
		return -src->err->code;
	r->c.weight = weigh(match_fields, r);
	if (!r->c.weight && r->c.off != TRI_YES)
		return bad(src, at, "rule '%s' has no conditions and would decide everything; if that is meant: "
				    "match: {level: \">= safe\"}", r->c.id);
	for (size_t i = 0; i < r->flags.n; i++)
		if (r->flags.v[i][0] != '-' && r->flags.v[i][0] != '+')
			return bad(src, at, "rule '%s': the flag '%s' does not start with '-'; operands are "
					    "'arguments'", r->c.id, r->flags.v[i]);
	if ((r->subcommand.n || r->flags.n) && !r->program.n)
		return bad(src, at, "rule '%s' names a subcommand or flags but no program", r->c.id);
	if (r->except.n && !r->path.n)
		return bad(src, at, "rule '%s': 'except' narrows 'path', which is missing", r->c.id);
	r->on_calls = r->program.n || r->subcommand.n || r->flags.n || r->arguments.n;
	r->on_facts = r->path.n || r->host.n || r->sql.n || r->effect;
	for (size_t i = 0; i < r->program.n; i++)
		r->program_bits |= is_pattern(r->program.v[i]) ? ~0ull : name_bit(rein_str(r->program.v[i]));
	return 0;
}

static int check_effect(const struct source *src, const struct node *at, void *element)
{
	struct effect_rule *r = element;
	int rc = check_common(src, at, &r->c);

	if (rc < 0)
		return rc;
	if (lower_all(src, &r->host) < 0)
		return -src->err->code;
	r->c.weight = weigh(effect_match_fields, r);
	if (!r->c.weight && r->c.off != TRI_YES)
		return bad(src, at, "rule '%s' has no conditions and would decide everything; if that is meant: "
				    "match: {count: \">= 0\"}", r->c.id);
	return 0;
}

static const struct field rule_fields[] = {
	{"id", F_STR, offsetof(struct rule, c.id)},
	{"match", F_MAP, 0, NULL, &match_table},
	COMMON(struct rule),
	{0},
};
static const struct field effect_fields[] = {
	{"id", F_STR, offsetof(struct effect_rule, c.id)},
	{"match", F_MAP, 0, NULL, &effect_match_table},
	COMMON(struct effect_rule),
	{0},
};
static const struct table rule_table = {rule_fields, sizeof(struct rule), check_rule};
static const struct table effect_table = {effect_fields, sizeof(struct effect_rule), check_effect};

static int check_environment(const struct source *src, const struct node *at, void *element)
{
	struct environment *e = element;

	if (tame_all(src, &e->approvers) < 0)
		return -src->err->code;
	e->line = at->line;
	if (!e->tier)
		return bad(src, at, "environment '%s' has no tier: auto, notify or approve", e->name);
	if (e->minimum > 100)
		return bad(src, at, "environment '%s': more than 100 approvals are never given", e->name);
	return 0;
}

static const struct field environment_fields[] = {
	{"tier", F_CHOICE, offsetof(struct environment, tier), tier_names},
	{"approvers", F_STRS, offsetof(struct environment, approvers)},
	{"minimum", F_U64, offsetof(struct environment, minimum)},
	{"wait", F_DURATION, offsetof(struct environment, wait_ns)},
	{0},
};
static const struct table environment_table = {environment_fields, sizeof(struct environment), check_environment};

#define LIMITS(s, base)                                                                            \
	{"memory", F_SIZE, offsetof(s, base.memory_bytes)}, {"disk", F_SIZE, offsetof(s, base.disk_bytes)}, \
		{"file", F_SIZE, offsetof(s, base.file_bytes)},                                    \
		{"output", F_SIZE, offsetof(s, base.output_bytes)},                                \
		{"egress", F_SIZE, offsetof(s, base.egress_bytes)},                                \
		{"time", F_DURATION, offsetof(s, base.time_ns)},                                   \
		{"idle", F_DURATION, offsetof(s, base.idle_ns)},                                   \
		{"cpu_time", F_DURATION, offsetof(s, base.cpu_time_ns)},                           \
		{"cpu", F_U64, offsetof(s, base.cpu_percent)},                                     \
		{"processes", F_U64, offsetof(s, base.processes)},                                 \
		{"open_files", F_U64, offsetof(s, base.open_files)},                               \
		{"free", F_SIZE, offsetof(s, base.free_bytes)}

static const struct field profile_fields[] = {LIMITS(struct profile, limits), {0}};
static const struct table profile_table = {profile_fields, sizeof(struct profile), NULL};

static const struct field limits_fields[] = {
	{"profile", F_STR, offsetof(struct document, limits.profile)},
	LIMITS(struct document, limits.own),
	{"profiles", F_NAMED, offsetof(struct document, limits.profiles), NULL, &profile_table},
	{0},
};
static const struct table limits_table = {limits_fields, 0, NULL};

static const struct field workspace_fields[] = {
	{"writable", F_STRS, offsetof(struct document, workspace.writable)},
	{"readonly", F_STRS, offsetof(struct document, workspace.readonly)},
	{"shown", F_STRS, offsetof(struct document, workspace.shown)},
	{"hidden", F_STRS, offsetof(struct document, workspace.hidden)},
	{"scratch", F_STRS, offsetof(struct document, workspace.scratch)},
	{"canary", F_STRS, offsetof(struct document, workspace.canary)},
	{0},
};
static const struct table workspace_table = {workspace_fields, 0, NULL};

static const struct field network_fields[] = {
	{"mode", F_CHOICE, offsetof(struct document, network.mode), net_names},
	{"allow", F_STRS, offsetof(struct document, network.allow)},
	{"deny", F_STRS, offsetof(struct document, network.deny)},
	{"ports", F_STRS, offsetof(struct document, network.ports)},
	{"credentials", F_STRS, offsetof(struct document, network.credentials)},
	{"up", F_STR, offsetof(struct document, network.sent)},
	{"max", F_STR, offsetof(struct document, network.all)},
	{"rate", F_SIZE, offsetof(struct document, network.rate)},
	{0},
};

/* The words of one key, a list or a single one, each at its own place. */
static int check_words(const struct source *src, const char *key, const struct node *n)
{
	static const char *const keys[] = {"allow", "deny", "ports", "credentials"};
	bool ours = false;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		ours |= rein_streq(keys[i], key);
	for (const struct node *k = n->kind == NODE_LIST ? n->kids : n; ours && k; k = k->next) {
		struct rein_err err = {0};
		int rc = src->word(key, k->text, &err);

		if (rc < 0)
			return bad(src, k, "network.%s: %s", key, err.msg);
		if (rc > 0)
			remark(src->policy, src->file, k->line, "network.%s: %s", key, err.msg);
		if (n->kind != NODE_LIST)
			break;
	}
	return 0;
}

static int check_network(const struct source *src, const struct node *at, void *element)
{
	const struct document *d = element;
	const char *const budgets[] = {d->network.sent, d->network.all};
	struct rein_net_budget ignored;

	for (const struct node *k = at->kids; k && src->word; k = k->next->next)
		if (check_words(src, k->text, k->next) < 0)
			return -src->err->code;
	for (size_t i = 0; i < ARRAY_SIZE(budgets); i++)
		if (budgets[i] && !rein_budget_parse(budgets[i], &ignored))
			return bad(src, at, "network.%s: '%s' is not a volume such as 10M or 100M/1h",
				   i ? "max" : "up", budgets[i]);
	return 0;
}

static const struct table network_table = {network_fields, 0, check_network};

static const struct field reach_fields[] = {
	{"read-only", F_CHOICE, sizeof(int) * REIN_REACH_READONLY, decide_names},
	{"contained", F_CHOICE, sizeof(int) * REIN_REACH_CONTAINED, decide_names},
	{"compensable", F_CHOICE, sizeof(int) * REIN_REACH_COMPENSABLE, decide_names},
	{"irreversible", F_CHOICE, sizeof(int) * REIN_REACH_IRREVERSIBLE, decide_names},
	{0},
};
static const struct table reach_table = {reach_fields, 0, NULL};

#define DEFAULT(level) offsetof(struct document, defaults) + sizeof(struct defaults) * (level)
static const struct field defaults_fields[] = {
	{"safe", F_MAP, DEFAULT(REIN_LEVEL_SAFE), NULL, &reach_table},
	{"risky", F_MAP, DEFAULT(REIN_LEVEL_RISKY), NULL, &reach_table},
	{"dangerous", F_MAP, DEFAULT(REIN_LEVEL_DANGEROUS), NULL, &reach_table},
	{"destructive", F_MAP, DEFAULT(REIN_LEVEL_DESTRUCTIVE), NULL, &reach_table},
	{0},
};
static const struct table defaults_table = {defaults_fields, 0, NULL};

static int check_test(const struct source *src, const struct node *at, void *element)
{
	struct test *t = element;

	t->file = src->file;
	t->line = at->line;
	t->layer = src->layer;
	if (!t->action || !t->expect)
		return bad(src, at, "a test needs an 'action' and what to 'expect'");
	for (size_t i = 1; t->kind; i++) {
		if (!kind_names[i])
			return bad(src, at, "'%s' is not a kind: command, file, sql, http or custom", t->kind);
		if (rein_streq(kind_names[i], t->kind))
			break;
	}
	if (t->time && (strlen(t->time) != 5 || t->time[2] != ':'))
		return bad(src, at, "'%s' is not a time such as 23:30", t->time);
	return 0;
}

static const struct field test_fields[] = {
	{"action", F_STR, offsetof(struct test, action)},
	{"kind", F_STR, offsetof(struct test, kind)},
	{"expect", F_CHOICE, offsetof(struct test, expect), decide_names},
	{"rule", F_STR, offsetof(struct test, rule)},
	{"agent", F_STR, offsetof(struct test, agent)},
	{"role", F_STR, offsetof(struct test, role)},
	{"environment", F_STR, offsetof(struct test, environment)},
	{"trust", F_PERCENT, offsetof(struct test, trust)},
	{"time", F_STR, offsetof(struct test, time)},
	{"dialect", F_STR, offsetof(struct test, dialect)},
	{"content", F_STR, offsetof(struct test, content)},
	{0},
};
static const struct table test_table = {test_fields, sizeof(struct test), check_test};

static int check_document(const struct source *src, const struct node *at, void *element)
{
	struct document *d = element;

	if (!d->version)
		return bad(src, at, "'version: 1' is missing");
	if (d->version != 1)
		return bad(src, at, "version %llu is not known to this Rein, which reads version 1",
			   (unsigned long long)d->version);
	return 0;
}

static const struct field document_fields[] = {
	{"version", F_U64, offsetof(struct document, version)},
	{"mode", F_CHOICE, offsetof(struct document, mode), mode_names},
	{"environment", F_STR, offsetof(struct document, environment)},
	{"workspace", F_MAP, 0, NULL, &workspace_table},
	{"network", F_MAP, 0, NULL, &network_table},
	{"limits", F_MAP, 0, NULL, &limits_table},
	{"environments", F_NAMED, offsetof(struct document, environments), NULL, &environment_table},
	{"defaults", F_MAP, 0, NULL, &defaults_table},
	{"rules", F_LIST, offsetof(struct document, rules), NULL, &rule_table},
	{"effects", F_LIST, offsetof(struct document, effects), NULL, &effect_table},
	{"on_failure", F_CHOICE, offsetof(struct document, on_failure), failure_names},
	{"warm", F_DURATION, offsetof(struct document, warm_ns)},
	{"validate", F_STRS, offsetof(struct document, validate)},
	{"alerts", F_LIST, offsetof(struct document, alerts), NULL, &alert_table},
	{"webhooks", F_NAMED, offsetof(struct document, webhooks), NULL, &webhook_table},
	{"tests", F_LIST, offsetof(struct document, tests), NULL, &test_table},
	{0},
};
static const struct table document_table = {document_fields, sizeof(struct document), check_document};

int schema_read(struct source *src, const struct node *root, struct document *ret)
{
	if (!root)
		return bad(src, NULL, "nothing in it; a policy starts with 'version: 1'");
	return field_read_map(src, root, &document_table, ret);
}

void schema_format(const struct document *d, struct rein_buf *b)
{
	field_format_map(b, &document_table, d, 0);
}

void document_done(struct document *d)
{
	rein_free(d->limits.profiles.v);
	rein_free(d->environments.v);
	rein_free(d->rules.v);
	rein_free(d->effects.v);
	rein_free(d->alerts.v);
	rein_free(d->webhooks.v);
	rein_free(d->tests.v);
	*d = (struct document){0};
}

const char *rein_decide_name(int decide)
{
	return decide >= 0 && decide < REIN_DECIDE__MAX ? decide_names[decide] : "deny";
}

const char *rein_layer_name(int layer)
{
	static const char *const names[] = {"built-in", "system", "user", "project", "project, trusted",
					    "command line"};

	return layer >= 0 && layer < REIN_LAYER__MAX ? names[layer] : "unknown";
}

const char *rein_tier_name(int tier)
{
	static const char *const names[] = {"critical", "high", "medium", "low"};

	return tier >= 0 && tier < (int)ARRAY_SIZE(names) ? names[tier] : "critical";
}
