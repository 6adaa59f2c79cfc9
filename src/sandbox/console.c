/* SPDX-License-Identifier: Apache-2.0 */
/* See console.h. */
#include "sandbox/console.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/live.h"

static void tell(int control, const struct rein_box_note *note)
{
	if (control >= 0)
		send(control, note, sizeof(*note), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void pass_on(int control, int sig, bool group)
{
	tell(control, &(struct rein_box_note){.kind = REIN_BOX_MSG_SIGNAL, .status = sig, .sys = group});
}

/* As the kernel does it, so that what is stopped hears of it too. */
static void hang_up(int control)
{
	pass_on(control, SIGHUP, true);
	pass_on(control, SIGCONT, true);
}

/*
 * A process group that no shell watches over cannot be continued by anybody, so the kernel does not
 * let a terminal stop it. Neither do we stop ourselves then. A shell that does is in our session and
 * not in our group; who is in the group as well (a script that started us) waits for it as we do.
 */
static bool is_orphaned(void)
{
	pid_t session = getsid(0), group = getpgrp();

	for (pid_t p = getppid(); p > 0 && getsid(p) == session; p = rein_live_parent_of(p))
		if (getpgid(p) != group)
			return false;
	return true;
}

/*
 * A terminal stops a whole process group: a shell in it that waits for us must be stopped as well, or the shell that watches
 * over both takes its job for one that runs, and never continues us. We do it ourselves, when the box stands still: what comes
 * to us of this is thrown away, also where it is blocked and has to wait, by ignoring it once more.
 */
static void stop_others(int sig)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction old;

	sigaction(sig, &ignore, &old);
	kill(0, sig);
	sigaction(sig, &ignore, NULL);
	sigaction(sig, &old, NULL);
}

/* As if the terminal had stopped our whole process group. Returns when somebody continues us. */
static void stop_ourselves(struct rein_console *c, int sig)
{
	rein_relay_leave(&c->relay);
	if (is_orphaned())
		return;
	stop_others(sig);
	if (c->hold(c->hold_arg, true))
		raise(SIGSTOP);
	c->hold(c->hold_arg, false);
}

/* Stopped by somebody else than us, we left the terminal as it was; a shell has made it its own meanwhile. */
static void notice_change(struct rein_relay *r)
{
	struct termios now;

	if (r->raw && tcgetattr(r->input, &now) == 0 && (now.c_lflag & ICANON || now.c_oflag & OPOST))
		r->raw = false;
}

/* The command may go on, with its terminal if it wants it and we have it to give. */
static void resume(struct rein_console *c, int control)
{
	notice_change(&c->relay);
	rein_relay_enter(&c->relay);
	rein_relay_resize(&c->relay);
	if (c->relay.raw)
		tell(control, &(struct rein_box_note){.kind = REIN_BOX_MSG_FOREGROUND});
	else
		pass_on(control, SIGCONT, true);
}

void rein_console_begin(struct rein_console *c, int master)
{
	rein_relay_begin(&c->relay, master);
	rein_relay_enter(&c->relay);
}

void rein_console_signal(struct rein_console *c, int control, const struct signalfd_siginfo *si)
{
	int sig = (int)si->ssi_signo;

	c->told |= sig == SIGINT && si->ssi_code == SI_KERNEL;
	if (sig == SIGWINCH)
		rein_relay_resize(&c->relay);
	else if (sig == SIGTSTP)
		c->asked = true, pass_on(control, sig, si->ssi_code == SI_KERNEL);
	else if (sig == SIGCONT)
		resume(c, control);
	else if (sig == SIGHUP && si->ssi_code == SI_KERNEL)
		hang_up(control);
	else
		pass_on(control, sig, si->ssi_code == SI_KERNEL);
}

void rein_console_stopped(struct rein_console *c, int control, int sig)
{
	/* a command that stops itself must not stop whoever watches over the rest of its box */
	if (!c->relay.mask && !c->asked && !is_orphaned())
		return;
	c->asked = false;
	if (c->relay.mask && (sig == SIGTTIN || sig == SIGTTOU)) {
		c->relay.wanted = true;
		if (!rein_relay_foreground(&c->relay))
			stop_ourselves(c, sig);
	} else {
		stop_ourselves(c, SIGTSTP);
	}
	resume(c, control);
}

void rein_console_end(const struct rein_console *c, struct rein_box_result *r)
{
	r->painted = c->relay.painted;
	r->interrupted = r->end == REIN_BOX_SIGNALED && r->status == 128 + SIGINT && (c->told || c->relay.interrupt);
	r->unheard = r->interrupted && !c->told;
}

void rein_console_move(struct rein_console *c, int control, const struct pollfd fds[3])
{
	const struct rein_relay *r = &c->relay;

	/* A shell brings a job that runs in the background to the front without a signal. */
	if (r->master >= 0 && r->wanted && !r->raw && rein_relay_foreground(r))
		resume(c, control);
	if (rein_relay_move(&c->relay, fds) || c->hung_up)
		return;
	c->hung_up = true;
	hang_up(control);
}
