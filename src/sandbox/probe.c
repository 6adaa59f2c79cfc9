/* SPDX-License-Identifier: Apache-2.0 */
/* See probe.h. One function a feature, one table. */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"
#include "sandbox/cgroup.h"
#include "sandbox/net/try.h"
#include "sandbox/remedy.h"
#include "sys/caps.h"
#include "sys/landlock.h"
#include "sys/mountfd.h"
#include "sys/sys.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* How far a child came. */
enum reached { NOTHING = 0, UNSHARED, MAPPED, MOUNTED, OVERLAID, PROCESSES, NETWORK, SYSFS };

struct outcome {
	enum reached reached;
	int sys;	 /* errno of the step after */
	int net_sys, proc_sys;
	bool net, proc, sysfs;
	int gate_sys;
	int identity_sys; /* as root: of the user namespace that a box ends in */
	bool held;
	char detail[64];
};

static bool privileged(void)
{
	uint64_t effective, permitted;

	return geteuid() == 0 && sys_caps_get(&effective, &permitted) == 0 &&
	       effective & SYS_CAP(CAP_SYS_ADMIN);
}

static bool read_text(const char *path, char *to, size_t max)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, max - 1);

	if (n < 0)
		return false;
	to[n] = 0;
	to[strcspn(to, "\n")] = 0;
	return true;
}

static bool write_text(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool map_self(uid_t uid, gid_t gid)
{
	char line[64];

	if (!write_text("/proc/self/setgroups", "deny"))
		return false;
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	if (!write_text("/proc/self/gid_map", line))
		return false;
	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	return write_text("/proc/self/uid_map", line);
}

/* An overlay wholly on a tmpfs of our own: the kernel's ability, not a file system's. */
static bool try_overlay(bool root)
{
	struct sys_mount_option options[] = {
		{"lowerdir", "lower"}, {"upperdir", "upper"}, {"workdir", "work"},
		{"volatile", NULL},    {"userxattr", NULL},	    {0}};
	int tmpfs = sys_mount_new("tmpfs", NULL, 0);

	if (root)
		options[4].key = NULL;
	/* The mount point does not matter: the namespace is ours and dies with us. */
	return tmpfs >= 0 && sys_mount_attach(tmpfs, AT_FDCWD, "/proc") == 0 && chdir("/proc") == 0 &&
	       mkdir("lower", 0755) == 0 && mkdir("upper", 0755) == 0 && mkdir("work", 0755) == 0 &&
	       sys_mount_new("overlay", options, 0) >= 0;
}

static void try_proc(struct outcome *o)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0) {
		o->proc_sys = errno;
		return;
	}
	pid = fork();
	if (pid == 0)
		_exit(sys_mount_new("proc", NULL, 0) < 0 ? errno : 0);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
		o->proc_sys = WEXITSTATUS(status);
		o->proc = o->proc_sys == 0;
	}
}

/* Root mounts outside of one, and then gives everything up in one. */
static int try_identity(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN;
}

/* The way a box goes, as far as it leads. */
static void walk(struct outcome *o)
{
	bool root = privileged();
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (root)
		o->identity_sys = try_identity();
	errno = 0;
	if (!root && unshare(CLONE_NEWUSER) < 0)
		goto out;
	o->reached = UNSHARED;
	if (!root && !map_self(uid, gid))
		goto out;
	o->reached = MAPPED;
	if (unshare(CLONE_NEWNET) == 0)
		o->net = true;
	else
		o->net_sys = errno;
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		goto out;
	o->reached = MOUNTED;
	try_proc(o);
	if (o->net)
		o->gate_sys = rein_net_try(&o->held);
	o->sysfs = o->net && sys_mount_new("sysfs", NULL, MOUNT_ATTR_RDONLY) >= 0;
	if (!try_overlay(root))
		goto out;
	o->reached = OVERLAID;
out:
	o->sys = errno;
}

static struct outcome try_walk(void)
{
	struct outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct outcome o = {.sys = ENOMEM};
	pid_t pid;

	if (shared == MAP_FAILED)
		return o;
	pid = fork();
	if (pid == 0) {
		walk(shared);
		_exit(0);
	}
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	o = *shared;
	munmap(shared, sizeof(*shared));
	return o;
}

struct probe {
	struct rein_probe_item *item;
	const struct outcome *o;
};

static void found(struct probe *p, enum rein_probe_state state, const char *remedy, const char *fmt,
		  ...) REIN_PRINTF(4, 5);

static void found(struct probe *p, enum rein_probe_state state, const char *remedy, const char *fmt,
		  ...)
{
	va_list ap;

	p->item->state = state;
	p->item->remedy = state == REIN_PROBE_OK ? NULL : remedy;
	va_start(ap, fmt);
	vsnprintf(p->item->detail, sizeof(p->item->detail), fmt, ap);
	va_end(ap);
}

static void probe_user(struct probe *p)
{
	if (privileged())
		found(p, REIN_PROBE_OK, NULL, "root");
	else if (geteuid() == 0)
		found(p, REIN_PROBE_OK, NULL, "uid 0 without CAP_SYS_ADMIN: as an ordinary user");
	else
		found(p, REIN_PROBE_OK, NULL, "ordinary user (uid %u)", geteuid());
}

/* Three systems refuse in three ways. */
static void probe_userns(struct probe *p)
{
	const struct outcome *o = p->o;

	if (privileged() && o->identity_sys)
		found(p, REIN_PROBE_MISSING,
		      o->identity_sys == ENOSPC || o->identity_sys == EUSERS ? REIN_REMEDY_USERNS_COUNT : REIN_REMEDY_CHROOT,
		      "refused (%s)", strerror(o->identity_sys));
	else if (privileged() || o->reached >= MOUNTED)
		found(p, REIN_PROBE_OK, NULL, "works");
	else if (o->reached == NOTHING && (o->sys == ENOSPC || o->sys == EUSERS))
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_USERNS_COUNT,
		      "refused: the number allowed is used up or zero (%s)", strerror(o->sys));
	else if (o->reached == NOTHING)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_USERNS_SYSCTL, "refused (%s)",
		      strerror(o->sys));
	else
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_APPARMOR,
		      "created, but without any rights (AppArmor; %s: %s)",
		      o->reached == UNSHARED ? "mapping ids" : "mounting", strerror(o->sys));
}

static void probe_overlay(struct probe *p)
{
	const struct outcome *o = p->o;

	if (o->reached >= OVERLAID)
		found(p, REIN_PROBE_OK, NULL, "works");
	else if (o->reached < MOUNTED)
		found(p, REIN_PROBE_MISSING, NULL, "not reached: no user namespace");
	else
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_OVERLAY, "refused (%s)", strerror(o->sys));
}

static void probe_proc(struct probe *p)
{
	const struct outcome *o = p->o;

	if (o->proc)
		found(p, REIN_PROBE_OK, NULL, "works");
	else if (o->reached < MOUNTED)
		found(p, REIN_PROBE_MISSING, NULL, "not reached: no user namespace");
	else
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_PROC, "refused (%s)", strerror(o->proc_sys));
}

static void probe_net(struct probe *p)
{
	const struct outcome *o = p->o;

	if (o->net)
		found(p, o->sysfs ? REIN_PROBE_OK : REIN_PROBE_PARTIAL, NULL,
		      o->sysfs ? "works" : "works; /sys still names the host's interfaces");
	else if (o->reached < MAPPED)
		found(p, REIN_PROBE_MISSING, NULL, "not reached: no user namespace");
	else
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_KERNEL, "refused (%s)",
		      strerror(o->net_sys));
}

static void probe_gate(struct probe *p)
{
	static const char modules[] = "load the kernel's nftables: as root, modprobe nf_tables nft_redir "
				      "nft_fib_inet nft_reject_inet; then --net restricted and open work";
	const struct outcome *o = p->o;

	if (!o->net)
		found(p, REIN_PROBE_MISSING, NULL, "not reached: no network namespace");
	else if (o->gate_sys)
		found(p, REIN_PROBE_MISSING, modules, "refused (%s)", strerror(o->gate_sys));
	else if (!o->held)
		found(p, REIN_PROBE_PARTIAL, "as root: modprobe nfnetlink_queue nft_queue",
		      "works; connections cannot be held until they are dialled");
	else
		found(p, REIN_PROBE_OK, NULL, "works, connections are held until they are dialled");
}

static void probe_mount_api(struct probe *p)
{
	struct mount_attr attr = {0};

	/* A bad descriptor is complained about only by a kernel that knows the call. */
	if (mount_setattr(-1, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 && errno == ENOSYS)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_KERNEL, "mount_setattr is missing");
	else
		found(p, REIN_PROBE_OK, NULL, "works");
}

static void probe_seccomp(struct probe *p)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;
	unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_KERNEL, "no filters with a listener (%s)",
		      strerror(errno));
	/* No program: EFAULT if the flags are known, EINVAL if not. */
	else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EINVAL)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_KERNEL,
		      "listeners can be interrupted (before Linux 5.19)");
	else
		found(p, REIN_PROBE_OK, NULL, "works, with a listener");
}

static void probe_landlock(struct probe *p)
{
	int abi = sys_landlock_abi();

	if (abi >= 3)
		found(p, REIN_PROBE_OK, NULL, "ABI %d", abi);
	else if (abi == 2)
		found(p, REIN_PROBE_PARTIAL, REIN_REMEDY_LANDLOCK, "ABI 2: truncation is not covered");
	else if (abi == 1)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_LANDLOCK,
		      "ABI 1 is not used: it forbids moving files between directories");
	else
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_LANDLOCK, "%s",
		      errno == EOPNOTSUPP ? "built in, but not enabled at boot"
					  : "not in this kernel");
}

static void probe_pidfd(struct probe *p)
{
	auto_close int fd = sys_pidfd_open(getpid(), 0);

	if (fd < 0)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_KERNEL, "%s", strerror(errno));
	else
		found(p, REIN_PROBE_OK, NULL, "works");
}

static void probe_openat2(struct probe *p)
{
	auto_close int fd = sys_openat2(AT_FDCWD, "/", O_PATH, RESOLVE_IN_ROOT);

	if (fd < 0)
		found(p, REIN_PROBE_MISSING, REIN_REMEDY_KERNEL, "%s", strerror(errno));
	else
		found(p, REIN_PROBE_OK, NULL, "works");
}

/* Tried, not guessed: a group with limits is made and removed. */
static void probe_cgroup(struct probe *p)
{
	static const char later[] =
		"as root, or with a systemd user manager (loginctl enable-linger), or started with: "
		"systemd-run --user --scope -p Delegate=yes";
	char why[120];
	int version = rein_cgroup_version(why, sizeof(why));

	if (version)
		found(p, REIN_PROBE_OK, NULL, "v%d: memory, processes, processor share and time", version);
	else
		found(p, REIN_PROBE_PARTIAL, later, "%.100s", why);
}

static void probe_tiocsti(struct probe *p)
{
	char value[16];

	/* The filter refuses it and the box has its own terminal: this is about everything else. */
	if (!read_text("/proc/sys/dev/tty/legacy_tiocsti", value, sizeof(value)))
		found(p, REIN_PROBE_PARTIAL, "use Linux 6.2 or later",
		      "every kernel before 6.2 lets programs type into their terminal");
	else if (rein_streq(value, "0"))
		found(p, REIN_PROBE_OK, NULL, "off");
	else
		found(p, REIN_PROBE_PARTIAL, "as root: sysctl -w dev.tty.legacy_tiocsti=0",
		      "on: programs outside a box can type into their terminal");
}

static const struct {
	const char *name, *title, *meaning;
	bool required;
	void (*run)(struct probe *);
} features[] = {
	{"user", "User", "who builds the boxes", false, probe_user},
	{"user_namespaces", "User namespaces",
	 "let an ordinary user build a box at all, and root give his rights up in one", true, probe_userns},
	{"mount_api", "Mount API", "builds the box's file tree without touching the host's", true,
	 probe_mount_api},
	{"overlay", "Overlay file system", "keeps changes apart from the real files", true,
	 probe_overlay},
	{"proc", "Fresh /proc", "shows only the box's own processes", true, probe_proc},
	{"network_namespaces", "Network namespaces", "cut the box off from the network", true,
	 probe_net},
	{"network_gate", "Network gate", "lets a box reach what was allowed and nothing else", false,
	 probe_gate},
	{"seccomp", "System call filter",
	 "refuses what no ordinary program needs; lets directory renames work", true, probe_seccomp},
	{"pidfd", "Process descriptors", "make sure that everything in a box is dead", true,
	 probe_pidfd},
	{"openat2", "Path resolution", "keeps a box's paths inside the box", true, probe_openat2},
	{"landlock", "Landlock", "second wall against writes outside; without it one wall stands",
	 false, probe_landlock},
	{"cgroup", "Control groups",
	 "keep limits of memory, processes and processors exactly; without them Rein watches memory and "
	 "time, the kernel counts processes, and a processor share is a low priority",
	 false, probe_cgroup},
	{"tiocsti", "Terminal injection", "a box has its own terminal and cannot do it either way",
	 false, probe_tiocsti},
};

_Static_assert(ARRAY_SIZE(features) <= REIN_PROBE_MAX, "room for every feature");

size_t rein_probe(struct rein_probe_item *items)
{
	struct outcome o = try_walk();

	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		struct probe p = {.item = &items[i], .o = &o};

		items[i] = (struct rein_probe_item){
			.name = features[i].name,
			.title = features[i].title,
			.meaning = features[i].meaning,
			.required = features[i].required,
		};
		features[i].run(&p);
	}
	return ARRAY_SIZE(features);
}
