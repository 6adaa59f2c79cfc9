/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp notifications, seccomp_unotify(2). The thread is started by the first rename, so a command
 * without any pays nothing.
 */
#include "sandbox/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/caller.h"
#include "sandbox/move.h"
#include "sandbox/watch.h"
#include "sys/caps.h"
#include "sys/sys.h"

/* What overlayfs and the tree need inside a directory whose rename has been permitted. */
#define TREE_CAPS                                                                                  \
	(SYS_CAP(CAP_DAC_OVERRIDE) | SYS_CAP(CAP_FOWNER) | SYS_CAP(CAP_CHOWN) |                    \
	 SYS_CAP(CAP_FSETID) | SYS_CAP(CAP_SETFCAP))
#define SWITCH_CAPS (SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID))

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1ul << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#endif

union request {
	struct seccomp_notif notif;
	char room[512]; /* later kernels may have more to say */
};

union response {
	struct seccomp_notif_resp resp;
	char room[512];
};

struct side {
	char path[PATH_MAX];
	int dirfd; /* as the caller gave it */
	int parent;
	char *name; /* last component, in path */
};

struct renaming {
	struct side from, to;
	unsigned flags;
};

/* Which argument is what. A negative index: not given, so AT_FDCWD or no flags. */
static const struct call {
	uint32_t arch;
	int nr;
	int from_dir, from, to_dir, to, flags;
} calls[] = {
#if defined(__x86_64__)
	{AUDIT_ARCH_X86_64, SYS_rename, -1, 0, -1, 1, -1},
	{AUDIT_ARCH_X86_64, SYS_renameat, 0, 1, 2, 3, -1},
	{AUDIT_ARCH_X86_64, SYS_renameat2, 0, 1, 2, 3, 4},
	/* i386, from its own table */
	{AUDIT_ARCH_I386, 38, -1, 0, -1, 1, -1},
	{AUDIT_ARCH_I386, 302, 0, 1, 2, 3, -1},
	{AUDIT_ARCH_I386, 353, 0, 1, 2, 3, 4},
#elif defined(__aarch64__)
	{AUDIT_ARCH_AARCH64, SYS_renameat, 0, 1, 2, 3, -1},
	{AUDIT_ARCH_AARCH64, SYS_renameat2, 0, 1, 2, 3, 4},
#endif
};

static const struct call *find_call(const struct seccomp_notif *n)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].arch == n->data.arch && calls[i].nr == n->data.nr)
			return &calls[i];
	return NULL;
}

static bool decode(const struct seccomp_notif *n, const struct call *c, struct renaming *r)
{
	r->from.dirfd = c->from_dir < 0 ? AT_FDCWD : (int)n->data.args[c->from_dir];
	r->to.dirfd = c->to_dir < 0 ? AT_FDCWD : (int)n->data.args[c->to_dir];
	r->flags = c->flags < 0 ? 0 : (unsigned)n->data.args[c->flags];
	return rein_caller_string((pid_t)n->pid, n->data.args[c->from], r->from.path,
			   sizeof(r->from.path)) &&
	       rein_caller_string((pid_t)n->pid, n->data.args[c->to], r->to.path, sizeof(r->to.path));
}

static bool valid(const struct rein_supervisor *s, uint64_t id)
{
	return ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Inside the box's root and nowhere else [S1]: ".." ends there, links begin there. */
static int open_in(int root, const char *path)
{
	return sys_openat2(root, path, O_PATH | O_DIRECTORY,
			   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* Split off the last component and open the directory it is in. */
static bool locate(pid_t pid, int root, struct side *side)
{
	char full[2 * PATH_MAX], *slash;
	size_t len = strlen(side->path);

	while (len > 1 && side->path[len - 1] == '/')
		side->path[--len] = 0;
	slash = strrchr(side->path, '/');
	side->name = slash ? slash + 1 : side->path;
	if (!*side->name || rein_streq(side->name, ".") || rein_streq(side->name, ".."))
		return false;
	if (side->path[0] == '/') {
		full[0] = 0;
	} else if (!rein_caller_base(pid, root, side->dirfd, full, PATH_MAX)) {
		return false;
	}
	if (slash) {
		size_t base = strlen(full), dir = (size_t)(slash - side->path);

		full[base] = '/';
		memcpy(full + base + 1, side->path, dir);
		full[base + 1 + dir] = 0;
	}
	side->parent = open_in(root, full[0] ? full : "/");
	return side->parent >= 0;
}

/* The directory lies on one of the box's overlays; its device number in *dev. */
static bool on_overlay(const struct rein_supervisor *s, int dir, dev_t *dev)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	*dev = st.st_dev;
	for (uint32_t i = 0; i < s->ndevs; i++)
		if (s->devs[i] == st.st_dev)
			return true;
	return false;
}

static bool is_dir(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* The caller's rights, from /proc/PID/status. */
struct rights {
	unsigned uid, gid;
	gid_t groups[64];
	size_t ngroups;
	uint64_t caps;
};

static bool read_rights(pid_t pid, struct rights *r)
{
	char path[64], text[8192], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	{
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	}
	if (n <= 0)
		return false;
	text[n] = 0;
	/* real, effective, saved, file system */
	p = strstr(text, "\nUid:");
	if (!p || sscanf(p, "\nUid: %*u %*u %*u %u", &r->uid) != 1)
		return false;
	p = strstr(text, "\nGid:");
	if (!p || sscanf(p, "\nGid: %*u %*u %*u %u", &r->gid) != 1)
		return false;
	p = strstr(text, "\nCapEff:");
	if (!p || sscanf(p, "\nCapEff: %lx", &r->caps) != 1)
		return false;
	p = strstr(text, "\nGroups:");
	r->ngroups = 0;
	for (p = p ? p + 8 : NULL; p && *p && *p != '\n' && r->ngroups < ARRAY_SIZE(r->groups);) {
		char *end;
		unsigned long gid = strtoul(p, &end, 10);

		if (end == p)
			break;
		r->groups[r->ngroups++] = (gid_t)gid;
		p = end + strspn(end, " \t");
	}
	return true;
}

/*
 * Of this thread only, hence the raw calls: become who the caller is. Without root the caller is who
 * we are, in a namespace over which we have no file rights.
 */
static bool assume(struct rein_supervisor *s, pid_t pid)
{
	struct rights r;

	if (!s->root)
		return true;
	s->itself = false;
	/* Without any capability nobody in the box can be another than we are. */
	if (!s->caps)
		return sys_caps_set(SYS_CAP(CAP_SYS_PTRACE), s->all, 0) == 0;
	if (!read_rights(pid, &r))
		return false;
	if (sys_caps_set(SWITCH_CAPS, s->all, 0) < 0 ||
	    syscall(SYS_setgroups, r.ngroups, r.groups) < 0)
		return false;
	syscall(SYS_setfsgid, r.gid);
	syscall(SYS_setfsuid, r.uid);
	/* looking into /proc/PID needs one right that opens no file */
	return sys_caps_set((r.caps & s->caps) | SYS_CAP(CAP_SYS_PTRACE), s->all, 0) == 0;
}

/* Ourselves again: the next caller is looked at with our own rights. */
static bool regain(struct rein_supervisor *s)
{
	if (!s->root || s->itself)
		return true;
	if (sys_caps_set(s->all, s->all, 0) < 0)
		return false;
	syscall(SYS_setfsuid, 0);
	syscall(SYS_setfsgid, 0);
	s->itself = true;
	return true;
}

/* Inside a tree whose move has been permitted, ownership does not matter: rename(2) ignores it too. */
static bool assume_tree(struct rein_supervisor *s)
{
	s->itself = false;
	return !s->root || sys_caps_set(TREE_CAPS, s->all, 0) == 0;
}

static bool has_keeper(struct rein_supervisor *s)
{
	return s->keeper.pid ||
	       rein_linkkeeper_start(&s->keeper, s->roots, s->nroots, s->box_root, s->stop);
}

/* About to be changed, or taken along by a rename: its other names come along. */
static void hold_file(struct rein_supervisor *s, int fd)
{
	struct stat st;

	if (s->root) {
		rein_linkgroups_hold(s->groups, fd);
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_nlink > 1 && !S_ISDIR(st.st_mode) && has_keeper(s))
		rein_linkkeeper_hold(&s->keeper, fd);
}

static void hold(struct rein_supervisor *s, int dir, const char *name)
{
	auto_close int fd = -1;

	if (!s->watch)
		return;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		hold_file(s, fd);
}

static void hold_inside(void *arg, int dir, const char *name)
{
	hold(arg, dir, name);
}

/* With rights over what is inside: as root our own, else those of a process made for it. */
static int move(struct rein_supervisor *s, const struct renaming *r)
{
	struct rein_move_opts how = {.flags = r->flags, .stop = s->stop, .hold = hold_inside, .arg = s};

	if (s->root)
		return rein_move_dir(r->from.parent, r->from.name, r->to.parent, r->to.name, &how);
	if (!has_keeper(s))
		return -EXDEV;
	return rein_linkkeeper_move(&s->keeper, r->from.parent, r->from.name, r->to.parent, r->to.name,
				    r->flags);
}

static bool linked_at(const struct side *side, struct stat *st)
{
	return fstatat(side->parent, side->name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !S_ISDIR(st->st_mode) && st->st_nlink > 1;
}

/*
 * Renaming a file onto another name of it does nothing, nor does exchanging the two. Without privilege the overlay does
 * not always know that they are one, if the second was made in the box, and answers ESTALE.
 */
static int rename_link(const struct rein_supervisor *s, const struct seccomp_notif *n,
		       const struct renaming *r)
{
	struct stat from, to;
	dev_t from_dev, to_dev;

	if (r->flags & ~(unsigned)RENAME_EXCHANGE || !linked_at(&r->from, &from) || !linked_at(&r->to, &to) ||
	    from.st_size != to.st_size || from.st_mtim.tv_sec != to.st_mtim.tv_sec ||
	    from.st_mtim.tv_nsec != to.st_mtim.tv_nsec || !on_overlay(s, r->from.parent, &from_dev) ||
	    !on_overlay(s, r->to.parent, &to_dev) || from_dev != to_dev || !valid(s, n->id))
		return 1;
	if (renameat2(r->from.parent, r->from.name, r->to.parent, r->to.name, r->flags) == 0 || errno == ESTALE)
		return 0;
	return -errno;
}

/* 1: let the kernel do it. Else 0 or a negative errno is the answer. */
static int carry_out(struct rein_supervisor *s, const struct seccomp_notif *n, struct renaming *r)
{
	bool ourselves = regain(s);
	auto_close int root = rein_caller_open((pid_t)n->pid, "root", -1);
	dev_t from_dev, to_dev;
	int rc;

	if (!ourselves || root < 0 || !valid(s, n->id) || !rein_caller_same(root, s->box_root))
		return 1;
	/* the way to both names is walked with the caller's rights */
	if (!assume(s, (pid_t)n->pid) || !locate((pid_t)n->pid, s->box_root, &r->from) ||
	    !locate((pid_t)n->pid, s->box_root, &r->to))
		return 1;
	if (!is_dir(r->from.parent, r->from.name) &&
	    !(r->flags & RENAME_EXCHANGE && is_dir(r->to.parent, r->to.name))) {
		if (s->watch && valid(s, n->id) && assume_tree(s)) {
			hold(s, r->from.parent, r->from.name);
			if (r->flags & RENAME_EXCHANGE)
				hold(s, r->to.parent, r->to.name);
		}
		return s->root ? 1 : rename_link(s, n, r);
	}
	if (r->flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    !on_overlay(s, r->from.parent, &from_dev) || !on_overlay(s, r->to.parent, &to_dev) ||
	    from_dev != to_dev || !valid(s, n->id))
		return 1;
	if (s->watch && r->flags & RENAME_EXCHANGE && assume_tree(s)) { /* one side may be a file */
		hold(s, r->from.parent, r->from.name);
		hold(s, r->to.parent, r->to.name);
		if (!assume(s, (pid_t)n->pid))
			return 1;
	}
	if (renameat2(r->from.parent, r->from.name, r->to.parent, r->to.name, r->flags) == 0)
		return 0;
	if (errno != EXDEV) /* [S2] */
		return -errno;
	if (!assume_tree(s))
		return -EXDEV;
	rc = move(s, r);
	if (rc == 0)
		atomic_fetch_add(&s->moved, 1);
	return rc;
}

/* A change to a file: the kernel makes it, after its names were joined. */
static void watch(struct rein_supervisor *s, const struct seccomp_notif *n,
		  const struct rein_watch_call *c)
{
	auto_close int root = -1, fd = -1;
	struct stat st;

	if (!regain(s))
		return;
	if (s->may_chroot) {
		root = rein_caller_open((pid_t)n->pid, "root", -1);
		if (root < 0 || !rein_caller_same(root, s->box_root))
			return;
	}
	if (!assume(s, (pid_t)n->pid))
		return;
	fd = rein_watch_target(c, n, s->box_root);
	if (fd < 0 || fstat(fd, &st) < 0 || (st.st_nlink < 2 && !s->root) || S_ISDIR(st.st_mode) ||
	    !valid(s, n->id))
		return;
	if (c->how >= REIN_WATCH_OPEN && !S_ISREG(st.st_mode))
		return; /* opening a fifo changes nothing */
	if (assume_tree(s))
		hold_file(s, fd);
}

static bool is_socket(const struct seccomp_notif *n)
{
#ifdef __x86_64__
	if (n->data.arch == AUDIT_ARCH_I386)
		return n->data.nr == 359;
#endif
	return n->data.nr == SYS_socket;
}

/* A kind of socket that leads round the box's network, or would if it were let. */
static int refuse_socket(struct rein_supervisor *s, const struct seccomp_notif *n)
{
	unsigned family = (unsigned)n->data.args[0], type = n->data.args[1] & 0xf;
	bool internet = family == AF_INET || family == AF_INET6;
	struct rein_net_refusal r = {.why = REIN_WHY_SOCKET, .protocol = IPPROTO_RAW, .count = 1};
	const char *name = internet && type == SOCK_RAW ? "raw"
			   : internet			? "icmp"
			   : family == AF_PACKET	? "packet"
			   : family == AF_VSOCK		? "vsock"
			   : family == AF_NETLINK	? "netlink"
							: NULL;
	size_t before;

	if (name)
		snprintf(r.name, sizeof(r.name), "%s", name);
	else
		snprintf(r.name, sizeof(r.name), "family %u", family);
	before = s->sockets.nrefusals;
	rein_net_report_refusal(&s->sockets, &r);
	if (s->told && s->sockets.nrefusals > before && s->running && regain(s))
		s->told->refused(s->told->arg, &r, false);
	return internet ? -EPERM : family == AF_NETLINK ? -EPROTONOSUPPORT : -EAFNOSUPPORT;
}

static void answer(struct rein_supervisor *s, const struct seccomp_notif *n)
{
	static _Thread_local struct renaming r;
	const struct rein_watch_call *call = s->watch ? rein_watch_find(&n->data) : NULL;
	union response out;
	const struct call *c = find_call(n);
	int rc = is_socket(n) ? refuse_socket(s, n) : 1; /* [S3] */

	if (call && call->how == REIN_WATCH_NAME)
		call = NULL; /* it changes no file */
	r.from.parent = r.to.parent = -1;
	if (s->running && s->files.on && regain(s))
		rein_watchfile_note(&s->files, n, s->box_root);
	if (s->running && rein_watchexec_is(&n->data))
		rc = regain(s) ? rein_watchexec_note(&s->execs, n, s->box_root) : 1;
	else if (s->running && call)
		watch(s, n, call);
	else if (c && s->running && decode(n, c, &r))
		rc = carry_out(s, n, &r);
	rein_closep_(&r.from.parent);
	rein_closep_(&r.to.parent);
	memset(&out, 0, sizeof(out));
	out.resp.id = n->id;
	if (rc > 0)
		out.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		out.resp.error = rc;
	/* ENOENT: the caller was killed meanwhile, so nobody waits. */
	while (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SEND, &out) < 0 && errno == EINTR)
		;
}

static void serve_one(struct rein_supervisor *s)
{
	union request in;

	memset(&in, 0, sizeof(in));
	/* ENOENT: the caller was interrupted before we came; EINTR: try again. Neither is the end. */
	if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) == 0)
		answer(s, &in.notif);
}

static void *serve(void *arg)
{
	struct rein_supervisor *s = arg;
	uint64_t effective;
	enum { CALLS, BELL, NFDS };
	struct pollfd fds[NFDS] = {[CALLS] = {.fd = s->listener, .events = POLLIN},
				   [BELL] = {.fd = s->bell, .events = POLLIN}};

	if (sys_caps_get(&effective, &s->all) < 0)
		s->all = 0;
	while (!atomic_load(s->stop)) {
		/*
		 * The end is POLLHUP: nobody is left whom the filter binds. Before Linux 6.11 the dead
		 * count until they are reaped, which pid 1 is only after us: hence the bell.
		 */
		if (poll(fds, NFDS, -1) < 0 && errno != EINTR)
			break;
		if (fds[CALLS].revents & POLLIN)
			serve_one(s);
		else if (fds[CALLS].revents || fds[BELL].revents)
			break;
	}
	rein_linkkeeper_end(&s->keeper, &s->linked);
	return NULL;
}

void rein_supervisor_begin(struct rein_supervisor *s, const struct rein_box_spec *spec, int listener, bool root,
			   uint64_t begun_ns)
{
	s->listener = listener;
	s->told = spec->watch;
	s->root = root;
	s->caps = spec->caps;
	s->watch = spec->watch_links;
	s->execs.on = spec->watch_execs;
	s->execs.judge = spec->exec_judge;
	s->execs.judge_arg = spec->exec_judge_arg;
	s->execs.begun_ns = begun_ns;
	s->files.on = spec->watch_files;
	s->files.hidden = spec->hidden;
	s->files.begun_ns = begun_ns;
	s->may_chroot = spec->nested || spec->caps & SYS_CAP(CAP_SYS_CHROOT);
	s->roots = spec->roots;
	s->nroots = spec->nroots;
}

void rein_supervisor_wake(struct rein_supervisor *s)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* While we still have the right to look at pid 1, which nobody else may. */
	if (s->box_root < 0)
		s->box_root = rein_caller_open(s->box, "root", -1);
	if (!s->stop)
		s->stop = mmap(NULL, sizeof(*s->stop), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->stop == MAP_FAILED)
		s->stop = NULL;
	if (s->bell < 0)
		s->bell = eventfd(0, EFD_CLOEXEC);
	s->running = s->box_root >= 0 && s->stop && s->bell >= 0;
	if (s->running && s->watch && s->root && !s->groups)
		s->groups = rein_linkgroups_new(s->roots, s->nroots, s->box_root, true);
	s->watch = s->watch && (s->groups || !s->root);
	/* the caller waits for us and we for it: no need for two processors (Linux 6.6) */
	ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	if (!s->running || pthread_create(&s->thread, NULL, serve, s) != 0) {
		/* Without a thread of its own, whose rights can be changed, nothing is carried out. */
		s->running = false;
		serve_one(s);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void rein_supervisor_end(struct rein_supervisor *s)
{
	if (s->stop)
		atomic_store(s->stop, true);
	if (s->running) {
		eventfd_write(s->bell, 1);
		pthread_join(s->thread, NULL);
	}
	s->running = false;
	if (s->groups)
		rein_linkgroups_take(s->groups, &s->linked);
	rein_linkgroups_free(s->groups);
	s->groups = NULL;
	if (s->stop)
		munmap(s->stop, sizeof(*s->stop));
	s->stop = NULL;
	rein_closep_(&s->listener);
	rein_closep_(&s->box_root);
	rein_closep_(&s->bell);
}

void rein_supervisor_take(struct rein_supervisor *s, struct rein_box_result *r, struct rein_net_report *net)
{
	r->dir_renames = atomic_load(&s->moved);
	r->linked = s->linked;
	s->linked = (struct rein_linked_list){0};
	r->execs = s->execs.seen;
	s->execs.seen = (struct rein_execs){0};
	r->refused = s->files.seen;
	s->files.seen = (struct rein_refused){0};
	rein_net_report_add(net, &s->sockets);
}

void rein_supervisor_done(struct rein_supervisor *s)
{
	rein_linked_done(&s->linked);
	rein_net_report_done(&s->sockets);
	rein_execs_done(&s->execs.seen);
	rein_refused_done(&s->files.seen);
}
