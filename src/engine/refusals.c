/* SPDX-License-Identifier: Apache-2.0 */
/* A table in a file, one process at a time. */
#include "engine/refusals.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"

#define ENTRIES 512
#define FORGET	(3600 * REIN_NS_PER_S)

struct entry {
	uint64_t key; /* 0: free */
	uint64_t last_ns;
	uint64_t times;
};

static uint64_t mix(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	return (h ^ 0xff) * 1099511628211ull; /* "ab","c" is not "a","bc" */
}

static int open_table(const char *state_dir, struct rein_err *err)
{
	auto_free char *path = rein_asprintf("%s/refusals", state_dir);
	auto_close int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600) : -1;
	struct stat st;

	if (!path)
		return rein_err_nomem(err);
	if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
		return rein_err_errno(err, "open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return rein_err_set(err, REIN_E_STATE, "'%s' is not an ordinary file", path);
	return take_fd(&fd);
}

/* The entry of this key, or the one that gives way to it. */
static struct entry *find(struct entry *v, uint64_t key, uint64_t now_ns)
{
	struct entry *oldest = &v[0];

	for (size_t i = 0; i < ENTRIES; i++) {
		/* a clock that was set back, or bytes that are none of ours: as if it were not there */
		if (v[i].key && (v[i].last_ns > now_ns || now_ns - v[i].last_ns > FORGET))
			v[i] = (struct entry){0};
		if (v[i].key == key)
			return &v[i];
		if (v[i].last_ns < oldest->last_ns)
			oldest = &v[i];
	}
	*oldest = (struct entry){.key = key};
	return oldest;
}

int rein_refusals_note(const char *state_dir, const char *agent, const char *session, const char *rule,
		       const char *digest, uint64_t now_ns, unsigned *ret_times, struct rein_err *err)
{
	uint64_t key = mix(mix(mix(mix(14695981039346656037ull, agent), session), rule), digest);
	auto_free struct entry *v = rein_calloc(ENTRIES, sizeof(*v));
	auto_close int fd = -1;
	struct entry *e;
	ssize_t n;

	if (!v)
		return rein_err_nomem(err);
	fd = open_table(state_dir, err);
	if (fd < 0)
		return -err->code;
	n = pread(fd, v, ENTRIES * sizeof(*v), 0);
	if (n < 0)
		return rein_err_errno(err, "read the refusals");
	if ((size_t)n % sizeof(*v)) /* a table cut short by a full disk: begin anew */
		memset(v, 0, ENTRIES * sizeof(*v));
	e = find(v, key ? key : 1, now_ns);
	e->times += e->times < UINT32_MAX;
	e->last_ns = now_ns;
	n = pwrite(fd, v, ENTRIES * sizeof(*v), 0);
	if (n != (ssize_t)(ENTRIES * sizeof(*v)))
		return rein_err_errno(err, "write the refusals");
	*ret_times = (unsigned)e->times;
	return 0;
}

const char *rein_refusals_advice(unsigned times)
{
	if (times < REIN_REFUSALS_STOP)
		return NULL;
	return "the same thing was refused before, by the same rule: stop trying, it will not be allowed. Do what is allowed "
	       "instead, or tell your user what you need and why";
}
