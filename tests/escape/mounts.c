/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the mounts or the namespaces, without leave to make namespaces of one's own. */
#include "escape.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static verdict mount_new(void)
{
	TRY(REFUSED(mount("none", "/tmp", "tmpfs", 0, NULL), E(EPERM)));
	TRY(REFUSED(mount("none", "/tmp", "proc", 0, NULL), E(EPERM)));
	return REFUSED(mount("/dev/vda", "/tmp", "ext4", 0, NULL), E(EPERM), E(ENOENT), E(EACCES));
}

static verdict mount_bind(void)
{
	return REFUSED(mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL), E(EPERM));
}

static verdict mount_move(void)
{
	return REFUSED(mount("/proc", "/tmp", NULL, MS_MOVE, NULL), E(EPERM));
}

static verdict mount_propagation(void)
{
	return REFUSED(mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL), E(EPERM));
}

static verdict remount_root(void)
{
	TRY(REFUSED(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), E(EPERM)));
	return REFUSED(mount(NULL, "/", NULL, MS_REMOUNT, NULL), E(EPERM));
}

static verdict remount_hidden(void)
{
	const char *ssh = in(scene.home, ".ssh");

	TRY(REFUSED(mount(NULL, ssh, NULL, MS_REMOUNT | MS_BIND, NULL), E(EPERM)));
	return REFUSED(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL), E(EPERM));
}

static verdict unmount_any(void)
{
	const char *const places[] = {in(scene.home, ".ssh"), scene.state, scene.ws, "/proc",
				      "/proc/sys", "/tmp", "/dev", "/dev/null", "/run", "/sys", "/"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		TRY(REFUSED(umount2(places[i], 0), E(EPERM)));
		TRY(REFUSED(umount2(places[i], MNT_DETACH), E(EPERM)));
	}
	return NULL;
}

static verdict new_mount_calls(void)
{
	struct {
		unsigned long long set, clr, propagation, fd;
	} attr = {.clr = 1 /* MOUNT_ATTR_RDONLY */};

	TRY(REFUSED(syscall(SYS_fsopen, "tmpfs", 0), E(ENOSYS), E(EPERM)));
	TRY(REFUSED(syscall(SYS_fspick, AT_FDCWD, "/", 0), E(ENOSYS), E(EPERM)));
	TRY(REFUSED(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* clone */), E(ENOSYS), E(EPERM)));
	TRY(REFUSED(syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0), E(ENOSYS), E(EPERM)));
	return REFUSED(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)), E(ENOSYS),
		       E(EPERM));
}

static verdict pivot(void)
{
	return REFUSED(syscall(SYS_pivot_root, ".", "."), E(EPERM));
}

/* With CAP_SYS_CHROOT, the old way out of a root: it must end in the box's root, not the host's. */
static verdict change_root(void)
{
	const char *dir = in(scene.ws, "jail");

	if (!(scene.box & BOX_CAPS))
		return REFUSED(chroot("/tmp"), E(EPERM));
	mkdir(dir, 0755);
	if (chroot(dir) < 0)
		return NULL;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return bad("chdir ..: %s", strerror(errno));
	if (chroot(".") < 0)
		return bad("chroot .: %s", strerror(errno));
	/* The driver compares the canary; inside it may be a copy. */
	(void)!write_text(in(scene.outside, "canary"), "written after chroot");
	return no_secret_in(in(scene.home, ".ssh/id_rsa"));
}

static verdict setns_any(void)
{
	static const char *const names[] = {"mnt", "pid", "net", "ipc", "uts", "user", "cgroup", "time"};
	char path[64];

	for (int who = 0; who < 2; who++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			int fd;

			snprintf(path, sizeof(path), "/proc/%s/ns/%s", who ? "1" : "self", names[i]);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd < 0)
				continue;
			TRY(REFUSED(setns(fd, 0), E(EPERM), E(EINVAL)));
			close(fd);
		}
	return REFUSED(setns((int)syscall(SYS_pidfd_open, 1, 0), CLONE_NEWNS), E(EPERM));
}

static const int namespace_flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
				      CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80 /* time */};

static verdict unshare_any(void)
{
	for (size_t i = 0; i < sizeof(namespace_flags) / sizeof(namespace_flags[0]); i++) {
		int rc = unshare(namespace_flags[i]);

		if (rc == 0)
			return bad("unshare(%#x) succeeded", namespace_flags[i]);
		TRY(refused(rc, "unshare", E(EPERM), E(EINVAL), NULL));
	}
	return NULL;
}

static verdict clone_any(void)
{
	for (size_t i = 0; i < sizeof(namespace_flags) / sizeof(namespace_flags[0]); i++) {
		long rc;

		if (namespace_flags[i] == 0x80)
			continue; /* part of the exit signal in clone(2) */
		rc = syscall(SYS_clone, (long)namespace_flags[i] | SIGCHLD, 0, 0, 0, 0);
		if (rc == 0)
			_exit(0);
		TRY(refused(rc, "clone with a new namespace", E(EPERM), NULL));
		rc = syscall(SYS_clone, (long)namespace_flags[i] | (1L << 40) | SIGCHLD, 0, 0, 0, 0);
		if (rc == 0)
			_exit(0);
		TRY(refused(rc, "clone with high bits", E(EPERM), E(EINVAL), NULL));
	}
	return NULL;
}

static verdict clone3_any(void)
{
	unsigned long long args[11] = {[0] = CLONE_NEWUSER, [4] = SIGCHLD};
	long rc = syscall(SYS_clone3, args, sizeof(args));

	if (rc == 0)
		_exit(0);
	return refused(rc, "clone3", E(ENOSYS), E(EPERM), NULL);
}

static verdict map_again(void)
{
	TRY(REFUSED(write_text("/proc/self/uid_map", "0 0 1"), E(EPERM), E(EACCES), E(EROFS)));
	TRY(REFUSED(write_text("/proc/self/gid_map", "0 0 1"), E(EPERM), E(EACCES), E(EROFS)));
	return REFUSED(write_text("/proc/self/setgroups", "allow"), E(EPERM), E(EACCES), E(EINVAL),
		       E(EROFS));
}

const struct attempt mount_attempts[] = {
	{"mount of a new file system", mount_new, 0, BOX_NESTED},
	{"bind mount", mount_bind, 0, BOX_NESTED},
	{"moving a mount", mount_move, 0, BOX_NESTED},
	{"shared propagation", mount_propagation, 0, BOX_NESTED},
	{"remounting / read-write", remount_root, 0, BOX_NESTED},
	{"remounting a hidden directory", remount_hidden, 0, BOX_NESTED},
	{"unmounting what hides", unmount_any, 0, BOX_NESTED},
	{"the new mount calls", new_mount_calls, 0, BOX_NESTED},
	{"pivot_root", pivot, 0, BOX_NESTED},
	{"chroot", change_root, 0, BOX_NESTED},
	{"setns", setns_any, 0, BOX_NESTED},
	{"unshare of every namespace", unshare_any, 0, BOX_NESTED},
	{"clone into every namespace", clone_any, 0, BOX_NESTED},
	{"clone3 into a namespace", clone3_any, 0, BOX_NESTED},
	{"mapping the ids again", map_again, 0, 0},
	{0},
};
