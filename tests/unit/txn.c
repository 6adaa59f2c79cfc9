/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of transactions, and what others do at the very moment of a beginning or a commit. What else becomes of one is asked from
 * outside: tests/cli/txn.bats, tests/crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/txn.h"

static char dir[64];
static struct rein_state state;
static unsigned char drawn; /* what chance says: every byte is this, and one more the next time */

/* In the place of the library's. */
ssize_t getrandom(void *to, size_t n, unsigned int flags)
{
	(void)flags;
	memset(to, drawn++, n);
	return (ssize_t)n;
}

static const char *written; /* what somebody adds to this file while a commit waits for the disk, or NULL */

static void add(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "x", 1), 1);
}

/* What somebody does while the steps are prepared, the journal is made durable, or in the instant before the first move; once. */
static void (*on_prepare)(void), (*on_journal)(void), (*on_move)(void);

static void now(void (**what)(void))
{
	void (*f)(void) = *what;

	*what = NULL;
	if (f)
		f();
}

int fsync(int fd)
{
	(void)fd;
	now(&on_journal);
	return 0;
}

static void (*on_last_move)(void); /* right after the second of two exchanges */
static unsigned exchanged;

static const char *formatted; /* who sees that this file came writes to it at once, or NULL */

int renameat2(int from, const char *old, int to, const char *new, unsigned int flags)
{
	int rc;

	now(flags & RENAME_EXCHANGE ? &on_move : &on_prepare);
	rc = (int)syscall(SYS_renameat2, from, old, to, new, flags);
	if (formatted && flags & RENAME_EXCHANGE)
		add(formatted);
	if (flags & RENAME_EXCHANGE && ++exchanged == 2)
		now(&on_last_move);
	return rc;
}

int syncfs(int fd)
{
	(void)fd;
	if (written)
		add(written);
	written = NULL;
	return 0;
}

static int ahead; /* seconds that the clock shows too much */

int clock_gettime(clockid_t id, struct timespec *ret)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ret);

	ret->tv_sec += id == CLOCK_REALTIME ? ahead : 0;
	return rc;
}

static bool collects; /* somebody collects before the next lock is taken */

static uint64_t collect(void)
{
	struct rein_gc_opts opts = {0};
	struct rein_gc_result found = {0};
	struct rein_err err = {0};

	assert_int_equal(rein_tx_gc(&state, &opts, &found, &err), 0);
	return found.removed;
}

int flock(int fd, int how)
{
	if (collects) {
		collects = false;
		collect();
	}
	return (int)syscall(SYS_flock, fd, how);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

static int make(void **unused)
{
	struct rein_err err = {0};
	char path[96];

	(void)unused;
	exchanged = 0;
	snprintf(dir, sizeof(dir), "/tmp/rein-txn.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/w", dir);
	if (mkdir(path, 0700) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/state", dir);
	return rein_state_open(path, &state, &err);
}

static int clear(void **unused)
{
	struct rein_err err = {0};

	(void)unused;
	rein_state_done(&state);
	return rein_tree_remove(AT_FDCWD, dir, &err);
}

#define ROUNDS 200
#define DIRS   60

static void fill(const char *top)
{
	char path[160];

	assert_int_equal(mkdir(top, 0700), 0);
	for (int i = 0; i < DIRS; i++) {
		snprintf(path, sizeof(path), "%s/%d", top, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/%d/d", top, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

/* The collection and a process that was left to do it meet in one tree. */
static void two_may_remove_one_tree(void **unused)
{
	char top[120];

	(void)unused;
	snprintf(top, sizeof(top), "%s/both", dir);
	for (int round = 0; round < ROUNDS; round++) {
		struct rein_err err = {0};
		int status, ready[2];
		pid_t other;
		char c;

		fill(top);
		assert_int_equal(pipe(ready), 0);
		other = fork();
		assert_true(other >= 0);
		if (other == 0)
			_exit(write(ready[1], "", 1) != 1 || rein_tree_remove(AT_FDCWD, top, &err) < 0);
		assert_int_equal(read(ready[0], &c, 1), 1);
		close(ready[0]);
		close(ready[1]);
		assert_int_equal(rein_tree_remove(AT_FDCWD, top, &err), 0);
		assert_int_equal(waitpid(other, &status, 0), other);
		assert_int_equal(status, 0);
		assert_int_equal(access(top, F_OK), -1);
	}
}

/* Whoever empties the trash removes stores by the name of what lies there. */
static void a_name_in_the_trash_is_in_use(void **unused)
{
	auto_(rein_tx_done) struct rein_tx one = {.dirfd = -1}, two = {.dirfd = -1}, reader = {.dirfd = -1};
	struct rein_err err = {0};
	char real[96];
	const char *reals[] = {real};

	(void)unused;
	snprintf(real, sizeof(real), "%s/w", dir);
	assert_int_equal(mkdirat(state.fd, "trash", 0700), 0);
	assert_int_equal(mkdirat(state.fd, "trash/aaaa", 0700), 0);
	assert_int_equal(mkdirat(state.fd, "trash/cccc", 0700), 0);
	drawn = 10; /* an a */
	assert_int_equal(rein_tx_begin(&state, reals, 1, NULL, &one, &err), 0);
	assert_string_equal(one.id, "bbbb");
	drawn = 10;
	assert_int_equal(rein_tx_reader(&state, reals, 1, &reader, &err), 0);
	assert_string_equal(reader.id, "dddd");
	drawn = 11;
	assert_int_equal(rein_tx_begin(&state, reals, 1, NULL, &two, &err), 0);
	assert_string_equal(two.id, "dddd");
}

/* Whatever is written to it afterwards gives it another time. */
static void make_old(const char *path)
{
	const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

/* A run that made five bytes of a file of one. */
static struct rein_change *change(const char *file, struct rein_tx *t, struct rein_changes *c)
{
	auto_free char *real = rein_asprintf("%s/w", dir), *mine = NULL;
	const char *reals[] = {real};
	struct rein_err err = {0};
	struct rein_change *x;

	add(file);
	assert_int_equal(rein_tx_begin(&state, reals, 1, NULL, t, &err), 0);
	assert_int_equal(rein_tx_save(&state, t, false, &err), 0);
	mine = rein_asprintf("%s/f", t->roots[0].upper);
	for (int i = 0; i < 5; i++)
		add(mine);
	x = rein_changes_add(c, 0, rein_strdup("f"));
	assert_non_null(x);
	x->kind = REIN_CHANGE_MODIFIED;
	x->what = REIN_WHAT_CONTENT;
	x->top = true;
	make_old(file);
	make_old(mine);
	assert_int_equal(rein_fp_at(AT_FDCWD, file, &x->before, &err), 0);
	assert_int_equal(rein_fp_at(AT_FDCWD, mine, &x->after, &err), 0);
	return x;
}

/* Written into, not replaced: the file is the same, and would go into the store with somebody's work. */
static void an_edit_while_the_disk_is_busy_is_a_conflict(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *file = rein_asprintf("%s/w/f", dir);
	struct rein_change *x = change(file, &t, &c);
	struct rein_err err = {0};

	(void)unused;
	written = file;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_int_equal(size_of(file), 2);
	assert_false(rein_tx_stuck(&state, t.id));
	assert_int_equal(x->clash, REIN_CLASH_CHANGED);
	x->clash = REIN_CLASH_NONE;
	assert_int_equal(rein_fp_at(AT_FDCWD, file, &x->before, &err), 0);
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
	assert_int_equal(size_of(file), 5);

	written = file;
	assert_int_equal(rein_tx_undo(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_int_equal(size_of(file), 6);
	assert_false(rein_tx_stuck(&state, t.id));
}

/* Between the step and the look at what it left lie all other steps. */
static void an_edit_right_after_the_step_is_later_work(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *file = rein_asprintf("%s/w/f", dir);
	struct rein_change *x = change(file, &t, &c);
	struct rein_err err = {0};

	(void)unused;
	formatted = file;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
	assert_int_equal(size_of(file), 6);
	formatted = NULL;
	assert_int_equal(rein_tx_undo(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_int_equal(x->clash, REIN_CLASH_LATER);
	assert_int_equal(size_of(file), 6);
}

static char *in_work(const char *name)
{
	char *path = rein_asprintf("%s/w/%s", dir, name);

	assert_non_null(path);
	return path;
}

static void write_to_f(void)
{
	auto_free char *f = in_work("f");

	add(f);
}

static void replace_f(void)
{
	auto_free char *f = in_work("f"), *g = in_work("g");

	for (int i = 0; i < 3; i++)
		add(g);
	assert_int_equal(rename(g, f), 0);
}

/* The check is past, the moves are still to come: those look again, and at what they took. */
static void an_edit_after_the_check_is_a_conflict(void **unused)
{
	static const struct {
		void (**when)(void), (*what)(void);
		off_t commit, undo; /* the file's size then */
	} cases[] = {
		{&on_journal, write_to_f, 2, 6},
		{&on_move, write_to_f, 2, 6},
		{&on_journal, replace_f, 3, 3},
		{&on_move, replace_f, 3, 3},
	};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
		auto_(rein_changes_done) struct rein_changes c = {0};
		auto_free char *file = in_work("f");
		struct rein_change *x = change(file, &t, &c);
		struct rein_err err = {0};

		*cases[i].when = cases[i].what;
		assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
		assert_int_equal(size_of(file), cases[i].commit);
		assert_false(rein_tx_stuck(&state, t.id));
		assert_int_equal(rein_fp_at(AT_FDCWD, file, &x->before, &err), 0);
		assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
		assert_int_equal(size_of(file), 5);

		*cases[i].when = cases[i].what;
		assert_int_equal(rein_tx_undo(&state, &t, &c, &err), -REIN_E_CONFLICT);
		assert_int_equal(size_of(file), cases[i].undo);
		assert_false(rein_tx_stuck(&state, t.id));
		assert_int_equal(unlink(file), 0);
	}
}

/* The same of a file with two names, h its other one: a run that wrote to it. */
static struct rein_change *change_linked(struct rein_tx *t, struct rein_changes *c)
{
	auto_free char *f = in_work("f"), *h = in_work("h");
	struct rein_change *x = change(f, t, c);
	struct rein_err err = {0};

	assert_int_equal(link(f, h), 0);
	x->in_place = true;
	assert_int_equal(rein_fp_at(AT_FDCWD, f, &x->before, &err), 0);
	return x;
}

/* It is written, not moved: what somebody wrote there would be in no store. */
static void an_edit_of_a_file_with_two_names_is_not_written_over(void **unused)
{
	auto_free char *f = in_work("f"), *h = in_work("h");
	void (*const what[])(void) = {write_to_f, replace_f};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
		auto_(rein_changes_done) struct rein_changes c = {0};
		struct rein_change *x = change_linked(&t, &c);
		struct rein_err err = {0};

		on_journal = what[i];
		assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
		assert_int_equal(size_of(f), what[i] == write_to_f ? 2 : 3);
		assert_int_equal(size_of(h), what[i] == write_to_f ? 2 : 1);
		assert_false(rein_tx_stuck(&state, t.id));
		if (what[i] == write_to_f) {
			assert_int_equal(rein_fp_at(AT_FDCWD, f, &x->before, &err), 0);
			assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
			assert_int_equal(size_of(h), 5);
			on_journal = write_to_f;
			assert_int_equal(rein_tx_undo(&state, &t, &c, &err), -REIN_E_CONFLICT);
			assert_int_equal(size_of(h), 6);
			assert_false(rein_tx_stuck(&state, t.id));
		}
		assert_int_equal(unlink(f), 0);
		assert_int_equal(unlink(h), 0);
	}
}

/* A crash right before the journal is put away: every step was taken, and people worked since. */
static void recovery_leaves_later_work_alone(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1}, again = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0}, list = {0};
	auto_free char *f = in_work("f"), *h = in_work("h");
	struct rein_err err = {0}, stuck = {0};

	(void)unused;
	change_linked(&t, &c);
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
	assert_int_equal(size_of(h), 5);
	assert_int_equal(renameat(t.dirfd, "ops", state.journal_fd, t.id), 0);
	add(h);
	assert_int_equal(rein_tx_recover(&state, &stuck, &err), 1);
	assert_int_equal(size_of(f), 6);
	assert_int_equal(rein_tx_load(&state, t.id, &again, &err), 0);
	assert_int_equal(again.state, REIN_TX_COMMITTED);
	assert_int_equal(rein_tx_changes(&again, &list, &err), 0);
	assert_int_equal(rein_tx_undo(&state, &again, &list, &err), -REIN_E_CONFLICT);
	assert_int_equal(list.v[0].clash, REIN_CLASH_LATER);
	assert_int_equal(size_of(f), 6);
}

static void put_a_link_in_the_way(void)
{
	auto_free char *d = in_work("d"), *was = in_work("was"), *out = rein_asprintf("%s/out", dir);

	assert_int_equal(rename(d, was), 0);
	assert_int_equal(symlink(out, d), 0);
}

/* Nothing was moved in it yet: nothing is to be taken back, and the link leads nowhere. */
static void a_directory_that_is_replaced_is_a_conflict_and_no_trap(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *real = in_work(""), *d = in_work("d"), *f = in_work("d/f"), *was = in_work("was/f");
	auto_free char *out = rein_asprintf("%s/out", dir), *of = rein_asprintf("%s/out/f", dir);
	auto_free char *up = NULL, *uf = NULL;
	struct rein_err err = {0};
	struct rein_change *x;

	(void)unused;
	real[strlen(real) - 1] = '\0';
	assert_int_equal(mkdir(d, 0700) | mkdir(out, 0700), 0);
	add(f);
	assert_int_equal(link(f, of), 0); /* the same inode, even */
	assert_int_equal(rein_tx_begin(&state, (const char *[]){real}, 1, NULL, &t, &err), 0);
	assert_int_equal(rein_tx_save(&state, &t, false, &err), 0);
	up = rein_asprintf("%s/d", t.roots[0].upper);
	uf = rein_asprintf("%s/d/f", t.roots[0].upper);
	assert_int_equal(mkdir(up, 0700), 0);
	add(uf);
	add(uf);
	x = rein_changes_add(&c, 0, rein_strdup("d/f"));
	x->kind = REIN_CHANGE_MODIFIED;
	x->what = REIN_WHAT_CONTENT;
	x->top = true;
	assert_int_equal(rein_fp_at(AT_FDCWD, f, &x->before, &err), 0);
	assert_int_equal(rein_fp_at(AT_FDCWD, uf, &x->after, &err), 0);
	on_journal = put_a_link_in_the_way;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_false(rein_tx_stuck(&state, t.id));
	assert_int_equal(size_of(of), 1);
	assert_int_equal(size_of(was), 1);
}

/* One file in d and one in e are changed in the box. */
static void change_two(struct rein_tx *t, struct rein_changes *c)
{
	static const char *const names[] = {"d/f", "e/f"};
	auto_free char *real = rein_asprintf("%s/w", dir), *d = in_work("d"), *e = in_work("e");
	struct rein_err err = {0};

	assert_int_equal(mkdir(d, 0755) | mkdir(e, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *f = in_work(names[i]);

		add(f);
	}
	make_old(d);
	make_old(e);
	assert_int_equal(rein_tx_begin(&state, (const char *[]){real}, 1, NULL, t, &err), 0);
	assert_int_equal(rein_tx_save(&state, t, false, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *f = in_work(names[i]), *up = rein_asprintf("%s/%c", t->roots[0].upper, names[i][0]);
		auto_free char *uf = rein_asprintf("%s/%s", t->roots[0].upper, names[i]);
		struct rein_change *x = rein_changes_add(c, 0, rein_strdup(names[i]));

		assert_int_equal(mkdir(up, 0755), 0);
		for (int k = 0; k < 5; k++)
			add(uf);
		x->kind = REIN_CHANGE_MODIFIED;
		x->what = REIN_WHAT_CONTENT;
		x->top = true;
		assert_int_equal(rein_fp_at(AT_FDCWD, f, &x->before, &err), 0);
		assert_int_equal(rein_fp_at(AT_FDCWD, uf, &x->after, &err), 0);
	}
	assert_int_equal(rein_tx_hold(&state, t, c, &err), 0);
}

static const char *moved_to; /* where d goes while e/f is moved */

/* d/f has been moved by now; e/f is another file at once, so that the commit cannot go on. */
static void move_d_away(void)
{
	auto_free char *d = in_work("d"), *f = in_work("e/f"), *g = in_work("g");

	add(g);
	assert_int_equal(rename(d, moved_to), 0);
	assert_int_equal(rename(g, f), 0);
}

static void at_the_second_move(void)
{
	on_move = move_d_away;
}

static int64_t time_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mtim.tv_sec;
}

static void a_directory_moved_between_two_steps_is_followed_on_the_way_back(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *away = in_work("e/away"), *f = in_work("e/away/f"), *d = in_work("d");
	struct rein_err err = {0};

	(void)unused;
	change_two(&t, &c);
	moved_to = away;
	on_move = at_the_second_move;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_false(rein_tx_stuck(&state, t.id));
	assert_int_equal(size_of(f), 1);
	assert_int_equal(time_of(away), 1000000000);
	assert_int_equal(access(d, F_OK), -1);
	assert_int_equal(t.state, REIN_TX_HELD);
	/* in its place again it is what it was: the way there and back is nobody's work */
	assert_int_equal(rename(away, d), 0);
	assert_int_equal(rein_tx_check(&state, &t, &c, true, &err), 1);
	assert_int_equal(c.v[0].clash, REIN_CLASH_NONE);
	assert_int_equal(c.v[1].clash, REIN_CLASH_CHANGED);
}

static void move_d(void)
{
	auto_free char *d = in_work("d");

	assert_int_equal(rename(d, moved_to), 0);
}

/* Before the first step nothing needs to be taken back. */
static void a_directory_that_goes_while_the_steps_are_prepared_is_a_conflict(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *away = in_work("away"), *d = in_work("d"), *f = in_work("d/f");
	struct rein_err err = {0};
	struct rein_change *x;

	(void)unused;
	change_two(&t, &c);
	x = rein_changes_add(&c, 0, rein_strdup("d")); /* its attributes are read */
	x->kind = REIN_CHANGE_META;
	x->what = REIN_WHAT_MODE;
	x->top = true;
	assert_int_equal(rein_fp_at(AT_FDCWD, d, &x->before, &err), 0);
	x->after = x->before;
	rein_changes_sort(&c);
	t.state = REIN_TX_RUNNING; /* its work directory is put away first */
	assert_int_equal(rein_tx_save(&state, &t, false, &err), 0);
	assert_int_equal(mkdir(t.roots[0].work, 0700), 0);
	moved_to = away;
	on_prepare = move_d;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_null(on_prepare);
	assert_int_equal(rename(away, d), 0);
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
	assert_int_equal(size_of(f), 5);
}

/* All steps are taken, and then it goes: what an undo finds is still what was put there. */
static void a_directory_that_goes_right_after_the_steps_can_be_undone(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *away = in_work("away"), *d = in_work("d"), *f = in_work("d/f");
	struct rein_err err = {0};

	(void)unused;
	change_two(&t, &c);
	moved_to = away;
	on_last_move = move_d;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
	assert_null(on_last_move);
	assert_int_equal(rename(away, d), 0);
	assert_int_equal(size_of(f), 5);
	assert_int_equal(rein_tx_undo(&state, &t, &c, &err), 0);
	assert_int_equal(size_of(f), 1);
}

/* Out of the tree it is not found: all the rest is taken back, and what is told names it and what to type. */
static void a_directory_moved_out_of_the_tree_keeps_nothing_else_from_its_way_back(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1}, again = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *away = rein_asprintf("%s/away", dir), *d = in_work("d"), *f = in_work("d/f"), *ef = in_work("e/f");
	struct rein_err err = {0}, stuck = {0};

	(void)unused;
	change_two(&t, &c);
	moved_to = away;
	on_move = at_the_second_move;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_FAILED);
	assert_true(rein_tx_stuck(&state, t.id));
	assert_non_null(strstr(err.msg, "'d' was moved away"));
	assert_non_null(strstr(err.msg, "rein discard --force "));
	assert_int_equal(size_of(ef), 1);
	for (int i = 0; i < 2; i++) { /* nothing goes forward again meanwhile */
		assert_int_equal(rein_tx_recover(&state, &stuck, &err), 0);
		assert_non_null(strstr(stuck.msg, "'d' was moved away"));
		assert_int_equal(size_of(ef), 1);
	}
	assert_int_equal(rename(away, d), 0);
	assert_int_equal(rein_tx_recover(&state, &stuck, &err), 1);
	assert_false(rein_tx_stuck(&state, t.id));
	assert_int_equal(size_of(f), 1);
	assert_int_equal(rein_tx_load(&state, t.id, &again, &err), 0);
	assert_int_equal(again.state, REIN_TX_HELD);
}

/* What is changed after that has a time before the beginning. */
static void a_clock_that_is_set_back_moves_the_beginning(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_free char *real = rein_asprintf("%s/w", dir);
	struct rein_err err = {0};
	int64_t begin;

	(void)unused;
	ahead = 3600;
	assert_int_equal(rein_tx_begin(&state, (const char *[]){real}, 1, NULL, &t, &err), 0);
	begin = t.begin_ns[0];
	rein_tx_heed_clock(&t);
	assert_true(t.begin_ns[0] == begin);
	ahead = 7200; /* forward is no matter */
	rein_tx_heed_clock(&t);
	assert_true(t.begin_ns[0] == begin);
	ahead = 0;
	rein_tx_heed_clock(&t);
	rein_tx_heed_clock(&t);
	assert_true(begin - t.begin_ns[0] > 3599 * (int64_t)1000000000 && begin - t.begin_ns[0] < 3601 * (int64_t)1000000000);
}

/* A directory that goes or came as a whole: what is in it and not in the list is somebody's, whatever time it has. */
static void what_is_in_no_list_is_somebodys_whatever_the_clock_says(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *real = rein_asprintf("%s/w", dir), *d = in_work("d"), *n = in_work("n"), *in_d = in_work("d/f");
	auto_free char *in_n = in_work("n/f"), *up = NULL;
	struct rein_err err = {0};
	struct rein_change *x;

	(void)unused;
	assert_int_equal(mkdir(d, 0755), 0);
	assert_int_equal(rein_tx_begin(&state, (const char *[]){real}, 1, NULL, &t, &err), 0);
	assert_int_equal(rein_tx_save(&state, &t, false, &err), 0);
	up = rein_asprintf("%s/n", t.roots[0].upper);
	assert_int_equal(mkdir(up, 0755), 0);
	x = rein_changes_add(&c, 0, rein_strdup("d"));
	x->kind = REIN_CHANGE_DELETED;
	x->top = true;
	assert_int_equal(rein_fp_at(AT_FDCWD, d, &x->before, &err), 0);
	x = rein_changes_add(&c, 0, rein_strdup("n"));
	x->kind = REIN_CHANGE_CREATED;
	x->top = true;
	assert_int_equal(rein_fp_at(AT_FDCWD, up, &x->after, &err), 0);
	t.begin_ns[0] += 3600 * (int64_t)1000000000; /* as if the clock had been set back by an hour */
	add(in_d);
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_CONFLICT);
	assert_int_equal(c.v[0].clash, REIN_CLASH_CHANGED);
	assert_int_equal(unlink(in_d), 0);
	c.v[0].clash = REIN_CLASH_NONE;
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), 0);
	c.v[1].after.ctime_ns += 3600 * (int64_t)1000000000;
	add(in_n);
	assert_int_equal(rein_tx_check(&state, &t, &c, false, &err), 1);
	assert_int_equal(c.v[1].clash, REIN_CLASH_LATER);
	assert_int_equal(access(n, F_OK), 0);
}

/* A list that is wrong must not cost the tree: with the directory gone, there is no way to what is in it, nor back. */
static void a_step_inside_another_is_refused_before_anything_happens(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_free char *real = rein_asprintf("%s/w", dir), *inside = rein_asprintf("%s/w/d/f", dir);
	auto_free char *in_dir = rein_asprintf("%s/w/d", dir);
	const char *reals[] = {real}, *const paths[] = {"d", "d/f"};
	struct rein_err err = {0};

	(void)unused;
	assert_int_equal(mkdir(in_dir, 0700), 0);
	add(inside);
	assert_int_equal(rein_tx_begin(&state, reals, 1, NULL, &t, &err), 0);
	assert_int_equal(rein_tx_save(&state, &t, false, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct rein_change *x = rein_changes_add(&c, 0, rein_strdup(paths[i]));

		assert_non_null(x);
		x->kind = REIN_CHANGE_DELETED;
		x->top = true;
		assert_int_equal(rein_fp_at(AT_FDCWD, i ? inside : in_dir, &x->before, &err), 0);
	}
	assert_int_equal(rein_tx_commit(&state, &t, &c, &err), -REIN_E_FAILED);
	assert_false(rein_tx_stuck(&state, t.id));
	assert_int_equal(size_of(inside), 1);
}

static void put(const char *name, const char *text)
{
	auto_close int fd = openat(state.txn_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static bool is_there(const char *id)
{
	return faccessat(state.txn_fd, id, F_OK, 0) == 0;
}

/* What a power cut left goes; what anybody holds, or what may be somebody's work, stays. */
static void only_what_was_never_begun_is_collected(void **unused)
{
	static const char *const ids[] = {"bare", "none", "work", "torn", "live"};
	auto_close int live = -1;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(mkdirat(state.txn_fd, ids[i], 0700), 0);
	put("none/meta", "");
	put("work/changes", "x");
	put("torn/meta", "x");
	live = openat(state.txn_fd, "live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(live, LOCK_EX), 0);
	assert_int_equal(collect(), 2);
	assert_false(is_there("bare") || is_there("none"));
	assert_true(is_there("work") && is_there("torn") && is_there("live"));
}

/* One that is begun at this moment has no description yet. */
static void what_is_being_begun_is_not_collected(void **unused)
{
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_free char *real = rein_asprintf("%s/w", dir);
	const char *reals[] = {real};
	struct rein_err err = {0};
	struct stat mine, there;

	(void)unused;
	collects = true;
	assert_int_equal(rein_tx_begin(&state, reals, 1, NULL, &t, &err), 0);
	assert_int_equal(fstat(t.dirfd, &mine), 0);
	assert_int_equal(fstatat(state.txn_fd, t.id, &there, 0), 0);
	assert_int_equal(mine.st_ino, there.st_ino);
	assert_int_equal(collect(), 0);
	assert_true(is_there(t.id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_may_remove_one_tree, make, clear),
		cmocka_unit_test_setup_teardown(a_name_in_the_trash_is_in_use, make, clear),
		cmocka_unit_test_setup_teardown(only_what_was_never_begun_is_collected, make, clear),
		cmocka_unit_test_setup_teardown(what_is_being_begun_is_not_collected, make, clear),
		cmocka_unit_test_setup_teardown(an_edit_right_after_the_step_is_later_work, make, clear),
		cmocka_unit_test_setup_teardown(a_step_inside_another_is_refused_before_anything_happens, make, clear),
		cmocka_unit_test_setup_teardown(an_edit_while_the_disk_is_busy_is_a_conflict, make, clear),
		cmocka_unit_test_setup_teardown(an_edit_after_the_check_is_a_conflict, make, clear),
		cmocka_unit_test_setup_teardown(an_edit_of_a_file_with_two_names_is_not_written_over, make, clear),
		cmocka_unit_test_setup_teardown(recovery_leaves_later_work_alone, make, clear),
		cmocka_unit_test_setup_teardown(a_directory_that_is_replaced_is_a_conflict_and_no_trap, make, clear),
		cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_moves_the_beginning, make, clear),
		cmocka_unit_test_setup_teardown(what_is_in_no_list_is_somebodys_whatever_the_clock_says, make, clear),
		cmocka_unit_test_setup_teardown(a_directory_moved_between_two_steps_is_followed_on_the_way_back, make, clear),
		cmocka_unit_test_setup_teardown(a_directory_that_goes_while_the_steps_are_prepared_is_a_conflict, make, clear),
		cmocka_unit_test_setup_teardown(a_directory_that_goes_right_after_the_steps_can_be_undone, make, clear),
		cmocka_unit_test_setup_teardown(a_directory_moved_out_of_the_tree_keeps_nothing_else_from_its_way_back, make, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
