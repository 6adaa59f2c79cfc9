/* SPDX-License-Identifier: Apache-2.0 */
/* Whose yes is enough for which review. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "approval/approval.h"
#include "base/clock.h"

#define NOW 1000000000000ull

static int ask(unsigned minimum, const char *const *by, size_t n, uint64_t expires_ns, uint64_t at, const char *name,
	       const char *group, struct rein_err *err)
{
	struct rein_decision d = {.demand = {by, n, minimum, expires_ns}};
	struct rein_reviews r = {0};
	struct rein_person p = {0};
	int rc;

	*err = (struct rein_err){0};
	p.name = rein_strdup(name);
	assert_non_null(p.name);
	if (group)
		assert_int_equal(rein_strlist_add(&p.groups, group), 0);
	assert_int_equal(rein_review_of(&d, NOW, &r, err), 0);
	rc = rein_reviews_check(&r, &p, at, err);
	rein_reviews_done(&r);
	rein_person_done(&p);
	return rc;
}

static void one_yes(void **state)
{
	static const char *const ops[] = {"ops", "ada"};
	struct rein_err err;

	(void)state;
	assert_int_equal(ask(0, NULL, 0, 0, NOW, "bob", NULL, &err), 0);
	assert_int_equal(ask(1, NULL, 0, 0, NOW, "bob", NULL, &err), 0);
	assert_int_equal(ask(1, ops, 2, 0, NOW, "ada", NULL, &err), 0);
	assert_int_equal(ask(1, ops, 2, 0, NOW, "bob", "ops", &err), 0);
	assert_int_equal(ask(1, ops, 2, 0, NOW, "bob", "wheel", &err), -REIN_E_APPROVAL);
	assert_non_null(strstr(err.msg, "ops, ada"));
	assert_non_null(strstr(err.msg, "'bob'"));
	/* a name is a whole name */
	assert_int_equal(ask(1, ops, 2, 0, NOW, "op", "opsx", &err), -REIN_E_APPROVAL);
	/* root is a user like any other here */
	assert_int_equal(ask(1, ops, 2, 0, NOW, "root", "root", &err), -REIN_E_APPROVAL);
}

static void more_than_one(void **state)
{
	static const char *const ops[] = {"ops"};
	struct rein_err err;

	(void)state;
	assert_int_equal(ask(2, NULL, 0, 0, NOW, "ada", NULL, &err), -REIN_E_APPROVAL);
	assert_non_null(strstr(err.msg, "2 people"));
	assert_int_equal(ask(3, ops, 1, 0, NOW, "ada", "ops", &err), -REIN_E_APPROVAL);
	assert_non_null(strstr(err.msg, "3 people"));
}

static void in_time(void **state)
{
	struct rein_err err;

	(void)state;
	assert_int_equal(ask(1, NULL, 0, 10, NOW + 10, "ada", NULL, &err), 0);
	assert_int_equal(ask(1, NULL, 0, 10, NOW + 11, "ada", NULL, &err), -REIN_E_DENIED);
	/* longer than time goes */
	assert_int_equal(ask(1, NULL, 0, UINT64_MAX, NOW + 11, "ada", NULL, &err), 0);
	/* a clock set back does not bring forward the end */
	assert_int_equal(ask(1, NULL, 0, 10, NOW - 5, "ada", NULL, &err), 0);
}

/* Of several reviews each must be satisfied, whatever their order. */
static void all_of_them(void **state)
{
	static const char *const me[] = {"ada"}, *const other[] = {"bob"};
	struct rein_decision mine = {.demand = {me, 1, 1, 0}}, his = {.demand = {other, 1, 1, 0}};

	(void)state;
	for (int first = 0; first < 2; first++) {
		struct rein_reviews r = {0}, copy = {0};
		struct rein_person p = {.name = rein_strdup("ada")};
		struct rein_err err = {0};

		assert_int_equal(rein_review_of(first ? &his : &mine, NOW, &r, &err), 0);
		assert_int_equal(rein_review_of(first ? &mine : &his, NOW, &r, &err), 0);
		assert_int_equal(rein_reviews_join(&copy, &r), 0);
		rein_reviews_done(&r);
		assert_int_equal(copy.n, 2);
		assert_int_equal(rein_reviews_check(&copy, &p, NOW, &err), -REIN_E_APPROVAL);
		rein_reviews_done(&copy);
		rein_person_done(&p);
	}
}

static void self(void **state)
{
	const struct passwd *pw = getpwuid(getuid());
	const struct group *g = getgrgid(getgid());
	struct rein_person p = {0};
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_person_self(&p, &err), 0);
	if (pw)
		assert_string_equal(p.name, pw->pw_name);
	if (g)
		assert_true(rein_strlist_has(&p.groups, g->gr_name));
	rein_person_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_yes),     cmocka_unit_test(more_than_one), cmocka_unit_test(in_time),
		cmocka_unit_test(all_of_them), cmocka_unit_test(self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
