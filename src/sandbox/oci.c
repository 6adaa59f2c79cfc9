/* SPDX-License-Identifier: Apache-2.0 */
/* See oci.h. What can be done is checked, everything made ready, and the box attended to while it lives. */
#include "sandbox/oci.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/caller.h"
#include "sandbox/cores.h"
#include "sandbox/filter.h"
#include "sandbox/live.h"
#include "sandbox/ocirun.h"
#include "sys/passfd.h"
#include "sys/priv.h"
#include "sys/sys.h"

#define LEAVE_OUT "leave it out, or use the built-in box (--backend box)"
#define ANOTHER	  "leave it out, or use the built-in box, oci:crun or oci:runc"

static bool has_canary(const struct rein_box_spec *spec)
{
	for (size_t i = 0; i < spec->npaths; i++)
		if (spec->paths[i].access == REIN_PATH_CANARY)
			return true;
	return false;
}

/* What this way of running cannot do, before anything is done. */
static int check(const struct rein_ocirun *s, struct rein_err *err)
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
		/* its own file server opens whatever is looked at */
		{alien && has_canary(s->spec), "canaries (--canary, a policy's workspace: canary)", ANOTHER},
		/* it opens what it mounts, which a socket cannot be */
		{alien && s->spec->sockets && s->spec->sockets[0], "--allow-socket", ANOTHER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].asked)
			return rein_err_set(err, REIN_E_UNSUPPORTED, "the backend %s does not support %s: %s",
					    s->backend->name, rows[i].what, rows[i].remedy);
	return 0;
}

static int make_plan(struct rein_ocirun *s, struct rein_err *err)
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
		setup.flags |= REIN_PLAN_CONTAINED | REIN_PLAN_LANDLOCK |
			       (rein_cores_start_program() ? REIN_PLAN_NO_CORES : 0);
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
	options.no_cores = setup.flags & REIN_PLAN_NO_CORES;
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
static int check_limits(const struct rein_ocirun *s, struct rein_err *err)
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

static void on_ready(struct rein_ocirun *s, const struct rein_box_note *note, int fds[REIN_BOX_FDS])
{
	int next = 0;

	if (note->has & REIN_BOX_HAS_LISTENER)
		rein_supervisor_begin(&s->supervisor, s->spec, take_fd(&fds[next++]), true, s->started_ns);
	if (note->has & REIN_BOX_HAS_TERMINAL)
		rein_console_begin(&s->console, take_fd(&fds[next]));
}

/* What it has to say; the last word is kept. */
static int hear_executor(struct rein_ocirun *s, struct rein_err *err)
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
		s->still.told |= note.kind == REIN_BOX_MSG_HELD && s->paused;
		if (note.kind == REIN_BOX_MSG_HELD && s->paused && s->spec->watch)
			s->spec->watch->paused(s->spec->watch->arg, true);
		if (note.kind == REIN_BOX_MSG_FAIL || note.kind == REIN_BOX_MSG_EXEC ||
		    note.kind == REIN_BOX_MSG_EXIT)
			s->end = note;
		for (int i = 0; i < REIN_BOX_FDS; i++)
			rein_closep_(&fds[i]);
	}
	return rc;
}

#define OVERLAY_MAGIC 0x794c7630

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
 * Whoever calls is behind the executor, so the container stands and its first process's root is the box's.
 */
static int unattended(const struct rein_ocirun *s)
{
	return s->supervisor.running || !s->listed ? -1 : s->supervisor.listener;
}

static void answer(struct rein_ocirun *s)
{
	if (!s->supervisor.ndevs)
		find_trees(&s->supervisor);
	rein_supervisor_wake(&s->supervisor);
}

static bool is_over(const struct rein_ocirun *s, int ms)
{
	struct pollfd fd = {.fd = s->pidfd, .events = POLLIN};

	return poll(&fd, 1, ms) == 1;
}

#define KILL_NS (5 * REIN_NS_PER_S)

/*
 * With its first process the whole container ends, and the runtime sees it. One that has not told which that is may not
 * know its container yet; one that does not hear at all goes by force.
 */
static void kill_it(struct rein_ocirun *s, enum rein_box_end why)
{
	uint64_t end = rein_mono_ns() + KILL_NS;

	s->killed = true;
	if (s->why == REIN_BOX_LOST)
		s->why = why;
	if (s->init >= 0) {
		sys_pidfd_send_signal(s->init, SIGKILL);
		if (is_over(s, 500))
			return;
	}
	do {
		rein_runtime_tell(s->backend, s->root.path, "kill", s->id, "KILL");
		if (is_over(s, 40))
			return;
	} while (rein_mono_ns() < end);
	kill(s->pid, SIGKILL);
}

/* By its freezer; else the executor stops all others, as in the built-in box; else as the runtime can. */
static void pause_it(struct rein_ocirun *s, bool on)
{
	const struct rein_box_note all = {.kind = REIN_BOX_MSG_SIGNAL, .status = on ? SIGSTOP : SIGCONT, .sys = 2};
	const char *freezer = rein_cgroup_freezer(&s->keeper.group);
	struct rein_err ignored = {0};
	uint64_t now = rein_mono_ns();

	if (s->paused == on)
		return;
	s->paused = on;
	if (on)
		s->unfrozen = !freezer || rein_cgroup_freeze(freezer, true, &ignored) < 0;
	else if (freezer)
		rein_cgroup_freeze(freezer, false, &ignored);
	rein_still_begin(&s->still, now);
	if (s->unfrozen && s->control >= 0)
		send(s->control, &all, sizeof(all), MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (s->unfrozen)
		rein_runtime_tell(s->backend, s->root.path, on ? "pause" : "resume", s->id, NULL);
	if (s->spec->watch && !(on && s->unfrozen && s->control >= 0)) /* then the executor says when */
		s->spec->watch->paused(s->spec->watch->arg, on);
	if (on) {
		s->paused_ns = now;
		return;
	}
	s->idle.since_ns += now - s->paused_ns;
	if (s->deadline_ns)
		s->deadline_ns += now - s->paused_ns;
}

static void obey(struct rein_ocirun *s)
{
	enum rein_ordered order = s->spec->watch ? s->spec->watch->ask(s->spec->watch->arg) : REIN_BOX_GO;

	if (order == REIN_BOX_STOP)
		kill_it(s, REIN_BOX_STOPPED);
	else
		pause_it(s, order == REIN_BOX_PAUSE);
}

static bool still_held(void *arg, struct rein_still_box *ret)
{
	const struct rein_ocirun *s = arg;

	*ret = (struct rein_still_box){s->supervisor.box, s->init, s->control};
	return s->paused && s->unfrozen && s->control >= 0 && s->listed;
}

static void still_stop(void *arg)
{
	const struct rein_box_note stop = {.kind = REIN_BOX_MSG_SIGNAL, .status = SIGSTOP, .sys = 2};
	const struct rein_ocirun *s = arg;

	send(s->control, &stop, sizeof(stop), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void still_end(void *arg)
{
	kill_it(arg, REIN_BOX_STOPPED);
}

static void still_rest(void *arg, bool still)
{
	struct rein_ocirun *s = arg;

	if (still)
		pause_it(s, true);
	else
		obey(s);
}

static bool still_hear(void *arg)
{
	struct rein_err ignored = {0};

	if (hear_executor(arg, &ignored) == 0)
		return true;
	kill_it(arg, REIN_BOX_LOST);
	return false;
}

static const struct rein_still_ways ways = {still_held, still_stop, still_end, still_rest, still_hear};

static bool hold(void *arg, bool still)
{
	struct rein_ocirun *s = arg;

	return rein_still_hold(&s->still, &ways, s, still);
}

/* Which process its container's first one is, as the runtime has written down; 0: it has not. */
static pid_t read_pid(const struct rein_ocirun *s)
{
	auto_close int fd = open(s->pid_file, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long pid;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	pid = strtol(text, NULL, 10);
	return pid > 1 ? (pid_t)pid : 0;
}

/* What the command starts with, it has: its limits. */
static int bring_to_group(const struct rein_ocirun *s, pid_t pid, struct rein_err *err)
{
	for (size_t i = 0; i < s->keeper.group.njoin; i++)
		if (dprintf(s->keeper.group.join[i], "%d", (int)pid) < 0)
			return rein_err_errno(err, "bring the box to its control group");
	return 0;
}

#define UNKNOWN_NS (30 * REIN_NS_PER_S)

/*
 * The executor starts the command at our word. That is given when the box is on the list and in its groups, and nobody
 * has ordered otherwise: whoever stops boxes either finds it, or has left an order before.
 */
static int look_for_init(struct rein_ocirun *s, struct rein_err *err)
{
	const struct rein_box_note go = {.kind = REIN_BOX_MSG_GO};
	pid_t pid = read_pid(s);

	/* whatever it says, only a process of its own is ours to move and to kill */
	if (pid)
		s->init = rein_live_pidfd(&(struct rein_live){.rein = getpid(), .box = pid});
	if (s->init < 0 && s->ready && rein_mono_ns() - s->started_ns > UNKNOWN_NS)
		return rein_err_set(err, REIN_E_FAILED, "%s does not tell which process the box is", s->backend->program);
	if (s->init < 0)
		return 0;
	s->listed = true;
	s->supervisor.box = pid;
	if (s->backend->executor && bring_to_group(s, pid, err) < 0)
		return -err->code;
	if (s->spec->watch)
		s->spec->watch->begun(s->spec->watch->arg, (int)pid, rein_cgroup_freezer(&s->keeper.group),
				      s->keeper.group.version);
	if (!s->backend->executor)
		return 0;
	s->keeper.pid = pid; /* its processes can be looked at from here */
	obey(s);
	if (s->why == REIN_BOX_LOST)
		send(s->control, &go, sizeof(go), MSG_NOSIGNAL);
	return 0;
}

/* Who asks twice to have it ended, and has waited, does not mean to be refused. */
static void insist(struct rein_ocirun *s, const struct signalfd_siginfo *si)
{
	uint64_t now = rein_mono_ns();

	if (si->ssi_signo != SIGTERM && si->ssi_signo != SIGHUP)
		return;
	/* what stands still does not hear it */
	if (s->paused || (s->ended_by_us_ns && now - s->ended_by_us_ns >= REIN_NS_PER_S))
		kill_it(s, REIN_BOX_CANCELLED);
	else if (!s->ended_by_us_ns)
		s->ended_by_us_ns = now;
}

static void on_signals(struct rein_ocirun *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		insist(s, &si);
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

static int attend(struct rein_ocirun *s, struct rein_err *err)
{
	enum { NOTICE = 6, TERMINAL };
	uint64_t limit = s->spec->limits.v[REIN_LIMIT_OUTPUT], orders = rein_mono_ns();

	for (;;) {
		struct pollfd fds[TERMINAL + 3] = {{.fd = s->pidfd, .events = POLLIN},
				       {.fd = s->signals, .events = POLLIN},
				       {.fd = s->control, .events = POLLIN},
				       {.fd = s->gate.control, .events = POLLIN},
				       {.fd = unattended(s), .events = POLLIN},
				       {.fd = s->ready ? s->door.epoll : -1, .events = POLLIN},
				       {.fd = s->spec->watch ? s->spec->watch->fd : -1, .events = POLLIN}};
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
		if (!s->listed && look_for_init(s, err) < 0)
			return -err->code;
		if (fds[4].revents & POLLIN)
			answer(s);
		else if (fds[4].revents)
			rein_closep_(&s->supervisor.listener), s->supervisor.listener = -1;
		if (fds[5].revents && s->control >= 0)
			rein_door_serve(&s->door);
		rein_console_move(&s->console, s->control, fds + TERMINAL);
		now = rein_mono_ns();
		if (fds[NOTICE].revents || now - orders > REIN_NS_PER_S / 2) {
			orders = now;
			obey(s);
		}
		s->keeper.output_bytes = atomic_load(&s->outlet.carried) + s->console.relay.carried;
		if (s->why != REIN_BOX_LOST)
			continue;
		rein_still_keep(&s->still, &ways, s, now);
		if (rein_keep_look(&s->keeper, now) || (limit && s->keeper.output_bytes > limit))
			kill_it(s, REIN_BOX_LIMIT);
		else if (s->deadline_ns && !s->paused && now >= s->deadline_ns)
			kill_it(s, REIN_BOX_TIMEOUT);
		else if (s->slept)
			kill_it(s, REIN_BOX_IDLE_TIMEOUT);
	}
}

#define SAID_MS 1000 /* the runtime is dead; whoever it left behind may hold its end */

static int run(struct rein_ocirun *s, struct rein_box_result *ret, struct rein_err *err)
{
	struct rusage ru = {0};
	bool exited;
	int rc;

	s->started_ns = s->idle.since_ns = rein_mono_ns();
	if (s->spec->timeout_ns)
		s->deadline_ns = rein_ns_after(s->started_ns, s->spec->timeout_ns);
	rc = rein_ocirun_start_(s, err);
	if (rc < 0 && s->pidfd < 0)
		return rc;
	rc = rc < 0 ? rc : attend(s, err);
	if (rc < 0)
		kill_it(s, REIN_BOX_LOST);
	while (wait4(s->pid, &s->status, 0, &ru) < 0 && errno == EINTR)
		;
	rein_ocirun_clear_away_(s);
	rc = rc < 0 ? rc : hear_executor(s, err);
	exited = s->end.kind == REIN_BOX_MSG_EXIT;
	rein_supervisor_end(&s->supervisor);
	rein_door_close(&s->door);
	rein_gate_end(&s->gate);
	rein_gate_hear(&s->gate, s->spec->watch, true);
	rein_inlet_end(&s->inlet);
	rein_outlet_end(&s->said, SAID_MS);
	rein_outlet_end(&s->outlet, s->why == REIN_BOX_LOST ? REIN_OUTLET_DRAIN : 0);
	rein_relay_drain(&s->console.relay);
	rein_relay_leave(&s->console.relay);
	s->keeper.output_bytes = atomic_load(&s->outlet.carried) + s->console.relay.carried;
	rein_keep_end(&s->keeper, exited ? s->end.status : 0, exited ? s->end.alive : 0);
	if (rc == 0)
		rc = rein_ocirun_conclude_(s, &ru, ret, err);
	rein_net_report_done(&s->gate.report);
	rein_supervisor_done(&s->supervisor);
	return rc;
}

int rein_oci_run(const struct rein_runtime *backend, const struct rein_box_spec *spec, const char *box_program,
		 const char *dir, const char *id, struct rein_box_result *ret, struct rein_err *err)
{
	static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGURG,
					SIGCONT, SIGTSTP, SIGWINCH /* to a terminal inside */};
	auto_free char *bundle = rein_asprintf("%s/bundle", dir);
	struct rein_ocirun s = {.backend = backend,
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
			    .init = -1,
			    .said = REIN_OUTLET_INIT,
			    .outlet = REIN_OUTLET_INIT};
	sigset_t set, old;
	int rc;

	if (!bundle)
		return rein_err_nomem(err);
	s.door.spec = spec;
	s.door.control = &s.control;
	s.door.relay = &s.console.relay;
	s.door.paused = &s.paused;
	s.console.hold = hold;
	s.console.hold_arg = &s;
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
	rc = s.signals < 0 ? rein_err_errno(err, "signalfd") : check_limits(&s, err);
	/* before the plan, which says what the box is to trust */
	if (rc == 0 && rein_gate_wanted(spec))
		rc = rein_gate_start(spec, box_program, &s.gate, err);
	if (rc == 0)
		rc = make_plan(&s, err);
	s.bundle.plan = s.plan;
	if (rc == 0)
		rc = rein_ocirun_prepare_(&s, err);
	if (rc == 0 && s.plan->flags & REIN_PLAN_HOLDER)
		rc = rein_holder_start(s.plan, box_program, &s.gate, &s.holder, err);
	if (rc == 0)
		rc = rein_bundle_write(&s.bundle, err);
	if (rc == 0)
		rc = rein_ocirun_open_streams_(&s, err);
	if (rc == 0)
		rc = rein_runtime_root_open(s.backend, id, &s.root, err);
	if (rc == 0)
		rc = run(&s, ret, err);
	rein_inlet_end(&s.inlet);
	rein_outlet_end(&s.said, 0);
	rein_outlet_end(&s.outlet, 0);
	rein_gate_end(&s.gate);
	rein_holder_end(&s.holder);
	rein_keep_done(&s.keeper);
	rein_still_done(&s.still);
	if (s.plan)
		rein_bundle_remove(&s.bundle);
	rein_runtime_root_close(&s.root);
	rein_closep_(&s.pidfd);
	rein_closep_(&s.init);
	rein_closep_(&s.signals);
	rein_closep_(&s.control);
	rein_closep_(&s.theirs);
	rein_closep_(&s.memory);
	sigprocmask(SIG_SETMASK, &old, NULL);
	rein_free(s.plan);
	return rc;
}
