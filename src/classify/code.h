/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that look into inline programs. */
#ifndef REIN_CLASSIFY_CODE_H
#define REIN_CLASSIFY_CODE_H

#include "classify/internal.h"

#define MAX_TOKS 2000

enum sink {
	SINK_NONE,
	SINK_SHELL, /* first argument is shell code, or a list is an argv */
	SINK_RDEL,
	SINK_DEL,
	SINK_OPEN,
	SINK_READ,
	SINK_WRITE,
	SINK_MAKE,
	SINK_DYN,
	SINK_DECODE,
	SINK_NET,
	SINK_SQL,
	SINK_ENV,
	SINK_RISKY,
	SINK_ATTR,
	SINK_OUT, /* prints, or writes a file where it is given one */
};

enum tok_kind { TOK_NAME, TOK_STR, TOK_NUM, TOK_PUNCT };

struct tok {
	enum tok_kind kind;
	struct rein_str s; /* name with dots, or contents of a string */
	char c;
	bool joined; /* a string with something added or interpolated */
	bool backtick;
};

/* import x as y, from x import y, const y = require("x"): what a name stands for. */
struct code_alias {
	struct rein_str name, means;
	struct code_alias *next;
};

enum code_lang {
	LANG_OTHER,
	LANG_PYTHON = 1 << 0,
	LANG_NODE = 1 << 1,
	LANG_PERL = 1 << 2,
	LANG_RUBY = 1 << 3,
	LANG_PHP = 1 << 4,
	LANG_LUA = 1 << 5,
	LANG_R = 1 << 6,
	LANG_ELIXIR = 1 << 7,
	LANG_JAVA = 1 << 8,
	LANG_JULIA = 1 << 9,
};

/* What some call of it does: together they are worse. */
enum code_saw {
	SAW_DECODE = 1 << 0,
	SAW_NET = 1 << 1,
	SAW_CODE = 1 << 2, /* runs what it has built */
	SAW_PROGRAM = 1 << 3,
	SAW_ENV = 1 << 4, /* all of it */
};

struct code {
	struct ctx *cx;
	enum code_lang lang;
	struct rein_str s;
	struct range at;
	struct tok *t;
	size_t n, max;
	bool overflow;
	struct code_alias *aliases;
	unsigned saw;
};

static inline bool code_lang_is(const struct code *c, unsigned any)
{
	return c->lang & any;
}

static inline bool code_punct(const struct code *c, size_t k, char ch)
{
	return k < c->n && c->t[k].kind == TOK_PUNCT && c->t[k].c == ch;
}

/* c of a.b.c */
static inline struct rein_str code_last(struct rein_str name)
{
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;

	return dot ? str_from(name, (size_t)(dot - name.p) + 1) : name;
}

/* codelex.c */
enum code_lang code_lang_of(const char *name);
bool code_name1(char c);
bool code_digit(char c);
void code_lex(struct code *c);
/* codefold.c */
struct rein_str code_unfold(struct ctx *cx, enum code_lang lang, struct rein_str text);
/* codesink.c */
enum sink code_sink(const struct code *c, struct rein_str name);
bool code_acts(const struct code *c, struct rein_str name); /* runs or deletes something */
/* codemodule.c */
bool code_may_act(const struct code *c, struct rein_str name); /* a call of a module that can change things */
void code_import(struct code *c, size_t k); /* import a, b.c as d / from x import y / require("x") / use X; */
/* codecall.c */
void code_call(struct code *c, size_t k); /* the name that is token k: is it called, and what does that do */
bool code_is_call(const struct code *c, size_t k);
/* The first literal argument of the call whose name is token k. False: not literal. */
bool code_literal(const struct code *c, size_t k, struct rein_str *ret, size_t *after);
void code_say(struct code *c, enum rein_level level, struct rein_str what, const char *why);
/* codepath.c */
/* Argument i of the call whose name is token k, or the one with such a keyword: as text, a hole for
 * what is not known. */
bool code_argument(struct code *c, size_t k, size_t i, const char *keyword, struct rein_str *ret);
struct rein_str code_receiver(struct code *c,
			      size_t k); /* what the method that is token k is called on */
bool code_is_path(struct code *c,
		  size_t k); /* it is called on a path and not on a text or a table */
struct rein_str code_value(struct code *c,
			   size_t k); /* of the expression that begins with token k */
/* codealias.c */
void code_resolve(struct code *c); /* names in the tokens become what they stand for */

#endif
