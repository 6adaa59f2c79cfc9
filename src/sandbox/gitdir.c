/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a work tree's repository: .git files, commondir, core.worktree; gitrepository-layout(5).
 */
#include "sandbox/gitdir.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/auto.h"

#define SMALL_FILE_MAX 65536

bool rein_gitdir_parse_path(struct rein_str text, struct rein_str *ret)
{
	const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
	size_t n = end ? (size_t)(end - text.p) : text.n;

	if (n > 0 && text.p[n - 1] == '\r')
		n--;
	if (n == 0 || n >= PATH_MAX || memchr(text.p, '\0', n))
		return false;
	*ret = (struct rein_str){text.p, n};
	return true;
}

bool rein_gitdir_parse_link(struct rein_str text, struct rein_str *ret)
{
	static const struct rein_str prefix = {"gitdir: ", 8};

	if (text.n < prefix.n || memcmp(text.p, prefix.p, prefix.n) != 0)
		return false;
	return rein_gitdir_parse_path((struct rein_str){text.p + prefix.n, text.n - prefix.n}, ret);
}

static struct rein_str trim(struct rein_str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s.p++, s.n--;
	while (s.n && strchr(" \t\r", s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool same_nocase(struct rein_str s, const char *lower)
{
	size_t i = 0;

	for (; i < s.n && lower[i]; i++) {
		char c = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];

		if (c != lower[i])
			return false;
	}
	return i == s.n && lower[i] == '\0';
}

/* A value may be quoted and may escape quotes and backslashes; anything cleverer is refused. */
static bool unquote(struct rein_str v, char *buf, size_t size)
{
	bool quoted = v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"';
	size_t n = 0;

	if (quoted)
		v.p++, v.n -= 2;
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (c == '\\' && i + 1 < v.n && (v.p[i + 1] == '"' || v.p[i + 1] == '\\'))
			c = v.p[++i];
		else if (c == '\\' || c == '"' || c == '\0' || (!quoted && (c == '#' || c == ';')))
			return false;
		if (n + 1 >= size)
			return false;
		buf[n++] = c;
	}
	buf[n] = '\0';
	return n > 0;
}

bool rein_gitdir_parse_worktree(struct rein_str text, char *buf, size_t size)
{
	bool in_core = false, found = false;

	while (text.n) {
		const char *newline = memchr(text.p, '\n', text.n);
		size_t n = newline ? (size_t)(newline - text.p) : text.n;
		struct rein_str line = trim((struct rein_str){text.p, n});
		const char *eq;

		text.p += n + (newline != NULL);
		text.n -= n + (newline != NULL);
		if (line.n && line.p[0] == '[') {
			in_core = same_nocase(line, "[core]");
			continue;
		}
		eq = in_core && line.n ? memchr(line.p, '=', line.n) : NULL;
		if (!eq)
			continue;
		n = (size_t)(eq - line.p);
		if (!same_nocase(trim((struct rein_str){line.p, n}), "worktree"))
			continue;
		/* The last one counts, as in git; one that cannot be read counts as none. */
		found = unquote(trim((struct rein_str){eq + 1, line.n - n - 1}), buf, size);
	}
	return found;
}

void rein_gitdir_done(struct rein_gitdir *g)
{
	rein_free(g->root);
	rein_free(g->gitdir);
	rein_free(g->commondir);
	*g = (struct rein_gitdir){0};
}

/* The bytes of a small regular file; false if it is not one. */
static bool slurp(const char *dir, const char *name, char *buf, struct rein_str *ret)
{
	char path[PATH_MAX];
	auto_close int fd = -1;
	size_t n = 0;
	ssize_t r;
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	while (n < SMALL_FILE_MAX && (r = read(fd, buf + n, SMALL_FILE_MAX - n)) > 0)
		n += (size_t)r;
	*ret = (struct rein_str){buf, n};
	return true;
}

/* Resolve what a file in dir says; NULL if it leads nowhere. The caller owns it. */
static char *resolve(const char *dir, struct rein_str said)
{
	char path[PATH_MAX], real[PATH_MAX];
	const char *base = said.p[0] == '/' ? "" : dir;
	int n = snprintf(path, sizeof(path), "%s%s%.*s", base, base[0] ? "/" : "", (int)said.n,
			 said.p);

	if (n < 0 || (size_t)n >= sizeof(path) || !realpath(path, real))
		return NULL;
	return rein_strdup(real);
}

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path) &&
	       stat(path, &st) == 0;
}

static bool is_repository(const char *dir)
{
	return exists(dir, "HEAD") && exists(dir, "objects") && exists(dir, "refs");
}

/* A linked work tree: commondir/worktrees/NAME with "gitdir" naming root/.git. */
static bool worktree_points_back(const char *gitdir, const char *commondir, const char *root,
				 char *buf)
{
	auto_free char *back = NULL, *want = NULL, *parent = NULL;
	struct rein_str text, said;
	char *slash;

	parent = rein_strdup(gitdir);
	slash = parent ? strrchr(parent, '/') : NULL;
	if (!slash || slash == parent)
		return false;
	*slash = '\0';
	want = rein_asprintf("%s/worktrees", commondir);
	if (!want || !rein_streq(parent, want) || !is_repository(commondir))
		return false;
	if (!slurp(gitdir, "gitdir", buf, &text) || !rein_gitdir_parse_path(text, &said))
		return false;
	back = resolve(gitdir, said);
	rein_free(want);
	want = rein_asprintf("%s/.git", rein_streq(root, "/") ? "" : root);
	return back && want && rein_streq(back, want);
}

/* A submodule or a repository kept apart: config's core.worktree names root. */
static bool config_points_back(const char *gitdir, const char *root, char *buf)
{
	char value[PATH_MAX];
	struct rein_str text;
	auto_free char *back = NULL;

	if (!is_repository(gitdir) || !slurp(gitdir, "config", buf, &text) ||
	    !rein_gitdir_parse_worktree(text, value, sizeof(value)))
		return false;
	back = resolve(gitdir, rein_str(value));
	return back && rein_streq(back, root);
}

static int follow_link(struct rein_gitdir *g, struct rein_err *err)
{
	auto_free char *buf = rein_alloc(SMALL_FILE_MAX), *gitdir = NULL, *common = NULL;
	struct rein_str text, said;

	if (!buf)
		return rein_err_nomem(err);
	if (!slurp(g->root, ".git", buf, &text) || !rein_gitdir_parse_link(text, &said))
		return 0; /* git itself would complain; here it is only a directory */
	gitdir = resolve(g->root, said);
	if (!gitdir || rein_path_within(gitdir, g->root))
		return 0;
	if (slurp(gitdir, "commondir", buf, &text)) {
		if (rein_gitdir_parse_path(text, &said))
			common = resolve(gitdir, said);
		g->unproven = !common || !worktree_points_back(gitdir, common, g->root, buf);
	} else {
		g->unproven = !config_points_back(gitdir, g->root, buf);
	}
	if (common && !rein_path_within(common, g->root))
		g->commondir = take_ptr(common);
	g->gitdir = take_ptr(gitdir);
	return 0;
}

/* Does dir hold a .git that makes it a work tree? Stores whether it is a file. */
static bool has_git(const char *dir, bool *ret_link)
{
	char path[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/.git", dir) >= sizeof(path) ||
	    stat(path, &st) < 0)
		return false;
	*ret_link = S_ISREG(st.st_mode);
	return *ret_link || (S_ISDIR(st.st_mode) && exists(path, "HEAD"));
}

int rein_gitdir_find(const char *cwd, struct rein_gitdir *ret, struct rein_err *err)
{
	auto_(rein_gitdir_done) struct rein_gitdir g = {0};
	auto_free char *dir = rein_strdup(cwd);
	struct stat first, st;
	bool link = false;

	if (!dir)
		return rein_err_nomem(err);
	if (stat(dir, &first) < 0)
		return rein_err_errno(err, "current directory '%s'", cwd);
	while (!has_git(dir, &link)) {
		char *slash = strrchr(dir, '/');

		if (!slash || dir[1] == '\0')
			goto none;
		slash[slash == dir] = '\0';
		/*
		 * As git, stop at a filesystem boundary; and in a directory where everybody may
		 * create (/tmp), a .git is anybody's.
		 */
		if (stat(dir, &st) < 0 || st.st_dev != first.st_dev ||
		    (st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH))
			goto none;
	}
	g.root = take_ptr(dir);
	if (link && follow_link(&g, err) < 0)
		return -err->code;
none:
	*ret = g;
	g = (struct rein_gitdir){0};
	return 0;
}
