/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that no program in a box needs, rights that were given up, and settings of the kernel. */
#include "escape.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <grp.h>
#include <time.h>
#include <unistd.h>

#define DENIED E(EPERM), E(ENOSYS)

static verdict keyring(void)
{
	TRY(REFUSED(syscall(SYS_add_key, "user", "x", "y", 1, -3), DENIED));
	TRY(REFUSED(syscall(SYS_request_key, "user", "x", NULL, -3), DENIED));
	return REFUSED(syscall(SYS_keyctl, 0, -3, 1), DENIED);
}

static verdict bpf_call(void)
{
	char attr[128] = {0};

	return REFUSED(syscall(SYS_bpf, 0, attr, sizeof(attr)), DENIED);
}

static verdict perf(void)
{
	char attr[128] = {[4] = 120};

	return REFUSED(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0), DENIED);
}

static verdict userfault(void)
{
	TRY(REFUSED(syscall(SYS_userfaultfd, 0), DENIED));
	return REFUSED(syscall(SYS_userfaultfd, 1 /* user mode only */), DENIED);
}

static verdict io_uring(void)
{
	char params[120] = {0};

	TRY(REFUSED(syscall(SYS_io_uring_setup, 4, params), DENIED));
	TRY(REFUSED(syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0), DENIED));
	return REFUSED(syscall(SYS_io_uring_register, 0, 0, NULL, 0), DENIED);
}

static verdict kexec(void)
{
	TRY(REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0), DENIED));
	return REFUSED(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0), DENIED);
}

static verdict modules(void)
{
	TRY(REFUSED(syscall(SYS_init_module, "", 0, ""), DENIED));
	TRY(REFUSED(syscall(SYS_finit_module, 0, "", 0), DENIED));
	return REFUSED(syscall(SYS_delete_module, "none", 0), DENIED);
}

static verdict machine(void)
{
	TRY(REFUSED(syscall(SYS_reboot, 0xfee1dead, 672274793, 0x89abcdef, NULL), DENIED));
	TRY(REFUSED(syscall(SYS_swapon, "/tmp/x", 0), DENIED));
	TRY(REFUSED(syscall(SYS_swapoff, "/tmp/x"), DENIED));
	TRY(REFUSED(syscall(SYS_acct, "/tmp/x"), DENIED));
	TRY(REFUSED(syscall(SYS_quotactl, 0, NULL, 0, NULL), DENIED));
	TRY(REFUSED(syscall(SYS_vhangup), DENIED));
	return REFUSED(syscall(SYS_syslog, 3, malloc(64), 64), DENIED);
}

static verdict clocks(void)
{
	struct timespec now;
	char timex[256] = {1};

	clock_gettime(CLOCK_REALTIME, &now);
	TRY(REFUSED(syscall(SYS_clock_settime, 0, &now), DENIED));
	TRY(REFUSED(syscall(SYS_settimeofday, &now, NULL), DENIED));
	return REFUSED(syscall(SYS_adjtimex, timex), DENIED);
}

static verdict names(void)
{
	TRY(REFUSED(sethostname("evil", 4), E(EPERM)));
	return REFUSED(setdomainname("evil", 4), E(EPERM));
}

static verdict fanotify(void)
{
	/* a listener with permission events could stall every process of the machine */
	return REFUSED(syscall(SYS_fanotify_init, 0x4 /* content */, 0), DENIED);
}

#ifdef __x86_64__
static verdict ports(void)
{
	TRY(REFUSED(syscall(SYS_iopl, 3), DENIED));
	TRY(REFUSED(syscall(SYS_ioperm, 0x70, 1, 1), DENIED));
	return REFUSED(syscall(SYS_modify_ldt, 0, NULL, 0), DENIED);
}

static verdict x32(void)
{
	static const long numbers[] = {39 /* getpid */, 101 /* ptrace */, 165 /* mount */, 272 /* unshare */,
				       521 /* ptrace, x32 */, 41 /* socket */, 425 /* io_uring */};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		TRY(refused(syscall(numbers[i] | 0x40000000, 0, 0, 0, 0, 0), "x32", E(ENOSYS), E(EPERM), NULL));
	return NULL;
}

/* The 32-bit entry. Arguments that are pointers must lie low. */
static long int80(long nr, long a, long b, long c, long d, long e)
{
	long rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory", "r8", "r9", "r10", "r11");
	if (rc < 0 && rc > -4096) {
		errno = (int)-rc;
		return -1;
	}
	return rc;
}

static verdict compat_refused(void)
{
	static const struct {
		const char *name;
		long nr;
	} v[] = {{"ptrace", 26},	 {"mount", 21},	    {"umount", 22},    {"umount2", 52},
		 {"reboot", 88},	 {"init_module", 128}, {"pivot_root", 217}, {"add_key", 286},
		 {"request_key", 287}, {"keyctl", 288},	    {"kexec_load", 283}, {"perf_event_open", 336},
		 {"process_vm_readv", 347}, {"process_vm_writev", 348}, {"finit_module", 350},
		 {"setns", 346},	 {"bpf", 357},	    {"userfaultfd", 374}, {"open_by_handle_at", 342},
		 {"socketcall", 102},	 {"stime", 25},	    {"settimeofday", 79}, {"adjtimex", 124},
		 {"iopl", 110},		 {"ioperm", 101},   {"vm86", 166},	 {"swapon", 87},
		 {"acct", 51},		 {"quotactl", 131}, {"syslog", 103},	 {"clock_settime", 264},
		 {"io_uring_setup", 425}, {"open_tree", 428}, {"fsopen", 430},	 {"mount_setattr", 442},
		 {"clock_settime64", 404}, {"clock_adjtime", 343}, {"clock_adjtime64", 405}};

	/* Is there a 32-bit entry at all? */
	if (int80(20 /* getpid */, 0, 0, 0, 0, 0) < 0 && errno == ENOSYS)
		return skip("kernel: no 32-bit calls");
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		bool nested = strstr("mount umount umount2 pivot_root setns open_tree fsopen mount_setattr",
				     v[i].name);

		if (nested && scene.box & BOX_NESTED)
			continue;
		TRY(refused(int80(v[i].nr, 0, 0, 0, 0, 0), v[i].name, DENIED, NULL));
	}
	return NULL;
}

static verdict compat_arguments(void)
{
	if (int80(20, 0, 0, 0, 0, 0) < 0)
		return skip("kernel: no 32-bit calls");
	TRY(REFUSED(int80(359 /* socket */, 40, SOCK_STREAM, 0, 0, 0), E(EAFNOSUPPORT), E(EPERM)));
	TRY(REFUSED(int80(359, 16 /* netlink */, 3, 12, 0, 0), E(EPROTONOSUPPORT), E(EPERM)));
	TRY(REFUSED(int80(360 /* socketpair */, 40, 1, 0, 0, 0), E(EAFNOSUPPORT), E(EPERM)));
	TRY(REFUSED(int80(136 /* personality */, READ_IMPLIES_EXEC, 0, 0, 0, 0), E(EPERM)));
	TRY(REFUSED(int80(54 /* ioctl */, 0, 0x5412 /* TIOCSTI */, 0, 0, 0), E(EPERM)));
	if (scene.box & BOX_NESTED)
		return NULL;
	TRY(REFUSED(int80(310 /* unshare */, CLONE_NEWUSER, 0, 0, 0, 0), E(EPERM)));
	return REFUSED(int80(120 /* clone */, CLONE_NEWUSER | 17, 0, 0, 0, 0), E(EPERM));
}
#endif

static verdict personalities(void)
{
	TRY(REFUSED(personality(READ_IMPLIES_EXEC), E(EPERM)));
	TRY(REFUSED(personality(MMAP_PAGE_ZERO), E(EPERM)));
	return REFUSED(personality(ADDR_COMPAT_LAYOUT), E(EPERM));
}

static unsigned long long status_word(const char *name)
{
	char text[4096] = "";
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const char *at;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return ~0ull;
	close(fd);
	at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 16) : ~0ull;
}

static verdict capabilities(void)
{
	/* chown dac_override fowner fsetid kill setgid setuid sys_chroot setfcap, and mknod never */
	unsigned long long most = scene.box & BOX_CAPS ? 0x800400fbull : 0;
	static const char *const sets[] = {"CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapBnd:\t", "CapAmb:\t"};

	for (size_t i = 0; i < 5; i++)
		if (status_word(sets[i]) & ~most)
			return bad("%.6s is %llx", sets[i], status_word(sets[i]));
	if (status_word("NoNewPrivs:\t") != 1)
		return bad("new privileges are possible");
	return status_word("Seccomp:\t") == 2 ? NULL : bad("no system call filter");
}

static verdict raise_capabilities(void)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {0x1ff, 0x1ff, 0x1ff}};

	TRY(REFUSED(syscall(SYS_capset, &h, all), E(EPERM)));
	TRY(REFUSED(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), E(EPERM)));
	TRY(REFUSED(prctl(PR_SET_SECUREBITS, 0x2f), E(EPERM)));
	return REFUSED(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), E(EINVAL));
}

static verdict change_ids(void)
{
	if (scene.box & BOX_CAPS)
		return NULL;
	if (scene.box & BOX_ROOT) {
		TRY(REFUSED(setuid(1), E(EPERM)));
		return REFUSED(setgroups(0, NULL), E(EPERM));
	}
	TRY(REFUSED(setuid(0), E(EPERM), E(EINVAL)));
	TRY(REFUSED(setgid(0), E(EPERM), E(EINVAL)));
	TRY(REFUSED(setresuid(0, 0, 0), E(EPERM), E(EINVAL)));
	TRY(REFUSED(setgroups(0, NULL), E(EPERM)));
	setfsuid(0);
	return setfsuid((uid_t)-1) == (int)getuid() ? NULL : bad("setfsuid took");
}

/* What a copy of this program with more rights says about itself. */
static verdict says(const char *path, const char *name)
{
	char line[128] = "", want[32];
	int ends[2];
	pid_t pid;

	if (access(in(path, name), F_OK) < 0)
		return NULL;
	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return bad("fork");
	if (pid == 0) {
		dup2(ends[1], 1);
		execl(in(path, name), name, "whoami", NULL);
		_exit(127);
	}
	close(ends[1]);
	(void)!read(ends[0], line, sizeof(line) - 1);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	snprintf(want, sizeof(want), "%d %d ", (int)geteuid(), (int)getegid());
	if (strncmp(line, want, strlen(want)) != 0)
		return bad("%s runs as %s", name, line);
	if (!(scene.box & BOX_CAPS) && strtoull(line + strlen(want), NULL, 16) != 0)
		return bad("%s has capabilities %s", name, line);
	return NULL;
}

static verdict set_user_id(void)
{
	TRY(says(scene.outside, "suid"));
	TRY(says(scene.outside, "sgid"));
	return says(scene.ws, "suid");
}

static verdict file_capabilities(void)
{
	TRY(says(scene.outside, "capped"));
	return says(scene.ws, "capped");
}

static verdict make_set_user_id(void)
{
	const char *path = in("/tmp", "own-suid");
	char buf[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			return bad("copy");
	fchmod(to, 04755);
	close(to);
	close(from);
	return says("/tmp", "own-suid");
}

/* The filter holds for whatever is executed from wherever. */
static verdict memfd_exec(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int mem = memfd_create("x", 0), status;
	char buf[65536], number[16];
	ssize_t n;
	pid_t pid;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(mem, buf, (size_t)n) != n)
			return bad("copy");
	snprintf(number, sizeof(number), "%u", scene.box);
	pid = fork();
	if (pid == 0) {
		char *argv[] = {(char *)(intptr_t)"escape", (char *)(intptr_t)"whoami", NULL};

		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
		syscall(SYS_execveat, mem, "", argv, environ, AT_EMPTY_PATH);
		_exit(126);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return bad("wait");
	return WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 126 ? NULL : bad("exit %d", status);
}

static verdict filter_cannot_go(void)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};

	/* Another filter may be added; the strictest still wins. */
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	TRY(REFUSED(syscall(SYS_keyctl, 0, -3, 1), DENIED));
	return REFUSED(prctl(PR_SET_SECCOMP, 0 /* off */), E(EINVAL));
}

/* A listener of one's own could answer "continue" to calls of the box's filter: it must not win. */
static verdict listener_of_ones_own(void)
{
	struct sock_filter notify[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {4, notify};
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);

	if (fd < 0)
		return refused(fd, "a second listener", E(EBUSY), E(EPERM), E(EINVAL), NULL);
	return REFUSED(syscall(SYS_keyctl, 0, -3, 1), DENIED);
}

static verdict dumpable_tricks(void)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	TRY(REFUSED(prctl(PR_SET_DUMPABLE, 2, 0, 0, 0), E(EINVAL)));
	prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0)
		return bad("CAP_SYS_ADMIN is in the bounding set");
	return REFUSED(open("/proc/1/mem", O_RDONLY | O_CLOEXEC), E(EACCES), E(EPERM));
}

static char walk_found[PATH_MAX];

static int try_to_open(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int fd;

	(void)at;
	if (type != FTW_F || !S_ISREG(st->st_mode) || walk_found[0])
		return 0;
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	close(fd);
	if (strcmp(path, "/proc/sys/kernel/ns_last_pid") == 0)
		return 0; /* anybody may open it, writing asks for a capability */
	snprintf(walk_found, sizeof(walk_found), "%s", path);
	return 1;
}

static verdict walk(const char *dir)
{
	walk_found[0] = 0;
	nftw(dir, try_to_open, 16, FTW_PHYS);
	return walk_found[0] ? bad("%s can be opened for writing", walk_found) : NULL;
}

static verdict sysctls(void)
{
	TRY(REFUSED(write_text("/proc/sys/kernel/core_pattern", "|/tmp/x"), E(EROFS), E(EACCES), E(EPERM)));
	TRY(REFUSED(write_text("/proc/sys/kernel/modprobe", "/tmp/x"), E(EROFS), E(EACCES), E(EPERM), E(ENOENT)));
	TRY(REFUSED(write_text("/proc/sys/kernel/ns_last_pid", "100"), E(EROFS), E(EACCES), E(EPERM), E(ENOENT)));
	return walk("/proc/sys");
}

static verdict proc_files(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	TRY(REFUSED(write_text("/proc/sysrq-trigger", "h"), E(EROFS), E(EACCES), E(EPERM), E(ENOENT)));
	while (d && (e = readdir(d))) {
		struct stat st;
		int fd;

		/* what has no write bit has no way to be written to either, whoever opens it */
		if (e->d_type != DT_REG || stat(in("/proc", e->d_name), &st) < 0 || !(st.st_mode & 0222))
			continue;
		fd = open(in("/proc", e->d_name), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		/* a runtime covers what it hides with the null device, which takes everything and keeps nothing */
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
			close(fd);
			continue;
		}
		if (fd >= 0)
			return bad("/proc/%s can be opened for writing", e->d_name);
	}
	TRY(walk("/proc/irq"));
	TRY(walk("/proc/bus"));
	return walk("/proc/fs");
}

static verdict sys_files(void)
{
	TRY(REFUSED(write_text("/sys/power/state", "mem"), E(EROFS), E(EACCES), E(EPERM), E(ENOENT)));
	TRY(walk("/sys/kernel"));
	TRY(walk("/sys/module"));
	TRY(walk("/sys/block"));
	return walk("/sys/fs");
}

/* Attributes that mean something to overlayfs, in every spelling. */
static verdict overlay_attributes(void)
{
	const char *path = in(scene.ws, "file");

	TRY(REFUSED(setxattr(path, "trusted.overlay.opaque", "y", 1, 0), E(EPERM), E(EOPNOTSUPP)));
	TRY(REFUSED(setxattr(path, "trusted.overlay.redirect", "/etc", 4, 0), E(EPERM), E(EOPNOTSUPP)));
	return REFUSED(setxattr(path, "trusted.anything", "y", 1, 0), E(EPERM), E(EOPNOTSUPP));
}

static verdict whiteouts(void)
{
	const char *path = in(scene.ws, "whiteout");
	struct stat st;

	if (mknod(path, S_IFCHR, 0) < 0)
		return refused(-1, "mknod of a whiteout", E(EPERM), NULL);
	return stat(path, &st) == 0 ? bad("a whiteout could be made in the workspace") : NULL;
}

const struct attempt kernel_attempts[] = {
	{"kernel keyring", keyring, 0, 0},
	{"bpf", bpf_call, 0, 0},
	{"perf_event_open", perf, 0, 0},
	{"userfaultfd", userfault, 0, 0},
	{"io_uring", io_uring, 0, 0},
	{"kexec", kexec, 0, 0},
	{"kernel modules", modules, 0, 0},
	{"reboot, swap, accounting, quota, log", machine, 0, 0},
	{"clocks", clocks, 0, 0},
	{"host name", names, 0, 0},
	{"fanotify with permission events", fanotify, 0, 0},
#ifdef __x86_64__
	{"I/O ports and descriptor tables", ports, 0, 0},
	{"x32 calls", x32, 0, 0},
	{"32-bit calls that are refused", compat_refused, 0, 0},
	{"32-bit calls decided by their arguments", compat_arguments, 0, 0},
#endif
	{"personalities", personalities, 0, 0},
	{"no capability, no new privileges, a filter", capabilities, 0, 0},
	{"raising capabilities", raise_capabilities, 0, 0},
	{"changing ids", change_ids, 0, 0},
	{"set-user-id programs", set_user_id, 0, 0},
	{"file capabilities", file_capabilities, 0, 0},
	{"making a set-user-id program", make_set_user_id, 0, 0},
	{"executing from memory", memfd_exec, 0, 0},
	{"taking the filter off", filter_cannot_go, 0, 0},
	{"a seccomp listener of one's own", listener_of_ones_own, 0, 0},
	{"dumpable, ptracer, bounding set", dumpable_tricks, 0, 0},
	{"kernel settings in /proc/sys", sysctls, 0, 0},
	{"writable files in /proc", proc_files, 0, 0},
	{"writable files in /sys", sys_files, 0, 0},
	{"overlay attributes of the trusted kind", overlay_attributes, 0, BOX_READER},
	{"whiteouts made inside", whiteouts, 0, BOX_READER},
	{0},
};
