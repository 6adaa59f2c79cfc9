/* SPDX-License-Identifier: Apache-2.0 */
/* Mostly the kernel's own account of the calling thread, /proc/thread-self. */
#include "sandbox/situation.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sys/file.h"

#define SELF "/proc/thread-self"
#define MOST ((size_t)64 << 10)

/* Of status; the others change by themselves, or do not go over an exec. */
static const char *const inherited[] = {
	"Umask:",      "Uid:",	   "Gid:",    "Groups:",     "SigIgn:",	 "CapInh:",	  "CapPrm:",
	"CapEff:",     "CapBnd:",  "CapAmb:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:", "Speculation_Store_Bypass:",
	"Cpus_allowed:", "Mems_allowed:",
};

static bool is_inherited(struct rein_str line)
{
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++) {
		size_t n = strlen(inherited[i]);

		if (line.n >= n && memcmp(line.p, inherited[i], n) == 0)
			return true;
	}
	return false;
}

static bool add_status(struct rein_buf *b)
{
	auto_buf struct rein_buf all = REIN_BUF(MOST);
	struct rein_err err = {0};
	bool any = false;

	if (rein_file_read(AT_FDCWD, SELF "/status", &all, &err) < 0 || all.failed)
		return false;
	for (const char *p = all.p, *end = all.p + all.n; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		struct rein_str line = {p, (size_t)((stop ? stop + 1 : end) - p)};

		if (is_inherited(line)) {
			rein_buf_str(b, line);
			any = true;
		}
		p += line.n;
	}
	return any;
}

/* A file that this kernel does not have says the same both times. */
static bool add_file(struct rein_buf *b, const char *path)
{
	struct rein_err err = {0};

	rein_buf_cstr(b, path);
	rein_buf_char(b, '\n');
	return rein_file_read(AT_FDCWD, path, b, &err) == 0 || err.sys == ENOENT || err.sys == EINVAL ||
	       err.sys == EACCES || err.sys == EOPNOTSUPP;
}

static bool add_place(struct rein_buf *b, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT;
	rein_buf_printf(b, "%s %llx:%llx\n", path, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return true;
}

static bool add_limits(struct rein_buf *b)
{
	struct rlimit l;

	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		if (getrlimit((__rlimit_resource_t)i, &l) < 0)
			return false;
		rein_buf_printf(b, "%llu %llu\n", (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
	}
	return true;
}

bool rein_situation(struct rein_buf *ret)
{
	static const char *const places[] = {
		"/",		      SELF "/ns/user", SELF "/ns/mnt",	SELF "/ns/pid_for_children",
		SELF "/ns/cgroup",    SELF "/ns/net",  SELF "/ns/ipc",	SELF "/ns/uts",
		SELF "/ns/time_for_children",
	};

	rein_buf_clear(ret);
	errno = 0;
	rein_buf_printf(ret, "%d %d %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), personality(0xffffffff));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!add_place(ret, places[i]))
			return false;
	return add_status(ret) && add_limits(ret) && add_file(ret, SELF "/cgroup") &&
	       add_file(ret, SELF "/attr/current") && add_file(ret, SELF "/oom_score_adj") && !ret->failed;
}
