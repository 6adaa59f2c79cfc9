/* SPDX-License-Identifier: Apache-2.0 */
/* The names of transactions. What becomes of one is asked from outside: tests/cli/txn.bats, tests/crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_name_in_the_trash_is_in_use, make, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
