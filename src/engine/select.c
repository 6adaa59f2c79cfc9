/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing some of the changes. What moves as one stays one: a new directory comes with the chosen
 * things in it, of a deleted directory the chosen parts go, one that was replaced goes or stays.
 */
#include <limits.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/glob.h"
#include "engine/engine.h"

const char *rein_pattern_in(const struct rein_tx *t, const struct rein_change *x, const char *glob)
{
	const char *real = t->roots[x->root].real, *rest;

	if (rein_streq(real, "/") || !rein_path_within(glob, real))
		return glob;
	rest = glob + strlen(real);
	return rein_streq(rest, "") || rein_streq(rest, "/") ? "**" : rest;
}

/* The path or a directory above it. */
static bool matches(const struct rein_tx *t, const struct rein_strlist *globs, const struct rein_change *x)
{
	char dir[PATH_MAX];

	for (size_t i = 0; i < globs->n; i++) {
		snprintf(dir, sizeof(dir), "%s", x->path);
		for (;;) {
			char *slash;
			const char *g = rein_pattern_in(t, x, globs->v[i]);
			size_t n = strlen(g);
			char trimmed[PATH_MAX];

			snprintf(trimmed, sizeof(trimmed), "%.*s",
				 (int)(n > 1 && g[n - 1] == '/' ? n - 1 : n), g);
			if (rein_glob_match(trimmed, dir))
				return true;
			slash = strrchr(dir, '/');
			if (!slash)
				break;
			*slash = '\0';
		}
	}
	return false;
}

/* What lies in a directory follows it directly. */
static size_t end_of(const struct rein_changes *c, size_t top)
{
	size_t n = strlen(c->v[top].path), i = top + 1;

	while (i < c->n && c->v[i].root == c->v[top].root &&
	       !strncmp(c->v[i].path, c->v[top].path, n) && c->v[i].path[n] == '/')
		i++;
	return i;
}

static bool inside(const struct rein_change *top, const struct rein_change *x)
{
	size_t n = strlen(top->path);

	return x != top && x->root == top->root && !x->top && !strncmp(x->path, top->path, n) &&
	       x->path[n] == '/';
}

static void count_inside(const struct rein_changes *c, size_t top, size_t *chosen, size_t *left)
{
	*chosen = *left = 0;
	for (size_t i = top + 1, end = end_of(c, top); i < end; i++)
		if (inside(&c->v[top], &c->v[i]))
			++*(c->v[i].skipped ? left : chosen);
}

/* Of a deleted directory only parts go: each chosen file becomes a deletion of its own. */
static void open_deleted(struct rein_changes *c, size_t top)
{
	c->v[top].skipped = true;
	for (size_t i = top + 1, end = end_of(c, top); i < end; i++) {
		struct rein_change *x = &c->v[i];

		if (!inside(&c->v[top], x))
			continue;
		if (S_ISDIR(x->before.mode))
			x->skipped = true; /* an emptied directory stays */
	}
	for (size_t i = top + 1, end = end_of(c, top); i < end; i++)
		if (inside(&c->v[top], &c->v[i]) && !c->v[i].skipped)
			c->v[i].top = true;
}

/*
 * Whatever is chosen in a new directory needs every directory on the way to it: what is left out does
 * not come along, and would take it away. The first chosen one after a directory is in it, or none is.
 */
static void keep_the_way(struct rein_changes *c, size_t top)
{
	const char *next = NULL;

	for (size_t i = end_of(c, top); i-- > top + 1;) {
		struct rein_change *x = &c->v[i];

		if (!inside(&c->v[top], x))
			continue;
		if (x->skipped && next && S_ISDIR(x->after.mode) && rein_path_within(next, x->path))
			x->skipped = false;
		if (!x->skipped)
			next = x->path;
	}
}

static int settle_top(struct rein_changes *c, size_t i, struct rein_err *err)
{
	struct rein_change *x = &c->v[i];
	size_t chosen, left;

	if (x->kind == REIN_CHANGE_META)
		return 0; /* nothing moves with it: what is new in it has a top of its own */
	count_inside(c, i, &chosen, &left);
	if (!left || (!chosen && x->skipped))
		return 0;
	if (x->kind == REIN_CHANGE_CREATED) {
		x->skipped = chosen == 0 && x->skipped;
		keep_the_way(c, i);
		return 0;
	}
	if (x->kind == REIN_CHANGE_DELETED) {
		open_deleted(c, i);
		return 0;
	}
	return rein_err_set(err, REIN_E_USAGE, "'%s' was replaced as a whole: choose all of it or nothing",
			    x->path);
}

/* The change that moves this one along. */
static size_t top_of(const struct rein_changes *c, size_t i)
{
	size_t top = i;

	while (top > 0 && !c->v[top].top)
		top--;
	return inside(&c->v[top], &c->v[i]) ? top : i;
}

static int leave_out(struct rein_changes *c, size_t i, struct rein_err *err)
{
	size_t top = top_of(c, i);

	c->v[i].skipped = true;
	for (size_t k = i + 1, end = end_of(c, i); k < end; k++)
		if (top_of(c, k) == top)
			c->v[k].skipped = true;
	return top == i ? 0 : settle_top(c, top, err);
}

/* The old name of what is not to come under its new one. */
static int leave_source_out(struct rein_changes *c, const struct rein_change *x, struct rein_err *err)
{
	const size_t old = rein_changes_find(c, x->root, x->from);

	if (old == c->n || !c->v[old].renamed_away || c->v[old].skipped)
		return 0;
	return leave_out(c, old, err);
}

int rein_leave_out(struct rein_changes *c, size_t i, struct rein_err *err)
{
	if (leave_out(c, i, err) < 0)
		return -err->code;
	for (size_t k = i, end = end_of(c, i); k < end; k++)
		if (c->v[k].from && c->v[k].skipped && leave_source_out(c, &c->v[k], err) < 0)
			return -err->code;
	return 0;
}

int rein_select(const struct rein_tx *t, struct rein_changes *c, const struct rein_strlist *only,
		const struct rein_strlist *except, struct rein_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if ((only->n && !matches(t, only, x)) || matches(t, except, x))
			x->skipped = true;
	}
	return rein_select_marked(c, err);
}

int rein_select_marked(struct rein_changes *c, struct rein_err *err)
{
	bool any = false;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].top && settle_top(c, i, err) < 0)
			return -err->code;
	/* a directory's time follows what happens in it */
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) &&
		    !(x->what & ~REIN_WHAT_TIMES))
			x->skipped = true;
		any |= x->top && !x->skipped;
	}
	if (!any)
		return rein_err_set(err, REIN_E_USAGE, "no change is chosen");
	/* a rename that is half chosen is no rename */
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		for (size_t k = 0; x->from && k < c->n; k++) {
			struct rein_change *g = &c->v[k];

			if (!g->renamed_away || g->root != x->root || !rein_streq(g->path, x->from) ||
			    g->skipped == x->skipped)
				continue;
			g->renamed_away = false;
			rein_free(take_ptr(x->from));
			break;
		}
	}
	return 0;
}
