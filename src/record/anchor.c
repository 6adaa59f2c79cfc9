/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads kept elsewhere. Whoever owns the signing key and the files can write a new history; what he
 * cannot do is make it fit a head that was already written down in a place he does not own. Each
 * published head goes to a second file (another disk, another user's append-only file) and to the
 * system log; a command gets one when asked (rein audit anchor). Anchoring never fails an event:
 * the log itself is durable before.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/anchor.h"
#include "record/internal.h"

static int to_file(const char *path, struct rein_str line)
{
	auto_close int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	char text[REIN_RECORD_HEAD_SIZE + 1];
	int n = snprintf(text, sizeof(text), "%.*s\n", (int)line.n, line.p);

	if (fd < 0 || n < 0 || n >= (int)sizeof(text))
		return -1;
	return write(fd, text, (size_t)n) == n ? 0 : -1; /* one write: lines do not mix */
}

static int to_syslog(struct rein_str line)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char text[REIN_RECORD_HEAD_SIZE + 32];
	/* <110> = security audit facility, informational */
	int n = snprintf(text, sizeof(text), "<110>rein: head %.*s", (int)line.n, line.p);

	if (fd < 0 || n < 0 || n >= (int)sizeof(text))
		return -1;
	return sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&sa, sizeof(sa)) == n
		       ? 0
		       : -1;
}

void rein_record_anchor(struct rein_record *r, struct rein_str line)
{
	/* Failures are seen by `rein audit verify --anchor` as a gap, not here: see above. */
	if (r->config.anchor_path[0] && to_file(r->config.anchor_path, line) < 0)
		r->config.anchor_path[0] = '\0'; /* do not try again with this handle */
	if (r->config.anchor_syslog && to_syslog(line) < 0)
		r->config.anchor_syslog = false;
}

static int run_with_input(const char *command, struct rein_str line, struct rein_err *err)
{
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t fa;
	int p[2], status = 0, rc;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		return rein_err_errno(err, "start the anchor command");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[0], 0);
	rc = posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(p[0]);
	if (rc == 0) {
		/* 400 bytes: fits the pipe whether or not the command reads them */
		if (write(p[1], line.p, line.n) < 0 || write(p[1], "\n", 1) < 0)
			rc = errno;
		close(p[1]);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		close(p[1]);
	}
	errno = rc;
	if (rc)
		return rein_err_errno(err, "start the anchor command");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return rein_err_set(err, REIN_E_FAILED, "the anchor command failed with status %d",
				    WIFEXITED(status) ? WEXITSTATUS(status) : 128);
	return 0;
}

int rein_record_anchor_now(struct rein_record *r, const char *path, const char *command,
			   bool use_syslog, struct rein_err *err)
{
	struct rein_published pub;

	if (rein_record_sync(r, err) < 0 || rein_published_read(r->head_fd, &pub, err) < 0)
		return -err->code;
	if (!pub.present)
		return rein_err_set(err, REIN_E_NOTFOUND, "the record has no head yet");
	if (path && to_file(path, pub.line) < 0)
		return rein_err_errno(err, "write the head to '%s'", path);
	if (use_syslog && to_syslog(pub.line) < 0)
		return rein_err_errno(err, "send the head to the system log");
	if (command && run_with_input(command, pub.line, err) < 0)
		return -err->code;
	return 0;
}
