/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at changes more closely, one question at a time. */
#include "engine/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "engine/gitconfig.h"
#include "engine/gitfiles.h"
#include "engine/gitforgot.h"
#include "engine/gitkept.h"
#include "policy/policy.h"
#include "secret/secret.h"
#include "sys/file.h"
#include "text/load.h"
#include "txn/content.h"

#define TREE_FACTOR 100 /* one in a hundred is the smallest share a rule can name */
#define DEPTH_MAX   256

void rein_facts_done(struct rein_facts *f)
{
	rein_free(f->v);
	*f = (struct rein_facts){0};
}

static bool has_new_content(const struct rein_change *x)
{
	return !x->skipped && S_ISREG(x->after.mode) &&
	       (x->kind == REIN_CHANGE_CREATED ||
		(x->kind == REIN_CHANGE_MODIFIED && x->what & (REIN_WHAT_CONTENT | REIN_WHAT_TYPE)));
}

static bool is_lost_file(const struct rein_change *x)
{
	return !x->skipped && !x->renamed_away && S_ISREG(x->before.mode) &&
	       (x->kind == REIN_CHANGE_DELETED || (x->kind == REIN_CHANGE_MODIFIED && x->what & REIN_WHAT_TYPE));
}

static bool holds(struct rein_str text, struct rein_str word)
{
	return word.n && text.n >= word.n && memmem(text.p, text.n, word.p, word.n);
}

struct news {
	struct rein_str after, before;
	const char *kind;
};

static bool on_secret(void *arg, const struct rein_secret_hit *h)
{
	struct news *n = arg;

	if (holds(n->before, (struct rein_str){n->after.p + h->at, h->n}))
		return true;
	n->kind = h->kind;
	return false;
}

/* A secret counts when the run brought it: what the old content held already is not news. */
static const char *new_secret(struct rein_str after, struct rein_str before)
{
	struct news n = {after, before, NULL};

	if (after.n)
		rein_secret_each(after, REIN_SECRET_LIKELY, on_secret, &n);
	return n.kind;
}

static int find_secrets(const struct rein_content *content, const struct rein_changes *c,
			struct rein_facts *f, struct rein_err *err)
{
	auto_buf struct rein_buf after = REIN_BUF(REIN_FACTS_SCANNED + 1), before = REIN_BUF(REIN_FACTS_SCANNED + 1);

	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (!has_new_content(x) || x->from)
			continue;
		if (rein_content_read(content, x, true, REIN_FACTS_SCANNED, &after, err) < 0)
			return -err->code;
		f->v[i].secret = new_secret((struct rein_str){after.p, after.n}, (struct rein_str){0});
		if (!f->v[i].secret)
			continue;
		if (x->kind == REIN_CHANGE_MODIFIED) {
			if (rein_content_read(content, x, false, REIN_FACTS_SCANNED, &before, err) < 0)
				return -err->code;
			f->v[i].secret = new_secret((struct rein_str){after.p, after.n},
						    (struct rein_str){before.p, before.n});
		}
		if (f->v[i].secret)
			f->v[i].bits |= REIN_CHANGE_SECRET;
	}
	return 0;
}

/* What the file was before, if it was git's already: what moves in from elsewhere is new to git. */
static int read_old_config(const struct rein_gitfiles *git, const struct rein_change *x, struct rein_buf *b,
			   struct rein_err *err)
{
	rein_buf_clear(b);
	if (x->from && !rein_gitfiles_is_config(git, x->root, x->from))
		return 0;
	return rein_content_read(git->content, x, false, REIN_FACTS_SCANNED, b, err);
}

static int config_has_programs(const struct rein_gitfiles *git, const struct rein_change *x, bool *ret,
			       struct rein_err *err)
{
	auto_buf struct rein_buf after = REIN_BUF(REIN_FACTS_SCANNED + 1), before = REIN_BUF(REIN_FACTS_SCANNED + 1);

	/* anything but an ordinary file of a sensible size is a trick */
	*ret = !S_ISREG(x->after.mode) || x->after.size > REIN_FACTS_SCANNED;
	if (*ret)
		return 0;
	if (rein_content_read(git->content, x, true, REIN_FACTS_SCANNED, &after, err) < 0 ||
	    read_old_config(git, x, &before, err) < 0)
		return -err->code;
	*ret = rein_gitconfig_adds_programs((struct rein_str){after.p, after.n},
					    (struct rein_str){before.p, before.n});
	return 0;
}

static int commondir_has_programs(const struct rein_gitfiles *git, const struct rein_change *x, bool *ret,
				  struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(REIN_FACTS_SCANNED + 1);

	if (rein_content_read(git->content, x, true, REIN_FACTS_SCANNED, &text, err) < 0)
		return -err->code;
	*ret = rein_gitfiles_leads_astray(git, x->root, x->path, (struct rein_str){text.p, text.n});
	return 0;
}

/* A directory that becomes git's brings a configuration, and hooks, that nobody looked at when they were made. */
static int old_files_have_programs(const struct rein_gitfiles *git, const struct rein_change *x, bool *ret,
				   struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(REIN_FACTS_SCANNED + 1);
	auto_free char *config = NULL, *commondir = NULL;
	struct rein_change as = {.root = x->root, .kind = REIN_CHANGE_META};

	*ret = false;
	if (rein_gitfiles_completes(git, x, &config, err) < 0)
		return -err->code;
	if (!config)
		return 0;
	as.path = config; /* one that this run changed, too, speaks for itself */
	if (rein_content_read(git->content, &as, false, REIN_FACTS_SCANNED, &text, err) < 0)
		return -err->code;
	*ret = rein_gitconfig_adds_programs((struct rein_str){text.p, text.n}, (struct rein_str){0}) ||
	       rein_gitfiles_has_hooks(git, x->root, config);
	commondir = rein_asprintf("%.*scommondir", (int)(rein_basename(config) - config), config);
	if (!commondir)
		return rein_err_nomem(err);
	as.path = commondir;
	if (rein_content_read(git->content, &as, false, REIN_FACTS_SCANNED, &text, err) < 0)
		return -err->code;
	*ret |= text.n && rein_gitfiles_leads_astray(git, x->root, commondir, (struct rein_str){text.p, text.n});
	return 0;
}

static int find_programs(const struct rein_content *content, const struct rein_changes *c,
			 struct rein_facts *f, struct rein_err *err)
{
	auto_(rein_gitfiles_done) struct rein_gitfiles git = {0};

	if (rein_gitfiles_open(content, &git, err) < 0)
		return -err->code;
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		bool found;

		if (x->skipped || x->kind == REIN_CHANGE_DELETED || x->kind == REIN_CHANGE_META)
			continue;
		found = rein_gitfiles_is_hook(&git, x);
		if (!found && rein_gitfiles_is_commondir(&git, x) && commondir_has_programs(&git, x, &found, err) < 0)
			return -err->code;
		if (!found && (rein_gitfiles_is_config(&git, x->root, x->path)
				       ? config_has_programs(&git, x, &found, err)
				       : old_files_have_programs(&git, x, &found, err)) < 0)
			return -err->code;
		if (found)
			f->v[i].bits |= REIN_CHANGE_PROGRAMS;
	}
	return 0;
}

static uint32_t clamp(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int count_lines(const struct rein_text *text, const struct rein_content *content,
		       const struct rein_changes *c, struct rein_facts *f, struct rein_err *err)
{
	auto_buf struct rein_buf after = REIN_BUF(REIN_FACTS_SCANNED + 1), before = REIN_BUF(REIN_FACTS_SCANNED + 1);

	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		struct rein_text_stat stat;

		if (!has_new_content(x) && !is_lost_file(x))
			continue;
		if (x->before.size > REIN_FACTS_SCANNED || x->after.size > REIN_FACTS_SCANNED) {
			f->v[i].bits |= REIN_CHANGE_BINARY;
			continue;
		}
		if (rein_content_read(content, x, false, REIN_FACTS_SCANNED, &before, err) < 0 ||
		    rein_content_read(content, x, true, REIN_FACTS_SCANNED, &after, err) < 0 ||
		    rein_text_diff(text, &(struct rein_text_side){"a", {before.n ? before.p : "", before.n}},
				   &(struct rein_text_side){"b", {after.n ? after.p : "", after.n}}, 0, NULL,
				   NULL, &stat, err) < 0)
			return -err->code;
		f->v[i].lines_added = clamp(stat.added);
		f->v[i].lines_removed = clamp(stat.removed);
		if (stat.binary || stat.huge)
			f->v[i].bits |= REIN_CHANGE_BINARY;
	}
	return 0;
}

/* Version control that cannot be asked has nothing: that is the careful answer. */
static int find_untracked(const struct rein_text *text, const struct rein_tx *t, const struct rein_changes *c,
			  struct rein_facts *f, struct rein_err *err)
{
	auto_free const char **paths = rein_calloc(c->n ? c->n : 1, sizeof(*paths));
	auto_free size_t *at = rein_calloc(c->n ? c->n : 1, sizeof(*at));
	auto_free bool *tracked = rein_calloc(c->n ? c->n : 1, sizeof(*tracked));

	if (!paths || !at || !tracked)
		return rein_err_nomem(err);
	for (uint32_t root = 0; root < t->nroots; root++) {
		struct rein_err why = {0};
		size_t n = 0;

		for (size_t i = 0; i < c->n; i++)
			if (c->v[i].root == root && is_lost_file(&c->v[i])) {
				paths[n] = c->v[i].path;
				at[n++] = i;
			}
		if (!n)
			continue;
		memset(tracked, 0, n * sizeof(*tracked));
		if (text && rein_text_tracked(text, t->roots[root].real, paths, n, tracked, &why) < 0)
			memset(tracked, 0, n * sizeof(*tracked));
		for (size_t k = 0; k < n; k++)
			if (!tracked[k])
				f->v[at[k]].bits |= REIN_CHANGE_UNTRACKED;
	}
	return 0;
}

/* Files below a directory, until there are more than enough. */
static uint64_t count_files(int dirfd, uint64_t enough, unsigned depth)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t n = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (struct dirent *e; n < enough && (e = readdir(d));) {
		if (e->d_type != DT_DIR) {
			n++;
		} else if (depth < DEPTH_MAX && !rein_streq(e->d_name, ".") && !rein_streq(e->d_name, "..") &&
			   !rein_streq(e->d_name, ".git")) {
			auto_close int sub = openat(fd, e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (sub >= 0)
				n += count_files(sub, enough - n, depth + 1);
		}
	}
	return n;
}

static uint64_t tree_size(const char *workspace, uint64_t lost)
{
	auto_close int fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? 0 : count_files(fd, lost * TREE_FACTOR + 1, 0);
}

int rein_facts_gather(unsigned needs, const struct rein_tx *t, const struct rein_changes *c,
		      const char *workspace, struct rein_facts *ret, struct rein_err *err)
{
	auto_(rein_facts_done) struct rein_facts f = {0};
	auto_(rein_content_done) struct rein_content content = {0};
	struct rein_text *text = NULL;
	uint64_t lost = 0;
	int rc = 0;

	if (!needs || !c->n)
		return 0;
	f.v = rein_calloc(c->n, sizeof(*f.v));
	if (!f.v)
		return rein_err_nomem(err);
	for (size_t i = 0; i < c->n; i++)
		lost += is_lost_file(&c->v[i]);
	if (rein_content_open(t, &content, err) < 0)
		return -err->code;
	if (lost && rein_gitkept_mark(&content, c, f.v, err) < 0)
		return -err->code;
	if (needs & REIN_NEEDS_PROGRAMS && find_programs(&content, c, &f, err) < 0)
		return -err->code;
	if (needs & REIN_NEEDS_FORGOT && rein_gitforgot_mark(&content, c, f.v, err) < 0)
		return -err->code;
	if (needs & REIN_NEEDS_SECRETS && find_secrets(&content, c, &f, err) < 0)
		return -err->code;
	if (needs & REIN_NEEDS_LINES && rein_text_load(NULL, &text, err) < 0)
		return -err->code;
	if (!text && needs & REIN_NEEDS_UNTRACKED && lost)
		rein_text_load(NULL, &text, &(struct rein_err){0});
	if (needs & REIN_NEEDS_LINES)
		rc = count_lines(text, &content, c, &f, err);
	if (rc == 0 && needs & REIN_NEEDS_UNTRACKED && lost)
		rc = find_untracked(text, t, c, &f, err);
	rein_text_free(text);
	if (rc < 0)
		return rc;
	if (needs & REIN_NEEDS_SHARE && lost)
		f.tree_files = tree_size(workspace, lost);
	*ret = f;
	f = (struct rein_facts){0};
	return 0;
}
