/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci.h. A child enters a mount namespace of its own, mounts what the bundle needs and becomes the
 * runtime; everything it mounted goes away with it.
 */
#include "sandbox/oci.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/caller.h"
#include "sandbox/console.h"
#include "sandbox/door.h"
#include "sandbox/explain.h"
#include "sandbox/filter.h"
#include "sandbox/holder.h"
#include "sandbox/inlet.h"
#include "sandbox/net/start.h"
#include "sandbox/idle.h"
#include "sandbox/keep.h"
#include "sandbox/ocibundle.h"
#include "sandbox/outlet.h"
#include "sandbox/result.h"
#include "sandbox/runtime.h"
#include "sandbox/supervise.h"
#include "sys/priv.h"
#include "sys/passfd.h"
#include "sys/sys.h"

struct session {
	const struct rein_runtime *backend;
	const struct rein_box_spec *spec;
	struct rein_bundle bundle;
	struct rein_plan *plan;
	struct rein_keeper keeper;
	struct rein_outlet outlet;
	struct rein_inlet inlet;
	struct rein_gate gate;
	struct rein_holder holder; /* of the network, where the runtime's kernel is its own */
	struct rein_supervisor supervisor;
	struct rein_door door;
	struct rein_console console; /* where our executor is inside; else streams are pipes */
	const char *id;
	char pid_file[PATH_MAX];
	struct rein_runtime_root root;
	pid_t pid;
	int pidfd, signals;
	int control, theirs; /* to the executor inside; -1: there is none */
	int memory;	     /* its plan */
	struct rein_box_note end;
	int status;
	uint64_t started_ns, deadline_ns, paused_ns;
	struct rein_idle idle;
	bool slept; /* for as long as it may be idle */
	enum rein_box_end why;
	bool paused, listed, ready;
	bool signalled; /* the runtime itself: it may not have got as far as to pass it on */
};

#define LEAVE_OUT "leave it out, or use the built-in box (--backend box)"
#define ANOTHER	  "leave it out, or use the built-in box, oci:crun or oci:runc"

/* What this way of running cannot do, before anything is done. */
static int check(const struct session *s, struct rein_err *err)
{
	bool alien = !s->backend->executor; /* a kernel of its own, in which nobody of ours is */
	const struct {
		bool asked;
		const char *what, *remedy;
	} rows[] = {
		{!rein_is_root(), "an ordinary user", "run rein as root, or use the built-in box (--backend box)"},
		{s->spec->whole_system, "--whole-system", LEAVE_OUT},
		{s->spec->nested, "--nested", LEAVE_OUT},
		{s->spec->caps != 0, "--cap-add", LEAVE_OUT},
		{alien && s->spec->idle_timeout_ns, "an idle timeout (--idle-timeout, --limit idle)", ANOTHER},
		{alien && s->spec->watch_files, "--watch-files", ANOTHER},
		{alien && s->spec->watch_execs, "--watch", ANOTHER},
		/* it opens what it mounts, which a socket cannot be */
		{alien && s->spec->sockets && s->spec->sockets[0], "--allow-socket", ANOTHER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].asked)
			return rein_err_set(err, REIN_E_UNSUPPORTED, "the backend %s does not support %s: %s",
					    s->backend->name, rows[i].what, rows[i].remedy);
	return 0;
}

static int make_plan(struct session *s, struct rein_err *err)
{
	struct rein_plan_setup setup = {
		.flags = REIN_PLAN_ROOT, .uid = geteuid(), .gid = getegid(), .bundle = s->gate.bundle};
	struct rein_filter filter;
	struct rein_filter_options options = {0};
	bool notify = s->backend->executor && s->spec->nroots;

	if (s->spec->net != REIN_NET_HOST)
		setup.flags |= REIN_PLAN_NETNS;
	if (rein_gate_wanted(s->spec))
		setup.flags |= REIN_PLAN_GATE;
	if (s->backend->executor)
		setup.flags |= REIN_PLAN_CONTAINED | REIN_PLAN_LANDLOCK;
	else
		setup.flags |= setup.flags & REIN_PLAN_GATE ? REIN_PLAN_HOLDER : REIN_PLAN_IDENTITY;
	if (notify) {
		setup.flags |= REIN_PLAN_NOTIFY;
		options = (struct rein_filter_options){.notify = true,
						       .execs = s->spec->watch_execs,
						       .watch = s->spec->watch_links,
						       .files = s->spec->watch_files,
						       .told = setup.flags & REIN_PLAN_NETNS};
	}
	if (s->backend->executor)
		rein_relay_prepare(&s->console.relay, &setup);
	if (s->spec->idle_timeout_ns)
		setup.sample_ms = rein_idle_interval_ms(s->spec->idle_timeout_ns);
	rein_keep_plan(&s->keeper, &setup);
	/* a plan without a filter is none; a kernel of the runtime's own has no use for it */
	if (!rein_filter_build(&options, &filter))
		return rein_err_set(err, REIN_E_FAILED, "the system call filter is too long");
	setup.filter = filter.code;
	setup.nfilter = (uint32_t)filter.n;
	return rein_plan_build(s->spec, &setup, &s->plan, err);
}

/* Only control groups can keep these for a runtime's processes. */
static int check_limits(const struct session *s, struct rein_err *err)
{
	static const enum rein_limit need[] = {REIN_LIMIT_MEMORY, REIN_LIMIT_PROCESSES, REIN_LIMIT_CPU,
					       REIN_LIMIT_CPU_TIME};

	for (size_t i = 0; i < ARRAY_SIZE(need); i++)
		if (s->spec->limits.v[need[i]] && s->keeper.by[need[i]] != REIN_BY_CGROUP1 &&
		    s->keeper.by[need[i]] != REIN_BY_CGROUP2)
			return rein_err_set(err, REIN_E_UNSUPPORTED,
					    "the limit %s of the backend %s needs control groups: %s",
					    rein_limit_name(need[i]), s->backend->name, s->keeper.group.why);
	return 0;
}

/* Clear of the numbers the executor expects its descriptors at. */
static int above(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);

	rein_closep_(&fd);
	return high;
}

static _Noreturn void child(const struct session *s, int report)
{
	const char *argv[REIN_RUNTIME_WORDS];
	int null = above(open("/dev/null", O_RDWR | O_CLOEXEC));
	struct rein_err err = {0};
	sigset_t none;
	size_t n;

	for (size_t i = 0; i < s->keeper.group.njoin; i++)
		if (write(s->keeper.group.join[i], "0", 1) != 1) {
			rein_err_errno(&err, "join the control group");
			goto failed;
		}
	for (int fd = 1; fd <= 2; fd++)
		if (s->outlet.given[fd] >= 0)
			dup2(s->outlet.given[fd], fd);
	if (s->inlet.given >= 0)
		dup2(s->inlet.given, 0);
	/* the user's terminal is not for the box, and nothing of it for the runtime: the box opens one of its own */
	for (int fd = 0; fd <= 2; fd++)
		if (s->console.relay.mask & 1u << fd && (fd == 0 || s->outlet.given[fd] < 0) && dup2(null, fd) < 0) {
			rein_err_errno(&err, "descriptors of the box");
			goto failed;
		}
	/* when rein goes, so does the runtime: the executor sees it at its socket, gVisor by this */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid(); /* the caller's terminal is not the command's to type into */
	/* nothing else says which network it is to have: without this one it would be the host's */
	if (s->plan->flags & REIN_PLAN_HOLDER && setns(s->holder.netns, CLONE_NEWNET) < 0) {
		rein_err_errno(&err, "enter the network");
		goto failed;
	}
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		rein_err_errno(&err, "enter a mount namespace");
		goto failed;
	}
	rein_runtime_shield(s->backend);
	if (rein_bundle_mount(&s->bundle, &err) < 0)
		goto failed;
	n = rein_runtime_command(s->backend, s->root.path, "run", s->spec, argv);
	if (s->theirs >= 0) {
		/*
		 * The numbers the executor looks at; what goes there is far above them. A runtime gives the
		 * files that are its streams to the container's user: standard input goes round it.
		 */
		if (dup2(s->memory, REIN_BOX_PLAN_FD) < 0 || dup2(s->theirs, REIN_BOX_CONTROL_FD) < 0 ||
		    dup2(fcntl(0, F_GETFD) < 0 ? null : 0, REIN_BOX_INPUT_FD) < 0 || dup2(null, 0) < 0) {
			rein_err_errno(&err, "descriptors of the box");
			goto failed;
		}
		argv[n++] = "--preserve-fds";
		argv[n++] = "3";
	}
	argv[n++] = "--pid-file";
	argv[n++] = s->pid_file;
	argv[n++] = "--bundle";
	argv[n++] = s->bundle.dir;
	argv[n++] = s->id;
	argv[n] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* the descriptor that tells of a failure closes by itself when there is none */
	close_range(s->theirs >= 0 ? REIN_BOX_INPUT_FD + 1 : 3, (unsigned)report - 1, 0);
	close_range((unsigned)report + 1, ~0u, 0);
	rein_runtime_exec(argv);
	rein_err_errno(&err, "run %s", argv[0]);
failed:
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(125);
}

/* All the executor will ask for is in its socket before it is there. */
static int prepare_executor(struct session *s, struct rein_err *err)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const struct rein_box_order order = {.magic = REIN_PLAN_MAGIC,
					     .flags = s->plan->flags & REIN_PLAN_ORDERED,
					     .uid = s->plan->uid,
					     .gid = s->plan->gid};
	static const struct rein_box_note notes[] = {{.kind = REIN_BOX_MSG_PLAN}, {.kind = REIN_BOX_MSG_GO}};
	int pair[2];

	if (!s->backend->executor)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rein_err_errno(err, "control socket");
	s->control = above(pair[0]);
	s->theirs = above(pair[1]);
	s->memory = above(memfd_create("rein-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (s->control < 0 || s->theirs < 0 || s->memory < 0 ||
	    write(s->memory, s->plan, s->plan->size) != (ssize_t)s->plan->size ||
	    fcntl(s->memory, F_ADD_SEALS, seals) < 0 ||
	    send(s->control, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
		return rein_err_errno(err, "write the plan");
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		if (send(s->control, &notes[i], sizeof(notes[i]), MSG_NOSIGNAL) != (ssize_t)sizeof(notes[i]))
			return rein_err_errno(err, "control socket");
	return 0;
}

static void on_ready(struct session *s, const struct rein_box_note *note, int fds[REIN_BOX_FDS])
{
	int next = 0;

	if (note->has & REIN_BOX_HAS_LISTENER)
		rein_supervisor_begin(&s->supervisor, s->spec, take_fd(&fds[next++]), true, s->started_ns);
	if (note->has & REIN_BOX_HAS_TERMINAL)
		rein_console_begin(&s->console, take_fd(&fds[next]));
}

/* What it has to say; the last word is kept. */
static int hear_executor(struct session *s, struct rein_err *err)
{
	struct rein_box_note note;
	int fds[REIN_BOX_FDS], rc = 0;

	while (rc == 0 && s->control >= 0 &&
	       rein_fds_receive(s->control, &note, sizeof(note), fds, REIN_BOX_FDS, MSG_DONTWAIT) ==
		       (ssize_t)sizeof(note)) {
		if (note.kind == REIN_BOX_MSG_NET)
			/* made inside; what the command sends before they are given waits in them */
			rc = rein_gate_attach(&s->gate, note.has, note.status, fds, rein_fds_count(fds, REIN_BOX_FDS),
					      err);
		if (note.kind == REIN_BOX_MSG_GUEST || note.kind == REIN_BOX_MSG_GONE)
			rein_door_note(&s->door, &note, fds);
		s->ready |= note.kind == REIN_BOX_MSG_READY;
		if (note.kind == REIN_BOX_MSG_SAMPLE)
			s->slept = rein_idle_sample(&s->idle, s->spec->idle_timeout_ns, &note) && !s->paused;
		if (note.kind == REIN_BOX_MSG_READY)
			on_ready(s, &note, fds);
		if (note.kind == REIN_BOX_MSG_STOPPED && !s->paused)
			rein_console_stopped(&s->console, s->control, note.status);
		if (note.kind == REIN_BOX_MSG_FAIL || note.kind == REIN_BOX_MSG_EXEC ||
		    note.kind == REIN_BOX_MSG_EXIT)
			s->end = note;
		for (int i = 0; i < REIN_BOX_FDS; i++)
			rein_closep_(&fds[i]);
	}
	return rc;
}

static int start(struct session *s, struct rein_err *err)
{
	auto_close int ours = -1;
	struct rein_err why = {0};
	int pipes[2], report;

	if (s->spec->before_start && s->spec->before_start(s->spec->before_start_arg, err) < 0)
		return -err->code;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return rein_err_errno(err, "pipe");
	ours = pipes[0];
	report = above(pipes[1]);
	if (report < 0)
		return rein_err_errno(err, "pipe");
	s->pid = fork();
	if (s->pid == 0)
		child(s, report);
	close(report);
	rein_closep_(&s->theirs);
	s->theirs = -1;
	if (s->pid < 0)
		return rein_err_errno(err, "fork");
	s->pidfd = sys_pidfd_open(s->pid, 0);
	if (read(ours, &why, sizeof(why)) == (ssize_t)sizeof(why)) {
		waitpid(s->pid, NULL, 0);
		*err = why;
		return -err->code;
	}
	if (s->spec->meanwhile)
		s->spec->meanwhile(s->spec->meanwhile_arg);
	rein_keep_start(&s->keeper, 0); /* its processes are the runtime's, and counted by the group */
	return rein_outlet_start(&s->outlet, err) < 0 ? -err->code : rein_inlet_start(&s->inlet, err);
}

/* The runtime has written down which process its container's first one is. */
static void look_for_init(struct session *s)
{
	auto_free char *path = rein_asprintf("%s/pid", s->bundle.dir);
	auto_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long pid;

	if (n <= 0)
		return;
	text[n] = '\0';
	pid = strtol(text, NULL, 10);
	if (pid <= 1)
		return;
	s->listed = true;
	s->supervisor.box = (pid_t)pid;
	if (s->spec->watch)
		s->spec->watch->begun(s->spec->watch->arg, (int)pid, rein_cgroup_freezer(&s->keeper.group),
				      s->keeper.group.version);
}

#define OVERLAY_MAGIC 0x794c7630
#define UNKNOWN_NS    (5 * REIN_NS_PER_S)

/* Which file systems are the box's trees. The ways there are its mounts' and cannot be changed in it. */
static void find_trees(struct rein_supervisor *v)
{
	auto_close int root = rein_caller_open(v->box, "root", -1);

	for (size_t i = 0; root >= 0 && i < v->nroots && v->ndevs < ARRAY_SIZE(v->devs); i++) {
		auto_close int fd = sys_openat2(root, v->roots[i].real, O_PATH | O_DIRECTORY,
						RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
		struct statfs fs;
		struct stat st;

		if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAY_MAGIC && fstat(fd, &st) == 0)
			v->devs[v->ndevs++] = st.st_dev;
	}
}

/*
 * Where calls from inside come to be answered, while nobody does: once there is one, the supervisor's thread does.
 * Whoever calls is behind the executor, so the container stands and its first process's root is the box's; he
 * waits until the runtime has told which process that is, but not for ever.
 */
static int unattended(const struct session *s)
{
	bool known = s->listed || rein_mono_ns() - s->started_ns > UNKNOWN_NS;

	return s->supervisor.running || !known ? -1 : s->supervisor.listener;
}

static void answer(struct session *s)
{
	if (s->listed && !s->supervisor.ndevs)
		find_trees(&s->supervisor);
	rein_supervisor_wake(&s->supervisor);
}

static void kill_it(struct session *s, enum rein_box_end why)
{
	const struct timespec a_while = {.tv_nsec = 20000000};

	if (s->why == REIN_BOX_LOST)
		s->why = why;
	/* it may not know its container yet */
	for (int i = 0; i < 100; i++) {
		struct pollfd fd = {.fd = s->pidfd, .events = POLLIN};

		rein_runtime_tell(s->backend, s->root.path, "kill", s->id, "KILL");
		if (poll(&fd, 1, 20) == 1)
			return;
		nanosleep(&a_while, NULL);
	}
	kill(s->pid, SIGKILL);
}

/* By its freezer; else the executor stops all others, as in the built-in box; else as the runtime can. */
static void pause_it(struct session *s, bool on)
{
	const struct rein_box_note all = {.kind = REIN_BOX_MSG_SIGNAL, .status = on ? SIGSTOP : SIGCONT, .sys = 2};
	const char *freezer = rein_cgroup_freezer(&s->keeper.group);
	struct rein_err ignored = {0};
	uint64_t now = rein_mono_ns();

	if (s->paused == on)
		return;
	s->paused = on;
	if (freezer)
		rein_cgroup_freeze(freezer, s->keeper.group.version, on, &ignored);
	else if (s->control >= 0)
		send(s->control, &all, sizeof(all), MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		rein_runtime_tell(s->backend, s->root.path, on ? "pause" : "resume", s->id, NULL);
	if (s->spec->watch)
		s->spec->watch->paused(s->spec->watch->arg, on);
	if (on) {
		s->paused_ns = now;
		return;
	}
	s->idle.since_ns += now - s->paused_ns;
	if (s->deadline_ns)
		s->deadline_ns += now - s->paused_ns;
}

static void obey(struct session *s)
{
	enum rein_ordered order = s->spec->watch ? s->spec->watch->ask(s->spec->watch->arg) : REIN_BOX_GO;

	if (order == REIN_BOX_STOP)
		kill_it(s, REIN_BOX_STOPPED);
	else
		pause_it(s, order == REIN_BOX_PAUSE);
}

static void on_signals(struct session *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo != SIGURG) {
			/* the executor has all signals blocked; a runtime without it passes them on to the command */
			if (s->backend->executor)
				rein_console_signal(&s->console, s->control, &si);
			else
				s->signalled |= kill(s->pid, (int)si.ssi_signo) == 0;
			continue;
		}
		obey(s);
		if (s->control >= 0)
			rein_door_open(&s->door);
	}
}

static int attend(struct session *s, struct rein_err *err)
{
	enum { TERMINAL = 6 };
	uint64_t limit = s->spec->limits.v[REIN_LIMIT_OUTPUT], orders = rein_mono_ns();

	for (;;) {
		struct pollfd fds[9] = {{.fd = s->pidfd, .events = POLLIN},
				       {.fd = s->signals, .events = POLLIN},
				       {.fd = s->control, .events = POLLIN},
				       {.fd = s->gate.control, .events = POLLIN},
				       {.fd = unattended(s), .events = POLLIN},
				       {.fd = s->ready ? s->door.epoll : -1, .events = POLLIN}};
		uint64_t now;

		rein_relay_watch(&s->console.relay, fds + TERMINAL);
		if (poll(fds, ARRAY_SIZE(fds), s->listed ? 50 : 5) < 0 && errno != EINTR)
			return rein_err_errno(err, "poll");
		if (fds[0].revents)
			return 0;
		if (fds[1].revents)
			on_signals(s);
		if (hear_executor(s, err) < 0)
			return -err->code;
		if (fds[2].revents & POLLHUP)
			rein_closep_(&s->control), s->control = -1;
		/* the gate died: nobody guards the box */
		if (fds[3].revents && !rein_gate_hear(&s->gate, s->spec->watch, false)) {
			kill_it(s, REIN_BOX_LOST);
			return 0;
		}
		if (!s->listed)
			look_for_init(s);
		if (fds[4].revents & POLLIN)
			answer(s);
		else if (fds[4].revents)
			rein_closep_(&s->supervisor.listener), s->supervisor.listener = -1;
		if (fds[5].revents && s->control >= 0)
			rein_door_serve(&s->door);
		rein_console_move(&s->console, s->control, fds + TERMINAL);
		now = rein_mono_ns();
		if (now - orders > REIN_NS_PER_S / 2) {
			orders = now;
			obey(s);
		}
		s->keeper.output_bytes = atomic_load(&s->outlet.carried) + s->console.relay.carried;
		if (s->why != REIN_BOX_LOST)
			continue;
		if (rein_keep_look(&s->keeper, now) || (limit && s->keeper.output_bytes > limit))
			kill_it(s, REIN_BOX_LIMIT);
		else if (s->deadline_ns && !s->paused && now >= s->deadline_ns)
			kill_it(s, REIN_BOX_TIMEOUT);
		else if (s->slept)
			kill_it(s, REIN_BOX_IDLE_TIMEOUT);
	}
}

static bool ordered_to_stop(const struct session *s)
{
	return s->spec->watch && s->spec->watch->ask(s->spec->watch->arg) == REIN_BOX_STOP;
}

static void conclude(struct session *s, const struct rusage *ru, struct rein_box_result *ret)
{
	struct rein_box_result r = {
		.end = s->why, .status = 128 + SIGKILL, .wall_ns = rein_mono_ns() - s->started_ns};

	if (s->why == REIN_BOX_LOST && ordered_to_stop(s))
		r.end = s->why = REIN_BOX_STOPPED; /* killed by whoever gave the order */
	if (s->why == REIN_BOX_LOST) {
		r.status = WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
		r.end = r.status > 128 && r.status < 128 + NSIG ? REIN_BOX_SIGNALED : REIN_BOX_EXITED;
	}
	/* a group of the runtime's own below ours took the count of it away */
	if (!s->keeper.hit.what && r.status == 128 + SIGKILL && s->spec->limits.v[REIN_LIMIT_MEMORY] &&
	    s->keeper.usage.memory_peak + (1u << 20) >= s->spec->limits.v[REIN_LIMIT_MEMORY])
		s->keeper.hit = (struct rein_limit_hit){REIN_LIMIT_MEMORY, s->keeper.usage.memory_peak,
							s->spec->limits.v[REIN_LIMIT_MEMORY]};
	if (s->keeper.hit.what && (s->why == REIN_BOX_LOST || s->why == REIN_BOX_LIMIT))
		r.end = REIN_BOX_LIMIT;
	rein_result_usage(&r, ru);
	rein_result_take(&r, &s->keeper, &s->supervisor, &s->gate);
	*ret = r;
}

/* The runtime ended by itself and there never was a command: its status says nothing of one. */
static bool never_began(const struct session *s)
{
	bool began = s->backend->executor ? s->ready : access(s->pid_file, F_OK) == 0;

	return !began && !s->signalled && s->why == REIN_BOX_LOST && !s->keeper.hit.what && !ordered_to_stop(s);
}

#define ALIEN_FAILED 128 /* runsc's own status */

/* A runtime with a kernel of its own says only that it failed. That there is no such command can be seen from here. */
static bool not_found(const struct session *s)
{
	const char *name = s->spec->argv[0], *dir = rein_plan_str(s->plan, s->plan->search);
	char path[PATH_MAX];

	if (s->backend->executor || s->why != REIN_BOX_LOST || !WIFEXITED(s->status) ||
	    WEXITSTATUS(s->status) != ALIEN_FAILED || strchr(name, '/'))
		return false;
	for (;; dir++) {
		size_t n = strcspn(dir, ":");

		snprintf(path, sizeof(path), "%s/%.*s/%s", n && *dir == '/' ? "" : s->spec->cwd, (int)n, dir, name);
		if (access(path, F_OK) == 0)
			return false;
		dir += n;
		if (!*dir)
			return true;
	}
}

/* Did the executor inside get as far as the command? */
static int explain(const struct session *s, struct rein_err *err)
{
	if (s->end.kind == REIN_BOX_MSG_FAIL)
		return rein_explain_step(&s->end, s->plan, err);
	if (s->end.kind == REIN_BOX_MSG_EXEC)
		return rein_err_set(err, s->end.sys == ENOENT ? REIN_E_NOCMD : REIN_E_EXEC, "%s: %s",
				    s->spec->argv[0],
				    s->end.sys == ENOENT ? "command not found" : strerror(s->end.sys));
	if (not_found(s))
		return rein_err_set(err, REIN_E_NOCMD, "%s: command not found", s->spec->argv[0]);
	if (never_began(s))
		return rein_err_set(err, REIN_E_FAILED, "%s could not start the box: it ended with %s %d",
				    s->backend->program, WIFSIGNALED(s->status) ? "signal" : "status",
				    WIFSIGNALED(s->status) ? WTERMSIG(s->status) : WEXITSTATUS(s->status));
	return 0;
}

/* Whatever the runtime left of itself, also after a kill: it may need a moment to see that all are dead. */
static void clear_away(struct session *s)
{
	const struct timespec a_while = {.tv_nsec = 100000000};

	for (int i = 0; i < 5; i++) {
		s->root.deleted = rein_runtime_delete(s->backend, s->root.path, s->id);
		/* one that had cleared up before says that there is no such container */
		if (s->root.deleted || rmdir(s->root.path) == 0)
			return;
		nanosleep(&a_while, NULL);
	}
}

static int run(struct session *s, struct rein_box_result *ret, struct rein_err *err)
{
	struct rusage ru = {0};
	int rc;

	s->started_ns = s->idle.since_ns = rein_mono_ns();
	if (s->spec->timeout_ns)
		s->deadline_ns = s->started_ns + s->spec->timeout_ns;
	rc = start(s, err);
	if (rc < 0 && s->pidfd < 0)
		return rc;
	rc = rc < 0 ? rc : attend(s, err);
	if (rc < 0)
		kill_it(s, REIN_BOX_LOST);
	while (wait4(s->pid, &s->status, 0, &ru) < 0 && errno == EINTR)
		;
	clear_away(s);
	rc = rc < 0 ? rc : hear_executor(s, err);
	rein_supervisor_end(&s->supervisor);
	rein_door_close(&s->door);
	rein_gate_end(&s->gate);
	rein_gate_hear(&s->gate, s->spec->watch, true);
	rein_inlet_end(&s->inlet);
	rein_outlet_end(&s->outlet, s->why == REIN_BOX_LOST);
	rein_relay_drain(&s->console.relay);
	rein_relay_leave(&s->console.relay);
	s->keeper.output_bytes = atomic_load(&s->outlet.carried) + s->console.relay.carried;
	rein_keep_end(&s->keeper, 0, 0);
	if (rc == 0)
		rc = explain(s, err);
	if (rc == 0)
		conclude(s, &ru, ret);
	rein_net_report_done(&s->gate.report);
	rein_supervisor_done(&s->supervisor);
	return rc;
}

/* With a kernel of its own, nothing of the caller's: see inlet.h. */
static int open_streams(struct session *s, struct rein_err *err)
{
	uint64_t limit = s->spec->limits.v[REIN_LIMIT_OUTPUT];

	unsigned terminals = s->console.relay.mask;

	/* what the runtime itself has to say comes out where the box's own terminal is shown */
	if (s->backend->executor && terminals & 4)
		return rein_outlet_open(&s->outlet, limit ? limit : UINT64_MAX, (terminals & 2) | (limit ? 0 : 2), err);
	if (s->backend->executor)
		return rein_outlet_open(&s->outlet, limit, terminals, err);
	if (rein_outlet_open(&s->outlet, limit ? limit : UINT64_MAX, 0, err) < 0)
		return -err->code;
	return rein_inlet_open(&s->inlet, err);
}

int rein_oci_run(const struct rein_runtime *backend, const struct rein_box_spec *spec, const char *box_program,
		 const char *dir, const char *id, struct rein_box_result *ret, struct rein_err *err)
{
	static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGURG,
					SIGCONT, SIGTSTP, SIGWINCH /* to a terminal inside */};
	auto_free char *bundle = rein_asprintf("%s/bundle", dir);
	struct session s = {.backend = backend,
			    .spec = spec,
			    .id = id,
			    .pidfd = -1,
			    .signals = -1,
			    .root = REIN_RUNTIME_ROOT_INIT,
			    .control = -1,
			    .theirs = -1,
			    .memory = -1,
			    .inlet = REIN_INLET_INIT,
			    .gate = REIN_GATE_INIT,
			    .holder = REIN_HOLDER_INIT,
			    .supervisor = REIN_SUPERVISOR_INIT,
			    .door = REIN_DOOR_INIT,
			    .console = REIN_CONSOLE_INIT,
			    .outlet = {.from = {-1, -1}, .given = {-1, -1, -1}, .stop = -1}};
	sigset_t set, old;
	int rc;

	if (!bundle)
		return rein_err_nomem(err);
	s.door.spec = spec;
	s.door.control = &s.control;
	s.door.relay = &s.console.relay;
	s.door.paused = &s.paused;
	snprintf(s.pid_file, sizeof(s.pid_file), "%s/pid", bundle);
	if (check(&s, err) < 0 || rein_runtime_installed(s.backend, err) < 0 || rein_keep_init(&s.keeper, spec, err) < 0)
		return -err->code;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on) - (s.backend->executor ? 0 : 3); i++)
		sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s.bundle = (struct rein_bundle){.spec = spec, .dir = bundle, .executor = s.backend->executor ? box_program : NULL,
					/* below the group it was started in, which has the limits */
					.group = s.backend->nested_group ? id : NULL};
	rc = check_limits(&s, err);
	/* before the plan, which says what the box is to trust */
	if (rc == 0 && rein_gate_wanted(spec))
		rc = rein_gate_start(spec, box_program, &s.gate, err);
	if (rc == 0)
		rc = make_plan(&s, err);
	s.bundle.plan = s.plan;
	if (rc == 0)
		rc = prepare_executor(&s, err);
	if (rc == 0 && s.plan->flags & REIN_PLAN_HOLDER)
		rc = rein_holder_start(s.plan, box_program, &s.gate, &s.holder, err);
	if (rc == 0)
		rc = rein_bundle_write(&s.bundle, err);
	if (rc == 0)
		rc = open_streams(&s, err);
	if (rc == 0)
		rc = rein_runtime_root_open(s.backend, id, &s.root, err);
	if (rc == 0)
		rc = run(&s, ret, err);
	rein_inlet_end(&s.inlet);
	rein_outlet_end(&s.outlet, false);
	rein_gate_end(&s.gate);
	rein_holder_end(&s.holder);
	rein_keep_done(&s.keeper);
	if (s.plan)
		rein_bundle_remove(&s.bundle);
	rein_runtime_root_close(&s.root);
	rein_closep_(&s.pidfd);
	rein_closep_(&s.signals);
	rein_closep_(&s.control);
	rein_closep_(&s.theirs);
	rein_closep_(&s.memory);
	sigprocmask(SIG_SETMASK, &old, NULL);
	rein_free(s.plan);
	return rc;
}
