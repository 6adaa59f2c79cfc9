/* SPDX-License-Identifier: Apache-2.0 */
/* Detached mounts. No heap, no stdio: this is linked into the executor. */
#include "sys/mountfd.h"

#include <errno.h>
#include <unistd.h>

static int configure(int fs, const struct sys_mount_option *options)
{
	for (; options && options->key; options++) {
		unsigned cmd = options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (fsconfig(fs, cmd, options->key, options->value, 0) < 0)
			return -1;
	}
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int sys_mount_new(const char *type, const struct sys_mount_option *options, unsigned attributes)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC), fd = -1, saved;

	if (fs < 0)
		return -1;
	if (configure(fs, options) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC, attributes);
	saved = errno;
	close(fs);
	errno = saved;
	return fd;
}
