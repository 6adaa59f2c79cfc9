/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: private to its user, one directory a transaction. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/tree.h"
#include "txn/internal.h"

int rein_state_path(char **ret, struct rein_err *err)
{
	const char *own = getenv("REIN_STATE");
	const char *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *path;

	if (own && *own == '/')
		path = rein_strdup(own);
	else if (own && *own)
		return rein_err_set(err, REIN_E_USAGE, "REIN_STATE must be an absolute path, not '%s'",
				    own);
	else if (xdg && *xdg == '/')
		path = rein_asprintf("%s/rein", xdg);
	else if (home && *home == '/')
		path = rein_asprintf("%s/.local/state/rein", home);
	else
		return rein_err_set(err, REIN_E_USAGE,
				    "no place for Rein's state: set HOME or REIN_STATE");
	if (!path)
		return rein_err_nomem(err);
	*ret = path;
	return 0;
}

static int open_sub(int fd, const char *name)
{
	int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* several of us may start at once on a state that is not there yet */
	if (sub < 0 && errno == ENOENT && (mkdirat(fd, name, 0700) == 0 || errno == EEXIST))
		sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return sub;
}

static int open_private(const char *dir, struct rein_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && rein_mkdirs(AT_FDCWD, dir, err) == 0)
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return rein_err_errno(err, "open Rein's state '%s'", dir);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
		close(fd);
		return rein_err_set(err, REIN_E_FAILED,
				    "Rein's state '%s' belongs to another user: set REIN_STATE to a "
				    "directory of your own",
				    dir);
	}
	if (st.st_mode & 077 && fchmod(fd, 0700) < 0) {
		rein_err_errno(err, "make '%s' private", dir);
		close(fd);
		return -err->code;
	}
	return fd;
}

int rein_state_open(const char *dir, struct rein_state *ret, struct rein_err *err)
{
	struct rein_state s = {.fd = -1, .txn_fd = -1, .journal_fd = -1};
	auto_free char *path = NULL;
	int fd;

	if (!dir && rein_state_path(&path, err) < 0)
		return -err->code;
	fd = open_private(dir ? dir : path, err);
	if (fd < 0)
		return fd;
	s.fd = fd;
	s.dir = realpath(dir ? dir : path, NULL);
	s.txn_fd = open_sub(fd, "txn");
	s.journal_fd = open_sub(fd, "journal");
	if (!s.dir || s.txn_fd < 0 || s.journal_fd < 0) {
		rein_err_errno(err, "open Rein's state '%s'", dir ? dir : path);
		rein_state_done(&s);
		return -err->code;
	}
	*ret = s;
	return 0;
}

void rein_state_done(struct rein_state *s)
{
	rein_closep_(&s->fd);
	rein_closep_(&s->txn_fd);
	rein_closep_(&s->journal_fd);
	free(s->dir);
	*s = (struct rein_state){.fd = -1, .txn_fd = -1, .journal_fd = -1};
}

int rein_journal_lock(const struct rein_state *s, int *ret_fd, struct rein_err *err)
{
	int fd = openat(s->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return rein_err_errno(err, "open the lock of '%s'", s->dir);
	while (flock(fd, LOCK_EX) < 0) {
		if (errno == EINTR)
			continue;
		rein_err_errno(err, "lock '%s'", s->dir);
		close(fd);
		return -err->code;
	}
	*ret_fd = fd;
	return 0;
}
