/* SPDX-License-Identifier: Apache-2.0 */
/* One question, one answer, over a socket; the file travels as a descriptor. */
#include "sys/aclaside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sys/passfd.h"

#define VALUE_MAX 16384 /* two thousand entries */

struct message {
	char what; /* 'g'et, 's'et, 'r'emove */
	int error;
	ssize_t result;
	size_t size;
	char name[64];
	char value[VALUE_MAX];
};

static int asked = -1; /* our end; -1: there is none */

static bool exchange(int sock, struct message *m, int fd)
{
	return rein_fds_send(sock, m, sizeof(*m), &fd, 1, 0) == (ssize_t)sizeof(*m) &&
	       recv(sock, m, sizeof(*m), 0) == (ssize_t)sizeof(*m);
}

static bool take(int sock, struct message *m, int *fd)
{
	return rein_fds_receive(sock, m, sizeof(*m), fd, 1, 0) == (ssize_t)sizeof(*m) && *fd >= 0;
}

static void carry_out(struct message *m, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (m->what == 'g')
		m->result = getxattr(path, m->name, m->size ? m->value : NULL, m->size);
	else if (m->what == 's')
		m->result = setxattr(path, m->name, m->value, m->size, 0);
	else
		m->result = removexattr(path, m->name);
	m->error = errno;
}

__attribute__((noreturn)) static void serve(int sock)
{
	static struct message m;
	int fd = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(sock, 3);
	close_range(4, ~0u, 0);
	for (int i = 0; i < 3; i++)
		close(i);
	while (take(3, &m, &fd)) {
		carry_out(&m, fd);
		rein_closep_(&fd);
		fd = -1;
		if (send(3, &m, sizeof(m), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

void rein_aclaside_start(void)
{
	int pair[2];
	pid_t pid;

	if (asked >= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	pid = fork();
	if (pid == 0)
		serve(pair[1]);
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	else
		asked = pair[0];
}

bool rein_aclaside_for(const char *name)
{
	return asked >= 0 && rein_starts(name, "system.posix_acl_");
}

static ssize_t ask(const char *path, struct message *m, const char *name)
{
	auto_close int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	snprintf(m->name, sizeof(m->name), "%s", name);
	if (!exchange(asked, m, fd)) {
		errno = EIO;
		return -1;
	}
	errno = m->error;
	return m->result;
}

ssize_t rein_aclaside_get(const char *path, const char *name, void *value, size_t size)
{
	struct message m = {.what = 'g', .size = size < VALUE_MAX ? size : VALUE_MAX};
	ssize_t n = ask(path, &m, name);

	if (n > 0 && size)
		memcpy(value, m.value, (size_t)n);
	return n;
}

int rein_aclaside_set(const char *path, const char *name, const void *value, size_t size)
{
	struct message m = {.what = 's', .size = size};

	if (size > VALUE_MAX) {
		errno = E2BIG;
		return -1;
	}
	memcpy(m.value, value, size);
	return (int)ask(path, &m, name);
}

int rein_aclaside_remove(const char *path, const char *name)
{
	struct message m = {.what = 'r'};

	return (int)ask(path, &m, name);
}
