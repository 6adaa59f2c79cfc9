/* SPDX-License-Identifier: Apache-2.0 */
/* See orders.h. */
#include "sandbox/orders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/pack.h"
#include "base/str.h"
#include "sys/file.h"

#define DIR_NAME "orders"
#define CHANGING ".changing"
#define PATIENCE_NS (10 * REIN_NS_PER_S)

static const char *const kinds[] = {
	[REIN_ORDERS_STOP] = "stop",
	[REIN_ORDERS_KILL] = "kill",
	[REIN_ORDERS_PAUSE] = "pause",
	[REIN_ORDERS_SAFE] = "safe",
};

static int open_dir(const struct rein_orders *o, bool make)
{
	int fd = openat(o->state_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && make &&
	    (mkdirat(o->state_fd, DIR_NAME, 0700) == 0 || errno == EEXIST))
		fd = openat(o->state_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

/* In memory, for when the disk is gone: only stop-all is kept there. Private, or not believed. */
static int open_spare(bool make)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/rein-%u", (unsigned)geteuid());
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void spare_name(const struct rein_orders *o, char *to, size_t size)
{
	snprintf(to, size, "stop-%016" PRIx64, rein_checksum(o->state_dir, strlen(o->state_dir)));
}

static bool name_of(enum rein_order_kind kind, const char *whom, char *to, size_t size)
{
	size_t n;

	if (kind == REIN_ORDERS_KILL || kind == REIN_ORDERS_PAUSE)
		return (size_t)snprintf(to, size, "%s-%s", kinds[kind], whom) < size &&
		       !strchr(whom, '/');
	if (!whom)
		return (size_t)snprintf(to, size, "%s-all", kinds[kind]) < size;
	n = (size_t)snprintf(to, size, "%s-agent-", kinds[kind]);
	for (; *whom; whom++, n += 2) {
		if (n + 3 > size || n + 3 > NAME_MAX)
			return false;
		snprintf(to + n, size - n, "%02x", (unsigned)(unsigned char)*whom);
	}
	return true;
}

/* who<TAB>when<TAB>why; control characters have no place here. */
static void describe(struct rein_buf *b, const char *why)
{
	const char *who = getenv("SUDO_USER");
	struct timespec now;
	struct tm tm;
	char when[32];

	if (!who)
		who = getenv("USER");
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (who && *who) {
		rein_buf_escaped(b, rein_str(who));
		rein_buf_printf(b, " (uid %u)\t%s\t", (unsigned)getuid(), when);
	} else {
		rein_buf_printf(b, "uid %u\t%s\t", (unsigned)getuid(), when);
	}
	rein_buf_escaped(b, rein_str(why ? why : ""));
}

static void parse(const char *text, struct rein_order_text *t)
{
	size_t who = strcspn(text, "\t"), when;

	*t = (struct rein_order_text){0};
	snprintf(t->who, sizeof(t->who), "%.*s", (int)who, text);
	text += who + (text[who] == '\t');
	when = strcspn(text, "\t");
	snprintf(t->when, sizeof(t->when), "%.*s", (int)when, text);
	text += when + (text[when] == '\t');
	snprintf(t->why, sizeof(t->why), "%s", text);
}

int rein_orders_give(const struct rein_orders *o, enum rein_order_kind kind, const char *whom,
		     const char *why, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);
	auto_close int dir = open_dir(o, true), spare = -1;
	char name[NAME_MAX + 1], other[40];

	if (!name_of(kind, whom, name, sizeof(name)))
		return rein_err_set(err, REIN_E_USAGE, "'%s' is too long a name", whom);
	describe(&b, why);
	if (b.failed)
		return rein_err_set(err, REIN_E_USAGE, "the reason is too long");
	if (dir >= 0 && rein_file_replace(dir, name, (struct rein_str){b.p, b.n}, REIN_SYNC_NONE, err) == 0)
		return 0;
	if (dir < 0)
		rein_err_errno(err, "open the orders");
	if (kind != REIN_ORDERS_STOP || whom)
		return -err->code;
	spare = open_spare(true);
	spare_name(o, other, sizeof(other));
	if (spare < 0)
		return -err->code;
	return rein_file_replace(spare, other, (struct rein_str){b.p, b.n}, REIN_SYNC_NONE, err);
}

static bool read_at(int dir, const char *name, struct rein_order_text *ret)
{
	auto_buf struct rein_buf b = REIN_BUF(8192);
	struct rein_err ignored = {0};
	struct stat st;

	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	/* it is there: that counts, even where its words cannot be read */
	if (ret)
		parse(rein_file_read(dir, name, &b, &ignored) == 0 && b.p ? b.p : "", ret);
	return true;
}

bool rein_orders_has(const struct rein_orders *o, enum rein_order_kind kind, const char *whom,
		     struct rein_order_text *ret)
{
	auto_close int dir = open_dir(o, false), spare = -1;
	char name[NAME_MAX + 1];

	if (name_of(kind, whom, name, sizeof(name)) && read_at(dir, name, ret))
		return true;
	if (kind != REIN_ORDERS_STOP || whom)
		return false;
	spare = open_spare(false);
	spare_name(o, name, sizeof(name));
	return read_at(spare, name, ret);
}

bool rein_orders_apply(const struct rein_orders *o, enum rein_order_kind kind, const char *agent,
		       struct rein_order_text *ret)
{
	bool of_all = rein_orders_has(o, kind, NULL, ret);

	if (!of_all && !(agent && *agent && rein_orders_has(o, kind, agent, ret)))
		return false;
	if (ret)
		ret->of_agent = !of_all;
	return true;
}

int rein_orders_take_back(const struct rein_orders *o, enum rein_order_kind kind, const char *whom,
			  struct rein_err *err)
{
	auto_close int dir = open_dir(o, false), spare = -1;
	char name[NAME_MAX + 1];
	int taken = 0;

	if (dir >= 0 && name_of(kind, whom, name, sizeof(name))) {
		if (unlinkat(dir, name, 0) == 0)
			taken = 1;
		else if (errno != ENOENT)
			return rein_err_errno(err, "take the order '%s' back", name);
	}
	if (kind == REIN_ORDERS_STOP && !whom) {
		spare = open_spare(false);
		spare_name(o, name, sizeof(name));
		if (spare >= 0 && unlinkat(spare, name, 0) == 0)
			taken = 1;
	}
	return taken;
}

int rein_orders_hold(const struct rein_orders *o, struct rein_err *err)
{
	auto_close int dir = open_dir(o, true), fd = -1;
	int rc;

	if (dir >= 0)
		fd = openat(dir, CHANGING, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return rein_err_errno(err, "open the orders");
	do
		rc = flock(fd, LOCK_SH);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? rein_err_errno(err, "lock the orders") : take_fd(&fd);
}

bool rein_orders_settled(const struct rein_orders *o)
{
	const uint64_t until_ns = rein_mono_ns() + PATIENCE_NS;
	const struct timespec a_while = {.tv_nsec = 2000000};
	auto_close int dir = open_dir(o, false), fd = -1;

	/* where there is none, nobody ever changed anything */
	fd = dir < 0 ? -1 : openat(dir, CHANGING, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return true;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (rein_mono_ns() >= until_ns)
			return false;
		nanosleep(&a_while, NULL);
	}
	return true;
}

enum rein_order rein_orders_read(const struct rein_orders *o, const char *id, const char *agent,
				 struct rein_order_text *ret)
{
	if (rein_orders_apply(o, REIN_ORDERS_STOP, agent, ret))
		return REIN_ORDER_STOP;
	if (rein_orders_has(o, REIN_ORDERS_KILL, id, ret))
		return REIN_ORDER_KILL;
	return rein_orders_has(o, REIN_ORDERS_PAUSE, id, ret) ? REIN_ORDER_PAUSE : REIN_ORDER_NONE;
}

static bool from_hex(const char *hex, char *to, size_t size)
{
	size_t n = strlen(hex);

	if (n % 2 || n / 2 >= size)
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'}, *end;

		to[i] = (char)strtoul(two, &end, 16);
		if (*end)
			return false;
	}
	to[n / 2] = '\0';
	return true;
}

void rein_orders_each(const struct rein_orders *o, enum rein_order_kind kind,
		      void (*fn)(void *arg, const char *whom, const struct rein_order_text *t), void *arg)
{
	int fd = open_dir(o, false);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = strlen(kinds[kind]);
	struct rein_order_text t;
	struct dirent *e;

	if (rein_orders_has(o, kind, NULL, &t))
		fn(arg, "", &t);
	while (d && (e = readdir(d))) {
		char whom[NAME_MAX + 1];

		if (strncmp(e->d_name, kinds[kind], n) == 0 && rein_starts(e->d_name + n, "-agent-") &&
		    from_hex(e->d_name + n + strlen("-agent-"), whom, sizeof(whom)) &&
		    read_at(dirfd(d), e->d_name, &t))
			fn(arg, whom, &t);
	}
}
