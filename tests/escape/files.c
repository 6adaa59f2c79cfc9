/* SPDX-License-Identifier: Apache-2.0 */
/* Writing outside the workspace, by every call that changes something. */
#include "escape.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* An ordinary user is refused by modes before the mount is asked. */
#define NO_WRITE E(EROFS), E(EACCES), E(EPERM)
#define GONE	 E(ENOENT), E(EACCES), E(EPERM), E(EROFS)

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static verdict create_anywhere(void)
{
	static const char *const dirs[] = {"/",	    "/usr", "/usr/bin", "/etc",	    "/var",    "/var/lib",
					   "/boot", "/opt", "/root",	"/home",    "/usr/lib", "/proc",
					   "/sys",  "/dev", "/srv",	"/lost+found"};

	char name[80];

	snprintf(name, sizeof(name), "%s.new", scene.tag);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		TRY(refused(create(in(dirs[i], name)), dirs[i], NO_WRITE, E(ENOENT), NULL));
	return NULL;
}

/* With --whole-system these succeed on a copy: the driver sees to it that nothing came out. */
static verdict create_anywhere_in_copy(void)
{
	static const char *const dirs[] = {"/", "/usr", "/etc", "/var/lib", "/root", "/home", "/opt"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		create(in(dirs[i], scene.tag));
	create(in(scene.home, "new"));
	create(in(scene.outside, "new"));
	(void)!write_text(in(scene.outside, "canary"), "changed in the copy");
	(void)!write_text("/etc/hostname", "changed in the copy");
	unlink(in(scene.outside, "other"));
	chmod(in(scene.outside, "canary"), 0777);
	rename(in(scene.outside, "dir"), in(scene.outside, "dir2"));
	return NULL;
}

static verdict create_at_home(void)
{
	TRY(REFUSED(create(in(scene.home, "new")), NO_WRITE));
	TRY(REFUSED(create(in(scene.home, ".bashrc.new")), NO_WRITE));
	return REFUSED(write_text(in(scene.home, ".bashrc"), "evil"), NO_WRITE);
}

static verdict create_outside(void)
{
	TRY(REFUSED(create(in(scene.outside, "new")), NO_WRITE));
	TRY(REFUSED(create(in(scene.outside, "dir/new")), NO_WRITE));
	TRY(REFUSED(mkdir(in(scene.outside, "newdir"), 0755), NO_WRITE));
	TRY(REFUSED(symlink("x", in(scene.outside, "newlink")), NO_WRITE));
	TRY(REFUSED(mkfifo(in(scene.outside, "newfifo"), 0644), NO_WRITE));
	return REFUSED(open(scene.outside, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), NO_WRITE);
}

static verdict write_canary(void)
{
	const char *path = in(scene.outside, "canary");

	TRY(REFUSED(open(path, O_WRONLY | O_CLOEXEC), NO_WRITE));
	TRY(REFUSED(open(path, O_RDWR | O_APPEND | O_CLOEXEC), NO_WRITE));
	TRY(REFUSED(open(path, O_RDONLY | O_TRUNC | O_CLOEXEC), NO_WRITE));
	TRY(REFUSED(truncate(path, 0), NO_WRITE));
	return REFUSED(unlink(path), NO_WRITE);
}

static verdict metadata_canary(void)
{
	const char *path = in(scene.outside, "canary");
	int fd = open(path, O_RDONLY | O_CLOEXEC), flags = 0;

	TRY(REFUSED(chmod(path, 0777), NO_WRITE));
	TRY(REFUSED(chown(path, getuid(), getgid()), NO_WRITE));
	TRY(REFUSED(utimensat(AT_FDCWD, path, NULL, 0), NO_WRITE));
	TRY(REFUSED(setxattr(path, "user.evil", "1", 1, 0), NO_WRITE));
	TRY(REFUSED(fchmod(fd, 0777), NO_WRITE));
	TRY(REFUSED(fsetxattr(fd, "user.evil", "1", 1, 0), NO_WRITE));
	TRY(REFUSED(futimens(fd, NULL), NO_WRITE));
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_NODUMP_FL;
		TRY(REFUSED(ioctl(fd, FS_IOC_SETFLAGS, &flags), NO_WRITE));
	}
	return NULL;
}

static verdict reading_descriptor_writes(void)
{
	const char *path = in(scene.outside, "canary");
	int fd = open(path, O_RDONLY | O_CLOEXEC), opath = open(path, O_PATH | O_CLOEXEC);
	char link[64];

	if (fd < 0 || opath < 0)
		return bad("cannot read the canary");
	TRY(REFUSED(write(fd, "x", 1), E(EBADF)));
	TRY(REFUSED(ftruncate(fd, 0), E(EINVAL), E(EBADF)));
	TRY(REFUSED(fallocate(fd, 0, 0, 4096), E(EBADF)));
	TRY(REFUSED(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), E(EACCES)));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	TRY(REFUSED(open(link, O_RDWR | O_CLOEXEC), NO_WRITE));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", opath);
	TRY(REFUSED(open(link, O_RDWR | O_CLOEXEC), NO_WRITE));
	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", opath);
	return REFUSED(open(link, O_WRONLY | O_TRUNC | O_CLOEXEC), NO_WRITE);
}

static verdict mprotect_mapping(void)
{
	int fd = open(in(scene.outside, "canary"), O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return bad("mmap: %s", strerror(errno));
	return REFUSED(mprotect(p, 4096, PROT_READ | PROT_WRITE), E(EACCES));
}

/* Write through /proc/self/mem into a shared read-only mapping: must stay private or fail. */
static verdict write_own_memory_file(void)
{
	int fd = open(in(scene.outside, "canary"), O_RDONLY | O_CLOEXEC);
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED || mem < 0)
		return bad("mmap or /proc/self/mem: %s", strerror(errno));
	return REFUSED(pwrite(mem, "evil", 4, (off_t)(intptr_t)p), E(EIO), E(EFAULT));
}

static verdict rename_out(void)
{
	const char *from = in(scene.ws, "file"), *to = in(scene.outside, "stolen");

	TRY(REFUSED(rename(from, to), NO_WRITE, E(EXDEV)));
	TRY(REFUSED(rename(from, in(scene.outside, "canary")), NO_WRITE, E(EXDEV)));
	TRY(REFUSED(rename(in(scene.outside, "canary"), in(scene.ws, "got")), NO_WRITE, E(EXDEV)));
	TRY(REFUSED(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, in(scene.outside, "canary"),
			    2 /* exchange */),
		    NO_WRITE, E(EXDEV)));
	/* directories go through Rein's own rename: it must not be talked into anything */
	TRY(REFUSED(rename(in(scene.ws, "dir"), in(scene.outside, "dir2")), NO_WRITE, E(EXDEV)));
	TRY(REFUSED(rename(in(scene.outside, "dir"), in(scene.ws, "dir2")), NO_WRITE, E(EXDEV)));
	return REFUSED(rename(in(scene.ws, "dir"), in(scene.ws, "out/dir2")), NO_WRITE, E(EXDEV),
		       E(ENOENT));
}

/* The directory rename is done outside on our behalf: swap the path while it looks. */
static verdict rename_race(void)
{
	char link[400], target[400], own_dir[400], mover[400];
	pid_t pid;

	snprintf(link, sizeof(link), "%s/racer", scene.ws);
	snprintf(target, sizeof(target), "%s/racer/moved", scene.ws);
	snprintf(own_dir, sizeof(own_dir), "%s/own", scene.ws);
	snprintf(mover, sizeof(mover), "%s/mover", scene.ws);
	mkdir(own_dir, 0755);
	if (symlink(own_dir, link) < 0)
		return bad("symlink: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		char next[PATH_MAX];

		snprintf(next, sizeof(next), "%s.n", link);
		for (;;) {
			(void)!symlink(scene.outside, next);
			rename(next, link);
			(void)!symlink(own_dir, next);
			rename(next, link);
		}
	}
	for (int i = 0; i < 200; i++) {
		mkdir(mover, 0755);
		if (rename(mover, target) == 0)
			rmdir(target);
	}
	kill(pid, SIGKILL);
	/* The driver looks whether anything arrived in the directory outside. */
	return NULL;
}

static verdict link_out(void)
{
	TRY(REFUSED(link(in(scene.ws, "file"), in(scene.outside, "linked")), NO_WRITE, E(EXDEV)));
	TRY(REFUSED(link(in(scene.outside, "canary"), in(scene.ws, "linked")), E(EXDEV), E(EPERM)));
	TRY(REFUSED(link(in(scene.outside, "canary"), in(scene.outside, "linked")), NO_WRITE));
	return REFUSED(linkat(open(in(scene.outside, "canary"), O_PATH | O_CLOEXEC), "", AT_FDCWD,
			      in(scene.ws, "linked"), AT_EMPTY_PATH),
		       E(EXDEV), E(EPERM), E(ENOENT));
}

/* A link from the workspace outwards is followed by programs, but leads to what is read-only. */
static verdict symlink_out(void)
{
	const char *link = in(scene.ws, "to-canary");

	if (symlink(in(scene.outside, "canary"), link) < 0)
		return bad("symlink: %s", strerror(errno));
	TRY(REFUSED(open(link, O_WRONLY | O_CLOEXEC), NO_WRITE));
	TRY(REFUSED(truncate(link, 0), NO_WRITE));
	return REFUSED(create(in(scene.ws, "out/new")), NO_WRITE, E(ENOENT));
}

static verdict dotdot_out(void)
{
	int dir = open(scene.ws, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	TRY(REFUSED(openat(dir, "../outside/canary", O_WRONLY | O_CLOEXEC), NO_WRITE));
	TRY(REFUSED(openat(dir, "../outside/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), NO_WRITE));
	if (fchdir(dir) < 0)
		return bad("fchdir: %s", strerror(errno));
	return REFUSED(open("dir/../../outside/canary", O_WRONLY | O_CLOEXEC), NO_WRITE);
}

/* A directory that is taken away from under an open descriptor must not lead above the box. */
static verdict dotdot_moved(void)
{
	int dir;

	mkdir(in(scene.ws, "deep"), 0755);
	mkdir(in(scene.ws, "deep/er"), 0755);
	dir = open(in(scene.ws, "deep/er"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rename(in(scene.ws, "deep/er"), in(scene.ws, "shallow"));
	return REFUSED(openat(dir, "../../outside/canary", O_WRONLY | O_CLOEXEC), NO_WRITE, E(ENOENT));
}

static verdict other_alias(void)
{
	TRY(REFUSED(write_text(in("/proc/self/root", in(scene.outside, "canary") + 1), "x"), NO_WRITE));
	TRY(REFUSED(write_text(in(scene.base, "link-to-outside/canary"), "x"), NO_WRITE));
	/* A bind mount of the workspace at another place shows the real one: read-only. */
	return REFUSED(write_text(in(scene.base, "bind/file"), "x"), NO_WRITE, E(ENOENT));
}

static verdict state_directory(void)
{
	TRY(REFUSED(create(in(scene.state, "new")), GONE));
	TRY(REFUSED(open(in(scene.state, "txn"), O_RDONLY | O_CLOEXEC), GONE));
	TRY(REFUSED(open(in(scene.state, "journal"), O_RDONLY | O_CLOEXEC), GONE));
	return REFUSED(open(in(scene.state, "lock"), O_RDWR | O_CLOEXEC), GONE);
}

static verdict overwrite_programs(void)
{
	static const char *const names[] = {"rein", "rein-box", "escape"};

	for (size_t i = 0; i < 3; i++) {
		const char *path = in(scene.bin, names[i]);

		TRY(refused(open(path, O_WRONLY | O_CLOEXEC), names[i], NO_WRITE, E(ETXTBSY), NULL));
		TRY(refused(unlink(path), names[i], NO_WRITE, NULL));
		TRY(refused(rename(in(scene.ws, "file"), path), names[i], NO_WRITE, E(EXDEV), NULL));
	}
	return REFUSED(open("/proc/self/exe", O_WRONLY | O_CLOEXEC), NO_WRITE, E(ETXTBSY));
}

static verdict other_users(void)
{
	if (scene.box & BOX_ROOT)
		return REFUSED(create("/home/new"), NO_WRITE, E(ENOENT));
	TRY(REFUSED(create("/root/new"), NO_WRITE, E(ENOENT)));
	return no_secret_in(in(scene.outside, "private"));
}

static verdict make_devices(void)
{
	const char *const dirs[] = {scene.ws, "/tmp", "/dev", "/dev/shm", "/run", "/var/tmp"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		TRY(refused(mknod(in(dirs[i], "mem"), S_IFCHR | 0666, makedev(1, 1)), dirs[i], E(EPERM),
			    E(EROFS), E(EACCES), NULL));
		TRY(refused(mknod(in(dirs[i], "disk"), S_IFBLK | 0666, makedev(254, 0)), dirs[i],
			    E(EPERM), E(EROFS), E(EACCES), NULL));
	}
	return NULL;
}

static verdict open_devices(void)
{
	static const char *const names[] = {
		"mem",	 "kmem",    "port", "kmsg",	"vda",	    "vda1",	"sda",	"nvme0n1",
		"loop0", "loop-control", "fuse", "kvm", "net/tun", "vsock", "vhost-net", "vhost-vsock",
		"uinput", "tty0", "tty1", "console", "ttyS0", "snapshot", "userfaultfd", "rtc0",
		"watchdog", "cpu_dma_latency", "dri/card0", "input/event0", "btrfs-control", "nbd0"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		TRY(refused(open(in("/dev", names[i]), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
			    names[i], E(ENOENT), NULL));
	return NULL;
}

/* A node that lies on disk outside /dev, or in the workspace itself. */
static verdict device_on_disk(void)
{
	TRY(REFUSED(open(in(scene.outside, "node"), O_RDONLY | O_CLOEXEC), E(EACCES), E(ENOENT),
		    E(EPERM)));
	return REFUSED(open(in(scene.ws, "node"), O_RDONLY | O_CLOEXEC), E(EACCES), E(ENOENT), E(EPERM));
}

static verdict chmod_devices(void)
{
	static const char *const names[] = {"null", "zero", "full", "random", "urandom", "tty"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		TRY(refused(chmod(in("/dev", names[i]), 0600), names[i], NO_WRITE, NULL));
		TRY(refused(unlink(in("/dev", names[i])), names[i], NO_WRITE, E(EBUSY), NULL));
		TRY(refused(utimensat(AT_FDCWD, in("/dev", names[i]), &(struct timespec[2]){{1, 0}, {1, 0}}[0], 0),
			    names[i], NO_WRITE, NULL));
	}
	return NULL;
}

/* Somebody outside reads from it: a pipe by name is a way to talk to that process. */
static verdict fifo_outside(void)
{
	int fd = open(in(scene.outside, "fifo"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return REFUSED(fd, NO_WRITE, E(ENOENT), E(ENXIO)); /* ENXIO: a copy, nobody reads it */
	(void)!write(fd, "told you", 8);
	return bad("a named pipe outside the workspace took what was written");
}

static verdict handles(void)
{
	struct {
		struct file_handle h;
		char bytes[128];
	} f = {.h.handle_bytes = 128};
	int mount_id, dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (name_to_handle_at(AT_FDCWD, scene.outside, &f.h, &mount_id, 0) < 0)
		f.h.handle_type = 1, f.h.handle_bytes = 8;
	TRY(REFUSED(open_by_handle_at(dir, &f.h, O_RDONLY), E(EPERM)));
	/* the root directory of the usual file systems: inode 2, generation 0 */
	f.h.handle_type = 1;
	f.h.handle_bytes = 8;
	memcpy(f.h.f_handle, (unsigned char[8]){2}, 8);
	return REFUSED(open_by_handle_at(dir, &f.h, O_RDONLY), E(EPERM));
}

const struct attempt file_attempts[] = {
	{"creating files all over the system", create_anywhere, 0, BOX_WHOLE},
	{"changing the copy of the whole system", create_anywhere_in_copy, BOX_WHOLE, 0},
	{"creating files in the home directory", create_at_home, 0, BOX_WHOLE},
	{"creating anything outside", create_outside, 0, BOX_WHOLE},
	{"writing to a file outside", write_canary, 0, BOX_WHOLE},
	{"changing the metadata of a file outside", metadata_canary, 0, BOX_WHOLE},
	{"writing through a reading descriptor", reading_descriptor_writes, 0, BOX_WHOLE},
	{"making a mapping writable", mprotect_mapping, 0, 0},
	{"writing to a mapping through /proc/self/mem", write_own_memory_file, 0, 0},
	{"renaming out of the workspace and in", rename_out, 0, BOX_WHOLE},
	{"racing a directory rename with a symbolic link", rename_race, 0, BOX_WHOLE | BOX_READER},
	{"hard links out and in", link_out, 0, BOX_WHOLE | BOX_READER},
	{"symbolic links out", symlink_out, 0, BOX_WHOLE | BOX_READER},
	{".. out of the workspace", dotdot_out, 0, BOX_WHOLE},
	{".. from a moved directory", dotdot_moved, 0, BOX_WHOLE | BOX_READER},
	{"other names of the same places", other_alias, 0, BOX_WHOLE},
	{"the state directory", state_directory, 0, 0},
	{"overwriting rein and rein-box", overwrite_programs, 0, BOX_WHOLE},
	{"directories of other users", other_users, 0, BOX_WHOLE},
	{"making device nodes", make_devices, 0, 0},
	{"opening devices", open_devices, 0, 0},
	{"device nodes on disk", device_on_disk, 0, 0},
	{"changing the devices of the box", chmod_devices, 0, 0},
	{"a named pipe outside", fifo_outside, 0, BOX_NESTED}, /* Landlock holds it, which nested mounts rule out */
	{"open_by_handle_at", handles, 0, 0},
	{0},
};
