/* SPDX-License-Identifier: Apache-2.0 */
/* See door.h. */
#include "sandbox/door.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/spawn.h"
#include "sys/local.h"
#include "sys/passfd.h"

/* ---- packets ---- */

bool rein_door_send(int fd, const struct rein_door_note *note, const int *fds, unsigned nfds)
{
	return rein_fds_send(fd, note, offsetof(struct rein_door_note, bytes) + note->n, fds, nfds, MSG_DONTWAIT) >= 0;
}

static bool is_whole(const struct rein_door_note *note, ssize_t n)
{
	const size_t head = offsetof(struct rein_door_note, bytes);

	return n >= (ssize_t)head && note->magic == REIN_DOOR_MAGIC && note->n <= REIN_DOOR_BYTES &&
	       (size_t)n == head + note->n && memchr(note->term, 0, sizeof(note->term)) &&
	       note->tty_mask <= 7;
}

int rein_door_receive(int fd, struct rein_door_note *note, int fds[REIN_BOX_FDS])
{
	ssize_t n = rein_fds_receive(fd, note, sizeof(*note), fds, REIN_BOX_FDS, MSG_DONTWAIT);

	if (n <= 0)
		return (int)n;
	if (is_whole(note, n))
		return 1;
	for (int i = 0; i < REIN_BOX_FDS; i++)
		rein_closep_(&fds[i]);
	errno = EPROTO;
	return -1;
}

/* ---- the socket ---- */

static int open_live(int state_fd)
{
	return openat(state_fd, "live", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

#define DOOR_NAME 64

static const char *door_name(const char *id, char to[DOOR_NAME])
{
	snprintf(to, DOOR_NAME, ".door-%s", id);
	return to;
}

int rein_door_listen(int state_fd, const char *id, struct rein_err *err)
{
	auto_close int dir = open_live(state_fd);
	char name[DOOR_NAME];
	int fd = dir < 0 ? -1 : rein_local_listen(dir, door_name(id, name));

	return fd < 0 ? rein_err_errno(err, "open the box's door") : fd;
}

int rein_door_connect(int state_fd, const char *id)
{
	auto_close int dir = open_live(state_fd);
	char name[DOOR_NAME];

	return dir < 0 ? -1 : rein_local_connect(dir, door_name(id, name));
}

void rein_door_remove(int state_fd, const char *id)
{
	auto_close int dir = open_live(state_fd);
	char name[DOOR_NAME];

	if (dir >= 0)
		unlinkat(dir, door_name(id, name), 0);
}

/* ---- visitors ---- */

static ino_t pid_space(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* [D1] */
static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	ino_t here = pid_space(getpid());

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid() &&
	       peer.pid > 0 && here && pid_space(peer.pid) == here;
}

static void say(const struct rein_visitor *v, uint32_t kind, int status, const char *text)
{
	struct rein_door_note note = {.magic = REIN_DOOR_MAGIC, .kind = kind, .status = status};

	note.n = (uint32_t)snprintf(note.bytes, sizeof(note.bytes), "%s", text);
	rein_door_send(v->fd, &note, NULL, 0);
}

static void refuse(const struct rein_visitor *v, const struct rein_err *err)
{
	say(v, REIN_DOOR_REFUSED, err->code, err->msg);
}

/* If the box is gone its pidfd says so. If pid 1 leaves hundreds unread, waiting for it is nothing we may do. */
static bool to_box(const struct rein_door *d, const struct rein_box_note *note, const int *fds,
		   unsigned nfds)
{
	return rein_fds_send(*d->control, note, sizeof(*note), fds, nfds, MSG_DONTWAIT) >= 0;
}

static void signal_guest(const struct rein_door *d, uint32_t guest, int sig)
{
	to_box(d,
	       &(struct rein_box_note){
		       .kind = REIN_BOX_MSG_SIGNAL, .guest = guest, .status = sig, .sys = 1},
	       NULL, 0);
}

static void record_end(const struct rein_door *d, const struct rein_visitor *v, int status,
		       uint64_t cpu_ns, uint64_t max_rss_kib)
{
	struct rein_box_result r = {.end = status > 128 ? REIN_BOX_SIGNALED : REIN_BOX_EXITED,
				    .status = status,
				    .wall_ns = rein_mono_ns() - v->begun_ns,
				    .cpu_ns = cpu_ns,
				    .max_rss_kib = max_rss_kib};

	d->spec->watch->left(d->spec->watch->arg, v->guest, &r);
}

/* Its place is free when its command is gone, too: until then the number is taken. */
static void leave(struct rein_visitor *v)
{
	rein_closep_(&v->fd);
	v->fd = -1;
	if (!v->guest)
		*v = (struct rein_visitor){.fd = -1};
}

static void on_hang_up(struct rein_door *d, struct rein_visitor *v)
{
	if (v->guest)
		signal_guest(d, v->guest, SIGKILL); /* [D4] */
	leave(v);
}

/* A sealed memory file of NUL-ended words: it cannot change while it is read. */
static char **read_words(int fd, struct rein_err *err)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	auto_free char *text = NULL;
	struct stat st;
	char **words;
	size_t n = 0, at = 0;

	if (fd < 0 || (fcntl(fd, F_GET_SEALS) & seals) != seals || fstat(fd, &st) < 0 ||
	    st.st_size <= 0 || st.st_size > (off_t)REIN_DOOR_WORDS) {
		rein_err_set(err, REIN_E_INVALID, "a command line has at most %u bytes",
			     REIN_DOOR_WORDS);
		return NULL;
	}
	text = rein_alloc((size_t)st.st_size);
	if (!text || pread(fd, text, (size_t)st.st_size, 0) != st.st_size || text[st.st_size - 1]) {
		rein_err_set(err, REIN_E_INVALID, "the command line cannot be read");
		return NULL;
	}
	for (off_t i = 0; i < st.st_size; i++)
		n += !text[i];
	/* one block: the pointers, then what they point at */
	words = rein_alloc((n + 1) * sizeof(*words) + (size_t)st.st_size);
	if (!words) {
		rein_err_nomem(err);
		return NULL;
	}
	memcpy(words + n + 1, text, (size_t)st.st_size);
	for (size_t i = 0; i < n; i++) {
		words[i] = (char *)(words + n + 1) + at;
		at += strlen(words[i]) + 1;
	}
	words[n] = NULL;
	return words;
}

/* The box's own environment, and what terminal it is. */
static char **environment(char **envp, const char *term, bool wanted)
{
	size_t n = 0, k = 0;
	char **v;

	while (envp[n])
		n++;
	v = rein_calloc(n + 2, sizeof(*v));
	for (size_t i = 0; v && i < n; i++)
		if (!wanted || !*term || !rein_starts(envp[i], "TERM="))
			v[k++] = envp[i];
	if (v && wanted && *term)
		v[k] = (char *)(uintptr_t)term; /* "TERM=..." */
	return v;
}

/* [D3] */
static bool is_plain_pipe(int fd)
{
	struct statfs fs;
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == PIPEFS_MAGIC;
}

static bool are_streams(const struct rein_door_note *note, const int fds[REIN_BOX_FDS])
{
	int next = 1;

	for (int fd = 0; fd < 3; fd++)
		if (!(note->tty_mask & 1u << fd) && !is_plain_pipe(fds[next++]))
			return false;
	return true;
}

static int start(struct rein_door *d, struct rein_visitor *v, const struct rein_door_note *note,
		 const int fds[REIN_BOX_FDS], struct rein_err *err)
{
	struct rein_plan_setup setup = {.tty_mask = note->tty_mask, .window = note->window};
	struct rein_box_note order = {.kind = REIN_BOX_MSG_START, .guest = d->last + 1};
	auto_free struct rein_plan *plan = NULL;
	auto_free char **argv = read_words(fds[0], err), **envp = NULL;
	auto_close int memory = -1;
	int given[4];
	unsigned n = 0;
	char term[80];

	if (!argv)
		return -err->code;
	if (!are_streams(note, fds))
		return rein_err_set(err, REIN_E_INVALID, "only pipes are let into a box");
	if (*d->paused)
		return rein_err_set(err, REIN_E_STATE, "the box is paused; first: rein resume");
	snprintf(term, sizeof(term), "%s%s", *note->term ? "TERM=" : "", note->term);
	envp = environment(d->spec->envp, term, note->tty_mask);
	memcpy(setup.termios, note->termios, sizeof(setup.termios));
	if (!envp)
		return rein_err_nomem(err);
	if (rein_plan_build_guest(argv, envp, d->spec->cwd, &setup, &plan, err) < 0)
		return -err->code;
	memory = rein_spawn_memory(err);
	if (memory < 0 || rein_spawn_seal(memory, plan, err) < 0 ||
	    d->spec->watch->admit(d->spec->watch->arg, order.guest, argv, note->flags & REIN_DOOR_APPROVED,
				  err) < 0)
		return -err->code; /* [D2] */
	given[n++] = memory;
	for (int i = 1; i <= 3 && fds[i] >= 0; i++)
		given[n++] = fds[i];
	snprintf(v->name, sizeof(v->name), "%s", argv[0]);
	v->guest = ++d->last;
	v->is = REIN_VISITOR_STARTING;
	v->begun_ns = rein_mono_ns();
	if (to_box(d, &order, given, n))
		return 0;
	rein_err_errno(err, "ask the box to start '%s'", v->name);
	record_end(d, v, 126, 0, 0);
	v->guest = 0;
	return -err->code;
}

static int look(const struct rein_door *d, struct rein_visitor *v,
		const struct rein_door_note *note, struct rein_err *err)
{
	struct rein_door_note yes = {.magic = REIN_DOOR_MAGIC, .kind = REIN_DOOR_STARTED};

	if (d->relay->master < 0)
		return rein_err_set(err, REIN_E_STATE,
				    "the box has no terminal of its own: it writes to where it was "
				    "started from; "
				    "to run a command in it: rein attach BOX -- sh");
	v->is = REIN_VISITOR_LOOKING;
	v->may_type = !(note->flags & REIN_DOOR_NO_INPUT);
	rein_door_send(v->fd, &yes, NULL, 0);
	return 0;
}

/* False: there is nothing more to hear from it. */
static bool on_note(struct rein_door *d, struct rein_visitor *v, const struct rein_door_note *note,
		    const int fds[REIN_BOX_FDS])
{
	struct rein_err err = {0};

	if (v->is == REIN_VISITOR_NEW) {
		if (note->kind == REIN_DOOR_RUN
			    ? start(d, v, note, fds, &err) == 0
			    : note->kind == REIN_DOOR_LOOK && look(d, v, note, &err) == 0)
			return true;
		if (err.code)
			refuse(v, &err);
		return false;
	}
	if (v->guest && note->kind == REIN_DOOR_SIGNAL && note->status > 0 && note->status < NSIG) {
		signal_guest(d, v->guest, note->status);
	} else if (v->is == REIN_VISITOR_LOOKING && v->may_type && note->kind == REIN_DOOR_INPUT) {
		rein_relay_type(d->relay, note->bytes, note->n);
	} else if (v->is == REIN_VISITOR_LOOKING && v->may_type && note->kind == REIN_DOOR_WINDOW) {
		if (d->relay->master >= 0)
			ioctl(d->relay->master, TIOCSWINSZ, &note->window);
	}
	return true;
}

static void hear(struct rein_door *d, struct rein_visitor *v)
{
	static struct rein_door_note note; /* the main loop's only */
	int fds[REIN_BOX_FDS], rc;

	while (v->fd >= 0 && (rc = rein_door_receive(v->fd, &note, fds)) != 0) {
		bool stays;

		if (rc < 0 && errno == EAGAIN)
			return;
		stays = rc > 0 && on_note(d, v, &note, fds);
		for (int i = 0; rc > 0 && i < REIN_BOX_FDS; i++)
			rein_closep_(&fds[i]);
		if (!stays)
			break;
	}
	on_hang_up(d, v);
}

static void let_in(struct rein_door *d)
{
	auto_close int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct rein_err full = {0};
	size_t i = 0;

	if (fd < 0 || !is_ours(fd))
		return;
	while (i < ARRAY_SIZE(d->v) && (d->v[i].fd >= 0 || d->v[i].guest))
		i++;
	if (i == ARRAY_SIZE(d->v)) {
		rein_err_set(&full, REIN_E_BUSY, "at most %d commands and watchers at once",
			     REIN_BOX_GUESTS);
		refuse(&(struct rein_visitor){.fd = fd}, &full);
		return;
	}
	if (epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd,
		      &(struct epoll_event){.events = EPOLLIN, .data.u32 = (uint32_t)i + 1}) == 0)
		d->v[i] = (struct rein_visitor){.fd = take_fd(&fd)};
}

/* A copy of what the box's terminal shows, to everybody who looks. Who does not keep up is let go.
 */
static void show(void *arg, const char *p, size_t n)
{
	static struct rein_door_note note; /* the main loop's only */
	struct rein_door *d = arg;

	for (size_t i = 0; i < ARRAY_SIZE(d->v); i++) {
		struct rein_visitor *v = &d->v[i];

		if (v->fd < 0 || v->is != REIN_VISITOR_LOOKING)
			continue;
		for (size_t done = 0; done < n && v->fd >= 0; done += note.n) {
			note = (struct rein_door_note){.magic = REIN_DOOR_MAGIC,
						       .kind = REIN_DOOR_OUTPUT};
			note.n =
				n - done < REIN_DOOR_BYTES ? (uint32_t)(n - done) : REIN_DOOR_BYTES;
			memcpy(note.bytes, p + done, note.n);
			if (!rein_door_send(v->fd, &note, NULL, 0))
				leave(v);
		}
	}
}

void rein_door_open(struct rein_door *d)
{
	const struct rein_box_watch *w = d->spec->watch;

	if (d->listener >= 0 || !w || !w->door)
		return;
	d->listener = w->door(w->arg);
	d->epoll = d->listener < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0 ||
	    epoll_ctl(d->epoll, EPOLL_CTL_ADD, d->listener,
		      &(struct epoll_event){.events = EPOLLIN, .data.u32 = 0}) < 0) {
		rein_closep_(&d->epoll);
		rein_closep_(&d->listener);
		d->epoll = d->listener = -1;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(d->v); i++)
		d->v[i] = (struct rein_visitor){.fd = -1};
	d->relay->tap = show;
	d->relay->tap_arg = d;
}

void rein_door_serve(struct rein_door *d)
{
	struct epoll_event events[REIN_BOX_GUESTS + 1];
	int n = epoll_wait(d->epoll, events, ARRAY_SIZE(events), 0);

	for (int i = 0; i < n; i++) {
		if (!events[i].data.u32)
			let_in(d);
		else
			hear(d, &d->v[events[i].data.u32 - 1]);
	}
}

static struct rein_visitor *whose(struct rein_door *d, uint32_t guest)
{
	for (size_t i = 0; guest && d->listener >= 0 && i < ARRAY_SIZE(d->v); i++)
		if (d->v[i].guest == guest)
			return &d->v[i];
	return NULL;
}

static void on_gone(struct rein_door *d, struct rein_visitor *v, const struct rein_box_note *note)
{
	struct rein_door_note out = {
		.magic = REIN_DOOR_MAGIC, .kind = REIN_DOOR_EXIT, .cpu_ns = note->cpu_ns};
	int st = note->status;
	struct rein_err err = {0};

	out.status = note->sys == ENOENT ? 127
		     : note->sys	 ? 126
		     : WIFSIGNALED(st)	 ? 128 + WTERMSIG(st)
					 : WEXITSTATUS(st);
	record_end(d, v, out.status, note->cpu_ns, note->max_rss_kib);
	if (v->fd >= 0 && note->sys) {
		rein_err_set(&err, note->sys == ENOENT ? REIN_E_NOCMD : REIN_E_EXEC, "%s: %s",
			     v->name,
			     note->sys == ENOENT ? "command not found" : strerror(note->sys));
		refuse(v, &err);
	} else if (v->fd >= 0) {
		rein_door_send(v->fd, &out, NULL, 0);
	}
	v->guest = 0;
	leave(v);
}

void rein_door_note(struct rein_door *d, const struct rein_box_note *note, int fds[REIN_BOX_FDS])
{
	struct rein_door_note out = {.magic = REIN_DOOR_MAGIC, .kind = REIN_DOOR_STARTED};
	struct rein_visitor *v = whose(d, note->guest);

	if (!v)
		return;
	if (note->kind == REIN_BOX_MSG_GONE) {
		on_gone(d, v, note);
		return;
	}
	v->is = REIN_VISITOR_RUNNING;
	/* it may have gone away while its command was being started: nobody holds the other end
	 * then */
	if (v->fd < 0 || !rein_door_send(v->fd, &out, fds, fds[0] >= 0))
		on_hang_up(d, v);
}

void rein_door_close(struct rein_door *d)
{
	if (d->listener < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(d->v); i++) {
		struct rein_visitor *v = &d->v[i];

		if (v->guest)
			record_end(d, v, 128 + SIGKILL, 0, 0);
		if (v->fd >= 0)
			say(v, REIN_DOOR_ENDED, 0, "");
		rein_closep_(&v->fd);
		*v = (struct rein_visitor){.fd = -1};
	}
	d->relay->tap = NULL;
	rein_closep_(&d->epoll);
	rein_closep_(&d->listener);
	d->epoll = d->listener = -1;
}
