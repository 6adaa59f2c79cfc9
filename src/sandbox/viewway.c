/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a path that somebody named. */
#include "sandbox/view.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as many as the kernel follows */

struct way {
	const struct rein_view *v;
	char at[PATH_MAX];   /* so far; no link is in it */
	char next[PATH_MAX]; /* and one name further */
	char rest[PATH_MAX];
	int links;
};

/* What the link says comes before what was to come after it. */
static bool follow(struct way *w, size_t taken)
{
	char target[PATH_MAX];
	ssize_t n = readlink(w->next, target, sizeof(target));
	size_t left = strlen(w->rest + taken) + 1;

	if (n < 0)
		return false;
	errno = ++w->links > LINKS_MAX ? ELOOP : ENAMETOOLONG;
	if (errno == ELOOP || (size_t)n + left > sizeof(w->rest))
		return false;
	memmove(w->rest + n, w->rest + taken, left);
	memcpy(w->rest, target, (size_t)n);
	if (target[0] == '/')
		memcpy(w->at, "/", 2);
	return true;
}

/* 0: one name is done. -1: errno. 1: it is a link in a tree. */
static int step(struct way *w)
{
	size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
	const char *name = w->rest + skip;
	struct stat st;

	if (n == 2 && name[0] == '.' && name[1] == '.') {
		char *slash = strrchr(w->at, '/');

		slash[slash == w->at] = '\0';
	} else if (n && !(n == 1 && name[0] == '.')) {
		errno = ENAMETOOLONG;
		if ((size_t)snprintf(w->next, sizeof(w->next), "%s%s%.*s", w->at, w->at[1] ? "/" : "", (int)n, name) >=
			    sizeof(w->next) ||
		    lstat(w->next, &st) < 0)
			return -1;
		if (S_ISLNK(st.st_mode))
			return rein_view_cow_of_(w->v, w->at) ? 1 : follow(w, skip + n) ? 0 : -1;
		memcpy(w->at, w->next, sizeof(w->at));
	}
	memmove(w->rest, name + n, strlen(name + n) + 1);
	return 0;
}

int rein_view_way(const struct rein_view *v, const char *option, const char *path, char *ret, struct rein_err *err)
{
	struct way w = {.v = v, .at = "/"};
	int rc = 0;

	if (ret)
		*ret = '\0';
	errno = ENAMETOOLONG;
	if ((size_t)snprintf(w.rest, sizeof(w.rest), "%s", path) >= sizeof(w.rest))
		rc = -1;
	while (rc == 0 && w.rest[0])
		rc = step(&w);
	/* nothing is there, or what has no path (a pipe, by its descriptor): who uses it will say so, or not */
	if (rc < 0 && errno == ENOENT)
		return 0;
	if (rc < 0)
		return rein_err_errno(err, "%s '%s'", option, path);
	if (ret)
		memcpy(ret, w.at, sizeof(w.at));
	return rc == 0 ? 0
		       : rein_err_set(err, REIN_E_USAGE,
				      "%s '%s': '%s' is a symbolic link in a tree that may change, so whoever changes it says what is "
				      "meant: name what it leads to",
				      option, path, w.next);
}
