/* SPDX-License-Identifier: Apache-2.0 */
/* See tops.h. */
#include "sandbox/tops.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/auto.h"

void rein_tops_read(int dirfd, struct rein_tops *ret)
{
	auto_close int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n = 1;

	ret->n = 0;
	/* an entry that has no more room is an error, as any other */
	while (fd >= 0 && n > 0) {
		n = getdents64(fd, ret->block + ret->n, sizeof(ret->block) - ret->n);
		ret->n += n > 0 ? (size_t)n : 0;
	}
	ret->all = fd >= 0 && n == 0;
}

bool rein_tops_may_have(const struct rein_tops *t, const char *path)
{
	size_t len = strcspn(path, "/");

	if (!t->all || (len == 1 && *path == '.'))
		return true;
	for (size_t at = 0; at < t->n;) {
		const struct dirent64 *e = (const void *)(t->block + at);

		if (strncmp(e->d_name, path, len) == 0 && !e->d_name[len])
			return true;
		at += e->d_reclen;
	}
	return false;
}
