/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other names for modules and what is in them: `import subprocess as s`, `from shutil import rmtree as r`,
 * `const f = require("fs")`, `f = os.remove`. The tokens are rewritten, so that whoever looks for a call finds
 * it under its own name.
 *
 * A module that is handed on without a name of ours to follow (in a list, as an argument) could be called by
 * any: code that does so is not proven harmless.
 */
#include "classify/code.h"

#define MAX_ALIASES 64

/* Modules through which a program acts. */
static const struct rein_str acting[] = {
	WORD("os"), WORD("posix"), WORD("sys"), WORD("shutil"), WORD("subprocess"), WORD("pathlib"), WORD("tempfile"),
	WORD("io"), WORD("importlib"), WORD("builtins"), WORD("socket"), WORD("ctypes"), WORD("fs"),
	WORD("fs.promises"),
	WORD("child_process"), WORD("process"), WORD("globalThis"), WORD("global"),
};

static bool acts(struct rein_str s)
{
	return str_among(s, acting, ARRAY_SIZE(acting));
}

static bool name(const struct code *c, size_t k)
{
	return k < c->n && c->t[k].kind == TOK_NAME;
}

static bool named(const struct code *c, size_t k, const char *what)
{
	return name(c, k) && str_is(c->t[k].s, what);
}

static struct rein_str joined(const struct code *c, struct rein_str a, struct rein_str b)
{
	struct sbuf t = {.a = c->cx->a};

	sbuf_str(&t, a);
	if (b.n && b.p[0] != '.')
		sbuf_char(&t, '.');
	sbuf_str(&t, b);
	return sbuf_view(&t);
}

static void add(struct code *c, struct rein_str as, struct rein_str means, unsigned *n)
{
	struct code_alias *a;

	if (!as.n || memchr(as.p, '.', as.n) || rein_str_eq(as, means))
		return;
	if (++*n > MAX_ALIASES) {
		cx_incomplete(c->cx, c->at, "it gives things more names than are followed");
		return;
	}
	a = arena_new(c->cx->a, struct code_alias);
	*a = (struct code_alias){as, means, c->aliases};
	c->aliases = a;
}

/* import a, b as c / from a import b, c as d: gives the index of the last token of it */
static size_t python_import(struct code *c, size_t k, unsigned *n)
{
	struct rein_str from = STR("");
	size_t j = k + 1;

	if (named(c, k, "from")) {
		if (!name(c, j) || !named(c, j + 1, "import"))
			return k;
		from = c->t[j].s;
		j += 2;
		if (code_punct(c, j, '*') && acts(from))
			fact(c->cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->at, show(c->cx, from),
			     "code that has all names of a module, by which it can do anything");
	}
	if (code_punct(c, j, '('))
		j++;
	while (name(c, j)) {
		struct rein_str what = from.n ? joined(c, from, c->t[j].s) : c->t[j].s, as = c->t[j].s;

		j++;
		if (named(c, j, "as") && name(c, j + 1)) {
			as = c->t[j + 1].s;
			j += 2;
		}
		add(c, as, what, n);
		if (!code_punct(c, j, ','))
			break;
		j++;
	}
	return j - 1;
}

/* "node:fs/promises" as fs.promises */
static struct rein_str module(const struct code *c, struct rein_str s)
{
	struct sbuf t = {.a = c->cx->a};

	if (str_starts(s, "node:"))
		s = str_from(s, 5);
	for (size_t i = 0; i < s.n; i++)
		sbuf_char(&t, s.p[i] == '/' ? '.' : s.p[i]);
	return sbuf_view(&t);
}

/* y = require("x"), {y: z} = require("x"), require("x").y */
static void node_require(struct code *c, size_t k, unsigned *n)
{
	struct rein_str mod;

	if (!code_punct(c, k + 1, '(') || k + 2 >= c->n || c->t[k + 2].kind != TOK_STR || !code_punct(c, k + 3, ')'))
		return;
	mod = module(c, c->t[k + 2].s);
	if (name(c, k + 4) && c->t[k + 4].s.n && c->t[k + 4].s.p[0] == '.') {
		c->t[k + 4].s = joined(c, mod, c->t[k + 4].s);
		if (code_punct(c, k + 5, '(')) /* y = require("x").f(…) is what f gives */
			return;
		mod = c->t[k + 4].s;
	}
	if (k >= 2 && code_punct(c, k - 1, '=') && name(c, k - 2))
		add(c, c->t[k - 2].s, mod, n);
	if (k < 2 || !code_punct(c, k - 1, '=') || !code_punct(c, k - 2, '}'))
		return;
	for (size_t j = k - 2; j-- > 0 && !code_punct(c, j, '{');)
		if (name(c, j) && j && code_punct(c, j - 1, ':') && j > 1 && name(c, j - 2))
			add(c, c->t[j].s, joined(c, mod, c->t[j - 2].s), n);
		else if (name(c, j) && !code_punct(c, j + 1, ':'))
			add(c, c->t[j].s, joined(c, mod, c->t[j].s), n);
}

/* help(os), dir(os): looked at, and not handed on. */
static bool looked_at(const struct code *c, size_t k)
{
	return k >= 2 && code_punct(c, k - 1, '(') && code_punct(c, k + 1, ')') && name(c, k - 2) &&
	       str_in(c->t[k - 2].s, "dir help print type repr id inspect.getsource inspect.getfile "
					  "inspect.getmembers console.log Object.keys");
}

static void handed_on(const struct code *c, size_t k)
{
	bool target = code_punct(c, k + 1, '=') && !code_punct(c, k + 2, '=');

	/* import fs from 'fs': what is called on it is seen by its name */
	if (k && name(c, k - 1) && str_is(c->t[k - 1].s, "import") && name(c, k + 1) && str_is(c->t[k + 1].s, "from") &&
	    str_in(c->t[k].s, "fs os path"))
		return;
	if (!acts(c->t[k].s) || target || code_punct(c, k + 1, ':') || looked_at(c, k))
		return;
	fact(c->cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->at, show(c->cx, c->t[k].s),
	     "code that hands a module on, by which it can do anything");
}

static void rewrite(struct code *c, struct tok *t)
{
	const char *dot = t->s.n ? memchr(t->s.p, '.', t->s.n) : NULL;
	struct rein_str first = dot ? str_to(t->s, (size_t)(dot - t->s.p)) : t->s;

	for (const struct code_alias *a = c->aliases; a && first.n; a = a->next)
		if (rein_str_eq(a->name, first)) {
			t->s = dot ? joined(c, a->means, str_from(t->s, first.n)) : a->means;
			return;
		}
}

void code_resolve(struct code *c)
{
	bool python = code_lang_is(c, LANG_PYTHON), node = code_lang_is(c, LANG_NODE);
	size_t k = 0;
	unsigned n = 0;

	for (; (python || node) && k < c->n; k++) {
		if (python && (named(c, k, "import") || named(c, k, "from"))) {
			k = python_import(c, k, &n);
			continue;
		}
		if (node && named(c, k, "require"))
			node_require(c, k, &n);
		if (name(c, k) && code_punct(c, k + 1, '=') && name(c, k + 2) && !code_punct(c, k + 3, '(')) {
			rewrite(c, &c->t[k + 2]);
			if (memchr(c->t[k + 2].s.p, '.', c->t[k + 2].s.n) || acts(c->t[k + 2].s) ||
			    str_is(c->t[k + 2].s, "open")) {
				add(c, c->t[k].s, c->t[k + 2].s, &n); /* f = os.remove, o = os */
				if (acts(c->t[k + 2].s)) {
					k += 2;
					continue;
				}
			}
		}
		if (c->aliases && name(c, k)) {
			if (!cx_work(c->cx, 4 * n + 20))
				return;
			rewrite(c, &c->t[k]);
		}
		if (name(c, k))
			handed_on(c, k);
	}
}
