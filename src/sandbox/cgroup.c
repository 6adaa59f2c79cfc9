/* SPDX-License-Identifier: Apache-2.0 */
/* See cgroup.h. Where the hierarchies are comes from /proc/self/mountinfo and /proc/self/cgroup. */
#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/strlist.h"
#include "sandbox/scope.h"
#include "sys/file.h"

#define PREFIX "rein-"
#define PROCESSES_MAX (4u << 20) /* there are no more, and the kernel takes no more for a limit */

static const char *const names[] = {
	[REIN_CTL_MEMORY] = "memory",	[REIN_CTL_PIDS] = "pids",	[REIN_CTL_CPU] = "cpu",
	[REIN_CTL_CPUACCT] = "cpuacct", [REIN_CTL_FREEZER] = "freezer",
};

/* Which file takes which limit. */
static const struct {
	enum rein_limit what;
	enum rein_ctl ctl;
	const char *v1, *v2;
} files[] = {
	{REIN_LIMIT_MEMORY, REIN_CTL_MEMORY, "memory.limit_in_bytes", "memory.max"},
	{REIN_LIMIT_PROCESSES, REIN_CTL_PIDS, "pids.max", "pids.max"},
	{REIN_LIMIT_CPU, REIN_CTL_CPU, "cpu.cfs_quota_us", "cpu.max"},
};

/* Is word one of the comma or space separated words of list? */
static bool among(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strspn(p, ", \n")) {
		size_t len = strcspn(p, ", \n");

		if (len == n && memcmp(p, word, n) == 0)
			return true;
		p += len;
	}
	return false;
}

static bool read_whole(const char *path, struct rein_buf *b)
{
	struct rein_err ignored = {0};

	return rein_file_read(AT_FDCWD, path, b, &ignored) == 0;
}

static size_t read_at(int dir, const char *name, char *to, size_t max)
{
	auto_close int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, max - 1);

	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static int write_at(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	return fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

/* The number behind "key " in a file of such lines; the first number of all without a key. */
static uint64_t number_at(int dir, const char *name, const char *key)
{
	char text[4096], *p = text;

	if (!read_at(dir, name, text, sizeof(text)))
		return 0;
	for (; key && p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (rein_starts(p, key) && p[strlen(key)] == ' ')
			break;
	if (!p)
		return 0;
	return strtoull(key ? p + strlen(key) : p, NULL, 10);
}

/* The group we are in, in the hierarchy of this controller ("" is version 2's). Owned by the caller. */
static char *own_group(const char *ctl)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);

	if (!read_whole("/proc/self/cgroup", &b) || b.failed)
		return NULL;
	for (char *line = b.p, *next; line && *line; line = next) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!path)
			continue;
		*path++ = '\0';
		if (*ctl ? among(list + 1, ctl) : list[1] == '\0')
			return rein_strdup(path);
	}
	return NULL;
}

/* Where this hierarchy is mounted, joined with the group we are in. Owned by the caller. */
static char *own_dir(const char *ctl)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 22);
	auto_free char *group = own_group(ctl);

	if (!group || !read_whole("/proc/self/mountinfo", &b) || b.failed)
		return NULL;
	for (char *line = b.p, *next; line && *line; line = next) {
		char root[1024], point[1024], type[32], options[512];
		const char *tail, *below = group;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		tail = strstr(line, " - ");
		if (!tail || sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) != 2 ||
		    sscanf(tail, " - %31s %*s %511s", type, options) != 2)
			continue;
		if (*ctl ? !rein_streq(type, "cgroup") || !among(options, ctl)
			 : !rein_streq(type, "cgroup2"))
			continue;
		if (!rein_streq(root, "/")) {
			if (!rein_path_within(group, root))
				continue;
			below = group + strlen(root);
		}
		return rein_asprintf("%s%s", point, rein_streq(below, "/") ? "" : below);
	}
	return NULL;
}

static void init(struct rein_cgroup *g)
{
	*g = (struct rein_cgroup){0};
	for (size_t i = 0; i < REIN_CTL__MAX; i++)
		g->dir[i] = g->join[i] = -1;
}

static bool wanted(const struct rein_limits *l, enum rein_ctl ctl)
{
	switch (ctl) {
	case REIN_CTL_MEMORY:
		return l->v[REIN_LIMIT_MEMORY];
	case REIN_CTL_PIDS:
		return l->v[REIN_LIMIT_PROCESSES];
	case REIN_CTL_CPU:
		return l->v[REIN_LIMIT_CPU];
	case REIN_CTL_CPUACCT:
		return l->v[REIN_LIMIT_CPU_TIME];
	case REIN_CTL_FREEZER: /* see rein_cgroup_freezer */
	case REIN_CTL__MAX:
		break;
	}
	return false;
}

static int set_value(const struct rein_cgroup *g, size_t row, uint64_t value)
{
	int dir = g->dir[files[row].ctl];
	char text[64];

	if (files[row].what == REIN_LIMIT_CPU) {
		const uint64_t period = 100000;
		uint64_t quota = value * period / 100 > 1000 ? value * period / 100 : 1000;

		if (g->version == 1)
			snprintf(text, sizeof(text), "%" PRIu64, quota);
		else
			snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, quota, period);
	} else {
		/* the executor is one of them */
		if (files[row].what == REIN_LIMIT_PROCESSES)
			value++;
		if (files[row].what == REIN_LIMIT_PROCESSES && value > PROCESSES_MAX)
			snprintf(text, sizeof(text), "max");
		else
			snprintf(text, sizeof(text), "%" PRIu64, value);
	}
	return write_at(dir, g->version == 1 ? files[row].v1 : files[row].v2, text);
}

/*
 * A share is spent in bursts, and in them the box would stand as high as anybody: with several processes it
 * takes half of every processor until its share is gone. So it weighs no more than its share, and what it is
 * allowed comes from time that nobody else wants first. Not a limit: where it cannot be set, all is as before.
 */
static void set_weight(const struct rein_cgroup *g, uint64_t percent)
{
	uint64_t normal = g->version == 1 ? 1024 : 100, weight = normal * percent / 100;
	char text[32];

	if (weight >= normal)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, weight > 2 ? weight : 2);
	write_at(g->dir[REIN_CTL_CPU], g->version == 1 ? "cpu.shares" : "cpu.weight", text);
}

static int set_limits(const struct rein_cgroup *g, const struct rein_limits *l, struct rein_err *err)
{
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		uint64_t v = l->v[files[i].what];

		if (v && g->dir[files[i].ctl] >= 0 && set_value(g, i, v) < 0)
			return rein_err_errno(err, "set the %s limit of the control group",
					      rein_limit_name(files[i].what));
	}
	if (l->v[REIN_LIMIT_CPU] && g->dir[REIN_CTL_CPU] >= 0)
		set_weight(g, l->v[REIN_LIMIT_CPU]);
	if (!l->v[REIN_LIMIT_MEMORY] || g->dir[REIN_CTL_MEMORY] < 0)
		return 0;
	/* What was pushed out to swap is memory too. Without swap accounting: keep it in. */
	snprintf(text, sizeof(text), "%" PRIu64, l->v[REIN_LIMIT_MEMORY]);
	if (g->version == 1) {
		if (write_at(g->dir[REIN_CTL_MEMORY], "memory.memsw.limit_in_bytes", text) < 0)
			write_at(g->dir[REIN_CTL_MEMORY], "memory.swappiness", "0");
	} else {
		write_at(g->dir[REIN_CTL_MEMORY], "memory.swap.max", "0");
		write_at(g->dir[REIN_CTL_MEMORY], "memory.oom.group", "1");
	}
	return 0;
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* One directory a hierarchy; controllers mounted together share it. */
static void make_v1(const struct rein_limits *l, struct rein_cgroup *g)
{
	for (enum rein_ctl ctl = 0; ctl < REIN_CTL__MAX; ctl++) {
		auto_free char *own = wanted(l, ctl) ? own_dir(names[ctl]) : NULL;
		auto_free char *path = own ? rein_asprintf("%s/" PREFIX "%d", own, (int)getpid()) : NULL;
		bool shared = false;

		if (!path)
			continue;
		for (enum rein_ctl k = 0; k < ctl; k++)
			shared |= g->path[k] && rein_streq(g->path[k], path);
		if (!shared && mkdir(path, 0755) < 0 && errno != EEXIST) {
			snprintf(g->why, sizeof(g->why), "%s: %s", path, strerror(errno));
			continue;
		}
		g->dir[ctl] = open_dir(path);
		if (g->dir[ctl] >= 0 && !shared)
			g->join[g->njoin] = openat(g->dir[ctl], "tasks", O_WRONLY | O_CLOEXEC);
		/* a group that the box cannot join keeps nothing: others do then */
		if (g->dir[ctl] < 0 || (!shared && g->join[g->njoin] < 0)) {
			snprintf(g->why, sizeof(g->why), "%s: %s", path, strerror(errno));
			rein_closep_(&g->dir[ctl]);
			g->dir[ctl] = -1;
			if (!shared)
				rmdir(path);
			continue;
		}
		g->version = 1;
		if (shared)
			continue;
		g->njoin++;
		g->path[ctl] = take_ptr(path);
	}
}

/* Have the children of this group the controllers that are needed, or can they get them? */
static bool enable(int dir, const struct rein_limits *l)
{
	char text[512], have[512];

	read_at(dir, "cgroup.controllers", text, sizeof(text));
	read_at(dir, "cgroup.subtree_control", have, sizeof(have));
	for (enum rein_ctl ctl = REIN_CTL_MEMORY; ctl <= REIN_CTL_CPU; ctl++) {
		char plus[16];

		if (!wanted(l, ctl) || among(have, names[ctl]))
			continue;
		if (!among(text, names[ctl]))
			return false;
		snprintf(plus, sizeof(plus), "+%s", names[ctl]);
		if (write_at(dir, "cgroup.subtree_control", plus) < 0)
			return false;
	}
	return true;
}

/*
 * A group with controllers for its children has no processes of its own (but for the topmost one): we
 * move down into a group beside the box's. Only if that leaves the upper one empty does it help.
 */
static bool step_aside(const char *own)
{
	auto_free char *beside = rein_asprintf("%s/" PREFIX "supervisor", own);
	auto_close int fd = -1;

	if (!beside || (mkdir(beside, 0755) < 0 && errno != EEXIST))
		return false;
	fd = open_dir(beside);
	return fd >= 0 && write_at(fd, "cgroup.procs", "0") == 0;
}

static char *parent_of(const char *path)
{
	char *up = rein_strdup(path), *slash = up ? strrchr(up, '/') : NULL;

	if (slash)
		*slash = '\0';
	return up;
}

/* A directory below which a box's group can be made with all it needs; NULL: there is none. */
static char *find_v2(const struct rein_limits *l)
{
	auto_free char *own = own_dir("");
	auto_free char *up = own ? parent_of(own) : NULL;
	auto_close int own_fd = own ? open_dir(own) : -1, up_fd = up ? open_dir(up) : -1;

	if (own_fd < 0)
		return NULL;
	/* a supervisor's group left by ourselves or by whoever delegated: the box goes beside it */
	if (up_fd >= 0 && faccessat(up_fd, "cgroup.procs", W_OK, 0) == 0 && enable(up_fd, l))
		return take_ptr(up);
	if (enable(own_fd, l))
		return take_ptr(own);
	if (step_aside(own) && enable(own_fd, l))
		return take_ptr(own);
	return NULL;
}

static void make_v2(const struct rein_limits *l, struct rein_cgroup *g)
{
	auto_free char *parent = find_v2(l);
	char *path;

	/* somebody who manages groups for others is asked for one of our own */
	if (!parent && rein_scope_enter(g->why, sizeof(g->why)))
		parent = find_v2(l);
	path = parent ? rein_asprintf("%s/" PREFIX "%d", parent, (int)getpid()) : NULL;
	if (!path)
		return;
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		snprintf(g->why, sizeof(g->why), "%s: %s", path, strerror(errno));
		rein_free(path);
		return;
	}
	g->path[0] = path;
	for (enum rein_ctl ctl = 0; ctl < REIN_CTL__MAX; ctl++)
		g->dir[ctl] = ctl == REIN_CTL_FREEZER || ctl == REIN_CTL_CPUACCT || wanted(l, ctl)
				      ? open_dir(path)
				      : -1;
	g->join[0] = openat(g->dir[REIN_CTL_FREEZER], "cgroup.procs", O_WRONLY | O_CLOEXEC);
	g->njoin = g->join[0] >= 0;
	g->version = 2;
	if (!g->njoin)
		rein_cgroup_remove(g);
}

/* Does version 2 have the controllers at all, or are they with version 1? */
static bool is_unified(void)
{
	auto_free char *memory = own_group("memory"), *pids = own_group("pids");

	return !memory && !pids;
}

int rein_cgroup_make(const struct rein_limits *l, struct rein_cgroup *ret, struct rein_err *err)
{
	init(ret);
	if (!l->v[REIN_LIMIT_MEMORY] && !l->v[REIN_LIMIT_PROCESSES] && !l->v[REIN_LIMIT_CPU] &&
	    !l->v[REIN_LIMIT_CPU_TIME])
		return 0;
	if (is_unified())
		make_v2(l, ret);
	else
		make_v1(l, ret);
	if (!ret->version && !ret->why[0])
		snprintf(ret->why, sizeof(ret->why), "no control group may be made here");
	if (ret->version && set_limits(ret, l, err) < 0) {
		rein_cgroup_remove(ret);
		return -err->code;
	}
	return 0;
}

int rein_cgroup_version(char *why, size_t size)
{
	auto_(rein_cgroup_remove) struct rein_cgroup g;
	struct rein_limits l = {.v = {[REIN_LIMIT_MEMORY] = 1u << 30, [REIN_LIMIT_PROCESSES] = 1000}};
	struct rein_err err = {0};

	if (rein_cgroup_make(&l, &g, &err) < 0) {
		snprintf(why, size, "%s", err.msg);
		return 0;
	}
	snprintf(why, size, "%s", g.why);
	return g.dir[REIN_CTL_MEMORY] >= 0 && g.dir[REIN_CTL_PIDS] >= 0 ? g.version : 0;
}

/* The same of the group and of those directly below it: a runtime makes its own there. */
static uint64_t sum_at(int dir, const char *name, const char *key)
{
	uint64_t sum = number_at(dir, name, key);
	int copy = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		auto_close int below = -1;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		sum += number_at(below, name, key);
	}
	return sum;
}

void rein_cgroup_read(const struct rein_cgroup *g, struct rein_cgroup_sample *ret)
{
	int memory = g->dir[REIN_CTL_MEMORY], pids = g->dir[REIN_CTL_PIDS];

	*ret = (struct rein_cgroup_sample){0};
	if (g->version == 1) {
		ret->memory = number_at(memory, "memory.usage_in_bytes", NULL);
		ret->memory_peak = number_at(memory, "memory.max_usage_in_bytes", NULL);
		ret->oom_kills = sum_at(memory, "memory.oom_control", "oom_kill");
		ret->cpu_ns = number_at(g->dir[REIN_CTL_CPUACCT], "cpuacct.usage", NULL);
	} else if (g->version == 2) {
		ret->memory = number_at(memory, "memory.current", NULL);
		ret->memory_peak = number_at(memory, "memory.peak", NULL);
		ret->oom_kills = number_at(memory, "memory.events", "oom_kill");
		ret->cpu_ns = number_at(g->dir[REIN_CTL_CPUACCT], "cpu.stat", "usage_usec") * 1000;
	}
	ret->processes = number_at(pids, "pids.current", NULL);
	ret->refused = sum_at(pids, "pids.events", "max");
}

int rein_cgroup_freeze(const char *path, bool freeze, struct rein_err *err)
{
	const struct timespec a_while = {.tv_nsec = 500000};
	uint64_t end = rein_mono_ns() + 2 * REIN_NS_PER_S;
	auto_close int dir = open_dir(path);

	if (dir < 0 || write_at(dir, "cgroup.freeze", freeze ? "1" : "0") < 0)
		return rein_err_errno(err, "%s '%s'", freeze ? "freeze" : "thaw", path);
	while (number_at(dir, "cgroup.events", "frozen") != freeze) {
		if (rein_mono_ns() > end)
			return rein_err_set(err, REIN_E_FAILED, "'%s' does not %s", path,
					    freeze ? "freeze" : "thaw");
		nanosleep(&a_while, NULL);
	}
	return 0;
}

const char *rein_cgroup_freezer(const struct rein_cgroup *g)
{
	return g->version == 2 ? g->path[0] : NULL;
}

/* Groups of a rein that is dead; one that has processes cannot be removed anyway. */
static void sweep(const char *path)
{
	auto_free char *up = parent_of(path);
	auto_closedir DIR *d = up ? opendir(up) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		uint64_t pid;

		if (rein_starts(e->d_name, PREFIX) &&
		    rein_parse_u64(e->d_name + strlen(PREFIX), INT32_MAX, &pid) &&
		    kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
}

/* The last process is gone, but the kernel may need a moment to let go of it. */
static void remove_one(const char *path)
{
	const struct timespec a_while = {.tv_nsec = 1000000};

	for (int i = 0; i < 200 && rmdir(path) < 0 && errno == EBUSY; i++)
		nanosleep(&a_while, NULL);
}

void rein_cgroup_remove_below(const char *name)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);

	if (!read_whole("/proc/self/cgroup", &b) || b.failed)
		return;
	for (char *line = b.p, *next; line && *line; line = next) {
		char *list = strchr(line, ':');
		auto_free char *own = NULL, *path = NULL;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!list)
			continue;
		list[1 + strcspn(list + 1, ",:")] = '\0'; /* one controller stands for those mounted with it */
		own = own_dir(list + 1);
		path = own ? rein_asprintf("%s/%s", own, name) : NULL;
		if (path)
			remove_one(path);
	}
}

void rein_cgroup_remove(struct rein_cgroup *g)
{
	if (!g->version)
		return;
	for (size_t i = 0; i < REIN_CTL__MAX; i++) {
		rein_closep_(&g->dir[i]);
		rein_closep_(&g->join[i]);
		if (g->path[i]) {
			remove_one(g->path[i]);
			sweep(g->path[i]);
		}
		rein_free(g->path[i]);
	}
	init(g);
}
