/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a terminal does to a command: signals of the user's terminal go to the command's process group, what stops
 * the command stops us, and who continues us continues it.
 */
#ifndef REIN_SANDBOX_CONSOLE_H
#define REIN_SANDBOX_CONSOLE_H

#include <sys/signalfd.h>

#include "model/box.h"
#include "sandbox/relay.h"

struct rein_console {
	struct rein_relay relay;
	bool asked;    /* somebody sent us SIGTSTP, and it was passed on */
	bool hung_up;  /* the user's terminal is gone */
	bool told;     /* it sent SIGINT to us, as to our whole process group */
	/*
	 * Nobody keeps the box's time and limits while we are stopped: it is to stand still, or to go on if it may. False:
	 * nobody would see to that, so we are not to be stopped.
	 */
	bool (*hold)(void *arg, bool still);
	void *hold_arg;
};

#define REIN_CONSOLE_INIT {.relay = {.input = -1, .output = -1, .master = -1}}

/* The box has handed its terminal over; it is ours from here on. */
void rein_console_begin(struct rein_console *c, int master);
/* A signal came to us; control: the executor's socket. */
void rein_console_signal(struct rein_console *c, int control, const struct signalfd_siginfo *si);
/*
 * The command was stopped by this signal. Returns when it may go on; at once, and it stays stopped, where neither a
 * terminal nor anybody who asked for it wants us to stop as well: its limits are ours to keep.
 */
void rein_console_stopped(struct rein_console *c, int control, int sig);
/* Of a command that is over: whether the user's terminal interrupted it, and who else has not heard of that. */
void rein_console_end(const struct rein_console *c, struct rein_box_result *r);
/* Carry what poll found for rein_relay_watch. */
void rein_console_move(struct rein_console *c, int control, const struct pollfd fds[3]);

#endif
