/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up rights, in an order in which each step still can be made: user namespace, capabilities,
 * no new privileges, Landlock, the system call filter. When this returns, pid 1 holds no more than
 * the command will [B2].
 */
#include "sandbox/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/caps.h"
#include "sys/landlock.h"
#include "sys/mountfd.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* The maps of an identity namespace need rights over the outer one: rein writes them. */
static void enter_identity(struct box *box)
{
	struct rein_box_note note = {.kind = REIN_BOX_MSG_MAP};

	if (unshare(CLONE_NEWUSER) < 0)
		box_step_failed(box, REIN_STEP_USERNS, 0);
	box_send(box, &note, NULL, 0);
	box_await(box, REIN_BOX_MSG_MAPPED);
}

/*
 * uid 0 gets its capabilities back at every exec, from the bounding set: that is emptied first.
 * Those to be kept stay in the bounding, permitted and, for a command that is not uid 0, ambient set.
 */
void box_drop_bounding(const struct box *box, uint64_t kept)
{
	for (int cap = 0; cap < 64; cap++) {
		if (kept & SYS_CAP(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break; /* past the last one this kernel has */
			box_step_failed(box, REIN_STEP_CAPS, 0);
		}
	}
}

/* The runtime was told to leave none: nothing runs where it did. */
static void check_bounding(const struct box *box)
{
	for (int cap = 0; cap < 64; cap++) {
		int rc = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (rc < 0 && errno == EINVAL)
			break; /* past the last one this kernel has */
		errno = EPERM;
		if (rc != 0)
			box_step_failed(box, REIN_STEP_CAPS, 0);
	}
}

static void drop_caps(const struct box *box)
{
	uint64_t kept = box->plan->caps;

	if (box->plan->flags & REIN_PLAN_CONTAINED) {
		if (box->plan->flags & REIN_PLAN_GATE)
			box_drop_bounding(box, 0); /* it had those for the network */
		check_bounding(box);
	} else if (!(box->plan->flags & REIN_PLAN_USERNS))
		box_drop_bounding(box, kept); /* else done long ago, and nothing is kept */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0 || sys_caps_set(kept, kept, kept) < 0 ||
	    (kept && sys_caps_raise_ambient(kept) < 0))
		box_step_failed(box, REIN_STEP_CAPS, 0);
}

/* Writes only where the plan made something writable. */
static uint64_t landlock_rights(int abi)
{
	uint64_t rights = SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_REMOVE_DIR |
			  SYS_LANDLOCK_REMOVE_FILE | SYS_LANDLOCK_MAKE_CHAR |
			  SYS_LANDLOCK_MAKE_DIR | SYS_LANDLOCK_MAKE_REG | SYS_LANDLOCK_MAKE_SOCK |
			  SYS_LANDLOCK_MAKE_FIFO | SYS_LANDLOCK_MAKE_BLOCK |
			  SYS_LANDLOCK_MAKE_SYM | SYS_LANDLOCK_REFER;

	return abi >= 3 ? rights | SYS_LANDLOCK_TRUNCATE : rights;
}

static void landlock_allow(const struct box *box, int ruleset, uint32_t index, uint64_t rights)
{
	const struct rein_plan_mount *m = &rein_plan_mounts(box->plan)[index];
	const uint64_t for_files = SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_TRUNCATE;
	int fd = open(rein_plan_str(box->plan, m->target), O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && m->flags & REIN_MOUNT_OPTIONAL)
		return;
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    sys_landlock_allow(ruleset, fd, S_ISDIR(st.st_mode) ? rights : rights & for_files) < 0)
		box_step_failed(box, REIN_STEP_LANDLOCK, index);
	close(fd);
}

/*
 * What the command was given to write to may also be opened again by name, /dev/stdout and the like.
 * A pipe or socket is on no file system that Landlock looks at.
 */
static void landlock_allow_streams(const struct box *box, int ruleset, uint64_t rights)
{
	struct stat st;

	for (int fd = 0; fd < 3; fd++) {
		if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || fstat(fd, &st) < 0 ||
		    !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
			continue;
		if (sys_landlock_allow(ruleset, fd,
				       rights & (SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_TRUNCATE)) < 0 &&
		    errno != EBADFD && errno != EINVAL)
			box_step_failed(box, REIN_STEP_LANDLOCK, 0);
	}
}

/*
 * ABI 1 cannot allow moving a file to another directory at all, which no ordinary program survives:
 * there the wall is left out (and reported by the probe).
 */
static void enforce_landlock(struct box *box)
{
	int abi = sys_landlock_abi(), ruleset;
	struct sys_landlock_ruleset rules = {.handled_access_fs = landlock_rights(abi)};

	if (abi < 2)
		return;
	if (abi >= 6)
		rules.scoped = SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX | SYS_LANDLOCK_SCOPE_SIGNAL;
	ruleset = sys_landlock_create(&rules, abi);
	if (ruleset < 0)
		box_step_failed(box, REIN_STEP_LANDLOCK, 0);
	for (uint32_t i = 0; i < box->plan->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(box->plan)[i];

		if (m->kind == REIN_MOUNT_OVERLAY || m->kind == REIN_MOUNT_PRIVATE ||
		    m->kind == REIN_MOUNT_DEV || m->kind == REIN_MOUNT_PROC ||
		    (m->kind == REIN_MOUNT_BIND && !(m->flags & REIN_MOUNT_RDONLY)))
			landlock_allow(box, ruleset, i, rules.handled_access_fs);
	}
	landlock_allow_streams(box, ruleset, rules.handled_access_fs);
	/* mq_open(3) knows no paths, but its queues are files, in a file system that nobody has to mount */
	if (box->private.queues >= 0 && sys_landlock_allow(ruleset, box->private.queues, rules.handled_access_fs) < 0)
		box_step_failed(box, REIN_STEP_LANDLOCK, 0);
	if (sys_landlock_restrict(ruleset) < 0)
		box_step_failed(box, REIN_STEP_LANDLOCK, 0);
	close(ruleset);
	box->landlock = (uint32_t)abi;
}

/*
 * At a limit of one byte, and at no other, the kernel runs no program on a crash: core(5). Where even the hard limit is
 * nothing it cannot be set; those programs are told of it, and keep nothing.
 */
static void forbid_cores(const struct box *box)
{
	const uint64_t one[2] = {1, 1};
	uint64_t was[2];

	if (syscall(SYS_prlimit64, 0, RLIMIT_CORE, 0, was) < 0 ||
	    (was[1] && syscall(SYS_prlimit64, 0, RLIMIT_CORE, one, 0) < 0))
		box_step_failed(box, REIN_STEP_CORES, 0);
}

/*
 * WAIT_KILLABLE_RECV (Linux 5.19): once rein has picked a notification up, only a fatal signal may
 * interrupt the caller; otherwise a rename that was carried out would be asked for twice. Without it
 * no listener: renames of old directories then answer EXDEV, as overlayfs does by itself.
 */
static void install_filter(struct box *box)
{
	struct sock_fprog program = {
		.len = (unsigned short)box->plan->nfilter,
		.filter = (struct sock_filter *)((char *)box->plan + box->plan->filter),
	};
	bool notify = box->plan->flags & REIN_PLAN_NOTIFY;
	unsigned flags = notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER |
					  SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
				: 0;
	long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	if (rc < 0)
		box_step_failed(box, REIN_STEP_SECCOMP, 0);
	if (notify)
		box->listener = (int)rc;
}

int box_open_terminal(const struct rein_plan *plan, int *master, int *slave)
{
	int unlock = 0;

	*slave = -1;
	*master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || ioctl(*master, TIOCSPTLCK, &unlock) < 0)
		return -1;
	*slave = ioctl(*master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0 || ioctl(*slave, TCSETS, plan->termios) < 0)
		return -1;
	return ioctl(*slave, TIOCSWINSZ, &plan->window);
}

static void open_terminal(struct box *box)
{
	if (box_open_terminal(box->plan, &box->terminal, &box->slave) < 0 ||
	    ioctl(box->slave, TIOCSCTTY, 0) < 0)
		box_step_failed(box, REIN_STEP_TERMINAL, 0);
}

void box_confine(struct box *box)
{
	const struct rein_plan *p = box->plan;

	if (p->tty_mask)
		open_terminal(box);
	if (p->flags & REIN_PLAN_IDENTITY)
		enter_identity(box);
	drop_caps(box);
	/* Changing credentials cleared it; the socket's end is the second lifeline [B3]. */
	if (!(p->flags & REIN_PLAN_CONTAINED) && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		box_step_failed(box, REIN_STEP_CAPS, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		box_step_failed(box, REIN_STEP_NNP, 0);
	if (p->flags & REIN_PLAN_LANDLOCK)
		enforce_landlock(box);
	if (p->flags & REIN_PLAN_NO_CORES)
		forbid_cores(box);
	install_filter(box); /* which keeps that limit */
	/* Nobody in the box may look into pid 1, though it has the same user id. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		box_step_failed(box, REIN_STEP_NNP, 0);
}
