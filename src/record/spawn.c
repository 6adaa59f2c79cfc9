/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input goes into a file without a name, not into a pipe: a command need not read it, and one
 * that does not must not block us. The command gets a process group of its own, so that a timeout
 * ends all of it.
 */
#include "record/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"

static int input_file(struct rein_str input, struct rein_err *err)
{
	int fd = memfd_create("rein-input", MFD_CLOEXEC);

	if (fd < 0)
		return rein_err_errno(err, "hand over the input");
	if (write(fd, input.p, input.n) != (ssize_t)input.n || lseek(fd, 0, SEEK_SET) < 0) {
		rein_err_errno(err, "hand over the input");
		close(fd);
		return -err->code;
	}
	return fd;
}

static int start(char *const argv[], int input, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none, all;
	int rc;

	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&at);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
					      POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setsigdefault(&at, &all);
	rc = posix_spawn_file_actions_adddup2(&fa, input, 0);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &fa, &at, argv, environ);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	return rc;
}

/* False: it did not end in time and was killed. */
static bool wait_for(pid_t pid, uint64_t timeout_ns, int *status)
{
	uint64_t began = rein_mono_ns(), pause_ns = 200000;

	for (;;) {
		struct timespec ts = {.tv_nsec = (long)pause_ns};
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR)
			return false;
		if (rein_mono_ns() - began > timeout_ns) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, status, 0) < 0 && errno == EINTR)
				;
			return false;
		}
		nanosleep(&ts, NULL);
		pause_ns = pause_ns < 20000000 ? pause_ns * 2 : pause_ns;
	}
}

int rein_spawn_fed(char *const argv[], struct rein_str input, uint64_t timeout_ns,
		   struct rein_err *err)
{
	auto_close int fd = input_file(input, err);
	int status = 0, rc;
	pid_t pid = 0;

	if (fd < 0)
		return -err->code;
	rc = start(argv, fd, &pid);
	if (rc) {
		errno = rc;
		return rein_err_errno(err, "start '%s'", argv[0]);
	}
	if (!wait_for(pid, timeout_ns, &status))
		return rein_err_set(err, REIN_E_FAILED,
				    "'%s' did not end within %llu s and was killed", argv[0],
				    (unsigned long long)(timeout_ns / REIN_NS_PER_S));
	if (WIFSIGNALED(status))
		return rein_err_set(err, REIN_E_FAILED, "'%s' was killed by signal %d", argv[0],
				    WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return rein_err_set(err, REIN_E_FAILED, "'%s' failed with status %d", argv[0],
				    WEXITSTATUS(status));
	return 0;
}

int rein_spawn_shell(const char *command, struct rein_str input, uint64_t timeout_ns,
		     struct rein_err *err)
{
	char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t)command, NULL};

	return rein_spawn_fed(argv, input, timeout_ns, err);
}
