/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing some of the changes. What moves as one stays one: a new directory comes with the chosen
 * things in it, of a deleted directory the chosen parts go, one that was replaced goes or stays; a file
 * with several names is chosen by all of them.
 */
#include <stdlib.h>
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

/* The pattern, or the name that it is as it stands: "[id].tsx" is a file's, too. */
static int matches_one(const char *glob, const char *path, bool *ret, struct rein_err *err)
{
	auto_buf struct rein_buf plain = REIN_BUF(1u << 20);

	*ret = rein_glob_match(glob, path);
	if (*ret || rein_glob_is_literal(glob))
		return 0;
	for (; *glob; glob++) {
		if (strchr("*?[\\", *glob))
			rein_buf_char(&plain, '\\');
		rein_buf_char(&plain, *glob);
	}
	rein_buf_char(&plain, '\0');
	if (plain.failed)
		return rein_err_nomem(err);
	*ret = rein_glob_match(plain.p, path);
	return 0;
}

/* The path or a directory above it, whatever their length: a path that was cut would be another one. */
int rein_named(const struct rein_tx *t, const struct rein_strlist *globs, const struct rein_change *x, bool *ret,
	       struct rein_err *err)
{
	*ret = false;
	for (size_t i = 0; i < globs->n && !*ret; i++) {
		const char *g = rein_pattern_in(t, x, globs->v[i]);
		const size_t n = strlen(g);
		auto_free char *dir = rein_strdup(x->path);
		auto_free char *trimmed = rein_strndup(g, n > 1 && g[n - 1] == '/' ? n - 1 : n);

		if (!dir || !trimmed)
			return rein_err_nomem(err);
		for (char *slash = dir; slash && !*ret;) {
			if (matches_one(trimmed, dir, ret, err) < 0)
				return -err->code;
			slash = strrchr(dir, '/');
			if (slash)
				*slash = '\0';
		}
	}
	return 0;
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

void rein_open_created(struct rein_changes *c, size_t top, const struct rein_fp *now)
{
	struct rein_change *x = &c->v[top];
	const size_t n = strlen(x->path);

	for (size_t i = top + 1, end = end_of(c, top); i < end; i++)
		if (inside(x, &c->v[i]) && !strchr(c->v[i].path + n + 1, '/'))
			c->v[i].top = true;
	x->kind = REIN_CHANGE_META;
	x->what = REIN_WHAT_TIMES;
	x->before = x->after = *now;
	x->clash = REIN_CLASH_NONE;
	x->opaque = false;
	x->top = x->skipped = true;
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
	if (x->skipped ? !chosen : !left)
		return 0; /* all of it, or nothing; all that is in it without itself is neither */
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

size_t rein_top_of(const struct rein_changes *c, size_t i)
{
	size_t top = i;

	while (top > 0 && !c->v[top].top)
		top--;
	return inside(&c->v[top], &c->v[i]) ? top : i;
}

static int leave_out(struct rein_changes *c, size_t i, struct rein_err *err)
{
	size_t top = rein_top_of(c, i);

	c->v[i].skipped = true;
	for (size_t k = i + 1, end = end_of(c, i); k < end; k++)
		if (rein_top_of(c, k) == top)
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

/* A directory's new time is only the trace of another change; what was left out before is not here. */
static bool can_be_chosen(const struct rein_change *x)
{
	return !x->skipped && (x->kind != REIN_CHANGE_META || !S_ISDIR(x->before.mode) || x->what & ~REIN_WHAT_TIMES);
}

/*
 * A pattern that names nothing is a mistake: a mistyped --except would commit what was to be kept back, and nobody would
 * be told.
 */
static int all_name_something(const struct rein_tx *t, const struct rein_changes *c, const char *option,
			      const struct rein_strlist *globs, struct rein_err *err)
{
	for (size_t i = 0; i < globs->n; i++) {
		const struct rein_strlist one = {.v = &globs->v[i], .n = 1};
		bool named = false;

		for (size_t k = 0; k < c->n && !named; k++)
			if (can_be_chosen(&c->v[k]) && rein_named(t, &one, &c->v[k], &named, err) < 0)
				return -err->code;
		if (!named)
			return rein_err_set(err, REIN_E_USAGE, "%s '%s': no change of transaction %s has such a path", option,
					    globs->v[i], t->id);
	}
	return 0;
}

int rein_select(const struct rein_tx *t, struct rein_changes *c, const struct rein_strlist *only,
		const struct rein_strlist *except, struct rein_err *err)
{
	if (all_name_something(t, c, "--only", only, err) < 0 || all_name_something(t, c, "--except", except, err) < 0)
		return -err->code;
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];
		bool named, spared;

		if (rein_named(t, only, x, &named, err) < 0 || rein_named(t, except, x, &spared, err) < 0)
			return -err->code;
		if ((only->n && !named) || spared)
			x->skipped = true;
		/* what is not to come under its new name is not to go from its old one either */
		if (spared && x->from && leave_source_out(c, x, err) < 0)
			return -err->code;
	}
	return rein_select_marked(c, err);
}

static int by_file(const void *a, const void *b)
{
	const struct rein_change *x = *(const struct rein_change *const *)a, *y = *(const struct rein_change *const *)b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->before.ino != y->before.ino)
		return x->before.ino < y->before.ino ? -1 : 1;
	return 0;
}

int rein_names_together(const struct rein_changes *c, struct rein_err *err)
{
	auto_free const struct rein_change **v = rein_calloc(c->n ? c->n : 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].in_place && c->v[i].what)
			v[n++] = &c->v[i];
	if (n > 1)
		qsort(v, n, sizeof(*v), by_file);
	for (size_t i = 1; i < n; i++)
		if (by_file(&v[i - 1], &v[i]) == 0 &&
		    (v[i - 1]->skipped != v[i]->skipped || v[i - 1]->decided != v[i]->decided))
			return rein_err_set(err, REIN_E_USAGE, "'%s' and '%s' are one file: choose both or neither",
					    v[i - 1]->path, v[i]->path);
	return 0;
}

/* A name that a real file has in the run, and the number of that. */
struct member {
	struct rein_change *x;
	uint64_t ino;
};

static int by_member(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->x->root != y->x->root)
		return x->x->root < y->x->root ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* All names of one file. */
static void part_if_left(const struct member *v, size_t n)
{
	bool changes = false, stays = false;

	for (size_t i = 0; i < n; i++) {
		changes |= v[i].x->in_place && !v[i].x->skipped;
		stays |= v[i].x->skipped && (v[i].x->in_place || v[i].x->from);
	}
	for (size_t i = 0; stays && !changes && i < n; i++) {
		struct rein_change *x = v[i].x;

		if (x->skipped || !x->link_to)
			continue;
		rein_free(take_ptr(x->link_to));
		x->through = REIN_THROUGH_NOTHING;
	}
}

/*
 * A new name of a file that the run changed: where the file is to stay as it is, under the names it has, the change must
 * not reach it through the new one, which comes as a file of its own.
 */
static int part_linked(struct rein_changes *c, struct rein_err *err)
{
	auto_free struct member *v = rein_calloc(c->n ? c->n : 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		struct rein_change *x = &c->v[i];

		if (x->through || (x->in_place && x->what))
			v[n++] = (struct member){x, x->through ? x->link_ino : x->before.ino};
	}
	if (n)
		qsort(v, n, sizeof(*v), by_member);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && by_member(&v[i], &v[k]) == 0; k++)
			;
		part_if_left(v + i, k - i);
	}
	return 0;
}

static void part_if_halved(const struct rein_changes *c, struct rein_change *x)
{
	size_t k = x->from ? rein_changes_find(c, x->root, x->from) : c->n;

	for (; k < c->n && c->v[k].root == x->root && rein_streq(c->v[k].path, x->from); k++) {
		if (!c->v[k].renamed_away || c->v[k].skipped == x->skipped)
			continue;
		c->v[k].renamed_away = false;
		rein_free(take_ptr(x->from));
		if (x->kind == REIN_CHANGE_CREATED)
			x->before = (struct rein_fp){0}; /* it was the old name's */
		return;
	}
}

void rein_part_halved(struct rein_changes *c)
{
	for (size_t i = 0; i < c->n; i++)
		part_if_halved(c, &c->v[i]);
}

int rein_part_left(struct rein_changes *c, struct rein_err *err)
{
	if (rein_names_together(c, err) < 0 || part_linked(c, err) < 0)
		return -err->code;
	rein_part_halved(c);
	return 0;
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
	return rein_part_left(c, err);
}
