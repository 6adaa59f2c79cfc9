/* SPDX-License-Identifier: Apache-2.0 */
/* See executor.h, and launch.h for what everybody may call. */
#include "sandbox/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/launch.h"
#include "sys/priv.h"
#include "sys/sys.h"

uint32_t rein_executor_flags_(enum rein_net net)
{
	uint32_t flags = rein_is_root() ? REIN_PLAN_IDENTITY : REIN_PLAN_USERNS;

	if (geteuid() == 0)
		flags |= REIN_PLAN_ROOT;
	if (net != REIN_NET_HOST)
		flags |= REIN_PLAN_NETNS;
	return flags;
}

void rein_executor_reap_(struct rein_box *box, struct rusage *ru)
{
	siginfo_t si;

	if (box->reaped)
		return;
	while (sys_waitid(P_PIDFD, (id_t)box->spawn.pidfd, &si, WEXITED, ru) < 0 && errno == EINTR)
		;
	box->reaped = true;
}

static void end(struct rein_box *box)
{
	if (!box->reaped)
		sys_pidfd_send_signal(box->spawn.pidfd, SIGKILL);
	rein_executor_reap_(box, NULL);
	rein_spawn_done(&box->spawn);
}

static int open_box(enum rein_net net, const char *box_program, const struct rein_spawn_with *with,
		    struct rein_box **ret, struct rein_err *err)
{
	struct rein_box *box = rein_alloc(sizeof(*box));

	if (!box)
		return rein_err_nomem(err);
	if (rein_spawn_begin(rein_executor_flags_(net), box_program, with, &box->spawn, err) < 0) {
		rein_free(box);
		return -err->code;
	}
	box->program = box_program;
	*ret = box;
	return 0;
}

int rein_box_open(enum rein_net net, const char *box_program, struct rein_box **ret,
		  struct rein_err *err)
{
	return open_box(net, box_program, NULL, ret, err);
}

int rein_box_open_early(enum rein_net net, const char *box_program, struct rein_box **ret,
			struct rein_err *err)
{
	auto_close int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int streams[3] = {nothing, nothing, nothing};

	if (nothing < 0)
		return rein_err_errno(err, "/dev/null");
	if (open_box(net, box_program, &(struct rein_spawn_with){.streams = streams}, ret, err) < 0)
		return -err->code;
	(*ret)->spawn.early = true;
	return 0;
}

bool rein_box_fits(const struct rein_box *box, enum rein_net net)
{
	return rein_executor_flags_(net) == box->spawn.flags;
}

bool rein_box_lives(const struct rein_box *box)
{
	struct pollfd fd = {.fd = box->spawn.pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) == 0;
}

int rein_executor_replace_(struct rein_box *box, const struct rein_spawn_with *with, struct rein_err *err)
{
	struct rein_spawn again;

	if (rein_spawn_begin(box->spawn.flags, box->program, with, &again, err) < 0)
		return -err->code;
	end(box);
	box->spawn = again;
	box->reaped = false;
	return 0;
}

#define MAP_MAX 4095u /* less than a page, in one write: user_namespaces(7) */

static int write_identity(pid_t pid, const char *name, struct rein_err *err)
{
	auto_buf struct rein_buf to = REIN_BUF(MAP_MAX);
	char path[64], ours[64], from[128];
	unsigned long first, outer, n;
	FILE *f;

	snprintf(ours, sizeof(ours), "/proc/self/%s", name);
	f = fopen(ours, "re");
	if (!f)
		return rein_err_errno(err, "open %s", ours);
	while (fgets(from, sizeof(from), f))
		if (sscanf(from, "%lu %lu %lu", &first, &outer, &n) == 3)
			rein_buf_printf(&to, "%lu %lu %lu\n", first, first, n);
	fclose(f);
	/* half a map would be another one: ids that are ours would be nobody's in the box */
	if (to.failed)
		return rein_err_set(err, REIN_E_UNSUPPORTED, "%s has more than the kernel takes at once, %u bytes", ours,
				    MAP_MAX);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	{
		auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, to.p, to.n) != (ssize_t)to.n)
			return rein_err_errno(err, "write %s", path);
	}
	return 0;
}

int rein_executor_map_(const struct rein_box *box, struct rein_err *err)
{
	if (write_identity(box->spawn.pid, "uid_map", err) < 0 || write_identity(box->spawn.pid, "gid_map", err) < 0)
		return -err->code;
	return 0;
}

void rein_box_close(struct rein_box *box)
{
	if (!box)
		return;
	end(box);
	rein_free(box);
}
