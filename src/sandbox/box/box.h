/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor. It is pid 1 of the box, started by rein in a new pid (and user) namespace with a
 * socket to rein on descriptor 4 and, on descriptor 3, the place where the plan will be. It first
 * does what is the same in every box, then waits for the sealed plan and does what that says:
 *
 *	order -> separate -> prepare -> load -> mount -> confine -> spawn -> attend
 *	order -> begin -> load -> hold		(a holder: for a command under another kernel)
 *
 * [B1] Any step that fails ends the box (step_failed): nothing runs in half a box.
 * [B2] After confine nothing here has more rights than the command has.
 * [B3] When rein goes away the box goes away.
 * No heap, no stdio, no parsing beyond rein_plan_valid.
 */
#ifndef REIN_SANDBOX_BOX_BOX_H
#define REIN_SANDBOX_BOX_BOX_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "sandbox/plan.h"

/* The box's own tmpfs: one file system whose directories are mounted at several places. */
struct box_private {
	int fd;
	int proc, sys, pts; /* made ahead */
	int queues; /* POSIX message queues, mounted nowhere; or -1 */
	int devices[6];
};

/* What SYS_getdents64 gives. */
struct box_entry {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

/* A further command. */
struct box_guest {
	uint32_t number; /* rein's name for it; 0: a free place */
	pid_t pid;
	int starting; /* the pipe of one that has not executed its program yet; then -1 */
	int terminal; /* its master, until handed over; or -1 */
};

struct box {
	struct rein_box_order order;
	struct rein_plan *plan; /* NULL until it is there */
	struct box_private private;
	int control;
	int listener; /* seccomp notifications, until handed over */
	int terminal; /* master, until handed over */
	int slave;
	int given, reopened; /* standard input, if it is a file that was opened again; or -1 */
	int layer; /* an overlay: given to us, then the one we hand out; or -1 */
	int maker; /* the gate asks here for sockets of the box's; -1: nobody does */
	uint32_t ndevs, landlock;
	uint64_t devs[32];
	int kept[REIN_PLAN_KEPT]; /* mounts made ahead */
	bool go;		  /* the command may start */
	struct box_guest guests[REIN_BOX_GUESTS];
	bool held; /* everybody was stopped by order: that is nothing to report */
	struct rein_box_note early; /* a signal that came before there was a command; or NONE */
};

_Noreturn void box_step_failed(const struct box *box, enum rein_box_step step, uint32_t mount);
void box_send(const struct box *box, const struct rein_box_note *note, const int *fds, unsigned nfds);
int box_send_fds(int to, struct iovec *iov, const int *fds, unsigned nfds);
int box_receive(const struct box *box, struct rein_box_note *note); /* 0 at the end, or -1 */
/* The same with the descriptors that came with it; -1 where there is none. */
int box_receive_fds(const struct box *box, struct rein_box_note *note, int fds[REIN_BOX_FDS]);

void box_prepare(struct box *box);
/* Take messages until this one came. */
void box_await(struct box *box, uint32_t kind);

void box_mount(struct box *box);
void box_drop_bounding(const struct box *box, uint64_t kept);
void box_prepare_net(void);
void box_net(struct box *box);
void box_make_socket(struct box *box);
void box_confine(struct box *box);
_Noreturn void box_run(struct box *box);
void box_sample(const struct box *box); /* report how busy the box is */
/* Before there is a plan, and with it: see holder.c. */
void box_hold_begin(const struct box *box);
_Noreturn void box_hold(struct box *box);
/* A plan in this descriptor, sealed and checked, in memory of our own; NULL and errno if it is none. */
struct rein_plan *box_map_plan(int fd);
/* A stream that is a device of the host's like /dev/null becomes the box's own. -1: it cannot. */
int box_own_device(int fd);
/* A terminal of the box's own, as the plan wants it. 0, or -1 and errno. */
int box_open_terminal(const struct rein_plan *plan, int *master, int *slave);

/* What the kernel may say instead of "no": write a short string to a file below /proc. */
int box_write_file(const char *path, const char *text, size_t n);

#endif
