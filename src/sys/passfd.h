/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors, over a local socket. */
#ifndef REIN_SYS_PASSFD_H
#define REIN_SYS_PASSFD_H

#include <stddef.h>
#include <sys/types.h>

/* At most so many in one message. */
#define REIN_FDS_MAX 128

/* As sendmsg, again after EINTR, and without SIGPIPE; flags as its own. The descriptors stay the caller's. */
ssize_t rein_fds_send(int sock, const void *p, size_t n, const int *fds, unsigned nfds, int flags);
/* As recvmsg, again after EINTR. Those that came are the caller's and close on exec; the rest of fds[max] is -1. */
ssize_t rein_fds_receive(int sock, void *p, size_t n, int *fds, unsigned max, int flags);
/* How many came. */
unsigned rein_fds_count(const int *fds, unsigned max);

#endif
