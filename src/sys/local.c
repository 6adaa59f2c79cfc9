/* SPDX-License-Identifier: Apache-2.0 */
/* See local.h. */
#include "sys/local.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"

static int address(int dirfd, const char *name, struct sockaddr_un *to)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((size_t)snprintf(to->sun_path, sizeof(to->sun_path), "/proc/self/fd/%d/%s", dirfd,
			     name) < sizeof(to->sun_path))
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

int rein_local_listen(int dirfd, const char *name)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to;
	char unheard[128];

	/* A socket that is bound and does not listen yet refuses who waits for it to be there: it is
	 * given its name when it listens. */
	if ((size_t)snprintf(unheard, sizeof(unheard), "%s.new", name) >= sizeof(unheard)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (fd < 0 || address(dirfd, unheard, &to) < 0)
		return -1;
	unlinkat(dirfd, unheard, 0);
	/* the mode it is born with */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	if (listen(fd, 16) < 0 || renameat(dirfd, unheard, dirfd, name) < 0) {
		unlinkat(dirfd, unheard, 0);
		return -1;
	}
	return take_fd(&fd);
}

int rein_local_connect(int dirfd, const char *name)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un to;

	if (fd < 0 || address(dirfd, name, &to) < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	return take_fd(&fd);
}
