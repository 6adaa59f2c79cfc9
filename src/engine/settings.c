/* SPDX-License-Identifier: Apache-2.0 */
/* From a policy's words to a view's paths. What cannot be carried out is refused, not left out. */
#include "engine/settings.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/glob.h"
#include "engine/credentials.h"
#include "engine/network.h"
#include "engine/policyload.h"

enum where { RW, RO, HIDE, SCRATCH, KEEP, CANARY };

static const char *const section[] = {"writable", "shown", "hidden", "scratch", "readonly", "canary"};

static struct rein_strlist *list_of(struct rein_run *r, enum where w)
{
	struct rein_strlist *lists[] = {&r->rw, &r->ro, &r->hide, &r->scratch, &r->keep, &r->canary};

	return lists[w];
}

/* For something else however it is spelled; for the same each of its names counts. */
static bool taken(struct rein_run *r, enum where what, const char *path)
{
	struct stat a, b;
	bool there = stat(path, &a) == 0;

	for (int w = RW; w <= KEEP; w++) {
		const struct rein_strlist *l = list_of(r, (enum where)w);

		for (size_t i = 0; i < l->n; i++)
			if (rein_streq(l->v[i], path) ||
			    (there && w != (int)what && stat(l->v[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino))
				return true;
	}
	return false;
}

/* Does a name that is hidden at any depth hide it, or a directory of the project on the way to it? */
static bool hidden_by_name(const struct rein_run *r, const char *top, const char *path)
{
	char rest[PATH_MAX], *part, *at = rest;

	if (!rein_path_within(path, top) || strlen(path) >= sizeof(rest))
		return false;
	snprintf(rest, sizeof(rest), "%s", path + strlen(top));
	while ((part = strsep(&at, "/")))
		for (size_t i = 0; *part && i < r->hide_names.n; i++)
			if (rein_glob_match(r->hide_names.v[i], part))
				return true;
	return false;
}

/* By a name, in the project or in another tree that the command line adds. */
static bool hidden_in_trees(const struct rein_run *r, const char *top, const char *path)
{
	char tree[PATH_MAX];
	bool hit = hidden_by_name(r, top, path);

	for (size_t i = 0; !hit && i < r->rw.n; i++)
		hit = realpath(r->rw.v[i], tree) && hidden_by_name(r, tree, path);
	return hit;
}

static bool lies_in(const char *path, const char *dir)
{
	struct stat a, b;

	return rein_path_within(path, dir) ||
	       (stat(path, &a) == 0 && stat(dir, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* A hidden home holds what is named in it. */
static bool hides(const char *dir, const char *path)
{
	const char *home = getenv("HOME");
	char real[PATH_MAX];
	bool is_home = home && *home == '/' && realpath(home, real) && rein_streq(real, dir);

	return is_home ? rein_streq(path, dir) : lies_in(path, dir);
}

/* One layer's word that something is hidden stands above another's that it is shown. */
static bool lies_hidden(const struct rein_run *r, const char *path)
{
	char dir[PATH_MAX], real[PATH_MAX];

	for (size_t i = 0; i < r->hide.n; i++)
		if (realpath(r->hide.v[i], dir) && realpath(path, real) && hides(dir, real))
			return true;
	return false;
}

/*
 * What is hidden for its name alone is shown to who names it; what somebody wrote down to be hidden is not, since a
 * command line is easily an agent's own. hidden: one path, or NULL for the names. As long as these are taken, the lists
 * hold the command line's words only.
 */
static int check_named(const struct rein_run *r, const char *hidden, const char *top, struct rein_err *err)
{
	const struct rein_strlist *lists[] = {&r->rw, &r->ro};
	char real[PATH_MAX], path[PATH_MAX];

	if (hidden && !realpath(hidden, real))
		return 0;
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (realpath(lists[k]->v[i], path) &&
			    (hidden ? hides(real, path) : hidden_in_trees(r, top, path)))
				return rein_err_set(err, REIN_E_USAGE,
						    "%s '%s': a policy hides it (workspace.hidden), and only that policy can show it",
						    k ? "--ro" : "--rw", lists[k]->v[i]);
	return 0;
}

/* What is not there cannot be mounted on, and holds nothing. */
static int add(struct rein_run *r, enum where w, const char *path, const char *top, struct rein_err *err)
{
	struct stat st;

	if (w == HIDE && check_named(r, path, top, err) < 0)
		return -err->code;
	if (taken(r, w, path) || lstat(path, &st) < 0 ||
	    ((w == RW || w == RO || w == SCRATCH) && hidden_by_name(r, top, path)) || (w == RO && lies_hidden(r, path)))
		return 0;
	/* a pattern names whatever is there; only files can be watched */
	if (w == CANARY && (stat(path, &st) < 0 || !S_ISREG(st.st_mode)))
		return 0;
	return rein_strlist_add(list_of(r, w), path) < 0 ? rein_err_nomem(err) : 0;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int expand(struct rein_run *r, enum where w, const char *pattern, const char *top, struct rein_err *err)
{
	glob_t g = {0};
	int rc = glob(pattern, GLOB_NOSORT | GLOB_PERIOD, NULL, &g);

	if (rc == GLOB_NOMATCH)
		rc = 0;
	else if (rc)
		rc = rein_err_set(err, REIN_E_IO, "'%s' could not be looked for", pattern);
	for (size_t i = 0; rc == 0 && i < g.gl_pathc; i++) {
		const char *name = rein_basename(g.gl_pathv[i]);

		/* a file is written with its tree; named by a star only, it stays hidden if it is */
		if (w == RW && !is_dir(g.gl_pathv[i]))
			continue;
		if (!rein_streq(name, ".") && !rein_streq(name, ".."))
			rc = add(r, w, g.gl_pathv[i], top, err);
	}
	globfree(&g);
	return rc;
}

/* A directory with all that is in it, and a directory with a slash, are the directory. */
static char *trimmed(const char *pattern)
{
	size_t n = strlen(pattern);

	for (bool more = true; more && n > 1;) {
		more = false;
		if (n > 3 && memcmp(pattern + n - 3, "/**", 3) == 0)
			n -= 3, more = true;
		else if (pattern[n - 1] == '/')
			n--, more = true;
	}
	return rein_strndup(pattern, n);
}

static int take(struct rein_run *r, enum where w, const char *pattern, const char *top, struct rein_err *err)
{
	const char *home = getenv("HOME");
	auto_free char *p = trimmed(pattern), *full = NULL;
	const char *name = p;

	if (!p)
		return rein_err_nomem(err);
	while (rein_starts(name, "**/"))
		name += 3;
	if (w == HIDE && !rein_streq(p, "~") && !strchr(name, '/') && (name != p || !rein_glob_is_literal(name) || !strchr(pattern, '/')))
		return rein_strlist_add(&r->hide_names, name) < 0 ? rein_err_nomem(err) : 0;
	if (strstr(p, "**"))
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "the policy's workspace.%s has '%s': '**' can stand only at the end here%s",
				    section[w], pattern, w == HIDE ? ", or before a single name" : "");
	if (*p == '/')
		full = rein_strdup(p);
	else if (rein_streq(p, "~") || rein_starts(p, "~/"))
		full = rein_asprintf("%s%s", home && *home == '/' ? home : "/nonexistent", p + 1);
	else
		full = rein_asprintf("%s/%s", top, p);
	if (!full)
		return rein_err_nomem(err);
	if (rein_glob_is_literal(p))
		return add(r, w, full, top, err);
	if (w == RO) /* ~/.* has nobody's keys in mind */
		return rein_err_set(err, REIN_E_UNSUPPORTED, "the policy's workspace.shown has '%s': name what is to be shown",
				    pattern);
	return expand(r, w, full, top, err);
}

static int take_all(struct rein_run *r, enum where w, const struct rein_policy_list *l, const char *top,
		    struct rein_err *err)
{
	for (size_t i = 0; i < l->n; i++)
		if (take(r, w, l->v[i], top, err) < 0)
			return -err->code;
	return 0;
}

static int copy(struct rein_strlist *to, const struct rein_strlist *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (rein_strlist_add(to, from->v[i]) < 0)
			return -1;
	return 0;
}

int rein_settings_load(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	char cwd[PATH_MAX], resolved[PATH_MAX];
	const char *from = o->workspace ? realpath(o->workspace, resolved) : getcwd(cwd, sizeof(cwd));
	auto_free char *project = from ? rein_policy_project(from) : NULL;
	struct rein_policy_sources sources = {.project = project, .files = &o->policy};
	struct rein_err why = {0};

	if (copy(&r->rw, &o->rw) < 0 || copy(&r->ro, &o->ro) < 0 || copy(&r->hide, &o->hide) < 0 ||
	    copy(&r->scratch, &o->scratch) < 0 || copy(&r->canary, &o->canary) < 0)
		return rein_err_nomem(err);
	/* a broken policy is a policy: it denies, and its decision says what is wrong with it */
	if (rein_policy_load(&sources, &r->policy, &why) < 0 && !r->policy) {
		*err = why;
		return -err->code;
	}
	rein_policy_settings(r->policy, &r->settings);
	if (rein_network_join(o, r, err) < 0 || rein_credentials_join(o, r, err) < 0)
		return -err->code;
	if (why.code || !project)
		return 0;
	/* the strictest first: a path is taken once, and a project may hide what others let be written */
	if (take_all(r, HIDE, &r->settings.hidden, project, err) < 0 || check_named(r, NULL, project, err) < 0 ||
	    take_all(r, RO, &r->settings.shown, project, err) < 0 ||
	    take_all(r, KEEP, &r->settings.readonly, project, err) < 0 ||
	    take_all(r, RW, &r->settings.writable, project, err) < 0 ||
	    take_all(r, SCRATCH, &r->settings.scratch, project, err) < 0 ||
	    take_all(r, CANARY, &r->settings.canary, project, err) < 0)
		return -err->code;
	return 0;
}
