/* SPDX-License-Identifier: Apache-2.0 */
/* See hidecheck.h; [H2] and [H3] of sandbox/hideindex.h. */
#include "sandbox/hidecheck.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "base/str.h"
#include "sys/apart.h"

#define DIRS_PER_THREAD 1000 /* about a millisecond of work; starting a thread takes 0.1 */
#define FEW		64

static bool unchanged(const struct rein_hidedir *d, const struct statx *sx, uint64_t mount)
{
	if (d->flags & REIN_HIDEDIR_MOUNT)
		return sx->stx_mnt_id != mount;
	return !(d->flags & REIN_HIDEDIR_RACY) && sx->stx_mnt_id == mount &&
	       sx->stx_ino == d->ino && sx->stx_ctime.tv_nsec == d->ctime_ns &&
	       sx->stx_ctime.tv_sec == d->ctime_s && sx->stx_mtime.tv_nsec == d->mtime_ns &&
	       sx->stx_mtime.tv_sec == d->mtime_s && S_ISDIR(sx->stx_mode);
}

/* Who may read a directory changes without a trace in it, with the groups and rights of who asks. */
static bool opened(int root_fd, const char *path, const struct rein_hidedir *d)
{
	return (d->flags & REIN_HIDEDIR_CLOSED) && faccessat(root_fd, *path ? path : ".", R_OK, AT_EACCESS) == 0;
}

static bool known(const struct rein_hideworker *w, const char *path, const struct rein_hidedir *d)
{
	struct statx sx;

	if (rein_hidescan_look(w->root_fd, path, &sx) < 0)
		return errno == EACCES && (d->flags & REIN_HIDEDIR_BLIND);
	return unchanged(d, &sx, w->check->mount) && !opened(w->root_fd, path, d);
}

/*
 * Does the reading say what the index says, times apart? In the same order: a file system that keeps
 * none costs an index made anew.
 */
static bool same_listing(const struct rein_hideindex *x, const struct rein_hidedir *d,
			 const struct rein_hidescan *l)
{
	uint32_t mask = ~(uint32_t)REIN_HIDEDIR_RACY;
	uint32_t child = d->first_child;
	const struct rein_hidematch *match = x->matches + d->first_match;

	if ((d->flags & mask) != (l->flags & mask) || d->nchild != l->ndirs ||
	    d->nmatch != l->n - l->ndirs || d->uid != l->sx.stx_uid || d->gid != l->sx.stx_gid)
		return false;
	for (size_t i = 0; i < l->n; i++) {
		const char *name = l->text.p + l->v[i].name;

		if (l->v[i].flags == REIN_HIDESCAN_DIR) {
			if (!rein_streq(rein_hideindex_name(x, child++), name))
				return false;
		} else {
			if (match->flags != l->v[i].flags || !rein_streq(x->strings + match->name, name))
				return false;
			match++;
		}
	}
	return true;
}

/* One that changed. What differs anyway is read when the index is made. */
static void read_again(struct rein_hideworker *w, uint32_t i, const char *path)
{
	struct rein_hidecheck *c = w->check;
	const struct rein_hidedir *d = &c->x->dirs[i];

	c->changed[i] = 1;
	atomic_fetch_add(&c->nchanged, 1);
	if (atomic_load(&c->differs))
		return;
	if (rein_hidescan_read(c->o, w->root_fd, c->mount, path, &w->l) < 0 ||
	    rein_grow(w->v, w->n, w->cap) < 0) {
		atomic_store(&c->failed, true);
		return;
	}
	if (!same_listing(c->x, d, &w->l)) {
		atomic_store(&c->differs, true);
		return;
	}
	w->v[w->n] = (struct rein_hidetimes){i, *d};
	rein_hidescan_times(&w->l, &w->v[w->n].now);
	w->n++;
}

/*
 * The hot loop: one fstatat a directory, nothing else; it is a sixth cheaper than statx, and a
 * mount shows as another device or inode. Whatever is not plainly unchanged is looked at closely.
 */
static void check_range(struct rein_hideworker *w, uint32_t from, uint32_t to)
{
	const struct rein_hidecheck *c = w->check;

	for (uint32_t k = from; k < to; k++) {
		uint32_t i = c->order[k];
		const struct rein_hidedir *d = &c->x->dirs[i];
		const char *path = c->x->strings + d->path;
		struct stat st;

		if (*path && !(d->flags & (REIN_HIDEDIR_MOUNT | REIN_HIDEDIR_RACY | REIN_HIDEDIR_CLOSED)) &&
		    fstatat(w->root_fd, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
		    st.st_ino == d->ino && st.st_dev == c->dev &&
		    (uint32_t)st.st_ctim.tv_nsec == d->ctime_ns &&
		    st.st_ctim.tv_sec == d->ctime_s &&
		    (uint32_t)st.st_mtim.tv_nsec == d->mtime_ns && st.st_mtim.tv_sec == d->mtime_s)
			continue;
		if (!known(w, path, d))
			read_again(w, i, path);
	}
}

static void check_some(struct rein_hideworker *w)
{
	struct rein_hidecheck *c = w->check;
	uint32_t from;

	while ((from = atomic_fetch_add(&c->next, FEW)) < c->x->ndirs)
		check_range(w, from, c->x->ndirs - from < FEW ? c->x->ndirs : from + FEW);
}

/*
 * A thread looks by a descriptor of its own: threads that use one at the same time wait for each
 * other's count of its users, a fifth of the whole.
 */
static void *help(void *arg)
{
	struct rein_hideworker *w = arg;
	auto_close int fd = openat(w->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		w->root_fd = fd;
	check_some(w);
	return NULL;
}

/* Depth-first order from the breadth-first array, by subtree sizes; no recursion. */
static void depth_first(const struct rein_hideindex *x, uint32_t *order, uint32_t *size,
			uint32_t *place)
{
	for (uint32_t i = 0; i < x->ndirs; i++)
		size[i] = 1;
	for (uint32_t i = x->ndirs; i-- > 1;)
		size[x->dirs[i].parent] += size[i];
	place[0] = 0;
	for (uint32_t i = 0; i < x->ndirs; i++) {
		const struct rein_hidedir *d = &x->dirs[i];
		uint32_t at = place[i] + 1;

		for (uint32_t c = d->first_child; c < d->first_child + d->nchild; c++) {
			place[c] = at;
			at += size[c];
		}
		order[place[i]] = i;
	}
}

static unsigned worker_count(const struct rein_hideindex_opts *o, uint32_t ndirs)
{
	cpu_set_t cpus;
	unsigned n = o->threads;

	if (n == 0) {
		n = ndirs / DIRS_PER_THREAD + 1;
		if (n > 1 && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
		    n > (unsigned)CPU_COUNT(&cpus))
			n = (unsigned)CPU_COUNT(&cpus);
	}
	return n > REIN_HIDECHECK_WORKERS ? REIN_HIDECHECK_WORKERS : n;
}

static void add_worker(struct rein_hidecheck *c)
{
	c->worker[c->nworkers++] = (struct rein_hideworker){
		.check = c, .root_fd = c->o->root_fd, .l = {.text = REIN_BUF(REIN_HIDEINDEX_STRINGS)}};
}

struct rein_hidecheck *rein_hidecheck_start(const struct rein_hideindex_opts *o,
					    const struct rein_hideindex *x, const struct statx *root)
{
	struct rein_hidecheck *c = rein_calloc(1, sizeof(*c));
	unsigned want = worker_count(o, x->ndirs);

	if (!c)
		return NULL;
	c->o = o;
	c->x = x;
	c->mount = root->stx_mnt_id;
	c->dev = makedev(root->stx_dev_major, root->stx_dev_minor);
	c->order = rein_calloc(x->ndirs, 3 * sizeof(*c->order));
	c->changed = rein_calloc(x->ndirs, 1);
	if (!c->order || !c->changed) {
		rein_hidecheck_free(c);
		return NULL;
	}
	depth_first(x, c->order, c->order + x->ndirs, c->order + 2 * (size_t)x->ndirs);
	add_worker(c);
	while (c->nworkers < want) {
		struct rein_hideworker *w = &c->worker[c->nworkers];

		add_worker(c);
		if (pthread_create(&w->thread, NULL, help, w) != 0) {
			c->nworkers--;
			break;
		}
		rein_set_thread_apart(w->thread);
	}
	c->threads = c->nworkers - 1;
	return c;
}

static void join(struct rein_hidecheck *c)
{
	for (; c->threads; c->threads--)
		pthread_join(c->worker[c->threads].thread, NULL);
}

int rein_hidecheck_finish(struct rein_hidecheck *c)
{
	check_some(&c->worker[0]);
	join(c);
	return c->failed ? -1 : 0;
}

void rein_hidecheck_free(struct rein_hidecheck *c)
{
	if (!c)
		return;
	atomic_store(&c->next, c->x->ndirs); /* nothing is left to take */
	join(c);
	for (unsigned i = 0; i < c->nworkers; i++) {
		rein_hidescan_done(&c->worker[i].l);
		rein_free(c->worker[i].v);
	}
	rein_free(c->order);
	rein_free(c->changed);
	rein_free(c);
}
