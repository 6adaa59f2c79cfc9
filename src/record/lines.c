/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the log line by line, for everything that is not the append path. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/internal.h"

#define CHUNK (1u << 20)

void rein_segment_name(uint64_t segment, char out[REIN_SEGMENT_NAME])
{
	snprintf(out, REIN_SEGMENT_NAME, "%08llu.log", (unsigned long long)(segment % 100000000));
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int rein_segments(int dirfd, uint64_t **ret, size_t *n, struct rein_err *err)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	auto_free uint64_t *v = NULL;
	size_t have = 0, cap = 0;
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return rein_err_errno(err, "list the record");
	}
	while ((e = readdir(d))) {
		char num[9] = "";
		uint64_t k;

		if (strlen(e->d_name) != 12 || !rein_streq(e->d_name + 8, ".log"))
			continue;
		memcpy(num, e->d_name, 8);
		if (!rein_parse_u64(num, 99999999, &k) || k == 0)
			continue;
		if (rein_grow(v, have, cap) < 0)
			return rein_err_nomem(err);
		v[have++] = k;
	}
	if (have)
		qsort(v, have, sizeof(*v), by_number);
	*ret = take_ptr(v);
	*n = have;
	return 0;
}

int rein_segment_lines(int fd, uint64_t segment, uint64_t from, uint64_t end, uint64_t *index,
		       rein_line_fn *fn, void *arg, uint64_t *ret_end, struct rein_err *err)
{
	auto_free char *chunk = rein_alloc(CHUNK);
	uint64_t at = from; /* of chunk[0] in the file */

	if (!chunk)
		return rein_err_nomem(err);
	while (at < end) {
		size_t want = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
		ssize_t got = pread(fd, chunk, want, (off_t)at);
		char *p = chunk, *nl;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return rein_err_errno(err, "read segment %llu of the record",
					      (unsigned long long)segment);
		while ((nl = memchr(p, '\n', (size_t)(chunk + got - p)))) {
			struct rein_line line = {.index = *index,
						 .segment = segment,
						 .offset = at + (uint64_t)(p - chunk),
						 .text = {p, (size_t)(nl - p)}};

			if (fn(arg, &line, err) < 0)
				return -err->code;
			++*index;
			p = nl + 1;
		}
		if (p == chunk)
			break; /* no line ends here any more */
		at += (uint64_t)(p - chunk);
	}
	*ret_end = at;
	return 0;
}

int rein_segment_first(int fd, uint64_t *ret, struct rein_err *err)
{
	char line[8192];
	ssize_t got = pread(fd, line, sizeof(line), 0);
	char *nl = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
	struct rein_head h;

	if (!nl || rein_head_parse((struct rein_str){line, (size_t)(nl - line)}, &h, err) < 0 ||
	    h.type != REIN_HEAD_START)
		return rein_err_set(err, REIN_E_INVALID,
				    "a segment of the record has no valid first line");
	*ret = h.n;
	return 0;
}

int rein_record_each(int dirfd, uint64_t from_segment, rein_line_fn *fn, void *arg,
		     struct rein_err *err)
{
	auto_free uint64_t *seg = NULL;
	size_t n;

	if (rein_segments(dirfd, &seg, &n, err) < 0)
		return -err->code;
	for (size_t i = 0; i < n; i++) {
		char name[REIN_SEGMENT_NAME];
		auto_close int fd = -1;
		struct stat st;
		uint64_t index, end;

		if (seg[i] < from_segment)
			continue;
		rein_segment_name(seg[i], name);
		fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 && errno == ENOENT)
			continue; /* pruned meanwhile */
		if (fd < 0 || fstat(fd, &st) < 0)
			return rein_err_errno(err, "open segment '%s' of the record", name);
		if (rein_segment_first(fd, &index, err) < 0 ||
		    rein_segment_lines(fd, seg[i], 0, (uint64_t)st.st_size, &index, fn, arg, &end,
				       err) < 0)
			return -err->code;
	}
	return 0;
}

struct rein_str rein_event_extra(const struct rein_event *ev, const char *key)
{
	for (size_t i = 0; i < ev->nextra; i++)
		if (rein_str_eq(ev->extra[i].key, rein_str(key)))
			return ev->extra[i].value;
	return (struct rein_str){0};
}

bool rein_str_u64(struct rein_str s, uint64_t *ret)
{
	char text[24];

	if (s.n == 0 || s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return rein_parse_u64(text, UINT64_MAX, ret);
}

void rein_event_add_extra(struct rein_event *ev, const char *key, const char *value)
{
	if (ev->nextra < REIN_EVENT_LIST)
		ev->extra[ev->nextra++] =
			(struct rein_event_pair){rein_str(key), rein_str(value)};
}
