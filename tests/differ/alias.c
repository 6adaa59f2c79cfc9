/* SPDX-License-Identifier: Apache-2.0 */
/* See alias.h. Follows which copy each name would stand for; copy 0 is the untouched real file. */
#include "alias.h"

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

static void follow(struct copies *c, const struct op_link_event *e, struct alias_finding *ret)
{
	unsigned copy;

	if (e->what == 'R') {
		copy = find(c, e->ino, e->dir, e->name)->copy;
		if (other_changed(c, e->ino, copy))
			ret->stale_read[e->op] = ret->any_stale = true;
		return;
	}
	copy = split(c, e->ino, e->dir, e->name);
	if (e->what == 'M')
		c->changed[copy - 1] = true;
	else
		find(c, e->ino, e->to_dir, e->to_name)->copy = copy;
}

void alias_examine(const struct tree *before, const struct op_log *log, size_t nops,
		   struct alias_finding *ret)
{
	struct copies c = {0};

	*ret = (struct alias_finding){.stale_read = lab_alloc(nops ? nops : 1)};
	for (size_t i = 0; i < log->nlinks; i++)
		if (had_several_names(before, log->links[i].ino))
			follow(&c, &log->links[i], ret);
	for (size_t i = 0; i < c.ncopies; i++)
		if (c.changed[i] && other_changed(&c, c.ino[i], (unsigned)i + 1))
			ret->may_refuse = true;
	free(c.names);
	free(c.ino);
	free(c.changed);
}
