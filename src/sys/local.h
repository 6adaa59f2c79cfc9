/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local sockets by a name in a directory that is open: a socket's address has room for 107 bytes,
 * the path of a directory may be longer.
 */
#ifndef REIN_SYS_LOCAL_H
#define REIN_SYS_LOCAL_H

/* A socket for packets, for nobody but this user, non-blocking; what had the name before is gone.
 * Or -1. */
int rein_local_listen(int dirfd, const char *name);
/* Or -1. */
int rein_local_connect(int dirfd, const char *name);

#endif
