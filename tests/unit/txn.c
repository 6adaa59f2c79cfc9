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

static const char *formatted; /* who sees that this file came writes to it at once, or NULL */

int renameat2(int from, const char *old, int to, const char *new, unsigned int flags)
{
	int rc = (int)syscall(SYS_renameat2, from, old, to, new, flags);

	if (formatted && flags & RENAME_EXCHANGE)
		add(formatted);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
