/* SPDX-License-Identifier: Apache-2.0 */
/* rein-box: load the plan, identify, and hand over to mount, confine and run. See box.h. */
#include "sandbox/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static struct box the_box = {
	.private = {.queues = -1},
	.control = REIN_BOX_CONTROL_FD, .listener = -1, .terminal = -1, .slave = -1, .given = -1, .reopened = -1, .layer = -1,
	.maker = -1};

int box_send_fds(int to, struct iovec *iov, const int *fds, unsigned nfds)
{
	union {
		char bytes[CMSG_SPACE(REIN_BOX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 1};
	ssize_t n;

	if (nfds) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(to, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

void box_send(const struct box *box, const struct rein_box_note *note, const int *fds, unsigned nfds)
{
	struct iovec iov = {(void *)(uintptr_t)note, sizeof(*note)};

	if (box_send_fds(box->control, &iov, fds, nfds) < 0)
		_exit(125); /* nobody to tell: [B3] */
}

int box_receive(const struct box *box, struct rein_box_note *note)
{
	ssize_t n;

	do
		n = recv(box->control, note, sizeof(*note), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*note) ? 1 : n == 0 ? 0 : -1;
}

int box_receive_fds(const struct box *box, struct rein_box_note *note, int fds[REIN_BOX_FDS])
{
	union {
		char bytes[CMSG_SPACE(REIN_BOX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {note, sizeof(*note)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	for (int i = 0; i < REIN_BOX_FDS; i++)
		fds[i] = -1;
	do
		n = recvmsg(box->control, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; /* rein sends one at most */
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n == (ssize_t)sizeof(*note) ? 1 : n == 0 ? 0 : -1;
}

void box_await(struct box *box, uint32_t kind)
{
	struct rein_box_note note = {0};

	while (kind == REIN_BOX_MSG_GO ? !box->go : note.kind != kind) {
		if (box_receive(box, &note) <= 0)
			_exit(125); /* [B3] */
		if (note.kind == REIN_BOX_MSG_GO)
			box->go = true;
		else if (note.kind == REIN_BOX_MSG_SIGNAL)
			box->early = note;
	}
}

void box_step_failed(const struct box *box, enum rein_box_step step, uint32_t mount)
{
	struct rein_box_note note = {
		.kind = REIN_BOX_MSG_FAIL, .step = step, .sys = errno, .mount = mount};

	box_send(box, &note, NULL, 0);
	_exit(125);
}

int box_write_file(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t done;

	if (fd < 0)
		return -1;
	done = write(fd, text, n);
	close(fd);
	return done == (ssize_t)n ? 0 : -1;
}

static void take_order(struct box *box)
{
	ssize_t n;

	do
		n = recv(box->control, &box->order, sizeof(box->order), 0);
	while (n < 0 && errno == EINTR);
	errno = EINVAL;
	if (n != (ssize_t)sizeof(box->order) || box->order.magic != REIN_PLAN_MAGIC ||
	    box->order.flags & ~(uint32_t)REIN_PLAN_ORDERED)
		box_step_failed(box, REIN_STEP_PLAN, 0);
}

static bool as_ordered(const struct box *box, const struct rein_plan *plan)
{
	return (plan->flags & REIN_PLAN_ORDERED) == box->order.flags &&
	       plan->uid == box->order.uid && plan->gid == box->order.gid;
}

/* The plan must be sealed: what was checked is what is used. */
struct rein_plan *box_map_plan(int fd)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct stat st;
	void *p;

	errno = EINVAL;
	if (fcntl(fd, F_GET_SEALS) != seals || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    st.st_size > REIN_PLAN_MAX)
		return NULL;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	errno = EINVAL;
	if (!rein_plan_valid(p, (size_t)st.st_size)) {
		munmap(p, (size_t)st.st_size);
		errno = EINVAL;
		return NULL;
	}
	return p;
}

/*
 * A descriptor of the host's that can be walked or dialled from would lead out: a directory has
 * "..", a socket of the host's network can be connected again. Streams between two processes, files,
 * pipes and terminals are what they are.
 */
static bool stdio_ok(int fd)
{
	struct stat st;
	int domain = 0, type = 0;
	socklen_t n = sizeof(int);

	if (fstat(fd, &st) < 0)
		return false;
	if (fcntl(fd, F_GETFL) & O_PATH || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return false;
	if (!S_ISSOCK(st.st_mode))
		return true;
	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && domain == AF_UNIX &&
	       type != SOCK_DGRAM;
}

static void check_stdio(const struct box *box)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
			box_step_failed(box, REIN_STEP_STDIO, (uint32_t)fd);
		errno = EPERM;
		if (!stdio_ok(fd))
			box_step_failed(box, REIN_STEP_STDIO, (uint32_t)fd);
	}
}

/* Started ahead, it was born with whatever there was then; what it got is checked like that. */
static void take_streams(const struct box *box, const int *fds)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fds[fd] < 0 || dup2(fds[fd], fd) < 0)
			box_step_failed(box, REIN_STEP_STDIO, (uint32_t)fd);
		close(fds[fd]);
	}
	check_stdio(box);
}

static struct rein_plan *load(struct box *box)
{
	struct rein_box_note note;
	struct rein_plan *p;
	int fds[REIN_BOX_FDS];

	if (box_receive_fds(box, &note, fds) <= 0 || note.kind != REIN_BOX_MSG_PLAN)
		_exit(125); /* rein thought better of it: [B3] */
	if (note.has & REIN_BOX_HAS_STREAMS)
		take_streams(box, fds);
	box->layer = fds[note.has & REIN_BOX_HAS_STREAMS ? 3 : 0];
	p = box_map_plan(REIN_BOX_PLAN_FD);
	if (!p)
		box_step_failed(box, REIN_STEP_PLAN, 0);
	errno = EINVAL;
	if (!as_ordered(box, p))
		box_step_failed(box, REIN_STEP_PLAN, 0);
	close(REIN_BOX_PLAN_FD);
	return p;
}

/* A caller's odd execution domain (readable means executable, no page at zero ...) ends here. */
static void check_personality(const struct box *box)
{
	const unsigned long harmless = PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE;
	long now = syscall(SYS_personality, 0xffffffffl);

	if (now < 0 || ((unsigned long)now & ~harmless &&
			syscall(SYS_personality, (unsigned long)now & harmless) < 0))
		box_step_failed(box, REIN_STEP_STDIO, 3);
}

static size_t put_number(char *to, uint32_t v)
{
	char digits[10];
	size_t n = 0, len;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (len = 0; n; len++)
		to[len] = digits[--n];
	return len;
}

/* "ID ID 1": inside is who it is outside. */
static int write_map(const char *path, uint32_t id)
{
	char line[32];
	size_t n = put_number(line, id);

	line[n++] = ' ';
	n += put_number(line + n, id);
	memcpy(line + n, " 1", 2);
	return box_write_file(path, line, n + 2);
}

static void map_ids(const struct box *box)
{
	/* Without this an unprivileged gid_map is refused: groups could be dropped, user_namespaces(7). */
	if (box_write_file("/proc/self/setgroups", "deny", 4) < 0 ||
	    write_map("/proc/self/gid_map", box->order.gid) < 0)
		box_step_failed(box, REIN_STEP_GID_MAP, 0);
	if (write_map("/proc/self/uid_map", box->order.uid) < 0)
		box_step_failed(box, REIN_STEP_UID_MAP, 0);
}

static void raise_loopback(const struct box *box)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EAFNOSUPPORT)
		return; /* a kernel without IPv4 has no loopback to offer */
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		box_step_failed(box, REIN_STEP_LOOPBACK, 0);
	close(fd);
}

/* The namespaces but those it was born in, and who it is in them. */
static void separate(const struct box *box)
{
	const uint32_t flags = box->order.flags;

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
		    (flags & REIN_PLAN_NETNS ? CLONE_NEWNET : 0)) < 0)
		box_step_failed(box, REIN_STEP_NAMESPACES, 0);
	if (flags & REIN_PLAN_USERNS)
		map_ids(box);
	/*
	 * Session leader here, the command in a process group of its own: a group whose parent is in
	 * the same session is not orphaned, so the command can be stopped like a shell's job.
	 */
	if (setsid() < 0)
		box_step_failed(box, REIN_STEP_SESSION, 0);
	if (flags & REIN_PLAN_NETNS)
		raise_loopback(box);
	/* It rules over later execs only; as root a new user namespace will fill it once more. */
	if (flags & REIN_PLAN_USERNS)
		box_drop_bounding(box, 0);
}

static void name_host(const struct box *box)
{
	const char *name = rein_plan_str(box->plan, box->plan->hostname);

	if (sethostname(name, strlen(name)) < 0)
		box_step_failed(box, REIN_STEP_HOSTNAME, 0);
}

/*
 * A file given for reading is on the host's own mount, where it could be opened again for writing
 * through /proc, and its mode and times changed. So the same file is opened as the box sees it:
 * read-only, or its copy. What has no name here (deleted, hidden) stays as it is. The two do not share
 * their place in the file: it is carried over at the end.
 */
static void reopen_stdin(struct box *box)
{
	static char path[PATH_MAX];
	struct stat was, is;
	int flags = fcntl(0, F_GETFL), fd;
	ssize_t n;

	if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || fstat(0, &was) < 0 || !S_ISREG(was.st_mode))
		return;
	n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/fd/0", path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return;
	path[n] = 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (flags & (O_NONBLOCK | O_DIRECT)));
	if (fd < 0)
		return;
	/* On an overlay the device is another, the rest is the same. */
	if (fstat(fd, &is) < 0 || is.st_ino != was.st_ino || is.st_size != was.st_size ||
	    is.st_mtim.tv_sec != was.st_mtim.tv_sec || is.st_mtim.tv_nsec != was.st_mtim.tv_nsec ||
	    syscall(SYS_lseek, fd, syscall(SYS_lseek, 0, 0, SEEK_CUR), SEEK_SET) < 0) {
		close(fd);
		return;
	}
	box->given = fcntl(0, F_DUPFD_CLOEXEC, 16);
	box->reopened = fcntl(fd, F_DUPFD_CLOEXEC, 16);
	if (box->given < 0 || box->reopened < 0 || dup2(fd, 0) < 0)
		box_step_failed(box, REIN_STEP_STDIO, 0);
	close(fd);
}

/*
 * The host's /dev/null, given as a stream, is on the host's own mount: whoever is its owner, root, could change its mode
 * for everybody. The same device as the box sees it is on one that is read-only.
 */
int box_own_device(int fd)
{
	static const struct {
		unsigned minor;
		const char *path;
	} memory[] = {{3, "/dev/null"}, {5, "/dev/zero"}, {7, "/dev/full"}, {8, "/dev/random"}, {9, "/dev/urandom"}};
	struct stat was, is;
	int flags = fcntl(fd, F_GETFL), own = -1;

	if (flags < 0 || fstat(fd, &was) < 0 || !S_ISCHR(was.st_mode) || major(was.st_rdev) != 1)
		return 0;
	for (size_t i = 0; own < 0 && i < sizeof(memory) / sizeof(memory[0]); i++)
		if (minor(was.st_rdev) == memory[i].minor)
			own = open(memory[i].path, O_CLOEXEC | (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)));
	errno = EPERM;
	if (own < 0 || fstat(own, &is) < 0 || is.st_rdev != was.st_rdev || dup2(own, fd) < 0)
		return -1;
	close(own);
	return 0;
}

int main(void)
{
	struct box *box = &the_box;
	bool contained;

	take_order(box);
	if (box->order.flags & REIN_PLAN_HOLDER) {
		box_hold_begin(box);
		box->plan = load(box);
		box_hold(box);
	}
	/*
	 * Signals from a terminal or a careless kill are rein's business: it forwards them. In a container
	 * the parent is a thread of the runtime's, whose end means nothing: there the socket's end is all [B3].
	 */
	if (!(box->order.flags & REIN_PLAN_CONTAINED))
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	contained = box->order.flags & REIN_PLAN_CONTAINED;
	for (int fd = 0; contained && fd < 3; fd++)
		if (dup2(REIN_BOX_STREAMS_FD + fd, fd) < 0 || close(REIN_BOX_STREAMS_FD + fd) < 0)
			box_step_failed(box, REIN_STEP_STDIO, (uint32_t)fd);
	check_stdio(box);
	check_personality(box);
	umask(0);
	if (!contained) {
		separate(box);
		box_prepare(box);
	}
	box->plan = load(box);
	if (!contained)
		name_host(box);
	if (box->plan->flags & REIN_PLAN_GATE)
		box_net(box);
	if (contained)
		box->private.queues = open(REIN_BOX_QUEUES, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	else
		box_mount(box);
	reopen_stdin(box);
	for (int fd = 0; fd < 3; fd++)
		if (box_own_device(fd) < 0)
			box_step_failed(box, REIN_STEP_STDIO, (uint32_t)fd);
	box_confine(box);
	box_run(box);
}
