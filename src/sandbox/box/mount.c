/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's mount tree, built in place: everything new is made detached while the host's tree is
 * still as it was, then the whole of it is turned read-only with one call, then the new mounts are
 * attached in the plan's order. Nothing propagates to the host: the tree is private first.
 */
#include "sandbox/box/box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/mountfd.h"
#include "sys/sys.h"

#define PATH_DIR (O_PATH | O_DIRECTORY | O_NOFOLLOW)

static const char *const device_names[6] = {"null", "zero", "full", "random", "urandom", "tty"};

/* "/proc/self/fd/N": short, and free of the characters overlayfs gives a meaning to. */
static void fd_path(char *to, int fd)
{
	static const char prefix[] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0;

	memcpy(to, prefix, sizeof(prefix) - 1);
	to += sizeof(prefix) - 1;
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		*to++ = digits[--n];
	*to = 0;
}

static int open_layer(const struct box *box, uint32_t index, uint32_t offset)
{
	int fd = sys_openat2(AT_FDCWD, rein_plan_str(box->plan, offset), PATH_DIR,
			     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (fd < 0)
		box_step_failed(box, REIN_STEP_OVERLAY_OPEN, index);
	return fd;
}

/*
 * As root an index makes all names of a hard-linked file one inode in the box; a lower file system
 * without file handles refuses it, and without privilege there is none: then the supervisor makes
 * them one. No access times: a copy that escaped it is known by the time it kept.
 */
static int make_overlay(const struct box *box, const char *lower, const char *upper,
			const char *work)
{
	const uint64_t attributes = SYS_MOUNT_TAME | MOUNT_ATTR_NOATIME;
	const struct sys_mount_option rootless[] = {
		{"lowerdir", lower}, {"upperdir", upper}, {"workdir", work},
		{"userxattr", NULL}, {"volatile", NULL},  {0}};
	struct sys_mount_option root[] = {
		{"lowerdir", lower},	  {"upperdir", upper}, {"workdir", work}, {"volatile", NULL},
		{"redirect_dir", "off"},  {"metacopy", "off"}, {"index", "on"},	  {0}};
	int fd;

	if (box->plan->flags & REIN_PLAN_USERNS)
		return sys_mount_new("overlay", rootless, attributes);
	fd = sys_mount_new("overlay", root, attributes);
	if (fd < 0) {
		root[6].value = "off";
		fd = sys_mount_new("overlay", root, attributes);
	}
	return fd;
}

static void note_device(struct box *box, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && box->ndevs < sizeof(box->devs) / sizeof(box->devs[0]))
		box->devs[box->ndevs++] = st.st_dev;
}

static int take(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

/* An earlier box made it, of these directories, and left it as it was. */
static int given(struct box *box, uint32_t index)
{
	errno = EBADF;
	if (box->layer < 0)
		box_step_failed(box, REIN_STEP_OVERLAY, index);
	note_device(box, box->layer);
	return take(&box->layer);
}

static int overlay(struct box *box, uint32_t index, const struct rein_plan_mount *m)
{
	int real = open_layer(box, index, m->source);
	int upper_fd = open_layer(box, index, m->upper);
	int work_fd = open_layer(box, index, m->work);
	int mask = m->mask ? open_layer(box, index, m->mask) : -1;
	char lower[2 * 32], upper[32], work[32], *end = lower;
	int fd;

	if (mask >= 0) {
		fd_path(lower, mask);
		end = lower + strlen(lower);
		*end++ = ':';
	}
	fd_path(end, real);
	fd_path(upper, upper_fd);
	fd_path(work, work_fd);
	fd = make_overlay(box, lower, upper, work);
	if (fd < 0)
		box_step_failed(box, REIN_STEP_OVERLAY, index);
	note_device(box, fd);
	close(real);
	close(upper_fd);
	close(work_fd);
	if (mask >= 0)
		close(mask);
	return fd;
}

/*
 * Of the host's tree, at a way without links: what rein looked at may have become one meanwhile, by a commit of another
 * box, and would lead to whatever that one chose.
 */
static int bind_source(const struct box *box, uint32_t index, const struct rein_plan_mount *m)
{
	bool single = m->flags & REIN_MOUNT_SINGLE;
	uint64_t attributes = SYS_MOUNT_TAME | (m->flags & REIN_MOUNT_RDONLY ? MOUNT_ATTR_RDONLY : 0);
	int at = sys_openat2(AT_FDCWD, rein_plan_str(box->plan, m->source), O_PATH,
			     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	int fd = at < 0 ? -1 : sys_mount_clone(at, "", AT_EMPTY_PATH | (single ? 0 : AT_RECURSIVE));

	if (fd < 0 && m->flags & REIN_MOUNT_OPTIONAL && errno != ELOOP) {
		if (at >= 0)
			close(at);
		return -1;
	}
	if (fd < 0 || sys_mount_restrict(fd, "", attributes, !single) < 0)
		box_step_failed(box, REIN_STEP_BIND, index);
	close(at);
	return fd;
}

/* Make ahead what must be taken from the host's tree as it is. */
static void keep(struct box *box)
{
	const struct rein_plan_mount *m = rein_plan_mounts(box->plan);
	uint32_t n = 0;

	for (uint32_t i = 0; i < box->plan->nmounts; i++) {
		if (m[i].kind == REIN_MOUNT_OVERLAY)
			box->kept[n++] = m[i].flags & REIN_MOUNT_GIVEN ? given(box, i) : overlay(box, i, &m[i]);
		else if (m[i].kind == REIN_MOUNT_BIND)
			box->kept[n++] = bind_source(box, i, &m[i]);
	}
}

static void fill_dev(const struct box *box, int fd)
{
	static const char *const links[][2] = {
		{"/proc/self/fd", "dev/fd"},	   {"/proc/self/fd/0", "dev/stdin"},
		{"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"},
		{"pts/ptmx", "dev/ptmx"},	   {"/proc/kcore", "dev/core"},
	};
	char path[16] = "dev/";
	int rc = mkdirat(fd, "dev", 0755) | mkdirat(fd, "dev/pts", 0755) |
		 mkdirat(fd, "dev/shm", 0755);

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) - 1; i++)
		rc |= symlinkat(links[i][0], fd, links[i][1]);
	for (size_t i = 0; i < 6; i++) {
		memcpy(path + 4, device_names[i], strlen(device_names[i]) + 1);
		rc |= mknodat(fd, path, S_IFREG | 0666, 0);
	}
	if (rc < 0)
		box_step_failed(box, REIN_STEP_DEV, 0);
}

static void fill_run(const struct box *box, int fd)
{
	char user[32] = "run/user/", digits[12];
	size_t n = 0, at = strlen(user);
	uint32_t uid = box->order.uid;
	int rc = mkdirat(fd, "run", 0755) | mkdirat(fd, "run/lock", 01777) |
		 mkdirat(fd, "run/user", 0755);

	do
		digits[n++] = (char)('0' + uid % 10);
	while (uid /= 10);
	while (n)
		user[at++] = digits[--n];
	rc |= mkdirat(fd, user, 0700);
	if (rc < 0)
		box_step_failed(box, REIN_STEP_TMPFS, 0);
}

/* Directories and the stand-ins for what is hidden, all in one small file system. */
static int make_private(const struct box *box)
{
	static const struct {
		const char *name;
		unsigned mode;
	} dirs[] = {{"tmp", 01777},    {"shm", 01777},	  {"vartmp", 01777},
		    {"varrun", 0755}, {"runtime", 0700}, {"home", 0700}, {"empty", 0}};
	static const struct sys_mount_option options[] = {{"mode", "0755"}, {0}};
	int fd = sys_mount_new("tmpfs", options, SYS_MOUNT_TAME), rc = 0;

	if (fd < 0)
		box_step_failed(box, REIN_STEP_TMPFS, 0);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		rc |= mkdirat(fd, dirs[i].name, dirs[i].mode);
	rc |= mknodat(fd, "nothing", S_IFREG, 0);
	if (rc < 0)
		box_step_failed(box, REIN_STEP_TMPFS, 0);
	fill_dev(box, fd);
	fill_run(box, fd);
	return fd;
}

/* Without a network namespace of its own, or below a masked /sys, the host's (read-only) remains. */
static int make_sys(void)
{
	int fd = sys_mount_new("sysfs", NULL,
			       SYS_MOUNT_TAME | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);

	return fd;
}

/*
 * uid 0 may write kernel settings by ownership alone, without any capability. So everything in the
 * fresh /proc that is not about a process becomes read-only: found by looking, not from a list. Modes are
 * the kernel's and so the same in the host's /proc, where each entry need not be made first to be looked at.
 */
struct guard {
	int proc, host;
	dev_t dev; /* of host: what is mounted over one of its entries has another */
};

static void guard_entry(const struct box *box, const struct guard *g, const struct box_entry *e)
{
	const char *name = e->name;
	struct stat st;
	int fd;

	if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9') || e->type == DT_LNK)
		return;
	if (e->type != DT_DIR && fstatat(g->host, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == g->dev &&
	    S_ISREG(st.st_mode) && !(st.st_mode & 0222))
		return;
	fd = sys_mount_clone(g->proc, name, 0);
	if (fd < 0 || sys_mount_restrict(fd, "", MOUNT_ATTR_RDONLY, false) < 0 ||
	    sys_mount_attach(fd, g->proc, name) < 0)
		box_step_failed(box, REIN_STEP_GUARD, 0);
	close(fd);
}

static void guard_proc(const struct box *box, int proc, int host)
{
	char buf[4096] __attribute__((aligned(8)));
	struct guard g = {.proc = proc, .host = host};
	int dir = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;
	long n;

	if (dir < 0 || syscall(SYS_fstatfs, host, &fs) < 0 || fstat(host, &st) < 0)
		box_step_failed(box, REIN_STEP_GUARD, 0);
	/* 0 is no file system's: then everything is guarded */
	g.dev = fs.f_type == PROC_SUPER_MAGIC ? st.st_dev : 0;
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n;) {
			struct box_entry *e = (struct box_entry *)(buf + at);

			guard_entry(box, &g, e);
			at += e->len;
		}
	if (n < 0)
		box_step_failed(box, REIN_STEP_GUARD, 0);
	close(dir);
}

static int new_proc(const struct box *box)
{
	int fd = sys_mount_new("proc", NULL, SYS_MOUNT_TAME | MOUNT_ATTR_NOEXEC);

	if (fd < 0)
		box_step_failed(box, REIN_STEP_PROC, 0);
	return fd;
}

/* What every box has, made before it is known what this one will have. */
void box_prepare(struct box *box)
{
	static const struct sys_mount_option pts[] = {
		{"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "620"}, {0}};
	struct box_private *p = &box->private;
	char path[16] = "/dev/";

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		box_step_failed(box, REIN_STEP_PRIVATE, 0);
	p->proc = new_proc(box);
	if (box->order.flags & REIN_PLAN_NETNS)
		box_prepare_net();
	/*
	 * Guarding it is thirty mounts, which can be made only on what is mounted itself: now, while
	 * the plan is drawn, and not later.
	 */
	if (box->order.flags & REIN_PLAN_ROOT) {
		int host = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (host < 0 || sys_mount_attach(p->proc, AT_FDCWD, "/proc") < 0)
			box_step_failed(box, REIN_STEP_PROC, 0);
		guard_proc(box, p->proc, host);
		close(host);
	}
	p->sys = box->order.flags & REIN_PLAN_NETNS ? make_sys() : -1;
	p->pts = sys_mount_new("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (p->pts < 0)
		box_step_failed(box, REIN_STEP_DEVPTS, 0);
	p->queues = sys_mount_new("mqueue", NULL, SYS_MOUNT_TAME); /* a kernel may have none */
	for (size_t i = 0; i < 6; i++) {
		memcpy(path + 5, device_names[i], strlen(device_names[i]) + 1);
		p->devices[i] = sys_mount_clone(AT_FDCWD, path, 0);
		/* Read-only: a device can be written to all the same, but not chmod-ed by uid 0. */
		if (p->devices[i] < 0 ||
		    sys_mount_restrict(p->devices[i], "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
				       false) < 0)
			box_step_failed(box, REIN_STEP_DEV, (uint32_t)i);
	}
	p->fd = make_private(box);
}

/* mkdir -p of the mount point, only ever in the box's own tmpfs. */
static int make_point(const char *target, uint32_t flags)
{
	const bool file = flags & REIN_MOUNT_FILE;
	char path[PATH_MAX];
	size_t n = strlen(target), dir = flags & REIN_MOUNT_CLOSED ? n : 0;

	if (n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(path, target, n + 1);
	while (dir && path[dir] != '/')
		dir--;
	for (size_t i = 1; i <= n; i++) {
		bool last = i == n;

		if (path[i] != '/' && !last)
			continue;
		path[i] = 0;
		if ((last && file ? mknod(path, S_IFREG | 0644, 0) : mkdir(path, i == dir ? 0700 : 0755)) < 0 &&
		    errno != EEXIST)
			return -1;
		if (!last)
			path[i] = '/';
	}
	return 0;
}

static void attach(const struct box *box, uint32_t index, int fd)
{
	const struct rein_plan_mount *m = &rein_plan_mounts(box->plan)[index];
	const char *target = rein_plan_str(box->plan, m->target);

	if (fd < 0)
		box_step_failed(box, REIN_STEP_ATTACH, index);
	if (m->flags & REIN_MOUNT_MAKE && make_point(target, m->flags) < 0)
		box_step_failed(box, REIN_STEP_ATTACH, index);
	if (sys_mount_attach(fd, AT_FDCWD, target) < 0 &&
	    !(m->flags & REIN_MOUNT_OPTIONAL && (errno == ENOENT || errno == ENOTDIR)))
		box_step_failed(box, REIN_STEP_ATTACH, index);
	close(fd);
}

static int clone_private(const struct box_private *p, const char *name, uint64_t attributes)
{
	int fd = sys_mount_clone(p->fd, name, 0);

	if (fd >= 0 && attributes && sys_mount_restrict(fd, "", attributes, false) < 0)
		return -1;
	return fd;
}

static void attach_dev(const struct box *box, uint32_t index, struct box_private *p)
{
	int dev = clone_private(p, "dev", MOUNT_ATTR_RDONLY);
	int shm = clone_private(p, "shm", 0);

	if (dev < 0 || shm < 0 ||
	    sys_mount_attach(dev, AT_FDCWD,
			     rein_plan_str(box->plan, rein_plan_mounts(box->plan)[index].target)) < 0 ||
	    sys_mount_attach(shm, dev, "shm") < 0 || sys_mount_attach(p->pts, dev, "pts") < 0)
		box_step_failed(box, REIN_STEP_DEV, index);
	for (size_t i = 0; i < 6; i++) {
		if (sys_mount_attach(p->devices[i], dev, device_names[i]) < 0)
			box_step_failed(box, REIN_STEP_DEV, index);
		close(p->devices[i]);
	}
	close(shm);
	close(dev);
	close(p->pts);
}

/* Cover a path with something empty. A symbolic link is followed: what it leads to is meant. */
static void hide(const struct box *box, uint32_t index, const struct box_private *p)
{
	const struct rein_plan_mount *m = &rein_plan_mounts(box->plan)[index];
	bool dir = m->kind == REIN_MOUNT_HIDE_DIR;
	int over = open(rein_plan_str(box->plan, m->target), O_PATH | O_CLOEXEC);
	int fd;

	if (over < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES) &&
	    m->flags & REIN_MOUNT_OPTIONAL)
		return; /* gone, out of reach, or covered with what holds it */
	fd = over < 0 ? -1 : clone_private(p, dir ? "empty" : "nothing", MOUNT_ATTR_RDONLY);
	if (fd < 0 || sys_mount_attach_fd(fd, over) < 0)
		box_step_failed(box, REIN_STEP_HIDE, index);
	close(fd);
	close(over);
}

/* A small file that says what the plan says. */
static int text_file(const struct box *box, uint32_t index, const struct box_private *p)
{
	const char *text = rein_plan_str(box->plan, rein_plan_mounts(box->plan)[index].source);
	char name[] = "text-00000000";
	size_t n = strlen(text);
	int fd;

	for (uint32_t i = index, at = sizeof(name) - 2; i; i /= 10)
		name[at--] = (char)('0' + i % 10);
	if (mknodat(p->fd, name, S_IFREG | 0444, 0) < 0)
		return -1;
	fd = openat(p->fd, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return -1;
	close(fd);
	return clone_private(p, name, MOUNT_ATTR_RDONLY);
}

static int freeze(const char *target)
{
	int fd = sys_mount_clone(AT_FDCWD, target, AT_RECURSIVE);

	if (fd >= 0 && sys_mount_restrict(fd, "", MOUNT_ATTR_RDONLY, true) < 0)
		return -1;
	return fd;
}

/*
 * As root it is there and guarded already; only that it became read-only with everything else is
 * taken back. With a new root directory it went with the old one: then all of it once more.
 */
static void attach_proc(const struct box *box, uint32_t index, int proc)
{
	const char *target = rein_plan_str(box->plan, rein_plan_mounts(box->plan)[index].target);
	bool early = box->plan->flags & REIN_PLAN_ROOT, pivot = box->plan->flags & REIN_PLAN_PIVOT;

	if (early && !pivot) {
		if (sys_mount_relax(proc, MOUNT_ATTR_RDONLY) < 0)
			box_step_failed(box, REIN_STEP_PROC, index);
		close(proc);
		return;
	}
	if (early) {
		close(proc);
		proc = new_proc(box);
	}
	if (sys_mount_attach(proc, AT_FDCWD, target) < 0)
		box_step_failed(box, REIN_STEP_PROC, index);
	if (early)
		guard_proc(box, proc, proc);
	close(proc);
}

/* Whoever has a copy of the mount keeps the overlay, and what it knows of the tree, beyond our end. */
static void lend(struct box *box, uint32_t index)
{
	box->layer = sys_mount_clone(
		AT_FDCWD, rein_plan_str(box->plan, rein_plan_mounts(box->plan)[index].target), 0);
	if (box->layer < 0)
		box_step_failed(box, REIN_STEP_OVERLAY, index);
}

static void attach_one(struct box *box, uint32_t i, struct box_private *p, uint32_t *kept)
{
	const struct rein_plan_mount *m = &rein_plan_mounts(box->plan)[i];
	int fd;

	switch (m->kind) {
	case REIN_MOUNT_OVERLAY:
	case REIN_MOUNT_BIND:
		fd = box->kept[(*kept)++];
		if (fd >= 0)
			attach(box, i, fd);
		if (m->flags & REIN_MOUNT_LENT)
			lend(box, i);
		break;
	case REIN_MOUNT_FREEZE:
		attach(box, i, freeze(rein_plan_str(box->plan, m->target)));
		break;
	case REIN_MOUNT_PRIVATE:
		attach(box, i, clone_private(p, rein_plan_str(box->plan, m->source), 0));
		break;
	case REIN_MOUNT_PROC:
		attach_proc(box, i, p->proc);
		break;
	case REIN_MOUNT_SYS:
		if (p->sys >= 0)
			attach(box, i, take(&p->sys));
		break;
	case REIN_MOUNT_DEV:
		attach_dev(box, i, p);
		break;
	case REIN_MOUNT_TEXT:
		attach(box, i, text_file(box, i, p));
		break;
	default:
		hide(box, i, p);
	}
}

/* The overlay over "/" becomes the root; the host's tree is gone from this namespace. */
static void pivot(struct box *box)
{
	int old = open("/", PATH_DIR | O_CLOEXEC);
	int new = box->kept[0];

	if (old < 0 || sys_mount_attach(new, AT_FDCWD, "/") < 0 || fchdir(new) < 0 ||
	    sys_pivot_root(".", ".") < 0 || fchdir(old) < 0 || umount2(".", MNT_DETACH) < 0 ||
	    chdir("/") < 0)
		box_step_failed(box, REIN_STEP_PIVOT, 0);
	close(old);
	close(new);
}

void box_mount(struct box *box)
{
	struct box_private *p = &box->private;
	uint32_t kept = 0, first = 0;

	keep(box);
	if (box->plan->flags & REIN_PLAN_PIVOT) {
		pivot(box);
		kept = first = 1;
	} else if (sys_mount_restrict(AT_FDCWD, "/", MOUNT_ATTR_RDONLY | SYS_MOUNT_TAME, true) < 0) {
		box_step_failed(box, REIN_STEP_READONLY, 0);
	}
	/*
	 * Only what is mounted can be cloned (before Linux 6.15), so the private file system goes
	 * where its own /dev will cover it. It stays there: taking it off would cost 90 us.
	 */
	if (sys_mount_attach(p->fd, AT_FDCWD, "/dev") < 0)
		box_step_failed(box, REIN_STEP_TMPFS, 0);
	for (uint32_t i = first; i < box->plan->nmounts; i++)
		attach_one(box, i, p, &kept);
	close(p->fd);
	if (p->sys >= 0)
		close(p->sys); /* the plan has another */
	/* A working directory from before lies below what was mounted since: enter it anew. */
	if (chdir(rein_plan_str(box->plan, box->plan->cwd)) < 0)
		box_step_failed(box, REIN_STEP_CWD, 0);
}
