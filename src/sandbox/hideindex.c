/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and keeping the index. Directories stand in breadth-first order: a parent before its
 * children, the children of one directory together and in the order they were read in, so that
 * another reading is compared without sorting.
 */
#include "sandbox/hideindex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"
#include "sandbox/hidecheck.h"
#include "sandbox/hidescan.h"
#include "sandbox/viewhash.h"

#define MAGIC		0x317844496e696552ull
#define VERSION		4u
#define NONE		UINT32_MAX
#define DIRS_MAX	(1u << 26)

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

const char *rein_hideindex_name(const struct rein_hideindex *x, uint32_t dir)
{
	return rein_basename(x->strings + x->dirs[dir].path);
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

/* ---- what is known and still so ---- */

/*
 * The common case after work in the tree: files came and went, but no directory and no secret did.
 * Then the old index holds, and is written again only when reading the changed ones every time
 * costs more than that.
 */
static int renew(const struct rein_hideindex_opts *o, struct rein_hideindex *x,
		 const struct rein_hidecheck *c)
{
	struct rein_hidedir *fresh;

	x->nread = c->nchanged;
	if (c->nchanged <= 8 + x->ndirs / 128)
		return 0;
	fresh = rein_calloc(x->ndirs, sizeof(*fresh));
	if (!fresh)
		return -1;
	memcpy(fresh, x->dirs, (size_t)x->ndirs * sizeof(*fresh));
	for (unsigned w = 0; w < c->nworkers; w++)
		for (size_t i = 0; i < c->worker[w].n; i++)
			fresh[c->worker[w].v[i].dir] = c->worker[w].v[i].now;
	x->dirs = x->owned[0] = fresh;
	save(o, rein_hideindex_rules(o), x);
	return 0;
}

/* ---- making it anew, with the help of the old one ---- */

struct child {
	const char *name;
	uint32_t dir;
};

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
	struct child *sorted; /* the old children of one directory, by name */
	size_t nsorted, sorted_cap;
	uint32_t nread;
};

static void maker_done(struct maker *m)
{
	rein_free(m->dirs);
	rein_free(m->origin);
	rein_free(m->matches);
	rein_buf_done(&m->strings);
	rein_hidescan_done(&m->l);
	rein_free(m->sorted);
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
		if (add_dir(m, i, rein_hideindex_name(m->old, d->first_child + c), d->first_child + c) < 0)
			return -1;
	for (uint32_t c = 0; c < d->nmatch; c++) {
		const struct rein_hidematch *match = &m->old->matches[d->first_match + c];

		if (add_match(m, m->old->strings + match->name, match->flags) < 0)
			return -1;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct child *)a)->name, ((const struct child *)b)->name);
}

/* The children that a directory had, for origin_of. */
static int sort_children(struct maker *m, uint32_t dir)
{
	m->nsorted = 0;
	for (uint32_t c = 0; dir != NONE && c < m->old->dirs[dir].nchild; c++) {
		uint32_t at = m->old->dirs[dir].first_child + c;

		if (rein_grow(m->sorted, m->nsorted, m->sorted_cap) < 0)
			return -1;
		m->sorted[m->nsorted++] = (struct child){rein_hideindex_name(m->old, at), at};
	}
	if (m->nsorted > 1)
		qsort(m->sorted, m->nsorted, sizeof(*m->sorted), by_name);
	return 0;
}

/* The old record of a child by name, or NONE. */
static uint32_t origin_of(const struct maker *m, const char *name)
{
	const struct child *c = m->nsorted ? bsearch(&(struct child){.name = name}, m->sorted, m->nsorted,
						     sizeof(*m->sorted), by_name)
					   : NULL;

	return c ? c->dir : NONE;
}

static int read_new(struct maker *m, uint32_t i)
{
	struct rein_hidedir *d;

	/* strings may move while names are added: read before, and by offset afterwards */
	if (rein_hidescan_read(m->o, m->o->root_fd, m->mount, m->strings.p + m->dirs[i].path, &m->l) < 0 ||
	    sort_children(m, m->origin[i]) < 0)
		return -1;
	m->nread++;
	d = &m->dirs[i];
	rein_hidescan_times(&m->l, d);
	d->first_child = (uint32_t)m->ndirs;
	d->nchild = (uint32_t)m->l.ndirs;
	d->first_match = (uint32_t)m->nmatches;
	d->nmatch = (uint32_t)(m->l.n - m->l.ndirs);
	for (size_t c = 0; c < m->l.n; c++) {
		const char *name = m->l.text.p + m->l.v[c].name;
		bool enter = m->l.v[c].flags == REIN_HIDESCAN_DIR;

		if ((enter ? add_dir(m, i, name, origin_of(m, name)) : add_match(m, name, m->l.v[c].flags)) < 0)
			return -1;
	}
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
					    .strings = REIN_BUF(REIN_HIDEINDEX_STRINGS),
					    .l = {.text = REIN_BUF(REIN_HIDEINDEX_STRINGS)}};
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

static void free_check(struct rein_hidecheck **c)
{
	rein_hidecheck_free(*c);
}

int rein_hideindex_get(const struct rein_hideindex_opts *o, struct rein_hideindex *ret,
		       struct rein_err *err)
{
	auto_(rein_hideindex_done) struct rein_hideindex old = {0};
	auto_(free_check) struct rein_hidecheck *check = NULL;
	struct statx sx;

	if (rein_hidescan_look(o->root_fd, "", &sx) < 0)
		return rein_err_errno(err, "look at '%s'", o->real);
	if (!load(o, rein_hideindex_rules(o), &old))
		return make_index(o, NULL, NULL, sx.stx_mnt_id, ret, err);
	check = rein_hidecheck_start(o, &old, &sx);
	if (!check || rein_hidecheck_finish(check) < 0)
		return rein_err_nomem(err);
	if (check->differs)
		return make_index(o, &old, check->changed, sx.stx_mnt_id, ret, err);
	if (renew(o, &old, check) < 0)
		return rein_err_nomem(err);
	find_links(&old);
	*ret = old;
	old = (struct rein_hideindex){0};
	return 0;
}
