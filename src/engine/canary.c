/* SPDX-License-Identifier: Apache-2.0 */
/* See canary.h. */
#include "engine/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"

static int copy(const char *from, const struct stat *st, const char *to, struct rein_err *err)
{
	auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (in < 0 || out < 0)
		return rein_err_errno(err, "copy the canary '%s'", from);
	if (rein_file_copy_data(in, out, err) < 0)
		return -err->code;
	if (fchmod(out, st->st_mode & 07777) < 0 || futimens(out, times) < 0)
		return rein_err_errno(err, "copy the canary '%s'", from);
	return 0;
}

static int watch(struct rein_canaries *c, const char *path, const char *dir, struct rein_err *err)
{
	auto_free char *own = rein_asprintf("%s/canary-%zu", dir, c->paths.n);
	char full[PATH_MAX];
	struct stat st;
	int wd;

	if (!own)
		return rein_err_nomem(err);

	/* the mount is made where the path really leads; one that is not there guards nothing, and nobody would know */
	if (!realpath(path, full) || stat(full, &st) < 0)
		return rein_err_errno(err, "watch the canary '%s'", path);
	if (!S_ISREG(st.st_mode))
		return rein_err_set(err, REIN_E_USAGE, "a canary is a file, and '%s' is none", path);
	if (copy(full, &st, own, err) < 0)
		return -err->code;
	wd = inotify_add_watch(c->fd, own, IN_OPEN);
	if (wd < 0)
		return rein_err_errno(err, "watch the canary '%s'", full);
	if (rein_grow(c->watches, c->paths.n, c->cap) < 0 || rein_strlist_add(&c->paths, full) < 0 ||
	    rein_strlist_take(&c->copies, take_ptr(own)) < 0)
		return rein_err_nomem(err);
	c->watches[c->paths.n - 1] = wd;
	return 0;
}

int rein_canaries_open(struct rein_canaries *c, const struct rein_strlist *paths, const char *dir,
		       const struct rein_path_rule *rules, size_t nrules, struct rein_err *err)
{
	*c = (struct rein_canaries){.fd = -1};
	if (!paths->n)
		return 0;
	c->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (c->fd < 0)
		return rein_err_errno(err, "watch canaries");
	for (size_t i = 0; i < paths->n; i++)
		if (watch(c, paths->v[i], dir, err) < 0)
			return -err->code;
	c->rules = rein_calloc(nrules + c->paths.n, sizeof(*c->rules));
	if (!c->rules)
		return rein_err_nomem(err);
	for (size_t i = 0; i < nrules; i++)
		c->rules[c->nrules++] = rules[i];
	for (size_t i = 0; i < c->paths.n; i++)
		c->rules[c->nrules++] =
			(struct rein_path_rule){.path = c->paths.v[i], .source = c->copies.v[i], .access = REIN_PATH_CANARY};
	return 0;
}

const char *rein_canaries_next(struct rein_canaries *c)
{
	while (c->fd >= 0) {
		struct inotify_event e;

		if (c->n - c->at < sizeof(e)) {
			ssize_t n = read(c->fd, c->events, sizeof(c->events));

			if (n <= 0)
				return NULL;
			c->at = 0;
			c->n = (size_t)n;
			continue;
		}
		memcpy(&e, c->events + c->at, sizeof(e));
		c->at += sizeof(e) + e.len; /* whole ones are read, and files have no names in them */
		for (size_t i = 0; i < c->paths.n; i++)
			if (c->watches[i] == e.wd && e.mask & IN_OPEN)
				return c->paths.v[i];
	}
	return NULL;
}

void rein_canaries_done(struct rein_canaries *c)
{
	rein_closep_(&c->fd);
	c->fd = -1;
	for (size_t i = 0; i < c->copies.n; i++)
		unlink(c->copies.v[i]);
	rein_strlist_done(&c->copies);
	rein_strlist_done(&c->paths);
	rein_free(c->watches);
	rein_free(c->rules);
	*c = (struct rein_canaries){.fd = -1};
}
