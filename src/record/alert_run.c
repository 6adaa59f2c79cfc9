/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running alerts over the record. A cursor file says which line is next; it moves only after the
 * alerts of the lines before it were delivered and recorded. Lines before the cursor are read again
 * to learn from them (rates, what was seen before), silently.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/alert.h"
#include "record/internal.h"

struct runner {
	struct rein_alerts *a;
	uint64_t cursor, next;
	rein_alert_fn *deliver;
	void *arg;
	struct rein_alert *fired;
	size_t n, cap;
};

static int keep(void *arg, const struct rein_alert *x, struct rein_err *err)
{
	struct runner *r = arg;

	if (rein_grow(r->fired, r->n, r->cap) < 0)
		return rein_err_nomem(err);
	r->fired[r->n++] = *x;
	return 0;
}

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct runner *r = arg;
	struct rein_event_read ev;
	struct rein_err ignored = {0};
	int rc;

	r->next = l->index + 1;
	if (rein_event_parse(l->text, &ev, &ignored) < 0)
		return 0;
	rc = rein_alerts_feed(r->a, l->index, &ev.ev, l->index >= r->cursor ? keep : NULL, r, err);
	rein_event_read_done(&ev);
	return rc < 0 ? rc : 0;
}

static int spawn_with(const char *path, char **argv, struct rein_str input, struct rein_err *err)
{
	posix_spawn_file_actions_t fa;
	int p[2], status = 0, rc;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		return rein_err_errno(err, "start '%s'", path);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[0], 0);
	rc = posix_spawnp(&pid, path, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(p[0]);
	if (rc == 0 && write(p[1], input.p, input.n) < 0)
		status = 0; /* a command need not read its input */
	close(p[1]);
	errno = rc;
	if (rc)
		return rein_err_errno(err, "start '%s'", path);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return rein_err_set(err, REIN_E_FAILED, "'%s' failed", path);
	return 0;
}

int rein_alert_deliver(const struct rein_alert *a, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	struct rein_err ignored = {0};

	rein_alert_json(a, &b);
	rein_buf_char(&b, '\n');
	if (b.failed)
		return rein_err_nomem(err);
	if (a->rule->to_stderr)
		fprintf(stderr, "rein: alert %s\n", a->text);
	if (a->rule->desktop && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))) {
		char *argv[] = {(char *)(uintptr_t) "notify-send", (char *)(uintptr_t) "Rein",
				(char *)(uintptr_t)a->text, NULL};

		/* a desktop without the tool is no reason to repeat the alert for ever */
		spawn_with("notify-send", argv, (struct rein_str){"", 0}, &ignored);
	}
	if (a->rule->command) {
		char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
				(char *)(uintptr_t)a->rule->command, NULL};

		return spawn_with("/bin/sh", argv, (struct rein_str){b.p, b.n}, err);
	}
	return 0;
}

static int deliver_plain(void *arg, const struct rein_alert *a, struct rein_err *err)
{
	(void)arg;
	return rein_alert_deliver(a, err);
}

static uint64_t cursor_read(int fd)
{
	char text[32] = "";
	uint64_t v = 0;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n > 0)
		text[strcspn(text, "\n")] = '\0';
	return n > 0 && rein_parse_u64(text, UINT64_MAX, &v) ? v : 0;
}

static int cursor_write(int fd, uint64_t v, struct rein_err *err)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%020llu\n", (unsigned long long)v);

	if (pwrite(fd, text, (size_t)n, 0) != n || fdatasync(fd) < 0)
		return rein_err_errno(err, "remember which alerts were delivered");
	return 0;
}

static int record_alert(struct rein_record *log, const struct rein_alert *a, struct rein_err *err)
{
	struct rein_event ev = {.type = REIN_EV_ALERT,
				.rule = rein_str(a->rule->name),
				.detail = rein_str(a->text)};
	char line[24];

	snprintf(line, sizeof(line), "%llu", (unsigned long long)a->line);
	rein_event_add_extra(&ev, "alert", a->id);
	rein_event_add_extra(&ev, "line", line);
	return rein_record_append(log, &ev, true, err);
}

int rein_alerts_run(const char *state_dir, const struct rein_alert_rule *rule, size_t n,
		    rein_alert_fn *deliver, void *arg, struct rein_err *err)
{
	struct runner r = {.deliver = deliver ? deliver : deliver_plain, .arg = arg};
	struct rein_record *log = NULL;
	auto_close int fd = -1;
	int rc;

	if (rein_record_open(state_dir, NULL, &log, err) < 0)
		return -err->code;
	fd = openat(log->dirfd, "alerts.cursor", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	rc = fd < 0 || flock(fd, LOCK_EX) < 0 ? rein_err_errno(err, "open the alert cursor") : 0;
	if (rc == 0) {
		r.cursor = r.next = cursor_read(fd);
		rc = rein_alerts_new(rule, n, &r.a, err);
	}
	if (rc == 0)
		rc = rein_record_each(log->dirfd, 0, on_line, &r, err);
	for (size_t i = 0; rc == 0 && i < r.n; i++) {
		rc = r.deliver(r.arg, &r.fired[i], err);
		if (rc == 0)
			rc = record_alert(log, &r.fired[i], err);
		if (rc == 0 && (i + 1 == r.n || r.fired[i + 1].line != r.fired[i].line))
			rc = cursor_write(fd, r.fired[i].line + 1, err);
	}
	if (rc == 0 && r.next != r.cursor)
		rc = cursor_write(fd, r.next, err);
	rein_alerts_free(r.a);
	rein_free(r.fired);
	rein_record_close(log);
	return rc < 0 ? rc : (int)r.n;
}
