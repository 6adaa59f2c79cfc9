/* SPDX-License-Identifier: Apache-2.0 */
/* The files behind boxes that run: the list, the orders, what was executed. */
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/execs.h"
#include "sandbox/live.h"
#include "sandbox/orders.h"
#include "sys/local.h"

static char dir[64];
static int state = -1;

static int make(void **unused)
{
	(void)unused;
	snprintf(dir, sizeof(dir), "/tmp/rein-live.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return state < 0 ? -1 : 0;
}

static int clear(void **unused)
{
	static const char *const subs[] = {"live", "orders"};

	(void)unused;
	unlinkat(state, "live/.spare", 0);
	for (size_t i = 0; i < ARRAY_SIZE(subs); i++)
		unlinkat(state, subs[i], AT_REMOVEDIR);
	close(state);
	return rmdir(dir);
}

static char *word(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* Lives as long as its lock; what a dead one left is removed by whoever looks. */
static void listed_while_it_lives(void **unused)
{
	struct rein_live one = {.id = word("abcd"), .rein = getpid(), .box = getpid(), .begun_ns = 5,
				.agent = word("a"), .command = word("x y"), .workspace = word("/w")};
	struct rein_live_list l = {0};
	struct rein_err err = {0};
	int lock = -1;

	(void)unused;
	assert_int_equal(rein_live_list(state, &l, &err), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(rein_strlist_add(&one.labels, "k=v"), 0);
	assert_int_equal(rein_live_enter(state, &one, &lock, &err), 0);
	assert_int_equal(rein_live_list(state, &l, &err), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0].id, "abcd");
	assert_string_equal(l.v[0].agent, "a");
	assert_string_equal(l.v[0].task, "");
	assert_string_equal(l.v[0].command, "x y");
	assert_string_equal(l.v[0].labels.v[0], "k=v");
	rein_live_list_done(&l);
	close(lock); /* as if it had been killed */
	assert_int_equal(rein_live_list(state, &l, &err), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(faccessat(state, "live/abcd", F_OK, 0), -1);
	rein_live_list_done(&l);
	/* an orderly end leaves the file to the next, with nothing in it; one that somebody holds is nobody's */
	for (int held = 0; held < 2; held++) {
		struct stat st;
		int spare;

		assert_int_equal(rein_live_enter(state, &one, &lock, &err), 0);
		rein_live_leave(state, "abcd", lock);
		assert_int_equal(rein_live_list(state, &l, &err), 0);
		assert_int_equal(l.n, 0);
		rein_live_list_done(&l);
		assert_int_equal(fstatat(state, "live/.spare", &st, 0), 0);
		assert_int_equal(st.st_size, 0);
		spare = openat(state, "live/.spare", O_RDONLY | O_CLOEXEC);
		assert_int_equal(flock(spare, held ? LOCK_SH : LOCK_UN), 0);
		assert_int_equal(rein_live_enter(state, &one, &lock, &err), 0);
		assert_int_equal(faccessat(state, "live/.spare", F_OK, 0), held ? 0 : -1);
		assert_int_equal(rein_live_list(state, &l, &err), 0);
		assert_int_equal(l.n, 1);
		assert_string_equal(l.v[0].id, "abcd");
		rein_live_list_done(&l);
		rein_live_leave(state, "abcd", lock);
		close(spare);
	}
	rein_strlist_done(&one.labels);
}

static void found_by_a_beginning(void **unused)
{
	struct rein_live a = {.id = word("abcd"), .rein = getpid(), .box = getpid()};
	struct rein_live b = {.id = word("abxy"), .rein = getpid(), .box = getpid()};
	struct rein_live got = {0};
	struct rein_err err = {0};
	int la = -1, lb = -1;

	(void)unused;
	assert_int_equal(rein_live_enter(state, &a, &la, &err), 0);
	assert_int_equal(rein_live_enter(state, &b, &lb, &err), 0);
	assert_int_equal(rein_live_find(state, "abc", &got, &err), 0);
	assert_string_equal(got.id, "abcd");
	rein_live_done(&got);
	assert_int_equal(rein_live_find(state, "ab", &got, &err), -REIN_E_USAGE);
	assert_true(strstr(err.msg, "several boxes: ") && strstr(err.msg, "abcd") && strstr(err.msg, "abxy"));
	assert_int_equal(rein_live_find(state, "z", &got, &err), -REIN_E_NOTFOUND);
	/* our own parent is not ourselves: not a box of this rein */
	assert_int_equal(rein_live_pidfd(&a), -1);
	rein_live_leave(state, "abcd", la);
	rein_live_leave(state, "abxy", lb);
}

/* Two places: the third waits in vain, until a holder dies. */
static void places_are_counted(void **unused)
{
	struct rein_err err = {0};
	int ready[2], lock = -1, other = -1;
	char c;
	pid_t pid;

	(void)unused;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int mine;

		if (rein_live_place(state, 2, 0, &mine, &err) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(rein_live_place(state, 1, 0, &other, &err), -REIN_E_BUSY);
	assert_int_equal(rein_live_place(state, 2, 0, &lock, &err), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(lock);
	assert_int_equal(rein_live_place(state, 1, 0, &lock, &err), 0);
	close(lock);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(rein_live_place(state, 1, 0, &lock, &err), 0);
	close(lock);
	{
		char name[64];

		snprintf(name, sizeof(name), "live/place-%d", (int)getpid());
		unlinkat(state, name, 0);
		snprintf(name, sizeof(name), "live/place-%d", (int)pid);
		unlinkat(state, name, 0);
	}
}

static void count_one(void *arg, const char *whom, const struct rein_order_text *t)
{
	char *seen = arg;

	assert_string_equal(t->why, "because");
	snprintf(seen + strlen(seen), 100 - strlen(seen), "<%s>", whom);
}

static void orders_are_given_and_taken_back(void **unused)
{
	struct rein_orders o = {state, dir};
	struct rein_order_text t;
	struct rein_err err = {0};
	char seen[100] = "";

	(void)unused;
	assert_false(rein_orders_apply(&o, REIN_ORDERS_STOP, "eve", &t));
	assert_int_equal(rein_orders_give(&o, REIN_ORDERS_STOP, "e/ve", "because", &err), 0);
	assert_true(rein_orders_apply(&o, REIN_ORDERS_STOP, "e/ve", &t));
	assert_string_equal(t.why, "because");
	assert_false(rein_orders_apply(&o, REIN_ORDERS_STOP, "bob", &t));
	assert_false(rein_orders_apply(&o, REIN_ORDERS_STOP, NULL, &t));
	assert_false(rein_orders_apply(&o, REIN_ORDERS_SAFE, "e/ve", &t));
	assert_int_equal(rein_orders_give(&o, REIN_ORDERS_STOP, NULL, "because", &err), 0);
	assert_true(rein_orders_apply(&o, REIN_ORDERS_STOP, "bob", &t));
	rein_orders_each(&o, REIN_ORDERS_STOP, count_one, seen);
	assert_string_equal(seen, "<><e/ve>");
	assert_int_equal(rein_orders_read(&o, "abcd", "bob", &t), REIN_ORDER_STOP);
	assert_int_equal(rein_orders_take_back(&o, REIN_ORDERS_STOP, NULL, &err), 1);
	assert_int_equal(rein_orders_take_back(&o, REIN_ORDERS_STOP, "e/ve", &err), 1);
	assert_int_equal(rein_orders_take_back(&o, REIN_ORDERS_STOP, "e/ve", &err), 0);
	assert_int_equal(rein_orders_give(&o, REIN_ORDERS_PAUSE, "abcd", NULL, &err), 0);
	assert_int_equal(rein_orders_read(&o, "abcd", NULL, &t), REIN_ORDER_PAUSE);
	assert_int_equal(rein_orders_read(&o, "other", NULL, &t), REIN_ORDER_NONE);
	assert_int_equal(rein_orders_give(&o, REIN_ORDERS_KILL, "abcd", NULL, &err), 0);
	assert_int_equal(rein_orders_read(&o, "abcd", NULL, &t), REIN_ORDER_KILL);
	assert_int_equal(rein_orders_take_back(&o, REIN_ORDERS_KILL, "abcd", &err), 1);
	assert_int_equal(rein_orders_take_back(&o, REIN_ORDERS_PAUSE, "abcd", &err), 1);
	assert_int_equal(rein_orders_give(&o, REIN_ORDERS_KILL, "../x", NULL, &err), -REIN_E_USAGE);
}

static void executions_come_back(void **unused)
{
	static const char argv[] = "cc\0-c\0\0x.c"; /* an empty word is one */
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	struct rein_execs e = {0}, got = {0};
	struct rein_exec x = {.pid = 7, .parent = 3, .at_ns = 9, .nwords = 4, .level = 2, .refused = true};
	struct rein_err err = {0};

	(void)unused;
	x.path = rein_strdup("/usr/bin/cc");
	x.words = rein_alloc(sizeof(argv));
	memcpy(x.words, argv, sizeof(argv));
	rein_execs_add(&e, &x);
	rein_execs_pack(&e, &b);
	assert_int_equal(rein_execs_unpack((struct rein_str){b.p, b.n}, &got, &err), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.total, 1);
	assert_int_equal(got.refused, 1);
	assert_string_equal(got.v[0].path, "/usr/bin/cc");
	assert_string_equal(rein_exec_word(&got.v[0], 1), "-c");
	assert_string_equal(rein_exec_word(&got.v[0], 2), "");
	assert_string_equal(rein_exec_word(&got.v[0], 3), "x.c");
	assert_true(got.v[0].refused && !got.v[0].cut && got.v[0].level == 2);
	rein_execs_done(&got);
	/* every torn or changed file is refused or read as something whole, never beyond its end */
	for (size_t n = 0; n < b.n; n++)
		assert_int_not_equal(rein_execs_unpack((struct rein_str){b.p, n}, &got, &err), 0);
	for (size_t i = 0; i < b.n; i++) {
		char was = b.p[i];

		b.p[i] ^= 0x55;
		if (rein_execs_unpack((struct rein_str){b.p, b.n}, &got, &err) == 0)
			rein_execs_done(&got);
		b.p[i] = was;
	}
	rein_execs_done(&e);
}

/* Whoever waits for a door finds none, or one that is answered: never one that refuses him. */
static void a_door_is_open_when_it_is_there(void **unused)
{
	int told[2], status;
	pid_t visitor;

	(void)unused;
	assert_int_equal(pipe(told), 0);
	visitor = fork();
	if (visitor == 0) {
		for (char round;;) {
			int fd;

			while ((fd = rein_local_connect(state, "door")) < 0)
				if (errno != ENOENT && errno != EAGAIN)
					_exit(errno);
			close(fd);
			if (read(told[0], &round, 1) != 1 || !round)
				_exit(0);
		}
	}
	for (int i = 0; i < 3000; i++) {
		auto_close int door = rein_local_listen(state, "door");
		int fd = -1;

		assert_true(door >= 0);
		while ((fd = accept(door, NULL, NULL)) < 0)
			if (waitpid(visitor, &status, WNOHANG) == visitor)
				fail_msg("round %d: refused: %s", i, strerror(WEXITSTATUS(status)));
		close(fd);
		assert_int_equal(unlinkat(state, "door", 0), 0);
		rein_closep_(&door);
		assert_int_equal(write(told[1], i == 2999 ? "" : "x", 1), 1);
	}
	assert_int_equal(waitpid(visitor, &status, 0), visitor);
	assert_int_equal(status, 0);
	close(told[0]);
	close(told[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(listed_while_it_lives, make, clear),
		cmocka_unit_test_setup_teardown(found_by_a_beginning, make, clear),
		cmocka_unit_test_setup_teardown(places_are_counted, make, clear),
		cmocka_unit_test_setup_teardown(orders_are_given_and_taken_back, make, clear),
		cmocka_unit_test_setup_teardown(a_door_is_open_when_it_is_there, make, clear),
		cmocka_unit_test(executions_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
