/* SPDX-License-Identifier: Apache-2.0 */
/* trusted.overlay.origin holds the lower file's handle among other things. */
#include "effects/origin.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "base/auto.h"
#include "base/str.h"

int rein_origin_is(int upper, const char *name, int real, const char *path)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h.handle_bytes = MAX_HANDLE_SZ};
	char file[4200], origin[256];
	int mount_id;
	ssize_t n;

	snprintf(file, sizeof(file), "/proc/self/fd/%d/%s", upper, name);
	n = lgetxattr(file, "trusted.overlay.origin", origin, sizeof(origin));
	if (n <= 0 || name_to_handle_at(real, path, &u.h, &mount_id, 0) < 0)
		return -1;
	return memmem(origin, (size_t)n, u.h.f_handle, u.h.handle_bytes) != NULL;
}
