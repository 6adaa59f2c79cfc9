/* SPDX-License-Identifier: Apache-2.0 */
/* See cores.h. */
#include "sandbox/cores.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"

bool rein_cores_start_program(void)
{
	auto_close int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	char first = '|'; /* what cannot be read is not believed to be harmless */

	return fd < 0 || read(fd, &first, 1) < 0 || first == '|';
}
