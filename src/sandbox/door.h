/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of a box that runs: a socket in Rein's state, STATE/live/.door-ID, at which the user it runs
 * for may ask for one more command in it, or to look at its terminal. The box's supervisor opens it when
 * it is first told to look up (SIGURG), so that a box nobody visits pays nothing.
 *
 * [D1] Only the same user, from the supervisor's own pid namespace, is answered: whoever is in a box is
 *      in another, whatever descriptor he got hold of.
 * [D2] What is asked for runs only after the supervisor's watch admitted it (judged and on the record).
 * [D3] No descriptor of a visitor's gets into the box but a pipe without a name.
 * [D4] A visitor that goes away takes the command it asked for along; the box's end ends all of them.
 *
 * A visitor (attach.h) sends RUN or LOOK, then what happens at its side; packets, one note each.
 */
#ifndef REIN_SANDBOX_DOOR_H
#define REIN_SANDBOX_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "model/box.h"
#include "sandbox/plan.h"
#include "sandbox/relay.h"

#define REIN_DOOR_MAGIC 0x31726f64u /* "dor1" */
#define REIN_DOOR_BYTES 4096u
#define REIN_DOOR_WORDS (1u << 20) /* bytes of a command line */

enum rein_door_kind {
	REIN_DOOR_NONE = 0,
	/* from a visitor */
	REIN_DOOR_RUN,	  /* a memory file of words, then pipes for the streams that are no terminals */
	REIN_DOOR_LOOK,	  /* at the box's terminal */
	REIN_DOOR_SIGNAL, /* status: which, for the command */
	REIN_DOOR_WINDOW, /* its terminal has this size now */
	REIN_DOOR_INPUT,  /* bytes, typed */
	/* to a visitor */
	REIN_DOOR_REFUSED, /* status: enum rein_code, bytes: why */
	REIN_DOOR_STARTED, /* with the command's terminal, if it has one; or it may look now */
	REIN_DOOR_EXIT,	   /* status as a shell reports it */
	REIN_DOOR_OUTPUT,  /* bytes of the box's terminal */
	REIN_DOOR_ENDED,   /* the box is gone; bytes: what there is to say to that */
};

enum rein_door_flag {
	REIN_DOOR_APPROVED = 1 << 0, /* RUN: a person said yes to it */
	REIN_DOOR_NO_INPUT = 1 << 1, /* LOOK: and touch nothing */
};

struct rein_door_note {
	uint32_t magic, kind;
	int32_t status;
	uint32_t flags;
	uint32_t tty_mask; /* RUN: which of 0, 1, 2 are terminals */
	uint32_t n;	   /* bytes used */
	struct winsize window;
	uint8_t termios[REIN_PLAN_TERMIOS];
	char term[64]; /* $TERM */
	uint64_t cpu_ns;
	char bytes[REIN_DOOR_BYTES];
};

/* One packet each. Sending never waits: false and EAGAIN if the other side does not keep up. */
bool rein_door_send(int fd, const struct rein_door_note *note, const int *fds, unsigned nfds);
/* 1, 0 at the end, -1 and errno (EAGAIN: nothing there). fds: -1 where there is none. */
int rein_door_receive(int fd, struct rein_door_note *note, int fds[REIN_BOX_FDS]);

/* The socket itself, in the directory of live boxes. */
int rein_door_listen(int state_fd, const char *id, struct rein_err *err);
/* errno ENOENT: it is not open (yet). */
int rein_door_connect(int state_fd, const char *id);
void rein_door_remove(int state_fd, const char *id);

/* ---- the supervisor's side ---- */

struct rein_visitor {
	int fd; /* -1: a free place */
	enum { REIN_VISITOR_NEW = 0, REIN_VISITOR_STARTING, REIN_VISITOR_RUNNING, REIN_VISITOR_LOOKING } is;
	uint32_t guest; /* its command; 0: none */
	uint64_t begun_ns;
	bool may_type;
	char name[64]; /* of its program, for errors */
};

struct rein_door {
	int epoll, listener; /* -1: not open */
	uint32_t last;	     /* guest's number */
	struct rein_visitor v[REIN_BOX_GUESTS];
	/* the box it belongs to */
	const struct rein_box_spec *spec;
	const int *control; /* to its executor */
	struct rein_relay *relay;
	const bool *paused;
};

#define REIN_DOOR_INIT {.epoll = -1, .listener = -1}

/* Once; later calls do nothing. Nobody waits for it: a visitor that finds no door says so. */
void rein_door_open(struct rein_door *d);
/* d->epoll is readable. */
void rein_door_serve(struct rein_door *d);
/* The executor's GUEST and GONE. The terminal is taken out of fds. */
void rein_door_note(struct rein_door *d, const struct rein_box_note *note, int fds[REIN_BOX_FDS]);
/* The box is dead. */
void rein_door_close(struct rein_door *d);

#endif
