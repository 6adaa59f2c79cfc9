/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: everything the executor needs, decided beforehand, in one flat block of memory that is
 * sealed into a memfd. It holds no pointers, only offsets from its own start, and every count has a
 * maximum, so that the executor can check it whole before it acts on any of it.
 *
 *	struct rein_plan | mounts | batches | argv | envp | filter | messages | strings
 *
 * argv and envp are arrays of 64-bit offsets, ended by a zero, that the executor turns into pointers
 * in its private copy. An offset of zero means "none".
 */
#ifndef REIN_SANDBOX_PLAN_H
#define REIN_SANDBOX_PLAN_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "model/box.h"

#define REIN_PLAN_MAGIC	 0x31706e72u /* "rnp1" */
#define REIN_PLAN_MAX	 (64u << 20)
#define REIN_PLAN_MOUNTS 8192u
#define REIN_PLAN_KEPT	 512u /* mounts made ahead and held as descriptors */
#define REIN_PLAN_WORDS	 (1u << 20)
#define REIN_PLAN_PATHLEN 4095u

/* Descriptors the executor starts with, besides 0, 1 and 2. */
#define REIN_BOX_PLAN_FD    3
#define REIN_BOX_CONTROL_FD 4
#define REIN_BOX_QUEUES	    "/dev/mqueue" /* contained: where the runtime mounts them, if the kernel has any */
#define REIN_BOX_STREAMS_FD 5 /* contained: this and the next two are 0, 1 and 2, which the runtime must not touch */

/*
 * What must be known before the plan is: the first message on the socket. The executor makes its
 * namespaces and whatever else is the same in every box while the plan is still being drawn; then
 * the plan, sealed, is announced by REIN_BOX_MSG_PLAN.
 */
struct rein_box_order {
	uint32_t magic;
	uint32_t flags; /* REIN_PLAN_ORDERED of the plan's */
	uint32_t uid, gid;
};

enum rein_plan_flag {
	REIN_PLAN_USERNS = 1 << 0,   /* it was started in a new user namespace: map its ids */
	REIN_PLAN_IDENTITY = 1 << 1, /* root: enter an identity user namespace after mounting */
	REIN_PLAN_NETNS = 1 << 2,    /* it has a network namespace of its own: bring lo up */
	REIN_PLAN_PIVOT = 1 << 3,    /* the first overlay becomes the root directory */
	REIN_PLAN_ROOT = 1 << 4,     /* host root: guard what uid 0 may write without capabilities */
	REIN_PLAN_NOTIFY = 1 << 5,   /* the filter has a listener: hand it out */
	REIN_PLAN_LANDLOCK = 1 << 6, /* second wall, where the kernel has it */
	REIN_PLAN_FOREGROUND = 1 << 7, /* the command owns its terminal from the start */
	REIN_PLAN_GATE = 1 << 8, /* the network leads to a gate: send the batches, hand out sockets */
	REIN_PLAN_CONTAINED = 1 << 9, /* a runtime made namespaces and mounts: only confine, then run */
	REIN_PLAN_HOLDER = 1 << 10, /* only make the network and hold it: another's kernel runs the command */
	REIN_PLAN_NO_CORES = 1 << 11, /* a crash would have a program run outside: it leaves no core (cores.h) */
	REIN_PLAN_CALLS = 1 << 12, /* it owns its terminal once it is stopped for using it: whatever its caller ignores */
	REIN_PLAN_FLAGS = (1 << 13) - 1,
	REIN_PLAN_ORDERED = REIN_PLAN_USERNS | REIN_PLAN_IDENTITY | REIN_PLAN_NETNS | REIN_PLAN_ROOT |
			    REIN_PLAN_CONTAINED | REIN_PLAN_HOLDER,
};

enum rein_plan_kind {
	REIN_MOUNT_NONE = 0, /* zeroed memory is no plan */
	REIN_MOUNT_OVERLAY,  /* source, upper, work, mask */
	REIN_MOUNT_BIND,     /* source, taken before anything is covered */
	REIN_MOUNT_FREEZE,   /* what is at target by then, read-only */
	REIN_MOUNT_HIDE_DIR, /* an empty directory nobody may enter */
	REIN_MOUNT_HIDE_FILE,
	REIN_MOUNT_PRIVATE, /* source names a directory of the box's own tmpfs */
	REIN_MOUNT_PROC,
	REIN_MOUNT_SYS,
	REIN_MOUNT_DEV,
	REIN_MOUNT_TEXT, /* a read-only file; source is what it says */
	REIN_MOUNT__MAX,
};

enum rein_plan_mount_flag {
	REIN_MOUNT_RDONLY = 1 << 0,
	REIN_MOUNT_MAKE = 1 << 1,     /* lies in the box's own tmpfs: make the mount point */
	REIN_MOUNT_FILE = 1 << 2,     /* source is not a directory */
	REIN_MOUNT_SINGLE = 1 << 3,   /* without the mounts below it */
	REIN_MOUNT_OPTIONAL = 1 << 4, /* if it is not there (any more), go on */
	REIN_MOUNT_GIVEN = 1 << 5,    /* overlay: an earlier box made it; it comes with MSG_PLAN */
	REIN_MOUNT_LENT = 1 << 6,     /* overlay: READY hands it out */
	REIN_MOUNT_CLOSED = 1 << 7,   /* with MAKE: the directory it lies in is its owner's alone */
	REIN_MOUNT_FLAGS = (1 << 8) - 1,
};

struct rein_plan_mount {
	uint32_t kind, flags;
	uint32_t target; /* absolute path */
	uint32_t source;
	uint32_t upper, work, mask; /* overlay */
};

/* Netlink messages, as they are to be sent. */
enum rein_plan_socket {
	REIN_SOCKET_ROUTE = 0,
	REIN_SOCKET_RULES,
	REIN_SOCKET_LOG,   /* stays open: the kernel's log comes there */
	REIN_SOCKET_QUEUE, /* stays open: held packets come there */
	REIN_SOCKET__MAX,
};

enum rein_plan_batch_flag {
	REIN_BATCH_OPTIONAL = 1 << 0, /* if the kernel does not have it, go on */
	REIN_BATCH_HOLD = 1 << 1,     /* one of several ways to do the same: not if one succeeded */
	REIN_BATCH_FLAGS = (1 << 2) - 1,
};

#define REIN_PLAN_BATCHES 16u

struct rein_plan_batch {
	uint32_t socket, flags;
	uint32_t at, size;
	uint32_t answers; /* the kernel gives if all is well */
};

/* What the kernel's own termios needs on every architecture; passed through unread. */
#define REIN_PLAN_TERMIOS 64

/* A resource limit the command starts with, soft and hard. */
struct rein_plan_rlimit {
	uint32_t resource, unused;
	uint64_t value;
};
#define REIN_PLAN_RLIMITS 8u

struct rein_plan {
	uint32_t magic, size;
	uint32_t flags;
	uint32_t uid, gid;
	uint32_t mounts, nmounts;
	uint32_t filter, nfilter;
	uint32_t batches, nbatches;
	uint32_t argv, nargv;
	uint32_t envp, nenvp;
	uint32_t cwd, hostname, search; /* search: the command's PATH, for looking it up */
	uint32_t tty_mask;		/* which of 0, 1, 2 are to be the box's own terminal */
	uint32_t sample_ms;		/* report CPU and output at this interval; 0: never */
	uint64_t caps;			/* capabilities kept */
	uint32_t nrlimits, umask;	/* umask: the command's, and its guests' */
	struct rein_plan_rlimit rlimits[REIN_PLAN_RLIMITS];
	struct winsize window;
	uint8_t termios[REIN_PLAN_TERMIOS];
};

/* Steps of the executor, for saying where it stopped. */
enum rein_box_step {
#define STEP(name, text) REIN_STEP_##name,
#include "sandbox/steps.def"
#undef STEP
	REIN_STEP__MAX,
};

enum rein_box_message {
	REIN_BOX_MSG_NONE = 0,
	REIN_BOX_MSG_FAIL,    /* step, sys, mount: could not build the box */
	REIN_BOX_MSG_MAP,     /* wants its id maps written from outside */
	REIN_BOX_MSG_NET,     /* the network's sockets, by bits of has; status: packets are held */
	REIN_BOX_MSG_READY,   /* confined; carries what has says, in the order of its bits */
	REIN_BOX_MSG_EXEC,    /* sys: the command could not be executed */
	REIN_BOX_MSG_STOPPED, /* status: the command was stopped by this signal */
	REIN_BOX_MSG_HELD,    /* everybody has the signal that stops: nobody goes on past it */
	REIN_BOX_MSG_SAMPLE,  /* cpu_ns, written so far by what runs now */
	REIN_BOX_MSG_EXIT,    /* status as wait(2) gives it, usage */
	REIN_BOX_MSG_GUEST,   /* guest was started; carries its terminal, if it has one */
	REIN_BOX_MSG_GONE,    /* guest ended: status, usage; or sys: it could not be started */
	/* to the box */
	REIN_BOX_MSG_PLAN, /* it is there, and sealed; carries the streams (has), and the overlay that is given, if one is */
	REIN_BOX_MSG_MAPPED,
	REIN_BOX_MSG_SIGNAL, /* status: signal, to guest or the command; sys 1: its group, 2: everybody */
	REIN_BOX_MSG_GO,	 /* what must be so before the command starts is so */
	REIN_BOX_MSG_FOREGROUND, /* give the command its terminal and let it go on */
	REIN_BOX_MSG_START, /* one more command: guest; a plan and the streams it says are no terminals */
};

/* Further commands at once. */
#define REIN_BOX_GUESTS 16

/* The most descriptors a message carries. */
#define REIN_BOX_FDS 10

/* READY says which descriptors follow. */
enum rein_box_has {
	REIN_BOX_HAS_LISTENER = 1 << 0,
	REIN_BOX_HAS_TERMINAL = 1 << 1,
	REIN_BOX_HAS_LAYER = 1 << 2,
	REIN_BOX_HAS_NETNS = 1 << 3, /* of a holder */
	REIN_BOX_HAS_STREAMS = 1 << 4, /* PLAN: standard input, output and error, before the overlay */
};

struct rein_box_note {
	uint32_t kind, step;
	int32_t sys, status;
	uint32_t mount, has;
	uint32_t guest; /* which further command; 0: the command itself */
	uint32_t alive; /* EXIT: so many processes were there, with the command; unreaped ones count */
	uint64_t cpu_ns, written;
	uint64_t max_rss_kib;
	uint32_t ndevs; /* READY: st_dev of the overlays, which is where renames are helped with */
	uint32_t landlock;
	uint64_t devs[32];
};

/* What the launcher adds to the specification. */
struct rein_plan_setup {
	uint32_t flags, uid, gid;
	uint32_t tty_mask, sample_ms;
	struct winsize window;
	uint8_t termios[REIN_PLAN_TERMIOS];
	const struct sock_filter *filter;
	uint32_t nfilter;
	const char *bundle; /* certificates the box is to trust; or NULL */
	uint32_t nrlimits;
	struct rein_plan_rlimit rlimits[REIN_PLAN_RLIMITS];
};

/* Lay out the plan; *ret is the caller's (rein_free). */
int rein_plan_build(const struct rein_box_spec *spec, const struct rein_plan_setup *setup,
		    struct rein_plan **ret, struct rein_err *err);
/*
 * The plan of a further command in a box that runs: words, directory, terminal. It has no mounts, and
 * whatever else a plan can say of rights is not looked at: those are the box's.
 */
int rein_plan_build_guest(char **argv, char **envp, const char *cwd, const struct rein_plan_setup *setup,
			  struct rein_plan **ret, struct rein_err *err);
/* Is this block of memory a plan in every byte? Pure; no heap. */
bool rein_plan_valid(const void *memory, size_t size);

static inline const char *rein_plan_str(const struct rein_plan *plan, uint32_t offset)
{
	return (const char *)plan + offset;
}

static inline const struct rein_plan_batch *rein_plan_batches(const struct rein_plan *plan)
{
	return (const struct rein_plan_batch *)((const char *)plan + plan->batches);
}

static inline const struct rein_plan_mount *rein_plan_mounts(const struct rein_plan *plan)
{
	return (const struct rein_plan_mount *)((const char *)plan + plan->mounts);
}

#endif
