/* SPDX-License-Identifier: Apache-2.0 */
/* See ocibundle.h. One function a kind of mount. */
#include "sandbox/ocibundle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "sys/file.h"
#include "sys/mountfd.h"
#include "sys/sys.h"

#define FD_PATH "/proc/self/fd/%d"

/* Where the box's own directories are, so that there is a place for it. */
#define EXECUTOR "/run/rein-box"

static const struct {
	int resource;
	const char *name;
} rlimits[] = {
	{RLIMIT_DATA, "RLIMIT_DATA"},	{RLIMIT_CPU, "RLIMIT_CPU"},	{RLIMIT_NPROC, "RLIMIT_NPROC"},
	{RLIMIT_FSIZE, "RLIMIT_FSIZE"}, {RLIMIT_NOFILE, "RLIMIT_NOFILE"},
};

static void words(struct rein_json *j, const char *key, char *const *v)
{
	rein_json_key(j, key);
	rein_json_open(j, '[');
	for (; v && *v; v++)
		rein_json_cstr(j, *v);
	rein_json_close(j, ']');
}

static void mount_row(struct rein_json *j, const char *target, const char *type, const char *source,
		      const char *const *options)
{
	rein_json_open(j, '{');
	rein_json_kstr(j, "destination", target);
	rein_json_kstr(j, "type", type);
	rein_json_kstr(j, "source", source);
	words(j, "options", (char *const *)(uintptr_t)options);
	rein_json_close(j, '}');
}

static void put_bind(struct rein_json *j, const char *target, const char *source, bool rdonly)
{
	const char *options[] = {"rbind", "nosuid", "nodev", rdonly ? "ro" : "rw", NULL};

	mount_row(j, target, "bind", source, options);
}

/* The private directories of a box, by their names in the plan. */
static const struct {
	const char *name;
	unsigned mode;
} privates[] = {{"tmp", 01777}, {"vartmp", 01777}, {"shm", 01777}, {"run", 0755}, {"varrun", 0755}, {"runtime", 0700},
		{"home", 0700}};

/*
 * All on one file system, as in the built-in box, so that what they hold together can be seen from outside. Of one in
 * gVisor's own kernel nothing is seen: there each has room for what the box may write, and no more.
 */
static void put_private(const struct rein_bundle *b, struct rein_json *j, const char *target, const char *name)
{
	auto_free char *source = rein_asprintf("%s/private/%s", b->dir, name);
	uint64_t disk = b->spec->limits.v[REIN_LIMIT_DISK];
	const char *options[5] = {"nosuid", "nodev"};
	char mode[16] = "", size[32];

	if (b->executor) {
		put_bind(j, target, source ? source : "", false);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(privates); i++)
		if (rein_streq(privates[i].name, name))
			snprintf(mode, sizeof(mode), "mode=%04o", privates[i].mode);
	options[2] = mode;
	snprintf(size, sizeof(size), "size=%" PRIu64, disk);
	if (disk && disk <= INT64_MAX)
		options[3] = size;
	mount_row(j, target, "tmpfs", "tmpfs", options);
}

/* Nothing is made there and no device changed; gVisor would not let them be opened either. */
static void put_devices(const struct rein_bundle *b, struct rein_json *j)
{
	const char *dev[] = {"nosuid", "strictatime", "mode=755", "size=65536k", b->executor ? "ro" : NULL, NULL};
	static const char *const pts[] = {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", NULL};
	static const char *const queues[] = {"nosuid", "noexec", "nodev", NULL};

	mount_row(j, "/dev", "tmpfs", "tmpfs", dev);
	/* by no other way could our executor, which makes no mounts here, let them through its wall; a kernel may have none */
	if (b->executor && access("/proc/sys/fs/mqueue", F_OK) == 0)
		mount_row(j, REIN_BOX_QUEUES, "mqueue", "mqueue", queues);
	mount_row(j, "/dev/pts", "devpts", "devpts", pts);
	put_private(b, j, "/dev/shm", "shm");
}

/* A runtime may open what it mounts over, and gVisor does: these are covered by ourselves. */
static bool is_socket(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static char *text_path(const struct rein_bundle *b, uint32_t index)
{
	return rein_asprintf("%s/text-%u", b->dir, index);
}

/*
 * Where a path of the box is while the runtime has not put things together: in the innermost tree's place. A bind
 * is made by the runtime from here, with all that is mounted below. What is frozen is what the tree around it shows.
 */
static void place_of(const struct rein_bundle *b, const char *target, char *to, size_t size)
{
	const char *in = NULL;

	snprintf(to, size, "%s/rootfs%s", b->dir, target);
	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];
		const char *at = rein_plan_str(b->plan, m->target), *rest;

		if ((m->kind != REIN_MOUNT_OVERLAY && m->kind != REIN_MOUNT_BIND) || !rein_path_within(target, at) ||
		    (in && strlen(at) < strlen(in)))
			continue;
		in = at;
		rest = target + (rein_streq(at, "/") ? 0 : strlen(at));
		if (m->kind == REIN_MOUNT_OVERLAY)
			snprintf(to, size, "%s/overlay-%u%s", b->dir, i, rest);
		else
			snprintf(to, size, "%s%s", rein_plan_str(b->plan, m->source), rest);
	}
}

/* Is it hidden in the tree it lies in? Then nothing is there, and a runtime would make it to mount over it. */
static bool is_masked(const struct rein_bundle *b, const char *target)
{
	const struct rein_plan_mount *in = NULL;
	char path[PATH_MAX];
	struct stat st;

	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];

		if ((m->kind == REIN_MOUNT_OVERLAY || (m->kind == REIN_MOUNT_BIND && !(m->flags & REIN_MOUNT_OPTIONAL))) &&
		    rein_path_within(target, rein_plan_str(b->plan, m->target)))
			in = m; /* what lies in another comes later */
	}
	if (!in || in->kind != REIN_MOUNT_OVERLAY || !in->mask)
		return false;
	snprintf(path, sizeof(path), "%s/%s", rein_plan_str(b->plan, in->mask),
		 target + strlen(rein_plan_str(b->plan, in->target)));
	return lstat(path, &st) == 0 ? S_ISCHR(st.st_mode) : errno == ENOTDIR;
}

static void put_mount(const struct rein_bundle *b, struct rein_json *j, uint32_t index)
{
	const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[index];
	const char *target = rein_plan_str(b->plan, m->target), *source = rein_plan_str(b->plan, m->source);
	static const char *const none[] = {"nosuid", "noexec", "nodev", NULL};
	static const char *const shut[] = {"nosuid", "noexec", "nodev", "ro", NULL};
	/* whoever is root owns it, and could open it for himself */
	static const char *const hidden[] = {"nosuid", "nodev", "mode=0000", "ro", NULL};
	auto_free char *own = rein_asprintf("%s/overlay-%u", b->dir, index), *text = text_path(b, index);
	char place[PATH_MAX];
	struct stat st;

	if ((m->flags & REIN_MOUNT_OPTIONAL || m->kind == REIN_MOUNT_FREEZE) &&
	    (lstat(target, &st) < 0 || is_masked(b, target)))
		return;
	switch (m->kind) {
	case REIN_MOUNT_OVERLAY:
		put_bind(j, target, own ? own : "", false);
		break;
	case REIN_MOUNT_BIND:
		put_bind(j, target, source, m->flags & REIN_MOUNT_RDONLY);
		break;
	case REIN_MOUNT_FREEZE: /* not what is outside: there nothing is hidden */
		place_of(b, target, place, sizeof(place));
		put_bind(j, target, place, true);
		break;
	case REIN_MOUNT_HIDE_DIR:
		mount_row(j, target, "tmpfs", "tmpfs", hidden);
		break;
	case REIN_MOUNT_HIDE_FILE:
		if (!is_socket(target))
			put_bind(j, target, "/dev/null", true);
		break;
	case REIN_MOUNT_PRIVATE:
		put_private(b, j, target, source);
		break;
	case REIN_MOUNT_PROC:
		mount_row(j, target, "proc", "proc", none);
		break;
	case REIN_MOUNT_SYS:
		mount_row(j, target, "sysfs", "sysfs", shut);
		break;
	case REIN_MOUNT_DEV:
		put_devices(b, j);
		break;
	case REIN_MOUNT_TEXT:
		put_bind(j, target, text ? text : "", true);
		break;
	}
}

static void put_process(const struct rein_bundle *b, struct rein_json *j)
{
	static char *executor[] = {(char *)(uintptr_t)EXECUTOR, NULL};
	static const char *const sets[] = {"bounding", "effective", "inheritable", "permitted", "ambient"};
	static char *network[] = {(char *)(uintptr_t)"CAP_NET_ADMIN", (char *)(uintptr_t)"CAP_NET_BIND_SERVICE",
				  (char *)(uintptr_t)"CAP_SETPCAP", NULL};

	rein_json_key(j, "process");
	rein_json_open(j, '{');
	rein_json_kbool(j, "terminal", false);
	rein_json_key(j, "user");
	rein_json_open(j, '{');
	rein_json_ku64(j, "uid", geteuid());
	rein_json_ku64(j, "gid", getegid());
	rein_json_ku64(j, "umask", b->plan->umask);
	rein_json_close(j, '}');
	words(j, "args", b->executor ? executor : b->spec->argv);
	words(j, "env", b->executor ? NULL : b->spec->envp);
	rein_json_kstr(j, "cwd", b->spec->cwd);
	rein_json_kbool(j, "noNewPrivileges", true);
	rein_json_key(j, "capabilities");
	rein_json_open(j, '{');
	/* for the network our executor makes ready; then it gives them up, and looks that there are none left */
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		words(j, sets[i], b->executor && b->plan->flags & REIN_PLAN_GATE && i < 4 && i != 2 ? network : NULL);
	rein_json_close(j, '}');
	rein_json_key(j, "rlimits");
	rein_json_open(j, '[');
	/* our executor gives them to the command alone: a runtime would have them itself, and end by one */
	for (uint32_t i = 0; !b->executor && i < b->plan->nrlimits; i++)
		for (size_t k = 0; k < ARRAY_SIZE(rlimits); k++) {
			if (rlimits[k].resource != (int)b->plan->rlimits[i].resource)
				continue;
			rein_json_open(j, '{');
			rein_json_kstr(j, "type", rlimits[k].name);
			rein_json_ku64(j, "soft", b->plan->rlimits[i].value);
			rein_json_ku64(j, "hard", b->plan->rlimits[i].value);
			rein_json_close(j, '}');
		}
	rein_json_close(j, ']');
	rein_json_close(j, '}');
}

/* Everybody is who he is outside, without a right over anything there. */
static void put_identity(struct rein_json *j)
{
	static const char *const maps[] = {"uidMappings", "gidMappings"};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		rein_json_key(j, maps[i]);
		rein_json_open(j, '[');
		rein_json_open(j, '{');
		rein_json_ku64(j, "containerID", 0);
		rein_json_ku64(j, "hostID", 0);
		rein_json_ku64(j, "size", UINT32_MAX);
		rein_json_close(j, '}');
		rein_json_close(j, ']');
	}
}

static void put_linux(const struct rein_bundle *b, struct rein_json *j)
{
	static const char *const spaces[] = {"pid", "ipc", "uts", "mount", "network", "user"};
	/* it is started in the network it is to have: that is not made anew */
	bool joins = b->spec->net == REIN_NET_HOST || (!b->executor && b->plan->flags & REIN_PLAN_GATE);
	/*
	 * gVisor's kernel is a process in that network then, by its own choice as root, with the right to trace
	 * for its platform: in a user namespace of its own that right is over nothing of the host's.
	 */
	bool user = !b->executor && joins;

	rein_json_key(j, "linux");
	rein_json_open(j, '{');
	rein_json_key(j, "namespaces");
	rein_json_open(j, '[');
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		if ((i == 4 && joins) || (i == 5 && !user))
			continue;
		rein_json_open(j, '{');
		rein_json_kstr(j, "type", spaces[i]);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
	if (user)
		put_identity(j);
	if (b->group)
		rein_json_kstr(j, "cgroupsPath", b->group);
	if (!joins && b->executor) {
		/* as in the box: a server inside may have any port, and loopback needs no pacing */
		rein_json_key(j, "sysctl");
		rein_json_open(j, '{');
		rein_json_kstr(j, "net.ipv4.ip_unprivileged_port_start", "0");
		rein_json_kstr(j, "net.ipv4.tcp_congestion_control", "reno");
		rein_json_close(j, '}');
	}
	words(j, "maskedPaths", (char *[]){(char *)(uintptr_t)"/proc/kcore", (char *)(uintptr_t)"/proc/keys",
					   (char *)(uintptr_t)"/proc/sysrq-trigger", NULL});
	words(j, "readonlyPaths", (char *[]){(char *)(uintptr_t)"/proc/sys", (char *)(uintptr_t)"/proc/irq",
					     (char *)(uintptr_t)"/proc/bus", NULL});
	rein_json_close(j, '}');
}

/* Readable by all: it is a file of the system's to whoever is in the box. */
static int write_text(const struct rein_bundle *b, uint32_t index, struct rein_err *err)
{
	const char *text = rein_plan_str(b->plan, rein_plan_mounts(b->plan)[index].source);
	auto_free char *path = text_path(b, index);

	if (!path)
		return rein_err_nomem(err);
	if (rein_file_replace(AT_FDCWD, path, rein_str(text), REIN_SYNC_NONE, err) < 0)
		return -err->code;
	return chmod(path, 0644) < 0 ? rein_err_errno(err, "make '%s'", path) : 0;
}

static int make_dirs(const struct rein_bundle *b, struct rein_err *err)
{
	static const char *const fixed[] = {"", "/rootfs", "/private"};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		snprintf(path, sizeof(path), "%s%s", b->dir, fixed[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return rein_err_errno(err, "make the bundle '%s'", path);
	}
	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		snprintf(path, sizeof(path), "%s/overlay-%u", b->dir, i);
		if (rein_plan_mounts(b->plan)[i].kind == REIN_MOUNT_OVERLAY && mkdir(path, 0755) < 0 &&
		    errno != EEXIST)
			return rein_err_errno(err, "make '%s'", path);
		if (rein_plan_mounts(b->plan)[i].kind == REIN_MOUNT_TEXT && write_text(b, i, err) < 0)
			return -err->code;
	}
	return 0;
}

/* What cannot be said in JSON would be another path, or another word, and nobody would notice. */
static int check_text(const char *text, const char *what, size_t shown, struct rein_err *err)
{
	size_t n = strlen(text);

	for (size_t i = 0, len; i < n; i += len) {
		len = (unsigned char)text[i] < 0x80 ? 1 : rein_utf8_len(text + i, n - i);
		if (!len)
			return rein_err_set(err, REIN_E_UNSUPPORTED,
					    "%s '%.*s' is not UTF-8, as all must be that an OCI runtime is told: "
					    "use the built-in box (--backend box)",
					    what, (int)shown, text);
	}
	return 0;
}

static int check_path(const char *path, struct rein_err *err)
{
	return check_text(path, "the path", 100, err);
}

static int check_texts(const struct rein_bundle *b, struct rein_err *err)
{
	const char *const fixed[] = {b->dir, b->spec->cwd, b->executor ? b->executor : ""};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (check_path(fixed[i], err) < 0)
			return -err->code;
	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];

		if (check_path(rein_plan_str(b->plan, m->target), err) < 0 ||
		    (m->kind == REIN_MOUNT_BIND && check_path(rein_plan_str(b->plan, m->source), err) < 0))
			return -err->code;
	}
	for (char **v = b->executor ? NULL : b->spec->argv; v && *v; v++)
		if (check_text(*v, "the argument", 100, err) < 0)
			return -err->code;
	for (char **v = b->executor ? NULL : b->spec->envp; v && *v; v++)
		if (check_text(*v, "the variable", strcspn(*v, "="), err) < 0)
			return -err->code;
	return 0;
}

int rein_bundle_write(const struct rein_bundle *b, struct rein_err *err)
{
	auto_buf struct rein_buf buf = REIN_BUF(16u << 20);
	struct rein_json j = {.b = &buf};
	auto_free char *path = rein_asprintf("%s/config.json", b->dir);

	if (check_texts(b, err) < 0 || make_dirs(b, err) < 0)
		return -err->code;
	rein_json_open(&j, '{');
	rein_json_kstr(&j, "ociVersion", "1.0.2");
	put_process(b, &j);
	rein_json_key(&j, "root");
	rein_json_open(&j, '{');
	rein_json_kstr(&j, "path", "rootfs");
	rein_json_kbool(&j, "readonly", true);
	rein_json_close(&j, '}');
	rein_json_kstr(&j, "hostname", rein_plan_str(b->plan, b->plan->hostname));
	rein_json_key(&j, "mounts");
	rein_json_open(&j, '[');
	for (uint32_t i = 0; i < b->plan->nmounts; i++)
		put_mount(b, &j, i);
	if (b->executor)
		put_bind(&j, EXECUTOR, b->executor, true);
	rein_json_close(&j, ']');
	put_linux(b, &j);
	rein_json_close(&j, '}');
	if (!path || buf.failed)
		return rein_err_nomem(err);
	return rein_file_replace(AT_FDCWD, path, (struct rein_str){buf.p, buf.n}, REIN_SYNC_NONE, err);
}

static int open_layer(const struct rein_bundle *b, uint32_t path)
{
	return sys_openat2(AT_FDCWD, rein_plan_str(b->plan, path), O_PATH | O_DIRECTORY | O_NOFOLLOW,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* By descriptors: a path may hold what is a separator to the file system. */
static int mount_overlay(const struct rein_bundle *b, const struct rein_plan_mount *m, const char *at)
{
	auto_close int source = open_layer(b, m->source), upper = open_layer(b, m->upper);
	auto_close int work = open_layer(b, m->work), mask = m->mask ? open_layer(b, m->mask) : -1;
	char lowers[64], uppers[32], works[32];
	struct sys_mount_option options[] = {{"lowerdir", lowers},
					     {"upperdir", uppers},
					     {"workdir", works},
					     {"volatile", NULL},
					     {"redirect_dir", "off"},
					     {"metacopy", "off"},
					     {"index", "on"},
					     {0}};
	auto_close int fd = -1;

	if (source < 0 || upper < 0 || work < 0 || (m->mask && mask < 0))
		return -1;
	if (m->mask)
		snprintf(lowers, sizeof(lowers), FD_PATH ":" FD_PATH, mask, source);
	else
		snprintf(lowers, sizeof(lowers), FD_PATH, source);
	snprintf(uppers, sizeof(uppers), FD_PATH, upper);
	snprintf(works, sizeof(works), FD_PATH, work);
	fd = sys_mount_new("overlay", options, SYS_MOUNT_TAME | MOUNT_ATTR_NOATIME);
	if (fd < 0) {
		options[6].value = "off";
		fd = sys_mount_new("overlay", options, SYS_MOUNT_TAME | MOUNT_ATTR_NOATIME);
	}
	return fd < 0 ? -1 : sys_mount_attach(fd, AT_FDCWD, at);
}

/* One entry of the system's root directory, as it is, read-only. */
static int mount_entry(int root, const char *name)
{
	const uint64_t tame = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	char path[PATH_MAX], target[PATH_MAX];
	auto_close int fd = -1, place = -1;
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/%s", name);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -1;
	if (S_ISLNK(st.st_mode)) {
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		return n <= 0 ? -1 : symlinkat(target, root, name);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode) && mkdirat(root, name, 0755) < 0)
		return -1;
	place = S_ISDIR(st.st_mode) ? openat(root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				    : openat(root, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	fd = sys_mount_clone(AT_FDCWD, path, AT_RECURSIVE);
	if (place < 0 || fd < 0 || sys_mount_restrict(fd, "", tame, true) < 0)
		return -1;
	return sys_mount_attach_fd(fd, place);
}

/*
 * The system under a root directory of our own. Runtimes set the flags of the root's mount anew (crun always,
 * runc to make it read-only), whereby what was there is forgotten: nosuid, nodev, with crun read-only; and
 * where gVisor does so in a user namespace the kernel refuses to forget them. So there is nothing on that mount
 * but names, and it has no flags.
 */
static int mount_system(const struct rein_bundle *b)
{
	static const struct sys_mount_option options[] = {{"mode", "0755"}, {0}};
	auto_closedir DIR *d = opendir("/");
	auto_close int fs = sys_mount_new("tmpfs", options, 0), root = -1;
	char path[PATH_MAX];
	struct dirent *e;

	snprintf(path, sizeof(path), "%s/rootfs", b->dir);
	if (!d || fs < 0 || sys_mount_attach(fs, AT_FDCWD, path) < 0)
		return -1;
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (root >= 0 && (e = readdir(d)))
		if (!rein_streq(e->d_name, ".") && !rein_streq(e->d_name, "..") &&
		    mount_entry(root, e->d_name) < 0)
			return -1;
	return root < 0 ? -1 : 0;
}

static int cover_socket(const struct rein_bundle *b, const char *target)
{
	auto_close int null = sys_mount_clone(AT_FDCWD, "/dev/null", 0), at = -1;
	char path[PATH_MAX];

	place_of(b, target, path, sizeof(path));
	at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0 && errno == ENOENT)
		return 0; /* gone, or hidden with what it is in */
	if (null < 0 || at < 0 || sys_mount_restrict(null, "", MOUNT_ATTR_RDONLY | SYS_MOUNT_TAME, false) < 0)
		return -1;
	return sys_mount_attach_fd(null, at);
}

/* The box's own directory this path lies in, or is; NULL: in none. */
static const char *private_of(const struct rein_bundle *b, const char *target)
{
	const char *in = NULL;

	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];
		const char *at = rein_plan_str(b->plan, m->target);

		if (m->kind == REIN_MOUNT_PRIVATE && rein_path_within(target, at) && (!in || strlen(at) < strlen(in)))
			in = at;
	}
	return in;
}

/* The way to it, and something to mount over, below a directory that is ours. */
static int make_place(char *path, size_t from, bool is_dir)
{
	for (char *p = path + from; (p = strchr(p + 1, '/'));) {
		*p = 0;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	if (is_dir ? mkdir(path, 0755) < 0 : mknod(path, S_IFREG | 0644, 0) < 0)
		return errno == EEXIST ? 0 : -1;
	return 0;
}

/*
 * gVisor's own kernel has the box's private directories; what it is brought is put together by another process of
 * its, which sees this tree and makes no places in it. So there they are empty as well, but for those places; and
 * nothing of the host's own that is behind them can be asked for.
 */
static int cover_private(const struct rein_bundle *b)
{
	static const struct sys_mount_option options[] = {{"mode", "0755"}, {0}};
	size_t from = strlen(b->dir) + strlen("/rootfs");
	char path[PATH_MAX];

	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];
		const char *target = rein_plan_str(b->plan, m->target);
		auto_close int fs = -1, at = -1;

		if (m->kind != REIN_MOUNT_PRIVATE || private_of(b, target) != target)
			continue;
		snprintf(path, sizeof(path), "%s/rootfs%s", b->dir, target);
		at = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at < 0 && errno == ENOENT)
			continue;
		fs = sys_mount_new("tmpfs", options, SYS_MOUNT_TAME);
		if (at < 0 || fs < 0 || sys_mount_attach_fd(fs, at) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];
		const char *target = rein_plan_str(b->plan, m->target);

		if ((m->kind != REIN_MOUNT_OVERLAY && m->kind != REIN_MOUNT_BIND && m->kind != REIN_MOUNT_TEXT) ||
		    !private_of(b, target))
			continue;
		snprintf(path, sizeof(path), "%s/rootfs%s", b->dir, target);
		if (make_place(path, from, m->kind != REIN_MOUNT_TEXT && !(m->flags & REIN_MOUNT_FILE)) < 0)
			return -1;
	}
	return 0;
}

/* See put_private. */
static int mount_private(const struct rein_bundle *b)
{
	static const struct sys_mount_option options[] = {{"mode", "0755"}, {0}};
	auto_close int fs = sys_mount_new("tmpfs", options, SYS_MOUNT_TAME);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/private", b->dir);
	if (fs < 0 || sys_mount_attach(fs, AT_FDCWD, path) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(privates); i++) {
		snprintf(path, sizeof(path), "%s/private/%s", b->dir, privates[i].name);
		if (mkdir(path, 0700) < 0 || chmod(path, privates[i].mode) < 0)
			return -1;
	}
	return 0;
}

int rein_bundle_mount(const struct rein_bundle *b, struct rein_err *err)
{
	char path[PATH_MAX];

	if (b->executor && mount_private(b) < 0)
		return rein_err_errno(err, "make the private directories in '%s/private'", b->dir);
	if (mount_system(b) < 0)
		return rein_err_errno(err, "mount the system at '%s/rootfs'", b->dir);
	if (!b->executor && cover_private(b) < 0)
		return rein_err_errno(err, "cover the private directories in '%s/rootfs'", b->dir);
	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];

		snprintf(path, sizeof(path), "%s/overlay-%u", b->dir, i);
		if (m->kind == REIN_MOUNT_OVERLAY && mount_overlay(b, m, path) < 0)
			return rein_err_errno(err, "mount the copy-on-write tree of '%s'",
					      rein_plan_str(b->plan, m->target));
	}
	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(b->plan)[i];
		const char *target = rein_plan_str(b->plan, m->target);

		if (m->kind == REIN_MOUNT_HIDE_FILE && is_socket(target) && cover_socket(b, target) < 0)
			return rein_err_errno(err, "cover the socket '%s'", target);
	}
	return 0;
}

void rein_bundle_remove(const struct rein_bundle *b)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < b->plan->nmounts; i++) {
		snprintf(path, sizeof(path), "%s/overlay-%u", b->dir, i);
		rmdir(path);
		snprintf(path, sizeof(path), "%s/text-%u", b->dir, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/rootfs", b->dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/private", b->dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/config.json", b->dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/pid", b->dir);
	unlink(path);
	rmdir(b->dir);
}
