/* SPDX-License-Identifier: Apache-2.0 */
/* The process and the thread that asks it: a file in, a byte back; at the end the list. */
#include "sandbox/linkkeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/linkgroup.h"
#include "sys/priv.h"

struct record {
	struct rein_linked x;
	char path[PATH_MAX];
};

static bool send_fd(int sock, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char what = 'h';
	struct iovec iov = {&what, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1;
}

/* What is asked: 'h' with a descriptor, or 'e'; 0 when nobody asks any more. */
static char take(int sock, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char what = 0;
	struct iovec iov = {&what, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;

	*ret_fd = -1;
	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) <= 0)
		return 0;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return what;
}

static void tell(int sock, struct rein_linkgroups *g)
{
	struct rein_linked_list l;
	static struct record r;

	rein_linkgroups_take(g, &l);
	for (size_t i = 0; i < l.n; i++) {
		size_t n = strlen(l.v[i].path) + 1;

		if (n > sizeof(r.path))
			continue;
		r.x = l.v[i];
		memcpy(r.path, l.v[i].path, n);
		if (send(sock, &r, offsetof(struct record, path) + n, MSG_NOSIGNAL) < 0)
			break;
	}
	rein_linked_done(&l);
}

/* Only what it needs stays open: whoever waits for an end of ours must not wait for it. */
static void keep_only(int *sock, int *box_root)
{
	int a = fcntl(*sock, F_DUPFD, 64), b = fcntl(*box_root, F_DUPFD, 64);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (a < 0 || b < 0 || dup2(a, 3) < 0 || dup2(b, 4) < 0)
		_exit(1);
	close_range(5, ~0u, 0);
	*sock = 3;
	*box_root = 4;
}

__attribute__((noreturn)) static void serve(int sock, const struct rein_root *roots, size_t n,
					    int box_root)
{
	struct rein_linkgroups *g;
	char what;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* [K1] */
	keep_only(&sock, &box_root);
	rein_own_files_ns();
	g = rein_linkgroups_new(roots, n, box_root, false);
	while (g && (what = take(sock, &fd))) {
		if (what == 'e') {
			tell(sock, g);
			break;
		}
		if (fd >= 0) {
			rein_linkgroups_hold(g, fd);
			close(fd);
		}
		if (send(sock, "d", 1, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

bool rein_linkkeeper_start(struct rein_linkkeeper *k, const struct rein_root *roots, size_t n,
			   int box_root)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		serve(pair[1], roots, n, box_root);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return false;
	}
	k->pid = pid;
	k->sock = pair[0];
	return true;
}

void rein_linkkeeper_hold(struct rein_linkkeeper *k, int fd)
{
	char done;

	if (send_fd(k->sock, fd))
		while (recv(k->sock, &done, 1, 0) < 0 && errno == EINTR)
			;
}

void rein_linkkeeper_end(struct rein_linkkeeper *k, struct rein_linked_list *ret)
{
	struct record r;
	ssize_t n = 0;

	if (!k->pid)
		return;
	if (send(k->sock, "e", 1, MSG_NOSIGNAL) == 1)
		while ((n = recv(k->sock, &r, sizeof(r), 0)) > (ssize_t)offsetof(struct record, path)) {
			r.path[(size_t)n - offsetof(struct record, path) - 1] = 0;
			rein_linked_add(ret, &r.x, rein_strdup(r.path));
		}
	close(k->sock);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	k->pid = 0;
}
