/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp notifications, seccomp_unotify(2). The thread is started by the first rename, so a command
 * without any pays nothing.
 */
#include "sandbox/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/move.h"
#include "sys/caps.h"
#include "sys/sys.h"

/* What overlayfs and the tree need inside a directory whose rename has been permitted. */
#define TREE_CAPS                                                                                  \
	(SYS_CAP(CAP_DAC_OVERRIDE) | SYS_CAP(CAP_FOWNER) | SYS_CAP(CAP_CHOWN) |                    \
	 SYS_CAP(CAP_FSETID) | SYS_CAP(CAP_SETFCAP))
#define SWITCH_CAPS (SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID))

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

/* A string of the caller's, page by page: the next page may not exist. */
static bool read_string(pid_t pid, uint64_t at, char *to, size_t max)
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

static bool decode(const struct seccomp_notif *n, struct renaming *r)
{
	const struct call *c = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && !c; i++)
		if (calls[i].arch == n->data.arch && calls[i].nr == n->data.nr)
			c = &calls[i];
	if (!c)
		return false;
	r->from.dirfd = c->from_dir < 0 ? AT_FDCWD : (int)n->data.args[c->from_dir];
	r->to.dirfd = c->to_dir < 0 ? AT_FDCWD : (int)n->data.args[c->to_dir];
	r->flags = c->flags < 0 ? 0 : (unsigned)n->data.args[c->flags];
	return read_string((pid_t)n->pid, n->data.args[c->from], r->from.path,
			   sizeof(r->from.path)) &&
	       read_string((pid_t)n->pid, n->data.args[c->to], r->to.path, sizeof(r->to.path));
}

static bool valid(const struct rein_supervisor *s, uint64_t id)
{
	return ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool same_place(int a, int b)
{
	struct statx x, y;
	const unsigned want = STATX_INO | STATX_MNT_ID;

	return statx(a, "", AT_EMPTY_PATH, want, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, want, &y) == 0 && x.stx_mask & STATX_MNT_ID &&
	       y.stx_mask & STATX_MNT_ID && x.stx_mnt_id == y.stx_mnt_id && x.stx_ino == y.stx_ino &&
	       x.stx_dev_major == y.stx_dev_major && x.stx_dev_minor == y.stx_dev_minor;
}

static int open_link(pid_t pid, const char *what, int number)
{
	char path[64];

	if (number >= 0)
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return open(path, O_PATH | O_CLOEXEC);
}

/* Inside the box's root and nowhere else [S1]: ".." ends there, links begin there. */
static int open_in(int root, const char *path)
{
	return sys_openat2(root, path, O_PATH | O_DIRECTORY,
			   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/*
 * Where a relative path starts, as a path from the box's root: the kernel names it, and it counts only
 * if that name leads back to the same place.
 */
static bool base_path(pid_t pid, int root, int dirfd, char *to, size_t size)
{
	auto_close int place = open_link(pid, "cwd", dirfd == AT_FDCWD ? -1 : dirfd);
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
	again = open_in(root, to);
	return again >= 0 && same_place(place, again);
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
	} else if (!base_path(pid, root, side->dirfd, full, PATH_MAX)) {
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
static bool assume(const struct rein_supervisor *s, pid_t pid)
{
	struct rights r;

	if (!s->root)
		return true;
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
static bool regain(const struct rein_supervisor *s)
{
	if (!s->root)
		return true;
	if (sys_caps_set(s->all, s->all, 0) < 0)
		return false;
	syscall(SYS_setfsuid, 0);
	syscall(SYS_setfsgid, 0);
	return true;
}

/* Inside a tree whose move has been permitted, ownership does not matter: rename(2) ignores it too. */
static bool assume_tree(const struct rein_supervisor *s)
{
	return !s->root || sys_caps_set(TREE_CAPS, s->all, 0) == 0;
}

static bool file_at(const struct side *side, struct stat *st)
{
	return fstatat(side->parent, side->name, st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st->st_mode);
}

static char *path_of(const struct side *side)
{
	char link[64], dir[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", side->parent);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n <= 0)
		return NULL;
	dir[n] = 0;
	return rein_asprintf("%s/%s", n == 1 ? "" : dir, side->name);
}

/* A pair or nothing. */
static void note(struct rein_supervisor *s, char *from, char *to)
{
	if (!from || !to || rein_streq(from, to)) {
		rein_free(from);
		rein_free(to);
		return;
	}
	if (rein_strlist_take(&s->link_renames, from) < 0)
		rein_free(to);
	else if (rein_strlist_take(&s->link_renames, to) < 0)
		rein_free(s->link_renames.v[--s->link_renames.n]);
}

/*
 * Overlayfs forgets that a copy under a new name was one of several; somebody has to remember. An
 * exchange is three renames by way of a name nobody has.
 */
static void remember(struct rein_supervisor *s, const struct renaming *r)
{
	if (r->flags & RENAME_EXCHANGE) {
		note(s, path_of(&r->from), rein_strdup("//"));
		note(s, path_of(&r->to), path_of(&r->from));
		note(s, rein_strdup("//"), path_of(&r->to));
	} else {
		note(s, path_of(&r->from), path_of(&r->to));
	}
}

/* It came to nothing: back to how many there were. */
static void forget(struct rein_supervisor *s, size_t noted)
{
	while (s->link_renames.n > noted)
		rein_free(s->link_renames.v[--s->link_renames.n]);
}

static bool has_names(const struct renaming *r)
{
	struct stat from, to;

	return file_at(&r->from, &from) &&
	       (from.st_nlink > 1 || (file_at(&r->to, &to) && to.st_nlink > 1));
}

/* 1: let the kernel do it. Else 0 or a negative errno is the answer. */
static int carry_out(struct rein_supervisor *s, const struct seccomp_notif *n, struct renaming *r)
{
	bool ourselves = regain(s);
	auto_close int root = open_link((pid_t)n->pid, "root", -1);
	dev_t from_dev, to_dev;
	size_t noted;
	int rc;

	if (!ourselves || root < 0 || !valid(s, n->id) || !same_place(root, s->box_root))
		return 1;
	/* the way to both names is walked with the caller's rights */
	if (!assume(s, (pid_t)n->pid) || !locate((pid_t)n->pid, s->box_root, &r->from) ||
	    !locate((pid_t)n->pid, s->box_root, &r->to))
		return 1;
	if (!is_dir(r->from.parent, r->from.name) &&
	    !(r->flags & RENAME_EXCHANGE && is_dir(r->to.parent, r->to.name))) {
		if (has_names(r))
			remember(s, r);
		return 1;
	}
	if (r->flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    !on_overlay(s, r->from.parent, &from_dev) || !on_overlay(s, r->to.parent, &to_dev) ||
	    from_dev != to_dev || !valid(s, n->id))
		return 1;
	noted = s->link_renames.n;
	remember(s, r);
	if (renameat2(r->from.parent, r->from.name, r->to.parent, r->to.name, r->flags) == 0)
		return 0;
	if (errno != EXDEV) { /* [S2] */
		rc = -errno;
		forget(s, noted);
		return rc;
	}
	if (!assume_tree(s))
		return -EXDEV;
	rc = rein_move_dir(r->from.parent, r->from.name, r->to.parent, r->to.name, r->flags, &s->stop);
	if (rc == 0)
		atomic_fetch_add(&s->moved, 1);
	else
		forget(s, noted);
	return rc;
}

static void answer(struct rein_supervisor *s, const struct seccomp_notif *n)
{
	static _Thread_local struct renaming r;
	union response out;
	int rc = 1;

	r.from.parent = r.to.parent = -1;
	if (s->running && decode(n, &r))
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
	struct pollfd fd = {.fd = s->listener, .events = POLLIN};

	if (sys_caps_get(&effective, &s->all) < 0)
		s->all = 0;
	while (!atomic_load(&s->stop)) {
		/* The end is POLLHUP: nobody is left whom the filter binds. */
		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			break;
		if (fd.revents & POLLIN)
			serve_one(s);
		else if (fd.revents)
			break;
	}
	return NULL;
}

void rein_supervisor_wake(struct rein_supervisor *s)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* While we still have the right to look at pid 1, which nobody else may. */
	if (s->box_root < 0)
		s->box_root = open_link(s->box, "root", -1);
	s->running = s->box_root >= 0;
	if (!s->running || pthread_create(&s->thread, NULL, serve, s) != 0) {
		/* Without a thread of its own, whose rights can be changed, nothing is carried out. */
		s->running = false;
		serve_one(s);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void rein_supervisor_end(struct rein_supervisor *s)
{
	atomic_store(&s->stop, true);
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
	rein_closep_(&s->listener);
	rein_closep_(&s->box_root);
}
