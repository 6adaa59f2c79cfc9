/* SPDX-License-Identifier: Apache-2.0 */
/* See alias.h. Follows which copy each name would stand for; copy 0 is the untouched real file. */
#include "alias.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
	uint64_t ino, dir;
	char name[256];
	unsigned copy;
};

struct copies {
	struct name *names;
	size_t nnames;
	bool *changed; /* by copy */
	uint64_t *ino;
	size_t ncopies;
};

static bool had_several_names(const struct tree *t, uint64_t ino)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].st.st_ino == ino)
			return !S_ISDIR(t->v[i].st.st_mode) && t->v[i].st.st_nlink > 1;
	return false;
}

static struct name *find(struct copies *c, uint64_t ino, uint64_t dir, const char *name)
{
	struct name fresh = {.ino = ino, .dir = dir};

	for (size_t i = 0; i < c->nnames; i++)
		if (c->names[i].ino == ino && c->names[i].dir == dir &&
		    !strcmp(c->names[i].name, name))
			return &c->names[i];
	snprintf(fresh.name, sizeof(fresh.name), "%s", name);
	lab_push(c->names, c->nnames, fresh);
	return &c->names[c->nnames - 1];
}

/* Any change through a name, be it a new name, gives it a copy of its own. */
static unsigned split(struct copies *c, uint64_t ino, uint64_t dir, const char *name)
{
	struct name *n = find(c, ino, dir, name);

	if (n->copy == 0) {
		size_t both = c->ncopies;

		lab_push(c->ino, both, ino);
		lab_push(c->changed, c->ncopies, false);
		n->copy = (unsigned)c->ncopies; /* numbered from 1 */
	}
	return n->copy;
}

static bool other_changed(const struct copies *c, uint64_t ino, unsigned copy)
{
	for (size_t i = 0; i < c->ncopies; i++)
		if (c->ino[i] == ino && c->changed[i] && i + 1 != copy)
			return true;
	return false;
}

static void take_out(struct alias_finding *ret, unsigned op)
{
	ret->out[op] = ret->any_out = true;
}

static void follow(struct copies *c, const struct op_link_event *e, bool keep_changes,
		   struct alias_finding *ret)
{
	unsigned copy = find(c, e->ino, e->dir, e->name)->copy;

	if (other_changed(c, e->ino, copy) && (e->what == 'R' || (e->what == 'M' && !keep_changes)))
		take_out(ret, e->op);
	if (e->what == 'R')
		return;
	copy = split(c, e->ino, e->dir, e->name);
	if (e->what == 'M')
		c->changed[copy - 1] = true;
	else
		find(c, e->ino, e->to_dir, e->to_name)->copy = copy;
}

static uint64_t directory_of(const struct tree *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path)) : lab_strdup(".");
	const struct tree_entry *e = tree_find(t, dir);

	free(dir);
	return e ? e->st.st_ino : 0;
}

/* Names of this file at the end: of the given copy, and of any. */
static void count_names(struct copies *c, const struct tree *after, uint64_t ino, unsigned copy,
			unsigned *of_copy, unsigned *of_any)
{
	*of_copy = *of_any = 0;
	for (size_t i = 0; i < after->n; i++) {
		const char *path = after->v[i].path, *slash = strrchr(path, '/');

		if (after->v[i].st.st_ino != ino)
			continue;
		++*of_any;
		*of_copy +=
			find(c, ino, directory_of(after, path), slash ? slash + 1 : path)->copy ==
			copy;
	}
}

static bool still_there(const struct tree *after, const struct op_link_event *e)
{
	for (size_t i = 0; i < after->n; i++) {
		const char *path = after->v[i].path, *slash = strrchr(path, '/');

		if (after->v[i].st.st_ino == e->ino && directory_of(after, path) == e->dir &&
		    !strcmp(slash ? slash + 1 : path, e->name))
			return true;
	}
	return false;
}

/*
 * Changes whose copy has no name left, while the file has; and names made by link from one that is
 * deleted later, of which nothing tells that it was no copy.
 */
static void find_lost(struct copies *c, const struct tree *after, const struct op_log *log,
		      struct alias_finding *ret)
{
	unsigned of_copy, of_any;

	for (size_t i = 0; i < log->nlinks; i++) {
		const struct op_link_event *e = &log->links[i];
		unsigned copy = find(c, e->ino, e->dir, e->name)->copy;

		if (e->what == 'l' && !still_there(after, e))
			take_out(ret, e->op);
		if (e->what != 'M' || !copy)
			continue;
		count_names(c, after, e->ino, copy, &of_copy, &of_any);
		if (of_copy == 0 && of_any > 0)
			take_out(ret, e->op);
	}
}

void alias_examine(const struct tree *before, const struct tree *after, const struct op_log *log,
		   size_t nops, bool keep_changes, struct alias_finding *ret)
{
	struct copies c = {0};
	struct op_log ours = {0};

	*ret = (struct alias_finding){.out = lab_alloc(nops ? nops : 1)};
	for (size_t i = 0; i < log->nlinks; i++)
		if (had_several_names(before, log->links[i].ino))
			lab_push(ours.links, ours.nlinks, log->links[i]);
	for (size_t i = 0; i < ours.nlinks; i++)
		follow(&c, &ours.links[i], keep_changes, ret);
	find_lost(&c, after, &ours, ret);
	for (size_t i = 0; i < before->n && !ret->left_place; i++) {
		const struct tree_entry *b = &before->v[i], *a = tree_find(after, b->path);

		ret->left_place = S_ISREG(b->st.st_mode) && b->st.st_nlink > 1 &&
				  (!a || a->st.st_ino != b->st.st_ino);
	}
	for (size_t i = 0; i < c.ncopies; i++)
		if (c.changed[i] && other_changed(&c, c.ino[i], (unsigned)i + 1))
			ret->may_refuse = true;
	free(ours.links);
	free(c.names);
	free(c.ino);
	free(c.changed);
}
