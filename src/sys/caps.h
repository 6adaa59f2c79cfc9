/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of the calling thread. One system call each, no heap. */
#ifndef REIN_SYS_CAPS_H
#define REIN_SYS_CAPS_H

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYS_CAP(n) (1ull << (n))

static inline int sys_caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable},
		{(uint32_t)(effective >> 32), (uint32_t)(permitted >> 32),
		 (uint32_t)(inheritable >> 32)},
	};

	return (int)syscall(SYS_capset, &head, data);
}

static inline int sys_caps_get(uint64_t *effective, uint64_t *permitted)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	*effective = data[0].effective | (uint64_t)data[1].effective << 32;
	*permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

/* Make the inheritable capabilities in the mask survive an exec. */
static inline int sys_caps_raise_ambient(uint64_t mask)
{
	for (unsigned cap = 0; cap < 64; cap++)
		if (mask & SYS_CAP(cap) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -1;
	return 0;
}

#endif
