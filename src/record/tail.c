/* SPDX-License-Identifier: Apache-2.0 */
/* The record for readers. Following looks four times a second: a person does not see more. */
#include "record/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/internal.h"

int rein_record_lines(const char *state_dir, rein_line_fn *fn, void *arg, struct rein_err *err)
{
	auto_close int fd = rein_record_dir(state_dir, false, err);

	return fd < 0 ? -err->code : rein_record_each(fd, 0, fn, arg, err);
}

struct follower {
	uint64_t from, next, segment;
	rein_line_fn *fn;
	void *arg;
};

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct follower *f = arg;

	f->segment = l->segment;
	if (l->index < f->next)
		return 0;
	f->next = l->index + 1;
	return f->fn(f->arg, l, err);
}

static uint64_t last_size(int dirfd, uint64_t segment)
{
	char name[REIN_SEGMENT_NAME], next[REIN_SEGMENT_NAME];
	struct stat st, nx;

	rein_segment_name(segment, name);
	rein_segment_name(segment + 1, next);
	if (fstatat(dirfd, next, &nx, 0) == 0)
		return UINT64_MAX;
	return fstatat(dirfd, name, &st, 0) == 0 ? (uint64_t)st.st_size : 0;
}

int rein_record_follow(const char *state_dir, uint64_t from, rein_line_fn *fn, void *arg,
		       FILE *flush, struct rein_err *err)
{
	auto_close int fd = rein_record_dir(state_dir, false, err);
	struct follower f = {.next = from, .fn = fn, .arg = arg};
	struct timespec pause = {.tv_nsec = 250000000};
	uint64_t size = 0;

	if (fd < 0)
		return -err->code;
	for (;;) {
		uint64_t now = f.segment ? last_size(fd, f.segment) : UINT64_MAX;

		if (now != size && rein_record_each(fd, f.segment, on_line, &f, err) < 0)
			return -err->code;
		size = now;
		if (flush && (fflush(flush) != 0 || ferror(flush)))
			return 0; /* the reader went away */
		nanosleep(&pause, NULL);
	}
}

int rein_record_list_holds(const char *state_dir, struct rein_hold **ret, size_t *n,
			   struct rein_err *err)
{
	auto_close int fd = rein_record_dir(state_dir, false, err);

	return fd < 0 ? -err->code : rein_record_holds(fd, ret, n, err);
}

void rein_record_retention(const struct rein_record *r, uint64_t *keep_ns, uint64_t *keep_bytes)
{
	*keep_ns = r->config.keep_ns;
	*keep_bytes = r->config.keep_bytes;
}

int rein_record_size(const char *state_dir, uint64_t *segments, uint64_t *bytes,
		     struct rein_err *err)
{
	auto_close int fd = rein_record_dir(state_dir, false, err);
	auto_free uint64_t *seg = NULL;
	size_t n = 0;

	if (fd < 0 || rein_segments(fd, &seg, &n, err) < 0)
		return -err->code;
	*segments = n;
	*bytes = 0;
	for (size_t i = 0; i < n; i++) {
		char name[REIN_SEGMENT_NAME];
		struct stat st;

		rein_segment_name(seg[i], name);
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			*bytes += (uint64_t)st.st_size;
	}
	return 0;
}

void rein_record_hex(const uint8_t *p, size_t n, char *out)
{
	rein_hex(p, n, out);
}

bool rein_record_unhex(const char *s, size_t n, uint8_t *out)
{
	return rein_unhex(s, n, out);
}
