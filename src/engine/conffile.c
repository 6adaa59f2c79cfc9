/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading configuration; what it means is somebody else's business. */
#include "engine/conffile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

int rein_conf_path(const char *rest, char **ret, struct rein_err *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	*ret = NULL;
	if (xdg && *xdg == '/')
		*ret = rein_asprintf("%s/rein/%s", xdg, rest);
	else if (home && *home == '/')
		*ret = rein_asprintf("%s/.config/rein/%s", home, rest);
	else
		return 0;
	return *ret ? 0 : rein_err_nomem(err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int rein_conf_list(const char *dir, struct rein_strlist *ret, struct rein_err *err)
{
	auto_closedir DIR *d = opendir(dir);
	struct dirent *e;

	if (!d && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!d)
		return rein_err_errno(err, "cannot read '%s'", dir);
	while ((errno = 0, e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (e->d_name[0] == '.' || n < 6 || !rein_streq(e->d_name + n - 5, ".yaml"))
			continue;
		if (rein_strlist_take(ret, rein_asprintf("%s/%s", dir, e->d_name)) < 0)
			return rein_err_nomem(err);
	}
	if (errno)
		return rein_err_errno(err, "cannot read '%s'", dir);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(ret->v[0]), by_name);
	return 0;
}

int rein_conf_read(const char *what, const char *path, bool follow, struct rein_buf *b, struct rein_err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
	struct stat st;
	char chunk[8192];
	ssize_t n;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return rein_err_errno(err, "cannot open the %s '%s'", what, path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return rein_err_set(err, REIN_E_INVALID, "the %s '%s' is not an ordinary file", what, path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(b, chunk, (size_t)n);
	if (n < 0)
		return rein_err_errno(err, "cannot read the %s '%s'", what, path);
	return b->failed ? rein_err_set(err, REIN_E_LIMIT, "the %s '%s' is too large", what, path) : 1;
}
