/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking, making and keeping the index. Directories stand in breadth-first order: a parent before
 * its children, the children of one directory together and sorted, so that a changed directory's
 * new names find their old records by bisection.
 */
#include "sandbox/hideindex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/hidescan.h"
#include "sandbox/viewhash.h"

#define MAGIC		0x317844496e696552ull
#define VERSION		3u
#define NONE		UINT32_MAX
#define DIRS_MAX	(1u << 26)
#define STRINGS_MAX	(1u << 31)
#define THREADS_MAX	4
#define DIRS_PER_THREAD 1000 /* about 2 ms of work; starting a thread takes 0.1 */

struct header {
	uint64_t magic;
	uint64_t checksum; /* of everything after it */
	uint64_t rules;
	uint32_t version;
	uint32_t ndirs, nmatches, nstrings;
	uint32_t real, reserved;
};

uint64_t rein_hideindex_rules(const struct rein_hideindex_opts *o)
{
	uint64_t h = rein_hash64(&o->skip_ino, sizeof(o->skip_ino), rein_hide_names_hash());

	for (size_t i = 0; o->prune && o->prune[i]; i++)
		h = rein_hash64(o->prune[i], strlen(o->prune[i]), h);
	for (size_t i = 0; o->names && o->names[i]; i++)
		h = rein_hash64(o->names[i], strlen(o->names[i]) + 1, h);
	return h;
}

/* ---- the file ---- */

static uint64_t checksum(const void *data, size_t n)
{
	size_t skip = offsetof(struct header, rules);

	return rein_hash64((const char *)data + skip, n - skip, MAGIC);
}

void rein_hideindex_seal(void *data, size_t n)
{
	uint64_t sum;

	if (n < sizeof(struct header))
		return;
	sum = checksum(data, n);
	memcpy((char *)data + offsetof(struct header, checksum), &sum, sizeof(sum));
}

static bool in_range(uint32_t first, uint32_t n, uint32_t limit)
{
	return first <= limit && n <= limit - first;
}

/* Each directory stands among its parent's children: so the tree is one. */
static bool is_child(const struct rein_hideindex *x, uint32_t i)
{
	const struct rein_hidedir *p = &x->dirs[x->dirs[i].parent];

	return i == 0 || (i >= p->first_child && i - p->first_child < p->nchild);
}

static bool bounds_hold(const struct rein_hideindex *x)
{
	uint64_t children = 0;

	for (uint32_t i = 0; i < x->ndirs; i++) {
		const struct rein_hidedir *d = &x->dirs[i];

		children += d->nchild;
		if (d->path >= x->nstrings || d->parent >= x->ndirs ||
		    (i ? d->parent >= i : d->parent != 0) ||
		    !in_range(d->first_child, d->nchild, x->ndirs) ||
		    (d->nchild && d->first_child <= i) || !is_child(x, i) ||
		    !in_range(d->first_match, d->nmatch, x->nmatches))
			return false;
	}
	for (uint32_t i = 0; i < x->nmatches; i++)
		if (x->matches[i].name >= x->nstrings)
			return false;
	return children == x->ndirs - 1; /* and nothing is a child twice */
}

bool rein_hideindex_parse(const void *data, size_t n, uint64_t rules, const char *real,
			  struct rein_hideindex *ret)
{
	struct rein_hideindex x = {0};
	struct header h;
	uint64_t want;

	if (n < sizeof(h))
		return false;
	memcpy(&h, data, sizeof(h));
	if (h.magic != MAGIC || h.version != VERSION || h.rules != rules || h.ndirs == 0 ||
	    h.ndirs > DIRS_MAX)
		return false;
	want = sizeof(h) + (uint64_t)h.ndirs * sizeof(*x.dirs) +
	       (uint64_t)h.nmatches * sizeof(*x.matches) + h.nstrings;
	if (want != n || h.nstrings == 0 || h.real >= h.nstrings || h.checksum != checksum(data, n))
		return false;
	x.dirs = (const void *)((const char *)data + sizeof(h));
	x.matches = (const void *)(x.dirs + h.ndirs);
	x.strings = (const char *)(x.matches + h.nmatches);
	x.ndirs = h.ndirs;
	x.nmatches = h.nmatches;
	x.nstrings = h.nstrings;
	if (x.strings[x.nstrings - 1] != '\0' || !bounds_hold(&x) ||
	    !rein_streq(x.strings + h.real, real))
		return false;
	*ret = x;
	return true;
}

void rein_hideindex_done(struct rein_hideindex *x)
{
	if (x->map)
		munmap(x->map, x->map_size);
	for (size_t i = 0; i < ARRAY_SIZE(x->owned); i++)
		rein_free(x->owned[i]);
	*x = (struct rein_hideindex){0};
}

/* [H1] Anything unexpected is "no index". */
static bool load(const struct rein_hideindex_opts *o, uint64_t rules, struct rein_hideindex *ret)
{
	auto_close int fd = -1;
	struct stat st;
	void *map;

	if (!o->file)
		return false;
	fd = open(o->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size < (off_t)sizeof(struct header))
		return false;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	if (!rein_hideindex_parse(map, (size_t)st.st_size, rules, o->real, ret)) {
		munmap(map, (size_t)st.st_size);
		return false;
	}
	ret->map = map;
	ret->map_size = (size_t)st.st_size;
	return true;
}

static bool write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return false;
		p += w;
		n -= (size_t)w;
	}
	return true;
}

/*
 * [H4] A failure to keep the index is no failure of the run: the next one reads more. Nothing is
 * synced: a file torn by a power cut fails its checksum.
 */
static void save(const struct rein_hideindex_opts *o, uint64_t rules, struct rein_hideindex *x)
{
	size_t dirs = (size_t)x->ndirs * sizeof(*x->dirs);
	size_t matches = (size_t)x->nmatches * sizeof(*x->matches);
	size_t real = strlen(o->real) + 1;
	size_t n = sizeof(struct header) + dirs + matches + x->nstrings + real;
	auto_free char *data = o->file && n < UINT32_MAX ? rein_alloc(n) : NULL;
	auto_free char *temp = data ? rein_asprintf("%s.%d", o->file, (int)getpid()) : NULL;
	struct header h = {.magic = MAGIC,
			   .rules = rules,
			   .version = VERSION,
			   .ndirs = x->ndirs,
			   .nmatches = x->nmatches,
			   .nstrings = x->nstrings + (uint32_t)real,
			   .real = x->nstrings};
	auto_close int fd = -1;
	char *p = data;

	if (!data || !temp)
		return;
	memcpy(p, &h, sizeof(h));
	p += sizeof(h);
	memcpy(p, x->dirs, dirs);
	p += dirs;
	if (matches)
		memcpy(p, x->matches, matches);
	p += matches;
	memcpy(p, x->strings, x->nstrings);
	memcpy(p + x->nstrings, o->real, real);
	rein_hideindex_seal(data, n);
	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (!write_all(fd, data, n) || rename(temp, o->file) < 0)
		unlink(temp);
	else
		x->written = true;
}

/* ---- checking what is known ---- */

static bool unchanged(const struct rein_hidedir *d, const struct statx *sx, uint64_t mount)
{
	if (d->flags & REIN_HIDEDIR_MOUNT)
		return sx->stx_mnt_id != mount;
	return !(d->flags & REIN_HIDEDIR_RACY) && sx->stx_mnt_id == mount &&
	       sx->stx_ino == d->ino && sx->stx_ctime.tv_nsec == d->ctime_ns &&
	       sx->stx_ctime.tv_sec == d->ctime_s && sx->stx_mtime.tv_nsec == d->mtime_ns &&
	       sx->stx_mtime.tv_sec == d->mtime_s && S_ISDIR(sx->stx_mode);
}

struct check {
	const struct rein_hideindex *x;
	const uint32_t *order; /* depth first: neighbours share their path in the kernel's caches */
	int root_fd;
	uint64_t mount;
	dev_t dev;
	unsigned char *changed; /* one for each directory */
	atomic_uint next; /* whoever is free takes the next few: one of us may have to wait for a processor */
	atomic_uint nchanged;
};

#define FEW 64

/* Who may read a directory changes without a trace in it, with the groups and rights of who asks. */
static bool opened(const struct check *c, const struct rein_hidedir *d)
{
	const char *path = c->x->strings + d->path;

	return (d->flags & REIN_HIDEDIR_CLOSED) && faccessat(c->root_fd, *path ? path : ".", R_OK, AT_EACCESS) == 0;
}

static bool known(const struct check *c, const struct rein_hidedir *d)
{
	struct statx sx;

	if (rein_hidescan_look(c->root_fd, c->x->strings + d->path, &sx) < 0)
		return errno == EACCES && (d->flags & REIN_HIDEDIR_BLIND);
	return unchanged(d, &sx, c->mount) && !opened(c, d);
}

/*
 * The hot loop: one fstatat a directory, nothing else; it is a sixth cheaper than statx, and a
 * mount shows as another device or inode. Whatever is not plainly unchanged is looked at closely.
 */
static void check_range(struct check *c, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to; k++) {
		uint32_t i = c->order[k];
		const struct rein_hidedir *d = &c->x->dirs[i];
		const char *path = c->x->strings + d->path;
		struct stat st;

		if (*path && !(d->flags & (REIN_HIDEDIR_MOUNT | REIN_HIDEDIR_RACY | REIN_HIDEDIR_CLOSED)) &&
		    fstatat(c->root_fd, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
		    st.st_ino == d->ino && st.st_dev == c->dev &&
		    (uint32_t)st.st_ctim.tv_nsec == d->ctime_ns &&
		    st.st_ctim.tv_sec == d->ctime_s &&
		    (uint32_t)st.st_mtim.tv_nsec == d->mtime_ns && st.st_mtim.tv_sec == d->mtime_s)
			continue;
		if (known(c, d))
			continue;
		c->changed[i] = 1;
		atomic_fetch_add(&c->nchanged, 1);
	}
}

static void *check_some(void *arg)
{
	struct check *c = arg;
	uint32_t from;

	while ((from = atomic_fetch_add(&c->next, FEW)) < c->x->ndirs)
		check_range(c, from, c->x->ndirs - from < FEW ? c->x->ndirs : from + FEW);
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

static unsigned thread_count(const struct rein_hideindex_opts *o, uint32_t ndirs)
{
	cpu_set_t cpus;
	unsigned n = o->threads;

	if (n == 0) {
		n = ndirs / DIRS_PER_THREAD + 1;
		if (n > 1 && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
		    n > (unsigned)CPU_COUNT(&cpus))
			n = (unsigned)CPU_COUNT(&cpus);
	}
	return n > THREADS_MAX ? THREADS_MAX : n;
}

/* The number of directories that must be read again; UINT32_MAX when out of memory. */
static uint32_t check_all(const struct rein_hideindex_opts *o, const struct rein_hideindex *x,
			  const struct statx *root, unsigned char *changed)
{
	auto_free uint32_t *space = rein_calloc(x->ndirs, 3 * sizeof(*space));
	unsigned n = thread_count(o, x->ndirs);
	struct check check = {.x = x,
			      .order = space,
			      .root_fd = o->root_fd,
			      .mount = root->stx_mnt_id,
			      .changed = changed,
			      .dev = makedev(root->stx_dev_major, root->stx_dev_minor)};
	pthread_t helper[THREADS_MAX];
	unsigned helpers = 0;

	if (!space)
		return NONE;
	depth_first(x, space, space + x->ndirs, space + 2 * (size_t)x->ndirs);
	while (helpers + 1 < n && pthread_create(&helper[helpers], NULL, check_some, &check) == 0)
		helpers++;
	check_some(&check);
	while (helpers)
		pthread_join(helper[--helpers], NULL);
	return check.nchanged;
}

static const char *child_name(const struct rein_hideindex *x, uint32_t i)
{
	return rein_basename(x->strings + x->dirs[i].path);
}

/* Does the reading say what the index says, times apart? */
static bool same_listing(const struct rein_hideindex *x, const struct rein_hidedir *d,
			 const struct rein_hidescan *l)
{
	uint32_t mask = ~(uint32_t)REIN_HIDEDIR_RACY;

	if ((d->flags & mask) != (l->flags & mask) || d->nchild != l->ndirs ||
	    d->nmatch != l->nmatches || d->uid != l->sx.stx_uid || d->gid != l->sx.stx_gid)
		return false;
	for (uint32_t i = 0; i < d->nchild; i++)
		if (!rein_streq(child_name(x, d->first_child + i), l->dirs[i]))
			return false;
	for (uint32_t i = 0; i < d->nmatch; i++) {
		const struct rein_hidematch *m = &x->matches[d->first_match + i];

		if (m->flags != l->matches[i].flags ||
		    !rein_streq(x->strings + m->name, l->text.p + l->matches[i].name))
			return false;
	}
	return true;
}

static void put_times(struct rein_hidedir *d, const struct rein_hidescan *l)
{
	d->ino = l->sx.stx_ino;
	d->mtime_s = l->sx.stx_mtime.tv_sec;
	d->mtime_ns = l->sx.stx_mtime.tv_nsec;
	d->ctime_s = l->sx.stx_ctime.tv_sec;
	d->ctime_ns = l->sx.stx_ctime.tv_nsec;
	d->uid = l->sx.stx_uid;
	d->gid = l->sx.stx_gid;
	d->mode = l->sx.stx_mode;
	d->flags = l->flags;
}

/*
 * The common case after work in the tree: files came and went, but no directory and no secret did.
 * Then the old index holds, and is written again only when reading the changed ones every time
 * costs more than that. Returns 1 if it holds, 0 if not, -1 when out of memory.
 */
static int still_holds(const struct rein_hideindex_opts *o, struct rein_hideindex *x,
		       uint64_t mount, const unsigned char *changed, uint32_t nchanged)
{
	bool keep = nchanged > 8 + x->ndirs / 128;
	auto_(rein_hidescan_done) struct rein_hidescan l = {.text = REIN_BUF(STRINGS_MAX)};
	auto_free struct rein_hidedir *fresh = NULL;

	if (keep) {
		fresh = rein_calloc(x->ndirs, sizeof(*fresh));
		if (!fresh)
			return -1;
		memcpy(fresh, x->dirs, (size_t)x->ndirs * sizeof(*fresh));
	}
	for (uint32_t i = 0; i < x->ndirs; i++) {
		if (!changed[i])
			continue;
		if (rein_hidescan_read(o, mount, x->strings + x->dirs[i].path, &l) < 0)
			return -1;
		if (!same_listing(x, &x->dirs[i], &l))
			return 0;
		if (fresh)
			put_times(&fresh[i], &l);
	}
	x->nread = nchanged;
	if (fresh) {
		x->owned[0] = take_ptr(fresh);
		x->dirs = x->owned[0];
		save(o, rein_hideindex_rules(o), x);
	}
	return 1;
}

/* ---- making it anew, with the help of the old one ---- */

struct maker {
	const struct rein_hideindex_opts *o;
	const struct rein_hideindex *old; /* or NULL */
	const unsigned char *changed;
	uint64_t mount;
	struct rein_hidedir *dirs;
	uint32_t *origin; /* of each directory: its record in old, or NONE */
	size_t ndirs, dirs_cap, origin_cap;
	struct rein_hidematch *matches;
	size_t nmatches, matches_cap;
	struct rein_buf strings;
	struct rein_hidescan l;
	uint32_t nread;
};

static void maker_done(struct maker *m)
{
	rein_free(m->dirs);
	rein_free(m->origin);
	rein_free(m->matches);
	rein_buf_done(&m->strings);
	rein_hidescan_done(&m->l);
}

static int add_dir(struct maker *m, uint32_t parent, const char *name, uint32_t origin)
{
	const char *above = m->ndirs ? m->strings.p + m->dirs[parent].path : "";
	auto_free char *path = rein_asprintf("%s%s%s", above, *above ? "/" : "", name);

	if (!path || m->ndirs >= DIRS_MAX || rein_grow(m->dirs, m->ndirs, m->dirs_cap) < 0 ||
	    rein_grow(m->origin, m->ndirs, m->origin_cap) < 0)
		return -1;
	m->dirs[m->ndirs] = (struct rein_hidedir){.path = (uint32_t)m->strings.n, .parent = parent};
	m->origin[m->ndirs++] = origin;
	rein_buf_add(&m->strings, path, strlen(path) + 1);
	return m->strings.failed ? -1 : 0;
}

static int add_match(struct maker *m, const char *name, uint32_t flags)
{
	if (rein_grow(m->matches, m->nmatches, m->matches_cap) < 0)
		return -1;
	m->matches[m->nmatches++] =
		(struct rein_hidematch){.name = (uint32_t)m->strings.n, .flags = flags};
	rein_buf_add(&m->strings, name, strlen(name) + 1);
	return m->strings.failed ? -1 : 0;
}

static int copy_known(struct maker *m, uint32_t i, const struct rein_hidedir *d)
{
	struct rein_hidedir kept = *d;

	kept.path = m->dirs[i].path;
	kept.parent = m->dirs[i].parent;
	kept.first_child = (uint32_t)m->ndirs;
	kept.first_match = (uint32_t)m->nmatches;
	m->dirs[i] = kept;
	for (uint32_t c = 0; c < d->nchild; c++)
		if (add_dir(m, i, child_name(m->old, d->first_child + c), d->first_child + c) < 0)
			return -1;
	for (uint32_t c = 0; c < d->nmatch; c++) {
		const struct rein_hidematch *match = &m->old->matches[d->first_match + c];

		if (add_match(m, m->old->strings + match->name, match->flags) < 0)
			return -1;
	}
	return 0;
}

/* The old record of a child by name, or NONE. */
static uint32_t origin_of(const struct maker *m, uint32_t parent, const char *name)
{
	const struct rein_hidedir *d;
	uint32_t lo = 0, hi;

	if (parent == NONE)
		return NONE;
	d = &m->old->dirs[parent];
	for (hi = d->nchild; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;
		int c = strcmp(child_name(m->old, d->first_child + mid), name);

		if (c == 0)
			return d->first_child + mid;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NONE;
}

static int read_new(struct maker *m, uint32_t i)
{
	struct rein_hidedir *d;

	/* strings may move while names are added: read before, and by offset afterwards */
	if (rein_hidescan_read(m->o, m->mount, m->strings.p + m->dirs[i].path, &m->l) < 0)
		return -1;
	m->nread++;
	d = &m->dirs[i];
	put_times(d, &m->l);
	d->first_child = (uint32_t)m->ndirs;
	d->nchild = (uint32_t)m->l.ndirs;
	d->first_match = (uint32_t)m->nmatches;
	d->nmatch = (uint32_t)m->l.nmatches;
	for (size_t c = 0; c < m->l.ndirs; c++)
		if (add_dir(m, i, m->l.dirs[c], origin_of(m, m->origin[i], m->l.dirs[c])) < 0)
			return -1;
	for (size_t c = 0; c < m->l.nmatches; c++)
		if (add_match(m, m->l.text.p + m->l.matches[c].name, m->l.matches[c].flags) < 0)
			return -1;
	return 0;
}

static int make(struct maker *m)
{
	if (add_dir(m, 0, "", m->old ? 0 : NONE) < 0)
		return -1;
	for (uint32_t i = 0; i < m->ndirs; i++) {
		uint32_t from = m->origin[i];
		int rc = from != NONE && !m->changed[from] ? copy_known(m, i, &m->old->dirs[from])
							   : read_new(m, i);

		if (rc < 0)
			return -1;
	}
	return 0;
}

static void find_links(struct rein_hideindex *x)
{
	for (uint32_t i = 0; i < x->ndirs && !x->links; i++)
		x->links = x->dirs[i].flags & (REIN_HIDEDIR_LINKS | REIN_HIDEDIR_CLOSED);
}

static int make_index(const struct rein_hideindex_opts *o, const struct rein_hideindex *old,
		      const unsigned char *changed, uint64_t mount, struct rein_hideindex *ret,
		      struct rein_err *err)
{
	auto_(maker_done) struct maker m = {.o = o,
					    .old = old,
					    .changed = changed,
					    .mount = mount,
					    .strings = REIN_BUF(STRINGS_MAX),
					    .l = {.text = REIN_BUF(STRINGS_MAX)}};
	struct rein_hideindex x = {0};

	if (make(&m) < 0)
		return rein_err_nomem(err);
	if (m.dirs[0].flags & REIN_HIDEDIR_BLIND)
		return rein_err_set(err, REIN_E_IO, "'%s' cannot be looked at", o->real);
	x.ndirs = (uint32_t)m.ndirs;
	x.nmatches = (uint32_t)m.nmatches;
	x.nstrings = (uint32_t)m.strings.n;
	x.nread = m.nread;
	x.dirs = x.owned[0] = take_ptr(m.dirs);
	x.matches = x.owned[1] = take_ptr(m.matches);
	x.strings = x.owned[2] = rein_buf_take(&m.strings);
	save(o, rein_hideindex_rules(o), &x);
	find_links(&x);
	*ret = x;
	return 0;
}

int rein_hideindex_get(const struct rein_hideindex_opts *o, struct rein_hideindex *ret,
		       struct rein_err *err)
{
	auto_(rein_hideindex_done) struct rein_hideindex old = {0};
	auto_free unsigned char *changed = NULL;
	struct statx sx;
	uint32_t nchanged;
	int rc;

	if (rein_hidescan_look(o->root_fd, "", &sx) < 0)
		return rein_err_errno(err, "look at '%s'", o->real);
	if (!load(o, rein_hideindex_rules(o), &old))
		return make_index(o, NULL, NULL, sx.stx_mnt_id, ret, err);
	changed = rein_calloc(old.ndirs, 1);
	if (!changed)
		return rein_err_nomem(err);
	nchanged = check_all(o, &old, &sx, changed);
	if (nchanged == NONE)
		return rein_err_nomem(err);
	rc = nchanged ? still_holds(o, &old, sx.stx_mnt_id, changed, nchanged) : 1;
	if (rc < 0)
		return rein_err_nomem(err);
	if (rc == 0)
		return make_index(o, &old, changed, sx.stx_mnt_id, ret, err);
	find_links(&old);
	*ret = old;
	old = (struct rein_hideindex){0};
	return 0;
}
