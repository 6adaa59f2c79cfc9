/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One box from plan to result: an event loop around the executor's socket, its pidfd, our signals
 * and the terminal.
 *
 * [L1] When rein_box_run returns, every process of the command is dead and nothing can start
 *      another: pid 1 says so, which runs nothing of the command's and is at its own end, or its
 *      pidfd does. When rein_box_close returns, pid 1 and the box's mounts are gone, too.
 * [L2] The caller's terminal and signal mask are as before, on every path.
 */
#include "sandbox/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/console.h"
#include "sandbox/cores.h"
#include "sandbox/door.h"
#include "sandbox/executor.h"
#include "sandbox/explain.h"
#include "sandbox/filter.h"
#include "sandbox/idle.h"
#include "sandbox/keep.h"
#include "sandbox/net/noway.h"
#include "sandbox/net/start.h"
#include "sandbox/outlet.h"
#include "sandbox/plan.h"
#include "sandbox/result.h"
#include "sandbox/spawn.h"
#include "sandbox/still.h"
#include "sandbox/supervise.h"
#include "sys/passfd.h"
#include "sys/sys.h"

struct session {
	const struct rein_box_spec *spec;
	struct rein_plan *plan;
	struct rein_box *owner;
	struct rein_spawn *box;
	int signals;
	struct rein_supervisor supervisor;
	struct rein_console console;
	struct rein_keeper keeper;
	struct rein_outlet outlet;
	struct rein_gate gate;
	struct rein_noway noway;
	struct rein_door door;
	struct rein_idle idle;
	uint64_t started_ns, deadline_ns;
	uint64_t ended_by_us_ns; /* when a terminating signal was first passed on */
	enum rein_box_end why;	 /* we killed it, and why; REIN_BOX_LOST: we did not */
	bool ready;		 /* the box is built */
	bool failed, ended;	 /* a final message came */
	bool paused;		 /* by order: nothing in the box runs, its time stands still */
	bool unfrozen;		 /* but not by its freezer */
	uint64_t paused_ns;	 /* since when */
	struct rein_still still; /* and whether it really does, unfrozen */
	uint64_t orders_ns;	 /* when to ask what is ordered */
	struct rein_box_note end;
};

static const int passed_on[] = {SIGINT,	 SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
				SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH};

static uint32_t plan_flags(const struct rein_box_spec *spec)
{
	uint32_t flags = rein_executor_flags_(spec->net);

	if (spec->nroots && rein_streq(spec->roots[0].real, "/"))
		flags |= REIN_PLAN_PIVOT;
	if (rein_gate_wanted(spec))
		flags |= REIN_PLAN_GATE;
	if (spec->nroots)
		flags |= REIN_PLAN_NOTIFY;
	if (!spec->nested)
		flags |= REIN_PLAN_LANDLOCK;
	if (rein_cores_start_program())
		flags |= REIN_PLAN_NO_CORES;
	return flags;
}

static int make_plan(struct session *s, struct rein_err *err)
{
	struct rein_plan_setup setup = {
		.flags = plan_flags(s->spec), .uid = geteuid(), .gid = getegid(), .bundle = s->gate.bundle};
	struct rein_filter_options options = {.nested = s->spec->nested,
					      .notify = setup.flags & REIN_PLAN_NOTIFY,
					      .execs = s->spec->watch_execs,
					      .watch = s->spec->watch_links,
					      .files = s->spec->watch_files && setup.flags & REIN_PLAN_NOTIFY,
					      .told = setup.flags & REIN_PLAN_NOTIFY &&
						      setup.flags & REIN_PLAN_NETNS,
					      .no_cores = setup.flags & REIN_PLAN_NO_CORES};
	struct rein_filter filter;

	if (s->spec->caps && setup.flags & REIN_PLAN_USERNS)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "capabilities can be kept only when Rein runs as root");
	rein_relay_prepare(&s->console.relay, &setup);
	if (s->spec->idle_timeout_ns)
		setup.sample_ms = rein_idle_interval_ms(s->spec->idle_timeout_ns);
	rein_keep_plan(&s->keeper, &setup);
	if (!rein_filter_build(&options, &filter))
		return rein_err_set(err, REIN_E_FAILED, "the system call filter is too long");
	setup.filter = filter.code;
	setup.nfilter = (uint32_t)filter.n;
	return rein_plan_build(s->spec, &setup, &s->plan, err);
}

/*
 * If the box is gone its pidfd says so; there is nothing else to do about it here. If pid 1 has left hundreds unread it
 * is held by what it should hold, and must not hold us: the box is lost.
 */
static void send_note(const struct session *s, const struct rein_box_note *note)
{
	ssize_t n;

	do
		n = send(s->box->control, note, sizeof(*note), MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		sys_pidfd_send_signal(s->box->pidfd, SIGKILL);
}

static void kill_box(struct session *s, enum rein_box_end why)
{
	if (s->why == REIN_BOX_LOST && !s->ended)
		s->why = why;
	sys_pidfd_send_signal(s->box->pidfd, SIGKILL);
}

static void signal_all(const struct session *s, int sig)
{
	send_note(s, &(struct rein_box_note){.kind = REIN_BOX_MSG_SIGNAL, .status = sig, .sys = 2});
}

/*
 * By its freezer, or by a signal that pid 1 sends to all at once: complete, because the kernel lets no
 * process fork past a signal that is waiting for it.
 */
static void pause_box(struct session *s, bool on)
{
	const char *freezer = rein_cgroup_freezer(&s->keeper.group);
	uint64_t now = rein_mono_ns();
	struct rein_err ignored = {0};

	if (s->paused == on)
		return;
	s->paused = on;
	if (on)
		s->unfrozen = !freezer || rein_cgroup_freeze(freezer, true, &ignored) < 0;
	else if (freezer)
		rein_cgroup_freeze(freezer, false, &ignored);
	if (s->unfrozen)
		signal_all(s, on ? SIGSTOP : SIGCONT);
	rein_still_begin(&s->still, now);
	if (s->spec->watch && !(on && s->unfrozen)) /* by signals, when they were sent: REIN_BOX_MSG_HELD */
		s->spec->watch->paused(s->spec->watch->arg, on);
	if (on) {
		s->paused_ns = now;
		return;
	}
	s->idle.since_ns += now - s->paused_ns;
	if (s->deadline_ns)
		s->deadline_ns += now - s->paused_ns;
}

static bool is_held_by_signals(const struct session *s)
{
	return s->paused && s->unfrozen && s->why == REIN_BOX_LOST;
}

#define ORDERS_NS (500 * 1000000ull)

/* What is ordered? Nobody waits long if the signal that says so is lost. */
static void obey(struct session *s)
{
	if (!s->spec->watch)
		return;
	s->orders_ns = rein_mono_ns() + ORDERS_NS;
	switch (s->spec->watch->ask(s->spec->watch->arg)) {
	case REIN_BOX_STOP:
		kill_box(s, REIN_BOX_STOPPED);
		break;
	case REIN_BOX_PAUSE:
		pause_box(s, true);
		break;
	case REIN_BOX_GO:
		pause_box(s, false);
		break;
	}
}

static int on_note(struct session *s, struct rein_err *err);

static bool still_held(void *arg, struct rein_still_box *ret)
{
	const struct session *s = arg;

	*ret = (struct rein_still_box){s->box->pid, s->box->pidfd, s->box->control};
	return is_held_by_signals(s);
}

static void still_stop(void *arg)
{
	signal_all(arg, SIGSTOP);
}

static void still_end(void *arg)
{
	kill_box(arg, REIN_BOX_STOPPED);
}

/* What was ordered while nobody was there to hear it comes before going on. */
static void still_rest(void *arg, bool still)
{
	struct session *s = arg;

	if (still || !s->spec->watch)
		pause_box(s, still);
	else
		obey(s);
}

/* In the midst of a message that made us stop; what comes now makes us stop no more, for it is paused. */
static bool still_hear(void *arg)
{
	struct rein_err ignored = {0};

	if (on_note(arg, &ignored) == 0)
		return true;
	kill_box(arg, REIN_BOX_LOST);
	return false;
}

static const struct rein_still_ways ways = {still_held, still_stop, still_end, still_rest, still_hear};

/* For the console. */
static bool hold(void *arg, bool still)
{
	struct session *s = arg;

	return rein_still_hold(&s->still, &ways, s, still);
}

/* Somebody wants something: has he left an order, or will he come to the door? */
static void look_up(struct session *s)
{
	obey(s);
	rein_door_open(&s->door);
}

static int map_identity(struct session *s, struct rein_err *err)
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_MAPPED};

	if (rein_executor_map_(s->owner, err) < 0)
		return -err->code;
	send_note(s, &note);
	return 0;
}

/* Receive a message and the descriptors with it. 1, or 0 at the end. */
static int receive(struct session *s, struct rein_box_note *note, int fds[REIN_BOX_FDS])
{
	return rein_fds_receive(s->box->control, note, sizeof(*note), fds, REIN_BOX_FDS, MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*note);
}

static void on_ready(struct session *s, const struct rein_box_note *note, int fds[REIN_BOX_FDS])
{
	int next = 0;

	rein_supervisor_begin(&s->supervisor, s->spec, note->has & REIN_BOX_HAS_LISTENER ? take_fd(&fds[next++]) : -1,
			      !(s->plan->flags & REIN_PLAN_USERNS), s->started_ns);
	s->supervisor.box = s->box->pid;
	s->supervisor.ndevs = note->ndevs < ARRAY_SIZE(note->devs) ? note->ndevs
								   : ARRAY_SIZE(note->devs);
	memcpy(s->supervisor.devs, note->devs, sizeof(s->supervisor.devs));
	if (note->has & REIN_BOX_HAS_TERMINAL) {
		rein_console_begin(&s->console, take_fd(&fds[next++]));
	}
	if (note->has & REIN_BOX_HAS_LAYER && s->spec->layer)
		*s->spec->layer = take_fd(&fds[next]);
	/* now, when we have nothing to do but wait */
	if (s->spec->net == REIN_NET_NONE)
		rein_noway_open(&s->noway, s->box->pid);
}

static int on_note(struct session *s, struct rein_err *err)
{
	struct rein_box_note note;
	int fds[REIN_BOX_FDS], rc = 0;

	while (rc == 0 && receive(s, &note, fds)) {
		switch (note.kind) {
		case REIN_BOX_MSG_MAP:
			rc = map_identity(s, err);
			break;
		case REIN_BOX_MSG_NET:
			rc = rein_gate_attach(&s->gate, note.has, note.status, fds, rein_fds_count(fds, REIN_BOX_FDS),
					      err);
			break;
		case REIN_BOX_MSG_READY:
			on_ready(s, &note, fds);
			s->ready = true;
			if (s->spec->meanwhile)
				s->spec->meanwhile(s->spec->meanwhile_arg);
			break;
		case REIN_BOX_MSG_STOPPED:
			if (!s->paused)
				rein_console_stopped(&s->console, s->box->control, note.status);
			break;
		case REIN_BOX_MSG_HELD:
			s->still.told = s->paused;
			if (s->paused && s->spec->watch)
				s->spec->watch->paused(s->spec->watch->arg, true);
			break;
		case REIN_BOX_MSG_SAMPLE:
			if (rein_idle_sample(&s->idle, s->spec->idle_timeout_ns, &note) && !s->paused)
				kill_box(s, REIN_BOX_IDLE_TIMEOUT);
			break;
		case REIN_BOX_MSG_GUEST:
		case REIN_BOX_MSG_GONE:
			rein_door_note(&s->door, &note, fds);
			break;
		case REIN_BOX_MSG_EXEC:
		case REIN_BOX_MSG_FAIL:
			s->failed = true;
			s->end = note;
			break;
		case REIN_BOX_MSG_EXIT:
			s->ended = true;
			s->end = note;
			break;
		default:
			break;
		}
		for (int i = 0; i < REIN_BOX_FDS; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	return rc;
}

static void on_signal(struct session *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		int sig = (int)si.ssi_signo;
		uint64_t now = rein_mono_ns();

		if (sig == SIGTERM || sig == SIGHUP) {
			/* what stands still does not hear it, and whoever started it may end it */
			if (s->paused || (s->ended_by_us_ns && now - s->ended_by_us_ns >= REIN_NS_PER_S))
				kill_box(s, REIN_BOX_CANCELLED);
			else if (!s->ended_by_us_ns)
				s->ended_by_us_ns = now;
		}
		if (sig == SIGURG)
			look_up(s);
		else
			rein_console_signal(&s->console, s->box->control, &si);
	}
}

/* Until the deadline or the next look at what it uses, whichever comes first. */
static int wait_ms(const struct session *s)
{
	uint64_t now, next = s->keeper.next_ns;

	if (s->deadline_ns && !s->paused && (!next || s->deadline_ns < next))
		next = s->deadline_ns;
	if (is_held_by_signals(s) && (!next || s->still.next_ns < next))
		next = s->still.next_ns;
	if (!next)
		return -1;
	now = rein_mono_ns();
	if (now >= next)
		return 0;
	now = (next - now + 999999) / 1000000;
	return now > 1000000 ? 1000000 : (int)now;
}

/* Is it within its limits? A box that is not ends here. */
static void look(struct session *s)
{
	uint64_t limit = s->spec->limits.v[REIN_LIMIT_OUTPUT];

	if (rein_mono_ns() >= s->orders_ns)
		obey(s);
	rein_still_keep(&s->still, &ways, s, rein_mono_ns());
	s->keeper.output_bytes = atomic_load(&s->outlet.carried) + s->console.relay.carried;
	if (rein_keep_look(&s->keeper, rein_mono_ns()) ||
	    (limit && s->keeper.output_bytes > limit && !s->why))
		kill_box(s, REIN_BOX_LIMIT);
}

/*
 * The last bytes of a terminal, and the supervisor's thread, end with pid 1; a control group cannot
 * be removed before.
 */
static bool lingers(const struct session *s)
{
	return s->console.relay.master >= 0 || s->supervisor.running || s->keeper.group.njoin;
}

static int attend(struct session *s, struct rein_err *err)
{
	enum { CONTROL, BOX, SIGNALS, RENAMES, GATE, NOTICE, DOOR, TERMINAL, NFDS = TERMINAL + 3 };
	struct pollfd fds[NFDS] = {
		[CONTROL] = {.fd = s->box->control, .events = POLLIN},
		[BOX] = {.fd = s->box->pidfd, .events = POLLIN},
		[SIGNALS] = {.fd = s->signals, .events = POLLIN},
		[RENAMES] = {.fd = -1, .events = POLLIN},
		[GATE] = {.fd = s->gate.control, .events = POLLIN},
		[NOTICE] = {.fd = s->spec->watch ? s->spec->watch->fd : -1, .events = POLLIN},
		[DOOR] = {.fd = -1, .events = POLLIN},
	};

	for (;;) {
		/* The supervisor's thread listens itself, once it is there. */
		fds[RENAMES].fd = s->supervisor.running ? -1 : s->supervisor.listener;
		/* nobody is let in before the box is whole */
		fds[DOOR].fd = s->ready ? s->door.epoll : -1;
		rein_relay_watch(&s->console.relay, fds + TERMINAL);
		if (poll(fds, NFDS, wait_ms(s)) < 0 && errno != EINTR)
			return rein_err_errno(err, "poll");
		if (fds[CONTROL].revents && on_note(s, err) < 0)
			return -err->code;
		if (s->ended && !lingers(s))
			return 0;
		if (fds[BOX].revents)
			return on_note(s, err);
		if (fds[CONTROL].revents & POLLHUP)
			fds[CONTROL].fd = -1;
		rein_console_move(&s->console, s->box->control, fds + TERMINAL);
		if (fds[RENAMES].revents & POLLIN)
			rein_supervisor_wake(&s->supervisor);
		else if (fds[RENAMES].revents)
			rein_closep_(&s->supervisor.listener), s->supervisor.listener = -1;
		if (fds[SIGNALS].revents)
			on_signal(s);
		if (fds[GATE].revents && !rein_gate_hear(&s->gate, s->spec->watch, false)) {
			kill_box(s, REIN_BOX_LOST); /* the gate died: nobody guards the box */
			fds[GATE].fd = -1;
		}
		if (fds[NOTICE].revents)
			obey(s);
		if (fds[DOOR].revents)
			rein_door_serve(&s->door);
		if (s->deadline_ns && !s->paused && rein_mono_ns() >= s->deadline_ns) {
			kill_box(s, REIN_BOX_TIMEOUT);
			s->deadline_ns = 0;
		}
		look(s);
	}
}

/* The box is dead: collect it and say how it ended. */
static int conclude(struct session *s, const struct rusage *ru, struct rein_box_result *ret,
		    struct rein_err *err)
{
	struct rein_box_result r = {
		.end = s->why, .status = 128 + SIGKILL, .wall_ns = rein_mono_ns() - s->started_ns};

	if (s->failed && s->end.kind == REIN_BOX_MSG_FAIL)
		return rein_explain_step(&s->end, s->plan, err);
	if (s->failed)
		return rein_explain_command(s->end.sys, s->spec->argv[0], err);
	rein_result_usage(&r, ru);
	if (s->ended) {
		int st = s->end.status;

		r.cpu_ns = s->end.cpu_ns;
		r.max_rss_kib = s->end.max_rss_kib;
		r.end = WIFSIGNALED(st) ? REIN_BOX_SIGNALED : REIN_BOX_EXITED;
		r.status = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	}
	r.restless = r.end == REIN_BOX_STOPPED && s->still.never;
	/* killed from outside, by whoever gave the order, before we came to it */
	if (r.end == REIN_BOX_LOST && s->spec->watch &&
	    s->spec->watch->ask(s->spec->watch->arg) == REIN_BOX_STOP)
		r.end = REIN_BOX_STOPPED;
	if (s->keeper.hit.what && (s->why == REIN_BOX_LOST || s->why == REIN_BOX_LIMIT))
		r.end = REIN_BOX_LIMIT;
	rein_result_take(&r, &s->keeper, &s->supervisor, &s->gate);
	rein_console_end(&s->console, &r);
	if (r.usage.memory_peak < r.max_rss_kib << 10)
		r.usage.memory_peak = r.max_rss_kib << 10;
	if (r.status)
		r.net.noway = rein_noway_count(&s->noway);
	*ret = r;
	return 0;
}

static void block_signals(sigset_t *old, int *fd)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	sigaddset(&set, SIGURG); /* ours: harmless where it was not meant for us */
	sigprocmask(SIG_BLOCK, &set, old);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * What must hold from a box's first step, a control group or streams of ours, came too late for one
 * that was started ahead: another takes its place.
 */
static int start(struct session *s, struct rein_err *err)
{
	struct rein_spawn_with with = {
		.join = s->keeper.group.join,
		.njoin = s->keeper.group.njoin,
		.processors = s->keeper.processors,
		.streams = s->outlet.given,
	};

	if ((with.njoin || with.processors || with.streams[1] >= 0 || with.streams[2] >= 0) &&
	    rein_executor_replace_(s->owner, &with, err) < 0)
		return -err->code;
	if (s->plan->flags & REIN_PLAN_GATE && s->gate.control < 0 &&
	    rein_gate_start(s->spec, s->owner->program, &s->gate, err) < 0)
		return -err->code;
	rein_keep_start(&s->keeper, s->box->pid);
	if (s->spec->watch)
		s->spec->watch->begun(s->spec->watch->arg, s->box->pid,
				      rein_cgroup_freezer(&s->keeper.group), s->keeper.group.version);
	if (rein_outlet_start(&s->outlet, err) < 0)
		return -err->code;
	if (rein_spawn_plan(s->box, s->plan, s->spec->layer ? *s->spec->layer : -1, err) < 0)
		return -err->code;
	if (s->spec->layer) { /* it is the box's now */
		rein_closep_(s->spec->layer);
		*s->spec->layer = -1;
	}
	return 0;
}

/* The box is dead: what it wrote is brought out, what it used counted, its group taken away. */
static void clear_up(struct session *s)
{
	rein_outlet_end(&s->outlet, s->why == REIN_BOX_LOST ? REIN_OUTLET_DRAIN : 0);
	rein_relay_drain(&s->console.relay);
	rein_relay_leave(&s->console.relay); /* [L2] */
	s->keeper.output_bytes = atomic_load(&s->outlet.carried) + s->console.relay.carried;
	rein_keep_end(&s->keeper, s->ended ? s->end.status : 0, s->ended ? s->end.alive : 0);
}

/*
 * The executor builds meanwhile and waits for this before it starts the command. The box is on the list: whoever stops
 * boxes either finds it there, or has left an order before.
 */
static int permit(struct session *s, struct rein_err *err)
{
	if (s->spec->before_start && s->spec->before_start(s->spec->before_start_arg, err) < 0)
		return -err->code;
	obey(s);
	if (s->why == REIN_BOX_LOST)
		send_note(s, &(struct rein_box_note){.kind = REIN_BOX_MSG_GO});
	return 0;
}

static int run(struct session *s, struct rein_box_result *ret, struct rein_err *err)
{
	struct rusage ru = {0};
	int rc;

	if (s->signals < 0) {
		rein_err_errno(err, "signalfd");
		rein_gate_end(&s->gate); /* one that inspects runs already */
		return -err->code;
	}
	s->started_ns = s->idle.since_ns = rein_mono_ns();
	s->orders_ns = s->started_ns + ORDERS_NS;
	if (s->spec->timeout_ns)
		s->deadline_ns = rein_ns_after(s->started_ns, s->spec->timeout_ns);
	rc = start(s, err);
	rc = rc < 0 ? rc : permit(s, err);
	rc = rc < 0 ? rc : attend(s, err);
	if (rc < 0)
		kill_box(s, REIN_BOX_LOST);
	if (rc < 0 || !s->ended)
		rein_executor_reap_(s->owner, &ru);
	rein_supervisor_end(&s->supervisor);
	rein_gate_end(&s->gate);
	rein_gate_hear(&s->gate, s->spec->watch, true);
	clear_up(s);
	rein_door_close(&s->door);
	rc = rc < 0 ? rc : rein_spawn_failure(s->box, err);
	rc = rc < 0 ? rc : conclude(s, &ru, ret, err);
	rein_net_report_done(&s->gate.report);
	rein_noway_close(&s->noway);
	rein_supervisor_done(&s->supervisor);
	return rc;
}

int rein_box_run(struct rein_box *box, const struct rein_box_spec *spec,
		 struct rein_box_result *ret, struct rein_err *err)
{
	struct session s = {
		.spec = spec, .owner = box, .box = &box->spawn, .signals = -1,
		.supervisor = REIN_SUPERVISOR_INIT,
		.console = REIN_CONSOLE_INIT,
		.gate = REIN_GATE_INIT,
		.noway = REIN_NOWAY_INIT,
		.door = REIN_DOOR_INIT,
		.outlet = REIN_OUTLET_INIT};
	sigset_t old;
	int rc;

	if (box->spawn.plan < 0 || !rein_box_fits(box, spec->net))
		return rein_err_set(err, REIN_E_STATE, "this box was opened for another command");
	if (rein_keep_init(&s.keeper, spec, err) < 0)
		return -err->code;
	/* what the box is to trust is part of its plan */
	rc = rein_gate_wanted(spec) && rein_gate_inspects(&spec->network)
		     ? rein_gate_start(spec, box->program, &s.gate, err)
		     : 0;
	if (rc == 0)
		rc = make_plan(&s, err);
	if (rc == 0)
		rc = rein_outlet_open(&s.outlet, spec->limits.v[REIN_LIMIT_OUTPUT], s.console.relay.mask, err);
	if (rc < 0) {
		rein_gate_end(&s.gate);
		rein_keep_done(&s.keeper);
		rein_outlet_end(&s.outlet, 0);
		rein_free(s.plan);
		return rc;
	}
	s.door.spec = spec;
	s.door.control = &s.box->control;
	s.door.relay = &s.console.relay;
	s.door.paused = &s.paused;
	s.console.hold = hold;
	s.console.hold_arg = &s;
	block_signals(&old, &s.signals);
	rc = run(&s, ret, err);
	rein_outlet_end(&s.outlet, 0);
	rein_keep_done(&s.keeper);
	rein_closep_(&s.signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	rein_still_done(&s.still);
	rein_free(s.plan);
	return rc;
}

int rein_box_launch(const struct rein_box_spec *spec, const char *box_program,
		    struct rein_box_result *ret, struct rein_err *err)
{
	struct rein_box *box;
	int rc;

	if (rein_box_open(spec->net, box_program, &box, err) < 0)
		return -err->code;
	rc = rein_box_run(box, spec, ret, err);
	rein_box_close(box);
	return rc;
}
