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
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/anchor.h"
#include "record/internal.h"
#include "record/spawn.h"
#include "record/webhook.h"

#define COMMAND_NS (60 * REIN_NS_PER_S)

static int to_file(const char *path, struct rein_str line)
{
	auto_close int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	char text[REIN_RECORD_HEAD_SIZE + 1];
	int n = snprintf(text, sizeof(text), "%.*s\n", (int)line.n, line.p);

	if (fd < 0 || n < 0 || n >= (int)sizeof(text))
		return -1;
	return write(fd, text, (size_t)n) == n ? 0 : -1; /* one write: lines do not mix */
}

static int to_syslog(const char *socket_path, struct rein_str line)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char text[REIN_RECORD_HEAD_SIZE + 32];
	/* <110> = security audit facility, informational */
	int n = snprintf(text, sizeof(text), "<110>rein: head %.*s", (int)line.n, line.p);

	if (fd < 0 || n < 0 || n >= (int)sizeof(text))
		return -1;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", socket_path);
	return sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&sa, sizeof(sa)) == n
		       ? 0
		       : -1;
}

void rein_record_anchor(struct rein_record *r, struct rein_str line)
{
	/* Failures are seen by `rein audit verify --anchor` as a gap, not here: see above. */
	if (r->config.anchor_path[0] && to_file(r->config.anchor_path, line) < 0)
		r->config.anchor_path[0] = '\0'; /* do not try again with this handle */
	if (r->config.anchor_syslog[0] && to_syslog(r->config.anchor_syslog, line) < 0)
		r->config.anchor_syslog[0] = '\0';
}

static int to_command(const char *command, struct rein_str line, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(REIN_RECORD_HEAD_SIZE + 2);

	rein_buf_str(&b, line);
	rein_buf_char(&b, '\n');
	if (b.failed)
		return rein_err_nomem(err);
	return rein_spawn_shell(command, (struct rein_str){b.p, b.n}, COMMAND_NS, err) < 0
		       ? rein_err_prefix(err, "the anchor command")
		       : 0;
}

int rein_record_anchor_now(struct rein_record *r, const struct rein_anchor_to *to,
			   struct rein_err *err)
{
	struct rein_published pub;

	if (rein_record_sync(r, err) < 0 || rein_published_read(r->head_fd, &pub, err) < 0)
		return -err->code;
	if (!pub.present)
		return rein_err_set(err, REIN_E_NOTFOUND, "the record has no head yet");
	if (to->path && to_file(to->path, pub.line) < 0)
		return rein_err_errno(err, "write the head to '%s'", to->path);
	if (to->use_syslog && to_syslog(r->config.anchor_syslog[0] ? r->config.anchor_syslog
									: REIN_SYSLOG_SOCKET,
						pub.line) < 0)
		return rein_err_errno(err, "send the head to the system log");
	if (to->webhook) {
		struct rein_webhook w = {
			.name = "anchor",
			.url = to->webhook,
			.secret_file = r->config.anchor_secret[0] ? r->config.anchor_secret : NULL};
		char id[24];

		snprintf(id, sizeof(id), "head-%llu", (unsigned long long)pub.head.n);
		if (rein_webhook_send(r->dirfd, &w, id, pub.line, NULL, err) < 0)
			return -err->code;
	}
	return to->command ? to_command(to->command, pub.line, err) : 0;
}
