/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry: an action goes in, a verdict comes out. All memory is the classifier's arena, which is
 * bounded; when the bound or the budget of steps is reached the verdict is strict and says so.
 */
#include <fcntl.h>

#include "classify/internal.h"
#include "classify/know_load.h"

#define ARENA_MAX ((size_t)96 << 20)
#define MAX_STEPS 1000 /* some 500 commands: what 64 KiB may cost depends on it (bench/judge-speed) */
#define MAX_WORK  600000 /* within them: a word of thousands of parameters, braces in braces */
#define MAX_TEXT  ((size_t)16 << 20)

struct rein_classifier {
	struct arena arena;
	struct arena learned;
	struct know_tables tables;
	struct know extra;
	bool has_extra, broken;
	rein_sql_fn *sql;
	struct rein_verdict verdict;
	struct rein_fact facts[REIN_VERDICT_FACTS];
	struct rein_fact worst;
};

int rein_classifier_new(struct rein_classifier **ret, struct rein_err *err)
{
	struct rein_classifier *c = rein_alloc(sizeof(*c));

	if (!c)
		return rein_err_nomem(err);
	c->arena.max = ARENA_MAX;
	c->learned.max = ARENA_MAX;
	*ret = c;
	return 0;
}

void rein_classifier_free(struct rein_classifier *c)
{
	if (!c)
		return;
	arena_done(&c->arena);
	arena_done(&c->learned);
	rein_free(c);
}

int rein_classifier_learn(struct rein_classifier *c, const char *path, const char *yaml, size_t n,
			  struct rein_err *err)
{
	jmp_buf fail;
	int rc;

	c->learned.fail = &fail;
	c->broken = true; /* until all of it is understood: it may have made things worse than they look now */
	if (setjmp(fail))
		return rein_err_nomem(err);
	c->tables.a = &c->learned;
	rc = know_load(&c->tables, path, yaml, n, err);
	if (rc == 0 && know_finish(&c->tables, &c->extra, err) < 0)
		rc = rein_err_prefix(err, "%s", path);
	c->has_extra = rc == 0;
	c->broken = rc != 0;
	c->learned.fail = NULL;
	return rc;
}

void rein_classifier_set_sql(struct rein_classifier *c, rein_sql_fn *fn)
{
	c->sql = fn;
}

rein_sql_fn *cx_sql(struct ctx *cx)
{
	return cx->owner->sql;
}

const struct know *cx_extra(struct ctx *cx)
{
	return cx->owner->has_extra ? &cx->owner->extra : NULL;
}

static const struct know_cmd *find_in(const struct know *k, struct rein_str name)
{
	size_t lo = 0, hi = k->n_cmds;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const char *m = k->cmds[mid].name;
		size_t n = strlen(m);
		int c = memcmp(name.p, m, name.n < n ? name.n : n); /* a name may hold any byte */

		if (!c)
			c = name.n < n ? -1 : name.n > n;
		if (!c)
			return &k->cmds[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

bool rein_is_subcommand(struct rein_str program, struct rein_str word)
{
	const struct know_cmd *k = find_in(&know_builtin, program);

	for (size_t i = 0; k && i < k->n_subs; i++)
		if (str_is(word, k->subs[i].name))
			return true;
	return false;
}

static const struct know_cmd *find_name(struct ctx *cx, struct rein_str name)
{
	const struct know *extra = cx_extra(cx);
	const struct know_cmd *k = extra ? find_in(extra, name) : NULL;

	return k ? k : find_in(&know_builtin, name);
}

/* python3.11, gcc-12, mkfs.ext4, git.exe */
/* arm-none-eabi-gcc is a gcc */
static const struct know_cmd *cross_tool(struct ctx *cx, struct rein_str name)
{
	static const char *const machines[] = {
		"arm-",	 "aarch64-", "x86_64-",	  "i686-",   "i586-",	"i386-",
		"riscv", "avr-",     "mips",	  "powerpc", "sparc",	"xtensa-",
		"m68k-", "msp430-",  "loongarch", "armv",    "wasm32-", "s390x-"};
	const char *dash = memrchr(name.p, '-', name.n);
	struct rein_str last = dash ? str_from(name, (size_t)(dash - name.p) + 1) : STR("");

	if (!str_in(last, "gcc g++ cc c++ clang clang++ ld as ar nm objdump objcopy readelf size "
			  "strip strings ranlib addr2line c++filt cpp gcov "
			  "gfortran gdb elfedit windres dlltool"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (str_starts(name, machines[i]))
			return find_name(cx, last);
	return NULL;
}

const struct know_cmd *know_find(struct ctx *cx, struct rein_str name)
{
	const struct know_cmd *k;
	struct rein_str s = name;

	if (!name.n || !is_literal(name))
		return NULL;
	k = find_name(cx, name);
	if (k)
		return k;
	if (str_starts(s, "mkfs.") || str_starts(s, "fsck.") || str_starts(s, "mount."))
		return find_name(cx, str_to(s, (size_t)((const char *)memchr(s.p, '.', s.n) - s.p)));
	if (str_ends(s, ".exe") || str_ends(s, ".cmd"))
		s.n -= 4;
	else
		while (s.n > 1 && ((s.p[s.n - 1] >= '0' && s.p[s.n - 1] <= '9') ||
				   s.p[s.n - 1] == '.'))
			s.n--;
	if (s.n > 1 && s.n < name.n && s.p[s.n - 1] == '-')
		s.n--;
	if (s.n && s.n < name.n && find_name(cx, s))
		return find_name(cx, s);
	return cross_tool(cx, s);
}

void cx_incomplete(struct ctx *cx, struct range at, const char *why)
{
	if (!cx->incomplete)
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, at, NULL,
		     cx_printf(cx, "could not be understood in full: %s", why));
	cx->incomplete = true;
}

bool cx_step(struct ctx *cx)
{
	if (cx->steps < MAX_STEPS) {
		cx->steps++;
		return true;
	}
	if (cx->steps == MAX_STEPS) {
		cx->steps++;
		cx->incomplete = cx->over = true;
		cx->dry = 0;
		fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
		     (struct range){0}, NULL, "could not be understood in full: it does too much");
	}
	return false;
}

bool cx_work(struct ctx *cx, size_t n)
{
	if (n <= MAX_WORK - cx->work) {
		cx->work += n;
		return true;
	}
	cx->work = MAX_WORK;
	if (cx->steps < MAX_STEPS)
		cx->steps = MAX_STEPS;
	return cx_step(cx);
}

static struct rein_str or_default(const char *s, const char *other)
{
	return s && s[0] == '/' ? rein_str(s) : rein_str(other);
}

static struct rein_str no_slash(struct rein_str s)
{
	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

static void setup(struct ctx *cx, struct rein_classifier *c, const struct rein_action *act)
{
	cx->owner = c;
	cx->a = &c->arena;
	cx->act = act;
	cx->facts = c->facts;
	cx->level = REIN_LEVEL_SAFE;
	cx->reach = REIN_REACH_READONLY;
	cx->home = no_slash(or_default(act->home, "/home/user"));
	cx->workspace = no_slash(or_default(act->workspace, act->cwd ? act->cwd
								     : "/home/user/workspace"));
	cx->cwd = no_slash(or_default(act->cwd, act->workspace ? act->workspace
							       : "/home/user/workspace"));
}

/* Does a byte less than that occur? Without a way out of the loop, so that it takes many at a time. */
static bool has_below(struct rein_str s, unsigned char least)
{
	unsigned char any = 0;

	for (size_t i = 0; i < s.n; i++)
		any |= (unsigned char)s.p[i] < least;
	return any;
}

static void command_text(struct ctx *cx, struct rein_str text)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct script sc;

	run_script(cx, text, NULL, &io, &sc);
	run_uncalled(cx);
	if (sc.error)
		cx_incomplete(cx, (struct range){sc.error_at, sc.error_at + 1}, sc.error);
	if (cx->incomplete)
		return; /* said already */
	if (sc.odd || has_below(text, 5))
		cx_incomplete(cx, (struct range){0, (uint32_t)text.n},
			      "holds bytes or syntax that shells read differently");
}

static void command_argv(struct ctx *cx, const struct rein_action *act)
{
	struct field *v = arena_alloc(cx->a, (act->argc + 1) * sizeof(*v));
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	uint32_t at = 0;

	for (size_t i = 0; i < act->argc; i++) {
		size_t n = strlen(act->argv[i]);

		v[i].s = (struct rein_str){arena_dup(cx->a, act->argv[i], n), n};
		for (size_t k = 0; k < n; k++)
			if ((unsigned char)v[i].s.p[k] < 5) {
				((char *)v[i].s.p)[k] = '_';
				cx_incomplete(cx, (struct range){0}, "control bytes in an argument");
			}
		v[i].at = (struct range){at, (uint32_t)(at + n)};
		v[i].quoted = true;
		at += (uint32_t)n + 1;
	}
	exec_argv(cx, v, act->argc, &io);
	run_uncalled(cx);
}

static void file_action(struct ctx *cx, const struct rein_action *act)
{
	struct field f = {.s = rein_str(act->path ? act->path : "")};
	struct sbuf home = {.a = cx->a};

	f.at = (struct range){0, (uint32_t)f.s.n};
	if (f.s.n && f.s.p[0] == '~' && (f.s.n == 1 || f.s.p[1] == '/')) {
		sbuf_str(&home, cx->home);
		sbuf_str(&home, str_from(f.s, 1));
		f.s = sbuf_view(&home);
	}
	switch (act->op) {
	case REIN_FILE_READ:
	case REIN_FILE_LIST:
		effect_read(cx, &f);
		return;
	case REIN_FILE_WRITE:
	case REIN_FILE_APPEND:
		effect_write(cx, &f, act->op == REIN_FILE_APPEND);
		return;
	case REIN_FILE_DELETE:
		effect_delete(cx, &f, true);
		return;
	case REIN_FILE_CHMOD:
		effect_attr(cx, &f, false, false);
		return;
	}
	fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f.at, NULL,
	     "a file operation that is not known");
}

static void http_action(struct ctx *cx, const struct rein_action *act)
{
	struct rein_str url = rein_str(act->url ? act->url : ""),
			method = rein_str(act->method ? act->method : "GET"),
			body = {act->body ? act->body : "", act->body ? act->body_n : 0};

	http_scan(cx, method, url, body, act->body || act->body_bytes,
		  (struct range){0, (uint32_t)url.n});
}

/* A declared action: its name is a verb phrase, its parameters may name paths and hosts. */
static void custom_action(struct ctx *cx, const struct rein_action *act)
{
	struct field name = {.s = rein_str(act->name ? act->name : "")};
	struct fields words = {0};
	int cls;

	name.at = (struct range){0, (uint32_t)name.s.n};
	fields_push(cx, &words, name);
	cls = verb_class(cx, name.s);
	if (cls == VERB_READ || cls == VERB_NOUN)
		fact(cx, REIN_FACT_CUSTOM, REIN_LEVEL_SAFE, REIN_REACH_READONLY, name.at,
		     act->name, "a declared action that reads");
	else if (!cls)
		fact(cx, REIN_FACT_CUSTOM, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, name.at,
		     act->name, "a declared action whose effects are not known");
	else
		verbs_effect(cx, "", words.v, 1, true, false);
	if (str_has_ci(name.s, "pay") || str_has_ci(name.s, "transfer") ||
	    str_has_ci(name.s, "refund") || str_has_ci(name.s, "charge") ||
	    str_has_ci(name.s, "purchase"))
		fact(cx, REIN_FACT_MONEY, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, name.at,
		     act->name, "moves money");
}

static void run_action(struct ctx *cx, const struct rein_action *act)
{
	struct rein_str text = {act->text ? act->text : "", act->text ? act->text_n : 0};

	if (text.n > MAX_TEXT) {
		cx->steps = MAX_STEPS;
		cx_step(cx);
		return;
	}
	switch (act->kind) {
	case REIN_ACTION_COMMAND:
		if (act->text)
			command_text(cx, text);
		else
			command_argv(cx, act);
		return;
	case REIN_ACTION_FILE:
		file_action(cx, act);
		return;
	case REIN_ACTION_SQL:
		sql_scan(cx, text, (struct range){0, (uint32_t)text.n}, act->dialect, true, false);
		return;
	case REIN_ACTION_HTTP:
		http_action(cx, act);
		return;
	case REIN_ACTION_CUSTOM:
		custom_action(cx, act);
		return;
	case REIN_ACTION_NONE:
		break;
	}
	fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
	     (struct range){0}, NULL, "an action of no kind");
}

static int fact_order(const void *a, const void *b)
{
	const struct rein_fact *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)y->level - (int)x->level;
}

const struct rein_verdict *rein_classify(struct rein_classifier *c,
					 const struct rein_action *act, struct rein_err *err)
{
	struct ctx *cx;
	jmp_buf fail;
	int why;

	if (c->broken) {
		rein_err_set(err, REIN_E_INVALID, "no verdict: a knowledge file was not understood");
		return NULL;
	}
	arena_reset(&c->arena);
	c->arena.fail = &fail;
	why = setjmp(fail);
	if (why == 2) {
		c->arena.fail = NULL;
		rein_err_nomem(err);
		return NULL;
	}
	if (why) {
		c->facts[0] = (struct rein_fact){
			.kind = REIN_FACT_UNKNOWN,
			.level = REIN_LEVEL_DESTRUCTIVE,
			.reach = REIN_REACH_IRREVERSIBLE,
			.reason = "could not be understood in full: it needs too much memory",
		};
		c->worst = c->facts[0];
		c->verdict = (struct rein_verdict){.level = REIN_LEVEL_DESTRUCTIVE,
					   .reach = REIN_REACH_IRREVERSIBLE,
					   .facts = c->facts,
					   .n_facts = 1,
					   .calls_lost = true,
					   .worst = &c->worst};
		return &c->verdict;
	}
	cx = arena_new(&c->arena, struct ctx);
	setup(cx, c, act);
	run_action(cx, act);
	qsort(c->facts, cx->n_facts, sizeof(c->facts[0]), fact_order);
	c->worst = cx->worst;
	c->verdict = (struct rein_verdict){
		.level = cx->level,
		.reach = cx->reach,
		.complete = !cx->incomplete,
		.facts = c->facts,
		.n_facts = cx->n_facts,
		.worst = cx->has_worst ? &c->worst : NULL,
		.calls = cx->calls,
		.n_calls = cx->n_calls,
		.calls_lost = cx->calls_lost || cx->over || cx->incomplete,
		.text_bytes = (uint32_t)act->text_n,
	};
	c->arena.fail = NULL;
	return &c->verdict;
}

bool rein_classify_trace(struct rein_classifier *c, struct rein_str text, trace_fn fn, void *arg)
{
	struct rein_action act = {.kind = REIN_ACTION_COMMAND, .text = text.p, .text_n = text.n};
	volatile bool complete = false;
	struct ctx *cx;
	jmp_buf fail;

	arena_reset(&c->arena);
	c->arena.fail = &fail;
	if (!setjmp(fail)) {
		cx = arena_new(&c->arena, struct ctx);
		setup(cx, c, &act);
		cx->trace = fn;
		cx->trace_arg = arg;
		command_text(cx, text);
		complete = !cx->incomplete;
	}
	c->arena.fail = NULL;
	return complete;
}

const struct rein_verdict *rein_classify_command(struct rein_classifier *c, const char *text,
						 const char *cwd, struct rein_err *err)
{
	struct rein_action act = {
		.kind = REIN_ACTION_COMMAND,
		.text = text,
		.text_n = text ? strlen(text) : 0,
		.cwd = cwd,
	};

	if (!text) {
		/* nothing was judged, and no text is not the empty text, which is safe */
		rein_err_set(err, REIN_E_INVALID, "no command to classify");
		return NULL;
	}
	return rein_classify(c, &act, err);
}

int rein_verdict_level(const struct rein_verdict *v)
{
	return v->level;
}

int rein_verdict_reach(const struct rein_verdict *v)
{
	return v->reach;
}

bool rein_verdict_complete(const struct rein_verdict *v)
{
	return v->complete;
}

size_t rein_verdict_count(const struct rein_verdict *v)
{
	return v->n_facts;
}

const char *rein_verdict_reason(const struct rein_verdict *v, size_t i)
{
	return i < v->n_facts ? v->facts[i].reason : NULL;
}

const char *rein_verdict_target(const struct rein_verdict *v, size_t i)
{
	return i < v->n_facts ? v->facts[i].target : NULL;
}

const char *rein_verdict_kind(const struct rein_verdict *v, size_t i)
{
	static const char *const names[] = {
#define X(c, n) n,
		REIN_FACT_KINDS(X)
#undef X
	};

	return i < v->n_facts ? names[v->facts[i].kind] : NULL;
}

void rein_verdict_range(const struct rein_verdict *v, size_t i, size_t *ret_start, size_t *ret_end)
{
	*ret_start = i < v->n_facts ? v->facts[i].start : 0;
	*ret_end = i < v->n_facts ? v->facts[i].end : 0;
}

const char *rein_level_name(int level)
{
	static const char *const names[] = {"unknown", "safe", "risky", "dangerous", "destructive"};

	return level >= 0 && level < REIN_LEVEL__MAX ? names[level] : "unknown";
}

const char *rein_reach_name(int reach)
{
	static const char *const names[] = {"unknown", "read-only", "contained", "compensable",
					    "irreversible"};

	return reach >= 0 && reach < REIN_REACH__MAX ? names[reach] : "unknown";
}
