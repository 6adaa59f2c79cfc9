/* SPDX-License-Identifier: Apache-2.0 */
/* See keep.h. One function a limit, one table that says who keeps it. */
#include "sandbox/keep.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/census.h"
#include "sandbox/nameless.h"
#include "sys/priv.h"

/* Looking: often where a limit depends on it, seldom for the picture alone. */
#define WATCH_NS   (50 * 1000000ull)
#define PICTURE_NS (500 * 1000000ull)
#define COUNT_NS   (10 * 1000000ull) /* processes, where nobody tells that one was refused */
#define CLOSE_NS   (2 * 1000000ull)  /* when so many run that as many more would be too many */
#define ROOM_NS	   (100 * 1000000ull) /* how much is free on the disk: the first time */
#define ROOM_SPEED 4		     /* bytes in a nanosecond: no disk is filled faster */
#define ROOM_OWN   (16ull << 20)     /* who wrote no more is not the one who fills it */
#define NAME_NS	   2000		     /* of a processor: no file is made in less */

static uint64_t limit(const struct rein_keeper *k, enum rein_limit what)
{
	return k->spec->limits.v[what];
}

static void found(struct rein_keeper *k, enum rein_limit what, uint64_t used)
{
	if (k->hit.what == REIN_LIMIT_NONE)
		k->hit = (struct rein_limit_hit){what, used, limit(k, what)};
}

/* A fork the kernel refuses because of a resource limit is known to nobody but its caller. */
static bool nobody_tells(const struct rein_keeper *k)
{
	enum rein_limit_by by = k->by[REIN_LIMIT_PROCESSES];

	return by == REIN_BY_RLIMIT || by == REIN_BY_WATCHING;
}

/*
 * Processes that only looking counts are as many as they like between two looks: whoever looks, and at last the box's
 * first process, which takes all others with it, must not wait for a processor among thousands of them. Root may have
 * that; where it does not work it is as without.
 */
static bool come_before_others(pid_t pid)
{
	const struct sched_param first = {.sched_priority = 1};

	return sched_setscheduler(pid, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
}

static void assign(struct rein_keeper *k)
{
	const struct rein_cgroup *g = &k->group;
	enum rein_limit_by group = g->version == 2 ? REIN_BY_CGROUP2 : REIN_BY_CGROUP1;
	const enum rein_limit_by by[REIN_LIMIT__MAX] = {
		[REIN_LIMIT_MEMORY] = g->dir[REIN_CTL_MEMORY] >= 0 ? group : REIN_BY_WATCHING,
		[REIN_LIMIT_CPU] = g->dir[REIN_CTL_CPU] >= 0 ? group : REIN_BY_PRIORITY,
		[REIN_LIMIT_CPU_TIME] = g->dir[REIN_CTL_CPUACCT] >= 0 ? group : REIN_BY_WATCHING,
		/* a user namespace counts its own processes; root has none to be counted in */
		[REIN_LIMIT_PROCESSES] = g->dir[REIN_CTL_PIDS] >= 0 ? group
					 : rein_is_root()	    ? REIN_BY_WATCHING
								    : REIN_BY_RLIMIT,
		[REIN_LIMIT_DISK] = REIN_BY_WATCHING,
		[REIN_LIMIT_FILE] = REIN_BY_RLIMIT,
		[REIN_LIMIT_OPEN_FILES] = REIN_BY_RLIMIT,
		[REIN_LIMIT_TIME] = REIN_BY_CLOCK,
		[REIN_LIMIT_IDLE] = REIN_BY_CLOCK,
		[REIN_LIMIT_OUTPUT] = REIN_BY_CLOCK,
		[REIN_LIMIT_FREE] = REIN_BY_WATCHING,
	};

	for (size_t i = 1; i < REIN_LIMIT__MAX; i++)
		k->by[i] = k->spec->limits.v[i] ? by[i] : REIN_BY_NOBODY;
	if (k->spec->timeout_ns)
		k->by[REIN_LIMIT_TIME] = REIN_BY_CLOCK;
	if (k->spec->idle_timeout_ns)
		k->by[REIN_LIMIT_IDLE] = REIN_BY_CLOCK;
	k->by[REIN_LIMIT_FREE] = limit(k, REIN_LIMIT_FREE) != REIN_LIMIT_OFF ? REIN_BY_WATCHING : REIN_BY_NOBODY;
}

int rein_keep_init(struct rein_keeper *k, const struct rein_box_spec *spec, struct rein_err *err)
{
	*k = (struct rein_keeper){.spec = spec, .proc = -1};
	if (rein_cgroup_make(&spec->limits, &k->group, err) < 0)
		return -err->code;
	assign(k);
	k->interval_ns = rein_limits_any(&spec->limits) ? WATCH_NS : PICTURE_NS;
	return 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The kernel takes the size of a file for a signed number: what is beyond that is no limit. */
static void add_rlimit(struct rein_plan_setup *setup, int resource, uint64_t value)
{
	if (value > INT64_MAX)
		return;
	setup->rlimits[setup->nrlimits++] = (struct rein_plan_rlimit){(uint32_t)resource, 0, value};
}

void rein_keep_plan(struct rein_keeper *k, struct rein_plan_setup *setup)
{
	uint64_t memory = limit(k, REIN_LIMIT_MEMORY), cpu = limit(k, REIN_LIMIT_CPU);
	uint64_t seconds = limit(k, REIN_LIMIT_CPU_TIME) / REIN_NS_PER_S + 1;

	/*
	 * One process that takes memory faster than we look. Twice and some more, because what is
	 * mapped is never all used.
	 */
	if (k->by[REIN_LIMIT_MEMORY] == REIN_BY_WATCHING)
		add_rlimit(setup, RLIMIT_DATA, plus(plus(memory, memory), 256ull << 20));
	/* The command itself and one look that comes too late for the others. */
	if (limit(k, REIN_LIMIT_CPU_TIME))
		add_rlimit(setup, RLIMIT_CPU, seconds);
	/* Counted in the box's own user namespace; pid 1 is one of them, and one more shows the excess. */
	if (k->by[REIN_LIMIT_PROCESSES] == REIN_BY_RLIMIT)
		add_rlimit(setup, RLIMIT_NPROC, limit(k, REIN_LIMIT_PROCESSES) + 2);
	/* One byte more than is allowed: a file that has it tells that it was tried. */
	if (limit(k, REIN_LIMIT_FILE))
		add_rlimit(setup, RLIMIT_FSIZE, plus(limit(k, REIN_LIMIT_FILE), 1));
	/* A whole disk's worth in one file would be written before we look. */
	else if (limit(k, REIN_LIMIT_DISK))
		add_rlimit(setup, RLIMIT_FSIZE, plus(limit(k, REIN_LIMIT_DISK), limit(k, REIN_LIMIT_DISK)));
	if (limit(k, REIN_LIMIT_OPEN_FILES))
		add_rlimit(setup, RLIMIT_NOFILE, limit(k, REIN_LIMIT_OPEN_FILES));
	if (k->by[REIN_LIMIT_CPU] == REIN_BY_PRIORITY)
		k->processors = (uint32_t)((cpu + 99) / 100);
}

void rein_keep_start(struct rein_keeper *k, pid_t pid)
{
	uint64_t now = rein_mono_ns();
	struct rein_diskuse u;

	k->pid = pid;
	k->last_ns = now;
	k->next_ns = k->census_ns = now + (nobody_tells(k) ? COUNT_NS : k->interval_ns);
	if (k->by[REIN_LIMIT_PROCESSES] == REIN_BY_WATCHING && sched_getscheduler(0) == SCHED_OTHER)
		k->ahead = come_before_others(0);
	if (k->by[REIN_LIMIT_FREE]) {
		k->room.begun = time(NULL);
		k->room.next_ns = now + ROOM_NS;
		if (k->room.next_ns < k->next_ns)
			k->next_ns = k->room.next_ns;
	}
	if (limit(k, REIN_LIMIT_DISK)) {
		/* what a scratch directory or an earlier command of this transaction left there */
		rein_diskuse_walk(k->spec, &u);
		k->base_bytes = u.bytes;
		k->walked_free = k->base_free = u.free;
	}
}

static void look_at_group(struct rein_keeper *k)
{
	struct rein_cgroup_sample s;

	if (!k->group.version)
		return;
	rein_cgroup_read(&k->group, &s);
	if (s.memory_peak > k->usage.memory_peak)
		k->usage.memory_peak = s.memory_peak;
	if (s.cpu_ns > k->cpu_ns)
		k->cpu_ns = s.cpu_ns;
	if (limit(k, REIN_LIMIT_MEMORY) && s.oom_kills)
		found(k, REIN_LIMIT_MEMORY, s.memory_peak);
	if (limit(k, REIN_LIMIT_PROCESSES) && s.refused)
		found(k, REIN_LIMIT_PROCESSES, limit(k, REIN_LIMIT_PROCESSES));
}

static void look_at_memory(struct rein_keeper *k, const struct rein_census *c)
{
	uint64_t used = c->rss, tmpfs = 0, bound = limit(k, REIN_LIMIT_MEMORY);

	if (k->by[REIN_LIMIT_MEMORY] == REIN_BY_WATCHING) {
		tmpfs = rein_census_tmpfs(k->pid);
		/* The cheap sum counts shared pages several times: it can only be too large. */
		if (used + tmpfs > bound) {
			uint64_t pss = rein_census_pss(k->proc);

			used = pss ? pss : used;
		}
		if (used + tmpfs > bound)
			found(k, REIN_LIMIT_MEMORY, used + tmpfs);
	}
	used += tmpfs;
	k->memory_sum += used;
	k->usage.memory_average = k->memory_sum / k->usage.samples;
	if (used > k->usage.memory_peak)
		k->usage.memory_peak = used;
}

static void look_at_processor(struct rein_keeper *k, const struct rein_census *c, uint64_t now)
{
	uint64_t spent;

	if (c->cpu_ns > k->cpu_ns)
		k->cpu_ns = c->cpu_ns;
	/* time is told in hundredths of a second: no peak can be seen in less than some of them */
	if (now - k->last_ns >= k->interval_ns) {
		spent = k->cpu_ns - k->last_cpu_ns;
		if (spent * 100 / (now - k->last_ns) > k->usage.cpu_peak_percent)
			k->usage.cpu_peak_percent = spent * 100 / (now - k->last_ns);
		k->last_cpu_ns = k->cpu_ns;
		k->last_ns = now;
	}
	if (limit(k, REIN_LIMIT_CPU_TIME) && k->cpu_ns > limit(k, REIN_LIMIT_CPU_TIME))
		found(k, REIN_LIMIT_CPU_TIME, k->cpu_ns);
}

/* What nobody tells can only be seen while it lasts: counted more often than the rest is looked at. */
static void look_at_processes(struct rein_keeper *k, uint64_t threads, uint64_t now)
{
	uint64_t soon = now + (threads >= limit(k, REIN_LIMIT_PROCESSES) / 2 ? CLOSE_NS : COUNT_NS);

	if (threads > k->usage.processes_peak)
		k->usage.processes_peak = threads;
	if (nobody_tells(k) && soon < k->next_ns)
		k->next_ns = soon;
	if (k->by[REIN_LIMIT_PROCESSES] && threads > limit(k, REIN_LIMIT_PROCESSES)) {
		found(k, REIN_LIMIT_PROCESSES, threads);
		if (k->ahead)
			come_before_others(k->pid);
	}
}

static void walk(struct rein_keeper *k, uint64_t written)
{
	struct rein_diskuse u;

	rein_diskuse_walk(k->spec, &u);
	k->walked_bytes = u.bytes > k->base_bytes ? u.bytes - k->base_bytes : 0;
	k->walked_written = written;
	k->walked_cpu_ns = k->cpu_ns;
	k->walked_free = u.free;
	k->closed = u.closed;
	if (limit(k, REIN_LIMIT_FILE) && u.largest > limit(k, REIN_LIMIT_FILE))
		found(k, REIN_LIMIT_FILE, u.largest);
}

static void count_disk(struct rein_keeper *k, uint64_t used)
{
	if (used > k->usage.disk_bytes)
		k->usage.disk_bytes = used;
	if (used > limit(k, REIN_LIMIT_DISK))
		found(k, REIN_LIMIT_DISK, used);
}

/* Where something cannot be looked into, all that is gone could be there: a directory is closed in no time. */
static void count_closed(struct rein_keeper *k)
{
	if (k->closed && k->base_free > k->walked_free)
		count_disk(k, k->base_free - k->walked_free);
}

/*
 * A walk is dear, so it is made only when the box could have reached its limit since the last one:
 * when its processes wrote that much, or that much space is gone (writes through memory are not
 * counted), or it had the time to make that many empty files. Space that is gone and was not found by
 * name is looked for among open and mapped files. And never so often that all this takes more than a
 * tenth of the time.
 */
static void look_at_disk(struct rein_keeper *k, uint64_t written, uint64_t now)
{
	uint64_t bound = limit(k, REIN_LIMIT_DISK), tmpfs = rein_census_tmpfs(k->pid);
	uint64_t known = k->walked_bytes + tmpfs, left = bound > known ? bound - known : 0;
	struct rein_diskuse u = {0};
	struct rein_nameless nameless;
	bool dear = false;

	count_disk(k, known);
	if (now < k->walk_not_before_ns)
		return;
	rein_diskuse_free(k->spec, &u);
	if (written - k->walked_written >= left ||
	    (k->cpu_ns - k->walked_cpu_ns) / NAME_NS * REIN_DISKUSE_NAME >= left ||
	    (k->walked_free > u.free && k->walked_free - u.free >= left)) {
		walk(k, written);
		count_disk(k, k->walked_bytes + tmpfs);
		count_closed(k);
		dear = true;
	}
	if (k->base_free > u.free && k->base_free - u.free >= bound) {
		rein_nameless_count(k->proc, &nameless);
		count_disk(k, nameless.closed ? k->base_free - u.free : k->walked_bytes + tmpfs + nameless.bytes);
		dear = true;
	}
	if (dear)
		k->walk_not_before_ns = now + 10 * (rein_mono_ns() - now);
}

/*
 * Nobody limited this box, and the disk it writes to is everybody's. A part of it stays free: a box that takes most of
 * what is gone since it began ends there, and one that takes any of it when only half of that part is left. A disk that
 * was as full as that before can be filled by half of what there was. Looked at from soon after the start on, as most
 * boxes have ended by then, and the more often the nearer it is.
 */
static void room_begins(struct rein_keeper *k, const struct rein_room *rooms, size_t n)
{
	uint64_t asked = limit(k, REIN_LIMIT_FREE);

	for (size_t i = 0; i < n; i++) {
		uint64_t kept = rooms[i].size / REIN_FREE_PART;

		kept = asked ? asked : kept < REIN_FREE_MOST ? kept : REIN_FREE_MOST;
		k->room.v[i].kept = kept < rooms[i].free / 2 ? kept : rooms[i].free / 2;
		k->room.v[i].base = rooms[i].free;
		k->room.v[i].dev = rooms[i].dev;
	}
	k->room.n = n;
}

/* How much of it is this box's? */
static uint64_t own_part(struct rein_keeper *k, dev_t dev, uint64_t gone)
{
	struct rein_nameless nameless = {0};
	struct rein_diskuse u;

	rein_diskuse_walk_room(k->spec, dev, k->room.begun, &u);
	if (k->proc < 0 && k->pid)
		k->proc = rein_census_open(k->pid);
	if (k->proc >= 0)
		rein_nameless_count(k->proc, &nameless);
	u.bytes += nameless.bytes;
	return (u.closed || nameless.closed) && gone > u.bytes ? gone : u.bytes;
}

static void look_at_room(struct rein_keeper *k, uint64_t now)
{
	uint64_t spare = UINT64_MAX, wait;
	struct rein_room rooms[REIN_ROOMS];
	size_t n;

	if (!k->room.next_ns || now < k->room.next_ns)
		return;
	n = rein_diskuse_rooms(k->spec, rooms);
	if (!k->room.n)
		room_begins(k, rooms, n);
	for (size_t i = 0; i < n && i < k->room.n; i++) {
		uint64_t kept = k->room.v[i].kept, base = k->room.v[i].base, left = rooms[i].free;
		uint64_t gone = base > left ? base - left : 0, own;

		if (left >= kept) {
			spare = left - kept < spare ? left - kept : spare;
			continue;
		}
		spare = 0;
		own = own_part(k, rooms[i].dev, gone);
		if (own > ROOM_OWN && (own >= gone / 2 || left < kept / 2) && k->hit.what == REIN_LIMIT_NONE)
			k->hit = (struct rein_limit_hit){REIN_LIMIT_FREE, left, kept};
	}
	wait = spare / ROOM_SPEED < WATCH_NS ? WATCH_NS : spare / ROOM_SPEED;
	k->room.next_ns = n ? now + (wait < PICTURE_NS ? wait : PICTURE_NS) : 0;
}

static void look_at_all(struct rein_keeper *k, uint64_t now)
{
	struct rein_census c;

	if (k->proc < 0 && k->pid)
		k->proc = rein_census_open(k->pid);
	look_at_group(k);
	if (k->proc < 0 && k->pid && nobody_tells(k)) /* not there yet */
		k->next_ns = k->census_ns = now + COUNT_NS;
	/* names first: numbers are read under a lock, whose owner may wait for a processor among thousands */
	if (k->proc >= 0 && nobody_tells(k))
		look_at_processes(k, rein_census_threads(k->proc), now);
	if (k->hit.what == REIN_LIMIT_PROCESSES)
		return;
	if (k->proc >= 0 && rein_census_take(k->proc, &c)) {
		k->usage.samples++;
		look_at_processes(k, c.threads, now);
		look_at_memory(k, &c);
		look_at_processor(k, &c, now);
		if (c.read_bytes > k->usage.read_bytes)
			k->usage.read_bytes = c.read_bytes;
		if (c.written_bytes > k->usage.written_bytes)
			k->usage.written_bytes = c.written_bytes;
		if (limit(k, REIN_LIMIT_DISK))
			look_at_disk(k, c.written_bytes, now);
	} else if (!k->pid && limit(k, REIN_LIMIT_DISK)) {
		/* nobody to count: then every look is a walk, as often as that is allowed */
		k->walked_written = 0;
		look_at_disk(k, UINT64_MAX / 2, now);
	}
}

bool rein_keep_look(struct rein_keeper *k, uint64_t now)
{
	bool before = k->hit.what != REIN_LIMIT_NONE;
	uint64_t spent;

	if (!k->next_ns || now < k->next_ns)
		return false;
	if (now >= k->census_ns) {
		k->next_ns = k->census_ns = now + k->interval_ns;
		look_at_all(k, now);
	} else {
		k->next_ns = k->census_ns;
		if (nobody_tells(k))
			look_at_processes(k, rein_census_threads(k->proc), now);
	}
	look_at_room(k, now);
	if (k->room.next_ns && k->room.next_ns < k->next_ns)
		k->next_ns = k->room.next_ns;
	/* looking itself must not become the load */
	spent = rein_mono_ns() - now;
	if (now + 20 * spent > k->next_ns)
		k->next_ns = now + 20 * spent;
	if (k->next_ns > k->census_ns)
		k->census_ns = k->next_ns;
	return !before && k->hit.what != REIN_LIMIT_NONE;
}

void rein_keep_end(struct rein_keeper *k, int status, uint64_t alive)
{
	if (k->ahead)
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	k->ahead = false;
	look_at_group(k);
	/* refused, it gave up at once, and the others were still there: no look is needed to know that */
	if (limit(k, REIN_LIMIT_PROCESSES) && alive > limit(k, REIN_LIMIT_PROCESSES))
		found(k, REIN_LIMIT_PROCESSES, alive);
	if (limit(k, REIN_LIMIT_CPU_TIME) &&
	    (k->cpu_ns > limit(k, REIN_LIMIT_CPU_TIME) ||
	     (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)))
		found(k, REIN_LIMIT_CPU_TIME,
		      k->cpu_ns > limit(k, REIN_LIMIT_CPU_TIME) ? k->cpu_ns : limit(k, REIN_LIMIT_CPU_TIME));
	if (limit(k, REIN_LIMIT_DISK) || limit(k, REIN_LIMIT_FILE))
		walk(k, 0);
	if (limit(k, REIN_LIMIT_DISK)) {
		count_disk(k, k->walked_bytes);
		count_closed(k);
	}
	if (limit(k, REIN_LIMIT_FILE) && WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
		found(k, REIN_LIMIT_FILE, limit(k, REIN_LIMIT_FILE));
	k->usage.output_bytes = k->output_bytes;
	if (limit(k, REIN_LIMIT_OUTPUT) && k->output_bytes > limit(k, REIN_LIMIT_OUTPUT))
		found(k, REIN_LIMIT_OUTPUT, k->output_bytes);
}

void rein_keep_done(struct rein_keeper *k)
{
	rein_closep_(&k->proc);
	k->proc = -1;
	rein_cgroup_remove(&k->group);
}
