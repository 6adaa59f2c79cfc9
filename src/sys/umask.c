/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/umask.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sys/file.h"

#define UNKNOWN (~(mode_t)0)

static mode_t kept = UNKNOWN;

void rein_umask_keep(void)
{
	kept = umask(077);
	umask(kept & ~(mode_t)S_IRWXU);
}

/* The call that tells it changes it, for all threads of a process that is not ours alone. */
mode_t rein_umask(void)
{
	static const char key[] = "\nUmask:\t";
	auto_buf struct rein_buf b = REIN_BUF(64u << 10);
	struct rein_err ignored = {0};
	const char *at;
	mode_t mask;

	if (kept != UNKNOWN)
		return kept;
	if (rein_file_read(AT_FDCWD, "/proc/thread-self/status", &b, &ignored) == 0 && !b.failed) {
		at = memmem(b.p, b.n, key, sizeof(key) - 1);
		if (at)
			return (mode_t)strtoul(at + sizeof(key) - 1, NULL, 8);
	}
	mask = umask(077);
	umask(mask);
	return mask;
}
