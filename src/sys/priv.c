/* SPDX-License-Identifier: Apache-2.0 */
/* Privilege, looked at and taken. */
#include "sys/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/aclaside.h"
#include "sys/caps.h"

static ssize_t read_text(const char *path, char *text, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

static bool maps_everybody(void)
{
	unsigned long inside, outside, count;
	char text[128];

	if (read_text("/proc/self/uid_map", text, sizeof(text)) <= 0)
		return true; /* a kernel without user namespaces */
	return sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
	       outside == 0 && count == 4294967295ul;
}

bool rein_is_root(void)
{
	static atomic_int whole = -1; /* asked once: root does not leave its user namespace */
	uint64_t effective, permitted;

	if (geteuid() != 0 || sys_caps_get(&effective, &permitted) < 0 ||
	    !(effective & SYS_CAP(CAP_SYS_ADMIN)))
		return false;
	if (whole < 0)
		whole = maps_everybody();
	return whole;
}

static int write_text(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static bool ours, done;

void rein_may_master_own_files(void)
{
	ours = true;
}

bool rein_own_files_ns(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER) < 0)
		return false;
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (write_text("/proc/self/uid_map", map) < 0)
		return false;
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_text("/proc/self/gid_map", map) == 0;
}

bool rein_master_own_files(int denied_errno)
{
	if ((denied_errno != EACCES && denied_errno != EPERM) || !ours || done || geteuid() == 0)
		return false;
	done = true;
	rein_aclaside_start();
	return rein_own_files_ns();
}
