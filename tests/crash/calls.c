/* SPDX-License-Identifier: Apache-2.0 */
/* See calls.h. */
#include "calls.h"

#include "trace.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define SPACE (CALL_CHANGE | CALL_SPACE)
#define ALTER (CALL_CHANGE | CALL_ALTER)
#define SYNC  (CALL_CHANGE | CALL_SYNC)

#define ROW(name, classes)                                                                         \
	{                                                                                          \
		SYS_##name, #name, classes                                                         \
	}

static const struct {
	uint64_t nr;
	const char *name;
	unsigned classes;
} calls[] = {
	ROW(write, SPACE),
	ROW(pwrite64, SPACE),
	ROW(writev, SPACE),
	ROW(pwritev, SPACE),
	ROW(pwritev2, SPACE),
	ROW(fallocate, SPACE),
	ROW(ftruncate, SPACE),
	ROW(truncate, SPACE),
	ROW(copy_file_range, SPACE),
	ROW(sendfile, SPACE),
	ROW(splice, SPACE),
	ROW(mkdirat, SPACE),
	ROW(mknodat, SPACE),
	ROW(linkat, SPACE),
	ROW(symlinkat, SPACE),
	ROW(renameat2, SPACE),
	ROW(setxattr, SPACE),
	ROW(lsetxattr, SPACE),
	ROW(fsetxattr, SPACE),
	ROW(unlinkat, ALTER),
	ROW(removexattr, ALTER),
	ROW(lremovexattr, ALTER),
	ROW(fremovexattr, ALTER),
	ROW(fchmod, ALTER),
	ROW(fchmodat, ALTER),
	ROW(fchown, ALTER),
	ROW(fchownat, ALTER),
	ROW(utimensat, ALTER),
	ROW(fsync, SYNC),
	ROW(fdatasync, SYNC),
	ROW(syncfs, SYNC),
	ROW(sync_file_range, SYNC),
	ROW(msync, SYNC),
	ROW(mount, CALL_CHANGE),
	ROW(umount2, CALL_CHANGE),
	ROW(sendmsg, CALL_CHANGE),
	ROW(sendto, CALL_CHANGE),
	ROW(clone, CALL_CHANGE),
	ROW(clone3, CALL_CHANGE),
	ROW(kill, CALL_CHANGE),
	ROW(exit_group, CALL_CHANGE),
	ROW(brk, CALL_MEMORY),
	ROW(mmap, CALL_MEMORY),
	ROW(mremap, CALL_MEMORY),
#ifdef SYS_renameat
	ROW(renameat, SPACE),
#endif
#ifdef SYS_fchmodat2
	ROW(fchmodat2, ALTER),
#endif
#ifdef SYS_open /* architectures that still have the calls without a directory */
	ROW(rename, SPACE),
	ROW(mkdir, SPACE),
	ROW(mknod, SPACE),
	ROW(link, SPACE),
	ROW(symlink, SPACE),
	ROW(creat, SPACE),
	ROW(unlink, ALTER),
	ROW(rmdir, ALTER),
	ROW(chmod, ALTER),
	ROW(chown, ALTER),
	ROW(lchown, ALTER),
	ROW(utimes, ALTER),
	ROW(fork, CALL_CHANGE),
	ROW(vfork, CALL_CHANGE),
#endif
};

static bool creates(uint64_t flags)
{
	return flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE;
}

struct call_info call_classify(uint64_t nr, const uint64_t *args)
{
	if (nr == SYS_openat)
		return creates(args[2]) ? (struct call_info){"openat", SPACE}
					: (struct call_info){0};
#ifdef SYS_open
	if (nr == SYS_open)
		return creates(args[1]) ? (struct call_info){"open", SPACE} : (struct call_info){0};
#endif
	if (nr == SYS_ioctl)
		return args[1] == FICLONE || args[1] == FICLONERANGE || args[1] == FS_IOC_SETFLAGS
			       ? (struct call_info){"ioctl", SPACE}
			       : (struct call_info){0};
	for (size_t i = 0; i < lab_array_size(calls); i++) {
		struct call_info c = {calls[i].name, calls[i].classes};

		if (calls[i].nr != nr)
			continue;
		/* A message that cannot be written says nothing about the transaction. */
		if (nr == SYS_write && (args[0] == 1 || args[0] == 2))
			c.classes = CALL_CHANGE;
		return c;
	}
	return (struct call_info){0};
}
