/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inline programs: every name in them is held against what is known of calls and modules, then the program
 * as a whole is looked at. What is only printed stays data; what cannot be told is never safe.
 */
#include <assert.h>

#include "classify/code.h"

/* Names whose mere mention in a language with loose quoting must not be missed. */
static const struct rein_str raw_words[] = {
	WORD("system"), WORD("exec"), WORD("qx"), WORD("unlink"), WORD("rmtree"), WORD("remove_tree"), WORD("eval"),
	WORD("open"), WORD("popen"), WORD("fork"), WORD("socket"), WORD("rm_rf"), WORD("rm_r"), WORD("spawn"),
	WORD("sysopen"), WORD("require"), WORD("syscall"), WORD("rename"), WORD("rmdir"), WORD("kill"),
	WORD("dofile"), WORD("loadstring"),
};

/* send(:system, …), $f(…), x["exec"](…): a call whose name is put together elsewhere */
static bool calls_by_value(const struct code *c, size_t k)
{
	const struct tok *t = &c->t[k];

	if (t->kind == TOK_NAME && code_lang_is(c, LANG_RUBY) &&
	    str_in(code_last(t->s), "send public_send __send__ method instance_method"))
		for (size_t j = k + 1; j < c->n && j < k + 5; j++)
			if ((c->t[j].kind == TOK_NAME || c->t[j].kind == TOK_STR) && code_acts(c, c->t[j].s))
				return true;
	if (t->kind == TOK_NAME && code_lang_is(c, LANG_PHP))
		return k && code_punct(c, k - 1, '$') && code_punct(c, k + 1, '(');
	return t->kind == TOK_STR && code_lang_is(c, LANG_NODE | LANG_PYTHON) && k &&
	       code_punct(c, k - 1, '[') && code_punct(c, k + 1, ']') &&
	       code_punct(c, k + 2, '(') &&
	       (code_acts(c, t->s) || (code_lang_is(c, LANG_NODE) && code_may_act(c, t->s)));
}

/* os.environ["X"], process.env.X, $ENV{X}, getenv("X"): one that holds a credential */
static void env_secrets(struct code *c)
{
	bool env = false;

	for (size_t k = 0; k < c->n && !env; k++)
		env = c->t[k].kind == TOK_NAME &&
		      (str_has(c->t[k].s, "environ") || str_has(c->t[k].s, "process.env") ||
		       str_has(c->t[k].s, "getenv") ||
		       str_in(c->t[k].s, "ENV ENV.fetch _ENV _SERVER env.get Deno.env.get"));
	for (size_t k = 0; env && k < c->n; k++) {
		const struct tok *t = &c->t[k];
		struct rein_str name = t->kind == TOK_NAME ? code_last(t->s) : t->s;

		if (t->kind == TOK_PUNCT || !name.n || name.p[0] < 'A' || name.p[0] > 'Z' ||
		    !env_is_secret(c->cx, name))
			continue;
		fact(c->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, c->at, show(c->cx, name),
		     "reads a credential from the environment");
		return;
	}
}

static bool in_some_name(const struct code *c, struct rein_str word)
{
	for (size_t k = 0; k < c->n; k++)
		if (c->t[k].kind == TOK_NAME && c->t[k].s.n &&
		    memmem(c->t[k].s.p, c->t[k].s.n, word.p, word.n))
			return true;
	return false;
}

/* print "unlink\n": nothing but texts that are printed, and nothing in them that is worked out */
static bool only_prints(const struct code *c)
{
	if (memchr(c->s.p, '`', c->s.n) || memchr(c->s.p, '%', c->s.n) || memchr(c->s.p, '<', c->s.n) ||
	    memchr(c->s.p, '@', c->s.n) || memchr(c->s.p, '$', c->s.n) || str_has(c->s, "#{"))
		return false;
	for (size_t k = 0; k < c->n; k++) {
		const struct tok *t = &c->t[k];

		if (t->kind == TOK_NAME ? !str_in(t->s, "print puts say p pp echo printf warn")
					: t->kind == TOK_PUNCT && !strchr(",;.()", t->c))
			return false;
		if (t->kind == TOK_STR && t->joined)
			return false;
	}
	return true;
}

/* Loose languages: a sink's name anywhere that the lexer did not see as a call. */
static void raw_check(struct code *c)
{
	uint32_t seen = 0; /* of raw_words: a word is looked for once */
	size_t i = 0;

	static_assert(ARRAY_SIZE(raw_words) <= 32, "one bit each");
	if (only_prints(c))
		return;
	while (i < c->s.n) {
		size_t n = 0, w = 0;

		while (i + n < c->s.n && (code_name1(c->s.p[i + n]) || code_digit(c->s.p[i + n])))
			n++;
		while (n && w < ARRAY_SIZE(raw_words) &&
		       (raw_words[w].n != n || memcmp(raw_words[w].p, c->s.p + i, n) != 0))
			w++;
		if (n && w < ARRAY_SIZE(raw_words) && !(seen >> w & 1)) {
			if (!in_some_name(c, raw_words[w])) {
				code_say(c, REIN_LEVEL_RISKY, raw_words[w], "code that may run or delete something");
				return;
			}
			seen |= 1u << w;
		}
		i += n ? n : 1;
	}
}

/* In a language nobody looks into, words that are hardly there by chance. */
static bool may_do_harm(struct rein_str text)
{
	static const char *const words[] = {
		"file delete", "delete-directory", "delete-file", "shell-command", "call-process",
		"spawn ", "exec ", "system", "rm -r", "run-shell", "delete_file", "delete-tree", "rmdir",
		"unlink", "/bin/sh", "/bin/bash", "callCommand", "os.execute", "do shell script",
		"do script", "exec(", "popen", "(term ", "Runtime",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_has(text, words[i]))
			return true;
	return false;
}

/* __builtins__, x.__class__ */
static void behind_language(struct code *c, struct rein_str name)
{
	if (name.n > 4 && str_starts(name, "__") &&
	    !str_in(name, "__name__ __file__ __version__ __future__ __dirname __filename __DIR__"))
		code_say(c, REIN_LEVEL_RISKY, name, "code that reaches behind the language");
	if (str_has(name, ".__") && !str_has(name, "__version__") && !str_has(name, "__file__") &&
	    !str_has(name, "__name__") && !str_has(name, "__doc__"))
		code_say(c, REIN_LEVEL_RISKY, name, "code that reaches behind the language");
}

void code_scan(struct ctx *cx, const char *lang, struct rein_str text, struct range at)
{
	struct code *c;
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (!lang || !strcmp(lang, "shell")) {
		run_text(cx, text, at, &io);
		return;
	}
	if (!strcmp(lang, "awk")) {
		awk_scan(cx, text, at);
		return;
	}
	if (!strcmp(lang, "sed")) {
		sed_scan(cx, text, at);
		return;
	}
	if (!strcmp(lang, "sql")) {
		sql_scan(cx, text, at, NULL, false, false);
		return;
	}
	if (!cx_step(cx))
		return;
	c = arena_new(cx->a, struct code);
	c->cx = cx;
	c->lang = code_lang_of(lang);
	text = code_unfold(cx, c->lang, text);
	c->s = text;
	c->at = at;
	c->max = text.n < MAX_TOKS ? text.n + 1 : MAX_TOKS; /* none is shorter than a byte */
	c->t = arena_alloc(cx->a, c->max * sizeof(*c->t));
	code_lex(c);
	code_resolve(c);
	if (c->overflow)
		cx_incomplete(cx, at, "the program on the command line is too long");
	for (size_t k = 0; k < c->n; k++) {
		if (c->t[k].kind == TOK_STR && c->t[k].backtick && !code_lang_is(c, LANG_NODE)) {
			code_say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
			run_text(cx, c->t[k].s, at, &io);
			continue;
		}
		if (calls_by_value(c, k))
			code_say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "hides a call behind another name");
		/* $`…` of bun and zx */
		if (c->t[k].kind == TOK_STR && c->t[k].backtick && k && code_punct(c, k - 1, '$')) {
			code_say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
			run_text(cx, c->t[k].s, at, &io);
		}
		if (c->t[k].kind != TOK_NAME)
			continue;
		code_import(c, k);
		code_call(c, k);
		behind_language(c, c->t[k].s);
	}
	env_secrets(c);
	if ((c->saw & SAW_DECODE) && (c->saw & SAW_CODE))
		code_say(c, REIN_LEVEL_DANGEROUS, STR("decode"), "code that decodes and runs other code");
	if ((c->saw & SAW_NET) && (c->saw & SAW_ENV))
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, NULL,
		     "code that reads the whole environment and talks to the network");
	if ((c->saw & SAW_NET) && (c->saw & SAW_PROGRAM))
		code_say(c, REIN_LEVEL_DANGEROUS, STR("network"), "code that joins a program and the network");
	if (code_lang_is(c, LANG_PERL | LANG_RUBY | LANG_LUA | LANG_PHP))
		raw_check(c);
	if (!code_lang_is(c, LANG_PYTHON | LANG_NODE | LANG_PERL | LANG_RUBY | LANG_PHP | LANG_LUA | LANG_R |
				     LANG_JULIA))
		code_say(c, may_do_harm(text) ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY, rein_str(lang),
			 "a program in a language that is not looked into");
}
