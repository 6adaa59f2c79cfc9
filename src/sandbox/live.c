/* SPDX-License-Identifier: Apache-2.0 */
/* See live.h. */
#include "sandbox/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/pack.h"
#include "base/prefix.h"
#include "sys/file.h"
#include "sys/sys.h"

#define DIR_NAME  "live"
#define SPARE	  ".spare"
#define MAGIC	  0x3256494cu /* "LIV2" */
#define ENTRY_MAX (64u << 10)

void rein_live_done(struct rein_live *l)
{
	char *all[] = {l->id, l->agent, l->task, l->level, l->net, l->workspace, l->command, l->group,
		       l->backend};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		rein_free(all[i]);
	rein_strlist_done(&l->labels);
	*l = (struct rein_live){0};
}

void rein_live_list_done(struct rein_live_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		rein_live_done(&l->v[i]);
	rein_free(l->v);
	*l = (struct rein_live_list){0};
}

static int open_dir(int state_fd, bool make)
{
	int fd = openat(state_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && make &&
	    (mkdirat(state_fd, DIR_NAME, 0700) == 0 || errno == EEXIST))
		fd = openat(state_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

static void put(struct rein_buf *b, const char *s)
{
	rein_pack_str(b, rein_str(s ? s : ""));
}

/* A command line may be megabytes; the list of live boxes needs its beginning. */
static void put_some(struct rein_buf *b, const char *s, size_t max)
{
	struct rein_str all = rein_str(s ? s : "");

	if (all.n > max)
		all.n = max;
	rein_pack_str(b, all);
}

static void format(const struct rein_live *l, struct rein_buf *b)
{
	rein_buf_le32(b, MAGIC);
	rein_buf_le64(b, (uint64_t)l->rein);
	rein_buf_le64(b, (uint64_t)l->box);
	rein_buf_le64(b, l->begun_ns);
	rein_buf_le32(b, (uint32_t)l->group_version);
	put(b, l->agent);
	put(b, l->task);
	put(b, l->level);
	put(b, l->net);
	put(b, l->workspace);
	put_some(b, l->command, 8192);
	put(b, l->group);
	rein_buf_le32(b, (uint32_t)l->labels.n);
	for (size_t i = 0; i < l->labels.n; i++)
		put(b, l->labels.v[i]);
	put(b, l->backend);
}

/*
 * The file of a box that has ended becomes the next one's: a new one costs several times as much as all the rest here,
 * on some filesystems. -1: there is none, or others were quicker.
 */
static int take_spare(int dir, const char *name)
{
	auto_close int fd = openat(dir, SPARE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat mine, there;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || renameat(dir, SPARE, dir, name) < 0)
		return -1;
	/* between the first and the last of these another one may have taken its place, which nobody holds */
	if (fstat(fd, &mine) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && mine.st_ino == there.st_ino &&
	    mine.st_size == 0)
		return take_fd(&fd);
	unlinkat(dir, name, 0);
	return -1;
}

static int make_entry(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : take_fd(&fd);
}

int rein_live_enter(int state_fd, const struct rein_live *l, int *ret_lock, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(ENTRY_MAX);
	auto_close int dir = open_dir(state_fd, true), fd = -1;
	char temporary[40];

	if (dir < 0)
		return rein_err_errno(err, "open the list of live boxes");
	format(l, &b);
	if (b.failed)
		return rein_err_set(err, REIN_E_LIMIT, "agent, task and labels are together over %u KiB",
				    ENTRY_MAX >> 10);
	snprintf(temporary, sizeof(temporary), ".%s", l->id);
	fd = take_spare(dir, temporary);
	if (fd < 0)
		fd = make_entry(dir, temporary);
	if (fd < 0 || write(fd, b.p, b.n) != (ssize_t)b.n || renameat(dir, temporary, dir, l->id) < 0)
		return rein_err_errno(err, "enter the list of live boxes"); /* [V1] */
	*ret_lock = take_fd(&fd);
	return 0;
}

void rein_live_leave(int state_fd, const char *id, int lock)
{
	auto_close int dir = open_dir(state_fd, false);

	if (lock < 0)
		return;
	/* what stood in it was a command's: nobody keeps that here */
	if (dir >= 0 && (ftruncate(lock, 0) < 0 || renameat(dir, id, dir, SPARE) < 0))
		unlinkat(dir, id, 0);
	close(lock);
}

static bool parse(struct rein_unpack *u, struct rein_live *l)
{
	char **texts[] = {&l->agent, &l->task, &l->level, &l->net, &l->workspace, &l->command, &l->group};
	uint32_t n;

	if (rein_unpack_le32(u) != MAGIC)
		return false;
	l->rein = (pid_t)rein_unpack_le64(u);
	l->box = (pid_t)rein_unpack_le64(u);
	l->begun_ns = rein_unpack_le64(u);
	l->group_version = (int)rein_unpack_le32(u);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = rein_unpack_cstr(u);
		if (!*texts[i])
			return false;
	}
	n = rein_unpack_le32(u);
	for (uint32_t i = 0; i < n && !u->failed; i++)
		if (rein_strlist_take(&l->labels, rein_unpack_cstr(u)) < 0)
			return false;
	l->backend = rein_unpack_cstr(u);
	return l->backend && !u->failed && l->rein > 0 && l->box > 0;
}

/* Is somebody holding it? If not, it is a dead rein's. */
static bool is_held(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

static int read_one(int dir, const char *name, struct rein_live_list *ret, struct rein_err *err)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	auto_buf struct rein_buf b = REIN_BUF(ENTRY_MAX);
	struct rein_live l = {0};
	struct rein_err ignored = {0};
	struct rein_unpack u;

	if (fd < 0)
		return 0; /* it ended meanwhile */
	if (!is_held(fd)) {
		char door[NAME_MAX + 8];

		snprintf(door, sizeof(door), ".door-%s", name);
		unlinkat(dir, door, 0);
		unlinkat(dir, name, 0);
		return 0;
	}
	if (rein_file_read(dir, name, &b, &ignored) < 0)
		return 0;
	u = (struct rein_unpack){(const unsigned char *)b.p, b.n, false};
	l.id = rein_strdup(name);
	if (!l.id || !parse(&u, &l)) {
		rein_live_done(&l);
		return 0;
	}
	if (rein_grow(ret->v, ret->n, ret->cap) < 0) {
		rein_live_done(&l);
		return rein_err_nomem(err);
	}
	ret->v[ret->n++] = l;
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct rein_live *x = a, *y = b;

	return x->begun_ns < y->begun_ns ? -1 : x->begun_ns > y->begun_ns;
}

int rein_live_list(int state_fd, struct rein_live_list *ret, struct rein_err *err)
{
	int fd = open_dir(state_fd, false);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct rein_live_list l = {0};
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	if (!d && errno != ENOENT)
		return rein_err_errno(err, "read the list of live boxes");
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strncmp(e->d_name, "place-", 6) != 0 &&
		    read_one(dirfd(d), e->d_name, &l, err) < 0) {
			rein_live_list_done(&l);
			return -err->code;
		}
	if (l.n)
		qsort(l.v, l.n, sizeof(l.v[0]), by_age);
	*ret = l;
	return 0;
}

int rein_live_find(int state_fd, const char *name, struct rein_live *ret, struct rein_err *err)
{
	auto_(rein_live_list_done) struct rein_live_list l = {0};
	struct rein_prefix p = {.name = name};

	if (rein_live_list(state_fd, &l, err) < 0)
		return -err->code;
	for (size_t i = 0; i < l.n; i++)
		rein_prefix_offer(&p, i, l.v[i].id);
	if (p.n > 1)
		return rein_prefix_refuse(&p, REIN_E_USAGE, "boxes", err);
	if (!p.n)
		return rein_err_set(err, REIN_E_NOTFOUND, "no box '%s' is running (see: rein ps)", name);
	*ret = l.v[p.at];
	l.v[p.at] = (struct rein_live){0};
	return 0;
}

pid_t rein_live_parent_of(pid_t pid)
{
	char path[64], text[512], *p;
	ssize_t n;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	{
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	}
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	return p && sscanf(p, ") %*c %d", &parent) == 1 ? parent : -1;
}

int rein_live_pidfd(const struct rein_live *l)
{
	auto_close int fd = sys_pidfd_open(l->box, 0);

	pid_t parent = fd < 0 ? -1 : rein_live_parent_of(l->box);

	/*
	 * Its parent is the rein that holds the entry, or a runtime whose parent that is. Whoever was
	 * inherited by somebody else dies by itself.
	 */
	if (parent <= 1 || (parent != l->rein && rein_live_parent_of(parent) != l->rein))
		return -1;
	return take_fd(&fd); /* [V2] */
}

void rein_live_poke(const struct rein_live *l)
{
	auto_close int fd = sys_pidfd_open(l->rein, 0);

	/* should it be somebody else by now: SIGURG is ignored by whoever did not ask for it */
	if (fd >= 0)
		sys_pidfd_send_signal(fd, SIGURG);
}

static bool add_pid(pid_t *v, size_t *n, size_t max, pid_t pid)
{
	for (size_t i = 0; i < *n; i++)
		if (v[i] == pid)
			return true;
	if (*n == max)
		return false;
	v[(*n)++] = pid;
	return true;
}

/* How many reins have a place or a box, each once; at most `max` are counted. */
static size_t count_taken(int dir, size_t max)
{
	auto_free pid_t *pids = rein_calloc(max + 1, sizeof(*pids));
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	size_t n = 0;

	while (pids && d && (e = readdir(d)) && n < max) {
		auto_(rein_live_list_done) struct rein_live_list one = {0};
		struct rein_err ignored = {0};
		uint64_t pid;

		if (e->d_name[0] == '.')
			continue;
		if (!rein_starts(e->d_name, "place-")) {
			read_one(dir, e->d_name, &one, &ignored);
			if (one.n)
				add_pid(pids, &n, max, one.v[0].rein);
		} else if (rein_parse_u64(e->d_name + 6, INT32_MAX, &pid)) {
			auto_close int fd = openat(dir, e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

			if (fd >= 0 && is_held(fd))
				add_pid(pids, &n, max, (pid_t)pid);
			else
				unlinkat(dir, e->d_name, 0);
		}
	}
	return pids && d ? n : max;
}

/* Under the directory's own lock, so that two cannot take the last one. */
static int try_place(int dir, unsigned n, struct rein_err *err)
{
	auto_close int fd = -1;
	char name[32];

	while (flock(dir, LOCK_EX) < 0)
		if (errno != EINTR)
			return rein_err_errno(err, "lock the list of live boxes");
	if (count_taken(dir, n) >= n) {
		flock(dir, LOCK_UN);
		return -REIN_E_BUSY;
	}
	snprintf(name, sizeof(name), "place-%d", (int)getpid());
	fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return rein_err_errno(err, "take a place for a box");
	flock(dir, LOCK_UN);
	return take_fd(&fd);
}

int rein_live_place(int state_fd, unsigned n, uint64_t wait_ns, int *ret_lock, struct rein_err *err)
{
	const struct timespec a_while = {.tv_nsec = 20000000};
	uint64_t end = rein_ns_after(rein_mono_ns(), wait_ns);
	auto_close int dir = open_dir(state_fd, true);

	if (dir < 0)
		return rein_err_errno(err, "open the list of live boxes");
	for (;;) {
		int rc = try_place(dir, n, err);

		if (rc >= 0) {
			*ret_lock = rc;
			return 0;
		}
		if (rc != -REIN_E_BUSY)
			return rc;
		if (rein_mono_ns() >= end)
			return rein_err_set(err, REIN_E_BUSY, "%u box%s at once %s allowed, and so many %s (rein ps)%s", n,
					    n == 1 ? "" : "es", n == 1 ? "is" : "are",
					    wait_ns ? "were running all the time" : "are running",
					    wait_ns ? "" : "; to wait for one to end: --queue 10m");
		nanosleep(&a_while, NULL);
	}
}
