/* SPDX-License-Identifier: Apache-2.0 */
/* See passfd.h. */
#include "sys/passfd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(REIN_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

ssize_t rein_fds_send(int sock, const void *p, size_t n, const int *fds, unsigned nfds, int flags)
{
	union control control = {0};
	struct iovec iov = {(void *)(uintptr_t)p, n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (nfds > REIN_FDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (nfds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
	}
	do
		sent = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent;
}

/* One message has one list of descriptors; what does not fit into it the kernel has closed. */
static void take(struct msghdr *msg, int *fds, unsigned max)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	size_t n;
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		if (i < max)
			fds[i] = fd;
		else
			close(fd);
	}
}

ssize_t rein_fds_receive(int sock, void *p, size_t n, int *fds, unsigned max, int flags)
{
	union control control;
	struct iovec iov = {p, n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got;

	for (unsigned i = 0; i < max; i++)
		fds[i] = -1;
	do
		got = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got >= 0)
		take(&msg, fds, max);
	return got;
}

unsigned rein_fds_count(const int *fds, unsigned max)
{
	unsigned n = 0;

	while (n < max && fds[n] >= 0)
		n++;
	return n;
}
