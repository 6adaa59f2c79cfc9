/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock as the kernel defines it up to ABI 6, for headers that know less. The ruleset's size
 * tells the kernel which fields are meant.
 */
#ifndef REIN_SYS_LANDLOCK_H
#define REIN_SYS_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "sys/sys.h"

enum {
	SYS_LANDLOCK_EXECUTE = 1 << 0,
	SYS_LANDLOCK_WRITE_FILE = 1 << 1,
	SYS_LANDLOCK_READ_FILE = 1 << 2,
	SYS_LANDLOCK_READ_DIR = 1 << 3,
	SYS_LANDLOCK_REMOVE_DIR = 1 << 4,
	SYS_LANDLOCK_REMOVE_FILE = 1 << 5,
	SYS_LANDLOCK_MAKE_CHAR = 1 << 6,
	SYS_LANDLOCK_MAKE_DIR = 1 << 7,
	SYS_LANDLOCK_MAKE_REG = 1 << 8,
	SYS_LANDLOCK_MAKE_SOCK = 1 << 9,
	SYS_LANDLOCK_MAKE_FIFO = 1 << 10,
	SYS_LANDLOCK_MAKE_BLOCK = 1 << 11,
	SYS_LANDLOCK_MAKE_SYM = 1 << 12,
	SYS_LANDLOCK_REFER = 1 << 13,	   /* ABI 2 */
	SYS_LANDLOCK_TRUNCATE = 1 << 14,   /* ABI 3 */
	SYS_LANDLOCK_IOCTL_DEV = 1 << 15,  /* ABI 5 */
};

enum {
	SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX = 1 << 0, /* ABI 6 */
	SYS_LANDLOCK_SCOPE_SIGNAL = 1 << 1,	   /* ABI 6 */
};

struct sys_landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;	     /* ABI 6 */
};

struct sys_landlock_path {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

/* The ABI, or -1: ENOSYS (not built in) or EOPNOTSUPP (not enabled at boot). */
static inline int sys_landlock_abi(void)
{
	return (int)syscall(__NR_landlock_create_ruleset, NULL, 0, 1u);
}

/* The size an ABI knows: a kernel refuses a larger structure only if the rest is not zero. */
static inline int sys_landlock_create(const struct sys_landlock_ruleset *r, int abi)
{
	size_t size = abi >= 6 ? sizeof(*r)
		      : abi >= 4 ? offsetof(struct sys_landlock_ruleset, scoped)
				 : offsetof(struct sys_landlock_ruleset, handled_access_net);

	return (int)syscall(__NR_landlock_create_ruleset, r, size, 0u);
}

static inline int sys_landlock_allow(int ruleset, int dir, uint64_t access)
{
	struct sys_landlock_path rule = {.allowed_access = access, .parent_fd = dir};

	return (int)syscall(__NR_landlock_add_rule, ruleset, 1, &rule, 0u);
}

static inline int sys_landlock_restrict(int ruleset)
{
	return (int)syscall(__NR_landlock_restrict_self, ruleset, 0u);
}

#endif
