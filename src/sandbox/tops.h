/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in a directory, read at once: of the many places below it that tables speak of, most are not
 * there, and need not be asked for one by one.
 */
#ifndef REIN_SANDBOX_TOPS_H
#define REIN_SANDBOX_TOPS_H

#include <stdbool.h>
#include <stddef.h>

struct rein_tops {
	char block[16384] __attribute__((aligned(8)));
	size_t n;
	bool all; /* false: there are more, or they may not be listed */
};

void rein_tops_read(int dirfd, struct rein_tops *ret);
/* May the relative path, whose first part is one of the names, be there? */
bool rein_tops_may_have(const struct rein_tops *t, const char *path);

#endif
