/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the user's terminal and the box's own. The box never gets the user's: it could type into it.
 *
 * The user's terminal is put into raw mode only while the command uses the box's: at once when both
 * input and output are terminals, else (in a pipeline, where somebody else may be reading the
 * keyboard) when the command first reads from it or changes its settings, which the kernel reports by
 * stopping it with SIGTTIN or SIGTTOU.
 *
 * [R1] Whatever was changed on the user's terminal is restored by rein_relay_leave, and leaving twice
 *      is harmless.
 */
#ifndef REIN_SANDBOX_RELAY_H
#define REIN_SANDBOX_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "sandbox/plan.h"

struct rein_relay {
	unsigned mask; /* which of 0, 1, 2 are terminals; 0: nothing to relay */
	int input, output;
	bool own_output; /* ours to close: see rein_relay_begin */
	int master; /* owned; -1 until the box hands it over */
	bool wanted; /* the command uses the terminal */
	bool raw, ended;
	struct termios saved;
	/*
	 * We began in the background: the box's terminal began with what the one who had the user's had made of it, a
	 * shell that edits its line perhaps. It gets others with the first turn in the foreground, if it still has these.
	 */
	bool borrowed;
	struct termios begun;
	char to_box[4096], to_user[32768];
	size_t to_box_n, to_user_n;
	uint64_t carried; /* bytes that came out of the box */
	bool painted;	  /* among them what drives a terminal */
	bool interrupt;	  /* the user typed the interrupt key into the box's terminal */
	void (*tap)(void *arg, const char *p, size_t n); /* sees them, too; or NULL */
	void *tap_arg;
};

/* Look at 0, 1 and 2, note what the box's terminal must be like. */
void rein_relay_prepare(struct rein_relay *r, struct rein_plan_setup *setup);
/* The box's terminal is there; it is the relay's from now on. */
void rein_relay_begin(struct rein_relay *r, int master);
/* Are we in the foreground of the user's terminal? */
bool rein_relay_foreground(const struct rein_relay *r);
void rein_relay_enter(struct rein_relay *r); /* raw, if wanted and in the foreground */
void rein_relay_leave(struct rein_relay *r); /* as it was before */
void rein_relay_resize(const struct rein_relay *r);

/* fds[0] the user's input, fds[1] the user's output, fds[2] the box's terminal. */
void rein_relay_watch(const struct rein_relay *r, struct pollfd fds[3]);
/* Move what can be moved. False when the user's terminal is gone. */
bool rein_relay_move(struct rein_relay *r, const struct pollfd fds[3]);
/* Typed by somebody else than the user. What the box is too slow for is lost, as at any terminal. */
void rein_relay_type(struct rein_relay *r, const char *p, size_t n);
/* The box is dead: bring out what is left, close. */
void rein_relay_drain(struct rein_relay *r);

#endif
