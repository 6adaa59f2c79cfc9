/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts to leave the box, made from inside it. Each is one function that tries a thing and says
 * whether what must happen happened. The table in main.c names them; tests/escape/run sets the scene
 * outside, starts them in every kind of box, and looks at the host afterwards.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The kind of box, given by the driver. */
enum {
	BOX_ROOT = 1 << 0,	/* started by root */
	BOX_WHOLE = 1 << 1,	/* --whole-system: writes anywhere land in a copy */
	BOX_NET_HOST = 1 << 2,	/* --net host */
	BOX_NESTED = 1 << 3,	/* --nested */
	BOX_CAPS = 1 << 4,	/* keeps the capabilities of files */
	BOX_TTY = 1 << 5,	/* on a terminal */
	BOX_GVISOR = 1 << 6,	/* in a kernel of its own: see gvisor.c */
	BOX_READER = 1 << 7,	/* taken for somebody who only reads: even the workspace is read-only */
};

/* What the driver laid out. Every path is outside the workspace except ws. */
struct scene {
	unsigned box;
	char base[256];	   /* holds all of it */
	char ws[300];	   /* the workspace */
	char outside[300]; /* canaries, never writable */
	char home[300];
	char state[300];   /* Rein's own */
	char run[300];	   /* XDG_RUNTIME_DIR */
	char bin[300];	   /* rein, rein-box and this program */
	char tag[64];	   /* name of this run: abstract socket, files in /tmp and /run */
	pid_t victim;	   /* a process of the same user, outside */
	int tcp, udp;	   /* its ports on the loopback */
};

extern struct scene scene;

/* A verdict: NULL is well; "skip: ..." could not be tried; anything else says what went wrong. */
typedef const char *verdict;

verdict bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
verdict skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* rc must be -1 with one of the errnos, which end with 0. */
verdict refused(long rc, const char *what, ...) __attribute__((sentinel(0)));
#define REFUSED(call, ...) refused((long)(call), #call, __VA_ARGS__, NULL)
#define TRY(v)                                                                                     \
	do {                                                                                       \
		verdict why_ = (v);                                                                \
		if (why_)                                                                          \
			return why_;                                                               \
	} while (0)

#define E(n) ((void *)(long)(n))

/* "DIR/NAME" in one of a few static buffers. */
const char *in(const char *dir, const char *name);
/* NULL if the text of path does not contain what only hidden and outside-private files do. */
verdict no_secret_in(const char *path);
verdict no_secret_from(int fd, const char *what);
int write_text(const char *path, const char *text);
/* Run fn in a child; its exit status, or -1. */
int in_child(int (*fn)(void *), void *arg);

struct attempt {
	const char *name;
	verdict (*make)(void);
	unsigned only, never; /* kinds of box */
};

extern const struct attempt process_attempts[], mount_attempts[], file_attempts[],
	hidden_attempts[], socket_attempts[], kernel_attempts[], terminal_attempts[],
	nested_attempts[], last_attempts[];

/* What becomes of an attempt in gVisor's own kernel, where that is not what the host's would do. */
struct emulated {
	const char *name, *why;
	bool not_tried; /* it would end the one who makes the attempts */
};
extern const struct emulated gvisor_emulates[];

/* Outside: the process that is attacked. Logs whatever reaches it. */
int victim_main(int argc, char **argv);
/* Outside: a command on a terminal of its own. */
int terminal_main(int argc, char **argv);
/* Outside: run a command and see that no process of it is left. */
int watch_main(int argc, char **argv);
/* Outside: swap two names many times. */
int swap_main(int argc, char **argv);

#endif
