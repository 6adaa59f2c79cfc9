/* SPDX-License-Identifier: Apache-2.0 */
/* See gitforgot.h. A mask is what was hidden: a whiteout for each path. */
#include "engine/gitforgot.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/strlist.h"
#include "engine/gitindex.h"
#include "sys/tree.h"

#define INDEX_MAX ((size_t)64 << 20)

struct forgot {
	struct rein_strlist hidden; /* relative to the tree, sorted */
	const char *above;	    /* of the repository's own directory, which its index is about: "" or "sub/" */
	struct rein_strlist known;  /* hidden ones that git knew, sorted as git has them */
	bool *still;		    /* and still does */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int on_mask(const struct rein_visit *v, void *arg, struct rein_err *err)
{
	struct forgot *f = arg;

	if (!S_ISCHR(v->fp.mode))
		return 0;
	return rein_strlist_add(&f->hidden, v->path + strlen("./")) < 0 ? rein_err_nomem(err) : 0;
}

/* The path, or a directory that it lies in. */
static bool was_hidden(const struct forgot *f, const char *name)
{
	char path[PATH_MAX], *p = path;
	size_t n = (size_t)snprintf(path, sizeof(path), "%s%s", f->above, name);

	if (n >= sizeof(path))
		return false;
	for (;;) {
		char *slash = strchr(p, '/');

		if (slash)
			*slash = '\0';
		p = path;
		if (bsearch(&p, f->hidden.v, f->hidden.n, sizeof(p), by_name))
			return true;
		if (!slash)
			return false;
		*slash = '/';
		p = slash + 1;
	}
}

static bool on_old_name(void *arg, const char *name)
{
	struct forgot *f = arg;

	return !was_hidden(f, name) || rein_strlist_add(&f->known, name) == 0;
}

static bool on_new_name(void *arg, const char *name)
{
	struct forgot *f = arg;
	char *const *at = bsearch(&name, f->known.v, f->known.n, sizeof(name), by_name);

	if (at)
		f->still[at - f->known.v] = true;
	return true;
}

static void forgot_done(struct forgot *f)
{
	rein_strlist_done(&f->hidden);
	rein_strlist_done(&f->known);
	rein_free(f->still);
}

static int read_mask(const char *mask, struct forgot *f, struct rein_err *err)
{
	auto_close int fd = open(mask, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return rein_err_errno(err, "open '%s'", mask);
	if (rein_tree_walk(fd, ".", on_mask, f, err) < 0)
		return -err->code;
	if (f->hidden.n > 1)
		qsort(f->hidden.v, f->hidden.n, sizeof(char *), by_name);
	return 0;
}

/* What is no index tells nothing. */
static int look(const struct rein_content *content, const struct rein_change *x, struct forgot *f, bool *ret,
		struct rein_err *err)
{
	auto_buf struct rein_buf old = REIN_BUF(INDEX_MAX + 1), new = REIN_BUF(INDEX_MAX + 1);

	*ret = false;
	if (rein_content_read(content, x, false, INDEX_MAX, &old, err) < 0 ||
	    rein_content_read(content, x, true, INDEX_MAX, &new, err) < 0)
		return -err->code;
	if (!rein_gitindex_names((struct rein_str){old.p, old.n}, on_old_name, f) || !f->known.n)
		return 0;
	qsort(f->known.v, f->known.n, sizeof(char *), by_name);
	f->still = rein_calloc(f->known.n, sizeof(*f->still));
	if (!f->still)
		return rein_err_nomem(err);
	if (!rein_gitindex_names((struct rein_str){new.p, new.n}, on_new_name, f))
		return 0;
	for (size_t i = 0; i < f->known.n; i++)
		*ret |= !f->still[i];
	return 0;
}

int rein_gitforgot_mark(const struct rein_content *content, const struct rein_changes *c,
			struct rein_change_fact *facts, struct rein_err *err)
{
	static const char index[] = ".git/index";

	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		const char *mask = content->t->roots[x->root].mask;
		const size_t n = strlen(x->path), base = n < sizeof(index) - 1 ? 0 : n - (sizeof(index) - 1);
		auto_(forgot_done) struct forgot f = {0};
		auto_free char *above = NULL;
		bool found;

		if (!mask || x->skipped || x->kind != REIN_CHANGE_MODIFIED || !rein_streq(x->path + base, index) ||
		    (base && x->path[base - 1] != '/'))
			continue;
		above = rein_strndup(x->path, base);
		if (!above)
			return rein_err_nomem(err);
		f.above = above;
		if (read_mask(mask, &f, err) < 0 || look(content, x, &f, &found, err) < 0)
			return -err->code;
		if (found)
			facts[i].bits |= REIN_CHANGE_FORGOT;
	}
	return 0;
}
