/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that look into inline programs. */
#ifndef REIN_CLASSIFY_CODE_H
#define REIN_CLASSIFY_CODE_H

#include "classify/internal.h"

#define MAX_TOKS 2000

enum sink {
	SINK_NONE,
	SINK_SHELL,  /* first argument is shell code, or a list is an argv */
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
};

struct sink_name {
	const char *name; /* dotted; a leading dot: any object */
	uint8_t n, sink;
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

struct code {
	struct ctx *cx;
	enum code_lang lang;
	struct rein_str s;
	struct range at;
	struct tok *t;
	size_t n, max;
	bool overflow;
	struct code_alias *aliases;
};

static inline bool code_lang_is(const struct code *c, unsigned any)
{
	return c->lang & any;
}

/* codelex.c */
enum code_lang code_lang_of(const char *name);
bool code_name1(char c);
bool code_digit(char c);
void code_lex(struct code *c);
/* codealias.c */
void code_resolve(struct code *c); /* names in the tokens become what they stand for */

#endif
