/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running alerts over the record. Two places are kept: the memory's (alerts.state, a cache: where
 * reading goes on) and the cursor (alerts.cursor: which line may fire next). The cursor moves only
 * after the alerts of the lines before it were taken and recorded. Lines before the cursor that the
 * memory does not know are read to learn from them, silently. An alert that is already in the log
 * as an event was taken before a crash and is not fired again.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/alert_memory.h"
#include "record/internal.h"

struct runner {
	struct rein_alerts *a;
	int dirfd;
	uint64_t cursor;
	struct rein_alert_place at;
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

static void already(struct runner *r, struct rein_str id)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!rein_str_eq(rein_str(r->fired[i].id), id))
			r->fired[kept++] = r->fired[i];
	r->n = kept;
}

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct runner *r = arg;
	struct rein_event_read ev;
	struct rein_err ignored = {0};
	int rc = 0;

	r->at = (struct rein_alert_place){l->index + 1, l->segment, l->offset + l->text.n + 1};
	if (rein_event_parse(l->text, &ev, &ignored) < 0)
		return 0;
	if (ev.ev.type == REIN_EV_ALERT)
		already(r, rein_event_extra(&ev.ev, "alert"));
	else
		rc = rein_alerts_feed(r->a, l->index, &ev.ev, l->index >= r->cursor ? keep : NULL,
				      r, err);
	rein_event_read_done(&ev);
	return rc < 0 ? rc : 0;
}

/* What lies behind the memory's place; over budget: -REIN_E_BUSY, nothing read. */
static int read_new(struct runner *r, uint64_t budget, struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	uint64_t todo = 0;
	size_t n = 0;

	if (rein_segments(r->dirfd, &seg, &n, err) < 0)
		return -err->code;
	for (int really = 0; really < 2; really++) {
		const struct rein_alert_place from = r->at;

		for (size_t i = 0; i < n; i++) {
			char name[REIN_SEGMENT_NAME];
			auto_close int fd = -1;
			struct stat st;
			uint64_t index = from.line,
				 begin = seg[i] == from.segment ? from.offset : 0, end;

			if (seg[i] < from.segment)
				continue;
			rein_segment_name(seg[i], name);
			fd = openat(r->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
			if (fd < 0 && errno == ENOENT)
				continue; /* pruned meanwhile */
			if (fd < 0 || fstat(fd, &st) < 0)
				return rein_err_errno(err, "open segment '%s' of the record", name);
			todo += (uint64_t)st.st_size > begin ? (uint64_t)st.st_size - begin : 0;
			if (!really || (uint64_t)st.st_size <= begin)
				continue;
			if ((!begin && rein_segment_first(fd, &index, err) < 0) ||
			    rein_segment_lines(fd, seg[i], begin, (uint64_t)st.st_size, &index,
					       on_line, r, &end, err) < 0)
				return -err->code;
		}
		if (budget && !really && todo > budget)
			return rein_err_set(err, REIN_E_BUSY,
					    "%llu bytes of the record are new to the alerts",
					    (unsigned long long)todo);
	}
	return 0;
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

/* Losing it after quiet lines costs a second look at them; after an alert it is made durable. */
static int cursor_write(int fd, uint64_t v, bool durable, struct rein_err *err)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%020llu\n", (unsigned long long)v);

	if (pwrite(fd, text, (size_t)n, 0) != n || (durable && fdatasync(fd) < 0))
		return rein_err_errno(err, "remember which alerts were delivered");
	return 0;
}

static int record_alert(struct rein_record *log, const struct rein_alert *a, struct rein_err *err)
{
	struct rein_event ev = {.type = REIN_EV_ALERT,
				.rule = rein_str(a->rule->name),
				.detail = rein_str(a->text),
				.action = rein_str(a->action),
				.agent = rein_str(a->agent),
				.session = rein_str(a->session),
				.prev = rein_str(a->event)};
	char line[24];

	snprintf(line, sizeof(line), "%llu", (unsigned long long)a->line);
	rein_event_add_extra(&ev, "alert", a->id);
	rein_event_add_extra(&ev, "line", line);
	return rein_record_append(log, &ev, true, err);
}

/* Take, record, move on: in this order, alert by alert. */
static int hand_on(struct runner *r, int cursor_fd, const char *state_dir, rein_alert_fn *fire,
		   void *arg, struct rein_err *err)
{
	struct rein_record *log = NULL;
	int rc = r->n ? rein_record_open(state_dir, NULL, &log, err) : 0;

	for (size_t i = 0; rc == 0 && i < r->n; i++) {
		rc = fire(arg, &r->fired[i], err);
		if (rc == 0)
			rc = record_alert(log, &r->fired[i], err);
		if (rc == 0 && (i + 1 == r->n || r->fired[i + 1].line != r->fired[i].line))
			rc = cursor_write(cursor_fd, r->fired[i].line + 1, true, err);
	}
	rein_record_close(log);
	return rc;
}

/* Looking takes a millisecond: who looks already is waited for a little, not for ever. */
static int lock_cursor(int fd, bool patient, int tries, struct rein_err *err)
{
	for (int i = 1; flock(fd, patient ? LOCK_EX : LOCK_EX | LOCK_NB) < 0; i++) {
		struct timespec ts = {.tv_nsec = 2000000};

		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return rein_err_errno(err, "lock the alert cursor");
		if (i >= tries)
			return rein_err_set(err, REIN_E_BUSY, "another process looks for alerts");
		nanosleep(&ts, NULL);
	}
	return 0;
}

int rein_alerts_run(const char *state_dir, const struct rein_alert_rule *rule, size_t n,
		    uint64_t budget, rein_alert_fn *fire, void *arg, struct rein_err *err)
{
	auto_close int dirfd = rein_record_dir(state_dir, false, err), fd = -1;
	struct runner r = {.dirfd = dirfd};
	struct rein_alert_place before;
	int rc;

	if (dirfd < 0)
		return err->code == REIN_E_NOTFOUND ? 0 : -err->code;
	fd = openat(dirfd, "alerts.cursor", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rein_err_errno(err, "open the alert cursor");
	rc = lock_cursor(fd, budget == 0, fire ? 25 : 1, err);
	if (rc == 0)
		rc = rein_alerts_new(rule, n, &r.a, err);
	if (rc == 0)
		rc = rein_alerts_restore(r.a, dirfd, &r.at, err);
	r.cursor = cursor_read(fd);
	before = r.at;
	if (rc == 0)
		rc = read_new(&r, budget, err);
	if (rc == 0 && r.n && !fire)
		rc = rein_err_set(err, REIN_E_BUSY, "there are alerts to be taken");
	if (rc == 0)
		rc = hand_on(&r, fd, state_dir, fire, arg, err);
	if (rc == 0 && r.at.line > r.cursor)
		rc = cursor_write(fd, r.at.line, r.n > 0, err);
	if (rc == 0 && r.at.line != before.line)
		rc = rein_alerts_save(r.a, dirfd, &r.at, err);
	rein_alerts_free(r.a);
	rein_free(r.fired);
	return rc < 0 ? rc : (int)r.n;
}
