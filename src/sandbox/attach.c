/* SPDX-License-Identifier: Apache-2.0 */
/* See attach.h. */
#include "sandbox/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/door.h"
#include "sandbox/runtime.h"

#define PATIENCE_NS (10 * REIN_NS_PER_S) /* a busy machine answers late, rather than never */
#define DETACH_KEY  0x1d /* ^] */

/* Bytes on their way from one descriptor to another. */
struct carrier {
	int from, to; /* -1: closed */
	bool ours_from, ours_to;
	size_t n;
	char bytes[4096];
};

struct visit {
	int door, signals;
	struct rein_relay relay;
	struct carrier carriers[3]; /* input, output, errors: those that are no terminals */
	struct rein_door_note in;
	struct rein_attach_result result;
	bool over;
	bool quiet;	 /* type nothing */
	bool hung_up;	 /* our terminal is gone */
	unsigned keys;	 /* times the key was typed, */
	uint64_t key_ns; /* since then */
	sigset_t old;
};

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* ---- the door ---- */

static int knock(int state_fd, const struct rein_live *l, struct rein_err *err)
{
	const struct timespec a_while = {.tv_nsec = 5000000};
	const struct rein_runtime *runtime = *l->backend ? rein_runtime_find(l->backend, err) : NULL;
	uint64_t end = rein_mono_ns() + PATIENCE_NS;

	if (*l->backend && !(runtime && runtime->executor))
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "box %s was built by %s: there is nobody in it who could start a command", l->id,
				    l->backend);
	for (bool poked = false; rein_mono_ns() < end; nanosleep(&a_while, NULL)) {
		int fd = rein_door_connect(state_fd, l->id);

		if (fd >= 0)
			return fd;
		if (errno != ENOENT && errno != EAGAIN)
			break;
		if (!poked)
			rein_live_poke(l);
		poked = true;
	}
	return rein_err_set(err, REIN_E_STATE,
			    "box %s does not answer: it ended, or its supervisor stands still "
			    "(see: rein ps)",
			    l->id);
}

static int words_file(char **argv, struct rein_err *err)
{
	auto_close int fd = memfd_create("rein-words", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t total = 0;

	for (; fd >= 0 && *argv; argv++) {
		size_t n = strlen(*argv) + 1;

		total += n;
		if (total > REIN_DOOR_WORDS)
			return rein_err_set(err, REIN_E_LIMIT,
					    "a command line has at most %u bytes", REIN_DOOR_WORDS);
		if (write(fd, *argv, n) != (ssize_t)n)
			return rein_err_errno(err, "write the command line");
	}
	if (fd < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return rein_err_errno(err, "write the command line");
	return take_fd(&fd);
}

/* ---- streams that are no terminals ---- */

static int open_carrier(struct visit *v, int stream, int *ret_theirs, struct rein_err *err)
{
	struct carrier *c = &v->carriers[stream];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return rein_err_errno(err, "pipe");
	fcntl(fds[stream == 0], F_SETFL, O_NONBLOCK);
	*c = stream ? (struct carrier){.from = fds[0], .to = stream, .ours_from = true}
		    : (struct carrier){.from = 0, .to = fds[1], .ours_to = true};
	*ret_theirs = fds[stream == 0 ? 0 : 1];
	return 0;
}

static void shut(struct carrier *c)
{
	if (c->ours_from)
		rein_closep_(&c->from);
	if (c->ours_to)
		rein_closep_(&c->to);
	c->from = c->to = -1;
	c->n = 0;
}

static void await(const struct carrier *c, struct pollfd *fd)
{
	*fd = c->n ? (struct pollfd){.fd = c->to, .events = POLLOUT}
		   : (struct pollfd){.fd = c->from, .events = POLLIN};
}

/* What is there, one step. False: nothing more can be done now. */
static bool carry(struct carrier *c)
{
	ssize_t n;

	if (c->from < 0 && c->to < 0)
		return false;
	if (!c->n) {
		n = read(c->from, c->bytes, sizeof(c->bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (n <= 0) {
			shut(c);
			return false;
		}
		c->n = (size_t)n;
		return true;
	}
	n = write(c->to, c->bytes, c->n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		shut(c);
		return false;
	}
	c->n -= (size_t)n;
	memmove(c->bytes, c->bytes + n, c->n);
	return true;
}

/* The command is gone: what it wrote is brought out; what it left running does not keep us. */
static void drain(struct visit *v)
{
	for (int i = 1; i < 3; i++) {
		struct carrier *c = &v->carriers[i];
		struct pollfd out = {.fd = c->to, .events = POLLOUT};

		while (carry(c) || c->n)
			if (c->n && poll(&out, 1, -1) < 0 && errno != EINTR)
				break;
	}
}

/* ---- what comes and goes ---- */

static void tell(const struct visit *v, uint32_t kind, int status)
{
	struct rein_door_note note = {.magic = REIN_DOOR_MAGIC, .kind = kind, .status = status};

	if (kind == REIN_DOOR_WINDOW && ioctl(v->relay.input, TIOCGWINSZ, &note.window) < 0)
		return;
	rein_door_send(v->door, &note, NULL, 0);
}

static void on_signal(struct visit *v, bool looking)
{
	struct signalfd_siginfo si;

	while (read(v->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGWINCH && looking && !v->quiet)
			tell(v, REIN_DOOR_WINDOW, 0);
		else if (si.ssi_signo == SIGWINCH)
			rein_relay_resize(&v->relay);
		else if (looking)
			v->over = v->result.detached = true;
		else
			tell(v, REIN_DOOR_SIGNAL, (int)si.ssi_signo);
	}
}

static int on_door(struct visit *v, bool looking, struct rein_err *err)
{
	int fds[REIN_BOX_FDS];
	int rc;

	while (!v->over && (rc = rein_door_receive(v->door, &v->in, fds)) != 0) {
		if (rc < 0 && errno == EAGAIN)
			return 0;
		if (rc < 0 && errno == ECONNRESET)
			continue; /* it left without listening, but not without a word */
		if (rc < 0)
			break;
		switch (v->in.kind) {
		case REIN_DOOR_REFUSED:
			rc = rein_err_set(err, v->in.status, "%.*s", (int)v->in.n, v->in.bytes);
			break;
		case REIN_DOOR_STARTED:
			if (fds[0] >= 0)
				rein_relay_begin(&v->relay, take_fd(&fds[0]));
			v->relay.wanted = v->relay.mask & 1 && !v->quiet;
			rein_relay_enter(&v->relay);
			if (looking && !v->quiet)
				tell(v, REIN_DOOR_WINDOW, 0);
			break;
		case REIN_DOOR_OUTPUT:
			for (size_t done = 0; done < v->in.n;) {
				ssize_t n = write(1, v->in.bytes + done, v->in.n - done);

				if (n < 0 && errno != EINTR)
					return rein_err_errno(err, "write");
				done += n > 0 ? (size_t)n : 0;
			}
			break;
		case REIN_DOOR_EXIT:
			v->result.status = v->in.status;
			v->result.cpu_ns = v->in.cpu_ns;
			v->over = true;
			break;
		case REIN_DOOR_ENDED:
			v->result.ended = v->over = true;
			break;
		default:
			break;
		}
		for (int i = 0; i < REIN_BOX_FDS; i++)
			rein_closep_(&fds[i]);
		if (rc < 0)
			return rc;
	}
	if (!v->over) /* without a word: whoever held the other end is dead */
		v->result.ended = v->over = true;
	return 0;
}

/* Typed at our terminal, for the box's: three times the key within a second leads out. */
static void type(struct visit *v)
{
	struct rein_door_note note = {.magic = REIN_DOOR_MAGIC, .kind = REIN_DOOR_INPUT};
	ssize_t n = read(v->relay.input, note.bytes, 1024);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		v->over = v->result.detached = true;
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		uint64_t now = rein_mono_ns();

		if (note.bytes[i] != DETACH_KEY || now - v->key_ns > REIN_NS_PER_S)
			v->keys = 0;
		if (note.bytes[i] != DETACH_KEY)
			continue;
		if (!v->keys++)
			v->key_ns = now;
		if (v->keys == 3)
			v->over = v->result.detached = true;
	}
	note.n = (uint32_t)n;
	if (!v->over)
		rein_door_send(v->door, &note, NULL, 0);
}

static int attend(struct visit *v, bool looking, struct rein_err *err)
{
	enum { DOOR, SIGNALS, KEYS, STREAMS, TERMINAL = STREAMS + 3, NFDS = TERMINAL + 3 };
	uint64_t begun = rein_mono_ns();
	int rc = 0;

	while (!v->over && rc == 0) {
		struct pollfd fds[NFDS] = {
			[DOOR] = {.fd = v->door, .events = POLLIN},
			[SIGNALS] = {.fd = v->signals, .events = POLLIN},
			[KEYS] = {.fd = looking && v->relay.raw ? v->relay.input : -1,
				  .events = POLLIN},
		};

		for (int i = 0; i < 3; i++)
			await(&v->carriers[i], &fds[STREAMS + i]);
		rein_relay_watch(&v->relay, fds + TERMINAL);
		if (poll(fds, NFDS, -1) < 0) {
			if (errno != EINTR)
				return rein_err_errno(err, "poll");
			continue;
		}
		/* output first: what the command wrote before its end comes before the word of its
		 * end */
		for (int i = 0; i < 3; i++)
			if (fds[STREAMS + i].revents)
				carry(&v->carriers[i]);
		if (!looking && !rein_relay_move(&v->relay, fds + TERMINAL) && !v->hung_up) {
			v->hung_up = true;
			tell(v, REIN_DOOR_SIGNAL, SIGHUP);
		}
		if (fds[SIGNALS].revents)
			on_signal(v, looking);
		if (fds[KEYS].revents)
			type(v);
		if (fds[DOOR].revents && !v->over)
			rc = on_door(v, looking, err);
	}
	v->result.wall_ns = rein_mono_ns() - begun;
	return rc;
}

static int begin(struct visit *v, struct rein_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &v->old);
	sigdelset(&set, SIGPIPE);
	v->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return v->signals < 0 ? rein_err_errno(err, "signalfd") : 0;
}

static void end(struct visit *v)
{
	drain(v);
	rein_relay_drain(&v->relay);
	rein_relay_leave(&v->relay);
	for (int i = 0; i < 3; i++)
		shut(&v->carriers[i]);
	rein_closep_(&v->door);
	rein_closep_(&v->signals);
	sigprocmask(SIG_SETMASK, &v->old, NULL);
}

/* A door that was shut again has left a word why, which is read next. */
static int ask(const struct visit *v, const struct rein_door_note *note, const int *fds,
	       unsigned nfds, struct rein_err *err)
{
	if (!rein_door_send(v->door, note, fds, nfds) && errno != EPIPE && errno != ECONNRESET)
		return rein_err_errno(err, "ask the box's supervisor");
	return 0;
}

static int ask_to_run(struct visit *v, char **argv, bool approved, struct rein_err *err)
{
	struct rein_door_note note = {.magic = REIN_DOOR_MAGIC,
				      .kind = REIN_DOOR_RUN,
				      .flags = approved ? REIN_DOOR_APPROVED : 0};
	struct rein_plan_setup setup = {0};
	const char *term = getenv("TERM");
	int fds[4] = {words_file(argv, err), -1, -1, -1}, rc = fds[0] < 0 ? -err->code : 0;
	unsigned n = 1;

	rein_relay_prepare(&v->relay, &setup);
	note.tty_mask = setup.tty_mask;
	note.window = setup.window;
	memcpy(note.termios, setup.termios, sizeof(note.termios));
	if (term && strlen(term) < sizeof(note.term))
		snprintf(note.term, sizeof(note.term), "%s", term);
	for (int i = 0; i < 3 && rc == 0; i++)
		if (!(note.tty_mask & 1u << i))
			rc = open_carrier(v, i, &fds[n++], err);
	if (rc == 0)
		rc = ask(v, &note, fds, n, err);
	for (unsigned i = 0; i < n; i++)
		rein_closep_(&fds[i]);
	return rc;
}

static struct visit nowhere(void)
{
	return (struct visit){.door = -1,
			      .signals = -1,
			      .relay = {.input = -1, .output = -1, .master = -1},
			      .carriers = {{.from = -1, .to = -1},
					   {.from = -1, .to = -1},
					   {.from = -1, .to = -1}}};
}

int rein_attach_run(int state_fd, const struct rein_live *l, char **argv, bool approved,
		    struct rein_attach_result *ret, struct rein_err *err)
{
	struct visit v = nowhere();
	int rc;

	v.door = knock(state_fd, l, err);
	if (v.door < 0)
		return -err->code;
	rc = begin(&v, err);
	rc = rc < 0 ? rc : ask_to_run(&v, argv, approved, err);
	rc = rc < 0 ? rc : attend(&v, false, err);
	end(&v);
	if (rc == 0)
		*ret = v.result;
	return rc;
}

int rein_attach_look(int state_fd, const struct rein_live *l, bool no_input,
		     struct rein_attach_result *ret, struct rein_err *err)
{
	struct rein_door_note note = {.magic = REIN_DOOR_MAGIC, .kind = REIN_DOOR_LOOK};
	struct visit v = nowhere();
	struct rein_plan_setup setup = {0};
	int rc;

	rein_relay_prepare(&v.relay, &setup);
	v.quiet = no_input;
	if (!no_input && !(v.relay.mask & 1))
		return rein_err_set(err, REIN_E_USAGE,
				    "there is no terminal here to type at: rein attach --no-input "
				    "only looks");
	if (no_input)
		note.flags |= REIN_DOOR_NO_INPUT;
	v.door = knock(state_fd, l, err);
	if (v.door < 0)
		return -err->code;
	rc = begin(&v, err);
	rc = rc < 0 ? rc : ask(&v, &note, NULL, 0, err);
	rc = rc < 0 ? rc : attend(&v, true, err);
	end(&v);
	if (rc == 0)
		*ret = v.result;
	return rc;
}
