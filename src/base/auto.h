/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope-bound ownership. A variable marked auto_* must be initialised; ownership leaves the scope
 * only through take_ptr / take_fd.
 */
#ifndef REIN_BASE_AUTO_H
#define REIN_BASE_AUTO_H

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"

#define auto_(fn) __attribute__((cleanup(fn)))

static inline void rein_freep_(void *p)
{
	rein_free(*(void **)p);
}

static inline void rein_closep_(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void rein_closedirp_(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define auto_free     auto_(rein_freep_)
#define auto_close    auto_(rein_closep_)
#define auto_closedir auto_(rein_closedirp_)

static inline int take_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) v_ = (p);                                                            \
		(p) = NULL;                                                                        \
		v_;                                                                                \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
