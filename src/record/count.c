/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing an event costs ten times what verifying its line does: those counted before are not parsed again. */
#include "record/count.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/event.h"
#include "record/filter.h"
#include "record/internal.h"
#include "record/sha256.h"

#define KEPT	  "counted"
#define KEPT_MAX  ((size_t)1 << 30)
#define WORTH_IT  20000 /* lines that are quicker counted again than written down */
#define TIME_AT	  64	/* a line's time begins before this byte */

struct counter {
	const struct rein_filter *filter; /* or NULL */
	char since[REIN_EVENT_TIME_LEN + 1], until[REIN_EVENT_TIME_LEN + 1];
	uint64_t from; /* lines before were counted already */
	struct rein_stats *s;
};

/* By the text of its time alone, which is always at the same place and as long; a doubtful line is not outside. */
static bool is_outside(const struct counter *c, struct rein_str line)
{
	static const char key[] = "\"time\":\"";
	const char *t = memmem(line.p, line.n < TIME_AT ? line.n : TIME_AT, key, sizeof(key) - 1);

	t = t ? t + sizeof(key) - 1 : NULL;
	if (!t || line.p + line.n < t + REIN_EVENT_TIME_LEN)
		return false;
	return (c->filter->since_ns && memcmp(t, c->since, REIN_EVENT_TIME_LEN) < 0) ||
	       (c->filter->until_ns && memcmp(t, c->until, REIN_EVENT_TIME_LEN) >= 0);
}

static int on_event(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct counter *c = arg;
	struct rein_err ignored = {0};
	struct rein_event_read r;
	int rc = 0;

	if (l->index < c->from || (c->filter && is_outside(c, l->text)))
		return 0;
	if (rein_event_parse(l->text, &r, &ignored) < 0)
		return 0; /* a head, or of a newer version */
	if (!c->filter || rein_filter_match(c->filter, &r.ev))
		rc = rein_stats_add(c->s, &r.ev, err);
	rein_event_read_done(&r);
	return rc;
}

/* ---- what is kept: MAC, bookmark, counts ---- */

static bool mac_of(int dirfd, struct rein_str what, uint8_t mac[32])
{
	struct rein_err ignored = {0};
	uint8_t key[32];

	if (rein_key_redact(dirfd, false, key, &ignored) < 0)
		return false;
	rein_hmac_sha256(key, sizeof(key), what.p, what.n, mac);
	explicit_bzero(key, sizeof(key));
	return true;
}

static bool read_whole(int dirfd, struct rein_buf *b)
{
	auto_close int fd = openat(dirfd, KEPT, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char chunk[65536];
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(b, chunk, (size_t)n);
	return n == 0 && !b->failed;
}

/* The line the record begins with: counts of lines that were pruned since are none of it. */
static bool begins_with(int dirfd, uint64_t line)
{
	auto_free uint64_t *seg = NULL;
	struct rein_err ignored = {0};
	char name[REIN_SEGMENT_NAME];
	auto_close int fd = -1;
	uint64_t first;
	size_t n = 0;

	if (rein_segments(dirfd, &seg, &n, &ignored) < 0 || !n)
		return false;
	rein_segment_name(seg[0], name);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && rein_segment_first(fd, &first, &ignored) == 0 && first == line;
}

/* Not there, not ours, not of this log: then everything is counted. */
static bool recall(int dirfd, struct rein_bookmark *at, struct rein_stats *s)
{
	auto_buf struct rein_buf b = REIN_BUF(KEPT_MAX);
	uint8_t mac[32];
	struct rein_str rest;

	if (!read_whole(dirfd, &b) || b.n < sizeof(mac) + sizeof(*at))
		return false;
	rest = (struct rein_str){b.p + sizeof(mac), b.n - sizeof(mac)};
	if (!mac_of(dirfd, rest, mac) || memcmp(mac, b.p, sizeof(mac)) != 0)
		return false;
	memcpy(at, rest.p, sizeof(*at));
	rest = (struct rein_str){rest.p + sizeof(*at), rest.n - sizeof(*at)};
	return begins_with(dirfd, at->first) && rein_stats_load(s, rest);
}

/* A cache: when it cannot be written, the next one counts again. */
static void keep(int dirfd, const struct rein_bookmark *at, const struct rein_stats *s)
{
	auto_buf struct rein_buf b = REIN_BUF(KEPT_MAX);
	static const uint8_t none[32];
	auto_close int fd = -1;
	uint8_t mac[32];

	rein_buf_add(&b, (const char *)none, sizeof(none));
	rein_buf_add(&b, (const char *)at, sizeof(*at));
	rein_stats_save(s, &b);
	if (b.failed || !mac_of(dirfd, (struct rein_str){b.p + sizeof(mac), b.n - sizeof(mac)}, mac))
		return;
	memcpy(b.p, mac, sizeof(mac));
	fd = openat(dirfd, KEPT ".tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	for (size_t done = 0; done < b.n;) {
		ssize_t n = write(fd, b.p + done, b.n - done);

		if (n <= 0) {
			unlinkat(dirfd, KEPT ".tmp", 0);
			return;
		}
		done += (size_t)n;
	}
	renameat(dirfd, KEPT ".tmp", dirfd, KEPT);
}

/* ---- */

static int count_verified(int dirfd, enum rein_count_trust trust, struct counter *c, struct rein_verify_result *ret,
			  struct rein_err *broken)
{
	struct rein_bookmark at;
	struct rein_verify_watch w = {.fn = on_event, .arg = c};
	bool known = !c->filter && recall(dirfd, &at, c->s);
	int rc;

	if (known) {
		c->from = at.tree.n;
		w.expect = &at.tree;
		w.from = trust == REIN_COUNT_SINCE ? &at : NULL;
	}
	rc = rein_verify_watched(dirfd, &(struct rein_verify_options){.incremental = w.from != NULL}, &w, ret, broken);
	if (rc == 0 && known && !w.met) { /* the counts of another log */
		rein_stats_done(c->s);
		c->from = 0;
		w = (struct rein_verify_watch){.fn = on_event, .arg = c};
		rc = rein_verify_watched(dirfd, NULL, &w, ret, broken);
	}
	if (rc == 0 && !c->filter && w.reached.segment && w.reached.tree.n - c->from >= WORTH_IT)
		keep(dirfd, &w.reached, c->s);
	return rc;
}

int rein_record_count(const char *state_dir, enum rein_count_trust trust, const struct rein_filter *f,
		      struct rein_stats *s, struct rein_verify_result *ret, struct rein_err *broken,
		      struct rein_err *err)
{
	auto_close int dirfd = rein_record_dir(state_dir, false, err);
	struct counter c = {.filter = f && !rein_filter_is_empty(f) ? f : NULL, .s = s};
	int rc = 0;

	if (dirfd < 0)
		return -err->code;
	if (c.filter) {
		rein_event_time(f->since_ns, c.since);
		rein_event_time(f->until_ns, c.until);
	}
	if (count_verified(dirfd, trust, &c, ret, broken) < 0) {
		rein_stats_done(s);
		c.from = 0;
		rc = rein_record_each(dirfd, 0, on_event, &c, err);
	}
	if (rc == 0)
		rein_stats_finish(s);
	return rc;
}
