/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: the plan and its check, the filter run in an interpreter, moving directories, the probe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/filter.h"
#include "sandbox/move.h"
#include "sandbox/plan.h"
#include "sandbox/probe.h"

/* What the kernel would make of it. Only what the generator emits. */
static uint32_t judge(const struct rein_filter *f, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < f->n; pc++) {
		const struct sock_filter *i = &f->code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*d));
			memcpy(&a, (const char *)d + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("unknown instruction %x", i->code);
		}
	}
	fail_msg("ran off the end");
	return 0;
}

static uint32_t ask(const struct rein_filter *f, uint32_t arch, int nr, uint64_t a, uint64_t b,
		    uint64_t c)
{
	struct seccomp_data d = {.nr = nr, .arch = arch, .args = {a, b, c}};

	return judge(f, &d);
}

#define E(e) ((uint32_t)(SECCOMP_RET_ERRNO | (e)))

static void filter_says_what_the_table_says(void **state)
{
	static struct rein_filter f;
	uint32_t native = rein_filter_native.audit;

	(void)state;
	assert_true(rein_filter_build(&(struct rein_filter_options){.notify = true}, &f));
	assert_true(f.n < 600);
	assert_int_equal(ask(&f, native, SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_execve, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_seccomp, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_mount, 0, 0, 0), E(EPERM));
	assert_int_equal(ask(&f, native, SYS_clone3, 0, 0, 0), E(ENOSYS));
	assert_int_equal(ask(&f, native, SYS_renameat2, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&f, native, SYS_clone, CLONE_VM, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_clone, CLONE_NEWUSER, 0, 0), E(EPERM));
	assert_int_equal(ask(&f, native, SYS_unshare, CLONE_FILES, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_ioctl, 0, TIOCSTI | 1ull << 40, 0), E(EPERM));
	assert_int_equal(ask(&f, native, SYS_ioctl, 0, TIOCGWINSZ, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_socket, AF_INET6, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_socket, 40, 0, 0), E(EAFNOSUPPORT));
	assert_int_equal(ask(&f, native, SYS_socket, AF_NETLINK, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_socket, AF_NETLINK, 0, 16), E(EPROTONOSUPPORT));
	/* x32, negative, and what is not invented yet */
	assert_int_equal(ask(&f, native, 0x40000000, 0, 0, 0), E(ENOSYS));
	assert_int_equal(ask(&f, native, -1, 0, 0, 0), E(ENOSYS));
	assert_int_equal(ask(&f, native, 470, 0, 0, 0), E(ENOSYS));
	assert_int_equal(ask(&f, AUDIT_ARCH_MIPS, SYS_read, 0, 0, 0), E(ENOSYS));
	assert_true(rein_filter_build(&(struct rein_filter_options){.nested = true}, &f));
	assert_int_equal(ask(&f, native, SYS_mount, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_clone, CLONE_NEWUSER, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_renameat2, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_keyctl, 0, 0, 0), E(EPERM));
	assert_int_equal(ask(&f, native, SYS_unshare, CLONE_NEWCGROUP, 0, 0), E(EPERM));
	assert_int_equal(ask(&f, native, SYS_clone3, 0, 0, 0), E(ENOSYS));
	/* cores: as the command likes, or not at all; others of its limits are its own */
	assert_int_equal(ask(&f, native, SYS_prlimit64, 0, RLIMIT_CORE, 8), SECCOMP_RET_ALLOW);
	assert_true(rein_filter_build(&(struct rein_filter_options){.no_cores = true}, &f));
	assert_int_equal(ask(&f, native, SYS_setrlimit, RLIMIT_CORE, 8, 0), E(0));
	assert_int_equal(ask(&f, native, SYS_setrlimit, RLIMIT_CORE | 1ull << 32, 8, 0), E(0));
	assert_int_equal(ask(&f, native, SYS_setrlimit, RLIMIT_STACK, 8, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_prlimit64, 7, RLIMIT_CORE, 8), E(0));
	assert_int_equal(ask(&f, native, SYS_prlimit64, 7, RLIMIT_CORE, 1ull << 32), E(0));
	assert_int_equal(ask(&f, native, SYS_prlimit64, 7, RLIMIT_CORE, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_prlimit64, 7, RLIMIT_NOFILE, 8), SECCOMP_RET_ALLOW);
#ifdef __x86_64__
	assert_int_equal(ask(&f, AUDIT_ARCH_I386, 75, RLIMIT_CORE, 8, 0), E(0));
	assert_int_equal(ask(&f, AUDIT_ARCH_I386, 340, 0, RLIMIT_CORE, 8), E(0));
#endif
	/* what changes files: opened for reading, and names, only where files are watched */
	assert_true(rein_filter_build(&(struct rein_filter_options){.notify = true, .watch = true}, &f));
	assert_int_equal(ask(&f, native, SYS_openat, 0, 0, O_WRONLY), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&f, native, SYS_openat, 0, 0, O_RDONLY), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, native, SYS_unlinkat, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_true(rein_filter_build(
		&(struct rein_filter_options){.notify = true, .watch = true, .files = true}, &f));
	assert_int_equal(ask(&f, native, SYS_openat, 0, 0, O_RDONLY), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&f, native, SYS_unlinkat, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&f, native, SYS_renameat2, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&f, native, SYS_mount, 0, 0, 0), E(EPERM));
	assert_int_equal(ask(&f, native, SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
}

/* The plan of a further command: its words, and nothing that gives a right. */
static void guest_plan_is_one(void **state)
{
	static char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", NULL};
	static char *envp[] = {(char *)(uintptr_t) "PATH=/bin", NULL};
	struct rein_plan_setup setup = {.flags = REIN_PLAN_FLAGS, .tty_mask = 5, .nrlimits = 3};
	struct rein_plan *p = NULL;
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_plan_build_guest(argv, envp, "/w", &setup, &p, &err), 0);
	assert_true(rein_plan_valid(p, p->size));
	assert_int_equal(p->flags, 0);
	assert_int_equal(p->nmounts, 0);
	assert_int_equal(p->nrlimits, 0);
	assert_true(p->caps == 0);
	assert_int_equal(p->nargv, 2);
	assert_int_equal(p->tty_mask, 5);
	assert_string_equal(rein_plan_str(p, p->search), "/bin");
	assert_false(rein_plan_valid(p, p->size - 1));
	rein_free(p);
	assert_true(rein_plan_build_guest(argv, envp, NULL, &setup, &p, &err) < 0);
}

/* Every number of every architecture: allowed exactly if it is known and has no rule. */
static void check_arch(const struct rein_filter *f, const struct rein_filter_arch *arch)
{
	for (uint32_t nr = 0; nr < 1024; nr++) {
		bool known = false, ruled = false;

		for (size_t i = 0; i < arch->nknown; i++)
			known |= nr >= arch->known[i][0] && nr <= arch->known[i][1];
		for (size_t i = 0; i < arch->nrules; i++)
			ruled |= arch->rules[i].nr == nr;
		if (!known)
			assert_int_equal(ask(f, arch->audit, (int)nr, 0, 0, 0), E(ENOSYS));
		else if (!ruled)
			assert_int_equal(ask(f, arch->audit, (int)nr, 0, 0, 0), SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < arch->nrules; i++)
		if (arch->rules[i].action == REIN_FILTER_EPERM)
			assert_int_equal(ask(f, arch->audit, (int)arch->rules[i].nr, 0, 0, 0), E(EPERM));
}

static void filter_covers_every_number(void **state)
{
	static struct rein_filter f;

	(void)state;
	assert_true(rein_filter_build(&(struct rein_filter_options){.notify = true}, &f));
	check_arch(&f, &rein_filter_native);
#ifdef __x86_64__
	check_arch(&f, &rein_filter_i386);
	assert_int_equal(ask(&f, AUDIT_ARCH_I386, 38, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
#endif
}

static struct rein_plan *make_plan(struct rein_err *err)
{
	static char *argv[] = {(char *)(uintptr_t) "true", NULL};
	static char *envp[] = {(char *)(uintptr_t) "PATH=/bin", (char *)(uintptr_t) "A=b", NULL};
	static struct rein_root roots[] = {
		{.real = (char *)(uintptr_t) "/srv/ws",
		 .upper = (char *)(uintptr_t) "/s/u",
		 .work = (char *)(uintptr_t) "/s/w"},
		{.real = (char *)(uintptr_t) "/tmp/deep/ws",
		 .upper = (char *)(uintptr_t) "/s/u2",
		 .work = (char *)(uintptr_t) "/s/w2",
		 .mask = (char *)(uintptr_t) "/s/m2"},
	};
	static struct rein_path_rule paths[] = {
		{.path = (char *)(uintptr_t) "/srv/ws/secret", .is_dir = true},
		{.path = (char *)(uintptr_t) "/srv/ws/secret/inner"},
		{.path = (char *)(uintptr_t) "/tmp/gone"},
		{.path = (char *)(uintptr_t) "/srv/ws/kept",
		 .source = (char *)(uintptr_t) "/s/scratch",
		 .access = REIN_PATH_SCRATCH,
		 .is_dir = true},
		{.path = (char *)(uintptr_t) "/srv/ws/ro", .access = REIN_PATH_RO, .is_dir = true},
	};
	struct rein_box_spec spec = {.argv = argv,
				     .envp = envp,
				     .cwd = "/srv/ws",
				     .roots = roots,
				     .nroots = ARRAY_SIZE(roots),
				     .paths = paths,
				     .npaths = ARRAY_SIZE(paths)};
	struct sock_filter code = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct rein_plan_setup setup = {
		.flags = REIN_PLAN_USERNS | REIN_PLAN_NETNS, .filter = &code, .nfilter = 1};
	struct rein_plan *plan = NULL;

	if (rein_plan_build(&spec, &setup, &plan, err) < 0)
		return NULL;
	return plan;
}

static const struct rein_plan_mount *find(const struct rein_plan *p, const char *target)
{
	for (uint32_t i = 0; i < p->nmounts; i++)
		if (rein_streq(rein_plan_str(p, rein_plan_mounts(p)[i].target), target))
			return &rein_plan_mounts(p)[i];
	return NULL;
}

static void plan_orders_and_drops(void **state)
{
	struct rein_err err = {0};
	struct rein_plan *p = make_plan(&err);

	(void)state;
	assert_non_null(p);
	assert_true(rein_plan_valid(p, p->size));
	assert_true(find(p, "/srv/ws") < find(p, "/srv/ws/secret"));
	assert_true(find(p, "/tmp") < find(p, "/tmp/deep/ws"));
	assert_true(find(p, "/tmp/deep/ws")->flags & REIN_MOUNT_MAKE);
	assert_int_equal(find(p, "/srv/ws")->flags & REIN_MOUNT_MAKE, 0);
	assert_int_equal(find(p, "/srv/ws/kept")->kind, REIN_MOUNT_BIND);
	assert_int_equal(find(p, "/srv/ws/ro")->kind, REIN_MOUNT_FREEZE);
	assert_null(find(p, "/srv/ws/secret/inner")); /* inside what is hidden */
	assert_null(find(p, "/tmp/gone"));	      /* inside what is private */
	assert_non_null(find(p, "/proc"));
	assert_non_null(find(p, "/dev"));
	rein_free(p);
}

/* Whatever byte is changed, the check answers without reading outside (ASan watches). */
static void plan_check_survives_any_byte(void **state)
{
	static const uint8_t values[] = {0, 1, 0x2f, 0x7f, 0x80, 0xff};
	struct rein_err err = {0};
	struct rein_plan *p = make_plan(&err);
	char *copy;
	size_t size;

	(void)state;
	assert_non_null(p);
	size = p->size;
	copy = rein_alloc(size);
	assert_non_null(copy);
	for (size_t at = 0; at < size; at++)
		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			memcpy(copy, p, size);
			copy[at] = (char)values[v];
			(void)rein_plan_valid(copy, size);
		}
	for (size_t n = 0; n < size; n++)
		assert_false(rein_plan_valid(p, n));
	memcpy(copy, p, size);
	((struct rein_plan *)copy)->flags = 1u << 30;
	assert_false(rein_plan_valid(copy, size));
	memcpy(copy, p, size);
	((struct rein_plan *)copy)->nargv = 0;
	assert_false(rein_plan_valid(copy, size));
	rein_free(copy);
	rein_free(p);
}

static void plan_fails_at_every_allocation(void **state)
{
	struct rein_err err = {0};
	struct rein_plan *p = NULL;

	(void)state;
	for (unsigned long n = 1; !p; n++) {
		assert_true(n < 1000);
		rein_fault_alloc(n);
		p = make_plan(&err);
		rein_fault_alloc(0);
		assert_true(p || err.code == REIN_E_NOMEM || err.code == REIN_E_LIMIT);
	}
	rein_free(p);
}

static void plan_refuses_a_root_in_something_hidden(void **state)
{
	static char *argv[] = {(char *)(uintptr_t) "true", NULL};
	struct rein_root root = {.real = (char *)(uintptr_t) "/proc/ws",
				 .upper = (char *)(uintptr_t) "/s/u",
				 .work = (char *)(uintptr_t) "/s/w"};
	struct rein_box_spec spec = {.argv = argv, .cwd = "/", .roots = &root, .nroots = 1};
	struct sock_filter code = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct rein_plan_setup setup = {.flags = REIN_PLAN_USERNS, .filter = &code, .nfilter = 1};
	struct rein_plan *plan = NULL;
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_plan_build(&spec, &setup, &plan, &err), -REIN_E_INVALID);
}

/* Moving: on plain directories, where every step can be watched. */
struct tree {
	char path[64];
	int fd;
};

static int tree_make_in(const char *dir, void **state)
{
	static struct tree t;

	snprintf(t.path, sizeof(t.path), "%s/rein-move.XXXXXX", dir);
	if (!mkdtemp(t.path))
		return -1;
	t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &t;
	return t.fd < 0;
}

static int tree_make(void **state)
{
	return tree_make_in("/tmp", state);
}

/* There names come in another order: the last one first. */
static int tree_make_in_memory(void **state)
{
	return tree_make_in("/dev/shm", state);
}

static void tree_remove(int parent, const char *name)
{
	int fd;
	DIR *d;
	struct dirent *e;

	if (unlinkat(parent, name, 0) == 0)
		return;
	fchmodat(parent, name, 0700, 0);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && (e = readdir(d)))
		if (!rein_streq(e->d_name, ".") && !rein_streq(e->d_name, ".."))
			tree_remove(fd, e->d_name);
	if (d)
		closedir(d);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static int tree_done(void **state)
{
	struct tree *t = *state;

	close(t->fd);
	tree_remove(AT_FDCWD, t->path);
	return 0;
}

static void put_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void make_source(int fd)
{
	struct timespec old[2] = {{1420070400, 5}, {1420070400, 7}};

	assert_int_equal(mkdirat(fd, "d", 0750), 0);
	assert_int_equal(mkdirat(fd, "d/sub", 0711), 0);
	assert_int_equal(mkdirat(fd, "d/shut", 0), 0);
	put_file(fd, "d/f", "hello");
	assert_int_equal(linkat(fd, "d/f", fd, "d/sub/g", 0), 0);
	assert_int_equal(symlinkat("f", fd, "d/l"), 0);
	assert_int_equal(mknodat(fd, "d/p", S_IFIFO | 0600, 0), 0);
	assert_int_equal(utimensat(fd, "d/sub", old, 0), 0);
}

static void check_moved(int fd, const char *top)
{
	char path[128];
	struct stat a, b;

	snprintf(path, sizeof(path), "%s/f", top);
	assert_int_equal(fstatat(fd, path, &a, 0), 0);
	snprintf(path, sizeof(path), "%s/sub/g", top);
	assert_int_equal(fstatat(fd, path, &b, 0), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_nlink, 2);
	assert_int_equal(a.st_mode & 07777, 0640);
	snprintf(path, sizeof(path), "%s/sub", top);
	assert_int_equal(fstatat(fd, path, &a, 0), 0);
	assert_int_equal(a.st_mode & 07777, 0711);
	assert_int_equal(a.st_mtim.tv_sec, 1420070400);
	assert_int_equal(a.st_mtim.tv_nsec, 7);
	snprintf(path, sizeof(path), "%s/shut", top);
	assert_int_equal(fstatat(fd, path, &a, 0), 0);
	assert_int_equal(a.st_mode & 07777, 0);
	snprintf(path, sizeof(path), "%s/p", top);
	assert_int_equal(fstatat(fd, path, &a, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISFIFO(a.st_mode));
	assert_int_equal(fstatat(fd, top, &a, 0), 0);
	assert_int_equal(a.st_mode & 07777, 0750);
}

static unsigned count_names(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static const struct rein_move_opts plain;

static void move_keeps_everything(void **state)
{
	struct tree *t = *state;

	make_source(t->fd);
	assert_int_equal(rein_move_dir(t->fd, "d", t->fd, "n", &plain), 0);
	check_moved(t->fd, "n");
	assert_int_equal(faccessat(t->fd, "d", F_OK, 0), -1);
	assert_int_equal(count_names(t->fd), 1);
	assert_int_equal(mkdirat(t->fd, "empty", 0755), 0);
	assert_int_equal(rein_move_dir(t->fd, "n", t->fd, "empty", &plain), 0);
	check_moved(t->fd, "empty");
	assert_int_equal(count_names(t->fd), 1);
}

static void move_refuses_like_the_kernel(void **state)
{
	struct tree *t = *state;

	make_source(t->fd);
	assert_int_equal(mkdirat(t->fd, "full", 0755), 0);
	put_file(t->fd, "full/x", "x");
	put_file(t->fd, "file", "x");
	assert_int_equal(rein_move_dir(t->fd, "d", t->fd, "full", &plain), -ENOTEMPTY);
	assert_int_equal(rein_move_dir(t->fd, "d", t->fd, "file", &plain), -ENOTDIR);
	assert_int_equal(rein_move_dir(t->fd, "d", t->fd, "full", &(struct rein_move_opts){.flags = RENAME_NOREPLACE}), -EEXIST);
	assert_int_equal(rein_move_dir(t->fd, "absent", t->fd, "n", &plain), -ENOENT);
	check_moved(t->fd, "d");
	assert_int_equal(count_names(t->fd), 3);
}

/* At the nth stop of a process that moves d, at a system call: what a program in the box could have done just then. */
static bool swap_at(const struct tree *t, unsigned n, const char *target)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(1);
		raise(SIGSTOP);
		rein_move_dir(t->fd, "d", t->fd, "n", &plain);
		_exit(0);
	}
	for (unsigned i = 0;; i++) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			return i > n;
		if (i == n && unlinkat(t->fd, "d/x", AT_REMOVEDIR) == 0)
			assert_int_equal(symlinkat(target, t->fd, "d/x"), 0);
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
	}
}

/* Who moves has more rights than who is in the box, and another root: a link must not lead its chmod(2) anywhere. */
static void move_follows_no_link(void **state)
{
	struct tree *t = *state;
	char target[96];
	struct stat st;
	bool more = true;
	unsigned n;

	put_file(t->fd, "victim", "x");
	snprintf(target, sizeof(target), "%s/victim", t->path);
	for (n = 0; more; n++) {
		assert_int_equal(mkdirat(t->fd, "d", 0700), 0);
		assert_int_equal(mkdirat(t->fd, "d/x", 0077), 0);
		more = swap_at(t, n, target);
		tree_remove(t->fd, "d");
		tree_remove(t->fd, "n");
		assert_int_equal(fstatat(t->fd, "victim", &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
	}
	assert_true(n > 20);
}

static void move_exchanges(void **state)
{
	struct tree *t = *state;

	make_source(t->fd);
	assert_int_equal(mkdirat(t->fd, "other", 0700), 0);
	put_file(t->fd, "other/x", "x");
	put_file(t->fd, "file", "text");
	assert_int_equal(rein_move_dir(t->fd, "d", t->fd, "other", &(struct rein_move_opts){.flags = RENAME_EXCHANGE}), 0);
	check_moved(t->fd, "other");
	assert_int_equal(faccessat(t->fd, "d/x", F_OK, 0), 0);
	assert_int_equal(rein_move_dir(t->fd, "other", t->fd, "file", &(struct rein_move_opts){.flags = RENAME_EXCHANGE}), 0);
	check_moved(t->fd, "file");
	assert_int_equal(count_names(t->fd), 3);
}

/* [M1] Stopped, or out of memory at any point: as if nothing had been asked. */
static void move_leaves_no_trace_when_it_fails(void **state)
{
	struct tree *t = *state;
	atomic_bool stop = true;
	unsigned long n = 0;
	int rc = -1;

	make_source(t->fd);
	assert_int_equal(rein_move_dir(t->fd, "d", t->fd, "n", &(struct rein_move_opts){.stop = &stop}), -EINTR);
	check_moved(t->fd, "d");
	assert_int_equal(count_names(t->fd), 1);
	while (rc < 0) {
		rein_fault_alloc(++n);
		rc = rein_move_dir(t->fd, "d", t->fd, "n", &plain);
		rein_fault_alloc(0);
		assert_true(n < 200);
		if (rc < 0 && faccessat(t->fd, "n", F_OK, 0) == 0)
			break; /* the source could not be removed for want of memory */
		check_moved(t->fd, rc < 0 ? "d" : "n");
	}
	tree_remove(t->fd, "n");
}

/* What is put into `into` while the second side is carried: deeper than a move removes. */
struct spoil {
	int fd;
	const char *into;
};

static void spoil(void *arg, int dir, const char *name)
{
	const struct spoil *s = arg;
	int at;

	(void)dir;
	if (strcmp(name, "x"))
		return;
	at = openat(s->fd, s->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 300; i++) {
		int next;

		assert_int_equal(mkdirat(at, "deep", 0700), 0);
		next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
}

/* An exchange of which one side cannot be removed: both are as they were, and nothing else is there. */
static void exchange_brings_back_what_it_cannot_finish(void **state)
{
	static const char *const into[] = {"d", "other"};
	struct tree *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(into); i++) {
		struct spoil s = {t->fd, into[i]};
		struct rein_move_opts how = {.flags = RENAME_EXCHANGE, .hold = spoil, .arg = &s};

		make_source(t->fd);
		assert_int_equal(mkdirat(t->fd, "other", 0700), 0);
		put_file(t->fd, "other/x", "x");
		assert_true(rein_move_dir(t->fd, "d", t->fd, "other", &how) < 0);
		check_moved(t->fd, "d");
		assert_int_equal(faccessat(t->fd, "other/x", F_OK, 0), 0);
		assert_int_equal(count_names(t->fd), 2);
		tree_remove(t->fd, "d");
		tree_remove(t->fd, "other");
	}
}

static void probe_names_are_unique(void **state)
{
	struct rein_probe_item items[REIN_PROBE_MAX];
	size_t n = rein_probe(items);

	(void)state;
	assert_true(n > 8 && n <= REIN_PROBE_MAX);
	for (size_t i = 0; i < n; i++) {
		assert_true(items[i].detail[0]);
		assert_true(items[i].state != REIN_PROBE_OK || !items[i].remedy);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(items[i].name, items[j].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_says_what_the_table_says),
		cmocka_unit_test(guest_plan_is_one),
		cmocka_unit_test(filter_covers_every_number),
		cmocka_unit_test(plan_orders_and_drops),
		cmocka_unit_test(plan_check_survives_any_byte),
		cmocka_unit_test(plan_fails_at_every_allocation),
		cmocka_unit_test(plan_refuses_a_root_in_something_hidden),
		cmocka_unit_test_setup_teardown(move_keeps_everything, tree_make, tree_done),
		cmocka_unit_test_setup_teardown(move_refuses_like_the_kernel, tree_make, tree_done),
		cmocka_unit_test_setup_teardown(move_follows_no_link, tree_make, tree_done),
		cmocka_unit_test_setup_teardown(move_exchanges, tree_make, tree_done),
		cmocka_unit_test_setup_teardown(exchange_brings_back_what_it_cannot_finish, tree_make, tree_done),
		cmocka_unit_test_setup_teardown(exchange_brings_back_what_it_cannot_finish, tree_make_in_memory, tree_done),
		cmocka_unit_test_setup_teardown(move_leaves_no_trace_when_it_fails, tree_make,
						tree_done),
		cmocka_unit_test(probe_names_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
