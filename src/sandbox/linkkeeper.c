/* SPDX-License-Identifier: Apache-2.0 */
/* The process and the thread that asks it: descriptors in, a number back; at the end the list. */
#include "sandbox/linkkeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/linkgroup.h"
#include "sandbox/move.h"
#include "sys/aclaside.h"
#include "sys/passfd.h"
#include "sys/priv.h"

struct record {
	struct rein_linked x;
	char path[PATH_MAX];
};

/* What is asked, and up to two descriptors with it. */
struct ask {
	char what; /* 'h' hold a file, 'm' move a directory, 'e' end */
	unsigned flags;
	char name[NAME_MAX + 1], target[NAME_MAX + 1];
};

static bool ask(int sock, struct ask *a, const int *fds, size_t n)
{
	return rein_fds_send(sock, a, sizeof(*a), fds, (unsigned)n, 0) == (ssize_t)sizeof(*a);
}

static int answer(int sock)
{
	int rc = -EXDEV;

	while (recv(sock, &rc, sizeof(rc), 0) < 0)
		if (errno != EINTR)
			return -EXDEV;
	return rc;
}

/* False when nobody asks any more. */
static bool take(int sock, struct ask *a, int fds[2])
{
	return rein_fds_receive(sock, a, sizeof(*a), fds, 2, 0) == (ssize_t)sizeof(*a);
}

static void tell(int sock, struct rein_linkgroups *g)
{
	struct rein_linked_list l;
	static struct record r;

	rein_linkgroups_take(g, &l);
	for (size_t i = 0; i < l.n; i++) {
		size_t n = strlen(l.v[i].path) + 1;

		if (n > sizeof(r.path))
			continue;
		r.x = l.v[i];
		memcpy(r.path, l.v[i].path, n);
		if (send(sock, &r, offsetof(struct record, path) + n, MSG_NOSIGNAL) < 0)
			break;
	}
	rein_linked_done(&l);
}

/* Only what it needs stays open: whoever waits for an end of ours must not wait for it. */
static void keep_only(int *sock, int *box_root)
{
	int a = fcntl(*sock, F_DUPFD, 64), b = fcntl(*box_root, F_DUPFD, 64);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (a < 0 || b < 0 || dup2(a, 3) < 0 || dup2(b, 4) < 0)
		_exit(1);
	close_range(5, ~0u, 0);
	*sock = 3;
	*box_root = 4;
}

static void hold_inside(void *arg, int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		rein_linkgroups_hold(arg, fd);
}

/* The overlay refuses ids its namespace does not know; the private layer's own filesystem does not. */
static int copy_acl(void *arg, int from, int to, const char *name)
{
	auto_close int upper = rein_linkgroups_upper(arg, to);
	char source[64], target[64];
	static char value[65536];
	ssize_t n;

	snprintf(source, sizeof(source), "/proc/self/fd/%d/.", from);
	snprintf(target, sizeof(target), "/proc/self/fd/%d/.", upper);
	if (upper < 0 || !rein_aclaside_for(name))
		return -1;
	n = rein_aclaside_get(source, name, value, sizeof(value));
	return n > 0 ? rein_aclaside_set(target, name, value, (size_t)n) : -1;
}

__attribute__((noreturn)) static void serve(int sock, const struct rein_root *roots, size_t n,
					    int box_root, const atomic_bool *stop)
{
	struct rein_move_opts how = {.stop = stop, .hold = hold_inside, .copy_acl = copy_acl};
	struct rein_linkgroups *g;
	struct ask a;
	int fds[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* [K1] */
	keep_only(&sock, &box_root);
	rein_aclaside_start();
	rein_own_files_ns();
	how.arg = g = rein_linkgroups_new(roots, n, box_root, false);
	while (g && take(sock, &a, fds)) {
		int rc = 0;

		if (a.what == 'e') {
			tell(sock, g);
			break;
		}
		how.flags = a.flags;
		if (a.what == 'm')
			rc = rein_move_dir(fds[0], a.name, fds[1], a.target, &how);
		else
			rein_linkgroups_hold(g, fds[0]);
		rein_closep_(&fds[0]);
		rein_closep_(&fds[1]);
		if (send(sock, &rc, sizeof(rc), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

bool rein_linkkeeper_start(struct rein_linkkeeper *k, const struct rein_root *roots, size_t n,
			   int box_root, const atomic_bool *stop)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		serve(pair[1], roots, n, box_root, stop);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return false;
	}
	k->pid = pid;
	k->sock = pair[0];
	return true;
}

void rein_linkkeeper_hold(struct rein_linkkeeper *k, int fd)
{
	struct ask a = {.what = 'h'};

	if (ask(k->sock, &a, &fd, 1))
		answer(k->sock);
}

int rein_linkkeeper_move(struct rein_linkkeeper *k, int from, const char *name, int to,
			 const char *target, unsigned flags)
{
	struct ask a = {.what = 'm', .flags = flags};
	const int fds[2] = {from, to};

	if ((size_t)snprintf(a.name, sizeof(a.name), "%s", name) >= sizeof(a.name) ||
	    (size_t)snprintf(a.target, sizeof(a.target), "%s", target) >= sizeof(a.target))
		return -ENAMETOOLONG;
	return ask(k->sock, &a, fds, 2) ? answer(k->sock) : -EXDEV;
}

void rein_linkkeeper_end(struct rein_linkkeeper *k, struct rein_linked_list *ret)
{
	struct ask end = {.what = 'e'};
	struct record r;
	ssize_t n;

	if (!k->pid)
		return;
	if (send(k->sock, &end, sizeof(end), MSG_NOSIGNAL) > 0)
		while ((n = recv(k->sock, &r, sizeof(r), 0)) > (ssize_t)offsetof(struct record, path)) {
			r.path[(size_t)n - offsetof(struct record, path) - 1] = 0;
			rein_linked_add(ret, &r.x, rein_strdup(r.path));
		}
	close(k->sock);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	k->pid = 0;
}
