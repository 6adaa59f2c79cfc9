/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same secrets by way of vectorscan: it tells at which bytes one might begin or be marked, and those
 * bytes, in order, are looked at as the matcher of find.c would. What is a secret stands in one place.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/auto.h"
#include "secret/internal.h"
#include "sys/module.h"

#define WORTH_LOADING ((size_t)32 << 10) /* below this the own matcher is done before the module is loaded */

struct triggers {
	struct rein_str t;
	size_t *v, n, cap;
	bool failed;
};

static const struct rein_scan_module *module;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	struct rein_err ignored = {0};

	module = sys_module("rein-scan", REIN_SCAN_SYMBOL, REIN_SCAN_ABI, &ignored);
}

static void add(struct triggers *g, size_t at)
{
	if (g->failed || at >= g->t.n || (g->n && g->v[g->n - 1] == at))
		return;
	if (rein_grow(g->v, g->n, g->cap) < 0)
		g->failed = true;
	else
		g->v[g->n++] = at;
}

static bool is_url(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* A word that says secret ends here: is it the name of an assignment, or of an option? */
static void add_named(struct triggers *g, size_t end)
{
	size_t i = end, start = end, gap = 0;

	while (i < g->t.n && i - end < SECRET_NAME_MAX && (is_url(g->t.p[i]) || g->t.p[i] == '.'))
		i++;
	while (i < g->t.n && gap < SECRET_GAP_MAX && g->t.p[i] && strchr(SECRET_GAP, g->t.p[i])) {
		i++;
		gap++;
	}
	if (i < g->t.n && (g->t.p[i] == '=' || g->t.p[i] == ':' || g->t.p[i] == '>'))
		add(g, i);
	if (i + 1 < g->t.n && g->t.p[i] && strchr(SECRET_BEFORE_EQUALS, g->t.p[i]) && g->t.p[i + 1] == '=')
		add(g, i + 1);
	while (start && end - start < SECRET_OPTION_MAX + 2 && is_url(g->t.p[start - 1]))
		start--;
	if (start + 2 < end && g->t.p[start] == '-' && g->t.p[start + 1] == '-')
		add(g, start);
	if (end < g->t.n && (g->t.p[end] == ' ' || g->t.p[end] == '\t'))
		for (size_t back = 3; back <= 5 && back < end; back += 2) /* "passwd " and "password " of a .netrc */
			if (g->t.p[end - back] == 's' && g->t.p[end - back + 1] == 'w')
				add(g, end - back);
}

/* ":5432:x" or ":*:x", to the first colon. */
static void add_pgpass(struct triggers *g, size_t end)
{
	size_t i = end - 2;

	while (i && end - i < 8 && g->t.p[i - 1] != ':')
		i--;
	if (i)
		add(g, i - 1);
}

static void on_match(void *arg, unsigned id, size_t end)
{
	/* how far before the end of the match the byte stands at which a matcher begins */
	static const unsigned char back[] = {0, 3, 36, 11, 3, 7, 6, 1};
	struct triggers *g = arg;

	if (id == SCAN_WORD) {
		add_named(g, end);
	} else if (id == SCAN_PGPASS) {
		add_pgpass(g, end);
	} else if (id > SCAN_WORD && id - SCAN_WORD < ARRAY_SIZE(back)) {
		if (end >= back[id - SCAN_WORD])
			add(g, end - back[id - SCAN_WORD]);
	} else if (id < secret_formats_n) {
		const struct format *f = &secret_formats[id];
		size_t n = strlen(f->prefix) + (f->min < SCAN_BODY ? f->min : SCAN_BODY);

		if (end >= n)
			add(g, end - n);
	}
}

static int ascending(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

bool rein_secret_each_scan(struct rein_str t, enum rein_secret_want want, rein_secret_fn *fn, void *arg)
{
	struct triggers g = {.t = t};
	size_t from = 0;
	bool ok;

	pthread_once(&once, load);
	if (!module)
		return false;
	ok = module->scan(t.p, t.n, on_match, &g) == 0 && !g.failed;
	if (g.n)
		qsort(g.v, g.n, sizeof(g.v[0]), ascending);
	for (size_t i = 0; ok && i < g.n; i++) {
		struct found f;

		if (g.v[i] < from || (i && g.v[i] == g.v[i - 1]) || !secret_wanted(t, g.v[i], want, &f) || f.hit.at < from)
			continue;
		if (!fn(arg, &f.hit))
			break;
		from = f.hit.at + f.hit.n;
	}
	rein_free(g.v);
	return ok;
}

void rein_secret_each(struct rein_str t, enum rein_secret_want want, rein_secret_fn *fn, void *arg)
{
	if (t.n < WORTH_LOADING || !rein_secret_each_scan(t, want, fn, arg))
		rein_secret_each_own(t, want, fn, arg);
}
