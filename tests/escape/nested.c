/* SPDX-License-Identifier: Apache-2.0 */
/* With --nested: what namespaces of one's own still cannot do. */
#include "escape.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A user and mount namespace with as much of a root as the kernel gives. */
static int become_root_inside(int more)
{
	char line[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | more) < 0)
		return -1;
	(void)!write_text("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "0 %d 1", (int)uid);
	(void)!write_text("/proc/self/uid_map", line);
	snprintf(line, sizeof(line), "0 %d 1", (int)gid);
	(void)!write_text("/proc/self/gid_map", line);
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return 0;
}

#define ENTER(more)                                                                                \
	do {                                                                                       \
		if (become_root_inside(more) < 0)                                                  \
			return bad("--nested gives no namespaces: %s", strerror(errno));           \
	} while (0)

static verdict nested_works(void)
{
	ENTER(0);
	return mount("none", "/tmp", "tmpfs", 0, NULL) == 0 ? NULL
							    : bad("tmpfs: %s", strerror(errno));
}

static verdict nested_remount(void)
{
	const char *const places[] = {"/", scene.outside, scene.home, "/usr", "/etc", "/proc/sys", "/sys", "/dev",
				      "/dev/null"};

	ENTER(0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		TRY(refused(mount(NULL, places[i], NULL, MS_REMOUNT | MS_BIND, NULL), places[i], E(EPERM),
			    E(EINVAL), E(EACCES), E(ENOENT), NULL));
	return NULL;
}

static verdict nested_unmount(void)
{
	const char *const places[] = {in(scene.home, ".ssh"), scene.state, scene.ws, "/proc", "/tmp", "/dev",
				      "/run", "/sys", "/dev/null"};

	ENTER(0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		TRY(refused(umount2(places[i], MNT_DETACH), places[i], E(EPERM), E(EINVAL), E(ENOENT), E(EACCES),
			    NULL));
	return no_secret_in(in(scene.home, ".ssh/id_rsa"));
}

static verdict nested_bind(void)
{
	ENTER(0);
	if (mount("/", "/tmp", NULL, MS_BIND, NULL) == 0) {
		TRY(no_secret_in(in("/tmp", in(scene.home, ".ssh/id_rsa") + 1)));
		TRY(no_secret_in(in("/tmp", in(scene.ws, ".env") + 1)));
		return bad("a bind mount of / without what lies on it");
	}
	if (mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL) == 0) {
		TRY(no_secret_in(in("/tmp", in(scene.home, ".ssh/id_rsa") + 1)));
		TRY(no_secret_in(in("/tmp", in(scene.ws, ".env") + 1)));
		TRY(REFUSED(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL), E(EPERM)));
		if (!(scene.box & BOX_WHOLE))
			TRY(REFUSED(write_text(in("/tmp", in(scene.outside, "canary") + 1), "x"), E(EROFS),
				    E(EACCES), E(EPERM)));
	}
	return NULL;
}

static verdict nested_bind_hidden_parent(void)
{
	ENTER(0);
	if (mount(scene.home, "/tmp", NULL, MS_BIND, NULL) == 0)
		TRY(no_secret_in("/tmp/.ssh/id_rsa"));
	if (mount(scene.base, "/tmp", NULL, MS_BIND, NULL) == 0) {
		TRY(no_secret_in("/tmp/home/.ssh/id_rsa"));
		TRY(no_secret_in("/tmp/ws/.env"));
	}
	return NULL;
}

static verdict nested_setattr(void)
{
	struct {
		unsigned long long set, clr, propagation, fd;
	} attr = {.clr = 1};
	int tree;

	ENTER(0);
	TRY(REFUSED(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0x8000, &attr, sizeof(attr)), E(EPERM), E(ENOSYS)));
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, scene.home, 1 | 02000000);
	if (tree < 0)
		return NULL;
	TRY(REFUSED(syscall(SYS_mount_setattr, tree, "", 0x1000, &attr, sizeof(attr)), E(EPERM), E(ENOSYS)));
	tree = openat(tree, ".ssh/id_rsa", O_RDONLY | O_CLOEXEC);
	return tree < 0 ? NULL : no_secret_from(tree, "open_tree");
}

static verdict nested_devices(void)
{
	ENTER(0);
	mount("none", "/tmp", "tmpfs", 0, NULL);
	TRY(REFUSED(mknod("/tmp/mem", S_IFCHR | 0666, makedev(1, 1)), E(EPERM), E(EOVERFLOW)));
	TRY(REFUSED(mknod("/tmp/disk", S_IFBLK | 0666, makedev(254, 0)), E(EPERM), E(EOVERFLOW)));
	return REFUSED(open(in(scene.outside, "node"), O_RDONLY | O_CLOEXEC), E(EACCES), E(ENOENT), E(EPERM));
}

/* A second, bare /proc would have the kernel's settings without the covers on them. */
static verdict nested_proc(void)
{
	ENTER(0);
	if (mount("none", "/tmp", "proc", 0, NULL) < 0)
		return NULL;
	TRY(REFUSED(write_text("/tmp/sys/kernel/core_pattern", "|/tmp/x"), E(EROFS), E(EACCES), E(EPERM)));
	return REFUSED(open("/tmp/sysrq-trigger", O_WRONLY | O_CLOEXEC), E(EROFS), E(EACCES), E(EPERM), E(ENOENT));
}

static int mount_proc_in_child(void *arg)
{
	(void)arg;
	if (mount("none", "/tmp", "proc", 0, NULL) < 0)
		return 0;
	if (open("/tmp/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC) >= 0)
		return 1;
	return open("/tmp/sysrq-trigger", O_WRONLY | O_CLOEXEC) >= 0;
}

static verdict nested_proc_of_own_pids(void)
{
	ENTER(CLONE_NEWPID);
	return in_child(mount_proc_in_child, NULL) ? bad("kernel settings can be written") : NULL;
}

static verdict nested_sys(void)
{
	ENTER(CLONE_NEWNET);
	if (mount("none", "/tmp", "sysfs", 0, NULL) < 0)
		return NULL;
	return REFUSED(open("/tmp/kernel/uevent_helper", O_WRONLY | O_CLOEXEC), E(EROFS), E(EACCES), E(EPERM),
		       E(ENOENT));
}

/* The box shares its control group with rein: it must not be able to freeze or kill that. */
static verdict nested_cgroup(void)
{
	static const char *const kinds[] = {"cgroup2", "cgroup"};
	static const char *const names[] = {"cgroup.procs", "cgroup.kill", "cgroup.freeze", "tasks",
					    "cgroup.subtree_control", "release_agent"};
	static const char *const options[] = {NULL, "memory", "pids", "freezer", "devices", "cpu", "none,name=systemd"};

	/* the namespace itself is refused */
	if (become_root_inside(CLONE_NEWCGROUP) < 0)
		return errno == EPERM ? NULL : bad("no namespaces: %s", strerror(errno));
	for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
		if (mount("none", "/tmp", kinds[o > 0], 0, options[o]) < 0)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			TRY(refused(open(in("/tmp", names[i]), O_WRONLY | O_CLOEXEC), names[i], E(EROFS),
				    E(EACCES), E(EPERM), E(ENOENT), NULL));
		TRY(REFUSED(mkdir("/tmp/own", 0755), E(EROFS), E(EACCES), E(EPERM)));
		umount2("/tmp", MNT_DETACH);
	}
	return NULL;
}

static verdict nested_overlay(void)
{
	char options[PATH_MAX * 2];

	ENTER(0);
	mount("none", "/tmp", "tmpfs", 0, NULL);
	mkdir("/tmp/u", 0755);
	mkdir("/tmp/w", 0755);
	mkdir("/tmp/m", 0755);
	snprintf(options, sizeof(options), "userxattr,lowerdir=%s,upperdir=/tmp/u,workdir=/tmp/w", scene.home);
	if (mount("none", "/tmp/m", "overlay", 0, options) < 0)
		return NULL;
	return no_secret_in("/tmp/m/.ssh/id_rsa");
}

static verdict nested_pivot(void)
{
	ENTER(0);
	mount("none", "/tmp", "tmpfs", 0, NULL);
	mkdir("/tmp/old", 0755);
	if (syscall(SYS_pivot_root, "/tmp", "/tmp/old") < 0)
		return NULL;
	if (chdir("/") < 0)
		return bad("chdir");
	TRY(no_secret_in(in("/old", in(scene.home, ".ssh/id_rsa") + 1)));
	if (umount2("/old", MNT_DETACH) == 0)
		return NULL; /* its own view, gone: fine */
	return NULL;
}

static verdict nested_setns(void)
{
	int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC), out;

	ENTER(0);
	if (fd >= 0)
		TRY(REFUSED(setns(fd, CLONE_NEWNS), E(EPERM)));
	out = (int)syscall(SYS_pidfd_open, 1, 0);
	return REFUSED(setns(out, CLONE_NEWNS | CLONE_NEWNET), E(EPERM), E(EBADF));
}

static verdict nested_still_filtered(void)
{
	char attr[128] = {0};

	ENTER(CLONE_NEWNET);
	TRY(REFUSED(syscall(SYS_bpf, 0, attr, sizeof(attr)), E(EPERM)));
	TRY(REFUSED(syscall(SYS_keyctl, 0, -3, 1), E(EPERM)));
	TRY(REFUSED(syscall(SYS_ptrace, 16, 1, 0, 0), E(EPERM)));
	return REFUSED(open("/proc/1/root", O_PATH | O_CLOEXEC), E(EACCES), E(EPERM));
}

static verdict nested_chroot_out(void)
{
	ENTER(0);
	mkdir("/tmp/jail", 0755);
	if (chroot("/tmp/jail") < 0)
		return bad("chroot: %s", strerror(errno));
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	if (chroot(".") < 0)
		return bad("chroot .: %s", strerror(errno));
	TRY(no_secret_in(in(scene.home, ".ssh/id_rsa")));
	if (scene.box & BOX_WHOLE)
		return NULL;
	return REFUSED(write_text(in(scene.outside, "canary"), "x"), E(EROFS), E(EACCES), E(EPERM));
}

const struct attempt nested_attempts[] = {
	{"nested: namespaces work", nested_works, BOX_NESTED, 0},
	{"nested: remounting read-write", nested_remount, BOX_NESTED, BOX_WHOLE},
	{"nested: unmounting what hides", nested_unmount, BOX_NESTED, 0},
	{"nested: binding / elsewhere", nested_bind, BOX_NESTED, 0},
	{"nested: binding the parent of what is hidden", nested_bind_hidden_parent, BOX_NESTED, 0},
	{"nested: mount_setattr and open_tree", nested_setattr, BOX_NESTED, BOX_WHOLE},
	{"nested: device nodes", nested_devices, BOX_NESTED, 0},
	{"nested: a second /proc", nested_proc, BOX_NESTED, 0},
	{"nested: a /proc of own pids", nested_proc_of_own_pids, BOX_NESTED, 0},
	{"nested: a second /sys", nested_sys, BOX_NESTED, 0},
	{"nested: control groups", nested_cgroup, BOX_NESTED, 0},
	{"nested: an overlay on hidden directories", nested_overlay, BOX_NESTED, 0},
	{"nested: pivot_root", nested_pivot, BOX_NESTED, 0},
	{"nested: setns to init", nested_setns, BOX_NESTED, 0},
	{"nested: the filter stays", nested_still_filtered, BOX_NESTED, 0},
	{"nested: chroot and out", nested_chroot_out, BOX_NESTED, 0},
	{0},
};
