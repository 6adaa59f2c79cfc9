/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning, legal holds, archives. The order of pruning makes a crash harmless: verify, record what
 * will go and make that durable, then unlink oldest first. Files left over by a crash are older than
 * what the prune event permits to be missing, so the log verifies with and without them, and the
 * next pruning takes them.
 */
#include "record/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/internal.h"

struct segment {
	uint64_t number, first, bytes;
	uint64_t begin_ns; /* time of the first line */
	uint8_t sha[32];
};

static int segment_look(int dirfd, uint64_t number, bool hash, struct segment *ret,
			struct rein_err *err)
{
	char name[REIN_SEGMENT_NAME], chunk[65536];
	auto_close int fd = -1;
	struct rein_sha256 sha;
	struct rein_head h = {0};
	struct stat st;
	ssize_t n;
	char *nl;

	rein_segment_name(number, name);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return rein_err_errno(err, "open segment '%s'", name);
	n = pread(fd, chunk, sizeof(chunk), 0);
	nl = n > 0 ? memchr(chunk, '\n', (size_t)n) : NULL;
	if (!nl || rein_head_parse((struct rein_str){chunk, (size_t)(nl - chunk)}, &h, err) < 0 ||
	    h.type != REIN_HEAD_START)
		return rein_err_set(err, REIN_E_INVALID, "segment '%s' has no first line", name);
	*ret = (struct segment){.number = number,
				.first = h.n,
				.bytes = (uint64_t)st.st_size,
				.begin_ns = h.time_ns};
	rein_sha256_init(&sha);
	for (off_t at = 0; hash && (n = pread(fd, chunk, sizeof(chunk), at)) > 0; at += n)
		rein_sha256_add(&sha, chunk, (size_t)n);
	rein_sha256_end(&sha, ret->sha);
	return 0;
}

/* --- holds --------------------------------------------------------------------------------- */

struct holds {
	struct rein_hold *v;
	size_t n, cap;
};

static void hold_end(struct holds *h, struct rein_str id)
{
	for (size_t i = 0; i < h->n; i++)
		if (rein_str_eq(rein_str(h->v[i].id), id)) {
			h->v[i] = h->v[--h->n];
			return;
		}
}

static int on_hold_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	static const char hold[] = "{\"v\":1,\"type\":\"hold\"", end[] = "{\"v\":1,\"type\":\"release\"";
	struct holds *h = arg;
	struct rein_event_read r;
	struct rein_hold *x;

	if (l->text.n < sizeof(end) || (memcmp(l->text.p, hold, sizeof(hold) - 1) != 0 &&
					memcmp(l->text.p, end, sizeof(end) - 1) != 0))
		return 0;
	if (rein_event_parse(l->text, &r, err) < 0)
		return -err->code;
	if (r.ev.type == REIN_EV_RELEASE) {
		hold_end(h, r.ev.prev);
	} else {
		if (rein_grow(h->v, h->n, h->cap) < 0) {
			rein_event_read_done(&r);
			return rein_err_nomem(err);
		}
		x = &h->v[h->n++];
		*x = (struct rein_hold){.segment = l->segment};
		snprintf(x->id, sizeof(x->id), "%.*s", (int)r.ev.id.n, r.ev.id.p);
		snprintf(x->reason, sizeof(x->reason), "%.*s", (int)r.ev.reason.n, r.ev.reason.p);
		rein_str_u64(rein_event_extra(&r.ev, "since"), &x->since_ns);
		rein_str_u64(rein_event_extra(&r.ev, "until"), &x->until_ns);
	}
	rein_event_read_done(&r);
	return 0;
}

int rein_record_holds(int dirfd, struct rein_hold **ret, size_t *n, struct rein_err *err)
{
	struct holds h = {0};

	if (rein_record_each(dirfd, 0, on_hold_line, &h, err) < 0) {
		rein_free(h.v);
		return -err->code;
	}
	*ret = h.v;
	*n = h.n;
	return 0;
}

int rein_record_hold(struct rein_record *r, uint64_t since_ns, uint64_t until_ns,
		     const char *reason, struct rein_err *err)
{
	char since[24], until[24];
	struct rein_event ev = {.type = REIN_EV_HOLD, .reason = rein_str(reason)};

	snprintf(since, sizeof(since), "%llu", (unsigned long long)since_ns);
	snprintf(until, sizeof(until), "%llu", (unsigned long long)until_ns);
	rein_event_add_extra(&ev, "since", since);
	rein_event_add_extra(&ev, "until", until);
	return rein_record_append(r, &ev, true, err);
}

int rein_record_release(struct rein_record *r, const char *hold_id, const char *reason,
			struct rein_err *err)
{
	struct rein_event ev = {
		.type = REIN_EV_RELEASE, .prev = rein_str(hold_id), .reason = rein_str(reason)};
	auto_free struct rein_hold *h = NULL;
	size_t n = 0;

	if (rein_record_holds(r->dirfd, &h, &n, err) < 0)
		return -err->code;
	for (size_t i = 0; i < n; i++)
		if (rein_streq(h[i].id, hold_id))
			return rein_record_append(r, &ev, true, err);
	return rein_err_set(err, REIN_E_NOTFOUND, "there is no active hold '%s'", hold_id);
}

/* Does a hold cover the segment that spans [begin, end)? The one that tells of the hold counts too. */
static bool held(const struct rein_hold *h, size_t n, const struct segment *s, uint64_t end_ns)
{
	for (size_t i = 0; i < n; i++)
		if (h[i].segment == s->number ||
		    (end_ns >= h[i].since_ns && (!h[i].until_ns || s->begin_ns <= h[i].until_ns)))
			return true;
	return false;
}

/* --- pruning ------------------------------------------------------------------------------- */

/* Number of oldest segments that may go. */
static size_t choose(const struct segment *s, size_t n, const struct rein_prune_options *o,
		     const struct rein_hold *h, size_t nh, struct rein_prune_result *res)
{
	uint64_t total = 0, now = o->now_ns ? o->now_ns : rein_now_ns();
	size_t least = o->keep_segments ? o->keep_segments : 1, k;

	for (size_t i = 0; i < n; i++)
		total += s[i].bytes;
	for (k = 0; k + least < n; k++) {
		uint64_t end = s[k + 1].begin_ns;
		bool old = o->keep_ns && end <= now && now - end >= o->keep_ns; /* no sum: it may be for ever */
		bool big = o->keep_bytes && total > o->keep_bytes;
		bool any = !o->keep_ns && !o->keep_bytes;

		if (!old && !big && !any)
			break;
		if (held(h, nh, &s[k], end)) { /* only a prefix can go: stop here */
			res->held = 1;
			break;
		}
		total -= s[k].bytes;
		res->bytes += s[k].bytes;
	}
	return k;
}

static int record_prune(struct rein_record *r, const struct segment *s, size_t k, uint64_t kept,
			struct rein_err *err)
{
	struct rein_event ev = {.type = REIN_EV_PRUNE};
	char line[24], from[24], to[24], names[8][48], hash[8][65];

	snprintf(line, sizeof(line), "%llu", (unsigned long long)kept);
	snprintf(from, sizeof(from), "%llu", (unsigned long long)s[0].number);
	snprintf(to, sizeof(to), "%llu", (unsigned long long)s[k - 1].number);
	rein_event_add_extra(&ev, "first_line_kept", line);
	rein_event_add_extra(&ev, "from_segment", from);
	rein_event_add_extra(&ev, "to_segment", to);
	for (size_t i = 0; i < k; i++) { /* hashes of the files, for who finds one in a backup */
		snprintf(names[i], sizeof(names[i]), "sha256.%08llu",
			 (unsigned long long)s[i].number);
		rein_hex(s[i].sha, 32, hash[i]);
		rein_event_add_extra(&ev, names[i], hash[i]);
	}
	return rein_record_append(r, &ev, true, err);
}

static int prune_some(struct rein_record *r, struct segment *s, size_t k, uint64_t kept,
		      struct rein_err *err)
{
	char name[REIN_SEGMENT_NAME];

	for (size_t i = 0; i < k; i++)
		if (segment_look(r->dirfd, s[i].number, true, &s[i], err) < 0)
			return -err->code;
	if (record_prune(r, s, k, kept, err) < 0)
		return -err->code;
	if (unlinkat(r->dirfd, "counted", 0) < 0 && errno != ENOENT) /* it quotes what goes now */
		return rein_err_errno(err, "remove what was counted");
	for (size_t i = 0; i < k; i++) {
		rein_segment_name(s[i].number, name);
		if (unlinkat(r->dirfd, name, 0) < 0 && errno != ENOENT)
			return rein_err_errno(err, "remove segment '%s'", name);
		/* Oldest first also on disk: a gap would look like tampering. */
		if (fsync(r->dirfd) < 0)
			return rein_err_errno(err, "sync the record's directory");
	}
	return 0;
}

static int prune_locked(struct rein_record *r, const struct rein_prune_options *opt,
			struct rein_prune_result *res, struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	auto_free struct segment *s = NULL;
	auto_free struct rein_hold *h = NULL;
	struct rein_verify_result whole;
	size_t n = 0, nh = 0, k;

	if (rein_record_sync(r, err) < 0 || rein_verify_fd(r->dirfd, NULL, &whole, err) < 0)
		return rein_err_prefix(err, "nothing was pruned");
	if (rein_segments(r->dirfd, &seg, &n, err) < 0 ||
	    rein_record_holds(r->dirfd, &h, &nh, err) < 0)
		return -err->code;
	s = rein_calloc(n, sizeof(*s));
	if (!s)
		return rein_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (segment_look(r->dirfd, seg[i], false, &s[i], err) < 0)
			return -err->code;
	k = choose(s, n, opt, h, nh, res);
	res->segments = (unsigned)k;
	res->first_line = n ? s[k < n ? k : n - 1].first : 0;
	for (size_t at = 0; at < k && !opt->dry_run; at += 8) { /* eight names fit one event */
		size_t part = k - at < 8 ? k - at : 8;

		if (prune_some(r, s + at, part, s[at + part].first, err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_record_prune(struct rein_record *r, const struct rein_prune_options *opt,
		      struct rein_prune_result *ret, struct rein_err *err)
{
	struct rein_prune_result mine, *res = ret ? ret : &mine;
	auto_close int lock = openat(r->dirfd, "prune.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	memset(res, 0, sizeof(*res));
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return rein_err_errno(err, "lock the record for pruning");
	return prune_locked(r, opt, res, err);
}

/* --- archives ------------------------------------------------------------------------------ */

static int copy(int from_dir, int to_dir, const char *name, uint64_t limit, struct rein_err *err)
{
	auto_close int in = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_close int out = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char chunk[65536];
	uint64_t at = 0;

	if (in < 0 || out < 0)
		return rein_err_errno(err, "copy '%s'", name);
	while (at < limit) {
		size_t want = limit - at < sizeof(chunk) ? (size_t)(limit - at) : sizeof(chunk);
		ssize_t n = pread(in, chunk, want, (off_t)at);

		if (n == 0)
			break;
		if (n < 0 || write(out, chunk, (size_t)n) != n)
			return rein_err_errno(err, "copy '%s'", name);
		at += (uint64_t)n;
	}
	return fsync(out) < 0 ? rein_err_errno(err, "sync the copy of '%s'", name) : 0;
}

int rein_record_archive(struct rein_record *r, const char *dest, uint64_t since_ns,
			uint64_t until_ns, struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	auto_free struct segment *s = NULL;
	struct rein_published pub;
	auto_close int to = -1;
	size_t n = 0;

	/* A head after everything: the copy ends exactly behind it. */
	if (rein_record_sync(r, err) < 0 || rein_published_read(r->head_fd, &pub, err) < 0 ||
	    rein_segments(r->dirfd, &seg, &n, err) < 0)
		return -err->code;
	if (mkdir(dest, 0700) < 0)
		return rein_err_errno(err, "create archive '%s'", dest);
	to = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s = rein_calloc(n, sizeof(*s));
	if (to < 0 || !s)
		return rein_err_errno(err, "open archive '%s'", dest);
	for (size_t i = 0; i < n; i++)
		if (segment_look(r->dirfd, seg[i], false, &s[i], err) < 0)
			return -err->code;
	for (size_t i = 0; i < n && seg[i] <= pub.segment; i++) {
		char name[REIN_SEGMENT_NAME];

		if ((i + 1 < n && s[i + 1].begin_ns < since_ns) ||
		    (until_ns && s[i].begin_ns > until_ns))
			continue;
		rein_segment_name(seg[i], name);
		if (copy(r->dirfd, to, name, seg[i] == pub.segment ? pub.offset : UINT64_MAX, err) < 0)
			return -err->code;
	}
	return copy(r->dirfd, to, "head", REIN_RECORD_HEAD_SIZE, err);
}
