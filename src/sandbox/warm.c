/* SPDX-License-Identifier: Apache-2.0 */
/* See warm.h. */
#include "sandbox/warm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/viewhash.h"
#include "sys/detach.h"
#include "sys/local.h"
#include "sys/passfd.h"
#include "sys/priv.h"
#include "sys/tree.h"

/* Each costs the kernel about a kilobyte, and the user one of those he may have. */
#define DIRS_MAX 20000u

#define WARM_MAGIC 0x316d7277u

/* What the holder says, with the layer, the watch, the directory and the lock of the mask. */
struct offer {
	uint32_t magic, has_lock;
	uint64_t dev, ino;
	char mask[PATH_MAX];
};

enum { LAYER, CHANGES, DIRECTORY, LOCK, NFDS };

/* ---- the tree ---- */

/* Where every change passes through this kernel, and a watch sees it. */
static bool is_local(int fd)
{
	static const long local[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				     TMPFS_MAGIC, F2FS_SUPER_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if ((long)fs.f_type == local[i])
			return true;
	return false;
}

/* Watch first, look then: what is made in between is an event. */
static bool watch_below(int changes, int fd, unsigned *left)
{
	const uint32_t all = IN_ATTRIB | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
			     IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
	auto_close int keep = fd;
	auto_closedir DIR *dir = NULL;
	char path[32];
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!*left || inotify_add_watch(changes, path, all) < 0)
		return false;
	--*left;
	dir = fdopendir(fd);
	if (!dir)
		return false;
	keep = -1;
	while (errno = 0, e = readdir(dir)) {
		int sub;

		if (e->d_type == DT_UNKNOWN)
			return false;
		if (e->d_type != DT_DIR || rein_streq(e->d_name, ".") ||
		    rein_streq(e->d_name, ".."))
			continue;
		sub = rein_open_sub(dirfd(dir), e->d_name);
		/* one that may be entered but not read cannot be watched; in others nobody looks */
		if (sub < 0 &&
		    (errno != EACCES || faccessat(dirfd(dir), e->d_name, X_OK, AT_EACCESS) == 0))
			return false;
		if (sub >= 0 && !watch_below(changes, sub, left))
			return false;
	}
	return errno == 0;
}

static struct rein_warm *new_warm(const char *real)
{
	struct rein_warm *w = rein_alloc(sizeof(*w));
	uint64_t key = rein_hash64(real, strlen(real), rein_is_root());

	if (!w)
		return NULL;
	*w = (struct rein_warm){.layer = -1, .changes = -1, .dir = -1, .lock = -1};
	snprintf(w->name, sizeof(w->name), "%016llx", (unsigned long long)key);
	return w;
}

static void freep(struct rein_warm **w)
{
	rein_warm_free(*w);
}

struct rein_warm *rein_warm_watch(const char *real)
{
	auto_(freep) struct rein_warm *w = new_warm(real);
	int fd = w ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	unsigned left = DIRS_MAX;
	struct stat st;

	if (fd < 0)
		return NULL;
	w->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (!is_local(fd) || fstat(fd, &st) < 0 || w->changes < 0) {
		close(fd);
		return NULL;
	}
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	return watch_below(w->changes, fd, &left) ? take_ptr(w) : NULL;
}

bool rein_warm_true(const struct rein_warm *w)
{
	struct pollfd p = {.fd = w->changes, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

void rein_warm_free(struct rein_warm *w)
{
	if (!w)
		return;
	rein_closep_(&w->layer);
	rein_closep_(&w->changes);
	rein_closep_(&w->dir);
	rein_closep_(&w->lock);
	rein_free(w->mask);
	rein_free(w);
}

/* ---- taking ---- */

static int open_place(int state_fd)
{
	return openat(state_fd, "warm", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static const char *door_name(const struct rein_warm *w, char to[REIN_WARM_NAME + 8])
{
	snprintf(to, REIN_WARM_NAME + 8, ".door-%s", w->name);
	return to;
}

/* A holder that does not answer at once is not waited for. */
static bool ask(int fd, struct offer *offer, int fds[NFDS])
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;

	if (poll(&p, 1, 100) <= 0)
		return false;
	n = rein_fds_receive(fd, offer, sizeof(*offer), fds, NFDS, MSG_DONTWAIT);
	return n == (ssize_t)sizeof(*offer) && offer->magic == WARM_MAGIC &&
	       memchr(offer->mask, 0, sizeof(offer->mask));
}

struct rein_warm *rein_warm_take(int state_fd, const char *real)
{
	auto_(freep) struct rein_warm *w = new_warm(real);
	auto_close int place = open_place(state_fd), door = -1;
	char name[REIN_WARM_NAME + 8];
	int fds[NFDS] = {-1, -1, -1, -1};
	struct offer offer;
	struct stat st;
	bool whole;

	if (!w || place < 0)
		return NULL;
	door = rein_local_connect(place, door_name(w, name));
	if (door < 0)
		return NULL;
	whole = ask(door, &offer, fds);
	w->layer = fds[LAYER];
	w->changes = fds[CHANGES];
	w->dir = fds[DIRECTORY];
	w->lock = fds[LOCK];
	if (!whole || w->dir < 0 || w->changes < 0 || (offer.has_lock && w->lock < 0))
		return NULL;
	w->dev = offer.dev;
	w->ino = offer.ino;
	w->mask = rein_strdup(offer.mask);
	if (!w->mask || stat(real, &st) < 0 || st.st_dev != w->dev || st.st_ino != w->ino ||
	    !rein_warm_true(w))
		return NULL;
	return take_ptr(w);
}

/* ---- holding ---- */

struct holder {
	int place, door;
	struct rein_warm *w;
	uint64_t until_ns;
};

static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

/* [W2] The door goes first: the next holder's has the same name. */
static bool give(struct holder *h, int to)
{
	const struct rein_warm *w = h->w;
	const int fds[NFDS] = {w->layer, w->changes, w->dir, w->lock};
	char name[REIN_WARM_NAME + 8];
	struct offer offer = {
		.magic = WARM_MAGIC, .has_lock = w->lock >= 0, .dev = w->dev, .ino = w->ino};

	snprintf(offer.mask, sizeof(offer.mask), "%s", w->mask);
	unlinkat(h->place, door_name(w, name), 0);
	return rein_fds_send(to, &offer, sizeof(offer), fds, offer.has_lock ? NFDS : NFDS - 1,
			     MSG_DONTWAIT) == (ssize_t)sizeof(offer);
}

/* True: somebody has it now, with its directory. */
static bool serve(struct holder *h)
{
	for (;;) {
		uint64_t now = rein_mono_ns();
		struct pollfd p[2] = {{.fd = h->w->changes, .events = POLLIN},
				      {.fd = h->door, .events = POLLIN}};
		auto_close int to = -1;

		if (now >= h->until_ns)
			return false;
		if (poll(p, 2, (int)((h->until_ns - now) / 1000000 + 1)) < 0 && errno != EINTR)
			return false;
		if (p[0].revents) /* [W1] */
			return false;
		if (p[1].revents)
			to = accept4(h->door, NULL, NULL, SOCK_CLOEXEC);
		if (to >= 0 && is_ours(to))
			return give(h, to);
	}
}

static _Noreturn void hold(struct holder *h)
{
	char name[REIN_WARM_NAME + 8];
	struct rein_err ignored = {0};

	if (!serve(h)) {
		unlinkat(h->place, door_name(h->w, name), 0);
		close(h->w->layer); /* unmounts it: only now are its directories nobody's */
		rein_tree_remove(h->place, h->w->name, &ignored);
	}
	_exit(0);
}

bool rein_warm_leave(int state_fd, struct rein_warm *w, uint64_t ns)
{
	auto_close int place = open_place(state_fd), door = -1;
	char name[REIN_WARM_NAME + 8];
	struct holder h = {.place = place, .w = w};
	uint64_t most = (uint64_t)INT_MAX / 2 * 1000000;
	int left;

	if (place < 0 || w->layer < 0 || !w->mask || strlen(w->mask) >= PATH_MAX)
		return false;
	door = rein_local_listen(place, door_name(w, name));
	if (door < 0)
		return false;
	h.door = door;
	h.until_ns = rein_mono_ns() + (ns < most ? ns : most);
	left = rein_detach("rein-warm", (const int[]){place, door, w->layer, w->changes, w->dir, w->lock}, 6);
	if (left > 0)
		hold(&h);
	return left == 0;
}
