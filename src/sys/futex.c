/* SPDX-License-Identifier: Apache-2.0 */
/* futex(2), shared between processes. */
#include "sys/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void rein_futex_wait(uint32_t *word, uint32_t value, uint64_t most_ns)
{
	struct timespec most = {.tv_sec = (time_t)(most_ns / 1000000000),
				.tv_nsec = (long)(most_ns % 1000000000)};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

void rein_futex_wake_all(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
