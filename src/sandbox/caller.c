/* SPDX-License-Identifier: Apache-2.0 */
/* See caller.h. */
#include "sandbox/caller.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/sys.h"

bool rein_caller_string(pid_t pid, uint64_t at, char *to, size_t max)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t done = 0;

	while (done < max) {
		size_t n = page - (at + done) % page;
		struct iovec ours = {to + done, n < max - done ? n : max - done};
		struct iovec theirs = {(void *)(uintptr_t)(at + done), ours.iov_len};
		ssize_t got = process_vm_readv(pid, &ours, 1, &theirs, 1, 0);

		if (got <= 0)
			return false;
		if (memchr(to + done, 0, (size_t)got))
			return true;
		done += (size_t)got;
	}
	return false;
}

bool rein_caller_bytes(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec ours = {to, n}, theirs = {(void *)(uintptr_t)at, n};

	return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == (ssize_t)n;
}

int rein_caller_open(pid_t pid, const char *what, int number)
{
	char path[64];

	if (number >= 0)
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return open(path, O_PATH | O_CLOEXEC);
}

bool rein_caller_same(int a, int b)
{
	struct statx x, y;
	const unsigned want = STATX_INO | STATX_MNT_ID;

	return statx(a, "", AT_EMPTY_PATH, want, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, want, &y) == 0 && x.stx_mask & STATX_MNT_ID &&
	       y.stx_mask & STATX_MNT_ID && x.stx_mnt_id == y.stx_mnt_id && x.stx_ino == y.stx_ino &&
	       x.stx_dev_major == y.stx_dev_major && x.stx_dev_minor == y.stx_dev_minor;
}

bool rein_caller_base(pid_t pid, int box_root, int dirfd, char *to, size_t size)
{
	auto_close int place = rein_caller_open(pid, "cwd", dirfd == AT_FDCWD ? -1 : dirfd);
	auto_close int again = -1;
	char link[64];
	ssize_t n;

	if (place < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	n = readlink(link, to, size - 1);
	if (n <= 0 || to[0] != '/')
		return false;
	to[n] = 0;
	again = sys_openat2(box_root, to, O_PATH | O_DIRECTORY,
			    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return again >= 0 && rein_caller_same(place, again);
}
