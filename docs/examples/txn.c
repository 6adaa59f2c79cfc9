/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librein in one screen: two commands in one transaction, its effects, commit, undo.
 *	cc -o txn txn.c $(pkg-config --cflags --libs rein)
 */
#include <rein/txn.h>

#include <stdio.h>

static int fail(const char *what, const struct rein_err *err)
{
	fprintf(stderr, "%s: %s (%s)\n", what, err->msg, rein_code_name(err->code));
	return 1;
}

int main(void)
{
	static const char *const kinds[] = {"", "created", "modified", "deleted", "attributes", "renamed"};
	const char *first[] = {"sh", "-c", "echo one > made-by-example", NULL};
	const char *second[] = {"sh", "-c", "echo two >> made-by-example; cat made-by-example", NULL};
	struct rein_err err = {0};
	struct rein_txn_result result;
	struct rein_txn *txn = NULL;
	size_t n;

	if (rein_txn_begin(NULL, &txn, &err) < 0)
		return fail("begin", &err);
	if (rein_txn_run(txn, first, &result, &err) < 0 || rein_txn_run(txn, second, &result, &err) < 0 ||
	    rein_txn_effects(txn, &n, &err) < 0) {
		rein_txn_free(txn);
		return fail("run", &err);
	}
	for (size_t i = 0; i < n; i++) {
		struct rein_effect e;

		rein_txn_effect(txn, i, &e);
		printf("%-10s %s/%s (%llu bytes)\n", kinds[e.kind], e.root, e.path,
		       (unsigned long long)e.size_after);
	}
	if (rein_txn_commit(txn, &err) < 0) {
		rein_txn_free(txn);
		return fail("commit", &err);
	}
	printf("committed %s\n", rein_txn_id(txn));
	if (rein_txn_undo(txn, &err) < 0) {
		rein_txn_free(txn);
		return fail("undo", &err);
	}
	printf("undone\n");
	rein_txn_free(txn);
	return 0;
}
