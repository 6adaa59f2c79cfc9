/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An action and its verdict to a decision. Restricting rules speak for the whole action as soon as
 * one part of it matches; an allow rule only for the parts it matches [P4]; what no rule speaks for
 * is decided by level and reach.
 */
#include <stdarg.h>
#include <strings.h>

#include "model/call.h"
#include "policy/internal.h"

#define PARTS (REIN_VERDICT_FACTS + 1) /* the facts, and the action as a whole */
#define WHOLE REIN_VERDICT_FACTS

struct parts {
	uint64_t bits[2];
};

static void mark(struct parts *p, size_t i)
{
	p->bits[i / 64] |= 1ull << (i % 64);
}

static bool has(const struct parts *p, size_t i)
{
	return p->bits[i / 64] >> (i % 64) & 1;
}

struct judging {
	const struct rein_policy *p;
	const struct rein_action *a;
	const struct rein_verdict_facts *f;
	const struct rein_verdict *v;
	const char *environment;
	struct place at;
	uint64_t program_bits;
	bool program_unsure;
	bool whole; /* there is more to it than the facts tell */
	char (*paths)[1280]; /* absolute targets of the facts; "" none, "\001" not known */
	struct rein_fact everything; /* stands for the whole */
	struct parts covered;
	const struct rule *best, *cover; /* strictest; strictest that covers */
	enum rein_decide best_decide;
	bool best_unsure;
	uint32_t best_start, best_end;
	const struct rein_fact *best_fact;
	const struct rule *trial; /* strictest of the advisory ones */
	enum rein_decide trial_decide;
	rein_considered_fn *fn;
	void *arg;
};

void set_reason(struct rein_decision *ret, const char *fmt, ...)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);
	char text[REIN_REASON_MAX];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rein_buf_escaped(&b, rein_str(text));
	n = b.n < sizeof(ret->reason) ? b.n : sizeof(ret->reason) - 1;
	while (n && n < b.n && ((unsigned char)b.p[n] & 0xc0) == 0x80)
		n--; /* not in the middle of a character */
	if (n)
		memcpy(ret->reason, b.p, n);
	ret->reason[n] = '\0';
}

void decision_deny(struct rein_decision *ret, const char *rule, const char *reason)
{
	*ret = (struct rein_decision){.rule = rule};
	set_reason(ret, "%s", reason);
}

/* Which agents a rule on its way into force is enforced for: always the same ones. */
static bool in_share(uint64_t share_plus_one, const char *agent)
{
	uint64_t h = 14695981039346656037ull;

	if (!share_plus_one)
		return true;
	for (const char *s = agent ? agent : ""; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	h ^= h >> 33;
	return h % 100 < share_plus_one - 1;
}

bool common_advisory(const struct rein_policy *p, const struct common *c, const char *agent)
{
	(void)p;
	return c->mode == MODE_ADVISORY || !in_share(c->share, agent);
}

const struct environment *find_environment(const struct rein_policy *p, const char *name)
{
	for (size_t i = p->all.environments.n; name && i-- > 0;)
		if (rein_streq(p->all.environments.v[i].name, name))
			return &p->all.environments.v[i];
	return NULL;
}

/* Options that take the next word, for programs whose sub-command stands behind them. */
static const struct {
	const char *program;
	const char *options; /* each with a space on both sides */
} valued[] = {
	{"git", " -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix "},
	{"docker", " -H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey "},
	{"podman", " --connection -c --log-level --root --runroot --storage-driver --url "},
	{"kubectl", " -n --namespace --context --kubeconfig -s --server --cluster --user --as --token "},
	{"helm", " -n --namespace --kube-context --kubeconfig --registry-config --repository-config "},
	{"npm", " --prefix -w --workspace --registry --userconfig -C "},
	{"yarn", " --cwd "},
	{"pnpm", " -C --dir --filter -F "},
	{"cargo", " -C --config -Z --color "},
	{"aws", " --profile --region --output --endpoint-url --query "},
	{"gcloud", " --project --account --configuration --format --impersonate-service-account "},
	{"az", " --subscription -o --output --query "},
	{"terraform", " "},
	{"gh", " -R --repo --hostname "},
	{"systemctl", " -H --host -M --machine -t --type -p --property -n --lines -o --output -s --signal "},
	{"apt-get", " -o -c -t --target-release --config-file --option "},
	{"apt", " -o -c -t --target-release --config-file --option "},
	{"pip", " --python --log --proxy --retries --timeout --cert --cache-dir "},
};

static const char *options_of(struct rein_str program)
{
	for (size_t i = 0; i < ARRAY_SIZE(valued); i++)
		if (rein_str_eq(rein_str(valued[i].program), program))
			return valued[i].options;
	return NULL;
}

static struct rein_str base_of(struct rein_str s)
{
	/* longer than the kernel takes: no name of a program, and not to be searched for every rule */
	const char *slash = s.n && s.n <= 4096 ? memrchr(s.p, '/', s.n) : NULL;

	return slash ? (struct rein_str){slash + 1, (size_t)(s.p + s.n - slash - 1)} : s;
}

static bool takes_next(const char *options, struct rein_str w)
{
	char key[64];

	if (w.n + 3 > sizeof(key))
		return false;
	key[0] = ' ';
	memcpy(key + 1, w.p, w.n);
	key[w.n + 1] = ' ';
	key[w.n + 2] = '\0';
	return strstr(options, key) != NULL;
}

static bool is_option(struct rein_str w)
{
	return w.n > 1 && w.p[0] == '-';
}

/* "push", or "remote add": the words from `at` on, options between them left out. */
static enum match words_are(const char *want, const struct rein_call *c, size_t at)
{
	enum match m = MATCH_YES;

	while (*want) {
		size_t n = strcspn(want, " ");
		struct rein_str one = {want, n};
		char pattern[128];
		const char *list[] = {pattern};
		struct strs single = {list, 1};
		enum match k;

		while (at < c->n && is_option(c->words[at]))
			at++;
		if (at >= c->n || n >= sizeof(pattern))
			return MATCH_NO;
		memcpy(pattern, one.p, n);
		pattern[n] = '\0';
		k = match_word(&single, c->words[at++]);
		if (k < m)
			m = k;
		if (m == MATCH_NO)
			return m;
		want += n;
		want += strspn(want, " ");
	}
	return m;
}

static enum match match_subcommand(const struct strs *patterns, const struct rein_call *c)
{
	const char *options = options_of(base_of(c->words[0]));
	enum match best = MATCH_NO;
	bool unsure = false; /* an option whose arity is not known stood before */

	for (size_t i = 1; i < c->n; i++) {
		struct rein_str w = c->words[i];

		if (is_option(w)) {
			if (options && takes_next(options, w))
				i++;
			else if (!options && !memchr(w.p, '=', w.n))
				unsure = true;
			continue;
		}
		for (size_t k = 0; k < patterns->n; k++) {
			enum match m = words_are(patterns->v[k], c, i);

			if (m == MATCH_YES && unsure)
				m = MATCH_MAYBE;
			if (m > best)
				best = m;
		}
		/* the word may have been that option's value: the next one is a candidate too */
		if (!unsure || !is_option(c->words[i - 1]))
			break;
	}
	return best;
}

static enum match match_flag(const char *flag, struct rein_str w)
{
	size_t n = strlen(flag);

	if (w.n && w.p[0] == REIN_WORD_ANY)
		return MATCH_MAYBE;
	if (!w.n || (w.p[0] != '-' && w.p[0] != '+'))
		return MATCH_NO;
	if (w.n >= n && !memcmp(w.p, flag, n) && (w.n == n || w.p[n] == '='))
		return MATCH_YES;
	if (flag[0] == '-' && flag[1] == '-') /* an abbreviation */
		return w.n > 4 && w.n < n && !memcmp(w.p, flag, w.n) ? MATCH_MAYBE : MATCH_NO;
	if (n == 2 && w.p[0] == flag[0] && w.p[1] != '-' && memchr(w.p + 1, flag[1], w.n - 1)) {
		for (size_t i = 1; i < w.n; i++)
			if (!((w.p[i] >= 'a' && w.p[i] <= 'z') || (w.p[i] >= 'A' && w.p[i] <= 'Z')))
				return MATCH_MAYBE;
		return w.n <= 6 ? MATCH_YES : MATCH_MAYBE; /* a cluster, or a value that is attached */
	}
	return MATCH_NO;
}

static enum match match_flags(const struct strs *flags, const struct rein_call *c)
{
	enum match best = MATCH_NO;

	for (size_t i = 1; i < c->n && !rein_str_eq(c->words[i], STR("--")); i++)
		for (size_t k = 0; k < flags->n; k++) {
			enum match m = match_flag(flags->v[k], c->words[i]);

			if (m > best)
				best = m;
		}
	return best;
}

static bool from_system(struct rein_str program)
{
	static const char *const dirs[] = {"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/",
					   "/usr/local/sbin/"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t n = strlen(dirs[i]);

		if (program.n > n && !memcmp(program.p, dirs[i], n) && !memchr(program.p + n, '/', program.n - n))
			return true;
	}
	return false;
}

static enum match match_program(const struct rule *r, struct rein_str program)
{
	struct rein_str base;
	enum match m;

	if (program.n > 4096) /* longer than the kernel takes: whatever becomes of it */
		return MATCH_MAYBE;
	base = base_of(program);

	if (program.n == base.n)
		return match_word(&r->program, program);
	m = match_word(&r->program, program);
	if (m == MATCH_YES)
		return m;
	m = match_word(&r->program, base);
	/* ./git is called git but need not be it: no reason to allow, reason enough to stop */
	if (m == MATCH_YES && r->c.decide - 1 == REIN_ALLOW && !from_system(program))
		return MATCH_MAYBE;
	return m;
}

static enum match least(enum match a, enum match b)
{
	return a < b ? a : b;
}

static enum match match_arguments(const struct strs *patterns, const struct rein_call *c)
{
	enum match best = MATCH_NO;

	for (size_t i = 1; i < c->n; i++) {
		enum match m = match_word(patterns, c->words[i]);

		if (m > best)
			best = m;
	}
	return best;
}

static enum match match_call(const struct rule *r, const struct rein_call *c)
{
	enum match m = MATCH_YES;

	if (r->program.n)
		m = match_program(r, c->words[0]);
	if (m && r->subcommand.n)
		m = least(m, match_subcommand(&r->subcommand, c));
	if (m && r->flags.n)
		m = least(m, match_flags(&r->flags, c));
	if (m && r->arguments.n)
		m = least(m, match_arguments(&r->arguments, c));
	return m;
}

static bool is_path_kind(enum rein_fact_kind k)
{
	switch (k) {
	case REIN_FACT_READ:
	case REIN_FACT_WRITE:
	case REIN_FACT_DELETE:
	case REIN_FACT_EXEC:
	case REIN_FACT_PERSIST:
	case REIN_FACT_PROTECTION:
	case REIN_FACT_SECRET:
	case REIN_FACT_DEVICE:
		return true;
	default:
		return false;
	}
}

static bool is_host_kind(enum rein_fact_kind k)
{
	return k == REIN_FACT_CONNECT || k == REIN_FACT_SEND || k == REIN_FACT_REMOTE || k == REIN_FACT_SECRET ||
	       k == REIN_FACT_MONEY || k == REIN_FACT_EXEC;
}

static enum match match_fact_path(const struct judging *j, const struct rule *r, size_t i)
{
	const struct rein_fact *f = &j->v->facts[i];
	const char *path = j->paths[i];
	enum match m;

	if (!is_path_kind(f->kind) || !*path)
		return MATCH_NO;
	if (*path == REIN_WORD_ANY)
		return MATCH_MAYBE;
	m = match_path(&r->path, path, f->kind == REIN_FACT_DELETE, &j->at);
	if (m && r->except.n && match_path(&r->except, path, false, &j->at) == MATCH_YES)
		return MATCH_NO;
	return m;
}

static bool match_sql(const struct strs *words, const struct rein_fact *f)
{
	for (size_t i = 0; f->kind == REIN_FACT_SQL && f->target && i < words->n; i++)
		if (!strcasecmp(words->v[i], f->target))
			return true;
	return false;
}

static bool level_fits(const struct who *w, enum rein_level level, enum rein_reach reach)
{
	return (!w->level || (w->level & (1u << level))) && (!w->reach || (w->reach & (1u << reach)));
}

static enum match match_fact(const struct judging *j, const struct rule *r, size_t i)
{
	const struct rein_fact *f = &j->v->facts[i];
	enum match m = MATCH_YES;

	if (r->effect && !(r->effect & (1u << f->kind)))
		return MATCH_NO;
	if (!level_fits(&r->who, f->level, f->reach))
		return MATCH_NO;
	if (r->sql.n && !match_sql(&r->sql, f))
		return MATCH_NO;
	if (r->host.n) {
		if (!is_host_kind(f->kind) || !f->target)
			return MATCH_NO;
		if (strstr(f->target, "…"))
			m = MATCH_MAYBE;
		else if (!match_host(&r->host, f->target))
			return MATCH_NO;
	}
	if (r->path.n)
		m = least(m, match_fact_path(j, r, i));
	if (m && r->on_calls)
		m = f->call && f->call <= j->v->n_calls
			    ? least(m, match_call(r, &j->v->calls[f->call - 1]))
			    : MATCH_NO;
	return m;
}

struct hit {
	enum match m;
	struct parts parts; /* those that match for certain */
	uint32_t start, end;
	const struct rein_fact *fact;
};

static void hit_at(struct hit *h, enum match m, uint32_t start, uint32_t end, const struct rein_fact *f)
{
	if (m <= h->m)
		return;
	h->m = m;
	h->start = start;
	h->end = end;
	h->fact = f;
}

static void match_facts(const struct judging *j, const struct rule *r, struct hit *h)
{
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];
		enum match m = match_fact(j, r, i);

		if (m == MATCH_YES)
			mark(&h->parts, i);
		hit_at(h, m, f->start, f->end, f);
	}
}

/* Level and reach of a call are those of its own effects; without any it is safe. */
static enum match match_call_level(const struct judging *j, const struct rule *r, size_t call)
{
	bool any = false;

	if (!r->who.level && !r->who.reach)
		return MATCH_YES;
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];

		if (f->call != call + 1)
			continue;
		any = true;
		if (level_fits(&r->who, f->level, f->reach))
			return MATCH_YES;
	}
	return !any && level_fits(&r->who, REIN_LEVEL_SAFE, REIN_REACH_READONLY) ? MATCH_YES : MATCH_NO;
}

static void match_calls(const struct judging *j, const struct rule *r, struct hit *h)
{
	for (size_t i = 0; i < j->v->n_calls; i++) {
		const struct rein_call *c = &j->v->calls[i];
		enum match m = match_call(r, c);
		const struct rein_fact *worst = NULL;

		if (m)
			m = least(m, match_call_level(j, r, i));
		for (size_t k = 0; m && k < j->v->n_facts; k++) {
			const struct rein_fact *f = &j->v->facts[k];

			if (f->call != i + 1)
				continue;
			if (!worst || f->level > worst->level)
				worst = f;
			if (m == MATCH_YES && level_fits(&r->who, f->level, f->reach))
				mark(&h->parts, k);
		}
		hit_at(h, m, c->start, c->end, worst);
	}
}

static bool conditions_fit(const struct judging *j, const struct rule *r)
{
	if (r->kind && !(r->kind & (1u << j->a->kind)))
		return false;
	if (r->operation && (j->a->kind != REIN_ACTION_FILE || !(r->operation & (1u << j->a->op))))
		return false;
	if (r->method.n && (j->a->kind != REIN_ACTION_HTTP || !match_name(&r->method, j->a->method)))
		return false;
	if (r->name.n && (j->a->kind != REIN_ACTION_CUSTOM || !match_name(&r->name, j->a->name)))
		return false;
	if (r->complete && (r->complete == TRI_YES) == j->whole)
		return false;
	if (r->secret && (r->secret == TRI_YES) != (j->f->secret != NULL))
		return false;
	return match_who(&r->who, j->f, j->environment);
}

static void match_rule(const struct judging *j, const struct rule *r, struct hit *h)
{
	if (r->program.n && !(r->program_bits & j->program_bits) && !j->program_unsure)
		return;
	if (!conditions_fit(j, r))
		return;
	if (r->on_facts) {
		match_facts(j, r, h);
		return;
	}
	if (r->on_calls) {
		match_calls(j, r, h);
		return;
	}
	if (!level_fits(&r->who, j->everything.level, j->everything.reach))
		return;
	h->parts = (struct parts){{~0ull, ~0ull}};
	hit_at(h, MATCH_YES, j->everything.start, j->everything.end, j->v->worst);
}

static void consider(struct judging *j, const struct rule *r, const struct hit *h)
{
	enum rein_decide d = (enum rein_decide)(r->c.decide - 1);
	bool advisory = common_advisory(j->p, &r->c, j->f->agent);
	struct rein_considered say = {
		.rule = r->c.id, .file = r->c.file, .message = r->c.message, .layer = r->c.layer,
		.line = r->c.line, .decide = d, .unsure = h->m == MATCH_MAYBE, .advisory = advisory,
	};

	if (h->m == MATCH_MAYBE && d == REIN_ALLOW)
		return; /* [P5] */
	if (h->m == MATCH_MAYBE && d == REIN_DENY)
		d = REIN_ASK; /* [P5]: a person looks */
	if (j->fn)
		j->fn(j->arg, &say);
	if (advisory) {
		if (!j->trial || d < j->trial_decide) {
			j->trial = r;
			j->trial_decide = d;
		}
		return;
	}
	if (h->m == MATCH_YES && r->c.layer != REIN_LAYER_PROJECT) { /* [P3] */
		j->covered.bits[0] |= h->parts.bits[0];
		j->covered.bits[1] |= h->parts.bits[1];
	}
	if (!j->best || d < j->best_decide || (d == j->best_decide && j->best_unsure && h->m == MATCH_YES)) {
		j->best = r;
		j->best_decide = d;
		j->best_unsure = h->m == MATCH_MAYBE;
		j->best_start = h->start;
		j->best_end = h->end;
		j->best_fact = h->fact;
	}
}

/* Level and reach of what no rule spoke for; false: every part was spoken for. */
static bool rest(const struct judging *j, enum rein_level *level, enum rein_reach *reach,
		 const struct rein_fact **worst)
{
	bool any = !j->v->n_facts && !has(&j->covered, WHOLE);

	*level = REIN_LEVEL_SAFE;
	*reach = REIN_REACH_READONLY;
	*worst = NULL;
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];

		if (has(&j->covered, i))
			continue;
		any = true;
		if (f->level > *level)
			*level = f->level;
		if (f->reach > *reach)
			*reach = f->reach;
		if (!*worst || f->level > (*worst)->level)
			*worst = f;
	}
	if (j->whole && !has(&j->covered, WHOLE)) {
		any = true;
		if (j->everything.level > *level)
			*level = j->everything.level;
		if (j->everything.reach > *reach)
			*reach = j->everything.reach;
	}
	return any;
}

static enum rein_tier tier_of(const struct rein_decision *d)
{
	if (d->decide == REIN_DENY)
		return REIN_TIER_CRITICAL;
	if (d->level >= REIN_LEVEL_DANGEROUS)
		return REIN_TIER_HIGH;
	return d->decide == REIN_ALLOW ? REIN_TIER_LOW : REIN_TIER_MEDIUM;
}

static void finish(struct rein_decision *ret)
{
	ret->tier = tier_of(ret);
	if (ret->decide != REIN_ASK && ret->decide != REIN_HOLD)
		return;
	if (!ret->minimum)
		ret->minimum = 1;
	if (!ret->expires_ns) /* C2: told and waited 5 minutes, or asked 30; C5: a review 24 hours */
		ret->expires_ns = (ret->decide == REIN_HOLD	   ? 86400ull
				   : ret->tier == REIN_TIER_MEDIUM ? 300ull
								   : 1800ull) *
				  1000000000ull;
}

void decision_from(const struct rein_policy *p, const struct common *c, enum rein_decide decide,
		   const char *agent, struct rein_decision *ret)
{
	(void)p;
	(void)agent;
	ret->decide = decide;
	ret->rule = c->id;
	ret->layer = c->layer;
	ret->file = c->file;
	ret->line = c->line;
	ret->instead = c->instead;
	ret->approvers = c->approvers.v;
	ret->n_approvers = c->approvers.n;
	ret->minimum = (unsigned)c->minimum;
	ret->expires_ns = c->expires_ns;
}

static void by_rule(const struct judging *j, struct rein_decision *ret)
{
	const struct rule *r = j->best;
	const struct rein_fact *f = j->best_fact;

	decision_from(j->p, &r->c, j->best_decide, j->f->agent, ret);
	ret->unsure = j->best_unsure;
	ret->start = j->best_start;
	ret->end = j->best_end;
	if (j->best_unsure)
		set_reason(ret, "%s%sperhaps under '%s', which is only certain when it runs%s%s", f ? f->reason : "",
			   f ? ", " : "", r->c.id, r->c.message ? ": " : "", r->c.message ? r->c.message : "");
	else if (r->c.message)
		set_reason(ret, "%s", r->c.message);
	else if (f)
		set_reason(ret, "%s%s%s%s", f->reason, f->target ? " (" : "", f->target ? f->target : "",
			   f->target ? ")" : "");
	else
		set_reason(ret, "the rule '%s' says so", r->c.id);
}

static const char *default_name(enum rein_level level, enum rein_reach reach)
{
	static const char *const names[REIN_LEVEL__MAX][REIN_REACH__MAX] = {
#define ROW(l)                                                                                     \
	{"", "defaults." l ".read-only", "defaults." l ".contained", "defaults." l ".compensable",         \
	 "defaults." l ".irreversible"}
		[REIN_LEVEL_SAFE] = ROW("safe"),
		[REIN_LEVEL_RISKY] = ROW("risky"),
		[REIN_LEVEL_DANGEROUS] = ROW("dangerous"),
		[REIN_LEVEL_DESTRUCTIVE] = ROW("destructive"),
	};

	return names[level][reach];
}

/* "No rule": by level and reach of what is left. What was not understood is asked. */
static void by_default(const struct judging *j, enum rein_level level, enum rein_reach reach,
		       const struct rein_fact *worst, struct rein_decision *ret)
{
	int d = j->p->all.defaults[level].by_reach[reach];
	bool unread = j->whole && !has(&j->covered, WHOLE);

	ret->by_default = true;
	ret->layer = REIN_LAYER_BUILTIN;
	ret->decide = d ? (enum rein_decide)(d - 1) : REIN_ASK;
	ret->rule = default_name(level, reach);
	if (unread && ret->decide > REIN_ASK) {
		ret->decide = REIN_ASK;
		ret->rule = "defaults.incomplete";
		set_reason(ret, "could not be understood in full%s%s", worst ? ": " : "",
			   worst ? worst->reason : "");
	} else if (worst) {
		set_reason(ret, "%s%s%s%s", worst->reason, worst->target ? " (" : "",
			   worst->target ? worst->target : "", worst->target ? ")" : "");
	} else {
		set_reason(ret, "nothing but reading");
	}
	if (worst) {
		ret->start = worst->start;
		ret->end = worst->end;
	}
}

/* C3: where it runs raises the bar; an environment nobody described is asked. */
static void by_environment(const struct judging *j, struct rein_decision *ret)
{
	const struct environment *e = find_environment(j->p, j->environment);
	int tier = e ? e->tier : ENV_APPROVE;

	if (tier == ENV_NOTIFY && ret->decide > REIN_ASK && j->v->reach > REIN_REACH_CONTAINED) {
		ret->notify = true;
		ret->notify_ns = e->wait_ns ? e->wait_ns : 5000000000ull;
	}
	if (tier != ENV_APPROVE)
		return;
	if (ret->decide > REIN_ASK && j->v->reach > REIN_REACH_READONLY) {
		ret->decide = REIN_ASK;
		ret->by_default = false;
		ret->rule = e ? "environments.approve" : "environments.unknown";
		ret->layer = REIN_LAYER_BUILTIN;
		ret->file = NULL;
		ret->line = 0;
		set_reason(ret, e ? "everything that changes something in '%s' is approved first"
				  : "'%s' is not an environment the policy knows, so it is approved first",
			   j->environment);
	}
	if (e && ret->decide == REIN_ASK) {
		if (!ret->n_approvers) {
			ret->approvers = e->approvers.v;
			ret->n_approvers = e->approvers.n;
		}
		if (e->minimum > ret->minimum)
			ret->minimum = (unsigned)e->minimum;
	}
}

static void set_paths(struct judging *j)
{
	for (size_t i = 0; i < j->v->n_facts; i++) {
		const struct rein_fact *f = &j->v->facts[i];

		j->paths[i][0] = '\0';
		if (f->target && is_path_kind(f->kind) &&
		    !path_absolute(f->target, f->cwd, &j->at, j->paths[i], sizeof(j->paths[i]))) {
			j->paths[i][0] = REIN_WORD_ANY;
			j->paths[i][1] = '\0';
		}
	}
}

static void set_whole(struct judging *j)
{
	enum rein_level level = REIN_LEVEL_SAFE;
	enum rein_reach reach = REIN_REACH_READONLY;

	for (size_t i = 0; i < j->v->n_facts; i++) {
		if (j->v->facts[i].level > level)
			level = j->v->facts[i].level;
		if (j->v->facts[i].reach > reach)
			reach = j->v->facts[i].reach;
	}
	j->everything = (struct rein_fact){.level = j->v->level, .reach = j->v->reach,
					   .end = j->v->text_bytes};
	j->whole = !j->v->complete || j->v->calls_lost || j->v->n_facts == REIN_VERDICT_FACTS ||
		   j->v->level > level || j->v->reach > reach;
}

static void set_programs(struct judging *j)
{
	for (size_t i = 0; i < j->v->n_calls; i++) {
		struct rein_str name = j->v->calls[i].words[0], base = base_of(name);

		j->program_bits |= name_bit(name) | name_bit(base);
		for (size_t k = 0; k < name.n && !j->program_unsure; k++)
			j->program_unsure = name.p[k] >= REIN_WORD_ANY && name.p[k] <= REIN_WORD_ONE;
	}
}

static void judge(struct judging *j, struct rein_decision *ret)
{
	const struct rein_policy *p = j->p;
	const struct rein_fact *worst;
	enum rein_level level;
	enum rein_reach reach;
	struct rein_decision left = {0};

	for (size_t i = 0; i < p->live.n; i++) {
		struct hit h = {0};

		/* sorted: deny first, each kind from the most specific on */
		if (j->best && !j->best_unsure && j->best_decide == REIN_DENY && !j->fn)
			break;
		match_rule(j, p->live.v[i], &h);
		if (h.m)
			consider(j, p->live.v[i], &h);
	}
	if (j->best)
		by_rule(j, ret);
	if (rest(j, &level, &reach, &worst)) {
		by_default(j, level, reach, worst, &left);
		if (!j->best || left.decide < ret->decide || (left.decide == ret->decide && j->best_unsure))
			*ret = left;
	}
	ret->level = j->v->level;
	ret->reach = j->v->reach;
	by_environment(j, ret);
	if (j->trial && j->trial_decide < ret->decide) {
		ret->would = true;
		ret->would_decide = j->trial_decide;
		ret->would_rule = j->trial->c.id;
	}
	ret->advisory = p->settings.advisory;
	finish(ret);
}

static const char *or(const char *s, const char *other)
{
	return s && *s ? s : other;
}

int rein_policy_explain(const struct rein_policy *p, const struct rein_action *action,
			const struct rein_verdict_facts *facts, struct rein_decision *ret,
			rein_considered_fn *fn, void *arg)
{
	char paths[REIN_VERDICT_FACTS][1280];
	struct judging j = {.p = p, .a = action, .f = facts, .fn = fn, .arg = arg, .paths = paths};

	if (p->broken) { /* [P1] */
		decision_deny(ret, "policy.broken", p->why);
		return 0;
	}
	j.v = facts->verdict;
	if (!p->sealed || !j.v || action->kind <= REIN_ACTION_NONE || action->kind > REIN_ACTION_CUSTOM ||
	    j.v->level <= REIN_LEVEL_NONE || j.v->level >= REIN_LEVEL__MAX || j.v->reach <= REIN_REACH_NONE ||
	    j.v->reach >= REIN_REACH__MAX || j.v->n_facts > REIN_VERDICT_FACTS) {
		decision_deny(ret, "policy.unjudged", "nobody looked at what this action does");
		return -REIN_E_DENIED;
	}
	*ret = (struct rein_decision){0};
	j.environment = or(facts->environment, p->settings.environment);
	j.at.home = or(action->home, "/home/user");
	j.at.workspace = or(action->workspace, or(action->cwd, "/home/user/workspace"));
	set_paths(&j);
	set_whole(&j);
	set_programs(&j);
	judge(&j, ret);
	return 0;
}

int rein_policy_decide(const struct rein_policy *p, const struct rein_action *action,
		       const struct rein_verdict_facts *facts, struct rein_decision *ret)
{
	return rein_policy_explain(p, action, facts, ret, NULL, NULL);
}
