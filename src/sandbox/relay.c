/* SPDX-License-Identifier: Apache-2.0 */
/* See relay.h. Bytes are moved as they come. */
#include "sandbox/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"

/*
 * The kernel's own structure, whatever the C library makes of it: read and set unread. Only its first
 * bytes are used on any architecture.
 */
void rein_relay_prepare(struct rein_relay *r, struct rein_plan_setup *setup)
{
	*r = (struct rein_relay){.input = -1, .output = -1, .master = -1};
	for (int fd = 0; fd < 3; fd++)
		if (ioctl(fd, TCGETS, setup->termios) == 0)
			r->mask |= 1u << fd;
	if (!r->mask)
		return;
	for (int fd = 2; fd >= 0; fd--)
		if (r->mask & 1u << fd)
			r->input = fd;
	r->output = r->mask & 2 ? 1 : r->mask & 4 ? 2 : 0;
	setup->tty_mask = r->mask;
	ioctl(r->input, TCGETS, setup->termios);
	ioctl(r->input, TIOCGWINSZ, &setup->window);
	r->borrowed = tcgetattr(r->input, &r->begun) == 0 && !rein_relay_foreground(r);
	/* Keyboard and screen are both the command's: it is an interactive one. */
	r->wanted = (r->mask & 3) == 3 && rein_relay_foreground(r);
	if (r->wanted)
		setup->flags |= REIN_PLAN_FOREGROUND;
	else if (rein_relay_foreground(r))
		setup->flags |= REIN_PLAN_CALLS;
}

/*
 * The user's terminal may not take anything for as long as it likes, and whoever waits for it in write(2) keeps no
 * time, no limit and no order meanwhile. That one does not wait is said of an opened file, which is also others', so
 * the terminal is opened once more. Where that is not allowed it is written to as it is.
 */
void rein_relay_begin(struct rein_relay *r, int master)
{
	char path[32];
	int own;

	r->master = master;
	fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->output);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return;
	r->output = own;
	r->own_output = true;
}

bool rein_relay_foreground(const struct rein_relay *r)
{
	return r->mask && tcgetpgrp(r->input) == getpgrp();
}

/* From the background this would stop us; blocked, it just works or fails. */
static void set_terminal(const struct rein_relay *r, const struct termios *t)
{
	sigset_t ttou, old;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	while (tcsetattr(r->input, TCSADRAIN, t) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static bool ends_line(const struct termios *t, char c)
{
	return c == '\n' || (c && ((cc_t)c == t->c_cc[VEOL] || (cc_t)c == t->c_cc[VEOL2]));
}

/*
 * What was typed before we came is kept in lines, and an end of input between them is a mark that raw
 * mode would turn into a NUL byte. So whole lines are read as lines, and the mark goes on as the key.
 */
static void take_typed_ahead(struct rein_relay *r)
{
	struct pollfd in = {.fd = r->input, .events = POLLIN};
	const size_t room = sizeof(r->to_box) - 1; /* for the key */

	while (r->saved.c_lflag & ICANON && r->to_box_n < room && poll(&in, 1, 0) == 1 &&
	       in.revents == POLLIN) {
		char *at = r->to_box + r->to_box_n;
		ssize_t n = read(r->input, at, room - r->to_box_n);

		if (n < 0)
			return;
		r->to_box_n += (size_t)n;
		if ((n == 0 || !ends_line(&r->saved, at[n - 1])) && r->to_box_n < room)
			r->to_box[r->to_box_n++] = (char)r->saved.c_cc[VEOF];
	}
}

/* But for what is a line's, which a terminal of the kernel's making has not. */
static bool is_same(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag &&
	       memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

/* What the command has chosen itself stays. */
static void give_settings(struct rein_relay *r)
{
	struct termios now;

	if (r->borrowed && r->master >= 0 && tcgetattr(r->master, &now) == 0 && is_same(&now, &r->begun))
		tcsetattr(r->master, TCSANOW, &r->saved);
	r->borrowed = false;
}

void rein_relay_enter(struct rein_relay *r)
{
	struct termios t;

	if (r->raw || !r->wanted || !rein_relay_foreground(r) || tcgetattr(r->input, &r->saved) < 0)
		return;
	give_settings(r);
	take_typed_ahead(r);
	t = r->saved;
	cfmakeraw(&t);
	r->raw = true;
	set_terminal(r, &t);
}

void rein_relay_leave(struct rein_relay *r)
{
	if (!r->raw)
		return;
	r->raw = false;
	set_terminal(r, &r->saved);
}

void rein_relay_resize(const struct rein_relay *r)
{
	struct winsize w;

	if (r->master >= 0 && ioctl(r->input, TIOCGWINSZ, &w) == 0)
		ioctl(r->master, TIOCSWINSZ, &w);
}

void rein_relay_watch(const struct rein_relay *r, struct pollfd fds[3])
{
	bool on = r->master >= 0;

	fds[0] = (struct pollfd){.fd = on && r->raw && !r->ended && !r->to_box_n ? r->input : -1,
				 .events = POLLIN};
	fds[1] = (struct pollfd){.fd = on && r->to_user_n ? r->output : -1, .events = POLLOUT};
	fds[2] = (struct pollfd){.fd = r->master,
				 .events = (short)((r->to_box_n ? POLLOUT : 0) |
						   (r->to_user_n ? 0 : POLLIN))};
	if (!fds[2].events)
		fds[2].fd = -1;
}

/* Write what fits, keep the rest. False if there is no use in keeping it. */
static bool flush(int fd, char *buf, size_t *n)
{
	ssize_t done = write(fd, buf, *n);

	if (done < 0)
		return errno == EAGAIN || errno == EINTR;
	*n -= (size_t)done;
	memmove(buf, buf + done, *n);
	return true;
}

/*
 * What can change how a terminal shows the text after it: an escape, or one of 8 bits; another set of letters. In text that
 * is not English there are such bytes, too, and then it is put right for nothing.
 */
static bool paints(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == 0x1b || c == 0x0e || (c >= 0x80 && c < 0xa0))
			return true;
	}
	return false;
}

static void from_box(struct rein_relay *r)
{
	ssize_t n = read(r->master, r->to_user, sizeof(r->to_user));

	if (n > 0) {
		r->to_user_n = (size_t)n;
		r->carried += (uint64_t)n;
		r->painted = r->painted || paints(r->to_user, r->to_user_n);
		if (r->tap)
			r->tap(r->tap_arg, r->to_user, r->to_user_n);
		return;
	}
	/* EIO: every holder of the other end is gone. */
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		rein_closep_(&r->master), r->master = -1;
}

bool rein_relay_move(struct rein_relay *r, const struct pollfd fds[3])
{
	if (fds[0].revents) {
		ssize_t n = read(r->input, r->to_box, sizeof(r->to_box));

		if (n > 0) {
			r->to_box_n = (size_t)n;
			r->interrupt = r->interrupt || memchr(r->to_box, r->saved.c_cc[VINTR], (size_t)n);
		} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
			r->ended = true;
		}
	}
	if (fds[2].revents & (POLLIN | POLLHUP | POLLERR) && !r->to_user_n)
		from_box(r);
	if (r->to_box_n && r->master >= 0 && !flush(r->master, r->to_box, &r->to_box_n))
		r->to_box_n = 0;
	if (r->to_user_n && !flush(r->output, r->to_user, &r->to_user_n))
		r->to_user_n = 0;
	return !r->ended;
}

void rein_relay_type(struct rein_relay *r, const char *p, size_t n)
{
	if (r->master < 0 || n > sizeof(r->to_box) - r->to_box_n)
		return;
	memcpy(r->to_box + r->to_box_n, p, n);
	r->to_box_n += n;
	if (!flush(r->master, r->to_box, &r->to_box_n))
		r->to_box_n = 0;
}

/*
 * The writers are dead, but their last bytes may still be on their way through the kernel: the end is
 * EIO, not EAGAIN. The user's terminal takes as long as it likes.
 */
void rein_relay_drain(struct rein_relay *r)
{
	const int patience_ms = 1000; /* should anybody outside hold the other end */

	while (r->master >= 0 || r->to_user_n) {
		struct pollfd out = {.fd = r->output, .events = POLLOUT};
		struct pollfd in = {.fd = r->master, .events = POLLIN};
		int rc = r->to_user_n ? poll(&out, 1, -1) : poll(&in, 1, patience_ms);

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			break;
		if (!r->to_user_n)
			from_box(r);
		else if (!flush(r->output, r->to_user, &r->to_user_n))
			r->to_user_n = 0;
	}
	rein_closep_(&r->master);
	r->master = -1;
	if (r->own_output)
		rein_closep_(&r->output), r->output = -1;
	r->own_output = false;
}
