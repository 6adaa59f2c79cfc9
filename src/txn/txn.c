/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a transaction up to the decision: begin, hold, discard, split. */
#include "txn/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/attr.h"
#include "sys/detach.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/internal.h"

#define MANY 1000 /* changes, whose removal takes some 20 ms */

/* Letters and digits that cannot be taken for each other. */
static void make_id(char *ret, size_t n)
{
	static const char set[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned char rnd[REIN_TX_ID_MAX];

	if (getrandom(rnd, n, 0) != (ssize_t)n) {
		uint64_t now = rein_now_ns();

		memcpy(rnd, &now, n < sizeof(now) ? n : sizeof(now));
	}
	for (size_t i = 0; i < n; i++)
		ret[i] = set[rnd[i] & 31];
	ret[n] = '\0';
	if (ret[0] <= '9' && strspn(ret, "0123456789") == n)
		ret[n - 1] = 'x'; /* never a bare number */
}

/* Its overlay's mount goes on: only the name is another. */
static bool take_warm(const struct rein_state *s, struct rein_tx_warm *warm, struct rein_tx *t)
{
	auto_free char *from = rein_asprintf("warm/%s", warm->name);

	if (!from || renameat2(s->fd, from, s->txn_fd, t->id, RENAME_NOREPLACE) < 0)
		return false;
	t->dirfd = take_fd(&warm->dir);
	return true;
}

/*
 * No other transaction is called so, nor one that leaves: until they are gone that one's stores, here and
 * on other filesystems, have its name, and whoever empties the trash would take away those of the new one.
 * The list first: what is moved from it to the trash meanwhile is found there.
 */
static bool is_free(const struct rein_state *s, const char *id)
{
	char leaving[sizeof("trash/") + REIN_TX_ID_MAX];

	snprintf(leaving, sizeof(leaving), "trash/%s", id);
	return faccessat(s->txn_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	       faccessat(s->fd, leaving, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* A collection may have taken it for what a power cut left, in the moment before it was locked. */
static bool is_ours(const struct rein_state *s, const struct rein_tx *t)
{
	struct stat mine, there;

	return fstat(t->dirfd, &mine) == 0 && fstatat(s->txn_fd, t->id, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

static int make_dir(const struct rein_state *s, struct rein_tx_warm *warm, struct rein_tx *t,
		    struct rein_err *err)
{
	for (int tries = 0; tries < 64; tries++) {
		make_id(t->id, tries < 16 ? 4 : 6);
		if (!is_free(s, t->id))
			continue;
		if (warm && take_warm(s, warm, t))
			return 0;
		if (warm && errno != EEXIST)
			warm = NULL; /* it is gone */
		if (!warm && (rein_spare_take(s, t->id) || mkdirat(s->txn_fd, t->id, 0700) == 0)) {
			t->dirfd = openat(s->txn_fd, t->id,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			/* whoever asks at this moment whether we live holds it for that moment */
			while (t->dirfd >= 0 && flock(t->dirfd, LOCK_EX) < 0 && errno == EINTR)
				;
			if (t->dirfd < 0 && errno != ENOENT)
				return rein_err_errno(err, "open transaction %s", t->id);
			if (t->dirfd >= 0 && is_ours(s, t))
				return 0;
			rein_closep_(&t->dirfd);
			continue;
		}
		if (errno != EEXIST)
			return rein_err_errno(err, "create a transaction in '%s'", s->dir);
	}
	return rein_err_set(err, REIN_E_FAILED, "no free transaction name in '%s'", s->dir);
}

/*
 * Without privilege a foreign owner cannot be given; the group may be. What it has now was perhaps another tree's
 * (spare.c), and would be taken for what the command did.
 */
static int own_upper(int upper, const struct rein_attrs *a, struct rein_err *err)
{
	const uid_t uid = geteuid() == 0 ? a->uid : geteuid();
	struct rein_fp now;

	if (rein_fp_at(upper, "", &now, err) < 0)
		return -err->code;
	if (now.uid == uid && now.gid == a->gid)
		return 0;
	if (fchownat(upper, "", uid, a->gid, AT_EMPTY_PATH) < 0 &&
	    fchownat(upper, "", uid, getegid(), AT_EMPTY_PATH) < 0)
		return rein_err_errno(err, "give the private directory its owner");
	return 0;
}

/* The store is changed at this moment: that is now, in the clock of the root's filesystem. */
static int touch(int store, int64_t *ret_ns, struct rein_err *err)
{
	struct rein_fp fp;

	if (futimens(store, NULL) < 0)
		return rein_err_errno(err, "touch the private directory");
	if (rein_fp_at(store, "", &fp, err) < 0)
		return -err->code;
	*ret_ns = fp.ctime_ns;
	return 0;
}

/*
 * Some filesystems know whole seconds only (ext4 with inodes of 128 bytes). What somebody changes within the second in
 * which we looked could not be told from what was there: so that second is let pass.
 */
int rein_tick(int store, int64_t *ret_ns, struct rein_err *err)
{
	const struct timespec a_while = {.tv_nsec = 10 * 1000 * 1000};
	int64_t now;

	if (touch(store, ret_ns, err) < 0)
		return -err->code;
	now = *ret_ns;
	for (int i = 0; now == *ret_ns && now % (int64_t)REIN_NS_PER_S == 0 && i < 300; i++) {
		nanosleep(&a_while, NULL);
		if (touch(store, &now, err) < 0)
			return -err->code;
	}
	return 0;
}

/* The upper directory is the merged root's face: it must look like the real one. */
static int dress_upper(const struct rein_root *r, int64_t *ret_begin, struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs a = {0};
	auto_close int real = open(r->real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = open(r->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int store = -1;

	if (real < 0)
		return rein_err_errno(err, "open '%s'", r->real);
	if (upper < 0)
		return rein_err_errno(err, "open '%s'", r->upper);
	store = rein_open_store(r, err);
	if (store < 0)
		return store;
	if (rein_tick(store, ret_begin, err) < 0 || rein_attrs_read(real, "", &a, err) < 0)
		return -err->code;
	if (own_upper(upper, &a, err) < 0)
		return -err->code;
	/* somebody else's, which we may not write to; as its owner in the box the command could, and nobody commit it */
	if (geteuid() != 0 && a.uid != geteuid() && faccessat(real, ".", W_OK, AT_EACCESS) < 0)
		a.mode &= ~(uint32_t)S_IWUSR;
	return rein_attrs_apply(upper, "", &a, REIN_ATTR_ALL & ~REIN_ATTR_OWNER, err);
}

static int64_t clock_distance(void)
{
	return (int64_t)(rein_now_ns() - rein_clock_ns(CLOCK_BOOTTIME));
}

#define STEP_NS (100 * 1000 * 1000) /* less is the time between two looks at a clock */

/*
 * What somebody changed since is known by its time: after a step back that is before the beginning, by so much at most. Who
 * changed something in so short a time before the beginning is told of a conflict that is none.
 */
void rein_tx_heed_clock(struct rein_tx *t)
{
	const int64_t now = clock_distance(), back = t->clock_ns - now;

	if (!t->clock_ns || back < STEP_NS)
		return;
	for (size_t i = 0; i < t->nroots; i++)
		t->begin_ns[i] -= back;
	t->clock_ns = now;
}

int rein_tx_begin(const struct rein_state *s, const char *const *reals, size_t n, struct rein_tx_warm *warm,
		   struct rein_tx *ret, struct rein_err *err)
{
	struct rein_tx t = {.dirfd = -1, .state = REIN_TX_RUNNING, .created_ns = rein_now_ns()};
	struct rein_err ignored = {0};

	t.clock_ns = clock_distance();
	if (make_dir(s, warm, &t, err) < 0)
		return -err->code;
	rein_reserve_keep(s);
	t.roots = rein_calloc(n, sizeof(*t.roots));
	t.begin_ns = rein_calloc(n, sizeof(*t.begin_ns));
	if (!t.roots || !t.begin_ns) {
		rein_err_nomem(err);
		goto fail;
	}
	for (; t.nroots < n; t.nroots++) {
		struct rein_root *r = &t.roots[t.nroots];

		r->real = rein_strdup(reals[t.nroots]);
		if (!r->real) {
			rein_err_nomem(err);
			goto fail;
		}
		if (rein_place(s, t.id, t.nroots, r, err) < 0 ||
		    dress_upper(r, &t.begin_ns[t.nroots], err) < 0) {
			t.nroots++;
			goto fail;
		}
	}
	*ret = t;
	return 0;
fail:
	if (warm) /* still mounted: nothing to give to the next */
		rein_tree_remove(s->txn_fd, t.id, &ignored);
	else
		rein_tx_drop(s, &t, &ignored);
	rein_tx_done(&t);
	return -err->code;
}

int rein_tx_reader(const struct rein_state *s, const char *const *reals, size_t n, struct rein_tx *ret,
		   struct rein_err *err)
{
	struct rein_tx t = {.dirfd = -1, .state = REIN_TX_RUNNING, .created_ns = rein_now_ns()};

	/* a name that a transaction has would be taken for it in the record */
	do
		make_id(t.id, 4);
	while (!is_free(s, t.id));
	t.roots = rein_calloc(n, sizeof(*t.roots));
	if (!t.roots)
		return rein_err_nomem(err);
	for (; t.nroots < n; t.nroots++) {
		t.roots[t.nroots].real = rein_strdup(reals[t.nroots]);
		if (!t.roots[t.nroots].real) {
			rein_tx_done(&t);
			return rein_err_nomem(err);
		}
	}
	*ret = t;
	return 0;
}

/* A place on another filesystem, if no transaction is in it any more. */
static void remove_place(const char *dir)
{
	auto_(rein_names_done) struct rein_names names = {0};
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct rein_err ignored = {0};

	if (fd < 0 || rein_names_read(fd, "", &names, &ignored) < 0 || names.n > 1)
		return;
	if (names.n && rein_streq(names.v[0], REIN_PLACE_IGNORE))
		unlinkat(fd, REIN_PLACE_IGNORE, 0);
	rmdir(dir);
}

/* Remove a root's private directories, and what is empty above them. */
int rein_remove_store(const struct rein_root *r, struct rein_err *err)
{
	char parent[PATH_MAX];
	const char *name;
	char *slash;
	auto_close int dir = -1;

	if (r->staged && r->upper) {
		snprintf(parent, sizeof(parent), "%s", r->upper);
		slash = strrchr(parent, '/');
		if (slash && slash != parent) {
			*slash = '\0';
			if (rein_tree_remove(AT_FDCWD, parent, err) < 0)
				return -err->code;
		}
	}
	if (!r->store)
		return 0;
	dir = rein_open_store_parent(r, &name);
	if (dir < 0) /* gone, or something else is there */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? 0
			       : rein_err_errno(err, "open what '%s' lies in", r->store);
	if (rein_tree_remove(dir, name, err) < 0)
		return -err->code;
	snprintf(parent, sizeof(parent), "%s", r->store);
	slash = strrchr(parent, '/');
	/* PLACE/ID/rN: empty ones go, so that nothing stays on other people's mounts */
	for (int up = 0; up < 2 && slash && slash != parent; up++) {
		*slash = '\0';
		slash = strrchr(parent, '/');
		/* the state's own directory of transactions always stays */
		if (up == 1 && slash && rein_starts(slash, "/.rein-"))
			remove_place(parent);
		if (up == 0 && rmdir(parent) < 0)
			break;
	}
	return 0;
}

int rein_tx_drop(const struct rein_state *s, struct rein_tx *t, struct rein_err *err)
{
	if (rein_spare_give(s, t))
		return 0;
	for (size_t i = 0; i < t->nroots; i++)
		if (rein_remove_store(&t->roots[i], err) < 0)
			return -err->code;
	return rein_tree_remove(s->txn_fd, t->id, err);
}

static int remove_work(const struct rein_root *r, struct rein_err *err)
{
	auto_close int store = -1;

	if (r->staged)
		return rein_tree_remove(AT_FDCWD, r->work, err);
	store = rein_open_store(r, err);
	return store < 0 ? store : rein_tree_remove(store, "work", err);
}

int rein_remove_work(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err)
{
	for (size_t i = 0; i < t->nroots; i++)
		if (!rein_spare_later(s, t, i) && remove_work(&t->roots[i], err) < 0)
			return -err->code;
	return 0;
}

int rein_tx_reopen(const struct rein_tx *t, struct rein_err *err)
{
	if (rein_remove_work(NULL, t, err) < 0)
		return -err->code;
	for (size_t i = 0; i < t->nroots; i++)
		if (rein_mkdirs(AT_FDCWD, t->roots[i].work, err) < 0)
			return -err->code;
	return 0;
}

#define BASE_MAX (4u << 20)

/*
 * Keep the text a later merge would start from: the real file may be replaced or rewritten while
 * the transaction waits.
 */
static int keep_bases(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err)
{
	if (mkdirat(t->dirfd, "base", 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "create 'base'");
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		auto_close int real = -1, in = -1, out = -1;
		char name[64];

		if (x->kind != REIN_CHANGE_MODIFIED || !S_ISREG(x->before.mode) ||
		    !S_ISREG(x->after.mode) || x->before.size > BASE_MAX || x->clash)
			continue;
		real = open(t->roots[x->root].real, O_PATH | O_DIRECTORY | O_CLOEXEC);
		in = rein_open_quiet(real, x->path);
		if (in < 0)
			continue; /* then there is no merge for it */
		snprintf(name, sizeof(name), "base/%zu", i);
		out = openat(t->dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (out < 0)
			return rein_err_errno(err, "create '%s'", name);
		if (rein_file_copy_data(in, out, err) < 0)
			return -err->code;
	}
	return 0;
}

/*
 * Only the trees that something was changed in: the others have nothing that a commit or an undo could need, and are no
 * reason to refuse one when they are gone by then. t is RUNNING, its list not written yet, so that its
 * description is all that must agree with c. Where that cannot be written it stays as it is.
 */
void rein_tx_narrow(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c)
{
	auto_free uint32_t *to = rein_calloc(t->nroots, sizeof(*to)); /* a tree's new number, from 1; 0: it goes */
	struct rein_root *roots = rein_calloc(t->nroots, sizeof(*roots));
	int64_t *begin_ns = rein_calloc(t->nroots, sizeof(*begin_ns));
	struct rein_err ignored = {0};
	struct rein_tx narrow = *t;
	uint32_t n = 0;

	for (size_t i = 0; to && i < c->n; i++)
		to[c->v[i].root] = 1;
	for (size_t i = 0; to && roots && begin_ns && i < t->nroots; i++) {
		if (!to[i])
			continue;
		roots[n] = t->roots[i];
		begin_ns[n] = t->begin_ns[i];
		to[i] = ++n;
	}
	narrow.roots = roots;
	narrow.begin_ns = begin_ns;
	narrow.nroots = n;
	if (!n || n == t->nroots || rein_tx_save(s, &narrow, true, &ignored) < 0) {
		rein_free(roots);
		rein_free(begin_ns);
		return;
	}
	for (size_t i = 0; i < c->n; i++)
		c->v[i].root = to[c->v[i].root] - 1;
	for (size_t i = 0; i < t->nroots; i++) {
		if (to[i])
			continue;
		rein_remove_store(&t->roots[i], &ignored);
		rein_root_done(&t->roots[i]);
	}
	rein_free(t->roots);
	rein_free(t->begin_ns);
	*t = narrow;
}

static int become_held(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		       struct rein_err *err)
{
	rein_tx_narrow(s, t, c);
	rein_changes_sum(c, &t->sum);
	if (rein_remove_work(s, t, err) < 0 || rein_tx_save_changes(t, c, true, err) < 0)
		return -err->code;
	t->state = REIN_TX_HELD;
	return rein_tx_save(s, t, true, err);
}

int rein_tx_hold(const struct rein_state *s, struct rein_tx *t, struct rein_changes *c,
		  struct rein_err *err)
{
	/* on a full disk: rather without what a merge would need than not at all */
	if (keep_bases(t, c, err) < 0) {
		struct rein_err ignored = {0};

		if (!rein_err_is_full(err))
			return -err->code;
		rein_tree_remove(t->dirfd, "base", &ignored);
		*err = (struct rein_err){0};
	}
	return become_held(s, t, c, err);
}

static int remove_stores(const struct rein_tx *t, struct rein_err *err)
{
	for (size_t i = 0; i < t->nroots; i++)
		if (rein_remove_store(&t->roots[i], err) < 0)
			return -err->code;
	return 0;
}

/*
 * Nobody has to wait until thousands of files are gone that are nobody's any more: a process of no
 * importance removes them. If it dies, the next collection does. False: there is none.
 */
static bool remove_behind(const struct rein_tx *t)
{
	struct rein_err ignored = {0};
	int left;

	if (t->sum.created + t->sum.modified + t->sum.renamed < MANY)
		return false;
	left = rein_detach("rein-remove", NULL, 0);
	if (left <= 0)
		return left == 0;
	setpriority(PRIO_PROCESS, 0, 19);
	remove_stores(t, &ignored);
	_exit(0);
}

/* Not while it is being committed: that would find its content gone, half way. */
static int say_discarded(const struct rein_state *s, struct rein_tx *t, struct rein_err *err)
{
	auto_close int lock = -1;

	if (rein_journal_lock(s, &lock, err) < 0)
		return -err->code;
	if (rein_tx_stuck(s, t->id))
		return rein_err_set(err, REIN_E_STATE,
				    "transaction %s is half done: give it up with rein discard --force %s",
				    t->id, t->id);
	if (t->state != REIN_TX_HELD && t->state != REIN_TX_RUNNING)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is %s: only a held one can be discarded%s",
				    t->id, rein_tx_state_name(t->state),
				    t->state == REIN_TX_COMMITTED ? " (to take it back: rein undo)" : "");
	if (rein_tx_still(s, t, err) < 0)
		return -err->code;
	t->state = REIN_TX_DISCARDED;
	t->decided_ns = rein_now_ns();
	return rein_tx_save(s, t, false, err);
}

int rein_tx_discard(const struct rein_state *s, struct rein_tx *t, struct rein_err *err)
{
	/* first the word, then the deed: a crash leaves garbage, never a half transaction */
	if (say_discarded(s, t, err) < 0)
		return -err->code;
	rein_tree_remove(t->dirfd, "base", err);
	rein_merged_forget(t);
	return remove_behind(t) ? 0 : remove_stores(t, err);
}

/* Copy one change's content into the new transaction's upper. copied: those of this root before it. */
static int split_one(const struct rein_tx *t, const struct rein_tx *to, const struct rein_change *x,
		     struct rein_copies *copied, struct rein_err *err)
{
	auto_close int from = open(t->roots[x->root].upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int dest = open(to->roots[x->root].upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char dir[PATH_MAX];
	char *slash;

	if (from < 0 || dest < 0)
		return rein_err_errno(err, "open the layers of %s", t->id);
	if (!x->after.mode || !*x->path)
		return 0;
	snprintf(dir, sizeof(dir), "%s", x->path);
	slash = strrchr(dir, '/');
	if (slash) {
		*slash = '\0';
		if (rein_mkdirs(dest, dir, err) < 0)
			return -err->code;
	}
	if (faccessat(dest, x->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return rein_tree_copy_one(from, x->path, dest, x->path, copied, err);
}

/*
 * What a merge of the rest starts from is what the run found: by now the real file may have another's
 * work in it, which would be taken for the common ground and lost. at: where the rest's changes are in c.
 */
static int split_bases(const struct rein_tx *t, const size_t *at, const struct rein_tx *to, size_t n,
		       struct rein_err *err)
{
	if (mkdirat(to->dirfd, "base", 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "create 'base'");
	for (size_t i = 0; i < n; i++) {
		char old[64], new[64];

		snprintf(old, sizeof(old), "base/%zu", at[i]);
		snprintf(new, sizeof(new), "base/%zu", i);
		if (linkat(t->dirfd, old, to->dirfd, new, 0) < 0 && errno != ENOENT)
			return rein_err_errno(err, "keep '%s'", old);
	}
	return 0;
}

/* The rest as a transaction of its own; where that fails, what there is of it is the caller's to remove. */
static int fill_rest(const struct rein_state *s, const struct rein_tx *t, const size_t *at, struct rein_changes *rest,
		     struct rein_tx *to, struct rein_err *err)
{
	auto_(rein_copies_done) struct rein_copies copied = {0};

	for (size_t i = 0; i < rest->n; i++) {
		struct rein_change *y = &rest->v[i];
		auto_close int upper = -1;

		if (i && y->root != rest->v[i - 1].root)
			rein_copies_done(&copied);
		if (split_one(t, to, y, &copied, err) < 0)
			return -err->code;
		upper = open(to->roots[y->root].upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (y->after.mode && rein_fp_at(upper, y->path, &y->after, err) < 0)
			return -err->code;
	}
	memcpy(to->begin_ns, t->begin_ns, t->nroots * sizeof(*to->begin_ns));
	to->workspace = t->workspace ? rein_strdup(t->workspace) : NULL;
	to->cwd = t->cwd ? rein_strdup(t->cwd) : NULL;
	to->action = t->action ? rein_strdup(t->action) : NULL;
	to->agent = t->agent ? rein_strdup(t->agent) : NULL;
	to->level = t->level;
	to->reach = t->reach;
	to->status = t->status;
	to->end = t->end;
	to->ended_ns = t->ended_ns;
	to->reason = rein_asprintf("left out of %s", t->id);
	if (rein_reviews_join(&to->reviews, &t->reviews) < 0)
		return rein_err_nomem(err);
	to->argv = rein_calloc(t->argc, sizeof(*to->argv));
	for (; to->argv && to->argc < t->argc; to->argc++) {
		to->argv[to->argc] = rein_strdup(t->argv[to->argc]);
		if (!to->argv[to->argc])
			return rein_err_nomem(err);
	}
	/* one that is not held yet has kept nothing */
	if ((t->state == REIN_TX_RUNNING ? keep_bases(to, rest, err) : split_bases(t, at, to, rest->n, err)) < 0 ||
	    become_held(s, to, rest, err) < 0)
		return -err->code;
	return 0;
}

int rein_tx_make_whole(const struct rein_state *s, const struct rein_tx *t, const struct rein_changes *c,
		       struct rein_err *err)
{
	auto_close int lock = -1;

	if (t->state != REIN_TX_HELD)
		return 0;
	if (rein_journal_lock(s, &lock, err) < 0)
		return -err->code;
	if (rein_tx_stuck(s, t->id))
		return 0;
	/* decided about meanwhile, its layer holds what an undo needs */
	return rein_tx_still(s, t, err) < 0 ? -err->code : rein_put_back(t, c, err);
}

int rein_tx_unsplit(const struct rein_state *s, const struct rein_tx *t, const char *id, struct rein_err *err)
{
	auto_(rein_tx_done) struct rein_tx rest = {.dirfd = -1};
	auto_close int lock = -1;

	if (rein_journal_lock(s, &lock, err) < 0 || rein_tx_still(s, t, err) < 0 ||
	    rein_tx_load(s, id, &rest, err) < 0)
		return -err->code;
	if (t->state != REIN_TX_HELD || rest.state != REIN_TX_HELD || rein_tx_stuck(s, t->id) ||
	    rein_tx_stuck(s, id))
		return rein_err_set(err, REIN_E_STATE, "transaction %s is not what it was", t->id);
	return rein_tx_drop(s, &rest, err);
}

/* What its own list leaves out is held by another already, which was split off when it was decided about first. */
static int read_left_out(const struct rein_tx *t, const struct rein_changes *c, struct rein_changes *ret,
			 struct rein_err *err)
{
	if (t->state != REIN_TX_HELD) /* it has no list yet */
		return 0;
	if (rein_tx_changes(t, ret, err) < 0)
		return -err->code;
	return ret->n == c->n ? 0 : rein_err_set(err, REIN_E_STATE, "transaction %s is not what it was", t->id);
}

int rein_tx_split(const struct rein_state *s, const struct rein_tx *t,
		   const struct rein_changes *c, char *ret_id, struct rein_err *err)
{
	auto_free size_t *at = rein_calloc(c->n, sizeof(*at)); /* the rest's changes, in c */
	struct rein_err ignored = {0};
	auto_(rein_changes_done) struct rein_changes rest = {0}, whole = {0};
	auto_(rein_tx_done) struct rein_tx to = {.dirfd = -1};
	auto_free const char **reals = rein_calloc(t->nroots, sizeof(*reals));

	ret_id[0] = '\0';
	if (!reals || !at)
		return rein_err_nomem(err);
	if (read_left_out(t, c, &whole, err) < 0)
		return -err->code;
	for (size_t i = 0; i < t->nroots; i++)
		reals[i] = t->roots[i].real;
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		struct rein_change *y;
		char *path;

		if (!x->skipped || x->decided || (whole.n && whole.v[i].skipped) ||
		    (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) && !(x->what & ~REIN_WHAT_TIMES)))
			continue;
		at[rest.n] = i;
		y = rein_changes_add(&rest, x->root, rein_strdup(x->path));
		if (!y)
			return rein_err_nomem(err);
		path = y->path;
		*y = *x;
		y->skipped = false;
		y->path = path;
		y->merged = NULL;
		y->from = x->from ? rein_strdup(x->from) : NULL;
		y->link_to = x->link_to ? rein_strdup(x->link_to) : NULL;
		if ((x->from && !y->from) || (x->link_to && !y->link_to))
			return rein_err_nomem(err);
	}
	if (!rest.n)
		return 0;
	/*
	 * What lay in a directory that is now committed stands for itself; what moves with a directory of the rest does
	 * not, also if it was to be chosen by itself at first: no two steps may concern one path ([O2]).
	 */
	for (size_t i = 0, top = SIZE_MAX; i < rest.n; i++) {
		const struct rein_change *dir = top == SIZE_MAX ? NULL : &rest.v[top];

		rest.v[i].top = !dir || dir->kind == REIN_CHANGE_META || rest.v[i].root != dir->root ||
				!rein_path_within(rest.v[i].path, dir->path);
		if (rest.v[i].top)
			top = i;
	}
	if (rein_tx_make_whole(s, t, c, err) < 0 || rein_tx_begin(s, reals, t->nroots, NULL, &to, err) < 0)
		return -err->code;
	if (fill_rest(s, t, at, &rest, &to, err) < 0) {
		rein_tx_drop(s, &to, &ignored); /* perhaps the disk is full: not of half a copy */
		return -err->code;
	}
	snprintf(ret_id, REIN_TX_ID_MAX + 1, "%s", to.id);
	return 0;
}
