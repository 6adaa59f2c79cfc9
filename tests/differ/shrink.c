/* SPDX-License-Identifier: Apache-2.0 */
/* See shrink.h. */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>

struct search {
	struct ops *lists;
	size_t nlists;
	shrink_fails fails;
	void *ctx;
	double deadline;
};

/* Try without operations [from, to) of one list; keeps the cut when it still fails. */
static bool try_without(struct search *s, size_t list, size_t from, size_t to)
{
	struct ops old = s->lists[list];
	bool *keep = lab_alloc(old.n + 1);

	memset(keep, true, old.n);
	memset(keep + from, false, to - from);
	s->lists[list] = ops_select(&old, keep);
	free(keep);
	if (s->fails(s->ctx, s->lists)) {
		free(old.v);
		return true;
	}
	free(s->lists[list].v);
	s->lists[list] = old;
	return false;
}

/* One pass with chunks of a given size, from the end: later operations depend on earlier ones. */
static bool pass(struct search *s, size_t list, size_t chunk)
{
	size_t end = s->lists[list].n;
	bool any = false;

	while (end > 0 && lab_now() < s->deadline) {
		size_t from = end > chunk ? end - chunk : 0;

		any |= try_without(s, list, from, end);
		end = from;
	}
	return any;
}

/* ---- names ---- */

struct names {
	char **v;
	size_t n;
};

static char *short_name(struct names *names, const char *name, size_t n)
{
	size_t i = 0;

	if (n == 0 || (n == 1 && *name == '.') || (n == 2 && !memcmp(name, "..", 2)))
		return lab_format("%.*s", (int)n, name);
	while (i < names->n && (strlen(names->v[i]) != n || memcmp(names->v[i], name, n)))
		i++;
	if (i == names->n)
		lab_push(names->v, names->n, lab_format("%.*s", (int)n, name));
	return i < 26 ? lab_format("%c", (char)('a' + i)) : lab_format("n%zu", i);
}

static char *short_path(struct names *names, const char *path)
{
	struct lab_text t = {0};

	lab_text_add(&t, "", 0);
	for (;;) {
		size_t n = strcspn(path, "/");
		char *s = short_name(names, path, n);

		lab_text_add(&t, s, strlen(s));
		free(s);
		path += n;
		if (!*path)
			return t.p;
		lab_text_add(&t, path++, 1);
	}
}

static void try_short_names(struct search *s)
{
	struct ops *old = lab_alloc(s->nlists * sizeof(*old));
	struct names names = {0};

	memcpy(old, s->lists, s->nlists * sizeof(*old));
	for (size_t i = 0; i < s->nlists; i++) {
		s->lists[i].v = lab_alloc((old[i].n + 1) * sizeof(struct op));
		for (size_t j = 0; j < old[i].n; j++) {
			struct op *op = &s->lists[i].v[j];

			*op = old[i].v[j];
			for (int k = 0; k < 2; k++) {
				if (!op->s[k] || !ops_is_path(op, k))
					continue;
				op->s[k] = short_path(&names, op->s[k]);
				op->sn[k] = strlen(op->s[k]);
			}
		}
	}
	if (!s->fails(s->ctx, s->lists))
		memcpy(s->lists, old, s->nlists * sizeof(*old));
}

void shrink(struct ops *lists, size_t nlists, shrink_fails fails, void *ctx, double seconds)
{
	struct search s = {lists, nlists, fails, ctx, lab_now() + seconds};
	bool any = true;

	for (size_t i = 0; i < nlists; i++) { /* own arrays, so that they can be replaced */
		struct ops copy = {lab_alloc((lists[i].n + 1) * sizeof(struct op)), lists[i].n};

		if (lists[i].n)
			memcpy(copy.v, lists[i].v, lists[i].n * sizeof(struct op));
		lists[i] = copy;
	}
	while (any && lab_now() < s.deadline) {
		any = false;
		for (size_t i = nlists; i-- > 0;) {
			size_t chunk = (lists[i].n + 1) / 2;

			for (; chunk > 0; chunk /= 2)
				any |= pass(&s, i, chunk);
		}
	}
	try_short_names(&s);
}
